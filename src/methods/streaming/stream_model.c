/* SPDX-License-Identifier: BSD-3-Clause */
/* From the state of a stream to a model and back.
 *
 * Directions U and mean mu stand in the frame in which the points have the coordinates L, so their
 * coefficients over the points are B = L'^-1 U and v = L'^-1 mu, and b = -U' mu. The scatter S^2 is
 * that of rows of a total `weight`, of which the newest has weight 1; the spectrum is it. */
#include "methods/streaming/streaming.h"

#include "data/checksum.h"

#include "linalg/linalg.h"
#include "model/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mrc_state_copy_counters(mrc_state *out, const mrc_state *state)
{
    *out = *state;
    mrc_arrays_forget(MRC_GROUP_state, out);
    out->kept_csr = (mrc_csr_owned){0};
    out->rank = out->window = out->pending = out->kept_entries = 0;
}

static mercer_status copy_doubles(double **out, const double *x, int64_t rows, int64_t columns,
                                  mercer_error *err)
{
    mercer_status rc = mrc_alloc2_raw(out, rows, columns, sizeof **out, err);
    if (rc == MERCER_OK && rows * columns > 0)
        memcpy(*out, x, (size_t)(rows * columns) * sizeof **out);
    return rc;
}

/* ---- to a model ---- */

/* [B, v]: vectors in coordinates become coefficients over the points. */
struct unfold {
    const mrc_library *lib;
    int64_t k;
    double *x;
};

static void unfold_run(void *arg, int64_t task, int worker)
{
    const struct unfold *u = arg;
    int64_t m = u->lib->count;
    (void)task, (void)worker;
    mrc_lower_solve(false, true, m, u->k, u->lib->factor, m, u->x, u->k);
}

static mercer_status fill_coefficients(mercer_ctx *ctx, const mercer_stream *stream,
                                       mercer_model *model, mercer_error *err)
{
    const mrc_state *s = &stream->state;
    int64_t m = stream->library.count, l = model->components, k = l + 1;
    struct unfold u = {.lib = &stream->library, .k = k};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&u.x, m, k, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&model->coefficients, m, l, sizeof(double), err));
    MRC_TRY(mrc_alloc(&model->offsets, l, sizeof(double), err));
    for (int64_t i = 0; i < m; i++) {
        memcpy(u.x + i * k, s->basis + i * s->rank, (size_t)l * sizeof(double));
        u.x[i * k + l] = s->mean[i];
        for (int64_t j = 0; j < l; j++)
            model->offsets[j] -= s->basis[i * s->rank + j] * s->mean[i];
        model->mean_norm2 += s->mean[i] * s->mean[i];
    }
    mrc_serial(ctx, unfold_run, &u);
    if (model->center != MRC_CENTER_NONE)
        MRC_TRY(mrc_alloc(&model->mean, m, sizeof(double), err));
    for (int64_t i = 0; i < m; i++) {
        memcpy(model->coefficients + i * l, u.x + i * k, (size_t)l * sizeof(double));
        if (model->mean)
            model->mean[i] = u.x[i * k + l];
    }
out:
    mrc_free(u.x);
    return rc;
}

/* Components that are not much stronger than the last direction kept may have drifted: others like
 * that one were dropped on the way, and more of them, all told, than they hold.
 */
static void notify_drift(const mercer_ctx *ctx, const mrc_state *s, const double *values, int64_t l)
{
    enum { STRONGER = 2 };
    int64_t first = l;
    while (first > 0 && values[first - 1] < s->lost &&
           values[first - 1] < STRONGER * values[s->rank - 1])
        first--;
    if (first < l)
        mrc_notice(
            ctx,
            "components from number %lld on may have drifted: directions of similar strength were "
            "discarded; a rank well above %lld keeps them",
            (long long)first + 1, (long long)s->rank);
}

