/* SPDX-License-Identifier: BSD-3-Clause */
/* Leading eigenpairs of a symmetric operator by a block Krylov method.
 *
 * T = Q'AQ is a true Rayleigh-Ritz matrix. When the image AQ is kept beside the basis Q (2 n m
 * doubles instead of n m), the true residuals |A u - lambda u| need no more application; else one
 * is spent on them at the end. A thick restart only multiplies both by the kept Ritz vectors. Each
 * step applies A to a block of b vectors, then makes the new directions orthogonal to all of Q
 * (twice: once loses digits, see Parlett's "twice is enough"). A block that has lost rank is filled
 * up with random directions.
 *
 * From s random starting vectors a Krylov space holds at most s copies of a multiple eigenvalue. So
 * when s Ritz values coincide there may be more: then a fresh random block is started beside the
 * pairs found, until some copies are fewer than the starts.
 *
 * Rows that are spread over ranks: sums over the rows are by parts, small eigenproblems and what
 * logarithms say are rank 0's. So all ranks take the same decisions.
 *
 * Cost: passes x (one application) + O(n m^2). */
#include "linalg/linalg.h"

#include "base/running.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct krylov {
    mercer_ctx *ctx;
    const mrc_operator *op;
    const mrc_krylov_options *options;
    mrc_span span;
    int64_t n, block, capacity; /* n: rows here; capacity: columns allocated for q and aq */
    int64_t size;               /* columns of q whose image is known */
    double *q, *aq;             /* n x capacity; aq is NULL when images are not kept */
    double *next, *image;       /* n x block: the new directions, and their image */
    double *t;                  /* capacity x capacity: Q'AQ */
    double *ritz, *theta;       /* eigenvectors (rows, increasing) and eigenvalues of t */
    double *small;              /* capacity x block: coefficients of a projection */
    double *gram, *gram_values; /* block x block */
    double *residual_gram;      /* block x block: E'E of the part of the image outside Q */
    double *noise2;             /* block: squared length below which a column of E is rounding */
    int64_t starts;             /* random directions the basis was grown from */
    uint64_t seed;              /* of their entries */
    double smallest;
    int64_t passes;
};

static mercer_status krylov_init(struct krylov *k, mercer_error *err)
{
    int64_t n = k->n, c = k->capacity, b = k->block;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&k->q, n, c, sizeof *k->q, err));
    if (k->options->keep_images)
        MRC_TRY(mrc_alloc2_raw(&k->aq, n, c, sizeof *k->aq, err));
    MRC_TRY(mrc_alloc2(&k->next, n, b, sizeof *k->next, err));
    MRC_TRY(mrc_alloc2(&k->image, n, b, sizeof *k->image, err));
    MRC_TRY(mrc_alloc2(&k->t, c, c, sizeof *k->t, err));
    MRC_TRY(mrc_alloc2(&k->ritz, c, c, sizeof *k->ritz, err));
    MRC_TRY(mrc_alloc(&k->theta, c, sizeof *k->theta, err));
    MRC_TRY(mrc_alloc2(&k->small, c, b, sizeof *k->small, err));
    MRC_TRY(mrc_alloc2(&k->gram, b, b, sizeof *k->gram, err));
    MRC_TRY(mrc_alloc(&k->gram_values, b, sizeof *k->gram_values, err));
    MRC_TRY(mrc_alloc2(&k->residual_gram, b, b, sizeof *k->residual_gram, err));
    MRC_TRY(mrc_alloc(&k->noise2, b, sizeof *k->noise2, err));
out:
    return rc;
}

static void krylov_destroy(struct krylov *k)
{
    mrc_free(k->q);
    mrc_free(k->aq);
    mrc_free(k->next);
    mrc_free(k->image);
    mrc_free(k->t);
    mrc_free(k->ritz);
    mrc_free(k->theta);
    mrc_free(k->small);
    mrc_free(k->gram);
    mrc_free(k->gram_values);
    mrc_free(k->residual_gram);
    mrc_free(k->noise2);
}

