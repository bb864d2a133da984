/* The named kernels: parameters, formulas, and tiles of values.
 *
 * Of dot products: linear x.y; poly (gamma x.y + coef0)^degree; sigmoid tanh(gamma x.y + coef0),
 * not positive semidefinite; cosine x.y / (|x| |y|), 0 for a zero row. Of the Euclidean distance r:
 * rbf exp(-r^2 / (2 sigma^2)); exponential exp(-r / sigma); matern, with s = sqrt(2 nu) r / sigma,
 * exp(-s), (1 + s) exp(-s), (1 + s + s^2 / 3) exp(-s) for nu = 0.5, 1.5, 2.5, and rbf in the limit;
 * rq (1 + r^2 / (2 alpha sigma^2))^-alpha. Of sums over columns: laplacian exp(-gamma sum |x-y|);
 * chi2 exp(-gamma sum (x-y)^2 / (x+y)) and intersection sum min(x, y), both for values >= 0.
 *
 * Dot products and distances in many dimensions go through GEMM; distances in few dimensions, and
 * the other sums always, are added up column by column: d operations a pair. */
#include "base/number.h"
#include "base/order.h"
#include "kernel/kernel_parts.h"
#include "kernel/pairs.h"
#include "kernel/points.h"
#include "kernel/simd.h"
#include "kernel/sparse.h"
#include "linalg/linalg.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words in the place of a number. */
#define SIGMA_MEDIAN MRC_WORD(0)
#define SIGMA_LEARN MRC_WORD(1)
#define GAMMA_OPEN MRC_WORD(0)

#define MEDIAN_HELP                                                                                \
    "median: the median distance between 512 training rows drawn by the seed; learn: found "       \
    "beside the features, by koca"

static const mrc_param no_params[] = {MRC_PARAM_END};
static const mrc_param poly_params[] = {
    MRC_REAL_OR(mrc_kernel_part, gamma, GAMMA_OPEN, DBL_MIN, DBL_MAX, "auto",
                "factor of the dot product; auto: 1 / columns"),
    MRC_REAL(mrc_kernel_part, coef0, 1, -DBL_MAX, DBL_MAX, "constant added to the dot product"),
    MRC_INT(mrc_kernel_part, degree, 3, 1, 64, "power"), MRC_PARAM_END};
static const mrc_param rbf_params[] = {
    MRC_REAL_OR(mrc_kernel_part, sigma, SIGMA_MEDIAN, DBL_MIN, DBL_MAX, "median|learn",
                "width; " MEDIAN_HELP),
    MRC_REAL_OR(mrc_kernel_part, gamma, GAMMA_OPEN, DBL_MIN, DBL_MAX, "auto",
                "1 / (2 sigma^2), may be given instead of sigma"),
    MRC_PARAM_END};
static const mrc_param laplacian_params[] = {
    MRC_REAL_OR(mrc_kernel_part, gamma, GAMMA_OPEN, DBL_MIN, DBL_MAX, "auto",
                "factor of the distance; auto: 1 / columns"),
    MRC_PARAM_END};
static const mrc_param exponential_params[] = {
    MRC_REAL_OR(mrc_kernel_part, sigma, SIGMA_MEDIAN, DBL_MIN, DBL_MAX, "median|learn",
                "length; " MEDIAN_HELP),
    MRC_REAL_OR(mrc_kernel_part, gamma, GAMMA_OPEN, DBL_MIN, DBL_MAX, "auto",
                "1 / sigma, may be given instead of sigma (kernlab's laplacedot calls it sigma)"),
    MRC_PARAM_END};
enum { NU_HALF, NU_THREE_HALVES, NU_FIVE_HALVES, NU_INFINITE };
static const mrc_param matern_params[] = {
    MRC_REAL_OR(mrc_kernel_part, sigma, SIGMA_MEDIAN, DBL_MIN, DBL_MAX, "median|learn",
                "length; " MEDIAN_HELP),
    MRC_CHOICE(mrc_kernel_part, nu, NU_THREE_HALVES, "0.5|1.5|2.5|inf",
               "smoothness: 0.5 is exponential, inf is rbf"),
    MRC_PARAM_END};
