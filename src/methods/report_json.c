/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fit did as JSON; docs/json.md lists the members. */
#include "base/params.h"
#include "model/info_json.h"

#include <mercer/json.h>

mercer_status mercer_fit_report_json(const mercer_model *model, const mercer_fit_report *report,
                                     char **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(model);
    MRC_NEED(report);
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_fit_report full;
    mrc_json_writer json;
    mercer_fit_report_init(&full);
    mercer_status rc = mrc_options_import("report", report, &full, sizeof full, err);
    if (rc != MERCER_OK)
        return rc;
    mercer_model_get_info(model, &info);
    mrc_json_start(&json, err);
    mrc_info_put_settings(&json, &info);
    mrc_json_put_int(&json, "rows", info.rows);
    mrc_json_put_int(&json, "columns", info.columns);
    mrc_info_put_preparation(&json, model, &info);
    mrc_json_put_int(&json, "components", info.components);
    mrc_info_put_history(&json, &info);
    mrc_info_put_spectrum(&json, &info);
    mrc_json_put_real(&json, "reconstruction_error", full.reconstruction_error);
    mrc_json_put_real(&json, "projection_variance", full.projection_variance);
    mrc_json_put_real(&json, "total_variance", full.total_variance);
    mrc_info_put_novelty(&json, &info);
    mrc_json_put_int(&json, "expansion_points", info.expansion_points);
    mrc_info_put_head(&json, model, &info);
    mrc_json_put_text(&json, "store", full.store);
    mrc_json_put_text(&json, "store_reason", full.store_reason);
    mrc_json_put_int(&json, "store_bytes", full.store_bytes);
    mrc_json_put_int(&json, "store_rank", full.store_rank);
    mrc_json_put_text(&json, "solver", full.solver);
    mrc_json_put_int(&json, "passes", full.passes);
    mrc_json_put_real(&json, "residual", full.residual);
    mrc_json_put_real(&json, "seconds", full.seconds);
    return mrc_json_finish(&json, out);
}
