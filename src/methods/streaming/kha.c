/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel Hebbian algorithm: principal directions learnt row by row, by small steps (Kim, Franz,
 * Schoelkopf 2005).
 *
 * With centred coordinates z of a row and directions W (r x m), y = W z,
 *
 *   W += diag(eta) (y z' - LT(y y') W),   LT: lower triangle with diagonal,
 *
 * turns towards the leading principal directions, in order. The coordinates are those of landmarks
 * (library.h), chosen from the first block as ikpca chooses its library and kept for good; what of
 * later rows lies outside their span is reported. So a step costs r m + r^2 m however many rows
 * there are, where coefficients over all rows would cost r^2 n.
 *
 * Rates are relative to the longest centred mapped row, squared; beyond about 1 the steps grow
 * without bound, which is caught. schedule=constant: eta = rate; decay: rate tau / (t + tau), t
 * rows looked at so far, tau those of the first block; et (Guenter, Schraudolph, Vishwanathan
 * 2007): decay, and direction j by |lambda| / lambda_j faster, lambda_j its variance in the last
 * pass.
 *
 * A block is gone through `passes` times in random order; then the directions are made orthonormal
 * again, in order, and their scatter is added up. The mean is that of all rows so far. */
#include "methods/streaming/streaming.h"

#include "linalg/linalg.h"
#include "linalg/orthonormal.h"

#include <math.h>
#include <string.h>

enum { CONSTANT, DECAY, ET };

struct kha_params {
    double components;
    double rate;
    int schedule;
    int64_t passes, block, first, library;
};

static const mrc_param kha_schema[] = {
    MRC_COMPONENTS(struct kha_params, 10),
    MRC_REAL(struct kha_params, rate, 0.1, DBL_MIN, 1e6,
             "size of the steps, relative to the longest mapped row; above 1 they diverge"),
    MRC_CHOICE(
        struct kha_params, schedule, ET, "constant|decay|et",
        "rates that are constant, that decay, or that decay and are larger for weak directions"),
    MRC_INT(struct kha_params, passes, 20, 1, 1e6, "passes over each block"),
    MRC_INT(struct kha_params, block, 300, 1, 1e6, "rows that are processed together"),
    MRC_INT(struct kha_params, first, 300, 1, 1e6,
            "rows of the first block, from which landmarks, scaling and sigma=median are taken"),
    MRC_INT(struct kha_params, library, 0, 0, 1e9,
            "landmarks, rows of the first block; 0: ten times the components"),
    MRC_PARAM_END};

static const double TOLERANCE = 1e-5; /* of landmarks: see ikpca.c */

static mercer_status kha_plan(const mrc_request *r, mrc_plan *plan, mercer_error *err)
{
    const struct kha_params *p = r->params;
    if (r->problem.components == 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "method kha: components is a number; a share is not known beforehand");
    *plan = (mrc_plan){.first = p->first, .block = p->block, .captured = 1};
    return MERCER_OK;
}

/* A block at work. */
struct work {
    mercer_ctx *ctx;
    const struct kha_params *p;
    int64_t n, m, r;
    mrc_state *s;              /* the next one */
    double *x;                 /* n x m: coordinates, later about the mean */
    double *w;                 /* r x m: directions */
    double *y, *turned, *gain; /* r, m, r */
    int64_t *order;            /* n */
    double before;             /* rows looked at before this block, all passes counted */
    bool diverged;
};

/* ---- landmarks ---- */

/* Choose landmarks among the rows of the first block, which lib holds; *x are their coordinates. */
static mercer_status choose_landmarks(mercer_ctx *ctx, mrc_library *lib, const mrc_request *r,
                                      int64_t n, double **x, mercer_error *err)
{
    enum { TIMES = 10 };
    const struct kha_params *p = r->params;
    int64_t m = lib->count, q = m < n ? m : n, k = q + 1;
    int64_t most = p->library > 0 ? p->library : TIMES * r->problem.components;
    double *scatter = NULL, *vectors = NULL, *singular = NULL, *targets = NULL;
    mrc_subframe frame = {0};
    mercer_status rc = MERCER_OK;
    if (m <= most)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2(&scatter, m, n, sizeof *scatter, err));
    MRC_TRY(mrc_alloc2(&vectors, m, q, sizeof *vectors, err));
    MRC_TRY(mrc_alloc(&singular, q, sizeof *singular, err));
    MRC_TRY(mrc_alloc2(&targets, m, k, sizeof *targets, err));
    for (int64_t i = 0; i < m; i++) {
        double mean = 0;
        for (int64_t t = 0; t < n; t++)
            mean += (*x)[t * m + i] / (double)n;
        for (int64_t t = 0; t < n; t++)
            scatter[i * n + t] = (*x)[t * m + i] - mean;
        targets[i * k + q] = mean;
    }
    MRC_TRY(mrc_svd_left(ctx, m, n, scatter, singular, vectors, err));
    /* As ikpca does, in no unit of the rows; products of the targets are squared. */
    const double root = sqrt(mrc_usual_unit(lib->largest));
    const double weight = lib->largest > 0 ? singular[0] / sqrt(lib->largest) : 1;
    for (int64_t i = 0; i < m; i++) {
        targets[i * k + q] *= weight / root;
        for (int64_t j = 0; j < q; j++)
            targets[i * k + j] = vectors[i * q + j] * (singular[j] / root);
    }
    MRC_TRY(mrc_library_choose(lib, ctx, targets, k, most, TOLERANCE, &frame, err));
    MRC_TRY(mrc_library_keep(lib, &frame, err));
    MRC_TRY(mrc_subframe_project_rows(&frame, ctx, m, x, n, err));
