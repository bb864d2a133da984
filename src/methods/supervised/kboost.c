/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel boosting: a kernel made of one direction a round, each the best for the pairs of rows
 * whose labels the kernel so far gets wrong (Crammer, Keshet, Singer 2002).
 *
 * With F = sum_t alpha_t tau_t tau_t' the weight of a pair is D_ij = exp(-y_i y_j F_ij) (exp) or
 * 1 / (1 + exp(y_i y_j F_ij)) (log). A round takes the v that maximises v'K (D o yy') K v / v'KKv,
 * tau = K v scaled to max |tau_i| = 1, and alpha = 1/2 ln(W+ / W-), W+ and W- being the weights
 * D_ij |tau_i tau_j| of the pairs on which it is right and wrong. Features are sqrt(alpha) k(x)'v.
 *
 * In the range of K = V L V', found once, the maximiser is tau = V c with c the leading eigenvector
 * of V'(D o yy')V: from the r x r matrix when r is small, else by the Krylov solver. One n x n
 * array holds exp(y_i y_j F_ij), which a round multiplies. Cost of a round: n^2 exponentials, and
 * products of the array with r or some dozens of vectors. */
#include "linalg/linalg.h"
#include "methods/supervised/supervised.h"

#include <math.h>
#include <string.h>

struct kboost_params {
    double components;
    int loss;
    int64_t rounds;
    int points;
};

enum { EXP, LOG };

static const mrc_param kboost_schema[] = {
    MRC_COMPONENTS_SUPERVISED(struct kboost_params, 10),
    MRC_CHOICE(struct kboost_params, loss, EXP, "exp|log", "of the pairs of rows"),
    MRC_INT(struct kboost_params, rounds, 0, 0, 1e9,
            "rounds of boosting, each of which makes a feature; 0: as many as components"),
    MRC_STORED_ROWS(struct kboost_params), MRC_PARAM_END};

static const double LEAST = 1e-10;     /* of the largest eigenvalue of K: those in its range */
static const double MAX_WEIGHT = 10;   /* of a round that is right on all pairs */
static const double TOLERANCE = 1e-12; /* of the direction of a round */
enum { SMALL = 96 };                   /* order of an eigenproblem that is solved as a whole */

struct boost {
    mercer_ctx *ctx;
    int loss;
    int64_t n, rank;
    double *y;           /* n: +-1 */
    mrc_spectrum range;  /* of K */
    double *odds;        /* n x n: exp(y_i y_j F_ij) */
    double *left, *work; /* n x width each: vectors that D is applied to, and the result */
    int64_t width;       /* vectors that there is room for */
    int64_t repeated;    /* rounds that say nothing new */
    double *tiles;       /* per worker: a tile of D */
};

static void destroy(struct boost *b)
{
    mrc_free(b->y);
    mrc_spectrum_destroy(&b->range);
    mrc_free(b->odds);
    mrc_free(b->left);
    mrc_free(b->work);
    mrc_free(b->tiles);
}

/* ---- products with D ---- */

enum { ROWS = 64, COLUMNS = 512 }; /* of a tile */

struct product {
    const struct boost *b;
    int64_t l;
};

static void multiply_rows(void *arg, int64_t task, int worker)
{
    const struct product *p = arg;
    const struct boost *b = p->b;
    int64_t first = task * ROWS, rows = b->n - first < ROWS ? b->n - first : ROWS;
    double *tile = b->tiles + (int64_t)worker * ROWS * COLUMNS, one = b->loss == LOG;
    for (int64_t c = 0; c < b->n; c += COLUMNS) {
        int64_t cols = b->n - c < COLUMNS ? b->n - c : COLUMNS;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++)
                tile[i * cols + j] = 1 / (one + b->odds[(first + i) * b->n + c + j]);
        mrc_gemm(false, false, rows, p->l, cols, 1, tile, cols, b->left + c * p->l, p->l, c > 0,
                 b->work + first * p->l, p->l);
    }
}

