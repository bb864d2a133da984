/* SPDX-License-Identifier: BSD-3-Clause */
/* LIBSVM text, also called svmlight: sparse rows, one per line.
 *
 *     label[,label...] [qid:N] index:value index:value ... # comment
 *
 * Indices count from 1 and increase within a row; what is not listed is 0. Either every row has a
 * label or none has. Lines with nothing but blanks or a comment are skipped, query numbers too.
 *
 * Labels that are whole numbers throughout are classes, else they are values; the caller may say
 * which. In doubt they are taken for classes until the first one that is not whole comes, and
 * the classes so far, whose names are numbers, then become values again. How many columns there are
 * shows only at the end. To read block by block both are therefore found in a pass of their own
 * over the file, unless the caller knows the columns: of a stream there is no second pass. A stream
 * of which both are known is answered as it comes: a block ends before it would have to wait.
 *
 * A line is parsed when the buffer has all of it. Cost: O(bytes), no allocation per entry; what is
 * done for each line stands in the loops that go through them. */
#include "base/number.h"
#include "io/format.h"
#include "io/text.h"
#include "io/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the labels in front of LIBSVM rows are. */
enum labels {
    LABELS_UNDECIDED, /* classes, as long as all are whole numbers */
    LABELS_CLASSES,
    LABELS_VALUES,
    LABELS_NONE, /* not there, or not wanted */
};

struct libsvm {
    mrc_table_source *source; /* borrowed */
    mrc_text text;
    int64_t columns; /* how many there are; 0 as long as that is not known */
    int64_t widest;  /* largest index so far */
    bool ignore_extra_columns;
    enum labels labels;
    int64_t per_row;          /* labels of the first row, separated by commas */
    bool uneven;              /* other rows have more or fewer */
    bool started, handed_out; /* a row was seen; a block was filled */
    bool labelled;            /* rows start with a label, wanted or not */
    bool noted_query;
    bool looked;   /* the file was gone through */
    char *scratch; /* a label as a class name */
    int64_t scratch_size;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && !is_blank(*p))
        p++;
    return p;
}

/* The next line that has a row, without comment and blanks around it; *first NULL at the end of the
 * file, or with text->paused where there is none without waiting, if it may pause. */
static inline __attribute__((always_inline)) mercer_status
next_line(mrc_text *text, mercer_ctx *ctx, bool may_pause, const char **first, const char **end,
          mercer_error *err)
{
    for (;;) {
        *first = NULL;
        text->paused = may_pause &&
                       !memchr(text->data + text->start, '\n', text->end - text->start) &&
                       mrc_text_would_wait(text);
        if (text->paused)
            return MERCER_OK;
        mercer_status rc = mrc_text_line(text, ctx, first, end, err);
        if (rc != MERCER_OK || !*first)
            return rc;
        const char *comment = memchr(*first, '#', (size_t)(*end - *first));
        *end = comment ? comment : *end;
        while (*end > *first && (is_blank((*end)[-1]) || (*end)[-1] == '\r'))
            --*end;
        *first = skip_blanks(*first, *end);
        if (*first < *end)
            return MERCER_OK;
    }
}

/* Fail at the line that next_line() gave last. */
static mercer_status fail_line(const struct libsvm *libsvm, mercer_status status, const char *what,
                               const char *word, const char *end, const char *expected,
                               mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE];
    return mrc_fail_at(err, status, MRC_AT(.names_file = 1, .line = libsvm->text.line - 1),
                       "%s:%lld: %s'%s' %s", libsvm->text.input->shown,
                       (long long)libsvm->text.line - 1, what,
                       mrc_show(shown, word, (size_t)(end - word)), expected);
}

/* --- labels --- */

/* The first word of a row when it is a label; NULL when the row starts with a pair. */
static const char *label_end(const char *first, const char *end)
{
    const char *stop = word_end(first, end);
    return memchr(first, ':', (size_t)(stop - first)) ? NULL : stop;
}

/* How many numbers, separated by commas, there are from first to end; 0 when one of them is
 * not a finite number. *whole: all are whole. out: room for them, or NULL. */
