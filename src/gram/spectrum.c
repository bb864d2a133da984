/* SPDX-License-Identifier: BSD-3-Clause */
/* Leading eigenpairs of the Gram operator: which solver, and what counts as an eigenvalue.
 *
 * store with a factor: the q x q problem of F'F; few rows or much of the spectrum: LAPACK on the
 * full matrix, where that is less work; else block Krylov. An eigenvalue counts when it exceeds 8 n
 * eps kmax, with the eps of the store; smaller ones are rounding, and negative ones below the
 * opposite are reported. */
#include "base/order.h"
#include "base/running.h"
#include "base/share.h"
#include "gram/factor.h"
#include "gram/store.h"

#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    SMALL_MATRIX = 400, /* up to here LAPACK, which draws no random vectors, takes milliseconds */
    SHARE_START = 32,   /* pairs to expect when only a share of the variance is asked for */
    STRIP = 64,         /* rows turned at a time, which the cache holds */
    STEEP = 64, /* a spectrum that falls by less costs three bits of the root, which are left */
};

/* Residual of an eigenpair relative to the largest eigenvalue: by default, and at most, whatever
 * the caller tolerates. A residual says that an eigenvalue is near, not which one; with 0.01 the
 * solver was seen to pass the sixth one by. */
static const double TOLERANCE = 1e-12, MAX_TOLERANCE = 1e-4;

/* Products with K know its eigenvalues to n eps kmax, or so (1.4 of it, cosine kernel on a ring);
 * without a margin zeroes would count as components and their negatives as an indefinite kernel. */
static const double RANK_MARGIN = 8;

double mrc_rank_floor(int64_t n, double rounding, double left_out)
{
    /* What a low-rank factor leaves out may be as large as n times its largest residual. */
    return (double)n * fmax(RANK_MARGIN * rounding, left_out);
}

static double floor_of(const mrc_gram *g)
{
    return mrc_rank_floor(g->span.total, g->eps * g->kmax, mrc_gram_left_out(g));
}

static int64_t krylov_block(int64_t count)
{
    return count <= 4 ? 4 : count <= 24 ? 8 : 16;
}

/* Basis columns below which restarts would make no progress. */
static int64_t krylov_least(int64_t count, int64_t block)
{
    return count + count / 4 + 4 * block;
}

/* Columns beside the basis: the block and its image, and what a centred product takes for them (the
 * column of ones, padded widths). */
static int64_t krylov_extra(int64_t block)
{
    return 6 * block + 16;
}

/* Flops at the rate of LAPACK, whose 4/3 n^3 wait for memory half of the time. A product takes 2
 * n^2 for each vector of a block, at a higher rate, and two orthogonalisations against a basis of
 * `columns` 8 n columns at about the same one. Passes are those of usual spectra: 13 to 20 for few
 * pairs, 30 for 50, 44 for 100, 54 for 200. Half as many are seen as well, so the solvers take the
 * same time anywhere from 0.85 to 1.15 of the rows where this changes: up to 1.4 times as long, on
 * either side. */
bool mrc_spectrum_is_full(int64_t n, int64_t count)
{
    static const double PRODUCT = 0.9, BASIS = 7.5;
    double block = (double)krylov_block(count), columns = 2 * (double)count + 12 * block;
    double passes = 16 + (double)count / 5, rows = (double)n;
    if (n <= SMALL_MATRIX || count == 0)
        return n <= SMALL_MATRIX;
    return 4.0 / 3 * rows * rows < passes * block * (PRODUCT * rows + BASIS * columns);
}

int64_t mrc_spectrum_columns(int64_t n, int64_t count)
{
    count = count > 0 ? count : SHARE_START;
    if (n <= SMALL_MATRIX)
        return 4 * n;
    int64_t block = krylov_block(count);
    int64_t least = 2 * krylov_least(count, block) + krylov_extra(block);
    return least < 4 * n ? least : 4 * n;
}

double mrc_spectrum_passes(int64_t n, int64_t count)
{
    enum { PASSES = 40 }; /* of slow spectra; most take 12 to 24 */
    return count == 0 || mrc_spectrum_is_full(n, count) ? 0 : PASSES;
}

int64_t mrc_spectrum_block(int64_t count)
{
    return krylov_block(count);
}

