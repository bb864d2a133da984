/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix Market files.
 *
 *     %%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric
 *     % comments
 *     rows columns entries           (array: rows columns)
 *     row column value               (array: one value per line, by columns; pattern: no value)
 *
 * Coordinates count from 1 and come in any order; what is given twice is added up, as SciPy does
 * it. They make sparse rows, an array makes dense ones. Of a symmetric matrix one triangle is
 * listed (of a skew-symmetric array without its diagonal). The whole file is read at once, because
 * rows are not stored by rows; of coordinates only those of the rows that are wanted are kept.
 * Lengths in the file are not believed: memory grows with the values that come. */
#include "base/number.h"
#include "io/csr_build.h"
#include "io/text.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum symmetry { GENERAL, SYMMETRIC, SKEW };

struct market {
    mrc_text text;
    bool array, pattern;
    enum symmetry symmetry;
    int64_t rows, columns;
    double *values; /* array: those listed, in their order */
    int64_t count, capacity;
};

struct word {
    const char *text;
    size_t length;
};

static mercer_status fail_line(const struct market *m, const char *expected, mercer_error *err)
{
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s:%lld: %s", m->text.input->shown,
                       (long long)m->text.line - 1, expected);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Up to most words of the next line; *count is larger by one when there are more, and -1 at the end
 * of the file. Blank lines and, behind the first line, comments are skipped. */
static mercer_status next_words(struct market *m, mercer_ctx *ctx, struct word *words, int most,
                                int *count, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *count = 0;
    while (*count == 0) {
        const char *p, *stop;
        MRC_TRY(mrc_text_line(&m->text, ctx, &p, &stop, err));
        if (!p) {
            *count = -1;
            goto out;
        }
        if (p < stop && *p == '%' && m->text.line > 2)
            continue;
        while (*count <= most) {
            while (p < stop && is_blank(*p))
                p++;
            if (p == stop)
                break;
            const char *first = p;
            while (p < stop && !is_blank(*p))
                p++;
            if (*count < most)
                words[*count] = (struct word){first, (size_t)(p - first)};
            ++*count;
        }
    }
out:
    return rc;
}

static bool is_word(struct word word, const char *expected)
{
    return strlen(expected) == word.length && strncasecmp(word.text, expected, word.length) == 0;
}

static mercer_status read_banner(struct market *m, mercer_ctx *ctx, mercer_error *err)
{
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
    struct word words[5];
    char shown[MRC_SHOWN_SIZE];
    int count, symmetry = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(next_words(m, ctx, words, 5, &count, err));
    if (count < 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is empty", m->text.input->shown);
    if (m->text.line != 2 || !is_word(words[0], "%%MatrixMarket"))
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: is not a Matrix Market file (it does not start with %%%%MatrixMarket)",
                    m->text.input->shown);
    if (count != 5 || !is_word(words[1], "matrix") ||
        !(is_word(words[2], "coordinate") || is_word(words[2], "array")))
        MRC_TRY(
            fail_line(m, "expected: %%MatrixMarket matrix coordinate|array FIELD SYMMETRY", err));
    m->array = is_word(words[2], "array");
    m->pattern = is_word(words[3], "pattern");
    if (!m->pattern && !is_word(words[3], "real") && !is_word(words[3], "integer"))
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s:1: values of kind '%s' are not read (real, integer and pattern are)",
                    m->text.input->shown, mrc_show(shown, words[3].text, words[3].length));
    while (symmetry < 3 && !is_word(words[4], symmetries[symmetry]))
        symmetry++;
    if (symmetry == 3 || (m->array && m->pattern))
        MRC_FAIL_AT(
            err, MERCER_ERR_FORMAT, MRC_IN_FILE,
            "%s:1: a matrix that is '%s' is not read (general, symmetric and skew-symmetric "
            "are, a pattern as coordinates only)",
            m->text.input->shown, mrc_show(shown, words[4].text, words[4].length));
    m->symmetry = (enum symmetry)symmetry;
out:
    return rc;
}

