/* The sparse methods through the public interface, judged by plain deflation: the same rows are
 * picked whatever the store, features and errors are those of the deflation, and rows that carry
 * nothing are never picked. */
#include "deflation.h"

#include "model/model.h"

#include <mercer/mercer.h>

#include <stdio.h>

static mercer_ctx *ctx;
static char notice[512];
static int failures; /* so that one run shows every difference */

static void keep_notice(void *host, const char *text)
{
    (void)host;
    snprintf(notice, sizeof notice, "%s", text);
}

static int each_setup(void **state)
{
    (void)state;
    ctx = new_ctx(2);
    mercer_ctx_set_notice(ctx, keep_notice, NULL);
    failures = 0;
    return 0;
}

static int each_teardown(void **state)
{
    (void)state;
    mercer_ctx_free(ctx);
    return 0;
}

static void complain(const char *what, const char *format, ...)
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

/* store may also be "single": dense, in single precision. */
static struct outcome fit(const char *method, const char *kernel, const char *center,
                          const char *store, int64_t components, const mercer_rows *rows,
                          const mercer_rows *landmarks)
{
    struct outcome o = {.info = {.struct_size = sizeof o.info},
                        .report = {.struct_size = sizeof o.report}};
    bool single = store && strcmp(store, "single") == 0;
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.center = center;
    options.store = single ? "dense" : store;
    options.precision = single ? "single" : NULL;
    options.components = (double)components;
    options.landmarks = landmarks;
    notice[0] = 0;
    o.rc = mercer_fit(ctx, &options, rows, NULL, &o.model, &o.report, &o.why);
    if (o.rc == MERCER_OK)
        mercer_model_get_info(o.model, &o.info);
    return o;
}

/* The same, and it must go well. */
static struct outcome fit_well(const char *method, const char *kernel, const char *center,
                               const char *store, int64_t components, const mercer_rows *rows)
{
    struct outcome o = fit(method, kernel, center, store, components, rows, NULL);
    if (o.rc != MERCER_OK)
        fail_msg("%s %s %s: status %d: %s", method, kernel, center, (int)o.rc, o.why.text);
    return o;
}

/* Features of rows, and their errors when wanted. */
static double *features_of(const struct outcome *o, const mercer_rows *rows, double *errors,
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

static struct set make_set(int which, int64_t n)
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

static const char *kernel_text(int k, double scale)
{
    static char text[128];
    snprintf(text, sizeof text, kernels[k].format,
             kernels[k].factor * pow(scale, kernels[k].power));
    return text;
}

/* A copy of a Gram matrix, centred or not, rounded to single precision first or not. */
static double *gram_copy(const double *gram, int64_t n, bool centered, bool single)
{
    double *copy = new_doubles(n * n);
    for (int64_t i = 0; i < n * n; i++)
        copy[i] = single ? (double)(float)gram[i] : gram[i];
    if (centered)
        ref_center(copy, n);
    return copy;
}

/* The picks of a fit are the plain ones, as far as these had residuals above floor kmax. Returns
 * whether all picks of both are the same. */
static bool check_picks(const char *what, const struct outcome *o, const struct deflated *f,
                        double floor)
{
    const int64_t *fast = o->info.selected;
    int64_t count = o->info.selected_count, length = 0;
    while (length < f->count && f->at[length] > floor * f->kmax)
        length++;
    for (int64_t i = 0; i < length && i < count; i++)
        if (fast[i] != f->selected[i]) {
            complain(what,
                     "pick %lld of %lld is row %lld, plain row %lld (residual %.3g of kmax, "
                     "score %.10g)",
                     (long long)i, (long long)count, (long long)fast[i], (long long)f->selected[i],
                     f->at[i] / f->kmax, f->score[i]);
            return false;
        }
    if (count < length || (length == f->count && floor <= 1e-10 && count != f->count)) {
        complain(what, "%lld rows picked, plain %lld (%lld above the floor; last residual %.3g)",
                 (long long)count, (long long)f->count, (long long)length,
                 f->count ? f->at[f->count - 1] / f->kmax : 0);
        return false;
    }
    return count == length && count == f->count;
}

/* Largest eigenvalue of a positive semidefinite matrix. */
static double largest_eigenvalue(const double *a, int64_t n, int64_t ld)
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

/* What features and errors may differ by: max(1e-10, 4 eps cond(K_SS)), and 1e-10 while no residual
 * of a pick was below 1e-4 kmax. That holds for up to half of the rows: with nearly all of them a
 * centred K_SS is close to singular whatever the residuals, and centring in double leaves eps cond
 * in plain deflation too. The 4 is what plain deflation needs there. */
static double tolerance_of(const double *gram, const struct deflated *f)
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
    return least > 1e-4 * f->kmax && 2 * l <= f->n ? 1e-10 : fmax(1e-10, 4 * DBL_EPSILON * cond);
}

