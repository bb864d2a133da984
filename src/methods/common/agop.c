/* SPDX-License-Identifier: BSD-3-Clause */
/* A linear map of the columns, learnt from the targets (recursive feature machines: Radhakrishnan,
 * Beaglehole, Pandit, Belkin 2024).
 *
 * A step, of rows U = X L: ridge regression (K^ + mu I) A = H Y on their kernel matrix, mu = ridge
 * tr K^; the gradients G of its predictions at the rows, for each output; their outer product
 *
 *   M = L (sum over outputs of G'G) L', scaled to trace d     (diagonal: its diagonal alone)
 *
 * and the next L = V Lambda^1/2 of M. It begins with L = I. Columns along which the predictions
 * change count for more, others vanish. Target values are in units of their standard deviation;
 * classes are 0/1 indicators.
 *
 * How many steps, and which form, is chosen by 3 folds of these rows: the map is learnt anew from
 * two of them, and the third is predicted by ridge regression with the ridge of least leave-one-out
 * error. A map is taken only when the squared errors of the rows are lower than without one by more
 * than one standard error of their difference and, of classes, no more rows are in the wrong one.
 * Rows of one group are in one fold. Cost: 51 regressions on at most `rows` rows, and 24
 * times n^2 d for gradients of each output. */
#include "methods/common/agop.h"

#include "base/bytes.h"
#include "base/order.h"
#include "gram/solve.h"
#include "kernel/gradient.h"
#include "linalg/linalg.h"
#include "model/map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FOLDS = 3,
    MIN_ROWS = 12,      /* four per fold */
    MIN_LEARN = 8,      /* that are not in a fold of groups */
    MAX_COLUMNS = 2000, /* of a full map: beyond, its matrix and eigenvectors cost too much */
    TASK = 16,          /* rows whose gradients are one task, at most */
    GROUP = 32          /* tasks whose results are held at a time, at most */
};
static const double TASK_DOUBLES = 5e5, GROUP_DOUBLES = 4e6; /* of gradients, at most, unless one
                                                                row has more */
static const double NOTHING = 1e-12;                         /* of the largest entry of M */

static const mrc_param schema[] = {
    MRC_INT(mrc_map_params, steps, 4, 1, 20,
            "times that the map is learnt anew, at most; folds choose"),
    MRC_CHOICE(mrc_map_params, form, MRC_MAP_AUTO, "auto|full|diagonal",
               "turn and weight the columns, or only weight them; auto: folds choose"),
    MRC_REAL(mrc_map_params, ridge, 1e-4, 1e-12, 1e12,
             "penalty of the regression, as a share of the trace of the kernel matrix"),
    MRC_INT(mrc_map_params, rows, 2000, MIN_ROWS, 20000,
            "rows to learn it from, drawn by the seed"),
    MRC_CHOICE(mrc_map_params, choose, MRC_MAP_BY_FOLDS, "folds|none",
               "none: as many steps as told, in this form (auto: full), whatever folds say"),
    MRC_PARAM_END};

mercer_status mrc_map_parse(const char *spec, mrc_map_params *out, mercer_error *err)
{
    *out = (mrc_map_params){0};
    if (!spec || strcmp(spec, "none") == 0)
        return MERCER_OK;
    if (!mrc_is_called("agop", spec, mrc_spec_name_length(spec)))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "map"),
                           "unknown map '%.*s' (known: agop, none)",
                           (int)mrc_spec_name_length(spec), spec);
    mrc_params_defaults(schema, out);
    return mrc_params_parse(schema, "map agop", spec, out, err);
}

mercer_status mrc_map_check_kernel(const mrc_kernel *kernel, mercer_error *err)
{
    char known[256];
    if (mrc_kernel_has_gradient(kernel))
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "map"),
                       "map agop: kernel %s has no gradients to learn from (%s have)",
                       mrc_kernel_name(kernel), mrc_kernels_with_gradient(known, sizeof known));
}

/* ---- targets ---- */

/* Rows drawn, and their targets as columns that are not constant. */
struct sample {
    mercer_rows *rows;
    double *targets; /* n x outputs */
    int64_t n, outputs;
    bool classes;
    int64_t *group, *fold; /* of each row */
    int64_t groups, folds; /* how many there are */
};

static void sample_destroy(struct sample *s)
{
    mercer_rows_free(s->rows);
    mrc_free(s->targets);
    mrc_free(s->group);
    mrc_free(s->fold);
    *s = (struct sample){0};
}

