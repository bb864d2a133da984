/* The front of the Gram operator: choice of the store, centring, and the operations methods call.
 *
 * Centring is implicit: H K (H v) for products, K - m_i - m_j + g for entries. The column means m
 * ride along with the first product as one more column of ones. */
#include "kernel/gram_parts.h"

#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the store ---- */

static void human_bytes(int64_t bytes, char text[32])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024 && unit < 5) { /* like --memory 4G, which is read in 1024s */
        value /= 1024;
        unit++;
    }
    snprintf(text, 32, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* Sparse rows of a dot-product kernel are their own factor, however many columns they have. */
static bool is_implicit(const mrc_gram *g)
{
    return g->rows->csr.start &&
           (g->kernel->kind == MRC_KERNEL_linear || g->kernel->kind == MRC_KERNEL_cosine);
}

static bool kernel_is_linear(const mrc_kernel *kernel)
{
    return kernel->kind == MRC_KERNEL_linear;
}

struct plan {
    const mrc_gram_request *request;
    int64_t budget, common, dense, room; /* bytes; room: left for a store and its solver */
    int64_t solver;                      /* of an iterative solver */
    char dense_text[32], full_text[32], budget_text[32]; /* full: n x n, as people count it */
    char why[96];                                        /* why a low-rank factor was not used */
};

static void plan_init(struct plan *p, const mrc_gram *g, const mrc_gram_request *request)
{
    double n = (double)g->n, prepared = mrc_points_row_size(g->ctx, g->kernel, g->rows);
    p->request = request;
    p->budget = g->ctx->memory;
    /* Points (copied or transposed), diagonals and means, the method's own vectors, scratch. */
    double common =
        8 * n * (prepared + 4 + (double)request->work_columns) + (double)mrc_tiled_scratch_bytes(g);
    p->common = common < 9e18 ? (int64_t)common : INT64_MAX;
    p->dense = mrc_tiled_dense_bytes(g->n, request->single);
    p->room = p->budget > p->common ? p->budget - p->common : 0;
    p->solver = (int64_t)fmin(8 * n * (double)request->solver_columns, 9e18);
    double full = n * n * (request->single ? 4 : 8);
    human_bytes(full < 9e18 ? (int64_t)full : INT64_MAX, p->full_text);
    /* Padding to whole tiles is no news worth telling. */
    human_bytes(full < (double)p->dense ? (int64_t)full : p->dense, p->dense_text);
    human_bytes(p->budget, p->budget_text);
}

static mercer_status refuse(const struct plan *p, const mrc_gram *g, const char *what,
                            int64_t bytes, const char *advice, mercer_error *err)
{
    char wanted[32];
    human_bytes(bytes, wanted);
    return mrc_fail(err, MERCER_ERR_BUDGET, "%s of %lld rows needs %s, the memory budget is %s: %s",
                    what, (long long)g->n, wanted, p->budget_text, advice);
}

/* Columns a low-rank factor may have in the given room: the factor, a few q x q matrices for its
 * inner products and eigenvalues, and strips of rows for each worker. */
static int64_t factor_columns(const struct plan *p, const mrc_gram *g)
{
    double n = (double)g->n, strips = 4096 * (double)g->threads, squares = 8 * 8;
    double half = (8 * n + strips) / (2 * squares);
    double most = sqrt(half * half + (double)p->room / squares) - half - 2 * MRC_PANEL;
    return most < 0 ? 0 : most < n ? (int64_t)most : g->n;
}

static mercer_status try_lowrank(mrc_gram *g, struct plan *p, bool asked, bool *done,
                                 mercer_error *err)
{
    int64_t most = factor_columns(p, g), reached = 0;
    double residual = 1;
    mercer_status rc;

    *done = false;
    if (kernel_is_linear(g->kernel)) { /* its rows are its factor, or none is worth having */
        bool worth = asked || 2 * g->rows->d <= g->n;
        if (!worth || g->rows->d > most) {
            snprintf(p->why, sizeof p->why, "more columns than a low-rank factor may have");
            return asked ? mrc_fail(err, MERCER_ERR_BUDGET,
                                    "store lowrank: %lld columns of %lld rows exceed the memory "
                                    "budget of %s: use --store dense or stream",
                                    (long long)g->rows->d, (long long)g->n, p->budget_text)
                         : MERCER_OK;
        }
        rc = mrc_lowrank_init_linear(g, err);
        *done = rc == MERCER_OK;
        return rc;
    }
    if (!mrc_kernel_is_semidefinite(g->kernel)) {
        snprintf(p->why, sizeof p->why, "the kernel is not positive semidefinite");
        if (!asked)
            return MERCER_OK;
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "store lowrank: kernel %s is not positive semidefinite; use --store dense "
                        "or stream",
                        mrc_kernel_def_of(g->kernel->kind)->entry.name);
    }
    if (!asked) {
        /* Beyond this rank a factor costs more than the passes it saves. */
        double worth = fmin((double)g->n / 10, 10 * sqrt((double)g->n));
        most = (double)most < worth ? most : (int64_t)worth;
        if (most < 2 * MRC_PANEL) {
            snprintf(p->why, sizeof p->why, "too few rows for a low-rank factor");
            return MERCER_OK;
        }
    }
    /* A residual that falls slowly says nothing when it must vanish at a known rank. */
    bool eager = !asked && mrc_kernel_rank_limit(g->kernel, g->rows->d) > (double)most;
    rc = mrc_lowrank_init(g, most, eager, &reached, &residual, err);
    *done = rc == MERCER_OK && g->rank > 0;
    if (rc != MERCER_OK || *done)
        return rc;
    snprintf(p->why, sizeof p->why, "too rough for lowrank (%.0e left after %lld columns)",
             residual, (long long)reached);
    if (!asked)
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_BUDGET,
                    "store lowrank: reached rank %lld of %lld rows with a residual of %.0e (1e-13 "
                    "wanted), and the memory budget of %s holds no more: use --store dense or "
                    "stream",
                    (long long)reached, (long long)g->n, residual, p->budget_text);
}