out:
    mrc_subframe_destroy(&frame);
    mrc_free(scatter);
    mrc_free(vectors);
    mrc_free(singular);
    mrc_free(targets);
    return rc;
}

/* ---- learning ---- */

/* Rows of w made orthonormal in order; one that depends on others becomes zero. */
static void orthonormalise(double *w, int64_t r, int64_t m)
{
    static const double FLOOR = 1e-10; /* of a row's length that the others must leave */
    for (int64_t j = 0; j < r; j++)
        if (!mrc_orthonormalise_row(m, j, FLOOR, w))
            memset(w + j * m, 0, (size_t)m * sizeof *w);
}

/* One row: y, and the step. */
static void learn_row(const struct work *w, const double *z, const double *eta)
{
    int64_t m = w->m;
    memset(w->turned, 0, (size_t)m * sizeof *w->turned);
    mrc_gemv(false, w->r, m, 1, w->w, m, z, 0, w->y);
    for (int64_t j = 0; j < w->r; j++) {
        double *v = w->w + j * m, step = eta[j] * w->y[j];
        for (int64_t i = 0; i < m; i++) { /* turned: sum of y_k w_k up to this direction */
            w->turned[i] += w->y[j] * v[i];
            v[i] += step * (z[i] - w->turned[i]);
        }
    }
}

/* Whether directions have left all bounds; near unit length they turn back. */
static bool has_diverged(const struct work *w)
{
    enum { BOUND = 100 };
    for (int64_t j = 0; j < w->r; j++) {
        double norm2 = mrc_dot(w->w + j * w->m, w->w + j * w->m, w->m);
        if (!(norm2 < BOUND))
            return true;
    }
    return false;
}

/* Variances along the directions, and what they make of the rates. Squares of variances may
 * overflow, but not in units of the longest mapped row. */
static void set_gains(const struct work *w)
{
    double sum2 = 0, unit = mrc_usual_unit(w->s->reach);
    for (int64_t j = 0; j < w->r; j++) {
        double *v = w->w + j * w->m, norm2 = mrc_dot(v, v, w->m), along = 0;
        for (int64_t t = 0; t < w->n; t++) {
            double y = mrc_dot(v, w->x + t * w->m, w->m);
            along += y * y / (double)w->n;
        }
        w->gain[j] = norm2 > 0 ? along / unit / norm2 : 0;
        sum2 += w->gain[j] * w->gain[j];
    }
    for (int64_t j = 0; j < w->r; j++)
        w->gain[j] = w->p->schedule == ET && w->gain[j] > 0 ? sqrt(sum2) / w->gain[j] : 1;
}

static void block_run(void *arg, int64_t task, int worker)
{
    /* Weak directions are helped along, but not beyond what is stable. */
    static const double STABLE = 0.5;
    struct work *w = arg;
    mrc_state *s = w->s;
    mrc_rng rng = {.s = {s->random[0], s->random[1], s->random[2], s->random[3]}};
    double most = fmax(w->p->rate, STABLE), *eta = w->gain;
    (void)task, (void)worker;
    for (int64_t pass = 0; pass < w->p->passes && !w->diverged; pass++) {
        double t = w->before + (double)(pass * w->n);
        double fade = w->p->schedule == CONSTANT ? 1 : s->halving / (t + s->halving);
        set_gains(w);
        for (int64_t j = 0; j < w->r; j++)
            eta[j] = fmin(w->p->rate * w->gain[j], most) * fade / s->reach;
        mrc_rng_shuffle(&rng, w->order, w->n);
        for (int64_t i = 0; i < w->n; i++)
            learn_row(w, w->x + w->order[i] * w->m, eta);
        w->diverged = has_diverged(w);
    }
    memcpy(s->random, rng.s, sizeof s->random);
    if (!w->diverged)
        orthonormalise(w->w, w->r, w->m);
}