/* Column c of the targets of the rows `which`: indicators, or values less their mean in units of
 * their standard deviation. False: it is constant. */
static bool read_target(const mercer_targets *targets, const int64_t *which, int64_t n, int64_t c,
                        double *out, int64_t stride)
{
    double largest = 0, mean = 0, squares = 0;
    bool values = targets->kind == MERCER_TARGET_VALUES, constant = true;
    for (int64_t i = 0; i < n; i++) {
        double y = values ? targets->values[which[i] * targets->columns + c]
                          : (double)(targets->codes[which[i]] == c);
        out[i * stride] = y;
        constant = constant && y == out[0];
        largest = fmax(largest, fabs(y));
    }
    if (constant || !values)
        return !constant;
    for (int64_t i = 0; i < n; i++) {
        out[i * stride] /= largest; /* squares of any numbers stay in range */
        mean += out[i * stride] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        out[i * stride] -= mean;
        squares += out[i * stride] * out[i * stride] / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        out[i * stride] /= sqrt(squares);
    return squares > 0;
}

/* Deal rows out to folds: a group, as it comes up, to the one of fewest rows. */
static mercer_status deal(const int64_t *groups, int64_t n, const int64_t *order, struct sample *s,
                          mercer_error *err)
{
    int64_t *size = NULL, *place = NULL, filled[FOLDS] = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&s->fold, s->n, sizeof *s->fold, err));
    if (groups) {
        MRC_TRY(mrc_groups_take(groups, n, order, s->n, &s->group, err));
    } else {
        MRC_TRY(mrc_alloc(&s->group, s->n, sizeof *s->group, err));
        for (int64_t i = 0; i < s->n; i++)
            s->group[i] = i;
    }
    MRC_TRY(mrc_alloc(&size, s->n, sizeof *size, err));
    MRC_TRY(mrc_alloc(&place, s->n, sizeof *place, err));
    for (int64_t i = 0; i < s->n; i++) {
        s->groups = s->group[i] >= s->groups ? s->group[i] + 1 : s->groups;
        size[s->group[i]]++;
    }
    s->folds = s->groups < FOLDS ? s->groups : FOLDS;
    for (int64_t g = 0; g < s->groups; g++) {
        for (int64_t f = 1; f < s->folds; f++)
            place[g] = filled[f] < filled[place[g]] ? f : place[g];
        filled[place[g]] += size[g];
    }
    for (int64_t i = 0; i < s->n; i++)
        s->fold[i] = place[s->group[i]];
    for (int64_t f = 0; groups && f < s->folds; f++)
        if (s->n - filled[f] < MIN_LEARN)
            s->folds = 0; /* none of them is of use */
out:
    mrc_free(size);
    mrc_free(place);
    return rc;
}

/* At most `most` rows in random order; no output: all targets are constant. */
static mercer_status draw(mercer_ctx *ctx, const mercer_rows *rows, const mercer_targets *targets,
                          const int64_t *groups, int64_t most, struct sample *s, mercer_error *err)
{
    int64_t *order = NULL;
    int64_t columns = targets->kind == MERCER_TARGET_VALUES ? targets->columns : targets->classes;
    mercer_status rc = MERCER_OK;
    s->n = rows->n < most ? rows->n : most;
    s->classes = targets->kind == MERCER_TARGET_CLASSES;
    MRC_TRY(mrc_alloc(&order, rows->n, sizeof *order, err));
    for (int64_t i = 0; i < rows->n; i++)
        order[i] = i;
    mrc_rng_draw(&ctx->rng, order, rows->n, s->n);
    MRC_TRY(mrc_rows_take(rows, order, s->n, &s->rows, err));
    MRC_TRY(deal(groups, rows->n, order, s, err));
    MRC_TRY(mrc_alloc2_raw(&s->targets, s->n, columns, sizeof *s->targets, err));
    for (int64_t c = 0; c < columns; c++)
        s->outputs += read_target(targets, order, s->n, c, s->targets + s->outputs, columns);
    for (int64_t i = 1; i < s->n; i++) /* close the gaps of what was constant */
        memmove(s->targets + i * s->outputs, s->targets + i * columns,
                (size_t)s->outputs * sizeof *s->targets);
out:
    mrc_free(order);
    return rc;
}