static double largest_entry(const mercer_rows *rows)
{
    double largest = 0;
    for (int64_t i = 0; i < rows->n; i++)
        for (int64_t j = 0; j < rows->d; j++)
            largest = fmax(largest, fabs(mrc_rows_at(rows, i, j)));
    return largest;
}

static mercer_status check_range(const mrc_gram *g, mercer_error *err)
{
    for (int64_t i = 0; i < g->n; i++)
        if (!isfinite(g->raw_diag[i])) {
            int64_t column;
            double value = mrc_rows_largest(g->rows, i, 1, &column);
            return mrc_fail(err, MERCER_ERR_DATA,
                            "the kernel overflows on row %lld: column %lld holds %g; scale the "
                            "data (--scale standard)",
                            (long long)(i + 1), (long long)(column + 1), value);
        }
    /* Entries of 1e-7 of the largest one are still whole numbers of single precision. */
    if (g->single && (g->kmax > FLT_MAX || (g->kmax > 0 && g->kmax < FLT_MIN / FLT_EPSILON)))
        return mrc_fail(err, MERCER_ERR_DATA,
                        "kernel values of about %.0e are out of the range of single precision, "
                        "%.0e to %.0e: scale the data, or take double precision",
                        g->kmax, (double)FLT_MIN / FLT_EPSILON, (double)FLT_MAX);
    return MERCER_OK;
}

/* Symmetry of the caller's matrix, up to rounding; its lower triangle is used. */
static mercer_status check_precomputed(const mrc_gram *g, mercer_error *err)
{
    const mercer_rows *rows = g->rows;
    if (rows->n != rows->d)
        return mrc_fail(err, MERCER_ERR_DATA,
                        "kernel precomputed: the matrix is %lld x %lld; a fit needs a square one "
                        "(rows in training order)",
                        (long long)rows->n, (long long)rows->d);
    double largest = largest_entry(rows);
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t j = 0; j < i; j++) {
            double a = mrc_rows_at(rows, i, j), b = mrc_rows_at(rows, j, i);
            if (fabs(a - b) > 1e-8 * largest)
                return mrc_fail(err, MERCER_ERR_DATA,
                                "kernel precomputed: the matrix is not symmetric: row %lld column "
                                "%lld is %g, row %lld column %lld is %g",
                                (long long)(i + 1), (long long)(j + 1), a, (long long)(j + 1),
                                (long long)(i + 1), b);
        }
    return MERCER_OK;
}

static const char *store_name(mrc_store_kind store)
{
    static const char *const names[] = {"auto",    "dense",       "stream",
                                        "lowrank", "precomputed", "implicit"};
    return names[store];
}

/* Below, the full matrix takes milliseconds, and so does finding out that a factor would not do. */
enum { FACTOR_ROWS = 2500 };

