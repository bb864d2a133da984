/* SPDX-License-Identifier: BSD-3-Clause */
/* One solver for ridge regression on the Gram operator; see solve.h.
 *
 * With a factor, K = F F', everything is in its q coordinates: W = (F'F + mu I)^-1 F'Y from the
 * eigenvalues of F'F, then twice corrected by what is left, F'(Y - F W) - mu W, because F'F has the
 * square of the condition of F. Cost: n q^2 + q^3.
 *
 * Without one: conjugate gradients for all outputs side by side, so that a product with K serves
 * all of them, with the preconditioner F_r F_r' + mu I, F_r a factor of r rows drawn at random
 * (sampled.c; Diaz, Epperly, Frangella, Tropp, Webber 2023). It is inverted in r coordinates:
 *   (F F' + mu I)^-1 v = (v - F (F'F + mu I)^-1 F' v) / mu.
 * Recurrences drift from the true residual, so each cycle starts from that one anew, and the last
 * ends where it gets no smaller. Cost: n r^2 + r^3, and some 10 to 100 products with K. Where rows
 * are spread over ranks, products of columns are running sums over the rows of all ranks.
 *
 * What a residual means. With R = Y - (K + mu I) A, A is the exact solution for the targets Y - R,
 * so that rho = |R| / |Y| is the share of the targets that the solution does not know of. K is
 * semidefinite, so K (K + mu I)^-1 shortens: fitted values are off by less than rho |Y|. New rows
 * feel what noise of that size in the targets would do to them.
 *
 * What rounding explains. Of all changes E of K with (K + E + mu I) A = Y the least has the norm
 * |R| / |A|. Kernel values, and sums of n of them, are off by eps kmax times a small number, and a
 * matrix of such errors has a norm of n eps kmax times that number: the floor of mrc_rank_floor(),
 * below which eigenvalues are rounding, too. So |R| <= floor |A| is what a product with K cannot
 * resolve; it grows as |A| <= |Y| / mu does when mu falls, and as kmax does beside the trace when
 * rows differ by little beside their mean. More than that, and gradients have not converged.
 *
 * With a factor A = (Y - F W) / mu is never formed, and two errors are measured instead, as shares
 * of |Y| again: by how much the last correction moved the fit; and |(K - F F') A|, which is R for
 * a factor that is not quite K, from some rows of K drawn at random. The rows of a linear kernel
 * are K's factor by definition.
 *
 * Leave-one-out errors need no refits: with h_ii = 1/n + f_i'(F'F + mu I)^-1 f_i, the diagonal of
 * the map from targets to fitted values (1/n: the intercept), e_i = (y_i - fitted_i) / (1 - h_ii).
 * From one eigendecomposition all 15 ridges cost n q (q + 15 + 15 outputs). Without a factor of K,
 * F_r stands in for it. */
#include "gram/solve.h"

#include "base/order.h"
#include "base/running.h"
#include "gram/factor.h"
#include "gram/sampled.h"
#include "gram/store.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

enum {
    SAMPLE = 1000, /* columns of the preconditioner: more save products, and cost n r^2 + r^3 */
    MIN_SAMPLE = 64,
    CYCLES = 8,       /* of conjugate gradients */
    MAX_STEPS = 2000, /* of a cycle */
    STRIP = 256,      /* rows of F handled together */
    CHECKED = 16,     /* rows of K that a factor is compared with: the root of a mean of squares, to
                         a quarter */
    AT_ONCE = 4,      /* of them, which take n values each */
    TOGETHER = 8,     /* running sums that a rank hands on at a time */
};

/* Shares of |Y|, see above: recurrences stop at the first, the second is enough. More than the
 * third is told, where rounding explains it, and else refused. Nobody could use more than the last.
 */
static const double TOLERANCE = 1e-13;
static const double ENOUGH = 1e-12;
static const double TOLD = 1e-6;
static const double USELESS = 1e-3;
/* 1 - h_ii has lost its digits below this. */
static const double MIN_LEVERAGE_LEFT = 1e-10;
/* Rows are drawn for preconditioning: which ones changes rounding alone, so the seed is fixed. */
static const uint64_t SEED = 0x6b72;

double mrc_ridge_at(int index)
{
    return pow(10, -7 + 0.5 * index);
}

static int64_t sample_columns(double memory, int64_t n)
{
    double room = memory / 3 / (8 * (double)n);
    int64_t most = room < SAMPLE ? (int64_t)room : SAMPLE;
    most = most < MIN_SAMPLE ? MIN_SAMPLE : most;
    return mrc_min64(n, most);
}

int64_t mrc_solve_columns(const mercer_ctx *ctx, int64_t n, int64_t outputs)
{
    enum {
        BLOCKS = 9
    }; /* targets, solution, residual, three of a step, two of a product, fitted */
    int64_t r = sample_columns((double)mercer_ctx_memory(ctx), n);
    return r + (n > 0 ? 4 * r * r / n : 0) + 40 + BLOCKS * outputs;
}