/* Rows of the sample that are in a fold, or the others. */
static mercer_status take_fold(const struct sample *s, int64_t fold, bool held, struct sample *out,
                               mercer_error *err)
{
    int64_t *which = NULL, c = s->outputs;
    mercer_status rc = MERCER_OK;
    *out = (struct sample){.outputs = c, .classes = s->classes};
    MRC_TRY(mrc_alloc(&which, s->n, sizeof *which, err));
    MRC_TRY(mrc_alloc2_raw(&out->targets, s->n, c, sizeof *out->targets, err));
    for (int64_t i = 0; i < s->n; i++)
        if ((s->fold[i] == fold) == held) {
            memcpy(out->targets + out->n * c, s->targets + i * c, (size_t)c * sizeof(double));
            which[out->n++] = i;
        }
    MRC_TRY(mrc_rows_take(s->rows, which, out->n, &out->rows, err));
out:
    mrc_free(which);
    return rc;
}

/* ---- a step ---- */

/* A map of our own. */
struct own_map {
    int64_t width; /* 0: there is none, which is the unit matrix */
    double *matrix, *weights;
};

static void own_map_destroy(struct own_map *map)
{
    mrc_free(map->matrix);
    mrc_free(map->weights);
    *map = (struct own_map){0};
}

static mercer_status apply(mercer_ctx *ctx, const struct own_map *map, const mercer_rows *rows,
                           mercer_rows **out, mercer_error *err)
{
    mrc_map given = {rows->d, map->width, map->matrix, map->weights};
    if (map->width > 0)
        return mrc_map_rows(ctx, &given, rows, out, err);
    return mrc_rows_take(rows, NULL, rows->n, out, err);
}

/* Ridge regression on mapped rows. */
struct fitted {
    mercer_rows *rows; /* U */
    mrc_kernel kernel;
    mrc_gram *gram;
    mrc_ridge ridge;
    double *dual; /* n x outputs */
};

static void fitted_destroy(struct fitted *f)
{
    mrc_ridge_destroy(&f->ridge);
    mrc_gram_free(f->gram);
    mercer_rows_free(f->rows);
    mrc_free(f->dual);
}

static mercer_status regress(mercer_ctx *ctx, const mrc_kernel *kernel, const struct own_map *map,
                             const mercer_rows *rows, int64_t outputs, struct fitted *f,
                             mercer_error *err)
{
    int64_t n = rows->n;
    mrc_gram_request request = {.centered = true,
                                .work_columns = 4 * outputs + 8,
                                .solver_columns = mrc_solve_columns(ctx, n, outputs)};
    mercer_rows *mapped = NULL;
    mercer_status rc = MERCER_OK;
    f->kernel = *kernel;
    MRC_TRY(apply(ctx, map, rows, &mapped, err));
    if (mapped->packed) { /* gradients want doubles */
        rc = mrc_rows_widen(mapped, &f->rows, err);
        mercer_rows_free(mapped);
        MRC_TRY(rc);
    } else {
        f->rows = mapped;
    }
    MRC_TRY(mrc_kernel_resolve(&f->kernel, ctx, f->rows, err));
    MRC_TRY(mrc_gram_new(&f->gram, ctx, &f->kernel, f->rows, &request, NULL, err));
    mrc_gram_set_unit(f->gram, mrc_gram_usual_unit(f->gram));
    MRC_TRY(mrc_alloc2_raw(&f->dual, n, outputs, sizeof *f->dual, err));
out:
    return rc;
}

/* Its solution for a ridge, which may be MRC_RIDGE_AUTO. */
static mercer_status solve(struct fitted *f, const double *targets, int64_t outputs, double ridge,
                           mercer_error *err)
{
    int64_t n = f->rows->n;
    mrc_ridge_destroy(&f->ridge);
    f->ridge = (mrc_ridge){0};
    mercer_status rc = mrc_gram_solve(f->gram, targets, outputs, ridge, &f->ridge, err);
    for (int64_t i = 0; rc == MERCER_OK && i < n * outputs; i++)
        f->dual[i] = (targets[i] - f->ridge.mean[i % outputs] - f->ridge.fitted[i]) / f->ridge.mu;
    return rc;
}

struct gradients {
    mercer_ctx *ctx;
    const struct fitted *f;
    const mrc_points *points;
    int64_t outputs, task_rows, first, count; /* rows of this group */
    double *scratch;                          /* per worker */
    bool *near, diagonal;
    int64_t scratch_size;
    double *out; /* count x outputs x width; diagonal: tasks x width, sums of their squares */
};

