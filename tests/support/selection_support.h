/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits by the sparse methods, compared with plain deflation. Differences are printed and counted,
 * so that one run shows them all. */
#ifndef MERCER_TESTS_SELECTION_SUPPORT_H
#define MERCER_TESTS_SELECTION_SUPPORT_H

#include "quad.h"

#include "model/model.h"

#include <mercer/mercer.h>

#include <stdio.h>

static mercer_ctx *ctx;
static char notice[2048]; /* all of a fit, a line each */
static int failures;

static inline void keep_notice(void *host, const mercer_notice *given)
{
    size_t used = strlen(notice);
    (void)host;
    snprintf(notice + used, sizeof notice - used, "%s\n", given->text);
}

static inline int each_setup(void **state)
{
    (void)state;
    ctx = new_ctx(1);
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    failures = 0;
    return 0;
}

static inline int each_teardown(void **state)
{
    (void)state;
    mercer_ctx_free(ctx);
    return 0;
}

static inline void complain(const char *what, const char *format, ...)
{
    va_list arguments;
    print_error("%s: ", what);
    va_start(arguments, format);
    vprint_error(format, arguments);
    va_end(arguments);
    print_error("\n");
    failures++;
}

/* A fit and what came of it. */
struct outcome {
    mercer_status rc;
    mercer_error why;
    mercer_model *model;
    mercer_model_info info;
    mercer_fit_report report;
};

static inline struct outcome fit_by(const mercer_fit_options *options, const mercer_rows *rows)
{
    struct outcome o = {.info = {.struct_size = sizeof o.info},
                        .report = {.struct_size = sizeof o.report}};
    notice[0] = 0;
    o.rc = mercer_fit(ctx, options, rows, NULL, &o.model, &o.report, &o.why);
    if (o.rc == MERCER_OK)
        mercer_model_get_info(o.model, &o.info);
    return o;
}

/* store may also be "single": dense, in single precision. */
static inline struct outcome fit(const char *method, const char *kernel, const char *center,
                                 const char *store, int64_t components, const mercer_rows *rows)
{
    bool single = store && strcmp(store, "single") == 0;
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.center = center;
    options.store = single ? "dense" : store;
    options.precision = single ? "single" : NULL;
    options.components = (double)components;
    return fit_by(&options, rows);
}

/* The same, and it must go well. */
static inline struct outcome fit_well(const char *method, const char *kernel, const char *center,
                                      const char *store, int64_t components,
                                      const mercer_rows *rows)
{
    struct outcome o = fit(method, kernel, center, store, components, rows);
    if (o.rc != MERCER_OK)
        fail_msg("%s %s %s: status %d: %s", method, kernel, center, (int)o.rc, o.why.text);
    return o;
}

/* Features of rows, and their errors when wanted. */
static inline double *features_of(const struct outcome *o, const mercer_rows *rows, double *errors,
                                  const double *self)
{
    double *y = new_doubles(mercer_rows_count(rows) * o->info.components);
    assert_ok(mercer_model_transform(ctx, o->model, rows, self, y, errors, err));
    return y;
}

/* Data sets: rows on a ring, blobs with every fifth row repeated, and a full-rank wide one. */
struct set {
    const char *name;
    int64_t n, d;
    double scale; /* of distances */
    double *x;
};
enum { SETS = 3 };

static inline struct set make_set(int which, int64_t n)
{
    struct set set = {.name = "ring", .n = n, .d = 2, .scale = 4};
    if (which == 0)
        set.x = ring_rows(21, n);
    if (which == 1) {
        set = (struct set){"blobs", n, 3, 2, normal_rows(22, n, 3, 0, 1)};
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = 0; k < 3; k++)
                set.x[i * 3 + k] += i % 4 == k ? 5 : 0;
            if (i % 5 == 4)
                memcpy(set.x + i * 3, set.x + i / 2 * 3, 3 * sizeof(double));
        }
    }
    if (which == 2)
        set = (struct set){"wide", n, 20, 6, normal_rows(23, n, 20, 0.3, 1)};
    return set;
}