/* unsure: by how much the solver may be wrong. */
static void report_negative(const mrc_gram *g, double smallest, double unsure, mrc_spectrum *out)
{
    out->most_negative = smallest < -fmax(floor_of(g), unsure) ? smallest : 0;
}

/* What LAPACK may add to an eigenvalue of an m x m matrix, the largest one in modulus being given.
 * Seen are 30 eps of it at m = 1600. */
static double lapack_noise(int64_t m, double largest)
{
    return (double)m * DBL_EPSILON * largest;
}

int64_t mrc_wanted_pairs(const double *values, int64_t available, double floor, int64_t count,
                         double share, double trace)
{
    double sum = 0;
    int64_t j = 0;
    for (; j < available && values[j] > floor; j++) {
        if (count > 0 ? j == count : sum >= mrc_share_target(share, trace))
            break;
        sum += values[j];
    }
    return j;
}

static mercer_status trace_of(mrc_gram *g, double *trace, mercer_error *err)
{
    const double *diag;
    mercer_status rc = mrc_gram_diag(g, &diag, err);
    *trace = 0;
    return rc == MERCER_OK ? mrc_sum_span_rows(g->ctx, &g->span, diag, trace, err) : rc;
}

/* The leading pairs of a symmetric m x m matrix, which is taken over; *leading: m x out->count. */
static mercer_status leading_pairs(const mrc_gram *g, int64_t m, double **matrix, int64_t count,
                                   double share, mrc_spectrum *out, double **leading,
                                   mercer_error *err)
{
    mrc_tridiagonal t = {0};
    double *values = NULL, *rows = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&values, m, sizeof *values, err));
    MRC_TRY(mrc_tridiagonal_init(g->ctx, m, matrix, values, &t, err));
    if (m > 0)
        report_negative(g, values[0], lapack_noise(m, fmax(values[m - 1], -values[0])), out);
    for (int64_t i = 0; i < m / 2; i++) {
        double swap = values[i];
        values[i] = values[m - 1 - i];
        values[m - 1 - i] = swap;
    }
    int64_t l = mrc_wanted_pairs(values, m, floor_of(g), count, share, out->trace);
    out->count = l;
    MRC_TRY(mrc_alloc(&out->values, l, sizeof *out->values, err));
    memcpy(out->values, values, (size_t)l * sizeof *values);
    MRC_TRY(mrc_alloc2_raw(&rows, l, m, sizeof *rows, err));
    MRC_TRY(mrc_tridiagonal_leading(g->ctx, &t, l, rows, err));
    MRC_TRY(mrc_alloc2_raw(leading, m, l, sizeof **leading, err));
    for (int64_t first = 0; first < m; first += STRIP) {
        int64_t end = mrc_min64(m, first + STRIP);
        for (int64_t j = 0; j < l; j++)
            for (int64_t i = first; i < end; i++)
                (*leading)[i * l + j] = rows[(l - 1 - j) * m + i];
        MRC_TRY(mrc_check_pass(g->ctx, first / STRIP, STRIP * l, err));
    }
out:
    mrc_tridiagonal_destroy(&t);
    mrc_free(values);
    mrc_free(rows);
    return rc;
}

/* The same of a matrix that all ranks have, as rank 0 finds them: LAPACK differs from processor to
 * processor. */
static mercer_status leading_pairs_of_all(const mrc_gram *g, int64_t m, double **matrix,
                                          int64_t count, double share, mrc_spectrum *out,
                                          double **leading, mercer_error *err)
{
    const bool first = mrc_decides(g->ctx, &g->span);
    mercer_status rc = MERCER_OK;
    if (first)
        MRC_TRY(leading_pairs(g, m, matrix, count, share, out, leading, err));
    MRC_TRY(mrc_decide(g->ctx, &g->span, &out->count, sizeof out->count, err));
    MRC_TRY(mrc_decide_numbers(g->ctx, &g->span, &out->most_negative, 1, err));
    if (!first) {
        MRC_TRY(mrc_alloc(&out->values, out->count, sizeof *out->values, err));
        MRC_TRY(mrc_alloc2_raw(leading, m, out->count, sizeof **leading, err));
    }
    MRC_TRY(mrc_decide_numbers(g->ctx, &g->span, out->values, out->count, err));
    MRC_TRY(mrc_decide_numbers(g->ctx, &g->span, *leading, m * out->count, err));
out:
    return rc;
}

