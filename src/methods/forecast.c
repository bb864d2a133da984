/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fit will cost: the work that the method says it has (mrc_method.work), at rates that this
 * machine shows on a sample of the rows.
 *
 * A sample of m rows tells: seconds per kernel value and per product with a matrix of m^2 values,
 * which grow with n^2; per product of sparse rows, which grows with n; of plain matrix products and
 * eigenproblems, which count their flops; of products with one vector, which count the numbers that
 * they read, since memory is what they wait for; how many passes the eigenvalues of its matrix
 * take, which hardly hangs on n; and the rank of its matrix, from which the store of all rows
 * follows by the rule of gram/choose_store.c. */
#include "gram/factor.h"
#include "gram/store.h"
#include "linalg/linalg.h"
#include "methods/common/request.h"
#include "methods/novelty.h"

#include <mercer/forecast.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    SAMPLE = 2000, /* rows at most: their matrix of 32 MB leaves the caches as larger ones do */
    SMALL = 256,   /* rows of the first look, */
    TINY = 16,     /* and of the only one at short work */
    LOOK_CELLS = 2000000, /* numbers of the first look */
    WIDTH_ROWS = 512,     /* whose distances give a width, see kernel/kernel.c */
    WIDE = 8,             /* vectors of a wide product */
    EIGEN = 240,          /* order of the eigenproblem that is timed */
    FACTOR_SHARE = 4,     /* of the sample's rows may be columns of its factor */
    PRODUCT_ROWS = 2048,  /* of a plain matrix product */
    PRODUCT_COLUMNS = 160,
    READ_ROWS = 32,
    MIN_READ_COLUMNS = 1 << 10,
    MAX_READ_COLUMNS = 1 << 18, /* of a matrix of 64 MB, beyond the caches of most machines */
};
static const double LOOK_SECONDS = 0.05; /* for the kernel values of the sample */
static const double TIME_SECONDS = 0.02; /* for everything that is timed */
static const double ROW_FLOPS = 3e4;     /* that would take as long as looking at a row, */
static const double CELL_FLOPS = 400;    /* and at each of its numbers */
static const double USUAL_SPREAD = 1.6;  /* of times, where the method does not say */
static const double RANK_GROWTH = 0.08;  /* of the rank of a factor, whenever rows double */
static const double EIGEN_PASSES = 14;   /* of eigenvalues, where the sample shows none */
static const double WORTH = 0.5;         /* a method is cheaper with so much of the time */
/* Rates of a slow machine. */
static const double SLOW_FLOPS = 4e9, SLOW_VALUES = 2e7, SLOW_READS = 4e8;

MRC_VERSIONED(forecast, )

/* Seconds of one: */
struct rates {
    int64_t m;           /* rows of the sample */
    double value;        /* kernel value */
    double narrow, wide; /* product with the matrix of the sample, of 1 and of WIDE vectors */
    double flop;         /* of matrix products */
    double read;         /* number of a matrix in memory, by a product with one vector */
    double eigen;        /* order cubed of a full eigenproblem */
    double passes;       /* how many of them the eigenvalues take */
    double rank;         /* columns of a factor of all rows; infinite: too many */
    double wall, alone;  /* what all that was timed took, and would have taken alone */
    double prepare;      /* the kernel's width and all else that is learnt from some rows first */
};

/* ---- rates ---- */

/* Numbers of a row, on average. */
static double row_entries(const mercer_rows *rows)
{
    return (double)mercer_rows_entries(rows) / (double)rows->n;
}

/* A piece of work that is done again and again. */
typedef mercer_status (*work_once)(void *arg, mercer_error *err);

/* Two clocks: short work on a busy machine is interrupted often or not at all, so single pieces are
 * timed by the processor time that they take, and how much longer all of them took is one factor.
 */
struct clocks {
    double wall, processor;
};

static struct clocks clocks_now(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (struct clocks){.wall = mrc_seconds(),
                           .processor = (double)used.tv_sec + 1e-9 * (double)used.tv_nsec};
}

