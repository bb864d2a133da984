/* SPDX-License-Identifier: BSD-3-Clause */
/* The judge judged: plain deflation against brute force, extended precision and known figures. */
#include "deflation.h"

#include <mercer/mercer.h>

/* C'K_SS C = I, P = K[:,S] C, residual = k_ii - |P_i|^2, and the error falls by score / n. */
static void check_identities(const double *gram, const struct deflated *f, bool by_direction)
{
    int64_t n = f->n, l = f->count, w = f->wanted;
    double before = 0;
    for (int64_t i = 0; i < n; i++)
        before += gram[i * (n + 1)] / (double)n;
    for (int64_t j = 0; j < l; j++) {
        assert_true(!by_direction ||
                    fabs(before - f->error[j] - f->score[j] / (double)n) <= 1e-13 * f->kmax);
        before = f->error[j];
        for (int64_t i = 0; i < n; i++) {
            double y = 0;
            for (int64_t s = 0; s < l; s++)
                y += gram[i * n + f->selected[s]] * f->c[s * w + j];
            assert_true(fabs(y - f->p[i * w + j]) <= 1e-10 * sqrt(f->kmax));
        }
        for (int64_t k = 0; k < l; k++) {
            double dot = 0;
            for (int64_t s = 0; s < l; s++)
                dot += f->c[s * w + k] * f->p[f->selected[s] * w + j];
            assert_true(fabs(dot - (j == k)) <= 1e-10);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double left = gram[i * (n + 1)];
        for (int64_t j = 0; j < l; j++)
            left -= f->p[i * w + j] * f->p[i * w + j];
        assert_true(fabs(left - f->residual[i]) <= 1e-13 * f->kmax);
    }
}

static void test_deflation_identities(void **state)
{
    static const char *const kernels[] = {"linear", "poly:degree=2,gamma=0.1", "rbf:sigma=4",
                                          "laplacian:gamma=0.1"};
    enum { N = 80, L = 12 };
    struct rule ackfa = {.delta = 0.01}, greedy = {.depth = 5};
    const struct rule *rules[] = {&akfa_rule, &skfa_rule, &rkpca_rule, &ackfa, &greedy};
    double *x = ring_rows(3, N);
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int r = 0; r < 5; r++) {
            bool centered = rules[r] != &rkpca_rule && rules[r] != &greedy;
            double *gram = gram_of(kernels[k], x, N, 2, centered);
            struct deflated f = deflate_plainly(gram, N, L, rules[r]);
            assert_int_equal(f.count, k == 0 ? 2 : k == 1 ? 6 - centered : L);
            check_identities(gram, &f, rules[r] == &akfa_rule || rules[r] == &greedy);
            deflated_free(&f);
            free(gram);
        }
    free(x);
}

/* What is left of a Gram matrix without the direction of row p, in extended precision. */
static void take_off(const long double *k, int64_t n, int64_t p, long double *left)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            left[i * n + j] = k[i * n + j] - k[i * n + p] * k[j * n + p] / k[p * (n + 1)];
}

/* AKFA picks the row whose direction leaves the least mean error: every row is tried in extended
 * precision, down to residuals of 1e-10 of the largest. */
static void test_deflation_is_the_best_pick(void **state)
{
    static const char *const kernels[] = {"rbf:sigma=4", "rbf:sigma=8", "rbf:sigma=16",
                                          "exponential:gamma=0.2"};
    enum { N = 100 };
    double *x = ring_rows(4, N);
    long double *k = calloc(sizeof *k, N * N), *left = calloc(sizeof *k, N * N);
    (void)state;
    assert_true(k && left);
    for (int s = 0; s < 4; s++) {
        double *gram = gram_of(kernels[s], x, N, 2, true);
        struct deflated f = deflate_plainly(gram, N, N, &akfa_rule);
        for (int64_t i = 0; i < N * N; i++)
            k[i] = gram[i];
        for (int64_t i = 0; i < f.count; i++) {
            double drop[N], diagonal[N * N] = {0};
            for (int64_t p = 0; p < N; p++) {
                long double sum = 0;
                diagonal[p * (N + 1)] = (double)k[p * (N + 1)];
                drop[p] = -1;
                if (!(k[p * (N + 1)] > 1e-10L * f.kmax))
                    continue;
                for (int64_t t = 0; t < N; t++)
                    sum += k[t * N + p] * k[t * N + p] / k[p * (N + 1)];
                if (i < 10) { /* the formula is the drop of the trace */
                    long double trace = 0;
                    take_off(k, N, p, left);
                    for (int64_t t = 0; t < N; t++)
                        trace += k[t * (N + 1)] - left[t * (N + 1)];
                    assert_true(fabsl(trace - sum) <= 1e-12L * sum);
                }
                drop[p] = (double)sum;
            }
            int64_t best = pick_row(drop, diagonal, N, f.kmax, DBL_EPSILON);
            if (best != f.selected[i])
                fail_msg("%s, pick %lld (residual %.2g of %.2g): row %lld, in extended precision "
                         "%lld",
                         kernels[s], (long long)i, f.at[i], f.kmax, (long long)f.selected[i],
                         (long long)best);
            take_off(k, N, best, left);
            memcpy(k, left, N * N * sizeof *k);
        }
        print_message("%s: %lld picks, the last residual %.2g\n", kernels[s], (long long)f.count,
                      f.at[f.count - 1] / f.kmax);
        assert_true(s == 3 || f.at[f.count - 1] < 1e-9 * f.kmax);
        deflated_free(&f);
        free(gram);
    }
    free(k);
    free(left);
    free(x);
}

