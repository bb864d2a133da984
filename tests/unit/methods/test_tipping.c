/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse kernel PCA by likelihood against the covariance itself: the mapped rows are written out (a
 * linear kernel has them, others get them from the eigenvectors of their matrix), C is D x D, and
 * likelihood, s, q, their recurrences, the best weight, fixed points and features follow from it
 * plainly. */
#include "support.h"

#include "fit_support.h"
#include "selection_support.h"

#include "methods/points/likelihood.h"

/* ---- the plain form ---- */

/* More digits than doubles have, where the machine has them: C is ill conditioned. */
typedef long double real;

static real *new_reals(int64_t count)
{
    real *x = calloc((size_t)count, sizeof *x);
    assert_non_null(x);
    return x;
}

/* Mapped rows X (n x d) and the same about their mean or not. */
struct plain {
    int64_t n, d;
    real *x, *f;
    real *c, *inverse; /* d x d */
    real log_det;
};

static struct plain plain_of(const double *x, int64_t n, int64_t d, bool about_mean)
{
    struct plain p = {.n = n, .d = d, .x = new_reals(n * d), .f = new_reals(n * d)};
    p.c = new_reals(d * d);
    p.inverse = new_reals(d * d);
    for (int64_t i = 0; i < n * d; i++)
        p.x[i] = x[i];
    for (int64_t k = 0; k < d; k++) {
        real mean = 0;
        for (int64_t i = 0; about_mean && i < n; i++)
            mean += p.x[i * d + k] / (real)n;
        for (int64_t i = 0; i < n; i++)
            p.f[i * d + k] = p.x[i * d + k] - mean;
    }
    return p;
}

static void plain_free(struct plain *p)
{
    free(p->x);
    free(p->f);
    free(p->c);
    free(p->inverse);
}

/* C, its inverse by elimination (it is positive definite) and the log of its determinant. */
static void set_covariance(struct plain *p, const double *w, double noise)
{
    int64_t d = p->d;
    real *a = new_reals(d * d);
    for (int64_t j = 0; j < d; j++)
        for (int64_t k = 0; k < d; k++) {
            real sum = j == k ? noise : 0;
            for (int64_t i = 0; i < p->n; i++)
                sum += w[i] * p->x[i * d + j] * p->x[i * d + k];
            p->c[j * d + k] = a[j * d + k] = sum;
            p->inverse[j * d + k] = j == k;
        }
    p->log_det = 0;
    for (int64_t j = 0; j < d; j++) {
        real pivot = a[j * d + j];
        p->log_det += logl(pivot);
        for (int64_t k = 0; k < d; k++) {
            a[j * d + k] /= pivot;
            p->inverse[j * d + k] /= pivot;
        }
        for (int64_t r = 0; r < d; r++) {
            real factor = a[r * d + j];
            if (r == j || factor == 0)
                continue;
            for (int64_t k = 0; k < d; k++) {
                a[r * d + k] -= factor * a[j * d + k];
                p->inverse[r * d + k] -= factor * p->inverse[j * d + k];
            }
        }
    }
    free(a);
}

/* a' C^-1 b. */
static real within(const struct plain *p, const real *a, const real *b)
{
    real sum = 0;
    for (int64_t j = 0; j < p->d; j++)
        for (int64_t k = 0; k < p->d; k++)
            sum += a[j] * p->inverse[j * p->d + k] * b[k];
    return sum;
}

static double log_likelihood(struct plain *p, const double *w, double noise)
{
    real sum = 0;
    set_covariance(p, w, noise);
    for (int64_t t = 0; t < p->n; t++)
        sum += within(p, p->f + t * p->d, p->f + t * p->d);
    return (double)(-((real)p->n * p->log_det + sum) / 2);
}

