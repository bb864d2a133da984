/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel PCA in the span of chosen points.
 *
 * C (m x m, upper triangular) makes an orthonormal basis of the mapped points Z,
 * C' K_ZZ C = I, so a row has the coordinates P_i = C' k(Z, x_i). Linear PCA of them about their
 * mean mu, eigenpairs (lambda, W) of (P - mu)'(P - mu), gives the directions B = C W of kernel PCA
 * of the mapped rows projected on the span: features(x) = B' k(Z, x) - W' mu. The mean of the
 * mapped rows projected on the span is sum_s a_s phi(z_s), a = C mu; features do not depend on the
 * rest of it, so `span` and `exact` differ only in the reconstruction errors. All rows as points:
 * kernel PCA. Rows that were selected bring C and P along (gram/residual.h), and so do those that a
 * factor was made of (gram/sampled.h). Points that are known
 * beforehand, landmarks of the caller's or rows that were drawn, go through the pivoted Cholesky
 * factorisation of their own m x m matrix, which leaves out those that depend on others, and take m
 * n kernel values, in blocks: no n x n matrix. Cost beside the choice: n m^2. */
#include "methods/points/subset.h"

#include "base/order.h"
#include "base/running.h"
#include "base/strips.h"
#include "base/sweep.h"
#include "gram/factor.h"
#include "linalg/linalg.h"
#include "methods/common/expansion.h"
#include "methods/common/request.h"
#include "methods/greedy/sparse_features.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void mrc_frame_destroy(mrc_frame *f)
{
    mrc_free(f->coordinates);
    mrc_free(f->basis);
    mrc_free(f->own);
    mrc_free(f->mean);
    mrc_free(f->selected);
    mercer_rows_free(f->points);
    memset(f, 0, sizeof *f);
}

static void set_rows(mrc_frame *f, const mercer_ctx *ctx, const mercer_rows *rows)
{
    f->span = mrc_rows_span(ctx, rows);
    f->n = f->span.n;
}

/* ---- sums over the rows of all ranks ---- */

enum { LANES = 8 }; /* sums that run side by side */

static double add_lanes(const double *lanes)
{
    double sum = 0;
    for (int k = 0; k < LANES; k++)
        sum += lanes[k];
    return sum;
}

struct sums {
    const mrc_frame *f;
    const double *means; /* of the coordinates, m */
};

/* Sums of the coordinates of some rows. Not by BLAS: where its kernels align their loads, the order
 * of additions depends on the address of a row, and that on how many rows a rank has. */
static void sum_coordinates(void *arg, int64_t first, int64_t end, double *sums, int worker)
{
    const struct sums *w = arg;
    const mrc_frame *f = w->f;
    (void)worker;
    for (int64_t j = 0; j < f->m; j++) {
        const double *u = f->coordinates + j * f->n;
        double lanes[LANES] = {0}, sum = 0;
        int64_t i = first;
        for (; i + LANES <= end; i += LANES)
            for (int k = 0; k < LANES; k++)
                lanes[k] += u[i + k];
        for (; i < end; i++)
            sum += u[i];
        sums[j] = sum + add_lanes(lanes);
    }
}

/* mean (m): of the coordinates. */
static mercer_status find_mean(const mrc_frame *f, mercer_ctx *ctx, double *mean, mercer_error *err)
{
    double size = (double)f->n * (double)f->m;
    struct sums w = {.f = f};
    mercer_status rc =
        mrc_sum_span(ctx, &f->span, f->m, size, size, 0, sum_coordinates, &w, mean, err);
    for (int64_t j = 0; rc == MERCER_OK && j < f->m; j++)
        mean[j] /= (double)f->span.total;
    return rc;
}

/* Means of the squares of each coordinate, and of those about its mean. Each is divided before it
 * is added, or the largest kernel values would leave the range of numbers. */
static void sum_squares_about(void *arg, int64_t first, int64_t end, double *sums, int worker)
{
    const struct sums *w = arg;
    const mrc_frame *f = w->f;
    const double share = 1 / (double)f->span.total;
    (void)worker;
    for (int64_t j = 0; j < f->m; j++) {
        const double *u = f->coordinates + j * f->n, mean = w->means[j];
        double plain[LANES] = {0}, about[LANES] = {0};
        int64_t i = first;
        for (; i + LANES <= end; i += LANES)
            for (int k = 0; k < LANES; k++) {
                double off = u[i + k] - mean;
                plain[k] += u[i + k] * u[i + k] * share;
                about[k] += off * off * share;
            }
        for (int k = 0; i + k < end; k++) {
            plain[k] += u[i + k] * u[i + k] * share;
            about[k] += (u[i + k] - mean) * (u[i + k] - mean) * share;
        }
        sums[2 * j] = add_lanes(plain);
        sums[2 * j + 1] = add_lanes(about);
    }
}

struct running {
    const double *diag;
    int64_t n, total;
};

static mercer_status add_diagonal(void *arg, int64_t begin, int64_t end, double *sum,
                                  mercer_error *err)
{
    const struct running *w = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t i = 0; i < w->n; i++)
        *sum += w->diag[i] / (double)w->total;
    return MERCER_OK;
}

