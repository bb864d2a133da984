/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of a model as JSON: groups of members, which mercer_model_info_json() and the
 * report of a fit put together in orders of their own. */
#ifndef MRC_MODEL_INFO_JSON_H
#define MRC_MODEL_INFO_JSON_H

#include "base/json_writer.h"

#include <mercer/model.h>

void mrc_info_put_settings(mrc_json_writer *json, const mercer_model_info *info);
void mrc_info_put_preparation(mrc_json_writer *json, const mercer_model *model,
                              const mercer_model_info *info);
/* Rows that were selected, what the features have to do with targets, steps of a search, blocks of
 * a stream. */
void mrc_info_put_history(mrc_json_writer *json, const mercer_model_info *info);
void mrc_info_put_spectrum(mrc_json_writer *json, const mercer_model_info *info);
void mrc_info_put_novelty(mrc_json_writer *json, const mercer_model_info *info);
void mrc_info_put_head(mrc_json_writer *json, const mercer_model *model,
                       const mercer_model_info *info);

#endif