static const mrc_param rq_params[] = {
    MRC_REAL_OR(mrc_kernel_part, sigma, SIGMA_MEDIAN, DBL_MIN, DBL_MAX, "median|learn",
                "length; " MEDIAN_HELP),
    MRC_REAL(mrc_kernel_part, alpha, 1, DBL_MIN, DBL_MAX,
             "power: small ones mix many lengths, large ones come near rbf"),
    MRC_PARAM_END};
static const mrc_param chi2_params[] = {
    MRC_REAL(mrc_kernel_part, gamma, 1, DBL_MIN, DBL_MAX, "factor of the distance"), MRC_PARAM_END};
static const mrc_param sigmoid_params[] = {
    MRC_REAL_OR(mrc_kernel_part, gamma, GAMMA_OPEN, DBL_MIN, DBL_MAX, "auto",
                "factor of the dot product; auto: 1 / columns"),
    MRC_REAL(mrc_kernel_part, coef0, 1, -DBL_MAX, DBL_MAX, "constant added to the dot product"),
    MRC_PARAM_END};

static const mrc_kernel_def definitions[MRC_KERNEL_COUNT + 2] = {
    [MRC_KERNEL_linear] = {{"linear", "dot product: ordinary PCA", "x.y", no_params}, true},
    [MRC_KERNEL_poly] = {{"poly", "polynomial", "(gamma x.y + coef0)^degree", poly_params}, false},
    [MRC_KERNEL_rbf] = {{"rbf", "Gaussian", "exp(-|x-y|^2 / (2 sigma^2))", rbf_params}, true},
    [MRC_KERNEL_laplacian] = {{"laplacian", "exponential of the sum of differences",
                               "exp(-gamma |x-y|_1)", laplacian_params},
                              true},
    [MRC_KERNEL_exponential] = {{"exponential", "exponential of the distance: rougher than rbf",
                                 "exp(-|x-y| / sigma)", exponential_params},
                                true},
    [MRC_KERNEL_matern] = {{"matern", "between exponential and rbf",
                            "nu = 1.5: (1 + s) exp(-s), s = sqrt(3) |x-y| / sigma", matern_params},
                           true},
    [MRC_KERNEL_rq] = {{"rq", "rational quadratic: rbf of many widths",
                        "(1 + |x-y|^2 / (2 alpha sigma^2))^-alpha", rq_params},
                       true},
    [MRC_KERNEL_chi2] = {{"chi2", "for histograms and counts: values >= 0",
                          "exp(-gamma sum (x-y)^2 / (x+y))", chi2_params},
                         true},
    [MRC_KERNEL_intersection] = {{"intersection", "overlap of histograms: values >= 0",
                                  "sum min(x, y)", no_params},
                                 true},
    [MRC_KERNEL_sigmoid] = {{"sigmoid", "hyperbolic tangent, not positive semidefinite",
                             "tanh(gamma x.y + coef0)", sigmoid_params},
                            false},
    [MRC_KERNEL_cosine] = {{"cosine", "angle between rows", "x.y / (|x| |y|)", no_params}, true},
    [MRC_KERNEL_precomputed] = {{"precomputed", "the input is the kernel matrix itself",
                                 "given by the caller", no_params},
                                false},
    [MRC_KERNEL_COMBINED] = {{"combined", "sums and products of kernels", "", no_params}, false},
    [MRC_KERNEL_HOST] = {{"host", "a function of the host program", "", no_params}, false},
};

const mrc_kernel_def *mrc_kernel_def_of(mrc_kernel_kind kind)
{
    return &definitions[kind];
}