static void gradient_task(void *arg, int64_t task, int worker)
{
    const struct gradients *g = arg;
    int64_t n = g->points->n, d = g->points->d, most = g->task_rows, at = task * most;
    int64_t rows = g->count - at < most ? g->count - at : most;
    double *slopes = g->scratch + worker * g->scratch_size, *one = slopes + most * n;
    double *scratch = one + most * d, *sums = g->out + task * d;
    bool *near = g->near + worker * most * n;
    if (mrc_check_cancel(g->ctx, NULL) != MERCER_OK)
        return;
    mrc_kernel_slopes(&g->f->kernel, g->ctx, g->points, g->first + at, rows, slopes, near);
    if (g->diagonal)
        memset(sums, 0, (size_t)d * sizeof *sums);
    for (int64_t c = 0; c < g->outputs; c++) {
        mrc_kernel_gradients(&g->f->kernel, g->points, g->first + at, rows, slopes, near,
                             g->f->dual + c, g->outputs, scratch, one);
        for (int64_t i = 0; g->diagonal && i < rows; i++)
            for (int64_t k = 0; k < d; k++)
                sums[k] += one[i * d + k] * one[i * d + k];
        for (int64_t i = 0; !g->diagonal && i < rows; i++)
            memcpy(g->out + ((at + i) * g->outputs + c) * d, one + i * d, (size_t)d * sizeof *one);
    }
}

static mercer_status check_budget(const mercer_ctx *ctx, double doubles, int64_t d,
                                  mercer_error *err)
{
    double bytes = doubles * (double)sizeof(double), budget = (double)mercer_ctx_memory(ctx);
    if (bytes <= budget)
        return MERCER_OK;
    const mrc_bytes_pair sizes = mrc_bytes_texts(bytes, budget);
    return mrc_fail_at(err, MERCER_ERR_BUDGET, MRC_AT_MEMORY,
                       "map agop: the gradients along %lld columns need %s, the memory budget is "
                       "%s: raise it, or leave the map out",
                       (long long)d, sizes.first.text, sizes.second.text);
}

/* As many as fit the room, from 1 to most. */
static int64_t fitting(double room, int64_t most)
{
    return room < 1 ? 1 : room < (double)most ? (int64_t)room : most;
}

/* sums (width, or width x width) = G'G over all rows and outputs, or its diagonal. How rows are cut
 * into tasks depends on the numbers of columns and outputs alone. */
static mercer_status outer_product(mercer_ctx *ctx, const struct fitted *f, int64_t outputs,
                                   bool diagonal, double *sums, mercer_error *err)
{
    int64_t n = f->rows->n, d = f->rows->d, held = diagonal ? d : outputs * d;
    int64_t task = fitting(TASK_DOUBLES / (double)held, TASK);
    int64_t result = diagonal ? d : task * held; /* of a task */
    int64_t tasks = fitting(GROUP_DOUBLES / (double)result, GROUP), group = task * tasks;
    mrc_points points = {0};
    struct gradients g = {.ctx = ctx,
                          .f = f,
                          .points = &points,
                          .outputs = outputs,
                          .task_rows = task,
                          .diagonal = diagonal};
    double *part = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_points_init(&points, ctx, &f->kernel, f->rows, NULL, err));
    MRC_TRY(mrc_points_build_index(&points, ctx, err));
    g.scratch_size = task * (n + d) + mrc_gradient_scratch(&points, task);
    MRC_TRY(check_budget(ctx,
                         (double)ctx->threads * (double)g.scratch_size +
                             (double)tasks * (double)result + (diagonal ? 0 : (double)(2 * d * d)),
                         d, err));
    MRC_TRY(mrc_alloc2_raw(&g.scratch, ctx->threads, g.scratch_size, sizeof *g.scratch, err));
    MRC_TRY(mrc_alloc2_raw(&g.near, ctx->threads, task * n, sizeof *g.near, err));
    MRC_TRY(mrc_alloc2_raw(&g.out, tasks, result, sizeof *g.out, err));
    if (!diagonal)
        MRC_TRY(mrc_alloc2_raw(&part, d, d, sizeof *part, err));
    memset(sums, 0, (size_t)(diagonal ? d : d * d) * sizeof *sums);
    for (g.first = 0; g.first < n; g.first += g.count) {
        g.count = n - g.first < group ? n - g.first : group;
        int64_t parts = (g.count + task - 1) / task;
        MRC_TRY(mrc_parfor_checked(ctx, parts, gradient_task, &g, err));
        for (int64_t i = 0; diagonal && i < parts * d; i++)
            sums[i % d] += g.out[i];
        if (!diagonal)
            MRC_TRY(mrc_gram_of_columns(ctx, g.out, g.count * outputs, d, d, part, err));
        for (int64_t i = 0; !diagonal && i < d * d; i++)
            sums[i] += part[i];
    }
