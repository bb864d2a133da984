/* Refined kernel PCA: the data are centred and projected on the span of a few images that are not,
 * so that new rows need their kernel values with those few alone (Li, Yu, Sun 2011).
 *
 * Points are added one by one. criterion=trace takes the one with which the span captures most
 * variance: |K^i_z H|^2 / K^i_zz, K^i the uncentred matrix after i points, H = I - 11'/n; one pass
 * over the matrix a point. criterion=top looks at the m largest eigenvalues of the scatter alone, m
 * the components wanted. With theta, V the eigenpairs of U~'U~ (U~ = H U: coordinates so far), the
 * scatter with z is the arrowhead matrix of theta, the border c = V' U~' K^i_z / sqrt(K^i_zz) and
 * the corner above, whose eigenvalues are the roots of
 *     x - corner - sum_j c_j^2 / (x - theta_j),
 * one above each theta. T = U~' K^i follows by deflation. Up to m points the criteria are the same;
 * beyond, a step costs n i^2 for c and n m i for the roots, for all candidates. */
#include "methods/subset.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

struct rkpca_params {
    double components;
    int64_t points;
    double captured;
    int criterion;
};

static const mrc_param rkpca_schema[] = {
    MRC_COMPONENTS(struct rkpca_params, 10), MRC_POINTS(struct rkpca_params),
    MRC_REAL(struct rkpca_params, captured, 1, DBL_MIN, 1,
             "stop once their span captures this share of the variance; 1: no such stop"),
    MRC_CHOICE(struct rkpca_params, criterion, 0, "trace|top",
               "what a new row is to add to: all of the variance captured, or that of the wanted "
               "components"),
    MRC_PARAM_END};

/* ---- criterion=top ---- */

struct top {
    mercer_ctx *ctx;
    int64_t wanted;   /* m */
    bool about_mean;  /* H is there */
    int64_t count;    /* points taken so far */
    int64_t capacity; /* points there is room for */
    double *images;   /* T, count x n */
    double *scatter;  /* U~'U~, count x count, row stride capacity */
    double *newest;   /* U~ of the newest point, n */
    /* While candidates are judged. */
    const mrc_selection *selection;
    double *theta;   /* increasing */
    double *vectors; /* V', count x count */
    double *border;  /* per worker: count x TILE, and count squares of a border */
    double *scores;
};

enum { TILE = 256 }; /* candidates whose borders are computed at once */

static void top_destroy(struct top *t)
{
    mrc_free(t->images);
    mrc_free(t->scatter);
    mrc_free(t->newest);
    mrc_free(t->theta);
    mrc_free(t->vectors);
    mrc_free(t->border);
}

static mercer_status top_reserve(struct top *t, int64_t n, mercer_error *err)
{
    int64_t old = t->capacity, wanted = old ? 2 * old : 16;
    mercer_status rc = MERCER_OK;
    if (t->count < old)
        return MERCER_OK;
    MRC_TRY(mrc_grow(&t->images, wanted * n, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->scatter, wanted * wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->newest, n, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->theta, wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->vectors, wanted * wanted, sizeof(double), err));
    MRC_TRY(mrc_grow(&t->border, t->ctx->threads * wanted * (TILE + 1), sizeof(double), err));
    for (int64_t i = old - 1; i > 0; i--) /* rows move to their new places, the last one first */
        memmove(t->scatter + i * wanted, t->scatter + i * old, (size_t)old * sizeof(double));
    t->capacity = wanted;
out:
    return rc;
}