/* Seconds since then of work on these threads, if nobody else were here. */
static double clocks_since(struct rates *r, struct clocks start, int threads)
{
    struct clocks now = clocks_now();
    double wall = now.wall - start.wall, alone = (now.processor - start.processor) / threads;
    alone = fmin(alone, wall);
    r->wall += wall;
    r->alone += alone;
    return alone;
}

/* The mean of its seconds. The first time touches memory, and counts only when it is long. */
static mercer_status time_work(struct rates *r, int threads, work_once once, void *arg, double *out,
                               mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    struct clocks start = clocks_now();
    double spent = 0;
    int times = 0;
    MRC_TRY(once(arg, err));
    *out = clocks_since(r, start, threads);
    if (mrc_seconds() - start.wall > TIME_SECONDS)
        goto out;
    for (start = clocks_now(); spent < TIME_SECONDS; times++) {
        MRC_TRY(once(arg, err));
        spent = mrc_seconds() - start.wall;
    }
    *out = clocks_since(r, start, threads) / times;
out:
    return rc;
}

struct product {
    mrc_gram *gram;
    int64_t l;
    double *v, *out;
};

static mercer_status multiply(void *arg, mercer_error *err)
{
    const struct product *p = arg;
    return mrc_gram_apply(p->gram, p->v, p->l, p->out, err);
}

static mercer_status time_products(struct rates *r, mrc_gram *g, int64_t l, double *out,
                                   mercer_error *err)
{
    struct product p = {.gram = g, .l = l};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&p.v, g->n, l, sizeof *p.v, err));
    MRC_TRY(mrc_alloc2(&p.out, g->n, l, sizeof *p.out, err));
    for (int64_t i = 0; i < g->n * l; i++)
        p.v[i] = 1 / (double)(i + 1);
    MRC_TRY(time_work(r, g->threads, multiply, &p, out, err));
out:
    mrc_free(p.v);
    mrc_free(p.out);
    return rc;
}

struct plain {
    mercer_ctx *ctx;
    double *a, *inner, *values;
    int64_t columns; /* of what is read */
};

static mercer_status square(void *arg, mercer_error *err)
{
    const struct plain *p = arg;
    return mrc_gram_of_columns(p->ctx, p->a, PRODUCT_ROWS, PRODUCT_COLUMNS, EIGEN, p->inner, err);
}

/* Which works in place: what it leaves is a matrix as well. */
static mercer_status decompose(void *arg, mercer_error *err)
{
    const struct plain *p = arg;
    for (int64_t i = 0; i < EIGEN; i++)
        for (int64_t j = 0; j < EIGEN; j++)
            p->inner[i * EIGEN + j] = 1 / (double)(1 + i + j) + (i == j ? (double)i : 0);
    return mrc_eigen_symmetric(p->ctx, EIGEN, p->inner, p->values, err);
}

static mercer_status read_once(void *arg, mercer_error *err)
{
    const struct plain *p = arg;
    (void)err;
    mrc_wide_times(p->ctx, p->a, READ_ROWS, p->columns, 1, p->values, 0, p->inner);
    return MERCER_OK;
}

/* Products with one vector, of a matrix as large as that of the work, `size` numbers, up to where
 * no cache holds it: then at the speed of memory. */
static mercer_status time_reads(mercer_ctx *ctx, struct rates *r, double size, mercer_error *err)
{
    const double columns = fmin(fmax(size / READ_ROWS, MIN_READ_COLUMNS), MAX_READ_COLUMNS);
    struct plain p = {.ctx = ctx, .columns = (int64_t)columns};
    const int64_t numbers = READ_ROWS * p.columns;
    mercer_status rc = MERCER_OK;
    r->read = 8 * r->flop; /* a guess, where there is no room to look */
    if (mercer_ctx_memory(ctx) / 4 < numbers * (int64_t)sizeof(double))
        goto out;
    MRC_TRY(mrc_alloc2_raw(&p.a, READ_ROWS, p.columns, sizeof *p.a, err));
    MRC_TRY(mrc_alloc(&p.inner, p.columns, sizeof *p.inner, err));
    MRC_TRY(mrc_alloc(&p.values, READ_ROWS, sizeof *p.values, err));
    for (int64_t i = 0; i < numbers; i++)
        p.a[i] = (double)(i % 1000);
    MRC_TRY(time_work(r, ctx->threads, read_once, &p, &r->read, err));
    r->read /= (double)numbers;
out:
    mrc_free(p.a);
    mrc_free(p.inner);
    mrc_free(p.values);
    return rc;
}

