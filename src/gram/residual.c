/* SPDX-License-Identifier: BSD-3-Clause */
/* K^i = K - U U' for every store: see residual.h for the formulas.
 *
 * Cost of taking a row: one product with the operator and 4 n i more; low-rank: one pass over the
 * factor, 2 n q, and q^2. Products of tall arrays are split into ranges of columns, and sums are
 * added in their order.
 *
 * The doubt of an energy bounds its distance from r_j = |M K^i_j|^2, K^i = K - U U' with U as it
 * was computed (for that the recurrence holds exactly, whatever the errors of U). One rounding is
 * u = 2^-53 of its result; a sum of m terms is off by g(m) u times the sum of their moduli, where
 * g(m) = 4 sqrt(m): the errors have signs of their own. Write K_jt + U_j.U_t <= s_j s_t, with
 * s_j^2 = k_jj + |U_j|^2 (an indefinite kernel: kmax for k_jj; a centred operator has its entries
 * from uncentred ones and their means, so (sqrt k_jj + mean sqrt k)^2 instead), and T^2 = sum
 * s_t^2.
 *
 * From the row itself: entries are off by e_jt = g(i) u s_j s_t (centred: g(n), the means), the row
 * by e_j = g u s_j T in length, hence r_j by 2 sqrt(r_j) e_j + e_j^2 + g(n) u r_j. Taking the mean
 * off the row is one more rounding of each entry; an error of the mean itself is orthogonal to what
 * is left, so it comes in squared.
 *
 * By the recurrence r_j -= 2 u_j z_j - u_j^2 |Mu|^2 three errors are added:
 *   - the terms are rounded: g(4) u (r_j + 2 |u_j z_j| + u_j^2 |Mu|^2), where the last two can
 *     exceed r_j when M is not the identity;
 *   - z = K w - U U'w for w = Mu as computed has sums of moduli up to s_j T |w|, in tiles;
 *   - w is off by g(n) u |u|, not |w|: the mean subtracted from u is a sum of numbers of its size,
 * and u can be nearly constant. It meets the deflated row, |K^i_j|^2 <= d_j sum_t d_t
 * (semidefinite), so z_j is off by g(n) u |u| sqrt(d_j sum d), and |Mu|^2 by 4 u |u| |w| + (g(n) u
 * |u|)^2.
 *
 * Low-rank: S is off by N = g(n + 4 steps) u tr S, and rows of F are off by g(q) u |F_t| once the
 * mean or directions were subtracted from them: 2 g(q) u sqrt(tr S tr F'F) + its square more. r_j =
 * G_j' S G_j is off by d_j N and 2 g(q) u |F_j| sqrt(d_j) tr S; z_j = F_j.(S v) by
 * |F_j| (N + g(q) u tr S). tr S is the one S had when it was computed from F. */
#include "gram/residual.h"

#include "base/running.h"
#include "gram/factor.h"
#include "gram/store.h"
#include "linalg/linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* g(terms) u: see above. Four standard deviations; raising it evaluates more rows anew. */
static double rounding_of(int64_t terms)
{
    return 4 * sqrt((double)terms) * (DBL_EPSILON / 2);
}

/* The same for sums over all rows in tiles: over each, then over all of them. */
static double rounding_in_tiles(int64_t n)
{
    return rounding_of((n < MRC_TILE ? n : MRC_TILE) + n / MRC_TILE);
}

/* NULL: the store has none. */
static const mrc_factor *factor_of(const mrc_residual_gram *def)
{
    return mrc_gram_factor(def->gram);
}

mercer_status mrc_residual_gram_init(mrc_residual_gram *def, mercer_ctx *ctx, mrc_gram *gram,
                                     int64_t most, mercer_error *err)
{
    const double *diag;
    mercer_status rc = MERCER_OK;
    def->ctx = ctx;
    def->gram = gram;
    def->most = most;
    def->span = gram->span;
    def->n = def->active = mrc_gram_size(gram);
    def->stride = mrc_wide_stride(&def->span);
    MRC_TRY(mrc_gram_diag(gram, &diag, err));
    MRC_TRY(mrc_alloc(&def->residual, def->n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&def->scratch, 2 * def->n, sizeof(double), err));
    memcpy(def->residual, diag, (size_t)def->n * sizeof *diag);
out:
    return rc;
}

void mrc_residual_gram_destroy(mrc_residual_gram *def)
{
    mrc_free(def->selected);
    mrc_free(def->projections);
    mrc_free(def->coefficients);
    mrc_free(def->residual);
    mrc_free(def->energy);
    mrc_free(def->doubt);
    mrc_free(def->base2);
    mrc_free(def->size);
    mrc_free(def->image);
    mrc_free(def->mask);
    mrc_free(def->held_rows);
    mrc_free(def->held);
    mrc_free(def->directions);
    mrc_free(def->inner);
    mrc_free(def->scratch);
    memset(def, 0, sizeof *def);
}

