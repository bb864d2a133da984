/* SPDX-License-Identifier: BSD-3-Clause */
/* Points of a large library that go one by one: each the one that is missed least, by the
 * definition; errors of streams as with libraries that are chosen anew, by a plain form of that;
 * the same bits for any threads, pieces and stops. */
#include "support.h"

#include "reference.h"
#include "stream_support.h"

#include "base/memory.h"
#include "linalg/linalg.h"
#include "methods/streaming/streaming.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/mercer-weakest-XXXXXX";

static int make_path(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd >= 0 ? close(fd) : -1;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

/* ---- rows that become a triangle ---- */

static void check_triangle(uint64_t seed, int64_t count, int64_t n, int64_t k, double scale)
{
    mrc_rng rng;
    int64_t last[200];
    double *a = new_doubles(count * n), *b = new_doubles(k * n), *x[2], *y[2];
    mrc_rng_seed(&rng, seed);
    /* Rows of a triangle of n, of which n - count at random are left out. */
    for (int64_t j = 0, i = 0; i < n && j < count; i++)
        if (n - i == count - j || mrc_rng_uniform(&rng) < (double)(count - j) / (double)(n - i))
            last[j++] = i;
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i <= last[j]; i++)
            a[j * n + i] =
                scale * (i == last[j] ? 1 + mrc_rng_uniform(&rng) : mrc_rng_normal(&rng));
    for (int64_t i = 0; i < k * n; i++)
        b[i] = mrc_rng_normal(&rng);
    for (int t = 0; t < 2; t++) {
        mercer_ctx *ctx = new_ctx(t + 1);
        x[t] = new_doubles(count * n);
        y[t] = new_doubles(k * n);
        memcpy(x[t], a, (size_t)(count * n) * sizeof *a);
        memcpy(y[t], b, (size_t)(k * n) * sizeof *b);
        assert_ok(mrc_lower_from_rows(ctx, count, n, last, x[t], k, y[t], err));
        mercer_ctx_free(ctx);
    }
    assert_memory_equal(x[0], x[1], (size_t)(count * n) * sizeof *a);
    assert_memory_equal(y[0], y[1], (size_t)(k * n) * sizeof *b);
    for (int64_t j = 0; j < count; j++) {
        assert_true(x[0][j * n + j] >= 0);
        for (int64_t i = j + 1; i < n; i++)
            assert_true(x[0][j * n + i] == 0);
        /* Products of all rows with one another are what they were. */
        for (int64_t i = 0; i < count + k; i++) {
            const double *before = i < count ? a + i * n : b + (i - count) * n;
            const double *after = i < count ? x[0] + i * n : y[0] + (i - count) * n;
            double was = 0, is = 0, size = i < count ? scale : 1;
            for (int64_t c = 0; c < n; c++) {
                was += a[j * n + c] / scale * (before[c] / size);
                is += x[0][j * n + c] / scale * (after[c] / size);
            }
            assert_true(fabs(was - is) <= 1e-13 * (double)n);
        }
    }
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j <= i; j++) {
            double was = 0, is = 0;
            for (int64_t c = 0; c < n; c++) {
                was += b[i * n + c] * b[j * n + c];
                is += y[0][i * n + c] * y[0][j * n + c];
            }
            assert_true(fabs(was - is) <= 1e-13 * (double)n);
        }
    for (int t = 0; t < 2; t++) {
        free(x[t]);
        free(y[t]);
    }
    free(a);
    free(b);
}

static void test_rows_become_a_triangle(void **state)
{
    static const int64_t sizes[][3] = {{1, 1, 1},    {1, 2, 0},    {2, 3, 1},    {5, 5, 2},
                                       {7, 20, 3},   {31, 33, 5},  {32, 40, 1},  {33, 36, 9},
                                       {64, 65, 40}, {70, 140, 8}, {129, 200, 3}};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int e = -100; e <= 100; e += 50)
            check_triangle(s + 1, sizes[s][0], sizes[s][1], sizes[s][2], pow(10, e));
    check_triangle(1, 150, 200, 300, 1);
}

