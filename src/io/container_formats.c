/* SPDX-License-Identifier: BSD-3-Clause */
/* MAT and HDF5 as formats: plain files that their libraries open, in a process of their own. */
#include "io/containers.h"
#include "io/format.h"

#include <string.h>
#include <sys/stat.h>

static mercer_status container_open(mrc_table_source *source, mercer_ctx *ctx, mrc_container kind,
                                    const char *title, void **self, mercer_error *err)
{
    const char *path = source->path;
    const bool pipe = strcmp(path, "-") == 0;
    const size_t length = strlen(path);
    const bool gzip = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    mrc_matrix *matrix;
    struct stat info;
    mercer_status rc = MERCER_OK;
    /* What is not there is found later. */
    if (pipe || gzip || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_IN_FILE,
                    "%s: %s data have to be a plain file (no pipe, no .gz)",
                    pipe ? "standard input" : path, title);
    MRC_TRY(mrc_matrix_new(source, &matrix, err));
    *self = matrix;
    MRC_TRY(mrc_containers_open(ctx, kind, path, source->array, matrix, &source->input.shown, err));
    mrc_matrix_describe(matrix, source);
out:
    return rc;
}

static mercer_status mat_open(mrc_table_source *source, mercer_ctx *ctx, void **self,
                              mercer_error *err)
{
    return container_open(source, ctx, MRC_CONTAINER_MAT, "MAT", self, err);
}

static mercer_status hdf5_open(mrc_table_source *source, mercer_ctx *ctx, void **self,
                               mercer_error *err)
{
    return container_open(source, ctx, MRC_CONTAINER_HDF5, "HDF5", self, err);
}

const mrc_format mrc_format_mat = {
    .entry = {.name = "mat", .summary = "MATLAB's files, versions 5 and 7.3"},
    .endings = ".mat",
    .caps = MRC_OPENS_FILE | MRC_HAS_ARRAYS,
    .open = mat_open,
    .rows = mrc_matrix_rows,
    .close = mrc_matrix_close,
};

const mrc_format mrc_format_hdf5 = {
    .entry = {.name = "hdf5", .summary = "HDF5 files"},
    .endings = ".h5 .hdf5",
    .caps = MRC_OPENS_FILE | MRC_HAS_ARRAYS,
    .open = hdf5_open,
    .rows = mrc_matrix_rows,
    .close = mrc_matrix_close,
};