/* The scatter of the block along the directions is added to that of the rows before; strongest
 * first. */
static mercer_status keep_directions(struct work *w, const mrc_state *old, mercer_error *err)
{
    mrc_state *s = w->s;
    int64_t m = w->m, r = w->r;
    double *values = w->y;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&s->basis, m, r, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s->singular, r, sizeof(double), err));
    for (int64_t j = 0; j < r; j++) {
        values[j] = old->singular ? old->singular[j] * old->singular[j] : 0;
        for (int64_t t = 0; t < w->n; t++) {
            double y = mrc_dot(w->w + j * m, w->x + t * m, m);
            values[j] += y * y;
        }
    }
    for (int64_t j = 0; j < r; j++) {
        int64_t best = 0;
        for (int64_t k = 1; k < r; k++)
            if (values[k] > values[best])
                best = k;
        s->singular[j] = sqrt(values[best]);
        values[best] = -1;
        for (int64_t i = 0; i < m; i++)
            s->basis[i * r + j] = w->w[best * m + i];
    }
    s->rank = r;
    if (!old->singular)
        mrc_fix_signs(m, r, s->basis);
out:
    return rc;
}

/* The directions to start from: those of the state, or random ones. */
static void start_directions(const struct work *w, const mrc_state *old)
{
    mrc_rng rng = {.s = {w->s->random[0], w->s->random[1], w->s->random[2], w->s->random[3]}};
    for (int64_t j = 0; j < w->r; j++)
        for (int64_t i = 0; i < w->m; i++)
            w->w[j * w->m + i] =
                old->basis ? old->basis[i * w->r + j] : mrc_rng_uniform(&rng) - 0.5;
    memcpy(w->s->random, rng.s, sizeof w->s->random);
    if (!old->basis)
        orthonormalise(w->w, w->r, w->m);
}

/* Subtract the new mean of all rows from the block; reach: longest centred mapped row, squared. */
static void take_mean_off(const struct work *w, const mrc_state *old, bool centered)
{
    mrc_state *s = w->s;
    int64_t n = w->n, m = w->m;
    double step = (double)n / (old->weight + (double)n);
    for (int64_t i = 0; centered && i < m; i++) {
        double mean = 0, before = old->mean ? old->mean[i] : 0;
        for (int64_t t = 0; t < n; t++)
            mean += w->x[t * m + i] / (double)n;
        s->mean[i] = before + step * (mean - before);
        for (int64_t t = 0; t < n; t++)
            w->x[t * m + i] -= s->mean[i];
    }
    for (int64_t t = 0; t < n; t++)
        s->reach = fmax(s->reach, mrc_dot(w->x + t * m, w->x + t * m, m));
}

/* Directions of the first block that there is anything along. Its rows span all m coordinates, so
 * taking their mean off can cost one of them, no more: as many as that are never asked about. */
static mercer_status count_directions(struct work *w, bool centered, mercer_error *err)
{
    static const double NOISE = 1e-10; /* of the scatter: TOLERANCE, squared */
    int64_t n = w->n, m = w->m;
    double *x = NULL, *scatter = NULL, *values = NULL;
    mercer_status rc = MERCER_OK;
    if (w->r < m || !centered || m < 2)
        goto out;
    MRC_TRY(mrc_alloc2(&x, n, m, sizeof *x, err));
    MRC_TRY(mrc_alloc2(&scatter, m, m, sizeof *scatter, err));
    MRC_TRY(mrc_alloc(&values, m, sizeof *values, err));
    for (int64_t i = 0; i < m; i++) {
        double mean = 0;
        for (int64_t t = 0; t < n; t++)
            mean += w->x[t * m + i] / (double)n;
        for (int64_t t = 0; t < n; t++)
            x[t * m + i] = w->x[t * m + i] - mean;
    }
    MRC_TRY(mrc_gram_of_columns(w->ctx, x, n, m, m, scatter, err));
    MRC_TRY(mrc_eigen_symmetric(w->ctx, m, scatter, values, err)); /* increasing */
    if (values[0] <= NOISE * values[m - 1])
        w->r = m - 1;
out:
    mrc_free(x);
    mrc_free(scatter);
    mrc_free(values);
    return rc;
}