/* Decide on the store and build it; `reason` tells people why. */
static mercer_status build_store(mrc_gram *g, const mrc_gram_request *request, char *reason,
                                 size_t size, mercer_error *err)
{
    struct plan p = {0};
    bool asked = request->store != MRC_STORE_AUTO;
    mercer_status rc;

    plan_init(&p, g, request);
    if (p.room <= 0)
        return refuse(&p, g, "the work of the method", p.common,
                      "raise --memory, or ask for fewer components", err);
    if (g->kernel->kind == MRC_KERNEL_precomputed) {
        if (asked)
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "store %s: a precomputed kernel is its own store; leave --store out",
                            store_name(request->store));
        if (p.solver >= p.room)
            return refuse(&p, g, "the work of the method", p.common + p.solver,
                          "raise --memory, or ask for fewer components", err);
        g->store = MRC_STORE_PRECOMPUTED;
        snprintf(reason, size, "the matrix was given");
        return mrc_tiled_init(g, err);
    }
    if (is_implicit(g) && (!asked || request->store == MRC_STORE_LOWRANK)) {
        if (p.solver >= p.room)
            return refuse(&p, g, "the work of the method", p.common + p.solver,
                          "raise --memory, or ask for fewer components", err);
        g->store = MRC_STORE_IMPLICIT;
        snprintf(reason, size, "products go through the %lld entries of the sparse rows",
                 (long long)mercer_rows_entries(g->rows));
        return mrc_implicit_init(g, err);
    }
    rc = mrc_points_build_index(&g->points, g->ctx, err);
    if (rc != MERCER_OK)
        return rc;
    if (!asked && request->few_columns) {
        g->store = MRC_STORE_STREAM;
        snprintf(reason, size, "only columns of the matrix are needed, and not many");
        return mrc_tiled_init(g, err);
    }
    /* A factor in single precision would not be faster and less exact: single means tiles. */
    if (request->store == MRC_STORE_LOWRANK ||
        (!asked && (kernel_is_linear(g->kernel) || (!request->single && g->n >= FACTOR_ROWS)))) {
        bool done;
        rc = try_lowrank(g, &p, asked, &done, err);
        if (rc != MERCER_OK)
            return rc;
        if (done) {
            g->store = MRC_STORE_LOWRANK;
            if (kernel_is_linear(g->kernel))
                snprintf(reason, size, "a linear kernel is its own factor, rank %lld",
                         (long long)g->rank);
            else
                snprintf(reason, size,
                         "rank %lld gives the matrix to rounding; in full it would take %s",
                         (long long)g->rank, p.full_text);
            return MERCER_OK;
        }
    }
    if (p.solver >= p.room)
        return refuse(&p, g, "the work of the method", p.common + p.solver,
                      "raise --memory, or ask for fewer components", err);
    p.room -= p.solver;
    if (request->store == MRC_STORE_DENSE && p.dense > p.room)
        return refuse(&p, g, "the dense kernel matrix", p.dense + p.common + p.solver,
                      "use --store stream or lowrank, or raise --memory", err);
    const char *comma = p.why[0] ? "; " : "";
    if (request->store == MRC_STORE_STREAM ||
        (request->store == MRC_STORE_AUTO && p.dense > p.room)) {
        g->store = MRC_STORE_STREAM;
        if (asked)
            snprintf(reason, size, "as asked; a stored matrix would take %s", p.dense_text);
        else
            snprintf(reason, size, "the matrix would take %s, the budget is %s%s%s", p.dense_text,
                     p.budget_text, comma, p.why);
    } else {
        g->store = MRC_STORE_DENSE;
        snprintf(reason, size, "the matrix (%s) fits the budget of %s%s%s", p.dense_text,
                 p.budget_text, comma, p.why);
    }
    return mrc_tiled_init(g, err);
}

mercer_status mrc_gram_new(mrc_gram **out, mercer_ctx *ctx, const mrc_kernel *kernel,
                           const mercer_rows *rows, const mrc_gram_request *request,
                           mercer_fit_report *report, mercer_error *err)
{
    mrc_gram *g = NULL;
    char reason[224] = "";
    mercer_status rc = MERCER_OK;

    *out = NULL;
    MRC_TRY(mrc_alloc(&g, 1, sizeof *g, err));
    g->ctx = ctx;
    g->kernel = kernel;
    g->rows = rows;
    g->n = rows->n;
    g->threads = ctx->threads;
    g->single = request->single;
    g->centered = request->centered;
    g->eps = request->single ? FLT_EPSILON : DBL_EPSILON;
    g->unit = g->scale = 1;
    MRC_TRY(mrc_alloc(&g->raw_diag, g->n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&g->diag, g->n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&g->means, g->n, sizeof(double), err));
    if (kernel->kind == MRC_KERNEL_precomputed) {
        if (rows->csr.start)
            MRC_FAIL(
                err, MERCER_ERR_DATA,
                "kernel precomputed: the matrix is sparse; a kernel matrix must be given dense");
        MRC_TRY(check_precomputed(g, err));
        for (int64_t i = 0; i < g->n; i++)
            g->raw_diag[i] = mrc_rows_at(rows, i, i);
    } else {
        MRC_TRY(mrc_kernel_check_rows(kernel, rows, 0, err));
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(mrc_points_init(&g->points, ctx, kernel, rows, NULL, err));
        if (kernel_is_linear(kernel) && g->centered && !rows->csr.start)
            MRC_TRY(mrc_points_shift(&g->points, rows, err));
        MRC_TRY(mrc_check_cancel(ctx, err)); /* the rows may be many */
        mrc_kernel_diag(kernel, &g->points, 0, g->n, g->raw_diag);
    }
    for (int64_t i = 0; i < g->n; i++)
        g->kmax = fmax(g->kmax, fabs(g->raw_diag[i]));
    /* Only a semidefinite matrix has its largest entry on the diagonal. */
    if (kernel->kind == MRC_KERNEL_precomputed)
        g->kmax = largest_entry(rows);
    else if (kernel->kind == MRC_KERNEL_sigmoid)
        g->kmax = 1;
    MRC_TRY(check_range(g, err));
    memcpy(g->diag, g->raw_diag, (size_t)g->n * sizeof *g->diag);
    MRC_TRY(build_store(g, request, reason, sizeof reason, err));
    if (g->store == MRC_STORE_LOWRANK && g->centered)
        MRC_TRY(mrc_lowrank_center(g, err));
    if (g->store == MRC_STORE_IMPLICIT) /* cheap on its own, and products stay narrower */
        MRC_TRY(mrc_gram_learn_means(g, err));
    if (report) {
        snprintf(report->store, sizeof report->store, "%s", store_name(g->store));
        snprintf(report->store_reason, sizeof report->store_reason, "%s", reason);
        report->store_rank = g->rank;
        report->store_bytes = g->store == MRC_STORE_DENSE
                                  ? mrc_tiled_dense_bytes(g->n, g->single)
                                  : (int64_t)(8 * (double)g->n * (double)g->rank);
        if (g->store == MRC_STORE_IMPLICIT)
            report->store_bytes = 12 * mercer_rows_entries(rows);
    }
    *out = g;
    g = NULL;
out:
    mrc_gram_free(g);
    return rc;
}

