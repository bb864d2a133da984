/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer_tune: the choice on all rows, and where to look next when it lies at the edge of the grid.
 */
#include "eval/job.h"

#include "base/comm.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- beyond the edge ---- */

enum { MORE = 3 }; /* values to try beyond the edge; of a list one less */

/* The values of an axis as numbers; false when one of them is not. */
static bool axis_numbers(const mrc_axis *axis, double *numbers)
{
    for (int64_t i = 0; i < axis->count; i++)
        if (!mrc_parse_double(axis->values[i], strlen(axis->values[i]), &numbers[i]) ||
            !isfinite(numbers[i]))
            return false;
    return true;
}

/* Whether the chosen value is the largest (1) or the least (-1) of an axis, and the nearest other
 * one; 0: neither. */
static int edge_of(const double *numbers, int64_t count, int64_t chosen, int64_t *nearest)
{
    bool largest = true, least = true;
    *nearest = -1;
    for (int64_t i = 0; i < count; i++) {
        largest &= numbers[i] <= numbers[chosen];
        least &= numbers[i] >= numbers[chosen];
        if (numbers[i] != numbers[chosen] &&
            (*nearest < 0 ||
             fabs(numbers[i] - numbers[chosen]) < fabs(numbers[*nearest] - numbers[chosen])))
            *nearest = i;
    }
    return *nearest < 0 ? 0 : largest ? 1 : least ? -1 : 0;
}

/* Whether a fit can have this value, as far as that is known without rows. */
static bool is_valid(const mrc_job *job, const mrc_axis *axis, double value)
{
    char text[160];
    if (strcmp(axis->key, "components") == 0)
        return value >= 1 && value < (double)job->rows->n;
    snprintf(text, sizeof text, "%.100s=%.15g", axis->key, value);
    return mercer_fit_options_can_tune(&job->fit, text);
}

/* The next value beyond the edge. */
static double next_value(const mrc_axis *axis, double edge, double inner, double value)
{
    bool whole = strcmp(axis->key, "components") == 0;
    if (axis->sign == '+')
        return value + (edge > inner ? axis->step : -axis->step);
    double factor = axis->sign == '*'  ? (edge > inner ? axis->step : 1 / axis->step)
                    : edge * inner > 0 ? edge / inner
                                       : 0;
    double next = factor > 0 ? value * factor : value + (edge - inner);
    if (!whole)
        return next;
    return edge > inner ? fmax(ceil(next - 1e-9), value + 1) : floor(next + 1e-9);
}

/* VALUES from the chosen one on; NULL when there is none that a fit could have. */
static mercer_status describe_further(const mrc_job *job, const mrc_axis *axis, double edge,
                                      double inner, char **out, mercer_error *err)
{
    double values[MORE + 1] = {edge};
    int count = 1, most = axis->sign ? MORE : MORE - 1;
    char text[(MORE + 1) * MRC_NUMBER_SIZE];
    for (double next = edge; count <= most; count++) {
        next = next_value(axis, edge, inner, next);
        if (!is_valid(job, axis, next) || next == values[count - 1])
            break;
        values[count] = next;
    }
    if (count == 1)
        return MERCER_OK;
    double low = fmin(edge, values[count - 1]), high = fmax(edge, values[count - 1]);
    if (axis->sign) {
        snprintf(text, sizeof text, "%.6g:%.6g:%c%.6g", low, high, axis->sign, axis->step);
    } else {
        size_t used = 0;
        for (int i = 0; i < count; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.6g", i ? "," : "",
                                     values[edge > inner ? i : count - 1 - i]);
    }
    return mrc_strdup(out, text, err);
}

/* Where the choice lies at an edge, and not merely on a level with the value beside it. */
static mercer_status look_further(const mrc_job *job, mrc_tuning *tuning, mercer_error *err)
{
    const mrc_grid *grid = &job->result->grid;
    const mrc_scores *scores = &tuning->scores;
    double *numbers = NULL;
    int64_t block = scores->cells;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&tuning->further, grid->axis_count, sizeof *tuning->further, err));
    for (int64_t a = 0; a < grid->axis_count; a++) {
        const mrc_axis *axis = &grid->axes[a];
        int64_t chosen = mrc_grid_place(grid, a, scores->chosen), nearest = -1;
        block /= axis->count;
        mrc_free(numbers);
        numbers = NULL;
        MRC_TRY(mrc_alloc(&numbers, axis->count, sizeof *numbers, err));
        if (!axis_numbers(axis, numbers) || edge_of(numbers, axis->count, chosen, &nearest) == 0)
            continue;
        double level = scores->mean[scores->chosen + (nearest - chosen) * block];
        if (job->rule == MRC_RULE_BEST && level == scores->mean[scores->chosen])
            continue;
        MRC_TRY(describe_further(job, axis, numbers[chosen], numbers[nearest], &tuning->further[a],
                                 err));
    }
out:
    mrc_free(numbers);
    return rc;
}

/* ---- the call ---- */

mercer_status mrc_tune_all(mrc_job *job, mercer_error *err)
{
    mrc_tuning *tuning = &job->result->tuning;
    const mrc_fold_rows all = mrc_job_rows(job);
    const mrc_rng before = job->ctx->rng;
    mercer_notice left_out;
    mercer_status rc = MERCER_OK;
    job->ctx->rng = job->start; /* whatever was evaluated before: the choice is that of the seed */
    MRC_TRY(mrc_choose(job->ctx, job, &all, job->result->count, &tuning->scores, &left_out, err));
    if (left_out.text[0]) {
        const mrc_at at = mrc_at_of(&left_out);
        mrc_notice_at(job->ctx, &at, "%s", left_out.text);
    }
    tuning->rule = job->rule;
    tuning->rows = job->rows->n;
    tuning->components = job->fit.components;
    MRC_TRY(look_further(job, tuning, err));
out:
    job->ctx->rng = before;
    return rc;
}

mercer_status mercer_tune(mercer_ctx *ctx, const mercer_evaluate_options *given,
                          const mercer_rows *rows, const mercer_targets *targets,
                          mercer_evaluation **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(given);
    MRC_NEED(rows);
    MRC_NEED_WHOLE(rows);
    mrc_job job;
    mercer_status rc = MERCER_OK;
    mrc_ctx_enter(ctx);
    MRC_TRY(mrc_job_init(&job, ctx, given, rows, targets, err));
    if (job.options.folds || job.options.repeats || job.options.splits || job.options.test)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: there are inner folds only");
    if (job.options.tune_count == 0)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: there is nothing to choose from");
    if (job.options.importance)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "importance"),
                    "importance: is told by an evaluation, not by a choice");
    job.result->mean = job.result->sd = NAN;
    MRC_TRY(mrc_job_start(&job, job.fits, err));
    MRC_TRY(mrc_tune_all(&job, err));
    MRC_TRY(mrc_check_cancel(ctx, err));
out:
    rc = mrc_job_conclude(&job, rc, err);
    rc = mrc_comm_agree(ctx, rc, err);
    if (rc == MERCER_OK) {
        *out = job.result;
        job.result = NULL;
    }
    mrc_job_destroy(&job);
    return mrc_ctx_leave(ctx, rc, err);
}