/* Ring of radius 8 with unit noise, sigma 4, centred, n = 500, ten features. */
static void test_deflation_ring_figures(void **state)
{
    static const double expected[] = {.0739, .1092, .0910}, tolerance[] = {.005, .015, .010};
    enum { N = 500, L = 10, SEEDS = 10 };
    const struct rule ackfa = {.delta = 0.4}, *rules[] = {&akfa_rule, &skfa_rule, &ackfa};
    double mean[3] = {0}, on_features = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rule features = {.l1 = true, .features = true};
        double *x = ring_rows(seed, N), *gram = gram_of("rbf:sigma=4", x, N, 2, true);
        for (int r = 0; r < 4; r++) {
            struct deflated f = deflate_plainly(gram, N, L, r < 3 ? rules[r] : &features);
            *(r < 3 ? &mean[r] : &on_features) += f.error[f.count - 1] / SEEDS;
            deflated_free(&f);
        }
        free(gram);
        free(x);
    }
    print_message("akfa %.4f, skfa %.4f (on features %.4f), ackfa %.4f\n", mean[0], mean[1],
                  on_features, mean[2]);
    for (int r = 0; r < 3; r++)
        assert_true(fabs(mean[r] - expected[r]) <= tolerance[r]);
    assert_true(mean[0] < mean[2] && mean[2] < mean[1]);
    assert_true(fabs(on_features - mean[1]) <= tolerance[1]);
}

/* A x = b by elimination with row exchanges; both are destroyed, b (n x m) becomes x. */
static void solve(double *a, double *b, int64_t n, int64_t m)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t p = i;
        for (int64_t r = i + 1; r < n; r++)
            p = fabs(a[r * n + i]) > fabs(a[p * n + i]) ? r : p;
        for (int64_t j = 0; j < n + m; j++) {
            double *row = j < n ? a + j : b + (j - n), swap;
            int64_t ld = j < n ? n : m;
            swap = row[i * ld];
            row[i * ld] = row[p * ld];
            row[p * ld] = swap;
        }
        for (int64_t r = 0; r < n; r++) {
            double factor = r == i ? 0 : a[r * n + i] / a[i * n + i];
            for (int64_t j = i; j < n; j++)
                a[r * n + j] -= factor * a[i * n + j];
            for (int64_t j = 0; j < m; j++)
                b[r * m + j] -= factor * b[i * m + j];
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            b[i * m + j] /= a[i * n + i];
}

/* K_ZZ^-1 K_ZX for the rows z: what projects on the span of their images. */
static double *project_on(const double *gram, int64_t n, const int64_t *z, int64_t m)
{
    double *a = new_doubles(m * m), *b = new_doubles(m * n);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < m; j++)
            a[i * m + j] = gram[z[i] * n + z[j]];
        memcpy(b + i * n, gram + z[i] * n, (size_t)n * sizeof *b);
    }
    solve(a, b, m, n);
    free(a);
    return b;
}

/* Eigenvalues of M(Z) = G' K_Z^-1 G, G = K_ZX - its mean, as the definition has it. */
static double captured(const double *gram, int64_t n, const int64_t *z, int64_t m, int64_t top)
{
    double *b = project_on(gram, n, z, m), *all = new_doubles(n * n), sum = 0;
    double *values = new_doubles(n), *vectors = new_doubles(n * n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t s = 0; s < m; s++)
                all[i * n + j] += gram[z[s] * n + i] * b[s * n + j];
    ref_center(all, n);
    for (int64_t i = 0; i < n; i++)
        sum += all[i * (n + 1)];
    if (top < m) {
        ref_eigen(all, n, values, vectors);
        sum = 0;
        for (int64_t j = 0; j < top; j++)
            sum += values[j];
    }
    free(b);
    free(all);
    free(values);
    free(vectors);
    return sum;
}

