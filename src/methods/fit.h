/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer_fit for fits inside a fit: see fit.c. */
#ifndef MRC_METHODS_FIT_H
#define MRC_METHODS_FIT_H

#include "kernel/kernel.h"

#include <mercer/fit.h>

/* mercer_fit(). mapped_kernel: what the method sees of the rows after the map, with nothing left
 * open, while the map is learnt with the kernel of the options; NULL: that one throughout. */
mercer_status mrc_fit_with(mercer_ctx *ctx, const mercer_fit_options *options,
                           const mrc_kernel *mapped_kernel, const mercer_rows *rows,
                           const mercer_targets *targets, mercer_model **out,
                           mercer_fit_report *report, mercer_error *err);

#endif
