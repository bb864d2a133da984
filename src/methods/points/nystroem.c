/* SPDX-License-Identifier: BSD-3-Clause */
/* Nystroem kernel PCA: kernel PCA in the span of rows that are sampled (Williams, Seeger 2001).
 *
 * sampling=uniform draws rows without replacement; a fit then takes m columns of the matrix and
 * n m^2, and never looks at the rest. sampling=kmeans (Zhang, Kwok 2008) takes the rows nearest to
 * the centres of k-means, begun by k-means++. Centres are not points themselves: a training row can
 * be named, stays sparse, and is something every kernel takes. Distances to centres need only
 * products with a Gram operator, |x_i - c|^2 = K_ii - 2 (K a)_i + a'K a with a the shares of the
 * members: that of the linear kernel for rows, that of the given kernel when it is precomputed; n d
 * m a step for rows. sampling=greedy takes the row that lowers the mean error most each time: akfa
 * on the uncentred matrix, a pass over it a point. sampling=rpcholesky draws rows by what those
 * before leave of them (gram/sampled.c), and tells what all of them leave out: with t that share of
 * the trace, no eigenvalue of the matrix is off by more, and the sum of all gaps is t at most. */
#include "methods/points/subset.h"

#include "base/comm.h"
#include "gram/sampled.h"
#include "methods/common/request.h"

#include <math.h>
#include <string.h>

struct nystroem_params {
    double components;
    int64_t points;
    int sampling;
};

static const mrc_param nystroem_schema[] = {
    MRC_COMPONENTS(struct nystroem_params, 10), MRC_POINTS(struct nystroem_params),
    MRC_CHOICE(
        struct nystroem_params, sampling, 0, "uniform|kmeans|greedy|rpcholesky",
        "rows at random, rows in the middle of clusters, rows that cover the others best, or rows "
        "at random by what is left of them"),
    MRC_PARAM_END};

enum { UNIFORM, KMEANS, GREEDY, RPCHOLESKY };

static mercer_status choose_uniform(void *self, mercer_ctx *ctx, const mrc_problem *problem,
                                    mrc_gram *gram, int64_t *list, int64_t *count,
                                    mercer_error *err)
{
    const mrc_span span = mrc_rows_span(ctx, problem->rows);
    (void)self;
    (void)gram;
    int64_t *drawn = NULL;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < span.n; i++)
        list[i] = span.first + i;
    MRC_TRY(mrc_draw_of_all(ctx, &span, list, span.n, *count, &drawn, count, err));
    memcpy(list, drawn, (size_t)*count * sizeof *list);
out:
    mrc_free(drawn);
    return rc;
}

/* ---- k-means through products with a Gram operator ---- */

struct clusters {
    mercer_ctx *ctx;
    mrc_gram *gram;
    const double *diag;
    int64_t n, k;
    int64_t *cluster, *next;   /* of each row: now, and the nearest centre so far; n */
    double *distance;          /* squared, from the nearest centre so far; n */
    int64_t *size;             /* of each cluster; k */
    double *shares, *products; /* n x CENTRES */
};

enum {
    CENTRES = 32, /* looked at at once: more take memory, fewer more products */
    STEPS = 20    /* of Lloyd's; what later ones still move is little */
};

static void clusters_destroy(struct clusters *c)
{
    mrc_free(c->cluster);
    mrc_free(c->next);
    mrc_free(c->distance);
    mrc_free(c->size);
    mrc_free(c->shares);
    mrc_free(c->products);
}

/* Rows nearer to centre j than to those before become its members. */
static void claim(struct clusters *c, int64_t row, int64_t j, double distance)
{
    if (distance < c->distance[row]) {
        c->distance[row] = fmax(distance, 0);
        c->next[row] = j;
    }
}

/* A row at random, with probabilities in proportion to its distance; -1 when none is left. */
static int64_t draw_far_row(struct clusters *c)
{
    double total = 0, at;
    int64_t last = -1;
    for (int64_t i = 0; i < c->n; i++)
        total += c->distance[i];
    at = mrc_rng_uniform(&c->ctx->rng) * total;
    for (int64_t i = 0; i < c->n && at >= 0; i++)
        if (c->distance[i] > 0) {
            at -= c->distance[i];
            last = i;
        }
    return last;
}

