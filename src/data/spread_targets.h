/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets of rows that are spread over ranks. */
#ifndef MRC_DATA_SPREAD_TARGETS_H
#define MRC_DATA_SPREAD_TARGETS_H

#include "data/rows.h"

/* Targets of the `rows` rows here as targets of all ranks, with the same classes in the same order
 * on all of them: *out, the caller's. given: those of the rows here; NULL: there are none, or no
 * rows. */
mercer_status mrc_targets_join(mercer_ctx *ctx, const mercer_targets *given, int64_t rows,
                               mercer_targets **out, mercer_error *err);
/* Judge the classes of a file by those of all ranks, as mrc_class_kinds_judge() does: all ranks
 * come to the same. own: the classes of the `rows` rows here; NULL: there are none, or no rows.
 * doubtful: the class of the first row of the file, on the rank that has it, where that row may be
 * names; else NULL. */
mercer_status mrc_targets_judge_together(mercer_ctx *ctx, const char *shown, const char *origin,
                                         const mercer_targets *own, int64_t rows,
                                         const char *doubtful, mercer_error *err);
/* The targets of all rows, on every rank, of those that were joined; NULL where there are none. */
mercer_status mrc_targets_gather(mercer_ctx *ctx, const mercer_targets *own, const mrc_span *span,
                                 mercer_targets **out, mercer_error *err);

#endif