/* ---- which points go ---- */

/* Squared lengths of the columns of t (m x k) in the span of the rows of l that are not gone, by
 * Gram-Schmidt with two passes. */
static double captured(const double *l, int64_t m, const bool *gone, const double *t, int64_t k)
{
    double *q = new_doubles(m * m), sum = 0;
    int64_t r = 0;
    for (int64_t i = 0; i < m; i++) {
        double *own = q + r * m, norm = 0;
        if (gone[i])
            continue;
        memcpy(own, l + i * m, (size_t)m * sizeof *own);
        for (int pass = 0; pass < 2; pass++)
            for (int64_t s = 0; s < r; s++) {
                double along = 0;
                for (int64_t c = 0; c < m; c++)
                    along += own[c] * q[s * m + c];
                for (int64_t c = 0; c < m; c++)
                    own[c] -= along * q[s * m + c];
            }
        for (int64_t c = 0; c < m; c++)
            norm += own[c] * own[c];
        for (int64_t c = 0; c < m; c++)
            own[c] /= sqrt(norm);
        for (int64_t j = 0; j < k; j++) {
            double along = 0;
            for (int64_t c = 0; c < m; c++)
                along += own[c] * t[c * k + j];
            sum += along * along;
        }
        r++;
    }
    free(q);
    return sum;
}

static const char *const kernels[] = {"rbf:sigma=1.5", "laplacian:gamma=0.5", "linear",
                                      "poly:degree=3,coef0=1"};

/* Rows of dimension d, all independent for the kernel, become a library; g of its points go. */
static void check_drops(uint64_t seed, const char *kernel, int64_t m, int64_t d, int64_t g,
                        int64_t k, double scale, bool near_copies)
{
    mercer_ctx *ctx = new_ctx(2);
    double *x = normal_rows(seed, m, d, 0, scale), *t = normal_rows(seed + 50, m, k, 0, 1);
    double *was = new_doubles(m * m), *old = new_doubles(m * k), *coordinates = NULL;
    bool gone[100] = {false};
    mrc_kernel parsed;
    mrc_library lib = {.kernel = &parsed};
    if (near_copies) /* pairs that hardly differ */
        for (int64_t i = 0; i + m / 2 < m; i++)
            for (int64_t j = 0; j < d; j++)
                x[(i + m / 2) * d + j] =
                    x[i * d + j] + 1e-4 * scale * (double)((i * 7 + j * 3) % 5 - 2);
    mercer_rows *rows = view(ctx, x, m, d);
    assert_ok(mrc_kernel_parse(&parsed, kernel, err));
    assert_ok(mrc_kernel_resolve(&parsed, ctx, rows, err));
    double *diag = new_doubles(m);
    assert_ok(mrc_library_take_in(&lib, ctx, rows, 1e-6, &coordinates, diag, NULL, err));
    m = lib.count; /* fewer when the kernel has no more dimensions */
    memcpy(was, lib.factor, (size_t)(m * m) * sizeof *was);
    memcpy(old, t, (size_t)(m * k) * sizeof *old);
    mercer_rows *points = NULL;
    assert_ok(mrc_rows_take(lib.rows, NULL, m, &points, err));
    double *points_x = new_doubles(m * d), all = 0;
    memcpy(points_x, points->x, (size_t)(m * d) * sizeof *points_x);
    for (int64_t i = 0; i < m * k; i++)
        all += old[i] * old[i];
    if (g >= m)
        g = m - 1;
    assert_ok(mrc_library_drop(&lib, ctx, m - g, 1e-6, t, k, NULL, 0, err));
    assert_int_equal(lib.count, m - g);
    /* What went, by the rows that stayed in their order. */
    for (int64_t i = 0, at = 0; i < m; i++) {
        gone[i] = at == lib.count ||
                  memcmp(lib.rows->x + at * d, points_x + i * d, (size_t)d * sizeof *x) != 0;
        at += !gone[i];
    }
    /* By the definition: each time the point without which the span captures most. */
    bool plain[100] = {false};
    for (int64_t s = 0; s < g; s++) {
        int64_t best = -1;
        double most = -1;
        for (int64_t i = 0; i < m; i++) {
            if (plain[i])
                continue;
            plain[i] = true;
            double c = captured(was, m, plain, old, k);
            plain[i] = false;
            if (c > most) {
                most = c;
                best = i;
            }
        }
        plain[best] = true;
    }
    double found = captured(was, m, gone, old, k), expected = captured(was, m, plain, old, k);
    double now = 0;
    for (int64_t i = 0; i < lib.count * k; i++)
        now += t[i] * t[i];
    if (!(found >= expected * (1 - 1e-9) || near_copies) || !(found >= 0.99 * expected))
        fail_msg("%s, %d of %d points, seed %d: %.12g captured, not %.12g of %.3g", kernel, (int)g,
                 (int)m, (int)seed, found, expected, all);
    assert_true(fabs(now - found) <= 1e-9 * all); /* the targets are projected */
    double worst;
    assert_ok(mrc_library_drift(&lib, ctx, &worst, err)); /* the factor is that of the points */
    assert_true(worst < 1e-13);
    for (int64_t i = 0; i < lib.count; i++)
        assert_true(lib.factor[i * (lib.count + 1)] > 0);
    mrc_library_destroy(&lib);
    mercer_rows_free(rows);
    mercer_rows_free(points);
    mrc_free(coordinates);
    free(points_x);
    free(diag);
    free(was);
    free(old);
    free(x);
    free(t);
    mercer_ctx_free(ctx);
}

