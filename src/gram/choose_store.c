/* SPDX-License-Identifier: BSD-3-Clause */
/* Which store, and the list of all of them: the one place with a rule for `auto`.
 *
 * Before long work the plan forecasts what points, store and solver will take. A matrix that is
 * given, and sparse rows of a dot-product kernel, are their own stores, and so are
 * dense rows of a linear kernel where few products are wanted. Else the order is: a low-rank factor
 * where it pays, the dense matrix where it fits the budget, the stream. */
#include "base/bytes.h"
#include "base/running.h"
#include "base/strips.h"
#include "gram/factor.h"
#include "gram/rows.h"
#include "gram/tiled.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const mrc_store *const stores[] = {
#define MRC_STORE(name, use) &mrc_store_##name,
#include "gram/stores.def"
#undef MRC_STORE
};

const char mrc_store_choices[] = "auto"
#define MRC_STORE_WORD_ASKABLE(name) "|" #name
#define MRC_STORE_WORD_CHOSEN(name)
#define MRC_STORE(name, use) MRC_STORE_WORD_##use(name)
#include "gram/stores.def"
#undef MRC_STORE
    ;

const mrc_store *mrc_store_find(const char *name)
{
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        if (strcmp(stores[i]->name, name) == 0)
            return stores[i];
    return NULL;
}

bool mrc_store_holds_single(const mrc_store *store)
{
    return !(store->caps & MRC_STORE_DOUBLES);
}

bool mrc_store_spreads(const mrc_store *store)
{
    return store->caps & MRC_STORE_SPREADS;
}

/* Sparse rows of a dot-product kernel are their own factor, however many columns they have. */
static bool is_implicit(const mrc_gram *g)
{
    return g->rows->csr.start && mrc_kernel_is_product(g->kernel);
}

struct plan {
    const mrc_gram_request *request;
    int64_t budget, common, dense, room; /* bytes; room: left for a store and its solver */
    int64_t solver;                      /* of an iterative solver */
    double of_points;                    /* bytes of prepared rows and tiles */
    double matrix, full;                 /* bytes as people count them; full: n x n */
    mrc_bytes budget_text;
    char why[128];      /* why a low-rank factor was not used */
    const double *rank; /* of a factor, in a forecast: nothing is built then; else NULL */
    bool factored;      /* a low-rank factor is taken */
};

/* Rows of the table and, where they are sparse, their entries; of a forecast those of a sample. */
static int64_t rows_known(const mrc_gram *g)
{
    return g->span.spread ? g->span.total : g->rows->n;
}

static int64_t entries_known(const mrc_gram *g)
{
    return g->span.spread ? g->entries : mercer_rows_entries(g->rows);
}

/* rows: g->n, or all of them where it is asked what one rank would do. */
static void plan_init(struct plan *p, const mrc_gram *g, int64_t rows,
                      const mrc_gram_request *request)
{
    double n = (double)rows;
    double prepared = rows == g->n ? mrc_points_row_size(g->ctx, g->kernel, g->rows)
                                   : mrc_points_row_size_of(g->ctx, g->kernel, g->rows,
                                                            rows_known(g), entries_known(g));
    p->request = request;
    p->budget = mercer_ctx_memory(g->ctx);
    /* Points (copied or transposed), diagonals and means, the method's own vectors, scratch. */
    p->of_points = 8 * n * prepared + (double)mrc_tiled_scratch_bytes(g);
    double common = p->of_points + 8 * n * (4 + (double)request->work_columns);
    p->common = common < 9e18 ? (int64_t)common : INT64_MAX;
    p->dense = mrc_dense_bytes(rows, request->single);
    p->room = p->budget > p->common ? p->budget - p->common : 0;
    p->solver = (int64_t)fmin(8 * n * (double)request->solver_columns, 9e18);
    p->full = (double)g->span.total * (double)g->span.total * (request->single ? 4 : 8);
    /* Report n^2; tile padding would only confuse. */
    p->matrix = fmin(p->full, (double)p->dense);
    p->budget_text = mrc_bytes_text((double)p->budget);
}