/* Largest entry of W'W - I, W the directions of a model: B'K_ZZ B - I. For a model with an exact
 * mean the columns of B sum to zero, so K_ZZ need not be centred. */
static double skew_of(const mercer_model *model)
{
    int64_t m = model->basis_points, d = model->columns, l = model->components;
    const double *b = model->weights ? model->weights : model->coefficients;
    double *k = NULL, skew = 0;
    if (model->weights) {
        m = d;
        k = ref_alloc(d, d);
        for (int64_t i = 0; i < d; i++)
            k[i * (d + 1)] = 1;
    } else if (model->z)
        k = ref_cross(&model->kernel, model->z, m, model->z, m, d);
    else
        return 0; /* a given matrix: the same coefficients as with its kernel */
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
    return skew;
}

/* Features of the training rows are the projections, the basis is orthonormal, and the errors are
 * the residuals. */
static void check_features(const char *what, const struct outcome *o, const struct deflated *f,
                           const double *gram, const mercer_rows *rows, const double *self)
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
    if (!(worst <= tolerance * sqrt(f->kmax)) || !(off <= tolerance * f->kmax) ||
        !(skew <= tolerance))
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
static void check_subset(const char *what, const struct outcome *o, const struct deflated *f,
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

static void run_trial(const struct trial *trial, const struct set *set, int k, const double *gram,
                      const mercer_rows *rows, const mercer_rows *matrix)
{
    static const char *const stores[] = {"dense", "stream", "precomputed", "lowrank", "single"};
    const char *kernel = kernel_text(k, set->scale);
    double *worked = gram_copy(gram, set->n, trial->centered, false), *self = new_doubles(set->n);
    struct deflated f = deflate_plainly(worked, set->n, trial->picks, trial->rule);
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
                               given ? NULL : stores[s], trial->components, used, NULL);
        if (o.rc != MERCER_OK) {
            complain(what, "status %d: %s", (int)o.rc, o.why.text);
            continue;
        }
        if (s == 4) { /* plain deflation of the rounded matrix */
            struct rule rounded = *trial->rule;
            double *coarse = gram_copy(gram, set->n, trial->centered, true);
            rounded.eps = FLT_EPSILON;
            struct deflated of_single = deflate_plainly(coarse, set->n, trial->picks, &rounded);
            check_picks(what, &o, &of_single, 1e-3);
            deflated_free(&of_single);
            free(coarse);
        } else if (check_picks(what, &o, &f, s == 3 ? 1e-9 : 1e-10) && s < 3) {
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

/* Every method, kernel, centring and store on one set of one size. */
static void compare_all(int which, int64_t n, int64_t picks, double cut)
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
            for (int t = 0; t < 4; t++)
                run_trial(&trials[t], &set, k, gram, rows, matrix);
            free(worked);
        }
        mercer_rows_free(matrix);
        free(gram);
    }
    mercer_rows_free(rows);
    free(set.x);
}

static void test_selection_ring(void **state)
{
    (void)state;
    compare_all(0, 60, 60, 1e-6);
    compare_all(0, 300, 100, 0.05);
    assert_int_equal(failures, 0);
}

static void test_selection_blobs(void **state)
{
    (void)state;
    compare_all(1, 60, 60, 0.05);
    compare_all(1, 300, 100, 1e-6);
    assert_int_equal(failures, 0);
}

static void test_selection_wide(void **state)
{
    (void)state;
    compare_all(2, 60, 60, 0.5);
    compare_all(2, 300, 100, 0.3);
    assert_int_equal(failures, 0);
}