static mercer_status time_flops(mercer_ctx *ctx, struct rates *r, mercer_error *err)
{
    enum { N = PRODUCT_ROWS, K = PRODUCT_COLUMNS };
    struct plain p = {.ctx = ctx};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&p.a, N, EIGEN, sizeof *p.a, err));
    MRC_TRY(mrc_alloc2(&p.inner, EIGEN, EIGEN, sizeof *p.inner, err));
    MRC_TRY(mrc_alloc(&p.values, EIGEN, sizeof *p.values, err));
    for (int64_t i = 0; i < N * EIGEN; i++)
        p.a[i] = (double)((i * 7919) % 1000) / 1000;
    MRC_TRY(time_work(r, ctx->threads, square, &p, &r->flop, err));
    r->flop /= 2.0 * N * K * K;
    MRC_TRY(time_work(r, 1, decompose, &p, &r->eigen, err));
    r->eigen /= (double)EIGEN * EIGEN * EIGEN;
out:
    mrc_free(p.a);
    mrc_free(p.inner);
    mrc_free(p.values);
    return rc;
}

/* Kernel values are computed anew by each product of a stream. */
static mercer_status time_values(mercer_ctx *ctx, const mrc_problem *problem,
                                 const mercer_rows *rows, struct rates *r, mercer_error *err)
{
    const mrc_gram_request request = {.store = &mrc_store_stream};
    mrc_gram *g = NULL;
    double seconds;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_new(&g, ctx, problem->kernel, rows, &request, NULL, err));
    MRC_TRY(time_products(r, g, 1, &seconds, err));
    r->value = 2 * seconds / ((double)rows->n * (double)rows->n);
out:
    mrc_gram_free(g);
    return rc;
}

/* ---- the sample ---- */

/* m of the rows, evenly spread; of a matrix, their columns too. */
static mercer_status take_sample(const mercer_rows *rows, bool square, int64_t m, mercer_rows **out,
                                 mercer_error *err)
{
    int64_t *which = NULL;
    mrc_rng rng;
    mercer_status rc = MERCER_OK;
    mrc_rng_seed(&rng, 1);
    MRC_TRY(mrc_alloc(&which, m, sizeof *which, err));
    mrc_rng_spread(&rng, rows->n, which, m);
    if (square)
        MRC_TRY(mrc_rows_take_block(rows, which, m, which, m, out, err));
    else
        MRC_TRY(mrc_rows_take(rows, which, m, out, err));
out:
    mrc_free(which);
    return rc;
}

/* The sample as the method would see it, with the kernel learnt from it. */
static mercer_status prepare(mercer_ctx *ctx, mrc_request *r, const mercer_rows *rows, int64_t m,
                             mercer_rows **sample, mercer_rows **scaled, mercer_error *err)
{
    mercer_model *model = NULL;
    bool square = mrc_kernel_is_precomputed(&r->kernel);
    mercer_status rc = MERCER_OK;
    MRC_TRY(take_sample(rows, square && rows->d == rows->n, m, sample, err));
    MRC_TRY(mrc_model_new(&model, err));
    MRC_TRY(mrc_request_scale(ctx, *sample, model, r->scale, scaled, err));
    r->problem.rows = *scaled ? *scaled : *sample;
    r->problem.own_rows = *scaled;
    MRC_TRY(mrc_kernel_resolve(&r->kernel, ctx, r->problem.rows, err));
    r->problem.kernel = &r->kernel;
out:
    mercer_model_free(model);
    return rc;
}

