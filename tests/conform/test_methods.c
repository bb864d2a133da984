/* SPDX-License-Identifier: BSD-3-Clause */
/* What every registered method and kernel must do, through the public interface: a new one is
 * covered by being listed. */
#include "support.h"

#include "fit_support.h"
#include "gram/gram.h"

#include <float.h>
#include <stdio.h>
#include <unistd.h>

struct set {
    const char *name;
    int64_t n, d;
    double *x;
};

enum { SETS = 7 };

/* Sweep number `index` of failing allocations: a store that callers may ask for, by its being
 * listed; then "combined", a kernel of several parts; then NULL. */
enum { SWEEP_SIZE = 32 };
static const char *sweep_at(int index, char name[SWEEP_SIZE])
{
    int stores = 0;
    for (const char *word = mrc_store_choices; (word = strchr(word, '|')); stores++) {
        word++;
        if (stores == index) {
            snprintf(name, SWEEP_SIZE, "%.*s", (int)strcspn(word, "|"), word);
            return name;
        }
    }
    return index == stores ? "combined" : NULL;
}

static bool is_sweep(const char *given)
{
    char name[SWEEP_SIZE];
    const char *sweep;
    for (int s = 0; (sweep = sweep_at(s, name)); s++)
        if (strcmp(sweep, given) == 0)
            return true;
    return false;
}

static const char *only_sweep; /* the one that the command line asks for; NULL: all */

static void make_sets(struct set sets[SETS])
{
    sets[0] = (struct set){"ring", 300, 2, ring_rows(1, 300)};
    sets[1] = (struct set){"wide", 40, 60, normal_rows(2, 40, 60, 0, 1)};
    sets[2] = (struct set){"one column", 50, 1, normal_rows(3, 50, 1, 5, 2)};
    sets[3] = (struct set){"duplicates", 90, 3, normal_rows(4, 90, 3, 0, 1)};
    for (int64_t i = 30; i < 90; i++)
        memcpy(sets[3].x + i * 3, sets[3].x + i % 30 * 3, 3 * sizeof(double));
    sets[4] = (struct set){"tiny", 60, 3, normal_rows(5, 60, 3, 0, 1e-12)};
    sets[5] = (struct set){"huge", 60, 3, normal_rows(6, 60, 3, 1e9, 1e8)};
    sets[6] = (struct set){"low rank", 80, 5, normal_rows(7, 80, 5, 0, 1)};
    for (int64_t i = 0; i < 80; i++)
        for (int64_t k = 2; k < 5; k++)
            sets[6].x[i * 5 + k] = sets[6].x[i * 5] * (double)k;
}

static void free_sets(struct set sets[SETS])
{
    for (int s = 0; s < SETS; s++)
        free(sets[s].x);
}

/* Every kernel of the registry that takes rows, and some in another form. */
enum { MAX_KERNELS = 64 };
static const char *kernels[MAX_KERNELS];
static int kernel_count;

static void list_kernels(void)
{
    static const struct {
        const char *name, *spec;
    } keyed[] = {
        {"poly", "poly:degree=2"},
        {"sigmoid", "sigmoid:gamma=0.01"}, /* beyond, it is all but constant */
        {"precomputed", NULL},             /* the rows are not a matrix */
    };
    static const char *const others[] = {"matern:nu=2.5", "0.7*rbf + linear",
                                         "rbf*poly:degree=2 + 2*laplacian"};
    const mercer_entry *entry;
    for (int i = 0; (entry = mercer_kernel_at(i)); i++) {
        const char *spec = mercer_entry_name(entry);
        for (size_t k = 0; spec && k < sizeof keyed / sizeof *keyed; k++)
            if (strcmp(keyed[k].name, spec) == 0)
                spec = keyed[k].spec;
        assert_true(kernel_count + 3 < MAX_KERNELS);
        if (spec)
            kernels[kernel_count++] = spec;
    }
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        kernels[kernel_count++] = others[k];
}

static bool quick; /* a quick run: kernels linear and rbf, two heads */

static bool is_left_out(const char *kernel)
{
    return quick && strcmp(kernel, "linear") != 0 && strcmp(kernel, "rbf") != 0;
}

/* The rows, without negative values for a kernel that has no use for them. */
static double *copy_for(const char *kernel, const double *x, int64_t count)
{
    double *copy = new_doubles(count);
    memcpy(copy, x, (size_t)count * sizeof *x);
    make_nonnegative(kernel, copy, count);
    return copy;
}

/* Whether a method has no kernel but the linear one. */
static bool is_linear(const char *method)
{
    return strcmp(method, "pca") == 0 || strcmp(method, "pls") == 0;
}

