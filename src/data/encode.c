/* SPDX-License-Identifier: BSD-3-Clause */
/* Text columns as columns of 0 and 1, one for each value that occurs in the training table.
 *
 * While a file is read, a cell that is not a number becomes a NaN that carries the index of its
 * text among the texts of its column (mrc_text_cell), so that numbers take their fast way as ever
 * and nobody has to know beforehand which columns are text. A column with one such cell in the
 * training table is a text column; numbers in it become texts, too, in their shortest form. Its
 * values are sorted by their bytes. Of new rows a text that did not occur gives zeroes; a missing
 * one gives NaN in all columns of the value, which are then filled like others: by the shares of
 * the values.
 */
#include "data/prepare.h"

#include "base/bytes.h"
#include "data/rows.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns that one column of the file becomes. */
static int64_t width_of(const mrc_encoding *encoding)
{
    return encoding->count > 0 ? encoding->count : 1;
}

int64_t mrc_encode_width(const mercer_prepare *prepare)
{
    int64_t width = 0;
    for (int64_t s = 0; s < prepare->sources; s++)
        width += width_of(&prepare->encodings[s]);
    return width;
}

/* Whether column j of x, read in n rows, has a text. */
static bool has_words(const double *x, int64_t n, int64_t d, int64_t j)
{
    for (int64_t i = 0; i < n; i++)
        if (mrc_text_cell_code(x[i * d + j]) >= 0)
            return true;
    return false;
}

/* The index of a cell of a text column among its texts; -1 when it is missing. */
static mercer_status code_of(double cell, mrc_classes *words, int64_t *code, mercer_error *err)
{
    char text[MRC_NUMBER_SIZE];
    *code = mrc_text_cell_code(cell);
    if (*code >= 0 || isnan(cell))
        return MERCER_OK;
    int length = mrc_format_double(cell == 0 ? 0 : cell, text);
    return mrc_classes_code(words, text, (size_t)length, code, err);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The texts of one column that occur in x, sorted, and x rewritten by their order. */
static mercer_status learn_column(mrc_encoding *encoding, mrc_classes *words, double *x, int64_t n,
                                  int64_t d, mercer_error *err)
{
    int64_t *rank = NULL;
    char **sorted = NULL;
    int64_t code;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < n; i++) {
        MRC_TRY(code_of(x[i * d], words, &code, err));
        if (code >= 0)
            x[i * d] = mrc_text_cell(code);
    }
    MRC_TRY(mrc_alloc(&rank, words->count, sizeof *rank, err));
    MRC_TRY(mrc_alloc(&sorted, words->count, sizeof *sorted, err));
    for (int64_t i = 0; i < n; i++) {
        code = mrc_text_cell_code(x[i * d]);
        if (code >= 0 && !rank[code]) { /* not of a row that was left out */
            rank[code] = 1;
            sorted[encoding->count++] = words->names[code];
        }
    }
    qsort(sorted, (size_t)encoding->count, sizeof *sorted, compare_texts);
    for (int64_t k = 0; k < encoding->count; k++) {
        MRC_TRY(mrc_classes_code(words, sorted[k], strlen(sorted[k]), &code, err));
        rank[code] = k;
    }
    for (int64_t i = 0; i < n; i++)
        if (mrc_text_cell_code(x[i * d]) >= 0)
            x[i * d] = mrc_text_cell(rank[mrc_text_cell_code(x[i * d])]);
    MRC_TRY(mrc_copy_names(&encoding->values, sorted, encoding->count, err));
out:
    mrc_free(rank);
    mrc_free(sorted);
    return rc;
}

/* How often each value of a column occurs. */
static mercer_status count_values(const double *x, int64_t n, int64_t d, int64_t count,
                                  int64_t **out, mercer_error *err)
{
    mercer_status rc = mrc_alloc(out, count, sizeof **out, err);
    for (int64_t i = 0; i < n && rc == MERCER_OK; i++)
        if (mrc_text_cell_code(x[i * d]) >= 0)
            (*out)[mrc_text_cell_code(x[i * d])]++;
    return rc;
}

/* Say what becomes of a text column, with its most frequent values. */
static void notify(const mercer_ctx *ctx, const char *shown, const char *where,
                   const mrc_encoding *encoding, int64_t *counts)
{
    enum { SHOWN_VALUES = 3 };
    char list[SHOWN_VALUES * (MRC_SHOWN_SIZE + 24) + 8] = "", name[MRC_SHOWN_SIZE];
    size_t used = 0;
    for (int k = 0; k < SHOWN_VALUES && k < encoding->count; k++) {
        int64_t best = 0;
        for (int64_t v = 1; v < encoding->count; v++)
            best = counts[v] > counts[best] ? v : best;
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s %lld", k ? ", " : "",
                             mrc_show(name, encoding->values[best], strlen(encoding->values[best])),
                             (long long)counts[best]);
        counts[best] = -1;
    }
    mrc_notice_at(ctx, MRC_IN_FILE, "%s: %s: %lld value%s become columns of 0 and 1 (%s%s)", shown,
                  where, (long long)encoding->count, encoding->count == 1 ? "" : "s", list,
                  encoding->count > SHOWN_VALUES ? ", ..." : "");
}