/* ---- pairs that may be rounding ----
 *
 * LAPACK finds eigenvalues to some eps times the largest one, which may be n kmax: zeroes came out
 * at 30 n eps kmax (1600 rows of rank one), above the floor, and their vectors would be features of
 * nothing. So the last pairs, V, which may be mixed with each other and with zeroes, are solved for
 * again in V'K V, where rounding is that of products: 0.02 n eps kmax in the same case. V is off by
 * eps l_1 / l_i along a vector before it, which adds the square of this times l_i. As l_i > m eps
 * l_1, that is less than eps l_1 / m, far below the floor. */

/* The first of these pairs of an m x m matrix. */
static int64_t first_unsure(int64_t m, const mrc_spectrum *out)
{
    int64_t first = out->count;
    while (first > 1 && out->values[first - 1] <= lapack_noise(m, out->values[0]))
        first--;
    return first;
}

/* *among: V'K V, which is taken over. vectors (rows x out->count) has V in its last columns, and
 * then their turned form, as far as values are above the floor. */
static mercer_status settle_last(const mrc_gram *g, int64_t first, double **among, double *vectors,
                                 int64_t rows, mrc_spectrum *out, mercer_error *err)
{
    int64_t l = out->count, width = l - first, kept;
    double *turn = NULL, *line = NULL;
    mrc_spectrum last = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(leading_pairs_of_all(g, width, among, width, 0, &last, &turn, err));
    MRC_TRY(mrc_alloc(&line, l, sizeof *line, err));
    kept = first + last.count;
    for (int64_t i = 0; i < rows; i++) {
        double *to = vectors + i * kept;
        memcpy(line, vectors + i * l, (size_t)l * sizeof *line);
        memcpy(to, line, (size_t)first * sizeof *line);
        for (int64_t j = first; j < kept; j++)
            to[j] = 0;
        for (int64_t k = 0; k < width; k++)
            for (int64_t j = 0; j < last.count; j++)
                to[first + j] += line[first + k] * turn[k * last.count + j];
    }
    for (int64_t j = first; j < kept; j++)
        out->values[j] = fmin(last.values[j - first], out->values[j - 1]);
    out->count = kept;
out:
    mrc_spectrum_destroy(&last);
    mrc_free(turn);
    mrc_free(line);
    return rc;
}

static mercer_status settle_matrix(mrc_gram *g, mrc_spectrum *out, mercer_error *err)
{
    enum { TOGETHER = 64 }; /* vectors of a product */
    int64_t n = g->n, l = out->count, first = first_unsure(n, out), width = l - first;
    int64_t together = mrc_min64(TOGETHER, width);
    double *v = NULL, *image = NULL, *part = NULL, *among = NULL;
    mercer_status rc = MERCER_OK;
    if (width == 0)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&v, n, together, sizeof *v, err));
    MRC_TRY(mrc_alloc2_raw(&image, n, together, sizeof *image, err));
    MRC_TRY(mrc_alloc2_raw(&part, together, width, sizeof *part, err));
    MRC_TRY(mrc_alloc2_raw(&among, width, width, sizeof *among, err));
    for (int64_t start = 0; start < width; start += together) {
        int64_t now = mrc_min64(together, width - start);
        for (int64_t i = 0; i < n; i++)
            memcpy(v + i * now, out->vectors + i * l + first + start, (size_t)now * sizeof *v);
        MRC_TRY(mrc_gram_apply(g, v, now, image, err));
        MRC_TRY(mrc_tall_product(g->ctx, image, now, now, out->vectors + first, width, l, n, part,
                                 err));
        memcpy(among + start * width, part, (size_t)(now * width) * sizeof *part);
    }
    MRC_TRY(settle_last(g, first, &among, out->vectors, n, out, err));
out:
    mrc_free(v);
    mrc_free(image);
    mrc_free(part);
    mrc_free(among);
    return rc;
}

/* With a factor, V'K V is that of F W, W being eigenvectors of F'F. room (n x count) is written to.
 */