static void find_s_and_q(struct plain *p, const double *w, double noise, double *s, double *q)
{
    set_covariance(p, w, noise);
    for (int64_t i = 0; i < p->n; i++) {
        real image[64] = {0}, s_i = 0, q_i = 0;
        assert_true(p->d <= 64);
        for (int64_t j = 0; j < p->d; j++)
            for (int64_t k = 0; k < p->d; k++)
                image[j] += p->inverse[j * p->d + k] * p->x[i * p->d + k];
        for (int64_t k = 0; k < p->d; k++)
            s_i += image[k] * p->x[i * p->d + k];
        for (int64_t t = 0; t < p->n; t++) {
            real along = 0;
            for (int64_t k = 0; k < p->d; k++)
                along += image[k] * p->f[t * p->d + k];
            q_i += along * along;
        }
        s[i] = (double)s_i;
        q[i] = (double)q_i;
    }
}

/* ---- settings ---- */

struct setting {
    double *x; /* the rows */
    mercer_rows *rows;
    mrc_kernel *kernel; /* which the operator borrows */
    mrc_gram *gram;
    struct plain plain;
    double noise;
};

static const struct shape {
    const char *kernel, *store;
    bool about_mean, sparse;
    int64_t n, d;
    double center, spread, noise; /* noise: a share of the limit */
} shapes[] = {
    {"linear", "dense", true, false, 40, 6, 0.5, 1, 0.05},
    {"linear", "stream", false, false, 40, 6, 0.5, 1, 0.05},
    {"linear", "lowrank", true, false, 50, 4, 1, 1e-3, 0.01},
    {"linear", "lowrank", false, false, 50, 4, 0, 1e3, 0.01},
    {"linear", NULL, true, true, 40, 8, 0, 1, 0.1},
    {"linear", NULL, false, true, 40, 8, 0, 1, 0.1},
    {"linear", "dense", true, false, 12, 3, 20, 1, 1e-4},
    {"linear", "dense", false, false, 300, 2, 0, 1, 1e-3},
    {"rbf:sigma=1", "dense", true, false, 40, 2, 0, 1, 0.1},
    {"rbf:sigma=2", "lowrank", true, false, 40, 2, 0, 1, 0.1},
    {"rbf:sigma=2", "stream", true, false, 40, 2, 0, 1, 1e-3},
    {"laplacian:gamma=0.5", "dense", false, false, 30, 2, 0, 1, 0.3},
    {"poly:degree=2,coef0=1,gamma=1", "dense", true, false, 40, 2, 0, 1, 1e-3},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct setting make(const struct shape *shape, uint64_t seed)
{
    int64_t n = shape->n, d = shape->d;
    struct setting s = {.x = normal_rows(seed, n, d, shape->center, 1)};
    mrc_gram_request request = {.store = shape->store ? mrc_store_find(shape->store) : NULL};
    if (shape->sparse)
        thin_out(seed, s.x, n * d, 0.4);
    for (int64_t i = 0; i < n * d; i++)
        s.x[i] *= shape->spread * (1 + (double)(i % d) / 2);
    s.rows = shape->sparse ? sparse_copy(s.x, n, d) : view(ctx, s.x, n, d);
    s.kernel = calloc(1, sizeof *s.kernel);
    assert_non_null(s.kernel);
    assert_ok(mrc_kernel_parse(s.kernel, shape->kernel, err));
    assert_ok(mrc_kernel_resolve(s.kernel, ctx, s.rows, err));
    assert_ok(mrc_gram_new(&s.gram, ctx, s.kernel, s.rows, &request, NULL, err));
    if (strcmp(shape->kernel, "linear") == 0)
        s.plain = plain_of(s.x, n, d, shape->about_mean);
    else {
        double *k = naive_gram(s.kernel, s.x, n, d, false), *values = new_doubles(n);
        double *vectors = new_doubles(n * n);
        ref_eigen(k, n, values, vectors);
        for (int64_t i = 0; i < n * n; i++)
            vectors[i] *= sqrt(fmax(values[i % n], 0));
        s.plain = plain_of(vectors, n, n, shape->about_mean);
        free(k);
        free(values);
        free(vectors);
    }
    mrc_likelihood l = {0};
    assert_ok(mrc_likelihood_init(&l, ctx, s.gram, shape->about_mean, 1, err));
    s.noise = shape->noise * mrc_likelihood_limit(&l);
    mrc_likelihood_destroy(&l);
    return s;
}

static void drop(struct setting *s)
{
    plain_free(&s->plain);
    mrc_gram_free(s->gram);
    mercer_rows_free(s->rows);
    free(s->kernel);
    free(s->x);
}

/* ---- tests ---- */

/* s, q and a of l against C^-1. `anew`: nothing but their own rounding is allowed. */
static void check_state(int shape, const mrc_likelihood *l, struct plain *p, bool anew)
{
    double *s = new_doubles(l->n), *q = new_doubles(l->n), *first = new_doubles(l->n);
    double *none = new_doubles(l->n), *s0 = new_doubles(l->n);
    find_s_and_q(p, none, l->noise, s0, first);
    find_s_and_q(p, l->weights, l->noise, s, q);
    for (int64_t i = 0; i < l->n; i++) {
        /* C^-1 has the digits that C leaves it: 1e-15 of s before there were weights. */
        double off = 1e-8 * s[i] + 1e-13 * s0[i], more = anew ? 0 : l->doubt[i];
        if (!(fabs(l->s[i] - s[i]) <= off))
            fail_msg("shape %d, row %d: s %.15g, not %.15g", shape, (int)i, l->s[i], s[i]);
        if (!(fabs(l->q[i] - q[i]) <= 1e-8 * q[i] + 1e-13 * sqrt(first[i] * q[i]) + more))
            fail_msg("shape %d, row %d: q %.15g, not %.15g (doubt %g)", shape, (int)i, l->q[i],
                     q[i], more);
        if (!(fabs(l->left[i] - (1 - l->weights[i] * s[i])) <= 1e-8 + off * l->weights[i]))
            fail_msg("shape %d, row %d: left %.15g, not %.15g", shape, (int)i, l->left[i],
                     1 - l->weights[i] * s[i]);
    }
    free(s);
    free(q);
    free(s0);
    free(none);
    free(first);
}

/* Any weights, reached by changes in any order: recurrences, and anew from the weights. */
static void test_likelihood_against_covariance(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int k = 0; k < SHAPES; k++) {
            struct setting s = make(&shapes[k], seed);
            mrc_likelihood l = {0};
            mrc_rng rng;
            mrc_rng_seed(&rng, seed);
            assert_ok(mrc_likelihood_init(&l, ctx, s.gram, shapes[k].about_mean, s.noise, err));
            for (int step = 0; step < 40; step++) {
                mrc_likelihood_change change = {.row = mrc_rng_below(&rng, l.n / 2)};
                if (l.weights[change.row] == 0 || step % 3)
                    change.weight = exp(mrc_rng_normal(&rng)) / (double)l.n;
                if (l.weights[change.row] == 0 && change.weight == 0)
                    continue;
                assert_ok(mrc_likelihood_make(&l, &change, err));
                if (step % 13 == 12)
                    check_state(k, &l, &s.plain, false);
            }
            assert_ok(mrc_likelihood_renew(&l, err));
            check_state(k, &l, &s.plain, true);
            mrc_likelihood_destroy(&l);
            drop(&s);
        }
}

