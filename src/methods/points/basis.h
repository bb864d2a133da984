/* SPDX-License-Identifier: BSD-3-Clause */
/* An orthonormal basis of the span of the mapped training rows, and their coordinates in it.
 *
 * K V = V L (the Gram operator, centred or not): the directions V L^-1/2 have length one, and the
 * rows have the coordinates Z = V L^1/2, n x m, on them; columns of Z are uncorrelated. Methods
 * that look for directions inside the span work only with Z.
 * The span may be that of a few points instead, chosen rows or landmarks: the mapped rows are
 * projected on it, and Z are the principal coordinates of the projections. Then nothing is n x n:
 * memory is n m, time n m^2. */
#ifndef MRC_METHODS_POINTS_BASIS_H
#define MRC_METHODS_POINTS_BASIS_H

#include "methods/points/subset.h"

typedef struct mrc_basis {
    mercer_ctx *ctx;    /* borrowed */
    mrc_gram *gram;     /* owned: of the rows, or of the points once other rows are projected */
    mrc_frame frame;    /* of the points; m = 0: all rows are points */
    mercer_rows *taken; /* the points as rows, for gram; or NULL */
    double *directions; /* frame.m x m: the basis over the points; NULL: all rows are points */
    int64_t n, m;
    double *values;      /* L, m: sums of squares of the coordinates, decreasing */
    double *coordinates; /* Z, n x m */
    double trace;        /* of the matrix */
    bool indefinite;     /* which has negative eigenvalues: errors may be negative */
} mrc_basis;

/* How much of the span to keep: eigenvalues above the share `floor` of the largest one, of these as
 * many as hold the share `energy` of the trace, and at most `rank` (0: no such limit). */
typedef struct mrc_basis_limits {
    double floor;
    double energy;
    int64_t rank;
    int64_t points; /* training rows that span it, chosen to cover the others; 0: all */
} mrc_basis_limits;

/* The basis of the problem's rows or landmarks, of at least as many dimensions as components are
 * wanted, unless there are fewer or rank forbids; at least one. */
mercer_status mrc_basis_init(mrc_basis *basis, mercer_ctx *ctx, const mrc_problem *problem,
                             const mrc_basis_limits *limits, mercer_model *model,
                             mercer_error *err);
void mrc_basis_destroy(mrc_basis *basis);

/* Coordinates of other rows on the basis: *out, count x m, from mrc_alloc. */
mercer_status mrc_basis_project(mrc_basis *basis, const mrc_problem *problem,
                                const mercer_rows *rows, double **out, mercer_error *err);

/* Directions U (from->m x l) of one basis as those of another, of another kernel on the same rows:
 * out (to->m x l) are the same combinations of the mapped rows, projected. Not for bases of
 * few points. */
mercer_status mrc_basis_carry(const mrc_basis *from, const double *u, int64_t l,
                              const mrc_basis *to, double *out, mercer_error *err);

/* The number of components the problem asks for, which may be more than m: as a share of the
 * variance, as many dimensions as capture it. */
int64_t mrc_basis_components(const mrc_basis *basis, const mrc_problem *problem);

/* Fill the model with features along the directions U (m x l) of the basis. unit: the directions
 * are orthonormal; otherwise features have no variances of their own and there is no spectrum, and
 * there are no reconstruction errors. */
mercer_status mrc_basis_model(mrc_basis *basis, const mrc_problem *problem, const double *u,
                              int64_t l, bool unit, mercer_model *model, mercer_error *err);

#define MRC_ENERGY(type, initial)                                                                  \
    MRC_REAL(type, energy, initial, DBL_MIN, 1,                                                    \
             "share of the variance that the kernel PCA space keeps; 1: all of it")
#define MRC_RANK(type)                                                                             \
    MRC_INT(type, rank, 0, 0, 1e9, "dimensions that the kernel PCA space has at most; 0: no limit")

#endif
