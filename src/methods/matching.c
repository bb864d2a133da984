/* Which row's column of K matches what is left of the labels best.
 *
 * With r = P_j Y the match of column i is num_i = |r'k_i|^2, on the raw column; SMC divides by
 * K_ii, SMA by den_i = |P_j k_i|^2. All columns: one product K [r, q_j] a feature gives every
 * num_i, and den_i -= (K q_j)_i^2. The difference is worthless once den_i has fallen below 1e-7 of
 * its last exact value; such columns are computed anew. Candidates: c rows of the matrix a feature;
 * a column drawn again only meets the features that came since. Cost: k n^2 for all columns, c k n
 * kernel values for candidates. */
#include "methods/matching.h"

#include "linalg/linalg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TIE = 1e-10;  /* relative difference of scores that count as equal */
static const double STALE = 1e-7; /* den over its last exact value below which it is renewed */
static const double ADMISSIBLE = 1e-16; /* what must be left of |k_i|^2 */
enum { GROUP = 64 };                    /* columns computed at a time */

struct matching {
    const mrc_matching_rule *rule;
    const double *diag;
    double *num;        /* n */
    double *den;        /* n: |P_j k_i|^2 */
    double *exact;      /* n: den when last computed from the column */
    double *full;       /* n: |k_i|^2 */
    int64_t *upto;      /* n: features that den knows of; -1: none, not even |k_i|^2 */
    unsigned char *out; /* n: taken, or found to be spanned by those taken */
    int64_t *list;      /* candidates of this feature */
    int64_t list_count;
    double noise;             /* a match that rounding alone could make */
    double *block, *products; /* GROUP x n, GROUP x (most + outputs) */
    double *input, *output;   /* n x (outputs + 1): all columns */
};

static void destroy(struct matching *w)
{
    mrc_free(w->num);
    mrc_free(w->den);
    mrc_free(w->exact);
    mrc_free(w->full);
    mrc_free(w->upto);
    mrc_free(w->out);
    mrc_free(w->list);
    mrc_free(w->block);
    mrc_free(w->products);
    mrc_free(w->input);
    mrc_free(w->output);
}

static mercer_status reserve(struct matching *w, const mrc_dual *dual, mercer_error *err)
{
    int64_t n = dual->n, width = dual->outputs + 1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_diag(dual->gram, &w->diag, err));
    MRC_TRY(mrc_alloc(&w->num, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->den, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->exact, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->full, n, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->upto, n, sizeof *w->upto, err));
    MRC_TRY(mrc_alloc(&w->out, n, 1, err));
    MRC_TRY(mrc_alloc(&w->list, n, sizeof *w->list, err));
    MRC_TRY(mrc_alloc2_raw(&w->block, GROUP, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&w->products, GROUP, dual->most + dual->outputs, sizeof(double), err));
    if (!w->rule->candidates) {
        MRC_TRY(mrc_alloc2(&w->input, n, width, sizeof(double), err));
        MRC_TRY(mrc_alloc2(&w->output, n, width, sizeof(double), err));
    }
    for (int64_t i = 0; i < n; i++)
        w->upto[i] = -1;
out:
    return rc;
}

/* ---- columns ---- */

struct multiply {
    const double *block, *vectors; /* count x n each way */
    int64_t n, rows, count;
    double *out; /* ranges x rows x count */
};

enum { RANGE = 4096 };

static void multiply_range(void *arg, int64_t task, int worker)
{
    const struct multiply *p = arg;
    int64_t c = task * RANGE, cols = p->n - c < RANGE ? p->n - c : RANGE;
    (void)worker;
    mrc_gemm(false, true, p->rows, p->count, cols, 1, p->block + c, p->n, p->vectors + c, p->n, 0,
             p->out + task * p->rows * p->count, p->count);
}

/* out (rows x count) = block vectors'. */
static mercer_status multiply(mercer_ctx *ctx, const double *block, int64_t rows,
                              const double *vectors, int64_t count, int64_t n, double *out,
                              mercer_error *err)
{
    int64_t ranges = (n + RANGE - 1) / RANGE;
    struct multiply p = {.block = block, .vectors = vectors, .n = n, .rows = rows, .count = count};
    mercer_status rc = MERCER_OK;
    if (count == 0)
        return MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&p.out, ranges, rows * count, sizeof *p.out, err));
    mrc_parfor_sized(ctx, ranges, 2 * (double)n * (double)rows * (double)count, multiply_range, &p);
    memcpy(out, p.out, (size_t)(rows * count) * sizeof *out);
    for (int64_t r = 1; r < ranges; r++)
        for (int64_t i = 0; i < rows * count; i++)
            out[i] += p.out[r * rows * count + i];