static mercer_status reserve(mrc_residual_gram *def, mercer_error *err)
{
    enum { AT_FIRST = 256 }; /* rows room is made for at once when that many may come */
    int64_t wanted = def->capacity ? 2 * def->capacity : AT_FIRST;
    mercer_status rc = MERCER_OK;
    if (def->count < def->capacity)
        return MERCER_OK;
    wanted = wanted < def->most ? wanted : def->most;
    wanted = wanted < def->span.total ? wanted : def->span.total;
    MRC_TRY(mrc_grow(&def->selected, wanted, sizeof *def->selected, err));
    MRC_TRY(mrc_grow(&def->projections, wanted * def->stride, sizeof(double), err));
    MRC_TRY(mrc_grow(&def->coefficients, wanted * (wanted + 1) / 2, sizeof(double), err));
    if (factor_of(def))
        MRC_TRY(mrc_grow(&def->directions, wanted * factor_of(def)->rank, sizeof(double), err));
    def->capacity = wanted;
out:
    return rc;
}

/* Where a row of all is here; -1: on another rank. */
static int64_t place_of(const mrc_residual_gram *def, int64_t row)
{
    const int64_t at = row - def->span.first;
    return at >= 0 && at < def->n ? at : -1;
}

/* ---- the factor's coordinates ---- */

/* What is left of rows J of F: F_J (I - QQ'), count x q. */
static mercer_status left_of_factor_rows(const mrc_residual_gram *def, const int64_t *rows,
                                         int64_t count, double *left, mercer_error *err)
{
    mrc_factor_sums sums = {.directions = def->directions, .count = def->count};
    return mrc_factor_rows_left(factor_of(def), rows, count, &sums, left, err);
}

/* S = G' M G from the factor. */
static mercer_status compute_inner(mrc_residual_gram *def, mercer_error *err)
{
    mrc_factor_sums sums = {.mask = def->mask,
                            .about_mean = def->about_mean,
                            .directions = def->directions,
                            .count = def->count};
    int64_t q = factor_of(def)->rank;
    mercer_status rc = mrc_factor_inner(factor_of(def), &sums, def->inner, err);
    def->inner_trace = 0;
    def->inner_steps = 0;
    for (int64_t c = 0; c < q; c++)
        def->inner_trace += def->inner[c * q + c];
    return rc;
}

/* The same once updates have subtracted most of it, and with it most of its digits. */
static mercer_status renew_inner(mrc_residual_gram *def, mercer_error *err)
{
    static const double MAX_LOST = 1e-4; /* lower: fewer passes over F, less exact scores */
    int64_t q = factor_of(def)->rank;
    double trace = 0;
    for (int64_t c = 0; c < q; c++)
        trace += def->inner[c * q + c];
    return trace < MAX_LOST * def->inner_trace ? compute_inner(def, err) : MERCER_OK;
}

/* S <- (I - QQ') S (I - QQ'), which takes the rounding errors along Q off it. */
static mercer_status project_inner(mrc_residual_gram *def, mercer_error *err)
{
    int64_t q = factor_of(def)->rank, l = def->count;
    double *product = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&product, l + 1, q, sizeof *product, err));
    for (int side = 0; side < 2 && l > 0; side++) {
        /* S is symmetric: its rows, then its columns. */
        mrc_gemm(false, side == 0, l, q, q, 1, def->directions, q, def->inner, q, 0, product, q);
        if (side == 0)
            mrc_gemm(true, false, q, q, l, -1, product, q, def->directions, q, 1, def->inner, q);
        else
            mrc_gemm(true, false, q, q, l, -1, def->directions, q, product, q, 1, def->inner, q);
    }
out:
    mrc_free(product);
    return rc;
}

/* ---- doubts: see above ---- */

/* s_j^2 less |U_j|^2. */
static void set_base(mrc_residual_gram *def)
{
    const mrc_gram *g = def->gram;
    bool definite = mrc_kernel_is_semidefinite(g->kernel);
    double mean = 0;
    for (int64_t j = 0; j < def->n; j++)
        def->base2[j] = definite ? fabs(g->raw_diag[j]) : g->kmax;
    for (int64_t j = 0; g->centered && j < def->n; j++)
        mean += sqrt(def->base2[j]) / (double)def->n;
    for (int64_t j = 0; g->centered && j < def->n; j++)
        def->base2[j] = pow(sqrt(def->base2[j]) + mean, 2);
}