/* Kernels by their length or its inverse, in units of the set's scale. */
static const struct {
    const char *format;
    double factor;
    int power;   /* of the scale */
    bool smooth; /* has a low-rank factor */
} kernels[] = {{"linear", 0, 0, true},
               {"poly:degree=3,coef0=1,gamma=%.17g", 0.5, -2, true},
               {"rbf:sigma=%.17g", 0.4, 1, false},
               {"rbf:sigma=%.17g", 2, 1, true},
               {"laplacian:gamma=%.17g", 0.25, -1, false},
               {"exponential:gamma=%.17g", 0.5, -1, false},
               {"cosine", 0, 0, true}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static inline const char *kernel_text(int k, double scale)
{
    static char text[128];
    snprintf(text, sizeof text, kernels[k].format,
             kernels[k].factor * pow(scale, kernels[k].power));
    return text;
}

/* A copy of a Gram matrix, centred or not, rounded to single precision first or not. */
static inline double *gram_copy(const double *gram, int64_t n, bool centered, bool single)
{
    double *copy = new_doubles(n * n);
    for (int64_t i = 0; i < n * n; i++)
        copy[i] = single ? (double)(float)gram[i] : gram[i];
    if (centered)
        ref_center(copy, n);
    return copy;
}

/* How much the entries of a Gram matrix of n rows may be off, in units of its largest entry: those
 * of a fit and those of the plain one. A kernel value is within 8 units of rounding of the formula,
 * and there are two of them. Centring adds up four such entries; its means are sums of n numbers,
 * whose errors have signs of their own: 4 sqrt(n) units each, for two of them. */
static inline double entries_off(int64_t n, bool centered)
{
    return (centered ? 64 + 8 * sqrt((double)n) : 16) * UNIT;
}

/* How a fit's matrix differs from the plain one, by which its picks are judged. */
struct slack {
    double floor;    /* picks count as far as the residuals were above this, times kmax */
    double entries;  /* what entries may be off by, absolutely */
    double left_out; /* what a low-rank factor leaves out of the diagonal */
};

static inline struct slack usual_slack(const struct deflated *f)
{
    return (struct slack){.floor = 1e-10, .entries = entries_off(f->n, true) * f->kmax};
}

/* Judge the picks of a fit one after the other in quadruple precision. */
static inline void judge_picks(const char *what, const struct outcome *o, const struct deflated *f,
                               const struct slack *slack)
{
    const int64_t *picks = o->info.selected;
    int64_t count = o->info.selected_count;
    struct quad_deflation q = quad_start(f->gram, f->n, f->wanted, false, 0);
    char tell[512];
    q.values = slack->entries / q.kmax;
    for (int64_t i = 0; i < count && q.count == i; i++) {
        bool fine =
            quad_allows(&q, f->rule, picks[i], slack->floor, slack->left_out, tell, sizeof tell);
        if (q.high[picks[i]] <= slack->floor * q.largest)
            break; /* what comes now is not judged */
        if (!fine)
            complain(what, "%s", tell);
        else
            quad_take(&q, picks[i]);
    }
    if (q.count == count && count < f->wanted &&
        !quad_allows(&q, f->rule, -1, slack->floor, slack->left_out, tell, sizeof tell))
        complain(what, "%s", tell);
    quad_free(&q);
}

/* The picks of a fit are the plain ones, as far as these had residuals above the floor, or differ
 * from them by what rounding explains. Returns whether all picks of both are the same. */
static inline bool check_picks(const char *what, const struct outcome *o, const struct deflated *f,
                               const struct slack *slack)
{
    const int64_t *fast = o->info.selected;
    int64_t count = o->info.selected_count, length = 0, sure;
    struct slack usual = usual_slack(f);
    double floor = (slack ? slack : &usual)->floor;
    bool judged = f->rule->depth == 0 && f->rule->top == 0 && !f->rule->features;
    while (length < f->count && f->at[length] > floor * f->kmax)
        length++;
    for (int64_t i = 0; i < length && i < count; i++)
        if (fast[i] != f->selected[i]) {
            if (judged)
                judge_picks(what, o, f, slack ? slack : &usual);
            else
                complain(what,
                         "pick %lld of %lld is row %lld, plain row %lld (residual %.3g of "
                         "kmax)",
                         (long long)i, (long long)count, (long long)fast[i],
                         (long long)f->selected[i], f->at[i] / f->kmax);
            return false;
        }
    /* A residual within a hundredth of the floor may fall on either side of it. */
    for (sure = length; sure > 0 && f->at[sure - 1] < 1.01 * floor * f->kmax; sure--)
        ;
    if (count < sure || (floor <= 1e-10 && length == f->count && count > f->count + 1)) {
        complain(what, "%lld rows picked, plain %lld (%lld above the floor; last residual %.3g)",
                 (long long)count, (long long)f->count, (long long)length,
                 f->count ? f->at[f->count - 1] / f->kmax : 0);
        return false;
    }
    return count == length && count == f->count;
}

/* Largest eigenvalue of a positive semidefinite matrix. */
static inline double largest_eigenvalue(const double *a, int64_t n, int64_t ld)
{
    double *v = new_doubles(n), *av = new_doubles(n), value = 0;
    for (int64_t i = 0; i < n; i++)
        v[i] = 1 + (double)i / (double)n;
    for (int step = 0; step < 40; step++) {
        double length = 0;
        for (int64_t i = 0; i < n; i++) {
            av[i] = 0;
            for (int64_t j = 0; j < n; j++)
                av[i] += a[i * ld + j] * v[j];
            length += av[i] * av[i];
        }
        value = sqrt(length);
        for (int64_t i = 0; i < n; i++)
            v[i] = av[i] / value;
    }
    free(v);
    free(av);
    return value;
}

/* What features and errors may differ by: max(1e-10, eps cond(K_SS)), and 1e-10 while no residual
 * was below 1e-4 kmax. */
static inline double tolerance_of(const double *gram, const struct deflated *f)
{
    int64_t l = f->count, w = f->wanted;
    double *k = new_doubles(l * l), *inverse = new_doubles(l * l), least = INFINITY, cond;
    for (int64_t i = 0; i < l; i++) {
        least = fmin(least, f->at[i]);
        for (int64_t j = 0; j < l; j++) {
            k[i * l + j] = gram[f->selected[i] * f->n + f->selected[j]];
            for (int64_t s = 0; s < l; s++)
                inverse[i * l + j] += f->c[i * w + s] * f->c[j * w + s];
        }
    }
    cond = largest_eigenvalue(k, l, l) * largest_eigenvalue(inverse, l, l);
    free(k);
    free(inverse);
    return least > 1e-4 * f->kmax ? 1e-10 : fmax(1e-10, DBL_EPSILON * cond);
}

/* Largest entry of W'W - I, W the directions of a model: w_j = sum_i B_ij phi(z_i) + t_j mean. */
static inline double skew_of(const mercer_model *model)
{
    int64_t m = model->weights ? model->columns : model->points, l = model->components;
    double *b = new_doubles(m * l), *k, skew = 0;
    if (!model->weights && !model->z) {
        free(b);
        return 0; /* a given matrix: the same coefficients as with its kernel */
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < l; j++) {
            if (model->weights)
                b[i * l + j] = model->weights[i * l + j];
            else if (i < model->basis_points)
                b[i * l + j] = model->coefficients[i * l + j];
            if (model->mean_weights)
                b[i * l + j] += model->mean_weights[j] * model->mean[i];
        }
    if (model->weights) {
        k = ref_alloc(m, m);
        for (int64_t i = 0; i < m; i++)
            k[i * (m + 1)] = 1;
    } else
        k = ref_cross(&model->kernel, model->z, m, model->z, m, model->columns);
    for (int64_t c = 0; c < l; c++) {
        double *kb = ref_alloc(m, 1);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m; j++)
                kb[i] += k[i * m + j] * b[j * l + c];
        for (int64_t a = 0; a <= c; a++) {
            double dot = -(double)(a == c);
            for (int64_t i = 0; i < m; i++)
                dot += b[i * l + a] * kb[i];
            skew = fabs(dot) <= skew ? skew : fabs(dot);
        }
        mrc_free(kb);
    }
    mrc_free(k);
    free(b);
    return skew;
}