static mercer_status refuse(const struct plan *p, const mrc_gram *g, const char *what,
                            int64_t bytes, const char *key, const char *advice, mercer_error *err)
{
    /* A fit needs some room beyond its parts, so a sum equal to the budget is too large as well. */
    const mrc_bytes_pair sizes =
        mrc_bytes_texts(fmax((double)bytes, (double)p->budget + 1), (double)p->budget);
    return mrc_fail_at(err, MERCER_ERR_BUDGET, MRC_AT(.key = key),
                       "%s of %lld rows needs %s, the memory budget is %s: %s", what,
                       (long long)g->n, sizes.first.text, sizes.second.text, advice);
}

/* Columns a low-rank factor may have in the given room: the factor, a few q x q matrices for its
 * inner products and eigenvalues, and strips of rows for each worker. */
static int64_t factor_columns(const struct plan *p, const mrc_gram *g)
{
    double n = (double)g->n, strips = 4096 * (double)g->threads, squares = 8 * 8;
    double half = (8 * n + strips) / (2 * squares);
    double most = sqrt(half * half + (double)p->room / squares) - half - 2 * MRC_PANEL;
    return most < 0 ? 0 : most < (double)g->span.total ? (int64_t)most : g->span.total;
}

/* Columns up to which a factor costs less than the matrix, in flops at the rate of GEMM. The ratios
 * are fixed, not measured: the bits of a fit may not depend on how busy the machine is.
 *   a kernel value  2 d, and a function of it as much as 40
 *   the matrix      n^2/2 values, once or (stream) at each of about 12 passes, and 2 n^2 a vector
 *                   in products with blocks of 8
 *   q columns       n q values, n q^2 for them and n q^2 for F'F, and the eigenvalues of that: 5
 * q^3, since half of its 4/3 q^3 flops wait for memory */
static double worthwhile_columns(const struct plan *p, const mrc_gram *g)
{
    static const double PASSES = 12, BLOCK = 8, FUNCTION = 40;
    double n = (double)g->span.total, d = (double)g->rows->d;
    if (g->rows->csr.start)
        d = (double)entries_known(g) / (double)rows_known(g);
    double value = 2 * d + FUNCTION;
    bool fits = p->dense < p->room - p->solver;
    double matrix = n * n * (value / 2 * (fits ? 1 : PASSES) + 2 * BLOCK * PASSES);
    double least = 0, most = n;
    while (most - least > 0.5) {
        double q = (least + most) / 2;
        *(n * q * (value + 2 * q) + 5 * q * q * q < matrix ? &least : &most) = q;
    }
    return least;
}

/* Whether X (X' v) for each of the products that a method wants is better than what the other
 * stores do first. A factor takes a copy of the rows, and its products cost as much: it is worth
 * having for what else is done with it. The matrix takes n^2 d flops, once or (stream) for each
 * product, and its own products. Lengths of its columns would then be dear: the rows must be worth
 * twice as much. */
static bool rows_suffice(const struct plan *p, const mrc_gram *g)
{
    const mrc_gram_request *r = p->request;
    const int64_t all = g->span.total;
    double n = (double)all, d = (double)g->rows->d, times = r->products;
    if (!mrc_kernel_is_linear(g->kernel) || g->rows->csr.start || r->single || !(times > 0))
        return false;
    double scratch = 8 * (double)mrc_rows_store_doubles(all, g->rows->d, r->vectors);
    if (scratch + (double)p->solver >= (double)p->room)
        return false;
    if (2 * g->rows->d <= all)
        return p->solver == 0;
    if (g->span.spread) /* lengths of columns take all rows */
        return false;
    bool fits = p->dense < p->room - p->solver;
    double rows = times * mrc_rows_store_flops(all, g->rows->d, r->vectors);
    double matrix =
        n * n * d * (fits ? 1 : times) + times * mrc_rows_store_flops(g->n, g->n, r->vectors) / 4;
    return 2 * rows < matrix;
}

