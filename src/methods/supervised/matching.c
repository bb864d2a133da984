/* SPDX-License-Identifier: BSD-3-Clause */
/* Which row's column of K, or combination of two or three, matches what is left of the labels best.
 *
 * With r = P_j Y the match of column i is num_i = |r'k_i|^2, on the raw column; SMC divides by
 * K_ii, SMA by den_i = |P_j k_i|^2. All columns: one product K [r, q_j] a feature gives every
 * num_i, and den_i -= (K q_j)_i^2. The difference is worthless once den_i has fallen below 1e-7 of
 * its last exact value; such columns are computed anew. Candidates: c rows of the matrix a feature;
 * a column drawn again only meets the features that came since. Cost: k n^2 for all columns, c k n
 * kernel values for candidates.
 *
 * Directions of several rows: the match of all subsets follows from r'k_i and G = K (SMC) or
 * K P_j K (SMA), whose rows come in runs; see combinations.h. Cost beside that: for SMA every
 * column is deflated and multiplied with the matrix in each step, n^3 for all columns, c^2 n for
 * candidates.
 *
 * Rows that are spread over ranks: each rank has num and den of its own rows, and the ranks compare
 * the best of them. Columns whose den is renewed are those of all ranks, in the groups of one rank,
 * and so are candidates, which are drawn among the rows of all. Directions of several rows are for
 * one rank. */
#include "methods/supervised/matching.h"

#include "base/running.h"
#include "linalg/linalg.h"
#include "methods/common/request.h"
#include "methods/supervised/combinations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TIE = 1e-10;  /* relative difference of scores that count as equal */
static const double STALE = 1e-7; /* den over its last exact value below which it is renewed */
static const double ADMISSIBLE = 1e-16;      /* what must be left of |k_i|^2 */
static const double BLUR = 64 * DBL_EPSILON; /* error of a deflated column, in units of |k_i| */
enum { GROUP = 64 };                         /* columns computed at a time */
/* Pairs and triples compared in a fit, and products summed for them, that a user can have meant:
 * about an hour. */
static const double MAX_SUBSETS = 1e12, MAX_PRODUCTS = 2e13;

/* Taken, or spanned by those taken; not good enough for this feature. */
enum { SPENT = 1, PASSED = 2 };

struct matching {
    const struct mrc_matching_params *params;
    bool alignment; /* SMA */
    const double *diag;
    double *num;        /* n */
    double *den;        /* n: |P_j k_i|^2 */
    double *exact;      /* n: den when last computed from the column */
    double *full;       /* n: |k_i|^2 */
    int64_t *upto;      /* n: features that den knows of; -1: none, not even |k_i|^2 */
    unsigned char *out; /* n: a row that is not to be taken, or 0 */
    int64_t *list;      /* candidates of this feature: those that are here */
    int64_t list_count;
    int64_t drawn;            /* of them, those of all ranks */
    double noise;             /* a match that rounding alone could make */
    double *block, *products; /* GROUP x n, GROUP x (most + outputs) */
    double *input, *output;   /* n x (outputs + 1): all columns */
    /* Several rows: r'k_i, n x outputs; for those that can be taken, one after the other, r'k_i and
     * errors in units of sqrt(G_ii), and 1 / sqrt(G_ii); room for columns beside one another. */
    double *matches;
    int64_t *members;
    double *match, *blur, *factor;
    double *turned, *images;
};

/* Rows looked at for a feature. */
static int64_t pool_size(const struct mrc_matching_params *params, int64_t n)
{
    return params->candidates > 0 && params->candidates < n ? params->candidates : n;
}

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
    mrc_free(w->matches);
    mrc_free(w->members);
    mrc_free(w->match);
    mrc_free(w->blur);
    mrc_free(w->factor);
    mrc_free(w->turned);
    mrc_free(w->images);
}