static int64_t label_numbers(const char *first, const char *end, bool *whole, double *out)
{
    int64_t count = 0;
    *whole = true;
    for (const char *p = first;; count++) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        double value;
        if (!mrc_parse_double(p, (size_t)(stop - p), &value) || !isfinite(value))
            return 0;
        *whole &= value == floor(value);
        if (out)
            out[count] = value;
        if (!comma)
            return count + 1;
        p = comma + 1;
    }
}

/* The class of a label: numbers by their value, so that +1, 1 and 1.0 are one. */
static mercer_status class_of(struct libsvm *libsvm, const char *first, const char *end,
                              mrc_classes *classes, int64_t *code, mercer_error *err)
{
    bool whole;
    int64_t count = label_numbers(first, end, &whole, NULL), used = 0, room;
    mercer_status rc = MERCER_OK;
    if (count == 0 && memchr(first, 0, (size_t)(end - first)))
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s:%lld: a zero byte; this is not a text file", libsvm->text.input->shown,
                    (long long)libsvm->text.line - 1);
    if (count == 0) {
        MRC_TRY(mrc_classes_code(classes, first, (size_t)(end - first), code, err));
        goto out;
    }
    room = count * MRC_NUMBER_SIZE;
    if (room > libsvm->scratch_size) {
        MRC_TRY(mrc_budget_take(libsvm->text.budget, room - libsvm->scratch_size, 1,
                                "labels as long as this one", err));
        MRC_TRY(mrc_grow(&libsvm->scratch, room, 1, err));
        libsvm->scratch_size = room;
    }
    for (const char *p = first; p <= end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
        double value = 0;
        mrc_parse_double(p, (size_t)(stop - p), &value);
        used += mrc_format_double(value == 0 ? 0 : value, libsvm->scratch + used);
        libsvm->scratch[used++] = ',';
        p = stop + 1;
    }
    MRC_TRY(mrc_classes_code(classes, libsvm->scratch, (size_t)used - 1, code, err));
out:
    return rc;
}

/* The rows of a block so far had classes that are numbers: make them values. */
static mercer_status turn_into_values(struct libsvm *libsvm, mrc_columns *columns,
                                      mrc_classes *classes, mrc_block *block, mercer_error *err)
{
    bool whole;
    mercer_status rc = MERCER_OK;
    libsvm->labels = LABELS_VALUES;
    columns->targets = libsvm->per_row;
    block->with_codes = false;
    if (block->capacity > 0)
        MRC_TRY(mrc_block_reserve(block, columns, block->capacity, err));
    for (int64_t i = 0; i < block->n; i++) {
        const char *name = classes->names[block->codes[i]];
        label_numbers(name, name + strlen(name), &whole, block->values + i * columns->targets);
    }
    mrc_classes_destroy(classes);
out:
    return rc;
}

/* Look at a label before it is stored: are there labels at all, how many, what are they? */
static inline __attribute__((always_inline)) mercer_status
check_label(struct libsvm *libsvm, mrc_columns *columns, mrc_classes *classes, mrc_block *block,
            const char *first, const char *end, mercer_error *err)
{
    bool whole = false, start = !libsvm->started;
    const char *stop = label_end(first, end);
    int64_t count = 0;
    mercer_status rc = MERCER_OK;
    libsvm->started = true;
    if (start) {
        libsvm->labelled = stop || libsvm->labels == LABELS_CLASSES ||
                           libsvm->labels == LABELS_VALUES; /* were asked for */
        libsvm->labels = libsvm->labelled ? libsvm->labels : LABELS_NONE;
    }
    if (libsvm->labelled != (stop != NULL))
        MRC_TRY(fail_line(libsvm, MERCER_ERR_FORMAT, "", first, stop ? stop : word_end(first, end),
                          stop ? "is a label, but the rows above have none"
                               : "where a label is expected (either all rows have one or none)",
                          err));
    if (libsvm->labels == LABELS_NONE)
        goto out;
    if (libsvm->labels != LABELS_CLASSES) {
        count = label_numbers(first, stop, &whole, NULL);
        if (count == 0)
            MRC_TRY(fail_line(libsvm, MERCER_ERR_DATA, "label ", first, stop,
                              "is not a number (with label any text is a class)", err));
    }
    if (start) {
        libsvm->per_row = count;
        block->with_codes = libsvm->labels != LABELS_VALUES;
        columns->targets = block->with_codes ? 0 : count;
    }
    libsvm->uneven |= count != libsvm->per_row;
    if (libsvm->labels == LABELS_UNDECIDED && !whole) {
        if (libsvm->handed_out)
            MRC_TRY(
                fail_line(libsvm, MERCER_ERR_DATA, "label ", first, stop,
                          "is not a whole number, although all before it are; say whether labels "
                          "are classes or target values",
                          err));
        if (!libsvm->uneven)
            MRC_TRY(turn_into_values(libsvm, columns, classes, block, err));
    }
    if (libsvm->uneven && (libsvm->labels == LABELS_VALUES || !whole))
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s:%lld: rows with different numbers of target values",
                    libsvm->text.input->shown, (long long)libsvm->text.line - 1);
