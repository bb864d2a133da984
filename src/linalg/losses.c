/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits that grow by columns: least absolute deviations as lad.c does them, losses of margins by
 * damped Newton steps from the last fit, the new coefficients 0. The Hessian A' diag(h) A gets a
 * ridge that is tiny beside it, so that dependent columns and flat losses do no harm; the gradient
 * does not, so that the minimum stays where it is. Cost of a step: n p^2 + p^3. */
#include "linalg/losses.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

static const double RIDGE = 1e-12;  /* of the largest diagonal entry of the Hessian */
static const double CLOSE = 1e-10;  /* promised decrease over the loss: one more step is enough */
static const double NOTHING = 1e-9; /* of max |y|: a residual where absolute deviations touch y */
enum { MAX_STEPS = 200, MAX_HALVINGS = 60 };

bool mrc_loss_has_margins(mrc_loss loss)
{
    return loss == MRC_LOSS_EXP || loss == MRC_LOSS_LOG;
}

mercer_status mrc_loss_fit_init(mrc_loss_fit *fit, mercer_ctx *ctx, mrc_loss loss, const double *y,
                                int64_t n, int64_t most, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *fit = (mrc_loss_fit){.ctx = ctx, .loss = loss, .n = n, .most = most, .y = y};
    MRC_TRY(mrc_alloc(&fit->coefficients, most, sizeof(double), err));
    MRC_TRY(mrc_alloc(&fit->f, n, sizeof(double), err));
    if (loss == MRC_LOSS_LAD) {
        MRC_TRY(mrc_lad_init(&fit->lad, ctx, y, n, most, err));
        goto out;
    }
    MRC_TRY(mrc_alloc(&fit->trial, n + 3 * most, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&fit->rates, 2, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&fit->scaled, most, n, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&fit->square, most, most, sizeof(double), err));
out:
    if (rc != MERCER_OK)
        mrc_loss_fit_destroy(fit);
    return rc;
}

void mrc_loss_fit_destroy(mrc_loss_fit *fit)
{
    mrc_lad_destroy(&fit->lad);
    mrc_free(fit->coefficients);
    mrc_free(fit->f);
    mrc_free(fit->trial);
    mrc_free(fit->rates);
    mrc_free(fit->scaled);
    mrc_free(fit->square);
    memset(fit, 0, sizeof *fit);
}

/* Loss of the margin y f of one row, its -d/df and its second derivative. */
static double loss_at(mrc_loss loss, double y, double f, double *w, double *h)
{
    double e = exp(loss == MRC_LOSS_EXP ? -y * f : -fabs(f)); /* the second never overflows */
    if (loss == MRC_LOSS_EXP) {
        *w = y * e;
        *h = e;
        return e;
    }
    *w = y * (y * f > 0 ? e : 1) / (1 + e);
    *h = e / ((1 + e) * (1 + e));
    return log1p(e) + fmax(-y * f, 0);
}

/* The loss of f, with w and h (n each) at it; of margins. */
static double evaluate(const mrc_loss_fit *fit, const double *f, double *w, double *h)
{
    double sum = 0;
    for (int64_t i = 0; i < fit->n; i++)
        sum += loss_at(fit->loss, fit->y[i], f[i], w + i, h + i);
    return sum;
}

static double least_margin(const mrc_loss_fit *fit)
{
    double least = INFINITY;
    for (int64_t i = 0; i < fit->n; i++)
        least = fmin(least, fit->y[i] * fit->f[i]);
    return least;
}

