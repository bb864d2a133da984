/* SPDX-License-Identifier: BSD-3-Clause */
/* MAT and HDF5 files through the helper program mercer-read.
 *
 * The libraries behind these formats crash on damaged files, and HDF5 brings thirty others with it
 * (down to a web client), which would double the start of every program that links ours. So mat.c
 * and hdf5.c run in a process of their own, with limits of memory and time, and what they read
 * comes here through a pipe. The helper reads ahead, as far as the pipe holds. */
#include "io/containers.h"

#include "base/spawn.h"

#include <string.h>
#include <sys/stat.h>

enum {
    MIN_TIME = 30,        /* seconds of the processor for any file */
    TIME_BYTES = 1 << 20, /* of the file, for each second more; packed ones unpack faster */
    MAX_SHOWN = 1 << 20   /* bytes of a name that we believe */
};

struct remote {
    mrc_helper helper;
    const char *shown; /* borrowed */
    mrc_container format;
    int64_t columns, left; /* rows that have not come */
    int64_t piece;         /* rows of this piece that have not come */
};

static mercer_status fail_lost(const struct remote *remote, mercer_error *err)
{
    const char *library = remote->format == MRC_CONTAINER_MAT ? "MAT" : "HDF5";
    switch (remote->helper.fate) {
    case MRC_FATE_TIME:
        return mrc_fail_at(
            err, MERCER_ERR_FORMAT, MRC_IN_FILE,
            "%s: the %s library takes far too long to read this file; it is damaged, "
            "or stored in blocks that take long to unpack",
            remote->shown, library);
    case MRC_FATE_KILLED:
        return mrc_fail_at(err, MERCER_ERR_MEMORY, MRC_IN_FILE,
                           "%s: the process that read this file was killed; out of memory?",
                           remote->shown);
    case MRC_FATE_EXIT:
        return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: cannot be read: %s does not run",
                           remote->shown, remote->helper.path);
    default:
        return mrc_fail_at(
            err, MERCER_ERR_FORMAT, MRC_IN_FILE,
            "%s: the %s library crashed while it read this file; the file is damaged",
            remote->shown, library);
    }
}

/* Receive; a helper that has died is an error of the file. */
static mercer_status receive(struct remote *remote, mercer_ctx *ctx, void *out, size_t count,
                             mercer_error *err)
{
    mercer_status rc = mrc_helper_receive(&remote->helper, ctx, out, count, err);
    return rc != MERCER_OK && remote->helper.fate != MRC_FATE_ALIVE ? fail_lost(remote, err) : rc;
}

static mercer_status read_rows(void *self, mercer_ctx *ctx, int64_t first, int64_t count,
                               double *out, mercer_error *err)
{
    struct remote *remote = self;
    mercer_status rc = MERCER_OK;
    (void)first; /* in order, each once */
    while (count > 0) {
        if (remote->piece == 0) {
            mrc_read_piece piece;
            MRC_TRY(receive(remote, ctx, &piece, sizeof piece, err));
            if (piece.status != MERCER_OK)
                MRC_TRY(mrc_fail_again(err, (mercer_status)piece.status, &piece.error));
            if (piece.rows < 1 || piece.rows > remote->left)
                MRC_TRY(fail_lost(remote, err));
            remote->piece = piece.rows;
            remote->left -= piece.rows;
        }
        int64_t taken = count < remote->piece ? count : remote->piece;
        MRC_TRY(receive(remote, ctx, out, (size_t)(taken * remote->columns) * sizeof *out, err));
        out += taken * remote->columns;
        remote->piece -= taken;
        count -= taken;
    }
out:
    return rc;
}

static void destroy(void *self)
{
    struct remote *remote = self;
    mrc_helper_stop(&remote->helper);
    mrc_free(remote);
}

