/* SPDX-License-Identifier: BSD-3-Clause */
/* Ridge regression on the Gram operator against dense elimination in quadruple precision: stores,
 * sizes, scales, ridges; leave-one-out errors against refits; what is refused. And the factor of
 * rows drawn at random that it uses, against the plain algorithm. */
#include "support.h"

#include "quadruple.h"

#include "gram/sampled.h"
#include "gram/solve.h"
#include "gram/store.h"

#include <float.h>

static void quad_center(quad *k, int64_t n)
{
    quad *mean = new_quads(n), grand = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            mean[i] += k[i * n + j] / (quad)n;
        grand += mean[i] / (quad)n;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            k[i * n + j] += grand - mean[i] - mean[j];
    free(mean);
}

/* The matrix as it is, centred in quadruple precision. */
static quad *quad_gram(const double *gram, int64_t n, bool centered)
{
    quad *k = new_quads(n * n);
    for (int64_t i = 0; i < n * n; i++)
        k[i] = gram[i];
    if (centered)
        quad_center(k, n);
    return k;
}

/* That of a linear kernel, from the rows. */
static quad *quad_linear(const double *x, int64_t n, int64_t d, double factor, bool centered)
{
    quad *k = new_quads(n * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < d; c++)
                k[i * n + j] += (quad)factor * (quad)x[i * d + c] * (quad)x[j * d + c];
    if (centered)
        quad_center(k, n);
    return k;
}

/* (K + mu I) A = Y. */
static void quad_solve(const quad *k, int64_t n, quad mu, const quad *y, int64_t l, quad *a)
{
    quad *m = new_quads(n * n);
    memcpy(m, k, (size_t)(n * n) * sizeof *m);
    memcpy(a, y, (size_t)(n * l) * sizeof *a);
    for (int64_t i = 0; i < n; i++)
        m[i * n + i] += mu;
    quad_eliminate(m, n, a, l);
    free(m);
}

static quad *quad_targets(const double *y, int64_t n, int64_t l, bool centered)
{
    quad *out = new_quads(n * l);
    for (int64_t c = 0; c < l; c++) {
        quad mean = 0;
        for (int64_t i = 0; centered && i < n; i++)
            mean += (quad)y[i * l + c] / (quad)n;
        for (int64_t i = 0; i < n; i++)
            out[i * l + c] = (quad)y[i * l + c] - mean;
    }
    return out;
}

static double quad_trace(const quad *k, int64_t n)
{
    quad sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += k[i * n + i];
    return (double)sum;
}

struct setting {
    mercer_ctx *ctx;
    double *x, *gram;
    mercer_rows *rows;
    mrc_kernel *kernel; /* which the operator borrows */
    mrc_gram *g;
};

static mrc_kernel *new_kernel(const char *spec)
{
    mrc_kernel *kernel = calloc(1, sizeof *kernel);
    assert_non_null(kernel);
    assert_ok(mrc_kernel_parse(kernel, spec, err));
    return kernel;
}

/* Rows and operator; store NULL: the matrix itself is given. factor: of the given matrix. */
static struct setting make(const char *spec, const mrc_store *store, bool centered, bool sparse,
                           int64_t n, int64_t d, uint64_t seed, double factor, int threads)
{
    struct setting s = {.ctx = new_ctx(threads), .x = normal_rows(seed, n, d, 0.3, 1)};
    mrc_gram_request request = {.store = store, .centered = centered};
    if (sparse)
        thin_out(seed, s.x, n * d, 0.5);
    make_nonnegative(spec, s.x, n * d);
    s.rows = sparse ? sparse_copy(s.x, n, d) : view(s.ctx, s.x, n, d);
    s.kernel = new_kernel(spec);
    assert_ok(mrc_kernel_resolve(s.kernel, s.ctx, s.rows, err));
    s.gram = naive_gram(s.kernel, s.x, n, d, false);
    for (int64_t i = 0; i < n * n; i++)
        s.gram[i] *= factor;
    if (!store) {
        mercer_rows_free(s.rows);
        s.rows = view(s.ctx, s.gram, n, n);
        free(s.kernel);
        s.kernel = new_kernel("precomputed");
    }
    if (sparse)
        request.store = NULL;
    assert_ok(mrc_gram_new(&s.g, s.ctx, s.kernel, s.rows, &request, NULL, err));
    mrc_gram_set_unit(s.g, mrc_gram_usual_unit(s.g));
    return s;
}

static void drop(struct setting *s)
{
    mrc_gram_free(s->g);
    mercer_rows_free(s->rows);
    mercer_ctx_free(s->ctx);
    free(s->kernel);
    free(s->x);
    free(s->gram);
}

/* Targets of different sizes and means. */
static double *make_targets(uint64_t seed, int64_t n, int64_t l, double size)
{
    double *y = normal_rows(seed + 77, n, l, 0, 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < l; c++)
            y[i * l + c] = size * ((c == 1 ? 1e-3 : 1) * y[i * l + c] + (double)c * 5);
    return y;
}