/* next -= Q (Q' next) over the first `size` columns. */
static mercer_status project_out(struct krylov *k, mercer_error *err)
{
    int64_t b = k->block;
    if (k->size == 0)
        return MERCER_OK;
    mercer_status rc = mrc_tall_product_of_span(k->ctx, k->q, k->size, k->capacity, k->next, b, b,
                                                &k->span, k->small, err);
    if (rc == MERCER_OK)
        rc = mrc_tall_times_of_span(k->ctx, &k->span, b, k->size, -1, k->q, k->capacity, k->small,
                                    b, 1, k->next, b, err);
    return rc;
}

static void randomise_column(struct krylov *k, int64_t column)
{
    for (int64_t i = 0; i < k->n; i++)
        k->next[i * k->block + column] =
            mrc_rng_normal_at(k->seed, (uint64_t)k->starts, (uint64_t)(k->span.first + i));
    k->starts++;
}

/* Eigenvalue ratio of a Gram matrix of columns beyond which small directions drown in the rounding
 * of large ones, and columns must be made orthogonal one by one. */
static const double ILL_CONDITIONED = 1e-8;

/* A column of next, and those before it. */
struct column {
    struct krylov *k;
    int64_t j;
    const double *dots; /* its products with those before */
};

static void add_dots(void *arg, int64_t first, int64_t end, double *sums, int worker)
{
    const struct column *w = arg;
    const int64_t b = w->k->block;
    (void)worker;
    for (int64_t r = first; r < end; r++)
        for (int64_t i = 0; i < w->j; i++)
            sums[i] += w->k->next[r * b + i] * w->k->next[r * b + w->j];
}

static void subtract_part(void *arg, int64_t first, int64_t end, double *sum, int worker)
{
    const struct column *w = arg;
    const int64_t b = w->k->block;
    (void)worker;
    for (int64_t r = first; r < end; r++) {
        double value = w->k->next[r * b + w->j];
        for (int64_t i = 0; i < w->j; i++)
            value -= w->k->next[r * b + i] * w->dots[i];
        w->k->next[r * b + w->j] = value;
        *sum += value * value;
    }
}

/* next[:, j] -= sum over i < j of next[:, i] (next[:, i] . next[:, j]); *length2: its squared
 * length. */
static mercer_status subtract_earlier(struct krylov *k, int64_t j, double *length2,
                                      mercer_error *err)
{
    const double flops = 2 * (double)k->n * (double)j;
    double *dots = k->small;
    struct column w = {.k = k, .j = j, .dots = dots};
    mercer_status rc = MERCER_OK;
    if (j > 0)
        MRC_TRY(mrc_sum_span(k->ctx, &k->span, j, flops, flops, 0, add_dots, &w, dots, err));
    MRC_TRY(mrc_sum_span(k->ctx, &k->span, 1, flops, flops, 0, subtract_part, &w, length2, err));
out:
    return rc;
}

/* Orthonormal columns one after the other: keeps a direction that is 1e-8 of the others, which a
 * factorisation of next' next would lose. A column that is only rounding becomes a random one. */
static mercer_status gram_schmidt(struct krylov *k, mercer_error *err)
{
    int64_t n = k->n, b = k->block;
    double length2;
    mercer_status rc = MERCER_OK;
    for (int64_t j = 0; j < b; j++) {
        MRC_TRY(subtract_earlier(k, j, &length2, err));
        if (length2 < 64 * 64 * DBL_EPSILON * DBL_EPSILON) {
            randomise_column(k, j);
            MRC_TRY(subtract_earlier(k, j, &length2, err));
        }
        for (int pass = 0; pass < 2; pass++) {
            double factor = 1 / sqrt(length2);
            for (int64_t r = 0; r < n; r++)
                k->next[r * b + j] *= factor;
            MRC_TRY(subtract_earlier(k, j, &length2, err));
        }
    }
out:
    return rc;
}

