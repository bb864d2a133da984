/* Supervised methods of the caller's own; see <mercer/criterion.h>. */
#ifndef MRC_METHODS_CRITERION_H
#define MRC_METHODS_CRITERION_H

#include "methods/method.h"

/* The method that stands for a criterion of the fit options; it is in no list. */
extern const mrc_method mrc_method_criterion;

/* MERCER_ERR_ARGUMENT without a function or a fit name. */
mercer_status mrc_criterion_check(const mercer_criterion *criterion, mercer_error *err);

#endif