static mercer_status set_diagonal(mrc_frame *f, mercer_ctx *ctx, const double *diag, double eps,
                                  double left_out, mercer_error *err)
{
    struct running w = {.diag = diag, .n = f->n, .total = f->span.total};
    double largest = 0;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < f->n; i++)
        largest = fmax(largest, fabs(diag[i]));
    if (f->span.spread)
        MRC_TRY(mrc_comm_largest(ctx, &largest, err));
    MRC_TRY(mrc_run_span(ctx, &f->span, &f->diagonal, 1, 1, add_diagonal, &w, err));
    f->floor = mrc_rank_floor(f->span.total, eps * largest, left_out);
out:
    return rc;
}

/* C and the coordinates of the selected rows of def, whichever ranks have them. */
static mercer_status take_basis(mrc_frame *f, const mrc_residual_gram *def, mercer_error *err)
{
    int64_t m = f->m = def->count;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&f->basis, m, m, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&f->own, m, m, sizeof(double), err));
    mrc_residual_gram_coefficients(def, f->basis);
    for (int64_t s = 0; s < m; s++) {
        const int64_t row = def->selected[s] - def->span.first;
        /* later directions leave earlier rows nothing */
        for (int64_t j = 0; row >= 0 && row < def->n && j <= s; j++)
            f->own[s * m + j] = def->projections[j * def->stride + row];
    }
    if (def->span.spread)
        MRC_TRY(mrc_comm_merge(def->ctx, f->own, m * m * (int64_t)sizeof *f->own, err));
out:
    return rc;
}

/* ---- training rows as points ---- */

/* The frame of selected rows; takes the projections of s over. */
static mercer_status frame_of_rows(mrc_frame *f, mercer_ctx *ctx, mrc_gram *gram, mrc_selection *s,
                                   bool exact, mercer_error *err)
{
    const double *diag;
    mercer_status rc = MERCER_OK;
    f->n = s->def.n;
    f->span = s->def.span;
    MRC_TRY(mrc_gram_diag(gram, &diag, err));
    MRC_TRY(set_diagonal(f, ctx, diag, mrc_gram_eps(gram), mrc_gram_left_out(gram), err));
    MRC_TRY(take_basis(f, &s->def, err));
    for (int64_t j = 1; s->def.stride > f->n && j < f->m; j++)
        memmove(s->def.projections + j * f->n, s->def.projections + j * s->def.stride,
                (size_t)f->n * sizeof(double));
    f->coordinates = s->def.projections;
    s->def.projections = NULL;
    f->selected = s->def.selected;
    s->def.selected = NULL;
    if (exact)
        MRC_TRY(mrc_gram_grand_mean(gram, &f->grand, err));
out:
    return rc;
}

/* Row numbers instead of rows: the landmarks of a precomputed kernel. */
static mercer_status read_numbers(const mrc_problem *problem, int64_t *list, mercer_error *err)
{
    const mercer_rows *numbers = problem->landmarks;
    int64_t n = problem->rows->n;
    unsigned char *seen = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&seen, n, 1, err));
    for (int64_t i = 0; i < numbers->n; i++) {
        double number;
        mercer_rows_copy(numbers, i, 1, &number);
        if (number != floor(number) || number < 0 || number >= (double)n)
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.input = "landmarks", .row = i + 1),
                        "landmarks: %g is not the number of a row, 0 to %lld", number,
                        (long long)n - 1);
        list[i] = (int64_t)number;
        if (seen[list[i]]++)
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.input = "landmarks", .row = i + 1),
                        "landmarks: row %lld is given twice", (long long)list[i]);
    }
out:
    mrc_free(seen);
    return rc;
}

/* How many points to look for, and the rule that stops earlier. */
static void set_limits(const mrc_problem *problem, int64_t n, mrc_subset_choice *choice)
{
    enum { TIMES = 3, BY_SHARE = 100 }; /* points a component; points drawn for a share */
    mrc_selection_rule *rule = &choice->rule;
    int64_t usual = BY_SHARE;
    if (problem->components > 0)
        usual = problem->components < n / TIMES ? TIMES * problem->components : n;
    rule->centered = problem->center != MRC_CENTER_NONE;
    rule->about_mean = rule->about_mean && rule->centered;
    /* The span has to hold more than the features will: half of what the share leaves. */
    if (problem->share > 0 && choice->points == 0 && !choice->choose && rule->captured <= 0)
        rule->captured = (1 + problem->share) / 2;
    bool stops = rule->captured > 0 || rule->maxerr > 0 || rule->mserr > 0;
    rule->most = choice->points > 0 ? choice->points : stops ? n : usual;
    rule->most = rule->most < n ? rule->most : n;
    if (choice->depth_of_points)
        rule->depth = rule->most < n ? rule->most : usual;
    if (rule->depth >= n)
        rule->depth = 0;
}

/* The rows of a precomputed kernel that the caller names, or those of the choice; *list: NULL when
 * a rule selects them. */
static mercer_status list_rows(mercer_ctx *ctx, const mrc_problem *problem,
                               const mrc_subset_choice *choice, mrc_gram *gram, int64_t **list,
                               int64_t *count, mercer_error *err)
{
    const mercer_rows *landmarks = problem->landmarks;
    mercer_status rc = MERCER_OK;
    *count = landmarks ? landmarks->n : choice->rule.most;
    if (!landmarks && !choice->choose)
        return MERCER_OK;
    int64_t room = problem->rows->n > *count ? problem->rows->n : *count;
    MRC_TRY(mrc_alloc(list, landmarks ? *count : room, sizeof **list, err));
    if (landmarks)
        MRC_TRY(read_numbers(problem, *list, err));
    else
        MRC_TRY(choice->choose(choice->self, ctx, problem, gram, *list, count, err));
out:
    return rc;
}