/* The readings of SKFA, a threshold times the mean diagonal, and all rows as candidates. */
static void test_selection_variants(void **state)
{
    enum { N = 80, L = 15 };
    static const struct {
        const char *method;
        struct rule rule;
    } variants[] = {
        {"skfa:criterion=moment,l1=images", {.l1 = true}},
        {"skfa:criterion=variance", {.l1 = true, .spread = true}},
        {"skfa:l1=features", {.l1 = true, .features = true}},
        {"skfa:criterion=variance,l1=features", {.l1 = true, .features = true, .spread = true}},
        {"ackfa:delta=0.4,relative=on", {.delta = 0.4}},
        {"akfa:candidates=80", {0}},
        {"skfa:candidates=80,terms=80", {.l1 = true}}};
    double *x = ring_rows(31, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int v = 0; v < 7; v++)
        for (int centered = 0; centered < 2; centered++) {
            double *gram = gram_of("rbf:sigma=4", x, N, 2, centered), mean = 0;
            struct rule rule = variants[v].rule;
            for (int64_t i = 0; i < N; i++)
                mean += gram[i * (N + 1)] / N;
            rule.delta *= mean;
            struct deflated f = deflate_plainly(gram, N, L, &rule);
            struct outcome o = fit_well(variants[v].method, "rbf:sigma=4",
                                        centered ? "exact" : "none", "dense", L, rows);
            if (check_picks(variants[v].method, &o, &f, 1e-10))
                check_features(variants[v].method, &o, &f, gram, rows, NULL);
            mercer_model_free(o.model);
            deflated_free(&f);
            free(gram);
        }
    mercer_rows_free(rows);
    free(x);
    assert_int_equal(failures, 0);
}

/* A random subset of candidates: the same for the same seed, other picks for another, an
 * orthonormal basis all the same. */
static void test_selection_of_few_candidates(void **state)
{
    enum { N = 200, L = 8 };
    static const char *const methods[] = {"akfa:candidates=10", "skfa:candidates=10",
                                          "ackfa:delta=0.01,candidates=10", "skfa:terms=20"};
    double *x = ring_rows(32, N), *gram = gram_of("rbf:sigma=4", x, N, 2, true);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int m = 0; m < 4; m++) {
        int64_t first[L] = {0};
        int differ = 0;
        for (int run = 0; run < 6; run++) { /* seeds 1, 1, 2, 3, 4, 5 */
            mercer_ctx_set_seed(ctx, (uint64_t)(run ? run : 1));
            struct outcome o = fit_well(methods[m], "rbf:sigma=4", "exact", "dense", L, rows);
            assert_int_equal(o.info.selected_count, L);
            if (run == 0)
                memcpy(first, o.info.selected, sizeof first);
            if (run == 1)
                assert_memory_equal(o.info.selected, first, sizeof first);
            differ += memcmp(o.info.selected, first, sizeof first) != 0;
            double *y = features_of(&o, rows, NULL, NULL);
            for (int64_t a = 0; a < L; a++) /* Y Y' = K on the picked rows */
                for (int64_t b = 0; b <= a; b++) {
                    int64_t p = o.info.selected[a], q = o.info.selected[b];
                    double dot = -gram[p * N + q];
                    for (int64_t j = 0; j < L; j++)
                        dot += y[p * L + j] * y[q * L + j];
                    assert_true(fabs(dot) <= 1e-12);
                }
            free(y);
            mercer_model_free(o.model);
        }
        assert_true(differ >= 3);
    }
    mercer_rows_free(rows);
    free(gram);
    free(x);
}

/* captured= and a share of components stop at the first feature that reaches the share. */
static void test_selection_stops_at_a_share(void **state)
{
    enum { N = 150, L = 60 };
    double *x = ring_rows(33, N), *gram = gram_of("rbf:sigma=3", x, N, 2, true), total = 0;
    mercer_rows *rows = view(ctx, x, N, 2);
    struct deflated f = deflate_plainly(gram, N, L, &akfa_rule);
    (void)state;
    for (int64_t i = 0; i < N; i++)
        total += gram[i * (N + 1)] / N;
    for (int share = 50; share <= 95; share += 15) {
        char method[64];
        int64_t expected = 0;
        while (1 - f.error[expected++] / total < share / 100.0) {
        }
        snprintf(method, sizeof method, "akfa:captured=0.%d", share);
        struct outcome o = fit_well(method, "rbf:sigma=3", "exact", "dense", L, rows);
        assert_int_equal(o.info.components, expected);
        assert_memory_equal(o.info.selected, f.selected, (size_t)expected * sizeof(int64_t));
        mercer_model_free(o.model);
        snprintf(method, sizeof method, "akfa:components=0.%d", share);
        o = fit_well(method, "rbf:sigma=3", "exact", "dense", 0, rows);
        assert_int_equal(o.info.components, expected);
        mercer_model_free(o.model);
    }
    mercer_rows_free(rows);
    deflated_free(&f);
    free(gram);
    free(x);
}

