/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of an entry of any list: methods, kernels, heads, formats. */
#include "io/format.h"
#include "methods/common/registry.h"

#include "heads/heads.h"

#include <mercer/fit.h>

MRC_VERSIONED(entry_info, )

static void describe_method(const mrc_method *method, mercer_entry_info *info)
{
    info->default_center = mrc_center_name(method->default_center);
    info->centers = method->centers ? method->centers : "none|exact|span";
    info->default_head = method->default_head;
    info->default_kernel = mrc_method_default_kernel(method);
    if (method->default_head)
        info->learns = method->learns ? method->learns
                                      : (unsigned)MERCER_LEARNS_CLASSES | MERCER_LEARNS_VALUES;
    info->streams = method->streaming != NULL;
    info->linear_only = method->linear_kernel;
    info->takes_landmarks = method->takes_landmarks;
    info->takes_validation = method->takes_validation;
    info->learns_width = method->learns_width;
    info->takes_tolerance = method->takes_tolerance;
    info->not_nested = !mrc_method_is_nested_by_default(method);
}

static unsigned learnt_by_head(const mrc_head_def *head)
{
    if (head->signs)
        return MERCER_LEARNS_TWO_CLASSES;
    return MERCER_LEARNS_CLASSES | (head->values ? (unsigned)MERCER_LEARNS_VALUES : 0);
}

void mercer_entry_get_info(const mercer_entry *entry, mercer_entry_info *out)
{
    if (!entry || !out)
        return;
    const mrc_method *method = mrc_method_of(entry);
    const mrc_head_def *head = mrc_head_of(entry);
    const mrc_format *format = mrc_format_of(entry);
    mercer_entry_info full = {
        .name = entry->name, .summary = entry->summary, .reference = entry->reference};
    if (method)
        describe_method(method, &full);
    if (head)
        full.learns = learnt_by_head(head);
    if (format) {
        full.endings = format->endings ? format->endings : "";
        full.writes = format->writer != NULL;
        full.has_header = (format->caps & MRC_HAS_HEADER) != 0;
        full.has_arrays = (format->caps & MRC_HAS_ARRAYS) != 0;
    }
    mrc_give_struct(&full, sizeof full, out);
}
