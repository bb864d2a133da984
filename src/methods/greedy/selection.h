/* SPDX-License-Identifier: BSD-3-Clause */
/* The one greedy engine: rows are taken one after the other, each the best by some score on what
 * the earlier ones left of the Gram operator.
 *
 * AKFA, ACKFA, SKFA, greedy KPCA, RKPCA and the greedy Nystroem method differ only in the rule. A
 * row is a candidate while its residual exceeds a tolerance of the store (1e-10 of the largest
 * diagonal entry in double precision: below that every method picks rounding errors), which covers
 * duplicates, rows mapped to zero, rank deficiency and rows taken before. Among scores that are
 * equal to rounding the lowest row wins, so all stores take the same rows. Scores come from a
 * recurrence of one product per row (gram/residual.h), and are computed anew wherever its rounding
 * errors could change the choice. */
#ifndef MRC_METHODS_GREEDY_SELECTION_H
#define MRC_METHODS_GREEDY_SELECTION_H

#include "gram/residual.h"
#include "methods/common/method.h"

typedef enum mrc_score {
    MRC_SCORE_DIRECTION, /* r_j / d_j: drop of the mean reconstruction error, times n */
    MRC_SCORE_L1_IMAGES, /* r_j / L_j^2, L the l1 norm of the direction's weights on mapped rows */
    MRC_SCORE_L1_FEATURES, /* the same on the l1-normalised features before it */
    MRC_SCORE_RESIDUAL     /* d_j: pivoted Cholesky */
} mrc_score;

typedef struct mrc_selection mrc_selection;

typedef struct mrc_selection_rule {
    mrc_score score;
    bool about_mean;    /* sums over the data about their mean (the operator is not centred) */
    bool centered;      /* and so is the variance captured: the features will be */
    int64_t most;       /* rows to take at most */
    double captured;    /* stop at this share of the variance; 0: no such stop */
    int64_t candidates; /* rows looked at in each step, drawn at random; 0: all */
    int64_t depth;      /* rows looked at in each step, those of largest residual; 0: all */
    int64_t terms;      /* rows the sums run over, drawn at random once; 0: all */
    double delta;       /* rows whose residual falls below leave candidates and data; 0: none */
    bool relative;      /* delta is in units of the mean of the diagonal */
    double maxerr;      /* stop when no residual exceeds this; 0: no such stop */
    double mserr;       /* stop when the mean residual does not; 0: no such stop */
    /* Choose only among these rows, always the one with most left; NULL: among all. Requires
     * MRC_SCORE_RESIDUAL. */
    const int64_t *given;
    int64_t given_count;
    /* Scores of all rows in place of the above, or NULL; must be set for every candidate. They grow
     * with r_j / d_j, and not faster. */
    mercer_status (*rescore)(void *self, const mrc_selection *selection, double *scores,
                             mercer_error *err);
    /* With rescore, where its scores depend on more than energies: how far that may have put score
     * j off, by rounding (any bound will do that is not above `reach`), and computing it anew for
     * some rows; or NULL. */
    double (*rescore_error)(const void *self, const mrc_selection *selection, int64_t j,
                            double reach);
    mercer_status (*renew)(void *self, const mrc_selection *selection, const int64_t *rows,
                           int64_t count, mercer_error *err);
    void *self;
} mrc_selection_rule;

struct mrc_selection {
    const mrc_selection_rule *rule;
    mrc_residual_gram def; /* rows taken, projections, coefficients */
    /* One value per selected row: its score over n, its residual before, and after it the mean
     * reconstruction error and the variance captured. */
    double *score, *residual, *error, *variance;
    double total_variance; /* mean of what the features could capture */
    double largest;        /* entry of the diagonal before any row was taken */
    double least_residual; /* candidates have more */
    double delta;          /* as used */
    double unit;           /* of kernel values while rows are taken */
    bool exhausted;        /* no candidate was left before the rule stopped */
    int64_t cut;           /* rows that fell below delta */
    /* Work, n each. */
    double *scores;
    double *l1;            /* L_j */
    double *weights;       /* MRC_SCORE_L1_IMAGES: count x n */
    int64_t *list;         /* rows looked at in this step; size in list_count, -1: all */
    int64_t *fresh;        /* step in which the energy was last evaluated */
    int64_t *renewed;      /* step after that in which the rule last renewed the row */
    unsigned char *listed; /* marks of list */
    int64_t list_count, capacity;
};

/* Run the rule on gram (borrowed for the life of selection, like rule). selection starts zeroed. */
mercer_status mrc_selection_run(mrc_selection *selection, mercer_ctx *ctx, mrc_gram *gram,
                                const mrc_selection_rule *rule, mercer_error *err);
void mrc_selection_destroy(mrc_selection *selection);

/* What selecting `expected` of n rows by a rule takes, beside what the request tells. */
void mrc_selection_work(const mrc_selection_rule *rule, int64_t n, int64_t expected,
                        mrc_work *work);

/* Whether a rule for n rows needs so few columns of the matrix that it should not be stored. */
bool mrc_selection_needs_few_columns(const mrc_selection_rule *rule, int64_t n);

#endif