out:
    mrc_points_destroy(&points);
    mrc_free(g.scratch);
    mrc_free(g.near);
    mrc_free(g.out);
    mrc_free(part);
    return rc;
}

static bool is_usable(double trace)
{
    return isfinite(trace) && trace > 0;
}

/* *map becomes the next diagonal one; its width is 0 when there is none. */
static mercer_status next_diagonal(mercer_ctx *ctx, const struct fitted *f, int64_t outputs,
                                   struct own_map *map, mercer_error *err)
{
    int64_t d = f->rows->d;
    double *sums = NULL, trace = 0, largest = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&sums, d, sizeof *sums, err));
    MRC_TRY(outer_product(ctx, f, outputs, true, sums, err));
    for (int64_t k = 0; k < d; k++) {
        sums[k] *= map->width > 0 ? map->weights[k] : 1;
        trace += sums[k];
        largest = fmax(largest, sums[k]);
    }
    for (int64_t k = 0; k < d; k++)
        sums[k] = sums[k] < NOTHING * largest ? 0 : sums[k] / trace * (double)d;
    own_map_destroy(map);
    if (is_usable(trace)) {
        *map = (struct own_map){.width = d, .weights = sums};
        sums = NULL;
    }
out:
    mrc_free(sums);
    return rc;
}

/* The same of a full one. */
static mercer_status next_full(mercer_ctx *ctx, const struct fitted *f, int64_t d, int64_t outputs,
                               struct own_map *map, mercer_error *err)
{
    int64_t r = f->rows->d, width = 0;
    double *sums = NULL, *half = NULL, *m = NULL, *values = NULL, *weights = NULL, *matrix = NULL;
    double trace = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&sums, r, r, sizeof *sums, err));
    MRC_TRY(mrc_alloc2_raw(&m, d, d, sizeof *m, err));
    MRC_TRY(mrc_alloc(&values, d, sizeof *values, err));
    MRC_TRY(mrc_alloc(&weights, d, sizeof *weights, err));
    MRC_TRY(outer_product(ctx, f, outputs, false, sums, err));
    if (map->width > 0) {
        MRC_TRY(mrc_alloc2_raw(&half, d, r, sizeof *half, err));
        mrc_gemm(false, false, d, r, r, 1, map->matrix, r, sums, r, 0, half, r);
        mrc_gemm(false, true, d, d, r, 1, half, r, map->matrix, r, 0, m, d);
    } else {
        memcpy(m, sums, (size_t)(d * d) * sizeof *m);
    }
    for (int64_t k = 0; k < d; k++)
        trace += m[k * d + k];
    own_map_destroy(map);
    if (!is_usable(trace))
        goto out;
    for (int64_t i = 0; i < d * d; i++)
        m[i] *= (double)d / trace;
    MRC_TRY(mrc_eigen_symmetric(ctx, d, m, values, err));
    while (width < d && values[d - 1 - width] > NOTHING * values[d - 1])
        width++;
    MRC_TRY(mrc_alloc2_raw(&matrix, d, width, sizeof *matrix, err));
    for (int64_t k = 0; k < d; k++)
        for (int64_t j = 0; j < width; j++) {
            double entry = sqrt(values[d - 1 - j]) * m[(d - 1 - j) * d + k];
            matrix[k * width + j] = entry;
            weights[k] += entry * entry;
        }
    mrc_fix_signs(d, width, matrix);
    *map = (struct own_map){.width = width, .matrix = matrix, .weights = weights};
    matrix = weights = NULL;
out:
    mrc_free(sums);
    mrc_free(half);
    mrc_free(m);
    mrc_free(values);
    mrc_free(weights);
    mrc_free(matrix);
    return rc;
}

