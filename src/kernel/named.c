/* SPDX-License-Identifier: BSD-3-Clause */
/* Named kernels: the list of them, their parameters, and tiles of values. Formulas are in the
 * families, dot.c, distance.c, histogram.c and given.c.
 *
 * Dot products and distances in many dimensions go through GEMM; distances in few dimensions, and
 * the other sums always, are added up column by column: d operations per pair. */
#include "kernel/named.h"
#include "base/number.h"
#include "base/order.h"
#include "kernel/pairs.h"
#include "kernel/points.h"
#include "kernel/simd.h"
#include "kernel/sparse.h"
#include "linalg/linalg.h"
#include "linalg/panel.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which they are shown. */
static const mrc_kernel_def *const kernels[] = {
#define MRC_KERNEL(family, name) &mrc_kernel_def_##name,
#include "kernel/kernels.def"
#undef MRC_KERNEL
};

enum { KERNELS = sizeof kernels / sizeof *kernels };

const struct mercer_entry *mrc_kernel_entry_at(int index)
{
    return index >= 0 && index < KERNELS ? &kernels[index]->entry : NULL;
}

/* The name of a host's kernel, which is its own affair. */
static bool is_exactly(const char *name, const char *spec, size_t length)
{
    return strlen(name) == length && strncmp(name, spec, length) == 0;
}

/* The place of a kernel in the list, or -1. */
static int place_of(const char *name, size_t length)
{
    for (int i = 0; i < KERNELS; i++)
        if (mrc_is_called(kernels[i]->entry.name, name, length))
            return i;
    return -1;
}

const mrc_kernel_def *mrc_kernel_def_find(const char *name, size_t length)
{
    int place = place_of(name, length);
    return place >= 0 ? kernels[place] : NULL;
}

/* ---- parameters ---- */

bool mrc_part_is_semidefinite(const mrc_kernel_part *kernel)
{
    return !kernel->def->semidefinite || kernel->def->semidefinite(kernel);
}

double mrc_part_rank_limit(const mrc_kernel_part *kernel, int64_t d)
{
    return kernel->def->rank_limit ? kernel->def->rank_limit(kernel, d) : INFINITY;
}

static bool has_two_forms(const mrc_kernel_part *kernel)
{
    return kernel->def->width != MRC_WIDTH_ONE_FORM;
}

bool mrc_part_is_open(const mrc_kernel_part *kernel)
{
    bool gamma = kernel->gamma == MRC_GAMMA_OPEN;
    bool sigma = kernel->sigma == MRC_SIGMA_MEDIAN || kernel->sigma == MRC_SIGMA_LEARN;
    if (has_two_forms(kernel))
        return (gamma && sigma) || kernel->gamma == MRC_GAMMA_AUTO;
    return gamma || sigma;
}

static mercer_status fail_unknown(const char *spec, mercer_error *err)
{
    char known[256] = "";
    for (int i = 0; i < KERNELS; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", kernels[i]->entry.name);
    }
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "unknown kernel '%.*s' (known: %s)",
                    (int)mrc_spec_name_length(spec), spec, known);
}

mercer_status mrc_part_parse(mrc_kernel_part *kernel, const mercer_ctx *ctx, const char *spec,
                             mercer_error *err)
{
    size_t length = mrc_spec_name_length(spec);
    int place = place_of(spec, length);
    const mrc_kernel_def *def = place >= 0 ? kernels[place] : &mrc_kernel_def_host;
    const char *name = place >= 0 ? def->entry.name : NULL;
    char what[64];
    memset(kernel, 0, sizeof *kernel);
    for (int i = 0; place < 0 && ctx && i < ctx->kernel_count; i++)
        if (is_exactly(ctx->kernels[i]->name, spec, length)) {
            kernel->host = ctx->kernels[i];
            name = kernel->host->name;
        }
    if (!name)
        return fail_unknown(spec, err);
    kernel->def = def;
    snprintf(what, sizeof what, "kernel %.50s", name);
    mrc_params_defaults(def->entry.params, kernel);
    mercer_status rc = mrc_params_parse(def->entry.params, what, spec, kernel, err);
    if (rc == MERCER_OK && has_two_forms(kernel) && kernel->gamma != MRC_GAMMA_OPEN &&
        kernel->sigma != MRC_SIGMA_MEDIAN)
        rc = mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: give sigma or gamma, not both", what);
    return rc;
}

