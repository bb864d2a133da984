/* SPDX-License-Identifier: BSD-3-Clause */
/* Generated data sets, all drawn from the random state of ctx in a fixed order, so that a seed
 * gives the same rows everywhere.
 *
 *   circle         8 (cos a, sin a), a uniform, plus normal noise (sd 1)
 *   swiss-cross    uniform on the outline of the cross [-12,12]x[-4,4] with [-4,4]x[-12,12], plus
 *                  normal noise (sd 1)
 *   swiss-roll     (t cos t, h, t sin t), t = 1.5 pi (1 + 2u), h = 21 v, without the hole
 *                  9 < t < 12, 9 < h < 14; noise 0
 *   parabola       x uniform in [-1, 1], y = x^2 plus normal noise (sd 0.2)
 *   sparse-linear  1000 columns, each entry nonzero with probability 0.1 and then normal; the first
 *                  50 columns carry weights +1 or -1 (random), the class is the sign of their
 *                  weighted sum plus normal noise (sd 0). Rows whose sum is 0 are drawn again. */
#include "base/number.h"
#include "base/params.h"
#include "data/rows.h"

#include <mercer/dataset.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SPARSE_COLUMNS = 1000, SPARSE_USED = 50 };
static const double sparse_density = 0.1;

/* One row of a set; codes is 0 or 1 for sets with classes. state: drawn once per set. */
typedef void (*draw_fn)(mrc_rng *rng, double noise, const double *state, double *x, int64_t *code);

static void draw_circle(mrc_rng *rng, double noise, const double *state, double *x, int64_t *code)
{
    double angle = 2 * M_PI * mrc_rng_uniform(rng);
    (void)state, (void)code;
    x[0] = 8 * cos(angle) + noise * mrc_rng_normal(rng);
    x[1] = 8 * sin(angle) + noise * mrc_rng_normal(rng);
}

static void draw_cross(mrc_rng *rng, double noise, const double *state, double *x, int64_t *code)
{
    /* Twelve edges, all of length 8. */
    static const double corners[][2] = {{4, 12},   {4, 4},   {12, 4},   {12, -4},
                                        {4, -4},   {4, -12}, {-4, -12}, {-4, -4},
                                        {-12, -4}, {-12, 4}, {-4, 4},   {-4, 12}};
    int64_t edges = sizeof corners / sizeof *corners, edge = mrc_rng_below(rng, edges);
    double t = mrc_rng_uniform(rng);
    const double *from = corners[edge], *to = corners[(edge + 1) % edges];
    (void)state, (void)code;
    for (int j = 0; j < 2; j++)
        x[j] = from[j] + t * (to[j] - from[j]) + noise * mrc_rng_normal(rng);
}

static void draw_roll(mrc_rng *rng, double noise, const double *state, double *x, int64_t *code)
{
    double t, h;
    (void)state, (void)code;
    do {
        t = 1.5 * M_PI * (1 + 2 * mrc_rng_uniform(rng));
        h = 21 * mrc_rng_uniform(rng);
    } while (t > 9 && t < 12 && h > 9 && h < 14);
    x[0] = t * cos(t) + noise * mrc_rng_normal(rng);
    x[1] = h + noise * mrc_rng_normal(rng);
    x[2] = t * sin(t) + noise * mrc_rng_normal(rng);
}

static void draw_parabola(mrc_rng *rng, double noise, const double *state, double *x, int64_t *code)
{
    (void)state, (void)code;
    x[0] = 2 * mrc_rng_uniform(rng) - 1;
    x[1] = x[0] * x[0] + noise * mrc_rng_normal(rng);
}

static void draw_sparse(mrc_rng *rng, double noise, const double *weights, double *x, int64_t *code)
{
    double sum;
    do {
        sum = 0;
        for (int64_t j = 0; j < SPARSE_COLUMNS; j++) {
            x[j] = mrc_rng_uniform(rng) < sparse_density ? mrc_rng_normal(rng) : 0;
            sum += j < SPARSE_USED ? weights[j] * x[j] : 0;
        }
        sum += noise * mrc_rng_normal(rng);
    } while (sum == 0);
    *code = sum > 0;
}

struct set {
    const char *name, *summary;
    int64_t rows, columns;
    double noise;
    const char *names; /* column names, one letter each; NULL: c1, c2, ... */
    bool classes;
    draw_fn draw;
};

static const struct set sets[] = {
    {"circle", "a circle of radius 8 with noise", 1000, 2, 1, "xy", false, draw_circle},
    {"swiss-cross", "the outline of a cross with noise", 1000, 2, 1, "xy", false, draw_cross},
    {"swiss-roll", "a rolled-up sheet with a rectangular hole", 800, 3, 0, "xyz", false, draw_roll},
    {"parabola", "y = x^2 with noise in y", 100, 2, 0.2, "xy", false, draw_parabola},
    {"sparse-linear", "1000 sparse columns, two classes by a linear form in 50 of them", 1000,
     SPARSE_COLUMNS, 0, NULL, true, draw_sparse},
};
enum { SETS = sizeof sets / sizeof *sets };