void mrc_ridge_destroy(mrc_ridge *ridge)
{
    mrc_free(ridge->mean);
    mrc_free(ridge->fitted);
    mrc_free(ridge->dual);
    mrc_free(ridge->weights);
    mrc_free(ridge->values);
    mrc_free(ridge->vectors);
    memset(ridge, 0, sizeof *ridge);
}

/* ---- targets ---- */

struct targets {
    int64_t n, outputs; /* n: rows here, of */
    mrc_span span;      /* all of them */
    double *y;          /* n x outputs, centred when the operator is, each column about 1 at most */
    double *scale;      /* outputs: powers of two that they were divided by */
    double *norm;       /* outputs: length of the column */
};

static void targets_destroy(struct targets *t)
{
    mrc_free(t->y);
    mrc_free(t->scale);
    mrc_free(t->norm);
}

/* What running sums are taken of. */
struct columns {
    const struct targets *t;
    const double *x, *first; /* n x outputs, outputs */
};

static mercer_status add_differences(void *arg, int64_t begin, int64_t end, double *sums,
                                     mercer_error *err)
{
    const struct columns *w = arg;
    int64_t l = w->t->outputs;
    (void)err;
    for (int64_t c = begin; c < end; c++)
        for (int64_t i = 0; i < w->t->n; i++)
            sums[c] += (w->x[i * l + c] - w->first[c]) / (double)w->t->span.total;
    return MERCER_OK;
}

static mercer_status add_squares(void *arg, int64_t begin, int64_t end, double *sums,
                                 mercer_error *err)
{
    const struct columns *w = arg;
    int64_t l = w->t->outputs;
    (void)err;
    for (int64_t c = begin; c < end; c++)
        for (int64_t i = 0; i < w->t->n; i++)
            sums[c] += w->x[i * l + c] * w->x[i * l + c];
    return MERCER_OK;
}

/* Means of columns by their differences from the first row: a large common part costs no digits. */
static mercer_status find_means(mercer_ctx *ctx, const double *y, const struct targets *t,
                                double *mean, mercer_error *err)
{
    int64_t l = t->outputs;
    double *first = NULL;
    struct columns w = {.t = t, .x = y};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&first, l, sizeof *first, err));
    if (t->span.first == 0 && t->n > 0)
        memcpy(first, y, (size_t)l * sizeof *first);
    if (t->span.spread)
        MRC_TRY(mrc_comm_merge_numbers(ctx, first, l, err));
    w.first = first;
    MRC_TRY(mrc_run_span(ctx, &t->span, mean, l, TOGETHER, add_differences, &w, err));
    for (int64_t c = 0; c < l; c++)
        mean[c] += first[c];
out:
    mrc_free(first);
    return rc;
}

static mercer_status take_targets(const mrc_gram *g, const double *given, struct targets *t,
                                  double *mean, mercer_error *err)
{
    struct columns w = {.t = t};
    int64_t n = t->n, l = t->outputs;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&t->y, n, l, sizeof *t->y, err));
    MRC_TRY(mrc_alloc(&t->scale, l, sizeof *t->scale, err));
    MRC_TRY(mrc_alloc(&t->norm, l, sizeof *t->norm, err));
    if (g->centered)
        MRC_TRY(find_means(g->ctx, given, t, mean, err));
    for (int64_t c = 0; c < l; c++) {
        double largest = 0, size = 0;
        int exponent;
        for (int64_t i = 0; i < n; i++) {
            size = fmax(size, fabs(given[i * l + c]));
            largest = fmax(largest, fabs(given[i * l + c] - mean[c]));
        }
        if (t->span.spread) {
            MRC_TRY(mrc_comm_largest(g->ctx, &size, err));
            MRC_TRY(mrc_comm_largest(g->ctx, &largest, err));
        }
        /* Equal values may differ from their mean by rounding. */
        bool constant = largest <= 4 * g->eps * size;
        frexp(constant ? 1 : largest, &exponent);
        t->scale[c] = ldexp(1, exponent > 1000 ? 1000 : exponent < -1000 ? -1000 : exponent);
        for (int64_t i = 0; i < n; i++)
            t->y[i * l + c] = constant ? 0 : (given[i * l + c] - mean[c]) / t->scale[c];
    }
    w.x = t->y;
    MRC_TRY(mrc_run_span(g->ctx, &t->span, t->norm, l, TOGETHER, add_squares, &w, err));
    for (int64_t c = 0; c < l; c++)
        t->norm[c] = sqrt(t->norm[c]);
out:
    return rc;
}

/* Back to the units of the targets. */
static void scale_back(const struct targets *t, int64_t rows, double *x)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < t->outputs; c++)
            x[i * t->outputs + c] *= t->scale[c];
}

/* ---- a factor and the eigenvalues of F'F ---- */

struct basis {
    const mrc_factor *f;
    double *values;  /* q, increasing */
    double *vectors; /* q x q, rows */
    double *turned;  /* q x outputs: vectors F'Y */
    double floor;    /* eigenvalues at or below are rounding, where there is no ridge */
};