static mercer_status reserve(struct matching *w, const mrc_deflation *dual, mercer_error *err)
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
    if (!w->params->candidates) {
        MRC_TRY(mrc_alloc2(&w->input, n, width, sizeof(double), err));
        MRC_TRY(mrc_alloc2(&w->output, n, width, sizeof(double), err));
    }
    for (int64_t i = 0; i < n; i++)
        w->upto[i] = -1;
    if (w->params->sparsity > 1) {
        int64_t size = pool_size(w->params, n);
        MRC_TRY(mrc_alloc2(&w->matches, n, dual->outputs, sizeof(double), err));
        MRC_TRY(mrc_alloc(&w->members, size, sizeof *w->members, err));
        MRC_TRY(mrc_alloc2(&w->match, dual->outputs, size, sizeof(double), err));
        MRC_TRY(mrc_alloc(&w->blur, size, sizeof(double), err));
        MRC_TRY(mrc_alloc(&w->factor, size, sizeof(double), err));
        if (w->alignment) {
            MRC_TRY(mrc_alloc2_raw(&w->turned, n, MRC_COMBINED_ROWS, sizeof(double), err));
            MRC_TRY(mrc_alloc2_raw(&w->images, size, MRC_COMBINED_ROWS, sizeof(double), err));
        }
    }
out:
    return rc;
}

/* ---- columns ---- */

struct multiply {
    const double *block, *vectors; /* rows x n, and count of this stride */
    int64_t n, stride, rows, count;
};

static void multiply_part(void *arg, int64_t first, int64_t end, double *sum, int worker)
{
    const struct multiply *p = arg;
    (void)worker;
    mrc_gemm(false, true, p->rows, p->count, end - first, 1, p->block + first, p->n,
             p->vectors + first, p->stride, 1, sum, p->count);
}

/* out (rows x count) = block vectors', summed by parts over the rows of all ranks. */
static mercer_status multiply(const mrc_deflation *dual, const double *block, int64_t rows,
                              const double *vectors, int64_t stride, int64_t count, double *out,
                              mercer_error *err)
{
    struct multiply p = {.block = block,
                         .vectors = vectors,
                         .n = dual->n,
                         .stride = stride,
                         .rows = rows,
                         .count = count};
    double size = (double)dual->n * (double)(rows < count ? rows : count);
    if (count == 0)
        return MERCER_OK;
    return mrc_sum_span(dual->ctx, &dual->span, rows * count, size / 2,
                        2 * (double)dual->n * (double)rows * (double)count, 0, multiply_part, &p,
                        out, err);
}

enum { RANGE = 4096 };

struct subtract {
    double *block;
    const double *q, *dots; /* count of this stride, rows x count */
    int64_t n, stride, rows, count;
};

static void subtract_range(void *arg, int64_t task, int worker)
{
    const struct subtract *p = arg;
    int64_t c = task * RANGE, cols = p->n - c < RANGE ? p->n - c : RANGE;
    (void)worker;
    mrc_gemm(false, false, p->rows, cols, p->count, -1, p->dots, p->count, p->q + c, p->stride, 1,
             p->block + c, p->n);
}

/* What the features leave of the rows of block; the second pass for what rounding left. */
static mercer_status project_block(mrc_deflation *dual, double *block, int64_t rows, double *dots,
                                   mercer_error *err)
{
    int64_t n = dual->n, count = dual->count;
    struct subtract p = {.block = block,
                         .q = dual->q,
                         .dots = dots,
                         .n = n,
                         .stride = dual->stride,
                         .rows = rows,
                         .count = count};
    mercer_status rc = MERCER_OK;
    for (int pass = 0; count > 0 && pass < 2; pass++) {
        MRC_TRY(multiply(dual, block, rows, dual->q, dual->stride, count, dots, err));
        mrc_parfor_sized(dual->ctx, (n + RANGE - 1) / RANGE,
                         2 * (double)n * (double)rows * (double)count, subtract_range, &p);
    }
out:
    return rc;
}