/* Take the newest point of the selection into account. */
static mercer_status top_follow(struct top *t, const mrc_deflated *def, mercer_error *err)
{
    int64_t n = def->n, k = t->count;
    const double *u = def->projections + k * n;
    double mean = 0, *dots;
    mercer_status rc = MERCER_OK;
    MRC_TRY(top_reserve(t, n, err));
    for (int64_t i = 0; t->about_mean && i < n; i++)
        mean += u[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        t->newest[i] = u[i] - mean;
    dots = t->scatter + k * t->capacity;
    MRC_TRY(mrc_wide_dots(t->ctx, def->projections, k + 1, n, t->newest, dots, err));
    for (int64_t j = 0; j < k; j++) {
        double *image = t->images + j * n;
        t->scatter[j * t->capacity + k] = dots[j];
        for (int64_t i = 0; i < n; i++)
            image[i] -= dots[j] * u[i];
    }
    memcpy(t->images + k * n, def->image, (size_t)n * sizeof *u);
    t->count++;
out:
    return rc;
}

/* How far the k-th eigenvalue of the arrowhead matrix lies above theta_k: the root of the secular
 * equation by rational interpolation between its poles, kept inside a bracket. */
static double shift_of(const double *theta, const double *squares, int64_t count, double corner,
                       int64_t k)
{
    bool last = k + 1 == count;
    double base = theta[k], low = 0, high = last ? 0 : theta[k + 1] - base, gap = high;
    for (int64_t j = 0; last && j < count; j++)
        high += squares[j];
    if (last)
        high = fmax(corner - base, 0) + sqrt(high);
    double y = high / 2;
    for (int step = 0; step < 100 && high > 0; step++) {
        double left = 0, left_slope = 0, right = base + y - corner, slope = 1, next;
        for (int64_t j = 0; j <= k; j++) {
            double r = 1 / (y + (base - theta[j]));
            left += squares[j] * r;
            left_slope += squares[j] * r * r;
        }
        for (int64_t j = k + 1; j < count; j++) {
            double r = 1 / (y + (base - theta[j]));
            right -= squares[j] * r;
            slope += squares[j] * r * r;
        }
        if (right < left)
            low = y;
        else
            high = y;
        /* left ~ s + q / y; right ~ t + p / (gap - y), or straight above the last pole. */
        double q = left_slope * y * y, s = left - left_slope * y;
        if (last) {
            double w = right - slope * y - s, root = sqrt(w * w + 4 * slope * q);
            next = w > 0 ? 2 * q / (w + root) : (root - w) / (2 * slope);
        } else {
            double p = slope * (gap - y) * (gap - y), w = right - slope * (gap - y) - s;
            double b = w * gap + p + q, root = sqrt(fmax(b * b - 4 * w * q * gap, 0));
            next = b > 0 ? 2 * q * gap / (b + root) : (b - root) / (2 * w);
        }
        if (!(next > low && next < high))
            next = (low + high) / 2;
        if (fabs(next - y) <= 4 * DBL_EPSILON * y)
            return next;
        y = next;
    }
    return y;
}

static void judge_tile(void *arg, int64_t task, int worker)
{
    const struct top *t = arg;
    const mrc_selection *s = t->selection;
    int64_t n = s->def.n, count = t->count, first = task * TILE;
    int64_t cols = n - first < TILE ? n - first : TILE;
    double *border = t->border + (int64_t)worker * t->capacity * (TILE + 1);
    double *squares = border + count * TILE;
    mrc_gemm(false, false, count, cols, count, 1, t->vectors, count, t->images + first, n, 0,
             border, TILE);
    for (int64_t z = 0; z < cols; z++) {
        double left = s->def.residual[first + z], gain = 0;
        if (left <= s->least_residual)
            continue;
        for (int64_t j = 0; j < count; j++)
            squares[j] = border[j * TILE + z] * border[j * TILE + z] / left;
        for (int64_t k = count - t->wanted; k < count; k++)
            gain += shift_of(t->theta, squares, count, s->def.energy[first + z] / left, k);
        t->scores[first + z] = gain;
    }
}

/* Growth of the sum of the m largest eigenvalues. */
static mercer_status top_scores(void *self, const mrc_selection *s, double *scores,
                                mercer_error *err)
{
    struct top *t = self;
    int64_t n = s->def.n;
    mercer_status rc = MERCER_OK;
    if (t->count < s->def.count)
        MRC_TRY(top_follow(t, &s->def, err));
    if (t->count < t->wanted) { /* all eigenvalues count */
        for (int64_t j = 0; j < n; j++)
            if (s->def.residual[j] > s->least_residual)
                scores[j] = s->def.energy[j] / s->def.residual[j];
        goto out;
    }
    t->selection = s;
    t->scores = scores;
    for (int64_t i = 0; i < t->count; i++)
        memcpy(t->vectors + i * t->count, t->scatter + i * t->capacity,
               (size_t)t->count * sizeof(double));
    MRC_TRY(mrc_eigen_symmetric(t->ctx, t->count, t->vectors, t->theta, err));
    mrc_parfor(t->ctx, (n + TILE - 1) / TILE, judge_tile, t);
    rc = mrc_check_cancel(t->ctx, err);
out:
    return rc;
}

static mercer_status rkpca_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                               mercer_model *model, mercer_error *err)
{
    const struct rkpca_params *p = params;
    struct top top = {.ctx = ctx,
                      .wanted = problem->components,
                      .about_mean = problem->center != MRC_CENTER_NONE};
    mrc_subset_choice choice = {.points = p->points,
                                .rule = {.score = MRC_SCORE_DIRECTION,
                                         .about_mean = true,
                                         .captured = p->captured < 1 ? p->captured : 0}};
    if (p->criterion == 1 && problem->share > 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "method rkpca: criterion=top goes with a number of components, not with a "
                        "share of the variance");
    if (p->criterion == 1) {
        choice.rule.rescore = top_scores;
        choice.rule.self = &top;
    }
    mercer_status rc = mrc_subset_fit(ctx, problem, &choice, model, err);
    top_destroy(&top);
    return rc;
}

/* The points must not hang on the number of components, by their number or by the criterion. */
static bool rkpca_is_nested(const void *params)
{
    const struct rkpca_params *p = params;
    return p->criterion == 0 && (p->points > 0 || p->captured < 1);
}

const mrc_method mrc_method_rkpca = {
    .abi = MRC_METHOD_ABI,
    .entry = {.name = "rkpca",
              .summary = "refined kernel PCA: centred, on few rows",
              .reference = "Li, Yu, Sun 2011",
              .params = rkpca_schema},
    .params_size = sizeof(struct rkpca_params),
    .needs = MRC_NEEDS_NOTHING,
    .default_center = MRC_CENTER_SPAN,
    .takes_landmarks = true,
    .fit = rkpca_fit,
    .is_nested = rkpca_is_nested,
};