static double column_size(const quad *y, int64_t n, int64_t l, int64_t c)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)y[i * l + c]));
    return largest;
}

/* What the solver gives for one ridge against elimination. Kernel values of 53 bits move the fit by
 * their rounding over the ridge. */
static void check_solution(struct setting *s, int64_t n, bool centered, const double *y, int64_t l,
                           double ridge)
{
    quad *k = quad_gram(s->gram, n, centered), *t = quad_targets(y, n, l, centered),
         *a = new_quads(n * l);
    double unit = mrc_gram_unit(s->g), trace = quad_trace(k, n);
    mrc_ridge out;
    assert_ok(mrc_gram_solve(s->g, y, l, ridge, &out, err));
    quad_solve(k, n, (quad)ridge * (quad)trace, t, l, a);
    assert_true(out.ridge == ridge);
    assert_true(fabs(out.trace * unit / trace - 1) < 1e-10);
    assert_true(fabs(out.mu - ridge * out.trace) <= 1e-15 * out.mu);
    assert_true((out.dual == NULL) == (mrc_gram_factor(s->g) != NULL));
    double allowed = 1e-12 + 2e-14 / ridge;
    for (int64_t c = 0; c < l; c++) {
        double size = column_size(t, n, l, c), worst = 0, worst_dual = 0;
        quad norm2 = 0, found2 = 0, dual2 = 0;
        for (int64_t i = 0; i < n; i++) {
            quad fitted = t[i * l + c] - (quad)ridge * (quad)trace * a[i * l + c];
            worst = fmax(worst, fabs((double)(out.fitted[i * l + c] - fitted)));
            if (out.dual)
                worst_dual = fmax(worst_dual,
                                  fabs((double)(out.dual[i * l + c] / unit - (double)a[i * l + c]) *
                                       ridge * trace));
            norm2 += fitted * a[i * l + c];
            dual2 += a[i * l + c] * a[i * l + c];
        }
        if (!(worst <= allowed * size && worst_dual <= allowed * size))
            fail_msg("n=%lld output %lld ridge %g: fitted %.2e, dual %.2e of %.2e allowed",
                     (long long)n, (long long)c, ridge, worst / size, worst_dual / size, allowed);
        for (int64_t j = 0; !out.dual && j < out.f->rank; j++)
            found2 += (quad)out.weights[j * l + c] * (quad)out.weights[j * l + c];
        /* |w|^2 = a'Ka, in which rounding of K counts |a|^2 times. */
        double norm_allowed = 10 * allowed * (double)norm2 + 1e-15 * trace * (double)dual2;
        if (!out.dual && fabs((double)(found2 / (quad)unit - norm2)) > norm_allowed)
            fail_msg("n=%lld ridge %g: |w|^2 %.12g, not %.12g", (long long)n, ridge,
                     (double)(found2 / (quad)unit), (double)norm2);
        double mean = 0;
        for (int64_t i = 0; centered && i < n; i++)
            mean += y[i * l + c] / (double)n;
        assert_true(fabs(out.mean[c] - mean) <= 1e-13 * (fabs(mean) + size));
    }
    mrc_ridge_destroy(&out);
    free(k);
    free(t);
    free(a);
}

static const struct {
    const char *kernel;
    const mrc_store *store;
    bool sparse;
    int64_t d;
} stores[] = {
    {"rbf:sigma=1", &mrc_store_dense, false, 3},
    {"rbf:sigma=1", &mrc_store_stream, false, 3},
    {"rbf:sigma=3", &mrc_store_lowrank, false, 2},
    {"rbf:sigma=0.3", &mrc_store_lowrank, false, 3},
    {"rbf:sigma=2", NULL, false, 2},
    {"laplacian:gamma=0.3", &mrc_store_dense, false, 4},
    {"linear", &mrc_store_lowrank, false, 5},
    {"linear", &mrc_store_dense, false, 5},
    {"linear", &mrc_store_implicit, true, 9},
    {"poly:gamma=0.3,coef0=1,degree=2", &mrc_store_stream, false, 3},
    {"poly:gamma=0.3,coef0=1,degree=2", &mrc_store_lowrank, false, 3},
    {"intersection", &mrc_store_dense, false, 4},
};