static mercer_status next_map(mercer_ctx *ctx, struct fitted *f, double ridge, bool diagonal,
                              int64_t d, const double *targets, int64_t outputs,
                              struct own_map *map, mercer_error *err)
{
    mercer_status rc = solve(f, targets, outputs, ridge, err);
    if (rc != MERCER_OK)
        return rc;
    return diagonal ? next_diagonal(ctx, f, outputs, map, err)
                    : next_full(ctx, f, d, outputs, map, err);
}

mercer_status mrc_agop_step(mercer_ctx *ctx, const mrc_kernel *kernel, double ridge, bool diagonal,
                            const mercer_rows *rows, const double *targets, int64_t outputs,
                            double **matrix, int64_t *width, double *weights, mercer_error *err)
{
    struct own_map map = {0};
    struct fitted f = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(regress(ctx, kernel, &map, rows, outputs, &f, err));
    MRC_TRY(next_map(ctx, &f, ridge, diagonal, rows->d, targets, outputs, &map, err));
    *width = map.width;
    *matrix = map.matrix;
    if (map.width > 0)
        memcpy(weights, map.weights, (size_t)rows->d * sizeof *weights);
    map.matrix = NULL;
out:
    fitted_destroy(&f);
    own_map_destroy(&map);
    return rc;
}

/* ---- the choice ---- */

/* Mapped rows may leave nothing to learn from: that ends the steps, but not the fit. */
static bool ends_steps(mercer_status rc, int64_t step)
{
    return step > 0 && (rc == MERCER_ERR_DATA || rc == MERCER_ERR_NUMERIC);
}

static int64_t place_of_largest(const double *x, int64_t count)
{
    int64_t best = 0;
    for (int64_t k = 1; k < count; k++)
        best = x[k] > x[best] ? k : best;
    return best;
}

/* Squared errors, one per row held out, of the regression on the rows of f; behind them, as many,
 * 1 for rows that go to a wrong class. */
static mercer_status judge(mercer_ctx *ctx, struct fitted *f, const struct own_map *map,
                           const struct sample *learn, const struct sample *held, double *errors,
                           mercer_error *err)
{
    int64_t n = learn->n, c = held->outputs;
    mercer_rows *mapped = NULL;
    double *cross = NULL, *predicted = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(apply(ctx, map, held->rows, &mapped, err));
    MRC_TRY(solve(f, learn->targets, c, MRC_RIDGE_AUTO, err));
    MRC_TRY(mrc_alloc2_raw(&cross, held->n, n, sizeof *cross, err));
    MRC_TRY(mrc_alloc2_raw(&predicted, held->n, c, sizeof *predicted, err));
    MRC_TRY(mrc_gram_cross(f->gram, mapped, 0, held->n, cross, err));
    mrc_tall_times(ctx, held->n, c, n, 1, cross, n, f->dual, c, 0, predicted, c);
    for (int64_t i = 0; i < held->n; i++) {
        double *mine = predicted + i * c;
        const double *true_ones = held->targets + i * c;
        errors[i] = 0;
        for (int64_t k = 0; k < c; k++) {
            mine[k] += f->ridge.mean[k];
            errors[i] += pow(mine[k] - true_ones[k], 2);
        }
        errors[held->n + i] =
            held->classes && place_of_largest(mine, c) != place_of_largest(true_ones, c);
    }
out:
    mercer_rows_free(mapped);
    mrc_free(cross);
    mrc_free(predicted);
    return rc;
}

/* Errors after 0, 1, ..., steps steps, (steps + 1) x 2 x held rows; infinite where a step is
 * missing. known: those of no step are there already. */
static mercer_status try_form(mercer_ctx *ctx, const mrc_map_params *params, bool diagonal,
                              const mrc_kernel *kernel, const struct sample *learn,
                              const struct sample *held, bool known, double *errors,
                              mercer_error *err)
{
    struct own_map map = {0};
    mercer_status rc = MERCER_OK;
    for (int64_t i = known ? 2 * held->n : 0; i < (params->steps + 1) * 2 * held->n; i++)
        errors[i] = INFINITY;
    for (int64_t t = 0; t <= params->steps; t++) {
        struct fitted f = {0};
        MRC_TRY(mrc_check_cancel(ctx, err));
        rc = regress(ctx, kernel, &map, learn->rows, learn->outputs, &f, err);
        if (rc == MERCER_OK && !(t == 0 && known))
            rc = judge(ctx, &f, &map, learn, held, errors + t * 2 * held->n, err);
        if (rc == MERCER_OK && t < params->steps)
            rc = next_map(ctx, &f, params->ridge, diagonal, learn->rows->d, learn->targets,
                          learn->outputs, &map, err);
        fitted_destroy(&f);
        if (ends_steps(rc, t) || (rc == MERCER_OK && t < params->steps && map.width == 0)) {
            rc = MERCER_OK;
            break;
        }
        MRC_TRY(rc);
    }
out:
    own_map_destroy(&map);
    return rc;
}

