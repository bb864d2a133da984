/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking for the subspace of largest performance: ascent along geodesics, or annealing. */
#ifndef MRC_METHODS_KOCA_SEARCH_H
#define MRC_METHODS_KOCA_SEARCH_H

#include "methods/koca/objective.h"

#include <mercer/model.h>

typedef struct mrc_koca_options {
    int64_t iterations; /* of each beta */
    bool anneal;        /* the stochastic search of the paper */
    bool continuation;  /* more neighbours and larger betas first */
    double temperature; /* of annealing at first */
    double cooling;     /* divides it at each step */
    int64_t patience;   /* steps without a better held-out value before the search ends */
} mrc_koca_options;

typedef struct mrc_koca_search {
    mercer_ctx *ctx;               /* borrowed, as the next four */
    mrc_koca_objective *objective; /* its rule is the one wanted in the end */
    mrc_koca_objective *sample; /* knows some of its rows, for all stages but the last; or NULL */
    mrc_koca_objective *held;   /* judges rows held out; or NULL */
    const mrc_koca_options *options;
    mrc_koca_rule rule;  /* wanted in the end */
    double *best;        /* m x r: the best subspace so far */
    double best_value;   /* F of the held-out rows, or of all, by rule */
    double *trace;       /* steps x MERCER_TRACE_COLUMNS */
    double *seconds;     /* steps: since the search began */
    int64_t steps, room; /* in trace */
    double begun;        /* on the clock */
    /* Work. */
    mrc_koca_objective *now; /* objective or sample */
    double *u, *start, *gradient, *direction, *next, *inner;
    int64_t stale; /* steps since the best one */
} mrc_koca_search;

/* Room for the search; nothing is found yet. sample and held may be NULL. */
mercer_status mrc_koca_search_init(mrc_koca_search *s, mercer_ctx *ctx,
                                   mrc_koca_objective *objective, mrc_koca_objective *sample,
                                   mrc_koca_objective *held, const mrc_koca_options *options,
                                   mercer_error *err);
void mrc_koca_search_destroy(mrc_koca_search *s);

/* Search from the subspace `start` (m x r, orthonormal columns); the best one of all runs is kept.
 */
mercer_status mrc_koca_search_run(mrc_koca_search *s, const double *start, mercer_error *err);

#endif