static void notify_left_out(const mercer_ctx *ctx, int64_t count, int64_t kept, const char *what)
{
    if (kept < count)
        mrc_notice(ctx, "%lld of %lld %s depend on the others and are left out",
                   (long long)(count - kept), (long long)count, what);
}

/* By the rule, or from the list. */
static mercer_status select_rows(mercer_ctx *ctx, const mrc_problem *problem,
                                 mrc_subset_choice *choice, mrc_gram *gram, const int64_t *list,
                                 int64_t count, mrc_selection *s, mercer_error *err)
{
    mrc_selection_rule *rule = &choice->rule;
    mercer_status rc = MERCER_OK;
    if (list)
        *rule = (mrc_selection_rule){.score = MRC_SCORE_RESIDUAL,
                                     .centered = rule->centered,
                                     .most = count,
                                     .given = list,
                                     .given_count = count};
    MRC_TRY(mrc_selection_run(s, ctx, gram, rule, err));
    if (list)
        notify_left_out(ctx, count, s->def.count, "points");
    else if (s->exhausted && (choice->points > 0 || s->def.count < problem->components))
        mrc_notice(ctx, "%lld points are enough: no row has anything left beside them",
                   (long long)s->def.count);
out:
    rule->given = NULL;
    return rc;
}

/* ---- points that are known beforehand ---- */

static mercer_status measure_rows(mrc_frame *f, mercer_ctx *ctx, const mrc_problem *problem,
                                  mercer_error *err)
{
    mrc_points points = {0};
    double *diag = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&diag, f->n, sizeof *diag, err));
    MRC_TRY(mrc_kernel_check_rows(problem->kernel, ctx, problem->rows, f->span.first, err));
    MRC_TRY(mrc_points_init(&points, ctx, problem->kernel, problem->rows, NULL, err));
    MRC_TRY(mrc_kernel_whole_diag(problem->kernel, ctx, &points, diag, err));
    MRC_TRY(set_diagonal(f, ctx, diag, DBL_EPSILON, 0, err));
    if (!isfinite(f->diagonal))
        MRC_TRY(mrc_problem_check_range(problem, err));
out:
    mrc_points_destroy(&points);
    mrc_free(diag);
    return rc;
}

struct turned {
    mrc_frame *f;
    const double *projected; /* count x m */
    int64_t first, count;
};

static void turn_strip(void *arg, int64_t strip, int worker)
{
    const struct turned *w = arg;
    const int64_t m = w->f->m, begin = strip * MRC_STRIP;
    const int64_t end = mrc_min64(w->count, begin + MRC_STRIP);
    (void)worker;
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = begin; i < end; i++)
            w->f->coordinates[j * w->f->n + w->first + i] = w->projected[i * m + j];
}

/* P' = C' K_ZX, a block of training rows at a time: whole strips, as a rank has them, so that a row
 * is computed in the same company wherever it is. kept: those of the points of gram that span. */
static mercer_status project_rows(mrc_frame *f, mercer_ctx *ctx, const mrc_problem *problem,
                                  mrc_gram *gram, const int64_t *kept, mercer_error *err)
{
    /* Kernel values held, and as many products: a sixteenth of the coordinates, within limits. More
     * take memory, fewer make short products. */
    enum { SHARE = 16, FEW = 1 << 18, MANY = 1 << 22 };
    /* Strips of a block, which threads share; mrc_tall_times() cuts longer ones otherwise. */
    enum { LEAST = 2, MOST = 32 };
    int64_t all = mrc_gram_size(gram), m = f->m, share = f->n * all / SHARE;
    int64_t strips = (share < FEW ? FEW : share < MANY ? share : MANY) / all / MRC_STRIP;
    int64_t block = (strips < LEAST ? LEAST : strips < MOST ? strips : MOST) * MRC_STRIP;
    double *values = NULL, *weights = NULL, *projected = NULL;
    mercer_status rc = MERCER_OK;
    block = block < f->n ? block : f->n;
    MRC_TRY(mrc_alloc2_raw(&values, block, all, sizeof *values, err));
    MRC_TRY(mrc_alloc2_raw(&projected, block, m, sizeof *projected, err));
    MRC_TRY(mrc_alloc2(&weights, all, m, sizeof *weights, err)); /* C, zero for those left out */
    MRC_TRY(mrc_alloc2_raw(&f->coordinates, m, f->n, sizeof(double), err));
    for (int64_t s = 0; s < m; s++)
        memcpy(weights + kept[s] * m, f->basis + s * m, (size_t)m * sizeof *weights);
    for (int64_t first = 0; first < f->n; first += block) {
        int64_t count = f->n - first < block ? f->n - first : block;
        MRC_TRY(mrc_gram_cross(gram, problem->rows, first, count, values, err));
        MRC_TRY(mrc_tall_times_checked(ctx, count, m, all, 1, values, all, weights, m, 0, projected,
                                       m, err));
        struct turned turned = {.f = f, .projected = projected, .first = first, .count = count};
        MRC_TRY(mrc_parfor_checked(ctx, mrc_strips(count), turn_strip, &turned, err));
    }
out:
    mrc_free(values);
    mrc_free(weights);
    mrc_free(projected);
    return rc;
}