/* Replace next by an orthonormal basis of the span of its columns. Columns that are rounding noise
 * (squared length at most noise2, when given) are replaced by random ones.
 * *unsettled: some were, or some had lost most of a length of one in the projection before; then
 * what is left need not be orthogonal to Q yet. */
static mercer_status orthonormalise(struct krylov *k, const double *noise2, bool *unsettled,
                                    mercer_error *err)
{
    int64_t b = k->block, n = k->n;
    double *scaled = k->image; /* free at this point */
    mercer_status rc = MERCER_OK;

    *unsettled = false;
    MRC_TRY(mrc_gram_of_span(k->ctx, k->next, &k->span, b, b, 0, k->gram, err));
    /* Columns of very different length are normal here: scale them to length one first. */
    for (int64_t j = 0; j < b; j++) {
        double length2 = k->gram[j * b + j], factor = 1 / sqrt((double)k->span.total);
        if (length2 > fmax(noise2 ? noise2[j] : 0, DBL_MIN))
            factor = 1 / sqrt(length2);
        else
            randomise_column(k, j);
        *unsettled |= factor != 1 / sqrt(length2) || (!noise2 && length2 < 0.25);
        for (int64_t i = 0; i < n; i++)
            k->next[i * b + j] *= factor;
    }
    MRC_TRY(mrc_gram_of_span(k->ctx, k->next, &k->span, b, b, 0, k->gram, err));
    MRC_TRY(mrc_eigen_symmetric_of_all(k->ctx, &k->span, b, k->gram, k->gram_values, err));
    if (k->gram_values[0] <= ILL_CONDITIONED * k->gram_values[b - 1]) {
        MRC_TRY(gram_schmidt(k, err));
        *unsettled = true;
        goto out;
    }
    /* Rows of gram are eigenvectors: U Lambda^-1/2. */
    for (int64_t j = 0; j < b; j++)
        for (int64_t i = 0; i < b; i++)
            k->small[i * b + j] = k->gram[j * b + i] / sqrt(k->gram_values[j]);
    MRC_TRY(mrc_tall_times_of_span(k->ctx, &k->span, b, b, 1, k->next, b, k->small, b, 0, scaled, b,
                                   err));
    memcpy(k->next, scaled, (size_t)(n * b) * sizeof *scaled);
out:
    return rc;
}

/* Make next orthonormal and orthogonal to Q. After a step its first projection is done already. */
static mercer_status prepare_next(struct krylov *k, bool projected, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    /* Two rounds always; more only while one was not settled. */
    for (int round = 0, settled = 0; settled < 2 && round < 8; round++) {
        bool first = round == 0, unsettled;
        if (!first || !projected)
            MRC_TRY(project_out(k, err));
        MRC_TRY(orthonormalise(k, first && projected ? k->noise2 : NULL, &unsettled, err));
        settled = unsettled ? 0 : settled + 1;
    }
out:
    return rc;
}

/* Apply A to next, append both to the basis, and extend T. Leaves the part of the image outside
 * the basis in next and its Gram matrix in residual_gram. */
