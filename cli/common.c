/* What the commands share: errors, notices, tables in and out, JSON. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_fail(int status, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_clean(text); /* one line, whatever the file is called */
    cli_progress_clear();
    fflush(stdout);
    fprintf(stderr, "mercer: %s\n", text);
    return status;
}

/* Whether a message names the file it is about: also FILE alone of FILE:NAME, at its start. */
static bool names_file(const char *text, const char *about)
{
    if (strstr(text, about))
        return true;
    for (const char *colon = strchr(about, ':'); colon; colon = strchr(colon + 1, ':'))
        if (strncmp(text, about, (size_t)(colon - about) + 1) == 0)
            return true;
    return false;
}

int cli_fail_library(mercer_status code, const mercer_error *err, const char *about)
{
    const int status = code == MERCER_ERR_ARGUMENT    ? CLI_WRONG_CALL
                       : code == MERCER_ERR_CANCELLED ? CLI_INTERRUPTED
                                                      : CLI_FAILED;
    const char *text = err->text[0] ? err->text : mercer_status_text(code);
    if (about && code == MERCER_ERR_DATA && !names_file(text, cli_shown(about)))
        return cli_fail(status, "%s: %s", cli_shown(about), text);
    return cli_fail(status, "%s", text);
}

/* A text in the first row of data is most likely a column of classes nobody named: point at the
 * column, "column 'species'" or "column 3", of messages such as
 * data.csv:2: column 'species': 'setosa' is not a number */
static const char *text_column(const char *text, const char *path, int *length)
{
    static const char mark[] = ": column ";
    const char *shown = cli_shown(path);
    const size_t prefix = strlen(shown);
    if (strncmp(text, shown, prefix) != 0 || !strstr(text, "is not a number") ||
        strstr(text, "is not a number (")) /* a missing value, with what is done about it */
        return NULL;
    text += prefix;
    if (strncmp(text, ":1", 2) != 0 && strncmp(text, ":2", 2) != 0)
        return NULL;
    text += 2;
    if (strncmp(text, mark, sizeof mark - 1) != 0)
        return NULL;
    text += sizeof mark - 1;
    const bool quoted = *text == '\'';
    text += quoted;
    const char *end = strstr(text, quoted ? "':" : ":");
    *length = end ? (int)(end - text) : 0;
    return end ? text : NULL;
}

int cli_fail_reading(const cli_settings *set, mercer_status code, const mercer_error *err,
                     const char *path)
{
    int length = 0;
    const char *column = NULL;
    if (code == MERCER_ERR_DATA && !set->label)
        column = text_column(err->text, path, &length);
    if (column && memchr(column, ';', (size_t)length))
        return cli_fail(CLI_FAILED,
                        "%s; is the file separated by semicolons? Commas (.csv) and tabs "
                        "(.tsv) are read",
                        err->text);
    const bool learns = set->operands == 1; /* of a model everything about columns is fixed */
    if (column)
        return cli_fail(CLI_FAILED, "%s; if the column holds classes, add --label %.*s%s",
                        err->text, length, column,
                        learns ? "; if it is data, --encode onehot" : "");
    return cli_fail_library(code, err, path);
}

void cli_notice(void *host, const char *text)
{
    cli_app *app = host;
    for (int64_t i = 0; i < app->notice_count; i++)
        if (strcmp(app->notices[i], text) == 0)
            return;
    char **grown = cli_alloc((size_t)app->notice_count + 1, sizeof *grown);
    if (app->notice_count)
        memcpy(grown, app->notices, (size_t)app->notice_count * sizeof *grown);
    grown[app->notice_count++] = cli_copy(text);
    free(app->notices);
    app->notices = grown;
}

void cli_print_notices(const cli_app *app)
{
    if (app->set.quiet)
        return;
    cli_progress_clear();
    for (int64_t i = 0; i < app->notice_count; i++)
        fprintf(stderr, "mercer: note: %s\n", cli_visible(app->notices[i]));
}

void cli_read_options(const cli_settings *set, mercer_read_options *options)
{
    mercer_read_options_init(options);
    options->format = set->format;
    options->header = set->header;
    options->label = set->label;
    options->target = set->target;
    options->labels_file = set->labels;
    options->no_label = set->no_label;
    options->resize_width = set->resize[0];
    options->resize_height = set->resize[1];
    options->encode = set->encode;
    options->missing = set->missing;
    options->image_features = set->image_features;
}

