/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-images as image files: a folder of row00001.pgm, row00002.pgm, ... or one file, which is a
 * contact sheet when there are several. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_IN_SHEET = 1000 };

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

int cli_gallery_open(cli_gallery *g, const cli_settings *set)
{
    if (!set->output || !*set->output || strcmp(set->output, "-") == 0) {
        if (set->sheet[0] || is_image_kind(set->output_format))
            return cli_fail(CLI_WRONG_CALL, "inverse: images need a file or a folder; add -o");
        return cli_check_output(set->output);
    }
    const char *dot = strrchr(set->output, '.');
    const bool folder = is_folder(set->output);
    if (set->sheet[0] && folder)
        return cli_fail(CLI_WRONG_CALL,
                        "inverse: --sheet is for one image; give -o a file, e.g. sheet.png");
    g->wanted = folder || is_image_kind(set->output_format ? set->output_format
                                        : dot              ? dot + 1
                                                           : NULL);
    if (set->sheet[0] && !g->wanted)
        return cli_fail(CLI_WRONG_CALL, "inverse: --sheet needs an image: -o sheet.png");
    if (!folder)
        return cli_check_output(set->output);
    if (set->output_format && !is_image_kind(set->output_format))
        return cli_fail(CLI_WRONG_CALL, "%s: is a folder, which takes images (pgm, png), not %s",
                        set->output, set->output_format);
    g->folder = cli_copy(set->output);
    for (size_t end = strlen(g->folder); end > 1 && g->folder[end - 1] == '/'; end--)
        g->folder[end - 1] = 0;
    return is_folder(g->folder) ? CLI_DONE : cli_check_output(g->folder);
}

int cli_gallery_check(const cli_gallery *g, const cli_settings *set, const mercer_model_info *info)
{
    if (!g->wanted)
        return CLI_DONE;
    if (!info->image_features || strcmp(info->image_features, "pixels") != 0)
        return cli_fail(CLI_FAILED,
                        "%s: its rows are %s, not images; give -o a file, e.g. rows.csv",
                        set->operand[0], info->image_features ? "features of images" : "columns");
    if (set->errors)
        return cli_fail(CLI_WRONG_CALL,
                        "inverse: --errors has no place in images; give -o a file, e.g. rows.csv");
    return CLI_DONE;
}

static mercer_status write_image(cli_gallery *g, const cli_app *app, const mercer_model_info *info,
                                 const char *path, const char *kind, const double *row,
                                 mercer_error *err)
{
    return mercer_image_write(app->ctx, path, kind, row, info->image_width, info->image_height,
                              info->image_channels, &g->clipped, err);
}

static mercer_status write_folder(cli_gallery *g, const cli_app *app, const mercer_model_info *info,
                                  const double *rows, int64_t count, mercer_error *err)
{
    const char *format = app->set.output_format;
    const bool png = format && strcmp(format, "png") == 0;
    const char *kind = png ? "png" : info->image_channels == 1 ? "pgm" : "ppm";
    mercer_status rc = MERCER_OK;
    if (mkdir(g->folder, 0777) && errno != EEXIST)
        return cli_error(err, MERCER_ERR_IO, "%s: cannot be made: %s", g->folder, strerror(errno));
    for (int64_t i = 0; i < count && rc == MERCER_OK; i++) {
        char *path = cli_format("%s/row%05lld.%s", g->folder, (long long)++g->count, kind);
        rc = write_image(g, app, info, path, kind, rows + i * info->columns, err);
        free(path);
    }
    return rc;
}

mercer_status cli_gallery_rows(cli_gallery *g, const cli_app *app, const mercer_model_info *info,
                               const double *rows, int64_t count, mercer_error *err)
{
    if (g->folder)
        return write_folder(g, app, info, rows, count, err);
    const int64_t room = app->set.sheet[0] ? app->set.sheet[0] * app->set.sheet[1] : MAX_IN_SHEET;
    if (g->count + count > room)
        return cli_error(
            err, MERCER_ERR_DATA,
            "has more rows than a sheet of %lld images; give -o a folder, e.g. images/",
            (long long)room);
    g->rows = cli_resize(g->rows, (size_t)((g->count + count) * info->columns), sizeof *g->rows);
    memcpy(g->rows + g->count * info->columns, rows,
           (size_t)(count * info->columns) * sizeof *g->rows);
    g->count += count;
    return MERCER_OK;
}

/* All images in one, with white lines between them. */
static mercer_status write_sheet(cli_gallery *g, const cli_app *app, const mercer_model_info *info,
                                 mercer_error *err)
{
    enum { ACROSS = 10, GAP = 2, WHITE = 255 };
    const int64_t wide = info->image_width, high = info->image_height, of = info->image_channels;
    const int64_t *sheet = app->set.sheet;
    const int64_t across = sheet[0] ? sheet[0] : g->count < ACROSS ? g->count : ACROSS;
    const int64_t down = sheet[0] ? sheet[1] : (g->count + across - 1) / across;
    const int64_t width = across * (wide + GAP) - GAP, height = down * (high + GAP) - GAP;
    double *pixels = cli_alloc((size_t)(width * height), (size_t)of * sizeof *pixels);
    for (int64_t i = 0; i < width * height * of; i++)
        pixels[i] = WHITE;
    for (int64_t i = 0; i < g->count; i++)
        for (int64_t y = 0; y < high; y++)
            memcpy(
                pixels + ((i / across * (high + GAP) + y) * width + i % across * (wide + GAP)) * of,
                g->rows + i * info->columns + y * wide * of, (size_t)(wide * of) * sizeof *pixels);
    const mercer_status rc = mercer_image_write(app->ctx, app->set.output, app->set.output_format,
                                                pixels, width, height, of, &g->clipped, err);
    free(pixels);
    return rc;
}

mercer_status cli_gallery_finish(cli_gallery *g, cli_app *app, const mercer_model_info *info,
                                 mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (g->rows)
        rc = write_sheet(g, app, info, err);
    if (rc != MERCER_OK || !g->clipped)
        return rc;
    char *text =
        cli_format("%lld values lay outside 0 to 255 and were clipped", (long long)g->clipped);
    cli_notice(app, text);
    free(text);
    return MERCER_OK;
}

void cli_gallery_free(cli_gallery *g)
{
    free(g->folder);
    free(g->rows);
}