void mrc_gram_free(mrc_gram *g)
{
    if (!g)
        return;
    mrc_points_destroy(&g->points);
    mrc_free(g->raw_diag);
    mrc_free(g->diag);
    mrc_free(g->means);
    mrc_free(g->tile_values);
    mrc_free(g->tile_singles);
    for (int i = 0; g->scratch && i < g->threads; i++)
        mrc_free(g->scratch[i]);
    mrc_free(g->scratch);
    mrc_free(g->factor);
    mrc_free(g->row_cuts);
    mrc_free(g);
}

int64_t mrc_gram_size(const mrc_gram *g)
{
    return g->n;
}

bool mrc_gram_centered(const mrc_gram *g)
{
    return g->centered;
}

double mrc_gram_eps(const mrc_gram *g)
{
    return g->eps;
}

double mrc_gram_kmax(const mrc_gram *g)
{
    return g->kmax;
}

double mrc_gram_left_out(const mrc_gram *g)
{
    return g->left_out;
}

enum { PLAIN = 128 }; /* kmax from 2^-128 to 2^128 has a fourth power, and 1e-77 of it */

double mrc_usual_unit(double kmax)
{
    int exponent;
    if (!(kmax > 0 && kmax <= DBL_MAX))
        return 1;
    frexp(kmax, &exponent);
    if (exponent >= -PLAIN && exponent <= PLAIN)
        return 1;
    return ldexp(1, exponent - (exponent % 2 + 2) % 2);
}

double mrc_gram_usual_unit(const mrc_gram *g)
{
    return g->single ? 1 : mrc_usual_unit(g->kmax * g->unit);
}

void mrc_gram_set_unit(mrc_gram *g, double unit)
{
    double factor = g->unit / unit, root = sqrt(factor);
    if (factor == 1)
        return;
    g->unit = unit;
    for (int64_t i = 0; i < g->n; i++) {
        g->raw_diag[i] *= factor;
        g->diag[i] *= factor;
        g->means[i] *= factor;
    }
    g->grand *= factor;
    g->kmax *= factor;
    g->left_out *= factor;
    if (g->store == MRC_STORE_DENSE)
        mrc_tiled_scale(g, factor);
    else if (g->store == MRC_STORE_LOWRANK)
        mrc_lowrank_scale(g, root);
    else
        g->scale *= factor;
}

mrc_store_kind mrc_gram_store(const mrc_gram *g)
{
    return g->store;
}

/* Uncentred out (n x l) = K v, for every store but low-rank, which is centred in place. */
static mercer_status apply_uncentered(mrc_gram *g, const double *v, int64_t l, double *out,
                                      mercer_error *err)
{
    return g->store == MRC_STORE_IMPLICIT ? mrc_implicit_apply_rows(g, NULL, g->n, v, l, out, err)
                                          : mrc_tiled_apply(g, v, l, out, err);
}

/* ---- centring ---- */

static void set_means(mrc_gram *g, const double *sums, int64_t stride)
{
    double n = (double)g->n, total = 0;
    for (int64_t i = 0; i < g->n; i++) {
        g->means[i] = sums[i * stride] / n;
        total += g->means[i];
    }
    g->grand = total / n;
    for (int64_t i = 0; i < g->n; i++)
        g->diag[i] = g->raw_diag[i] - 2 * g->means[i] + g->grand;
    g->means_known = true;
}

mercer_status mrc_gram_learn_means(mrc_gram *g, mercer_error *err)
{
    double *ones = NULL, *sums = NULL;
    mercer_status rc = MERCER_OK;
    if (!g->centered || g->means_known)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&ones, g->n, sizeof *ones, err));
    MRC_TRY(mrc_alloc(&sums, g->n, sizeof *sums, err));
    for (int64_t i = 0; i < g->n; i++)
        ones[i] = 1;
    MRC_TRY(apply_uncentered(g, ones, 1, sums, err));
    set_means(g, sums, 1);
out:
    mrc_free(ones);
    mrc_free(sums);
    return rc;
}

mercer_status mrc_gram_diag(mrc_gram *g, const double **out, mercer_error *err)
{
    mercer_status rc = mrc_gram_learn_means(g, err);
    *out = g->diag;
    return rc;
}

mercer_status mrc_gram_means(mrc_gram *g, const double **out, double *grand, mercer_error *err)
{
    mercer_status rc = mrc_gram_learn_means(g, err);
    *out = g->means;
    *grand = g->grand;
    return rc;
}