static mercer_status extend(struct krylov *k, mercer_error *err)
{
    int64_t n = k->n, b = k->block, c = k->capacity, at = k->size;
    mercer_status rc = MERCER_OK;

    MRC_TRY(k->op->apply(k->op->self, k->next, b, k->image, err));
    k->passes++;
    for (int64_t i = 0; i < n; i++) {
        memcpy(k->q + i * c + at, k->next + i * b, (size_t)b * sizeof *k->q);
        if (k->aq)
            memcpy(k->aq + i * c + at, k->image + i * b, (size_t)b * sizeof *k->aq);
    }
    k->size += b;
    MRC_TRY(mrc_tall_product_of_span(k->ctx, k->q, k->size, c, k->image, b, b, &k->span, k->small,
                                     err));
    for (int64_t i = 0; i < k->size; i++)
        for (int64_t j = 0; j < b; j++) {
            double value = k->small[i * b + j];
            if (i >= at) /* the block on the diagonal: symmetric up to rounding, make it so */
                value = 0.5 * (value + k->small[(at + j) * b + (i - at)]);
            k->t[i * c + at + j] = value;
            k->t[(at + j) * c + i] = value;
        }
    for (int64_t j = 0; j < b; j++) { /* what the projection below cannot separate from rounding */
        double length2 = 0;
        for (int64_t i = 0; i < k->size; i++)
            length2 += k->small[i * b + j] * k->small[i * b + j];
        k->noise2[j] = 64 * 64 * DBL_EPSILON * DBL_EPSILON * length2;
    }
    memcpy(k->next, k->image, (size_t)(n * b) * sizeof *k->next);
    MRC_TRY(mrc_tall_times_of_span(k->ctx, &k->span, b, k->size, -1, k->q, c, k->small, b, 1,
                                   k->next, b, err));
    MRC_TRY(mrc_gram_of_span(k->ctx, k->next, &k->span, b, b, 0, k->residual_gram, err));
out:
    return rc;
}

static mercer_status rayleigh_ritz(struct krylov *k, mercer_error *err)
{
    int64_t m = k->size;
    for (int64_t i = 0; i < m; i++)
        memcpy(k->ritz + i * m, k->t + i * k->capacity, (size_t)m * sizeof *k->ritz);
    for (int64_t i = 0; i < m; i++)
        if (!isfinite(k->t[i * k->capacity + i]))
            return mrc_fail(err, MERCER_ERR_NUMERIC,
                            "products with the kernel matrix are not finite");
    mercer_status rc = mrc_eigen_symmetric_of_all(k->ctx, &k->span, m, k->ritz, k->theta, err);
    if (rc == MERCER_OK && k->theta[0] < k->smallest)
        k->smallest = k->theta[0];
    return rc;
}

/* j-th largest Ritz value, and its residual estimated from the last block. */
static double ritz_value(const struct krylov *k, int64_t j)
{
    return k->theta[k->size - 1 - j];
}

static double ritz_residual(const struct krylov *k, int64_t j)
{
    int64_t b = k->block, m = k->size;
    const double *y = k->ritz + (m - 1 - j) * m + (m - b);
    double sum = 0;
    for (int64_t r = 0; r < b; r++)
        for (int64_t s = 0; s < b; s++)
            sum += y[r] * k->residual_gram[r * b + s] * y[s];
    return sqrt(fmax(sum, 0));
}

/* The number of leading pairs wanted, as far as the present Ritz values tell; `open` is set when
 * the target is not reached yet, `exhausted` when no Ritz value above the floor is left for it. */
static int64_t pairs_wanted(const struct krylov *k, bool *open, bool *exhausted)
{
    const mrc_krylov_options *o = k->options;
    int64_t most = o->count > 0 ? o->count : k->size, j = 0;
    double sum = 0;
    *open = *exhausted = false;
    for (; j < most && j < k->size; j++) {
        if (ritz_value(k, j) <= o->floor) {
            *exhausted = true;
            return j;
        }
        if (o->count == 0 && sum >= o->target)
            return j;
        sum += ritz_value(k, j);
    }
    *open = o->count > 0 ? j < most : sum < o->target;
    return j;
}

/* Copy the `keep` leading Ritz vectors as columns into s (size x keep). */
static void leading_vectors(const struct krylov *k, int64_t keep, double *s)
{
    int64_t m = k->size;
    for (int64_t j = 0; j < keep; j++)
        for (int64_t i = 0; i < m; i++)
            s[i * keep + j] = k->ritz[(m - 1 - j) * m + i];
}