struct lengths {
    const double *block;
    int64_t n;
};

static mercer_status add_lengths(void *arg, int64_t begin, int64_t end, double *sums,
                                 mercer_error *err)
{
    const struct lengths *w = arg;
    (void)err;
    for (int64_t i = begin; i < end; i++)
        for (int64_t t = 0; t < w->n; t++)
            sums[i] += w->block[i * w->n + t] * w->block[i * w->n + t];
    return MERCER_OK;
}

/* |P_j k_i|^2 of rows of all ranks from the columns themselves, which stand in block. */
static mercer_status renew(struct matching *w, mrc_deflation *dual, const int64_t *rows,
                           int64_t count, mercer_error *err)
{
    enum { TOGETHER = 8 }; /* sums that a rank hands on at a time */
    struct lengths columns = {.block = w->block, .n = dual->n};
    double sums[GROUP] = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(project_block(dual, w->block, count, w->products, err));
    MRC_TRY(
        mrc_run_span(dual->ctx, &dual->span, sums, count, TOGETHER, add_lengths, &columns, err));
    for (int64_t i = 0; i < count; i++) {
        int64_t row = rows[i] - dual->span.first;
        if (row < 0 || row >= dual->n)
            continue;
        w->den[row] = w->exact[row] = sums[i];
        w->upto[row] = dual->count;
        if (w->den[row] <= ADMISSIBLE * w->full[row])
            w->out[row] = SPENT; /* what is left of it can only become less */
    }
out:
    return rc;
}

/* out: those rows of all ranks that are in `found`, in the order of rows; returns how many. */
static int64_t in_order(const int64_t *rows, int64_t count, const int64_t *found,
                        int64_t found_count, int64_t *out)
{
    int64_t size = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < found_count; k++)
            if (found[k] == rows[i]) {
                out[size++] = rows[i];
                break;
            }
    return size;
}

/* rows: some of those that are here; their like of all ranks are renewed together, in the order of
 * the rows or, unless it is NULL, in that of `group`, which has GROUP rows of all ranks at most. */
static mercer_status renew_stale(struct matching *w, mrc_deflation *dual, const int64_t *rows,
                                 int64_t count, const int64_t *group, int64_t group_size,
                                 mercer_error *err)
{
    int64_t sorted[GROUP];
    const int64_t bytes = (int64_t)sizeof *rows;
    int64_t *stale = NULL, found = 0;
    char *of_all = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&stale, count, sizeof *stale, err));
    for (int64_t i = 0; i < count; i++)
        if (!w->out[rows[i]] && w->den[rows[i]] < STALE * w->exact[rows[i]])
            stale[found++] = dual->span.first + rows[i];
    if (dual->span.spread) {
        MRC_TRY(mrc_comm_gather(dual->ctx, stale, found * bytes, &of_all, &found, err));
        found /= bytes;
    }
    const int64_t *all = of_all ? (const int64_t *)(const void *)of_all : stale;
    if (group) {
        found = in_order(group, group_size, all, found, sorted);
        all = sorted;
    }
    for (int64_t first = 0; first < found; first += GROUP) {
        int64_t size = found - first < GROUP ? found - first : GROUP;
        MRC_TRY(mrc_gram_columns(dual->gram, all + first, size, w->block, err));
        MRC_TRY(renew(w, dual, all + first, size, err));
    }
out:
    mrc_free(stale);
    mrc_free(of_all);
    return rc;
}

static void note_match(struct matching *w, int64_t row, const double *products, int64_t outputs)
{
    w->num[row] = mrc_dot(products, products, outputs);
    if (w->matches)
        memcpy(w->matches + row * outputs, products, (size_t)outputs * sizeof *products);
}

/* ---- columns one by one: candidates, and what is left of all of them ---- */

/* A candidate: a row of all, and the features that its den knows of. */
struct candidate {
    int64_t row, age;
};