/* The helper is of another version, or what it says cannot be. */
static bool is_sound(const mrc_read_answer *answer)
{
    int64_t values;
    if (answer->version != MRC_READ_VERSION || answer->shown_bytes < 0 ||
        answer->shown_bytes > MAX_SHOWN || answer->status < 0)
        return false;
    return answer->status != MERCER_OK ||
           (answer->rows > 0 && answer->columns > 0 && answer->entries >= 0 &&
            answer->chunk_rows >= 0 && answer->dtype >= MRC_F64 && answer->dtype <= MRC_U8 &&
            (answer->sparse ? answer->rows < INT64_MAX
                            : !__builtin_mul_overflow(answer->rows, answer->columns, &values)));
}

static mercer_status send_request(struct remote *remote, mercer_ctx *ctx, const char *file,
                                  const char *array, mercer_error *err)
{
    struct stat info;
    mrc_read_request request = {.version = MRC_READ_VERSION,
                                .format = (int32_t)remote->format,
                                .named = array != NULL,
                                .file_bytes = (int64_t)strlen(file) + 1,
                                .array_bytes = array ? (int64_t)strlen(array) + 1 : 0,
                                .memory = mercer_ctx_memory(ctx),
                                .time_seconds = MIN_TIME,
                                .limits = ctx->limits};
    mercer_status rc = MERCER_OK;
    bool known = stat(file, &info) == 0;
    if (known && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode) || S_ISSOCK(info.st_mode)))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                    "%s: %s data have to be a plain file (no pipe, no .gz)", file,
                    remote->format == MRC_CONTAINER_MAT ? "MAT" : "HDF5"); /* opening may wait */
    if (known && info.st_size > 0)
        request.time_seconds += info.st_size / TIME_BYTES;
    MRC_TRY(mrc_helper_send(&remote->helper, ctx, &request, sizeof request, err));
    MRC_TRY(mrc_helper_send(&remote->helper, ctx, file, (size_t)request.file_bytes, err));
    MRC_TRY(mrc_helper_send(&remote->helper, ctx, array, (size_t)request.array_bytes, err));
out:
    return rc != MERCER_OK && remote->helper.fate != MRC_FATE_ALIVE ? fail_lost(remote, err) : rc;
}

/* The rows of a sparse array, all at once. */
static mercer_status receive_sparse(struct remote *remote, mercer_ctx *ctx,
                                    const mrc_read_answer *answer, mrc_matrix *matrix,
                                    mercer_error *err)
{
    mrc_csr_owned *csr = &matrix->csr;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_budget_take(matrix->budget, answer->rows + 1, sizeof *csr->start, "its rows", err));
    MRC_TRY(mrc_budget_take(matrix->budget, answer->entries,
                            sizeof *csr->column + sizeof *csr->value, "its entries", err));
    MRC_TRY(mrc_grow(&csr->start, answer->rows + 1, sizeof *csr->start, err));
    MRC_TRY(mrc_grow(&csr->column, answer->entries, sizeof *csr->column, err));
    MRC_TRY(mrc_grow(&csr->value, answer->entries, sizeof *csr->value, err));
    MRC_TRY(receive(remote, ctx, csr->start, (size_t)(answer->rows + 1) * sizeof *csr->start, err));
    MRC_TRY(receive(remote, ctx, csr->column, (size_t)answer->entries * sizeof *csr->column, err));
    MRC_TRY(receive(remote, ctx, csr->value, (size_t)answer->entries * sizeof *csr->value, err));
    bool good = csr->start[0] == 0 && csr->start[answer->rows] == answer->entries;
    for (int64_t i = 0; i < answer->rows; i++)
        good &= csr->start[i] <= csr->start[i + 1];
    if (!good)
        MRC_TRY(fail_lost(remote, err));
    MRC_TRY(mrc_csr_check(&(mrc_csr){csr->start, csr->column, csr->value}, answer->rows,
                          answer->columns, remote->shown, err));
    matrix->csr_rows = answer->rows;
out:
    return rc;
}

/* Unpacked, the values may be far more than the bytes of the file. The helper has looked at rows
 * and columns, but it may be under the influence of the file. */