/* The same for all ranks: the one with the least room decides. */
static mercer_status rows_suffice_all(const struct plan *p, const mrc_gram *g, bool *out,
                                      mercer_error *err)
{
    double lacking;
    mercer_status rc = MERCER_OK;
    *out = rows_suffice(p, g);
    lacking = *out ? 0 : 1;
    if (g->span.spread)
        MRC_TRY(mrc_comm_largest(g->ctx, &lacking, err));
    *out = lacking == 0;
out:
    return rc;
}

static mercer_status build(const struct plan *p, mrc_gram *g, const mrc_store *store,
                           const mrc_store_plan *plan, mercer_error *err)
{
    g->store = store;
    return p->rank ? MERCER_OK : store->init(g, plan, &g->self, err);
}

/* What a factor may have on all ranks: what the smallest budget holds, and what pays, by rank 0.
 * One rank that has all rows comes to the same worth, so that the bits of a fit do not depend on
 * how many ranks there are. */
static mercer_status agree_on_columns(const struct plan *p, const mrc_gram *g, int64_t *most,
                                      double *worth, mercer_error *err)
{
    struct plan whole = {0};
    double least = -(double)factor_columns(p, g);
    mercer_status rc = MERCER_OK;
    plan_init(&whole, g, g->span.total, p->request);
    *worth = 1.1 * worthwhile_columns(&whole, g);
    if (g->span.spread)
        MRC_TRY(mrc_comm_largest(g->ctx, &least, err));
    MRC_TRY(mrc_decide_numbers(g->ctx, &g->span, worth, 1, err));
    *most = (int64_t)-least;
out:
    return rc;
}

/* Nothing is built when a factor is not worth having, and was not asked for. */
static mercer_status try_lowrank(mrc_gram *g, struct plan *p, bool asked, mercer_error *err)
{
    int64_t most, reached = 0, n = g->span.total;
    double residual = 1, worth;
    mrc_store_plan plan = {.reached = &reached, .residual = &residual};
    mercer_status rc = agree_on_columns(p, g, &most, &worth, err);

    if (rc != MERCER_OK)
        return rc;
    if (mrc_kernel_is_linear(g->kernel)) { /* its rows are its factor, or none is worth having */
        bool few = asked || 2 * g->rows->d <= n;
        if (!few || g->rows->d > most) {
            snprintf(p->why, sizeof p->why, "more columns than a low-rank factor may have");
            if (asked && g->rows->d > n)
                return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "store"),
                                   "store lowrank: the factor of a linear kernel has a column per "
                                   "column of the rows, and %lld are more than the %lld rows: use "
                                   "store dense or stream",
                                   (long long)g->rows->d, (long long)n);
            return asked ? mrc_fail_at(err, MERCER_ERR_BUDGET, MRC_AT(.key = "store"),
                                       "store lowrank: %lld columns of %lld rows exceed the memory "
                                       "budget of %s: use store dense or stream",
                                       (long long)g->rows->d, (long long)n, p->budget_text.text)
                         : MERCER_OK;
        }
        p->factored = true;
        return build(p, g, &mrc_store_lowrank, &plan, err);
    }
    if (!mrc_kernel_is_semidefinite(g->kernel)) {
        snprintf(p->why, sizeof p->why, "the kernel is not positive semidefinite");
        if (!asked)
            return MERCER_OK;
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "store"),
                           "store lowrank: kernel %s is not positive semidefinite; use store dense "
                           "or stream",
                           mrc_kernel_name(g->kernel));
    }
    const bool ended_by_budget = (double)most < worth;
    if (!asked) {
        /* Forecasts are off by some percent, and a factor that is a little too large costs little
         * more than the matrix; one that the budget ends is worth more of a try. */
        plan.give_up = fmin(worth, 1.5 * (double)most);
        most = (double)most < worth ? most : (int64_t)worth;
        if (most < 2 * MRC_PANEL) {
            snprintf(p->why, sizeof p->why, "too few rows for a low-rank factor");
            return MERCER_OK;
        }
        /* A residual that falls slowly says nothing when it must vanish at a known rank. */
        if (mrc_kernel_rank_limit(g->kernel, g->rows->d) <= (double)most)
            plan.give_up = 0;
    }
    plan.factor_columns = most;
    rc = build(p, g, &mrc_store_lowrank, &plan, err);
    p->factored = p->rank ? *p->rank <= (double)most : g->self != NULL;
    if (rc != MERCER_OK || p->factored)
        return rc;
    if (p->rank)
        snprintf(p->why, sizeof p->why, "not low-rank");
    else if (ended_by_budget)
        snprintf(p->why, sizeof p->why,
                 "the memory budget of %s ends a low-rank factor (%.3g %% residual after %lld "
                 "columns)",
                 p->budget_text.text, 100 * residual, (long long)reached);
    else
        snprintf(p->why, sizeof p->why, "not low-rank (%.3g %% residual after %lld columns)",
                 100 * residual, (long long)reached);
    if (!asked)
        return MERCER_OK;
    return mrc_fail_at(
        err, MERCER_ERR_BUDGET, MRC_AT(.key = "store"),
        "store lowrank: reached rank %lld of %lld rows with a residual of %.0e (1e-13 "
        "wanted), and the memory budget of %s holds no more: use store dense or "
        "stream",
        (long long)reached, (long long)n, residual, p->budget_text.text);
}