static mercer_status settle_factor(mrc_gram *g, const mrc_factor *factor, double *room,
                                   mrc_spectrum *out, mercer_error *err)
{
    static const double BOUND = 1024; /* of squares in the unit below, which is what LAPACK adds */
    int64_t q = factor->rank, l = out->count, first = first_unsure(q, out), width = l - first;
    double *w = NULL, *among = NULL;
    mercer_status rc = MERCER_OK;
    if (width == 0)
        return MERCER_OK;
    double unit = lapack_noise(q, out->values[0]);
    MRC_TRY(mrc_alloc2_raw(&w, q, width, sizeof *w, err));
    MRC_TRY(mrc_alloc2_raw(&among, width, width, sizeof *among, err));
    for (int64_t i = 0; i < q; i++)
        for (int64_t j = 0; j < width; j++)
            w[i * width + j] = out->inner[i * l + first + j] / sqrt(unit);
    MRC_TRY(mrc_factor_times(factor, w, width, room, err));
    MRC_TRY(mrc_gram_of_span(g->ctx, room, &g->span, width, width, BOUND, among, err));
    for (int64_t i = 0; i < width * width; i++)
        among[i] *= unit;
    MRC_TRY(settle_last(g, first, &among, out->inner, q, out, err));
out:
    mrc_free(w);
    mrc_free(among);
    return rc;
}

static mercer_status solve_lapack(mrc_gram *g, int64_t count, double share, mrc_spectrum *out,
                                  mercer_error *err)
{
    int64_t n = g->n;
    double *matrix = NULL;
    mercer_status rc = MERCER_OK;

    out->solver = "lapack";
    MRC_TRY(mrc_alloc2_raw(&matrix, n, n, sizeof *matrix, err));
    MRC_TRY(trace_of(g, &out->trace, err));
    MRC_TRY(mrc_gram_columns(g, NULL, n, matrix, err));
    mrc_progress(g->ctx, "eigenvalues", -1);
    MRC_TRY(leading_pairs(g, n, &matrix, count, share, out, &out->vectors, err));
    MRC_TRY(settle_matrix(g, out, err));
    out->passes = 1;
    out->residual = (double)n * g->eps; /* LAPACK's backward error bound */
out:
    mrc_free(matrix);
    return rc;
}

/* Make the columns of u (n x l) orthogonal again, the first ones as they are.
 *
 * An eigenvector w_j of F'F has rounding errors of eps along every w_i. In u_j = F w_j / sqrt(l_j)
 * they are eps sqrt(l_i / l_j), and who multiplies by F' and looks at rows again multiplies them by
 * sqrt(l_i / l_j) twice more: of a variance of 1e-12 of the largest nothing would be right. What
 * u_j has along u_i, i < j, is E_ij of U'U = I + E, and taking it off leaves eps of it. E is at
 * most 1e-8, for l_j is above the floor of 8 n eps kmax, so its square is rounding, and one step
 * does. */
static mercer_status straighten(mrc_gram *g, int64_t l, double *u, mercer_error *err)
{
    static const double BOUND = 1024; /* columns have length one, or nearly so */
    double *inner = NULL, *strip = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&inner, l, l, sizeof *inner, err));
    MRC_TRY(mrc_alloc2_raw(&strip, MRC_STRIP, l, sizeof *strip, err));
    MRC_TRY(mrc_gram_of_span(g->ctx, u, &g->span, l, l, BOUND, inner, err));
    for (int64_t i = 0; i < l; i++)
        for (int64_t j = 0; j < l; j++)
            inner[i * l + j] = i < j   ? -inner[i * l + j]
                               : i > j ? 0
                                       : 1 - (inner[i * l + j] - 1) / 2;
    for (int64_t first = 0; first < g->n; first += MRC_STRIP) {
        int64_t rows = mrc_min64(MRC_STRIP, g->n - first);
        MRC_TRY(mrc_tall_times_checked(g->ctx, rows, l, l, 1, u + first * l, l, inner, l, 0, strip,
                                       l, err));
        memcpy(u + first * l, strip, (size_t)(rows * l) * sizeof *u);
    }
out:
    mrc_free(inner);
    mrc_free(strip);
    return rc;
}

