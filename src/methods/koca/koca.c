/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel optimal component analysis: the subspace of the span of the mapped rows in which the
 * nearest neighbours of rows predict their class best (Liu, Mio 2005).
 *
 * The mapped rows have coordinates Z = K D on an orthonormal basis D of their span (basis.h), so
 * that a subspace is U (m x r), U'U = I, and its features are Z U, those of new rows (D U)' k(x).
 * The performance F of a subspace is in objective.h, the search in search.h. F does not depend on
 * the basis of the subspace: in the end it is turned to its principal axes. With a linear kernel
 * this is optimal component analysis (Liu, Srivastava, Gallivan 2004) restricted to the span of the
 * rows. Cost of a step: n m r + n^2 r. */
#include "base/order.h"
#include "base/share.h"
#include "linalg/fastica.h"
#include "linalg/grassmann.h"
#include "linalg/linalg.h"
#include "linalg/orthonormal.h"
#include "methods/common/request.h"
#include "methods/koca/search.h"
#include "methods/points/basis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct koca_params {
    double components;
    int64_t neighbours;
    int aggregate;
    double beta;
    double epsilon;
    double energy;
    int64_t rank;
    int64_t points;
    int start;
    int64_t restarts;
    int search;
    int64_t iterations;
    int continuation;
    double temperature;
    double cooling;
    int validation;
    double holdout;
};

enum { START_KPCA, START_RANDOM, START_KICA };
enum { VALIDATE_AUTO, VALIDATE_LOO, VALIDATE_SPLIT, VALIDATE_ROWS };

static const mrc_param koca_schema[] = {
    MRC_COMPONENTS(struct koca_params, 10),
    MRC_INT(struct koca_params, neighbours, 1, 1, 1e6,
            "nearest neighbours of the own and of other classes that are compared"),
    MRC_CHOICE(struct koca_params, aggregate, 0, "mean|kth",
               "what is compared: the mean of their squared distances, or the largest of them"),
    MRC_REAL(struct koca_params, beta, 0.3, DBL_MIN, 1e6,
             "steepness of the performance: small asks for wide margins, large counts errors"),
    MRC_REAL_OR(struct koca_params, epsilon, MRC_KEYWORD(0), DBL_MIN, 1e300, "auto",
                "added to distances from the own class; auto: 1e-9 of the median squared distance"),
    MRC_ENERGY(struct koca_params, 0.9999),
    MRC_RANK(struct koca_params),
    MRC_INT(struct koca_params, points, 0, 0, 1e9,
            "rows that span the space searched, chosen to cover the others; 0: all"),
    MRC_CHOICE(struct koca_params, start, 0, "kpca|random|kica", "subspace the search starts from"),
    MRC_INT(struct koca_params, restarts, 0, 0, 1e6,
            "searches from random subspaces after the first one; the best is kept"),
    MRC_CHOICE(struct koca_params, search, 0, "ascent|anneal",
               "steps that gain along geodesics, or random ones under a falling temperature"),
    MRC_INT(struct koca_params, iterations, 300, 0, 1e9, "steps for each beta, at most"),
    MRC_CHOICE(struct koca_params, continuation, 1, "off|on",
               "warm up with 10 neighbours, then beta = 2, 1, 0.5, as far as these are larger"),
    MRC_REAL(struct koca_params, temperature, 0.01, DBL_MIN, 1e6, "of annealing at the start"),
    MRC_REAL(struct koca_params, cooling, 1.01, 1, 10,
             "what the temperature is divided by in each step"),
    MRC_CHOICE(struct koca_params, validation, 0, "auto|loo|split|rows",
               "which rows are judged: each by the others, one half by the other half, or the rows "
               "given for validation by all; auto: those when there are some, else loo"),
    MRC_REAL(struct koca_params, holdout, 0, 0, 0.9,
             "share of each class that the search does not see; it ends when they get no better"),
    MRC_PARAM_END};