/* What each point added for the training rows, as a selection tells it; residual: of the points,
 * before they were taken. */
static mercer_status describe_points(const mrc_frame *f, mercer_ctx *ctx, bool centered,
                                     const double *residual, mercer_model *model, mercer_error *err)
{
    double n = (double)f->span.total, error = f->diagonal, variance = 0;
    double *means = NULL, *sums = NULL, size = (double)f->n * (double)f->m;
    struct sums w = {.f = f};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&model->selection, f->m, MERCER_SELECTION_COLUMNS, sizeof(double), err));
    MRC_TRY(mrc_alloc(&means, f->m, sizeof *means, err));
    MRC_TRY(mrc_alloc2(&sums, f->m, 2, sizeof *sums, err));
    if (centered)
        MRC_TRY(find_mean(f, ctx, means, err));
    w.means = means;
    MRC_TRY(
        mrc_sum_span(ctx, &f->span, 2 * f->m, size, 6 * size, 0, sum_squares_about, &w, sums, err));
    for (int64_t j = 0; j < f->m; j++) {
        double *row = model->selection + j * MERCER_SELECTION_COLUMNS;
        error -= sums[2 * j];
        variance += sums[2 * j + 1];
        row[MERCER_SELECTION_SCORE] = sums[2 * j + 1];
        row[MERCER_SELECTION_RESIDUAL] = residual[j];
        /* Only rounding is below zero, unless the kernel is indefinite. */
        row[MERCER_SELECTION_ERROR] = fabs(error) < f->floor / n ? fmax(error, 0) : error;
        row[MERCER_SELECTION_VARIANCE] = variance;
    }
out:
    mrc_free(means);
    mrc_free(sums);
    return rc;
}

/* Which of the points are kept, what was left of them before, and their basis. Where rows are
 * spread, rank 0 says so: kernel values and products differ from processor to processor, and so
 * would the choice. f->m = 0: none is. */
static mercer_status keep_points(mrc_frame *f, mercer_ctx *ctx, const mrc_selection *s,
                                 int64_t **which, double **residual, mercer_error *err)
{
    int64_t m = s->def.count;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_decide(ctx, &f->span, &m, sizeof m, err));
    MRC_TRY(mrc_alloc(which, m, sizeof **which, err));
    MRC_TRY(mrc_alloc(residual, m, sizeof **residual, err));
    if (mrc_decides(ctx, &f->span) && m > 0) {
        memcpy(*which, s->def.selected, (size_t)m * sizeof **which);
        memcpy(*residual, s->residual, (size_t)m * sizeof **residual);
        MRC_TRY(take_basis(f, &s->def, err));
    } else {
        f->m = m;
        MRC_TRY(mrc_alloc2(&f->basis, m, m, sizeof(double), err));
        MRC_TRY(mrc_alloc2(&f->own, m, m, sizeof(double), err));
    }
    MRC_TRY(mrc_decide(ctx, &f->span, *which, m * (int64_t)sizeof **which, err));
    MRC_TRY(mrc_decide_numbers(ctx, &f->span, *residual, m, err));
    MRC_TRY(mrc_decide_numbers(ctx, &f->span, f->basis, m * m, err));
    MRC_TRY(mrc_decide_numbers(ctx, &f->span, f->own, m * m, err));
out:
    return rc;
}

/* The frame of training rows that are listed, as of landmarks: their own matrix is factored, and
 * then no row is prepared more than once for all of them. The operator, which holds no columns,
 * gives diagonal and mean. */
static mercer_status frame_of_list(mrc_frame *f, mercer_ctx *ctx, const mrc_problem *problem,
                                   mrc_gram *gram, const int64_t *list, int64_t count,
                                   mercer_model *model, mercer_error *err)
{
    mrc_selection_rule rule = {.score = MRC_SCORE_RESIDUAL, .most = count};
    mrc_gram_request request = {.store = &mrc_store_dense, .work_columns = 2 * count};
    mercer_rows *points = NULL;
    mrc_selection s = {0};
    mrc_gram *own = NULL;
    const double *diag;
    double *residual = NULL;
    int64_t *which = NULL; /* of the list, kept */
    mercer_status rc = MERCER_OK;
    set_rows(f, ctx, problem->rows);
    MRC_TRY(mrc_rows_take_of_all(ctx, problem->rows, list, count, &points, err));
    MRC_TRY(mrc_gram_new(&own, ctx, problem->kernel, points, &request, NULL, err));
    MRC_TRY(mrc_selection_run(&s, ctx, own, &rule, err));
    MRC_TRY(keep_points(f, ctx, &s, &which, &residual, err));
    if (f->m == 0)
        MRC_TRY(mrc_problem_no_component(problem, err));
    notify_left_out(ctx, count, f->m, "points");
    MRC_TRY(mrc_gram_diag(gram, &diag, err));
    MRC_TRY(set_diagonal(f, ctx, diag, DBL_EPSILON, 0, err));
    MRC_TRY(project_rows(f, ctx, problem, own, which, err));
    MRC_TRY(mrc_alloc(&f->selected, f->m, sizeof *f->selected, err));
    for (int64_t i = 0; i < f->m; i++)
        f->selected[i] = list[which[i]];
    MRC_TRY(describe_points(f, ctx, problem->center != MRC_CENTER_NONE, residual, model, err));
    if (problem->center == MRC_CENTER_EXACT)
        MRC_TRY(mrc_gram_grand_mean(gram, &f->grand, err));
out:
    mrc_selection_destroy(&s);
    mrc_gram_free(own);
    mercer_rows_free(points);
    mrc_free(which);
    mrc_free(residual);
    return rc;
}

