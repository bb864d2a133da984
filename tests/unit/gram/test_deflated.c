/* SPDX-License-Identifier: BSD-3-Clause */
/* Ill-scaled tables, whose columns differ in size by factors of hundreds, like shares of chemical
 * elements: polynomial kernels of them are nearly constant, so that sums about a mean lose most of
 * their digits. The carried energies are never off by more than the bound that comes with them, and
 * every choice is that of quadruple precision unless rounding explains the difference. */
#include "selection_support.h"

#include "gram/factor.h"
#include "gram/residual.h"
#include "gram/store.h"

/* ---- tables ---- */

enum { COLUMNS = 9 };

/* Column means and spreads in the manner of a table of glass: one large column, one of a fifth of
 * it, others around one, some mostly zero. */
static double *ill_scaled_rows(uint64_t seed, int64_t n)
{
    static const double mean[COLUMNS] = {72.6, 13.4, 8.9, 2.7, 1.44, 0.5, 0.17, 0.06, 1.518};
    static const double spread[COLUMNS] = {0.8, 0.8, 1.4, 1.44, 0.5, 0.65, 0.5, 0.1, 0.003};
    double *x = new_doubles(n * COLUMNS), factor[COLUMNS];
    mrc_rng rng;
    mrc_rng_seed(&rng, seed);
    for (int64_t k = 0; k < COLUMNS; k++)
        factor[k] = exp(mrc_rng_normal(&rng) / 2);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < COLUMNS; k++) {
            double value = mean[k] + spread[k] * factor[k] * mrc_rng_normal(&rng);
            x[i * COLUMNS + k] = fmax(round(value * 1000) / 1000, 0); /* as tables have them */
        }
    return x;
}

static const char *poly_text(uint64_t seed)
{
    static char text[64];
    static const char *const gammas[] = {"1", "0.1111", "0.001"}, *const offsets[] = {"1", "0"};
    snprintf(text, sizeof text, "poly:degree=%d,gamma=%s,coef0=%s", seed % 2 ? 2 : 3,
             gammas[seed % 3], offsets[seed / 3 % 2]);
    return text;
}

/* ---- the bound ---- */

/* What the carried sums are taken over, and on which store. */
struct carried {
    const char *name;
    const mrc_store *store;
    bool centered, about_mean, mask, drop;
};

static const struct carried carried_ways[] = {
    {"dense about the mean", &mrc_store_dense, false, true, false, false},
    {"stream about the mean", &mrc_store_stream, false, true, false, false},
    {"lowrank about the mean", &mrc_store_lowrank, false, true, false, false},
    {"dense", &mrc_store_dense, false, false, false, false},
    {"dense under a mask", &mrc_store_dense, false, false, true, false},
    {"dense, centred", &mrc_store_dense, true, false, false, false},
    {"dense, centred, rows dropped", &mrc_store_dense, true, false, false, true},
    {"lowrank, centred", &mrc_store_lowrank, true, false, false, false},
};
enum { WAYS = sizeof carried_ways / sizeof *carried_ways };