/* Mean of the differences, and whether it exceeds its standard error, with no more wrong classes.
 * Rows of a group are alike: what varies is the sums of groups. group: of each row; sums: scratch,
 * one per group. */
static double gain_of(const double *without, const double *with, int64_t n, const int64_t *group,
                      int64_t groups, double *sums, bool *clear)
{
    double mean = 0, squares = 0, more = 0, share = (double)groups / (double)n;
    for (int64_t i = 0; i < n; i++)
        mean += (without[i] - with[i]) / (double)n;
    memset(sums, 0, (size_t)groups * sizeof *sums);
    for (int64_t i = 0; i < n; i++)
        sums[group[i]] += without[i] - with[i] - mean;
    for (int64_t g = 0; g < groups; g++)
        squares += sums[g] * sums[g];
    for (int64_t i = 0; i < n; i++)
        more += with[n + i] - without[n + i];
    *clear = isfinite(mean) && mean > sqrt(squares / (double)(groups - 1) / (double)n * share) &&
             more <= 0;
    return isfinite(mean) ? mean : -INFINITY;
}

/* *steps, 0 for no map, and *diagonal. */
static mercer_status choose(mercer_ctx *ctx, const mrc_map_params *params, const mrc_kernel *kernel,
                            const struct sample *s, int64_t *steps, bool *diagonal,
                            mercer_error *err)
{
    int64_t count = params->steps + 1, at = 0, *group = NULL;
    double *all = NULL, *part = NULL, *sums = NULL, best = 0;
    struct sample learn = {0}, held = {0};
    mercer_status rc = MERCER_OK;
    *steps = 0;
    /* Squared errors and wrong classes, of each form, step and row; rows by folds. */
    MRC_TRY(mrc_alloc2(&all, 2 * count, 2 * s->n, sizeof *all, err));
    MRC_TRY(mrc_alloc2(&part, count, 2 * s->n, sizeof *part, err));
    MRC_TRY(mrc_alloc(&sums, s->groups, sizeof *sums, err));
    MRC_TRY(mrc_alloc(&group, s->n, sizeof *group, err)); /* in the order of `all` */
    for (int64_t fold = 0; fold < s->folds; fold++) {
        for (int64_t i = 0, to = at; i < s->n; i++)
            if (s->fold[i] == fold)
                group[to++] = s->group[i];
        MRC_TRY(take_fold(s, fold, false, &learn, err));
        MRC_TRY(take_fold(s, fold, true, &held, err));
        bool known = false;
        for (int form = 0; form < 2; form++) {
            if (params->form == (form ? MRC_MAP_FULL : MRC_MAP_DIAGONAL))
                continue;
            MRC_TRY(try_form(ctx, params, form == 1, kernel, &learn, &held, known, part, err));
            known = true;
            for (int64_t t = 0; t < 2 * count; t++)
                memcpy(all + (2 * form * count + t) * s->n + at, part + t * held.n,
                       (size_t)held.n * sizeof *all);
        }
        at += held.n;
        sample_destroy(&learn);
        sample_destroy(&held);
    }
    for (int form = 0; form < 2; form++)
        for (int64_t t = 1; t < count; t++) {
            const double *mine = all + 2 * form * count * s->n;
            bool clear;
            double gain = gain_of(mine, mine + 2 * t * s->n, s->n, group, s->groups, sums, &clear);
            if (clear && gain > best) {
                best = gain;
                *steps = t;
                *diagonal = form == 1;
            }
        }
out:
    sample_destroy(&learn);
    sample_destroy(&held);
    mrc_free(all);
    mrc_free(part);
    mrc_free(sums);
    mrc_free(group);
    return rc;
}

/* ---- the whole ---- */