/* The gradient is (q - n s) / 2, and the best change of one weight is where L itself is largest, by
 * as much as is told. */
static void test_likelihood_best_change(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int k = 0; k < SHAPES; k++) {
            struct setting s = make(&shapes[k], seed);
            mrc_likelihood l = {0};
            mrc_likelihood_change best;
            double n = (double)shapes[k].n;
            if (s.plain.n * s.plain.d * s.plain.d > 20000) {
                drop(&s);
                continue;
            }
            assert_ok(mrc_likelihood_init(&l, ctx, s.gram, shapes[k].about_mean, s.noise, err));
            for (int step = 0; step < 4; step++) {
                mrc_likelihood_best(&l, true, &best);
                if (best.row < 0)
                    break;
                double now = log_likelihood(&s.plain, l.weights, s.noise), largest = 0;
                for (int64_t i = 0; i < l.n; i += 3) {
                    double w = l.weights[i], by = 1e-4 * (w + 1 / l.s[i]);
                    l.weights[i] = w + by;
                    double more = log_likelihood(&s.plain, l.weights, s.noise);
                    l.weights[i] = w + 2 * by;
                    double most = log_likelihood(&s.plain, l.weights, s.noise);
                    l.weights[i] = w;
                    double slope = (4 * more - 3 * now - most) / (2 * by);
                    double told = (l.q[i] - n * l.s[i]) / 2;
                    /* third derivatives times by^2, and rounding of L over by */
                    double off = 1e-6 * (l.q[i] + n * l.s[i]) + 1e-11 * fabs(now) / by + l.doubt[i];
                    if (!(fabs(slope - told) <= off))
                        fail_msg("shape %d, row %d: slope %.10g, not %.10g", k, (int)i, told,
                                 slope);
                }
                /* No other weight of this row, nor of any other, gains more. */
                for (int64_t i = 0; i < l.n; i++)
                    for (int share = 0; share < 8; share++) {
                        static const double shares[] = {0, 0.5, 0.9, 0.99, 1, 1.01, 1.1, 2};
                        double w = l.weights[i];
                        l.weights[i] = best.weight * shares[share];
                        double gain = log_likelihood(&s.plain, l.weights, s.noise) - now;
                        largest = fmax(largest, gain);
                        l.weights[i] = w;
                    }
                double rounding = 1e-9 * (fabs(now) + best.gain) + best.error;
                if (!(fabs(largest - best.gain) <= rounding))
                    fail_msg("shape %d: gains %.12g, but %.12g is told", k, largest, best.gain);
                assert_ok(mrc_likelihood_make(&l, &best, err));
            }
            mrc_likelihood_destroy(&l);
            drop(&s);
        }
}

