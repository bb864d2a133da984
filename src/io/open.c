/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a table: which format it has, how its columns are prepared, and what fits a model. */
#include "base/params.h"
#include "data/dress.h"
#include "io/reader.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

MRC_VERSIONED(read_options, )

/* Whether a word is one of a list "a, b, c". */
static bool is_listed(const char *word, const char *list)
{
    size_t length = strlen(word);
    for (const char *p = list; *p; p += strspn(p, ", ")) {
        size_t here = strcspn(p, ",");
        if (here == length && memcmp(p, word, length) == 0)
            return true;
        p += here;
    }
    return false;
}

static mercer_status check_options(const mercer_read_options *options, mercer_error *err)
{
    if (options->label && options->target)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "a label and targets cannot both be given");
    if (options->labels_file && (options->label || options->target))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "classes from %s and a label or target column cannot both be given",
                        options->labels_file);
    if (options->no_label && (options->label || options->target))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "no-label makes every column data, so label and target cannot be given");
    const char *const headers[] = {options->header, options->labels_header};
    for (int i = 0; i < 2; i++)
        if (headers[i] && strcmp(headers[i], "yes") != 0 && strcmp(headers[i], "no") != 0)
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s '%s' is not one of yes, no",
                            i ? "labels_header" : "header", headers[i]);
    static const struct {
        const char *key, *words;
        size_t offset;
    } choices[] = {
        {"decimal", "auto, point, comma", offsetof(mercer_read_options, decimal)},
        {"thousands", "auto, none, comma, point, apostrophe, space",
         offsetof(mercer_read_options, thousands)},
        {"encoding", "utf8, latin1, utf16", offsetof(mercer_read_options, encoding)},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const char *word = *(const char *const *)((const char *)options + choices[i].offset);
        if (word && !is_listed(word, choices[i].words))
            return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = choices[i].key),
                               "%s '%s' is not one of %s", choices[i].key, word, choices[i].words);
    }
    if (options->decimal && options->thousands && strcmp(options->decimal, "auto") != 0 &&
        strcmp(options->decimal, options->thousands) == 0)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "decimal thousands"),
                           "a %s cannot be decimal mark and thousands separator", options->decimal);
    if (options->columns < 0 || options->columns > INT32_MAX)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "a table cannot have %lld columns",
                        (long long)options->columns);
    return MERCER_OK;
}

/* The caller's options, of whatever age, over the defaults. */
static mercer_status take_options(const mercer_read_options *given, mercer_read_options *out,
                                  mercer_error *err)
{
    mercer_read_options_init(out);
    mercer_status rc = mrc_options_import("read", given, out, sizeof *out, err);
    return rc == MERCER_OK ? check_options(out, err) : rc;
}

/* onehot[:max=N] and dates[:format=F], in any order. */
static mercer_status read_encode(const char *text, mercer_reader *reader, mercer_error *err)
{
    static const char onehot[] = "onehot", max[] = ":max=", dates[] = "dates",
                      format[] = ":format=";
    mrc_columns *columns = &reader->source.columns;
    const char *p = text;
    mercer_status rc = MERCER_OK;
    for (bool more = true; more;) {
        bool one = strncmp(p, onehot, sizeof onehot - 1) == 0;
        bool wrong = !one && strncmp(p, dates, sizeof dates - 1) != 0;
        p += wrong ? 0 : one ? sizeof onehot - 1 : sizeof dates - 1;
        size_t length = strcspn(p, ",");
        columns->texts_open |= one;
        columns->style.dates |= !one;
        if (!wrong && one && length > 0) {
            wrong = strncmp(p, max, sizeof max - 1) != 0 ||
                    !mrc_parse_int(p + sizeof max - 1, length - (sizeof max - 1),
                                   &columns->max_values) ||
                    columns->max_values < 1;
        } else if (!wrong && length > 0) {
            const char *next = strstr(p, ",onehot"); /* a format may have commas */
            length = next ? (size_t)(next - p) : strlen(p);
            wrong = strncmp(p, format, sizeof format - 1) != 0 || reader->prepare->date_format;
            if (!wrong) {
                size_t skip = sizeof format - 1;
                MRC_TRY(
                    mrc_alloc(&reader->prepare->date_format, (int64_t)(length - skip) + 1, 1, err));
                memcpy(reader->prepare->date_format, p + skip, length - skip);
                wrong = !mrc_date_format_is_good(reader->prepare->date_format);
            }
        }
        if (wrong)
            MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "encode"),
                        "encode '%s' is neither none nor onehot, onehot:max=N, dates or "
                        "dates:format=F, or two of them separated by a comma (F for example "
                        "%%d.%%m.%%Y, with %%Y or %%y and something that numbers do not have)",
                        text);
        p += length;
        more = *p == ',';
        p += more;
    }
