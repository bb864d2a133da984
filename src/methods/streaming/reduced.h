/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduced sets: a library replaced by fewer, new points, pre-images of what it has to span. */
#ifndef MRC_METHODS_STREAMING_REDUCED_H
#define MRC_METHODS_STREAMING_REDUCED_H

#include "methods/streaming/library.h"

/* MERCER_ERR_ARGUMENT unless there are pre-images for the kernel: rbf and poly. */
mercer_status mrc_reduced_check(const mrc_kernel *kernel, mercer_error *err);

/* Replace the points of lib by at most `most` pre-images that span targets (m x k, in coordinates)
 * as well as can be, and *vectors (m x k likewise) by their projections in the new frame. Points
 * that stand out of the span of others by less than tolerance are left out. */
mercer_status mrc_reduced_replace(mrc_library *lib, mercer_ctx *ctx, const double *targets,
                                  int64_t k, int64_t most, double tolerance, double **vectors,
                                  mercer_error *err);

#endif