/* 3000 rounds of the published fixed point, or of EM, w <- S_ii + sum of squared means / n. */
static double iterate(struct plain *p, double noise, bool em)
{
    int64_t n = p->n;
    double *w = new_doubles(n), *s = new_doubles(n), *q = new_doubles(n), before = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        w[i] = 1 / (double)n;
    for (int round = 0; round < 3000; round++) {
        find_s_and_q(p, w, noise, s, q);
        for (int64_t i = 0; i < n; i++) {
            double squares = w[i] * w[i] * q[i], variance = w[i] - w[i] * w[i] * s[i];
            if (w[i] > 0)
                w[i] = em ? variance + squares / (double)n : squares / ((double)n * w[i] * s[i]);
        }
        if (em && round % 100 == 0) {
            double now = log_likelihood(p, w, noise);
            assert_true(now >= before - 1e-9 * fabs(now));
            before = now;
        }
    }
    double end = log_likelihood(p, w, noise);
    free(w);
    free(s);
    free(q);
    return end;
}

/* What the ascent reaches: the sum of gains, the conditions of a maximum, no less than what fixed
 * points reach. */
static void test_likelihood_climb(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int k = 0; k < SHAPES; k++) {
            struct setting s = make(&shapes[k], seed);
            mrc_likelihood l = {0};
            int64_t n = shapes[k].n;
            double *none = new_doubles(n);
            assert_ok(mrc_likelihood_init(&l, ctx, s.gram, shapes[k].about_mean, s.noise, err));
            assert_ok(mrc_likelihood_climb(&l, n, 1e-8, err));
            assert_true(l.converged);
            assert_ok(mrc_likelihood_renew(&l, err));
            check_state(k, &l, &s.plain, true);
            double start = log_likelihood(&s.plain, none, s.noise);
            double end = log_likelihood(&s.plain, l.weights, s.noise);
            assert_true(fabs(end - start - l.gained) <=
                        1e-7 * fabs(l.gained) + 1e-12 * fabs(start));
            for (int64_t i = 0; i < n; i++) {
                double theta = l.q[i] / ((double)n * l.s[i]);
                if (l.weights[i] > 0 ? fabs(theta - 1) > 0.01 : theta > 1.01)
                    fail_msg("shape %d, row %d: q / ns is %g", k, (int)i, theta);
            }
            if (s.plain.d <= 8 && n <= 50 && seed <= 2)
                for (int em = 0; em < 2; em++) {
                    double other = iterate(&s.plain, s.noise, em);
                    if (!(end >= other - 1e-3 * (double)n))
                        fail_msg("shape %d: reaches %.9g, and %.9g is possible", k, end, other);
                }
            mrc_likelihood_destroy(&l);
            free(none);
            drop(&s);
        }
}