/* Features of the training rows are the projections, the basis is orthonormal, and the errors are
 * the residuals. */
static inline void check_features(const char *what, const struct outcome *o,
                                  const struct deflated *f, const double *gram,
                                  const mercer_rows *rows, const double *self)
{
    int64_t n = f->n, l = f->count, w = f->wanted;
    double tolerance = tolerance_of(gram, f), worst = 0, off = 0, mean = 0;
    double skew = n < 100 ? skew_of(o->model) : 0;
    double *errors = new_doubles(n), *y = features_of(o, rows, errors, self);
    if (o->info.components != l) {
        complain(what, "%lld features, plain %lld", (long long)o->info.components, (long long)l);
        goto out;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < l; j++) {
            double difference = fabs(y[i * l + j] - f->p[i * w + j]);
            worst = difference <= worst ? worst : difference;
        }
        double difference = fabs(errors[i] - f->residual[i]);
        off = difference <= off ? off : difference;
        mean += errors[i] / (double)n;
    }
    /* To look at B'K B takes sums whose own rounding is eps cond. */
    if (!(worst <= tolerance * sqrt(f->kmax)) || !(off <= tolerance * f->kmax) ||
        !(skew <= (tolerance > 1e-10 ? 4 * tolerance : tolerance)))
        complain(what, "features off by %.3g, errors by %.3g, B'K B by %.3g; %.3g allowed",
                 worst / sqrt(f->kmax), off / f->kmax, skew, tolerance);
    if (!(fabs(o->report.reconstruction_error - f->error[l - 1]) <= tolerance * f->kmax) ||
        !(fabs(o->info.reconstruction_error - f->error[l - 1]) <= tolerance * f->kmax) ||
        !(fabs(mean - f->error[l - 1]) <= tolerance * f->kmax) ||
        !(fabs(o->report.total_variance - o->report.projection_variance -
               o->report.reconstruction_error) <= tolerance * f->kmax))
        complain(what, "mean error %.12g (of the rows %.12g), plain %.12g; variance %.12g of %.12g",
                 o->report.reconstruction_error, mean, f->error[l - 1],
                 o->report.projection_variance, o->report.total_variance);