static mercer_status add_sizes(void *arg, int64_t begin, int64_t end, double *sum,
                               mercer_error *err)
{
    mrc_residual_gram *def = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t j = 0; j < def->n; j++) {
        double size2 = def->base2[j] + fmax(def->gram->diag[j] - def->residual[j], 0);
        def->size[j] = sqrt(size2);
        *sum += size2;
    }
    return MERCER_OK;
}

/* s_j of all rows, and T. */
static mercer_status measure_sizes(mrc_residual_gram *def, double *total, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *total = 0;
    MRC_TRY(mrc_run_span(def->ctx, &def->span, total, 1, 1, add_sizes, def, err));
    *total = sqrt(*total);
out:
    return rc;
}

/* N. */
static double inner_error(const mrc_residual_gram *def, double total)
{
    double rows = rounding_of(factor_of(def)->rank) * total;
    return rounding_of(def->span.total + 4 * def->inner_steps) * def->inner_trace +
           2 * rows * sqrt(def->inner_trace) + rows * rows;
}

/* The error of a deflated row of K, in length, over data of the given total size. */
static double row_error(const mrc_residual_gram *def, int64_t j, double total)
{
    enum { OTHERS = 8 }; /* roundings of an entry beside those of the sum U_j.U_t */
    return rounding_of(def->count + OTHERS + (def->gram->centered ? def->span.total : 0)) *
           def->size[j] * total;
}

/* Doubt of an energy that was computed from the row, or from S. */
static double doubt_anew(const mrc_residual_gram *def, int64_t j, double total)
{
    double energy = fabs(def->energy[j]), error = row_error(def, j, total);
    double doubt = (2 * sqrt(energy) + error) * error + rounding_of(def->span.total) * energy;
    double left = fmax(def->residual[j], 0);
    if (def->inner)
        doubt += left * inner_error(def, total) + 2 * rounding_of(factor_of(def)->rank) *
                                                      def->inner_trace * sqrt(left) * def->size[j];
    return doubt;
}

struct newest {
    const mrc_residual_gram *def;
    const double *u;
};

/* What is left of all rows, and |u|^2. */
static mercer_status add_lengths(void *arg, int64_t begin, int64_t end, double *sums,
                                 mercer_error *err)
{
    const struct newest *w = arg;
    (void)begin;
    (void)end;
    (void)err;
    for (int64_t t = 0; t < w->def->n; t++) {
        sums[0] += fmax(w->def->residual[t], 0);
        sums[1] += w->u[t] * w->u[t];
    }
    return MERCER_OK;
}

/* What the step of the recurrence with the newest u adds; before residuals and energies follow. */
static mercer_status add_doubts(mrc_residual_gram *def, const double *u, mercer_error *err)
{
    int64_t n = def->n, all = def->span.total;
    double total, norm2 = def->data_norm2, sums[2] = {0};
    double tiles = rounding_in_tiles(all) + rounding_of(def->count + 2), plain = rounding_of(all);
    double mean_error = 0, norm2_error, image_error;
    bool definite = mrc_kernel_is_semidefinite(def->gram->kernel);
    struct newest w = {.def = def, .u = u};
    mercer_status rc = MERCER_OK;
    MRC_TRY(measure_sizes(def, &total, err));
    MRC_TRY(mrc_run_span(def->ctx, &def->span, sums, 2, 2, add_lengths, &w, err));
    const double left = sums[0], length = sums[1];
    if (def->about_mean)
        mean_error = plain * sqrt(length);
    if (def->inner) {
        image_error = norm2_error = inner_error(def, total);
        image_error += rounding_of(factor_of(def)->rank) * def->inner_trace;
    } else {
        image_error = tiles * total * sqrt(norm2);
        norm2_error = plain * norm2 + mean_error * mean_error;
        if (def->about_mean)
            norm2_error += 2 * DBL_EPSILON * sqrt(length * norm2);
    }
    for (int64_t t = 0; t < n; t++) {
        double size = fabs(u[t]), row2 = def->size[t] * def->size[t] * total * total;
        double met = definite ? fmin(fmax(def->residual[t], 0) * left, row2) : row2;
        double off = def->size[t] * image_error + (def->inner ? 0 : mean_error * sqrt(met));
        double terms = fabs(def->energy[t]) + 2 * size * fabs(def->image[t]) + size * size * norm2;
        def->doubt[t] += rounding_of(4) * terms + 2 * size * off + size * size * norm2_error;
    }
out:
    return rc;
}

/* ---- exact energies ---- */

/* A group of rows of K^i, MRC_GATHER x n, on its way to sums. */
struct group {
    const mrc_residual_gram *def;
    int64_t count;
    double *block;
    const double *own; /* U_J, count x i */
    double *out;
};