void cli_read_other(const char *path, mercer_read_options *options)
{
    const char *form = mercer_format_name(path, options->format);
    if (form && strcmp(form, "csv") != 0 && strcmp(form, "tsv") != 0 && strcmp(form, "tab") != 0)
        options->header = NULL;
}

const char *cli_shown(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

bool cli_is_live(const char *path)
{
    struct stat in;
    const int failed = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &in) : stat(path, &in);
    return !failed && (S_ISFIFO(in.st_mode) || S_ISCHR(in.st_mode) || S_ISSOCK(in.st_mode));
}

bool cli_is_stdout(const char *path)
{
    if (!path || strcmp(path, "-") == 0)
        return true;
    struct stat file, out;
    if (stat(path, &file) || fstat(STDOUT_FILENO, &out))
        return false;
    if (file.st_dev != out.st_dev || file.st_ino != out.st_ino)
        return false;
    /* /dev/null given twice is not a mixture. */
    return !S_ISCHR(out.st_mode) || isatty(STDOUT_FILENO);
}

int cli_check_output(const char *path)
{
    if (!path || strcmp(path, "-") == 0)
        return CLI_DONE;
    struct stat there;
    const size_t length = strlen(path);
    if (stat(path, &there) == 0) {
        if (S_ISDIR(there.st_mode))
            return cli_fail(CLI_FAILED, "%s: is a folder; give the name of a file to write", path);
        return CLI_DONE; /* the writer knows the rest */
    }
    if (errno != ENOENT || path[length - 1] == '/')
        return cli_fail(CLI_FAILED, "%s: cannot be written: %s", path,
                        strerror(errno == ENOENT ? EISDIR : errno));
    if (lstat(path, &there) == 0)
        return CLI_DONE; /* a symbolic link to a file that is not there yet */
    char *folder = cli_copy(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    const char *name = slash ? folder : ".";
    int status = CLI_DONE;
    if (stat(name, &there))
        status = cli_fail(CLI_FAILED, "%s: cannot be written: there is no folder '%s'", path, name);
    else if (!S_ISDIR(there.st_mode))
        status = cli_fail(CLI_FAILED, "%s: cannot be written: '%s' is not a folder", path, name);
    else if (access(name, W_OK | X_OK))
        status = cli_fail(CLI_FAILED, "%s: cannot be written: folder '%s': %s", path, name,
                          strerror(errno));
    free(folder);
    return status;
}

/* stat() of the file that DATA names, which may be FILE:NAME. */
static bool stat_data(const char *data, struct stat *info)
{
    bool found = stat(data, info) == 0;
    char *file = cli_copy(data);
    for (char *colon; !found && (colon = strrchr(file, ':'));) {
        *colon = 0;
        found = stat(file, info) == 0;
    }
    free(file);
    return found;
}

int cli_check_overwrite(const char *path, const char *input, const char *what)
{
    struct stat out, in;
    if (!path || strcmp(path, "-") == 0 || strcmp(input, "-") == 0 || stat(path, &out) ||
        !stat_data(input, &in) || !S_ISREG(out.st_mode) || out.st_dev != in.st_dev ||
        out.st_ino != in.st_ino)
        return CLI_DONE;
    return cli_fail(CLI_WRONG_CALL,
                    "%s: would be written over the %s; give the output another name", path, what);
}

int cli_check_overwrite_options(const char *path, const cli_settings *set)
{
    const struct {
        const char *path, *what;
    } inputs[] = {{set->labels, "labels"},
                  {set->test, "test rows"},
                  {set->test_labels, "labels of the test rows"},
                  {set->split, "splits"},
                  {set->validation, "validation rows"},
                  {set->landmarks, "landmarks"},
                  {set->self, "values k(x,x)"}};
    int status = CLI_DONE;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs && status == CLI_DONE; i++)
        if (inputs[i].path)
            status = cli_check_overwrite(path, inputs[i].path, inputs[i].what);
    return status;
}

int cli_check_model_output(const char *command, const char *path)
{
    if (!cli_is_stdout(path) || !isatty(STDOUT_FILENO))
        return CLI_DONE;
    return cli_fail(CLI_WRONG_CALL,
                    "%s: a model is no text for a terminal; give -o FILE or redirect", command);
}

