/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a fit as a list: what they are, and what is wrong with a value.
 *
 * An option is a member of mercer_fit_options and a line in options.def, which help, checks,
 * refusals, options by name and the command line follow from. What it means is up to who reads it:
 * request.c, or the method. */
#ifndef MRC_METHODS_COMMON_OPTIONS_H
#define MRC_METHODS_COMMON_OPTIONS_H

#include "base/params.h"

#include <mercer/fit.h>

#define MRC_REFUSED(member, call, text)
#define MRC_OPTION(member, type, initial, choices, calls, help) MRC_OPTION_##member,
typedef enum mrc_option_id {
#include "methods/common/options.def"
    MRC_OPTIONS
} mrc_option_id;
#undef MRC_OPTION
#undef MRC_REFUSED

/* The index of a choice among its words; of the default where there is none, -1 when that is the
 * method's own. The options have been checked. */
int mrc_option_word(const mercer_fit_options *options, mrc_option_id id);

/* MERCER_ERR_ARGUMENT where a value is not among those of its option. */
mercer_status mrc_options_check(const mercer_fit_options *options, mercer_error *err);

/* MERCER_ERR_ARGUMENT where an option is set that a call (MERCER_CALL_...) cannot have. */
mercer_status mrc_options_refuse(const mercer_fit_options *options, unsigned call,
                                 mercer_error *err);

/* A number that tells options from others, without those that are rows. */
uint64_t mrc_options_hash(const mercer_fit_options *options);

#endif
