/* The kernels: parameters, formulas, and tiles of values.
 *
 * linear x.y; poly (gamma x.y + coef0)^degree; rbf exp(-|x-y|^2 / (2 sigma^2)); sigmoid
 * tanh(gamma x.y + coef0), not positive semidefinite; cosine x.y / (|x| |y|), 0 for a zero row.
 * Dot products and distances in many dimensions go through GEMM; distances in few dimensions are
 * sums of squared differences. */
#include "kernel/kernel.h"

#include "kernel/points.h"
#include "kernel/simd.h"
#include "linalg/linalg.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words in the place of a number. */
#define SIGMA_MEDIAN MRC_WORD(0)
#define GAMMA_OPEN MRC_WORD(0)

static const mrc_param no_params[] = {MRC_PARAM_END};
static const mrc_param poly_params[] = {
    MRC_REAL_OR(mrc_kernel, gamma, GAMMA_OPEN, DBL_MIN, DBL_MAX, "auto",
                "factor of the dot product; auto: 1 / columns"),
    MRC_REAL(mrc_kernel, coef0, 1, -DBL_MAX, DBL_MAX, "constant added to the dot product"),
    MRC_INT(mrc_kernel, degree, 3, 1, 64, "power"), MRC_PARAM_END};
static const mrc_param rbf_params[] = {
    MRC_REAL_OR(mrc_kernel, sigma, SIGMA_MEDIAN, DBL_MIN, DBL_MAX, "median",
                "width; median: the median distance between 512 training rows drawn by the seed"),
    MRC_REAL_OR(mrc_kernel, gamma, GAMMA_OPEN, DBL_MIN, DBL_MAX, "auto",
                "1 / (2 sigma^2), may be given instead of sigma"),
    MRC_PARAM_END};
static const mrc_param sigmoid_params[] = {
    MRC_REAL_OR(mrc_kernel, gamma, GAMMA_OPEN, DBL_MIN, DBL_MAX, "auto",
                "factor of the dot product; auto: 1 / columns"),
    MRC_REAL(mrc_kernel, coef0, 1, -DBL_MAX, DBL_MAX, "constant added to the dot product"),
    MRC_PARAM_END};

static const mrc_kernel_def definitions[MRC_KERNEL_COUNT] = {
    [MRC_KERNEL_linear] = {{"linear", "dot product: ordinary PCA", "x.y", no_params}, true},
    [MRC_KERNEL_poly] = {{"poly", "polynomial", "(gamma x.y + coef0)^degree", poly_params}, false},
    [MRC_KERNEL_rbf] = {{"rbf", "Gaussian", "exp(-|x-y|^2 / (2 sigma^2))", rbf_params}, true},
    [MRC_KERNEL_sigmoid] = {{"sigmoid", "hyperbolic tangent, not positive semidefinite",
                             "tanh(gamma x.y + coef0)", sigmoid_params},
                            false},
    [MRC_KERNEL_cosine] = {{"cosine", "angle between rows", "x.y / (|x| |y|)", no_params}, true},
    [MRC_KERNEL_precomputed] = {{"precomputed", "the input is the kernel matrix itself",
                                 "given by the caller", no_params},
                                false},
};

const mrc_kernel_def *mrc_kernel_def_of(mrc_kernel_kind kind)
{
    return &definitions[kind];
}

bool mrc_kernel_is_semidefinite(const mrc_kernel *kernel)
{
    return definitions[kernel->kind].semidefinite ||
           (kernel->kind == MRC_KERNEL_poly && kernel->coef0 >= 0);
}

static mercer_status fail_unknown(const char *spec, mercer_error *err)
{
    char known[160] = "";
    for (int i = 0; i < MRC_KERNEL_COUNT; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                 definitions[i].entry.name);
    }
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "unknown kernel '%.*s' (known: %s)",
                    (int)mrc_spec_name_length(spec), spec, known);
}