int cli_finish_stdout(int status)
{
    errno = 0;
    const bool failed = fflush(stdout) || ferror(stdout);
    if (failed && status == CLI_DONE)
        return cli_fail(CLI_FAILED, "standard output: %s",
                        errno == ENOSPC ? "the disk is full"
                        : errno         ? strerror(errno)
                                        : "cannot be written");
    return status;
}

int64_t cli_block_rows(int64_t numbers, int64_t most)
{
    /* Raising BYTES saves little: a block already takes far longer than its overhead. But the
     * library computes with CHUNK rows a thread, and fewer cost as much. */
    enum { BYTES = 8 << 20, MOST_BYTES = 64 << 20, CHUNK = 64, FEW = 4 * CHUNK, FIRST = 64 };
    const int64_t bytes = 8 * (numbers + 1);
    int64_t rows = BYTES / bytes;
    if (rows < FEW)
        rows = MOST_BYTES / bytes < FEW ? MOST_BYTES / bytes : FEW;
    if (rows > CHUNK)
        rows -= rows % CHUNK;
    if (rows < 1)
        rows = 1;
    if (most == 0)
        most = FIRST;
    return rows < most ? rows : most;
}

/* Tables going out. */

/* True for standard output, and for devices and pipes whose names tell no format. */
static bool is_stream(const char *path)
{
    if (strcmp(path, "-") == 0)
        return true;
    const char *slash = strrchr(path, '/');
    struct stat there;
    return !strchr(slash ? slash : path, '.') && stat(path, &there) == 0 && !S_ISREG(there.st_mode);
}

mercer_status cli_sink_open(cli_sink *sink, mercer_ctx *ctx, const char *path, const char *format,
                            int64_t columns, const char *const *names,
                            const mercer_targets *targets, mercer_error *err)
{
    *sink = (cli_sink){.path = path ? path : "-"};
    if (!format && is_stream(sink->path))
        format = "csv";
    const char *form = mercer_format_name(sink->path, format);
    const bool libsvm = form && strcmp(form, "libsvm") == 0;
    const mercer_target_kind kind = targets ? mercer_targets_kind(targets) : MERCER_TARGET_NONE;
    const char *text_name = NULL;
    if (kind == MERCER_TARGET_CLASSES) {
        text_name = mercer_targets_name(targets, 0);
        if (!text_name)
            text_name = "label";
        sink->text = true;
    } else if (kind == MERCER_TARGET_VALUES && libsvm) {
        text_name = "target";
        sink->text = true;
        sink->labels = mercer_targets_columns(targets);
    } else if (kind == MERCER_TARGET_VALUES) {
        sink->leading = mercer_targets_columns(targets);
    }
    sink->columns = sink->leading + columns;

    const char **all = NULL;
    char **made = NULL;
    if (names) {
        all = cli_alloc((size_t)sink->columns, sizeof *all);
        made = cli_names_numbered("target", sink->leading, 0);
        for (int64_t j = 0; j < sink->leading; j++) {
            const char *name = mercer_targets_name(targets, j);
            all[j] = name ? name : made[j];
        }
        for (int64_t j = 0; j < columns; j++)
            all[sink->leading + j] = names[j];
    }
    const mercer_status rc = mercer_writer_open(ctx, sink->path, format, sink->columns, all,
                                                text_name, &sink->writer, err);
    cli_names_free(made, names ? sink->leading : 0);
    free(all);
    return rc;
}

enum { NUMBER_SIZE = 32 };