/* The Newton step at fit->f and what it promises, step' gradient. */
static mercer_status find_step(mrc_loss_fit *fit, const double *a, int64_t p, double *step,
                               double *promise, mercer_error *err)
{
    int64_t n = fit->n;
    double *w = fit->rates, *h = w + n, *gradient = step + fit->most, most = 0;
    bool singular;
    mercer_status rc = MERCER_OK;
    for (int64_t j = 0; j < p; j++)
        for (int64_t i = 0; i < n; i++)
            fit->scaled[j * n + i] = sqrt(h[i]) * a[j * n + i];
    MRC_TRY(mrc_wide_gram(fit->ctx, fit->scaled, p, n, fit->square, err));
    MRC_TRY(mrc_wide_dots(fit->ctx, a, p, n, w, gradient, err));
    for (int64_t j = 0; j < p; j++)
        most = fmax(most, fit->square[j * p + j]);
    for (int64_t j = 0; j < p; j++)
        fit->square[j * p + j] += RIDGE * most;
    memcpy(step, gradient, (size_t)p * sizeof *step);
    MRC_TRY(mrc_solve(fit->ctx, p, fit->square, 1, step, &singular, err));
    *promise = singular ? 0 : mrc_dot(step, gradient, p);
out:
    return rc;
}

/* Go as far along the step as the loss falls; false: it does not. */
static bool take_step(mrc_loss_fit *fit, const double *a, int64_t p, const double *step,
                      double promise)
{
    double *c = fit->trial + fit->n, length = 1;
    for (int halving = 0; halving < MAX_HALVINGS; halving++, length /= 2) {
        for (int64_t j = 0; j < p; j++)
            c[j] = fit->coefficients[j] + length * step[j];
        mrc_wide_times(fit->ctx, a, p, fit->n, 1, c, 0, fit->trial);
        double value = evaluate(fit, fit->trial, fit->rates, fit->rates + fit->n);
        if (value <= fit->value - 1e-4 * length * promise ||
            (promise <= CLOSE * fit->value && value <= fit->value * (1 + 1e-15))) {
            memcpy(fit->coefficients, c, (size_t)p * sizeof *c);
            memcpy(fit->f, fit->trial, (size_t)fit->n * sizeof *fit->f);
            fit->value = value;
            return true;
        }
    }
    return false;
}

static mercer_status newton(mrc_loss_fit *fit, const double *a, int64_t p, mercer_error *err)
{
    double *step = fit->trial + fit->n + fit->most, promise;
    mercer_status rc = MERCER_OK;
    mrc_wide_times(fit->ctx, a, p, fit->n, 1, fit->coefficients, 0, fit->f);
    fit->value = evaluate(fit, fit->f, fit->rates, fit->rates + fit->n);
    for (int s = 0; s < MAX_STEPS; s++) {
        MRC_TRY(mrc_check_cancel(fit->ctx, err));
        fit->separated = least_margin(fit) > MRC_MARGIN;
        if (fit->separated)
            break;
        MRC_TRY(find_step(fit, a, p, step, &promise, err));
        if (!(promise > 0) || !take_step(fit, a, p, step, promise) || promise <= CLOSE * fit->value)
            break;
    }
out:
    return rc;
}

mercer_status mrc_loss_fit_update(mrc_loss_fit *fit, const double *a, int64_t columns,
                                  mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (fit->loss != MRC_LOSS_LAD)
        return newton(fit, a, columns, err);
    MRC_TRY(mrc_lad_fit(&fit->lad, a, columns, err));
    memcpy(fit->coefficients, fit->lad.coefficients, (size_t)columns * sizeof(double));
    for (int64_t i = 0; i < fit->n; i++)
        fit->f[i] = fit->y[i] - fit->lad.residual[i];
    fit->value = fit->lad.loss;
out:
    return rc;
}

void mrc_loss_fit_gradient(const mrc_loss_fit *fit, double *w, int64_t stride)
{
    double h, most = 0;
    for (int64_t i = 0; i < fit->n; i++)
        most = fmax(most, fabs(fit->y[i]));
    for (int64_t i = 0; i < fit->n; i++) {
        double r = fit->y[i] - fit->f[i];
        if (fit->loss == MRC_LOSS_LAD)
            w[i * stride] = (r > NOTHING * most) - (r < -NOTHING * most);
        else
            loss_at(fit->loss, fit->y[i], fit->f[i], w + i * stride, &h);
    }
}