/* The frame of those of the caller's points that do not depend on others, all of which every
 * rank has. */
static mercer_status frame_of_landmarks(mrc_frame *f, mercer_ctx *ctx, const mrc_problem *problem,
                                        mercer_error *err)
{
    const mercer_rows *landmarks = problem->landmarks;
    mrc_selection_rule rule = {.score = MRC_SCORE_RESIDUAL, .most = landmarks->n};
    mrc_gram_request request = {.store = &mrc_store_dense, .work_columns = 2 * landmarks->n};
    mercer_fit_report *report = problem->report;
    mrc_selection s = {0};
    mrc_gram *gram = NULL;
    double *residual = NULL;
    int64_t *which = NULL; /* of the landmarks, kept */
    mercer_status rc = MERCER_OK;
    set_rows(f, ctx, problem->rows);
    MRC_TRY(mrc_gram_new(&gram, ctx, problem->kernel, landmarks, &request, NULL, err));
    MRC_TRY(mrc_selection_run(&s, ctx, gram, &rule, err));
    MRC_TRY(keep_points(f, ctx, &s, &which, &residual, err));
    if (f->m == 0)
        MRC_FAIL(err, MERCER_ERR_DATA, "landmarks: the kernel maps each of them to zero");
    notify_left_out(ctx, landmarks->n, f->m, "landmarks");
    MRC_TRY(mrc_rows_take(landmarks, which, f->m, &f->points, err));
    MRC_TRY(measure_rows(f, ctx, problem, err));
    MRC_TRY(project_rows(f, ctx, problem, gram, which, err));
    snprintf(report->store, sizeof report->store, "stream");
    snprintf(report->store_reason, sizeof report->store_reason,
             "only values with the %lld landmarks are computed, once", (long long)landmarks->n);
out:
    mrc_selection_destroy(&s);
    mrc_gram_free(gram);
    mrc_free(which);
    mrc_free(residual);
    return rc;
}

struct unpacked {
    const double *panel; /* n x MRC_PANEL, a copy */
    double *columns;     /* its first `width` columns, one after the other */
    int64_t n, width;
};

static void unpack_strip(void *arg, int64_t strip, int worker)
{
    const struct unpacked *w = arg;
    const int64_t begin = strip * MRC_STRIP, end = mrc_min64(w->n, begin + MRC_STRIP);
    (void)worker;
    for (int64_t j = 0; j < w->width; j++)
        for (int64_t i = begin; i < end; i++)
            w->columns[j * w->n + i] = w->panel[i * MRC_PANEL + j];
}

/* The values of a factor become its columns, in their place: both may be as large as all else that
 * a fit holds. */
static mercer_status take_columns(mrc_frame *f, mercer_ctx *ctx, mrc_factor *factor,
                                  mercer_error *err)
{
    const int64_t n = factor->n, m = factor->rank;
    double *copy = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&copy, n, MRC_PANEL, sizeof *copy, err));
    for (int64_t j = 0; j < m; j += MRC_PANEL) {
        struct unpacked w = {.panel = copy,
                             .columns = mrc_factor_panel(factor, j),
                             .n = n,
                             .width = mrc_min64(MRC_PANEL, m - j)};
        memcpy(copy, w.columns, (size_t)(n * MRC_PANEL) * sizeof *copy);
        MRC_TRY(
            mrc_sweep(ctx, mrc_strips(n), 2 * (double)n * (double)w.width, unpack_strip, &w, err));
    }
    f->coordinates = factor->values;
    factor->values = NULL;
out:
    mrc_free(copy);
    return rc;
}

/* The frame of the pivots of a factor K ~ F F'. With L = F_Z, lower triangular, K_ZZ = L L' and
 * F = K_XZ L'^-1: the coordinates of the rows are F itself, those of the points L, the basis is
 * L'^-1, and point j had L_jj^2 left when it was taken. Takes the values of F over. */
static mercer_status frame_of_factor(mrc_frame *f, mercer_ctx *ctx, const mrc_problem *problem,
                                     mrc_gram *gram, mrc_factor *factor, mercer_model *model,
                                     mercer_error *err)
{
    const int64_t m = factor->rank;
    double *residual = NULL;
    const double *diag;
    mercer_status rc = MERCER_OK;
    set_rows(f, ctx, problem->rows);
    if (m == 0)
        MRC_TRY(mrc_problem_no_component(problem, err));
    f->m = m;
    MRC_TRY(mrc_gram_diag(gram, &diag, err));
    MRC_TRY(set_diagonal(f, ctx, diag, mrc_gram_eps(gram), mrc_gram_left_out(gram), err));
    MRC_TRY(mrc_factor_triangle(factor, &f->own, err));
    MRC_TRY(mrc_alloc2(&f->basis, m, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&residual, m, sizeof *residual, err));
    for (int64_t j = 0; j < m; j++) {
        residual[j] = f->own[j * m + j] * f->own[j * m + j];
        memset(f->own + j * m + j + 1, 0, (size_t)(m - j - 1) * sizeof(double)); /* rounding */
        f->basis[j * m + j] = 1;
    }
    mrc_lower_solve(false, true, m, m, f->own, m, f->basis, m);
    MRC_TRY(mrc_decide_numbers(ctx, &f->span, f->basis, m * m, err));
    MRC_TRY(mrc_alloc(&f->selected, m, sizeof *f->selected, err));
    memcpy(f->selected, factor->pivots, (size_t)m * sizeof *f->selected);
    MRC_TRY(take_columns(f, ctx, factor, err));
    MRC_TRY(describe_points(f, ctx, problem->center != MRC_CENTER_NONE, residual, model, err));
    if (problem->center == MRC_CENTER_EXACT)
        MRC_TRY(mrc_gram_grand_mean(gram, &f->grand, err));
out:
    mrc_free(residual);
    return rc;
}

