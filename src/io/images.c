/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders of images: one image per row, its pixels row by row (grey: one number each, colour: red,
 * green and blue), from 0 to 255.
 *
 * A folder of sub-folders has one class a sub-folder; a flat one has none. Names come in natural
 * order: 2 before 10. Pixels come from image_pixels.c, of files that are not trusted in a process
 * of their own (image_remote.c). Another size is reached by averaging over the area each new pixel
 * covers. */
#include "base/bytes.h"
#include "data/prepare.h"
#include "io/containers.h"
#include "io/image.h"
#include "io/matrix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { NAMES_FIRST = 64 };
#define MAX_FILE ((int64_t)1 << 30)

/* Names in a folder. */
struct names {
    char **list;
    int64_t count, capacity;
    mrc_budget *budget; /* that they are taken from, borrowed; or NULL */
    int64_t taken;
};

struct images {
    mrc_budget *budget; /* borrowed; or NULL */
    char *folder;
    struct names classes; /* sub-folders; empty when the folder is flat */
    struct names files;   /* paths from the folder on */
    int64_t *class_of;    /* of each file; or NULL */
    int64_t class_room;
    int64_t width, height; /* of all rows */
    int channels;
    bool resized;
    mrc_limits limits;
    mrc_image_decoder *decoder; /* owned; NULL: this process decodes */
    char *path;                 /* of the image at hand, for messages */
    size_t path_size;
};

/* --- names --- */

static int compare_natural(const void *a, const void *b)
{
    const char *first = *(char *const *)a, *second = *(char *const *)b, *p = first, *q = second;
    static const char digits[] = "0123456789";
    while (*p && *q) {
        size_t m = strspn(p, digits), n = strspn(q, digits);
        if (m > 0 && n > 0) {
            size_t zeros = strspn(p, "0"), others = strspn(q, "0");
            const char *x = p + zeros, *y = q + others;
            size_t left = m - zeros, right = n - others;
            if (left != right)
                return left < right ? -1 : 1;
            int order = memcmp(x, y, left);
            if (order)
                return order;
            p += m;
            q += n;
        } else if (*p != *q) {
            return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
        } else {
            p++;
            q++;
        }
    }
    return *p ? 1 : *q ? -1 : strcmp(first, second);
}

static void names_destroy(struct names *names)
{
    for (int64_t i = 0; i < names->count; i++)
        mrc_free(names->list[i]);
    mrc_free(names->list);
    mrc_budget_give(names->budget, names->taken, 1);
    *names = (struct names){.budget = names->budget};
}

/* Append prefix/name, or name alone. */
static mercer_status names_add(struct names *names, const char *prefix, const char *name,
                               mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    size_t room = (prefix ? strlen(prefix) + 1 : 0) + strlen(name) + 1;
    char *text = NULL;
    MRC_TRY(mrc_budget_take(names->budget, 1, MRC_NAME_BYTES / 2 + (int64_t)room,
                            "the names of all files", err));
    names->taken += MRC_NAME_BYTES / 2 + (int64_t)room;
    if (names->count == names->capacity) {
        int64_t capacity = 2 * names->capacity + NAMES_FIRST;
        MRC_TRY(mrc_grow(&names->list, capacity, sizeof *names->list, err));
        names->capacity = capacity;
    }
    MRC_TRY(mrc_alloc(&text, (int64_t)room, 1, err));
    snprintf(text, room, "%s%s%s", prefix ? prefix : "", prefix ? "/" : "", name);
    names->list[names->count++] = text;
out:
    return rc;
}