/* The squared distance of two rows times a factor, a power of two. scratch holds two rows where
 * rows are packed. */
static double distance2(const mercer_rows *rows, double factor, int64_t i, int64_t j,
                        double *scratch)
{
    if (rows->csr.start) {
        mrc_points points = {.n = rows->n, .d = rows->d, .csr = rows->csr};
        return mrc_sparse_distance2(&points, factor, i, j);
    }
    const double *a = mrc_rows_line(rows, i, scratch);
    const double *b = mrc_rows_line(rows, j, scratch ? scratch + rows->d : NULL);
    double sum = 0;
    for (int64_t k = 0; k < rows->d; k++) {
        double difference = mrc_scaled_difference(factor, a[k], b[k]);
        sum += difference * difference;
    }
    return sum;
}

/* Squares leave the range of doubles where differences do not: rows that differ by 1e-170 are not
 * equal. Such pairs are measured again, times a power of two, which is exact: differences are
 * between 2^-1074 and 2^1025, so the squares are above 2^-950 and below 2^852. */
static double distance(const mercer_rows *rows, int64_t i, int64_t j, double *scratch)
{
    double sum = distance2(rows, 1, i, j, scratch), factor = 1;
    if (sum < 0x1p-900)
        factor = 0x1p600;
    else if (!(sum < 0x1p1000))
        factor = 0x1p-600;
    return factor == 1 ? sqrt(sum) : sqrt(distance2(rows, factor, i, j, scratch)) / factor;
}

/* Median distance between the rows of a seeded sample; 1 when all of them are equal. Among many
 * duplicates the median itself may be zero, or what scaling made of zero: then the median of the
 * distances above. */
static mercer_status median_distance(mercer_ctx *ctx, const mercer_rows *rows, double *out,
                                     mercer_error *err)
{
    enum { SAMPLE = 512 };
    int64_t n = mrc_rows_total(rows), size = n < SAMPLE ? n : SAMPLE, pairs = 0, positive = 0;
    const double zero = rows->blur;
    int64_t *chosen = NULL;
    double *distances = NULL, *scratch = NULL;
    mercer_rows *sample = NULL; /* of all ranks' rows */
    mercer_status rc = MERCER_OK;

    if (rows->packed)
        MRC_TRY(mrc_alloc2(&scratch, 2, rows->d, sizeof *scratch, err));
    MRC_TRY(mrc_alloc(&chosen, size, sizeof *chosen, err));
    MRC_TRY(mrc_alloc(&distances, size * (size - 1) / 2, sizeof *distances, err));
    mrc_rng_spread(&ctx->rng, n, chosen, size);
    if (mrc_rows_span(ctx, rows).spread) {
        MRC_TRY(mrc_rows_take_of_all(ctx, rows, chosen, size, &sample, err));
        for (int64_t i = 0; i < size; i++)
            chosen[i] = i;
        rows = sample;
    }
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < i; j++) {
            distances[pairs] = distance(rows, chosen[i], chosen[j], scratch);
            positive += distances[pairs++] > zero;
        }
    *out = positive == 0 ? 1 : mrc_median(distances, pairs);
    if (*out <= zero) {
        positive = 0;
        for (int64_t p = 0; p < pairs; p++)
            if (distances[p] > zero)
                distances[positive++] = distances[p];
        *out = mrc_median(distances, positive);
    }
    if (sample) /* processors may differ in the last digit */
        MRC_TRY(mrc_comm_broadcast(ctx, out, sizeof *out, err));
out:
    mrc_free(chosen);
    mrc_free(distances);
    mrc_free(scratch);
    mercer_rows_free(sample);
    return rc;
}

/* gamma of a sigma, where they are two forms of one number; and sigma of a gamma. */
static double gamma_of(const mrc_kernel_part *kernel)
{
    return kernel->def->width == MRC_WIDTH_INVERSE ? 1 / kernel->sigma
                                                   : 0.5 / (kernel->sigma * kernel->sigma);
}

static double sigma_of(const mrc_kernel_part *kernel)
{
    return kernel->def->width == MRC_WIDTH_INVERSE ? 1 / kernel->gamma : sqrt(0.5 / kernel->gamma);
}

/* Whether squares of distances overflow where the kernel is not yet zero, or vanish where it is not
 * yet one: at some 700 widths, and at 1e-8 of one. (rq, which is never zero, limits the rows.) */
