/* SPDX-License-Identifier: BSD-3-Clause */
/* Notices of the folds, which hosts hear when all folds are done, one of a kind. */
#ifndef MRC_EVAL_NOTICES_H
#define MRC_EVAL_NOTICES_H

#include "eval/result.h"

/* Keep what a fold's fit had to say; host is the mrc_fold_result. The callback of its context. */
void mrc_notice_keep(void *host, const mercer_notice *notice);
/* Say which classes are to be told that nothing could be learnt about. */
void mrc_notice_missing_classes(const mercer_ctx *ctx, const mercer_targets *train,
                                const mercer_targets *test);
/* Pass the notices of the folds on; named: with the number of the fold. */
void mrc_notices_tell(const mercer_ctx *ctx, const mercer_evaluation *result, bool named);

#endif