/* Components, spectrum and variances. */
static mercer_status fill_spectrum(const mercer_ctx *ctx, const mercer_stream *stream,
                                   mercer_model *model, mercer_error *err)
{
    const mrc_state *s = &stream->state;
    const mrc_problem *problem = &stream->request.problem;
    double total = s->diagonal, kept = 0, *values = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&values, s->rank, sizeof *values, err));
    for (int64_t i = 0; i < stream->library.count; i++) /* zero when nothing is centred */
        total -= s->weight * s->mean[i] * s->mean[i];
    for (int64_t j = 0; j < s->rank; j++)
        values[j] = s->singular[j] * s->singular[j];
    double floor = mrc_rank_floor((int64_t)ceil(s->weight), DBL_EPSILON * s->largest, 0);
    int64_t l =
        mrc_wanted_pairs(values, s->rank, floor, problem->components, problem->share, total);
    if (stream->plan.captured < 1) {
        int64_t enough = mrc_wanted_pairs(values, s->rank, floor, 0, stream->plan.captured, total);
        l = enough < l ? enough : l;
    }
    if (l == 0)
        MRC_TRY(mrc_problem_no_component(problem, err));
    if (l < problem->components && stream->plan.captured == 1)
        mrc_notice_at(ctx, MRC_AT(.cause = MERCER_CAUSE_FEWER_COMPONENTS),
                      "%lld components asked for, but the rows so far give %lld",
                      (long long)problem->components, (long long)l);
    notify_drift(ctx, s, values, l);
    MRC_TRY(mrc_alloc(&model->spectrum, l, sizeof(double), err));
    for (int64_t j = 0; j < l; j++) {
        kept += values[j] / s->weight;
        model->spectrum[j] = values[j];
    }
    model->weight = s->weight;
    model->components = l;
    model->orthonormal = true;
    model->correlated = stream->request.method->streaming->correlated;
    model->total_variance = total / s->weight;
    model->reconstruction_error = model->total_variance - kept;
    if (fabs(model->reconstruction_error) < floor / s->weight)
        model->reconstruction_error = fmax(model->reconstruction_error, 0); /* rounding */
out:
    mrc_free(values);
    return rc;
}

/* State and rows that are kept, so that another stream can go on. */
static mercer_status fill_state(const mercer_stream *stream, mercer_model *model, mercer_error *err)
{
    const mrc_state *from = &stream->state;
    mrc_state *to = &model->state;
    int64_t m = stream->library.count;
    mercer_rows *kept = NULL;
    mercer_status rc = MERCER_OK;
    mrc_state_copy_counters(to, from);
    to->rank = from->rank;
    MRC_TRY(copy_doubles(&to->factor, stream->library.factor, m, m, err));
    MRC_TRY(copy_doubles(&to->basis, from->basis, m, from->rank, err));
    MRC_TRY(copy_doubles(&to->singular, from->singular, from->rank, 1, err));
    MRC_TRY(copy_doubles(&to->mean, from->mean, m, 1, err));
    if (stream->window) {
        to->window = stream->window->n;
        MRC_TRY(copy_doubles(&to->coordinates, from->coordinates, to->window, m, err));
        MRC_TRY(mrc_rows_append(&kept, stream->window, err));
    }
    if (stream->pending) {
        to->pending = stream->pending->n;
        MRC_TRY(mrc_rows_append(&kept, stream->pending, err));
    }
    if (kept) {
        to->kept_entries = mercer_rows_is_sparse(kept) ? mercer_rows_entries(kept) : 0;
        to->kept = kept->owned;
        to->kept_csr = kept->owned_csr;
        kept->owned = NULL;
        kept->owned_csr = (mrc_csr_owned){0};
    }
out:
    mercer_rows_free(kept);
    return rc;
}

void mrc_stream_report(const mercer_stream *stream, const mercer_model *model,
                       mercer_fit_report *report)
{
    snprintf(report->store, sizeof report->store, "stream");
    snprintf(report->store_reason, sizeof report->store_reason,
             "only values with the library of %lld rows are computed, once",
             (long long)stream->library.count);
    snprintf(report->solver, sizeof report->solver, "incremental");
    report->passes = 1;
    report->residual = (double)stream->library.count * DBL_EPSILON;
    report->reconstruction_error = model->reconstruction_error;
    report->total_variance = model->total_variance;
    report->projection_variance = model->total_variance - model->reconstruction_error;
}