/* Subtract the mean of each column of v (n x l, stride l); means: l values of scratch. */
static void center_columns(int64_t n, int64_t l, double *v, double *means)
{
    memset(means, 0, (size_t)l * sizeof *means);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < l; j++)
            means[j] += v[i * l + j];
    for (int64_t j = 0; j < l; j++)
        means[j] /= (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < l; j++)
            v[i * l + j] -= means[j];
}

/* ---- operations ---- */

static mercer_status apply_centered(mrc_gram *g, const double *v, int64_t l, double *out,
                                    mercer_error *err)
{
    double *input = NULL, *output = NULL, *scratch = NULL;
    /* Until the means are known, a column of ones rides along. */
    int64_t width = g->means_known ? l : l + 1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&scratch, width, sizeof *scratch, err));
    MRC_TRY(mrc_alloc2_raw(&input, g->n, width, sizeof *input, err));
    if (width > l)
        MRC_TRY(mrc_alloc2_raw(&output, g->n, width, sizeof *output, err));
    memcpy(out, v, (size_t)(g->n * l) * sizeof *out);
    center_columns(g->n, l, out, scratch);
    for (int64_t i = 0; i < g->n; i++) {
        memcpy(input + i * width, out + i * l, (size_t)l * sizeof *input);
        if (width > l)
            input[i * width + l] = 1;
    }
    MRC_TRY(apply_uncentered(g, input, width, width > l ? output : out, err));
    if (width > l) {
        set_means(g, output + l, width);
        for (int64_t i = 0; i < g->n; i++)
            memcpy(out + i * l, output + i * width, (size_t)l * sizeof *out);
    }
    center_columns(g->n, l, out, scratch);
out:
    mrc_free(input);
    mrc_free(output);
    mrc_free(scratch);
    return rc;
}

mercer_status mrc_gram_apply(mrc_gram *g, const double *v, int64_t l, double *out,
                             mercer_error *err)
{
    if (g->store == MRC_STORE_LOWRANK)
        return mrc_lowrank_apply(g, v, l, out, err);
    if (g->centered)
        return apply_centered(g, v, l, out, err);
    return apply_uncentered(g, v, l, out, err);
}

/* Rows J of K in groups of MRC_GATHER, each group in column ranges of MRC_TILE. */
struct row_work {
    mrc_gram *g;
    const int64_t *rows;
    int64_t count, l;
    const double *v; /* apply_rows: the (centred) block */
    const unsigned char *mask;
    double *out;
    double *factor_rows; /* lowrank: F_J */
    double **scratch;    /* per worker: MRC_GATHER x MRC_TILE */
};

static mercer_status row_scratch(struct row_work *w, mercer_error *err)
{
    mercer_status rc = mrc_alloc(&w->scratch, w->g->threads, sizeof *w->scratch, err);
    for (int i = 0; rc == MERCER_OK && i < w->g->threads; i++)
        rc = mrc_alloc2(&w->scratch[i], MRC_GATHER, MRC_TILE, sizeof(double), err);
    return rc;
}

static void row_scratch_free(struct row_work *w)
{
    for (int i = 0; w->scratch && i < w->g->threads; i++)
        mrc_free(w->scratch[i]);
    mrc_free(w->scratch);
    mrc_free(w->factor_rows);
}

static void apply_rows_group(void *arg, int64_t task, int worker)
{
    struct row_work *w = arg;
    mrc_gram *g = w->g;
    int64_t first = task * MRC_GATHER;
    int64_t rows = w->count - first < MRC_GATHER ? w->count - first : MRC_GATHER;
    double *block = w->scratch[worker], *out = w->out + first * w->l;
    memset(out, 0, (size_t)(rows * w->l) * sizeof *out);
    for (int64_t c = 0; c < g->n; c += MRC_TILE) {
        int64_t cols = g->n - c < MRC_TILE ? g->n - c : MRC_TILE;
        mrc_tiled_block(g, w->rows + first, rows, c, cols, worker, block, MRC_TILE);
        mrc_gemm(false, false, rows, w->l, cols, 1, block, MRC_TILE, w->v + c * w->l, w->l, 1, out,
                 w->l);
    }
}

static mercer_status lowrank_apply_rows(mrc_gram *g, struct row_work *w, mercer_error *err)
{
    double *inner = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, g->rank, w->l, sizeof *inner, err));
    MRC_TRY(mrc_alloc2(&w->factor_rows, w->count, g->rank, sizeof(double), err));
    MRC_TRY(mrc_lowrank_transposed_times(g, w->v, w->l, inner, err));
    mrc_lowrank_rows(g, w->rows, w->count, w->factor_rows);
    mrc_tall_times(g->ctx, w->count, w->l, g->rank, 1, w->factor_rows, g->rank, inner, w->l, 0,
                   w->out, w->l);
out:
    mrc_free(inner);
    return rc;
}