static void test_solve_matches_elimination(void **state)
{
    static const int64_t sizes[] = {2, 3, 17, 70, 131};
    static const double ridges[] = {1, 1e-3, 1e-7};
    (void)state;
    for (size_t c = 0; c < sizeof stores / sizeof *stores; c++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int centered = 0; centered < 2; centered++) {
                int64_t n = sizes[i], l = i % 2 ? 3 : 1;
                if (stores[c].store == &mrc_store_lowrank && n < stores[c].d)
                    continue; /* the rows of a linear kernel would not be a factor */
                uint64_t seed = 100 * c + 10 * i + (uint64_t)centered;
                struct setting s = make(stores[c].kernel, stores[c].store, centered,
                                        stores[c].sparse, n, stores[c].d, seed, 1, 2);
                double *y = make_targets(seed, n, l, 1);
                print_message("%s store=%s n=%lld centred=%d\n", stores[c].kernel,
                              mrc_gram_store(s.g)->name, (long long)n, centered);
                for (size_t r = 0; r < sizeof ridges / sizeof *ridges; r++)
                    check_solution(&s, n, centered, y, l, ridges[r]);
                drop(&s);
                free(y);
            }
}

/* A kernel in other units: the same fit, whatever the range of numbers. */
static void test_solve_any_scale(void **state)
{
    static const double factors[] = {0x1p-332, 0x1p-100, 0x1p-34, 0x1p50, 0x1p332};
    static const double sizes[] = {1e-120, 1e120};
    enum { N = 60, L = 2 };
    (void)state;
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
        for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++)
            for (int kind = 0; kind < 2; kind++) {
                double *y = make_targets(f, N, L, sizes[t]), root = sqrt(factors[f]);
                struct setting s;
                print_message("matrix times %.0e, targets %.0e\n", factors[f], sizes[t]);
                if (kind == 0) {
                    s = make("rbf:sigma=2", NULL, true, false, N, 2, f, factors[f], 2);
                } else { /* rows of another length, in the low-rank store */
                    mrc_gram_request request = {.store = &mrc_store_lowrank, .centered = true};
                    s = (struct setting){.ctx = new_ctx(1), .x = normal_rows(f, N, 4, 0, root)};
                    s.rows = view(s.ctx, s.x, N, 4);
                    s.kernel = new_kernel("linear");
                    s.gram = naive_gram(s.kernel, s.x, N, 4, false);
                    assert_ok(mrc_gram_new(&s.g, s.ctx, s.kernel, s.rows, &request, NULL, err));
                    mrc_gram_set_unit(s.g, mrc_gram_usual_unit(s.g));
                }
                check_solution(&s, N, true, y, L, 1e-2);
                check_solution(&s, N, true, y, L, 1e-6);
                drop(&s);
                free(y);
            }
}

static double notified; /* notices of the last solution */

static void count_notice(void *host, const mercer_notice *notice)
{
    (void)host;
    if (strstr(notice->text, "rounding moves the fit by"))
        notified++;
}

/* What a solution is off by against elimination, as a share of the targets; and |A| / |Y|, to judge
 * what may be refused. */
static double share_off(const quad *fitted, const double *found, const quad *y, int64_t n,
                        int64_t l)
{
    double worst = 0;
    for (int64_t c = 0; c < l; c++) {
        quad off2 = 0, size2 = 0;
        for (int64_t i = 0; i < n; i++) {
            quad off = found ? (quad)found[i * l + c] - fitted[i * l + c] : fitted[i * l + c];
            off2 += off * off;
            size2 += y[i * l + c] * y[i * l + c];
        }
        worst = fmax(worst, sqrt((double)(off2 / size2)));
    }
    return worst;
}

struct attack {
    const char *kernel;
    int64_t d;
    bool centered;
    double ridge, factor;
    const double *y;
    quad *k, *t, *a, *fitted;
};

/* One store: what it finds is as far from the truth as it says, or it is refused where rounding may
 * take all digits; and no more than a thousandth is ever let through. */
static void attack_store(const struct attack *w, const mrc_store *store, int64_t n, int64_t l,
                         int *told, int *refused)
{
    struct setting s =
        make(w->kernel, store, w->centered, store == &mrc_store_implicit, n, w->d, 5, w->factor, 2);
    double trace = quad_trace(w->k, n), unit = mrc_gram_unit(s.g), kmax = mrc_gram_kmax(s.g) * unit;
    double rounding = (double)n * mrc_gram_eps(s.g) * kmax * share_off(w->a, NULL, w->t, n, l);
    mrc_ridge out;
    mercer_error why = {0};
    notified = 0;
    mercer_ctx_set_notice(s.ctx, count_notice, NULL);
    mercer_status rc = mrc_gram_solve(s.g, w->y, l, w->ridge, &out, &why);
    if (rc != MERCER_OK) {
        ++*refused;
        if (rc != MERCER_ERR_DATA || !strstr(why.text, "give a larger one") || rounding < 1e-3)
            fail_msg("%s %s centred=%d ridge %g: rounding of %.1e, but status %d: %s", w->kernel,
                     mrc_gram_store(s.g)->name, w->centered, w->ridge, rounding, (int)rc, why.text);
    } else {
        double off = share_off(w->fitted, out.fitted, w->t, n, l);
        double other_ridge = fabs(out.trace * unit / trace - 1); /* few digits of the trace */
        *told += notified > 0;
        if (!(off <= 5 * out.residual + other_ridge + 1e-12) || out.residual > 1e-3)
            fail_msg("%s %s centred=%d ridge %g: off by %.1e, told %.1e", w->kernel,
                     mrc_gram_store(s.g)->name, w->centered, w->ridge, off, out.residual);
        if ((notified == 1) != (out.residual > 1e-6))
            fail_msg("%s %s centred=%d ridge %g: %.1e, and %g notices", w->kernel,
                     mrc_gram_store(s.g)->name, w->centered, w->ridge, out.residual, notified);
    }
    mrc_ridge_destroy(&out);
    drop(&s);
}

