/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of fit options; see options.h. Callers' structs of any age are set by name. */
#include "methods/common/options.h"

#include "base/hash.h"
#include "base/number.h"
#include "gram/gram.h"
#include "methods/common/method.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Names as options.def writes them. */
#define SPEC MERCER_PARAMETER_SPEC
#define CHOICE MERCER_PARAMETER_CHOICE
#define COMPONENTS MERCER_PARAMETER_COMPONENTS
#define SHARE MERCER_PARAMETER_SHARE
#define ROWS MERCER_PARAMETER_ROWS
#define FIT MERCER_CALL_FIT
#define EVALUATE MERCER_CALL_EVALUATE
#define STREAM MERCER_CALL_STREAM

typedef struct option {
    const char *key, *initial, *choices, *help;
    mercer_parameter_type type;
    unsigned calls;
    size_t offset;
} option;

#define MRC_REFUSED(member, call, text)
#define MRC_OPTION(member, type, initial, choices, calls, help)                                    \
    {#member, initial, choices, help, type, calls, offsetof(mercer_fit_options, member)},
static const option options[MRC_OPTIONS] = {
#include "methods/common/options.def"
};
#undef MRC_OPTION
#undef MRC_REFUSED

#define MRC_OPTION(member, type, initial, choices, calls, help)
#define MRC_REFUSED(member, call, text) {MRC_OPTION_##member, call, text},
static const struct {
    mrc_option_id id;
    unsigned call;
    const char *text;
} refusals[] = {
#include "methods/common/options.def"
};
#undef MRC_OPTION
#undef MRC_REFUSED

static bool is_number(const option *o)
{
    return o->type == COMPONENTS || o->type == SHARE;
}

static double number_of(const option *o, const mercer_fit_options *from)
{
    double value;
    memcpy(&value, (const char *)from + o->offset, sizeof value);
    return value;
}

static const char *text_of(const option *o, const mercer_fit_options *from)
{
    const char *text;
    memcpy(&text, (const char *)from + o->offset, sizeof text);
    return text;
}

int mrc_option_word(const mercer_fit_options *from, mrc_option_id id)
{
    const option *o = &options[id];
    const char *text = text_of(o, from);
    text = text ? text : o->initial;
    return text ? mrc_text_cell_find(o->choices, text, strlen(text)) : -1;
}

static mercer_status check_choice(const option *o, const char *text, mercer_error *err)
{
    if (!text || mrc_text_cell_find(o->choices, text, strlen(text)) >= 0)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = o->key), "%s '%s' is not one of %s",
                       o->key, text, o->choices);
}

/* 0 stands for none. */
static mercer_status check_share(const option *o, double share, mercer_error *err)
{
    if (share == 0 || (share > 0 && share < 1))
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = o->key),
                       "%s: %g is not a share of the rows between 0 and 1", o->key, share);
}

mercer_status mrc_options_check(const mercer_fit_options *from, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    for (int i = 0; i < MRC_OPTIONS && rc == MERCER_OK; i++) {
        if (options[i].type == CHOICE)
            rc = check_choice(&options[i], text_of(&options[i], from), err);
        else if (options[i].type == SHARE)
            rc = check_share(&options[i], number_of(&options[i], from), err);
    }
    return rc;
}

/* Whether it asks for anything: "none" does not. */
static bool is_set(const option *o, const mercer_fit_options *from)
{
    if (is_number(o))
        return number_of(o, from) != 0;
    const char *text = text_of(o, from);
    return text && (o->type == ROWS || strcmp(text, "none") != 0);
}

mercer_status mrc_options_refuse(const mercer_fit_options *from, unsigned call, mercer_error *err)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].call == call && is_set(&options[refusals[i].id], from))
            return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = options[refusals[i].id].key),
                               "%s", refusals[i].text);
    return MERCER_OK;
}

uint64_t mrc_options_hash(const mercer_fit_options *from)
{
    uint64_t hash = 0;
    for (int i = 0; i < MRC_OPTIONS; i++)
        if (is_number(&options[i])) {
            const double number = number_of(&options[i], from);
            hash = mrc_hash(hash, &number, sizeof number);
        } else if (options[i].type != ROWS) {
            hash = mrc_hash_text(hash, text_of(&options[i], from));
        }
    return hash;
}