out:
    return rc;
}

/* --- rows --- */

/* The pair at p, as "3:0.5"; *p is moved behind it. */
static mercer_status take_pair(struct libsvm *libsvm, const char **p, const char *end,
                               int64_t *previous, double *value, mercer_error *err)
{
    const char *q = *p, *stop, *colon;
    int64_t index = 0;
    while (q < end && *q >= '0' && *q <= '9' && index <= INT32_MAX)
        index = 10 * index + (*q++ - '0');
    if (q > *p && q + 1 < end && *q == ':' && index > *previous && index <= INT32_MAX) {
        stop = mrc_scan_double(q + 1, end, value);
        /* value - value is 0 unless the number overflowed. */
        if (stop && (stop == end || is_blank(*stop)) && *value - *value == 0) {
            *previous = index;
            *p = stop;
            return MERCER_OK;
        }
    }
    /* Something is wrong; find out what. */
    stop = word_end(*p, end);
    colon = memchr(*p, ':', (size_t)(stop - *p));
    if (index > INT32_MAX)
        return fail_line(libsvm, MERCER_ERR_FORMAT, "", *p, stop, "has an index beyond 2147483647",
                         err);
    if (!colon || colon == *p || q < colon)
        return fail_line(libsvm, MERCER_ERR_FORMAT, "", *p, stop,
                         "is not a pair index:value, with an index in digits", err);
    if (index < 1)
        return fail_line(libsvm, MERCER_ERR_FORMAT, "", *p, stop,
                         "has index 0, but indices count from 1", err);
    if (index <= *previous)
        return fail_line(libsvm, MERCER_ERR_FORMAT, "", *p, stop,
                         "does not come after the index before it; they have to increase", err);
    bool number = mrc_parse_double(colon + 1, (size_t)(stop - colon - 1), value);
    return fail_line(libsvm, MERCER_ERR_DATA, "", *p, stop,
                     number ? "has a value that is not finite" : "has a value that is not a number",
                     err);
}

static bool is_query(const char *p, const char *end)
{
    if (end - p < 5 || memcmp(p, "qid:", 4) != 0)
        return false;
    for (p += 4; p < end && *p >= '0' && *p <= '9';)
        p++;
    return p == end || is_blank(*p);
}