mercer_status mrc_stream_derive(mercer_ctx *ctx, const mercer_stream *stream, mercer_model **out,
                                mercer_error *err)
{
    static const double MUCH = 0.1; /* of the squared norms: worth saying */
    mercer_model *model = NULL;
    mercer_rows *points = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (stream->rows == 0)
        MRC_FAIL(err, MERCER_ERR_DATA, "there is no model yet: the first block waits for %lld rows",
                 (long long)(stream->plan.first - (stream->pending ? stream->pending->n : 0)));
    MRC_TRY(mrc_model_new(&model, err));
    MRC_TRY(mrc_model_copy_description(model, stream->base, err));
    mrc_free(model->data_hash);
    model->data_hash = NULL;
    model->rows = stream->rows;
    MRC_TRY(mrc_format_checksum(stream->crc, model->rows, model->columns, &model->data_hash, err));
    model->center = stream->request.problem.center;
    if (model->center != MRC_CENTER_NONE) /* all rows are in the span while no point has gone */
        model->center = stream->state.compressed ? MRC_CENTER_SPAN : MRC_CENTER_EXACT;
    MRC_TRY(fill_spectrum(ctx, stream, model, err));
    MRC_TRY(fill_coefficients(ctx, stream, model, err));
    MRC_TRY(mrc_rows_take(stream->library.rows, NULL, stream->library.count, &points, err));
    model->points = model->basis_points = points->n;
    mrc_model_take_points(model, points);
    MRC_TRY(fill_state(stream, model, err));
    if (stream->state.outside > MUCH)
        mrc_notice(ctx,
                   "%.0f %% of the newest block lies outside the span of the landmarks: they no "
                   "longer represent the rows",
                   100 * stream->state.outside);
    MRC_TRY(mrc_model_seal(model, ctx, err));
    *out = model;
    model = NULL;
out:
    mercer_model_free(model);
    mercer_rows_free(points);
    return rc;
}

/* ---- back ---- */

/* The rows kept in the state: the window, and those that wait. */
static mercer_status take_kept(mercer_stream *stream, const mercer_model *model, mercer_error *err)
{
    const mrc_state *s = &model->state;
    mercer_rows kept = {.n = s->window + s->pending, .d = model->columns, .ld = model->columns};
    mercer_status rc = MERCER_OK;
    kept.x = s->kept;
    kept.csr = (mrc_csr){s->kept_csr.start, s->kept_csr.column, s->kept_csr.value};
    if (s->window > 0)
        MRC_TRY(mrc_rows_slice(&kept, 0, s->window, &stream->window, err));
    if (s->pending > 0)
        MRC_TRY(mrc_rows_slice(&kept, s->window, s->pending, &stream->pending, err));
out:
    return rc;
}

mercer_status mrc_stream_restore(mercer_stream *stream, const mercer_model *model,
                                 mercer_error *err)
{
    const mrc_state *from = &model->state;
    mrc_state *to = &stream->state;
    int64_t m = model->points;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_model_new(&stream->base, err));
    MRC_TRY(mrc_model_copy_description(stream->base, model, err));
    mrc_state_copy_counters(to, from);
    to->rank = from->rank;
    to->window = from->window;
    MRC_TRY(copy_doubles(&to->basis, from->basis, m, from->rank, err));
    MRC_TRY(copy_doubles(&to->singular, from->singular, from->rank, 1, err));
    MRC_TRY(copy_doubles(&to->mean, from->mean, m, 1, err));
    if (from->window > 0)
        MRC_TRY(copy_doubles(&to->coordinates, from->coordinates, from->window, m, err));
    MRC_TRY(copy_doubles(&stream->library.factor, from->factor, m, m, err));
    MRC_TRY(mrc_rows_take(model->z_rows, NULL, m, &stream->library.rows, err));
    stream->library.count = m;
    stream->library.largest = from->largest;
    stream->sparse = mercer_rows_is_sparse(model->z_rows);
    stream->learnt = true;
    stream->rows = model->rows;
    const char *crc = strchr(model->data_hash ? model->data_hash : "", ':');
    stream->crc = crc ? strtoul(crc + 1, NULL, 16) : 0;
    MRC_TRY(take_kept(stream, model, err));
out:
    return rc;
}