/* Whether it learns from labels of -1 and +1 alone. */
static bool needs_signs(const char *method)
{
    return strncmp(method, "kboost", strlen("kboost")) == 0;
}

/* Whether it refuses a matrix that is not semidefinite. */
static bool needs_semidefinite(const char *method)
{
    return strncmp(method, "krr", 3) == 0 || strncmp(method, "kfd", 3) == 0 ||
           strncmp(method, "tipping", 7) == 0;
}

/* Targets for n rows: values, or classes for a method that learns from nothing else. */
static mercer_targets *targets_for(const char *method, int64_t n)
{
    static const char *const names[] = {"a", "b", "c"};
    double *values = new_doubles(n);
    int64_t *codes = calloc((size_t)n, sizeof *codes);
    mercer_targets *targets = NULL;
    assert_non_null(codes);
    for (int64_t i = 0; i < n; i++) {
        codes[i] = i % 3;
        values[i] =
            needs_signs(method) ? (i % 3 == 0 ? 1 : -1) : (double)(i % 3) + 0.01 * (double)i;
    }
    if (strncmp(method, "koca", 4) == 0 || strncmp(method, "kfd", 3) == 0)
        assert_ok(mercer_targets_new_classes(codes, n, names, 3, NULL, &targets, err));
    else
        assert_ok(mercer_targets_new_values(values, n, 1, NULL, &targets, err));
    free(values);
    free(codes);
    return targets;
}

/* koca does not take fewer components than were asked for, and need not find the best ones. */
#define KOCA "koca:components=2,iterations=10"

static mercer_status fit(mercer_ctx *ctx, const char *method, const char *kernel,
                         const mercer_rows *rows, mercer_model **model, mercer_fit_report *report,
                         mercer_error *err)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.want_features = report != NULL;
    /* Methods that learn from targets get some; the others do not look at them. */
    mercer_targets *targets = targets_for(method, mercer_rows_count(rows));
    mercer_status rc = mercer_fit(ctx, &options, rows, targets, model, report, err);
    mercer_targets_free(targets);
    return rc;
}

static mercer_model_info info_of(const mercer_model *model)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    return info;
}

/* Rounding of kernel values: what differences far below them cannot be rid of. */
static double rounding_of(const mercer_model *model, const mercer_rows *rows)
{
    mrc_kernel kernel;
    double kmax = 0;
    assert_ok(mrc_kernel_parse(&kernel, info_of(model).kernel, err));
    assert_ok(mrc_kernel_resolve(&kernel, NULL, rows, err));
    for (int64_t i = 0; i < rows->n; i++) {
        const double *x = rows->x + i * rows->ld;
        kmax = fmax(kmax, fabs(naive_kernel(&kernel, x, x, rows->d)));
    }
    return 64 * DBL_EPSILON * kmax;
}

/* What its scale does to the rounding of kernel values in feature j: features of length one magnify
 * that of values that hardly differ. Its covariance over its alignment is the square of what a
 * direction of length one gives, in units of the targets' variance, which is about 1 here. */
static double magnification(const mercer_model_info *info, int64_t n, int64_t j)
{
    if (!info->alignment || !(info->alignment[j] > 0))
        return 1;
    return fmax(1, info->spectrum[j] / ((double)n * info->covariance[j] / info->alignment[j]));
}

/* Scores of the training rows: finite, uncorrelated unless the model says otherwise, with squared
 * lengths equal to the spectrum, and the mean error equal to what the fit reported. */
static void check_scores(mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows)
{
    mercer_model_info info = info_of(model);
    int64_t n = mercer_rows_count(rows), l = info.components;
    double *scores = new_doubles(n * l), *errors = new_doubles(n), sum = 0;
    double rounding = rounding_of(model, rows);
    bool has_errors = info.orthonormal;
    /* Features of a scale of their own: rounding grows with them. */
    if (info.spectrum && !has_errors && !info.alignment)
        rounding *= fmax(info.spectrum[0] / ((double)n * info.total_variance), 1);
    assert_ok(
        mercer_model_transform(ctx, model, rows, NULL, scores, has_errors ? errors : NULL, err));
    for (int64_t i = 0; i < n * l; i++)
        assert_true(isfinite(scores[i]));
    for (int64_t j = 0; info.spectrum && j < l; j++)
        for (int64_t k = info.correlated ? j : 0; k <= j; k++) {
            double dot = j == k ? -info.spectrum[j] : 0;
            for (int64_t i = 0; i < n; i++)
                dot += scores[i * l + j] * scores[i * l + k];
            /* Dual directions lose eps times the condition of their triangular factor. */
            double width = info.alignment ? 1e-6 : 1e-9;
            double magnified = sqrt(magnification(&info, n, j) * magnification(&info, n, k));
            assert_true(fabs(dot) <= width * info.spectrum[0] + magnified * (double)n * rounding);
        }
    for (int64_t i = 0; i < n; i++)
        sum += errors[i] / (double)n;
    if (has_errors)
        assert_true(fabs(sum - info.reconstruction_error) <=
                    1e-9 * fmax(fabs(info.total_variance), fabs(sum)) + rounding);
    else
        assert_true(isnan(info.reconstruction_error));
    free(scores);
    free(errors);
}