/* Parse the pairs of a row into the block. */
static mercer_status take_pairs(struct libsvm *libsvm, mercer_ctx *ctx, const char *p,
                                const char *end, mrc_block *block, mercer_error *err)
{
    int64_t index = 0, at = block->csr.start[block->n];
    mercer_status rc = MERCER_OK;
    if (is_query(p, end)) {
        if (!libsvm->noted_query)
            mrc_notice(ctx, "%s: query numbers (qid) are ignored", libsvm->text.input->shown);
        libsvm->noted_query = true;
        p = skip_blanks(word_end(p, end), end);
    }
    while (p < end) {
        double value = 0;
        MRC_TRY(take_pair(libsvm, &p, end, &index, &value, err));
        p = skip_blanks(p, end);
        if (libsvm->columns && index > libsvm->columns) {
            if (libsvm->ignore_extra_columns)
                continue;
            MRC_FAIL_AT(
                err, MERCER_ERR_DATA, MRC_AT(.line = libsvm->text.line - 1, .names_file = 1),
                "%s:%lld: index %lld where %lld is the last column", libsvm->text.input->shown,
                (long long)libsvm->text.line - 1, (long long)index, (long long)libsvm->columns);
        }
        if (at == block->entry_capacity)
            MRC_TRY(mrc_block_grow_entries(block, at + 1, err));
        block->csr.column[at] = (int32_t)(index - 1);
        block->csr.value[at++] = value;
    }
    /* The last index is the largest. */
    MRC_TRY(mrc_budget_columns(libsvm->text.budget, index, false, err));
    libsvm->widest = index > libsvm->widest ? index : libsvm->widest;
    block->csr.start[block->n + 1] = at;
out:
    return rc;
}

/* A pass over the file for the number of rows and columns and the kind of labels. It only looks at
 * the two ends of each line: that all is well in between is for the real pass to see. */
static mercer_status look_through(struct libsvm *libsvm, mercer_ctx *ctx, int64_t *rows,
                                  mercer_error *err)
{
    const char *first, *end;
    bool all_whole = true;
    int64_t widest = 0;
    mercer_status rc = MERCER_OK;
    for (;;) {
        MRC_TRY(next_line(&libsvm->text, ctx, false, &first, &end, err));
        if (!first)
            break;
        ++*rows;
        const char *stop = label_end(first, end), *p = end;
        bool whole = true;
        if (libsvm->labels == LABELS_UNDECIDED && stop && label_numbers(first, stop, &whole, NULL))
            all_whole &= whole;
        int64_t index = 0, digit = 1;
        while (p > first && p[-1] != ':' && !is_blank(p[-1]))
            p--;
        if (p == first || is_blank(p[-1]))
            continue; /* a label alone */
        for (p--; p > first && p[-1] >= '0' && p[-1] <= '9' && digit <= INT32_MAX; p--) {
            index += digit * (p[-1] - '0');
            digit *= 10;
        }
        if (index <= INT32_MAX)
            widest = index > widest ? index : widest;
    }
    if (libsvm->labels == LABELS_UNDECIDED && !all_whole)
        libsvm->labels = LABELS_VALUES;
    libsvm->columns = libsvm->columns ? libsvm->columns : widest;
    MRC_TRY(mrc_budget_columns(libsvm->text.budget, libsvm->columns, true, err));
    MRC_TRY(mrc_text_restart(&libsvm->text, err));
out:
    return rc;
}

static mercer_status libsvm_open(mrc_table_source *source, mercer_ctx *ctx, void **self,
                                 mercer_error *err)
{
    static const char *const names[] = {"label", "target"};
    const mercer_read_options *options = source->options;
    const char *asked[] = {options->label, options->target};
    mrc_input *input = &source->input;
    struct libsvm *libsvm;
    mercer_status rc = MERCER_OK;
    (void)ctx;
    source->sparse = true;
    MRC_TRY(mrc_alloc(&libsvm, 1, sizeof *libsvm, err));
    *self = libsvm;
    libsvm->source = source;
    libsvm->columns = options->columns;
    libsvm->ignore_extra_columns = options->ignore_extra_columns;
    for (int i = 0; i < 2; i++)
        if (asked[i] && strcmp(asked[i], names[i]) != 0 && strcmp(asked[i], "0") != 0) {
            char shown[MRC_SHOWN_SIZE];
            MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                        "%s: LIBSVM text has its labels in front, so the %s is '%s' or 0, not '%s'",
                        input->shown, names[i], names[i],
                        mrc_show(shown, asked[i], strlen(asked[i])));
        }
    libsvm->labels = options->no_label || options->labels_file ? LABELS_NONE
                     : options->label                          ? LABELS_CLASSES
                     : options->target                         ? LABELS_VALUES
                     : options->skip_labels                    ? LABELS_NONE
                                                               : LABELS_UNDECIDED;
    MRC_TRY(mrc_text_init(&libsvm->text, input, &source->budget, err));