/* Features of the model's own directions are along the leading eigenvectors of C, those of the span
 * are Nystroem's on the same rows. */
static void test_tipping_features(void **state)
{
    enum { N = 60, D = 5, L = 3 };
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    static const char *const centers[] = {"none", "exact", "span"};
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (int k = 0; k < 9; k++) {
            double *x = normal_rows(seed, N, D, 0.7, 1), values[D], vectors[D * D],
                   covariance[D * D];
            const char *center = centers[k % 3], *store = stores[k / 3];
            for (int64_t i = 0; i < N * D; i++)
                x[i] *= 1 / (1 + (double)(i % D));
            mercer_rows *rows = view(ctx, x, N, D);
            struct plain p = plain_of(x, N, D, k % 3 > 0);
            struct outcome own =
                fit_well("tipping:directions=model,noise=0.01", "linear", center, store, L, rows);
            mrc_likelihood l = {0};
            mrc_kernel kernel;
            mrc_gram *gram;
            mrc_gram_request request = {.store = mrc_store_find(store)};
            assert_ok(mrc_kernel_parse(&kernel, "linear", err));
            assert_ok(mrc_gram_new(&gram, ctx, &kernel, rows, &request, NULL, err));
            assert_ok(mrc_likelihood_init(&l, ctx, gram, k % 3 > 0, 0.01, err));
            assert_ok(mrc_likelihood_climb(&l, N, 1e-3, err));
            set_covariance(&p, l.weights, 0.01);
            for (int64_t i = 0; i < D * D; i++)
                covariance[i] = (double)p.c[i];
            ref_eigen(covariance, D, values, vectors);
            double *features = features_of(&own, rows, NULL, NULL);
            for (int64_t j = 0; j < L; j++) {
                double squares = 0;
                for (int64_t i = 0; i < N; i++) {
                    double along = 0, y = features[i * L + j];
                    for (int64_t c = 0; c < D; c++)
                        along += (double)p.f[i * D + c] * vectors[c * D + j];
                    squares += along * along;
                    if (!(fabs(fabs(y) - fabs(along)) <= 1e-9 * values[0] * N))
                        fail_msg("%s, %s, feature %d: %.12g, not %.12g", center, store, (int)j, y,
                                 along);
                }
                assert_true(fabs(own.info.spectrum[j] - squares) <= 1e-9 * squares);
            }
            assert_int_equal(own.info.correlated, 1);
            free(features);
            mercer_model_free(own.model);
            mrc_likelihood_destroy(&l);
            mrc_gram_free(gram);
            mercer_rows_free(rows);
            plain_free(&p);
            free(x);
        }
}

/* Span: Nystroem on the same rows as landmarks, B'K B = I, any kernel and store; the first row is
 * that of rkpca, without centring that of akfa; threads change no bit. */