/* RKPCA's pick is the row that makes the trace, or the largest eigenvalues, of M(Z) largest. */
static void test_deflation_rkpca_by_definition(void **state)
{
    enum { N = 24, L = 6, TOP = 3 };
    const struct rule top = {.spread = true, .top = TOP};
    double *x = ring_rows(7, N), *gram = gram_of("rbf:sigma=4", x, N, 2, false);
    struct deflated f[2] = {deflate_plainly(gram, N, L, &rkpca_rule),
                            deflate_plainly(gram, N, L, &top)};
    (void)state;
    for (int c = 0; c < 2; c++) {
        int64_t m = c ? TOP : N;
        double before = 0;
        for (int64_t i = 0; i < L; i++) {
            int64_t z[L], best = -1;
            double most = 0;
            memcpy(z, f[c].selected, (size_t)i * sizeof *z);
            for (int64_t j = 0; j < N; j++) {
                bool taken = false;
                for (int64_t s = 0; s < i; s++)
                    taken = taken || z[s] == j;
                z[i] = j;
                double value = taken ? 0 : captured(gram, N, z, i + 1, m);
                if (value > most) {
                    most = value;
                    best = j;
                }
            }
            assert_int_equal(f[c].selected[i], best);
            assert_true(fabs(most - before - f[c].score[i]) <= 1e-11 * most);
            before = most;
        }
    }
    assert_memory_equal(f[0].selected, f[1].selected, TOP * sizeof(int64_t));
    deflated_free(&f[0]);
    deflated_free(&f[1]);
    free(gram);
    free(x);
}

/* SKFA's score from the definition: Phi_j less its projection, coefficients by elimination. */
static void test_deflation_skfa_by_definition(void **state)
{
    enum { N = 30, L = 6 };
    double *x = ring_rows(8, N);
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        struct rule rule = {.l1 = true, .features = variant % 2 == 1, .spread = variant >= 2};
        double *gram = gram_of("rbf:sigma=4", x, N, 2, variant < 2), length[L], norm[L];
        struct deflated f = deflate_plainly(gram, N, L, &rule);
        assert_int_equal(f.count, L);
        for (int64_t i = 0; i < L; i++) {
            double most = -1, score[N];
            double *b = i ? project_on(gram, N, f.selected, i) : NULL;
            for (int64_t j = 0; j < N; j++) {
                double l1 = 1, row[N], mean = 0, sum = 0;
                for (int64_t s = 0; s < i; s++) /* <Phi_j, v_s> / |v_s|^2, v_s = Phi / norm */
                    l1 += rule.features ? fabs(f.p[j * L + s]) * norm[s] / length[s]
                                        : fabs(b[s * N + j]);
                for (int64_t t = 0; t < N; t++) {
                    row[t] = gram[j * N + t];
                    for (int64_t s = 0; s < i; s++)
                        row[t] -= b[s * N + j] * gram[f.selected[s] * N + t];
                    mean += rule.spread ? row[t] / N : 0;
                }
                for (int64_t t = 0; t < N; t++)
                    sum += (row[t] - mean) * (row[t] - mean);
                score[j] = row[j] > 1e-10 * f.kmax ? sum / (N * l1 * l1) : -1;
                most = fmax(most, score[j]);
                if (j == f.selected[i]) {
                    norm[i] = l1;
                    length[i] = sqrt(row[j]);
                }
            }
            assert_true(score[f.selected[i]] >= most * (1 - 1e-10));
            assert_true(fabs(score[f.selected[i]] - f.score[i]) <= 1e-10 * most);
            free(b);
        }
        deflated_free(&f);
        free(gram);
    }
    free(x);
}

/* The l rows that pivoted Cholesky takes, computed from columns alone. */
static void pivoted_cholesky(const double *gram, int64_t n, int64_t l, int64_t *pivots)
{
    double *factor = new_doubles(n * l), *d = new_doubles(n);
    for (int64_t j = 0; j < n; j++)
        d[j] = gram[j * (n + 1)];
    for (int64_t i = 0; i < l; i++) {
        int64_t p = 0;
        for (int64_t j = 1; j < n; j++)
            p = d[j] > d[p] ? j : p;
        pivots[i] = p;
        for (int64_t j = 0; j < n; j++) {
            double value = gram[j * n + p];
            for (int64_t s = 0; s < i; s++)
                value -= factor[j * l + s] * factor[p * l + s];
            factor[j * l + i] = value / sqrt(d[p]);
        }
        for (int64_t j = 0; j < n; j++)
            d[j] -= factor[j * l + i] * factor[j * l + i];
        d[p] = 0;
    }
    free(factor);
    free(d);
}