static void deflate_range(void *arg, int64_t task, int worker)
{
    const struct group *w = arg;
    const mrc_residual_gram *def = w->def;
    int64_t c = task * MRC_TILE, cols = def->n - c < MRC_TILE ? def->n - c : MRC_TILE;
    (void)worker;
    mrc_gemm(false, false, w->count, cols, def->count, -1, w->own, def->count, def->projections + c,
             def->stride, 1, w->block + c, def->n);
}

static void sum_squares(void *arg, int64_t i, int worker)
{
    const struct group *w = arg;
    const mrc_residual_gram *def = w->def;
    const double *row = w->block + i * def->n;
    double sum = 0, mean = 0;
    (void)worker;
    for (int64_t t = 0; def->about_mean && t < def->n; t++)
        mean += row[t];
    mean /= (double)def->n;
    if (def->mask)
        for (int64_t t = 0; t < def->n; t++)
            sum += def->mask[t] ? row[t] * row[t] : 0;
    else
        for (int64_t t = 0; t < def->n; t++)
            sum += (row[t] - mean) * (row[t] - mean);
    w->out[i] = sum;
}

/* The same where rows are spread over ranks, which have no mask: means first, then squares. */
struct spread_group {
    const mrc_residual_gram *def;
    const double *block;
    const double *means; /* NULL: they are what is summed */
};

static mercer_status add_group(void *arg, int64_t begin, int64_t end, double *sums,
                               mercer_error *err)
{
    const struct spread_group *w = arg;
    (void)err;
    for (int64_t i = begin; i < end; i++) {
        const double *row = w->block + i * w->def->n;
        double sum = sums[i];
        if (w->means)
            for (int64_t t = 0; t < w->def->n; t++)
                sum += (row[t] - w->means[i]) * (row[t] - w->means[i]);
        else
            for (int64_t t = 0; t < w->def->n; t++)
                sum += row[t];
        sums[i] = sum;
    }
    return MERCER_OK;
}

static mercer_status sum_spread_squares(const mrc_residual_gram *def, int64_t count,
                                        const double *block, double *out, mercer_error *err)
{
    enum { TOGETHER = 8 }; /* rows whose sums a rank hands on at a time */
    double means[MRC_GATHER] = {0};
    struct spread_group w = {.def = def, .block = block};
    mercer_status rc = MERCER_OK;
    if (def->about_mean)
        MRC_TRY(mrc_run_span(def->ctx, &def->span, means, count, TOGETHER, add_group, &w, err));
    for (int64_t i = 0; i < count; i++) {
        means[i] /= (double)def->span.total;
        out[i] = 0;
    }
    w.means = means;
    MRC_TRY(mrc_run_span(def->ctx, &def->span, out, count, TOGETHER, add_group, &w, err));
out:
    return rc;
}

/* Rows J (at most MRC_GATHER) of K^i into block; own: MRC_GATHER x i of scratch. */
static mercer_status deflated_rows(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                   double *block, double *own, mercer_error *err)
{
    mercer_status rc = mrc_gram_columns(def->gram, rows, count, block, err);
    if (rc != MERCER_OK || def->count == 0)
        return rc;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = place_of(def, rows[i]);
        for (int64_t j = 0; j < def->count; j++)
            own[i * def->count + j] = at >= 0 ? def->projections[j * def->stride + at] : 0;
    }
    if (def->span.spread)
        MRC_TRY(mrc_comm_merge_numbers(def->ctx, own, count * def->count, err));
    struct group w = {.def = def, .count = count, .block = block, .own = own};
    MRC_TRY(
        mrc_parfor_checked(def->ctx, (def->n + MRC_TILE - 1) / MRC_TILE, deflate_range, &w, err));
out:
    return rc;
}

static int64_t group_size(int64_t first, int64_t count)
{
    return count - first < MRC_GATHER ? count - first : MRC_GATHER;
}

/* out: of rows J or, where these are NULL, of the rows here. */
static mercer_status energies_by_rows(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                      double *out, mercer_error *err)
{
    int64_t *all = NULL;
    double *block = NULL, *own = NULL, found[MRC_GATHER];
    mercer_status rc = MERCER_OK;
    count = rows ? count : def->span.total;
    MRC_TRY(mrc_alloc2_raw(&block, group_size(0, count), def->n, sizeof *block, err));
    MRC_TRY(mrc_alloc2_raw(&own, MRC_GATHER, def->count + 1, sizeof *own, err));
    MRC_TRY(mrc_alloc(&all, MRC_GATHER, sizeof *all, err));
    for (int64_t first = 0; first < count; first += MRC_GATHER) {
        int64_t size = group_size(first, count);
        for (int64_t i = 0; i < size; i++)
            all[i] = rows ? rows[first + i] : first + i;
        MRC_TRY(deflated_rows(def, all, size, block, own, err));
        struct group w = {.def = def, .block = block, .out = found};
        if (def->span.spread)
            MRC_TRY(sum_spread_squares(def, size, block, found, err));
        else
            mrc_parfor_sized(def->ctx, size, 4 * (double)size * (double)def->n, sum_squares, &w);
        for (int64_t i = 0; i < size; i++)
            if (rows)
                out[first + i] = found[i];
            else if (place_of(def, all[i]) >= 0)
                out[place_of(def, all[i])] = found[i];
    }
out:
    mrc_free(all);
    mrc_free(block);
    mrc_free(own);
    return rc;
}