/* held: the sample's matrix has a store that is chosen, not given. */
static mercer_status measure(mercer_ctx *ctx, const mrc_problem *problem, const mrc_work *work,
                             int64_t n, mrc_gram *g, bool held, struct rates *r, mercer_error *err)
{
    const mercer_rows *rows = problem->rows;
    mrc_spectrum s = {0};
    mercer_status rc = MERCER_OK;
    r->m = rows->n;
    MRC_TRY(time_flops(ctx, r, err));
    if (work->reads > 0)
        MRC_TRY(time_reads(ctx, r, (double)n * work->points, err));
    MRC_TRY(time_products(r, g, 1, &r->narrow, err));
    MRC_TRY(time_products(r, g, WIDE, &r->wide, err));
    r->wide = fmax(r->wide, r->narrow);
    r->rank = INFINITY;
    if (held && work->bytes == 0) {
        MRC_TRY(mrc_store_rank(g, rows->n / FACTOR_SHARE, &r->rank, err));
        if (!mrc_kernel_is_linear(problem->kernel))
            r->rank *= 1 + RANK_GROWTH * log2(fmax((double)n / (double)rows->n, 1));
    }
    double slower = r->alone > 0 ? fmax(r->wall / r->alone, 1) : 1;
    r->value *= slower;
    r->narrow *= slower;
    r->wide *= slower;
    r->flop *= slower;
    r->read *= slower;
    r->eigen *= slower;
    r->prepare *= slower;
    r->passes = EIGEN_PASSES;
    if (work->pairs > 0 && 6 * work->pairs < (double)rows->n) {
        MRC_TRY(mrc_gram_spectrum(g, (int64_t)work->pairs, 0, &s, err));
        if (strcmp(s.solver, "krylov") == 0)
            r->passes = (double)s.passes;
    }
out:
    mrc_spectrum_destroy(&s);
    return rc;
}

/* ---- the sum ---- */

/* One product of l vectors with the matrix of n rows. */
static double pass_seconds(const struct rates *r, const mrc_store_outlook *o, double n, double l)
{
    double share = n / (double)r->m, each = (r->wide - r->narrow) / (WIDE - 1);
    double product = r->narrow + (l - 1) * each;
    double across = (double)(o->rank > 0 ? o->rank : o->across);
    if (across > 0) /* a few vectors are a matter of reading the factor, or the rows */
        return 4 * n * across * (l + 20) * r->flop;
    return product * share * (o->linear ? 1 : share) + o->again * r->value;
}

static double eigen_seconds(const struct rates *r, const mrc_store_outlook *o, double n,
                            double pairs)
{
    double q = (double)o->rank, block = pairs <= 4 ? 4 : pairs <= 24 ? 8 : 16;
    if (q > 0)
        return 2 * n * q * (q + pairs) * r->flop + q * q * q * r->eigen;
    if (mrc_spectrum_is_full((int64_t)n, (int64_t)pairs))
        return n * n * n * r->eigen;
    double basis = 4 * n * (pairs + 6 * block) * block * r->flop;
    return r->passes * (pass_seconds(r, o, n, block) + basis);
}

static double store_seconds(const struct rates *r, const mrc_store_outlook *o, double n)
{
    double q = (double)o->rank;
    /* A few pivots at a time, each time through all of the factor: at the speed of memory. */
    return o->made * r->value + (o->made > 0 ? 8 * n * q * q * r->flop : 0);
}

/* Ridge regression on n rows takes this, by conjugate gradients behind a factor of some of them. */
static double regression_seconds(const struct rates *r, double n, double outputs)
{
    enum { PRODUCTS = 40, FACTOR = 500 }; /* as many as usually leave little */
    double m = fmin(n, FACTOR);
    return (n * n / 2 + n * m) * r->value +
           (4 * n * m * (m + PRODUCTS * outputs) + 2 * PRODUCTS * n * n * outputs) * r->flop +
           m * m * m * r->eigen;
}

/* A map takes this before the fit: a regression and its gradients per step and, where folds choose,
 * the same in each of them for every form, and one more regression for each map that is tried. */
static double map_seconds(const struct rates *r, const mrc_request *request, double n)
{
    enum { FOLDS = 3 };
    const mrc_map_params *map = &request->map;
    const mercer_rows *rows = request->problem.rows;
    double steps = (double)map->steps, outputs = (double)mrc_problem_outputs(&request->problem);
    double all = fmin(n, (double)map->rows), part = all * (FOLDS - 1) / FOLDS;
    double forms = map->form == MRC_MAP_AUTO && !mercer_rows_is_sparse(rows) ? 2 : 1;
    outputs = fmax(outputs, 1);
    if (steps == 0)
        return 0;
    double slope = r->value + 4 * row_entries(rows) * outputs * r->flop;
    double sum = steps * (regression_seconds(r, all, outputs) + all * all * slope);
    if (map->choose == MRC_MAP_BY_FOLDS)
        sum += FOLDS * ((1 + 2 * forms * steps) * regression_seconds(r, part, outputs) +
                        forms * steps * part * part * slope);
    return sum;
}

