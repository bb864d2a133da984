/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzers run what reads MAT and HDF5 files in their own process, where its coverage is seen;
 * the library runs it in mercer-read. */
#include "io/containers.h"

mercer_status mrc_containers_open(mercer_ctx *ctx, mrc_container format, const char *file,
                                  const char *array, mrc_matrix *matrix, char **shown,
                                  mercer_error *err)
{
    (void)ctx;
    return format == MRC_CONTAINER_MAT ? mrc_mat_open(file, array, matrix, shown, err)
                                       : mrc_hdf5_open(file, array, matrix, shown, err);
}