/* G_J' S G_J for rows J, G = F (I - QQ'): S has rounding errors along Q, which F_J would enlarge.
 */
static mercer_status energies_by_inner(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                       double *out, mercer_error *err)
{
    enum { BLOCK = 32 * MRC_STRIP }; /* rows at a time, which every rank gets */
    int64_t q = factor_of(def)->rank, room = count < BLOCK ? count : BLOCK;
    double *factor = NULL, *product = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&factor, room, q, sizeof *factor, err));
    MRC_TRY(mrc_alloc2_raw(&product, room, q, sizeof *product, err));
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t some = count - first < BLOCK ? count - first : BLOCK;
        MRC_TRY(left_of_factor_rows(def, rows + first, some, factor, err));
        MRC_TRY(mrc_tall_times_checked(def->ctx, some, q, q, 1, factor, q, def->inner, q, 0,
                                       product, q, err));
        for (int64_t i = 0; i < some; i++) {
            out[first + i] = 0;
            for (int64_t c = 0; c < q; c++)
                out[first + i] += factor[i * q + c] * product[i * q + c];
        }
    }
    MRC_TRY(mrc_decide_numbers(def->ctx, &def->span, out, count, err));
out:
    mrc_free(factor);
    mrc_free(product);
    return rc;
}

/* Add sign times the squares of the rows T of K^i to the energies of all rows. */
static mercer_status accumulate(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                double sign, mercer_error *err)
{
    double *block = NULL, *own = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&block, group_size(0, count), def->n, sizeof *block, err));
    MRC_TRY(mrc_alloc2_raw(&own, MRC_GATHER, def->count + 1, sizeof *own, err));
    for (int64_t first = 0; first < count; first += MRC_GATHER) {
        int64_t size = group_size(first, count);
        MRC_TRY(deflated_rows(def, rows + first, size, block, own, err));
        for (int64_t i = 0; i < size; i++)
            for (int64_t t = 0; t < def->n; t++)
                def->energy[t] += sign * block[i * def->n + t] * block[i * def->n + t];
    }
out:
    mrc_free(block);
    mrc_free(own);
    return rc;
}

mercer_status mrc_residual_gram_energies(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                         double *out, mercer_error *err)
{
    return def->inner ? energies_by_inner(def, rows, count, out, err)
                      : energies_by_rows(def, rows, count, out, err);
}

mercer_status mrc_residual_gram_evaluate(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                         mercer_error *err)
{
    double *values = NULL, total;
    mercer_status rc = MERCER_OK;
    if (rows) {
        MRC_TRY(mrc_alloc(&values, count, sizeof *values, err));
        MRC_TRY(mrc_residual_gram_energies(def, rows, count, values, err));
        for (int64_t i = 0; i < count; i++)
            if (place_of(def, rows[i]) >= 0)
                def->energy[place_of(def, rows[i])] = values[i];
        MRC_TRY(measure_sizes(def, &total, err));
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = place_of(def, rows[i]);
            if (at >= 0)
                def->doubt[at] = doubt_anew(def, at, total);
        }
        goto out;
    }
    if (def->inner) {
        MRC_TRY(project_inner(def, err));
        MRC_TRY(mrc_decide_numbers(def->ctx, &def->span, def->inner,
                                   factor_of(def)->rank * factor_of(def)->rank, err));
        MRC_TRY(mrc_factor_quadratic(factor_of(def), def->inner, def->energy, err));
    } else if (def->held_rows) {
        memset(def->energy, 0, (size_t)def->n * sizeof *def->energy);
        MRC_TRY(accumulate(def, def->held_rows, def->active, 1, err));
    } else if (def->count == 0 && def->about_mean) {
        MRC_TRY(mrc_gram_row_variances(def->gram, def->energy, err));
    } else if (def->count == 0) {
        MRC_TRY(mrc_gram_row_norms2(def->gram, NULL, def->n, def->mask, def->energy, err));
    } else {
        MRC_TRY(energies_by_rows(def, NULL, def->n, def->energy, err));
    }
    MRC_TRY(measure_sizes(def, &total, err));
    for (int64_t t = 0; t < def->n; t++)
        def->doubt[t] = doubt_anew(def, t, total);