/* A text among the numbers of a column, where it is not a category: the only one, in one row, as a
 * unit or a sum has it, or without a letter or digit; or the first one where all are marks for
 * missing values. Else -1. */
static int64_t odd_value(const mrc_encoding *encoding, const int64_t *counts, bool *mark)
{
    enum { NUMBERS = 4 }; /* cells, at least */
    int64_t odd = -1, numbers = 0, texts = 0;
    double value;
    *mark = true;
    for (int64_t v = 0; v < encoding->count; v++) {
        const char *name = encoding->values[v];
        const bool number = mrc_parse_double(name, strlen(name), &value);
        numbers += number ? counts[v] : 0;
        texts += !number;
        *mark &= number || mrc_may_mean_missing(name, strlen(name));
        odd = odd < 0 && !number ? v : odd;
    }
    if (odd < 0 || numbers < NUMBERS || (texts > 1 && !*mark))
        return -1;
    bool signs = true;
    for (const char *c = encoding->values[odd]; *c; c++)
        signs &= (unsigned char)*c < 0x80 && !isalnum((unsigned char)*c);
    return counts[odd] == 1 || signs || *mark ? odd : -1;
}

/* The line of the only text of a column; 0 where it is not known. */
static int64_t text_line(const mrc_columns *file, int64_t source)
{
    int64_t texts = 0;
    double value;
    if (!file->text_lines)
        return 0;
    for (int64_t v = 0; v < file->texts[source].count; v++) {
        const char *name = file->texts[source].names[v];
        texts += !mrc_parse_double(name, strlen(name), &value);
    }
    return texts == 1 ? file->text_lines[source] : 0;
}

/* Whether the texts of a column are categories: not where nearly every row has another one. */
static mercer_status judge_column(const mercer_ctx *ctx, const char *shown, const mrc_columns *file,
                                  int64_t source, const mrc_encoding *encoding, const double *x,
                                  int64_t n, mercer_error *err)
{
    enum { MAX_VALUES = 50, FEW_VALUES = 10, ROWS_PER_VALUE = 5 };
    char where[MRC_COLUMN_SHOWN], advice[32];
    int64_t column = 0, *counts = NULL, values = encoding->count;
    bool mark = false;
    bool many = file->max_values > 0
                    ? values > file->max_values
                    : values > MAX_VALUES || (values > FEW_VALUES && values * ROWS_PER_VALUE > n);
    mercer_status rc = MERCER_OK;
    while (file->role[column] != source)
        column++;
    mrc_column_shown(where, file, column);
    snprintf(advice, sizeof advice, "onehot:max=%lld", (long long)values);
    MRC_TRY(count_values(x, n, file->data, values, &counts, err));
    const int64_t odd = file->max_values > 0 ? -1 : odd_value(encoding, counts, &mark);
    if (many && !(odd >= 0 && mark))
        MRC_FAIL_AT(err, MERCER_ERR_DATA,
                    MRC_AT(.names_file = 1, .key = "drop", .advice_key = "encode",
                           .advice_value = advice,
                           .column = file->names ? file->names[column] : NULL,
                           .position = column + 1, .column_number = file->names ? 0 : column + 1),
                    "%s: %s has %lld values in %lld rows; leave it out, or allow that many", shown,
                    where, (long long)values, (long long)n);
    if (odd >= 0) {
        char value[MRC_SHOWN_SIZE], at[32] = "", allow[64] = ", or leave the column out";
        const char *name = encoding->values[odd];
        const int64_t line = text_line(file, source);
        if (line)
            snprintf(at, sizeof at, ":%lld", (long long)line);
        if (!mark)
            snprintf(allow, sizeof allow, ", leave the column out, or allow %lld values",
                     (long long)values);
        MRC_FAIL_AT(err, MERCER_ERR_DATA,
                    MRC_AT(.names_file = 1, .key = "drop na", .advice_key = mark ? "na" : "encode",
                           .advice_value = mark ? name : advice, .position = column + 1,
                           .column = file->names ? file->names[column] : NULL, .line = line,
                           .column_number = file->names ? 0 : column + 1),
                    "%s%s: %s has numbers, and '%s' in %lld row%s; mend the cell%s, say that it is "
                    "missing%s",
                    shown, at, where, mrc_show(value, name, strlen(name)), (long long)counts[odd],
                    counts[odd] == 1 ? "" : "s", counts[odd] == 1 ? "" : "s", allow);
    }
    notify(ctx, shown, where, encoding, counts);
out:
    mrc_free(counts);
    return rc;
}