bool mrc_part_is_semidefinite(const mrc_kernel_part *kernel)
{
    return definitions[kernel->kind].semidefinite ||
           (kernel->kind == MRC_KERNEL_poly && kernel->coef0 >= 0) ||
           (kernel->kind == MRC_KERNEL_HOST && kernel->host.semidefinite);
}

bool mrc_part_needs_nonnegative(const mrc_kernel_part *kernel)
{
    return kernel->kind == MRC_KERNEL_chi2 || kernel->kind == MRC_KERNEL_intersection;
}

/* sigma and gamma are two forms of one number. */
static bool has_two_forms(const mrc_kernel_part *kernel)
{
    return kernel->kind == MRC_KERNEL_rbf || kernel->kind == MRC_KERNEL_exponential;
}

bool mrc_part_is_open(const mrc_kernel_part *kernel)
{
    bool gamma = kernel->gamma == GAMMA_OPEN;
    bool sigma = kernel->sigma == SIGMA_MEDIAN || kernel->sigma == SIGMA_LEARN;
    return has_two_forms(kernel) ? gamma && sigma : gamma || sigma;
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

static bool is_called(const char *name, const char *spec, size_t length)
{
    return strlen(name) == length && strncmp(name, spec, length) == 0;
}

mercer_status mercer_ctx_add_kernel(mercer_ctx *ctx, const char *name, mercer_kernel_fn fn,
                                    void *host, int semidefinite, mercer_error *err)
{
    MRC_NEED(ctx);
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-";
    mrc_host_kernel *added = &ctx->kernels[ctx->kernel_count];
    size_t length = name ? strlen(name) : 0;
    double number;
    if (!fn || length == 0 || length >= sizeof added->name || strspn(name, allowed) != length ||
        mrc_parse_double(name, length, &number))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "a kernel needs a function and a name of letters, digits, '_' and '-'");
    for (int i = 0; i < MRC_KERNEL_COUNT; i++)
        if (is_called(definitions[i].entry.name, name, length))
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "there is a kernel '%s' already", name);
    for (int i = 0; i < ctx->kernel_count; i++)
        if (is_called(ctx->kernels[i].name, name, length))
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "there is a kernel '%s' already", name);
    if (ctx->kernel_count == MRC_HOST_KERNELS)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "a context takes %d kernels of the host, no more",
                        (int)MRC_HOST_KERNELS);
    *added = (mrc_host_kernel){.fn = fn, .host = host, .semidefinite = semidefinite != 0};
    memcpy(added->name, name, length + 1);
    ctx->kernel_count++;
    return MERCER_OK;
}

mercer_status mrc_part_parse(mrc_kernel_part *kernel, const mercer_ctx *ctx, const char *spec,
                             mercer_error *err)
{
    size_t length = mrc_spec_name_length(spec);
    char what[64];
    memset(kernel, 0, sizeof *kernel);
    for (int i = 0; i < MRC_KERNEL_COUNT; i++) {
        const mrc_kernel_def *def = &definitions[i];
        if (!is_called(def->entry.name, spec, length))
            continue;
        kernel->kind = (mrc_kernel_kind)i;
        snprintf(what, sizeof what, "kernel %s", def->entry.name);
        mrc_params_defaults(def->entry.params, kernel);
        mercer_status rc = mrc_params_parse(def->entry.params, what, spec, kernel, err);
        if (rc == MERCER_OK && has_two_forms(kernel) && kernel->gamma != GAMMA_OPEN &&
            kernel->sigma != SIGMA_MEDIAN)
            rc = mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: give sigma or gamma, not both", what);
        return rc;
    }
    for (int i = 0; ctx && i < ctx->kernel_count; i++)
        if (is_called(ctx->kernels[i].name, spec, length)) {
            kernel->kind = MRC_KERNEL_HOST;
            kernel->host = ctx->kernels[i];
            snprintf(what, sizeof what, "kernel %.50s", kernel->host.name);
            return mrc_params_parse(no_params, what, spec, kernel, err);
        }
    return fail_unknown(spec, err);
}

