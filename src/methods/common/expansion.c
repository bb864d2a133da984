/* SPDX-License-Identifier: BSD-3-Clause */
/* Directions as a model; see expansion.h and model/model.h.
 *
 * With an exact mean a model of few points keeps the other rows behind them, only for the mean:
 * features then have a share t_j = -sum_s B_sj of it when the mapped rows are centred. Points of a
 * precomputed kernel are rows in training order as soon as all rows are kept, so B is spread over
 * them.
 *
 * Pivots P of a factor, K = F F' before centring: the rows L of F that are theirs are lower
 * triangular, and F = K[:, P] L'^-1. So the coordinates of a row are L^-1 k(P, x), directions W in
 * them are B = L'^-1 W over the pivots, and the mean of the mapped rows is L'^-1 mean(F). */
#include "methods/common/expansion.h"

#include "base/running.h"
#include "data/means.h"
#include "gram/factor.h"
#include "linalg/linalg.h"

#include <string.h>

mercer_status mrc_center_columns(mercer_ctx *ctx, const mrc_span *span, int64_t l, double *b,
                                 mercer_error *err)
{
    double *means = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&means, l, sizeof *means, err));
    MRC_TRY(mrc_column_sums_of_span(ctx, span, b, l, means, err));
    for (int64_t j = 0; j < l; j++)
        means[j] /= (double)span->total;
    for (int64_t i = 0; i < span->n; i++)
        for (int64_t j = 0; j < l; j++)
            b[i * l + j] -= means[j];
out:
    mrc_free(means);
    return rc;
}

/* ---- collapsed ---- */

bool mrc_expansion_collapses(const mrc_problem *problem, int64_t count, int64_t components)
{
    const mercer_rows *rows = problem->rows;
    /* Few points of few columns may be smaller as they are, but a mean would be kept with them. */
    double mean_size = mercer_rows_is_sparse(rows) ? 1.5 * (double)mrc_problem_entries(problem) /
                                                         (double)mrc_rows_total(rows)
                                                   : (double)rows->d;
    double points =
        problem->center == MRC_CENTER_NONE ? (double)count : (double)mrc_rows_total(rows);
    /* Means and values of a centred operator on dense rows are those of rows about their mean,
     * which the points of a model are not. More components than rows: targets of krr. */
    if (problem->center != MRC_CENTER_NONE && !mercer_rows_is_sparse(rows) && components > count)
        return mrc_kernel_is_linear(problem->kernel);
    return mrc_kernel_is_linear(problem->kernel) &&
           (double)(rows->d * components) <= points * (mean_size + (double)components);
}

mercer_status mrc_expansion_check_spread(const mrc_problem *problem, int64_t components,
                                         mercer_error *err)
{
    const mercer_rows *rows = problem->rows;
    components = components > 0 ? components : 1;
    if (!problem->ranks || !mercer_rows_is_sparse(rows) || !mrc_kernel_is_linear(problem->kernel) ||
        mrc_expansion_collapses(problem, mrc_rows_total(rows), components))
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_UNSUPPORTED, MRC_AT(.key = "kernel"),
                       "sparse rows that are spread over ranks: %lld features of %lld columns take "
                       "more than the %lld rows themselves, all of which the model would hold; ask "
                       "for fewer features, take method nystroem, or fit on one rank",
                       (long long)components, (long long)rows->d, (long long)mrc_rows_total(rows));
}

struct sparse_map {
    const mercer_rows *points;
    const mrc_expansion *e;
};

/* X' B in the order of the rows: the numbers of the columns begin / l up to end / l. */
static mercer_status add_entries(void *arg, int64_t begin, int64_t end, double *weights,
                                 mercer_error *err)
{
    const struct sparse_map *w = arg;
    const mrc_csr *x = &w->points->csr;
    const double *b = w->e->coefficients;
    const int64_t l = w->e->components, first = begin / l, last = end / l;
    (void)err;
    for (int64_t i = 0; i < w->points->n; i++) {
        int64_t k = x->start[i];
        while (k < x->start[i + 1] && x->column[k] < first)
            k++;
        for (; k < x->start[i + 1] && x->column[k] < last; k++) {
            double *to = weights + (int64_t)x->column[k] * l;
            for (int64_t j = 0; j < l; j++)
                to[j] += x->value[k] * b[i * l + j];
        }
    }
    return MERCER_OK;
}

