/* SPDX-License-Identifier: BSD-3-Clause */
/* The geometry of subspaces; see grassmann.h. Costs m r^2 each: nothing beside the data. */
#include "linalg/grassmann.h"

#include "linalg/linalg.h"
#include "linalg/orthonormal.h"

#include <math.h>

void mrc_random_subspace(mrc_rng *rng, int64_t m, int64_t r, double *u)
{
    do {
        for (int64_t i = 0; i < m * r; i++)
            u[i] = mrc_rng_normal(rng);
    } while (!mrc_orthonormalise(m, r, u));
}

void mrc_make_tangent(int64_t m, int64_t r, const double *u, double *g, double *dots)
{
    for (int pass = 0; pass < 2; pass++) {
        mrc_gemm(true, false, r, r, m, 1, u, r, g, r, 0, dots, r);
        mrc_gemm(false, false, m, r, r, -1, u, r, dots, r, 1, g, r);
    }
}

mercer_status mrc_geodesic(mercer_ctx *ctx, int64_t m, int64_t r, const double *u, const double *h,
                           double t, double *work, double *out, mercer_error *err)
{
    double *b = work, *scaled = b + r * r, *cosines = scaled + r * r, *sines = cosines + r * r;
    double *values = sines + r * r;
    mercer_status rc = MERCER_OK;
    mrc_gemm(true, false, r, r, m, 1, h, r, h, r, 0, b, r);
    MRC_TRY(mrc_eigen_symmetric(ctx, r, b, values, err)); /* the rows of b are B' */
    for (int64_t k = 0; k < r; k++)
        for (int64_t j = 0; j < r; j++)
            scaled[k * r + j] = b[k * r + j] * cos(t * sqrt(fmax(values[k], 0)));
    mrc_gemm(true, false, r, r, r, 1, b, r, scaled, r, 0, cosines, r);
    for (int64_t k = 0; k < r; k++) {
        double s = sqrt(fmax(values[k], 0)), ratio = s > 0 ? sin(t * s) / s : t;
        for (int64_t j = 0; j < r; j++)
            scaled[k * r + j] = b[k * r + j] * ratio;
    }
    mrc_gemm(true, false, r, r, r, 1, b, r, scaled, r, 0, sines, r);
    mrc_gemm(false, false, m, r, r, 1, u, r, cosines, r, 0, out, r);
    mrc_gemm(false, false, m, r, r, 1, h, r, sines, r, 1, out, r);
    mrc_orthonormalise(m, r, out); /* rounding alone: it cannot fail */
out:
    return rc;
}

double mrc_subspace_distance(int64_t m, int64_t r, const double *u, const double *v, double *dots)
{
    double alike = 0;
    mrc_gemm(true, false, r, r, m, 1, u, r, v, r, 0, dots, r);
    for (int64_t i = 0; i < r * r; i++)
        alike += dots[i] * dots[i];
    return sqrt(fmax(2 * ((double)r - alike), 0));
}
