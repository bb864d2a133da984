/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice from a grid: the best mean, or the simplest within one standard error of it
 * (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3). */
#include "eval/rule.h"

#include "base/params.h"
#include "eval/moments.h"

#include <math.h>
#include <string.h>

static const double EQUAL = 1e-12; /* shares of rows differ by more, sums of them by rounding */

mercer_status mrc_scores_init(mrc_scores *scores, int64_t folds, int64_t cells, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    memset(scores, 0, sizeof *scores);
    scores->folds = folds;
    scores->cells = cells;
    scores->best = scores->chosen = -1;
    MRC_TRY(mrc_alloc2(&scores->values, folds, cells, sizeof *scores->values, err));
    MRC_TRY(mrc_alloc(&scores->failed, cells, sizeof *scores->failed, err));
    MRC_TRY(mrc_alloc(&scores->mean, cells, sizeof *scores->mean, err));
    MRC_TRY(mrc_alloc(&scores->se, cells, sizeof *scores->se, err));
    MRC_TRY(mrc_alloc(&scores->left, cells, sizeof *scores->left, err));
    MRC_TRY(mrc_alloc(&scores->key, cells, sizeof *scores->key, err));
out:
    return rc;
}

void mrc_scores_destroy(mrc_scores *scores)
{
    mrc_free(scores->values);
    mrc_free(scores->failed);
    mrc_free(scores->mean);
    mrc_free(scores->se);
    mrc_free(scores->left);
    mrc_free(scores->key);
    memset(scores, 0, sizeof *scores);
}

/* The values of one cell. */
struct cell {
    const mrc_scores *scores;
    int64_t number;
};

static double value_in_fold(const void *arg, int64_t f)
{
    const struct cell *cell = arg;
    return cell->scores->values[f * cell->scores->cells + cell->number];
}

static void find_mean(mrc_scores *scores, int64_t number)
{
    const struct cell cell = {scores, number};
    const mrc_moments of = mrc_moments_of(value_in_fold, &cell, scores->folds);
    const bool known = !scores->failed[number];
    scores->mean[number] = known ? mrc_moments_mean(&of) : NAN;
    scores->se[number] =
        known && of.told > 1 ? of.unit * sqrt(of.squares / (of.told - 1) / of.told) : NAN;
}

/* ---- the simplest of some cells ---- */

/* The kernel of a cell, and how wide it is: by sigma, or by 1 / gamma. */
struct width {
    const char *spec;
    const char *key; /* NULL: its width is not a number */
    double value;
};

static struct width width_of(const char *spec)
{
    double sigma = mrc_spec_number(spec, "sigma"), gamma = mrc_spec_number(spec, "gamma");
    if (!isnan(sigma))
        return (struct width){spec, "sigma", sigma};
    if (!isnan(gamma))
        return (struct width){spec, "gamma", 1 / gamma};
    return (struct width){spec, NULL, 0};
}

static bool is_same_kernel(const struct width *a, const struct width *b)
{
    size_t length = a->spec ? mrc_spec_name_length(a->spec) : 0;
    if (!a->spec || !b->spec)
        return a->spec == b->spec;
    if (!a->key || !b->key)
        return strcmp(a->spec, b->spec) == 0;
    return strcmp(a->key, b->key) == 0 && length == mrc_spec_name_length(b->spec) &&
           strncmp(a->spec, b->spec, length) == 0;
}

static double ridge_of(const mrc_choice *choice)
{
    double ridge = mrc_spec_number(choice->method, "ridge");
    double c = mrc_spec_number(choice->head, "c");
    if (isnan(c))
        c = mrc_spec_number(choice->head, "C");
    return !isnan(ridge) ? ridge : !isnan(c) ? -c : 0;
}

/* The best of the cells that are left: the first among equals. -1: there is none. */
static int64_t best_of(const mrc_scores *scores, const bool *left, bool larger_is_better)
{
    int64_t best = -1;
    for (int64_t c = 0; c < scores->cells; c++) {
        if ((left && !left[c]) || isnan(scores->mean[c]))
            continue;
        if (best < 0) {
            best = c;
            continue;
        }
        double value = scores->mean[best], margin = isinf(value) ? 0 : EQUAL * fabs(value);
        if (larger_is_better ? scores->mean[c] > value + margin : scores->mean[c] < value - margin)
            best = c;
    }
    return best;
}

/* Keep of the cells that are left those with the largest key. */
static void keep_largest(int64_t cells, bool *left, const double *key)
{
    double most = -INFINITY;
    for (int64_t c = 0; c < cells; c++)
        if (left[c] && key[c] > most)
            most = key[c];
    for (int64_t c = 0; c < cells; c++)
        left[c] = left[c] && key[c] == most;
}

/* The cells within one standard error of the best, reduced to the simplest. */
static int64_t simplest(const mrc_scores *scores, const mrc_grid *grid, bool larger_is_better)
{
    bool *left = scores->left;
    double *key = scores->key;
    int64_t numbers = mrc_grid_numbers(grid), cells = scores->cells;
    double best = scores->mean[scores->best], se = scores->se[scores->best];
    double margin = (isnan(se) ? 0 : se) + (isinf(best) ? 0 : EQUAL * fabs(best));
    for (int64_t c = 0; c < cells; c++) {
        double mean = scores->mean[c];
        left[c] =
            !isnan(mean) && (larger_is_better ? mean >= best - margin : mean <= best + margin);
        key[c] = grid->components ? -grid->components[c % numbers] : 0;
    }
    keep_largest(cells, left, key);
    struct width leader =
        width_of(grid->choices[best_of(scores, left, larger_is_better) / numbers].kernel);
    for (int64_t c = 0; c < cells; c++) {
        struct width own = width_of(grid->choices[c / numbers].kernel);
        left[c] = left[c] && is_same_kernel(&leader, &own);
        key[c] = own.value;
    }
    keep_largest(cells, left, key);
    for (int64_t c = 0; c < cells; c++)
        key[c] = ridge_of(&grid->choices[c / numbers]);
    keep_largest(cells, left, key);
    return best_of(scores, left, larger_is_better);
}

void mrc_scores_conclude(mrc_scores *scores, const mrc_grid *grid, mrc_rule rule,
                         bool larger_is_better)
{
    for (int64_t c = 0; c < scores->cells; c++)
        find_mean(scores, c);
    scores->best = scores->chosen = best_of(scores, NULL, larger_is_better);
    if (rule == MRC_RULE_1SE && scores->best >= 0)
        scores->chosen = simplest(scores, grid, larger_is_better);
}