/* The features that a fit handed over are those of a transform. */
static void check_features(mercer_ctx *ctx, const mercer_model *model, const mercer_rows *rows,
                           double *features)
{
    int64_t count = mercer_rows_count(rows) * info_of(model).components;
    double *projected = new_doubles(count);
    assert_non_null(features);
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, projected, NULL, err));
    assert_close(features, projected, count, 1e-12 * largest_modulus(projected, count));
    mercer_free(features);
    free(projected);
}

/* The method with keys that suit every set: what a stream drops from its library is missing from
 * its scores. */
static const char *spec_for_any_set(const char *method)
{
    if (strcmp(method, "koca") == 0)
        return KOCA;
    return strcmp(method, "ikpca") == 0 ? "ikpca:compress=none" : method;
}

static void test_methods_fit_every_set_with_every_kernel(void **state)
{
    struct set sets[SETS];
    const mercer_entry *entry;
    (void)state;
    make_sets(sets);
    for (int m = 0; (entry = mercer_method_at(m)); m++)
        for (int s = 0; s < SETS; s++)
            for (int k = 0; k < kernel_count; k++) {
                const char *method = mercer_entry_name(entry);
                if (is_left_out(kernels[k]) ||
                    (is_linear(method) && strcmp(kernels[k], "linear") != 0))
                    continue;
                mercer_ctx *ctx = new_ctx(2);
                double *x = copy_for(kernels[k], sets[s].x, sets[s].n * sets[s].d);
                mercer_rows *rows = view(ctx, x, sets[s].n, sets[s].d);
                mercer_model *model = NULL;
                mercer_fit_report report = {.struct_size = sizeof report};
                mercer_error why = {0};
                const char *spec = spec_for_any_set(method);
                mercer_status rc = fit(ctx, spec, kernels[k], rows, &model, &report, &why);
                print_message("%s %s %s: %s\n", method, sets[s].name, kernels[k],
                              rc ? why.text : report.store);
                /* A tiny or huge set may leave nothing above rounding for a kernel with a constant
                 * or with saturation; that has to be said, never computed. */
                if (rc != MERCER_OK) {
                    assert_int_equal(rc, MERCER_ERR_DATA);
                    /* A direction of an indefinite kernel may have no length. */
                    assert_true(strncmp(kernels[k], "sigmoid", 7) == 0 ||
                                strcmp(sets[s].name, "tiny") == 0 ||
                                strcmp(sets[s].name, "huge") == 0 || sets[s].d == 1);
                } else {
                    check_scores(ctx, model, rows);
                    check_features(ctx, model, rows, report.features);
                }
                mercer_model_free(model);
                mercer_rows_free(rows);
                mercer_ctx_free(ctx);
                free(x);
            }
    free_sets(sets);
}

/* Features out of the fit, of every method with every store, centring, precision and head: those of
 * a transform, beside a model that has the same bytes as without them. */