static mercer_status solve_lowrank(mrc_gram *g, int64_t count, double share, mrc_spectrum *out,
                                   mercer_error *err)
{
    const mrc_factor *factor = mrc_gram_factor(g);
    int64_t q = factor->rank;
    /* What a tolerance leaves out belongs to the variance, all of it unless the mean has a part in
     * it; that of rounding is none. */
    double left = g->tolerance > 0 ? (double)g->span.total * factor->left_out : 0;
    double *inner = NULL, *leading = NULL;
    mercer_status rc = MERCER_OK;

    out->solver = "lowrank";
    MRC_TRY(mrc_alloc2(&inner, q, q, sizeof *inner, err));
    MRC_TRY(trace_of(g, &out->trace, err));
    out->trace += left;
    MRC_TRY(mrc_factor_inner(factor, NULL, inner, err));
    mrc_progress(g->ctx, "eigenvalues", -1);
    MRC_TRY(leading_pairs_of_all(g, q, &inner, count, share, out, &out->inner, err));
    MRC_TRY(mrc_alloc2_raw(&out->vectors, g->n, out->count, sizeof *out->vectors, err));
    MRC_TRY(settle_factor(g, factor, out->vectors, out, err));
    MRC_TRY(mrc_alloc2_raw(&leading, q, out->count, sizeof *leading, err));
    for (int64_t i = 0; i < q; i++)
        for (int64_t j = 0; j < out->count; j++)
            leading[i * out->count + j] = out->inner[i * out->count + j] / sqrt(out->values[j]);
    MRC_TRY(mrc_factor_times(factor, leading, out->count, out->vectors, err));
    if (out->count > 0 && out->values[0] > STEEP * out->values[out->count - 1])
        MRC_TRY(straighten(g, out->count, out->vectors, err));
    out->passes = 1;
    out->residual = (double)q * g->eps;
    if (g->tolerance > 0 && out->count > 0) /* |K v - lambda v| <= |K - F F'| <= its trace */
        out->residual += left / out->values[0];
out:
    mrc_free(inner);
    mrc_free(leading);
    return rc;
}

static mercer_status apply_gram(void *self, const double *v, int64_t l, double *out,
                                mercer_error *err)
{
    return mrc_gram_apply(self, v, l, out, err);
}

/* Where products are cheap, better one more than a basis twice as large. */
static bool keeps_images(const mrc_gram *g)
{
    return !(g->store->caps & MRC_STORE_CHEAP_PASSES);
}

/* Whether a wider block pays. A store that computes its values again at every pass spends some 2 d
 * + 20 flops on each, and 4 on its products with a vector. With twice the width there are about .72
 * times as many passes (13 instead of 18 with 10,000 x 784 images), which is less work in all when
 * .28 (2 d + 20) > 1.76 block; twice that is asked for, since the basis is longer, too. */
static bool passes_are_dear(const mrc_gram *g, int64_t block)
{
    if (g->store != &mrc_store_stream)
        return false;
    double entries = g->rows->csr.start ? (double)mercer_rows_entries(g->rows) / (double)g->rows->n
                                        : (double)g->rows->d;
    return 2 * entries + 20 > 12 * (double)block;
}

/* More than this many columns only lengthen the orthogonalisation. */
static int64_t enough_columns(const mrc_gram *g, int64_t count, int64_t block)
{
    if (!keeps_images(g)) /* the basis would take more than the rows */
        return count + 5 * block;
    return 2 * count + 12 * block;
}

int64_t mrc_spectrum_takes(const mrc_gram *g, int64_t n, int64_t count)
{
    if (n <= SMALL_MATRIX)
        return mrc_spectrum_columns(n, count);
    if (mrc_spectrum_is_full(n, count))
        return n + 2 * count;
    int64_t expected = count > 0 ? count : SHARE_START, block = krylov_block(expected);
    if (passes_are_dear(g, block))
        block *= 2;
    int64_t columns = enough_columns(g, count > 0 ? count : 4 * SHARE_START, block);
    columns = columns < n / 2 ? columns : n / 2;
    return (keeps_images(g) ? 2 : 1) * columns + krylov_extra(block);
}

/* Basis columns the memory budget allows, beside the store. */
static double krylov_room(const mrc_gram *g, int64_t count, int64_t block)
{
    double used = (double)mrc_gram_bytes(g, true);
    double prepared =
        mrc_kernel_is_precomputed(g->kernel) ? 0 : mrc_points_row_size(g->ctx, g->kernel, g->rows);
    double fixed = 8 * (double)g->n * (prepared + (double)(4 + 4 * count + krylov_extra(block)));
    if (g->store->work_doubles)
        fixed += 8 * (double)g->store->work_doubles(g->self, block + 1);
    double copies = keeps_images(g) ? 2 : 1;
    return ((double)mercer_ctx_memory(g->ctx) - used - fixed) / (8 * copies * (double)g->n);
}