out:
    mrc_free(values);
    return rc;
}

/* ---- the data side ---- */

static mercer_status hold_columns(mrc_residual_gram *def, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&def->held_rows, def->active, sizeof *def->held_rows, err));
    for (int64_t t = 0, i = 0; t < def->n; t++)
        if (def->mask[t])
            def->held_rows[i++] = t;
    MRC_TRY(mrc_alloc2_raw(&def->held, def->active, def->n, sizeof(double), err));
    MRC_TRY(mrc_gram_columns(def->gram, def->held_rows, def->active, def->held, err));
out:
    return rc;
}

mercer_status mrc_residual_gram_start(mrc_residual_gram *def, const unsigned char *mask,
                                      bool about_mean, bool hold, mercer_error *err)
{
    int64_t n = def->n;
    mercer_status rc = MERCER_OK;
    def->about_mean = about_mean;
    if (mask) {
        MRC_TRY(mrc_alloc(&def->mask, n, 1, err));
        memcpy(def->mask, mask, (size_t)n);
        def->active = 0;
        for (int64_t t = 0; t < n; t++)
            def->active += mask[t] != 0;
    }
    MRC_TRY(mrc_alloc(&def->energy, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&def->doubt, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&def->image, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&def->base2, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&def->size, n, sizeof(double), err));
    set_base(def);
    if (factor_of(def)) {
        int64_t q = factor_of(def)->rank;
        MRC_TRY(mrc_alloc2(&def->inner, q, q, sizeof(double), err));
        MRC_TRY(compute_inner(def, err));
    } else if (hold) {
        MRC_TRY(hold_columns(def, err));
    }
    MRC_TRY(mrc_residual_gram_evaluate(def, NULL, n, err));
out:
    return rc;
}

/* S -= G'G with G what is left of the dropped rows; then all energies from the new S. */
static mercer_status drop_from_inner(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                     mercer_error *err)
{
    int64_t q = factor_of(def)->rank;
    double *left = NULL, *product = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&left, count, q, sizeof *left, err));
    MRC_TRY(mrc_alloc2(&product, q, q, sizeof *product, err));
    MRC_TRY(left_of_factor_rows(def, rows, count, left, err));
    MRC_TRY(mrc_gram_of_columns(def->ctx, left, count, q, q, product, err));
    for (int64_t i = 0; i < q * q; i++)
        def->inner[i] -= product[i];
    def->inner_steps++;
    MRC_TRY(renew_inner(def, err));
    MRC_TRY(mrc_residual_gram_evaluate(def, NULL, def->n, err));
out:
    mrc_free(left);
    mrc_free(product);
    return rc;
}

/* The squares of the dropped rows are as far off as those of a row that is computed anew. */
static mercer_status drop_from_energies(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                        mercer_error *err)
{
    int64_t n = def->n;
    double *before = NULL, part = 0, total;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&before, n, sizeof *before, err));
    memcpy(before, def->energy, (size_t)n * sizeof *before);
    MRC_TRY(accumulate(def, rows, count, -1, err));
    MRC_TRY(measure_sizes(def, &total, err));
    for (int64_t i = 0; i < count; i++)
        part += def->size[rows[i]] * def->size[rows[i]];
    for (int64_t j = 0; j < n; j++) {
        double gone = fmax(before[j] - def->energy[j], 0), error = row_error(def, j, sqrt(part));
        def->doubt[j] +=
            (2 * sqrt(gone) + error) * error + rounding_of(count) * (fabs(before[j]) + gone);
    }
out:
    mrc_free(before);
    return rc;
}

mercer_status mrc_residual_gram_drop(mrc_residual_gram *def, const int64_t *rows, int64_t count,
                                     mercer_error *err)
{
    int64_t *kept = NULL;
    mercer_status rc = MERCER_OK;
    if (!def->mask) {
        MRC_TRY(mrc_alloc(&def->mask, def->n, 1, err));
        memset(def->mask, 1, (size_t)def->n);
    }
    for (int64_t i = 0; i < count; i++)
        def->mask[rows[i]] = 0;
    def->active -= count;
    def->only_active = true;
    if (!def->energy) {
        /* Nothing is carried: the mask is all. */
    } else if (def->inner) {
        rc = drop_from_inner(def, rows, count, err);
    } else if (count <= def->active) {
        rc = drop_from_energies(def, rows, count, err);
    } else if (def->active > 0) { /* fewer stay than go */
        MRC_TRY(mrc_alloc(&kept, def->active, sizeof *kept, err));
        for (int64_t t = 0, i = 0; t < def->n; t++)
            if (def->mask[t])
                kept[i++] = t;
        MRC_TRY(mrc_residual_gram_evaluate(def, kept, def->active, err));
    }
out:
    mrc_free(kept);
    return rc;
}