static void test_methods_hand_over_features(void **state)
{
    enum { N = 300, D = 2 };
    static const char *const centers[] = {"none", "exact", "span"};
    static const char *const scales[] = {"none", "standard"};
    char store[SWEEP_SIZE];
    const mercer_entry *entry;
    double *x = ring_rows(5, N);
    int fits = 0;
    (void)state;
    for (int m = 0; (entry = mercer_method_at(m)); m++)
        for (int s = 0; sweep_at(s, store); s++)
            for (int c = 0; c < 12; c++) {
                mercer_ctx *ctx = new_ctx(2);
                mercer_rows *rows = view(ctx, x, N, D);
                mercer_targets *targets = targets_for(mercer_entry_name(entry), N);
                mercer_fit_report report = {.struct_size = sizeof report};
                mercer_model *models[2] = {NULL};
                mercer_fit_options options;
                void *bytes[2];
                size_t size[2];
                mercer_fit_options_init(&options);
                options.method = spec_for_any_set(mercer_entry_name(entry));
                options.store = strcmp(sweep_at(s, store), "combined") == 0 ? NULL : store;
                options.kernel = options.store ? NULL : "0.7*rbf + linear";
                if (is_linear(options.method))
                    options.kernel = "linear";
                options.center = centers[c % 3];
                options.scale = scales[c / 3 % 2];
                options.precision = c >= 9 ? "single" : NULL;
                options.head = c % 2 ? "none" : NULL;
                mercer_status rc = mercer_fit(ctx, &options, rows, targets, &models[0], NULL, NULL);
                if (rc == MERCER_OK) { /* else the choices do not go together */
                    mercer_ctx_set_seed(ctx, 1);
                    options.want_features = 1;
                    assert_ok(mercer_fit(ctx, &options, rows, targets, &models[1], &report, err));
                    check_features(ctx, models[1], rows, report.features);
                    for (int k = 0; k < 2; k++)
                        assert_ok(mercer_model_to_bytes(ctx, models[k], &bytes[k], &size[k], err));
                    assert_int_equal(size[0], size[1]);
                    assert_memory_equal(bytes[0], bytes[1], size[0]);
                    for (int k = 0; k < 2; k++) {
                        mercer_free(bytes[k]);
                        mercer_model_free(models[k]);
                    }
                    fits++;
                }
                mercer_targets_free(targets);
                mercer_rows_free(rows);
                mercer_ctx_free(ctx);
            }
    assert_true(fits > 400);
    free(x);
}

/* Who wants features needs a report that can hold them. */
static void test_features_need_a_report(void **state)
{
    enum { N = 60 };
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(6, N);
    mercer_rows *rows = view(ctx, x, N, 2);
    mercer_fit_report report;
    mercer_fit_options options;
    mercer_evaluate_options evaluate;
    mercer_evaluation *result = NULL;
    mercer_stream *stream = NULL;
    mercer_model *model = NULL;
    mercer_error why = {0};
    (void)state;
    mercer_fit_options_init(&options);
    mercer_fit_report_init(&report);
    options.method = "kpca";
    options.want_features = 1;
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, NULL, &why),
                     MERCER_ERR_ARGUMENT);
    assert_string_equal(why.key, "want_features");
    report.struct_size = offsetof(mercer_fit_report, features);
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, &report, &why),
                     MERCER_ERR_ARGUMENT);
    report.struct_size = SIZE_MAX; /* nobody set it */
    assert_int_equal(mercer_fit(ctx, &options, rows, NULL, &model, &report, &why),
                     MERCER_ERR_ARGUMENT);
    assert_null(model);
    report.struct_size = sizeof report;
    mercer_evaluate_options_init(&evaluate);
    evaluate.fit = &options;
    assert_int_equal(mercer_evaluate(ctx, &evaluate, rows, NULL, &result, &why),
                     MERCER_ERR_ARGUMENT);
    assert_string_equal(why.key, "want_features");
    options.method = "ikpca";
    assert_int_equal(mercer_stream_new(ctx, &options, &stream, &why), MERCER_ERR_ARGUMENT);
    assert_string_equal(why.key, "want_features");
    options.novelty = 0.1; /* fits once more inside */
    for (int m = 0; m < 2; m++) {
        int64_t live = mrc_alloc_live(), k = 0;
        mercer_status rc;
        options.method = m ? "kpca" : "ikpca:block=20";
        do {
            mrc_alloc_fail_after(k++);
            rc = mercer_fit(ctx, &options, rows, NULL, &model, &report, NULL);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_true(rc == MERCER_OK || mrc_alloc_live() == live);
        } while (rc != MERCER_OK);
        check_features(ctx, model, rows, report.features);
        mercer_model_free(model);
    }
    options.want_features = 0;
    assert_ok(mercer_fit(ctx, &options, rows, NULL, &model, &report, err));
    assert_null(report.features);
    mercer_model_free(model);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(x);
}