struct koca {
    mercer_ctx *ctx;
    const struct koca_params *params;
    mrc_problem problem;
    mrc_kernel kernel; /* of the problem */
    mrc_basis basis;
    int64_t r;
    int64_t *list; /* rows: those neighbours come from, then those judged alone, then held out */
    int64_t from, judged, held;
    double share;       /* held out */
    double *validation; /* coordinates of the validation rows, when these are judged; or NULL */
    int64_t *drawn, *drawn_judged; /* rows of sample, when there are many; or NULL */
    mrc_koca_objective objective, sample, holdout;
    mrc_koca_search search;
};

static void koca_destroy(struct koca *k)
{
    mrc_koca_search_destroy(&k->search);
    mrc_koca_destroy(&k->objective);
    mrc_koca_destroy(&k->sample);
    mrc_koca_destroy(&k->holdout);
    mrc_basis_destroy(&k->basis);
    mrc_free(k->list);
    mrc_free(k->validation);
    mrc_free(k->drawn);
    mrc_free(k->drawn_judged);
    memset(k, 0, sizeof *k);
}

/* ---- which rows do what ---- */

/* Put the share of each class, drawn at random, behind the others in list (count rows): returns how
 * many are left in front. A class keeps at least one row. */
static int64_t move_behind(struct koca *k, int64_t *list, int64_t count, double share,
                           int64_t *scratch)
{
    const mercer_targets *targets = k->problem.targets;
    int64_t front = 0, back = 0;
    for (int64_t c = 0; c < targets->classes; c++) {
        int64_t *members = scratch + count, size = 0;
        for (int64_t i = 0; i < count; i++)
            if (targets->codes[list[i]] == c)
                members[size++] = list[i];
        int64_t moved = mrc_share_floor(share, size);
        mrc_rng_draw(&k->ctx->rng, members, size, moved);
        for (int64_t i = 0; i < size; i++)
            scratch[i < moved ? count - ++back : front++] = members[i];
    }
    memcpy(list, scratch, (size_t)count * sizeof *list);
    return front;
}

static mercer_status divide_rows(struct koca *k, mercer_error *err)
{
    int64_t n = k->basis.n, *scratch = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&k->list, n, sizeof *k->list, err));
    MRC_TRY(mrc_alloc2(&scratch, 2, n, sizeof *scratch, err));
    for (int64_t i = 0; i < n; i++)
        k->list[i] = i;
    int64_t seen = k->share > 0 ? move_behind(k, k->list, n, k->share, scratch) : n;
    k->held = n - seen;
    k->from = k->params->validation == VALIDATE_SPLIT ? move_behind(k, k->list, seen, 0.5, scratch)
                                                      : seen;
    k->judged = seen - k->from;
out:
    mrc_free(scratch);
    return rc;
}

static mercer_status take_validation(struct koca *k, mercer_error *err)
{
    const mercer_rows *rows = k->problem.validation;
    return rows ? mrc_basis_project(&k->basis, &k->problem, rows, &k->validation, err) : MERCER_OK;
}

/* The median squared distance of some pairs, or what there is of a scale when most are the same. */
static mercer_status find_scale(struct koca *k, double *scale, mercer_error *err)
{
    enum { PAIRS = 1000 };
    static const double ROUNDING =
        1e-20; /* share of squared lengths that equal rows may differ by */
    const mrc_basis *b = &k->basis;
    double *distance = NULL, mean = 0, length = b->trace / (double)b->n;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&distance, PAIRS, sizeof *distance, err));
    for (int t = 0; t < PAIRS; t++) {
        const double *x = b->coordinates + mrc_rng_below(&k->ctx->rng, b->n) * b->m;
        const double *y = b->coordinates + mrc_rng_below(&k->ctx->rng, b->n) * b->m;
        for (int64_t j = 0; j < b->m; j++)
            distance[t] += (x[j] - y[j]) * (x[j] - y[j]);
        mean += distance[t] / PAIRS;
    }
    double median = mrc_median(distance, PAIRS), least = ROUNDING * length;
    *scale = median > least ? median : mean > least ? mean : length;
out:
    mrc_free(distance);
    return rc;
}