/* A number with as few digits as give it back; returns their count. */
static int format_number(char out[NUMBER_SIZE], double value)
{
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(out, NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return length;
}

static void make_room(cli_sink *sink, int64_t count)
{
    if (count <= sink->room)
        return;
    free(sink->buffer);
    free(sink->names);
    free(sink->formatted);
    sink->room = count;
    sink->buffer = sink->leading ? cli_alloc((size_t)count, (size_t)sink->columns * 8) : NULL;
    sink->names = sink->text ? cli_alloc((size_t)count, sizeof *sink->names) : NULL;
    sink->formatted =
        sink->labels ? cli_alloc((size_t)count, (size_t)sink->labels * NUMBER_SIZE) : NULL;
}

/* The texts in front of rows first, first + 1, ...; NULL when there are none. */
static const char *const *texts_of(cli_sink *sink, const mercer_targets *targets, int64_t first,
                                   int64_t count)
{
    const char **names = sink->names;
    if (!names)
        return NULL;
    for (int64_t i = 0; i < count && sink->labels; i++) {
        const double *values = mercer_targets_values(targets) + (first + i) * sink->labels;
        char *at = sink->formatted + i * sink->labels * NUMBER_SIZE;
        names[i] = at;
        for (int64_t k = 0; k < sink->labels; k++) {
            at += format_number(at, values[k]);
            *at++ = k + 1 < sink->labels ? ',' : 0;
        }
    }
    for (int64_t i = 0; i < count && !sink->labels; i++)
        names[i] = mercer_targets_class_name(targets, mercer_targets_codes(targets)[first + i]);
    return names;
}

/* count rows at x, whose targets are those from first on. */
static mercer_status put_rows(cli_sink *sink, mercer_ctx *ctx, const double *x, int64_t first,
                              int64_t count, const mercer_targets *targets, mercer_error *err)
{
    make_room(sink, count);
    if (sink->leading) {
        const double *values = mercer_targets_values(targets) + first * sink->leading;
        const int64_t rest = sink->columns - sink->leading;
        for (int64_t i = 0; i < count; i++) {
            double *row = sink->buffer + i * sink->columns;
            memcpy(row, values + i * sink->leading, (size_t)sink->leading * sizeof *row);
            memcpy(row + sink->leading, x + i * rest, (size_t)rest * sizeof *row);
        }
        x = sink->buffer;
    }
    sink->rows += count;
    return mercer_writer_rows(ctx, sink->writer, x, count, sink->columns,
                              texts_of(sink, targets, first, count), err);
}

mercer_status cli_sink_rows(cli_sink *sink, mercer_ctx *ctx, const double *x, int64_t count,
                            const mercer_targets *targets, mercer_error *err)
{
    return put_rows(sink, ctx, x, 0, count, targets, err);
}

mercer_status cli_sink_table(cli_sink *sink, mercer_ctx *ctx, const mercer_rows *rows,
                             const mercer_targets *targets, mercer_error *err)
{
    const int64_t n = mercer_rows_count(rows), d = mercer_rows_columns(rows);
    if (!sink->leading) {
        make_room(sink, n);
        sink->rows += n;
        return mercer_writer_add(ctx, sink->writer, rows, texts_of(sink, targets, 0, n), err);
    }
    const int64_t most = cli_block_rows(2 * d, INT64_MAX);
    double *values = cli_alloc((size_t)(n < most ? n : most), (size_t)d * 8);
    mercer_status rc = MERCER_OK;
    for (int64_t first = 0; first < n && rc == MERCER_OK; first += most) {
        const int64_t count = n - first < most ? n - first : most;
        mercer_rows_copy(rows, first, count, values);
        rc = put_rows(sink, ctx, values, first, count, targets, err);
    }
    free(values);
    return rc;
}

static void sink_release(cli_sink *sink)
{
    sink->writer = NULL;
    free(sink->buffer);
    free(sink->names);
    free(sink->formatted);
    sink->buffer = NULL;
    sink->names = NULL;
    sink->formatted = NULL;
}

mercer_status cli_sink_flush(cli_sink *sink, mercer_error *err)
{
    return mercer_writer_flush(sink->writer, err);
}

mercer_status cli_sink_finish(cli_sink *sink, mercer_ctx *ctx, mercer_error *err)
{
    mercer_writer *writer = sink->writer;
    sink_release(sink);
    return mercer_writer_finish(ctx, writer, err);
}

void cli_sink_abort(cli_sink *sink)
{
    mercer_writer_abort(sink->writer);
    sink_release(sink);
}

mercer_status cli_predicted_classes(const int64_t *codes, int64_t n, const char *const *names,
                                    int64_t classes, mercer_targets **out, mercer_error *err)
{
    int64_t *shown = cli_alloc((size_t)n, sizeof *shown);
    const char **all = cli_alloc((size_t)classes + 1, sizeof *all);
    memcpy(all, names, (size_t)classes * sizeof *all);
    all[classes] = "";
    for (int64_t i = 0; i < n; i++)
        shown[i] = codes[i] == MERCER_NO_CLASS ? classes : codes[i];
    const mercer_status rc =
        mercer_targets_new_classes(shown, n, all, classes + 1, "prediction", out, err);
    free(shown);
    free(all);
    return rc;
}

char **cli_names(const mercer_rows *rows, const char *prefix, int64_t count)
{
    if (!mercer_rows_name(rows, 0))
        return prefix ? cli_names_numbered(prefix, count, 0) : NULL;
    char **names = cli_alloc((size_t)count, sizeof *names);
    for (int64_t j = 0; j < count; j++)
        names[j] = cli_copy(mercer_rows_name(rows, j));
    return names;
}

char **cli_names_numbered(const char *prefix, int64_t count, int extra)
{
    static const char *const more[] = {"error", "novel"};
    char **names = cli_alloc((size_t)(count + extra), sizeof *names);
    for (int64_t j = 0; j < count; j++)
        names[j] = cli_format("%s%lld", prefix, (long long)j + 1);
    for (int j = 0; j < extra; j++)
        names[count + j] = cli_copy(more[j]);
    return names;
}

void cli_names_free(char **names, int64_t count)
{
    if (!names)
        return;
    for (int64_t j = 0; j < count; j++)
        free(names[j]);
    free(names);
}

/* JSON. */

json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_text(const char *text)
{
    if (!text)
        return json_null();
    json_t *json = json_string(text);
    if (json)
        return json;
    char *plain = cli_copy(text);
    for (char *at = plain; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    json = json_string(plain);
    free(plain);
    return json;
}

void cli_json_method(json_t *json, const char *spec)
{
    char *name = cli_format("%.*s", (int)strcspn(spec, ":"), spec);
    json_object_set_new(json, "method", cli_json_text(name));
    free(name);
    json_object_set_new(json, "method_spec", cli_json_text(spec));
}

json_t *cli_json_share(const mercer_model_info *info)
{
    return info->novelty_share > 0 ? json_real(info->novelty_share) : json_null();
}

json_t *cli_json_reals(const double *values, int64_t count, double factor)
{
    json_t *array = json_array();
    for (int64_t i = 0; values && i < count; i++)
        json_array_append_new(array, cli_json_real(values[i] * factor));
    return array;
}

json_t *cli_json_notices(const cli_app *app)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < app->notice_count; i++)
        json_array_append_new(array, cli_json_text(app->notices[i]));
    return array;
}