/* Kernel matrices that have few digits left beside a ridge, in every store and unit. */
static void test_solve_tells_what_rounding_does(void **state)
{
    static const struct {
        const char *kernel;
        int64_t d;
    } kernels[] = {{"rbf:sigma=1", 3},
                   {"rbf:sigma=30", 3},
                   {"rbf:sigma=1000", 3},
                   {"rbf:sigma=1e5", 3},
                   {"linear", 3},
                   {"poly:gamma=0.3,coef0=1,degree=3", 3},
                   {"poly:gamma=1e-3,coef0=1000,degree=3", 3}};
    static const double ridges[] = {1e-12, 1e-10, 1e-8, 1e-5, 1e-2};
    static const mrc_store *const every[] = {&mrc_store_dense, &mrc_store_stream,
                                             &mrc_store_lowrank, NULL};
    enum { N = 60, L = 2, KERNELS = sizeof kernels / sizeof *kernels, RIDGES = 5 };
    int told = 0, refused = 0;
    (void)state;
    for (int k = 0; k < KERNELS; k++)
        for (int centered = 0; centered < 2; centered++)
            for (int f = 0; f < 3; f++) {
                struct attack w = {.kernel = kernels[k].kernel,
                                   .d = kernels[k].d,
                                   .centered = centered,
                                   .factor = f == 0   ? 1
                                             : f == 1 ? 0x1p-332
                                                      : 0x1p332};
                struct setting s = make(w.kernel, NULL, centered, false, N, w.d, 5, w.factor, 1);
                double *y = make_targets(3, N, L, 1);
                for (int64_t i = 0; i < N; i++) /* one smooth, one of noise */
                    y[i * L] = sin(s.x[w.d * i]) + 2;
                w.y = y;
                w.k = strcmp(w.kernel, "linear") == 0 ? quad_linear(s.x, N, w.d, w.factor, centered)
                                                      : quad_gram(s.gram, N, centered);
                w.t = quad_targets(y, N, L, centered);
                w.a = new_quads(N * L);
                w.fitted = new_quads(N * L);
                for (int r = 0; r < RIDGES; r++) {
                    w.ridge = ridges[r];
                    quad mu = (quad)w.ridge * (quad)quad_trace(w.k, N);
                    quad_solve(w.k, N, mu, w.t, L, w.a);
                    for (int64_t i = 0; i < N * L; i++)
                        w.fitted[i] = w.t[i] - mu * w.a[i];
                    for (int e = 0; e < 4; e++) /* other units: of a given matrix */
                        if (f == 0 || !every[e])
                            attack_store(&w, every[e], N, L, &told, &refused);
                }
                drop(&s);
                free(y);
                free(w.k);
                free(w.t);
                free(w.a);
                free(w.fitted);
            }
    print_message("%d told, %d refused\n", told, refused);
    assert_true(told > 20 && refused > 20);
}

/* More rows than the preconditioner has columns: gradients have work to do. Elimination would take
 * too long, so the residual is computed plainly. */
static void test_solve_many_rows(void **state)
{
    static const double ridges[] = {1e-2, 1e-5};
    enum { N = 1600, D = 8, L = 2 };
    (void)state;
    for (size_t r = 0; r < sizeof ridges / sizeof *ridges; r++) {
        struct setting s = make("rbf:sigma=2", &mrc_store_dense, true, false, N, D, 5 + r, 1, 2);
        double *y = make_targets(r, N, L, 1), *centered = naive_gram(s.kernel, s.x, N, D, true);
        quad *t = quad_targets(y, N, L, true);
        mrc_ridge out;
        assert_ok(mrc_gram_solve(s.g, y, L, ridges[r], &out, err));
        print_message(
            "%d rows, ridge %g: %lld products, residual %.1e, factor of %lld leaves %.1e\n", N,
            ridges[r], (long long)out.products, out.residual, (long long)out.stand_in,
            out.stand_in_left);
        assert_int_equal(out.stand_in, 1000);
        assert_true(out.products < 60);
        assert_true(out.stand_in_left > 0 && out.stand_in_left < 0.2);
        for (int64_t c = 0; c < L; c++) {
            double left2 = 0, size2 = 0;
            for (int64_t i = 0; i < N; i++) {
                double rest = (double)t[i * L + c] - out.mu * out.dual[i * L + c];
                for (int64_t j = 0; j < N; j++)
                    rest -= centered[i * N + j] * out.dual[j * L + c];
                left2 += rest * rest;
                size2 += (double)(t[i * L + c] * t[i * L + c]);
            }
            assert_true(sqrt(left2 / size2) < 1e-10);
        }
        mrc_ridge_destroy(&out);
        drop(&s);
        free(y);
        free(centered);
        free(t);
    }
}