static int by_age(const void *a, const void *b)
{
    const struct candidate *i = a, *j = b;
    if (i->age != j->age)
        return i->age < j->age ? -1 : 1;
    return (i->row > j->row) - (i->row < j->row);
}

/* Where a row of all stands among those here; -1: elsewhere. */
static int64_t place_here(const mrc_deflation *dual, int64_t row)
{
    int64_t at = row - dual->span.first;
    return at >= 0 && at < dual->n ? at : -1;
}

/* *out: those of this feature, to be freed, oldest first; w->list has those that are here. */
static mercer_status draw(struct matching *w, mrc_deflation *dual, struct candidate **out,
                          mercer_error *err)
{
    const int64_t most = w->params->candidates > 0 ? w->params->candidates : dual->span.total;
    int64_t left = 0, *drawn = NULL;
    double *ages = NULL;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < dual->n; i++)
        if (!w->out[i])
            w->list[left++] = dual->span.first + i;
    MRC_TRY(mrc_draw_of_all(dual->ctx, &dual->span, w->list, left, most, &drawn, &w->drawn, err));
    MRC_TRY(mrc_alloc(&ages, w->drawn, sizeof *ages, err));
    MRC_TRY(mrc_alloc(out, w->drawn, sizeof **out, err));
    for (int64_t k = 0; k < w->drawn; k++) {
        int64_t at = place_here(dual, drawn[k]);
        ages[k] = at >= 0 ? (double)w->upto[at] : 0;
    }
    if (dual->span.spread)
        MRC_TRY(mrc_comm_merge_numbers(dual->ctx, ages, w->drawn, err));
    for (int64_t k = 0; k < w->drawn; k++)
        (*out)[k] = (struct candidate){.row = drawn[k], .age = (int64_t)ages[k]};
    qsort(*out, (size_t)w->drawn, sizeof **out, by_age);
    w->list_count = 0;
    for (int64_t k = 0; k < w->drawn; k++)
        if (place_here(dual, (*out)[k].row) >= 0)
            w->list[w->list_count++] = place_here(dual, (*out)[k].row);
out:
    mrc_free(drawn);
    mrc_free(ages);
    return rc;
}

/* num and den of rows J. They are in order of what they know: the products of all begin with what
 * the first has missed, and each row takes its own share of them. */
static mercer_status meet_group(struct matching *w, mrc_deflation *dual,
                                const struct candidate *group, int64_t count, const double *rest,
                                mercer_error *err)
{
    enum { TOGETHER = 8 };
    int64_t n = dual->n, known = group[0].age < 0 ? 0 : group[0].age;
    int64_t missing = dual->count - known, m = dual->outputs;
    int64_t rows[GROUP], here[GROUP], count_here = 0;
    struct lengths columns = {.block = w->block, .n = n};
    double full[GROUP] = {0};
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < count; i++)
        rows[i] = group[i].row;
    MRC_TRY(mrc_gram_columns(dual->gram, rows, count, w->block, err));
    MRC_TRY(multiply(dual, w->block, count, rest, n, m, w->products, err));
    for (int64_t i = 0; i < count; i++)
        if (place_here(dual, rows[i]) >= 0) {
            here[count_here++] = place_here(dual, rows[i]);
            note_match(w, place_here(dual, rows[i]), w->products + i * m, m);
        }
    if (!w->alignment)
        goto out;
    if (group[0].age < 0) /* new ones come first */
        MRC_TRY(mrc_run_span(dual->ctx, &dual->span, full, count, TOGETHER, add_lengths, &columns,
                             err));
    for (int64_t i = 0; i < count; i++) {
        int64_t at = place_here(dual, rows[i]);
        if (at >= 0 && group[i].age < 0)
            w->den[at] = w->exact[at] = w->full[at] = full[i];
    }
    if (w->params->sparsity > 1) { /* correlations of what is left need all its digits */
        MRC_TRY(renew(w, dual, rows, count, err));
        goto out;
    }
    MRC_TRY(multiply(dual, w->block, count, dual->q + known * dual->stride, dual->stride, missing,
                     w->products, err));
    for (int64_t i = 0; i < count; i++) {
        int64_t own = dual->count - (group[i].age < 0 ? 0 : group[i].age);
        int64_t at = place_here(dual, rows[i]);
        const double *products = w->products + (i + 1) * missing - own;
        if (at < 0)
            continue;
        w->den[at] -= mrc_dot(products, products, own);
        w->upto[at] = dual->count;
    }
    MRC_TRY(renew_stale(w, dual, here, count_here, rows, count, err));