/* ---- linear PCA of the coordinates ---- */

/* Subtract the mean mu from the coordinates: sums of squares about it then lose no digits. */
static mercer_status take_mean_off(mrc_frame *f, mercer_ctx *ctx, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(find_mean(f, ctx, f->mean, err));
    for (int64_t j = 0; j < f->m; j++)
        for (int64_t i = 0; i < f->n; i++)
            f->coordinates[j * f->n + i] -= f->mean[j];
out:
    return rc;
}

/* Directions by weights in place of those of the scatter (m x m, in units of `unit`), which gives
 * way to them; values: the sums of squares along each, zero where the weights leave nothing but
 * rounding. Both as mrc_eigen_symmetric() has them. */
static mercer_status find_weighted(const mrc_frame *f, mercer_ctx *ctx, const double *weights,
                                   double unit, double *scatter, double *values, mercer_error *err)
{
    int64_t m = f->m;
    double *axes = NULL, *image = NULL, *products = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&axes, m, m, sizeof *axes, err));
    MRC_TRY(mrc_alloc2(&products, m, m, sizeof *products, err));
    MRC_TRY(mrc_alloc(&image, m, sizeof *image, err));
    for (int64_t i = 0; i < f->n; i++) {
        if (weights[i] == 0)
            continue;
        for (int64_t j = 0; j < m; j++)
            image[j] = f->coordinates[j * f->n + i] + f->mean[j];
        for (int64_t j = 0; j < m; j++)
            for (int64_t k = 0; k <= j; k++)
                axes[j * m + k] += weights[i] * image[j] / unit * image[k];
    }
    MRC_TRY(mrc_eigen_symmetric(ctx, m, axes, values, err));
    mrc_tall_times(ctx, m, m, m, 1, axes, m, scatter, m, 0, products, m);
    double nothing = (double)m * DBL_EPSILON * values[m - 1];
    for (int64_t j = 0; j < m; j++)
        values[j] = values[j] > nothing ? mrc_dot(axes + j * m, products + j * m, m) : 0;
    memcpy(scatter, axes, (size_t)(m * m) * sizeof *scatter);
out:
    mrc_free(axes);
    mrc_free(products);
    mrc_free(image);
    return rc;
}

struct squares {
    const double *a;
    int64_t k, n;
};

static void sum_squares(void *arg, int64_t first, int64_t end, double *sum, int worker)
{
    const struct squares *w = arg;
    (void)worker;
    for (int64_t j = 0; j < w->k; j++) {
        double own = 0;
        for (int64_t i = first; i < end; i++)
            own += w->a[j * w->n + i] * w->a[j * w->n + i];
        *sum += own;
    }
}

/* P'P. No entry of the sum over any rows is larger than the sum of all squares, except for
 * rounding: with that bound the sums of many parts are exact in any order, and ranks exchange two
 * numbers for each. */
static mercer_status find_scatter(const mrc_frame *f, mercer_ctx *ctx, double *scatter,
                                  mercer_error *err)
{
    struct squares w = {.a = f->coordinates, .k = f->m, .n = f->n};
    double size = (double)f->n * (double)f->m, bound = 0;
    mercer_status rc = MERCER_OK;
    if (mrc_sum_is_wide(&f->span, f->m * f->m))
        MRC_TRY(mrc_sum_span(ctx, &f->span, 1, size, 2 * size, 0, sum_squares, &w, &bound, err));
    MRC_TRY(mrc_wide_gram_of_span(ctx, f->coordinates, f->m, &f->span, 2 * bound, scatter, err));
out:
    return rc;
}