mercer_status mrc_gram_apply_rows(mrc_gram *g, const int64_t *rows, int64_t count, const double *v,
                                  int64_t l, double *out, mercer_error *err)
{
    struct row_work w = {.g = g, .rows = rows, .count = count, .l = l, .v = v, .out = out};
    double *centred = NULL, *means = NULL;
    mercer_status rc = MERCER_OK;

    if (g->store == MRC_STORE_LOWRANK) {
        rc = lowrank_apply_rows(g, &w, err);
        goto out;
    }
    MRC_TRY(mrc_gram_learn_means(g, err));
    MRC_TRY(row_scratch(&w, err));
    MRC_TRY(mrc_alloc(&means, l, sizeof *means, err));
    if (g->centered) {
        MRC_TRY(mrc_alloc2_raw(&centred, g->n, l, sizeof *centred, err));
        memcpy(centred, v, (size_t)(g->n * l) * sizeof *centred);
        center_columns(g->n, l, centred, means);
        w.v = centred;
    }
    if (g->store == MRC_STORE_IMPLICIT)
        MRC_TRY(mrc_implicit_apply_rows(g, rows, count, w.v, l, out, err));
    else
        mrc_parfor(g->ctx, (count + MRC_GATHER - 1) / MRC_GATHER, apply_rows_group, &w);
    if (centred) { /* (H K H V)_J = (K H V)_J - m' H V */
        memset(means, 0, (size_t)l * sizeof *means);
        for (int64_t i = 0; i < g->n; i++)
            for (int64_t j = 0; j < l; j++)
                means[j] += g->means[i] * centred[i * l + j];
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j < l; j++)
                out[i * l + j] -= means[j];
    }
    rc = mrc_check_cancel(g->ctx, err);
out:
    row_scratch_free(&w);
    mrc_free(centred);
    mrc_free(means);
    return rc;
}

/* K^_it = K_it + shift - m_t for the i-th of the rows J. */
static double row_shift(const struct row_work *w, int64_t i)
{
    const mrc_gram *g = w->g;
    return g->centered ? g->grand - g->means[w->rows ? w->rows[i] : i] : 0;
}

/* Columns of the implicit store are rows of out. */
static void keep_columns(void *arg, int64_t first, int64_t count, const double *block)
{
    const struct row_work *w = arg;
    const mrc_gram *g = w->g;
    for (int64_t i = 0; i < count; i++)
        for (int64_t t = 0; t < g->n; t++)
            w->out[(first + i) * g->n + t] =
                block[t * count + i] + row_shift(w, first + i) - (g->centered ? g->means[t] : 0);
}

static void square_columns(void *arg, int64_t first, int64_t count, const double *block)
{
    const struct row_work *w = arg;
    const mrc_gram *g = w->g;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0, shift = row_shift(w, first + i);
        for (int64_t t = 0; t < g->n; t++) {
            double value = block[t * count + i] + shift - (g->centered ? g->means[t] : 0);
            if (!w->mask || w->mask[t])
                sum += value * value;
        }
        w->out[first + i] = sum;
    }
}

static void columns_range(void *arg, int64_t task, int worker)
{
    struct row_work *w = arg;
    mrc_gram *g = w->g;
    int64_t c = task * MRC_TILE, cols = g->n - c < MRC_TILE ? g->n - c : MRC_TILE;
    for (int64_t first = 0; first < w->count; first += MRC_GATHER) {
        int64_t rows = w->count - first < MRC_GATHER ? w->count - first : MRC_GATHER;
        mrc_tiled_block(g, w->rows + first, rows, c, cols, worker, w->out + first * g->n + c, g->n);
        if (g->centered)
            for (int64_t i = 0; i < rows; i++) {
                double shift = row_shift(w, first + i);
                double *row = w->out + (first + i) * g->n + c;
                for (int64_t t = 0; t < cols; t++)
                    row[t] += shift - g->means[c + t];
            }
    }
}

mercer_status mrc_gram_columns(mrc_gram *g, const int64_t *rows, int64_t count, double *out,
                               mercer_error *err)
{
    struct row_work w = {.g = g, .rows = rows, .count = count, .out = out};
    double *transposed = NULL, *columns = NULL;
    mercer_status rc = MERCER_OK;

    if (g->store == MRC_STORE_LOWRANK) { /* (F F_J')' */
        int64_t q = g->rank;
        MRC_TRY(mrc_alloc2(&w.factor_rows, count, q, sizeof(double), err));
        MRC_TRY(mrc_alloc2(&transposed, q, count, sizeof(double), err));
        MRC_TRY(mrc_alloc2_raw(&columns, g->n, count, sizeof(double), err));
        mrc_lowrank_rows(g, rows, count, w.factor_rows);
        for (int64_t i = 0; i < count; i++)
            for (int64_t c = 0; c < q; c++)
                transposed[c * count + i] = w.factor_rows[i * q + c];
        MRC_TRY(mrc_lowrank_times(g, transposed, count, columns, err));
        for (int64_t t = 0; t < g->n; t++)
            for (int64_t i = 0; i < count; i++)
                out[i * g->n + t] = columns[t * count + i];
        goto out;
    }
    MRC_TRY(mrc_gram_learn_means(g, err));
    if (g->store == MRC_STORE_IMPLICIT) {
        rc = mrc_implicit_columns(g, rows, count, keep_columns, &w, err);
        goto out;
    }
    mrc_parfor(g->ctx, (g->n + MRC_TILE - 1) / MRC_TILE, columns_range, &w);
    rc = mrc_check_cancel(g->ctx, err);
out:
    mrc_free(w.factor_rows);
    mrc_free(transposed);
    mrc_free(columns);
    return rc;
}