MRC_VERSIONED(fit_options, )
MRC_VERSIONED(fit_report, )
MRC_VERSIONED(parameter, )
MRC_VERSIONED(criterion, )

int mercer_fit_option_at(int index, mercer_parameter *out)
{
    if (!out || index < 0 || index >= MRC_OPTIONS)
        return 0;
    const option *o = &options[index];
    mercer_parameter full = {.key = o->key, .help = o->help, .type = o->type, .calls = o->calls};
    full.choices = o->choices;
    full.default_number = NAN;
    full.minimum = is_number(o) ? 0 : -INFINITY;
    full.maximum = o->type == COMPONENTS ? MRC_MAX_COMPONENTS : o->type == SHARE ? 1 : INFINITY;
    full.minimum_open = is_number(o);
    full.maximum_open = o->type == SHARE;
    snprintf(full.default_value, sizeof full.default_value, "%s", o->initial ? o->initial : "");
    switch (o->type) {
    case CHOICE:
        snprintf(full.default_word, sizeof full.default_word, "%.31s", full.default_value);
        mrc_words_list(o->choices, full.allowed, sizeof full.allowed);
        break;
    case COMPONENTS:
        snprintf(full.allowed, sizeof full.allowed, "> 0, or %s", o->choices);
        break;
    case SHARE:
        snprintf(full.allowed, sizeof full.allowed, "between 0 and 1");
        break;
    case ROWS:
        snprintf(full.allowed, sizeof full.allowed, "rows");
        break;
    default:
        snprintf(full.allowed, sizeof full.allowed, "NAME[:key=value,...]");
    }
    mrc_give_struct(&full, sizeof full, out);
    return 1;
}

static mercer_status read_number(const option *o, const char *value, double *number,
                                 mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE];
    size_t length = value ? strlen(value) : 0;
    *number = 0;
    if (!value)
        return MERCER_OK;
    if (o->type == COMPONENTS && strcmp(value, o->choices) == 0) {
        *number = MERCER_COMPONENTS_BOUND;
        return MERCER_OK;
    }
    if (!mrc_parse_double(value, length, number) || !isfinite(*number) || *number < 0)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = o->key),
                           "%s: '%s' is not a number of 0 or more", o->key,
                           mrc_show(shown, value, length));
    return o->type == SHARE ? check_share(o, *number, err) : MERCER_OK;
}

/* MERCER_ERR_ARGUMENT, with the options there are. */
static mercer_status fail_unknown(const char *key, mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE], known[320] = "";
    for (int i = 0; i < MRC_OPTIONS; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", options[i].key);
    }
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = key),
                       "fit: unknown option '%s' (known: %s)", mrc_show(shown, key, strlen(key)),
                       known);
}

mercer_status mercer_fit_options_set(mercer_fit_options *out, const char *key, const char *value,
                                     mercer_error *err)
{
    MRC_NEED(out);
    MRC_NEED(key);
    const option *o = NULL;
    double number = 0;
    mercer_status rc = MERCER_OK;
    for (int i = 0; i < MRC_OPTIONS && !o; i++)
        o = strcmp(options[i].key, key) == 0 ? &options[i] : NULL;
    if (!o)
        return fail_unknown(key, err);
    size_t size = is_number(o) ? sizeof number : sizeof value;
    if (out->struct_size < sizeof out->struct_size)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "fit options were not initialised");
    if (o->offset + size > out->struct_size)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = key),
                           "fit: option '%s' is newer than the program that asks for it", key);
    if (o->type == ROWS)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = key),
                           "fit: option '%s' is rows, not a text", key);
    if (o->type == CHOICE)
        rc = check_choice(o, value, err);
    else if (is_number(o))
        rc = read_number(o, value, &number, err);
    if (rc == MERCER_OK)
        memcpy((char *)out + o->offset, is_number(o) ? (const void *)&number : (const void *)&value,
               size);
    return rc;
}