out:
    mrc_free(p.out);
    return rc;
}

/* |P_j k_i|^2 from the columns themselves, for rows J whose columns stand in block. */
static mercer_status renew(struct matching *w, mrc_dual *dual, const int64_t *rows, int64_t count,
                           mercer_error *err)
{
    double *dots = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&dots, dual->count + 1, sizeof *dots, err));
    for (int64_t i = 0; i < count; i++) {
        MRC_TRY(mrc_dual_project(dual, w->block + i * dual->n, dots, err));
        w->den[rows[i]] = w->exact[rows[i]] =
            mrc_dot(w->block + i * dual->n, w->block + i * dual->n, dual->n);
        w->upto[rows[i]] = dual->count;
    }
out:
    mrc_free(dots);
    return rc;
}

static mercer_status renew_stale(struct matching *w, mrc_dual *dual, const int64_t *rows,
                                 int64_t count, mercer_error *err)
{
    int64_t stale[GROUP], found = 0;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i <= count; i++) {
        if (i < count && !w->out[rows[i]] && w->den[rows[i]] < STALE * w->exact[rows[i]])
            stale[found++] = rows[i];
        if (found == GROUP || (i == count && found > 0)) {
            MRC_TRY(mrc_gram_columns(dual->gram, stale, found, w->block, err));
            MRC_TRY(renew(w, dual, stale, found, err));
            found = 0;
        }
    }
out:
    return rc;
}

/* ---- candidates ---- */

static int by_age(const void *a, const void *b, void *arg)
{
    const int64_t *upto = arg, i = *(const int64_t *)a, j = *(const int64_t *)b;
    if (upto[i] != upto[j])
        return upto[i] < upto[j] ? -1 : 1;
    return (i > j) - (i < j);
}

static void draw(struct matching *w, mrc_dual *dual)
{
    int64_t left = 0, wanted = w->rule->candidates;
    for (int64_t i = 0; i < dual->n; i++)
        if (!w->out[i])
            w->list[left++] = i;
    wanted = wanted < left ? wanted : left;
    mrc_rng_draw(&dual->ctx->rng, w->list, left, wanted);
    w->list_count = wanted;
    qsort_r(w->list, (size_t)wanted, sizeof *w->list, by_age, w->upto);
}

/* num and den of rows J, which all know the same features. */
static mercer_status meet_group(struct matching *w, mrc_dual *dual, const int64_t *rows,
                                int64_t count, const double *rest, mercer_error *err)
{
    int64_t n = dual->n, known = w->upto[rows[0]] < 0 ? 0 : w->upto[rows[0]];
    int64_t missing = dual->count - known, m = dual->outputs;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_columns(dual->gram, rows, count, w->block, err));
    MRC_TRY(multiply(dual->ctx, w->block, count, rest, m, n, w->products, err));
    for (int64_t i = 0; i < count; i++)
        w->num[rows[i]] = mrc_dot(w->products + i * m, w->products + i * m, m);
    if (!w->rule->alignment)
        goto out;
    for (int64_t i = 0; i < count; i++)
        if (w->upto[rows[i]] < 0)
            w->den[rows[i]] = w->exact[rows[i]] = w->full[rows[i]] =
                mrc_dot(w->block + i * n, w->block + i * n, n);
    MRC_TRY(
        multiply(dual->ctx, w->block, count, dual->q + known * n, missing, n, w->products, err));
    for (int64_t i = 0; i < count; i++) {
        w->den[rows[i]] -=
            missing > 0 ? mrc_dot(w->products + i * missing, w->products + i * missing, missing)
                        : 0;
        w->upto[rows[i]] = dual->count;
    }
    MRC_TRY(renew_stale(w, dual, rows, count, err));
out:
    return rc;
}

static mercer_status meet_candidates(struct matching *w, mrc_dual *dual, mercer_error *err)
{
    double *rest = NULL; /* what is left of the labels, one after the other */
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&rest, dual->outputs, dual->n, sizeof *rest, err));
    for (int64_t i = 0; i < dual->n; i++)
        for (int64_t c = 0; c < dual->outputs; c++)
            rest[c * dual->n + i] = dual->rest[i * dual->outputs + c];
    draw(w, dual);
    for (int64_t first = 0, size; first < w->list_count; first += size) {
        const int64_t *rows = w->list + first;
        for (size = 1; size < GROUP && first + size < w->list_count; size++)
            if (w->rule->alignment && w->upto[rows[size]] != w->upto[rows[0]])
                break;
        MRC_TRY(meet_group(w, dual, rows, size, rest, err));
    }
