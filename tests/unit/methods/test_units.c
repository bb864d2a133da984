/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows times a power of two: methods take the same rows, and features are the same
 * numbers times that power, to the last bit, wherever kernel values are numbers at all. */
#include "gram/gram.h"
#include "selection_support.h"

enum { N = 60, D = 4, L = 6 };

/* A fit, and what a power of two in the rows becomes in its kernel values and features. */
struct case_of {
    const char *method, *kernel, *center, *store;
    int degree; /* of the kernel in the rows, and of features: degree / 2 */
    bool labels;
    bool unit; /* features are of length one, whatever the rows are */
};

static const struct case_of cases[] = {
    {"akfa", "linear", "exact", "dense", 2, false, false},
    {"akfa", "linear", "none", "stream", 2, false, false},
    {"akfa", "linear", "span", "lowrank", 2, false, false},
    {"akfa:candidates=20", "linear", "exact", "dense", 2, false, false},
    {"skfa", "linear", "exact", "dense", 2, false, false},
    {"skfa:terms=6", "linear", "none", "dense", 2, false, false},
    {"skfa:l1=features,criterion=variance", "linear", "none", "lowrank", 2, false, false},
    {"ackfa:delta=0.01,relative=on", "linear", "exact", "dense", 2, false, false},
    {"rkpca:points=4", "linear", "span", "dense", 2, false, false},
    {"rkpca:points=4,criterion=top", "linear", "span", "stream", 2, false, false},
    {"rkpca:points=4", "linear", "exact", "lowrank", 2, false, false},
    {"greedy:points=4", "linear", "span", "dense", 2, false, false},
    {"greedy:points=4,depth=1", "linear", "span", "stream", 2, false, false},
    {"nystroem:points=4", "linear", "span", "dense", 2, false, false},
    {"tipping", "linear", "span", "dense", 2, false, false},
    {"tipping:directions=model", "linear", "none", "stream", 2, false, false},
    {"tipping", "poly:degree=2,coef0=0,gamma=1", "exact", "lowrank", 4, false, false},
    {"akfa", "poly:degree=2,coef0=0,gamma=1", "exact", "dense", 4, false, false},
    {"akfa", "poly:degree=2,coef0=0,gamma=1", "span", "stream", 4, false, false},
    {"rkpca:points=8", "poly:degree=2,coef0=0,gamma=1", "span", "dense", 4, false, false},
    {"skfa", "poly:degree=2,coef0=0,gamma=1", "exact", "lowrank", 4, false, false},
    {"akfa", "precomputed", "none", NULL, 1, false, false},
    {"rkpca:points=4", "precomputed", "span", NULL, 1, false, false},
    {"sma", "linear", "none", "dense", 2, true, true},
    {"smc", "linear", "none", "stream", 2, true, false},
    {"smc", "linear", "exact", "lowrank", 2, true, false},
    {"sma:candidates=20", "linear", "none", "dense", 2, true, true},
    {"sma:sparsity=2", "linear", "none", "dense", 2, true, true},
    {"smc:sparsity=2", "linear", "none", "dense", 2, true, false},
    {"kpls", "linear", "exact", "dense", 2, true, false},
    {"pls", "linear", "exact", NULL, 2, true, false},
    {"skpls", "linear", "none", "dense", 2, true, false},
    {"blf", "linear", "exact", "dense", 2, true, true},
    {"rkopls", "linear", "none", "dense", 2, true, true},
    {"kha:passes=3", "linear", "exact", NULL, 2, false, false},
    {"kha:passes=3,schedule=decay", "linear", "none", NULL, 2, false, false},
    {"kha:passes=3,block=20,first=20", "poly:degree=2,coef0=0,gamma=1", "exact", NULL, 4, false,
     false},
    {"pca", "linear", "exact", NULL, 2, false, false},
    {"kpca", "linear", "exact", "dense", 2, false, false},
    {"kpca", "linear", "span", "lowrank", 2, false, false},
    {"kica:energy=1", "linear", "exact", "dense", 2, false, true},
    {"kica:energy=1,scheme=symmetric", "linear", "exact", "lowrank", 2, false, true},
    {"kica", "precomputed", "none", NULL, 1, false, true},
    {"cr", "linear", "exact", "dense", 2, true, false},
    {"kboost", "linear", "none", "dense", 2, true, true},
    {"krr", "linear", "exact", "dense", 2, true, true},
    {"krr", "linear", "none", "lowrank", 2, true, true},
    {"krr:ridge=0.001", "poly:degree=2,coef0=0,gamma=1", "exact", "lowrank", 4, true, true},
    {"krr:ridge=0.001", "poly:degree=2,coef0=0,gamma=1", "none", "stream", 4, true, true},
    {"kfd", "linear", "exact", "dense", 2, true, true},
    {"kfd:ridge=0", "linear", "exact", "lowrank", 2, true, true},
    {"kfd", "poly:degree=2,coef0=0,gamma=1", "exact", "dense", 4, true, true},
    {"rkpca:points=4", "poly:degree=2,coef0=0,gamma=1", "exact", "dense", 4, false, false},
    {"kboost", "poly:degree=2,coef0=0,gamma=1", "none", "lowrank", 4, true, true},
    {"rkopls", "poly:degree=2,coef0=0,gamma=1", "exact", "dense", 4, true, true},
    {"nystroem:points=8,sampling=rpcholesky", "poly:degree=2,coef0=0,gamma=1", "exact", "dense", 4,
     false, false},
    {"cr", "poly:degree=2,coef0=0,gamma=1", "exact", "dense", 4, true, false},
    {"blf:loss=log", "poly:degree=2,coef0=0,gamma=1", "none", "dense", 4, true, true},
    {"greedy:points=8", "poly:degree=2,coef0=0,gamma=1", "exact", "lowrank", 4, false, false},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Within the range in which it need not, LAPACK may scale a matrix by what is not a power of two:
 * the same to rounding alone. */
static const struct case_of rounded[] = {
    {"ikpca", "linear", "exact", NULL, 2, false, false},
    {"ikpca", "poly:degree=2,coef0=0,gamma=1", "exact", NULL, 4, false, false},
    {"kpca:groups=3", "linear", "exact", NULL, 2, false, false},
    {"kpca", "poly:degree=2,coef0=0,gamma=1", "exact", "dense", 4, false, false},
    {"kica", "poly:degree=2,coef0=0,gamma=1", "exact", "dense", 4, false, true},
    {"koca:iterations=20", "poly:degree=2,coef0=0,gamma=1", "none", "dense", 4, true, false},
    {"koca:iterations=20,start=kica", "poly:degree=2,coef0=0,gamma=1", "none", "dense", 4, true,
     false},
    {"koca:iterations=20,points=8", "poly:degree=2,coef0=0,gamma=1", "none", "dense", 4, true,
     false},
};
enum { ROUNDED = sizeof rounded / sizeof *rounded };

static const char *precision; /* of the next fits */
static bool may_refuse;       /* they may be out of range, and must say so */

static struct outcome fit_case(const struct case_of *c, const mercer_rows *rows)
{
    struct outcome o = {.info = {.struct_size = sizeof o.info},
                        .report = {.struct_size = sizeof o.report}};
    mercer_fit_options options;
    mercer_targets *targets = NULL;
    int64_t codes[N];
    static const char *const names[] = {"a", "b"};
    for (int i = 0; i < N; i++)
        codes[i] = (i * i / 3 + i / 7) % 2;
    mercer_fit_options_init(&options);
    options.method = c->method;
    options.kernel = c->kernel;
    options.center = c->center;
    options.store = c->store;
    options.precision = precision;
    options.components = strncmp(c->method, "krr", strlen("krr")) == 0 ? 0 : L;
    notice[0] = 0;
    if (c->labels)
        assert_ok(mercer_targets_new_classes(codes, N, names, 2, NULL, &targets, err));
    o.rc = mercer_fit(ctx, &options, rows, targets, &o.model, &o.report, &o.why);
    if (o.rc == MERCER_OK)
        mercer_model_get_info(o.model, &o.info);
    mercer_targets_free(targets);
    return o;
}

/* Rows of a case times 2^power; those of a precomputed kernel are its matrix. */
static double *rows_of(const struct case_of *c, int power)
{
    bool given = strcmp(c->kernel, "precomputed") == 0;
    double *x = normal_rows(77, N, D, 0, 1), *matrix;
    for (int64_t i = 0; i < N * D; i++)
        x[i] = x[i] * (double)(1 + i % D) + 0.25 * (double)(i % D);
    matrix = given ? gram_of("rbf:sigma=4", x, N, D, false) : NULL;
    for (int64_t i = 0; i < N * (given ? N : D); i++)
        (given ? matrix : x)[i] = ldexp((given ? matrix : x)[i], power);
    if (given)
        free(x);
    return given ? matrix : x;
}

/* off_by: share of the largest feature that one may differ by. */
static void compare_powers(const struct case_of *c, const int *powers, int count, double off_by)
{
    bool given = strcmp(c->kernel, "precomputed") == 0;
    struct outcome first = {0};
    double *expected = NULL;
    char what[256];
    for (int p = 0; p <= count; p++) {
        int power = p == 0 ? 0 : powers[p - 1];
        double *x = rows_of(c, power);
        mercer_rows *rows = view(ctx, x, N, given ? N : D);
        mercer_ctx_set_seed(ctx, 1);
        struct outcome o = fit_case(c, rows);
        snprintf(what, sizeof what, "%s, %s, center %s, %s, times 2^%d", c->method, c->kernel,
                 c->center, c->store ? c->store : "auto", power);
        if (o.rc != MERCER_OK && p > 0 && may_refuse) {
            if (!strstr(o.why.text, "scale") && !strstr(o.why.text, "multiply the matrix"))
                complain(what, "no word of what to do: %s", o.why.text);
        } else if (o.rc != MERCER_OK) {
            complain(what, "status %d: %s", (int)o.rc, o.why.text);
        } else {
            int64_t values = N * o.info.components, off = 0;
            double *y = features_of(&o, rows, NULL, NULL);
            if (p == 0) {
                first = o;
                expected = y;
            } else if (o.info.components != first.info.components ||
                       o.info.selected_count != first.info.selected_count ||
                       (o.info.selected &&
                        memcmp(o.info.selected, first.info.selected,
                               (size_t)o.info.selected_count * sizeof(int64_t)) != 0)) {
                complain(what, "other rows or components: %lld and %lld instead of %lld and %lld",
                         (long long)o.info.selected_count, (long long)o.info.components,
                         (long long)first.info.selected_count, (long long)first.info.components);
            } else {
                double most = 0;
                for (int64_t i = 0; i < values; i++)
                    most = fmax(most, fabs(expected[i]));
                for (int64_t i = 0; i < values; i++) {
                    double back = ldexp(y[i], c->unit ? 0 : -power * c->degree / 2);
                    off += !(fabs(back - expected[i]) <= off_by * most);
                }
                double alignment = first.info.kernel_alignment;
                if (isnan(alignment) ? !isnan(o.info.kernel_alignment)
                                     : !(fabs(o.info.kernel_alignment - alignment) <= off_by))
                    complain(what, "alignment %.17g instead of %.17g", o.info.kernel_alignment,
                             alignment);
                double error = ldexp(first.info.reconstruction_error, power * c->degree);
                if (off > 0)
                    complain(what, "%lld of %lld features differ", (long long)off,
                             (long long)values);
                if (o.info.orthonormal &&
                    !(fabs(o.info.reconstruction_error - error) <=
                      ldexp(off_by * first.info.total_variance, power * c->degree)))
                    complain(what, "mean error %.17g instead of %.17g", o.info.reconstruction_error,
                             error);
            }
            if (p > 0) {
                free(y);
                mercer_model_free(o.model);
            }
        }
        mercer_rows_free(rows);
        free(x);
        if (p == 0 && o.rc != MERCER_OK)
            return;
    }
    free(expected);
    mercer_model_free(first.model);
}

static void compare_degrees(const struct case_of *c, double off_by)
{
    enum { POWERS = 12 };
    static const int twice[POWERS] = {-480, -330, -300, -240, -150, -66, -10, 8, 66, 240, 330, 480};
    static const int four[POWERS] = {-238, -200, -150, -66, -32, -10, 8, 32, 66, 150, 200, 238};
    static const int once[POWERS] = {-960, -600, -480, -300, -130, -20,
                                     16,   130,  300,  480,  600,  960};
    compare_powers(c, c->degree == 4 ? four : c->degree == 1 ? once : twice, POWERS, off_by);
}

static void test_units_do_not_change_a_selection(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++)
        compare_degrees(&cases[c], 0);
    for (int c = 0; c < ROUNDED; c++)
        compare_degrees(&rounded[c], 1e-11);
    assert_int_equal(failures, 0);
}

