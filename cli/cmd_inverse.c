/* mercer inverse: rows whose features are near the given ones (pre-images), block by block. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static char **model_names(const mercer_model *model, int64_t columns, bool with_error)
{
    char **names = cli_names_numbered("x", columns, with_error);
    for (int64_t j = 0; j < columns; j++) {
        const char *name = mercer_model_column_name(model, j);
        if (name) {
            free(names[j]);
            names[j] = cli_copy(name);
        }
    }
    return names;
}

/* Pre-images as image files: one, or a folder of row00001.pgm, row00002.pgm, ... */
typedef struct gallery {
    bool wanted;   /* the output is images at all */
    char *folder;  /* without its last slash; NULL: a single file; owned */
    int64_t count; /* images written to it */
    int64_t clipped;
} gallery;

static bool is_folder(const char *path)
{
    struct stat there;
    return path[strlen(path) - 1] == '/' || (stat(path, &there) == 0 && S_ISDIR(there.st_mode));
}

static bool is_image_kind(const char *name)
{
    static const char *const kinds[] = {"pgm", "ppm", "pnm", "png"};
    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++)
        if (strcasecmp(name, kinds[i]) == 0)
            return true;
    return false;
}

/* What -o asks for; a status after one line when it cannot be. */
static int gallery_open(gallery *g, const cli_settings *set)
{
    if (!set->output || strcmp(set->output, "-") == 0) {
        if (is_image_kind(set->output_format))
            return cli_fail(CLI_WRONG_CALL, "inverse: images need a file or a folder; add -o");
        return CLI_DONE;
    }
    const char *dot = strrchr(set->output, '.');
    const bool folder = is_folder(set->output);
    g->wanted = folder || is_image_kind(set->output_format ? set->output_format
                                        : dot              ? dot + 1
                                                           : NULL);
    if (!g->wanted || !folder)
        return cli_check_output(set->output);
    if (set->output_format && !is_image_kind(set->output_format))
        return cli_fail(CLI_WRONG_CALL, "%s: is a folder, which takes images (pgm, png), not %s",
                        set->output, set->output_format);
    g->folder = cli_copy(set->output);
    for (size_t end = strlen(g->folder); end > 1 && g->folder[end - 1] == '/'; end--)
        g->folder[end - 1] = 0;
    return is_folder(g->folder) ? CLI_DONE : cli_check_output(g->folder);
}

/* Whether the model's rows are images. */
static int gallery_check(const gallery *g, const cli_settings *set, const mercer_model_info *info)
{
    if (!g->wanted)
        return CLI_DONE;
    if (!info->image_features || strcmp(info->image_features, "pixels") != 0)
        return cli_fail(CLI_FAILED, "%s: its rows are %s, not images; give -o a file as rows.csv",
                        set->operand[0], info->image_features ? "features of images" : "columns");
    if (set->errors)
        return cli_fail(CLI_WRONG_CALL, "inverse: --errors has no place in images; give -o a file "
                                        "as rows.csv");
    return CLI_DONE;
}

static mercer_status gallery_rows(gallery *g, cli_app *app, const mercer_model_info *info,
                                  const double *rows, int64_t count, mercer_error *err)
{
    const char *kind = app->set.output_format;
    mercer_status rc = MERCER_OK;
    if (g->folder && mkdir(g->folder, 0777) && errno != EEXIST) {
        err->code = MERCER_ERR_IO;
        snprintf(err->text, sizeof err->text, "%s: cannot be made: %s", g->folder, strerror(errno));
        return err->code;
    }
    const bool png = kind && strcmp(kind, "png") == 0;
    for (int64_t i = 0; i < count && rc == MERCER_OK; i++) {
        char *path = cli_copy(app->set.output);
        if (g->folder) {
            free(path);
            kind = png ? "png" : info->image_channels == 1 ? "pgm" : "ppm";
            path = cli_format("%s/row%05lld.%s", g->folder, (long long)++g->count, kind);
        }
        rc = mercer_image_write(app->ctx, path, kind, rows + i * info->columns, info->image_width,
                                info->image_height, info->image_channels, &g->clipped, err);
        free(path);
    }
    return rc;
}