/* Rows the model has not seen: C'k^_S(t) and k^(t,t) - |y|^2, with the means of the training rows.
 */
static void test_selection_of_new_rows(void **state)
{
    static const char *const specs[] = {"rbf:sigma=4", "poly:degree=2,gamma=0.05", "linear",
                                        "exponential:gamma=0.2"};
    enum { N = 90, T = 25, L = 6 };
    double *x = ring_rows(34, N + T);
    mercer_rows *rows = view(ctx, x, N, 2), *fresh = view(ctx, x + 2 * N, T, 2);
    (void)state;
    for (int s = 0; s < 4; s++)
        for (int centered = 0; centered < 2; centered++) {
            double *all = gram_of(specs[s], x, N + T, 2, false), *mean = new_doubles(N + T);
            double grand = 0, *errors = new_doubles(T);
            struct outcome o =
                fit_well("akfa", specs[s], centered ? "exact" : "none", "dense", L, rows);
            for (int64_t i = 0; centered && i < N + T; i++)
                for (int64_t j = 0; j < N; j++)
                    mean[i] += all[i * (N + T) + j] / N;
            for (int64_t j = 0; j < N; j++)
                grand += mean[j] / N;
            for (int64_t i = 0; i < N + T; i++) /* centre by the training rows alone */
                for (int64_t j = 0; j < N + T; j++)
                    all[i * (N + T) + j] += grand - mean[i] - mean[j];
            double *gram = new_doubles(N * N);
            for (int64_t i = 0; i < N; i++)
                memcpy(gram + i * N, all + i * (N + T), N * sizeof *gram);
            struct deflated f = deflate_plainly(gram, N, L, &akfa_rule);
            int64_t l = o.info.components;
            double *y = features_of(&o, fresh, errors, NULL);
            assert_int_equal(l, f.count);
            for (int64_t t = 0; t < T; t++) {
                double left = all[(N + t) * (N + T + 1)];
                for (int64_t j = 0; j < l; j++) {
                    double value = 0;
                    for (int64_t q = 0; q < l; q++)
                        value += f.c[q * L + j] * all[(N + t) * (N + T) + f.selected[q]];
                    assert_true(fabs(value - y[t * l + j]) <= 1e-10 * sqrt(f.kmax));
                    left -= value * value;
                }
                assert_true(fabs(left - errors[t]) <= 1e-10 * f.kmax);
            }
            assert_true(centered ? o.info.expansion_points == N || o.info.expansion_points == 0
                                 : o.info.expansion_points <= L);
            mercer_model_free(o.model);
            deflated_free(&f);
            free(gram);
            free(all);
            free(mean);
            free(errors);
            free(y);
        }
    mercer_rows_free(rows);
    mercer_rows_free(fresh);
    free(x);
}

/* Depth 1 is pivoted Cholesky (the largest residual), depth n AKFA on the uncentred matrix; maxerr
 * and mserr end it. */
static void test_selection_greedy(void **state)
{
    enum { N = 120, L = 30 };
    double *x = ring_rows(35, N), *gram = gram_of("rbf:sigma=3", x, N, 2, false);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int64_t depth = 1; depth <= N; depth = depth == 1 ? 7 : depth == 7 ? N : N + 1) {
        struct rule rule = {.depth = depth};
        struct deflated f = deflate_plainly(gram, N, L, &rule);
        int64_t by_most = 0, by_mean = 0;
        double most = f.most[19] * 1.0001, mean = f.error[11] * 1.0001;
        char method[128];
        while (f.most[by_most++] > most) {
        }
        while (f.error[by_mean++] > mean) {
        }
        for (int stop = 0; stop < 3; stop++) {
            snprintf(method, sizeof method, "greedy:points=%d,depth=%lld", L, (long long)depth);
            if (stop > 0)
                snprintf(method + strlen(method), sizeof method - strlen(method), ",%s=%.17g",
                         stop == 1 ? "maxerr" : "mserr", stop == 1 ? most : mean);
            struct deflated cut = f;
            cut.count = stop == 0 ? L : stop == 1 ? by_most : by_mean;
            struct outcome o = fit_well(method, "rbf:sigma=3", "span", "dense", 5, rows);
            if (check_picks(method, &o, &cut, 1e-10))
                check_subset(method, &o, &cut, gram, true);
            mercer_model_free(o.model);
        }
        deflated_free(&f);
    }
    mercer_rows_free(rows);
    free(gram);
    free(x);
    assert_int_equal(failures, 0);
}