/* The error of row i from a fit to the others, in quadruple precision. */
static double left_out_error(const double *gram, int64_t n, const double *y, int64_t l, int64_t c,
                             int64_t i, bool centered, double mu)
{
    int64_t m = n - 1;
    double *part = new_doubles(m * m), *target = new_doubles(m);
    quad *a = new_quads(m), sum = 0, mean = 0;
    for (int64_t p = 0; p < m; p++) {
        int64_t row = p < i ? p : p + 1;
        target[p] = y[row * l + c];
        for (int64_t q = 0; q < m; q++)
            part[p * m + q] = gram[row * n + (q < i ? q : q + 1)];
    }
    quad *k = quad_gram(part, m, centered), *t = quad_targets(target, m, 1, centered);
    quad_solve(k, m, mu, t, 1, a);
    for (int64_t p = 0; centered && p < m; p++)
        mean += a[p] / (quad)m;
    for (int64_t p = 0; p < m; p++) {
        quad value = gram[i * n + (p < i ? p : p + 1)], column = 0;
        for (int64_t q = 0; centered && q < m; q++)
            column += (quad)part[p * m + q] / (quad)m;
        sum += (a[p] - mean) * (value - column) + (centered ? (quad)target[p] / (quad)m : 0);
    }
    free(part);
    free(target);
    free(a);
    free(k);
    free(t);
    return (double)((quad)y[i * l + c] - sum);
}

static void test_solve_leaves_one_out(void **state)
{
    enum { N = 24, L = 2 };
    (void)state;
    for (size_t k = 0; k < sizeof stores / sizeof *stores; k++)
        for (int centered = 0; centered < 2; centered++) {
            struct setting s = make(stores[k].kernel, stores[k].store, centered, stores[k].sparse,
                                    N, stores[k].d, 900 + k, 1, 2);
            double *y = make_targets(k, N, L, 1), sums[MRC_RIDGES];
            double off_by[MRC_RIDGES]; /* what rounding of K over the ridge does to an error */
            mrc_ridge out;
            int best = MRC_RIDGES - 1, chosen = -1;
            assert_ok(mrc_gram_solve(s.g, y, L, MRC_RIDGE_AUTO, &out, err));
            print_message("%s centred=%d: ridge %g\n", stores[k].kernel, centered, out.ridge);
            assert_int_equal(out.stand_in, 0);
            for (int r = MRC_RIDGES - 1; r >= 0; r--) {
                double sum = 0;
                for (int64_t i = 0; i < N; i++)
                    for (int64_t c = 0; c < L; c++) {
                        double e = left_out_error(s.gram, N, y, L, c, i, centered,
                                                  mrc_ridge_at(r) * out.trace);
                        sum += e * e / (N * L);
                    }
                off_by[r] = (1e-9 + 1e-12 / mrc_ridge_at(r)) * sum;
                if (isfinite(out.errors[r]) && fabs(out.errors[r] - sum) > off_by[r])
                    fail_msg("ridge %g: %.12g, refits %.12g", mrc_ridge_at(r), out.errors[r], sum);
                assert_true(isfinite(out.errors[r]) || mrc_ridge_at(r) < 1e-5);
                sums[r] = sum;
                best = sum < sums[best] ? r : best;
                chosen = out.ridge == mrc_ridge_at(r) ? r : chosen;
            }
            /* Errors closer than that may be chosen one for the other. */
            if (!(sums[chosen] - off_by[chosen] <= sums[best] + off_by[best]))
                fail_msg("ridge %g has %.9g, %g has %.9g", out.ridge, sums[chosen],
                         mrc_ridge_at(best), sums[best]);
            mrc_ridge_destroy(&out);
            drop(&s);
            free(y);
        }
}

static void test_solve_same_bits_for_threads(void **state)
{
    enum { N = 700, L = 3 };
    (void)state;
    for (size_t k = 0; k < sizeof stores / sizeof *stores; k++) {
        double *y = make_targets(k, N, L, 1);
        mrc_ridge out[2];
        struct setting s[2];
        for (int t = 0; t < 2; t++) {
            s[t] = make(stores[k].kernel, stores[k].store, true, stores[k].sparse, N, stores[k].d,
                        k, 1, t + 1);
            assert_ok(mrc_gram_solve(s[t].g, y, L, MRC_RIDGE_AUTO, &out[t], err));
        }
        assert_true(out[0].ridge == out[1].ridge);
        assert_memory_equal(out[0].fitted, out[1].fitted, N * L * sizeof(double));
        assert_memory_equal(out[0].errors, out[1].errors, sizeof out[0].errors);
        if (out[0].dual)
            assert_memory_equal(out[0].dual, out[1].dual, N * L * sizeof(double));
        else
            assert_memory_equal(out[0].weights, out[1].weights,
                                (size_t)(out[0].f->rank * L) * sizeof(double));
        for (int t = 0; t < 2; t++) {
            mrc_ridge_destroy(&out[t]);
            drop(&s[t]);
        }
        free(y);
    }
}