const char *mercer_dataset_name(int index)
{
    return index >= 0 && index < SETS ? sets[index].name : NULL;
}

const char *mercer_dataset_summary(int index)
{
    return index >= 0 && index < SETS ? sets[index].summary : NULL;
}

MRC_VERSIONED(dataset_options, .noise = -1)

static mercer_status find_set(const char *name, const struct set **out, mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE], known[256] = "";
    for (int i = 0; i < SETS; i++) {
        size_t used = strlen(known);
        if (name && strcmp(name, sets[i].name) == 0) {
            *out = &sets[i];
            return MERCER_OK;
        }
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", sets[i].name);
    }
    name = name ? name : "";
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "unknown data set '%s' (known: %s)",
                    mrc_show(shown, name, strlen(name)), known);
}

static mercer_status take_options(const mercer_dataset_options *given, const struct set *set,
                                  mercer_dataset_options *out, mercer_error *err)
{
    mercer_dataset_options_init(out);
    mercer_status rc = mrc_options_import("generate", given, out, sizeof *out, err);
    if (rc != MERCER_OK)
        return rc;
    if (out->rows < 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: %lld rows cannot be drawn", set->name,
                        (long long)out->rows);
    if (!isfinite(out->noise))
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: the noise is not finite", set->name);
    out->rows = out->rows ? out->rows : set->rows;
    out->noise = out->noise < 0 ? set->noise : out->noise;
    return MERCER_OK;
}

static mercer_status name_columns(const struct set *set, mercer_rows *rows, mercer_error *err)
{
    mercer_status rc = mrc_alloc(&rows->names, set->columns, sizeof *rows->names, err);
    for (int64_t j = 0; j < set->columns && rc == MERCER_OK; j++) {
        char name[32];
        if (set->names)
            snprintf(name, sizeof name, "%c", set->names[j]);
        else
            snprintf(name, sizeof name, "c%lld", (long long)j + 1);
        rc = mrc_strdup(&rows->names[j], name, err);
    }
    return rc;
}

/* The two classes, named in order of first appearance, as a reader would. */
static mercer_status name_classes(mercer_targets *targets, mercer_error *err)
{
    static char minus[] = "-1", plus[] = "+1", label[] = "label";
    char *const names[2] = {targets->codes[0] ? plus : minus, targets->codes[0] ? minus : plus};
    char *const column[1] = {label};
    int64_t first = targets->codes[0], classes = 1;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < targets->n; i++) {
        targets->codes[i] = targets->codes[i] != first;
        classes = targets->codes[i] ? 2 : classes;
    }
    MRC_TRY(mrc_copy_names(&targets->class_names, names, classes, err));
    targets->classes = classes;
    targets->kind = MERCER_TARGET_CLASSES;
    MRC_TRY(mrc_copy_names(&targets->names, column, 1, err));
out:
    return rc;
}

mercer_status mercer_dataset_generate(mercer_ctx *ctx, const char *name,
                                      const mercer_dataset_options *options, mercer_table **out,
                                      mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    enum { CHECK_ROWS = 1024 };
    const struct set *set = NULL;
    mercer_dataset_options taken;
    mercer_table *table = NULL;
    double *x = NULL, weights[SPARSE_USED];
    int64_t unused = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(find_set(name, &set, err));
    MRC_TRY(take_options(options, set, &taken, err));
    MRC_TRY(mrc_alloc(&table, 1, sizeof *table, err));
    table->targets.n = taken.rows;
    MRC_TRY(mrc_alloc2_raw(&x, taken.rows, set->columns, sizeof *x, err));
    if (set->classes)
        MRC_TRY(mrc_alloc(&table->targets.codes, taken.rows, sizeof(int64_t), err));
    for (int i = 0; set->classes && i < SPARSE_USED; i++)
        weights[i] = mrc_rng_uniform(&ctx->rng) < 0.5 ? -1 : 1;
    for (int64_t i = 0; i < taken.rows; i++) {
        if (i % CHECK_ROWS == 0)
            MRC_TRY(mrc_check_cancel(ctx, err));
        set->draw(&ctx->rng, taken.noise, weights, x + i * set->columns,
                  set->classes ? &table->targets.codes[i] : &unused);
    }
    int64_t bad = mrc_first_not_finite(x, taken.rows * set->columns);
    if (bad >= 0)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%s: noise of %g gives numbers that are not finite",
                 set->name, taken.noise);
    MRC_TRY(mrc_rows_adopt(MRC_F64, x, taken.rows, set->columns, &table->rows, err));
    x = NULL;
    MRC_TRY(name_columns(set, table->rows, err));
    if (set->classes) {
        MRC_TRY(name_classes(&table->targets, err));
        MRC_TRY(mrc_strdup(&table->origin, "classes from the sign of the linear form", err));
    }
    *out = table;
    table = NULL;
out:
    mrc_free(x);
    mercer_table_free(table);
    return rc;
}
