/* SPDX-License-Identifier: BSD-3-Clause */
/* The k nearest training rows among the features: they vote for their class, or their target values
 * are averaged.
 *
 * Brute force in tiles: |x|^2 + |z|^2 - 2 x.z by GEMM is within a known bound of the squared
 * distance, and a training row that even this bound cannot bring among the k nearest so far is
 * passed over. All others are measured by differences, feature by feature in order. So rounding of
 * the products chooses no neighbour, whatever the mean of the features; at equal distance the lower
 * training row is the nearer one. The first k features are those of a fit with k components.
 * Cost a row: 2 n l, and some k log(n / k) exact distances. For many numbers of features exact
 * distances grow by one feature's squares at a time: 3 n l, and n for each number. */
#include "heads/heads.h"
#include "linalg/linalg.h"

#include <float.h>
#include <string.h>

struct knn_params {
    int64_t k;
    int ties;
};
enum { TIES_NEAREST, TIES_LOWEST, TIES_STRICT };

static const mrc_param knn_schema[] = {
    MRC_INT(struct knn_params, k, 10, 1, INT32_MAX, "neighbours that vote"),
    MRC_CHOICE(struct knn_params, ties, TIES_NEAREST, "nearest|lowest|strict",
               "a tie goes to the class with the nearest neighbour, to the first class, or leaves "
               "the row without a class"),
    MRC_PARAM_END};

static mercer_status knn_fit(mercer_ctx *ctx, void *params, const mrc_head_data *data,
                             mrc_head *head, mercer_error *err)
{
    const struct knn_params *p = params;
    int64_t n = data->n, values = n * data->outputs;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&head->points, n, data->l, sizeof(double), err));
    memcpy(head->points, data->features, (size_t)(n * data->l) * sizeof(double));
    if (data->codes) {
        MRC_TRY(mrc_alloc2_raw(&head->codes, n, 1, sizeof(int64_t), err));
        memcpy(head->codes, data->codes, (size_t)n * sizeof(int64_t));
    } else {
        MRC_TRY(mrc_alloc2_raw(&head->values, values, 1, sizeof(double), err));
        memcpy(head->values, data->values, (size_t)values * sizeof(double));
    }
    head->rows = n;
    if (p->k > n)
        mrc_notice(ctx, "head knn: k=%lld, but there are %lld rows: all of them vote",
                   (long long)p->k, (long long)n);
out:
    return rc;
}

static bool knn_is_complete(const mrc_head *head)
{
    bool classes = head->kind == MERCER_TARGET_CLASSES;
    return head->rows > 0 && head->points && (classes ? head->codes != NULL : head->values != NULL);
}

enum { QUERY_ROWS = 64, TILE_ROWS = 256 };

/* The nearest rows found so far, in order. */
struct nearest {
    double *distance;
    int64_t *row;
    int64_t count;
};

struct search {
    const struct knn_params *params;
    const mrc_head *head;
    const mrc_head_query *query;
    int64_t most;  /* neighbours wanted */
    int64_t first; /* task, of those that run together */
    double *norms; /* of the training rows */
    double *tiles; /* per worker: products of QUERY_ROWS x TILE_ROWS */
    double *distances;
    int64_t *rows; /* per worker: QUERY_ROWS x most */
    double *scores;
    int64_t *codes;
};

/* Squared distance by differences. */
static double measure(const double *x, const double *z, int64_t k)
{
    double sum = 0;
    for (int64_t j = 0; j < k; j++)
        sum += (x[j] - z[j]) * (x[j] - z[j]);
    return sum;
}

/* Take a row that comes after all those seen: at equal distance it is the farther one. */
static void insert_neighbour(struct nearest *found, int64_t most, double distance, int64_t row)
{
    int64_t at = found->count;
    if (at == most && !(distance < found->distance[most - 1]))
        return;
    at -= at == most;
    for (; at > 0 && found->distance[at - 1] > distance; at--) {
        found->distance[at] = found->distance[at - 1];
        found->row[at] = found->row[at - 1];
    }
    found->distance[at] = distance;
    found->row[at] = row;
    found->count += found->count < most;
}

/* One query against training rows [z0, z0 + count), whose products with it are known; not against
 * the row `left_out`, if any. */