/* Criterion top: the growth of the largest eigenvalues, as many as features are wanted. */
static void test_selection_top_eigenvalues(void **state)
{
    enum { N = 50, L = 10, M = 3 };
    const struct rule top = {.spread = true, .top = M};
    double *x = ring_rows(36, N), *gram = gram_of("rbf:sigma=3", x, N, 2, false);
    mercer_rows *rows = view(ctx, x, N, 2);
    struct deflated f = deflate_plainly(gram, N, L, &top);
    struct outcome o =
        fit_well("rkpca:points=10,criterion=top", "rbf:sigma=3", "span", "dense", M, rows);
    (void)state;
    if (check_picks("rkpca top", &o, &f, 1e-10))
        check_subset("rkpca top", &o, &f, gram, true);
    mercer_model_free(o.model);
    mercer_rows_free(rows);
    deflated_free(&f);
    free(gram);
    free(x);
    assert_int_equal(failures, 0);
}

/* |y| of two models on the same rows. */
static void assert_same_features(const struct outcome *a, const struct outcome *b,
                                 const mercer_rows *rows, double tolerance)
{
    int64_t count = mercer_rows_count(rows) * a->info.components;
    double *one = features_of(a, rows, NULL, NULL), *two = features_of(b, rows, NULL, NULL);
    assert_int_equal(a->info.components, b->info.components);
    for (int64_t i = 0; i < count; i++) {
        one[i] = fabs(one[i]);
        two[i] = fabs(two[i]);
    }
    assert_close(one, two, count, tolerance * largest_modulus(two, count));
    assert_close(a->info.spectrum, b->info.spectrum, a->info.components,
                 tolerance * b->info.spectrum[0]);
    free(one);
    free(two);
}

/* With every row among the points nothing is lost: kernel PCA. */
static void test_selection_of_all_rows_is_kpca(void **state)
{
    static const char *const specs[] = {"laplacian:gamma=0.3", "rbf:sigma=1", "linear"};
    enum { N = 60, L = 5 };
    double *x = normal_rows(37, N + 20, 2, 0, 3);
    mercer_rows *rows = view(ctx, x, N, 2), *fresh = view(ctx, x + 2 * N, 20, 2);
    (void)state;
    for (int s = 0; s < 3; s++) {
        struct outcome all =
            fit_well("rkpca:points=60", specs[s], "span", "dense", s == 2 ? 2 : L, rows);
        struct outcome kpca = fit_well("kpca", specs[s], "exact", "dense", s == 2 ? 2 : L, rows);
        assert_same_features(&all, &kpca, rows, 1e-7);
        assert_same_features(&all, &kpca, fresh, 1e-7);
        assert_true(fabs(all.info.reconstruction_error - kpca.info.reconstruction_error) <= 1e-9);
        mercer_model_free(all.model);
        mercer_model_free(kpca.model);
    }
    mercer_rows_free(rows);
    mercer_rows_free(fresh);
    free(x);
}

/* Centred Nystroem PCA by its formula, F = (K_nm - kbar) K_mm^-1/2 and the PCA of F: eigenvalues,
 * and |features| of the n rows (n x l). k is the Gram matrix of the n rows and then the m points.
 */
static void plain_nystroem(const double *k, int64_t n, int64_t m, int64_t l, double *spectrum,
                           double *features)
{
    int64_t all = n + m;
    double *a = new_doubles(m * m), *values = new_doubles(m), *u = new_doubles(m * m);
    double *f = new_doubles(n * m), *mean = new_doubles(m), *s = new_doubles(m * m);
    for (int64_t i = 0; i < m; i++)
        memcpy(a + i * m, k + (n + i) * all + n, (size_t)m * sizeof *a);
    ref_eigen(a, m, values, u);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            for (int64_t z = 0; z < m; z++)
                f[i * m + j] += k[i * all + n + z] * u[z * m + j] / sqrt(values[j]);
            mean[j] += f[i * m + j] / (double)n;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = 0; p < m; p++)
            for (int64_t q = 0; q < m; q++)
                s[p * m + q] += (f[i * m + p] - mean[p]) * (f[i * m + q] - mean[q]);
    ref_eigen(s, m, values, u);
    memcpy(spectrum, values, (size_t)l * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < l; j++) {
            double y = 0;
            for (int64_t p = 0; p < m; p++)
                y += (f[i * m + p] - mean[p]) * u[p * m + j];
            features[i * l + j] = fabs(y);
        }
    free(a);
    free(values);
    free(u);
    free(f);
    free(mean);
    free(s);
}