/* Near both ends of the range a fit is right or refused; nothing else, whatever the method. */
static void test_units_at_the_border_are_right_or_refused(void **state)
{
    static const int ends[] = {-528, -520, -500, -492, -488, -486, -485, -484, -483,
                               495,  500,  503,  505,  507,  508,  509,  510,  511};
    (void)state;
    may_refuse = true;
    for (int c = 0; c < CASES + ROUNDED; c++) {
        const struct case_of *one = c < CASES ? &cases[c] : &rounded[c - CASES];
        int powers[sizeof ends / sizeof *ends];
        for (size_t p = 0; p < sizeof ends / sizeof *ends; p++)
            powers[p] = ends[p] * 2 / one->degree;
        compare_powers(one, powers, sizeof ends / sizeof *ends, 1e-9);
    }
    may_refuse = false;
    assert_int_equal(failures, 0);
}

/* Targets times a power of two: the same predictions times that power. Methods that square them may
 * refuse those that have no squares; scaled, they are never refused. */
static void test_units_of_targets(void **state)
{
    static const struct {
        const char *method, *head, *center, *store;
        double off_by;
    } with[] = {
        {"krr", NULL, "exact", "dense", 1e-11},
        {"krr", NULL, "none", "lowrank", 1e-11},
        {"kpls", NULL, "exact", "dense", 1e-11},
        {"pls", NULL, "exact", NULL, 1e-11},
        {"kpls", "ls", "exact", "lowrank", 1e-11},
        {"sma", "ls", "none", "dense", 1e-11},
        {"smc", "ls", "exact", "dense", 1e-11},
        {"skpls", "ls", "none", "dense", 1e-11},
        {"rkopls", "ls", "exact", "dense", 1e-11},
        {"cr", "ls", "exact", "dense", 1e-11},
        {"blf", NULL, "exact", "dense", 1e-11},
        {"blf:loss=ls", NULL, "exact", "dense", 1e-11},
        {"kpca", "ls", "exact", "dense", 1e-11},
        {"kpca", "lad", "exact", "dense", 1e-9},
        {"akfa", "knn:k=3", "exact", "dense", 1e-11},
        {"kpca", "svm:type=svr", "exact", "dense", 1e-2}, /* a tolerance of its own */
    };
    static const int powers[] = {0, -1000, -600, -450, -330, -100, 100, 330, 450, 600, 1000};
    (void)state;
    double *x = normal_rows(77, N, D, 0, 1), expected[N], found[N], y[N];
    mercer_rows *rows = view(ctx, x, N, D);
    enum { POWERS = sizeof powers / sizeof *powers };
    for (size_t w = 0; w < sizeof with / sizeof *with; w++)
        for (size_t p = 0; p < (size_t)2 * POWERS; p++) {
            bool scaled = p >= POWERS, svr = with[w].head && strstr(with[w].head, "svr");
            int power = powers[p % POWERS];
            mercer_fit_options options;
            mercer_targets *targets = NULL;
            mercer_model *model = NULL;
            mercer_error why = {0};
            char what[256];
            for (int64_t i = 0; i < N; i++)
                y[i] = ldexp(3 + sin(x[D * i]) + x[D * i + 1] * x[D * i + 2], power);
            mercer_fit_options_init(&options);
            options.method = with[w].method;
            options.head = with[w].head;
            options.kernel = "linear";
            options.center = with[w].center;
            options.store = with[w].store;
            options.components = strcmp(with[w].method, "krr") == 0 ? 0 : 3;
            options.scale_target = scaled || svr ? "standard" : "none";
            snprintf(what, sizeof what, "%s, head %s, scale_target %s, targets times 2^%d",
                     with[w].method, with[w].head ? with[w].head : "of the method",
                     options.scale_target, power);
            assert_ok(mercer_targets_new_values(y, N, 1, NULL, &targets, err));
            mercer_status rc = mercer_fit(ctx, &options, rows, targets, &model, NULL, &why);
            if (rc == MERCER_OK)
                rc = mercer_model_predict(ctx, model, rows, 0, found, NULL, &why);
            if (rc != MERCER_OK) {
                if (scaled || abs(power) <= 450 || rc != MERCER_ERR_DATA ||
                    !strstr(why.text, "targets") || !strstr(why.text, "scale"))
                    complain(what, "status %d: %s", (int)rc, why.text);
            } else {
                double off = 0, most = 0;
                if (p % POWERS == 0)
                    memcpy(expected, found, sizeof found);
                for (int64_t i = 0; i < N; i++) {
                    off = fmax(off, fabs(ldexp(found[i], -power) - expected[i]));
                    most = fmax(most, fabs(expected[i]));
                }
                if (!(off <= with[w].off_by * most))
                    complain(what, "predictions are off by %g", off);
            }
            mercer_model_free(model);
            mercer_targets_free(targets);
        }
    mercer_rows_free(rows);
    free(x);
    assert_int_equal(failures, 0);
}