static void scan(const struct search *s, const double *x, double norm, const double *products,
                 int64_t z0, int64_t count, int64_t left_out, struct nearest *found)
{
    int64_t l = s->query->l, k = s->query->k;
    /* The norms and the product err by k eps / 2 of `both` each at most, what we compare with by
     * as much of the distance, which is at most twice `both`; the rest is a margin. */
    double share = 2 * (double)(k + 4) * DBL_EPSILON;
    for (int64_t i = 0; i < count; i++) {
        double both = norm + s->norms[z0 + i];
        double least = both - 2 * products[i] - share * both;
        /* Squares that overflow make least NaN, which passes nothing over. */
        if (z0 + i == left_out || (found->count == s->most && least > found->distance[s->most - 1]))
            continue;
        insert_neighbour(found, s->most, measure(x, s->head->points + (z0 + i) * l, k), z0 + i);
    }
}

static int64_t vote_winner(const struct search *s, const struct nearest *found, const double *votes)
{
    const int64_t *codes = s->head->codes, outputs = s->head->outputs;
    int64_t best = mrc_head_winner(votes, outputs), tied = 0;
    for (int64_t o = 0; o < outputs; o++)
        tied += votes[o] == votes[best];
    if (tied > 1 && s->params->ties == TIES_STRICT)
        return MERCER_NO_CLASS;
    for (int64_t i = 0; s->params->ties == TIES_NEAREST && i < found->count; i++)
        if (votes[codes[found->row[i]]] == votes[best])
            return codes[found->row[i]];
    return best;
}

/* What the neighbours say, as prediction i. */
static void write_prediction(const struct search *s, int64_t i, const struct nearest *found)
{
    const mrc_head *head = s->head;
    int64_t outputs = head->outputs, count = found->count;
    double *scores = s->scores + i * outputs;
    memset(scores, 0, (size_t)outputs * sizeof *scores);
    for (int64_t j = 0; j < count; j++) {
        if (head->kind == MERCER_TARGET_CLASSES)
            scores[head->codes[found->row[j]]]++;
        else
            for (int64_t o = 0; o < outputs; o++)
                scores[o] += head->values[found->row[j] * outputs + o] / (double)count;
    }
    if (head->kind != MERCER_TARGET_CLASSES)
        return;
    if (s->codes)
        s->codes[i] = vote_winner(s, found, scores);
    for (int64_t o = 0; o < outputs; o++)
        scores[o] /= (double)count;
}

static void search_rows(void *arg, int64_t task, int worker)
{
    const struct search *s = arg;
    int64_t l = s->query->l, k = s->query->k, n = s->head->rows;
    int64_t first = (s->first + task) * QUERY_ROWS, left = s->query->n - first;
    int64_t queries = left < QUERY_ROWS ? left : QUERY_ROWS;
    const double *x = s->query->features + first * l;
    double *tile = s->tiles + worker * QUERY_ROWS * TILE_ROWS, norms[QUERY_ROWS];
    struct nearest found[QUERY_ROWS];
    for (int64_t i = 0; i < queries; i++) {
        int64_t place = (worker * QUERY_ROWS + i) * s->most;
        found[i] = (struct nearest){s->distances + place, s->rows + place, 0};
        norms[i] = mrc_dot(x + i * l, x + i * l, k);
    }
    for (int64_t z0 = 0; z0 < n; z0 += TILE_ROWS) {
        int64_t count = n - z0 < TILE_ROWS ? n - z0 : TILE_ROWS;
        mrc_gemm(false, true, queries, count, k, 1, x, l, s->head->points + z0 * l, l, 0, tile,
                 TILE_ROWS);
        for (int64_t i = 0; i < queries; i++)
            scan(s, x + i * l, norms[i], tile + i * TILE_ROWS, z0, count,
                 s->query->own ? first + i : -1, &found[i]);
    }
    for (int64_t i = 0; i < queries; i++)
        write_prediction(s, first + i, &found[i]);
}

