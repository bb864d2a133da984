/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes from a file of their own: one per line, in the order of the rows. */
#include "io/reader.h"

#include <string.h>

/* The next line of the labels file without blanks around it; *length 0 when nothing but blank lines
 * is left. */
static mercer_status next_label(mercer_reader *reader, mercer_ctx *ctx, const char **out,
                                size_t *length, mercer_error *err)
{
    const mrc_text *text = &reader->labels;
    const char *first, *stop;
    int64_t blank = 0;
    *length = 0;
    for (;;) {
        mercer_status rc = mrc_text_line(&reader->labels, ctx, &first, &stop, err);
        if (rc != MERCER_OK || !first)
            return rc;
        while (first < stop && (*first == ' ' || *first == '\t'))
            first++;
        while (first < stop && strchr(" \t\r", stop[-1]))
            stop--;
        if (first == stop) {
            blank = blank ? blank : text->line - 1;
            continue;
        }
        if (blank)
            return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                               "%s:%lld: a blank line between classes", text->input->shown,
                               (long long)blank);
        if (memchr(first, 0, (size_t)(stop - first)))
            return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                               "%s:%lld: a zero byte; this is not a text file", text->input->shown,
                               (long long)text->line - 1);
        *out = first;
        *length = (size_t)(stop - first);
        return MERCER_OK;
    }
}

/* Step over the first line of the labels file when it is a name: "label" or "target", or anything
 * when the caller says that the file has one. options.header is for the table alone: a list without
 * a name often stands beside a table with names. */
static mercer_status skip_labels_name(mercer_reader *reader, mercer_ctx *ctx, const char *header,
                                      mercer_error *err)
{
    size_t length = 0;
    const char *text = NULL;
    mercer_status rc = MERCER_OK;
    if (header && strcmp(header, "no") == 0)
        goto out;
    MRC_TRY(next_label(reader, ctx, &text, &length, err));
    reader->labels_named = length > 0 && (header || mrc_same_text("label", text, length) ||
                                          mrc_same_text("target", text, length));
    if (length > 0 && !reader->labels_named) { /* back to it */
        reader->labels.start = (size_t)(text - reader->labels.data);
        reader->labels.line--;
    }
out:
    return rc;
}

mercer_status mrc_labels_open(mercer_reader *reader, mercer_ctx *ctx,
                              const mercer_read_options *options, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_input_open(&reader->labels_input, options->labels_file,
                           &reader->source.budget.limits, err));
    MRC_TRY(mrc_text_init(&reader->labels, &reader->labels_input, &reader->source.budget, err));
    reader->with_labels = true;
    MRC_TRY(skip_labels_name(reader, ctx, options->labels_header, err));
out:
    return rc;
}

mercer_status mrc_labels_take(mercer_reader *reader, mercer_ctx *ctx, mrc_block *block,
                              mercer_error *err)
{
    const mrc_columns *columns = &reader->source.columns;
    const char *text = NULL;
    size_t length;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < block->n; i++) {
        MRC_TRY(next_label(reader, ctx, &text, &length, err));
        if (length == 0)
            MRC_FAIL_AT(
                err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: has %lld labels%s, but %s has more rows",
                reader->labels_input.shown, (long long)(reader->rows + i),
                reader->labels_named ? " after its first line, which is read as a name" : "",
                reader->source.input.shown);
        block->codes[i] = MRC_NO_LABEL;
        bool none = mrc_means_unlabelled(columns, text, length);
        if (none && !columns->drop_unlabelled) {
            char shown[MRC_SHOWN_SIZE];
            MRC_FAIL_AT(err, MERCER_ERR_DATA,
                        MRC_AT(.names_file = 1, .line = reader->labels.line - 1,
                               .cause = MERCER_CAUSE_MISSING_VALUE,
                               .advice_key = columns->of_model ? NULL : "unlabelled",
                               .advice_value = columns->of_model ? NULL : "drop"),
                        "%s:%lld: '%s' where a class is expected%s", reader->labels_input.shown,
                        (long long)reader->labels.line - 1, mrc_show(shown, text, length),
                        columns->of_model ? "" : "; rows without one can be left out");
        }
        if (!none)
            MRC_TRY(mrc_classes_code(&reader->source.classes, text, length, &block->codes[i], err));
    }
    if (reader->ended) {
        MRC_TRY(next_label(reader, ctx, &text, &length, err));
        if (length > 0)
            MRC_FAIL_AT(err, MERCER_ERR_DATA,
                        MRC_AT(.names_file = 1, .line = reader->labels.line - 1,
                               .advice_key = reader->labels_named ? NULL : "list_header",
                               .advice_value = reader->labels_named ? NULL : "yes"),
                        "%s:%lld: more labels than the %lld rows of %s%s",
                        reader->labels_input.shown, (long long)reader->labels.line - 1,
                        (long long)(reader->rows + block->n), reader->source.input.shown,
                        reader->labels_named ? "" : " (is its first line a name?)");
    }
out:
    return rc;
}