/* k-means++: k becomes smaller when there are fewer different rows. */
static mercer_status begin(struct clusters *c, mercer_error *err)
{
    double *column = c->products;
    int64_t row = mrc_rng_below(&c->ctx->rng, c->n), j = 0;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < c->n; i++)
        c->distance[i] = INFINITY;
    for (; j < c->k && row >= 0; j++) {
        MRC_TRY(mrc_gram_columns(c->gram, &row, 1, column, err));
        for (int64_t i = 0; i < c->n; i++)
            claim(c, i, j, i == row ? 0 : c->diag[i] - 2 * column[i] + c->diag[row]);
        row = draw_far_row(c);
    }
    c->k = j;
out:
    return rc;
}

/* Distances to the centres first .. first + count of the clusters as they are. */
static mercer_status measure(struct clusters *c, int64_t first, int64_t count, mercer_error *err)
{
    double norm2[CENTRES] = {0};
    memset(c->shares, 0, (size_t)(c->n * count) * sizeof *c->shares);
    for (int64_t i = 0; i < c->n; i++) {
        int64_t j = c->cluster[i];
        if (j >= first && j < first + count)
            c->shares[i * count + j - first] = 1 / (double)c->size[j];
    }
    mercer_status rc = mrc_gram_apply(c->gram, c->shares, count, c->products, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < count; j++)
            norm2[j] += c->shares[i * count + j] * c->products[i * count + j];
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < count; j++)
            if (c->size[first + j] > 0)
                claim(c, i, first + j, c->diag[i] - 2 * c->products[i * count + j] + norm2[j]);
    return MERCER_OK;
}

/* One step of Lloyd's: rows go to the nearest centre. *moved: how many changed. */
static mercer_status step(struct clusters *c, int64_t *moved, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    memset(c->size, 0, (size_t)c->k * sizeof *c->size);
    *moved = 0;
    for (int64_t i = 0; i < c->n; i++) {
        *moved += c->cluster[i] != c->next[i];
        c->cluster[i] = c->next[i];
        c->size[c->cluster[i]]++;
        c->distance[i] = INFINITY;
    }
    for (int64_t first = 0; first < c->k; first += CENTRES)
        MRC_TRY(measure(c, first, c->k - first < CENTRES ? c->k - first : CENTRES, err));
out:
    return rc;
}

/* The row nearest to the centre of each cluster. */
static int64_t nearest_rows(const struct clusters *c, int64_t *list)
{
    int64_t count = 0;
    for (int64_t j = 0; j < c->k; j++) {
        int64_t best = -1;
        for (int64_t i = 0; i < c->n; i++)
            if (c->next[i] == j && (best < 0 || c->distance[i] < c->distance[best]))
                best = i;
        if (best >= 0)
            list[count++] = best;
    }
    return count;
}

static mercer_status choose_kmeans(void *self, mercer_ctx *ctx, const mrc_problem *problem,
                                   mrc_gram *gram, int64_t *list, int64_t *count, mercer_error *err)
{
    struct clusters c = {.ctx = ctx, .gram = gram, .n = problem->rows->n, .k = *count};
    mrc_gram_request request = {.centered = true, .work_columns = 2 * CENTRES + 4};
    mrc_gram *linear = NULL;
    mrc_kernel kernel;
    int64_t moved = 1;
    mercer_status rc = MERCER_OK;
    (void)self;
    if (!mrc_kernel_is_precomputed(problem->kernel)) {
        MRC_TRY(mrc_kernel_parse(&kernel, "linear", err));
        MRC_TRY(mrc_gram_new(&linear, ctx, &kernel, problem->rows, &request, NULL, err));
        c.gram = linear;
    }
    MRC_TRY(mrc_gram_diag(c.gram, &c.diag, err));
    MRC_TRY(mrc_alloc(&c.cluster, c.n, sizeof *c.cluster, err));
    MRC_TRY(mrc_alloc(&c.next, c.n, sizeof *c.next, err));
    MRC_TRY(mrc_alloc(&c.distance, c.n, sizeof *c.distance, err));
    MRC_TRY(mrc_alloc(&c.size, c.k, sizeof *c.size, err));
    MRC_TRY(mrc_alloc2(&c.shares, c.n, CENTRES, sizeof *c.shares, err));
    MRC_TRY(mrc_alloc2(&c.products, c.n, CENTRES, sizeof *c.products, err));
    MRC_TRY(begin(&c, err));
    for (int i = 0; i < STEPS && (moved > 0 || i == 0); i++) {
        mrc_progress(ctx, "k-means", (double)i / STEPS);
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(step(&c, &moved, err));
    }
    *count = nearest_rows(&c, list);
out:
    clusters_destroy(&c);
    mrc_gram_free(linear);
    return rc;
}