static void test_tipping_span(void **state)
{
    enum { N = 120, L = 4 };
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int k = 0; k < 6; k++) {
            double *x = ring_rows(seed, N), picked[N * 2];
            const char *center = k % 2 ? "span" : "none", *kernel = "rbf:sigma=4";
            mercer_rows *rows = view(ctx, x, N, 2);
            struct outcome o = fit_well("tipping", kernel, center, stores[k / 2], L, rows);
            struct outcome first =
                fit_well(k % 2 ? "rkpca:points=1" : "akfa", kernel, center, "dense", 1, rows);
            struct outcome few =
                fit_well("tipping:points=1,noise=0.01", kernel, center, stores[k / 2], 1, rows);
            assert_int_equal(few.info.selected_count, 1);
            assert_int_equal(few.info.selected[0], first.info.selected[0]);
            assert_in_range(o.info.selected_count, L, N / 2);
            for (int64_t s = 0; s < o.info.selected_count; s++)
                memcpy(picked + 2 * s, x + 2 * o.info.selected[s], 2 * sizeof *x);
            mercer_rows *landmarks = view(ctx, picked, o.info.selected_count, 2);
            mercer_fit_options options;
            mercer_fit_options_init(&options);
            options.method = "nystroem";
            options.kernel = kernel;
            options.center = center;
            options.components = L;
            options.landmarks = landmarks;
            struct outcome same = fit_by(&options, rows);
            assert_int_equal(same.rc, MERCER_OK);
            double *a = features_of(&o, rows, NULL, NULL);
            double *b = features_of(&same, rows, NULL, NULL);
            for (int64_t i = 0; i < N * L; i++)
                assert_true(fabs(fabs(a[i]) - fabs(b[i])) < 1e-7);
            mercer_array z = {.struct_size = sizeof z}, w = {.struct_size = sizeof w};
            assert_ok(mercer_model_array(o.model, "z", &z, err));
            assert_ok(mercer_model_array(o.model, "coefficients", &w, err));
            double *gram = gram_of(kernel, z.data, z.shape[0], 2, false);
            const double *c = w.data;
            for (int64_t j = 0; j < L; j++)
                for (int64_t h = 0; h < L; h++) {
                    double sum = 0;
                    for (int64_t r = 0; r < z.shape[0]; r++)
                        for (int64_t t = 0; t < z.shape[0]; t++)
                            sum += c[r * L + j] * gram[r * z.shape[0] + t] * c[t * L + h];
                    assert_true(fabs(sum - (j == h)) < 1e-10);
                }
            mercer_ctx *four = new_ctx(4), *mine = ctx;
            ctx = four;
            struct outcome again = fit_well("tipping", kernel, center, stores[k / 2], L, rows);
            double *with_four = features_of(&again, rows, NULL, NULL);
            assert_memory_equal(a, with_four, N * L * sizeof *a);
            mercer_model_free(again.model);
            ctx = mine;
            mercer_ctx_free(four);
            free(with_four);
            free(gram);
            free(a);
            free(b);
            mercer_model_free(o.model);
            mercer_model_free(first.model);
            mercer_model_free(few.model);
            mercer_model_free(same.model);
            mercer_rows_free(landmarks);
            mercer_rows_free(rows);
            free(x);
        }
}

/* Rows given twice: never both; exactly, and to rounding. */
static void test_tipping_takes_no_copies(void **state)
{
    enum { N = 200, TWICE = 120 };
    static const char *const methods[] = {"tipping", "tipping:tolerance=1e-5",
                                          "tipping:tolerance=1e-8,noise=1e-4"};
    (void)state;
    for (int k = 0; k < 6; k++) {
        double *x = new_doubles(2 * (N + TWICE)), *ring = ring_rows(9, N);
        memcpy(x, ring, 2 * N * sizeof *x);
        memcpy(x + 2 * N, ring, 2 * TWICE * sizeof *x);
        mercer_rows *rows = view(ctx, x, N + TWICE, 2);
        struct outcome o = fit_well(methods[k / 2], "rbf:sigma=4", k % 2 ? "span" : "none",
                                    k % 2 ? "lowrank" : "dense", 6, rows);
        unsigned char taken[N] = {0};
        for (int64_t s = 0; s < o.info.selected_count; s++) {
            int64_t row = o.info.selected[s] % N;
            if (taken[row]++)
                fail_msg("%s: row %lld was taken twice", methods[k / 2], (long long)row);
        }
        mercer_model_free(o.model);
        mercer_rows_free(rows);
        free(ring);
        free(x);
    }
}