static bool is_image(const char *name)
{
    static const char *const endings[] = {".pgm", ".ppm", ".pnm", ".png", ".jpg", ".jpeg", ".bmp"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

/* folder/name in images->path. */
static mercer_status set_path(struct images *images, const char *name, mercer_error *err)
{
    size_t length = strlen(images->folder), room = length + strlen(name) + 2;
    mercer_status rc = MERCER_OK;
    if (room > images->path_size) {
        MRC_TRY(mrc_grow(&images->path, (int64_t)(2 * room), 1, err));
        images->path_size = 2 * room;
    }
    bool slash = length > 0 && images->folder[length - 1] == '/';
    snprintf(images->path, images->path_size, "%s%s%s", images->folder, slash || !*name ? "" : "/",
             name);
out:
    return rc;
}

/* Say how many entries of a folder are left out, and why. */
static void note_left_out(mercer_ctx *ctx, const char *path, int64_t count, const char *what)
{
    if (count > 0)
        mrc_notice(ctx, "%s: %lld %s left out", path, (long long)count, what);
}

/* Refuse a link where only plain files are read. */
static mercer_status fail_link(struct images *images, const char *sub, const char *name,
                               mercer_error *err)
{
    char *path = NULL;
    const size_t room = strlen(sub) + strlen(name) + 2;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&path, (int64_t)room, 1, err));
    snprintf(path, room, "%s%s%s", sub, *sub ? "/" : "", name);
    MRC_TRY(set_path(images, path, err));
    rc = mrc_limit_fail_open(&images->limits, images->path, ELOOP, err);
out:
    mrc_free(path);
    return rc;
}

/* The images and sub-folders in a sub-folder ("" for the folder itself), each in natural order. An
 * image is a regular file, or a link to one. */
static mercer_status list_folder(struct images *images, mercer_ctx *ctx, const char *sub,
                                 struct names *files, struct names *folders, mercer_error *err)
{
    DIR *open = NULL;
    const bool plain = images->limits.set.plain_files;
    int64_t others = 0, irregular = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(set_path(images, sub, err));
    open = opendir(images->path);
    if (!open) {
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot open", images->path);
        goto out;
    }
    for (struct dirent *entry; (entry = readdir(open));) {
        struct stat info;
        if (entry->d_name[0] == '.')
            continue;
        if (fstatat(dirfd(open), entry->d_name, &info, plain ? AT_SYMLINK_NOFOLLOW : 0) != 0)
            info.st_mode = 0; /* a link that leads nowhere, or round in a circle */
        if (S_ISLNK(info.st_mode)) {
            MRC_TRY(fail_link(images, sub, entry->d_name, err));
        }
        if (S_ISDIR(info.st_mode) || is_image(entry->d_name))
            MRC_TRY(
                mrc_budget_name(images->budget, "a file or folder", strlen(entry->d_name), err));
        if (S_ISDIR(info.st_mode))
            MRC_TRY(names_add(folders, NULL, entry->d_name, err));
        else if (!is_image(entry->d_name))
            others++;
        else if (S_ISREG(info.st_mode)) {
            const int64_t before = files == &images->files ? 0 : images->files.count;
            MRC_TRY(mrc_budget_rows(images->budget, before + files->count + 1, false, err));
            MRC_TRY(names_add(files, *sub ? sub : NULL, entry->d_name, err));
        } else
            irregular++;
    }
    if (files->count > 0)
        qsort(files->list, (size_t)files->count, sizeof *files->list, compare_natural);
    if (folders->count > 0)
        qsort(folders->list, (size_t)folders->count, sizeof *folders->list, compare_natural);
    if (files->count > 0)
        note_left_out(ctx, images->path, others,
                      others == 1 ? "file without the extension of an image is"
                                  : "files without the extension of an image are");
    note_left_out(ctx, images->path, irregular,
                  irregular == 1
                      ? "entry that is not a regular file (a pipe, device or dead link) is"
                      : "entries that are not regular files (pipes, devices, dead links) "
                        "are");
out:
    if (open)
        closedir(open);
    return rc;
}

/* Move the files of one class to the end of all. */
static mercer_status append_class(struct images *images, struct names *files, int64_t class,
                                  mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < files->count; i++) {
        if (images->files.count == images->class_room) {
            int64_t room = 2 * images->class_room + NAMES_FIRST;
            MRC_TRY(mrc_grow(&images->class_of, room, sizeof *images->class_of, err));
            images->class_room = room;
        }
        images->class_of[images->files.count] = class;
        MRC_TRY(names_add(&images->files, NULL, files->list[i], err));
    }
out:
    return rc;
}

