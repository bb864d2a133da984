/* SPDX-License-Identifier: BSD-3-Clause */
/* One choice tried: fitted to a portion of the rows, judged by another. */
#ifndef MRC_EVAL_TRIAL_H
#define MRC_EVAL_TRIAL_H

#include "eval/grid.h"
#include "eval/scoring.h"

#include <mercer/fit.h>

/* Features of the choice tried last, for the next one if it differs in its head alone: of the most
 * components where they are nested, else of each number. */
typedef struct mrc_kept_features {
    const mrc_choice *choice;
    mercer_model *model; /* without a head; owned */
} mrc_kept_features;

/* All borrowed. */
typedef struct mrc_trial {
    const mercer_fit_options *fit; /* method, kernel and head are those of the choice */
    const mrc_choice *choice;
    const mrc_scoring *scoring;
    const mrc_fold_rows *train, *test;
    const double *numbers; /* of components, increasing; or one 0: as given */
    int64_t count;
    bool scaled;                /* rows are scaled already */
    bool learns;                /* the method looks at targets itself; set by the trial */
    bool of_test_file;          /* test rows are a file's own: errors name them */
    double *values;             /* one per number */
    double *scores;             /* predictions of the test rows by the last number, */
    int64_t *codes;             /* and their classes; NULL: nothing is predicted */
    const mrc_rng *start;       /* of the generator for every fit of the trial; NULL: it goes on */
    mrc_kept_features *kept;    /* of the same rows, one per number; NULL: heads do not alternate */
    double *importance;         /* of the columns, for the last number; NULL: not asked for */
    int64_t components, points; /* result: of the model of the last number */
} mrc_trial;

mercer_status mrc_trial_run(mercer_ctx *ctx, mrc_trial *trial, mercer_error *err);

#endif
