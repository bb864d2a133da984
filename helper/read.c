/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer-read: reads one array of a MAT or HDF5 file for the library (src/io/containers.c), or
 * decodes images that it is sent (src/io/image_remote.c).
 *
 * A process of its own, because the libraries behind these formats crash on damaged files. It gets
 * one request, answers it, writes all rows to its standard output and ends. For files that are not
 * trusted it seals itself off before it looks at one. */
#include "serve.h"

#include "io/containers.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_NAME = 1 << 16,          /* bytes of a name */
    IMAGE_SECONDS = 10,          /* of the processor for each image, far more than it takes */
    VALUES_PER_SECOND = 1 << 16, /* that the slowest storage gives: a limit, not a forecast */
    OWN_BYTES = 1 << 28 /* that the libraries may take beside the budget, which is for the data */
};

/* Receive a name of `bytes` bytes, its end included. */
static bool receive_name(int64_t bytes, char **out)
{
    if (bytes < 1 || bytes > MAX_NAME || mrc_alloc(out, bytes, 1, NULL) != MERCER_OK ||
        !serve_receive(*out, (size_t)bytes))
        return false;
    (*out)[bytes - 1] = 0;
    return true;
}

static bool send_answer(const mrc_matrix *matrix, const char *shown, bool open, mercer_status rc,
                        const mercer_error *err)
{
    mrc_read_answer answer = {.version = MRC_READ_VERSION,
                              .status = (int32_t)rc,
                              .open = open,
                              .shown_bytes = shown ? (int64_t)strlen(shown) + 1 : 0};
    if (rc != MERCER_OK) {
        answer.error = *err;
    } else {
        answer.dtype = (int32_t)matrix->dtype;
        answer.rows = matrix->rows;
        answer.columns = matrix->columns;
        answer.chunk_rows = matrix->chunk_rows;
        answer.size = matrix->size;
        answer.vouched = matrix->vouched;
        answer.sparse = matrix->csr.start != NULL;
        answer.entries = answer.sparse ? matrix->csr.start[matrix->rows] : 0;
    }
    return serve_send(&answer, sizeof answer) && serve_send(shown, (size_t)answer.shown_bytes);
}

static bool send_sparse(const mrc_matrix *matrix)
{
    const mrc_csr_owned *csr = &matrix->csr;
    size_t entries = (size_t)csr->start[matrix->rows];
    return serve_send(csr->start, (size_t)(matrix->rows + 1) * sizeof *csr->start) &&
           serve_send(csr->column, entries * sizeof *csr->column) &&
           serve_send(csr->value, entries * sizeof *csr->value);
}

/* All rows, piece by piece, or an error instead of the next piece. */
static bool send_rows(mrc_matrix *matrix, mercer_ctx *ctx)
{
    int64_t chunk = mrc_matrix_chunk(matrix);
    /* A file that opens may be small for its values, and its blocks may have to be unpacked often.
     */
    serve_more_time(matrix->rows / (VALUES_PER_SECOND / matrix->columns + 1));
    mercer_error err = {.text = ""};
    mrc_read_piece piece = {.rows = 0};
    double *x = NULL;
    bool alive = true;
    chunk = chunk < matrix->rows ? chunk : matrix->rows;
    mercer_status rc = mrc_alloc2_raw(&x, chunk, matrix->columns, sizeof *x, &err);
    for (int64_t at = 0; alive && rc == MERCER_OK && at < matrix->rows; at += piece.rows) {
        piece.rows = chunk < matrix->rows - at ? chunk : matrix->rows - at;
        rc = matrix->read(matrix->self, ctx, at, piece.rows, x, &err);
        if (rc == MERCER_OK)
            alive = serve_send(&piece, sizeof piece) &&
                    serve_send(x, (size_t)(piece.rows * matrix->columns) * sizeof *x);
    }
    if (alive && rc != MERCER_OK) {
        piece = (mrc_read_piece){.status = (int32_t)rc};
        piece.error = err;
        alive = serve_send(&piece, sizeof piece);
    }
    mrc_free(x);
    return alive;
}

/* Seconds of the processor that the limits allow; 0: any number. */
static int64_t most_seconds(const mrc_limits *limits)
{
    return limits->set.max_seconds > 0 ? (int64_t)fmin(ceil(limits->set.max_seconds), 1e9) : 0;
}