static mercer_status list_images(struct images *images, mercer_ctx *ctx, mercer_error *err)
{
    struct names files = {.budget = images->budget}, deeper = {.budget = images->budget};
    mercer_status rc = MERCER_OK;
    MRC_TRY(list_folder(images, ctx, "", &images->files, &images->classes, err));
    if (images->files.count > 0) {
        if (images->classes.count > 0)
            mrc_notice(ctx, "%s: has images of its own, so its sub-folders are left out",
                       images->folder);
        names_destroy(&images->classes);
    }
    for (int64_t i = 0; i < images->classes.count; i++) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(list_folder(images, ctx, images->classes.list[i], &files, &deeper, err));
        MRC_TRY(append_class(images, &files, i, err));
        names_destroy(&files);
        names_destroy(&deeper);
    }
    if (images->files.count == 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE,
                    "%s: is a folder without images (.pgm .ppm .png .jpg .bmp, in it or in its "
                    "sub-folders)",
                    images->folder);
out:
    names_destroy(&files);
    names_destroy(&deeper);
    return rc;
}

/* --- files --- */

/* What the image at images->path takes for a while must fit the budget. */
static mercer_status check_room(const struct images *images, double bytes, mercer_error *err)
{
    const mrc_budget *budget = images->budget;
    if (bytes <= (double)mrc_budget_left(budget))
        return MERCER_OK;
    /* With what is already held: the image alone may be smaller than the budget. */
    const mrc_bytes_pair sizes =
        mrc_bytes_texts(bytes + (double)budget->used, (double)budget->most);
    return mrc_fail_at(err, MERCER_ERR_BUDGET, MRC_AT(.key = "memory", .names_file = 1),
                       "%s: this image and what is held take %s, the memory budget is %s: raise it",
                       images->path, sizes.first.text, sizes.second.text);
}

/* Read and decode the image at images->path. */
static mercer_status load(const struct images *images, mercer_ctx *ctx, mrc_pixels *out,
                          mercer_error *err)
{
    mrc_input input = {.fd = -1};
    unsigned char *bytes = NULL;
    size_t got;
    mercer_status rc = MERCER_OK;
    *out = (mrc_pixels){0};
    MRC_TRY(mrc_input_open_regular(&input, images->path, &images->limits, err));
    int64_t length = mrc_input_left(&input);
    if (length == INT64_MAX || length > MAX_FILE)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is %s", images->path,
                    input.gzip           ? "a gzip file, not an image"
                    : input.raw_end == 0 ? "empty"
                                         : "no image");
    MRC_TRY(check_room(images, (double)length, err));
    MRC_TRY(mrc_alloc2_raw(&bytes, length + 1, 1, 1, err));
    MRC_TRY(mrc_input_read(&input, bytes, (size_t)length, &got, err));
    if (images->decoder) {
        MRC_TRY(mrc_image_decoder_run(images->decoder, ctx, images->path, bytes, got,
                                      images->budget, out, err));
    } else {
        MRC_TRY(check_room(images, (double)length + mrc_image_room(bytes, got), err));
        MRC_TRY(mrc_image_decode(images->path, bytes, got, out, err));
    }
out:
    mrc_free(bytes);
    mrc_input_close(&input);
    if (rc != MERCER_OK) {
        mrc_free(out->values);
        *out = (mrc_pixels){0};
    }
    return rc;
}

/* --- another size --- */

/* Average `from` values at distance `step` into `to` values at distance out_step, each over the
 * share of the line that it covers. */
static void average_line(const double *in, int64_t from, int64_t step, double *out, int64_t to,
                         int64_t out_step)
{
    double scale = (double)from / (double)to;
    for (int64_t i = 0; i < to; i++) {
        double low = (double)i * scale, high = (double)(i + 1) * scale, sum = 0, weights = 0;
        for (int64_t j = (int64_t)low; j < from && (double)j < high; j++) {
            double right = (double)(j + 1) < high ? (double)(j + 1) : high;
            double weight = right - (low > (double)j ? low : (double)j);
            sum += weight * in[j * step];
            weights += weight;
        }
        out[i * out_step] = weights > 0 ? sum / weights : 0;
    }
}