/* W = (X - c)' B for sparse rows: X' B - c (1' B), nothing of which fills X. Rows that are spread
 * over ranks: sums that these hand on. */
static mercer_status collapse_sparse(mercer_ctx *ctx, const mercer_rows *points,
                                     const mrc_expansion *e, mercer_model *model, mercer_error *err)
{
    enum { GROUPS = 16 }; /* of columns: more keep more ranks at work at a time */
    const mrc_span span = mrc_rows_span(ctx, points);
    const int64_t d = points->d, l = e->components;
    struct sparse_map w = {.points = points, .e = e};
    double *sums = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_run_span(ctx, &span, model->weights, d * l, (d + GROUPS - 1) / GROUPS * l,
                         add_entries, &w, err));
    if (!e->centered_images)
        goto out;
    MRC_TRY(mrc_alloc(&sums, l, sizeof *sums, err));
    MRC_TRY(mrc_column_sums_of_span(ctx, &span, e->coefficients, l, sums, err));
    for (int64_t j = 0; j < l; j++)
        for (int64_t k = 0; k < d; k++)
            model->weights[k * l + j] -= model->input_center[k] * sums[j];
out:
    mrc_free(sums);
    return rc;
}

/* The same for dense rows, of which a block at a time is copied. */
static mercer_status collapse_dense(mercer_ctx *ctx, const mercer_rows *points,
                                    const mrc_expansion *e, mercer_model *model, mercer_error *err)
{
    enum { BLOCK_DOUBLES = 1 << 21, MIN_ROWS = 1024 }; /* fewer rows make slow products */
    int64_t n = points->n, d = points->d, l = e->components, block = BLOCK_DOUBLES / d;
    double *x = NULL, *product = NULL;
    mercer_status rc = MERCER_OK;
    block = block < MIN_ROWS ? MIN_ROWS : block;
    block = block < n ? block : n;
    MRC_TRY(mrc_alloc2_raw(&x, block, d, sizeof *x, err));
    MRC_TRY(mrc_alloc2_raw(&product, d, l, sizeof *product, err));
    for (int64_t i = 0; i < n; i += block) {
        int64_t count = n - i < block ? n - i : block;
        mercer_rows_copy(points, i, count, x);
        for (int64_t r = 0; e->centered_images && r < count; r++)
            for (int64_t k = 0; k < d; k++)
                x[r * d + k] -= model->input_center[k];
        MRC_TRY(mrc_tall_product(ctx, x, d, d, e->coefficients + i * l, l, l, count, product, err));
        for (int64_t k = 0; k < d * l; k++)
            model->weights[k] += product[k];
    }
out:
    mrc_free(x);
    mrc_free(product);
    return rc;
}

/* Linear kernel: W over the columns, and the mean of the rows, which is exact whatever was asked.
 */
static mercer_status collapse(mercer_ctx *ctx, const mrc_problem *problem, const mrc_expansion *e,
                              const mercer_rows *points, mercer_model *model, mercer_error *err)
{
    int64_t d = problem->rows->d;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&model->input_center, d, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&model->weights, d, e->components, sizeof(double), err));
    if (model->center != MRC_CENTER_NONE)
        MRC_TRY(mrc_rows_mean(ctx, problem->rows, model->input_center, err));
    if (e->inner) /* the factor of a linear kernel is its rows */
        memcpy(model->weights, e->inner, (size_t)(d * e->components) * sizeof *e->inner);
    else if (mercer_rows_is_sparse(points))
        rc = collapse_sparse(ctx, points, e, model, err);
    else
        rc = collapse_dense(ctx, points, e, model, err);
out:
    return rc;
}