/* Without a ridge: least squares of least norm, which exists where the rank is below the rows. */
static void test_solve_without_ridge(void **state)
{
    enum { N = 40, D = 4 };
    (void)state;
    struct setting s = make("linear", &mrc_store_lowrank, true, false, N, D, 3, 1, 2);
    double *y = make_targets(3, N, 1, 1);
    mrc_ridge out;
    assert_ok(mrc_gram_solve(s.g, y, 1, 0, &out, err));
    assert_int_equal(out.rank, D);
    for (int64_t k = 0; k < D; k++) { /* what is left is orthogonal to every column, and to ones */
        double dot = 0, ones = 0;
        for (int64_t i = 0; i < N; i++) {
            dot += s.x[i * D + k] * (y[i] - out.mean[0] - out.fitted[i]);
            ones += y[i] - out.mean[0] - out.fitted[i];
        }
        assert_true(fabs(dot) < 1e-12 && fabs(ones) < 1e-12);
    }
    mrc_ridge_destroy(&out);
    drop(&s);
    mercer_error err = {0};
    s = make("linear", &mrc_store_dense, true, false, N, D, 3, 1, 2);
    assert_int_equal(mrc_gram_solve(s.g, y, 1, 0, &out, &err), MERCER_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "low-rank"));
    mrc_ridge_destroy(&out);
    drop(&s);
    free(y);
}

static void check_refused(struct setting *s, const double *y, const char *word)
{
    mrc_ridge out;
    mercer_error err = {0};
    assert_int_equal(mrc_gram_solve(s->g, y, 1, 1e-3, &out, &err), MERCER_ERR_DATA);
    if (!strstr(err.text, word))
        fail_msg("'%s' does not say '%s'", err.text, word);
    mrc_ridge_destroy(&out);
    assert_int_equal(mrc_gram_solve(s->g, y, 1, MRC_RIDGE_AUTO, &out, &err), MERCER_ERR_DATA);
    mrc_ridge_destroy(&out);
}

static void test_solve_refuses(void **state)
{
    enum { N = 80 };
    (void)state;
    double *y = make_targets(1, N, 1, 1);
    for (int centered = 0; centered < 2; centered++) {
        struct setting s =
            make("sigmoid:gamma=0.5,coef0=-1", &mrc_store_dense, centered, false, N, 4, 1, 1, 2);
        check_refused(&s, y, "not positive semidefinite");
        drop(&s);
    }
    /* An eigenvalue of -0.1 that no diagonal entry shows. */
    double *gram = new_doubles(N * N), length2 = 0;
    mercer_ctx *ctx = new_ctx(2);
    for (int64_t i = 0; i < N; i++)
        length2 += (y[i] - y[0]) * (y[i] - y[0]);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++)
            gram[i * N + j] = (i == j) - 1.1 * (y[i] - y[0]) * (y[j] - y[0]) / length2;
    struct setting s = {.ctx = ctx, .gram = gram, .rows = view(ctx, gram, N, N)};
    mrc_gram_request request = {0};
    s.kernel = new_kernel("precomputed");
    assert_ok(mrc_gram_new(&s.g, s.ctx, s.kernel, s.rows, &request, NULL, err));
    check_refused(&s, y, "not positive semidefinite");
    drop(&s);
    /* Rows that do not differ. */
    for (int k = 0; k < 2; k++) {
        s = (struct setting){.ctx = new_ctx(1), .x = new_doubles(N * 2)};
        for (int64_t i = 0; i < N * 2; i++)
            s.x[i] = 3;
        s.rows = view(s.ctx, s.x, N, 2);
        request = (mrc_gram_request){.store = k ? &mrc_store_dense : &mrc_store_lowrank,
                                     .centered = true};
        s.kernel = new_kernel("rbf:sigma=1");
        assert_ok(mrc_kernel_resolve(s.kernel, s.ctx, s.rows, err));
        assert_ok(mrc_gram_new(&s.g, s.ctx, s.kernel, s.rows, &request, NULL, err));
        check_refused(&s, y, "zero to rounding");
        drop(&s);
    }
    free(y);
}