mercer_status mrc_kernel_parse(mrc_kernel *kernel, const char *spec, mercer_error *err)
{
    size_t length = mrc_spec_name_length(spec);
    char what[64];
    memset(kernel, 0, sizeof *kernel);
    for (int i = 0; i < MRC_KERNEL_COUNT; i++) {
        const mrc_kernel_def *def = &definitions[i];
        if (strlen(def->entry.name) != length || strncmp(def->entry.name, spec, length) != 0)
            continue;
        kernel->kind = (mrc_kernel_kind)i;
        snprintf(what, sizeof what, "kernel %s", def->entry.name);
        mrc_params_defaults(def->entry.params, kernel);
        mercer_status rc = mrc_params_parse(def->entry.params, what, spec, kernel, err);
        if (rc == MERCER_OK && kernel->kind == MRC_KERNEL_rbf && kernel->gamma != GAMMA_OPEN &&
            kernel->sigma != SIGMA_MEDIAN)
            rc = mrc_fail(err, MERCER_ERR_ARGUMENT, "kernel rbf: give sigma or gamma, not both");
        return rc;
    }
    return fail_unknown(spec, err);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median distance between the rows of a seeded sample; 1 when all of them are equal. Among many
 * duplicates the median itself may be zero: then the median of the positive distances. */
static mercer_status median_distance(mercer_ctx *ctx, const mercer_rows *rows, double *out,
                                     mercer_error *err)
{
    enum { SAMPLE = 512 };
    int64_t size = rows->n < SAMPLE ? rows->n : SAMPLE, pairs = 0;
    int64_t *chosen = NULL;
    double *distances = NULL;
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_alloc(&chosen, size, sizeof *chosen, err));
    MRC_TRY(mrc_alloc(&distances, size * (size - 1) / 2, sizeof *distances, err));
    /* One row from each of `size` equal stretches: no duplicates, and no order is favoured. */
    for (int64_t i = 0; i < size; i++) {
        int64_t first = (int64_t)((double)i / (double)size * (double)rows->n);
        int64_t last = (int64_t)((double)(i + 1) / (double)size * (double)rows->n);
        chosen[i] = first + (last > first ? mrc_rng_below(&ctx->rng, last - first) : 0);
    }
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < i; j++) {
            const double *a = rows->x + chosen[i] * rows->ld, *b = rows->x + chosen[j] * rows->ld;
            double sum = 0;
            for (int64_t k = 0; k < rows->d; k++)
                sum += (a[k] - b[k]) * (a[k] - b[k]);
            if (sum > 0)
                distances[pairs++] = sqrt(sum);
        }
    qsort(distances, (size_t)pairs, sizeof *distances, compare_doubles);
    int64_t zeros = size * (size - 1) / 2 - pairs;
    int64_t middle = (pairs + zeros) / 2 - zeros;
    *out = pairs == 0 ? 1 : distances[middle >= 0 ? middle : pairs / 2];
out:
    mrc_free(chosen);
    mrc_free(distances);
    return rc;
}

mercer_status mrc_kernel_resolve(mrc_kernel *kernel, mercer_ctx *ctx, const mercer_rows *rows,
                                 mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (kernel->kind == MRC_KERNEL_rbf) {
        if (kernel->gamma != GAMMA_OPEN) {
            kernel->sigma = sqrt(0.5 / kernel->gamma);
        } else {
            if (kernel->sigma == SIGMA_MEDIAN)
                rc = median_distance(ctx, rows, &kernel->sigma, err);
            kernel->gamma = 0.5 / (kernel->sigma * kernel->sigma);
        }
        if (rc == MERCER_OK && !(isfinite(kernel->gamma) && kernel->gamma > 0))
            rc = mrc_fail(err, MERCER_ERR_ARGUMENT,
                          "kernel rbf: sigma=%g makes 1/(2 sigma^2) overflow or vanish",
                          kernel->sigma);
    } else if (kernel->gamma == GAMMA_OPEN) {
        kernel->gamma = 1 / (double)rows->d;
    }
    return rc;
}