static void test_the_points_that_go_are_missed_least(void **state)
{
    static const int64_t sizes[][4] = {/* points, columns, go, targets */
                                       {2, 3, 1, 1},   {8, 8, 3, 2},    {20, 20, 7, 1},
                                       {40, 40, 5, 6}, {40, 40, 20, 3}, {66, 70, 9, 4}};
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            check_drops(s + 10 * k, kernels[k], sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3],
                        1, false);
    for (int e = -100; e <= 100; e += 50)
        check_drops(1, "linear", 30, 30, 8, 3, pow(10, e), false);
    for (uint64_t seed = 0; seed < 4; seed++) {
        check_drops(seed, "rbf:sigma=1.5", 40, 10, 13, 3, 1, true);
        check_drops(seed, "laplacian:gamma=0.5", 40, 10, 13, 3, 1, true);
    }
}

/* ---- errors, beside a plain form of what chooses anew ---- */

enum { N = 420, D = 6, LEADING = 6 };

/* Mapped rows as numbers: a pivoted Cholesky factor of the kernel matrix, N x q. */
static int64_t map_rows(const double *gram, double *f)
{
    double left[N], largest = 0;
    int64_t q = 0;
    for (int64_t i = 0; i < N; i++) {
        left[i] = gram[i * N + i];
        largest = fmax(largest, left[i]);
    }
    for (; q < N; q++) {
        int64_t p = 0;
        for (int64_t i = 1; i < N; i++)
            p = left[i] > left[p] ? i : p;
        if (!(left[p] > 1e-15 * largest))
            break;
        double root = sqrt(left[p]);
        for (int64_t i = 0; i < N; i++) {
            double own = gram[i * N + p];
            for (int64_t s = 0; s < q; s++)
                own -= f[i * N + s] * f[p * N + s];
            f[i * N + q] = own / root;
        }
        for (int64_t i = 0; i < N; i++)
            left[i] -= f[i * N + q] * f[i * N + q];
        left[p] = 0;
    }
    return q;
}