static bool is_beyond_squares(const mrc_kernel_part *kernel)
{
    static const double least = 1e-145, most = 1e151;
    return kernel->def->term == MRC_TERM_SQUARE && kernel->sigma != 0 &&
           !(kernel->sigma >= least && kernel->sigma <= most);
}

mercer_status mrc_part_resolve(mrc_kernel_part *kernel, mercer_ctx *ctx, const mercer_rows *rows,
                               double *median, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    bool two_forms = has_two_forms(kernel);
    bool open = kernel->sigma == MRC_SIGMA_MEDIAN || kernel->sigma == MRC_SIGMA_LEARN;
    bool by_gamma = two_forms && kernel->gamma != MRC_GAMMA_OPEN;
    bool from_rows = open && !by_gamma;
    if (from_rows) {
        if (*median == 0)
            rc = median_distance(ctx, rows, median, err);
        if (rc != MERCER_OK)
            return rc;
        kernel->sigma = *median;
    }
    if (two_forms && kernel->gamma == MRC_GAMMA_AUTO) {
        kernel->gamma = 1 / (double)rows->d;
        mrc_notice(ctx, "gamma=auto is 1/%lld; leave gamma out for the median width",
                   (long long)rows->d);
    }
    if (by_gamma)
        kernel->sigma = sigma_of(kernel);
    else if (two_forms)
        kernel->gamma = gamma_of(kernel);
    else if (kernel->gamma == MRC_GAMMA_OPEN)
        kernel->gamma = 1 / (double)rows->d;
    double scale = mrc_part_scale(kernel);
    const char *what = NULL; /* overflows or vanishes */
    if (kernel->sigma != 0 && !(isfinite(scale) && scale > 0 && isfinite(kernel->sigma)))
        what = kernel->def->width == MRC_WIDTH_INVERSE ? "1/sigma" : "the factor of the square";
    else if (is_beyond_squares(kernel))
        what = "squares of distances";
    if (what)
        rc = mrc_fail(err, from_rows ? MERCER_ERR_DATA : MERCER_ERR_ARGUMENT,
                      "kernel %s: %s=%g%s makes %s overflow or vanish%s", kernel->def->entry.name,
                      by_gamma ? "gamma" : "sigma", by_gamma ? kernel->gamma : kernel->sigma,
                      from_rows ? ", the median distance between rows," : "", what,
                      from_rows ? "; scale the columns" : "");
    return rc;
}

bool mrc_part_learns_width(const mrc_kernel_part *kernel)
{
    return kernel->sigma == MRC_SIGMA_LEARN;
}

void mrc_part_set_width(mrc_kernel_part *kernel, double sigma)
{
    kernel->sigma = sigma;
    if (has_two_forms(kernel))
        kernel->gamma = gamma_of(kernel);
}

mercer_status mrc_part_format(const mrc_kernel_part *kernel, char *text, size_t size,
                              mercer_error *err)
{
    mrc_kernel_part shown = *kernel;
    const struct mercer_entry *entry = &kernel->def->entry;
    const char *name = kernel->host ? kernel->host->name : entry->name;
    /* A rounded sigma = sqrt(1/(2 gamma)) need not give gamma back: show the one that does. */
    if (has_two_forms(kernel)) {
        if (gamma_of(kernel) == kernel->gamma)
            shown.gamma = MRC_GAMMA_OPEN;
        else
            shown.sigma = MRC_SIGMA_MEDIAN;
    }
    return mrc_params_format(entry->params, name, &shown, !has_two_forms(kernel), text, size, err);
}

/* ---- values ---- */

/* Distances that lost digits in |a|^2 + |b|^2 - 2 a.b, once more by differences. */
static void repair_distances(const double *a, double norm_a, const mrc_points *b, int64_t b0,
                             int64_t nb, double *row)
{
    for (int64_t j = 0; j < nb; j++) {
        if (!(row[j] < MRC_DISTANCE_SHARE * (norm_a + b->norm2[b0 + j])))
            continue;
        const double *other = b->x + (b0 + j) * b->ld;
        double sum = 0;
        for (int64_t k = 0; k < b->d; k++)
            sum += (a[k] - other[k]) * (a[k] - other[k]);
        row[j] = sum;
    }
}

/* Values in the place of the sums over columns that they are functions of. */
static inline void values_of_sums(const mrc_kernel_part *kernel, const mrc_simd_loops *loops,
                                  double *row, int64_t nb)
{
    if (kernel->def->value)
        kernel->def->value(kernel, loops, row, nb);
}