/* Keep `count` of the rows, drawn at random. */
static mercer_status draw_rows(struct koca *k, mrc_koca_rows *rows, int64_t count, int64_t **drawn,
                               mercer_error *err)
{
    int64_t all = rows->listed;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(drawn, all, sizeof **drawn, err));
    for (int64_t i = 0; i < all; i++)
        (*drawn)[i] = rows->list ? rows->list[i] : i;
    rows->listed = all < count ? all : count;
    mrc_rng_draw(&k->ctx->rng, *drawn, all, rows->listed);
    rows->list = *drawn;
out:
    return rc;
}

/* Some of many rows for all stages but the last: steps are short there, and F is smoother than with
 * neighbours that lie close. */
static mercer_status make_sample(struct koca *k, int64_t room, mercer_error *err)
{
    /* More rows than MANY are many; a sample of FEW keeps the error of F below 0.02. */
    enum { MANY = 4000, FEW = 1000 };
    const mrc_koca_objective *whole = &k->objective;
    mrc_koca_rows from = whole->from, judged;
    mercer_status rc = MERCER_OK;
    if (from.listed <= MANY || k->params->continuation != 1)
        return MERCER_OK;
    MRC_TRY(draw_rows(k, &from, FEW, &k->drawn, err));
    judged = from;
    if (whole->judged.list != whole->from.list || !whole->same) {
        judged = whole->judged;
        MRC_TRY(draw_rows(k, &judged, FEW, &k->drawn_judged, err));
    }
    MRC_TRY(mrc_koca_init(&k->sample, k->ctx, k->basis.m, k->r, whole->classes, &from, &judged,
                          &whole->rule, room, err));
out:
    return rc;
}

static mercer_status make_objectives(struct koca *k, mercer_error *err)
{
    const struct koca_params *p = k->params;
    const mrc_basis *b = &k->basis;
    const mercer_targets *targets = k->problem.targets;
    mrc_koca_rule rule = {.neighbours = p->neighbours,
                          .kth = p->aggregate == 1,
                          .beta = p->beta,
                          .epsilon = p->epsilon};
    mrc_koca_rows from = {.z = b->coordinates,
                          .codes = targets->codes,
                          .n = b->n,
                          .list = k->list,
                          .listed = k->from};
    /* Neighbours that a continuation starts with: more make F smoother, and steps slower. */
    enum { WIDE = 10 };
    mrc_koca_rows judged = from, held = from;
    double scale;
    mercer_status rc = MERCER_OK;
    if (p->epsilon == MRC_KEYWORD(0)) {
        MRC_TRY(find_scale(k, &scale, err));
        rule.epsilon = fmax(1e-9 * scale, DBL_MIN);
    }
    rule.neighbours = rule.neighbours < k->from ? rule.neighbours : k->from;
    int64_t room = rule.neighbours;
    if (p->continuation == 1 && room < WIDE)
        room = WIDE < k->from ? WIDE : k->from;
    if (k->validation) {
        judged = (mrc_koca_rows){.z = k->validation,
                                 .codes = k->problem.validation_codes,
                                 .n = k->problem.validation->n};
    } else if (k->judged > 0) {
        judged.list = k->list + k->from;
        judged.listed = k->judged;
    }
    MRC_TRY(mrc_koca_init(&k->objective, k->ctx, b->m, k->r, targets->classes, &from, &judged,
                          &rule, room, err));
    if (k->objective.counted == 0)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "koca: no row can be judged: each needs another row of its class and one of "
                 "another class beside it");
    MRC_TRY(make_sample(k, room, err));
    if (k->held > 0) {
        held.list = k->list + k->from + k->judged;
        held.listed = k->held;
        MRC_TRY(mrc_koca_init(&k->holdout, k->ctx, b->m, k->r, targets->classes, &from, &held,
                              &rule, rule.neighbours, err));
    }
    if (k->share > 0 && k->holdout.counted == 0)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "koca: holdout=%g leaves no row of any class: the classes are too small for it",
                 k->share);
out:
    return rc;
}

/* Basis, and validation rows on it. */
static mercer_status make_basis(struct koca *k, mercer_model *model, mercer_error *err)
{
    const struct koca_params *p = k->params;
    mrc_basis_limits limits = {
        .floor = 1e-10, .energy = p->energy, .rank = p->rank, .points = p->points};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_basis_init(&k->basis, k->ctx, &k->problem, &limits, model, err));
    MRC_TRY(take_validation(k, err));