static mercer_status resize(const struct images *images, const mrc_pixels *pixels, double *out,
                            mercer_error *err)
{
    double *whole = NULL, *narrow = NULL;
    int64_t width = images->width, height = images->height;
    int64_t c = pixels->channels, row = pixels->width * c, new_row = width * c;
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_room(images,
                       (double)(row * pixels->height) +
                           8 * ((double)row + (double)pixels->height * (double)new_row),
                       err));
    MRC_TRY(mrc_alloc2_raw(&whole, row, 1, sizeof *whole, err));
    MRC_TRY(mrc_alloc2_raw(&narrow, pixels->height, new_row, sizeof *narrow, err));
    for (int64_t y = 0; y < pixels->height; y++) {
        for (int64_t i = 0; i < row; i++)
            whole[i] = pixels->values[y * row + i];
        for (int64_t k = 0; k < c; k++)
            average_line(whole + k, pixels->width, c, narrow + y * new_row + k, width, c);
    }
    for (int64_t i = 0; i < new_row; i++)
        average_line(narrow + i, pixels->height, new_row, out + i, height, new_row);
out:
    mrc_free(whole);
    mrc_free(narrow);
    return rc;
}

/* --- rows --- */

static mercer_status read_image(struct images *images, mercer_ctx *ctx, int64_t row, double *out,
                                mercer_error *err)
{
    mrc_pixels pixels = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(set_path(images, images->files.list[row], err));
    MRC_TRY(load(images, ctx, &pixels, err));
    bool same = pixels.width == images->width && pixels.height == images->height;
    if (pixels.channels != images->channels)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is %s, but the first image (%s) is %s",
                    images->path, pixels.channels == 1 ? "grey" : "in colour",
                    images->files.list[0], pixels.channels == 1 ? "in colour" : "grey");
    if (!same && !images->resized)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE,
                    "%s: has %lldx%lld pixels, but the first image (%s) has %lldx%lld; resize them",
                    images->path, (long long)pixels.width, (long long)pixels.height,
                    images->files.list[0], (long long)images->width, (long long)images->height);
    if (same)
        for (int64_t i = 0; i < pixels.width * pixels.height * pixels.channels; i++)
            out[i] = pixels.values[i];
    else
        MRC_TRY(resize(images, &pixels, out, err));
out:
    mrc_free(pixels.values);
    return rc;
}

static mercer_status read_rows(void *self, mercer_ctx *ctx, int64_t first, int64_t count,
                               double *out, mercer_error *err)
{
    struct images *images = self;
    int64_t columns = images->width * images->height * images->channels;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < count; i++) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(read_image(images, ctx, first + i, out + i * columns, err));
    }
out:
    return rc;
}

static void destroy(void *self)
{
    struct images *images = self;
    names_destroy(&images->classes);
    names_destroy(&images->files);
    mrc_image_decoder_free(images->decoder);
    mrc_free(images->class_of);
    mrc_free(images->path);
    mrc_free(images->folder);
    mrc_free(images);
}

/* The images of a folder, as a matrix that owns their list. width and height 0: all have the size
 * of the first one. shown is the folder, borrowed. */