static double inner(const double *a, const double *b, int64_t q)
{
    double sum = 0;
    for (int64_t i = 0; i < q; i++)
        sum += a[i] * b[i];
    return sum;
}

/* What ikpca keeps, as vectors of q numbers. */
struct plain {
    int64_t q, most, rank;
    const double *f;
    int64_t points[N], count;
    double *frame; /* count vectors: of the span of the points */
    double *basis, singular[N], *mean, weight;
    int64_t kept; /* directions */
    bool compressed;
};

/* Part of x within the frame. */
static void project(const struct plain *p, const double *x, double *out)
{
    memset(out, 0, (size_t)p->q * sizeof *out);
    for (int64_t s = 0; s < p->count; s++) {
        double along = inner(p->frame + s * N, x, p->q);
        for (int64_t i = 0; i < p->q; i++)
            out[i] += along * p->frame[s * N + i];
    }
}

/* Take a point, unless it stands out by no more than tolerance. */
static bool add_point(struct plain *p, int64_t row, double tolerance)
{
    double *own = p->frame + p->count * N, part[N];
    memcpy(own, p->f + row * N, (size_t)p->q * sizeof *own);
    for (int pass = 0; pass < 2; pass++) {
        project(p, own, part);
        for (int64_t i = 0; i < p->q; i++)
            own[i] -= part[i];
    }
    double norm = sqrt(inner(own, own, p->q));
    if (!(norm > tolerance))
        return false;
    for (int64_t i = 0; i < p->q; i++)
        own[i] /= norm;
    p->points[p->count++] = row;
    return true;
}

/* Singular pairs of k vectors, of which `rank` are kept, by those of the matrix of their products.
 */
static void decompose(struct plain *p, const double *vectors, int64_t k)
{
    double *gram = new_doubles(k * k), *values = new_doubles(k), *turn = new_doubles(k * k);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++)
            gram[i * k + j] = inner(vectors + i * N, vectors + j * N, p->q);
    ref_eigen(gram, k, values, turn);
    p->kept = 0;
    for (int64_t s = 0; s < k && s < p->rank && values[s] > 1e-14 * values[0]; s++) {
        double *to = p->basis + s * N;
        p->singular[s] = sqrt(values[s]);
        memset(to, 0, (size_t)p->q * sizeof *to);
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < p->q; i++)
                to[i] += turn[j * k + s] / p->singular[s] * vectors[j * N + i];
        p->kept++;
    }
    free(gram);
    free(values);
    free(turn);
}

/* Choose `most` of the points anew, that which adds most first. */
static void choose_anew(struct plain *p, double tolerance)
{
    int64_t m = p->count, k = p->kept + 1, old[N];
    double *vectors = new_doubles(k * N), part[N];
    double *left = new_doubles(m * N), *products = new_doubles(m * k);
    bool taken[N] = {false};
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < p->q; i++)
            vectors[j * N + i] = j < p->kept ? p->singular[j] * p->basis[j * N + i] : p->mean[i];
    for (int64_t i = 0; i < m; i++) {
        old[i] = p->points[i];
        memcpy(left + i * N, p->f + old[i] * N, (size_t)p->q * sizeof *left);
        for (int64_t j = 0; j < k; j++)
            products[i * k + j] = inner(left + i * N, vectors + j * N, p->q);
    }
    p->count = 0;
    while (p->count < p->most) {
        int64_t best = -1;
        double most = -1;
        for (int64_t i = 0; i < m; i++) {
            double length = inner(left + i * N, left + i * N, p->q), gain = 0;
            if (taken[i] || !(length > tolerance * tolerance))
                continue;
            for (int64_t j = 0; j < k; j++) {
                double along = products[i * k + j];
                gain += along * along * (j < p->kept ? 1 : p->singular[0] * p->singular[0]);
            }
            if (gain / length > most) {
                most = gain / length;
                best = i;
            }
        }
        if (best < 0)
            break;
        taken[best] = true;
        if (!add_point(p, old[best], tolerance))
            continue;
        const double *newest = p->frame + (p->count - 1) * N;
        double own[N];
        for (int64_t j = 0; j < k; j++)
            own[j] = inner(newest, vectors + j * N, p->q);
        for (int64_t i = 0; i < m; i++) {
            double along = inner(left + i * N, newest, p->q);
            for (int64_t c = 0; c < p->q; c++)
                left[i * N + c] -= along * newest[c];
            for (int64_t j = 0; j < k; j++)
                products[i * k + j] -= along * own[j];
        }
    }
    for (int64_t j = 0; j < k; j++) {
        project(p, vectors + j * N, part);
        memcpy(vectors + j * N, part, (size_t)p->q * sizeof *part);
    }
    memcpy(p->mean, vectors + p->kept * N, (size_t)p->q * sizeof *part);
    decompose(p, vectors, k - 1);
    free(vectors);
    free(left);
    free(products);
}