static void test_selection_given_landmarks(void **state)
{
    static const char *const specs[] = {"rbf:sigma=4", "laplacian:gamma=0.1", "poly:degree=2"};
    static const char *const methods[] = {"nystroem", "rkpca", "greedy"};
    enum { N = 100, M = 5, L = 3 };
    double *x = ring_rows(38, N + M); /* the points are no training rows */
    mercer_rows *rows = view(ctx, x, N, 2), *points = view(ctx, x + 2 * N, M, 2);
    (void)state;
    for (int s = 0; s < 3; s++) {
        double *gram = gram_of(specs[s], x, N + M, 2, false), spectrum[L], plain[N * L];
        plain_nystroem(gram, N, M, L, spectrum, plain);
        for (int m = 0; m < 3; m++) {
            struct outcome o = fit(methods[m], specs[s], "span", "dense", L, rows, points);
            if (o.rc != MERCER_OK)
                fail_msg("%s %s: %s", methods[m], specs[s], o.why.text);
            double *y = features_of(&o, rows, NULL, NULL);
            assert_int_equal(o.info.components, L);
            assert_int_equal(o.info.expansion_points, M);
            for (int64_t i = 0; i < N * L; i++)
                y[i] = fabs(y[i]);
            assert_close(y, plain, N * L, 1e-9 * largest_modulus(plain, N * L));
            assert_close(o.info.spectrum, spectrum, L, 1e-9 * spectrum[0]);
            free(y);
            mercer_model_free(o.model);
        }
        free(gram);
    }
    mercer_rows_free(rows);
    mercer_rows_free(points);
    free(x);
}

/* Points chosen by their gain capture more than points drawn at random. */
static void test_selection_beats_random_points(void **state)
{
    static const int points[] = {4, 10, 25};
    enum { N = 200, SEEDS = 5 };
    (void)state;
    for (int which = 0; which < SETS; which++) {
        struct set set = make_set(which, N);
        mercer_rows *rows = view(ctx, set.x, N, set.d);
        for (int k = 3; k < 5; k++) /* rbf, laplacian */
            for (int p = 0; p < 3; p++) {
                const char *kernel = kernel_text(k, set.scale);
                char method[64];
                snprintf(method, sizeof method, "rkpca:points=%d", points[p]);
                struct outcome chosen = fit_well(method, kernel, "span", "dense", points[p], rows);
                for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                    mercer_ctx_set_seed(ctx, seed);
                    snprintf(method, sizeof method, "nystroem:points=%d,sampling=uniform",
                             points[p]);
                    struct outcome drawn =
                        fit_well(method, kernel, "span", "dense", points[p], rows);
                    if (!(chosen.report.projection_variance > drawn.report.projection_variance))
                        complain(set.name, "%s, %d points, seed %d: %.6g chosen, %.6g drawn",
                                 kernel, points[p], (int)seed, chosen.report.projection_variance,
                                 drawn.report.projection_variance);
                    mercer_model_free(drawn.model);
                }
                mercer_model_free(chosen.model);
            }
        mercer_rows_free(rows);
        free(set.x);
    }
    assert_int_equal(failures, 0);
}