/* ---- taking a row ---- */

/* What sums over the rows are taken of. */
struct vector {
    const double *values;
    int64_t n;
};

static mercer_status add_values(void *arg, int64_t begin, int64_t end, double *sum,
                                mercer_error *err)
{
    const struct vector *w = arg;
    (void)begin;
    (void)end;
    (void)err;
    double added = *sum; /* in a register */
    for (int64_t t = 0; t < w->n; t++)
        added += w->values[t];
    *sum = added;
    return MERCER_OK;
}

static mercer_status add_squares(void *arg, int64_t begin, int64_t end, double *sum,
                                 mercer_error *err)
{
    const struct vector *w = arg;
    (void)begin;
    (void)end;
    (void)err;
    double added = *sum;
    for (int64_t t = 0; t < w->n; t++)
        added += w->values[t] * w->values[t];
    *sum = added;
    return MERCER_OK;
}

/* u~ = M u. */
static mercer_status keep_data(const mrc_residual_gram *def, const double *u, double *kept,
                               mercer_error *err)
{
    struct vector w = {.values = u, .n = def->n};
    double mean = 0;
    mercer_status rc = MERCER_OK;
    if (def->about_mean)
        MRC_TRY(mrc_run_span(def->ctx, &def->span, &mean, 1, 1, add_values, &w, err));
    mean /= (double)def->span.total;
    for (int64_t t = 0; t < def->n; t++)
        kept[t] = def->mask && !def->mask[t] ? 0 : u[t] - mean;
out:
    return rc;
}

/* image = K v for v zero outside the mask. */
static mercer_status apply_data(mrc_residual_gram *def, const double *v, mercer_error *err)
{
    double *values = NULL;
    int64_t *rows = NULL;
    mercer_status rc = MERCER_OK;
    if (def->held) {
        MRC_TRY(mrc_alloc(&values, def->active, sizeof *values, err));
        for (int64_t i = 0; i < def->active; i++)
            values[i] = v[def->held_rows[i]];
        mrc_wide_times(def->ctx, def->held, def->active, def->n, 1, values, 0, def->image);
    } else if (def->only_active && 2 * def->active < def->n) {
        MRC_TRY(mrc_alloc(&rows, def->active, sizeof *rows, err));
        MRC_TRY(mrc_alloc(&values, def->active, sizeof *values, err));
        for (int64_t t = 0, i = 0; t < def->n; t++)
            if (def->mask[t])
                rows[i++] = t;
        MRC_TRY(mrc_gram_apply_rows(def->gram, rows, def->active, v, 1, values, err));
        memset(def->image, 0, (size_t)def->n * sizeof *def->image);
        for (int64_t i = 0; i < def->active; i++)
            def->image[rows[i]] = values[i];
    } else {
        MRC_TRY(mrc_gram_apply(def->gram, v, 1, def->image, err));
    }
out:
    mrc_free(values);
    mrc_free(rows);
    return rc;
}

/* u = K^i_p / sqrt(d_p) and, when wanted, image = K^i M u; left: d_p. */
static mercer_status take_by_rows(mrc_residual_gram *def, int64_t p, bool energies, double *u,
                                  const double *own, double left, mercer_error *err)
{
    const mrc_span *span = &def->span;
    double root = sqrt(left), *kept = def->scratch;
    double *dots = NULL;
    struct vector w = {.values = kept, .n = def->n};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_columns(def->gram, &p, 1, u, err));
    mrc_wide_times_of_span(def->ctx, def->projections, def->count, span, -1 / root, own, 1 / root,
                           u);
    if (place_of(def, p) >= 0)
        u[place_of(def, p)] = root;
    if (!energies)
        goto out;
    MRC_TRY(keep_data(def, u, kept, err));
    MRC_TRY(apply_data(def, kept, err));
    MRC_TRY(mrc_alloc(&dots, def->count + 1, sizeof *dots, err));
    MRC_TRY(mrc_wide_dots_of_span(def->ctx, def->projections, def->count, span, kept, dots, err));
    mrc_wide_times_of_span(def->ctx, def->projections, def->count, span, -1, dots, 1, def->image);
    def->data_norm2 = 0;
    MRC_TRY(mrc_run_span(def->ctx, span, &def->data_norm2, 1, 1, add_squares, &w, err));
out:
    mrc_free(dots);
    return rc;
}