static void plain_fold(struct plain *p, int64_t first, int64_t c)
{
    double tolerance = (p->compressed ? 10 : 1) * 1e-7, nu[N] = {0};
    double *vectors = new_doubles((p->kept + c + 1) * N);
    for (int64_t i = first; i < first + c; i++)
        add_point(p, i, tolerance);
    double *block = vectors + p->kept * N, *last = block + c * N;
    for (int64_t t = 0; t < c; t++) {
        project(p, p->f + (first + t) * N, block + t * N);
        for (int64_t i = 0; i < p->q; i++)
            nu[i] += block[t * N + i] / (double)c;
    }
    double step = (double)c / (p->weight + (double)c);
    for (int64_t i = 0; i < p->q; i++) {
        for (int64_t j = 0; j < p->kept; j++)
            vectors[j * N + i] = p->singular[j] * p->basis[j * N + i];
        for (int64_t t = 0; t < c; t++)
            block[t * N + i] -= nu[i];
        last[i] = sqrt(p->weight * step) * (p->mean[i] - nu[i]);
        p->mean[i] += step * (nu[i] - p->mean[i]);
    }
    p->weight += (double)c;
    decompose(p, vectors, p->kept + c + 1);
    if (p->count > p->most) {
        p->compressed = true;
        choose_anew(p, 100 * 1e-7);
    }
    free(vectors);
}

/* Mean squared distance of all rows from the leading directions. */
static double plain_error(const struct plain *p)
{
    double sum = 0, x[N];
    for (int64_t r = 0; r < N; r++) {
        for (int64_t i = 0; i < p->q; i++)
            x[i] = p->f[r * N + i] - p->mean[i];
        sum += inner(x, x, p->q);
        for (int64_t j = 0; j < LEADING; j++) {
            double along = inner(x, p->basis + j * N, p->q);
            sum -= along * along;
        }
    }
    return sum / N;
}

/* Rows of one of four kinds. */
static double *rows_of_kind(int kind, uint64_t seed)
{
    double *x = normal_rows(seed, N, D, 0, 1);
    mrc_rng rng;
    mrc_rng_seed(&rng, seed + 1000);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < D; j++) {
            double *at = x + i * D + j;
            if (kind == 1) /* one group after the other */
                *at = 0.6 * *at + 2 * sin((double)(1 + i * 5 / N) * (double)(j + 1));
            if (kind == 2) /* near a curve */
                *at = 0.2 * *at + 2 * cos((double)(i * 37 % N) * 0.015 * (double)(j + 1));
            if (kind == 3 && i >= N / 2 && i % 2) /* half of the later ones are copies */
                *at = x[(i - N / 2) * D + j];
        }
    return x;
}

