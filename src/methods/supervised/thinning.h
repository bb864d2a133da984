/* SPDX-License-Identifier: BSD-3-Clause */
/* A dual direction of few rows instead of all: the sparse forms of kernel partial least squares
 * (Momma, Bennett 2003; Momma 2005) and of boosted latent features. */
#ifndef MRC_METHODS_SUPERVISED_THINNING_H
#define MRC_METHODS_SUPERVISED_THINNING_H

#include "methods/supervised/deflation.h"

/* The order of the words in the schema. */
typedef enum mrc_heuristic {
    MRC_LARGEST_RESIDUAL,    /* mr: the largest |w_i| */
    MRC_LARGEST_INFORMATION, /* mi: among rows drawn at random the largest w_i (K w)_i */
    MRC_WITHIN_TUBE,         /* eps: the b with |K_j (w - b)| <= eps of least |b|_1, exactly */
} mrc_heuristic;

typedef struct mrc_thinning {
    double nu;     /* share of the rows to keep: max(1, ceil(nu n)) of them; 1: all */
    int heuristic; /* mrc_heuristic */
    int64_t cache; /* rows drawn for mi, fresh at each call */
} mrc_thinning;

/* The schema lines; the parameter struct has the fields double nu, int heuristic, int64_t cache. */
#define MRC_THINNING(type, initial)                                                                \
    MRC_REAL(type, nu, initial, DBL_MIN, 1, "share of the rows that make a direction; 1: all"),    \
        MRC_CHOICE(type, heuristic, 1, "mr|mi|eps",                                                \
                   "which rows: those with the largest residuals, those with the most "            \
                   "information among rows "                                                       \
                   "drawn at random, or those that a tube of width eps leaves"),                   \
        MRC_INT(type, cache, 500, 1, 1e9, "mi: rows drawn at random for each feature")

/* Find the entries of w (n), with P_j w = w, that the rule keeps: rows in increasing order and
 * values, room for n each. Ties go to the lower row. Rows whose kernel values are all zero are
 * passed over. nu = 1 keeps w itself. */
mercer_status mrc_thin(const mrc_thinning *rule, mrc_deflation *dual, const double *w,
                       int64_t *rows, double *values, int64_t *count, mercer_error *err);

/* Thin the combination of w (n x columns, P_j w = w) that is longest in feature space, add it to
 * dual, which is sparse. Where the earlier features leave nothing of it, the rows with the largest
 * positive w_i (K w)_i of all are taken in its place: *added is false only when the features leave
 * nothing of the combination itself. */
mercer_status mrc_thin_add(const mrc_thinning *rule, mrc_deflation *dual, const double *w,
                           int64_t columns, bool *added, mercer_error *err);

/* For the forecast of memory, in n-vectors: what directions of the rule take, and what choosing
 * them takes unless the store is low-rank. */
void mrc_thin_columns(const mrc_thinning *rule, const mrc_problem *problem, int64_t *work,
                      int64_t *solver);

#endif