static void basis_destroy(struct basis *b)
{
    mrc_free(b->values);
    mrc_free(b->vectors);
    mrc_free(b->turned);
}

static mercer_status basis_init(struct basis *b, const mrc_factor *f, const double *y, int64_t l,
                                mercer_error *err)
{
    int64_t q = f->rank;
    double *inner = NULL;
    mercer_status rc = MERCER_OK;
    b->f = f;
    MRC_TRY(mrc_alloc(&b->values, q, sizeof *b->values, err));
    MRC_TRY(mrc_alloc2(&b->vectors, q, q, sizeof *b->vectors, err));
    MRC_TRY(mrc_alloc2(&b->turned, q, l, sizeof *b->turned, err));
    MRC_TRY(mrc_alloc2(&inner, q, l, sizeof *inner, err));
    MRC_TRY(mrc_factor_inner(f, NULL, b->vectors, err));
    mrc_progress(f->ctx, "eigenvalues", -1);
    MRC_TRY(mrc_eigen_symmetric_of_all(f->ctx, &f->span, q, b->vectors, b->values, err));
    for (int64_t j = 0; j < q; j++)
        b->values[j] = fmax(b->values[j], 0);
    MRC_TRY(mrc_factor_transposed_times(f, y, l, inner, err));
    mrc_tall_times(f->ctx, q, l, q, 1, b->vectors, q, inner, l, 0, b->turned, l);
    MRC_TRY(mrc_decide_numbers(f->ctx, &f->span, b->turned, q * l, err));
out:
    mrc_free(inner);
    return rc;
}

/* 1 / (value + mu), or 0 where that is nothing but rounding. */
static double inverse(const struct basis *b, int64_t j, double mu)
{
    double sum = b->values[j] + mu;
    return sum > (mu > 0 ? 0 : b->floor) ? 1 / sum : 0;
}

/* out (q x l) = (F'F + mu I)^-1 w; scratch: q x l. */
static mercer_status inverse_times(const struct basis *b, double mu, const double *w, int64_t l,
                                   double *scratch, double *out, mercer_error *err)
{
    int64_t q = b->f->rank;
    mercer_ctx *ctx = b->f->ctx;
    mrc_tall_times(ctx, q, l, q, 1, b->vectors, q, w, l, 0, scratch, l);
    for (int64_t j = 0; j < q; j++)
        for (int64_t c = 0; c < l; c++)
            scratch[j * l + c] *= inverse(b, j, mu);
    return mrc_tall_product(ctx, b->vectors, q, q, scratch, l, l, q, out, err);
}

/* ---- leave-one-out ---- */

struct leave_one_out {
    const struct basis *b;
    const struct targets *t;
    double intercept; /* its part of h_ii */
    double mus[MRC_RIDGES];
    double *weights; /* q x (MRC_RIDGES outputs): 1 / (value + mu) turned, for each mu */
    double *inverse; /* q x MRC_RIDGES */
    double *sums;    /* strips x MRC_RIDGES */
    double **scratch;
    int64_t scratch_size;
    double *share; /* outputs: (scale / largest scale)^2 */
};

static void leave_out_strip(void *arg, int64_t task, int worker)
{
    const struct leave_one_out *w = arg;
    const mrc_factor *f = w->b->f;
    int64_t first = task * STRIP, rows = mrc_min64(STRIP, f->n - first), q = f->rank;
    int64_t l = w->t->outputs, wide = MRC_RIDGES * l;
    double *strip = w->scratch[worker], *turned = strip + STRIP * q, *fitted = turned + STRIP * q;
    double *leverage = fitted + STRIP * wide;
    for (int64_t r = 0; r < rows; r++)
        mrc_factor_row(f, first + r, q, strip + r * q);
    mrc_gemm(false, true, rows, q, q, 1, strip, q, w->b->vectors, q, 0, turned, q);
    mrc_gemm(false, false, rows, wide, q, 1, turned, q, w->weights, wide, 0, fitted, wide);
    for (int64_t i = 0; i < rows * q; i++)
        turned[i] *= turned[i];
    mrc_gemm(false, false, rows, MRC_RIDGES, q, 1, turned, q, w->inverse, MRC_RIDGES, 0, leverage,
             MRC_RIDGES);
    for (int k = 0; k < MRC_RIDGES; k++) {
        double sum = 0;
        for (int64_t r = 0; r < rows; r++) {
            double left = 1 - w->intercept - leverage[r * MRC_RIDGES + k];
            if (!(left > MIN_LEVERAGE_LEFT))
                sum = INFINITY;
            for (int64_t c = 0; c < l; c++) {
                double e = (w->t->y[(first + r) * l + c] - fitted[r * wide + k * l + c]) / left;
                sum += e * e * w->share[c];
            }
        }
        w->sums[task * MRC_RIDGES + k] = sum;
    }
}

static void loo_destroy(struct leave_one_out *w, int threads)
{
    for (int i = 0; w->scratch && i < threads; i++)
        mrc_free(w->scratch[i]);
    mrc_free(w->scratch);
    mrc_free(w->weights);
    mrc_free(w->inverse);
    mrc_free(w->sums);
    mrc_free(w->share);
}