/* Shrink the basis to its `keep` leading Ritz vectors. next stays orthogonal to it. */
static mercer_status restart(struct krylov *k, int64_t keep, mercer_error *err)
{
    int64_t n = k->n, c = k->capacity, m = k->size;
    double *s = NULL, *strip = NULL;
    mercer_status rc = MERCER_OK;
    enum { ROWS = 1024 };

    MRC_TRY(mrc_alloc2(&s, m, keep, sizeof *s, err));
    MRC_TRY(mrc_alloc2(&strip, ROWS, keep, sizeof *strip, err));
    leading_vectors(k, keep, s);
    double *both[2] = {k->q, k->aq};
    for (int which = 0; which < 2 && both[which]; which++)
        for (int64_t i = 0; i < n; i += ROWS) {
            int64_t rows = n - i < ROWS ? n - i : ROWS;
            double *part = both[which] + i * c;
            MRC_TRY(mrc_tall_times_checked(k->ctx, rows, keep, m, 1, part, c, s, keep, 0, strip,
                                           keep, err));
            for (int64_t r = 0; r < rows; r++)
                memcpy(part + r * c, strip + r * keep, (size_t)keep * sizeof *strip);
        }
    memset(k->t, 0, (size_t)(c * c) * sizeof *k->t);
    for (int64_t j = 0; j < keep; j++)
        k->t[j * c + j] = ritz_value(k, j);
    k->size = keep;
out:
    mrc_free(s);
    mrc_free(strip);
    return rc;
}

/* Images of some of the pairs, and the pairs. */
struct residuals {
    const mrc_krylov_result *pairs;
    const double *image;
    int64_t first, b, count;
};

static void add_residuals(void *arg, int64_t begin, int64_t end, double *sums, int worker)
{
    const struct residuals *w = arg;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < w->b; j++) {
            const int64_t at = w->first + j;
            double r = w->image[i * w->b + j] -
                       w->pairs->values[at] * w->pairs->vectors[i * w->count + at];
            sums[j] += r * r;
        }
}

/* Largest |A u - lambda u| of `count` pairs, a block of them at a time: A u comes from the kept
 * images and s (size x count), the Ritz vectors; or from one more application. */
static mercer_status largest_residual(struct krylov *k, const mrc_krylov_result *pairs,
                                      int64_t count, const double *s, double *largest,
                                      mercer_error *err)
{
    int64_t n = k->n;
    double *in = NULL, *image = k->image; /* free at this point */
    mercer_status rc = MERCER_OK;

    *largest = 0;
    if (!k->aq)
        MRC_TRY(mrc_alloc2_raw(&in, n, k->block, sizeof *in, err));
    for (int64_t first = 0; first < count; first += k->block) {
        int64_t b = count - first < k->block ? count - first : k->block;
        const double flops = 3 * (double)n * (double)b;
        struct residuals w = {
            .pairs = pairs, .image = image, .first = first, .b = b, .count = count};
        double *norms = k->gram_values;
        for (int64_t i = 0; in && i < n; i++)
            memcpy(in + i * b, pairs->vectors + i * count + first, (size_t)b * sizeof *in);
        if (in) {
            MRC_TRY(k->op->apply(k->op->self, in, b, image, err));
            k->passes++;
        } else {
            MRC_TRY(mrc_tall_times_of_span(k->ctx, &k->span, b, k->size, 1, k->aq, k->capacity,
                                           s + first, count, 0, image, b, err));
        }
        MRC_TRY(mrc_sum_span(k->ctx, &k->span, b, flops, flops, 0, add_residuals, &w, norms, err));
        for (int64_t j = 0; j < b; j++)
            *largest = fmax(*largest, sqrt(norms[j]));
    }
out:
    mrc_free(in);
    return rc;
}