static void gallery_finish(const gallery *g, cli_app *app)
{
    if (!g->clipped)
        return;
    char *text =
        cli_format("%lld values lay outside 0 to 255 and were clipped", (long long)g->clipped);
    cli_notice(app, text);
    free(text);
}

static int run_inverse(cli_app *app)
{
    const cli_settings *set = &app->set;
    const char *path = set->operand[1];
    gallery images = {0};
    int status = gallery_open(&images, set);
    if (status == CLI_DONE)
        status = cli_check_overwrite(set->output, set->operand[0], "model");
    if (status == CLI_DONE)
        status = cli_check_overwrite(set->output, path, "data");
    if (status != CLI_DONE) {
        free(images.folder);
        return status;
    }

    mercer_error err = {MERCER_OK, ""};
    mercer_model *model = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_reader *reader = NULL;
    mercer_table *block = NULL;
    cli_sink sink = {0};
    double *features = NULL, *rows_out = NULL, *errors = NULL, *joined = NULL;
    int64_t done = 0;
    double error_sum = 0;
    char **names = NULL, **feature_names = NULL;
    const double start = cli_now();

    mercer_status rc = mercer_model_load(app->ctx, set->operand[0], &model, &err);
    if (rc != MERCER_OK)
        goto out;
    mercer_model_get_info(model, &info);
    status = gallery_check(&images, set, &info);
    if (status != CLI_DONE)
        goto out;
    const int64_t l = info.components, d = info.columns, width = d + (set->errors ? 1 : 0);
    names = model_names(model, d, set->errors);

    mercer_read_options reading;
    cli_read_options(set, &reading);
    feature_names = cli_names_numbered("f", l, false);
    reading.only = (const char *const *)feature_names;
    reading.only_count = l;
    rc = mercer_reader_open(app->ctx, path, &reading, &reader, &err);
    if (rc != MERCER_OK)
        goto out;
    mercer_ctx_set_progress(app->ctx, NULL, NULL); /* the rows are the progress */

    const int64_t room = cli_block_rows(2 * l + d, INT64_MAX);
    int64_t wanted = cli_block_rows(2 * l + d, 0);
    for (;;) {
        rc = mercer_reader_next(app->ctx, reader, wanted, &block, &err);
        if (rc != MERCER_OK || !block)
            break;
        const mercer_rows *rows = mercer_table_rows(block);
        const int64_t count = mercer_rows_count(rows), columns = mercer_rows_columns(rows);
        if (done == 0) {
            if (columns != l) { /* only without names: else just f1, f2, ... were read */
                status = cli_fail(CLI_FAILED,
                                  "%s: has %lld columns; expected f1 to f%lld, the model's "
                                  "features",
                                  cli_shown(path), (long long)columns, (long long)l);
                goto out;
            }
            if (images.wanted && !images.folder && count > 1) {
                status = cli_fail(CLI_FAILED,
                                  "%s: has more than one row, and %s is one image; give -o a "
                                  "folder as images/",
                                  cli_shown(path), set->output);
                goto out;
            }
            features = cli_alloc((size_t)room, (size_t)l * 8);
            rows_out = cli_alloc((size_t)room, (size_t)d * 8);
            if (set->errors) {
                errors = cli_alloc((size_t)room, 8);
                joined = cli_alloc((size_t)room, (size_t)width * 8);
            }
        }
        mercer_rows_copy(rows, 0, count, features);
        rc = mercer_model_inverse(app->ctx, model, features, count, rows_out, errors, &err);
        if (rc != MERCER_OK)
            break;
        for (int64_t i = 0; errors && i < count; i++) {
            error_sum += errors[i];
            memcpy(joined + i * width, rows_out + i * d, (size_t)d * 8);
            joined[i * width + d] = errors[i];
        }
        if (images.wanted)
            rc = gallery_rows(&images, app, &info, rows_out, count, &err);
        else if (!sink.writer)
            rc = cli_sink_open(&sink, app->ctx, set->output, set->output_format, width,
                               (const char *const *)names, NULL, &err);
        if (rc == MERCER_OK && !images.wanted)
            rc = cli_sink_rows(&sink, app->ctx, errors ? joined : rows_out, count, NULL, &err);
        if (rc != MERCER_OK)
            break;
        done += count;
        wanted = cli_block_rows(2 * columns + l + d, room);
        mercer_table_free(block);
        block = NULL;
        char phase[48];
        snprintf(phase, sizeof phase, "%s rows", cli_text_count(done).text);
        cli_progress(NULL, phase, -1);
    }
    if (rc != MERCER_OK)
        goto out;
    if (done == 0) {
        status = cli_fail(CLI_FAILED, "%s: has no rows", cli_shown(path));
        goto out;
    }
    if (!images.wanted)
        rc = cli_sink_finish(&sink, app->ctx, &err);
    if (rc != MERCER_OK)
        goto out;
    gallery_finish(&images, app);

    const bool on_stdout = cli_is_stdout(set->output);
    const double seconds = cli_now() - start;
    cli_progress_clear();
    if (set->json) {
        json_t *json = json_object();
        json_object_set_new(json, "model", cli_json_text(set->operand[0]));
        json_object_set_new(json, "data", cli_json_text(path));
        json_object_set_new(json, "output", cli_json_text(set->output ? set->output : "-"));
        json_object_set_new(json, "rows", json_integer(done));
        json_object_set_new(json, "columns", json_integer(d));
        json_object_set_new(json, "preimage_error",
                            cli_json_real(set->errors ? error_sum / (double)done : NAN));
        json_object_set_new(json, "seconds", cli_json_real(seconds));
        json_object_set_new(json, "peak_memory_bytes", json_integer(cli_peak_memory()));
        json_object_set_new(json, "notices", cli_json_notices(app));
        cli_json_print(on_stdout ? stderr : stdout, json);
    } else {
        cli_print_notices(app);
        if (images.wanted && !set->quiet)
            printf("%s: %s image%s of %lldx%lld pixels in %s\n", set->output,
                   cli_text_count(done).text, done == 1 ? "" : "s", (long long)info.image_width,
                   (long long)info.image_height, cli_text_seconds(seconds).text);
        else if (!on_stdout && !set->quiet)
            printf("%s: %s rows x %lld columns in %s\n", sink.path, cli_text_count(done).text,
                   (long long)d, cli_text_seconds(seconds).text);
    }
out:
    if (rc != MERCER_OK)
        status = cli_fail_reading(set, rc, &err, path);
    cli_sink_abort(&sink);
    mercer_table_free(block);
    mercer_reader_close(reader);
    cli_names_free(names, names ? info.columns + (set->errors ? 1 : 0) : 0);
    cli_names_free(feature_names, feature_names ? info.components : 0);
    mercer_model_free(model);
    free(features);
    free(rows_out);
    free(errors);
    free(joined);
    free(images.folder);
    return status;
}