/* The whole fit takes this; head and novelty are learnt from features of rows after it. */
static double total_seconds(const struct rates *r, const mrc_store_outlook *o, const mrc_work *w,
                            const mrc_request *request, double n)
{
    double l = request->problem.components > 0 ? (double)request->problem.components : 10;
    bool pivots = request->problem.on_pivots && o->rank > 0;
    double row = (pivots ? (double)o->rank : w->points) * (r->value + 2 * l * r->flop);
    /* Points beyond the rank of the matrix are not taken. */
    double kept = w->points < n && r->rank < w->points ? r->rank / w->points : 1;
    double sum = store_seconds(r, o, n) + kept * w->columns * n * r->value +
                 kept * kept * (w->flops * r->flop + w->reads * r->read) +
                 w->passes * pass_seconds(r, o, n, w->vectors);
    if (w->pairs > 0)
        sum += eigen_seconds(r, o, n, w->pairs);
    sum += w->norms * (pass_seconds(r, o, n, 1) + o->lengths * r->value);
    sum += pow(kept * w->order, 3) * r->eigen;
    sum += n * (ROW_FLOPS + CELL_FLOPS * row_entries(request->problem.rows)) * r->flop + r->prepare;
    sum += map_seconds(r, request, n);
    if (mrc_holds_out(&request->options)) /* a fit to 80 % of the rows, judged by the others */
        sum += 0.8 * sum + 0.2 * n * row;
    if (request->head.def)
        sum += n * row;
    return sum;
}

/* What a slow machine would take, whatever the spectrum of the matrix. */
static double slow_seconds(const mrc_request *request, const mrc_work *w, double n)
{
    double entries = row_entries(request->problem.rows);
    struct rates slow = {.m = SMALL,
                         .rank = INFINITY,
                         .value = 1 / SLOW_VALUES + 2 * entries / SLOW_FLOPS,
                         .flop = 1 / SLOW_FLOPS,
                         .read = 1 / SLOW_READS,
                         .eigen = 8 / SLOW_FLOPS,
                         .passes = 2 * EIGEN_PASSES};
    const mrc_store_outlook dense = {.store = &mrc_store_dense, .made = n * n / 2};
    slow.narrow = 4.0 * SMALL * SMALL / SLOW_FLOPS;
    slow.wide = 2.0 * WIDE * SMALL * SMALL / SLOW_FLOPS;
    return total_seconds(&slow, &dense, w, request, n) * (w->spread > 0 ? w->spread : USUAL_SPREAD);
}

/* ---- the forecast ---- */

struct forecast {
    mercer_ctx *ctx;
    const mercer_rows *rows; /* as given */
    int64_t n;
    double brief;
    mrc_request request;
    mercer_rows *sample, *scaled;
    mrc_gram *gram; /* on the sample: products are timed with it */
    struct rates rates;
};

static void forecast_destroy(struct forecast *f)
{
    mrc_gram_free(f->gram);
    mercer_rows_free(f->sample);
    mercer_rows_free(f->scaled);
    mrc_request_destroy(&f->request);
}