out:
    mrc_free(rest);
    return rc;
}

/* ---- all columns ---- */

static mercer_status meet_all(struct matching *w, mrc_dual *dual, mercer_error *err)
{
    int64_t n = dual->n, m = dual->outputs, newest = dual->count - 1;
    bool update = w->rule->alignment && newest >= 0;
    int64_t width = update ? m + 1 : m;
    mercer_status rc = MERCER_OK;
    if (w->rule->alignment && newest < 0) {
        const double *full;
        MRC_TRY(mrc_dual_column_norms2(dual, &full, err));
        memcpy(w->full, full, (size_t)n * sizeof *w->full);
        memcpy(w->den, w->full, (size_t)n * sizeof *w->den);
        memcpy(w->exact, w->full, (size_t)n * sizeof *w->exact);
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(w->input + i * width, dual->rest + i * m, (size_t)m * sizeof *w->input);
        if (update)
            w->input[i * width + m] = dual->q[newest * n + i];
    }
    MRC_TRY(mrc_gram_apply(dual->gram, w->input, width, w->output, err));
    for (int64_t i = 0; i < n; i++) {
        w->num[i] = mrc_dot(w->output + i * width, w->output + i * width, m);
        if (update)
            w->den[i] -= w->output[i * width + m] * w->output[i * width + m];
        w->list[i] = i;
    }
    w->list_count = n;
    if (update)
        MRC_TRY(renew_stale(w, dual, w->list, n, err));
out:
    return rc;
}

/* ---- the choice ---- */

static double score(const struct matching *w, int64_t i)
{
    double below = w->rule->alignment ? w->den[i] : w->diag[i];
    if (w->out[i] || !(below > 0) || w->num[i] <= w->noise ||
        (w->rule->alignment && below <= ADMISSIBLE * w->full[i]))
        return -1;
    return w->num[i] / below;
}

/* The row to try: the lowest of those whose score is the largest to rounding; -1: none. */
static int64_t find_best(const struct matching *w)
{
    double most = 0;
    int64_t best = -1;
    for (int64_t i = 0; i < w->list_count; i++)
        most = fmax(most, score(w, w->list[i]));
    for (int64_t i = 0; most > 0 && i < w->list_count; i++)
        if (score(w, w->list[i]) >= most * (1 - TIE) && (best < 0 || w->list[i] < best))
            best = w->list[i];
    return best;
}

static mercer_status choose(void *self, mrc_dual *dual, bool *added, mercer_error *err)
{
    struct matching *w = self;
    const double one = 1;
    mercer_status rc = MERCER_OK;
    *added = false;
    if (!w->num)
        MRC_TRY(reserve(w, dual, err));
    double rounding = 64 * DBL_EPSILON * mrc_gram_kmax(dual->gram);
    w->noise = rounding * rounding * (double)dual->n *
               mrc_dot(dual->rest, dual->rest, dual->n * dual->outputs);
    /* Where none of the drawn columns will do, others are drawn until all were seen. */
    do {
        MRC_TRY(w->rule->candidates ? meet_candidates(w, dual, err) : meet_all(w, dual, err));
        int64_t best;
        while (!*added && (best = find_best(w)) >= 0) {
            w->out[best] = 1;
            MRC_TRY(mrc_dual_add(dual, &best, 1, &one, NULL, added, err));
        }
        for (int64_t i = 0; !*added && i < w->list_count; i++)
            w->out[w->list[i]] = 1;
    } while (!*added && w->rule->candidates && w->list_count > 0);
out:
    return rc;
}

mercer_status mrc_matching_fit(mercer_ctx *ctx, const mrc_problem *problem,
                               const mrc_matching_rule *rule, mercer_model *model,
                               mercer_error *err)
{
    struct matching w = {.rule = rule};
    mrc_supervised method = {.choose = choose,
                             .self = &w,
                             .sparse = true,
                             .few_columns = rule->candidates,
                             .scale =
                                 rule->unit_features ? MRC_UNIT_FEATURES : MRC_UNIT_DIRECTIONS};
    mercer_status rc = mrc_supervised_fit(ctx, problem, &method, model, err);
    destroy(&w);
    return rc;
}
