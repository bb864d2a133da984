/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds: rows are shuffled within their class and dealt out in turn, one class after the other
 * without starting anew, so that sizes and classes are both as even as they can be. */
#include "eval/folds.h"

#include <string.h>

/* All rows, shuffled, class after class. */
static void shuffle(mercer_ctx *ctx, const mrc_fold_plan *plan, int64_t *order)
{
    int64_t filled = 0;
    for (int64_t c = 0; c < (plan->codes ? plan->classes : 1); c++) {
        int64_t first = filled;
        for (int64_t i = 0; i < plan->n; i++)
            if (!plan->codes || plan->codes[i] == c)
                order[filled++] = i;
        mrc_rng_shuffle(&ctx->rng, order + first, filled - first);
    }
}

static mercer_status deal_rows(mercer_ctx *ctx, const mrc_fold_plan *plan, int64_t *fold_of,
                               mercer_error *err)
{
    int64_t *order = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&order, plan->n, sizeof *order, err));
    shuffle(ctx, plan, order);
    for (int64_t i = 0; i < plan->n; i++)
        fold_of[order[i]] = i % plan->count;
out:
    mrc_free(order);
    return rc;
}

/* ---- groups ---- */

/* The groups that there are. */
struct groups {
    int64_t count, classes;
    int64_t *number; /* of a group code; -1: no row has it */
    int64_t *size;   /* count */
    int64_t *of;     /* count x classes: rows of each class */
};

static void groups_destroy(struct groups *groups)
{
    mrc_free(groups->number);
    mrc_free(groups->size);
    mrc_free(groups->of);
}

static mercer_status groups_init(struct groups *groups, const mrc_fold_plan *plan,
                                 mercer_error *err)
{
    int64_t codes = 0;
    mercer_status rc = MERCER_OK;
    memset(groups, 0, sizeof *groups);
    groups->classes = plan->codes ? plan->classes : 1;
    for (int64_t i = 0; i < plan->n; i++)
        codes = plan->groups[i] >= codes ? plan->groups[i] + 1 : codes;
    MRC_TRY(mrc_alloc(&groups->number, codes, sizeof *groups->number, err));
    memset(groups->number, -1, (size_t)codes * sizeof *groups->number);
    for (int64_t i = 0; i < plan->n; i++)
        if (groups->number[plan->groups[i]] < 0)
            groups->number[plan->groups[i]] = groups->count++;
    MRC_TRY(mrc_alloc(&groups->size, groups->count, sizeof *groups->size, err));
    MRC_TRY(mrc_alloc2(&groups->of, groups->count, groups->classes, sizeof *groups->of, err));
    for (int64_t i = 0; i < plan->n; i++) {
        int64_t g = groups->number[plan->groups[i]];
        groups->size[g]++;
        groups->of[g * groups->classes + (plan->codes ? plan->codes[i] : 0)]++;
    }
out:
    return rc;
}

mercer_status mrc_groups_count(const mrc_fold_plan *plan, int64_t *count, int64_t *classes_in_two,
                               mercer_error *err)
{
    struct groups groups;
    mercer_status rc = MERCER_OK;
    MRC_TRY(groups_init(&groups, plan, err));
    *count = groups.count;
    if (classes_in_two)
        *classes_in_two = 0;
    for (int64_t c = 0; classes_in_two && c < groups.classes; c++) {
        int64_t in = 0;
        for (int64_t g = 0; g < groups.count; g++)
            in += groups.of[g * groups.classes + c] > 0;
        *classes_in_two += in >= 2;
    }
out:
    groups_destroy(&groups);
    return rc;
}

static int64_t log2_of(int64_t size)
{
    int64_t power = 0;
    while (size >>= 1)
        power++;
    return power;
}

/* The fold for a group: of those with least of its classes, each class by its share of all rows of
 * it, the one with fewest rows; the first among equals. An empty fold has least of everything, so
 * that none stays empty. */
static int64_t fold_for(const struct groups *groups, int64_t g, const int64_t *total,
                        const int64_t *filled, const int64_t *rows, int64_t folds)
{
    int64_t best = 0, classes = groups->classes;
    double least = 0;
    for (int64_t f = 0; f < folds; f++) {
        double overlap = 0;
        for (int64_t c = 0; c < classes; c++)
            if (total[c] > 0)
                overlap += (double)groups->of[g * classes + c] * (double)filled[f * classes + c] /
                           ((double)total[c] * (double)total[c]);
        if (f == 0 || overlap < least || (overlap == least && rows[f] < rows[best])) {
            best = f;
            least = overlap;
        }
    }
    return best;
}