/* Seal this process off for one file. */
static bool seal(const mrc_limits *limits, const char *file, bool *complete, mercer_status *rc,
                 mercer_error *err)
{
    const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | mrc_limit_flags(limits));
    *rc = fd < 0 ? mrc_limit_fail_open(limits, file, errno, err)
                 : mrc_limit_opened(limits, file, fd, false, err);
    const bool alive =
        *rc != MERCER_OK ? serve_watch() : serve_seal(fd, most_seconds(limits), complete);
    if (fd >= 0)
        close(fd);
    return alive;
}

static bool serve(const mrc_read_request *request, mercer_ctx *ctx)
{
    char *file = NULL, *array = NULL, *shown = NULL;
    bool complete = true;
    mercer_status rc = MERCER_OK;
    mrc_budget budget = {.shown = &file, .most = mercer_ctx_memory(ctx), .limits = request->limits};
    mrc_matrix matrix = {.budget = &budget};
    mercer_error err = {.text = ""};
    bool alive = receive_name(request->file_bytes, &file) &&
                 (!request->named || receive_name(request->array_bytes, &array));
    if (alive)
        alive = request->limits.set.confine ? seal(&request->limits, file, &complete, &rc, &err)
                                            : serve_watch();
    if (alive) {
        if (rc == MERCER_OK)
            rc = request->format == MRC_CONTAINER_MAT
                     ? mrc_mat_open(file, array, &matrix, &shown, &err)
                     : mrc_hdf5_open(file, array, &matrix, &shown, &err);
        alive = send_answer(&matrix, shown, !complete, rc, &err) &&
                (rc != MERCER_OK ||
                 (matrix.csr.start ? send_sparse(&matrix) : send_rows(&matrix, ctx)));
    }
    mrc_matrix_destroy(&matrix);
    mrc_free(file);
    mrc_free(array);
    mrc_free(shown);
    return alive;
}

/* One image. */
static bool serve_image(const mrc_image_request *request, mercer_ctx *ctx, bool complete)
{
    char *name = NULL;
    unsigned char *bytes = NULL;
    mrc_budget budget = {.shown = &name, .most = mercer_ctx_memory(ctx)};
    mrc_pixels pixels = {0};
    mrc_image_answer answer = {.open = !complete};
    bool alive = request->bytes >= 0 && receive_name(request->name_bytes, &name) &&
                 mrc_alloc(&bytes, request->bytes + 1, 1, NULL) == MERCER_OK &&
                 serve_receive(bytes, (size_t)request->bytes);
    if (alive) {
        const double room = mrc_image_room(bytes, (size_t)request->bytes);
        mercer_status rc =
            room > (double)budget.most
                ? mrc_budget_fail(&budget, "this image", room, &answer.error)
                : mrc_image_decode(name, bytes, (size_t)request->bytes, &pixels, &answer.error);
        answer.status = (int32_t)rc;
        answer.channels = pixels.channels;
        answer.width = pixels.width;
        answer.height = pixels.height;
        const int64_t values = pixels.width * pixels.height * pixels.channels;
        alive = serve_send(&answer, sizeof answer) &&
                (rc != MERCER_OK || serve_send(pixels.values, (size_t)values));
    }
    mrc_free(pixels.values);
    mrc_free(bytes);
    mrc_free(name);
    return alive;
}

/* Images, until there are no more. */
static bool serve_images(const mrc_read_request *request, mercer_ctx *ctx)
{
    mrc_image_request image;
    bool complete = true;
    bool alive = serve_seal(-1, most_seconds(&request->limits), &complete);
    while (alive && serve_receive(&image, sizeof image)) {
        serve_more_time(IMAGE_SECONDS);
        alive = serve_image(&image, ctx, complete);
    }
    return alive;
}

int main(void)
{
    mrc_read_request request;
    mercer_ctx *ctx;
    if (!serve_confine() || !serve_receive(&request, sizeof request) ||
        mercer_ctx_new(&ctx, NULL) != MERCER_OK)
        return 1;
    if (request.version != MRC_READ_VERSION) {
        const mercer_error err = {.text = ""};
        return send_answer(NULL, NULL, false, MERCER_ERR_IO, &err) ? 0 : 1;
    }
    ctx->budget = request.memory;
    serve_limit(request.memory + OWN_BYTES, request.time_seconds);
    bool alive =
        request.format == MRC_CONTAINER_IMAGES ? serve_images(&request, ctx) : serve(&request, ctx);
    mercer_ctx_free(ctx);
    return alive ? 0 : 1;
}