/* The line with the sizes; *entries of coordinates. */
static mercer_status read_sizes(struct market *m, mercer_ctx *ctx, int64_t *entries,
                                mercer_error *err)
{
    int64_t sizes[3] = {0};
    struct word words[3];
    int count, wanted = m->array ? 2 : 3;
    mercer_status rc = MERCER_OK;
    MRC_TRY(next_words(m, ctx, words, 3, &count, err));
    bool good = count == wanted;
    for (int i = 0; i < wanted && good; i++)
        good = mrc_parse_int(words[i].text, words[i].length, &sizes[i]) && sizes[i] >= 0;
    if (!good)
        MRC_TRY(fail_line(m, m->array ? "expected: rows columns" : "expected: rows columns entries",
                          err));
    m->rows = sizes[0];
    m->columns = sizes[1];
    *entries = sizes[2];
    if (m->symmetry != GENERAL && m->rows != m->columns)
        MRC_TRY(fail_line(m, "a symmetric matrix has as many columns as rows", err));
out:
    return rc;
}

static mercer_status take_value(const struct market *m, struct word word, double *out,
                                mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE];
    bool number = mrc_parse_double(word.text, word.length, out);
    if (number && isfinite(*out))
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_DATA,
                       MRC_AT(.cause = number ? MERCER_CAUSE_NONE : MERCER_CAUSE_NOT_A_NUMBER,
                              .line = m->text.line - 1, .names_file = 1),
                       "%s:%lld: '%s' is not %s", m->text.input->shown, (long long)m->text.line - 1,
                       mrc_show(shown, word.text, word.length), number ? "finite" : "a number");
}

/* Nothing may follow the last value. */
static mercer_status expect_end(struct market *m, mercer_ctx *ctx, int64_t wanted,
                                mercer_error *err)
{
    struct word word;
    int count;
    mercer_status rc = next_words(m, ctx, &word, 1, &count, err);
    if (rc == MERCER_OK && count >= 0)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s:%lld: more than the %lld values announced", m->text.input->shown,
                           (long long)m->text.line - 1, (long long)wanted);
    return rc;
}

static mercer_status fail_short(const struct market *m, int64_t got, int64_t wanted,
                                mercer_error *err)
{
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                       "%s: ends after %lld of the %lld values announced (truncated file)",
                       m->text.input->shown, (long long)got, (long long)wanted);
}

static mercer_status read_coordinates(struct market *m, mercer_ctx *ctx, int64_t wanted,
                                      mrc_matrix *matrix, mercer_error *err)
{
    mrc_entries entries = mrc_entries_of(matrix);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_sparse_check(matrix, err));
    for (int64_t k = 0; k < wanted; k++) {
        struct word words[3];
        int64_t row, column;
        int count;
        double value = 1;
        MRC_TRY(next_words(m, ctx, words, 3, &count, err));
        if (count < 0)
            MRC_TRY(fail_short(m, k, wanted, err));
        if (count != (m->pattern ? 2 : 3))
            MRC_TRY(fail_line(m, m->pattern ? "expected: row column" : "expected: row column value",
                              err));
        if (!mrc_parse_int(words[0].text, words[0].length, &row) ||
            !mrc_parse_int(words[1].text, words[1].length, &column) || row < 1 || column < 1 ||
            row > m->rows || column > m->columns)
            MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                        "%s:%lld: expected a row from 1 to %lld and a column from 1 to %lld",
                        m->text.input->shown, (long long)m->text.line - 1, (long long)m->rows,
                        (long long)m->columns);
        if (!m->pattern)
            MRC_TRY(take_value(m, words[2], &value, err));
        MRC_TRY(mrc_entries_add(&entries, row - 1, column - 1, value, err));
        if (m->symmetry != GENERAL && row != column)
            MRC_TRY(mrc_entries_add(&entries, column - 1, row - 1,
                                    m->symmetry == SKEW ? -value : value, err));
    }
    MRC_TRY(expect_end(m, ctx, wanted, err));
    MRC_TRY(mrc_sparse_build(matrix, &entries, err));
out:
    mrc_entries_destroy(&entries);
    return rc;
}

/* How many values of column j (and those before it) are listed above row j of the lower triangle.
 */