/* Split and merge: as good as one problem when it keeps enough, and never better. */
static void test_selection_in_groups(void **state)
{
    enum { N = 200, L = 5 };
    double *x = ring_rows(39, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    struct outcome whole = fit_well("kpca", "rbf:sigma=4", "exact", "dense", L, rows);
    struct outcome parts = fit_well("kpca:groups=4", "rbf:sigma=4", "exact", "dense", L, rows);
    (void)state;
    assert_int_equal(parts.info.components, L);
    assert_true(parts.info.reconstruction_error >= whole.info.reconstruction_error - 1e-12);
    assert_true(parts.info.reconstruction_error <= 1.2 * whole.info.reconstruction_error);
    mercer_model_free(whole.model);
    mercer_model_free(parts.model);
    mercer_rows_free(rows);
    free(x);
}

/* Features and errors of the training rows are numbers. */
static void assert_finite(const struct outcome *o, const mercer_rows *rows)
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

static const char *const all_methods[] = {"akfa",
                                          "skfa",
                                          "ackfa:delta=1e-3,relative=on",
                                          "rkpca:points=10",
                                          "greedy:points=10",
                                          "nystroem:points=10"};
enum { METHODS = 6, SELECTING = 3 }; /* the first ones pick one row a feature */

/* Linear in two columns: two features, whatever is asked for, and a notice. */
static void test_selection_stops_at_the_rank(void **state)
{
    enum { N = 50 };
    double *x = normal_rows(40, N, 2, 1, 1);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int m = 0; m < METHODS; m++)
        for (int centered = 0; centered < 2; centered++) {
            const char *center = !centered ? "none" : m < SELECTING ? "exact" : "span";
            struct outcome o = fit_well(all_methods[m], "linear", center, "dense", 10, rows);
            assert_int_equal(o.info.components, 2);
            assert_true(m >= SELECTING || o.info.selected_count == 2);
            assert_non_null(strstr(notice, "10"));
            assert_non_null(strstr(notice, "2"));
            assert_true(fabs(o.info.reconstruction_error) <= 1e-10);
            assert_finite(&o, rows);
            mercer_model_free(o.model);
        }
    mercer_rows_free(rows);
    free(x);
}

/* Rows that repeat others, or are zero, are never picked. */
static void test_selection_leaves_empty_rows(void **state)
{
    enum { N = 24, D = 12 };
    double *x = normal_rows(41, N, D, 0, 1);
    (void)state;
    memcpy(x + N / 2 * D, x, N / 2 * D * sizeof *x); /* rows 12 ... 23 repeat 0 ... 11 */
    for (int64_t k = 0; k < D; k++)                  /* rows 3 and 15 are zero */
        x[3 * D + k] = x[15 * D + k] = 0;
    mercer_rows *rows = view(ctx, x, N, D);
    for (int m = 0; m < 5; m++)
        for (int linear = 0; linear < 2; linear++) {
            bool taken[N] = {0};
            char method[64];
            snprintf(method, sizeof method, "%s", all_methods[m]);
            if (m >= SELECTING) /* more points than there are directions */
                snprintf(method, sizeof method, "%s:points=24", m == 3 ? "rkpca" : "greedy");
            struct outcome o =
                fit_well(method, linear ? "linear" : "rbf:sigma=3", "none", "dense", N, rows);
            if (m != 2)
                assert_int_equal(o.info.selected_count, 12 - linear);
            for (int64_t i = 0; i < o.info.selected_count; i++) {
                int64_t row = o.info.selected[i] % 12;
                assert_false(taken[row] || (linear && row == 3));
                taken[row] = true;
            }
            assert_finite(&o, rows);
            mercer_model_free(o.model);
        }
    mercer_rows_free(rows);
    free(x);
}

/* One row is a feature of its own without a mean, and nothing with one; so are equal rows. */
static void test_selection_of_equal_rows(void **state)
{
    double x[20];
    (void)state;
    for (int i = 0; i < 20; i++)
        x[i] = i % 2 ? 3 : 4;
    for (int64_t n = 1; n <= 10; n += 9) {
        mercer_rows *rows = view(ctx, x, n, 2);
        for (int m = 0; m < METHODS; m++) {
            struct outcome o = fit_well(all_methods[m], "linear", "none", "dense", 3, rows);
            double *y = features_of(&o, rows, NULL, NULL);
            assert_int_equal(o.info.components, 1);
            assert_true(m == METHODS - 1 || o.info.selected_count == 1);
            for (int64_t i = 0; i < n; i++)
                assert_true(fabs(fabs(y[i]) - 5) <= 1e-12);
            assert_finite(&o, rows);
            free(y);
            mercer_model_free(o.model);
            o = fit(all_methods[m], "rbf:sigma=1", m < SELECTING ? "exact" : "span", "dense", 3,
                    rows, NULL);
            assert_int_equal(o.rc, MERCER_ERR_DATA);
            assert_null(o.model);
            assert_true(strlen(o.why.text) > 10);
        }
        mercer_rows_free(rows);
    }
}