/* Sparse rows of a dot product that are spread over ranks: of the matrix there are products, as
 * many as are asked for, and the model is the map that a linear kernel is. */
static mercer_status check_products(const mrc_gram *g, const mrc_gram_request *request,
                                    mercer_error *err)
{
    if (!mrc_kernel_is_linear(g->kernel))
        return mrc_fail_at(err, MERCER_ERR_UNSUPPORTED, MRC_AT(.key = "kernel"),
                           "sparse rows that are spread over ranks: a model of kernel %s holds all "
                           "of them; kernel linear with scale unit is the same on rows of length "
                           "one, or take method nystroem, or fit on one rank",
                           mrc_kernel_name(g->kernel));
    if (!(request->products > 0) && !request->by_products)
        return mrc_fail_at(err, MERCER_ERR_UNSUPPORTED, MRC_AT(.key = "method"),
                           "sparse rows that are spread over ranks: of a linear kernel only "
                           "products with the matrix are shared, which are enough for krr, kfd, "
                           "smc, sma and rkpca, and for a number of components of kpca, pca, kpls "
                           "and pls, much below that of rows; take one of these, method nystroem, "
                           "another kernel, or fit on one rank");
    return MERCER_OK;
}

static mercer_status choose(struct plan *plan, mrc_gram *g, const mrc_gram_request *request,
                            char *reason, size_t size, mercer_error *err)
{
    const mrc_store *store = request->store;
    bool asked = store != NULL;
    const mrc_store_plan none = {0};
    bool by_rows = false;
    mercer_status rc;

    plan_init(plan, g, g->n, request);
    if (plan->room <= 0)
        return refuse(plan, g, "the workspace of a fit", plan->common, "memory",
                      "raise it, or ask for fewer components", err);
    if (mrc_kernel_is_precomputed(g->kernel)) {
        if (asked)
            return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "store"),
                               "store %s: a precomputed kernel is its own store; leave it out",
                               store->name);
        if (plan->solver >= plan->room)
            return refuse(plan, g, "the workspace of a fit", plan->common + plan->solver, "memory",
                          "raise it, or ask for fewer components", err);
        snprintf(reason, size, "the matrix was given");
        return build(plan, g, &mrc_store_precomputed, &none, err);
    }
    if (is_implicit(g) && (!asked || store == &mrc_store_lowrank)) {
        rc = g->span.spread && !request->few_columns ? check_products(g, request, err) : MERCER_OK;
        if (rc != MERCER_OK)
            return rc;
        if (plan->solver >= plan->room)
            return refuse(plan, g, "the workspace of a fit", plan->common + plan->solver, "memory",
                          "raise it, or ask for fewer components", err);
        snprintf(reason, size, "products go through the %lld entries of the sparse rows",
                 (long long)entries_known(g));
        return build(plan, g, &mrc_store_implicit, &none, err);
    }
    if (!asked) {
        rc = rows_suffice_all(plan, g, &by_rows, err);
        if (rc != MERCER_OK)
            return rc;
    }
    if (by_rows) {
        snprintf(reason, size, "few products are wanted, and they go through the rows");
        return build(plan, g, &mrc_store_rows, &none, err);
    }
    rc = plan->rank ? MERCER_OK : mrc_points_build_index_of_all(&g->points, g->ctx, &g->span, err);
    if (rc != MERCER_OK)
        return rc;
    if (!asked && request->few_columns) {
        snprintf(reason, size, "only columns of the matrix are needed, and not many");
        return build(plan, g, &mrc_store_stream, &none, err);
    }
    /* A factor in single precision would not be faster and less exact: single means tiles. */
    if (store == &mrc_store_lowrank ||
        (!asked && (mrc_kernel_is_linear(g->kernel) ||
                    (!request->single && g->span.total >= MRC_FACTOR_ROWS)))) {
        rc = try_lowrank(g, plan, asked, err);
        if (rc != MERCER_OK)
            return rc;
        if (plan->factored) {
            int64_t rank = plan->rank ? (int64_t)*plan->rank : mrc_gram_factor(g)->rank;
            if (mrc_kernel_is_linear(g->kernel))
                snprintf(reason, size, "a linear kernel is its own factor, rank %lld",
                         (long long)rank);
            else
                snprintf(reason, size, "rank %lld gives the matrix to %s; in full it would take %s",
                         (long long)rank, request->tolerance > 0 ? "the tolerance" : "rounding",
                         mrc_bytes_text(plan->full).text);
            return MERCER_OK;
        }
    }
    if (g->span.spread)
        return mrc_fail_at(err, MERCER_ERR_UNSUPPORTED, MRC_AT(.key = "store"),
                           "rows that are spread over ranks need a low-rank kernel matrix: %s; "
                           "take a wider kernel, allow more memory, or fit on one rank",
                           plan->why);
    if (plan->solver >= plan->room)
        return refuse(plan, g, "the workspace of a fit", plan->common + plan->solver, "memory",
                      "raise it, or ask for fewer components", err);
    plan->room -= plan->solver;
    if (store == &mrc_store_dense && plan->dense > plan->room)
        return refuse(plan, g, "the dense kernel matrix", plan->dense + plan->common + plan->solver,
                      "store memory", "use store stream or lowrank, or raise it", err);
    if (!asked)
        store = plan->dense > plan->room ? &mrc_store_stream : &mrc_store_dense;
    const char *comma = plan->why[0] ? "; " : "", *with = "";
    mrc_bytes_pair sizes = mrc_bytes_texts(plan->matrix, (double)plan->budget);
    if (store != &mrc_store_dense && plan->matrix <= (double)plan->budget) {
        with = " with the workspace of a fit"; /* without it the matrix would fit */
        sizes = mrc_bytes_texts((double)plan->dense + (double)(plan->common + plan->solver),
                                (double)plan->budget);
    }
    if (store == &mrc_store_dense)
        snprintf(reason, size, "the matrix (%s) fits the budget of %s%s%s", sizes.first.text,
                 sizes.second.text, comma, plan->why);
    else if (asked)
        snprintf(reason, size, "as asked; a stored matrix would take %s",
                 mrc_bytes_text(plan->matrix).text);
    else
        snprintf(reason, size, "the matrix%s would take %s, the budget is %s%s%s", with,
                 sizes.first.text, sizes.second.text, comma, plan->why);
    return build(plan, g, store, &none, err);
}