/* The tile as sums over columns. */
static void tile_of_columns(const mrc_kernel_part *kernel, const mrc_simd_loops *loops,
                            const double *a, int64_t lda, int64_t na, const mrc_points *b,
                            int64_t b0, int64_t nb, double *out, int64_t ldo)
{
    loops->column_sums(kernel->def->term, a, na, lda, b->transposed + b0, nb, b->n, b->d, out, ldo);
    for (int64_t i = 0; i < na; i++)
        values_of_sums(kernel, loops, out + i * ldo, nb);
}

/* The tile for plain rows. */
static void tile_of_block(const mrc_kernel_part *kernel, mercer_ctx *ctx, const mrc_points *rows,
                          int64_t a0, int64_t na, const mrc_points *b, int64_t b0, int64_t nb,
                          double *out, int64_t ldo)
{
    int64_t lda = rows->ld;
    const double *a = rows->x + a0 * lda, *norm_a = rows->norm2 ? rows->norm2 + a0 : NULL;
    const mrc_simd_loops *loops = mrc_simd_loops_for(ctx->simd);
    if (kernel->host) {
        mrc_host_values(kernel->host, ctx, a, na, lda, b->x + b0 * b->ld, nb, b->ld, b->d, out,
                        ldo);
        return;
    }
    if (b->transposed && kernel->def->by_differences) {
        kernel->def->by_differences(kernel, loops, a, lda, na, b, b0, nb, out, ldo);
        return;
    }
    if (b->transposed) {
        tile_of_columns(kernel, loops, a, lda, na, b, b0, nb, out, ldo);
        return;
    }
    if (rows->one_by_one)
        mrc_gemm_rows(ctx->simd, true, na, nb, b->d, 1, a, lda, b->x + b0 * b->ld, b->ld, 0, out,
                      ldo);
    else
        mrc_gemm(false, true, na, nb, b->d, 1, a, lda, b->x + b0 * b->ld, b->ld, 0, out, ldo);
    for (int64_t i = 0; i < na; i++) {
        double *row = out + i * ldo;
        if (kernel->def->term == MRC_TERM_SQUARE) {
            assert(norm_a);
            if (loops->distances_from_dots(row, nb, norm_a[i], b->norm2 + b0))
                repair_distances(a + i * lda, norm_a[i], b, b0, nb, row);
        }
        values_of_sums(kernel, loops, row, nb);
    }
}

bool mrc_part_takes_products(const mrc_kernel_part *kernel, const mrc_points *points)
{
    mrc_term term = kernel->def->term;
    bool dense = points->x || points->packed;
    return dense && !kernel->host && !points->by_columns && !points->pairs && points->d > 0 &&
           (term == MRC_TERM_PRODUCT || term == MRC_TERM_SQUARE);
}

/* As repair_distances(), with packed rows. */
static void repair_packed(const double *a, double norm_a, const double *packed,
                          const double *norm_b, int64_t nb, int64_t d, double *row)
{
    for (int64_t j = 0; j < nb; j++) {
        if (!(row[j] < MRC_DISTANCE_SHARE * (norm_a + norm_b[j])))
            continue;
        const double *other = packed + j / MRC_PACK * MRC_PACK * d + j % MRC_PACK;
        double sum = 0;
        for (int64_t k = 0; k < d; k++)
            sum += (a[k] - other[k * MRC_PACK]) * (a[k] - other[k * MRC_PACK]);
        row[j] = sum;
    }
}

void mrc_part_tile_of_products(const mrc_kernel_part *kernel, mercer_ctx *ctx, const double *a,
                               int64_t lda, const double *norm_a, int64_t na, const double *packed,
                               const double *norm_b, int64_t nb, int64_t d, double *out,
                               int64_t ldo)
{
    const mrc_simd_loops *loops = mrc_simd_loops_for(ctx->simd);
    for (int64_t i = 0; i < na; i++) {
        double *row = out + i * ldo;
        if (kernel->def->term == MRC_TERM_SQUARE) {
            assert(norm_a && norm_b);
            if (loops->distances_from_dots(row, nb, norm_a[i], norm_b))
                repair_packed(a + i * lda, norm_a[i], packed, norm_b, nb, d, row);
        }
        values_of_sums(kernel, loops, row, nb);
    }
}