/* No method is left out. */
static void test_units_of_every_method(void **state)
{
    (void)state;
    for (int m = 0; mercer_method_at(m); m++) {
        const char *name = mercer_entry_name(mercer_method_at(m));
        bool found = false;
        for (int c = 0; c < CASES + ROUNDED; c++) {
            const char *method = (c < CASES ? &cases[c] : &rounded[c - CASES])->method;
            found |= strncmp(method, name, strlen(name)) == 0 &&
                     (method[strlen(name)] == 0 || method[strlen(name)] == ':');
        }
        if (!found && strcmp(name, "toy") != 0)
            complain(name, "is not among the cases");
    }
    assert_int_equal(failures, 0);
}

/* The borders themselves: matrices whose largest entry is just inside, and just outside. */
static void test_units_end_at_the_border(void **state)
{
    static const double least = DBL_MIN / DBL_EPSILON, most = DBL_MAX / 4 / 2;
    const double largest[] = {least, nextafter(least, 0), most, nextafter(most, INFINITY)};
    static const char *const methods[] = {"kpca", "akfa", "kica", "rkpca:points=2"};
    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (int b = 0; b < 4; b++) {
            double k = largest[b], x[4] = {k, 0, 0, k / 2};
            mercer_rows *rows = view(ctx, x, 2, 2);
            struct outcome o = {0};
            mercer_fit_options options;
            mercer_fit_options_init(&options);
            options.method = methods[m];
            options.kernel = "precomputed";
            options.center = "none";
            options.components = 2;
            o.rc = mercer_fit(ctx, &options, rows, NULL, &o.model, NULL, &o.why);
            if (b % 2 == 0 && o.rc != MERCER_OK)
                complain(methods[m], "%g: status %d: %s", k, (int)o.rc, o.why.text);
            if (b % 2 == 1 &&
                (o.rc != MERCER_ERR_DATA || !strstr(o.why.text, "outside the range") ||
                 !strstr(o.why.text, "matrix") || !strstr(o.why.text, "column 1")))
                complain(methods[m], "%g: status %d: %s", k, (int)o.rc, o.why.text);
            mercer_model_free(o.model);
            mercer_rows_free(rows);
        }
    assert_int_equal(failures, 0);
    assert_true(isfinite(mrc_usual_unit(DBL_MAX)) && isnormal(1 / mrc_usual_unit(DBL_MAX)));
    assert_true(isnormal(mrc_usual_unit(0x1p-1074)) && isfinite(1 / mrc_usual_unit(0x1p-1074)));
}

