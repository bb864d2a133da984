/* Named kernels and combinations of them: kernel.c does one named kernel, combine.c is the front
 * that takes either. Contracts as in kernel.h. */
#ifndef MRC_KERNEL_KERNEL_PARTS_H
#define MRC_KERNEL_KERNEL_PARTS_H

#include "kernel/kernel.h"

/* ctx: where the host's kernels are; may be NULL. */
mercer_status mrc_part_parse(mrc_kernel_part *kernel, const mercer_ctx *ctx, const char *spec,
                             mercer_error *err);
/* *median: the median distance between rows once it is known, 0 before; parts share it. */
mercer_status mrc_part_resolve(mrc_kernel_part *kernel, mercer_ctx *ctx, const mercer_rows *rows,
                               double *median, mercer_error *err);
mercer_status mrc_part_format(const mrc_kernel_part *kernel, char *text, size_t size,
                              mercer_error *err);
bool mrc_part_is_open(const mrc_kernel_part *kernel);
bool mrc_part_learns_width(const mrc_kernel_part *kernel);
bool mrc_part_is_semidefinite(const mrc_kernel_part *kernel);
/* Whether the kernel is defined on values >= 0 only. */
bool mrc_part_needs_nonnegative(const mrc_kernel_part *kernel);
/* As mrc_kernel_rank_limit. */
double mrc_part_rank_limit(const mrc_kernel_part *kernel, int64_t d);
void mrc_part_tile(const mrc_kernel_part *kernel, mrc_simd simd, const mrc_points *a, int64_t a0,
                   int64_t na, const mrc_points *b, int64_t b0, int64_t nb, double *out,
                   int64_t ldo);
void mrc_part_diag(const mrc_kernel_part *kernel, const mrc_points *points, int64_t first,
                   int64_t count, double *out);

#endif