/* Distances, as in mrc_simd_loops, of one sparse row from sums over shared columns. */
static void sparse_distances(mrc_term term, const mrc_simd_loops *loops, const mrc_points *a,
                             int64_t i, const mrc_points *b, int64_t b0, int64_t nb, double *row)
{
    if (!loops->distances_from_dots(row, nb, a->norm2[i], b->norm2 + b0))
        return;
    for (int64_t j = 0; j < nb; j++)
        if (!(row[j] >= MRC_DISTANCE_SHARE * (a->norm2[i] + b->norm2[b0 + j])))
            row[j] = mrc_sparse_pair(term, a, i, b, b0 + j);
}

static void sparse_tile(const mrc_kernel_part *kernel, mrc_simd simd, const mrc_points *a,
                        int64_t a0, int64_t na, const mrc_points *b, int64_t b0, int64_t nb,
                        double *out, int64_t ldo)
{
    const mrc_simd_loops *loops = mrc_simd_loops_for(simd);
    mrc_term term = kernel->def->term;
    mrc_sparse_sums(term, a, a0, na, b, b0, nb, out, ldo);
    for (int64_t i = 0; i < na; i++) {
        double *row = out + i * ldo;
        if (mrc_term_is_distance(term))
            sparse_distances(term, loops, a, a0 + i, b, b0, nb, row);
        values_of_sums(kernel, loops, row, nb);
    }
}

/* The tile from sums that are known; false when they are not. */
static bool tile_of_pairs(const mrc_kernel_part *kernel, mrc_simd simd, const mrc_points *a,
                          int64_t a0, int64_t na, const mrc_points *b, int64_t b0, int64_t nb,
                          double *out, int64_t ldo)
{
    mrc_term term = mrc_pair_term(kernel);
    if (!a->pairs || a->pairs != b->pairs || !a->pairs->sums[term])
        return false;
    const mrc_simd_loops *loops = mrc_simd_loops_for(simd);
    for (int64_t i = 0; i < na; i++) {
        const double *from = a->pairs->sums[term] + a->place[a0 + i] * a->pairs->n;
        double *row = out + i * ldo;
        for (int64_t j = 0; j < nb; j++)
            row[j] = from[b->place[b0 + j]];
        values_of_sums(kernel, loops, row, nb);
    }
    return true;
}

void mrc_part_tile(const mrc_kernel_part *kernel, mercer_ctx *ctx, const mrc_points *a, int64_t a0,
                   int64_t na, const mrc_points *b, int64_t b0, int64_t nb, double *out,
                   int64_t ldo)
{
    if (tile_of_pairs(kernel, ctx->simd, a, a0, na, b, b0, nb, out, ldo))
        return;
    if (mrc_points_are_sparse(b)) {
        sparse_tile(kernel, ctx->simd, a, a0, na, b, b0, nb, out, ldo);
        return;
    }
    tile_of_block(kernel, ctx, a, a0, na, b, b0, nb, out, ldo);
}

/* A number of a packed point, whose length does not matter here. */
static double packed_value(const mrc_points *points, int64_t i, int64_t k)
{
    return mrc_rows_at(points->packed, i, k) - (points->shift ? points->shift[k] : 0.0);
}

/* What a column adds to the sum of a row with itself: nothing to a distance. */
static inline double own_term(mrc_term term, double x)
{
    return term == MRC_TERM_PRODUCT ? x * x : term == MRC_TERM_MIN ? x : 0;
}

void mrc_part_diag(const mrc_kernel_part *kernel, mercer_ctx *ctx, const mrc_points *points,
                   int64_t first, int64_t count, double *out)
{
    const mrc_kernel_def *def = kernel->def;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        if (def->unit_diagonal) {
            out[i] = 1;
            continue;
        }
        if (kernel->host) {
            const double *x = points->x + (first + i) * points->ld;
            mrc_host_values(kernel->host, ctx, x, 1, points->ld, x, 1, points->ld, points->d,
                            out + i, 1);
            continue;
        }
        mrc_sparse_row row = {.count = points->d};
        if (!points->packed)
            row = mrc_any_row_of(points, first + i);
        for (int64_t k = 0; k < row.count; k++) {
            double x = points->packed ? packed_value(points, first + i, k) : row.value[k];
            sum += own_term(def->term, x);
        }
        out[i] = def->self ? def->self(kernel, sum) : sum;
    }
}