/* How many of them are used: what the smallest budget of all ranks holds. */
static mercer_status krylov_columns(const mrc_gram *g, int64_t count, int64_t block, int64_t *out,
                                    mercer_error *err)
{
    double most = (double)g->span.total / 2, lacking;
    double enough = (double)enough_columns(g, count, block);
    double columns = fmin(fmin(krylov_room(g, count, block), most), enough);
    double least = fmin((double)krylov_least(count, block), most);
    mercer_status rc = MERCER_OK;
    lacking = -fmax(columns, least);
    if (g->span.spread)
        MRC_TRY(mrc_comm_largest(g->ctx, &lacking, err));
    *out = (int64_t)-lacking;
out:
    return rc;
}

/* Vectors multiplied at a time. */
static int64_t block_of(const mrc_gram *g, int64_t count)
{
    int64_t block = krylov_block(count), wide = 2 * block;
    double wanted = (double)(2 * count + 8 * wide);
    bool fits = wanted <= (double)g->n / 2 && wanted <= krylov_room(g, count, wide);
    return fits && passes_are_dear(g, block) ? wide : block;
}

/* Whether the full matrix and LAPACK's workspace (three more) fit the budget. */
static bool lapack_fits(const mrc_gram *g)
{
    double used = (double)mrc_gram_bytes(g, true);
    double n = (double)g->n;
    return used + 32 * n * n <= (double)mercer_ctx_memory(g->ctx) && n < 30000;
}

/* How many pairs a share takes is known when they are found: where they nearly fill the basis,
 * restarts bring little. After these passes LAPACK, where it fits, is the shorter way, and would
 * have been from the beginning. */
static int64_t most_passes(const mrc_gram *g, int64_t block)
{
    enum { USUAL = 100 }; /* fewer have been seen wherever the basis has room */
    double as_lapack = 4.0 / 3 * (double)g->n / (2 * (double)block);
    return lapack_fits(g) ? (int64_t)fmax(USUAL, as_lapack) : 0;
}

static mercer_status solve_krylov(mrc_gram *g, int64_t count, double share, mrc_spectrum *out,
                                  bool *reached, mercer_error *err)
{
    int64_t n = g->span.total, expected = count > 0 ? count : SHARE_START;
    mrc_operator op = {.span = g->span, .apply = apply_gram, .self = g};
    mrc_krylov_options options = {
        .count = count,
        .floor = floor_of(g),
        .tolerance = fmax(fmax(TOLERANCE, 32 * g->eps), fmin(g->tolerance, MAX_TOLERANCE)),
        .rounding = (double)n * g->eps * g->kmax,
        .block = block_of(g, expected),
        .keep_images = keeps_images(g),
        .phase = "eigenvalues"};
    mrc_krylov_result result = {0};
    mercer_status rc = MERCER_OK;

    out->solver = "krylov";
    *reached = false;
    if (count == 0) {
        MRC_TRY(trace_of(g, &out->trace, err));
        options.target = mrc_share_target(share, out->trace);
        options.most_passes = most_passes(g, options.block);
        expected = 4 * SHARE_START; /* room to find out how many are needed */
    }
    MRC_TRY(krylov_columns(g, expected, options.block, &options.most_columns, err));
    if (count + options.block > options.most_columns)
        MRC_FAIL_AT(err, MERCER_ERR_BUDGET, MRC_AT_MEMORY,
                    "%lld components of %lld rows do not fit the memory budget: raise it, or ask "
                    "for fewer components",
                    (long long)count, (long long)n);
    MRC_TRY(mrc_krylov_eigen(g->ctx, &op, &options, &result, err));
    out->passes += result.passes;
    if (result.count == 0 && count == 0)
        goto out; /* the share needs more of the spectrum */
    *reached = true;
    MRC_TRY(trace_of(g, &out->trace, err));
    report_negative(g, result.smallest, 0, out);
    out->count = result.count;
    out->values = result.values;
    out->vectors = result.vectors;
    out->residual = result.residual;
    result.values = NULL;
    result.vectors = NULL;
out:
    mrc_krylov_result_destroy(&result);
    return rc;
}

/* Where the rows of eigenvectors are spread over ranks, the first of the largest entries of a
 * column is found among those of the ranks, in their order. */