static mercer_status loo_init(struct leave_one_out *w, double trace, mercer_error *err)
{
    const mrc_factor *f = w->b->f;
    int64_t q = f->rank, l = w->t->outputs, wide = MRC_RIDGES * l;
    double largest = 0;
    mercer_status rc = MERCER_OK;
    w->scratch_size = STRIP * (2 * q + wide + MRC_RIDGES);
    MRC_TRY(mrc_alloc(&w->scratch, f->threads, sizeof *w->scratch, err));
    for (int i = 0; i < f->threads; i++)
        MRC_TRY(mrc_alloc(&w->scratch[i], w->scratch_size, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&w->weights, q, wide, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&w->inverse, q, MRC_RIDGES, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&w->sums, (f->n + STRIP - 1) / STRIP, MRC_RIDGES, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->share, l, sizeof(double), err));
    for (int64_t c = 0; c < l; c++)
        largest = fmax(largest, w->t->norm[c] > 0 ? w->t->scale[c] : 0);
    for (int64_t c = 0; c < l; c++)
        w->share[c] = largest > 0 ? pow(w->t->scale[c] / largest, 2) : 0;
    for (int k = 0; k < MRC_RIDGES; k++) {
        double mu = mrc_ridge_at(k) * trace;
        for (int64_t j = 0; j < q; j++) {
            w->inverse[j * MRC_RIDGES + k] = inverse(w->b, j, mu);
            for (int64_t c = 0; c < l; c++)
                w->weights[j * wide + k * l + c] = inverse(w->b, j, mu) * w->b->turned[j * l + c];
        }
    }
out:
    return rc;
}

static mercer_status add_strips(void *arg, int64_t begin, int64_t end, double *sums,
                                mercer_error *err)
{
    const struct leave_one_out *w = arg;
    (void)err;
    for (int64_t s = 0; s < mrc_strips(w->t->n); s++)
        for (int64_t k = begin; k < end; k++)
            sums[k] += w->sums[s * MRC_RIDGES + k];
    return MERCER_OK;
}

/* The ridge, and out->errors in the units of the targets. */
static mercer_status choose_ridge(const mrc_gram *g, const struct basis *b, const struct targets *t,
                                  mrc_ridge *out, mercer_error *err)
{
    int64_t n = t->span.total, strips = mrc_strips(t->n);
    struct leave_one_out w = {.b = b, .t = t, .intercept = g->centered ? 1 / (double)n : 0};
    double largest = 0, least = INFINITY, sums[MRC_RIDGES] = {0};
    int best = -1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(loo_init(&w, out->trace, err));
    MRC_TRY(mrc_parfor_checked(g->ctx, strips, leave_out_strip, &w, err));
    MRC_TRY(mrc_run_span(g->ctx, &t->span, sums, MRC_RIDGES, TOGETHER, add_strips, &w, err));
    for (int64_t c = 0; c < t->outputs; c++)
        largest = fmax(largest, t->norm[c] > 0 ? t->scale[c] : 0);
    for (int k = MRC_RIDGES - 1; k >= 0; k--) {
        double sum = sums[k];
        if (isfinite(sum) && sum < least) {
            least = sum;
            best = k;
        }
        out->errors[k] = sum / (double)(n * t->outputs) * largest * largest;
    }
    if (best < 0)
        MRC_FAIL(err, MERCER_ERR_NUMERIC,
                 "the leave-one-out errors have no digits for any ridge: each row is predicted "
                 "only from its own target; give a ridge");
    out->ridge = mrc_ridge_at(best);
    MRC_TRY(mrc_decide_numbers(b->f->ctx, &b->f->span, &out->ridge, 1, err));
out:
    loo_destroy(&w, g->ctx->threads);
    return rc;
}

/* ---- what the solution is worth ---- */

/* out->residual, told or refused. explained: by rounding, in every output. */
static mercer_status judge(const mrc_gram *g, const mrc_ridge *out, bool explained,
                           mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (out->residual <= TOLD)
        return MERCER_OK;
    if (!explained)
        MRC_FAIL_AT(err, MERCER_ERR_NUMERIC, MRC_AT(.key = "ridge"),
                    "conjugate gradients end at a residual of %.0e of the targets, after %lld "
                    "products with the kernel matrix: give a larger ridge than %g",
                    out->residual, (long long)out->products, out->ridge);
    if (!(out->residual <= USELESS))
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "ridge"),
                    "rounding moves the fit by %.0e of the targets: a ridge of %g is too small for "
                    "the digits of this kernel matrix; give a larger one",
                    out->residual, out->ridge);
    mrc_notice_at(g->ctx, MRC_AT(.key = "ridge"),
                  "rounding moves the fit by %.0e of the targets: a ridge of %g is small for the "
                  "digits of this kernel matrix, and a larger one leaves less",
                  out->residual, out->ridge);
out:
    return rc;
}

/* ---- with a factor ---- */