/* work = D left, n x l. */
static mercer_status multiply(struct boost *b, int64_t l, mercer_error *err)
{
    struct product p = {.b = b, .l = l};
    return mrc_parfor_checked(b->ctx, (b->n + ROWS - 1) / ROWS, multiply_rows, &p, err);
}

static void flip(const struct boost *b, double *vectors, int64_t l)
{
    for (int64_t i = 0; i < b->n; i++)
        for (int64_t c = 0; c < l; c++)
            vectors[i * l + c] *= b->y[i];
}

/* out (rank x l) = V'(D o yy')V in. */
static mercer_status apply(void *self, const double *in, int64_t l, double *out, mercer_error *err)
{
    struct boost *b = self;
    int64_t r = b->rank, stride = b->range.count;
    mercer_status rc = MERCER_OK;
    if (l > b->width) {
        mrc_free(b->left);
        mrc_free(b->work);
        b->left = b->work = NULL;
        b->width = 0;
        MRC_TRY(mrc_alloc2_raw(&b->left, b->n, l, sizeof(double), err));
        MRC_TRY(mrc_alloc2_raw(&b->work, b->n, l, sizeof(double), err));
        b->width = l;
    }
    MRC_TRY(mrc_tall_times_checked(b->ctx, b->n, l, r, 1, b->range.vectors, stride, in, l, 0,
                                   b->left, l, err));
    flip(b, b->left, l);
    MRC_TRY(multiply(b, l, err));
    flip(b, b->work, l);
    MRC_TRY(mrc_tall_product(b->ctx, b->range.vectors, r, stride, b->work, l, l, b->n, out, err));
out:
    return rc;
}

/* ---- a round ---- */

/* The leading eigenvector (rank values) and its eigenvalue, not positive when there is none. */
static mercer_status find_leader(struct boost *b, double *c, double *mu, mercer_error *err)
{
    int64_t r = b->rank;
    double *unit = NULL, *square = NULL, *values = NULL;
    mrc_krylov_result found = {0};
    mercer_status rc = MERCER_OK;
    *mu = 0;
    if (r > SMALL) {
        mrc_operator op = {.span = mrc_span_whole(r), .apply = apply, .self = b};
        mrc_krylov_options options = {.count = 1,
                                      .tolerance = TOLERANCE,
                                      .block = 4,
                                      .most_columns = SMALL,
                                      .keep_images = true,
                                      .phase = "a round"};
        MRC_TRY(mrc_krylov_eigen(b->ctx, &op, &options, &found, err));
        *mu = found.count > 0 ? found.values[0] : 0;
        for (int64_t j = 0; found.count > 0 && j < r; j++)
            c[j] = found.vectors[j * found.count];
        goto out;
    }
    MRC_TRY(mrc_alloc2(&unit, r, r, sizeof *unit, err));
    MRC_TRY(mrc_alloc2_raw(&square, r, r, sizeof *square, err));
    MRC_TRY(mrc_alloc(&values, r, sizeof *values, err));
    for (int64_t j = 0; j < r; j++)
        unit[j * r + j] = 1;
    MRC_TRY(apply(b, unit, r, square, err));
    MRC_TRY(mrc_eigen_symmetric(b->ctx, r, square, values, err));
    *mu = values[r - 1];
    memcpy(c, square + (r - 1) * r, (size_t)r * sizeof *c);
out:
    mrc_free(unit);
    mrc_free(square);
    mrc_free(values);
    mrc_krylov_result_destroy(&found);
    return rc;
}

/* v += V L^-1 c. */
static void add_dual(const struct boost *b, double *c, double *v)
{
    int64_t r = b->rank;
    for (int64_t j = 0; j < r; j++)
        c[j] /= b->range.values[j];
    mrc_tall_times(b->ctx, b->n, 1, r, 1, b->range.vectors, b->range.count, c, 1, 1, v, 1);
}

/* tau = V c, scaled to max |tau_i| = 1 and along the labels, and v with K v = tau: V L^-1 c, once
 * corrected. tau is not taken from a product with K, whose rounding small eigenvalues magnify from
 * round to round. */