void cli_json_print(FILE *out, json_t *object)
{
    const char *key;
    json_t *value;
    const char *before = "{\n";
    cli_progress_clear();
    json_object_foreach(object, key, value)
    {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        fprintf(out, "%s  \"%s\": ", before, key);
        cli_put_json(out, text);
        free(text);
        before = ",\n";
    }
    fprintf(out, "%s}\n", json_object_size(object) ? "\n" : "{");
    json_decref(object);
}

/* Preparation of the input. */

static double density(int64_t entries, int64_t rows, int64_t columns)
{
    return (double)entries / ((double)rows * (double)columns);
}

char *cli_sparse_text(int64_t entries, int64_t rows, int64_t columns)
{
    if (entries < 0)
        return cli_copy("");
    return cli_format(", sparse: %s entr%s (%.2g %%)", cli_text_count(entries).text,
                      entries == 1 ? "y" : "ies", 100 * density(entries, rows, columns));
}

void cli_json_sparse(json_t *json, int64_t entries, int64_t rows, int64_t columns)
{
    const bool sparse = entries >= 0;
    json_object_set_new(json, "entries", sparse ? json_integer(entries) : json_null());
    json_object_set_new(json, "density",
                        cli_json_real(sparse ? density(entries, rows, columns) : NAN));
}

void cli_print_preparation(FILE *out, const mercer_model_info *info)
{
    if (strcmp(info->encode, "none") != 0)
        cli_print_row(out, "text columns", "%s: a 0/1 column for each value", info->encode);
    if (strcmp(info->missing, "error") != 0)
        cli_print_row(out, "missing values", "%s",
                      strcmp(info->missing, "mean") == 0 ? "mean of the column" : "rows left out");
    if (info->image_features)
        cli_print_row(out, "images", "%lldx%lld pixels, %s; %s", (long long)info->image_width,
                      (long long)info->image_height,
                      info->image_channels == 1 ? "grey" : "in colour", info->image_features);
}

void cli_json_preparation(json_t *json, const mercer_model_info *info)
{
    json_object_set_new(json, "encode", cli_json_text(info->encode));
    json_object_set_new(json, "missing", cli_json_text(info->missing));
    json_object_set_new(json, "image_features", cli_json_text(info->image_features));
    if (info->image_features)
        json_object_set_new(json, "image_size",
                            json_pack("[I,I,I]", (json_int_t)info->image_width,
                                      (json_int_t)info->image_height,
                                      (json_int_t)info->image_channels));
}