static mercer_status deal_groups(mercer_ctx *ctx, const mrc_fold_plan *plan, int64_t *fold_of,
                                 mercer_error *err)
{
    struct groups groups;
    int64_t *order = NULL, *total = NULL, *filled = NULL, *rows = NULL, *fold = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(groups_init(&groups, plan, err));
    int64_t classes = groups.classes;
    if (groups.count < plan->count)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.key = "groups"),
                    "%lld folds cannot be made of %lld group%s", (long long)plan->count,
                    (long long)groups.count, groups.count == 1 ? "" : "s");
    MRC_TRY(mrc_alloc(&order, groups.count, sizeof *order, err));
    MRC_TRY(mrc_alloc(&fold, groups.count, sizeof *fold, err));
    MRC_TRY(mrc_alloc(&total, classes, sizeof *total, err));
    MRC_TRY(mrc_alloc2(&filled, plan->count, classes, sizeof *filled, err));
    MRC_TRY(mrc_alloc(&rows, plan->count, sizeof *rows, err));
    for (int64_t g = 0; g < groups.count; g++) {
        order[g] = g;
        for (int64_t c = 0; c < classes; c++)
            total[c] += groups.of[g * classes + c];
    }
    mrc_rng_shuffle(&ctx->rng, order, groups.count);
    for (int64_t power = log2_of(plan->n); power >= 0; power--)
        for (int64_t i = 0; i < groups.count; i++) {
            int64_t g = order[i];
            if (log2_of(groups.size[g]) != power)
                continue;
            fold[g] = fold_for(&groups, g, total, filled, rows, plan->count);
            rows[fold[g]] += groups.size[g];
            for (int64_t c = 0; c < classes; c++)
                filled[fold[g] * classes + c] += groups.of[g * classes + c];
        }
    for (int64_t i = 0; i < plan->n; i++)
        fold_of[i] = fold[groups.number[plan->groups[i]]];
out:
    groups_destroy(&groups);
    mrc_free(order);
    mrc_free(fold);
    mrc_free(total);
    mrc_free(filled);
    mrc_free(rows);
    return rc;
}

/* ---- the folds ---- */

static void cut_runs(const mrc_fold_plan *plan, mrc_folds *out)
{
    int64_t size = plan->n / (plan->count + 1), first = plan->n - plan->count * size;
    out->ordered = true;
    for (int64_t f = 0; f < plan->count; f++)
        out->start[f + 1] = (f + 1) * size;
    for (int64_t i = first; i < plan->n; i++)
        out->rows[i - first] = i;
}

mercer_status mrc_folds_draw(mercer_ctx *ctx, const mrc_fold_plan *plan, mrc_folds *out,
                             mercer_error *err)
{
    int64_t n = plan->n, k = plan->count, *fold_of = NULL;
    mercer_status rc = MERCER_OK;
    memset(out, 0, sizeof *out);
    if (n < 2)
        MRC_FAIL(err, MERCER_ERR_DATA, "%lld row%s: there must be two to hold one out",
                 (long long)n, n == 1 ? "" : "s");
    if (k < 2)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%lld folds: at least 2 are needed", (long long)k);
    if (n < k + plan->ordered)
        MRC_FAIL(err, MERCER_ERR_DATA, "%lld folds cannot be made of %lld rows%s", (long long)k,
                 (long long)n, plan->ordered ? " when each is learnt for from earlier rows" : "");
    out->n = n;
    out->count = k * plan->repeats;
    MRC_TRY(mrc_alloc(&out->start, out->count + 1, sizeof *out->start, err));
    MRC_TRY(mrc_alloc2(&out->rows, n, plan->repeats, sizeof *out->rows, err));
    if (plan->ordered) {
        cut_runs(plan, out);
        goto out;
    }
    MRC_TRY(mrc_alloc(&fold_of, n, sizeof *fold_of, err));
    for (int64_t r = 0, filled = 0; r < plan->repeats; r++) {
        MRC_TRY(plan->groups ? deal_groups(ctx, plan, fold_of, err)
                             : deal_rows(ctx, plan, fold_of, err));
        for (int64_t f = 0; f < k; f++) {
            for (int64_t i = 0; i < n; i++)
                if (fold_of[i] == f)
                    out->rows[filled++] = i;
            out->start[r * k + f + 1] = filled;
        }
    }
out:
    mrc_free(fold_of);
    if (rc != MERCER_OK)
        mrc_folds_destroy(out);
    return rc;
}

void mrc_folds_destroy(mrc_folds *folds)
{
    mrc_free(folds->start);
    mrc_free(folds->rows);
    memset(folds, 0, sizeof *folds);
}

int64_t mrc_folds_rest(const mrc_folds *folds, int64_t f, int64_t *rows)
{
    int64_t count = 0, held = folds->start[f];
    int64_t end = folds->ordered ? folds->rows[folds->start[f]] : folds->n;
    for (int64_t i = 0; i < end; i++) {
        if (held < folds->start[f + 1] && folds->rows[held] == i)
            held++;
        else
            rows[count++] = i;
    }
    return count;
}