/* Of two rows times a factor, a power of two. scratch holds two rows where rows are packed. */
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

/* Squares leave the range of doubles where differences do not: rows that differ by 1e-170 are no
 * duplicates. Such pairs are measured again, times a power of two, which is exact: differences are
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

/* floor(n i / parts) for i up to parts. In doubles the quotient would come out below an integer
 * that it is; n is split first, so that the product does not overflow. */
static int64_t stretch_start(int64_t i, int64_t parts, int64_t n)
{
    return n / parts * i + n % parts * i / parts;
}

/* Median distance between the rows of a seeded sample; 1 when all of them are equal. Among many
 * duplicates the median itself may be zero: then the median of the positive distances. */
static mercer_status median_distance(mercer_ctx *ctx, const mercer_rows *rows, double *out,
                                     mercer_error *err)
{
    enum { SAMPLE = 512 };
    int64_t size = rows->n < SAMPLE ? rows->n : SAMPLE, pairs = 0, positive = 0;
    int64_t *chosen = NULL;
    double *distances = NULL, *scratch = NULL;
    mercer_status rc = MERCER_OK;

    if (rows->packed)
        MRC_TRY(mrc_alloc2(&scratch, 2, rows->d, sizeof *scratch, err));
    MRC_TRY(mrc_alloc(&chosen, size, sizeof *chosen, err));
    MRC_TRY(mrc_alloc(&distances, size * (size - 1) / 2, sizeof *distances, err));
    /* One row from each of `size` equal stretches: no duplicates, and no order is favoured. */
    for (int64_t i = 0; i < size; i++) {
        int64_t first = stretch_start(i, size, rows->n);
        int64_t length = stretch_start(i + 1, size, rows->n) - first;
        chosen[i] = first + (length > 1 ? mrc_rng_below(&ctx->rng, length) : 0);
    }
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < i; j++) {
            distances[pairs] = distance(rows, chosen[i], chosen[j], scratch);
            positive += distances[pairs++] > 0;
        }
    *out = positive == 0 ? 1 : mrc_median(distances, pairs);
    if (*out == 0) {
        positive = 0;
        for (int64_t p = 0; p < pairs; p++)
            if (distances[p] > 0)
                distances[positive++] = distances[p];
        *out = mrc_median(distances, positive);
    }
out:
    mrc_free(chosen);
    mrc_free(distances);
    mrc_free(scratch);
    return rc;
}

/* gamma of a sigma. */
static double gamma_of(const mrc_kernel_part *kernel)
{
    return kernel->kind == MRC_KERNEL_rbf ? 0.5 / (kernel->sigma * kernel->sigma)
                                          : 1 / kernel->sigma;
}

/* The factor of the squared distance (matern 0.5: of the distance), which must be a number. */
static double scale_of(const mrc_kernel_part *kernel)
{
    double sigma = kernel->sigma;
    if (kernel->kind == MRC_KERNEL_rq)
        return 0.5 / (kernel->alpha * sigma * sigma);
    if (kernel->kind != MRC_KERNEL_matern)
        return kernel->gamma;
    switch (kernel->nu) {
    case NU_HALF:
        return 1 / sigma;
    case NU_THREE_HALVES:
        return 3 / (sigma * sigma);
    case NU_FIVE_HALVES:
        return 5 / (sigma * sigma);
    default:
        return 0.5 / (sigma * sigma);
    }
}