out:
    return rc;
}

/* The words of a comma-separated list. */
static mercer_status split_na(const char *list, mercer_prepare *prepare, mercer_error *err)
{
    int64_t count = 1;
    mercer_status rc = MERCER_OK;
    if (!list)
        return MERCER_OK;
    for (const char *p = list; *p; p++)
        count += *p == ',';
    MRC_TRY(mrc_alloc(&prepare->na, count, sizeof *prepare->na, err));
    prepare->na_count = count;
    for (int64_t i = 0; i < count; i++) {
        size_t length = strcspn(list, ",");
        MRC_TRY(mrc_alloc(&prepare->na[i], (int64_t)length + 1, 1, err));
        memcpy(prepare->na[i], list, length);
        list += length + 1;
    }
out:
    return rc;
}

/* What has to be known of the preparation before the first cell is read. */
static mercer_status begin_prepare(mercer_reader *reader, const mercer_read_options *options,
                                   mercer_error *err)
{
    static const char *const hints[2][MRC_MISSING_MEDIAN + 1] = {
        {"; the mean can replace a missing value, or its row be dropped", NULL, NULL, NULL},
        {" (the model was fitted without missing values)", NULL,
         " (such rows were left out when the model was fitted, it has no means to fill them with)",
         NULL},
    };
    mercer_status rc = MERCER_OK;
    reader->prepare_from_model = options->prepare != NULL;
    if (reader->prepare_from_model) {
        MRC_TRY(mrc_prepare_clone(options->prepare, &reader->prepare, err));
    } else {
        MRC_TRY(mrc_prepare_new(&reader->prepare, err));
        MRC_TRY(mrc_missing_parse(options->missing, &reader->prepare->missing, err));
    }
    if (!reader->prepare_from_model && options->encode && strcmp(options->encode, "none") != 0)
        MRC_TRY(read_encode(options->encode, reader, err));
    reader->source.columns.encode =
        reader->source.columns.texts_open || reader->prepare->sources > 0;
    mrc_missing missing = reader->prepare->missing;
    reader->source.columns.missing =
        mrc_missing_fills(missing) || (missing == MRC_MISSING_DROP && !reader->prepare_from_model);
    reader->source.columns.missing_hint = hints[reader->prepare_from_model][missing];
    reader->source.columns.missing_advice = reader->prepare_from_model ? NULL : "mean";
    reader->source.columns.of_model = reader->prepare_from_model;
    if (options->unlabelled && strcmp(options->unlabelled, "error") != 0 &&
        strcmp(options->unlabelled, "drop") != 0)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "unlabelled"),
                    "unlabelled '%s' is neither error nor drop", options->unlabelled);
    reader->source.columns.drop_unlabelled =
        options->unlabelled && strcmp(options->unlabelled, "drop") == 0;
    if (!reader->prepare_from_model)
        MRC_TRY(split_na(options->na, reader->prepare, err));
    reader->source.columns.na = reader->prepare->na;
    reader->source.columns.na_count = reader->prepare->na_count;
    reader->source.columns.dress_open = !reader->prepare_from_model;
    reader->source.columns.style.decimal = '.';
    reader->source.columns.style.date_format = reader->prepare->date_format;
    for (int64_t j = 0; j < reader->prepare->dress_count; j++)
        reader->source.columns.style.dates |= reader->prepare->dress[j] == MRC_DATE;
    for (int64_t j = 0; j < reader->prepare->target_dress_count; j++)
        reader->source.columns.style.dates |= reader->prepare->target_dress[j] == MRC_DATE;
out:
    return rc;
}

/* Open the input's format; a file whose extension names no format is a stream, or is refused. */
static mercer_status open_stream(mercer_reader *reader, mercer_ctx *ctx, mercer_error *err)
{
    mrc_table_source *source = &reader->source;
    const mrc_input *input = &source->input;
    const char *path = source->path;
    struct stat info;
    mercer_status rc = MERCER_OK;
    if (!source->format) {
        if (input->fd >= 0 && !input->borrowed_fd && strncmp(path, "/dev/", 5) != 0 &&
            fstat(input->fd, &info) == 0 && S_ISREG(info.st_mode))
            MRC_TRY(mrc_format_fail(path, true, err));
        source->format = mrc_format_of_stream(input->raw + input->raw_at,
                                              input->gzip ? 0 : input->raw_end - input->raw_at);
    }
    if (source->array && !(source->format->caps & MRC_HAS_ARRAYS))
        MRC_TRY(mrc_format_fail_array(path, source->array, err));
    if (source->format->caps & (MRC_OPENS_FILE | MRC_OPENS_FOLDER))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE, "%s: this format has to be a plain file",
                    path);
    MRC_TRY(source->format->open(source, ctx, &reader->self, err));