out:
    free(y);
    free(errors);
}

/* Eigenvalues of the scatter of the projections, and what is left: what rkpca makes of its picks.
 */
static inline void check_subset(const char *what, const struct outcome *o, const struct deflated *f,
                                const double *gram, bool centered)
{
    int64_t n = f->n, l = f->count, w = f->wanted;
    double *s = new_doubles(l * l), *mean = new_doubles(l), *values = new_doubles(l);
    double *vectors = new_doubles(l * l), tolerance = tolerance_of(gram, f), left = 0, off = 0;
    for (int64_t i = 0; i < n; i++) {
        left += gram[i * (n + 1)] / (double)n;
        for (int64_t j = 0; centered && j < l; j++)
            mean[j] += f->p[i * w + j] / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t a = 0; a < l; a++)
            for (int64_t b = 0; b < l; b++)
                s[a * l + b] += (f->p[i * w + a] - mean[a]) * (f->p[i * w + b] - mean[b]);
    ref_eigen(s, l, values, vectors);
    for (int64_t j = 0; j < l; j++)
        left -= mean[j] * mean[j];
    for (int64_t j = 0; j < o->info.components; j++) {
        left -= values[j] / (double)n;
        off = fmax(off, fabs(o->info.spectrum[j] - values[j]) / values[0]);
    }
    if (!(off <= tolerance) ||
        !(fabs(o->report.reconstruction_error - left) <= tolerance * f->kmax))
        complain(what, "spectrum off by %.3g; mean error %.12g, plain %.12g; %.3g allowed", off,
                 o->report.reconstruction_error, left, tolerance);
    free(s);
    free(mean);
    free(values);
    free(vectors);
}

/* One method on one Gram matrix (uncentred), with every store. */
struct trial {
    const char *method, *center;
    const struct rule *rule;
    int64_t components, picks;
    bool centered; /* the Gram matrix that is deflated */
    bool subset;   /* ends in a spectrum, not in the picks' own directions */
};

