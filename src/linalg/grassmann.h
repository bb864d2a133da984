/* SPDX-License-Identifier: BSD-3-Clause */
/* Subspaces as matrices with orthonormal columns, m x r, row-major: points of the Grassmann
 * manifold. */
#ifndef MRC_LINALG_GRASSMANN_H
#define MRC_LINALG_GRASSMANN_H

#include "base/ctx.h"

/* Normal numbers, made orthonormal; r <= m. */
void mrc_random_subspace(mrc_rng *rng, int64_t m, int64_t r, double *u);

/* Take the part along the columns of u off g (m x r): what is left is tangent at u. dots: r x r. */
void mrc_make_tangent(int64_t m, int64_t r, const double *u, double *g, double *dots);

/* out = the end of the geodesic from u in the tangent direction t h, made orthonormal again. h = A
 * S B' gives U B cos(t S) B' + A sin(t S) B'. work: 4 r^2 + r doubles. out may not be u or h. */
mercer_status mrc_geodesic(mercer_ctx *ctx, int64_t m, int64_t r, const double *u, const double *h,
                           double t, double *work, double *out, mercer_error *err);

/* |UU' - VV'| in the Frobenius norm. */
double mrc_subspace_distance(int64_t m, int64_t r, const double *u, const double *v, double *dots);

#endif
