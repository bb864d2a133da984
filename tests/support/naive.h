/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels by their formulas, to compare the fast ones with. */
#ifndef MRC_TESTS_NAIVE_H
#define MRC_TESTS_NAIVE_H

#include "kernel/named.h"

#include <math.h>
#include <string.h>

/* A named kernel by its formula, one pair at a time. */
static inline double naive_part(const mrc_kernel_part *k, const double *x, const double *y,
                                int64_t d)
{
    long double dot = 0, xx = 0, yy = 0, distance = 0, absolute = 0, chi2 = 0, least = 0, s;
    for (int64_t i = 0; i < d; i++) {
        dot += (long double)x[i] * y[i];
        xx += (long double)x[i] * x[i];
        yy += (long double)y[i] * y[i];
        s = (long double)x[i] - y[i];
        distance += s * s;
        absolute += fabsl(s);
        chi2 += s != 0 ? s * s / ((long double)x[i] + y[i]) : 0;
        least += fmin(x[i], y[i]);
    }
    s = sqrtl(distance) / k->sigma;
    const char *name = k->def->entry.name;
#define IS(kernel) (strcmp(name, #kernel) == 0)
    if (IS(linear))
        return (double)dot;
    if (IS(poly))
        return (double)powl(k->gamma * dot + k->coef0, (long double)k->degree);
    if (IS(rbf))
        return (double)expl(-k->gamma * distance);
    if (IS(laplacian))
        return (double)expl(-k->gamma * absolute);
    if (IS(toy))
        return (double)(1 / (1 + k->gamma * absolute));
    if (IS(exponential))
        return (double)expl(-k->gamma * sqrtl(distance));
    if (IS(matern)) {
        s *= k->nu < 3 ? sqrtl(2 * k->nu + 1) : 1;
        return (double)(k->nu == 0   ? expl(-s)
                        : k->nu == 1 ? (1 + s) * expl(-s)
                        : k->nu == 2 ? (1 + s + s * s / 3) * expl(-s)
                                     : expl(-s * s / 2));
    }
    if (IS(rq))
        return (double)expl(-k->alpha * log1pl(s * s / (2 * (long double)k->alpha)));
    if (IS(chi2))
        return (double)expl(-k->gamma * chi2);
    if (IS(intersection))
        return (double)least;
    if (IS(sigmoid))
        return (double)tanhl(k->gamma * dot + k->coef0);
    if (IS(cosine))
        return xx > 0 && yy > 0 ? (double)(dot / sqrtl(xx) / sqrtl(yy)) : 0;
#undef IS
    return NAN;
}

/* Any kernel by its formula, one pair at a time. */
static inline double naive_kernel(const mrc_kernel *k, const double *x, const double *y, int64_t d)
{
    double sum = 0;
    for (int t = 0; t < k->terms; t++) {
        double product = k->weight[t];
        for (int p = 0; p < k->parts; p++)
            product *= k->term[p] == t ? naive_part(&k->part[p], x, y, d) : 1;
        sum += product;
    }
    return sum;
}

#endif