/* Vectors and true residuals of the `count` leading pairs. */
static mercer_status extract(struct krylov *k, int64_t count, mrc_krylov_result *out,
                             mercer_error *err)
{
    int64_t n = k->n, m = k->size, c = k->capacity;
    double *s = NULL;
    mercer_status rc = MERCER_OK;

    mrc_krylov_result_destroy(out);
    MRC_TRY(mrc_alloc2(&s, m, count, sizeof *s, err));
    MRC_TRY(mrc_alloc2_raw(&out->vectors, n, count, sizeof *out->vectors, err));
    MRC_TRY(mrc_alloc(&out->values, count, sizeof *out->values, err));
    leading_vectors(k, count, s);
    MRC_TRY(mrc_tall_times_of_span(k->ctx, &k->span, count, m, 1, k->q, c, s, count, 0,
                                   out->vectors, count, err));
    for (int64_t j = 0; j < count; j++)
        out->values[j] = ritz_value(k, j);
    MRC_TRY(largest_residual(k, out, count, s, &out->residual, err));
    out->residual /= fmax(fabs(ritz_value(k, 0)), DBL_MIN);
    out->count = count;
out:
    mrc_free(s);
    return rc;
}

/* The tolerance, but not below what rounding in the products allows. */
static double tolerance_of(const struct krylov *k)
{
    double scale = fmax(fabs(ritz_value(k, 0)), DBL_MIN);
    return fmax(k->options->tolerance, k->options->rounding / scale);
}