/* As many rows as the tolerance asks for, at most `points`; noise that is too large or too small;
 * fewer features than asked for. */
static void test_tipping_limits(void **state)
{
    enum { N = 150 };
    double *x = ring_rows(4, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    int64_t before = 0, after = 0;
    (void)state;
    for (double tolerance = 1e-1; tolerance > 1e-7; tolerance /= 10) {
        char method[64];
        snprintf(method, sizeof method, "tipping:noise=0.01,tolerance=%g", tolerance);
        struct outcome o = fit_well(method, "rbf:sigma=4", "span", NULL, 3, rows);
        before = before ? before : o.info.selected_count;
        after = o.info.selected_count;
        mercer_model_free(o.model);
        snprintf(method, sizeof method, "tipping:noise=0.01,tolerance=%g,points=4", tolerance);
        o = fit_well(method, "rbf:sigma=4", "span", NULL, 3, rows);
        assert_true(o.info.selected_count <= 4);
        mercer_model_free(o.model);
    }
    assert_true(after > before + 10);
    struct outcome o = fit("tipping:noise=1", "rbf:sigma=4", "span", NULL, 3, rows);
    assert_int_equal(o.rc, MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(o.why.text, "must be below"));
    o = fit("tipping:noise=1e-12", "rbf:sigma=4", "span", NULL, 3, rows);
    assert_int_equal(o.rc, MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(o.why.text, "at least"));
    o = fit_well("tipping", "rbf:sigma=0.001", "span", NULL, 3, rows); /* a flat spectrum */
    assert_non_null(strstr(notice, "no row explains more than"));
    assert_true(o.info.reconstruction_error >= 0 && isfinite(o.info.spectrum[0]));
    mercer_model_free(o.model);
    o = fit("tipping:tolerance=1", "rbf:sigma=0.001", "span", NULL, 3, rows);
    assert_int_equal(o.rc, MERCER_ERR_DATA);
    assert_non_null(strstr(o.why.text, "tolerance=1"));
    o = fit("tipping", "sigmoid:gamma=0.5,coef0=-1", "span", NULL, 3, rows);
    assert_int_equal(o.rc, MERCER_ERR_DATA);
    assert_non_null(strstr(o.why.text, "semidefinite"));
    o = fit_well("tipping:points=2", "rbf:sigma=4", "span", NULL, 5, rows);
    assert_int_equal(o.info.components, 2);
    assert_non_null(strstr(notice, "5 components asked for"));
    mercer_model_free(o.model);
    mercer_rows_free(rows);
    free(x);
}

static void test_tipping_memory_that_fails(void **state)
{
    double *x = ring_rows(2, 30);
    mercer_rows *rows = view(ctx, x, 30, 2);
    mercer_fit_options options;
    (void)state;
    mercer_fit_options_init(&options);
    options.method = "tipping:directions=model";
    options.kernel = "rbf:sigma=4";
    options.components = 2;
    check_failing_allocations(ctx, &options, rows, NULL);
    mercer_rows_free(rows);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_likelihood_against_covariance, each_setup,
                                        each_teardown),
        cmocka_unit_test_setup_teardown(test_likelihood_best_change, each_setup, each_teardown),
        cmocka_unit_test_setup_teardown(test_likelihood_climb, each_setup, each_teardown),
        cmocka_unit_test_setup_teardown(test_tipping_features, each_setup, each_teardown),
        cmocka_unit_test_setup_teardown(test_tipping_span, each_setup, each_teardown),
        cmocka_unit_test_setup_teardown(test_tipping_takes_no_copies, each_setup, each_teardown),
        cmocka_unit_test_setup_teardown(test_tipping_limits, each_setup, each_teardown),
        cmocka_unit_test_setup_teardown(test_tipping_memory_that_fails, each_setup, each_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