struct comparison {
    const struct targets *t;
    const mrc_ridge *out;
    double *values, *image; /* AT_ONCE x n: of K, and of F F' */
};

/* Sums for row k / outputs of those at once, and output k % outputs. */
static mercer_status add_products(void *arg, int64_t begin, int64_t end, double *sums,
                                  mercer_error *err)
{
    const struct comparison *w = arg;
    int64_t n = w->t->n, l = w->t->outputs;
    (void)err;
    for (int64_t k = begin; k < end; k++) {
        int64_t r = k / l, c = k % l;
        for (int64_t i = 0; i < n; i++)
            sums[k] += (w->values[r * n + i] - w->image[r * n + i]) *
                       ((w->t->y[i * l + c] - w->out->fitted[i * l + c]) / w->out->mu);
    }
    return MERCER_OK;
}

/* sums (outputs) of the squares of (K - F F') A over the rows drawn, A = (Y - fitted) / mu. */
static mercer_status check_rows(mrc_gram *g, const struct targets *t, const mrc_ridge *out,
                                const int64_t *drawn, int64_t count, double *sums,
                                mercer_error *err)
{
    int64_t n = t->n, l = t->outputs, q = out->f->rank;
    struct comparison w = {.t = t, .out = out};
    mercer_rows *rows = NULL;
    double *own = NULL, *found = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_rows_take_of_all(g->ctx, g->rows, drawn, count, &rows, err));
    MRC_TRY(mrc_alloc2_raw(&w.values, AT_ONCE, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&w.image, AT_ONCE, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&own, AT_ONCE, q, sizeof *own, err));
    MRC_TRY(mrc_alloc2(&found, AT_ONCE, l, sizeof *found, err));
    for (int64_t first = 0; first < count; first += AT_ONCE) {
        int64_t some = mrc_min64(AT_ONCE, count - first);
        MRC_TRY(mrc_gram_cross(g, rows, first, some, w.values, err));
        MRC_TRY(mrc_factor_rows_of_all(out->f, drawn + first, some, own, err));
        for (int64_t r = 0; r < some; r++)
            MRC_TRY(mrc_factor_times(out->f, own + r * q, 1, w.image + r * n, err));
        memset(found, 0, (size_t)(some * l) * sizeof *found);
        MRC_TRY(mrc_run_span(g->ctx, &t->span, found, some * l, TOGETHER, add_products, &w, err));
        for (int64_t k = 0; k < some * l; k++)
            sums[k % l] += found[k] * found[k];
    }
out:
    mercer_rows_free(rows);
    mrc_free(w.values);
    mrc_free(w.image);
    mrc_free(own);
    mrc_free(found);
    return rc;
}

/* The larger of out->residual and what F F' is off by, see above. */
static mercer_status compare_factor(mrc_gram *g, const struct targets *t, mrc_ridge *out,
                                    mercer_error *err)
{
    int64_t n = t->span.total, count = mrc_min64(CHECKED, n), drawn[CHECKED];
    double *sums = NULL;
    mrc_rng rng;
    mercer_status rc = MERCER_OK;
    mrc_rng_seed(&rng, SEED);
    mrc_rng_spread(&rng, n, drawn, count);
    MRC_TRY(mrc_alloc(&sums, t->outputs, sizeof *sums, err));
    MRC_TRY(check_rows(g, t, out, drawn, count, sums, err));
    for (int64_t c = 0; c < t->outputs; c++)
        if (t->norm[c] > 0)
            out->residual =
                fmax(out->residual, sqrt(sums[c] * (double)n / (double)count) / t->norm[c]);
out:
    mrc_free(sums);
    return rc;
}

/* The largest length of a column of x as a share of its targets'. */
static mercer_status largest_share(mercer_ctx *ctx, const struct targets *t, const double *x,
                                   double *worst, mercer_error *err)
{
    struct columns w = {.t = t, .x = x};
    double *sums = NULL;
    mercer_status rc = MERCER_OK;
    *worst = 0;
    MRC_TRY(mrc_alloc(&sums, t->outputs, sizeof *sums, err));
    MRC_TRY(mrc_run_span(ctx, &t->span, sums, t->outputs, TOGETHER, add_squares, &w, err));
    for (int64_t c = 0; c < t->outputs; c++)
        if (t->norm[c] > 0) {
            double share = sqrt(sums[c]) / t->norm[c];
            *worst = share <= *worst ? *worst : share; /* not a number counts */
        }
out:
    mrc_free(sums);
    return rc;
}