mercer_status mrc_expand_map(mercer_ctx *ctx, const mrc_problem *problem, double **w, int64_t l,
                             mercer_model *model, mercer_error *err)
{
    int64_t d = problem->rows->d;
    mercer_status rc = MERCER_OK;
    model->components = l;
    model->weights = *w;
    *w = NULL;
    MRC_TRY(mrc_alloc(&model->input_center, d, sizeof(double), err));
    if (model->center != MRC_CENTER_NONE)
        MRC_TRY(mrc_rows_mean(ctx, problem->rows, model->input_center, err));
out:
    return rc;
}

/* ---- expanded ---- */

/* b_j = -<w_j, mean>, and the sums of the columns of B. */
static mercer_status find_offsets(const mrc_expansion *e, mercer_model *model, double *sums,
                                  mercer_error *err)
{
    int64_t l = e->components;
    mercer_status rc = mrc_alloc(&model->offsets, l, sizeof(double), err);
    if (rc != MERCER_OK || model->center == MRC_CENTER_NONE)
        return rc;
    for (int64_t s = 0; s < e->count; s++)
        for (int64_t j = 0; j < l; j++) {
            model->offsets[j] -= e->coefficients[s * l + j] * e->mean_products[s];
            sums[j] += e->coefficients[s * l + j];
        }
    for (int64_t j = 0; e->centered_images && j < l; j++)
        model->offsets[j] += sums[j] * e->mean_norm2;
    return MERCER_OK;
}

/* Precomputed kernel, all rows kept: B over the rows in training order. */
static mercer_status spread(mrc_expansion *e, int64_t n, const double *sums, bool exact,
                            mercer_error *err)
{
    int64_t l = e->components;
    double *b = NULL;
    mercer_status rc = mrc_alloc2(&b, n, l, sizeof *b, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; exact && e->centered_images && i < n; i++)
        for (int64_t j = 0; j < l; j++)
            b[i * l + j] = -sums[j] / (double)n;
    for (int64_t s = 0; s < e->count; s++)
        for (int64_t j = 0; j < l; j++)
            b[e->selected[s] * l + j] += e->coefficients[s * l + j];
    mrc_free(e->coefficients);
    e->coefficients = b;
    return MERCER_OK;
}

/* The rows that are not selected, in order, behind the selected ones. */
static mercer_status selected_first(const mrc_expansion *e, int64_t n, int64_t **out,
                                    mercer_error *err)
{
    unsigned char *taken = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(out, n, sizeof **out, err));
    MRC_TRY(mrc_alloc(&taken, n, 1, err));
    for (int64_t s = 0; s < e->count; s++) {
        (*out)[s] = e->selected[s];
        taken[e->selected[s]] = 1;
    }
    for (int64_t i = 0, at = e->count; i < n; i++)
        if (!taken[i])
            (*out)[at++] = i;
out:
    mrc_free(taken);
    return rc;
}

/* Whether rows have memory to give away. */
static bool is_owned(const mercer_rows *rows)
{
    return rows && (rows->owned || rows->owned_csr.start);
}

/* The points of the basis and, for an exact mean, the other rows behind them. */
static mercer_status keep_points(const mrc_problem *problem, const mrc_expansion *e, bool exact,
                                 mercer_model *model, mercer_error *err)
{
    const mercer_rows *rows = problem->rows;
    int64_t *order = NULL;
    mercer_rows *kept = NULL;
    mercer_status rc = MERCER_OK;
    if (e->points)
        MRC_TRY(mrc_rows_take(e->points, NULL, e->points->n, &kept, err));
    else if (!e->selected && is_owned(problem->own_rows)) {
        model->points = rows->n;
        mrc_model_take_points(model, problem->own_rows);
        goto out;
    } else if (!e->selected)
        MRC_TRY(mrc_rows_take(rows, NULL, rows->n, &kept, err));
    else if (!exact)
        MRC_TRY(mrc_rows_take_of_all(problem->ranks, rows, e->selected, e->count, &kept, err));
    else {
        MRC_TRY(selected_first(e, rows->n, &order, err));
        MRC_TRY(mrc_rows_take(rows, order, rows->n, &kept, err));
    }
    model->points = kept->n;
    mrc_model_take_points(model, kept);
out:
    mercer_rows_free(kept);
    mrc_free(order);
    return rc;
}