out:
    return rc;
}

/* ---- starts ---- */

/* Filters of FastICA on the centred, white coordinates, all m dimensions, as directions. */
static mercer_status start_from_ica(struct koca *k, double *u, mercer_error *err)
{
    static const double LEAST = 1e-10; /* share of the largest variance that still is one */
    const mrc_basis *b = &k->basis;
    mrc_ica_options options = {.iterations = 200};
    int64_t n = b->n, m = b->m, white = 0, left;
    double *mean = NULL, *scatter = NULL, *values = NULL, *to_white = NULL, *x = NULL, *w = NULL;
    double unit = mrc_usual_unit(b->values[0]), root = sqrt(unit);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&mean, 1, m, sizeof *mean, err));
    MRC_TRY(mrc_alloc2(&scatter, m, m, sizeof *scatter, err));
    MRC_TRY(mrc_alloc(&values, m, sizeof *values, err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            mean[j] += b->coordinates[i * m + j] / (double)n;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++)
            scatter[i * m + j] =
                (i == j ? b->values[i] / unit / (double)n : 0) - mean[i] / root * (mean[j] / root);
    MRC_TRY(mrc_eigen_symmetric(k->ctx, m, scatter, values, err));
    while (white < m && values[m - 1 - white] > LEAST * values[m - 1])
        white++;
    if (white < k->r)
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "koca: start=kica: the centred rows span %lld dimensions, fewer than %lld "
                 "components",
                 (long long)white, (long long)k->r);
    MRC_TRY(mrc_alloc2(&to_white, m, white, sizeof *to_white, err));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < white; j++)
            to_white[i * white + j] = scatter[(m - 1 - j) * m + i] / sqrt(values[m - 1 - j]) / root;
    MRC_TRY(mrc_alloc2_raw(&x, n, white, sizeof *x, err));
    MRC_TRY(mrc_tall_times_checked(k->ctx, n, white, m, 1, b->coordinates, m, to_white, white, 0, x,
                                   white, err));
    for (int64_t j = 0; j < white; j++) {
        double shift = 0;
        for (int64_t i = 0; i < m; i++)
            shift += mean[i] * to_white[i * white + j];
        for (int64_t i = 0; i < n; i++)
            x[i * white + j] -= shift;
    }
    MRC_TRY(mrc_alloc2(&w, white, k->r, sizeof *w, err));
    MRC_TRY(mrc_ica_run(k->ctx, x, n, white, k->r, &options, w, &left, err));
    mrc_tall_times(k->ctx, m, k->r, white, 1, to_white, white, w, k->r, 0, u, k->r);
    if (!mrc_orthonormalise(m, k->r, u))
        MRC_FAIL(err, MERCER_ERR_NUMERIC, "koca: start=kica: the components are not independent");
out:
    mrc_free(mean);
    mrc_free(scatter);
    mrc_free(values);
    mrc_free(to_white);
    mrc_free(x);
    mrc_free(w);
    return rc;
}

static mercer_status make_start(struct koca *k, int kind, double *u, mercer_error *err)
{
    int64_t m = k->basis.m, r = k->r;
    memset(u, 0, (size_t)(m * r) * sizeof *u);
    for (int64_t j = 0; kind == START_KPCA && j < r; j++)
        u[j * r + j] = 1;
    if (kind == START_RANDOM)
        mrc_random_subspace(&k->ctx->rng, m, r, u);
    return kind == START_KICA ? start_from_ica(k, u, err) : MERCER_OK;
}

enum { PATIENCE = 50 }; /* steps without a better held-out value */

static mercer_status begin_search(struct koca *k, const mrc_koca_options *options,
                                  mercer_error *err)
{
    return mrc_koca_search_init(&k->search, k->ctx, &k->objective,
                                k->sample.counted > 0 ? &k->sample : NULL,
                                k->held > 0 ? &k->holdout : NULL, options, err);
}