static mercer_status knn_predict(mercer_ctx *ctx, const void *params, const mrc_head *head,
                                 const mrc_head_query *query, double *scores, int64_t *codes,
                                 mercer_error *err)
{
    enum { TOGETHER = 64 }; /* tasks between two looks at whether to go on */
    struct search s = {.params = params, .head = head, .query = query};
    int64_t n = head->rows, tasks = (query->n + QUERY_ROWS - 1) / QUERY_ROWS;
    mercer_status rc = MERCER_OK;
    s.most = s.params->k < n - query->own ? s.params->k : n - query->own;
    s.scores = scores;
    s.codes = codes;
    MRC_TRY(mrc_alloc2_raw(&s.norms, n, 1, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&s.tiles, ctx->threads, QUERY_ROWS * TILE_ROWS, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&s.distances, ctx->threads * QUERY_ROWS, s.most, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&s.rows, ctx->threads * QUERY_ROWS, s.most, sizeof(int64_t), err));
    for (int64_t i = 0; i < n; i++) {
        const double *z = head->points + i * query->l;
        s.norms[i] = mrc_dot(z, z, query->k);
    }
    for (; s.first < tasks; s.first += TOGETHER) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        mrc_parfor(ctx, tasks - s.first < TOGETHER ? tasks - s.first : TOGETHER, search_rows, &s);
    }
out:
    mrc_free(s.norms);
    mrc_free(s.tiles);
    mrc_free(s.distances);
    mrc_free(s.rows);
    return rc;
}

/* ---- every number of features ---- */

/* The same neighbours from distances that are all exact. */
struct growth {
    mercer_ctx *ctx;
    struct search search; /* without tiles and norms; distances and rows of one query a worker */
    const mrc_prefixes *prefixes;
    double *columns; /* l x n: features of the training rows, one after the other */
    double *squares; /* per worker: n distances of one query */
};

static void grow_query(void *arg, int64_t task, int worker)
{
    const struct growth *g = arg;
    const struct search *s = &g->search;
    int64_t l = s->query->l, n = s->head->rows;
    const double *x = s->query->features + task * l;
    double *squares = g->squares + worker * n;
    if (mrc_check_cancel(g->ctx, NULL) != MERCER_OK)
        return;
    memset(squares, 0, (size_t)n * sizeof *squares);
    for (int64_t p = 0, j = 0; p < g->prefixes->count; p++) {
        struct nearest found = {s->distances + worker * s->most, s->rows + worker * s->most, 0};
        for (; j < g->prefixes->numbers[p]; j++) {
            const double *z = g->columns + j * n;
            for (int64_t i = 0; i < n; i++)
                squares[i] += (x[j] - z[i]) * (x[j] - z[i]);
        }
        for (int64_t i = 0; i < n; i++)
            if (found.count < s->most || squares[i] < found.distance[s->most - 1])
                insert_neighbour(&found, s->most, squares[i], i);
        write_prediction(s, p * s->query->n + task, &found);
    }
}

static mercer_status knn_predict_prefixes(mercer_ctx *ctx, const void *params, const mrc_head *head,
                                          const mrc_head_query *query, const mrc_prefixes *prefixes,
                                          double *scores, int64_t *codes, mercer_error *err)
{
    struct growth g = {.ctx = ctx, .search = {.params = params, .head = head, .query = query}};
    struct search *s = &g.search;
    int64_t n = head->rows, l = query->l;
    mercer_status rc = MERCER_OK;
    g.prefixes = prefixes;
    s->most = s->params->k < n ? s->params->k : n;
    s->scores = scores;
    s->codes = codes;
    MRC_TRY(mrc_alloc2_raw(&g.columns, l, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&g.squares, ctx->threads, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&s->distances, ctx->threads, s->most, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&s->rows, ctx->threads, s->most, sizeof(int64_t), err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < l; j++)
            g.columns[j * n + i] = head->points[i * l + j];
    MRC_TRY(mrc_parfor_checked(ctx, query->n, grow_query, &g, err));
out:
    mrc_free(g.columns);
    mrc_free(g.squares);
    mrc_free(s->distances);
    mrc_free(s->rows);
    return rc;
}

const mrc_head_def mrc_head_knn = {
    .entry = {.name = "knn",
              .summary = "the vote of the nearest training rows, or the mean of their values",
              .reference = "Dhanjal, Gunn, Shawe-Taylor 2009; Liu, Mio 2005",
              .params = knn_schema},
    .params_size = sizeof(struct knn_params),
    .values = true,
    .scale_free = true,
    .copies = 1,
    .leaves_out = true,
    .most_tried = 20000, /* it takes n^2 l operations; raising it, longer fits */
    .fit = knn_fit,
    .is_complete = knn_is_complete,
    .predict = knn_predict,
    .predict_prefixes = knn_predict_prefixes,
};
