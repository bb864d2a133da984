/* SPDX-License-Identifier: BSD-3-Clause */
/* A supervised method of the caller's own.
 *
 * All supervised methods share one frame: of the features so far, P is the projection on what they
 * leave of the training rows' space (P = I - QQ', Q an orthonormal basis of them). A method looks
 * at PY, what is left of the targets, and chooses a direction in feature space as a combination of
 * the rows' images, beta; its feature is P K beta, K being the kernel matrix. The library does the
 * rest: scaling, deflation, the model, new rows. A criterion is that choice. */
#ifndef MERCER_CRITERION_H
#define MERCER_CRITERION_H

#include <mercer/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a criterion may look at, for the time of the call. */
typedef struct mercer_step mercer_step;

MERCER_API MERCER_EXPERIMENTAL int64_t mercer_step_rows(const mercer_step *step); /* n */
MERCER_API MERCER_EXPERIMENTAL int64_t
mercer_step_outputs(const mercer_step *step); /* columns of the targets, m */
MERCER_API MERCER_EXPERIMENTAL int64_t
mercer_step_features(const mercer_step *step); /* found so far */
/* The targets Y (values, or indicators of the classes; two classes: one column of +-1) about their
 * means, and what the features leave of them, PY: n x m, row-major, tightly packed, borrowed. */
MERCER_API MERCER_EXPERIMENTAL const double *mercer_step_targets(const mercer_step *step);
MERCER_API MERCER_EXPERIMENTAL const double *mercer_step_residual_targets(const mercer_step *step);
/* out (n x columns) = K v, K being centred if the fit is. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_step_apply(mercer_step *step, const double *v,
                                                               int64_t columns, double *out,
                                                               mercer_error *err);
/* out (count x n): these columns of K, one after the other. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_step_columns(mercer_step *step,
                                                                 const int64_t *rows, int64_t count,
                                                                 double *out, mercer_error *err);
/* The diagonal of K, n values, borrowed. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_step_diagonal(mercer_step *step,
                                                                  const double **out,
                                                                  mercer_error *err);
/* v (n values) becomes P v. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_step_deflate(mercer_step *step, double *v,
                                                                 mercer_error *err);

/* Choose a direction: beta, n zeroes at first, of any length; all zeroes, or one of which the
 * features so far leave nothing, ends the fit. Anything but MERCER_OK ends it too, with the
 * callback's own message. */
typedef mercer_status (*mercer_criterion_fn)(void *host, mercer_step *step, double *beta,
                                             mercer_error *err);

/* Set the fields by mercer_criterion_init(), then name and choose. */
typedef struct mercer_criterion {
    size_t struct_size;
    const char *name; /* kept in the model as the method; letters, digits, '_', '-', at most 63 */
    mercer_criterion_fn choose;
    void *host;
    int sparse; /* 1: directions are of few rows, and the model keeps only those */
} mercer_criterion;
MERCER_VERSIONED(criterion)

#ifdef __cplusplus
}
#endif
#endif