static mercer_status look_for_subspace(struct koca *k, mercer_error *err)
{
    const struct koca_params *p = k->params;
    bool moves = k->r < k->basis.m; /* else there is one subspace only */
    mrc_koca_options options = {.iterations = moves ? p->iterations : 0,
                                .anneal = p->search == 1,
                                .continuation = moves && p->continuation == 1,
                                .temperature = p->temperature,
                                .cooling = p->cooling,
                                .patience = PATIENCE};
    double *u = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&u, k->basis.m, k->r, sizeof *u, err));
    MRC_TRY(begin_search(k, &options, err));
    for (int64_t run = 0; run <= (moves ? p->restarts : 0); run++) {
        MRC_TRY(make_start(k, run == 0 ? p->start : START_RANDOM, u, err));
        MRC_TRY(mrc_koca_search_run(&k->search, u, err));
    }
out:
    mrc_free(u);
    return rc;
}

/* ---- the width of the kernel ---- */

/* The best subspace of k for another width, improved there. */
static mercer_status try_width(struct koca *k, double sigma, struct koca *next, mercer_error *err)
{
    enum { STEPS = 50 }; /* of a width: more are for the one that is taken */
    mrc_koca_options options = {.iterations =
                                    k->params->iterations < STEPS ? k->params->iterations : STEPS,
                                .patience = PATIENCE};
    double *u = NULL;
    mercer_status rc = MERCER_OK;
    *next = (struct koca){.ctx = k->ctx,
                          .params = k->params,
                          .problem = k->problem,
                          .kernel = k->kernel,
                          .r = k->r,
                          .from = k->from,
                          .judged = k->judged,
                          .held = k->held,
                          .share = k->share};
    next->problem.kernel = &next->kernel;
    mrc_kernel_set_width(&next->kernel, sigma);
    MRC_TRY(mrc_alloc(&next->list, k->basis.n, sizeof *next->list, err));
    memcpy(next->list, k->list, (size_t)k->basis.n * sizeof *next->list);
    MRC_TRY(make_basis(next, NULL, err));
    if (next->r > next->basis.m)
        goto out;
    MRC_TRY(make_objectives(next, err));
    MRC_TRY(mrc_alloc2(&u, next->basis.m, next->r, sizeof *u, err));
    MRC_TRY(mrc_basis_carry(&k->basis, k->search.best, k->r, &next->basis, u, err));
    if (!mrc_orthonormalise(next->basis.m, next->r, u))
        goto out;
    MRC_TRY(begin_search(next, &options, err));
    MRC_TRY(mrc_koca_search_run(&next->search, u, err));
out:
    mrc_free(u);
    return rc;
}

/* The search goes on in `next`: its steps follow those of k, distances added up. */
static mercer_status append_trace(struct koca *k, struct koca *next, mercer_error *err)
{
    mrc_koca_search *s = &k->search, *t = &next->search;
    int64_t all = s->steps + t->steps, columns = MERCER_TRACE_COLUMNS;
    double way = s->trace[(s->steps - 1) * columns + MERCER_TRACE_DISTANCE];
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_grow(&s->trace, all * columns, sizeof(double), err));
    MRC_TRY(mrc_grow(&s->seconds, all, sizeof(double), err));
    for (int64_t i = 0; i < t->steps; i++) {
        double *line = s->trace + (s->steps + i) * columns;
        memcpy(line, t->trace + i * columns, (size_t)columns * sizeof *line);
        line[MERCER_TRACE_ITERATION] += (double)s->steps;
        line[MERCER_TRACE_DISTANCE] += way;
        s->seconds[s->steps + i] = t->seconds[i] + t->begun - s->begun;
    }
    t->begun = s->begun;
    t->steps = all;
    double *swap = t->trace;
    t->trace = s->trace;
    s->trace = swap;
    swap = t->seconds;
    t->seconds = s->seconds;
    s->seconds = swap;
out:
    return rc;
}

/* Ascent over log sigma beside the subspace: a width that gains is taken and the next one is half
 * as far again in the same direction, one that does not turns it round at half the distance. */
