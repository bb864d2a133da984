/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MRC_BASE_SWEEP_H
#define MRC_BASE_SWEEP_H

#include <mercer/context.h>

#include <stdint.h>

/* mrc_parfor_checked() for a loop that goes through `numbers` numbers in memory once: a short one
 * runs on the calling thread, as with mrc_parfor_sized(). */
mercer_status mrc_sweep(mercer_ctx *ctx, int64_t tasks, double numbers, mercer_parfor_body body,
                        void *arg, mercer_error *err);

#endif