/* The map into the model, whose it is then. */
static mercer_status keep(const mrc_map_params *params, int64_t steps, bool diagonal,
                          struct own_map *map, mercer_model *model, mercer_error *err)
{
    mrc_map_params used = *params;
    char text[128];
    used.steps = steps;
    used.form = diagonal ? MRC_MAP_DIAGONAL : MRC_MAP_FULL;
    mercer_status rc = mrc_params_format(schema, "agop", &used, 1, text, sizeof text, err);
    if (rc == MERCER_OK)
        rc = mrc_strdup(&model->map_text, text, err);
    if (rc != MERCER_OK)
        return rc;
    *strstr(model->map_text, ",choose=") = 0; /* the last key: what was chosen is told */
    model->map = map->matrix;
    model->map_weights = map->weights;
    model->map_columns = map->matrix ? map->width : 0;
    *map = (struct own_map){0};
    return MERCER_OK;
}

static mercer_status learn(mercer_ctx *ctx, const mrc_map_params *params, const mrc_kernel *kernel,
                           const struct sample *s, int64_t steps, bool diagonal,
                           mercer_model *model, mercer_error *err)
{
    struct own_map map = {0};
    mercer_status rc = MERCER_OK;
    int64_t t = 0;
    for (; t < steps; t++) {
        struct fitted f = {0};
        rc = regress(ctx, kernel, &map, s->rows, s->outputs, &f, err);
        if (rc == MERCER_OK)
            rc = next_map(ctx, &f, params->ridge, diagonal, s->rows->d, s->targets, s->outputs,
                          &map, err);
        fitted_destroy(&f);
        MRC_TRY(rc);
        if (map.width == 0)
            MRC_FAIL(err, MERCER_ERR_NUMERIC,
                     "map agop: the predictions change along no column, so there is no map");
    }
    MRC_TRY(keep(params, steps, diagonal, &map, model, err));
out:
    own_map_destroy(&map);
    return rc;
}

mercer_status mrc_map_learn(mercer_ctx *ctx, const mrc_map_params *params, const mrc_kernel *kernel,
                            const mercer_rows *rows, const mercer_targets *targets,
                            const int64_t *groups, mercer_model *model, mercer_error *err)
{
    mrc_map_params used = *params;
    struct sample s = {0};
    int64_t steps = 0;
    bool narrow = mercer_rows_is_sparse(rows) || rows->d > MAX_COLUMNS, diagonal = false;
    mercer_notice_fn notice = ctx->notice;
    void *notice_host = ctx->notice_host;
    mrc_rng start = ctx->rng;
    mercer_status rc = MERCER_OK;
    if (!targets || targets->kind == MERCER_TARGET_NONE)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "label target"),
                    "a map is learnt from labels: name the columns of classes or values");
    if (narrow && used.form == MRC_MAP_FULL)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "map"),
                    "map agop: %s have a diagonal map only; leave form out",
                    mercer_rows_is_sparse(rows) ? "sparse rows" : "more than 2000 columns");
    if (narrow)
        used.form = MRC_MAP_DIAGONAL;
    if (rows->n < MIN_ROWS) {
        mrc_notice(ctx, "map agop: %lld rows are too few to learn from; none is used",
                   (long long)rows->n);
        goto out;
    }
    MRC_TRY(draw(ctx, rows, targets, groups, used.rows, &s, err));
    if (s.outputs == 0) {
        mrc_notice(ctx, "map agop: the targets are constant; none is used");
        goto out;
    }
    if (used.choose == MRC_MAP_BY_FOLDS && s.folds < 2) {
        mrc_notice(ctx, "map agop: the groups leave too few rows to learn from where one part of "
                        "them is held out; none is used");
        goto out;
    }
    mercer_ctx_set_notice(ctx, NULL, NULL); /* of what is only tried */
    if (used.choose == MRC_MAP_BY_FOLDS)
        rc = choose(ctx, &used, kernel, &s, &steps, &diagonal, err);
    else {
        steps = used.steps;
        diagonal = used.form == MRC_MAP_DIAGONAL;
    }
    if (rc == MERCER_OK && steps > 0)
        rc = learn(ctx, &used, kernel, &s, steps, diagonal, model, err);
    mercer_ctx_set_notice(ctx, notice, notice_host);
    MRC_TRY(rc);
    if (steps == 0)
        mrc_notice(ctx,
                   "map agop: held-out rows are predicted as well without a map; none is used");
out:
    ctx->rng = start;
    sample_destroy(&s);
    return rc;
}