mercer_status mrc_part_resolve(mrc_kernel_part *kernel, mercer_ctx *ctx, const mercer_rows *rows,
                               double *median, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    bool two_forms = has_two_forms(kernel);
    bool open = kernel->sigma == SIGMA_MEDIAN || kernel->sigma == SIGMA_LEARN;
    bool from_rows = open && !(two_forms && kernel->gamma != GAMMA_OPEN);
    if (from_rows) {
        if (*median == 0)
            rc = median_distance(ctx, rows, median, err);
        if (rc != MERCER_OK)
            return rc;
        kernel->sigma = *median;
    }
    if (two_forms && kernel->gamma != GAMMA_OPEN)
        kernel->sigma =
            kernel->kind == MRC_KERNEL_rbf ? sqrt(0.5 / kernel->gamma) : 1 / kernel->gamma;
    else if (two_forms)
        kernel->gamma = gamma_of(kernel);
    else if (kernel->gamma == GAMMA_OPEN)
        kernel->gamma = 1 / (double)rows->d;
    double scale = scale_of(kernel);
    if (kernel->sigma != 0 && !(isfinite(scale) && scale > 0 && isfinite(kernel->sigma)))
        rc = mrc_fail(err, from_rows ? MERCER_ERR_DATA : MERCER_ERR_ARGUMENT,
                      "kernel %s: sigma=%g%s makes %s overflow or vanish%s",
                      definitions[kernel->kind].entry.name, kernel->sigma,
                      from_rows ? ", the median distance between rows," : "",
                      kernel->kind == MRC_KERNEL_exponential ? "1/sigma" : "1/(2 sigma^2)",
                      from_rows ? "; scale the columns" : "");
    return rc;
}

bool mrc_part_learns_width(const mrc_kernel_part *kernel)
{
    return kernel->sigma == SIGMA_LEARN;
}

void mrc_kernel_set_width(mrc_kernel *kernel, double sigma)
{
    kernel->sigma = sigma;
    if (has_two_forms(&kernel->own))
        kernel->gamma = gamma_of(&kernel->own);
}