out:
    return rc;
}

/* Sparse rows have no text columns and no missing values: what is not written is 0. */
static mercer_status check_sparse(const mercer_reader *reader, mercer_error *err)
{
    const mercer_prepare *prepare = reader->prepare;
    if (!reader->source.sparse)
        return MERCER_OK;
    if (!reader->prepare_from_model &&
        (reader->source.columns.encode || prepare->missing != MRC_MISSING_ERROR ||
         reader->source.columns.drop_unlabelled))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT,
                           MRC_AT(.key = "missing encode unlabelled", .names_file = 1),
                           "%s: its rows are sparse; missing values and texts are for dense tables",
                           reader->source.input.shown);
    if (prepare->sources > 0 || prepare->image == MRC_IMAGE_HAAR)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE,
                           "%s: its rows are sparse, but the model makes its columns of %s",
                           reader->source.input.shown,
                           prepare->sources > 0 ? "text columns" : "images");
    return MERCER_OK;
}

/* Whether rows of this file can be what a model was fitted to. */
static mercer_status match_model(const mercer_reader *reader, mercer_error *err)
{
    const mercer_prepare *prepare = reader->prepare;
    const mrc_image_size *here = &reader->source.size, *model = &prepare->size;
    int64_t columns = reader->source.columns.data;
    int64_t wanted = prepare->sources > 0 ? prepare->sources : prepare->means_count;
    if (reader->source.format->caps & MRC_LABELS_FRONT)
        return MERCER_OK; /* options.columns tells how many there are */
    if (prepare->image == MRC_IMAGE_NONE && wanted > 0 && columns != wanted)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE,
                           "%s: %lld columns where %lld were expected", reader->source.input.shown,
                           (long long)columns, (long long)wanted);
    if (prepare->image == MRC_IMAGE_NONE)
        return MERCER_OK;
    if (here->channels && (here->width != model->width || here->height != model->height ||
                           here->channels != model->channels))
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE,
                           "%s: %s images of %lldx%lld pixels, but the model's are %s and have "
                           "%lldx%lld",
                           reader->source.input.shown, here->channels == 1 ? "grey" : "colour",
                           (long long)here->width, (long long)here->height,
                           model->channels == 1 ? "grey" : "in colour", (long long)model->width,
                           (long long)model->height);
    if (columns != mrc_image_values(model))
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE,
                           "%s: %lld columns where %lld were expected (the model's images have "
                           "%lldx%lld pixels)",
                           reader->source.input.shown, (long long)columns,
                           (long long)mrc_image_values(model), (long long)model->width,
                           (long long)model->height);
    return MERCER_OK;
}

/* The image features the caller asks for. */
static mercer_status start_features(mercer_reader *reader, const mercer_read_options *options,
                                    mercer_error *err)
{
    const mrc_image_size *size = &reader->source.size;
    bool images = size->channels && reader->source.columns.data == reader->source.columns.count;
    mrc_image_kind kind;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_image_kind_parse(options->image_features, &kind, err));
    if (kind != MRC_IMAGE_NONE && !images)
        MRC_FAIL_AT(
            err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
            "%s: has no image features, because its rows are not images (a folder of images or "
            "an array of three axes is expected)",
            reader->source.input.shown);
    if (kind == MRC_IMAGE_HAAR &&
        (size->channels != 1 || mrc_haar_count(size->width, size->height) == 0))
        MRC_FAIL_AT(
            err, MERCER_ERR_DATA, MRC_IN_FILE,
            "%s: haar features need grey images of two pixels or more, these are %s and have "
            "%lldx%lld",
            reader->source.input.shown, size->channels == 1 ? "grey" : "in colour",
            (long long)size->width, (long long)size->height);
    if (images) {
        reader->prepare->image = kind == MRC_IMAGE_NONE ? MRC_IMAGE_PIXELS : kind;
        reader->prepare->size = *size;
    }
out:
    return rc;
}

/* How the columns of a model are written in its file, where those of this file are the same. */
static void know_dress(mercer_reader *reader)
{
    mrc_columns *columns = &reader->source.columns;
    const mercer_prepare *prepare = reader->prepare;
    columns->dress = prepare->dress_count == columns->data ? prepare->dress : NULL;
    columns->target_dress =
        prepare->target_dress_count == columns->targets ? prepare->target_dress : NULL;
}