out:
    return rc;
}

static mercer_status meet_columns(struct matching *w, mrc_deflation *dual, mercer_error *err)
{
    double *rest = NULL; /* what is left of the labels, one after the other */
    struct candidate *candidates = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&rest, dual->outputs, dual->n, sizeof *rest, err));
    for (int64_t i = 0; i < dual->n; i++)
        for (int64_t c = 0; c < dual->outputs; c++)
            rest[c * dual->n + i] = dual->rest[i * dual->outputs + c];
    MRC_TRY(draw(w, dual, &candidates, err));
    for (int64_t first = 0; first < w->drawn; first += GROUP) {
        int64_t size = w->drawn - first < GROUP ? w->drawn - first : GROUP;
        MRC_TRY(mrc_check_cancel(dual->ctx, err));
        MRC_TRY(meet_group(w, dual, candidates + first, size, rest, err));
    }
out:
    mrc_free(rest);
    mrc_free(candidates);
    return rc;
}

/* ---- all columns ---- */

static mercer_status meet_all(struct matching *w, mrc_deflation *dual, mercer_error *err)
{
    int64_t n = dual->n, m = dual->outputs, newest = dual->count - 1;
    bool update = w->alignment && newest >= 0;
    int64_t width = update ? m + 1 : m;
    mercer_status rc = MERCER_OK;
    if (w->alignment && newest < 0) {
        const double *full;
        MRC_TRY(mrc_deflation_column_norms2(dual, &full, err));
        memcpy(w->full, full, (size_t)n * sizeof *w->full);
        memcpy(w->den, w->full, (size_t)n * sizeof *w->den);
        memcpy(w->exact, w->full, (size_t)n * sizeof *w->exact);
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(w->input + i * width, dual->rest + i * m, (size_t)m * sizeof *w->input);
        if (update)
            w->input[i * width + m] = dual->q[newest * dual->stride + i];
    }
    MRC_TRY(mrc_gram_apply(dual->gram, w->input, width, w->output, err));
    for (int64_t i = 0; i < n; i++) {
        note_match(w, i, w->output + i * width, m);
        if (update)
            w->den[i] -= w->output[i * width + m] * w->output[i * width + m];
        w->list[i] = i;
    }
    w->list_count = n;
    if (update)
        MRC_TRY(renew_stale(w, dual, w->list, n, NULL, 0, err));
out:
    return rc;
}

/* ---- the choice ---- */

/* G_ii, or 0 for a row that cannot be taken: nothing is left of its column. */
static double square_of(const struct matching *w, int64_t i)
{
    double below = w->alignment ? w->den[i] : w->diag[i];
    if (w->out[i] || !(below > 0) || (w->alignment && below <= ADMISSIBLE * w->full[i]))
        return 0;
    return below;
}

static double score(const struct matching *w, int64_t i)
{
    double below = square_of(w, i);
    return below > 0 && w->num[i] > w->noise ? w->num[i] / below : -1;
}