mercer_status mrc_part_format(const mrc_kernel_part *kernel, char *text, size_t size,
                              mercer_error *err)
{
    mrc_kernel_part shown = *kernel;
    const mrc_kernel_def *def = &definitions[kernel->kind];
    if (kernel->kind == MRC_KERNEL_HOST)
        return mrc_params_format(no_params, kernel->host.name, &shown, 0, text, size, err);
    /* A rounded sigma = sqrt(1/(2 gamma)) need not give gamma back: show the one that does. */
    if (has_two_forms(kernel)) {
        if (gamma_of(kernel) == kernel->gamma)
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

double mrc_part_rank_limit(const mrc_kernel_part *kernel, int64_t d)
{
    if (kernel->kind == MRC_KERNEL_linear || kernel->kind == MRC_KERNEL_cosine)
        return (double)d;
    if (kernel->kind != MRC_KERNEL_poly)
        return INFINITY;
    /* Monomials of degree p in d variables, or in d + 1 when there is a constant. */
    double count = 1, variables = (double)(kernel->coef0 != 0 ? d + 1 : d);
    for (int64_t k = 1; k <= kernel->degree && isfinite(count); k++)
        count *= (variables + (double)k - 1) / (double)k;
    return count;
}

static bool is_of_distance(mrc_kernel_kind kind)
{
    return kind == MRC_KERNEL_rbf || kind == MRC_KERNEL_exponential || kind == MRC_KERNEL_matern ||
           kind == MRC_KERNEL_rq;
}

/* Kernel values in the place of squared distances. */
static void values_of_distances(const mrc_kernel_part *kernel, const mrc_simd_loops *loops,
                                double *row, int64_t nb)
{
    double scale = scale_of(kernel);
    if (kernel->kind == MRC_KERNEL_rq)
        loops->rational(row, nb, scale, kernel->alpha);
    else if (kernel->kind == MRC_KERNEL_exponential ||
             (kernel->kind == MRC_KERNEL_matern && kernel->nu == NU_HALF))
        loops->exponential_of_root(row, nb, -scale);
    else if (kernel->kind == MRC_KERNEL_matern && kernel->nu != NU_INFINITE)
        loops->matern(row, nb, scale, kernel->nu);
    else
        loops->exponential(row, nb, -scale);
}

/* Kernel values in the place of the sums over columns that they are functions of: of squared
 * distances, other distances or products. */
static void values_of_sums(const mrc_kernel_part *kernel, const mrc_simd_loops *loops, double *row,
                           int64_t nb)
{
    if (is_of_distance(kernel->kind))
        values_of_distances(kernel, loops, row, nb);
    else if (kernel->kind == MRC_KERNEL_poly)
        loops->power(row, nb, kernel->gamma, kernel->coef0, kernel->degree);
    else if (kernel->kind == MRC_KERNEL_sigmoid)
        loops->hyperbolic_tangent(row, nb, kernel->gamma, kernel->coef0);
    else if (kernel->kind == MRC_KERNEL_laplacian || kernel->kind == MRC_KERNEL_chi2)
        loops->exponential(row, nb, -kernel->gamma);
}

static mrc_column_term column_term_of(mrc_kernel_kind kind)
{
    return kind == MRC_KERNEL_laplacian      ? MRC_TERM_ABSOLUTE
           : kind == MRC_KERNEL_chi2         ? MRC_TERM_CHI2
           : kind == MRC_KERNEL_intersection ? MRC_TERM_LEAST
                                             : MRC_TERM_SQUARE;
}

static mrc_shared_term shared_term_of(mrc_kernel_kind kind)
{
    return kind == MRC_KERNEL_laplacian      ? MRC_SHARED_ABSOLUTE
           : kind == MRC_KERNEL_chi2         ? MRC_SHARED_CHI2
           : kind == MRC_KERNEL_intersection ? MRC_SHARED_LEAST
                                             : MRC_SHARED_PRODUCT;
}

/* The tile as sums over columns. */
static void tile_of_columns(const mrc_kernel_part *kernel, const mrc_simd_loops *loops,
                            const double *a, int64_t lda, int64_t na, const mrc_points *b,
                            int64_t b0, int64_t nb, double *out, int64_t ldo)
{
    mrc_column_term term = column_term_of(kernel->kind);
    loops->column_sums(term, a, na, lda, b->transposed + b0, nb, b->n, b->d, out, ldo);
    for (int64_t i = 0; i < na; i++)
        values_of_sums(kernel, loops, out + i * ldo, nb);
}

/* The tile for a plain block of prepared rows a (na x d, stride lda) with squared norms. */
static void tile_of_block(const mrc_kernel_part *kernel, mrc_simd simd, const double *a,
                          int64_t lda, const double *norm_a, int64_t na, const mrc_points *b,
                          int64_t b0, int64_t nb, double *out, int64_t ldo)
{
    const mrc_simd_loops *loops = mrc_simd_loops_for(simd);
    if (kernel->kind == MRC_KERNEL_HOST) {
        kernel->host.fn(kernel->host.host, a, na, lda, b->x + b0 * b->ld, nb, b->ld, b->d, out,
                        ldo);
        return;
    }
    if (kernel->kind == MRC_KERNEL_rbf && b->transposed) {
        loops->gaussian_by_differences(a, na, lda, b->transposed + b0, nb, b->n, b->d,
                                       kernel->gamma, out, ldo);
        return;
    }
    if (b->transposed) {
        tile_of_columns(kernel, loops, a, lda, na, b, b0, nb, out, ldo);
        return;
    }
    mrc_gemm(false, true, na, nb, b->d, 1, a, lda, b->x + b0 * b->ld, b->ld, 0, out, ldo);
    for (int64_t i = 0; i < na; i++) {
        double *row = out + i * ldo;
        if (is_of_distance(kernel->kind)) {
            assert(norm_a);
            if (loops->distances_from_dots(row, nb, norm_a[i], b->norm2 + b0))
                repair_distances(a + i * lda, norm_a[i], b, b0, nb, row);
        }
        values_of_sums(kernel, loops, row, nb);
    }
}

/* Distances, as in mrc_simd_loops, of one sparse row from sums over shared columns. */
static void sparse_distances(mrc_column_term term, const mrc_simd_loops *loops, const mrc_points *a,
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
    bool of_columns = kernel->kind == MRC_KERNEL_laplacian || kernel->kind == MRC_KERNEL_chi2;
    mrc_sparse_sums(shared_term_of(kernel->kind), a, a0, na, b, b0, nb, out, ldo);
    for (int64_t i = 0; i < na; i++) {
        double *row = out + i * ldo;
        if (of_columns || is_of_distance(kernel->kind))
            sparse_distances(column_term_of(kernel->kind), loops, a, a0 + i, b, b0, nb, row);
        values_of_sums(kernel, loops, row, nb);
    }
}

/* The tile from sums that are known; false when they are not. */
static bool tile_of_pairs(const mrc_kernel_part *kernel, mrc_simd simd, const mrc_points *a,
                          int64_t a0, int64_t na, const mrc_points *b, int64_t b0, int64_t nb,
                          double *out, int64_t ldo)
{
    int sum = mrc_pair_sum_of(kernel->kind);
    if (!a->pairs || a->pairs != b->pairs || sum < 0 || !a->pairs->sums[sum])
        return false;
    const mrc_simd_loops *loops = mrc_simd_loops_for(simd);
    for (int64_t i = 0; i < na; i++) {
        const double *from = a->pairs->sums[sum] + a->place[a0 + i] * a->pairs->n;
        double *row = out + i * ldo;
        for (int64_t j = 0; j < nb; j++)
            row[j] = from[b->place[b0 + j]];
        values_of_sums(kernel, loops, row, nb);
    }
    return true;
}

void mrc_part_tile(const mrc_kernel_part *kernel, mrc_simd simd, const mrc_points *a, int64_t a0,
                   int64_t na, const mrc_points *b, int64_t b0, int64_t nb, double *out,
                   int64_t ldo)
{
    if (tile_of_pairs(kernel, simd, a, a0, na, b, b0, nb, out, ldo))
        return;
    if (mrc_points_are_sparse(b)) {
        sparse_tile(kernel, simd, a, a0, na, b, b0, nb, out, ldo);
        return;
    }
    tile_of_block(kernel, simd, a->x + a0 * a->ld, a->ld, a->norm2 ? a->norm2 + a0 : NULL, na, b,
                  b0, nb, out, ldo);
}

/* A number of a packed point, whose length does not matter here. */
static double packed_value(const mrc_points *points, int64_t i, int64_t k)
{
    return mrc_rows_at(points->packed, i, k) - (points->shift ? points->shift[k] : 0.0);
}

void mrc_part_diag(const mrc_kernel_part *kernel, const mrc_points *points, int64_t first,
                   int64_t count, double *out)
{
    for (int64_t i = 0; i < count; i++) {
        double dot = 0;
        if (is_of_distance(kernel->kind) || kernel->kind == MRC_KERNEL_laplacian ||
            kernel->kind == MRC_KERNEL_chi2) {
            out[i] = 1;
            continue;
        }
        if (kernel->kind == MRC_KERNEL_HOST) {
            const double *x = points->x + (first + i) * points->ld;
            kernel->host.fn(kernel->host.host, x, 1, points->ld, x, 1, points->ld, points->d,
                            out + i, 1);
            continue;
        }
        mrc_sparse_row row = {.count = points->d};
        if (!points->packed)
            row = mrc_any_row_of(points, first + i);
        for (int64_t k = 0; k < row.count; k++) {
            double x = points->packed ? packed_value(points, first + i, k) : row.value[k];
            dot += kernel->kind == MRC_KERNEL_intersection ? x : x * x;
        }
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