/* A sample whose kernel values take about LOOK_SECONDS, from a first look at few rows. */
static mercer_status look(struct forecast *f, mercer_error *err)
{
    mrc_request *r = &f->request;
    /* A quarter of the budget is for its matrix, of which half is held. */
    double room = sqrt((double)mercer_ctx_memory(f->ctx) / 16);
    int64_t most = f->rows->n < SAMPLE ? f->rows->n : SAMPLE;
    most = room < (double)most ? (int64_t)room : most;
    /* A few very wide rows are enough. */
    double first = fmin(fmin(SMALL, (double)most), fmax(TINY, LOOK_CELLS / row_entries(f->rows)));
    int64_t m = (int64_t)first;
    mercer_status rc = MERCER_OK;
    double learnt = (double)m;
    struct clocks start = clocks_now();
    MRC_TRY(prepare(f->ctx, r, f->rows, m, &f->sample, &f->scaled, err));
    /* Widths are medians over pairs of WIDTH_ROWS rows. */
    f->rates.prepare = clocks_since(&f->rates, start, f->ctx->threads) *
                       pow(fmin(WIDTH_ROWS, (double)f->n) / learnt, 2);
    if (mrc_kernel_is_precomputed(&r->kernel)) {
        f->rates.value = 0;
        m = most;
    } else {
        MRC_TRY(time_values(f->ctx, &r->problem, r->problem.rows, &f->rates, err));
        double rows = sqrt(2 * LOOK_SECONDS / f->rates.value);
        m = rows > (double)most ? most : (int64_t)fmax(rows, first);
    }
    if (m > f->sample->n) {
        mercer_rows_free(f->sample);
        mercer_rows_free(f->scaled);
        f->sample = f->scaled = NULL;
        MRC_TRY(prepare(f->ctx, r, f->rows, m, &f->sample, &f->scaled, err));
    }
out:
    return rc;
}

/* The operator on the sample: sparse rows, given matrices and factors are what they are, all else
 * is a matrix. */
static bool holds_matrix(const struct forecast *f)
{
    const mrc_kernel *kernel = f->request.problem.kernel;
    bool implicit = f->sample->csr.start && mrc_kernel_is_product(kernel);
    return !implicit && !mrc_kernel_is_precomputed(kernel);
}

static mercer_status build(struct forecast *f, bool centered, mercer_error *err)
{
    const mrc_problem *problem = &f->request.problem;
    mrc_gram_request request = {.store = holds_matrix(f) ? &mrc_store_dense : NULL,
                                .centered = centered};
    struct clocks start = clocks_now();
    mercer_status rc =
        mrc_gram_new(&f->gram, f->ctx, problem->kernel, problem->rows, &request, NULL, err);
    double m = (double)problem->rows->n;
    if (rc == MERCER_OK && request.store) { /* more rows than in the first look, and new memory */
        double value = 2 * clocks_since(&f->rates, start, f->ctx->threads) / (m * m);
        f->rates.value = f->rates.value > 0 ? fmin(value, f->rates.value) : value;
    }
    return rc;
}

/* Seconds, store and memory of the request, by the rates there are. */
static mercer_status add_up(const struct forecast *f, const mrc_request *r, bool brief,
                            mercer_forecast *out, mercer_error *err)
{
    mrc_work work = {0};
    mrc_store_outlook outlook = {.store = &mrc_store_stream};
    double n = (double)f->n;
    mercer_status rc = MERCER_OK;
    r->method->work(f->ctx, r->params, &r->problem, f->n, &work);
    if (work.bytes > 0) {
        snprintf(out->store, sizeof out->store, "none");
        out->memory_bytes = (int64_t)work.bytes;
    } else {
        work.request.store = r->problem.store;
        work.request.single = r->problem.single;
        MRC_TRY(mrc_store_forecast(f->gram, f->scaled ? f->scaled : f->rows, f->n, &work.request,
                                   f->rates.rank, &outlook, err));
        snprintf(out->store, sizeof out->store, "%s", outlook.store->name);
        snprintf(out->store_reason, sizeof out->store_reason, "%s", outlook.reason);
        out->store_rank = outlook.rank;
        outlook.bytes += work.beside;
        out->memory_bytes = outlook.bytes < 4e18 ? (int64_t)outlook.bytes : INT64_MAX / 2;
    }
    if (f->scaled) /* a copy of the rows */
        out->memory_bytes += 8 * f->n * f->rows->d;
    out->measured = !brief;
    if (brief)
        goto out;
    double spread = work.spread > 0 ? work.spread : USUAL_SPREAD;
    out->seconds = total_seconds(&f->rates, &outlook, &work, r, n);
    out->seconds_low = out->seconds / spread;
    out->seconds_high = out->seconds * spread;
out:
    return rc;
}