/* The row to try, of all: the lowest of those whose score is the largest to rounding; -1: none. */
static mercer_status find_best(const struct matching *w, const mrc_deflation *dual, int64_t *out,
                               mercer_error *err)
{
    const int64_t size = dual->ctx->comm.table.size;
    double most = 0, mine = -1, *all = NULL;
    mercer_status rc = MERCER_OK;
    *out = -1;
    for (int64_t i = 0; i < w->list_count; i++)
        most = fmax(most, score(w, w->list[i]));
    if (dual->span.spread)
        MRC_TRY(mrc_comm_largest(dual->ctx, &most, err));
    for (int64_t i = 0; most > 0 && i < w->list_count; i++)
        if (score(w, w->list[i]) >= most * (1 - TIE) && (*out < 0 || w->list[i] < *out))
            *out = w->list[i];
    if (!dual->span.spread)
        goto out;
    if (*out >= 0)
        mine = (double)(dual->span.first + *out);
    *out = -1;
    MRC_TRY(mrc_alloc(&all, size, sizeof *all, err));
    MRC_TRY(mrc_comm_collect(dual->ctx, &mine, 1, all, err));
    for (int64_t r = size - 1; r >= 0; r--) /* ranks have the rows in order */
        *out = all[r] >= 0 ? (int64_t)all[r] : *out;
out:
    mrc_free(all);
    return rc;
}

static mercer_status take_row(struct matching *w, mrc_deflation *dual, bool *added,
                              mercer_error *err)
{
    const double one = 1;
    int64_t best;
    mercer_status rc = MERCER_OK;
    while (!*added) {
        MRC_TRY(find_best(w, dual, &best, err));
        if (best < 0)
            break;
        if (best >= dual->span.first && best < dual->span.first + dual->n)
            w->out[best - dual->span.first] = SPENT;
        MRC_TRY(mrc_deflation_add(dual, &best, 1, &one, NULL, added, err));
    }
out:
    return rc;
}

/* ---- several rows ---- */

struct pool {
    struct matching *w;
    mrc_deflation *dual;
    mrc_combination_search search;
};

/* Rows of G between members of the pool, in units of their diagonal; see mrc_combination_search. */
static mercer_status correlate(void *self, int64_t first, int64_t count, double *out,
                               mercer_error *err)
{
    const struct pool *pool = self;
    struct matching *w = pool->w;
    mrc_deflation *dual = pool->dual;
    int64_t n = dual->n, size = pool->search.size, later = size - first;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_gram_columns(dual->gram, w->members + first, count, w->block, err));
    if (w->alignment) {
        MRC_TRY(project_block(dual, w->block, count, w->products, err));
        for (int64_t t = 0; t < n; t++)
            for (int64_t a = 0; a < count; a++)
                w->turned[t * count + a] = w->block[a * n + t];
        MRC_TRY(mrc_gram_apply_rows(dual->gram, w->members + first, later, w->turned, count,
                                    w->images, err));
    }
    for (int64_t a = 0; a < count; a++)
        for (int64_t b = first; b < size; b++)
            out[a * size + b] = w->factor[first + a] * w->factor[b] *
                                (w->alignment ? w->images[(b - first) * count + a]
                                              : w->block[a * n + w->members[b]]);
out:
    return rc;
}

/* Fill the pool with the rows of the list that can be taken. */
static void fill_pool(struct matching *w, mrc_deflation *dual, struct pool *pool)
{
    int64_t m = dual->outputs, size = 0;
    double most = 0;
    for (int64_t i = 0; i < w->list_count; i++)
        if (square_of(w, w->list[i]) > 0) {
            w->members[size++] = w->list[i];
            most = fmax(most, score(w, w->list[i]));
        }
    for (int64_t s = 0; s < size; s++) {
        int64_t i = w->members[s];
        w->factor[s] = 1 / sqrt(square_of(w, i));
        /* Errors of the matches, beside the largest, and of deflated columns. */
        w->blur[s] = (most > 0 ? sqrt(w->noise / most) * w->factor[s] : 0) +
                     (w->alignment ? BLUR * sqrt(w->full[i]) * w->factor[s] : 0);
        for (int64_t o = 0; o < m; o++)
            w->match[o * size + s] =
                w->num[i] > w->noise ? w->matches[i * m + o] * w->factor[s] : 0;
    }
    *pool = (struct pool){.w = w,
                          .dual = dual,
                          .search = {.size = size,
                                     .most = w->params->sparsity,
                                     .outputs = m,
                                     .match = w->match,
                                     .blur = w->blur,
                                     .correlate = correlate,
                                     .self = pool}};
}

