/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library has, and what it did, as JSON: for bindings, and for whoever keeps reports. The
 * command line prints the same. docs/json.md lists the members.
 *
 * Every text is one object in UTF-8 with one member per line, without a newline at its end. Numbers
 * read back to the same bits; null stands for what is not known or not finite. In names of the
 * caller's that are not UTF-8, bytes beyond ASCII become '?'. On MERCER_OK the caller frees *out
 * with mercer_free(); on error *out is NULL. Members may be added in any version. */
#ifndef MERCER_JSON_H
#define MERCER_JSON_H

#include <mercer/evaluate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Methods, kernels, heads, options of a fit and formats, with keys, defaults and ranges. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_schema_json(char **out, mercer_error *err);

/* A model, and what its fit did; report is that of mercer_fit() or mercer_stream_model(). */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_model_info_json(const mercer_model *model,
                                                                    char **out, mercer_error *err);
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_fit_report_json(const mercer_model *model,
                                                                    const mercer_fit_report *report,
                                                                    char **out, mercer_error *err);
/* The result of an evaluation: its folds, what was chosen in them, confusion of classes. */
MERCER_API MERCER_EXPERIMENTAL mercer_status
mercer_evaluation_json(const mercer_evaluation *evaluation, char **out, mercer_error *err);

#ifdef __cplusplus
}
#endif
#endif