static mercer_status run(struct forecast *f, mercer_forecast *out, mercer_error *err)
{
    mrc_request *r = &f->request;
    mrc_problem *problem = &r->problem;
    mrc_work work = {0};
    mercer_status rc = MERCER_OK;

    out->seconds = out->seconds_low = out->seconds_high = NAN;
    if (!r->method->work)
        return MERCER_OK;
    problem->rows = f->rows;
    problem->kernel = &r->kernel;
    r->method->work(f->ctx, r->params, problem, f->n, &work);
    double slow = slow_seconds(r, &work, (double)f->n);
    bool brief = slow < f->brief;
    if (brief) /* a few rows tell the store */
        MRC_TRY(prepare(f->ctx, r, f->rows, f->rows->n < TINY ? f->rows->n : TINY, &f->sample,
                        &f->scaled, err));
    else
        MRC_TRY(look(f, err));
    MRC_TRY(build(f, work.request.centered && !brief, err));
    f->rates.rank = INFINITY;
    if (!brief)
        MRC_TRY(measure(f->ctx, problem, &work, f->n, f->gram, holds_matrix(f), &f->rates, err));
    out->seconds = out->seconds_low = 0;
    out->seconds_high = slow;
    MRC_TRY(add_up(f, r, brief, out, err));
out:
    return rc;
}

/* The method that is cheaper, on the rates there are. What it is refused for does not matter. */
static mercer_status run_cheaper(const struct forecast *f, const mercer_targets *targets,
                                 mercer_forecast *out, mercer_error *err)
{
    const mrc_request *r = &f->request;
    mercer_fit_options options = r->options;
    mercer_forecast told = {0};
    mrc_request other = {0};
    mercer_error refusal = {0};
    mercer_status rc = MERCER_OK;
    if (!r->method->cheaper || !out->measured)
        return MERCER_OK;
    options.method = r->method->cheaper;
    options.store = options.center = NULL;
    rc = mrc_request_read(f->ctx, &options, &other, &refusal);
    if (rc == MERCER_OK)
        rc = mrc_request_settle(&other, targets, &refusal);
    if (rc == MERCER_OK) {
        other.problem.rows = r->problem.rows;
        other.problem.own_rows = r->problem.own_rows;
        other.problem.kernel = r->problem.kernel;
        other.problem.targets = targets;
        rc = add_up(f, &other, false, &told, &refusal);
    }
    if (rc == MERCER_OK && told.seconds < WORTH * out->seconds) {
        snprintf(out->cheaper, sizeof out->cheaper, "%s", r->method->cheaper);
        out->cheaper_seconds = told.seconds;
    }
    mrc_request_destroy(&other);
    return rc == MERCER_ERR_MEMORY ? mrc_fail_again(err, rc, &refusal) : MERCER_OK;
}

mercer_status mercer_fit_forecast(mercer_ctx *ctx, const mercer_fit_options *options,
                                  const mercer_rows *rows, const mercer_targets *targets, int64_t n,
                                  double brief, mercer_forecast *out, mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(options);
    MRC_NEED(rows);
    MRC_NEED_WHOLE(rows);
    MRC_NEED(out);
    mercer_forecast told = {.struct_size = sizeof told};
    const mercer_notice_fn notice = ctx->notice;
    const mrc_rng rng = ctx->rng;
    struct forecast f = {
        .ctx = ctx, .rows = rows, .n = n > 0 ? n : rows->n, .brief = brief > 0 ? brief : 0};
    mercer_status rc = MERCER_OK;
    ctx->notice = NULL;
    mrc_ctx_enter(ctx);
    mrc_progress(ctx, "forecast", -1);
    MRC_TRY(mrc_request_read(ctx, options, &f.request, err));
    MRC_TRY(mrc_request_settle(&f.request, targets, err));
    f.request.problem.targets = targets;
    MRC_TRY(run(&f, &told, err));
    MRC_TRY(run_cheaper(&f, targets, &told, err));
    mrc_give_struct(&told, sizeof told, out);
out:
    forecast_destroy(&f);
    ctx->notice = notice;
    ctx->rng = rng;
    return mrc_ctx_leave(ctx, rc, err);
}