static void test_deflation_depths(void **state)
{
    enum { N = 90, L = 25 };
    const struct rule first = {.depth = 1}, all = {.depth = N}, some = {.depth = 9};
    int64_t pivots[L];
    double *x = ring_rows(9, N), *gram = gram_of("rbf:sigma=3", x, N, 2, false);
    struct deflated one = deflate_plainly(gram, N, L, &first),
                    every = deflate_plainly(gram, N, L, &all);
    struct deflated akfa = deflate_plainly(gram, N, L, &akfa_rule),
                    nine = deflate_plainly(gram, N, L, &some);
    (void)state;
    pivoted_cholesky(gram, N, L, pivots);
    assert_memory_equal(one.selected, pivots, sizeof pivots);
    assert_memory_equal(every.selected, akfa.selected, sizeof pivots);
    assert_true(akfa.error[L - 1] < nine.error[L - 1] && nine.error[L - 1] < one.error[L - 1]);
    deflated_free(&one);
    deflated_free(&every);
    deflated_free(&akfa);
    deflated_free(&nine);
    free(gram);
    free(x);
}

/* ACKFA: rows once below delta are neither candidates nor data, before the first feature too. */
static void test_deflation_cuts(void **state)
{
    enum { N = 120, L = 20 };
    double *x = ring_rows(10, N), *gram = gram_of("rbf:sigma=4", x, N, 2, true), middle = 0;
    (void)state;
    for (int64_t j = 0; j < N; j++)
        middle += gram[j * (N + 1)] / N;
    /* The mean diagonal cuts rows at once: the first pick is akfa's on what is left. */
    struct rule rule = {.delta = middle};
    struct deflated f = deflate_plainly(gram, N, L, &rule);
    int64_t left[N], m = 0;
    for (int64_t j = 0; j < N; j++)
        if (gram[j * (N + 1)] >= middle)
            left[m++] = j;
    double *part = new_doubles(m * m);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++)
            part[i * m + j] = gram[left[i] * N + left[j]];
    struct deflated of_part = deflate_plainly(part, m, 1, &akfa_rule);
    assert_true(m > 10 && m < N - 10);
    assert_int_equal(f.selected[0], left[of_part.selected[0]]);
    assert_true(fabs(f.score[0] - of_part.score[0]) <= 1e-13 * f.score[0]);
    assert_true(f.count < L);
    for (int64_t i = 0; i < f.count; i++)
        assert_true(f.at[i] >= middle);
    /* Nothing is cut by a tiny delta until residuals get there; a large one cuts everything. */
    struct deflated akfa = deflate_plainly(gram, N, L, &akfa_rule);
    rule.delta = 1e-6;
    struct deflated uncut = deflate_plainly(gram, N, L, &rule);
    rule.delta = 2;
    struct deflated empty = deflate_plainly(gram, N, L, &rule);
    assert_memory_equal(akfa.selected, uncut.selected, 10 * sizeof(int64_t));
    assert_int_equal(empty.count, 0);
    deflated_free(&f);
    deflated_free(&of_part);
    deflated_free(&akfa);
    deflated_free(&uncut);
    deflated_free(&empty);
    free(part);
    free(gram);
    free(x);
}

/* Repeated rows: the first copy is taken, no second one ever; scores of the last feature of a
 * rank-deficient Gram are all the same, and the lowest row is taken. */
static void test_deflation_ties(void **state)
{
    enum { N = 40 };
    double *x = normal_rows(11, N, 2, 0, 1);
    (void)state;
    memcpy(x + N, x, N * sizeof *x); /* the second half repeats the first */
    for (int r = 0; r < 2; r++) {
        const struct rule *rule = r ? &skfa_rule : &akfa_rule;
        double *gram = gram_of("laplacian:gamma=1", x, N, 2, false);
        struct deflated f = deflate_plainly(gram, N, N, rule);
        assert_int_equal(f.count, N / 2);
        for (int64_t i = 0; i < f.count; i++)
            assert_true(f.selected[i] < N / 2);
        deflated_free(&f);
        free(gram);
    }
    double *gram = gram_of("linear", x, N, 2, true);
    struct deflated f = deflate_plainly(gram, N, N, &akfa_rule);
    assert_int_equal(f.count, 2);
    assert_int_equal(f.selected[1], f.selected[0] == 0);
    deflated_free(&f);
    free(gram);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deflation_identities),
        cmocka_unit_test(test_deflation_is_the_best_pick),
        cmocka_unit_test(test_deflation_ring_figures),
        cmocka_unit_test(test_deflation_rkpca_by_definition),
        cmocka_unit_test(test_deflation_skfa_by_definition),
        cmocka_unit_test(test_deflation_depths),
        cmocka_unit_test(test_deflation_cuts),
        cmocka_unit_test(test_deflation_ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