/* ---- by what is left ---- */

static mercer_status choose_by_residual(void *self, mercer_ctx *ctx, const mrc_problem *problem,
                                        mrc_gram *gram, int64_t *list, int64_t *count,
                                        mercer_error *err)
{
    mrc_subset_choice *choice = self;
    const int64_t n = mrc_rows_total(problem->rows);
    mrc_sampled sampled = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(
        mrc_gram_sample(gram, *count < n ? *count : n, 0, mrc_rng_next(&ctx->rng), &sampled, err));
    if (sampled.indefinite)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "sampling rpcholesky: the kernel is not positive semidefinite on these rows, so "
                 "what is left of them is not a weight; use another sampling");
    if (sampled.factor->rank < *count &&
        (choice->points > 0 || sampled.factor->rank < problem->components))
        mrc_notice(ctx, "%lld points are enough: no row has anything left beside them",
                   (long long)sampled.factor->rank);
    *count = sampled.factor->rank;
    memcpy(list, sampled.factor->pivots, (size_t)*count * sizeof *list);
    choice->factor = sampled.factor;
    sampled.factor = NULL;
out:
    mrc_sampled_destroy(&sampled);
    return rc;
}

static mrc_subset_choice choice_of(const struct nystroem_params *p)
{
    return (mrc_subset_choice){.points = p->points,
                               .rule = {.score = MRC_SCORE_DIRECTION},
                               .choose = p->sampling == UNIFORM      ? choose_uniform
                                         : p->sampling == KMEANS     ? choose_kmeans
                                         : p->sampling == RPCHOLESKY ? choose_by_residual
                                                                     : NULL};
}

static mercer_status nystroem_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                                  mercer_model *model, mercer_error *err)
{
    const struct nystroem_params *p = params;
    mrc_subset_choice choice = choice_of(p);
    choice.self = &choice;
    mercer_status rc = mrc_subset_fit(ctx, problem, &choice, model, err);
    if (rc == MERCER_OK && p->sampling == RPCHOLESKY)
        model->left_out_share = choice.left_out_share;
    mrc_factor_free(choice.factor);
    return rc;
}

/* The points must not hang on the number of components. */
static bool nystroem_is_nested(const void *params)
{
    const struct nystroem_params *p = params;
    return p->points > 0;
}

static void nystroem_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                          int64_t n, mrc_work *work)
{
    const struct nystroem_params *p = params;
    mrc_subset_choice choice = choice_of(p);
    mrc_subset_work(ctx, problem, n, &choice, work);
    if (p->sampling == KMEANS) /* distances of all rows from all centres, again and again */
        work->flops += 4 * STEPS * (double)n * work->points * (double)problem->rows->d;
}

static mercer_status nystroem_check_spread(const mrc_request *request, mercer_error *err)
{
    const struct nystroem_params *p = request->params;
    if (p->sampling != UNIFORM && p->sampling != RPCHOLESKY)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "method"),
                           "method nystroem: rows that are spread over ranks can only be drawn by "
                           "sampling=uniform and rpcholesky: use one of these, or fit on one rank");
    mercer_status rc = mrc_subset_check_center(request, err);
    return rc == MERCER_OK ? mrc_subset_check_store(request, err) : rc;
}

const mrc_method mrc_method_nystroem = {
    .entry = {.name = "nystroem",
              .summary = "Nystroem kernel PCA: features on sampled rows",
              .reference = "Williams, Seeger 2001",
              .params = nystroem_schema},
    .params_size = sizeof(struct nystroem_params),
    .default_center = MRC_CENTER_SPAN,
    .takes_landmarks = true,
    .check_spread = nystroem_check_spread,
    .fit = nystroem_fit,
    .is_nested = nystroem_is_nested,
    .work = nystroem_work,
};