static int64_t packed_column(const struct market *m, int64_t j)
{
    int64_t length = m->symmetry == SKEW ? m->rows - 1 : m->rows;
    return j * length - j * (j - 1) / 2;
}

static double array_value(const struct market *m, int64_t i, int64_t j)
{
    if (m->symmetry == GENERAL)
        return m->values[j * m->rows + i];
    if (m->symmetry == SKEW && i == j)
        return 0;
    int64_t row = i > j ? i : j, column = i > j ? j : i;
    double value = m->values[packed_column(m, column) + row - column - (m->symmetry == SKEW)];
    return m->symmetry == SKEW && i < j ? -value : value;
}

static mercer_status read_rows(void *self, mercer_ctx *ctx, int64_t first, int64_t count,
                               double *out, mercer_error *err)
{
    const struct market *m = self;
    (void)ctx;
    (void)err;
    for (int64_t j = 0; j < m->columns; j++)
        for (int64_t i = 0; i < count; i++)
            out[i * m->columns + j] = array_value(m, first + i, j);
    return MERCER_OK;
}

static mercer_status read_array(struct market *m, mercer_ctx *ctx, mrc_matrix *matrix,
                                mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_matrix_check(matrix, err));
    int64_t wanted = m->rows * m->columns;
    if (m->symmetry != GENERAL)
        wanted = packed_column(m, m->rows);
    MRC_TRY(mrc_budget_take(matrix->budget, wanted, sizeof *m->values,
                            "its values, which can only be read at once,", err));
    for (; m->count < wanted; m->count++) {
        struct word word;
        int count;
        MRC_TRY(next_words(m, ctx, &word, 1, &count, err));
        if (count < 0)
            MRC_TRY(fail_short(m, m->count, wanted, err));
        if (count > 1)
            MRC_TRY(fail_line(m, "expected one value", err));
        if (m->count == m->capacity) {
            int64_t capacity = m->capacity + m->capacity / 2 + 1024;
            capacity = capacity < wanted ? capacity : wanted;
            MRC_TRY(mrc_grow(&m->values, capacity, sizeof *m->values, err));
            m->capacity = capacity;
        }
        MRC_TRY(take_value(m, word, &m->values[m->count], err));
    }
    MRC_TRY(expect_end(m, ctx, wanted, err));
    matrix->read = read_rows;
    matrix->vouched = true;
out:
    return rc;
}

static void destroy(void *self)
{
    struct market *m = self;
    mrc_text_destroy(&m->text);
    mrc_free(m->values);
    mrc_free(m);
}

/* The whole file as a matrix, which has to be destroyed after an error, too. */
static mercer_status read_file(mercer_ctx *ctx, mrc_input *input, mrc_matrix *matrix,
                               mercer_error *err)
{
    struct market *m = NULL;
    int64_t entries = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&m, 1, sizeof *m, err));
    matrix->shown = input->shown;
    matrix->self = m;
    matrix->destroy = destroy;
    MRC_TRY(mrc_text_init(&m->text, input, matrix->budget, err));
    MRC_TRY(read_banner(m, ctx, err));
    MRC_TRY(read_sizes(m, ctx, &entries, err));
    matrix->rows = m->rows;
    matrix->columns = m->columns;
    if (m->array)
        MRC_TRY(read_array(m, ctx, matrix, err));
    else
        MRC_TRY(read_coordinates(m, ctx, entries, matrix, err));
out:
    return rc;
}

static mercer_status mtx_open(mrc_table_source *source, mercer_ctx *ctx, void **self,
                              mercer_error *err)
{
    mrc_matrix *matrix;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_matrix_new(source, &matrix, err));
    *self = matrix;
    MRC_TRY(read_file(ctx, &source->input, matrix, err));
    mrc_matrix_describe(matrix, source);
out:
    return rc;
}

const mrc_format mrc_format_mtx = {
    .entry = {.name = "mtx", .summary = "Matrix Market text"},
    .endings = ".mtx",
    .open = mtx_open,
    .rows = mrc_matrix_rows,
    .skip = mrc_matrix_skip,
    .close = mrc_matrix_close,
};