static mercer_status learn_width(struct koca *k, mercer_error *err)
{
    static const double MIN_STEP = 0.05, MIN_GAIN = 1e-4, FARTHEST = 100;
    double step = log(1.5), first = mrc_kernel_width(&k->kernel);
    struct koca next = {0};
    mercer_status rc = MERCER_OK;
    while (fabs(step) > MIN_STEP && k->search.best_value < 1 - MIN_GAIN &&
           fabs(log(mrc_kernel_width(&k->kernel) / first)) < log(FARTHEST)) {
        MRC_TRY(try_width(k, mrc_kernel_width(&k->kernel) * exp(step), &next, err));
        if (next.search.best_value > k->search.best_value + MIN_GAIN) {
            MRC_TRY(append_trace(k, &next, err));
            koca_destroy(k);
            *k = next;
            k->problem.kernel = &k->kernel;
            next = (struct koca){0};
            step *= 1.5;
        } else {
            koca_destroy(&next);
            step /= -2;
        }
    }
out:
    koca_destroy(&next);
    return rc;
}

/* ---- model ---- */

/* Turn U to the principal axes of the rows in the subspace. */
static mercer_status rotate_to_principal_axes(struct koca *k, double *u, mercer_error *err)
{
    int64_t m = k->basis.m, r = k->r;
    double *inner = NULL, *values = NULL, *axes = NULL, *turned = NULL;
    double unit = mrc_usual_unit(k->basis.values[0]); /* LAPACK scales by other numbers */
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&inner, r, r, sizeof *inner, err));
    MRC_TRY(mrc_alloc(&values, r, sizeof *values, err));
    MRC_TRY(mrc_alloc2(&axes, r, r, sizeof *axes, err));
    MRC_TRY(mrc_alloc2(&turned, m, r, sizeof *turned, err));
    for (int64_t i = 0; i < m; i++)
        for (int64_t a = 0; a < r; a++)
            for (int64_t c = 0; c < r; c++)
                inner[a * r + c] += u[i * r + a] * (k->basis.values[i] / unit) * u[i * r + c];
    MRC_TRY(mrc_eigen_symmetric(k->ctx, r, inner, values, err));
    for (int64_t a = 0; a < r; a++)
        for (int64_t c = 0; c < r; c++)
            axes[a * r + c] = inner[(r - 1 - c) * r + a];
    mrc_tall_times(k->ctx, m, r, r, 1, u, r, axes, r, 0, turned, r);
    memcpy(u, turned, (size_t)(m * r) * sizeof *u);
out:
    mrc_free(inner);
    mrc_free(values);
    mrc_free(axes);
    mrc_free(turned);
    return rc;
}

static mercer_status check_dimensions(const struct koca *k, mercer_error *err)
{
    if (k->r <= k->basis.m)
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_DATA,
                    "koca: %lld components asked for, but the kernel PCA space has %lld "
                    "dimension%s: %s",
                    (long long)k->r, (long long)k->basis.m, k->basis.m == 1 ? "" : "s",
                    k->basis.m == 1 ? "the rows do not differ in more"
                                    : "ask for no more than these");
}

static void notify(const struct koca *k)
{
    const mrc_problem *problem = &k->problem;
    int64_t seen = k->objective.judged.listed;
    if (mrc_kernel_is_linear(problem->kernel))
        mrc_notice(k->ctx, "with the linear kernel this is optimal component analysis (OCA) %s",
                   k->basis.m == problem->rows->d ? "of the columns"
                                                  : "restricted to the span of the rows");
    if (k->objective.counted < seen)
        mrc_notice(
            k->ctx,
            "%lld of %lld rows are not judged: there is no other row of their class to be near to",
            (long long)(seen - k->objective.counted), (long long)seen);
}