static mercer_status open_folder(mercer_ctx *ctx, const char *folder, const char *shown,
                                 int64_t width, int64_t height, mrc_matrix *matrix,
                                 mercer_error *err)
{
    struct images *images = NULL;
    mrc_pixels first = {0};
    mercer_status rc = MERCER_OK;
    if (width < 0 || height < 0 || (width == 0) != (height == 0) ||
        (width > 0 && width > MRC_MAX_PIXELS / height))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "images cannot be resized to %lldx%lld",
                 (long long)width, (long long)height);
    MRC_TRY(mrc_alloc(&images, 1, sizeof *images, err));
    images->budget = images->files.budget = images->classes.budget = matrix->budget;
    if (images->budget)
        images->limits = images->budget->limits;
    MRC_TRY(mrc_strdup(&images->folder, folder, err));
    MRC_TRY(list_images(images, ctx, err));
    MRC_TRY(set_path(images, images->files.list[0], err));
    if (images->limits.set.confine)
        MRC_TRY(mrc_image_decoder_new(ctx, &images->limits, shown, &images->decoder, err));
    MRC_TRY(load(images, ctx, &first, err));
    images->channels = first.channels;
    images->resized = width > 0;
    images->width = width > 0 ? width : first.width;
    images->height = height > 0 ? height : first.height;
    *matrix =
        (mrc_matrix){.budget = images->budget,
                     .shown = shown,
                     .rows = images->files.count,
                     .columns = images->width * images->height * images->channels,
                     .vouched = true,
                     .size = {images->width, images->height, images->channels},
                     .dtype = width > 0 ? MRC_F64 : MRC_U8, /* averages are not whole numbers */
                     .read = read_rows};
    MRC_TRY(mrc_matrix_check(matrix, err));
    MRC_TRY(mrc_limit_bytes(&images->limits, shown, matrix->rows * matrix->columns, true, err));
    matrix->self = images;
    matrix->destroy = destroy;
    images = NULL;
out:
    mrc_free(first.values);
    if (images)
        destroy(images);
    return rc;
}

/* The sub-folder of an image, or NULL when the images lie in the folder itself. */
static const char *class_name(const mrc_matrix *matrix, int64_t row)
{
    const struct images *images = matrix->self;
    return images->class_of ? images->classes.list[images->class_of[row]] : NULL;
}

/* The size to bring images to, which a model may have decided; 0 x 0 for their own. */
static mercer_status decide_size(const char *path, const mercer_read_options *options,
                                 int64_t *width, int64_t *height, mercer_error *err)
{
    const mrc_image_size *model = options->prepare ? &options->prepare->size : NULL;
    *width = options->resize_width;
    *height = options->resize_height;
    if (!model || model->width == 0)
        return MERCER_OK;
    if ((*width || *height) && (*width != model->width || *height != model->height))
        return mrc_fail_at(
            err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
            "%s: cannot be resized to %lldx%lld: the model's images have %lldx%lld pixels", path,
            (long long)*width, (long long)*height, (long long)model->width,
            (long long)model->height);
    *width = model->width;
    *height = model->height;
    return MERCER_OK;
}

/* The sub-folders are the classes unless the caller wants none. */
static mercer_status images_open(mrc_table_source *source, mercer_ctx *ctx, void **self,
                                 mercer_error *err)
{
    const mercer_read_options *options = source->options;
    const char *path = source->path;
    int64_t width, height;
    mrc_matrix *matrix;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_strdup(&source->input.shown, path, err));
    MRC_TRY(decide_size(path, options, &width, &height, err));
    MRC_TRY(mrc_matrix_new(source, &matrix, err));
    *self = matrix;
    MRC_TRY(open_folder(ctx, path, source->input.shown, width, height, matrix, err));
    mrc_matrix_describe(matrix, source);
    source->classed = class_name(matrix, 0) && !options->no_label;
    if (source->classed && (options->label || options->target || options->labels_file))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                    "%s: its sub-folders are the classes; no other label or target can be given "
                    "(with no-label they are not)",
                    path);
    if (source->classed)
        snprintf(source->origin, MRC_ORIGIN_SIZE, "classes from the sub-folders of %s", path);
out:
    return rc;
}

static mercer_status images_rows(void *self, mercer_ctx *ctx, int64_t most, mrc_block *block,
                                 mercer_error *err)
{
    const mrc_matrix *matrix = self;
    mrc_table_source *source = matrix->source;
    int64_t first = block->n, from = matrix->next - block->n;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_matrix_rows(self, ctx, most, block, err));
    for (int64_t i = first; source->classed && i < block->n; i++) {
        const char *name = class_name(matrix, from + i);
        MRC_TRY(mrc_classes_code(&source->classes, name, strlen(name), &block->codes[i], err));
    }
out:
    return rc;
}

const mrc_format mrc_format_images = {
    .entry = {.name = "images", .summary = "a folder of images"},
    .endings = "/",
    .caps = MRC_OPENS_FOLDER,
    .open = images_open,
    .rows = images_rows,
    .close = mrc_matrix_close,
};