static int by_number(const void *a, const void *b)
{
    int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    return (i > j) - (i < j);
}

static mercer_status take_subset(struct matching *w, mrc_deflation *dual, bool *added,
                                 mercer_error *err)
{
    struct pool pool;
    mrc_combination best;
    mercer_status rc = MERCER_OK;
    qsort(w->list, (size_t)w->list_count, sizeof *w->list, by_number);
    do {
        int64_t rows[MRC_MAX_COMBINED];
        double weights[MRC_MAX_COMBINED];
        fill_pool(w, dual, &pool);
        MRC_TRY(mrc_combination_find(dual->ctx, &pool.search, &best, err));
        for (int64_t k = 0; k < best.count; k++) {
            rows[k] = w->members[best.row[k]];
            weights[k] = best.weight[k] * w->factor[best.row[k]];
        }
        if (best.count > 0)
            MRC_TRY(mrc_deflation_add(dual, rows, best.count, weights, NULL, added, err));
        for (int64_t k = 0; !*added && k < best.count; k++)
            w->out[rows[k]] = best.count == 1 ? SPENT : PASSED;
    } while (!*added && best.count > 0);
out:
    return rc;
}

/* ---- the method ---- */

/* What the next feature needs to know of the rows it may take. */
static mercer_status meet(struct matching *w, mrc_deflation *dual, mercer_error *err)
{
    bool singly = w->params->candidates > 0 || (w->alignment && w->params->sparsity > 1);
    return singly ? meet_columns(w, dual, err) : meet_all(w, dual, err);
}

static mercer_status choose(void *self, mrc_deflation *dual, bool *added, mercer_error *err)
{
    struct matching *w = self;
    mercer_status rc = MERCER_OK;
    *added = false;
    if (!w->num)
        MRC_TRY(reserve(w, dual, err));
    for (int64_t i = 0; i < dual->n; i++)
        w->out[i] = w->out[i] == SPENT ? SPENT : 0;
    double rounding = 64 * DBL_EPSILON * mrc_gram_kmax(dual->gram), rest2;
    MRC_TRY(mrc_deflation_dot(dual, dual->rest, dual->rest, dual->outputs, &rest2, err));
    w->noise = rounding * rounding * (double)dual->span.total * rest2;
    /* Where none of the drawn columns will do, others are drawn until all were seen. */
    do {
        MRC_TRY(meet(w, dual, err));
        MRC_TRY(w->params->sparsity > 1 ? take_subset(w, dual, added, err)
                                        : take_row(w, dual, added, err));
        for (int64_t i = 0; i < w->list_count; i++)
            w->out[w->list[i]] = w->out[w->list[i]] ? w->out[w->list[i]] : PASSED;
    } while (!*added && w->params->candidates > 0 && w->drawn > 0);
out:
    return rc;
}

/* Refuse searches that would not end: more pairs or triples than MAX_SUBSETS, or more products
 * for their correlations than MAX_PRODUCTS. */
