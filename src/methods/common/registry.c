/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods and kernels as lists with names, summaries and parameters. */
#include "methods/common/registry.h"

#include <mercer/fit.h>

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const mrc_method *const methods[] = {
#define MRC_METHOD(family, name) &mrc_method_##name,
#include "methods/methods.def"
#undef MRC_METHOD
};

enum { METHODS = sizeof methods / sizeof *methods };

mercer_status mrc_method_find(const char *spec, const mrc_method **out, mercer_error *err)
{
    size_t length = mrc_spec_name_length(spec);
    char known[256] = "";
    for (int i = 0; i < METHODS; i++) {
        const char *name = methods[i]->entry.name;
        if (mrc_is_called(name, spec, length)) {
            *out = methods[i];
            return MERCER_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", name);
    }
    *out = NULL;
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "unknown method '%.*s' (known: %s)", (int)length,
                    spec, known);
}

const char *mrc_methods_with(bool (*has)(const mrc_method *method), char *text, size_t size)
{
    int count = 0;
    size_t used = 0;
    for (int i = 0; i < METHODS; i++)
        count += has(methods[i]);
    text[0] = 0;
    for (int i = 0, seen = 0; i < METHODS && used < size; i++)
        if (has(methods[i])) {
            const char *before = seen == 0 ? "" : seen + 1 < count ? ", " : " and ";
            seen++;
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", before, methods[i]->entry.name);
        }
    return text;
}

bool mrc_never_nested(const void *params)
{
    (void)params;
    return false;
}

bool mrc_method_is_nested(const mrc_method *method, const void *params, bool given)
{
    /* Landmarks take the place of the choice that depends on the number of components, unless a
     * method goes on choosing. */
    if (given && !method->landmarks_replace)
        return true;
    return !method->is_nested || method->is_nested(params);
}

bool mrc_method_is_nested_by_default(const mrc_method *method)
{
    enum { ROOM = 64 }; /* of the largest parameter struct, by far */
    max_align_t params[ROOM] = {0};
    assert(method->params_size <= sizeof params);
    mrc_params_defaults(method->entry.params, params);
    return mrc_method_is_nested(method, params, false);
}

mercer_status mrc_spec_is_nested(const char *spec, bool *out, mercer_error *err)
{
    const mrc_method *method;
    void *params = NULL;
    char what[64];
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_method_find(spec, &method, err));
    MRC_TRY(mrc_alloc2(&params, (int64_t)method->params_size, 1, 1, err));
    snprintf(what, sizeof what, "method %s", method->entry.name);
    mrc_params_defaults(method->entry.params, params);
    MRC_TRY(mrc_params_parse(method->entry.params, what, spec, params, err));
    *out = mrc_method_is_nested(method, params, false);
out:
    mrc_free(params);
    return rc;
}

const char *mrc_method_default_kernel(const mrc_method *method)
{
    if (method->default_kernel)
        return method->default_kernel;
    return method->linear_kernel ? "linear" : "rbf";
}

const mrc_method *mrc_method_of(const mercer_entry *entry)
{
    for (int i = 0; i < METHODS; i++)
        if (&methods[i]->entry == entry)
            return methods[i];
    return NULL;
}

const mercer_entry *mercer_method_at(int index)
{
    return index >= 0 && index < METHODS ? &methods[index]->entry : NULL;
}

const mercer_entry *mercer_kernel_at(int index)
{
    return mrc_kernel_entry_at(index);
}

const mercer_entry *mercer_method_find(const char *spec)
{
    return mrc_entry_find(mercer_method_at, spec);
}

const mercer_entry *mercer_kernel_find(const char *spec)
{
    for (const char *at = spec; at && *at; at++) { /* sums and products, but not 1e+3 */
        bool exponent = at - spec > 1 && strchr("eE", at[-1]) && strchr("0123456789.", at[-2]);
        if (*at == '*' || (*at == '+' && !exponent))
            return NULL;
    }
    return mrc_entry_find(mercer_kernel_at, spec);
}

const char *mercer_entry_name(const mercer_entry *entry)
{
    if (!entry)
        return NULL;
    return entry->name;
}

const char *mercer_entry_summary(const mercer_entry *entry)
{
    if (!entry)
        return NULL;
    return entry->summary;
}

const char *mercer_entry_reference(const mercer_entry *entry)
{
    if (!entry)
        return NULL;
    return entry->reference;
}

int mercer_entry_streams(const mercer_entry *entry)
{
    const mrc_method *method = mrc_method_of(entry);
    return method && method->streaming;
}

int mercer_entry_parameter(const mercer_entry *entry, int index, mercer_parameter *out)
{
    if (!entry || !out || !entry->params)
        return 0;
    for (int i = 0; i <= index; i++)
        if (index < 0 || entry->params[i].type == MRC_TYPE_END)
            return 0;
    const mrc_param *param = &entry->params[index];
    const mrc_param_range range = mrc_param_range_of(param);
    mercer_parameter full = {.key = param->key,
                             .help = param->help,
                             .choices = param->choices,
                             .default_number = NAN,
                             .minimum = range.least,
                             .maximum = range.most,
                             .minimum_open = range.least_open,
                             .maximum_open = range.most_open,
                             .other_key = param->also};
    full.type = param->type == MRC_TYPE_INT          ? MERCER_PARAMETER_WHOLE
                : param->type == MRC_TYPE_CHOICE     ? MERCER_PARAMETER_CHOICE
                : index == 0 && mrc_method_of(entry) ? MERCER_PARAMETER_COMPONENTS
                                                     : MERCER_PARAMETER_REAL;
    mrc_param_describe(param, full.default_value, full.allowed, sizeof full.allowed);
    if (mrc_param_starts_with_word(param))
        snprintf(full.default_word, sizeof full.default_word, "%.31s", full.default_value);
    else
        full.default_number = param->initial;
    mrc_give_struct(&full, sizeof full, out);
    return 1;
}
