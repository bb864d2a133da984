/* SPDX-License-Identifier: BSD-3-Clause */
/* What the options of a fit mean, before and after rows are there: shared by mercer_fit and the
 * streaming interface. */
#ifndef MRC_METHODS_COMMON_REQUEST_H
#define MRC_METHODS_COMMON_REQUEST_H

#include "heads/heads.h"
#include "methods/common/agop.h"
#include "methods/common/method.h"

typedef struct mrc_request {
    const mrc_kernel *fitted_kernel; /* of a model, instead of what the options say; or NULL */
    const mrc_kernel *mapped_kernel; /* of a model, after the map, which is learnt with
                                        what the options say; or NULL */
    unsigned expected;          /* MERCER_EXPECT_...: rows that options will name, but do not yet,
                                   and whether those of the fit are spread */
    mercer_fit_options options; /* the caller's, of whatever age, over the defaults */
    mercer_criterion criterion; /* of the options, as much as the caller knows */
    const mrc_method *method;
    void *params; /* owned */
    mrc_kernel kernel;
    mrc_scale_kind scale;
    mrc_head_choice head;
    mrc_scale_kind scale_target;
    mrc_map_params map; /* no steps: none is wanted */
    mrc_problem problem;
} mrc_request;

/* Whether points are given, or will be. */
static inline bool mrc_request_has_landmarks(const mrc_request *r)
{
    return r->options.landmarks || (r->expected & MERCER_EXPECT_LANDMARKS);
}

/* Read the options into a request of zeroes, except the first three members, checking all that can
 * be checked without rows; ctx may be NULL. To be destroyed, also after an error. */
mercer_status mrc_request_read(const mercer_ctx *ctx, const mercer_fit_options *given,
                               mrc_request *r, mercer_error *err);
/* Settle what the keys of the method leave to the targets, which may be NULL. */
mercer_status mrc_request_settle(mrc_request *r, const mercer_targets *targets, mercer_error *err);
void mrc_request_destroy(mrc_request *r);
/* Say so when the spreads of the columns differ a lot and nothing scales them. */
mercer_status mrc_request_advise(mercer_ctx *ctx, const mercer_rows *rows, const mrc_request *r,
                                 mercer_error *err);
/* Names, kernel, preparation and provenance of a model of these rows. */
mercer_status mrc_request_describe(mercer_ctx *ctx, const mercer_rows *rows, const mrc_request *r,
                                   mercer_model *model, mercer_error *err);
/* Learn the scaling; *scaled is a scaled copy of the rows, or NULL when there is none. */
mercer_status mrc_request_scale(mercer_ctx *ctx, const mercer_rows *rows, mercer_model *model,
                                mrc_scale_kind kind, mercer_rows **scaled, mercer_error *err);

#endif