static void norms_group(void *arg, int64_t task, int worker)
{
    struct row_work *w = arg;
    mrc_gram *g = w->g;
    int64_t first = task * MRC_GATHER;
    int64_t rows = w->count - first < MRC_GATHER ? w->count - first : MRC_GATHER;
    double *block = w->scratch[worker];
    for (int64_t i = 0; i < rows; i++)
        w->out[first + i] = 0;
    for (int64_t c = 0; c < g->n; c += MRC_TILE) {
        int64_t cols = g->n - c < MRC_TILE ? g->n - c : MRC_TILE;
        mrc_tiled_block(g, w->rows + first, rows, c, cols, worker, block, MRC_TILE);
        for (int64_t i = 0; i < rows; i++) {
            double shift = row_shift(w, first + i), sum = 0;
            for (int64_t t = 0; t < cols; t++) {
                double value =
                    block[i * MRC_TILE + t] + shift - (g->centered ? g->means[c + t] : 0);
                if (!w->mask || w->mask[c + t])
                    sum += value * value;
            }
            w->out[first + i] += sum;
        }
    }
}

static mercer_status lowrank_row_norms2(mrc_gram *g, struct row_work *w, mercer_error *err)
{
    double *inner = NULL, *product = NULL;
    int64_t q = g->rank;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, q, q, sizeof *inner, err));
    mrc_lowrank_sums sums = {.mask = w->mask};
    MRC_TRY(mrc_lowrank_inner(g, &sums, inner, err));
    if (!w->rows) {
        rc = mrc_lowrank_quadratic(g, inner, w->out, err);
        goto out;
    }
    MRC_TRY(mrc_alloc2(&w->factor_rows, w->count, q, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&product, w->count, q, sizeof(double), err));
    mrc_lowrank_rows(g, w->rows, w->count, w->factor_rows);
    mrc_tall_times(g->ctx, w->count, q, q, 1, w->factor_rows, q, inner, q, 0, product, q);
    for (int64_t i = 0; i < w->count; i++) {
        w->out[i] = 0;
        for (int64_t c = 0; c < q; c++)
            w->out[i] += product[i * q + c] * w->factor_rows[i * q + c];
    }
out:
    mrc_free(inner);
    mrc_free(product);
    return rc;
}

/* Of the matrix as it is centred: K_it + (g - m_i) - m_t. */
static mercer_status all_row_norms2(mrc_gram *g, const unsigned char *mask, double *out,
                                    mercer_error *err)
{
    double *shift = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&shift, 2, g->n, sizeof *shift, err));
    for (int64_t i = 0; g->centered && i < g->n; i++) {
        shift[i] = g->grand - g->means[i];
        shift[g->n + i] = -g->means[i];
    }
    MRC_TRY(mrc_tiled_row_norms2(g, mask, shift, g->centered ? shift + g->n : NULL, out, err));
out:
    mrc_free(shift);
    return rc;
}

/* Squares of columns of the implicit store about their mean. */
static void vary_columns(void *arg, int64_t first, int64_t count, const double *block)
{
    const struct row_work *w = arg;
    int64_t n = w->g->n;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0, mean = 0;
        for (int64_t t = 0; t < n; t++)
            mean += block[t * count + i] / (double)n;
        for (int64_t t = 0; t < n; t++)
            sum += (block[t * count + i] - mean) * (block[t * count + i] - mean);
        w->out[first + i] = sum;
    }
}

mercer_status mrc_gram_row_variances(mrc_gram *g, double *out, mercer_error *err)
{
    struct row_work w = {.g = g, .out = out};
    double *ones = NULL, *shift = NULL, *inner = NULL;
    mercer_status rc = MERCER_OK;
    if (g->store == MRC_STORE_LOWRANK) {
        MRC_TRY(mrc_alloc2(&inner, g->rank, g->rank, sizeof *inner, err));
        mrc_lowrank_sums sums = {.about_mean = true};
        MRC_TRY(mrc_lowrank_inner(g, &sums, inner, err));
        MRC_TRY(mrc_lowrank_quadratic(g, inner, out, err));
    } else if (g->store == MRC_STORE_IMPLICIT) {
        MRC_TRY(mrc_implicit_columns(g, NULL, g->n, vary_columns, &w, err));
    } else {
        MRC_TRY(mrc_alloc(&ones, g->n, sizeof *ones, err));
        MRC_TRY(mrc_alloc(&shift, g->n, sizeof *shift, err));
        for (int64_t i = 0; i < g->n; i++)
            ones[i] = -1 / (double)g->n;
        MRC_TRY(apply_uncentered(g, ones, 1, shift, err));
        MRC_TRY(mrc_tiled_row_norms2(g, NULL, shift, NULL, out, err));
    }
out:
    mrc_free(ones);
    mrc_free(shift);
    mrc_free(inner);
    return rc;
}

