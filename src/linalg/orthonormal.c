/* SPDX-License-Identifier: BSD-3-Clause */
/* Gram-Schmidt; see orthonormal.h. Costs 4 m j for vector j: nothing beside the data. */
#include "linalg/orthonormal.h"

#include <math.h>

const double mrc_column_floor = 1e-12;

/* Vectors of m numbers: number i of vector j is at w[j * apart + i * step]. */
struct vectors {
    double *w;
    int64_t m, apart, step;
};

static double dot(const struct vectors *v, int64_t j, int64_t k)
{
    const double *a = v->w + j * v->apart, *b = v->w + k * v->apart;
    double sum = 0;
    for (int64_t i = 0; i < v->m; i++)
        sum += a[i * v->step] * b[i * v->step];
    return sum;
}

static bool orthonormalise(const struct vectors *v, int64_t j, double floor)
{
    double *own = v->w + j * v->apart, before = sqrt(dot(v, j, j));
    for (int pass = 0; pass < 2; pass++) /* the second one for what rounding left */
        for (int64_t k = 0; k < j; k++) {
            const double *other = v->w + k * v->apart;
            double along = dot(v, k, j);
            for (int64_t i = 0; i < v->m; i++)
                own[i * v->step] -= along * other[i * v->step];
        }
    double norm = sqrt(dot(v, j, j));
    if (!(norm > floor * before))
        return false;
    for (int64_t i = 0; i < v->m; i++)
        own[i * v->step] /= norm;
    return true;
}

bool mrc_orthonormalise_column(int64_t m, int64_t r, int64_t j, double floor, double *u)
{
    return orthonormalise(&(struct vectors){.w = u, .m = m, .apart = 1, .step = r}, j, floor);
}

bool mrc_orthonormalise_row(int64_t m, int64_t j, double floor, double *w)
{
    return orthonormalise(&(struct vectors){.w = w, .m = m, .apart = m, .step = 1}, j, floor);
}

bool mrc_orthonormalise(int64_t m, int64_t r, double *u)
{
    bool independent = true;
    for (int64_t j = 0; j < r && independent; j++)
        independent = mrc_orthonormalise_column(m, r, j, mrc_column_floor, u);
    return independent;
}
