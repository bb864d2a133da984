/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that the library has, as one JSON text: bindings are generated from it.
 *
 * It says no more than the public functions do that list entries and parameters, from which it is
 * made; docs/json.md describes it. */
#include "base/json_writer.h"

#include <mercer/context.h>
#include <mercer/fit.h>
#include <mercer/json.h>

#include <math.h>

static const char *const type_names[] = {
    [MERCER_PARAMETER_WHOLE] = "integer",
    [MERCER_PARAMETER_REAL] = "real",
    [MERCER_PARAMETER_CHOICE] = "choice",
    [MERCER_PARAMETER_SPEC] = "spec",
    [MERCER_PARAMETER_COMPONENTS] = "components",
    [MERCER_PARAMETER_SHARE] = "share",
    [MERCER_PARAMETER_ROWS] = "rows",
};

static void put_whole_or_real(mrc_json_writer *json, const char *key, double value, bool whole)
{
    if (whole && fabs(value) < 0x1p63)
        mrc_json_put_int(json, key, (int64_t)value);
    else
        mrc_json_put_real(json, key, value);
}

/* What may be written in its place, with the type of its values: null when there is none. */
static void put_default(mrc_json_writer *json, const mercer_parameter *p)
{
    const double number = p->default_number;
    if (p->default_value[0] == 0)
        mrc_json_put_null(json, "default");
    else if (isnan(number))
        mrc_json_put_text(json, "default", p->default_value);
    else
        put_whole_or_real(json, "default", number,
                          p->type == MERCER_PARAMETER_WHOLE ||
                              (p->type == MERCER_PARAMETER_COMPONENTS && number >= 1));
}

static void put_parameter(mrc_json_writer *json, const mercer_parameter *p)
{
    const bool choice = p->type == MERCER_PARAMETER_CHOICE;
    const bool whole = p->type == MERCER_PARAMETER_WHOLE;
    mrc_json_put_text(json, "key", p->key);
    mrc_json_put_text(json, "other_key", p->other_key);
    mrc_json_put_text(json, "type", type_names[p->type]);
    put_default(json, p);
    mrc_json_put_text(json, "default_text", p->default_value);
    put_whole_or_real(json, "minimum", p->minimum, whole);
    mrc_json_put_truth(json, "exclusive_minimum", p->minimum_open != 0);
    put_whole_or_real(json, "maximum", p->maximum, whole);
    mrc_json_put_truth(json, "exclusive_maximum", p->maximum_open != 0);
    mrc_json_put_words(json, "choices", choice ? p->choices : NULL, '|');
    mrc_json_put_words(json, "words", choice || !p->choices ? "" : p->choices, '|');
    mrc_json_put_text(json, "allowed", p->allowed);
    mrc_json_put_text(json, "help", p->help);
}

static void put_parameters(mrc_json_writer *json, const mercer_entry *entry)
{
    mercer_parameter parameter = {.struct_size = sizeof parameter};
    mrc_json_open_array(json, "parameters");
    for (int i = 0; mercer_entry_parameter(entry, i, &parameter); i++) {
        mrc_json_open_object(json, NULL);
        put_parameter(json, &parameter);
        mrc_json_close(json);
    }
    mrc_json_close(json);
}

static void put_learns(mrc_json_writer *json, unsigned learns)
{
    mrc_json_open_array(json, "learns");
    if (learns & MERCER_LEARNS_CLASSES)
        mrc_json_put_text(json, NULL, "classes");
    if (learns & MERCER_LEARNS_TWO_CLASSES)
        mrc_json_put_text(json, NULL, "two classes");
    if (learns & MERCER_LEARNS_VALUES)
        mrc_json_put_text(json, NULL, "values");
    mrc_json_close(json);
}

static void put_method(mrc_json_writer *json, const mercer_entry_info *info)
{
    put_learns(json, info->learns);
    mrc_json_put_text(json, "default_center", info->default_center);
    mrc_json_put_words(json, "centers", info->centers, '|');
    mrc_json_put_text(json, "default_head", info->default_head);
    mrc_json_put_text(json, "default_kernel", info->default_kernel);
    mrc_json_put_truth(json, "streams", info->streams != 0);
    mrc_json_put_truth(json, "linear_only", info->linear_only != 0);
    mrc_json_put_truth(json, "takes_landmarks", info->takes_landmarks != 0);
    mrc_json_put_truth(json, "takes_validation", info->takes_validation != 0);
    mrc_json_put_truth(json, "learns_width", info->learns_width != 0);
    mrc_json_put_truth(json, "takes_tolerance", info->takes_tolerance != 0);
    mrc_json_put_truth(json, "not_nested", info->not_nested != 0);
}

static void put_head(mrc_json_writer *json, const mercer_entry_info *info)
{
    put_learns(json, info->learns);
}

static void put_format(mrc_json_writer *json, const mercer_entry_info *info)
{
    mrc_json_put_words(json, "endings", info->endings, ' ');
    mrc_json_put_truth(json, "writes", info->writes != 0);
    mrc_json_put_truth(json, "has_header", info->has_header != 0);
    mrc_json_put_truth(json, "has_arrays", info->has_arrays != 0);
}

/* A list of entries; more: what its kind has beyond name, summary, reference and keys, or NULL. */
static void put_entries(mrc_json_writer *json, const char *key,
                        const mercer_entry *(*at)(int index),
                        void (*more)(mrc_json_writer *json, const mercer_entry_info *info))
{
    const mercer_entry *entry;
    mrc_json_open_array(json, key);
    for (int i = 0; (entry = at(i)); i++) {
        mercer_entry_info info = {.struct_size = sizeof info};
        mercer_entry_get_info(entry, &info);
        mrc_json_open_object(json, NULL);
        mrc_json_put_text(json, "name", info.name);
        mrc_json_put_text(json, "summary", info.summary);
        mrc_json_put_text(json, "reference", info.reference);
        if (more)
            more(json, &info);
        put_parameters(json, entry);
        mrc_json_close(json);
    }
    mrc_json_close(json);
}

static void put_options(mrc_json_writer *json)
{
    static const struct {
        unsigned call;
        const char *name;
    } calls[] = {{MERCER_CALL_FIT, "fit"},
                 {MERCER_CALL_EVALUATE, "evaluate"},
                 {MERCER_CALL_STREAM, "stream"}};
    mercer_parameter option = {.struct_size = sizeof option};
    mrc_json_open_array(json, "fit_options");
    for (int i = 0; mercer_fit_option_at(i, &option); i++) {
        mrc_json_open_object(json, NULL);
        put_parameter(json, &option);
        mrc_json_open_array(json, "calls");
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
            if (option.calls & calls[c].call)
                mrc_json_put_text(json, NULL, calls[c].name);
        mrc_json_close(json);
        mrc_json_close(json);
    }
    mrc_json_close(json);
}

mercer_status mercer_schema_json(char **out, mercer_error *err)
{
    MRC_NEED(out);
    mrc_json_writer json;
    mrc_json_start(&json, err);
    mrc_json_put_text(&json, "version", mercer_version());
    put_entries(&json, "methods", mercer_method_at, put_method);
    put_entries(&json, "kernels", mercer_kernel_at, NULL);
    put_entries(&json, "heads", mercer_head_at, put_head);
    put_options(&json);
    put_entries(&json, "formats", mercer_format_at, put_format);
    return mrc_json_finish(&json, out);
}
