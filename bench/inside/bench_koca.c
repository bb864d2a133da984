/* SPDX-License-Identifier: BSD-3-Clause */
/* Time the pieces of a step of koca: one evaluation of the performance F, and its gradient.
 *
 *     bench_koca ROWS DIMENSIONS COMPONENTS NEIGHBOURS THREADS SECONDS
 *
 * Normal rows of ten classes in that many dimensions, each judged by the others. Prints one JSON
 * object: the smallest time of an evaluation and of a gradient after it over as many repetitions as
 * SECONDS allow, three at least; that of an evaluation inside forward differences along tangent
 * vectors, r (m - r) of which make a gradient; how many of these were evaluated; and the largest
 * difference of theirs from the gradient, beside its largest entry. */
#include "../bench.h"

#include "linalg/grassmann.h"
#include "methods/koca/objective.h"

#include <string.h>

enum { CLASSES = 10, MIN_REPEATS = 3 };

struct work {
    mercer_ctx *ctx;
    int64_t n, m, r;
    double *z, *u, *gradient, *turned;
    int64_t *codes;
    mrc_koca_objective objective;
};

static void *array(int64_t count)
{
    void *a = calloc((size_t)count, 8);
    if (!a)
        die("bench_koca", "out of memory");
    return a;
}

static void set_up(struct work *w, int64_t neighbours)
{
    mrc_koca_rule rule = {.neighbours = neighbours, .beta = 0.3, .epsilon = 1e-9};
    mercer_error err;
    mrc_rng rng;
    mrc_rng_seed(&rng, 1);
    w->z = array(w->n * w->m);
    w->codes = array(w->n);
    w->u = array(w->m * w->r);
    w->gradient = array(w->m * w->r);
    w->turned = array(w->m * w->r);
    for (int64_t i = 0; i < w->n; i++) {
        w->codes[i] = i % CLASSES;
        for (int64_t j = 0; j < w->m; j++)
            w->z[i * w->m + j] = mrc_rng_normal(&rng) + (j == w->codes[i] ? 2 : 0);
    }
    mrc_random_subspace(&rng, w->m, w->r, w->u);
    mrc_koca_rows rows = {.z = w->z, .codes = w->codes, .n = w->n};
    if (mrc_koca_init(&w->objective, w->ctx, w->m, w->r, CLASSES, &rows, &rows, &rule, neighbours,
                      &err) != MERCER_OK)
        die("bench_koca", err.text);
}

/* Forward differences, column by column of U and axis by axis, for at most `seconds`: the end of
 * the geodesic turns one column towards a direction outside the subspace. Directions are the
 * coordinate axes without their part in the subspace, so that g'd is what a difference must be. */
static void take_differences(struct work *w, double seconds, double *smallest, int64_t *count,
                             double *apart)
{
    static const double STEP = 1e-7;
    int64_t m = w->m, r = w->r;
    double value = mrc_koca_value(&w->objective, w->u), begin = now();
    double *direction = array(m);
    *smallest = INFINITY;
    *count = 0;
    *apart = 0;
    for (int64_t at = 0; at < m * r && (at < MIN_REPEATS || now() - begin < seconds); at++) {
        int64_t axis = at / r, column = at % r;
        double expected = 0, length2 = 0;
        for (int64_t i = 0; i < m; i++) {
            direction[i] = i == axis;
            for (int64_t j = 0; j < r; j++)
                direction[i] -= w->u[i * r + j] * w->u[axis * r + j];
            length2 += direction[i] * direction[i];
        }
        memcpy(w->turned, w->u, (size_t)(m * r) * sizeof *w->u);
        for (int64_t i = 0; i < m; i++) {
            direction[i] /= sqrt(length2);
            expected += w->gradient[i * r + column] * direction[i];
            w->turned[i * r + column] = cos(STEP) * w->u[i * r + column] + sin(STEP) * direction[i];
        }
        double start = now(), found = (mrc_koca_value(&w->objective, w->turned) - value) / STEP;
        *smallest = fmin(*smallest, now() - start);
        *apart = fmax(*apart, fabs(found - expected));
        ++*count;
    }
    free(direction);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fputs("usage: bench_koca ROWS DIMENSIONS COMPONENTS NEIGHBOURS THREADS SECONDS\n", stderr);
        return 2;
    }
    struct work w = {.n = strtoll(argv[1], NULL, 10),
                     .m = strtoll(argv[2], NULL, 10),
                     .r = strtoll(argv[3], NULL, 10)};
    double seconds = strtod(argv[6], NULL), value = INFINITY, gradient = INFINITY, largest = 0;
    double difference, apart;
    int64_t count;
    w.ctx = open_context((int)strtol(argv[5], NULL, 10));
    set_up(&w, strtoll(argv[4], NULL, 10));
    double begin = now();
    for (int i = 0; i < MIN_REPEATS || now() - begin < seconds; i++) {
        double start = now();
        mrc_koca_value(&w.objective, w.u);
        double between = now();
        mrc_koca_gradient(&w.objective, w.gradient);
        value = fmin(value, between - start);
        gradient = fmin(gradient, now() - between);
    }
    for (int64_t i = 0; i < w.m * w.r; i++)
        largest = fmax(largest, fabs(w.gradient[i]));
    take_differences(&w, seconds, &difference, &count, &apart);
    printf("{");
    print_blas();
    print_number("value_s", value);
    print_number("gradient_s", gradient);
    print_number("difference_s", difference);
    print_number("apart", apart);
    print_number("largest", largest);
    printf("\"differences\": %lld}\n", (long long)count);
    mrc_koca_destroy(&w.objective);
    mercer_ctx_free(w.ctx);
    free(w.z);
    free(w.codes);
    free(w.u);
    free(w.gradient);
    free(w.turned);
    return 0;
}