mercer_status mrc_gram_row_norms2(mrc_gram *g, const int64_t *rows, int64_t count,
                                  const unsigned char *mask, double *out, mercer_error *err)
{
    struct row_work w = {.g = g, .rows = rows, .count = count, .mask = mask, .out = out};
    mercer_status rc = MERCER_OK;
    if (g->store == MRC_STORE_LOWRANK) {
        rc = lowrank_row_norms2(g, &w, err);
        goto out;
    }
    MRC_TRY(mrc_gram_learn_means(g, err));
    if (g->store == MRC_STORE_IMPLICIT) {
        rc = mrc_implicit_columns(g, rows, rows ? count : g->n, square_columns, &w, err);
        goto out;
    }
    if (!rows) {
        rc = all_row_norms2(g, mask, out, err);
        goto out;
    }
    MRC_TRY(row_scratch(&w, err));
    mrc_parfor(g->ctx, (count + MRC_GATHER - 1) / MRC_GATHER, norms_group, &w);
    rc = mrc_check_cancel(g->ctx, err);
out:
    row_scratch_free(&w);
    return rc;
}

/* ---- new rows ---- */

struct cross_work {
    mrc_gram *g;
    const mrc_points *points;
    int64_t first, count;
    double *out;
    double *scratch; /* per worker: windows of both */
    int64_t scratch_size;
};

static void cross_group(void *arg, int64_t task, int worker)
{
    struct cross_work *w = arg;
    mrc_gram *g = w->g;
    int64_t first = task * MRC_GATHER;
    int64_t rows = w->count - first < MRC_GATHER ? w->count - first : MRC_GATHER;
    double *out = w->out + first * g->n, *scratch = w->scratch + worker * w->scratch_size;
    int64_t a0 = w->first + first;
    mrc_points a_own, b_own;
    const mrc_points *a = mrc_points_window(w->points, &a0, rows, scratch, &a_own);
    scratch += MRC_GATHER * mrc_points_window_size(w->points);
    for (int64_t c = 0; c < g->n; c += MRC_TILE) {
        int64_t cols = g->n - c < MRC_TILE ? g->n - c : MRC_TILE, b0 = c;
        const mrc_points *b = mrc_points_window(&g->points, &b0, cols, scratch, &b_own);
        mrc_kernel_tile(g->kernel, g->ctx->simd, a, a0, rows, b, b0, cols, out + c, g->n);
    }
    for (int64_t i = 0; g->unit != 1 && i < rows * g->n; i++)
        out[i] /= g->unit;
    for (int64_t i = 0; g->centered && i < rows; i++) {
        double *row = out + i * g->n, mean = 0;
        for (int64_t t = 0; t < g->n; t++)
            mean += row[t];
        mean /= (double)g->n;
        for (int64_t t = 0; t < g->n; t++)
            row[t] += g->grand - mean - g->means[t];
    }
}

mercer_status mrc_gram_grand_mean(mrc_gram *g, double *out, mercer_error *err)
{
    double n = (double)g->n, *shares = NULL, *means = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&shares, g->n, sizeof *shares, err));
    MRC_TRY(mrc_alloc(&means, g->n, sizeof *means, err));
    for (int64_t i = 0; i < g->n; i++)
        shares[i] = 1 / n;
    MRC_TRY(mrc_gram_apply(g, shares, 1, means, err));
    *out = 0;
    for (int64_t i = 0; i < g->n; i++)
        *out += means[i] / n;
out:
    mrc_free(shares);
    mrc_free(means);
    return rc;
}

mercer_status mrc_gram_cross(mrc_gram *g, const mercer_rows *rows, int64_t first, int64_t count,
                             double *out, mercer_error *err)
{
    mrc_points points = {0};
    struct cross_work w = {.g = g, .points = &points, .first = first, .count = count, .out = out};
    mercer_status rc = MERCER_OK;
    if (g->store == MRC_STORE_PRECOMPUTED)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                        "kernel precomputed: kernel values of new rows must be given");
    if (!rows->csr.start != !g->rows->csr.start)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "new rows must be sparse or dense as the training rows are");
    MRC_TRY(mrc_gram_learn_means(g, err));
    MRC_TRY(mrc_kernel_check_rows(g->kernel, rows, 0, err));
    MRC_TRY(mrc_points_init(&points, g->ctx, g->kernel, rows, &g->points, err));
    MRC_TRY(mrc_points_build_index(&g->points, g->ctx, err)); /* the implicit store has none yet */
    w.scratch_size = MRC_GATHER * mrc_points_window_size(&points) +
                     MRC_TILE * mrc_points_window_size(&g->points);
    MRC_TRY(mrc_alloc2_raw(&w.scratch, g->threads, w.scratch_size, sizeof *w.scratch, err));
    mrc_parfor(g->ctx, (count + MRC_GATHER - 1) / MRC_GATHER, cross_group, &w);
    rc = mrc_check_cancel(g->ctx, err);
out:
    mrc_points_destroy(&points);
    mrc_free(w.scratch);
    return rc;
}