out:
    return rc;
}

static mercer_status fail_empty(const struct libsvm *libsvm, mercer_error *err)
{
    return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is empty",
                       libsvm->text.input->shown);
}

/* See to it that columns and the kind of labels are known before the first of several blocks. */
static mercer_status know_columns(struct libsvm *libsvm, mercer_ctx *ctx, mercer_error *err)
{
    const bool known = libsvm->columns && libsvm->labels != LABELS_UNDECIDED;
    int64_t rows = 0;
    if (libsvm->started || libsvm->looked)
        return MERCER_OK;
    if (!known && mrc_input_rewinds(libsvm->text.input)) {
        libsvm->looked = true;
        return look_through(libsvm, ctx, &rows, err);
    }
    if (!libsvm->columns)
        return mrc_fail_at(
            err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
            "%s: how many columns a stream of LIBSVM text has is not known before its end; "
            "say how many, or use a file",
            libsvm->text.input->shown);
    return MERCER_OK;
}

static mercer_status libsvm_rows(void *self, mercer_ctx *ctx, int64_t most, mrc_block *block,
                                 mercer_error *err)
{
    struct libsvm *libsvm = self;
    mrc_table_source *source = libsvm->source;
    mrc_columns *columns = &source->columns;
    mrc_classes *classes = &source->classes;
    const char *file = libsvm->text.input->shown, *first, *end;
    mercer_status rc = MERCER_OK;
    bool whole, all = most == INT64_MAX && !libsvm->started;
    if (!all)
        MRC_TRY(know_columns(libsvm, ctx, err));
    libsvm->text.fill_blocks = source->fill_blocks;
    block->with_codes |=
        libsvm->started && (libsvm->labels == LABELS_CLASSES || libsvm->labels == LABELS_UNDECIDED);
    while (block->n < most && !mrc_block_is_full(block, columns)) {
        /* Columns, and what labels are, must not depend on when rows come. */
        bool may_pause = block->n > 0 && libsvm->columns && libsvm->labels != LABELS_UNDECIDED;
        MRC_TRY(next_line(&libsvm->text, ctx, may_pause, &first, &end, err));
        if (!first)
            break;
        MRC_TRY(check_label(libsvm, columns, classes, block, first, end, err));
        if (block->n == block->capacity)
            MRC_TRY(mrc_block_grow(block, columns, most, err));
        const char *stop = libsvm->labelled ? label_end(first, end) : first;
        if (libsvm->labels == LABELS_VALUES)
            label_numbers(first, stop, &whole, block->values + block->n * columns->targets);
        else if (libsvm->labels != LABELS_NONE)
            MRC_TRY(class_of(libsvm, first, stop, classes, &block->codes[block->n], err));
        MRC_TRY(take_pairs(libsvm, ctx, skip_blanks(stop, end), end, block, err));
        block->n++;
    }
    if (!libsvm->started)
        MRC_TRY(fail_empty(libsvm, err));
    columns->count = columns->data = libsvm->columns ? libsvm->columns : libsvm->widest;
    if (columns->data == 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: has no columns (no pair index:value)",
                    file);
    libsvm->handed_out = true;
    if (libsvm->labels != LABELS_NONE)
        snprintf(source->origin, MRC_ORIGIN_SIZE, "%s from the labels in front",
                 libsvm->labels == LABELS_VALUES ? "values" : "classes");
out:
    return rc;
}

/* Step over rows. The first one of the file tells whether rows have labels, and how many: that is
 * what all others are held to, whoever reads them. */