static mercer_status expand(const mrc_problem *problem, mrc_expansion *e, mercer_model *model,
                            mercer_error *err)
{
    int64_t n = problem->rows->n, l = e->components;
    bool precomputed = mrc_kernel_is_precomputed(problem->kernel);
    bool all = !e->points && !e->selected;
    /* The mean is in the span of all rows. */
    bool exact = model->center == MRC_CENTER_EXACT || (all && model->center == MRC_CENTER_SPAN);
    double *sums = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&sums, l, sizeof *sums, err));
    MRC_TRY(find_offsets(e, model, sums, err));
    bool in_order = precomputed && e->selected && (exact || e->count == n);
    if (in_order)
        MRC_TRY(spread(e, n, sums, exact, err));
    if (precomputed)
        model->points = exact || all ? n : e->count;
    else
        MRC_TRY(keep_points(problem, e, exact, model, err));
    model->basis_points = all || in_order ? n : e->count;
    if (exact && e->centered_images && !all && !in_order) {
        MRC_TRY(mrc_alloc(&model->mean_weights, l, sizeof(double), err));
        for (int64_t j = 0; j < l; j++)
            model->mean_weights[j] = -sums[j];
    }
    if (model->center != MRC_CENTER_NONE) {
        model->mean_norm2 = e->mean_norm2;
        MRC_TRY(mrc_alloc(&model->mean, model->points, sizeof(double), err));
        for (int64_t i = model->points - n; exact && i < model->points; i++)
            model->mean[i] = 1 / (double)n;
        for (int64_t s = 0; !exact && s < e->count; s++)
            model->mean[in_order ? e->selected[s] : s] = e->mean_span[s];
    }
    model->coefficients = e->coefficients;
    e->coefficients = NULL;
out:
    mrc_free(sums);
    return rc;
}

/* ---- on the pivots of a factor ---- */

mercer_status mrc_expand_on_pivots(mercer_ctx *ctx, const mrc_problem *problem, mrc_gram *gram,
                                   const double *w, int64_t l, mercer_model *model,
                                   mercer_error *err)
{
    const mrc_factor *f = mrc_gram_factor(gram);
    int64_t q = f->rank;
    mrc_expansion e = {.count = q, .components = l};
    mrc_center center = model->center;
    const double *means;
    double *triangle = NULL, *span = NULL, *products = NULL;
    mercer_rows *points = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_rows_take_of_all(ctx, problem->rows, f->pivots, q, &points, err));
    MRC_TRY(mrc_factor_triangle(f, &triangle, err));
    MRC_TRY(mrc_alloc2_raw(&e.coefficients, q, l, sizeof(double), err));
    memcpy(e.coefficients, w, (size_t)(q * l) * sizeof *w);
    mrc_lower_solve(false, true, q, l, triangle, q, e.coefficients, l);
    e.points = points;
    if (f->mean) {
        MRC_TRY(mrc_alloc(&span, q, sizeof *span, err));
        MRC_TRY(mrc_alloc(&products, q, sizeof *products, err));
        memcpy(span, f->mean, (size_t)q * sizeof *span);
        mrc_lower_solve(false, true, q, 1, triangle, q, span, 1);
        MRC_TRY(mrc_gram_means(gram, &means, &e.mean_norm2, err));
        for (int64_t s = 0; s < q; s++) {
            int64_t row = f->pivots[s] - f->span.first;
            if (row >= 0 && row < f->n)
                products[s] = means[row];
        }
        if (f->span.spread)
            MRC_TRY(mrc_comm_merge_numbers(ctx, products, q, err));
        e.mean_products = products;
        e.mean_span = span;
        model->center = MRC_CENTER_SPAN; /* the span of the pivots is that of all rows */
    }
    rc = mrc_expand(ctx, problem, &e, model, err);
    model->center = center;
    MRC_TRY(rc);
    for (int64_t j = 0; f->mean && j < l; j++) { /* without the triangle's condition */
        model->offsets[j] = 0;
        for (int64_t c = 0; c < q; c++)
            model->offsets[j] -= w[c * l + j] * f->mean[c];
    }