static inline void run_trial(const struct trial *trial, const struct set *set, int k,
                             const double *gram, const mercer_rows *rows, const mercer_rows *matrix)
{
    static const char *const stores[] = {"dense", "stream", "precomputed", "lowrank", "single"};
    const char *kernel = kernel_text(k, set->scale);
    double *worked = gram_copy(gram, set->n, trial->centered, false), *self = new_doubles(set->n);
    struct deflated f = deflate_plainly(worked, set->n, trial->picks, trial->rule);
    bool centred = trial->centered;
    double kmax = largest_modulus(gram, set->n * set->n);
    /* A factor is complete to 1e-13 of kmax. */
    struct slack exact = {.floor = 1e-10, .entries = entries_off(set->n, centred) * kmax};
    struct slack lowrank = {.floor = 1e-9,
                            .entries = exact.entries + (centred ? 4e-13 : 1e-13) * kmax,
                            .left_out = 1e-13 * kmax};
    for (int64_t i = 0; i < set->n; i++)
        self[i] = gram[i * (set->n + 1)];
    for (int s = 0; s < 5; s++) {
        char what[256];
        bool given = s == 2;
        const mercer_rows *used = given ? matrix : rows;
        if ((s == 3 && !kernels[k].smooth) || (s >= 3 && set->n < 100))
            continue;
        snprintf(what, sizeof what, "%s, %s of %lld rows, %s, center %s, %s", trial->method,
                 set->name, (long long)set->n, kernel, trial->center, stores[s]);
        struct outcome o = fit(trial->method, given ? "precomputed" : kernel, trial->center,
                               given ? NULL : stores[s], trial->components, used);
        if (o.rc != MERCER_OK) {
            complain(what, "status %d: %s", (int)o.rc, o.why.text);
            continue;
        }
        if (s == 4) { /* plain deflation of the rounded matrix */
            double *coarse = gram_copy(gram, set->n, trial->centered, true);
            struct deflated of_single = deflate_plainly(coarse, set->n, trial->picks, trial->rule);
            struct slack rounded = {.floor = 1e-3, .entries = (centred ? 4 : 1) * kmax / (1 << 24)};
            check_picks(what, &o, &of_single, &rounded);
            deflated_free(&of_single);
            free(coarse);
        } else if (check_picks(what, &o, &f, s == 3 ? &lowrank : &exact) && s < 3) {
            if (trial->subset && s == 0)
                check_subset(what, &o, &f, worked, strcmp(trial->center, "none") != 0);
            else if (!trial->subset)
                check_features(what, &o, &f, worked, used, self);
        }
        mercer_model_free(o.model);
    }
    deflated_free(&f);
    free(worked);
    free(self);
}

/* Features and errors of the training rows are numbers. */
static inline void assert_finite(const struct outcome *o, const mercer_rows *rows)
{
    int64_t n = mercer_rows_count(rows), l = o->info.components;
    double *errors = o->info.orthonormal ? new_doubles(n) : NULL;
    double *y = features_of(o, rows, errors, NULL);
    for (int64_t i = 0; i < n * l; i++)
        assert_true(isfinite(y[i]));
    for (int64_t i = 0; errors && i < n; i++)
        assert_true(isfinite(errors[i]));
    assert_true(!o->info.orthonormal || isfinite(o->info.reconstruction_error));
    free(y);
    free(errors);
}

/* Every kernel, centring and store on one set of one size: akfa, skfa and ackfa with the threshold
 * cut times the mean diagonal, or rkpca when cut is 0. */
static inline void compare_all(int which, int64_t n, int64_t picks, double cut)
{
    struct set set = make_set(which, n);
    mercer_rows *rows = view(ctx, set.x, n, set.d);
    for (int k = 0; k < KERNELS; k++) {
        double *gram = gram_of(kernel_text(k, set.scale), set.x, n, set.d, false);
        mercer_rows *matrix = view(ctx, gram, n, n);
        for (int centered = 0; centered < 2; centered++) {
            char ackfa[64], rkpca[64];
            struct rule cutting = {0};
            const char *center = centered ? "exact" : "none";
            double *worked = gram_copy(gram, n, centered, false);
            for (int64_t i = 0; i < n; i++)
                cutting.delta += cut * worked[i * (n + 1)] / (double)n;
            snprintf(ackfa, sizeof ackfa, "ackfa:delta=%.17g,relative=off", cutting.delta);
            snprintf(rkpca, sizeof rkpca, "rkpca:points=%lld", (long long)picks);
            const struct trial trials[] = {
                {"akfa", center, &akfa_rule, picks, picks, centered, false},
                {"skfa", center, &skfa_rule, picks, picks, centered, false},
                {ackfa, center, &cutting, picks, picks, centered, false},
                {rkpca, centered ? "span" : "none", centered ? &rkpca_rule : &akfa_rule, 5, picks,
                 false, true}};
            for (int t = cut > 0 ? 0 : 3; t < (cut > 0 ? 3 : 4); t++)
                run_trial(&trials[t], &set, k, gram, rows, matrix);
            free(worked);
        }
        mercer_rows_free(matrix);
        free(gram);
    }
    mercer_rows_free(rows);
    free(set.x);
}