/* Constant targets, duplicates of rows, fewer digits. */
static void test_solve_edges(void **state)
{
    enum { N = 60 };
    (void)state;
    for (size_t k = 0; k < sizeof stores / sizeof *stores; k++) {
        struct setting s = make(stores[k].kernel, stores[k].store, true, stores[k].sparse, N,
                                stores[k].d, 4, 1, 2);
        double *y = new_doubles(N * 2);
        mrc_ridge out;
        for (int64_t i = 0; i < N; i++) {
            y[2 * i] = 0.1;
            y[2 * i + 1] = sin((double)i);
        }
        assert_ok(mrc_gram_solve(s.g, y, 2, MRC_RIDGE_AUTO, &out, err));
        for (int64_t i = 0; i < N; i++)
            assert_true(out.fitted[2 * i] == 0 && isfinite(out.fitted[2 * i + 1]));
        assert_true(fabs(out.mean[0] - 0.1) < 1e-16);
        mrc_ridge_destroy(&out);
        drop(&s);
        free(y);
    }
    double *x = normal_rows(1, N, 2, 0, 1), *y = make_targets(1, N, 1, 1);
    for (int64_t i = N / 2; i < N; i++)
        memcpy(x + 2 * i, x + 2 * (i - N / 2), 2 * sizeof *x);
    for (int k = 0; k < 3; k++) {
        struct setting s = {.ctx = new_ctx(2), .x = normal_rows(1, 1, 1, 0, 1)};
        mrc_gram_request request = {
            .store = k ? &mrc_store_dense : &mrc_store_lowrank, .centered = true, .single = k == 2};
        s.rows = view(s.ctx, x, N, 2);
        s.kernel = new_kernel("rbf:sigma=0.7");
        assert_ok(mrc_kernel_resolve(s.kernel, s.ctx, s.rows, err));
        s.gram = naive_gram(s.kernel, x, N, 2, false);
        assert_ok(mrc_gram_new(&s.g, s.ctx, s.kernel, s.rows, &request, NULL, err));
        if (k < 2) {
            check_solution(&s, N, true, y, 1, 1e-2);
            check_solution(&s, N, true, y, 1, 1e-7);
        } else { /* single precision: close to the others, and never less than its digits */
            mrc_ridge out;
            quad *gram = quad_gram(s.gram, N, true), *t = quad_targets(y, N, 1, true),
                 *a = new_quads(N);
            assert_ok(mrc_gram_solve(s.g, y, 1, 1e-2, &out, err));
            quad_solve(gram, N, 0.01 * quad_trace(gram, N), t, 1, a);
            for (int64_t i = 0; i < N; i++)
                assert_true(fabs(out.fitted[i] -
                                 (double)(t[i] - 0.01 * quad_trace(gram, N) * a[i])) < 1e-4);
            mrc_ridge_destroy(&out);
            free(gram);
            free(t);
            free(a);
        }
        drop(&s);
    }
    free(x);
    free(y);
}

static void test_solve_without_memory(void **state)
{
    enum { N = 50 };
    (void)state;
    for (size_t k = 0; k < sizeof stores / sizeof *stores; k += 2) {
        struct setting s = make(stores[k].kernel, stores[k].store, true, stores[k].sparse, N,
                                stores[k].d, 4, 1, 1);
        double *y = make_targets(2, N, 2, 1);
        mercer_status rc = MERCER_ERR_MEMORY;
        for (int64_t after = 0; rc != MERCER_OK; after++) {
            mrc_ridge out;
            mercer_error err = {0};
            int64_t live = mrc_alloc_live();
            mrc_alloc_fail_after(after);
            rc = mrc_gram_solve(s.g, y, 2, MRC_RIDGE_AUTO, &out, &err);
            mrc_alloc_fail_after(-1);
            mrc_ridge_destroy(&out);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_int_equal(mrc_alloc_live(), live);
        }
        drop(&s);
        free(y);
    }
}

/* ---- the factor of rows drawn ---- */

/* What rounding may do to F_i.F_j. Column t is the rest of a column of K, off by 4 sqrt(q) eps
 * kmax, over the root of its pivot; so F_it is off by that, and has a length of sqrt(d_i), d what
 * columns before it have left of the diagonal: rows drawn late have small pivots and noisy columns.
 */
static double factor_off(const double *f, const int64_t *pivots, int64_t q, double kmax, int64_t i,
                         int64_t j)
{
    double entry = 32 * sqrt((double)q) * DBL_EPSILON * kmax, sum = entry;
    double left_i = kmax, left_j = kmax;
    for (int64_t t = 0; t < q; t++) {
        double root = fabs(f[pivots[t] * q + t]);
        sum += entry / root * (sqrt(fmax(left_i, 0)) + sqrt(fmax(left_j, 0)));
        left_i -= f[i * q + t] * f[i * q + t];
        left_j -= f[j * q + t] * f[j * q + t];
    }
    return sum;
}