/* Rows whose kernel values are not numbers: the column is named, and what to do. */
static void test_units_beyond_all_numbers_are_named(void **state)
{
    static const struct {
        const char *method, *kernel, *precision;
        int power;
        bool labels;
        const char *words[3];
    } refused[] = {
        {"akfa", "linear", NULL, -580, false, {"column 3", "scale", "out of the range"}},
        {"kpca", "linear", NULL, -580, false, {"column 3", "scale", "out of the range"}},
        {"sma", "linear", NULL, -580, true, {"column 3", "scale", "out of the range"}},
        {"rkpca", "linear", NULL, 580, false, {"overflows on row 1", "column", "scale"}},
        {"akfa", "linear", "single", 70, false, {"single precision", "scale", "double"}},
        {"akfa", "linear", "single", -70, false, {"single precision", "scale", "double"}},
        {"akfa", "rbf", NULL, -490, false, {"squares of distances", "vanish", "scale"}},
    };
    (void)state;
    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++) {
        struct case_of c = {
            refused[r].method, refused[r].kernel, NULL, NULL, 2, refused[r].labels, false};
        double *x = rows_of(&c, refused[r].power);
        mercer_rows *rows = view(ctx, x, N, D);
        precision = refused[r].precision;
        struct outcome o = fit_case(&c, rows);
        precision = NULL;
        assert_int_not_equal(o.rc, MERCER_OK);
        for (int w = 0; w < 3; w++)
            if (!strstr(o.why.text, refused[r].words[w]))
                complain(c.method, "times 2^%d: \"%s\" lacks \"%s\"", refused[r].power, o.why.text,
                         refused[r].words[w]);
        mercer_rows_free(rows);
        free(x);
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_units_do_not_change_a_selection),
        TEST(test_units_at_the_border_are_right_or_refused),
        TEST(test_units_of_targets),
        TEST(test_units_of_every_method),
        TEST(test_units_end_at_the_border),
        TEST(test_units_beyond_all_numbers_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