out:
    mercer_rows_free(points);
    mrc_free(triangle);
    mrc_free(span);
    mrc_free(products);
    mrc_free(e.coefficients);
    return rc;
}

static bool stands_on_pivots(const mrc_problem *problem, const mrc_expansion *e)
{
    const mrc_factor *f = mrc_gram_factor(e->gram);
    return problem->on_pivots && !e->points && !e->selected && f && f->pivots;
}

/* W = F' B, unless the method knows W: of centred mapped rows with F centred, else as both are.
 * Rounding puts a feature of a training row off by no more than it does in k(X, x)' B: |F_i| is the
 * root of K_ii, so errors of eps |F| |B| in W are errors of eps sqrt(kmax) |F| |B| <= eps sqrt(n)
 * kmax |B| in F_i' W, which is what n products of kernel values with B leave. New rows among them
 * are like them. Of rows far outside more digits are lost: there L'^-1 W, which has larger entries
 * than B, is not undone by L^-1 k(P, x). */
static mercer_status turn_to_pivots(mercer_ctx *ctx, const mrc_problem *problem, mrc_expansion *e,
                                    mercer_model *model, mercer_error *err)
{
    const mrc_factor *f = mrc_gram_factor(e->gram);
    double *w = NULL;
    mercer_status rc = MERCER_OK;
    if (!e->inner) {
        MRC_TRY(mrc_alloc2_raw(&w, f->rank, e->components, sizeof *w, err));
        MRC_TRY(mrc_factor_transposed_times(f, e->coefficients, e->components, w, err));
    }
    mrc_free(e->coefficients);
    e->coefficients = NULL;
    MRC_TRY(mrc_expand_on_pivots(ctx, problem, e->gram, e->inner ? e->inner : w, e->components,
                                 model, err));
    mrc_gram_release(e->gram);
out:
    mrc_free(w);
    return rc;
}

/* ---- either ---- */

mercer_status mrc_expand(mercer_ctx *ctx, const mrc_problem *problem, mrc_expansion *e,
                         mercer_model *model, mercer_error *err)
{
    const mercer_rows *points = e->points ? e->points : problem->rows;
    bool collapses = mrc_expansion_collapses(problem, e->count, e->components);
    mercer_rows *taken = NULL;
    double *inner = NULL;
    mercer_status rc = MERCER_OK;
    if (e->gram && !collapses && stands_on_pivots(problem, e)) {
        rc = turn_to_pivots(ctx, problem, e, model, err);
        goto out;
    }
    bool all = !e->points && !e->selected && !e->inner;
    if (e->gram && collapses && all && e->centered_images == mrc_gram_centered(e->gram)) {
        MRC_TRY(mrc_gram_collapse(e->gram, e->coefficients, e->components, &inner, err));
        e->inner = inner;
    }
    /* What follows would see the rows of this rank alone, unless a few of all are selected, or sums
     * over the rows are all that is made of them. */
    bool few = e->points || (e->selected && model->center != MRC_CENTER_EXACT);
    bool summed = e->inner || (!e->selected && mercer_rows_is_sparse(points));
    if (mrc_rows_span(ctx, problem->rows).spread && !few && !(collapses && summed))
        MRC_TRY(mrc_rows_need_whole(problem->rows, "a model of all rows", err));
    if (e->gram)
        mrc_gram_release(e->gram);
    model->components = e->components;
    if (e->selected) {
        MRC_TRY(mrc_alloc(&model->selected, e->count, sizeof *model->selected, err));
        memcpy(model->selected, e->selected, (size_t)e->count * sizeof *model->selected);
        model->selected_count = e->count;
    }
    if (!collapses) {
        rc = expand(problem, e, model, err);
        goto out;
    }
    if (e->selected)
        MRC_TRY(mrc_rows_take_of_all(ctx, problem->rows, e->selected, e->count, &taken, err));
    MRC_TRY(collapse(ctx, problem, e, taken ? taken : points, model, err));
out:
    mercer_rows_free(taken);
    mrc_free(inner);
    mrc_free(e->coefficients);
    e->coefficients = NULL;
    return rc;
}