static double fitted_error(mercer_ctx *ctx, const char *method, const char *kernel, const double *x,
                           int64_t *points)
{
    mercer_model *model = fit_model(ctx, method, kernel, "exact", x, N, D);
    mercer_rows *rows = view(ctx, x, N, D);
    double *features = new_doubles(N * LEADING), *errors = new_doubles(N), sum = 0;
    assert_int_equal(info_of(model).components, LEADING);
    *points = info_of(model).expansion_points;
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, errors, err));
    for (int64_t i = 0; i < N; i++)
        sum += errors[i] / N;
    mercer_rows_free(rows);
    mercer_model_free(model);
    free(features);
    free(errors);
    return sum;
}

static void test_errors_are_those_of_libraries_chosen_anew(void **state)
{
    static const struct {
        int library, rank, block;
    } ways[] = {{128, 12, 30}, {140, 30, 64}, {200, 20, 17}, {128, 6, 50}};
    static const char *const rough[] = {"rbf:sigma=1.5", "laplacian:gamma=0.2",
                                        "exponential:sigma=3"};
    mercer_ctx *ctx = new_ctx(2);
    double *f = new_doubles(N * N), *frame = new_doubles(N * N), *basis = new_doubles(N * N);
    double *mean = new_doubles(N), excess = 0;
    int cases = 0;
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        for (int w = 0; w < 4; w++) {
            const char *kernel = rough[(kind + w) % 3];
            char method[128];
            int64_t points, all;
            double *x = rows_of_kind(kind, (uint64_t)(10 * kind + w));
            mrc_kernel parsed;
            assert_ok(mrc_kernel_parse(&parsed, kernel, err));
            mercer_rows *rows = view(ctx, x, N, D);
            assert_ok(mrc_kernel_resolve(&parsed, ctx, rows, err));
            mercer_rows_free(rows);
            double *gram = naive_gram(&parsed, x, N, D, false);
            struct plain p = {.f = f, .frame = frame, .basis = basis, .mean = mean};
            p.most = ways[w].library;
            p.rank = ways[w].rank;
            p.q = map_rows(gram, f);
            memset(mean, 0, N * sizeof *mean);
            for (int64_t i = 0; i < N;) {
                int64_t c = i == 0 ? 60 : ways[w].block;
                c = N - i < c ? N - i : c;
                plain_fold(&p, i, c);
                i += c;
            }
            snprintf(method, sizeof method,
                     "ikpca:components=%d,rank=%d,library=%d,first=60,block=%d", LEADING,
                     ways[w].rank, ways[w].library, ways[w].block);
            double before = plain_error(&p), now = fitted_error(ctx, method, kernel, x, &points);
            double best = fitted_error(ctx, "kpca:components=6", kernel, x, &all);
            print_message("rows %d, %s, library %d, rank %d: kpca %.6f, chosen anew +%.2e, now "
                          "+%.2e\n",
                          kind, kernel, ways[w].library, ways[w].rank, best, before - best,
                          now - best);
            assert_int_equal(points, ways[w].library);
            assert_true(now >= best * (1 - 1e-9) && before >= best * (1 - 1e-9));
            assert_true(now <= 1.01 * before);
            excess += log((now - best + 1e-6 * best) / (before - best + 1e-6 * best));
            cases++;
            free(gram);
            free(x);
        }
    print_message("what is lost beside kpca, of what was: %.3f\n", exp(excess / cases));
    assert_true(exp(excess / cases) <= 1.03);
    free(f);
    free(frame);
    free(basis);
    free(mean);
    mercer_ctx_free(ctx);
}

/* ---- streams ---- */

static const char *const methods[] = {
    "ikpca:components=3,first=40,block=31,library=128,rank=6",
    "ikpca:components=3,first=200,block=50,library=150,forget=0.005",
    "ikpca:components=3,first=40,block=31,library=128,window=150",
};
enum { METHODS = sizeof methods / sizeof *methods };