static const cli_option options[] = {
    CLI_OPTION("output", 'o', CLI_TEXT, output, "OUT", NULL,
               "file to write, its form by the ending: .csv .tsv .npy, also .gz; of a model of "
               "images also .pgm .png, or a folder as images/; default: CSV on standard output"),
    CLI_OPTION("errors", 0, CLI_FLAG, errors, NULL, NULL,
               "add a column 'error': the squared distance in feature space between what was asked "
               "for and what was found"),
    CLI_OPTION_FORMAT,
    CLI_OPTION("output-format", 0, CLI_CHOICE, output_format, "F", "csv|tsv|npy|pgm|ppm|png",
               "format of the output when its ending does not tell; default: csv, in a folder pgm "
               "(in colour ppm)"),
    CLI_OPTION_MACHINE,
    CLI_OPTION_JSON,
    CLI_OPTION_QUIET,
    CLI_OPTION_HELP,
    CLI_OPTION_END,
};

const cli_command cli_command_inverse = {
    .name = "inverse",
    .summary = "find the rows that belong to given features (pre-images)",
    .operands = "MODEL FEATURES",
    .least = 2,
    .most = 2,
    .options = options,
    .details = "FEATURES is what 'mercer transform' writes: columns f1, f2, ...; other columns are "
               "ignored.\n"
               "Features of noisy rows lead back to rows without much of the noise.\n\n"
               "Examples:\n"
               "  mercer transform my.model noisy.csv | mercer inverse my.model - -o clean.csv\n"
               "  mercer transform faces.model faces | mercer inverse faces.model - -o seen/\n",
    .run = run_inverse,
};