/* The same in the coordinates of the factor: u = F v, image = F S v; *left: d_p. */
static mercer_status take_by_factor(mrc_residual_gram *def, int64_t p, bool energies, double *u,
                                    double *left, mercer_error *err)
{
    int64_t n = def->n, q = factor_of(def)->rank, width = energies ? 2 : 1;
    double *v = def->directions + def->count * q, norm2 = 0;
    double *weights = NULL, *product = def->scratch;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&weights, q, 3, sizeof *weights, err));
    MRC_TRY(left_of_factor_rows(def, &p, 1, v, err));
    MRC_TRY(mrc_decide_numbers(def->ctx, &def->span, v, q, err));
    for (int64_t c = 0; c < q; c++)
        norm2 += v[c] * v[c];
    *left = norm2;
    if (place_of(def, p) >= 0)
        def->residual[place_of(def, p)] = norm2;
    for (int64_t c = 0; c < q; c++)
        v[c] /= sqrt(norm2);
    double *image = weights + 2 * q; /* S v */
    if (energies) {
        mrc_gemm(false, false, q, 1, q, 1, def->inner, q, v, 1, 0, image, 1);
        MRC_TRY(mrc_decide_numbers(def->ctx, &def->span, image, q, err));
        def->data_norm2 = 0;
        for (int64_t c = 0; c < q; c++)
            def->data_norm2 += v[c] * image[c];
    }
    for (int64_t c = 0; c < q; c++) {
        weights[c * width] = v[c];
        if (energies)
            weights[c * width + 1] = image[c];
    }
    MRC_TRY(mrc_factor_times(factor_of(def), weights, width, product, err));
    for (int64_t t = 0; t < n; t++) {
        u[t] = product[t * width];
        if (energies)
            def->image[t] = product[t * width + 1];
    }
    for (int64_t i = 0; energies && i < q; i++)
        for (int64_t c = 0; c < q; c++)
            def->inner[i * q + c] -=
                v[i] * image[c] + image[i] * v[c] - def->data_norm2 * v[i] * v[c];
out:
    mrc_free(weights);
    return rc;
}

/* Column j of C: v_j = (phi_p - sum_s U_ps v_s) / sqrt(d_p). */
static void add_coefficients(mrc_residual_gram *def, const double *own, double root)
{
    int64_t j = def->count;
    double *column = def->coefficients + j * (j + 1) / 2;
    memset(column, 0, (size_t)j * sizeof *column);
    for (int64_t s = 0; s < j; s++) {
        const double *earlier = def->coefficients + s * (s + 1) / 2;
        for (int64_t k = 0; k <= s; k++)
            column[k] -= own[s] / root * earlier[k];
    }
    column[j] = 1 / root;
}

mercer_status mrc_residual_gram_take(mrc_residual_gram *def, int64_t p, bool energies,
                                     mercer_error *err)
{
    int64_t n = def->n;
    const int64_t here = place_of(def, p);
    double *own = NULL, left = here >= 0 ? def->residual[here] : 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(reserve(def, err));
    MRC_TRY(mrc_alloc(&own, def->count + 1, sizeof *own, err));
    double *u = def->projections + def->count * def->stride;
    for (int64_t j = 0; here >= 0 && j < def->count; j++)
        own[j] = def->projections[j * def->stride + here];
    own[def->count] = left;
    if (def->span.spread)
        MRC_TRY(mrc_comm_merge(def->ctx, own, (def->count + 1) * (int64_t)sizeof *own, err));
    left = own[def->count];
    energies = energies && def->energy;
    if (factor_of(def))
        MRC_TRY(take_by_factor(def, p, energies, u, &left, err));
    else
        MRC_TRY(take_by_rows(def, p, energies, u, own, left, err));
    add_coefficients(def, own, sqrt(left));
    if (energies)
        MRC_TRY(add_doubts(def, u, err));
    for (int64_t t = 0; t < n; t++)
        def->residual[t] -= u[t] * u[t];
    for (int64_t t = 0; energies && t < n; t++) {
        def->energy[t] -= 2 * u[t] * def->image[t] - u[t] * u[t] * def->data_norm2;
        def->image[t] -= u[t] * def->data_norm2;
    }
    def->inner_steps++;
    def->selected[def->count++] = p;
    if (energies && def->inner)
        MRC_TRY(renew_inner(def, err));
    for (int64_t j = 0; j < def->count; j++)
        if (place_of(def, def->selected[j]) >= 0)
            def->residual[place_of(def, def->selected[j])] = 0;
out:
    mrc_free(own);
    return rc;
}

void mrc_residual_gram_coefficients(const mrc_residual_gram *def, double *c)
{
    int64_t l = def->count;
    memset(c, 0, (size_t)(l * l) * sizeof *c);
    for (int64_t j = 0; j < l; j++)
        for (int64_t s = 0; s <= j; s++)
            c[s * l + j] = def->coefficients[j * (j + 1) / 2 + s];
}