/* Leading eigenpairs of the scatter of the coordinates: the spectrum, and B = C W. */
static mercer_status find_directions(const mrc_frame *f, mercer_ctx *ctx,
                                     const mrc_problem *problem, double total, mrc_expansion *e,
                                     mrc_subset_choice *choice, mercer_model *model,
                                     mercer_error *err)
{
    int64_t m = f->m, l;
    double unit = mrc_usual_unit(f->diagonal), inside = 0;
    double *scatter = NULL, *values = NULL, *leading = NULL, *w = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&scatter, m, m, sizeof *scatter, err));
    MRC_TRY(mrc_alloc(&values, m, sizeof *values, err));
    MRC_TRY(mrc_alloc(&leading, m, sizeof *leading, err));
    MRC_TRY(find_scatter(f, ctx, scatter, err));
    for (int64_t i = 0; i < m * m; i++) /* LAPACK would scale, too, but not by a power of two */
        scatter[i] /= unit;
    MRC_TRY(choice->weights ? find_weighted(f, ctx, choice->weights, unit, scatter, values, err)
                            : mrc_eigen_symmetric_of_all(ctx, &f->span, m, scatter, values, err));
    model->correlated = choice->weights != NULL;
    for (int64_t j = 0; j < m; j++)
        leading[j] = values[m - 1 - j] * unit;
    for (int64_t j = 0; j < m; j++)
        inside += leading[j] / (double)f->span.total;
    choice->left_out_share = total > 0 ? fmin(fmax(1 - inside / total, 0), 1) : 0;
    l = mrc_wanted_pairs(leading, m, f->floor, problem->components, problem->share,
                         total * (double)f->span.total);
    if (l == 0)
        MRC_TRY(mrc_problem_no_component(problem, err));
    MRC_TRY(mrc_alloc2(&w, m, l, sizeof *w, err));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < l; j++)
            w[i * l + j] = scatter[(m - 1 - j) * m + i];
    MRC_TRY(mrc_alloc2(&e->coefficients, m, l, sizeof(double), err));
    MRC_TRY(mrc_tall_times_checked(ctx, m, l, m, 1, f->basis, m, w, l, 0, e->coefficients, l, err));
    mrc_fix_signs(m, l, e->coefficients);
    e->components = l;
    model->spectrum = leading;
    leading = NULL;
out:
    mrc_free(scatter);
    mrc_free(values);
    mrc_free(leading);
    mrc_free(w);
    return rc;
}

static void notify(const mercer_ctx *ctx, const mrc_problem *problem, const mrc_frame *f,
                   const mercer_model *model)
{
    long long found = model->components, m = f->m;
    double reached = 1 - model->reconstruction_error / model->total_variance;
    if (problem->components > found)
        mrc_notice_at(ctx, MRC_AT(.cause = MERCER_CAUSE_FEWER_COMPONENTS),
                      "%lld components asked for, but the %lld points give %lld",
                      (long long)problem->components, m, found);
    if (model->reconstruction_error < 0)
        mrc_notice(ctx, "the kernel is not positive semidefinite on these rows: shares may exceed "
                        "100 %% and errors are negative");
    else if (problem->share > 0 && reached < problem->share - 1e-9)
        mrc_notice(ctx, "%g of the variance asked for, but the %lld points reach %.4g",
                   problem->share, m, reached);
    if (model->center == MRC_CENTER_EXACT && model->points > m)
        mrc_notice_at(
            ctx, MRC_AT(.advice_key = "center", .advice_value = "span"),
            "features need %lld rows, but errors about the exact mean all %lld, so the "
            "model keeps them; the mean in their span gives the same features and keeps %lld",
            m, (long long)f->span.total, m);
}

static mercer_status build_model(mercer_ctx *ctx, const mrc_problem *problem, mrc_frame *f,
                                 mrc_subset_choice *choice, mercer_model *model, mercer_error *err)
{
    bool centered = problem->center != MRC_CENTER_NONE;
    bool exact = problem->center == MRC_CENTER_EXACT;
    mrc_expansion e = {.points = f->points, .selected = f->selected, .count = f->m};
    double *products = NULL, *span = NULL, norm2 = 0, kept = 0;
    int64_t m = f->m;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&f->mean, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&products, m, sizeof *products, err));
    MRC_TRY(mrc_alloc(&span, m, sizeof *span, err));
    if (centered)
        MRC_TRY(take_mean_off(f, ctx, err));
    for (int64_t j = 0; j < m; j++)
        norm2 += f->mean[j] * f->mean[j];
    mrc_tall_times(ctx, m, 1, m, 1, f->own, m, f->mean, 1, 0, products, 1);
    mrc_tall_times(ctx, m, 1, m, 1, f->basis, m, f->mean, 1, 0, span, 1);
    e.mean_products = products;
    e.mean_span = span;
    e.mean_norm2 = exact ? f->grand : norm2;
    MRC_TRY(find_directions(f, ctx, problem, f->diagonal - e.mean_norm2, &e, choice, model, err));
    MRC_TRY(mrc_expand(ctx, problem, &e, model, err));

    double taken_off = e.mean_norm2; /* a linear map keeps the true mean, whatever was asked for */
    for (int64_t k = 0; centered && model->input_center && k < model->columns; k++)
        taken_off = (k ? taken_off : 0) + model->input_center[k] * model->input_center[k];
    for (int64_t j = 0; j < model->components; j++)
        kept += model->spectrum[j] / (double)f->span.total;
    model->orthonormal = true;
    model->total_variance = f->diagonal - taken_off;
    model->reconstruction_error = model->total_variance - kept;
    if (fabs(model->reconstruction_error) < f->floor / (double)f->span.total)
        model->reconstruction_error = fmax(model->reconstruction_error, 0); /* rounding */
    problem->report->projection_variance = kept;
    problem->report->residual = (double)m * DBL_EPSILON;
    notify(ctx, problem, f, model);
out:
    mrc_free(e.coefficients); /* when it did not come to mrc_expand */
    mrc_free(products);
    mrc_free(span);
    return rc;
}

/* This is asked of the operator for n rows like those of the problem, once the limits are set;
 * *expected: points that may be taken. */