/* The largest number of leading Ritz values that coincide. */
static int64_t largest_cluster(const struct krylov *k, int64_t wanted)
{
    /* The error of a Ritz value is the square of that of its vector: with four digits of this one
     * it is as small. A larger share sees clusters in any dense spectrum, a smaller one misses them
     * until they have converged. */
    static const double COINCIDE = 1e-8;
    double near = COINCIDE * fabs(ritz_value(k, 0));
    int64_t largest = 0, size = 1;
    for (int64_t j = 0; j < wanted; j++) {
        size = j > 0 && ritz_value(k, j - 1) - ritz_value(k, j) <= near ? size + 1 : 1;
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* Whether the leading `wanted` pairs have small residuals by the estimate; *worst is the largest
 * one relative to the largest eigenvalue. */
static bool looks_converged(const struct krylov *k, int64_t wanted, double *worst)
{
    double scale = fmax(fabs(ritz_value(k, 0)), DBL_MIN);
    *worst = 0;
    for (int64_t j = 0; j < wanted; j++)
        *worst = fmax(*worst, ritz_residual(k, j) / scale);
    return *worst <= tolerance_of(k);
}

/* When fewer pairs than asked exceed the floor, the next Ritz pair below it must be settled too:
 * only then is the rank known. */
static bool rank_settled(const struct krylov *k, int64_t wanted)
{
    return wanted < k->size && ritz_residual(k, wanted) <= fmax(k->options->floor, DBL_MIN);
}

/* When to look at the Ritz values again. A look costs O(m^3), often more than a step, and residuals
 * fall by a steady factor per column: the last two looks tell when the tolerance is due. */
struct outlook {
    int64_t size;    /* columns at the last look */
    double residual; /* and its worst residual, 0 when not known */
    int64_t next;    /* columns at which to look again */
};

static void outlook_plan(struct outlook *o, int64_t size, double residual, double tolerance)
{
    int64_t ahead = size / 6;
    if (residual > 0 && o->residual > residual && size > o->size) {
        double per_column = log(o->residual / residual) / (double)(size - o->size);
        double missing = log(residual / tolerance) / per_column;
        int64_t most = size / 3;
        ahead = missing < (double)most ? (int64_t)missing : most;
    }
    *o = (struct outlook){.size = size, .residual = residual, .next = size + ahead};
}

mercer_status mrc_krylov_eigen(mercer_ctx *ctx, const mrc_operator *op,
                               const mrc_krylov_options *options, mrc_krylov_result *out,
                               mercer_error *err)
{
    /* Passes after which a residual that still misses the tolerance is a failure. */
    enum { MAX_PASSES = 2000 };
    struct krylov k = {.ctx = ctx,
                       .op = op,
                       .options = options,
                       .span = op->span,
                       .n = op->span.n,
                       .block = options->block,
                       .capacity = options->most_columns,
                       .seed = mrc_rng_next(&ctx->rng),
                       .smallest = DBL_MAX};
    struct outlook look = {.next = options->count + options->block};
    double worst = 1, first_worst = 0;
    int64_t hold = 0; /* passes before which a fresh start cannot have shown what it holds */
    bool projected = false;
    mercer_status rc = MERCER_OK;

    memset(out, 0, sizeof *out);
    MRC_TRY(krylov_init(&k, err));
    for (int64_t j = 0; j < k.block; j++)
        randomise_column(&k, j);
    for (;;) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(prepare_next(&k, projected, err));
        MRC_TRY(extend(&k, err));
        projected = true;
        bool full = k.size + k.block > k.capacity;
        if (!full && (k.size < look.next || k.passes < hold))
            continue;
        MRC_TRY(rayleigh_ritz(&k, err));
        bool open, exhausted;
        int64_t wanted = pairs_wanted(&k, &open, &exhausted);
        double tolerance = tolerance_of(&k);
        bool done = !open && looks_converged(&k, wanted, &worst) &&
                    (!exhausted || rank_settled(&k, wanted)) && k.passes >= hold;
        if (!open) {
            first_worst = first_worst > 0 ? first_worst : fmax(worst, 1e-3);
            double share = log(fmax(worst, tolerance) / tolerance) / log(first_worst / tolerance);
            mrc_progress(ctx, options->phase, fmin(fmax(1 - share, 0), 1));
        }
        outlook_plan(&look, k.size, open ? 0 : worst, tolerance);
        MRC_TRY(mrc_decide(ctx, &k.span, &look.next, sizeof look.next, err));
        bool copies = done && largest_cluster(&k, wanted) >= k.starts && k.starts < k.span.total;
        bool room = wanted + 2 * k.block <= k.capacity;
        if (copies && !room && exhausted && options->count == 0) {
            mrc_krylov_result_destroy(out); /* more copies may make up the share */
            break;
        }
        if (copies && room) {
            /* There may be more copies: keep what was found and start once more beside it. */
            int64_t keep = wanted + k.block, most = k.capacity - 2 * k.block;
            most = most < k.size ? most : k.size;
            MRC_TRY(restart(&k, keep < most ? keep : most, err));
            hold = k.passes + (k.passes > 6 ? k.passes / 2 : 3);
            for (int64_t j = 0; j < k.block; j++)
                randomise_column(&k, j);
            projected = false;
            look = (struct outlook){.size = k.size, .next = k.size + k.block};
            continue;
        }
        if (done) {
            MRC_TRY(extract(&k, wanted, out, err));
            /* The estimate leans on exact orthogonality; the true residual decides. */
            if (out->residual <= 4 * tolerance)
                break;
        }
        if (k.passes > MAX_PASSES)
            MRC_FAIL(err, MERCER_ERR_NUMERIC,
                     "the eigenvalues did not converge in %lld passes (residual %.1e): give the "
                     "solver more memory, or ask for fewer components",
                     (long long)k.passes, worst);
        if (full && options->count == 0 &&
            (open || (options->most_passes > 0 && k.passes > options->most_passes))) {
            mrc_krylov_result_destroy(
                out); /* the share needs more columns than there is room for */
            break;
        }
        if (full) {
            int64_t keep = wanted + (k.capacity - wanted) / 4;
            keep = keep > k.size - k.block ? k.size - k.block : keep;
            MRC_TRY(restart(&k, keep, err));
            look = (struct outlook){.size = keep, .next = keep + (k.capacity - keep) / 2};
        }
    }
    out->smallest = k.smallest;
    out->passes = k.passes;
out:
    krylov_destroy(&k);
    if (rc != MERCER_OK)
        mrc_krylov_result_destroy(out);
    return rc;
}

void mrc_krylov_result_destroy(mrc_krylov_result *result)
{
    mrc_free(result->values);
    mrc_free(result->vectors);
    result->values = NULL;
    result->vectors = NULL;
    result->count = 0;
}