static mercer_status libsvm_skip(void *self, mercer_ctx *ctx, int64_t rows, int64_t *skipped,
                                 mercer_error *err)
{
    struct libsvm *libsvm = self;
    mrc_table_source *source = libsvm->source;
    mrc_block none = {.input = libsvm->text.input, .budget = libsvm->text.budget};
    const char *first, *end;
    mercer_status rc = MERCER_OK;
    *skipped = 0;
    if (rows > 0)
        MRC_TRY(know_columns(libsvm, ctx, err));
    while (*skipped < rows) {
        MRC_TRY(next_line(&libsvm->text, ctx, false, &first, &end, err));
        if (!first)
            break;
        if (!libsvm->started)
            MRC_TRY(
                check_label(libsvm, &source->columns, &source->classes, &none, first, end, err));
        ++*skipped;
    }
    if (!libsvm->started && rows > 0)
        MRC_TRY(fail_empty(libsvm, err));
    libsvm->handed_out |= *skipped > 0;
out:
    mrc_block_destroy(&none);
    return rc;
}

static mercer_status libsvm_survey(void *self, mercer_ctx *ctx, mercer_error *err)
{
    struct libsvm *libsvm = self;
    int64_t rows = 0;
    mercer_status rc = MERCER_OK;
    if (!mrc_input_rewinds(libsvm->text.input))
        return MERCER_OK;
    MRC_TRY(look_through(libsvm, ctx, &rows, err));
    libsvm->looked = true;
    libsvm->source->rows = rows;
out:
    return rc;
}

static bool libsvm_paused(const void *self)
{
    const struct libsvm *libsvm = self;
    return libsvm->text.paused;
}

static void libsvm_close(void *self)
{
    struct libsvm *libsvm = self;
    mrc_text_destroy(&libsvm->text);
    mrc_free(libsvm->scratch);
    mrc_free(libsvm);
}

/* --- writing --- */

/* The label of LIBSVM text must be what its readers take: numbers, separated by commas. */
static mercer_status put_label(mercer_writer *writer, const char *text, mercer_error *err)
{
    for (const char *p = text, *end;; p = end + 1) {
        double value;
        end = p + strcspn(p, ",");
        if (!mrc_parse_double(p, (size_t)(end - p), &value) || !isfinite(value)) {
            char shown[MRC_SHOWN_SIZE];
            return mrc_fail_at(
                err, MERCER_ERR_DATA, MRC_IN_FILE,
                "%s: label '%s' is not a number; LIBSVM text takes no other (csv does)",
                writer->output.shown, mrc_show(shown, text, strlen(text)));
        }
        if (*end == 0)
            break;
    }
    return mrc_writer_put(writer, text, strlen(text), err);
}

/* A row of count values; value k is in column[k], or in column k when column is NULL. */
static mercer_status libsvm_entries(mercer_writer *writer, const int32_t *column, const double *x,
                                    int64_t count, const char *const *text, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(put_label(writer, text ? text[0] : "0", err));
    for (int64_t k = 0; k < count; k++) {
        if (x[k] == 0)
            continue;
        MRC_TRY(mrc_writer_room(writer, 2 * MRC_NUMBER_SIZE, err));
        writer->buffer[writer->used++] = ' ';
        writer->used += (size_t)mrc_format_double((double)(column ? column[k] : k) + 1,
                                                  writer->buffer + writer->used);
        writer->buffer[writer->used++] = ':';
        writer->used += (size_t)mrc_format_double(x[k], writer->buffer + writer->used);
    }
    MRC_TRY(mrc_writer_put(writer, "\n", 1, err));
out:
    return rc;
}

static mercer_status libsvm_row(mercer_writer *writer, const double *x, const char *const *text,
                                mercer_error *err)
{
    return libsvm_entries(writer, NULL, x, x ? writer->columns : 0, text, err);
}

static const mrc_format_writer libsvm_writer = {.row = libsvm_row, .entries = libsvm_entries};

const mrc_format mrc_format_libsvm = {
    .entry = {.name = "libsvm", .summary = "LIBSVM text, also called svmlight: sparse rows"},
    .endings = ".svm .libsvm",
    .caps = MRC_LABELS_FRONT,
    .open = libsvm_open,
    .rows = libsvm_rows,
    .skip = libsvm_skip,
    .survey = libsvm_survey,
    .paused = libsvm_paused,
    .close = libsvm_close,
    .writer = &libsvm_writer,
};