static mercer_status find_direction(const struct boost *b, mrc_deflation *dual, double *c,
                                    double *v, double *tau, mercer_error *err)
{
    int64_t n = b->n, r = b->rank, stride = b->range.count;
    double most = 0, *off = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&off, n, sizeof *off, err));
    mrc_tall_times(b->ctx, n, 1, r, 1, b->range.vectors, stride, c, 1, 0, tau, 1);
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(tau[i]));
    double factor = (mrc_dot(b->y, tau, n) < 0 ? -1 : 1) / most;
    for (int64_t i = 0; i < n; i++)
        tau[i] *= factor;
    for (int64_t j = 0; j < r; j++)
        c[j] *= factor;
    add_dual(b, c, v);
    MRC_TRY(mrc_gram_apply(dual->gram, v, 1, off, err));
    for (int64_t i = 0; i < n; i++)
        off[i] = tau[i] - off[i];
    MRC_TRY(mrc_tall_product(b->ctx, b->range.vectors, r, stride, off, 1, 1, n, c, err));
    add_dual(b, c, v);
out:
    mrc_free(off);
    return rc;
}

/* The weight alpha of a round: with s = y o tau in its positive and negative parts, all sums are of
 * terms of one sign. */
static mercer_status weigh(struct boost *b, const double *tau, double *alpha, mercer_error *err)
{
    double right = 0, wrong = 0;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < b->n; i++) {
        b->left[2 * i] = fmax(b->y[i] * tau[i], 0);
        b->left[2 * i + 1] = fmax(-b->y[i] * tau[i], 0);
    }
    MRC_TRY(multiply(b, 2, err));
    for (int64_t i = 0; i < b->n; i++) {
        const double *s = b->left + 2 * i, *d = b->work + 2 * i;
        right += s[0] * d[0] + s[1] * d[1];
        wrong += s[0] * d[1] + s[1] * d[0];
    }
    *alpha = wrong > 0 ? fmin(log(right / wrong) / 2, MAX_WEIGHT) : MAX_WEIGHT;
out:
    return rc;
}

struct update {
    struct boost *b;
    const double *tau;
    double alpha;
};

static void update_rows(void *arg, int64_t task, int worker)
{
    const struct update *u = arg;
    const struct boost *b = u->b;
    int64_t first = task * ROWS, end = first + ROWS < b->n ? first + ROWS : b->n;
    (void)worker;
    for (int64_t i = first; i < end; i++)
        for (int64_t j = 0; j < b->n; j++)
            b->odds[i * b->n + j] *= exp(u->alpha * b->y[i] * b->y[j] * u->tau[i] * u->tau[j]);
}

/* Whether all rows are alike to the kernel: the only direction there is gives them one value. */
static bool is_constant(const struct boost *b)
{
    const double *v = b->range.vectors;
    int64_t stride = b->range.count;
    for (int64_t i = 0; b->rank == 1 && i < b->n; i++)
        if (fabs(v[i * stride] - v[0]) > LEAST * fabs(v[0]))
            return false;
    return b->rank <= 1;
}

/* The range of K and pairs that all weigh the same. */
static mercer_status prepare(struct boost *b, mrc_deflation *dual, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    b->ctx = dual->ctx;
    b->n = dual->n;
    MRC_TRY(mrc_gram_spectrum(dual->gram, b->n, 0, &b->range, err));
    while (b->rank < b->range.count && b->range.values[b->rank] > LEAST * b->range.values[0])
        b->rank++;
    b->width = 2;
    MRC_TRY(mrc_alloc2_raw(&b->left, b->n, b->width, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&b->work, b->n, b->width, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&b->tiles, b->ctx->threads, ROWS * COLUMNS, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&b->odds, b->n, b->n, sizeof(double), err));
    for (int64_t i = 0; i < b->n; i++) {
        for (int64_t j = 0; j < b->n; j++)
            b->odds[i * b->n + j] = 1;
        MRC_TRY(mrc_check_pass(b->ctx, i, b->n, err));
    }
out:
    return rc;
}