static mercer_status solve_factor(mrc_gram *g, const struct basis *b, const struct targets *t,
                                  mrc_ridge *out, mercer_error *err)
{
    enum { CORRECTIONS = 2 };
    const mrc_factor *f = b->f;
    int64_t n = t->n, q = f->rank, l = t->outputs;
    double *rest = NULL, *inner = NULL, *scratch = NULL, *step = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&out->weights, q, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&out->fitted, n, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&rest, n, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&inner, q, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&scratch, q, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&step, q, l, sizeof(double), err));
    for (int pass = 0; pass <= CORRECTIONS; pass++) {
        for (int64_t i = 0; i < n * l; i++)
            rest[i] = t->y[i] - out->fitted[i];
        MRC_TRY(mrc_factor_transposed_times(f, rest, l, inner, err));
        for (int64_t j = 0; j < q * l; j++)
            inner[j] -= out->mu * out->weights[j];
        MRC_TRY(inverse_times(b, out->mu, inner, l, scratch, step, err));
        MRC_TRY(mrc_decide_numbers(f->ctx, &f->span, step, q * l, err));
        for (int64_t j = 0; j < q * l; j++)
            out->weights[j] += step[j];
        MRC_TRY(mrc_factor_times(f, out->weights, l, out->fitted, err));
    }
    for (int64_t i = 0; i < n * l; i++)
        rest[i] += out->fitted[i] - t->y[i]; /* the last correction of the fit */
    MRC_TRY(largest_share(g->ctx, t, rest, &out->residual, err));
    if (f->pivots && out->mu > 0)
        MRC_TRY(compare_factor(g, t, out, err));
    MRC_TRY(judge(g, out, true, err));
    out->rank = 0;
    for (int64_t j = 0; j < q; j++)
        out->rank += b->values[j] > b->floor;
out:
    mrc_free(rest);
    mrc_free(inner);
    mrc_free(scratch);
    mrc_free(step);
    return rc;
}

/* ---- without one ---- */

enum { PAIRS = 2 }; /* of vectors of an output, at most, whose products are summed together */

struct gradients {
    mrc_gram *g;
    const struct basis *b; /* of the preconditioner, or NULL: none */
    const struct targets *t;
    double mu;
    double *rest, *direction, *image; /* n x outputs each: residual, p, K p */
    double *preconditioned;           /* n x outputs */
    double *inner, *scratch;          /* rank of the preconditioner x outputs each */
    double *matched;                  /* outputs: r'z */
    double *sums;                     /* outputs x PAIRS */
    bool *done;                       /* outputs */
};

static void gradients_destroy(struct gradients *s)
{
    mrc_free(s->rest);
    mrc_free(s->direction);
    mrc_free(s->image);
    mrc_free(s->preconditioned);
    mrc_free(s->inner);
    mrc_free(s->scratch);
    mrc_free(s->matched);
    mrc_free(s->sums);
    mrc_free(s->done);
}

static mercer_status gradients_init(struct gradients *s, mercer_error *err)
{
    int64_t n = s->t->n, l = s->t->outputs, q = s->b->f->rank;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&s->rest, n, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&s->direction, n, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&s->image, n, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&s->preconditioned, n, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s->inner, q, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s->scratch, q, l, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s->matched, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s->sums, l, PAIRS, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s->done, l, sizeof(bool), err));
out:
    return rc;
}

/* Products of the columns of some pairs of vectors: sums output by output, and of an output pair by
 * pair. */
struct products {
    const struct gradients *s;
    const double *a[PAIRS], *b[PAIRS]; /* n x outputs each */
    int64_t pairs;
    bool of_all; /* else only of outputs that are not done */
};

static mercer_status add_pairs(void *arg, int64_t begin, int64_t end, double *sums,
                               mercer_error *err)
{
    const struct products *w = arg;
    const int64_t n = w->s->t->n, l = w->s->t->outputs;
    (void)err;
    for (int64_t k = begin; k < end; k++) {
        const int64_t c = k / w->pairs;
        const double *a = w->a[k % w->pairs], *b = w->b[k % w->pairs];
        double sum = sums[k];
        if (!w->of_all && w->s->done[c])
            continue;
        for (int64_t i = 0; i < n; i++)
            sum += a[i * l + c] * b[i * l + c];
        sums[k] = sum;
    }
    return MERCER_OK;
}

/* Over the rows of all ranks, into s->sums. */
static mercer_status sum_pairs(struct gradients *s, struct products w, mercer_error *err)
{
    const int64_t count = s->t->outputs * w.pairs;
    w.s = s;
    memset(s->sums, 0, (size_t)count * sizeof *s->sums);
    return mrc_run_span(s->g->ctx, &s->t->span, s->sums, count, TOGETHER * w.pairs, add_pairs, &w,
                        err);
}

static mercer_status precondition(struct gradients *s, mercer_error *err)
{
    const mrc_factor *f = s->b->f;
    int64_t n = s->t->n, l = s->t->outputs;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_factor_transposed_times(f, s->rest, l, s->inner, err));
    MRC_TRY(inverse_times(s->b, s->mu, s->inner, l, s->scratch, s->inner, err));
    MRC_TRY(mrc_decide_numbers(f->ctx, &f->span, s->inner, f->rank * l, err));
    MRC_TRY(mrc_factor_times(f, s->inner, l, s->preconditioned, err));
    for (int64_t i = 0; i < n * l; i++)
        s->preconditioned[i] = (s->rest[i] - s->preconditioned[i]) / s->mu;
out:
    return rc;
}