static mercer_status check_limits(const mrc_read_answer *answer, const mrc_budget *budget,
                                  const char *shown, mercer_error *err)
{
    const int64_t values = answer->sparse ? answer->entries : answer->rows * answer->columns;
    const int64_t width = answer->sparse ? (int64_t)(sizeof(int32_t) + sizeof(double))
                                         : mrc_dtype_bytes((mrc_dtype)answer->dtype);
    int64_t bytes;
    mercer_status rc = MERCER_OK;
    if (!budget)
        goto out;
    MRC_TRY(mrc_limit_rows(&budget->limits, shown, answer->rows, true, err));
    MRC_TRY(mrc_limit_columns(&budget->limits, shown, answer->columns, true, err));
    if (__builtin_mul_overflow(values, width, &bytes))
        bytes = INT64_MAX;
    MRC_TRY(mrc_limit_bytes(&budget->limits, shown, bytes, true, err));
out:
    return rc;
}

/* What the helper says of the file. */
static mercer_status receive_answer(struct remote *remote, mercer_ctx *ctx, mrc_matrix *matrix,
                                    char **shown, mercer_error *err)
{
    mrc_read_answer answer;
    char *name = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(receive(remote, ctx, &answer, sizeof answer, err));
    if (!is_sound(&answer))
        MRC_FAIL_AT(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: cannot be read: %s is of another version",
                    remote->shown, remote->helper.path);
    if (answer.shown_bytes > 0) {
        MRC_TRY(mrc_alloc(&name, answer.shown_bytes, 1, err));
        MRC_TRY(receive(remote, ctx, name, (size_t)answer.shown_bytes, err));
        name[answer.shown_bytes - 1] = 0;
        /* First, and of the file alone: a long name leaves no room for what is wrong with it. */
        const size_t file = strlen(remote->shown), length = strlen(name);
        if (matrix->budget && length > file && name[file] == ':')
            MRC_TRY(mrc_limit_name(&matrix->budget->limits, remote->shown, "an array",
                                   length - file - 1, err));
        mrc_free(*shown);
        remote->shown = *shown = name;
        name = NULL;
    }
    if (answer.open)
        mrc_helper_note_open(ctx, remote->shown);
    if (answer.status != MERCER_OK)
        MRC_TRY(mrc_fail_again(err, (mercer_status)answer.status, &answer.error));
    MRC_TRY(check_limits(&answer, matrix->budget, remote->shown, err));
    *matrix = (mrc_matrix){.budget = matrix->budget,
                           .shown = remote->shown,
                           .rows = answer.rows,
                           .columns = answer.columns,
                           .chunk_rows = answer.chunk_rows,
                           .vouched = answer.vouched != 0,
                           .size = answer.size,
                           .dtype = (mrc_dtype)answer.dtype,
                           .self = remote,
                           .read = answer.sparse ? NULL : read_rows};
    remote->columns = answer.columns;
    remote->left = answer.rows;
    if (answer.sparse)
        MRC_TRY(receive_sparse(remote, ctx, &answer, matrix, err));
out:
    mrc_free(name);
    return rc;
}

mercer_status mrc_containers_open(mercer_ctx *ctx, mrc_container format, const char *file,
                                  const char *array, mrc_matrix *matrix, char **shown,
                                  mercer_error *err)
{
    struct remote *remote = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&remote, 1, sizeof *remote, err));
    remote->format = format;
    remote->shown = file;
    MRC_TRY(mrc_helper_start(&remote->helper, MRC_READ_PROGRAM, NULL, file, err));
    MRC_TRY(send_request(remote, ctx, file, array, err));
    MRC_TRY(receive_answer(remote, ctx, matrix, shown, err));
    matrix->destroy = destroy;
    remote = NULL;
out:
    if (remote) {
        mrc_csr_owned_destroy(&matrix->csr);
        *matrix = (mrc_matrix){.budget = matrix->budget};
        destroy(remote);
    }
    return rc;
}