mercer_status mrc_encode_learn(mercer_prepare *prepare, const mercer_ctx *ctx, const char *shown,
                               mrc_columns *file, double *x, int64_t n, mercer_error *err)
{
    int64_t d = file->data;
    bool any = false;
    mercer_status rc = MERCER_OK;
    file->texts_open = false;
    for (int64_t j = 0; j < d && !any; j++)
        any = has_words(x, n, d, j);
    if (!any) { /* nothing to encode, and texts of rows that were left out do not count
                 */
        rc = mrc_encode_load(prepare, file, err);
        goto out;
    }
    MRC_TRY(mrc_alloc(&prepare->encodings, d, sizeof *prepare->encodings, err));
    prepare->sources = d;
    for (int64_t j = 0; j < d; j++)
        if (has_words(x, n, d, j)) {
            MRC_TRY(learn_column(&prepare->encodings[j], &file->texts[j], x + j, n, d, err));
            MRC_TRY(judge_column(ctx, shown, file, j, &prepare->encodings[j], x + j, n, err));
        }
    if (file->names) {
        MRC_TRY(mrc_alloc(&prepare->source_names, d, sizeof *prepare->source_names, err));
        for (int64_t i = 0; i < file->count; i++)
            if (file->role[i] >= 0)
                MRC_TRY(mrc_strdup(&prepare->source_names[file->role[i]], file->names[i], err));
    }
    MRC_TRY(mrc_encode_load(prepare, file, err));
out:
    return rc;
}

mercer_status mrc_encode_load(const mercer_prepare *prepare, mrc_columns *file, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!file->texts)
        MRC_TRY(mrc_alloc(&file->texts, file->data + file->targets, sizeof *file->texts, err));
    for (int64_t s = 0; s < file->data; s++) {
        mrc_classes_destroy(&file->texts[s]);
        for (int64_t k = 0; s < prepare->sources && k < prepare->encodings[s].count; k++) {
            const char *text = prepare->encodings[s].values[k];
            int64_t code;
            MRC_TRY(mrc_classes_code(&file->texts[s], text, strlen(text), &code, err));
        }
    }
out:
    return rc;
}

mercer_status mrc_encode_rows(const mercer_prepare *prepare, const mercer_ctx *ctx,
                              const char *shown, const mrc_columns *file, double **x, int64_t n,
                              int64_t *unknown, mercer_error *err)
{
    int64_t d = prepare->sources, width = mrc_encode_width(prepare), first = 0;
    double *out = NULL, bytes = (double)n * (double)(width + d) * (double)sizeof *out;
    mercer_status rc = MERCER_OK;
    if (bytes > (double)mercer_ctx_memory(ctx)) {
        const mrc_bytes_pair sizes = mrc_bytes_texts(bytes, (double)mercer_ctx_memory(ctx));
        MRC_FAIL_AT(err, MERCER_ERR_BUDGET, MRC_AT(.key = "memory", .names_file = 1),
                    "%s: its text columns become %lld columns, which need %s, the memory budget is "
                    "%s: raise it, or leave out columns with many texts",
                    shown, (long long)width, sizes.first.text, sizes.second.text);
    }
    MRC_TRY(mrc_alloc2(&out, n, width, sizeof *out, err));
    for (int64_t s = 0; s < d; s++) {
        const mrc_encoding *encoding = &prepare->encodings[s];
        for (int64_t i = 0; i < n; i++) {
            double cell = (*x)[i * d + s], *to = out + i * width + first;
            int64_t code;
            if (encoding->count == 0) {
                *to = cell;
                continue;
            }
            MRC_TRY(code_of(cell, &file->texts[s], &code, err));
            for (int64_t k = 0; k < encoding->count && code < 0; k++)
                to[k] = NAN;
            if (code >= 0 && code < encoding->count)
                to[code] = 1;
            *unknown += code >= encoding->count;
        }
        first += width_of(encoding);
    }
    mrc_free(*x);
    *x = out;
    out = NULL;
out:
    mrc_free(out);
    return rc;
}

mercer_status mrc_encode_names(const mercer_prepare *prepare, char ***out, mercer_error *err)
{
    int64_t width = mrc_encode_width(prepare), at = 0;
    char **names = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (!prepare->source_names)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&names, width, sizeof *names, err));
    for (int64_t s = 0; s < prepare->sources; s++) {
        const mrc_encoding *encoding = &prepare->encodings[s];
        const char *source = prepare->source_names[s];
        if (encoding->count == 0)
            MRC_TRY(mrc_strdup(&names[at++], source, err));
        for (int64_t k = 0; k < encoding->count; k++) {
            size_t room = strlen(source) + strlen(encoding->values[k]) + 2;
            MRC_TRY(mrc_alloc(&names[at], (int64_t)room, 1, err));
            snprintf(names[at++], room, "%s=%s", source, encoding->values[k]);
        }
    }
    *out = names;
    names = NULL;
out:
    mrc_free_names(names, width);
    return rc;
}