static mercer_status choose(void *self, mrc_deflation *dual, bool *added, mercer_error *err)
{
    struct boost *b = self;
    double *v = NULL, *c = NULL, mu;
    mercer_status rc = MERCER_OK;
    *added = false;
    if (!b->odds)
        MRC_TRY(prepare(b, dual, err));
    if (is_constant(b))
        goto out;
    MRC_TRY(mrc_alloc2(&v, 2, b->n, sizeof *v, err));
    MRC_TRY(mrc_alloc(&c, b->rank, sizeof *c, err));
    MRC_TRY(find_leader(b, c, &mu, err));
    double *tau = v + b->n, alpha = 0;
    if (mu > 0) {
        MRC_TRY(find_direction(b, dual, c, v, tau, err));
        MRC_TRY(weigh(b, tau, &alpha, err));
    }
    if (!(alpha > 0)) {
        dual->ended = "no direction is right on more pairs than it is wrong on";
        goto out;
    }
    struct update u = {.b = b, .tau = tau, .alpha = alpha};
    MRC_TRY(mrc_parfor_checked(b->ctx, (b->n + ROWS - 1) / ROWS, update_rows, &u, err));
    for (int64_t i = 0; i < b->n; i++)
        v[i] *= sqrt(alpha);
    dual->repeats = true;
    MRC_TRY(mrc_deflation_add(dual, NULL, b->n, v, NULL, added, err));
    b->repeated = dual->repeated;
out:
    mrc_free(v);
    mrc_free(c);
    return rc;
}

static mercer_status kboost_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                                mercer_model *model, mercer_error *err)
{
    const struct kboost_params *p = params;
    struct boost b = {.loss = p->loss};
    mrc_problem rounds = *problem;
    mrc_supervised method = {
        .choose = choose, .self = &b, .work_columns = 2 * problem->rows->n, .scale = MRC_AS_GIVEN};
    int64_t outputs;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_deflation_targets(problem, true, &b.y, &outputs, err));
    MRC_TRY(mrc_targets_check_signs(problem->targets, "kernel boosting", err));
    if (p->rounds > 0) {
        rounds.components = p->rounds;
        rounds.share = 0;
    }
    MRC_TRY(mrc_supervised_fit(ctx, &rounds, &method, model, err));
    if (b.repeated > 0)
        mrc_notice(ctx, "%lld of the %lld rounds repeat combinations of those before: %s",
                   (long long)b.repeated, (long long)model->components,
                   "this kernel can fit any labels of these rows, or has a low rank");
out:
    destroy(&b);
    return rc;
}

/* Each round has a solver of its own, and looks at all pairs. */
static void kboost_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                        int64_t n, mrc_work *work)
{
    enum { PASSES = 20 };
    const struct kboost_params *p = params;
    mrc_problem rounds = *problem;
    const mrc_supervised method = {.choose = choose, .work_columns = 2 * n};
    (void)ctx;
    if (p->rounds > 0)
        rounds.components = p->rounds;
    mrc_supervised_work(&rounds, n, &method, PASSES, work);
    work->flops += work->passes * 4 * (double)n * (double)n;
    work->spread = 4;
}

static bool kboost_on_pivots(const void *params)
{
    const struct kboost_params *p = params;
    return p->points == MRC_ROWS_AUTO;
}

const mrc_method mrc_method_kboost = {
    .entry = {.name = "kboost",
              .summary = "kernel boosting of two classes",
              .reference = "Crammer, Keshet, Singer 2002",
              .params = kboost_schema},
    .params_size = sizeof(struct kboost_params),
    .default_kernel = "linear",
    .default_center = MRC_CENTER_NONE,
    .centers = "none|exact",
    .fit = kboost_fit,
    .on_pivots = kboost_on_pivots,
    .work = kboost_work,
    .cheaper = "rkopls:subset=1000",
    .default_head = "ls",
    .learns = MERCER_LEARNS_TWO_CLASSES,
};