/* What the file says of its size, before anything is made of it. Formats that take memory earlier
 * have looked at that earlier. */
static mercer_status check_limits(const mrc_table_source *source, const char *file,
                                  mercer_error *err)
{
    const mrc_columns *columns = &source->columns;
    const mrc_budget *budget = &source->budget;
    const char *shown = source->input.shown ? source->input.shown : "";
    const size_t length = strlen(file);
    mercer_status rc = MERCER_OK;
    /* First, and of the file alone: a long name leaves no room for what is wrong with it. */
    if (source->format->caps & MRC_HAS_ARRAYS && strncmp(shown, file, length) == 0 &&
        shown[length] == ':')
        MRC_TRY(mrc_limit_name(&budget->limits, file, "an array", strlen(shown + length + 1), err));
    if (source->rows > 0)
        MRC_TRY(mrc_budget_rows(budget, source->rows, true, err));
    MRC_TRY(mrc_budget_columns(budget, columns->count, true, err));
    for (int64_t i = 0; columns->names && i < columns->count; i++)
        MRC_TRY(mrc_budget_name(budget, "a column", strlen(columns->names[i]), err));
out:
    return rc;
}

/* The common end of opening: the format is open and its columns are known. */
static mercer_status open_finish(mercer_reader *reader, mercer_ctx *ctx,
                                 const mercer_read_options *options, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_decide_roles(reader, ctx, options, err));
    MRC_TRY(check_sparse(reader, err));
    MRC_TRY(reader->prepare_from_model ? match_model(reader, err)
                                       : start_features(reader, options, err));
    if (reader->source.columns.encode)
        MRC_TRY(mrc_encode_load(reader->prepare, &reader->source.columns, err));
    const mrc_columns *columns = &reader->source.columns;
    for (int64_t j = 0; columns->texts && j < columns->data + columns->targets; j++)
        columns->texts[j].budget = &reader->source.budget;
    if (reader->prepare_from_model)
        know_dress(reader);
    if (options->labels_file)
        MRC_TRY(mrc_labels_open(reader, ctx, options, err));
    reader->source.path = reader->source.array = NULL;
    reader->source.options = NULL;
    reader->source.part_of = NULL;
out:
    return rc;
}

static mercer_status reader_alloc(const mercer_ctx *ctx, mercer_reader **out, mercer_error *err)
{
    mercer_status rc = mrc_alloc(out, 1, sizeof **out, err);
    mercer_reader *reader = *out;
    if (rc == MERCER_OK) {
        reader->source.input.fd = -1;
        reader->labels_input.fd = -1;
        reader->source.budget = (mrc_budget){.shown = &reader->source.input.shown,
                                             .most = mercer_ctx_memory(ctx),
                                             .limits = ctx->limits};
        reader->source.classes.budget = &reader->source.budget;
    }
    return rc;
}

/* FILE:NAME into its parts: what exists as it stands is a file, else the longest FILE that exists.
 * *file is owned by the caller; *array points into path, or is NULL. */
static mercer_status split_path(const char *path, char **file, const char **array,
                                struct stat *info, mercer_error *err)
{
    path = path ? path : "";
    mercer_status rc = mrc_strdup(file, path, err);
    *array = NULL;
    if (rc != MERCER_OK || strcmp(*file, "-") == 0 || stat(*file, info) == 0)
        return rc;
    for (size_t at = strlen(*file); at > 1; at--) {
        if ((*file)[at - 1] != ':' || !path[at])
            continue;
        (*file)[at - 1] = 0;
        if (stat(*file, info) == 0 && S_ISREG(info->st_mode)) {
            *array = path + at;
            return MERCER_OK;
        }
        (*file)[at - 1] = ':';
    }
    *info = (struct stat){0};
    return MERCER_OK;
}

mercer_status mercer_reader_open(mercer_ctx *ctx, const char *path,
                                 const mercer_read_options *options, mercer_reader **out,
                                 mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(path);
    return mrc_reader_open(ctx, path, options, MRC_READ_BLOCKS, out, err);
}

