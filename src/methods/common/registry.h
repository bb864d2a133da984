/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of methods, and of what users may ask about methods and kernels. */
#ifndef MRC_METHODS_COMMON_REGISTRY_H
#define MRC_METHODS_COMMON_REGISTRY_H

#include "methods/common/method.h"

/* The method called like the name in spec (NAME[:key=value,...]); MERCER_ERR_ARGUMENT lists the
 * known ones. */
mercer_status mrc_method_find(const char *spec, const mrc_method **out, mercer_error *err);

/* The method of an entry, or NULL when it is the entry of something else. */
const mrc_method *mrc_method_of(const struct mercer_entry *entry);
/* Its kernel unless another is asked for. */
const char *mrc_method_default_kernel(const mrc_method *method);
/* Whether its features are nested, see below, with its keys at their defaults. */
bool mrc_method_is_nested_by_default(const mrc_method *method);

/* The names of the methods of which `has` is true, "a, b and c", in text, which it returns. */
const char *mrc_methods_with(bool (*has)(const mrc_method *method), char *text, size_t size);

/* Whether the first k of more features are those of a fit with k components, with these parameters;
 * given: the points are landmarks of the caller's. The one place that says it: tuning, truncate and
 * predictions from the first features ask here, or what a model keeps of it. */
bool mrc_method_is_nested(const mrc_method *method, const void *params, bool given);
/* The same of NAME[:key=value,...], without landmarks. */
mercer_status mrc_spec_is_nested(const char *spec, bool *out, mercer_error *err);

#endif