/* Linear in two columns: two features, whatever is asked for, and a notice. */
static inline void check_rank(const char *method, const char *center)
{
    enum { N = 50 };
    double *x = normal_rows(40, N, 2, 1, 1);
    mercer_rows *rows = view(ctx, x, N, 2);
    struct outcome o = fit_well(method, "linear", center, "dense", 10, rows);
    assert_int_equal(o.info.components, 2);
    assert_true(o.info.spectrum || o.info.selected_count == 2);
    assert_true(strstr(notice, "10 ") || strstr(method, "ackfa")); /* which has its own end */
    assert_non_null(strstr(notice, "2"));
    assert_true(fabs(o.info.reconstruction_error) <= 1e-10);
    assert_finite(&o, rows);
    mercer_model_free(o.model);
    mercer_rows_free(rows);
    free(x);
}

/* Rows that repeat others, or are zero, are never picked. */
static inline void check_empty_rows(const char *method)
{
    enum { N = 24, D = 12 };
    double *x = normal_rows(41, N, D, 0, 1);
    memcpy(x + N / 2 * D, x, N / 2 * D * sizeof *x); /* rows 12 ... 23 repeat 0 ... 11 */
    for (int64_t k = 0; k < D; k++)                  /* rows 3 and 15 are zero */
        x[3 * D + k] = x[15 * D + k] = 0;
    mercer_rows *rows = view(ctx, x, N, D);
    for (int linear = 0; linear < 2; linear++) {
        bool taken[N] = {0};
        struct outcome o =
            fit_well(method, linear ? "linear" : "rbf:sigma=3", "none", "dense", N, rows);
        assert_int_equal(o.info.selected_count, 12 - linear);
        for (int64_t i = 0; i < o.info.selected_count; i++) {
            int64_t row = o.info.selected[i];
            assert_false(row >= 12 || taken[row] || (linear && row == 3));
            taken[row] = true;
        }
        assert_finite(&o, rows);
        mercer_model_free(o.model);
    }
    mercer_rows_free(rows);
    free(x);
}

/* One row is a feature of its own without a mean, and nothing with one; so are equal rows. */
static inline void check_equal_rows(const char *method, const char *center)
{
    double x[20];
    for (int i = 0; i < 20; i++)
        x[i] = i % 2 ? 3 : 4;
    for (int64_t n = 1; n <= 10; n += 9) {
        mercer_rows *rows = view(ctx, x, n, 2);
        struct outcome o = fit_well(method, "linear", "none", "dense", 3, rows);
        double *y = features_of(&o, rows, NULL, NULL);
        assert_int_equal(o.info.components, 1);
        for (int64_t i = 0; i < n; i++)
            assert_true(fabs(fabs(y[i]) - 5) <= 1e-12);
        assert_finite(&o, rows);
        free(y);
        mercer_model_free(o.model);
        o = fit(method, "rbf:sigma=1", center, "dense", 3, rows);
        assert_int_equal(o.rc, MERCER_ERR_DATA);
        assert_null(o.model);
        assert_true(strlen(o.why.text) > 10);
        mercer_rows_free(rows);
    }
}

/* Without an exact mean a model of a precomputed kernel takes its own points' columns alone. */
static inline void check_kept_columns(const char *method, const char *center)
{
    enum { N = 70, L = 6 };
    double *x = ring_rows(44, N), *gram = gram_of("rbf:sigma=4", x, N, 2, false);
    mercer_rows *matrix = view(ctx, gram, N, N);
    struct outcome o = fit_well(method, "precomputed", center, NULL, L, matrix);
    double *y = features_of(&o, matrix, NULL, NULL), *kept = new_doubles(N * L), *part;
    assert_int_equal(o.info.expansion_points, L);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < L; j++)
            kept[i * L + j] = gram[i * N + o.info.selected[j]];
    mercer_rows *few = view(ctx, kept, N, L);
    part = features_of(&o, few, NULL, NULL);
    assert_close(part, y, N * o.info.components, 1e-13 * largest_modulus(y, N * o.info.components));
    mercer_rows_free(few);
    mercer_rows_free(matrix);
    mercer_model_free(o.model);
    free(y);
    free(kept);
    free(part);
    free(gram);
    free(x);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, each_setup, each_teardown)

#endif
