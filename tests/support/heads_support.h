/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of heads: rows with classes and values that depend on them, fits,
 * predictions, what every head must stand. */
#ifndef MERCER_TESTS_HEADS_SUPPORT_H
#define MERCER_TESTS_HEADS_SUPPORT_H

#include "data_support.h"

#include "heads/heads.h"

#include <mercer/mercer.h>

#include <math.h>

enum { N = 120, D = 4, FRESH = 70, L = 6 };

static inline double *normals(uint64_t seed, int64_t count)
{
    double *x = NULL;
    mrc_rng rng;
    assert_ok(mrc_alloc(&x, count, sizeof *x, &err));
    mrc_rng_seed(&rng, seed);
    for (int64_t i = 0; i < count; i++)
        x[i] = mrc_rng_normal(&rng);
    return x;
}

/* Rows, new rows, two target columns and three classes that depend on the rows. */
struct set {
    double *x, *fresh, *y;
    int64_t *codes;
    mercer_rows *rows, *new_rows;
    mercer_targets *values, *classes;
};

static inline struct set make_set(void)
{
    static const char *const names[] = {"north", "a, \"b\"\xff", "nobody", "south"};
    static const char *const columns[] = {"first", "second"};
    struct set s = {.x = normals(1, N * D), .fresh = normals(2, FRESH * D), .y = normals(3, N * 2)};
    assert_ok(mrc_alloc(&s.codes, N, sizeof *s.codes, &err));
    for (int64_t i = 0; i < N; i++) {
        const double *row = s.x + i * D;
        s.y[2 * i] = 1e3 + row[0] * row[1] + 0.1 * s.y[2 * i];
        s.y[2 * i + 1] = sin(row[2]) + 0.1 * s.y[2 * i + 1];
        s.codes[i] = row[0] > 0.5 ? 0 : row[1] > 0 ? 1 : 3;
    }
    assert_ok(view_f64(ctx, s.x, N, D, D, &s.rows, &err));
    assert_ok(view_f64(ctx, s.fresh, FRESH, D, D, &s.new_rows, &err));
    assert_ok(mercer_targets_new_values(s.y, N, 2, columns, &s.values, &err));
    assert_ok(mercer_targets_new_classes(s.codes, N, names, 4, "side", &s.classes, &err));
    return s;
}

static inline void free_set(struct set *s)
{
    mercer_rows_free(s->rows);
    mercer_rows_free(s->new_rows);
    mercer_targets_free(s->values);
    mercer_targets_free(s->classes);
    mrc_free(s->x);
    mrc_free(s->fresh);
    mrc_free(s->y);
    mrc_free(s->codes);
}

static inline mercer_fit_options options_of(const char *method, const char *head)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = "rbf:sigma=2";
    options.components = L;
    options.head = head;
    return options;
}

static inline mercer_model *fit(const struct set *s, const char *method, const char *head,
                                const mercer_targets *targets)
{
    mercer_fit_options options = options_of(method, head);
    mercer_model *model = NULL;
    assert_ok(mercer_fit(ctx, &options, s->rows, targets, &model, NULL, &err));
    return model;
}

static inline double *features_of(const mercer_model *model, const mercer_rows *rows)
{
    double *features = NULL;
    assert_ok(mrc_alloc(&features, rows->n * model->components, sizeof *features, &err));
    assert_ok(mercer_model_transform(ctx, model, rows, NULL, features, NULL, &err));
    return features;
}

static inline void refuse(const struct set *s, mercer_fit_options *options,
                          const mercer_targets *targets, mercer_status status, const char *text)
{
    mercer_model *model = NULL;
    assert_fails(mercer_fit(ctx, options, s->rows, targets, &model, NULL, &err), status, text);
    assert_null(model);
}

/* Fit to classes, predict and truncate while every allocation fails in turn. */
static inline void let_allocations_fail(const char *head)
{
    struct set s = make_set();
    mercer_fit_options options = options_of("akfa", head);
    mercer_status rc = MERCER_ERR_MEMORY;
    assert_ok(mercer_ctx_set_threads(ctx, 1, &err));
    int64_t alive = mrc_alloc_live();
    for (int64_t after = 0; rc != MERCER_OK; after++) {
        double scores[FRESH * 3];
        mercer_model *model = NULL, *shorter = NULL;
        mrc_alloc_fail_after(after);
        rc = mercer_fit(ctx, &options, s.rows, s.classes, &model, NULL, NULL);
        if (rc == MERCER_OK)
            rc = mercer_model_predict(ctx, model, s.new_rows, 0, scores, NULL, NULL);
        if (rc == MERCER_OK)
            rc = mercer_model_truncate(ctx, model, 2, &shorter, NULL);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        mercer_model_free(model);
        mercer_model_free(shorter);
        assert_int_equal(mrc_alloc_live(), alive);
    }
    free_set(&s);
}

/* Predictions from many numbers of features at once are those from each, to the bit. */
static inline void expect_answers_of_each(const char *head)
{
    static const int64_t numbers[] = {1, 2, 2, L};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    struct set s = make_set();
    mercer_model *model = fit(&s, "kpca", head, s.classes);
    double *f = features_of(model, s.new_rows), each[COUNT * FRESH * 3], one[FRESH * 3];
    int64_t each_code[COUNT * FRESH], code[FRESH];
    mrc_head_query query = {.features = f, .n = FRESH, .l = L};
    mrc_head_choice choice = {0};
    assert_ok(mrc_head_find(model->head.spec, &choice, &err));
    assert_ok(mrc_head_predict_prefixes(ctx, &choice, &model->head, &query,
                                        &(mrc_prefixes){numbers, COUNT}, each, each_code, &err));
    for (int64_t c = 0; c < COUNT; c++) {
        assert_ok(mercer_model_predict(ctx, model, s.new_rows, numbers[c], one, code, &err));
        assert_memory_equal(each + c * FRESH * 3, one, sizeof one);
        assert_memory_equal(each_code + c * FRESH, code, sizeof code);
    }
    mrc_head_choice_destroy(&choice);
    mrc_free(f);
    mercer_model_free(model);
    free_set(&s);
}

/* The same predictions, to the bit, by a model that was saved and loaded. */
static inline mercer_model *reload(const mercer_model *model, const mercer_rows *rows)
{
    const char *path = in_scratch("head.model");
    int64_t outputs = model->head.outputs;
    mercer_model *loaded = NULL;
    double *a = normals(1, rows->n * outputs), *b = normals(1, rows->n * outputs);
    assert_ok(mercer_model_save(ctx, model, path, &err));
    assert_ok(mercer_model_load(ctx, path, &loaded, &err));
    assert_ok(mercer_model_predict(ctx, model, rows, 0, a, NULL, &err));
    assert_ok(mercer_model_predict(ctx, loaded, rows, 0, b, NULL, &err));
    assert_memory_equal(a, b, (size_t)(rows->n * outputs) * sizeof *a);
    mrc_free(a);
    mrc_free(b);
    return loaded;
}

/* The last notice of the library. */
static char notice[512];

static inline void keep_notice(void *host, const mercer_notice *given)
{
    (void)host;
    snprintf(notice, sizeof notice, "%s", given->text);
}

#endif