static mercer_status fix_signs(const mrc_gram *g, mrc_spectrum *s, mercer_error *err)
{
    const int64_t l = s->count, size = g->ctx->comm.table.size;
    const int64_t rank = s->inner ? mrc_gram_factor(g)->rank : 0;
    double *mine = NULL, *all = NULL, *again = NULL;
    mercer_status rc = MERCER_OK;
    if (!g->span.spread) {
        mrc_fix_signs_of_both(g->n, l, s->vectors, rank, s->inner);
        return rc;
    }
    MRC_TRY(mrc_alloc(&mine, l, sizeof *mine, err));
    MRC_TRY(mrc_alloc2(&all, size, l, sizeof *all, err));
    MRC_TRY(mrc_alloc2(&again, size, l, sizeof *again, err));
    for (int64_t i = 0; i < g->n * l; i++)
        if (fabs(s->vectors[i]) > fabs(mine[i % l]))
            mine[i % l] = s->vectors[i];
    MRC_TRY(mrc_comm_collect(g->ctx, mine, l, all, err));
    memcpy(again, all, (size_t)(size * l) * sizeof *all);
    mrc_fix_signs_of_both(size, l, all, g->n, s->vectors); /* turns both alike */
    mrc_fix_signs_of_both(size, l, again, rank, s->inner);
out:
    mrc_free(mine);
    mrc_free(all);
    mrc_free(again);
    return rc;
}

static mercer_status find_pairs(mrc_gram *g, int64_t count, double share, mrc_spectrum *out,
                                mercer_error *err)
{
    const int64_t n = g->span.total;
    mercer_status rc = MERCER_OK;
    bool reached = false;

    if (count > n)
        count = n;
    if (count == 0) {
        MRC_TRY(trace_of(g, &out->trace, err));
        if (!(out->trace > 0))
            MRC_FAIL(
                err, MERCER_ERR_DATA,
                "the trace of the kernel matrix is not positive, so there is no share of it to "
                "reach: ask for a number of components");
    }
    if (mrc_gram_factor(g))
        MRC_TRY(solve_lowrank(g, count, share, out, err));
    else if (n <= SMALL_MATRIX || (mrc_spectrum_is_full(n, count) && lapack_fits(g)))
        MRC_TRY(solve_lapack(g, count, share, out, err));
    else {
        rc = solve_krylov(g, count, share, out, &reached, err);
        /* What converges too slowly, as a tail of equal eigenvalues, LAPACK finds at once. */
        if (rc == MERCER_ERR_NUMERIC && !g->span.spread && lapack_fits(g))
            rc = MERCER_OK;
        MRC_TRY(rc);
        if (!reached && !lapack_fits(g))
            MRC_FAIL_AT(
                err, MERCER_ERR_BUDGET, MRC_AT_MEMORY,
                "%g of the variance needs more components than fit the memory budget: ask for "
                "a number of components, or raise it",
                share);
        if (!reached)
            MRC_TRY(solve_lapack(g, count, share, out, err));
    }
    MRC_TRY(fix_signs(g, out, err));
out:
    return rc;
}

mercer_status mrc_gram_spectrum(mrc_gram *g, int64_t count, double share, mrc_spectrum *out,
                                mercer_error *err)
{
    /* Residuals are squared, and those of values of 1e-180 would be zero: every pair would seem to
     * have converged. In units of a power of four nothing is rounded, and nothing changes where
     * squares are numbers anyway. */
    double before = mrc_gram_unit(g), unit = mrc_gram_usual_unit(g);
    memset(out, 0, sizeof *out);
    mrc_gram_set_unit(g, unit);
    mercer_status rc = find_pairs(g, count, share, out, err);
    mrc_gram_set_unit(g, before);
    if (rc != MERCER_OK) {
        mrc_spectrum_destroy(out);
        return rc;
    }
    for (int64_t j = 0; j < out->count; j++)
        out->values[j] *= unit / before;
    out->trace *= unit / before;
    out->most_negative *= unit / before;
    return MERCER_OK;
}

void mrc_spectrum_destroy(mrc_spectrum *spectrum)
{
    mrc_free(spectrum->values);
    mrc_free(spectrum->vectors);
    mrc_free(spectrum->inner);
    memset(spectrum, 0, sizeof *spectrum);
}