static mercer_status refuse_indefinite(mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_DATA,
                    "the kernel is not positive semidefinite on these rows: ridge regression has "
                    "no solution that is a minimum; use another kernel");
}

static mercer_status refuse_zero(mercer_error *err)
{
    return mrc_fail(
        err, MERCER_ERR_DATA,
        "the kernel matrix is zero to rounding: the rows do not differ, or by less than "
        "rounding beside their mean, so there is nothing to learn from");
}

/* A step along the direction of one output, of this length squared. */
static mercer_status step_along(struct gradients *s, int64_t c, double length2, double curvature,
                                double *dual, mercer_error *err)
{
    int64_t n = s->t->n, l = s->t->outputs;
    double rounding = mrc_rank_floor(s->t->span.total, s->g->eps * s->g->kmax, 0);
    if (curvature < -rounding * length2)
        return refuse_indefinite(err);
    double step = s->matched[c] / (curvature + s->mu * length2);
    if (!isfinite(step)) { /* nothing is left to go along */
        s->done[c] = true;
        return MERCER_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        double p = s->direction[i * l + c];
        dual[i * l + c] += step * p;
        s->rest[i * l + c] -= step * (s->image[i * l + c] + s->mu * p);
    }
    return MERCER_OK;
}

/* One cycle from the residual in s->rest, of conjugate gradients for every output. */
static mercer_status cycle(struct gradients *s, double *dual, int64_t *products, mercer_error *err)
{
    int64_t n = s->t->n, l = s->t->outputs;
    mercer_status rc = MERCER_OK;
    for (int64_t c = 0; c < l; c++) {
        s->done[c] = false;
        s->matched[c] = 0;
    }
    memset(s->direction, 0, (size_t)(n * l) * sizeof *s->direction);
    for (int step = 0; step < MAX_STEPS; step++) {
        bool all = true;
        MRC_TRY(mrc_check_cancel(s->g->ctx, err));
        MRC_TRY(sum_pairs(
            s, (struct products){.a = {s->rest}, .b = {s->rest}, .pairs = 1, .of_all = true}, err));
        for (int64_t c = 0; c < l; c++) {
            double left = sqrt(s->sums[c]);
            s->done[c] |= left <= TOLERANCE * s->t->norm[c];
            all &= s->done[c];
        }
        if (all)
            break;
        MRC_TRY(precondition(s, err));
        MRC_TRY(sum_pairs(
            s,
            (struct products){.a = {s->rest}, .b = {s->preconditioned}, .pairs = 1, .of_all = true},
            err));
        for (int64_t c = 0; c < l; c++) {
            double matched = s->sums[c];
            double ratio = step > 0 && s->matched[c] > 0 ? matched / s->matched[c] : 0;
            s->matched[c] = matched;
            for (int64_t i = 0; i < n; i++)
                s->direction[i * l + c] =
                    s->done[c] ? 0 : s->preconditioned[i * l + c] + ratio * s->direction[i * l + c];
        }
        MRC_TRY(mrc_gram_apply(s->g, s->direction, l, s->image, err));
        ++*products;
        MRC_TRY(sum_pairs(s,
                          (struct products){.a = {s->direction, s->direction},
                                            .b = {s->direction, s->image},
                                            .pairs = PAIRS},
                          err));
        for (int64_t c = 0; c < l; c++)
            if (!s->done[c])
                MRC_TRY(step_along(s, c, s->sums[c * PAIRS], s->sums[c * PAIRS + 1], dual, err));
    }
out:
    return rc;
}

/* The true residual, in s->rest, and K A in fitted; *worst: the largest rho. */
static mercer_status true_residual(struct gradients *s, const double *dual, double *fitted,
                                   double *worst, mercer_error *err)
{
    int64_t n = s->t->n, l = s->t->outputs;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_apply(s->g, dual, l, fitted, err));
    for (int64_t i = 0; i < n * l; i++)
        s->rest[i] = s->t->y[i] - fitted[i] - s->mu * dual[i];
    MRC_TRY(largest_share(s->g->ctx, s->t, s->rest, worst, err));
out:
    return rc;
}