mercer_status mrc_kernel_format(const mrc_kernel *kernel, char *text, size_t size,
                                mercer_error *err)
{
    mrc_kernel shown = *kernel;
    const mrc_kernel_def *def = &definitions[kernel->kind];
    /* A rounded sigma = sqrt(1/(2 gamma)) need not give gamma back: show the one that does. */
    if (kernel->kind == MRC_KERNEL_rbf) {
        if (0.5 / (kernel->sigma * kernel->sigma) == kernel->gamma)
            shown.gamma = GAMMA_OPEN;
        else
            shown.sigma = SIGMA_MEDIAN;
        return mrc_params_format(def->entry.params, def->entry.name, &shown, 0, text, size, err);
    }
    return mrc_params_format(def->entry.params, def->entry.name, &shown, 1, text, size, err);
}

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

/* The tile for a plain block of prepared rows a (na x d, stride lda) with squared norms. */
static void tile_of_block(const mrc_kernel *kernel, mrc_simd simd, const double *a, int64_t lda,
                          const double *norm_a, int64_t na, const mrc_points *b, int64_t b0,
                          int64_t nb, double *out, int64_t ldo)
{
    const mrc_simd_loops *loops = mrc_simd_loops_for(simd);
    if (kernel->kind == MRC_KERNEL_rbf && b->transposed) {
        loops->gaussian_by_differences(a, na, lda, b->transposed + b0, nb, b->n, b->d,
                                       kernel->gamma, out, ldo);
        return;
    }
    mrc_gemm(false, true, na, nb, b->d, 1, a, lda, b->x + b0 * b->ld, b->ld, 0, out, ldo);
    for (int64_t i = 0; i < na; i++) {
        double *row = out + i * ldo;
        switch (kernel->kind) {
        case MRC_KERNEL_rbf:
            assert(norm_a);
            if (loops->distances_from_dots(row, nb, norm_a[i], b->norm2 + b0))
                repair_distances(a + i * lda, norm_a[i], b, b0, nb, row);
            loops->exponential(row, nb, -kernel->gamma);
            break;
        case MRC_KERNEL_poly:
            loops->power(row, nb, kernel->gamma, kernel->coef0, kernel->degree);
            break;
        case MRC_KERNEL_sigmoid:
            loops->hyperbolic_tangent(row, nb, kernel->gamma, kernel->coef0);
            break;
        default:
            break;
        }
    }
}

void mrc_kernel_tile(const mrc_kernel *kernel, mrc_simd simd, const mrc_points *a, int64_t a0,
                     int64_t na, const mrc_points *b, int64_t b0, int64_t nb, double *out,
                     int64_t ldo)
{
    tile_of_block(kernel, simd, a->x + a0 * a->ld, a->ld, a->norm2 ? a->norm2 + a0 : NULL, na, b,
                  b0, nb, out, ldo);
}

void mrc_kernel_tile_gather(const mrc_kernel *kernel, mrc_simd simd, const mrc_points *a,
                            const int64_t *index, int64_t na, const mrc_points *b, int64_t b0,
                            int64_t nb, double *scratch, double *out, int64_t ldo)
{
    mrc_points rows = mrc_points_gather(a, index, na, scratch);
    mrc_kernel_tile(kernel, simd, &rows, 0, na, b, b0, nb, out, ldo);
}

void mrc_kernel_diag(const mrc_kernel *kernel, const mrc_points *points, int64_t first,
                     int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++) {
        const double *x = points->x + (first + i) * points->ld;
        double dot = 0;
        if (kernel->kind == MRC_KERNEL_rbf) {
            out[i] = 1;
            continue;
        }
        for (int64_t k = 0; k < points->d; k++)
            dot += x[k] * x[k];
        switch (kernel->kind) {
        case MRC_KERNEL_poly:
            out[i] = pow(kernel->gamma * dot + kernel->coef0, (double)kernel->degree);
            break;
        case MRC_KERNEL_sigmoid:
            out[i] = tanh(kernel->gamma * dot + kernel->coef0);
            break;
        case MRC_KERNEL_cosine:
            out[i] = dot > 0 ? 1 : 0;
            break;
        default:
            out[i] = dot;
        }
    }
}