/* The matrix that the operator stands for: entries as it has them, centred here. Low-rank: F F'. */
static quad *matrix_of(mrc_gram *raw, bool centered)
{
    const mrc_factor *factor = mrc_gram_factor(raw);
    int64_t n = raw->n, q = factor ? factor->rank : 0;
    double *values = new_doubles(n * (factor ? q : n));
    quad *k = new_quads(n * n), *mean = new_quads(n), grand = 0;
    if (factor)
        mrc_factor_rows(factor, NULL, n, values);
    else
        assert_ok(mrc_gram_columns(raw, NULL, n, values, err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (!factor)
                k[i * n + j] = values[i * n + j];
            for (int64_t c = 0; c < q; c++)
                k[i * n + j] += (quad)values[i * q + c] * values[j * q + c];
            mean[i] += k[i * n + j] / (quad)n;
            grand += k[i * n + j] / (quad)n / (quad)n;
        }
    for (int64_t i = 0; centered && i < n; i++)
        for (int64_t j = 0; j < n; j++)
            k[i * n + j] += grand - mean[i] - mean[j];
    free(values);
    free(mean);
    return k;
}

/* K^i = K - U U' of the projections as they were computed. */
static void deflate_exactly(const mrc_residual_gram *def, quad *k)
{
    int64_t n = def->n;
    const double *u = def->projections + (def->count - 1) * n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            k[i * n + j] -= (quad)u[i] * u[j];
}

static double energy_of(const mrc_residual_gram *def, const quad *k, int64_t j)
{
    int64_t n = def->n;
    quad mean = 0, sum = 0;
    for (int64_t t = 0; def->about_mean && t < n; t++)
        mean += k[j * n + t] / (quad)n;
    for (int64_t t = 0; t < n; t++)
        if (!def->mask || def->mask[t])
            sum += (k[j * n + t] - mean) * (k[j * n + t] - mean);
    return (double)sum;
}

/* The largest error over its bound, of the rows that have something left. */
static double worst_doubt(const mrc_residual_gram *def, const quad *k, const char *what)
{
    double worst = 0;
    for (int64_t j = 0; j < def->n; j++) {
        if (def->residual[j] <= 1e-10 * mrc_gram_kmax(def->gram) ||
            (def->only_active && !def->mask[j]))
            continue;
        double energy = energy_of(def, k, j), error = fabs(def->energy[j] - energy);
        if (!(error <= def->doubt[j]))
            complain(what, "step %lld, row %lld: energy %.9g, truly %.9g, off by %.3g, bound %.3g",
                     (long long)def->count, (long long)j, def->energy[j], energy, error,
                     def->doubt[j]);
        worst = fmax(worst, error / def->doubt[j]);
    }
    return worst;
}

/* Take the row of the largest score that has something left; false: none. */
static bool take_best(mrc_residual_gram *def)
{
    int64_t best = -1;
    double most = 0;
    for (int64_t j = 0; j < def->n; j++)
        if (def->residual[j] > 1e-9 * mrc_gram_kmax(def->gram) &&
            def->energy[j] / def->residual[j] > most && !(def->only_active && !def->mask[j])) {
            best = j;
            most = def->energy[j] / def->residual[j];
        }
    if (best >= 0)
        assert_ok(mrc_residual_gram_take(def, best, true, err));
    return best >= 0;
}

static double attack_bound(const struct carried *way, const char *spec, const mercer_rows *rows,
                           int64_t steps)
{
    int64_t n = rows->n, all[] = {0, n / 2, n - 1};
    mrc_gram_request request = {.store = way->store, .centered = way->centered};
    mrc_gram *gram = NULL, *raw = NULL;
    mrc_residual_gram def = {0};
    mrc_kernel kernel;
    unsigned char mask[256];
    char what[160];
    double worst = 0;
    assert_true(n <= 256);
    snprintf(what, sizeof what, "%s, %s", spec, way->name);
    assert_ok(mrc_kernel_parse(&kernel, spec, err));
    assert_ok(mrc_kernel_resolve(&kernel, ctx, rows, err));
    assert_ok(mrc_gram_new(&gram, ctx, &kernel, rows, &request, NULL, err));
    if (way->store != &mrc_store_lowrank)
        request.centered = false;
    assert_ok(mrc_gram_new(&raw, ctx, &kernel, rows, &request, NULL, err));
    quad *k = matrix_of(raw, way->centered && way->store != &mrc_store_lowrank);
    for (int64_t t = 0; t < n; t++)
        mask[t] = t % 3 != 1;
    assert_ok(mrc_residual_gram_init(&def, ctx, gram, steps, err));
    assert_ok(mrc_residual_gram_start(&def, way->mask ? mask : NULL, way->about_mean, false, err));
    worst = worst_doubt(&def, k, what);
    for (int64_t i = 0; i < steps && failures == 0 && take_best(&def); i++) {
        deflate_exactly(&def, k);
        worst = fmax(worst, worst_doubt(&def, k, what));
        if (way->drop && i == 2) {
            int64_t gone[3], count = 0;
            for (int64_t a = 0; a < 3; a++)
                if (def.residual[all[a]] > 0)
                    gone[count++] = all[a];
            assert_ok(mrc_residual_gram_drop(&def, gone, count, err));
            worst = fmax(worst, worst_doubt(&def, k, what));
        }
        if (i % 4 == 3) { /* some are computed anew: errors start again */
            assert_ok(mrc_residual_gram_evaluate(&def, all, 3, err));
            worst = fmax(worst, worst_doubt(&def, k, what));
        }
        if (i == 9) {
            assert_ok(mrc_residual_gram_evaluate(&def, NULL, n, err));
            worst = fmax(worst, worst_doubt(&def, k, what));
        }
    }
    free(k);
    mrc_residual_gram_destroy(&def);
    mrc_gram_free(gram);
    mrc_gram_free(raw);
    return worst;
}

static void test_deflated_errors_stay_within_their_bound(void **state)
{
    enum { TABLES = 24, STEPS = 18 };
    double worst[WAYS] = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= TABLES; seed++) {
        int64_t n = 40 + 3 * (int64_t)seed;
        double *x = ill_scaled_rows(seed, n);
        mercer_rows *rows = view(ctx, x, n, COLUMNS);
        for (int w = 0; w < WAYS; w++)
            worst[w] = fmax(worst[w], attack_bound(&carried_ways[w], poly_text(seed), rows, STEPS));
        mercer_rows_free(rows);
        free(x);
    }
    for (int w = 0; w < WAYS; w++) {
        print_message("%s: largest error %.3g of its bound\n", carried_ways[w].name, worst[w]);
        assert_true(worst[w] > 1e-6); /* a bound without bounds would be none */
    }
    assert_int_equal(failures, 0);
}