static mercer_status solve_gradients(mrc_gram *g, const struct basis *b, const struct targets *t,
                                     mrc_ridge *out, mercer_error *err)
{
    struct gradients s = {.g = g, .b = b, .t = t, .mu = out->mu};
    int64_t n = t->n, l = t->outputs;
    double before = INFINITY, *kept = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&out->dual, n, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&out->fitted, n, l, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&kept, n, l, sizeof(double), err));
    MRC_TRY(gradients_init(&s, err));
    memcpy(s.rest, t->y, (size_t)(n * l) * sizeof *s.rest);
    for (int i = 0; i < CYCLES; i++) {
        mrc_progress(g->ctx, "conjugate gradients", (double)i / CYCLES);
        memcpy(kept, out->dual, (size_t)(n * l) * sizeof *kept);
        MRC_TRY(cycle(&s, out->dual, &out->products, err));
        MRC_TRY(true_residual(&s, out->dual, out->fitted, &out->residual, err));
        ++out->products;
        if (out->residual <= ENOUGH || !(out->residual < before / 2))
            break;
        before = out->residual;
    }
    if (!(out->residual <= before)) { /* the last cycle added rounding */
        memcpy(out->dual, kept, (size_t)(n * l) * sizeof *kept);
        MRC_TRY(true_residual(&s, out->dual, out->fitted, &out->residual, err));
        ++out->products;
    }
    bool explained = true;
    double floor = mrc_rank_floor(t->span.total, g->eps * g->kmax, 0);
    MRC_TRY(sum_pairs(
        &s,
        (struct products){
            .a = {s.rest, out->dual}, .b = {s.rest, out->dual}, .pairs = PAIRS, .of_all = true},
        err));
    for (int64_t c = 0; c < l; c++)
        explained &= s.sums[c * PAIRS] <= floor * floor * s.sums[c * PAIRS + 1];
    MRC_TRY(judge(g, out, explained, err));
out:
    mrc_free(kept);
    gradients_destroy(&s);
    return rc;
}

/* ---- all together ---- */

static mercer_status add_diagonal(void *arg, int64_t begin, int64_t end, double *trace,
                                  mercer_error *err)
{
    const mrc_gram *g = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t i = 0; i < g->n; i++)
        *trace += g->diag[i];
    return MERCER_OK;
}

static mercer_status find_trace(mrc_gram *g, double *trace, mercer_error *err)
{
    const double *diag, floor = mrc_rank_floor(g->span.total, g->eps * g->kmax, 0);
    mercer_status rc = MERCER_OK;
    *trace = 0;
    MRC_TRY(mrc_gram_diag(g, &diag, err));
    MRC_TRY(mrc_run_span(g->ctx, &g->span, trace, 1, 1, add_diagonal, g, err));
    if (!(*trace > floor))
        rc = *trace < -floor ? refuse_indefinite(err) : refuse_zero(err);
out:
    return rc;
}

/* How many rows the preconditioner is made of: ranks have as many together as one rank that has the
 * memory of all of them. */
static mercer_status find_sample(const mrc_gram *g, int64_t *columns, mercer_error *err)
{
    double least = -(double)mercer_ctx_memory(g->ctx);
    mercer_status rc = MERCER_OK;
    if (g->span.spread) {
        MRC_TRY(mrc_comm_largest(g->ctx, &least, err));
        least *= g->ctx->comm.table.size;
    }
    *columns = sample_columns(-least, g->span.total);
out:
    return rc;
}

mercer_status mrc_gram_solve(mrc_gram *g, const double *targets, int64_t outputs, double ridge,
                             mrc_ridge *out, mercer_error *err)
{
    struct targets t = {.n = g->n, .outputs = outputs, .span = g->span};
    struct basis b = {0};
    mrc_sampled sampled = {0};
    int64_t columns;
    mercer_status rc = MERCER_OK;

    memset(out, 0, sizeof *out);
    for (int k = 0; k < MRC_RIDGES; k++)
        out->errors[k] = NAN;
    MRC_TRY(mrc_alloc(&out->mean, outputs, sizeof *out->mean, err));
    MRC_TRY(take_targets(g, targets, &t, out->mean, err));
    MRC_TRY(find_trace(g, &out->trace, err));
    out->f = mrc_gram_factor(g);
    if (!out->f && ridge == 0)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "store"),
                    "ridge 0 needs the low-rank store: without a ridge the solution drowns in "
                    "rounding on any other");
    if (!out->f) {
        MRC_TRY(find_sample(g, &columns, err));
        MRC_TRY(mrc_gram_sample(g, columns, 0, SEED, &sampled, err));
        if (sampled.indefinite)
            MRC_TRY(refuse_indefinite(err));
        if (sampled.factor->rank == 0)
            MRC_TRY(refuse_zero(err));
        out->stand_in = sampled.complete ? 0 : sampled.factor->rank;
        out->stand_in_left = sampled.complete ? 0 : sampled.left / out->trace;
    }
    b.floor = mrc_rank_floor(g->span.total, g->eps * g->kmax, mrc_gram_left_out(g));
    MRC_TRY(basis_init(&b, out->f ? out->f : sampled.factor, t.y, outputs, err));
    out->ridge = ridge;
    if (ridge == MRC_RIDGE_AUTO)
        MRC_TRY(choose_ridge(g, &b, &t, out, err));
    out->mu = out->ridge * out->trace;
    if (out->f) {
        MRC_TRY(solve_factor(g, &b, &t, out, err));
        scale_back(&t, out->f->rank, out->weights);
        out->values = b.values;
        out->vectors = b.vectors;
        b.values = b.vectors = NULL;
    } else {
        MRC_TRY(solve_gradients(g, &b, &t, out, err));
        scale_back(&t, g->n, out->dual);
    }
    scale_back(&t, g->n, out->fitted);
out:
    targets_destroy(&t);
    basis_destroy(&b);
    mrc_sampled_destroy(&sampled);
    return rc;
}