static void test_methods_give_the_same_bits_for_any_thread_count(void **state)
{
    enum { N = 700 };
    const mercer_entry *entry;
    (void)state;
    double *x = ring_rows(3, N);
    for (int m = 0; (entry = mercer_method_at(m)); m++) {
        double *scores[2];
        int64_t l = 0;
        for (int threads = 1; threads <= 2; threads++) {
            mercer_ctx *ctx = new_ctx(threads);
            mercer_rows *rows = view(ctx, x, N, 2);
            mercer_model *model = NULL;
            assert_ok(fit(ctx, mercer_entry_name(entry), NULL, rows, &model, NULL, err));
            l = info_of(model).components;
            scores[threads - 1] = new_doubles(N * l);
            assert_ok(
                mercer_model_transform(ctx, model, rows, NULL, scores[threads - 1], NULL, err));
            mercer_model_free(model);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
        assert_memory_equal(scores[0], scores[1], (size_t)(N * l) * sizeof(double));
        free(scores[0]);
        free(scores[1]);
    }
    free(x);
}

static void test_methods_refuse_bad_calls(void **state)
{
    const mercer_entry *entry;
    (void)state;
    mercer_ctx *ctx = new_ctx(1);
    double *x = ring_rows(3, 50), same[20];
    mercer_rows *rows = view(ctx, x, 50, 2), *one = view(ctx, x, 1, 2), *constant;
    mercer_error why;
    for (int i = 0; i < 20; i++)
        same[i] = 3;
    constant = view(ctx, same, 10, 2);
    for (int m = 0; (entry = mercer_method_at(m)); m++) {
        const char *name = mercer_entry_name(entry);
        char spec[128];
        mercer_model *model = NULL;
        snprintf(spec, sizeof spec, "%s:nonsense=1", name);
        assert_int_equal(fit(ctx, spec, NULL, rows, &model, NULL, &why), MERCER_ERR_ARGUMENT);
        assert_non_null(strstr(why.text, "nonsense"));
        snprintf(spec, sizeof spec, "%s:components=nan", name);
        assert_int_equal(fit(ctx, spec, NULL, rows, &model, NULL, &why), MERCER_ERR_ARGUMENT);
        snprintf(spec, sizeof spec, "%s:components=-3", name);
        assert_int_equal(fit(ctx, spec, NULL, rows, &model, NULL, &why), MERCER_ERR_ARGUMENT);
        snprintf(spec, sizeof spec, "%s:components=2.5", name);
        assert_int_equal(fit(ctx, spec, NULL, rows, &model, NULL, &why), MERCER_ERR_ARGUMENT);
        assert_non_null(strstr(why.text, "2.5"));
        assert_int_equal(fit(ctx, name, "rbf:sigma=0", rows, &model, NULL, &why),
                         MERCER_ERR_ARGUMENT);
        assert_int_equal(fit(ctx, name, "nosuch", rows, &model, NULL, &why), MERCER_ERR_ARGUMENT);
        assert_non_null(strstr(why.text, "nosuch"));
        assert_int_equal(fit(ctx, name, NULL, one, &model, NULL, &why), MERCER_ERR_DATA);
        assert_int_equal(fit(ctx, name, NULL, constant, &model, NULL, &why), MERCER_ERR_DATA);
        assert_non_null(strstr(why.text, "do not differ"));
        assert_null(model);
    }
    x[7] = NAN;
    mercer_rows *bad = NULL;
    assert_int_equal(view_f64(ctx, x, 50, 2, 2, &bad, &why), MERCER_ERR_DATA);
    assert_null(bad);
    mercer_rows_free(rows);
    mercer_rows_free(one);
    mercer_rows_free(constant);
    mercer_ctx_free(ctx);
    free(x);
}

static void test_methods_save_and_load_bit_for_bit(void **state)
{
    const mercer_entry *entry;
    char path[] = "/tmp/mercer-conform-XXXXXX";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    double *x = ring_rows(3, 200), *fresh = ring_rows(4, 77);
    for (int m = 0; (entry = mercer_method_at(m)); m++)
        for (int k = 0; k < kernel_count; k++) {
            if (is_left_out(kernels[k]) ||
                (is_linear(mercer_entry_name(entry)) && strcmp(kernels[k], "linear") != 0))
                continue;
            mercer_ctx *ctx = new_ctx(2);
            double *mine = copy_for(kernels[k], x, 400), *other = copy_for(kernels[k], fresh, 154);
            mercer_rows *rows = view(ctx, mine, 200, 2), *new_rows = view(ctx, other, 77, 2);
            mercer_model *model = NULL, *loaded = NULL;
            const char *name = mercer_entry_name(entry), *spec = kernels[k];
            if (needs_semidefinite(name) && strncmp(spec, "sigmoid", 7) == 0) {
                mercer_error why = {0};
                assert_int_equal(fit(ctx, name, spec, rows, &model, NULL, &why), MERCER_ERR_DATA);
                assert_non_null(strstr(why.text, "semidefinite"));
                spec = "rbf";
            }
            assert_ok(
                fit(ctx, strcmp(name, "koca") == 0 ? KOCA : name, spec, rows, &model, NULL, err));
            assert_ok(mercer_model_save(ctx, model, path, err));
            assert_ok(mercer_model_load(ctx, path, &loaded, err));
            int64_t l = info_of(model).components;
            assert_int_equal(info_of(loaded).components, l);
            double *before = new_doubles(77 * l), *after = new_doubles(77 * l);
            double errors_before[77] = {0}, errors_after[77] = {0};
            bool errors = info_of(model).orthonormal;
            assert_ok(mercer_model_transform(ctx, model, new_rows, NULL, before,
                                             errors ? errors_before : NULL, err));
            assert_ok(mercer_model_transform(ctx, loaded, new_rows, NULL, after,
                                             errors ? errors_after : NULL, err));
            assert_memory_equal(before, after, (size_t)(77 * l) * sizeof(double));
            assert_memory_equal(errors_before, errors_after, sizeof errors_before);
            free(before);
            free(after);
            free(mine);
            free(other);
            mercer_model_free(model);
            mercer_model_free(loaded);
            mercer_rows_free(rows);
            mercer_rows_free(new_rows);
            mercer_ctx_free(ctx);
        }
    unlink(path);
    free(x);
    free(fresh);
}

/* Features and errors of new rows by a model that went through a file. */
static void check_store(mercer_ctx *ctx, const mercer_fit_options *options, const char *path,
                        const mercer_rows *rows, const mercer_rows *fresh, double *features,
                        double *errors)
{
    mercer_model *model = NULL, *loaded = NULL;
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_error why = {0};
    mercer_status rc = mercer_fit(ctx, options, rows, NULL, &model, &report, &why);
    print_message("%s, store %s: %s\n", options->kernel, options->store,
                  rc ? why.text : report.store);
    if (rc != MERCER_OK)
        fail_msg("%s", why.text);
    assert_true((double)info_of(model).components == options->components);
    assert_ok(mercer_model_save(ctx, model, path, err));
    assert_ok(mercer_model_load(ctx, path, &loaded, err));
    assert_ok(mercer_model_transform(ctx, loaded, fresh, NULL, features, errors, err));
    int64_t n = mercer_rows_count(fresh), l = info_of(model).components;
    double *before = new_doubles(n * l);
    assert_ok(mercer_model_transform(ctx, model, fresh, NULL, before, NULL, err));
    assert_memory_equal(before, features, (size_t)(n * l) * sizeof(double));
    free(before);
    mercer_model_free(model);
    mercer_model_free(loaded);
}

/* The stores that a caller may ask for, "auto" first, the toy among them; words has room for all.
 */
static int stores_of_options(char words[128], const char *stores[8])
{
    mercer_parameter option = {.struct_size = sizeof option};
    char *rest = NULL;
    int count = 0;
    for (int i = 0; mercer_fit_option_at(i, &option); i++)
        if (strcmp(option.key, "store") == 0)
            snprintf(words, 128, "%s", option.choices);
    for (char *w = strtok_r(words, "|", &rest); w; w = strtok_r(NULL, "|", &rest)) {
        assert_true(count < 8);
        stores[count++] = w;
    }
    assert_string_equal(stores[0], "auto");
    assert_true(count >= 4);
    return count;
}

/* Dense and sparse rows in every store that can hold the kernel's matrix give the same features. */
static void test_kernels_give_the_same_in_every_store(void **state)
{
    enum { N = 150, D = 5, T = 40, L = 3 };
    char path[] = "/tmp/mercer-conform-XXXXXX", words[128];
    const char *stores[8];
    const int store_count = stores_of_options(words, stores);
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (int k = 0; k < kernel_count; k++) {
        mercer_ctx *ctx = new_ctx(2);
        mrc_kernel kernel;
        double *x = normal_rows(8, N, D, 0.3, 1), *fresh = normal_rows(9, T, D, 0.3, 1);
        double *features = new_doubles(T * L), *others = new_doubles(T * L), errors[T],
               distances[T];
        if (is_left_out(kernels[k]))
            goto next;
        assert_ok(mrc_kernel_parse(&kernel, kernels[k], err));
        make_nonnegative(kernels[k], x, N * D);
        make_nonnegative(kernels[k], fresh, T * D);
        thin_out(8, x, N * D, 0.5);
        thin_out(9, fresh, T * D, 0.5);
        for (int s = 0; s < store_count; s++)
            for (int sparse = 0; sparse < 2; sparse++) {
                mercer_rows *rows[2];
                mercer_fit_options options;
                if (strcmp(stores[s], "lowrank") == 0 && !mrc_kernel_is_semidefinite(&kernel))
                    continue;
                rows[0] = sparse ? sparse_copy(x, N, D) : view(ctx, x, N, D);
                rows[1] = sparse ? sparse_copy(fresh, T, D) : view(ctx, fresh, T, D);
                mercer_fit_options_init(&options);
                options.method = "kpca";
                options.kernel = kernels[k];
                options.store = stores[s];
                options.components = L;
                bool first = s == 0 && sparse == 0;
                check_store(ctx, &options, path, rows[0], rows[1], first ? features : others,
                            first ? errors : distances);
                double size = largest_modulus(features, T * L);
                if (!first) {
                    assert_close(others, features, T * L, 1e-7 * size);
                    assert_close(distances, errors, T, 1e-7 * size * size);
                }
                mercer_rows_free(rows[0]);
                mercer_rows_free(rows[1]);
            }
    next:
        free(x);
        free(fresh);
        free(features);
        free(others);
        mercer_ctx_free(ctx);
    }
    unlink(path);
}

/* Every head takes every method: predictions survive a file bit for bit, and those from the first
 * features are those of the truncated model. */
static void test_methods_predict_with_every_head(void **state)
{
    enum { N = 200 };
    static const char *const names[] = {"left", "right"};
    const mercer_entry *method, *head;
    char path[] = "/tmp/mercer-conform-XXXXXX";
    int64_t codes[N];
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    double *x = ring_rows(3, N);
    for (int64_t i = 0; i < N; i++)
        codes[i] = x[2 * i] > 0;
    for (int m = 0; (method = mercer_method_at(m)); m++)
        for (int h = 0; (head = mercer_head_at(h)); h++) {
            if (quick && h >= 2 && strcmp(mercer_entry_name(head), "toy") != 0)
                continue;
            /* This one hands on features that are predictions. */
            bool direct = strcmp(mercer_entry_name(head), "direct") == 0;
            if (direct && strcmp(mercer_entry_name(method), "krr") != 0)
                continue;
            mercer_ctx *ctx = new_ctx(2);
            mercer_rows *rows = view(ctx, x, N, 2);
            mercer_targets *targets = NULL;
            mercer_model *model = NULL, *loaded = NULL, *shorter = NULL;
            mercer_fit_options options;
            double before[2 * N], after[2 * N];
            mercer_fit_options_init(&options);
            options.method = mercer_entry_name(method);
            options.head = mercer_entry_name(head);
            options.components = 2;
            assert_ok(mercer_targets_new_classes(codes, N, names, 2, NULL, &targets, err));
            assert_ok(mercer_fit(ctx, &options, rows, targets, &model, NULL, err));
            /* Two independent components need not be about left and right. */
            if (strcmp(options.method, "kica") != 0)
                assert_true(info_of(model).head_errors[info_of(model).components - 1] < 0.25);
            assert_ok(mercer_model_save(ctx, model, path, err));
            assert_ok(mercer_model_load(ctx, path, &loaded, err));
            assert_ok(mercer_model_predict(ctx, model, rows, 0, before, NULL, err));
            assert_ok(mercer_model_predict(ctx, loaded, rows, 0, after, NULL, err));
            assert_memory_equal(before, after, sizeof before);
            assert_ok(mercer_model_truncate(ctx, model, 1, &shorter, err));
            /* Support vectors are of all features or of none, and such a head is left out. */
            mercer_status rc = mercer_model_predict(ctx, model, rows, 1, before, NULL, NULL);
            bool whole = (direct || strstr(options.head, "svm")) && info_of(model).components > 1;
            assert_int_equal(rc, whole ? MERCER_ERR_ARGUMENT : MERCER_OK);
            assert_int_equal(info_of(shorter).head == NULL, whole);
            if (!whole) {
                assert_ok(mercer_model_predict(ctx, shorter, rows, 0, after, NULL, err));
                assert_close(before, after, 2 * N, 1e-10 * (1 + largest_modulus(before, 2 * N)));
            }
            mercer_model_free(model);
            mercer_model_free(loaded);
            mercer_model_free(shorter);
            mercer_targets_free(targets);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
    unlink(path);
    free(x);
}

/* The toys of tests/toys are in their lists, so that all tests here run them: one more of a kind
 * takes no more than its own files and lines. */
static void test_toys_are_listed(void **state)
{
    const mercer_entry *entry;
    mercer_parameter option = {.struct_size = sizeof option};
    const mercer_entry *(*const lists[])(int) = {mercer_method_at, mercer_kernel_at, mercer_head_at,
                                                 mercer_format_at};
    int options = 0, stores = 0;
    (void)state;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        int found = 0;
        for (int i = 0; (entry = lists[l](i)); i++)
            found += strcmp(mercer_entry_name(entry), "toy") == 0;
        assert_int_equal(found, 1);
    }
    for (int i = 0; mercer_fit_option_at(i, &option); i++) {
        options += strcmp(option.key, "toy") == 0;
        stores += strcmp(option.key, "store") == 0 && strstr(option.choices, "|toy");
    }
    assert_int_equal(options, 1);
    assert_int_equal(stores, 1);
}

/* Every option of a fit that is a choice: each of its words is taken, and nothing else is. A method
 * may refuse a word, but says its own name then. */
static void test_methods_take_every_choice(void **state)
{
    const mercer_entry *entry;
    mercer_parameter option = {.struct_size = sizeof option};
    (void)state;
    for (int m = 0; (entry = mercer_method_at(m)); m++)
        for (int i = 0; mercer_fit_option_at(i, &option); i++) {
            char words[128], *rest = NULL;
            mercer_fit_options options;
            mercer_error why = {0};
            if (option.type != MERCER_PARAMETER_CHOICE)
                continue;
            snprintf(words, sizeof words, "%s", option.choices);
            mercer_fit_options_init(&options);
            options.method = mercer_entry_name(entry);
            options.head = strcmp(option.key, "scale_target") == 0 ? "ls" : NULL;
            for (char *w = strtok_r(words, "|", &rest); w; w = strtok_r(NULL, "|", &rest)) {
                assert_ok(mercer_fit_options_set(&options, option.key, w, err));
                if (mercer_fit_options_check(&options, 0, &why) != MERCER_OK)
                    assert_non_null(strstr(why.text, options.method));
            }
            assert_int_equal(mercer_fit_options_set(&options, option.key, "nonsense", &why),
                             MERCER_ERR_ARGUMENT);
            assert_non_null(strstr(why.text, option.key));
        }
}

/* Every allocation of a fit fails in turn: an error code, nothing left behind. */
static void test_methods_survive_every_failing_allocation(void **state)
{
    const mercer_entry *entry;
    const char *sweep;
    char name[SWEEP_SIZE];
    (void)state;
    enum { N = 300 };
    double *x = ring_rows(3, N);
    for (int m = 0; (entry = mercer_method_at(m)); m++)
        for (int s = 0; (sweep = sweep_at(s, name)); s++) {
            bool combined = strcmp(sweep, "combined") == 0;
            if (only_sweep && strcmp(sweep, only_sweep) != 0)
                continue;
            mercer_targets *targets = targets_for(mercer_entry_name(entry), N);
            mercer_ctx *ctx = new_ctx(1);
            mercer_rows *rows = view(ctx, x, N, 2);
            mercer_fit_options options;
            mercer_fit_options_init(&options);
            options.method = mercer_entry_name(entry);
            if (strcmp(options.method, "koca") == 0) /* fewer steps, fewer allocations */
                options.method = "koca:iterations=2,start=kica,restarts=1,holdout=0.2";
            options.store = combined ? "stream" : sweep;
            if (combined && !is_linear(options.method))
                options.kernel = "0.5*rbf + laplacian*cosine";
            options.scale = "standard";
            /* One per target, and no other number. */
            options.components = strcmp(options.method, "krr") == 0 ? 0 : 3;
            check_failing_allocations(ctx, &options, rows, targets);
            mercer_targets_free(targets);
            mercer_rows_free(rows);
            mercer_ctx_free(ctx);
        }
    free(x);
}

/* test_methods [plain | quick | sweep NAME]: every test, all but the sweep of failing allocations,
 * the same with two kernels and two heads, or that sweep with one store only: see sweep_at(). */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_toys_are_listed),
        cmocka_unit_test(test_methods_take_every_choice),
        cmocka_unit_test(test_methods_fit_every_set_with_every_kernel),
        cmocka_unit_test(test_methods_hand_over_features),
        cmocka_unit_test(test_features_need_a_report),
        cmocka_unit_test(test_methods_give_the_same_bits_for_any_thread_count),
        cmocka_unit_test(test_methods_refuse_bad_calls),
        cmocka_unit_test(test_methods_save_and_load_bit_for_bit),
        cmocka_unit_test(test_kernels_give_the_same_in_every_store),
        cmocka_unit_test(test_methods_predict_with_every_head),
        cmocka_unit_test(test_methods_survive_every_failing_allocation),
    };
    if (argc == 2 && (strcmp(argv[1], "plain") == 0 || strcmp(argv[1], "quick") == 0)) {
        cmocka_set_skip_filter("*_failing_allocation");
        quick = strcmp(argv[1], "quick") == 0;
    } else if (argc == 3 && strcmp(argv[1], "sweep") == 0 && is_sweep(argv[2])) {
        only_sweep = argv[2];
        cmocka_set_test_filter("*_failing_allocation");
    } else if (argc > 1) {
        fprintf(stderr, "usage: test_methods [plain | quick | sweep %s|combined]\n",
                strchr(mrc_store_choices, '|') + 1);
        return 2;
    }
    list_kernels();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