mercer_status mrc_reader_open(mercer_ctx *ctx, const char *path, const mercer_read_options *options,
                              mrc_reading reading, mercer_reader **out, mercer_error *err)
{
    mercer_reader *reader = NULL;
    mercer_read_options taken;
    mrc_table_source *source;
    char *file = NULL;
    struct stat info = {0};
    bool gzip;
    mercer_status rc = MERCER_OK;
    MRC_TRY(take_options(options, &taken, err));
    MRC_TRY(reader_alloc(ctx, &reader, err));
    source = &reader->source;
    MRC_TRY(begin_prepare(reader, &taken, err));
    MRC_TRY(split_path(path, &file, &source->array, &info, err));
    source->path = file;
    source->options = &taken;
    source->fill_blocks = taken.fill_blocks;
    source->whole = reading == MRC_READ_WHOLE;
    source->part_of = reading == MRC_READ_PART ? ctx : NULL;
    MRC_TRY(mrc_format_find(file, taken.format, &source->format, &gzip, err));
    bool folders = source->format && source->format->caps & MRC_OPENS_FOLDER;
    bool folder = S_ISDIR(info.st_mode) && (!taken.format || folders);
    if ((taken.resize_width || taken.resize_height) && !folder)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                    "%s: is not a folder of images, so it cannot be resized", file);
    if (!folder && folders && *file) {
        if (info.st_mode)
            MRC_FAIL_AT(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: is not a folder of images", file);
        rc = mrc_fail_errno(err, MERCER_ERR_IO, ENOENT, "%s: cannot open", file);
        goto out;
    }
    if (folder)
        source->format = mrc_format_of_folder();
    if (folder || (source->format && source->format->caps & MRC_OPENS_FILE)) {
        MRC_TRY(mrc_limit_named(&source->budget.limits, file, folder, err));
        MRC_TRY(source->format->open(source, ctx, &reader->self, err));
    } else {
        MRC_TRY(mrc_input_open(&source->input, file, &source->budget.limits, err));
        MRC_TRY(open_stream(reader, ctx, err));
    }
    MRC_TRY(check_limits(source, file, err));
    if (taken.header && !(source->format->caps & MRC_HAS_HEADER))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "header", .names_file = 1),
                    "%s: is neither CSV nor TSV, so it has no header line", source->input.shown);
    const char *key = taken.delimiter   ? "delimiter"
                      : taken.decimal   ? "decimal"
                      : taken.thousands ? "thousands"
                      : taken.encoding  ? "encoding"
                      : taken.comment   ? "comment"
                      : taken.na        ? "na"
                                        : NULL;
    if (key && !(source->format->caps & MRC_HAS_HEADER))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = key, .names_file = 1),
                    "%s: is neither CSV nor TSV, so %s says nothing about it", source->input.shown,
                    key);
    MRC_TRY(open_finish(reader, ctx, &taken, err));
    *out = reader;
    reader = NULL;
out:
    mrc_free(file);
    mercer_reader_close(reader);
    return rc;
}

mercer_status mrc_reader_open_memory(mercer_ctx *ctx, const char *shown, const void *bytes,
                                     size_t count, const mercer_read_options *options,
                                     mercer_reader **out, mercer_error *err)
{
    mercer_reader *reader = NULL;
    mercer_read_options taken;
    bool gzip;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(take_options(options, &taken, err));
    MRC_TRY(reader_alloc(ctx, &reader, err));
    MRC_TRY(begin_prepare(reader, &taken, err));
    MRC_TRY(mrc_input_open_memory(&reader->source.input, shown, bytes, count,
                                  &reader->source.budget.limits, err));
    reader->source.path = shown;
    reader->source.options = &taken;
    MRC_TRY(mrc_format_find(shown, taken.format, &reader->source.format, &gzip, err));
    MRC_TRY(open_stream(reader, ctx, err));
    MRC_TRY(check_limits(&reader->source, shown, err));
    MRC_TRY(open_finish(reader, ctx, &taken, err));
    *out = reader;
    reader = NULL;
out:
    mercer_reader_close(reader);
    return rc;
}

void mercer_reader_close(mercer_reader *reader)
{
    if (!reader)
        return;
    if (reader->self)
        reader->source.format->close(reader->self);
    mrc_text_destroy(&reader->labels);
    mrc_input_close(&reader->labels_input);
    mrc_input_close(&reader->source.input);
    const mrc_columns *columns = &reader->source.columns;
    for (int64_t j = 0; columns->texts && j < columns->data + columns->targets; j++)
        mrc_classes_destroy(&columns->texts[j]);
    mrc_free(columns->texts);
    mrc_free(columns->text_lines);
    mrc_free(reader->prepare_counts.gaps);
    mrc_classes_destroy(&reader->source.classes);
    mrc_free_names(reader->source.columns.names, reader->source.columns.count);
    mrc_free(reader->source.columns.role);
    mrc_prepare_free(reader->prepare);
    mrc_free(reader);
}