static mercer_status koca_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                              mercer_model *model, mercer_error *err)
{
    const struct koca_params *p = params;
    struct koca k = {.ctx = ctx, .params = p, .problem = *problem, .kernel = *problem->kernel};
    mercer_status rc = MERCER_OK;
    k.problem.kernel = &k.kernel;
    if (mercer_targets_kind(problem->targets) != MERCER_TARGET_CLASSES)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "label"),
                    "koca learns from classes: name their column");
    MRC_TRY(make_basis(&k, model, err));
    k.r = mrc_basis_components(&k.basis, problem);
    MRC_TRY(check_dimensions(&k, err));
    /* Any row can be put anywhere once the kernel is narrow: others must judge the width. */
    k.share = p->holdout;
    if (problem->learn_width && !problem->validation && p->holdout <= 0) {
        k.share = 0.25;
        mrc_notice(ctx, "sigma=learn: a quarter of each class is held out to judge widths by");
    }
    MRC_TRY(divide_rows(&k, err));
    MRC_TRY(make_objectives(&k, err));
    notify(&k);
    MRC_TRY(look_for_subspace(&k, err));
    if (problem->learn_width)
        MRC_TRY(learn_width(&k, err));
    MRC_TRY(rotate_to_principal_axes(&k, k.search.best, err));
    mrc_model_set_kernel(model, &k.kernel);
    MRC_TRY(mrc_basis_model(&k.basis, &k.problem, k.search.best, k.r, true, model, err));
    model->trace = k.search.trace;
    model->trace_seconds = k.search.seconds;
    model->trace_count = k.search.steps;
    k.search.trace = k.search.seconds = NULL;
out:
    koca_destroy(&k);
    return rc;
}

/* Which of the keys and rows go together. */
static mercer_status check(const mrc_request *request, mercer_error *err)
{
    const struct koca_params *p = request->params;
    const mercer_fit_options *options = &request->options;
    bool landmarks = options->landmarks || (request->expected & MERCER_EXPECT_LANDMARKS);
    bool rows = options->validation || (request->expected & MERCER_EXPECT_VALIDATION);
    if (request->problem.learn_width && (p->points > 0 || landmarks))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "koca: sigma=learn moves the span of all rows, not of points or landmarks");
    if (p->validation == VALIDATE_ROWS && !rows)
        return mrc_fail_at(
            err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "validation", .input = "validation"),
            "koca: validation=rows judges the rows given for validation: there are none");
    if (rows && p->validation != VALIDATE_AUTO && p->validation != VALIDATE_ROWS)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "koca: validation=%s cannot be set with validation rows, which are there "
                        "to be judged",
                        p->validation == VALIDATE_LOO ? "loo" : "split");
    return MERCER_OK;
}

/* Steps of the search, each n m r + n^2 r; how many it takes, nobody knows. */
static void koca_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                      int64_t n, mrc_work *work)
{
    enum { DIMENSIONS = 200, PAIRS_OF_ROWS = 3000 };
    const struct koca_params *p = params;
    double rows = (double)n, l = problem->components > 0 ? (double)problem->components : 10;
    double m = fmin(rows, p->points > 0 ? fmin((double)p->points, DIMENSIONS) : DIMENSIONS);
    double steps = fmin((double)p->iterations, 100) * (p->continuation == 1 ? 4 : 1);
    (void)ctx;
    work->request = (mrc_gram_request){.centered = problem->center != MRC_CENTER_NONE,
                                       .work_columns = 2 * (int64_t)m,
                                       .solver_columns = mrc_spectrum_columns(n, (int64_t)m)};
    work->pairs = m;
    work->flops =
        (double)(p->restarts + 1) * steps * 24 * l * rows * (m + fmin(rows, PAIRS_OF_ROWS));
    work->points = p->points > 0 ? (double)p->points : rows;
    work->spread = 6;
}

const mrc_method mrc_method_koca = {
    .entry = {.name = "koca",
              .summary = "kernel optimal component analysis",
              .reference = "Liu, Mio 2005",
              .params = koca_schema},
    .params_size = sizeof(struct koca_params),
    .default_center = MRC_CENTER_NONE,
    .centers = "none|exact",
    .is_nested = mrc_never_nested,
    .takes_landmarks = true,
    .landmarks_replace = true,
    .takes_validation = true,
    .learns_width = true,
    .check = check,
    .fit = koca_fit,
    .work = koca_work,
    .default_head = "knn:k=1",
    .learns = MERCER_LEARNS_CLASSES,
};
