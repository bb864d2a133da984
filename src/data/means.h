/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MRC_DATA_MEANS_H
#define MRC_DATA_MEANS_H

#include "data/rows.h"

/* Add the means of the columns to mean (d values); where rows are spread over ranks, of all rows,
 * on all of them. */
mercer_status mrc_rows_mean(mercer_ctx *ctx, const mercer_rows *rows, double *mean,
                            mercer_error *err);

#endif
