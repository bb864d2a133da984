/* How public symbols are marked. Everything else in the library is hidden. */
#ifndef MERCER_API_H
#define MERCER_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MERCER_API __attribute__((visibility("default")))
#else
#define MERCER_API
#endif

#define MERCER_VERSION "0.1.0"

#endif