/* ---- the choice ---- */

struct choosing {
    const char *method, *center;
    struct rule rule;
    bool centered;
};

/* One table, one rule, several stores; equal picks are judged once. */
static void judge_table(const struct choosing *c, const char *spec, const double *gram,
                        const mercer_rows *rows, int64_t picks)
{
    static const char *const stores[] = {"dense", "stream", "lowrank"};
    int64_t n = rows->n, seen[64], seen_count = -1;
    double kmax = largest_modulus(gram, n * n), *worked = gram_copy(gram, n, c->centered, false);
    struct deflated f = {.n = n, .wanted = picks, .gram = worked, .rule = &c->rule};
    assert_true(picks <= 64);
    for (int s = 0; s < 3; s++) {
        char what[256];
        bool lowrank = s == 2;
        struct slack slack = {.floor = lowrank ? 1e-9 : 1e-10,
                              .entries = entries_off(n, c->centered) * kmax +
                                         (lowrank ? (c->centered ? 4e-13 : 1e-13) * kmax : 0),
                              .left_out = lowrank ? 1e-13 * kmax : 0};
        struct outcome o = fit_well(c->method, spec, c->center, stores[s], picks, rows);
        int64_t count = o.info.selected_count;
        snprintf(what, sizeof what, "%s, %s, %s", c->method, spec, stores[s]);
        if (count != seen_count || memcmp(seen, o.info.selected, (size_t)count * sizeof *seen) != 0)
            judge_picks(what, &o, &f, &slack);
        seen_count = count;
        memcpy(seen, o.info.selected, (size_t)count * sizeof *seen);
        mercer_model_free(o.model);
    }
    free(worked);
}

static void test_deflated_choices_of_ill_scaled_tables(void **state)
{
    enum { TABLES = 100, N = 80, PICKS = 14 };
    static const struct choosing rules[] = {
        {"rkpca:points=14", "span", {.spread = true}, false},
        {"akfa", "none", {0}, false},
        {"akfa", "exact", {0}, true},
        {"skfa", "none", {.l1 = true}, false},
        {"skfa:criterion=variance", "none", {.l1 = true, .spread = true}, false},
        {"greedy:points=14,depth=80", "span", {0}, false}};
    (void)state;
    for (uint64_t seed = 1; seed <= TABLES; seed++) {
        double *x = ill_scaled_rows(1000 + seed, N);
        const char *spec = poly_text(seed);
        double *gram = gram_of(spec, x, N, COLUMNS, false);
        mercer_rows *rows = view(ctx, x, N, COLUMNS);
        judge_table(&rules[0], spec, gram, rows, PICKS);
        judge_table(&rules[1 + seed % 5], spec, gram, rows, PICKS);
        mercer_rows_free(rows);
        free(gram);
        free(x);
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_deflated_errors_stay_within_their_bound),
        TEST(test_deflated_choices_of_ill_scaled_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