mercer_status mrc_store_choose(mrc_gram *g, const mrc_gram_request *request, char *reason,
                               size_t size, mercer_error *err)
{
    struct plan plan = {0};
    return choose(&plan, g, request, reason, size, err);
}

mercer_status mrc_store_forecast(const mrc_gram *sample, const mercer_rows *rows, int64_t n,
                                 const mrc_gram_request *request, double rank,
                                 mrc_store_outlook *out, mercer_error *err)
{
    mrc_gram g = *sample;
    struct plan plan = {.rank = &rank};
    g.rows = rows;
    g.n = n;
    g.span = mrc_span_whole(n);
    if (mrc_kernel_is_linear(g.kernel)) /* its rows are its factor */
        rank = (double)rows->d;
    mercer_status rc = choose(&plan, &g, request, out->reason, sizeof out->reason, err);
    if (rc != MERCER_OK)
        return rc;
    /* Columns of a factor are in memory once they are reached. Then come its inner products, the
     * sums of their parts, and an eigenproblem. */
    double factor = 0;
    if (plan.factored) {
        factor = 8 * rank * ((double)n + 4 * rank) +
                 mrc_sum_bytes(g.ctx, n, (int64_t)(rank * rank), (double)n * rank / 2);
        if (mrc_kernel_is_linear(g.kernel)) /* there once, as points and as factor */
            factor -= 8 * (double)n * rank;
    }
    double half = (double)n * (double)n / 2;
    bool implicit = g.store == &mrc_store_implicit;
    out->store = g.store;
    out->made = plan.factored && !mrc_kernel_is_linear(g.kernel) ? (double)n * rank
                : g.store == &mrc_store_dense                    ? half
                                                                 : 0;
    out->again = g.store == &mrc_store_stream ? half : 0;
    out->lengths = implicit ? half : 0;
    out->across = g.store == &mrc_store_rows ? rows->d : 0;
    out->linear = implicit || plan.factored || out->across > 0;
    out->rank = plan.factored ? (int64_t)rank : 0;
    double dense = g.store == &mrc_store_dense ? (double)plan.dense : 0, solver = 0;
    if (request->solver_columns > 0 && !plan.factored) {
        double room = (double)plan.budget - (double)plan.common - dense;
        solver = 8 * (double)n * (double)mrc_spectrum_takes(&g, n, request->solver_pairs);
        solver = fmax(fmin(solver, room), (double)plan.solver);
    }
    out->bytes = (double)plan.common + factor + solver + dense;
    if (implicit) /* products go through the rows as they are */
        out->bytes -= plan.of_points;
    if (out->across > 0)
        out->bytes += 8 * (double)mrc_rows_store_doubles(n, rows->d, request->vectors);
    if (out->across > 0 && rows->d < n && mrc_rows_store_squares_pay(n, rows->d, request))
        out->bytes += 8 * 2 * (double)rows->d * (double)rows->d;
    return MERCER_OK;
}

/* Where a factor counts as exact, as in lowrank.c. */
static const double RESIDUAL = 1e-13;

mercer_status mrc_store_rank(mrc_gram *sample, int64_t columns, double *rank, mercer_error *err)
{
    int64_t reached = 0;
    double residual = 1;
    const mrc_store_plan plan = {
        .reached = &reached, .residual = &residual, .factor_columns = columns};
    mrc_gram g = *sample;
    g.self = NULL;
    g.centered = false;
    *rank = INFINITY;
    if (mrc_kernel_is_linear(g.kernel)) {
        *rank = (double)g.rows->d;
        return MERCER_OK;
    }
    if (!mrc_kernel_is_semidefinite(g.kernel))
        return MERCER_OK;
    mercer_status rc = mrc_store_lowrank.init(&g, &plan, &g.self, err);
    if (g.self)
        mrc_store_lowrank.destroy(g.self);
    if (rc != MERCER_OK)
        return rc;
    /* What is left falls by a factor per column, which is seen from the first ones. */
    *rank = g.self ? (double)reached : (double)reached * log(RESIDUAL) / log(fmin(residual, 0.99));
    *rank = fmin(*rank, mrc_kernel_rank_limit(g.kernel, g.rows->d));
    return MERCER_OK;
}