static mrc_gram_request request_of(const mrc_problem *problem, const mrc_subset_choice *choice,
                                   int64_t n, int64_t *expected)
{
    enum { LIKELY = 64 }; /* points of a fit whose number is not given */
    int64_t most = choice->rule.most;
    bool few =
        choice->choose ? !choice->many_passes : mrc_selection_needs_few_columns(&choice->rule, n);
    *expected = most < n || n < LIKELY ? most : LIKELY;
    return (mrc_gram_request){
        .few_columns = few && problem->center != MRC_CENTER_EXACT,
        .by_products = !choice->choose,
        .work_columns = (choice->rule.rescore || choice->many_passes ? 2 : 1) * *expected + 12};
}

void mrc_subset_work(const mercer_ctx *ctx, const mrc_problem *problem, int64_t n,
                     mrc_subset_choice *choice, mrc_work *work)
{
    int64_t expected;
    set_limits(problem, n, choice);
    work->request = request_of(problem, choice, n, &expected);
    double m = (double)expected;
    work->points = problem->center == MRC_CENTER_EXACT ? (double)n : m;
    if (choice->choose)
        work->columns += m;
    else
        mrc_selection_work(&choice->rule, n, expected, work);
    /* Coordinates of points that are listed come in one product, where no matrix is held. Others
     * come a point at a time: each reads all rows for their kernel values with it, and the
     * coordinates on the points before. Then their scatter. */
    bool blocks = choice->choose && work->request.few_columns;
    double entries = (double)mercer_rows_entries(problem->rows) / (double)problem->rows->n;
    work->reads += choice->choose && !blocks ? (double)n * m * (m / 2 + entries) : 0;
    work->flops += (blocks ? 4 : 2) * (double)n * m * m;
    work->order = m;
    /* The scatter, the sums of its parts, points, basis and what eigenproblems take. */
    work->beside = mrc_sum_bytes(ctx, n, (int64_t)(m * m), (double)n * m / 2) + 5 * 8 * m * m;
}

mercer_status mrc_subset_frame(mercer_ctx *ctx, const mrc_problem *problem,
                               mrc_subset_choice *choice, mrc_frame *f, mercer_model *model,
                               mercer_error *err)
{
    mercer_fit_report *report = problem->report;
    bool precomputed = mrc_kernel_is_precomputed(problem->kernel);
    bool exact = problem->center == MRC_CENTER_EXACT;
    mrc_selection s = {0};
    mrc_gram *gram = NULL;
    int64_t *list = NULL, count;
    mercer_status rc = MERCER_OK;

    snprintf(report->solver, sizeof report->solver, "lapack");
    report->passes = 1;
    if (problem->landmarks && !precomputed) {
        rc = frame_of_landmarks(f, ctx, problem, err);
        goto out;
    }
    const int64_t n = mrc_rows_total(problem->rows);
    int64_t expected;
    set_limits(problem, n, choice);
    mrc_gram_request request = request_of(problem, choice, n, &expected);
    MRC_TRY(mrc_problem_gram(ctx, problem, &request, &gram, err));
    MRC_TRY(list_rows(ctx, problem, choice, gram, &list, &count, err));
    if (choice->factor) {
        rc = frame_of_factor(f, ctx, problem, gram, choice->factor, model, err);
        goto out;
    }
    if (list && !mrc_gram_holds_columns(gram)) {
        rc = frame_of_list(f, ctx, problem, gram, list, count, model, err);
        goto out;
    }
    MRC_TRY(select_rows(ctx, problem, choice, gram, list, count, &s, err));
    if (s.def.count == 0)
        MRC_TRY(mrc_problem_no_component(problem, err));
    if (!s.rule->given_count) {
        snprintf(report->solver, sizeof report->solver, "greedy");
        report->passes = s.def.count;
    }
    MRC_TRY(mrc_selection_describe(&s, model, err));
    MRC_TRY(frame_of_rows(f, ctx, gram, &s, exact, err));
out:
    mrc_free(list);
    mrc_selection_destroy(&s);
    mrc_gram_free(gram);
    return rc;
}

mercer_status mrc_subset_check_spread(const mrc_request *request, mercer_error *err)
{
    const char *name = request->method->entry.name;
    if (!mrc_request_has_landmarks(request))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "landmarks"),
                           "method %s cannot choose among rows that are spread over ranks: give it "
                           "landmarks, use method nystroem, or fit on one rank",
                           name);
    return mrc_subset_check_store(request, err);
}

mercer_status mrc_subset_check_center(const mrc_request *request, mercer_error *err)
{
    if (request->problem.center == MRC_CENTER_EXACT)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "center"),
                           "center exact: the model would store all rows, which are spread over "
                           "ranks: use center span, which gives the same features, or fit on one "
                           "rank");
    return MERCER_OK;
}

mercer_status mrc_subset_check_store(const mrc_request *request, mercer_error *err)
{
    if (request->problem.store)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "store"),
                           "store: method %s computes kernel values with its points only, where "
                           "rows are spread over ranks: leave it out, or fit on one rank",
                           request->method->entry.name);
    return MERCER_OK;
}

mercer_status mrc_subset_fit(mercer_ctx *ctx, const mrc_problem *problem, mrc_subset_choice *choice,
                             mercer_model *model, mercer_error *err)
{
    mrc_frame f = {0};
    mercer_status rc = mrc_subset_frame(ctx, problem, choice, &f, model, err);
    if (rc == MERCER_OK)
        rc = build_model(ctx, problem, &f, choice, model, err);
    mrc_frame_destroy(&f);
    return rc;
}