static mercer_status check_cost(const struct matching *w, const mrc_problem *problem,
                                mercer_error *err)
{
    bool triples = w->params->sparsity == 3;
    const int64_t rows = mrc_rows_total(problem->rows);
    double n = (double)rows, size = (double)pool_size(w->params, rows);
    double features = fmin(fmax((double)problem->components, 1), n), most;
    if (w->params->sparsity == 1)
        return MERCER_OK;
    most = triples ? fmin(MRC_COMBINED_TRIPLES, cbrt(6 * MAX_SUBSETS / features))
                   : sqrt(2 * MAX_SUBSETS / features);
    if (w->alignment)
        most = fmin(most, sqrt(MAX_PRODUCTS / features / n));
    if (size <= most)
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_ARGUMENT,
                    "sparsity=%d looks at all %s of %.0f rows for each of %.0f features, which "
                    "would take too long: use candidates=%.0f or fewer",
                    (int)w->params->sparsity, triples ? "triples" : "pairs", size, features,
                    fmax(1, floor(most)));
}

/* Candidates are c k n kernel values, all columns k products with a matrix that is there: those are
 * read faster than new ones are computed, by a factor of four or more. */
static void advise(mercer_ctx *ctx, const struct mrc_matching_params *params,
                   const mrc_problem *problem)
{
    const int64_t n = mrc_rows_total(problem->rows);
    double asked = (double)params->candidates * (double)problem->components;
    if (params->sparsity == 1 && asked >= 4 * (double)n)
        mrc_notice(ctx,
                   "a look at all %lld rows takes no longer than %lld candidates for each of %lld "
                   "features, and finds the best: leave candidates out",
                   (long long)n, (long long)params->candidates, (long long)problem->components);
}

/* n-vectors that the choice holds, beside those of each label. */
static int64_t count_columns(const struct matching *w, int64_t n)
{
    bool several = w->params->sparsity > 1;
    int64_t size = pool_size(w->params, n);
    return GROUP + 10 + (several ? 4 : 0) + (several && w->alignment ? 2 * MRC_COMBINED_ROWS : 0) +
           (w->params->sparsity > 2 ? size * size / n + 1 : 0);
}

mercer_status mrc_matching_check_spread(const mrc_request *request, mercer_error *err)
{
    const struct mrc_matching_params *p = request->params;
    if (request->problem.center != MRC_CENTER_NONE)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "center"),
                           "method %s: center exact keeps all rows, which is not possible where "
                           "they are spread over ranks: use center none, or fit on one rank",
                           request->method->entry.name);
    if (p->sparsity == 1)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "method"),
                       "method %s: sparsity cannot be set where rows are spread over ranks: leave "
                       "it out, or fit on one rank",
                       request->method->entry.name);
}

mercer_status mrc_matching_fit(mercer_ctx *ctx, const struct mrc_matching_params *params,
                               bool alignment, const mrc_problem *problem, mercer_model *model,
                               mercer_error *err)
{
    struct matching w = {.params = params, .alignment = alignment};
    mrc_supervised method = {.choose = choose,
                             .self = &w,
                             .sparse = true,
                             .follows_rest = true,
                             .few_columns = params->candidates,
                             .work_columns = count_columns(&w, mrc_rows_total(problem->rows)),
                             .raw_targets = params->labels == 1,
                             .scale = params->norm == 1 ? MRC_UNIT_FEATURES : MRC_UNIT_DIRECTIONS};
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_cost(&w, problem, err));
    advise(ctx, params, problem);
    MRC_TRY(mrc_supervised_fit(ctx, problem, &method, model, err));
out:
    destroy(&w);
    return rc;
}

/* Matches of all rows, or of those drawn, with what is left of the targets, and their lengths.
 * Pairs and triples look at every combination. */
void mrc_matching_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                       int64_t n, mrc_work *work)
{
    const struct mrc_matching_params *p = params;
    struct matching w = {.params = p};
    const mrc_supervised method = {.choose = choose,
                                   .sparse = true,
                                   .few_columns = p->candidates,
                                   .work_columns = count_columns(&w, n)};
    (void)ctx;
    mrc_supervised_work(problem, n, &method, 2, work);
    work->columns += work->points;
    work->spread = p->sparsity > 1 ? 8 : 0;
    if (p->sparsity > 1)
        work->flops += work->points * pow((double)pool_size(p, n), (double)p->sparsity) * 8;
}
