/* The list of methods, and of what users may ask about methods and kernels. */
#ifndef MRC_METHODS_REGISTRY_H
#define MRC_METHODS_REGISTRY_H

#include "methods/method.h"

/* The method called like the name in spec (NAME[:key=value,...]); MERCER_ERR_ARGUMENT lists the
 * known ones. */
mercer_status mrc_method_find(const char *spec, const mrc_method **out, mercer_error *err);

#endif