/* A delta above every residual leaves nothing to pick, and the error says what to change. */
static void test_selection_cuts_everything(void **state)
{
    enum { N = 40 };
    double *x = ring_rows(42, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    (void)state;
    for (int relative = 0; relative < 2; relative++) {
        struct outcome o =
            fit(relative ? "ackfa:delta=3,relative=on" : "ackfa:delta=1.5,relative=off",
                "rbf:sigma=4", "exact", "dense", 5, rows, NULL);
        assert_int_equal(o.rc, MERCER_ERR_DATA);
        assert_null(o.model);
        assert_non_null(strstr(o.why.text, "delta"));
    }
    mercer_rows_free(rows);
    free(x);
}

/* A kernel with negative eigenvalues: the rule for validity keeps the picks plain, and numbers. */
static void test_selection_with_an_indefinite_kernel(void **state)
{
    static const char kernel[] = "sigmoid:gamma=0.05,coef0=-0.5";
    enum { N = 60, L = 12 };
    double *x = normal_rows(43, N, 4, 0, 2);
    mercer_rows *rows = view(ctx, x, N, 4);
    (void)state;
    for (int m = 0; m < 3; m++)
        for (int centered = 0; centered < 2; centered++) {
            const struct rule cutting = {.delta = 0.05};
            const struct rule *rule = m == 0 ? &akfa_rule : m == 1 ? &skfa_rule : &cutting;
            static const char *const methods[] = {"akfa", "skfa", "ackfa:delta=0.05,relative=off"};
            double *gram = gram_of(kernel, x, N, 4, centered);
            struct deflated f = deflate_plainly(gram, N, L, rule);
            struct outcome o =
                fit_well(methods[m], kernel, centered ? "exact" : "none", "dense", L, rows);
            check_picks(methods[m], &o, &f, 1e-10);
            assert_finite(&o, rows);
            mercer_model_free(o.model);
            deflated_free(&f);
            free(gram);
        }
    for (int m = SELECTING; m < METHODS; m++)
        for (int centered = 0; centered < 2; centered++) {
            struct outcome o =
                fit_well(all_methods[m], kernel, centered ? "span" : "none", "dense", 4, rows);
            assert_finite(&o, rows);
            mercer_model_free(o.model);
        }
    mercer_rows_free(rows);
    free(x);
    assert_int_equal(failures, 0);
}

/* A precomputed kernel without a mean needs the kept points alone. */
static void test_selection_of_a_matrix_keeps_few_columns(void **state)
{
    enum { N = 70, L = 6 };
    double *x = ring_rows(44, N), *gram = gram_of("rbf:sigma=4", x, N, 2, false);
    mercer_rows *matrix = view(ctx, gram, N, N);
    static const char *const methods[] = {"akfa", "rkpca:points=6"};
    (void)state;
    for (int m = 0; m < 2; m++) {
        struct outcome o =
            fit_well(methods[m], "precomputed", m ? "span" : "none", NULL, L, matrix);
        double *y = features_of(&o, matrix, NULL, NULL), *kept = new_doubles(N * L), *part;
        assert_int_equal(o.info.expansion_points, L);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < L; j++)
                kept[i * L + j] = gram[i * N + o.info.selected[j]];
        mercer_rows *few = view(ctx, kept, N, L);
        part = features_of(&o, few, NULL, NULL);
        assert_close(part, y, N * o.info.components, 1e-13);
        mercer_rows_free(few);
        mercer_model_free(o.model);
        free(y);
        free(kept);
        free(part);
    }
    mercer_rows_free(matrix);
    free(gram);
    free(x);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, each_setup, each_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_selection_ring),
        TEST(test_selection_blobs),
        TEST(test_selection_wide),
        TEST(test_selection_variants),
        TEST(test_selection_of_few_candidates),
        TEST(test_selection_stops_at_a_share),
        TEST(test_selection_of_new_rows),
        TEST(test_selection_greedy),
        TEST(test_selection_top_eigenvalues),
        TEST(test_selection_of_all_rows_is_kpca),
        TEST(test_selection_given_landmarks),
        TEST(test_selection_beats_random_points),
        TEST(test_selection_in_groups),
        TEST(test_selection_stops_at_the_rank),
        TEST(test_selection_leaves_empty_rows),
        TEST(test_selection_of_equal_rows),
        TEST(test_selection_cuts_everything),
        TEST(test_selection_with_an_indefinite_kernel),
        TEST(test_selection_of_a_matrix_keeps_few_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
