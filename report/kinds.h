/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of charts, one function each. Inside report/ only. */
#ifndef REPORT_KINDS_H
#define REPORT_KINDS_H

#include "draw.h"

/* Fill a new chart, or say why there is nothing to draw. Memory that runs out is told by
 * picture->failed alone. */
typedef mercer_status (*chart_builder)(const chart_subject *subject, chart *picture,
                                       mercer_error *err);
mercer_status chart_build_spectrum(const chart_subject *subject, chart *picture, mercer_error *err);
mercer_status chart_build_selection(const chart_subject *subject, chart *picture,
                                    mercer_error *err);
mercer_status chart_build_head(const chart_subject *subject, chart *picture, mercer_error *err);
mercer_status chart_build_trace(const chart_subject *subject, chart *picture, mercer_error *err);
mercer_status chart_build_features(const chart_subject *subject, chart *picture, mercer_error *err);
mercer_status chart_build_pairs(const chart_subject *subject, chart *picture, mercer_error *err);
mercer_status chart_build_errors(const chart_subject *subject, chart *picture, mercer_error *err);
mercer_status chart_build_preimages(const chart_subject *subject, chart *picture,
                                    mercer_error *err);
mercer_status chart_build_confusion(const chart_subject *subject, chart *picture,
                                    mercer_error *err);
mercer_status chart_build_roc(const chart_subject *subject, chart *picture, mercer_error *err);
mercer_status chart_build_tuning(const chart_subject *subject, chart *picture, mercer_error *err);
mercer_status chart_build_importance(const chart_subject *subject, chart *picture,
                                     mercer_error *err);
mercer_status chart_build_folds(const chart_subject *subject, chart *picture, mercer_error *err);

/* The method with its main numbers, for subtitles: "kpca, rbf:sigma=4, 10 features, 569 rows". */
char *chart_describe(chart *picture, const mercer_model_info *info);

#endif