static mercer_status learn_block(struct work *w, const mrc_state *old, bool centered,
                                 mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    w->r = w->r < w->m ? w->r : w->m;
    if (!old->basis)
        MRC_TRY(count_directions(w, centered, err));
    else if (old->rank == w->r - 1) /* the first block had no more */
        w->r = old->rank;
    if (old->basis && old->rank != w->r) /* only a file that was tampered with says so */
        MRC_FAIL(err, MERCER_ERR_FORMAT, "method kha: %lld directions, where there are %lld",
                 (long long)w->r, (long long)old->rank);
    MRC_TRY(mrc_alloc2(&w->w, w->r, w->m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->y, w->r, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->gain, w->r, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->turned, w->m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->order, w->n, sizeof *w->order, err));
    MRC_TRY(mrc_alloc(&w->s->mean, w->m, sizeof(double), err));
    for (int64_t i = 0; i < w->n; i++)
        w->order[i] = i;
    take_mean_off(w, old, centered);
    start_directions(w, old);
    if (w->s->reach > 0)
        mrc_serial(w->ctx, block_run, w);
    if (w->diverged)
        MRC_FAIL(err, MERCER_ERR_NUMERIC,
                 "method kha: rate=%g is too large, the directions grow without bound; try rate=%g",
                 w->p->rate, w->p->rate > 1 ? 0.1 : w->p->rate / 10);
    MRC_TRY(keep_directions(w, old, err));
out:
    return rc;
}

static mercer_status kha_fold(mercer_ctx *ctx, mercer_stream *stream, const mercer_rows *block,
                              mercer_error *err)
{
    const mrc_request *r = &stream->request;
    const mrc_state *old = &stream->state;
    mrc_library lib = {0};
    mrc_state next;
    struct work w = {.ctx = ctx, .p = r->params, .n = block->n, .s = &next};
    double *diag = NULL, spanned = 0, all = 0;
    mercer_status rc = MERCER_OK;
    mrc_state_copy_counters(&next, old);
    next.blocks++;
    MRC_TRY(mrc_alloc(&diag, block->n, sizeof *diag, err));
    MRC_TRY(mrc_library_copy(&lib, &stream->library, err));
    if (old->blocks == 0) {
        MRC_TRY(mrc_library_take_in(&lib, ctx, block, TOLERANCE, &w.x, diag, NULL, err));
        MRC_TRY(choose_landmarks(ctx, &lib, r, block->n, &w.x, err));
        next.compressed = 1; /* later rows may lie anywhere */
        next.halving = (double)block->n;
    } else {
        MRC_TRY(mrc_library_project(&lib, ctx, block, &w.x, diag, err));
    }
    w.m = lib.count;
    w.r = r->problem.components;
    w.before = (double)stream->rows * (double)w.p->passes;
    for (int64_t t = 0; t < block->n; t++) {
        lib.largest = fmax(lib.largest, diag[t]);
        all += diag[t];
        spanned += mrc_dot(w.x + t * w.m, w.x + t * w.m, w.m);
    }
    next.outside = all > 0 ? fmax(1 - spanned / all, 0) : 0;
    next.diagonal += all;
    next.weight += (double)block->n;
    next.largest = lib.largest;
    MRC_TRY(learn_block(&w, old, r->problem.center != MRC_CENTER_NONE, err));
    mrc_library_destroy(&stream->library);
    mrc_state_destroy(&stream->state);
    stream->library = lib;
    stream->state = next;
    lib = (mrc_library){0};
    next = (mrc_state){0};
out:
    mrc_library_destroy(&lib);
    mrc_state_destroy(&next);
    mrc_free(diag);
    mrc_free(w.x);
    mrc_free(w.w);
    mrc_free(w.y);
    mrc_free(w.gain);
    mrc_free(w.turned);
    mrc_free(w.order);
    return rc;
}

static const mrc_streaming kha_streaming = {.plan = kha_plan, .fold = kha_fold, .correlated = true};

/* Every row moves every direction, in each pass over its block. */
static void kha_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                     int64_t n, mrc_work *work)
{
    const struct kha_params *p = params;
    double l = (double)problem->components;
    double points = p->library > 0 ? (double)p->library : 10 * l;
    (void)ctx;
    work->columns = points;
    work->flops = 8 * (double)p->passes * (double)n * points * l;
    work->points = points;
    work->bytes =
        8 * (points * (double)problem->rows->d + points * (2 * points + (double)p->block));
    work->spread = 4;
}

const mrc_method mrc_method_kha = {
    .entry = {.name = "kha",
              .summary = "kernel Hebbian algorithm on a stream of rows",
              .reference = "Kim, Franz, Schoelkopf 2005",
              .params = kha_schema},
    .params_size = sizeof(struct kha_params),
    .default_center = MRC_CENTER_EXACT,
    .streaming = &kha_streaming,
    .work = kha_work,
    .check = mrc_streaming_check,
    .is_nested = mrc_never_nested, /* their number turns the generator on, and et weighs them all */
};