/* The bytes of a model's file; the caller frees them. */
static char *bytes_of(mercer_ctx *ctx, const mercer_model *model, size_t *size)
{
    assert_ok(mercer_model_save(ctx, model, path, err));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* Whatever the threads and pieces, and saved and loaded after any row. */
static void test_streams_that_drop_points_have_the_same_bits(void **state)
{
    static const int64_t stops[] = {0, 40, 71, 230, 400, N - 1};
    (void)state;
    for (int m = 0; m < METHODS; m++) {
        mercer_ctx *ctx = new_ctx(1);
        double *x = rows_of_kind(m, 5);
        mercer_stream *through = new_stream(ctx, methods[m], "laplacian:gamma=0.2");
        size_t size, size_later;
        push_rows(ctx, through, x, N, D, N);
        assert_int_equal(info_of(model_of(ctx, through)).expansion_points, m == 1 ? 150 : 128);
        char *bytes = bytes_of(ctx, model_of(ctx, through), &size);
        for (size_t s = 0; s < sizeof stops / sizeof *stops; s++) {
            mercer_stream *stream = new_stream(ctx, methods[m], "laplacian:gamma=0.2");
            mercer_model *loaded = NULL;
            assert_int_equal(mercer_ctx_set_threads(ctx, s % 2 ? 1 : 2, NULL), MERCER_OK);
            push_rows(ctx, stream, x, stops[s], D, 7);
            if (stops[s] >= (m == 1 ? 200 : 40)) {
                assert_ok(mercer_model_save(ctx, model_of(ctx, stream), path, err));
                mercer_stream_free(stream);
                assert_ok(mercer_model_load(ctx, path, &loaded, err));
                assert_ok(mercer_stream_continue(ctx, loaded, &stream, err));
            }
            push_rows(ctx, stream, x + stops[s] * D, N - stops[s], D, 50);
            char *later = bytes_of(ctx, model_of(ctx, stream), &size_later);
            assert_int_equal(size, size_later);
            assert_memory_equal(bytes, later, size);
            free(later);
            mercer_stream_free(stream);
            mercer_model_free(loaded);
        }
        free(bytes);
        free(x);
        mercer_stream_free(through);
        mercer_ctx_free(ctx);
    }
}

/* A block that fails for want of memory leaves the stream as it was. */
static void test_a_block_that_fails_drops_nothing(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    double *x = rows_of_kind(0, 9);
    enum { BEFORE = 40 + 31 * 4 };
    mercer_stream *stream = new_stream(ctx, methods[0], "laplacian:gamma=0.2"), *other = NULL;
    size_t size, size_other;
    int failed = 0;
    (void)state;
    push_rows(ctx, stream, x, BEFORE, D, N);
    other = new_stream(ctx, methods[0], "laplacian:gamma=0.2"); /* the seed is the same again */
    push_rows(ctx, other, x, BEFORE + 31, D, N);
    mercer_rows *rows = view(ctx, x + BEFORE * D, 31, D);
    for (int64_t k = 0;; k++) {
        mrc_alloc_fail_after(k);
        mercer_status rc = mercer_stream_push(ctx, stream, rows, NULL);
        mrc_alloc_fail_after(-1);
        if (rc == MERCER_OK)
            break;
        assert_int_equal(rc, MERCER_ERR_MEMORY);
        failed++;
    }
    assert_true(failed > 50);
    char *a = bytes_of(ctx, model_of(ctx, stream), &size);
    char *b = bytes_of(ctx, model_of(ctx, other), &size_other);
    assert_int_equal(size, size_other);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
    free(x);
    mercer_rows_free(rows);
    mercer_stream_free(stream);
    mercer_stream_free(other);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_become_a_triangle),
        cmocka_unit_test(test_the_points_that_go_are_missed_least),
        cmocka_unit_test(test_errors_are_those_of_libraries_chosen_anew),
        cmocka_unit_test(test_streams_that_drop_points_have_the_same_bits),
        cmocka_unit_test(test_a_block_that_fails_drops_nothing),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