static void test_sampled_is_a_factor(void **state)
{
    static const int64_t most[] = {1, 5, 16, 40, 120};
    enum { N = 120 };
    (void)state;
    for (size_t k = 0; k < sizeof stores / sizeof *stores; k++)
        for (size_t m = 0; m < sizeof most / sizeof *most; m++)
            for (int centered = 0; centered < 2; centered++) {
                struct setting s = make(stores[k].kernel, stores[k].store, centered,
                                        stores[k].sparse, N, stores[k].d, k, 1, 2);
                quad *gram = quad_gram(s.gram, N, centered);
                double kmax = largest_modulus(s.gram, N * N), left = 0;
                mrc_sampled out;
                assert_ok(mrc_gram_sample(s.g, most[m], 0, 11, &out, err));
                int64_t q = out.factor->rank;
                double *f = new_doubles(N * q);
                assert_true(q <= most[m] && !out.indefinite);
                assert_true(q == most[m] || out.complete);
                mrc_factor_rows(out.factor, NULL, N, f);
                for (int64_t i = 0; i < N; i++) {
                    double rest = (double)gram[i * N + i], *own = f + i * q;
                    for (int64_t c = 0; c < q; c++)
                        rest -= own[c] * own[c];
                    if (rest < -2 * factor_off(f, out.factor->pivots, q, kmax, i, i))
                        fail_msg("%s: %lld columns leave %.1e of row %lld", stores[k].kernel,
                                 (long long)q, rest / kmax, (long long)i);
                    left += fmax(rest, 0);
                    for (int64_t t = 0; t < q; t++) { /* exact in the rows that were drawn */
                        int64_t p = out.factor->pivots[t];
                        double there = (double)gram[i * N + p];
                        for (int64_t c = 0; c < q; c++)
                            there -= own[c] * f[p * q + c];
                        if (fabs(there) > factor_off(f, out.factor->pivots, q, kmax, i, p))
                            fail_msg("row %lld, pivot %lld: %.1e", (long long)i, (long long)t,
                                     there / kmax);
                    }
                }
                assert_true(fabs(left - out.left) < 1e-11 * N * kmax);
                if (out.complete)
                    assert_true(out.left <= 1.1e-13 * N * kmax);
                mrc_sampled_destroy(&out);
                drop(&s);
                free(gram);
                free(f);
            }
}

/* Plain randomly pivoted Cholesky, one row at a time. */
static double plain_left(const double *gram, int64_t n, int64_t count, mrc_rng *rng)
{
    double *e = new_doubles(n * n), sum = 0;
    memcpy(e, gram, (size_t)(n * n) * sizeof *e);
    for (int64_t t = 0; t <= count; t++) {
        sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += fmax(e[i * n + i], 0);
        if (t == count)
            break;
        double at = mrc_rng_uniform(rng) * sum;
        int64_t p = 0;
        while (p < n - 1 && at >= fmax(e[p * n + p], 0))
            at -= fmax(e[p * n + p], 0), p++;
        double pivot = e[p * n + p], *column = new_doubles(n);
        for (int64_t i = 0; i < n; i++)
            column[i] = e[i * n + p];
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                e[i * n + j] -= column[i] * column[j] / pivot;
        free(column);
    }
    free(e);
    return sum;
}

/* Rows in blocks that are partly rejected have the distribution of one after the other. */
static void test_sampled_like_one_at_a_time(void **state)
{
    enum { N = 90, SEEDS = 200 };
    static const int64_t counts[] = {3, 10, 25};
    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        struct setting s = make("rbf:sigma=0.7", &mrc_store_dense, false, false, N, 2, 8, 1, 1);
        double mean[2] = {0}, square[2] = {0};
        mrc_rng rng;
        mrc_rng_seed(&rng, 5);
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            mrc_sampled out;
            assert_ok(mrc_gram_sample(s.g, counts[k], 0, seed, &out, err));
            double left[2] = {out.left, plain_left(s.gram, N, counts[k], &rng)};
            for (int w = 0; w < 2; w++) {
                mean[w] += left[w] / SEEDS;
                square[w] += left[w] * left[w] / SEEDS;
            }
            mrc_sampled_destroy(&out);
        }
        double deviation =
            sqrt((square[0] - mean[0] * mean[0] + square[1] - mean[1] * mean[1]) / SEEDS);
        print_message("%lld rows: %.4f, one at a time %.4f, standard error %.4f\n",
                      (long long)counts[k], mean[0], mean[1], deviation);
        assert_true(fabs(mean[0] - mean[1]) < 3 * deviation);
        drop(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve_matches_elimination),
        cmocka_unit_test(test_solve_any_scale),
        cmocka_unit_test(test_solve_tells_what_rounding_does),
        cmocka_unit_test(test_solve_many_rows),
        cmocka_unit_test(test_solve_leaves_one_out),
        cmocka_unit_test(test_solve_same_bits_for_threads),
        cmocka_unit_test(test_solve_without_ridge),
        cmocka_unit_test(test_solve_refuses),
        cmocka_unit_test(test_solve_edges),
        cmocka_unit_test(test_solve_without_memory),
        cmocka_unit_test(test_sampled_is_a_factor),
        cmocka_unit_test(test_sampled_like_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
