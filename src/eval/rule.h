/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cell of a grid is taken, given what each was worth on some folds. */
#ifndef MRC_EVAL_RULE_H
#define MRC_EVAL_RULE_H

#include "eval/grid.h"

typedef enum mrc_rule { MRC_RULE_BEST, MRC_RULE_1SE } mrc_rule;
#define MRC_RULES "best|1se"

/* What the cells of a grid were worth. Arrays are owned. */
typedef struct mrc_scores {
    int64_t folds, cells;
    double *values; /* folds x cells; NaN: the metric is not defined there */
    bool *failed;   /* cells: some fold cannot be fitted with it, so that it cannot be taken */
    double *mean;   /* cells: over the folds with a value; NaN: there is none, or it failed */
    double *se;     /* cells: standard error of the mean; NaN: fewer than two folds */
    int64_t best;   /* the cell of the best mean, the first among equals; -1: none has a mean */
    int64_t chosen; /* by the rule; -1 likewise */
    bool *left;     /* cells, and */
    double *key;    /* cells: scratch of the rule */
} mrc_scores;

mercer_status mrc_scores_init(mrc_scores *scores, int64_t folds, int64_t cells, mercer_error *err);
void mrc_scores_destroy(mrc_scores *scores);

/* Means, standard errors, best and chosen cell from values and failed.
 * 1se: of the cells whose mean is within one standard error (of the best cell's) of the best, those
 * with the fewest components; of these those with the widest kernel; of these those with the most
 * ridge (the least C of a support vector machine); of these the best, the first among equals.
 * Widths are compared of kernels of one name whose width is given by one key, as a number: where
 * kernels differ, the one of the best cell that is left stays, with all its widths. */
void mrc_scores_conclude(mrc_scores *scores, const mrc_grid *grid, mrc_rule rule,
                         bool larger_is_better);

#endif
