/* SPDX-License-Identifier: BSD-3-Clause */
/* How public names are marked, the version, and the one ritual of structs that may grow. Everything
 * that is not marked is hidden. */
#ifndef MERCER_API_H
#define MERCER_API_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MERCER_API __attribute__((visibility("default")))
/* A function that the next major version removes; instead: what to call. */
#define MERCER_DEPRECATED(instead) __attribute__((deprecated("use " instead)))
#else
#define MERCER_API
#define MERCER_DEPRECATED(instead)
#endif

/* A function that may change or be removed in any version. */
#define MERCER_EXPERIMENTAL

/* The version a program is compiled against, as a text, and as parts that #if can compare. */
#define MERCER_VERSION "0.1.0"
#define MERCER_VERSION_MAJOR 0
#define MERCER_VERSION_MINOR 1
#define MERCER_VERSION_PATCH 0

/* Stands after every struct that starts with struct_size, whether the caller fills it (options) or
 * the library does (reports). mercer_NAME_init() sets the size the caller was compiled with and the
 * defaults: zeroes, unless the struct says otherwise. Call it first; the library then reads and
 * writes no byte beyond that size. */
#define MERCER_VERSIONED(name)                                                                     \
    MERCER_API void mercer_##name##_init_sized(mercer_##name *out, size_t size);                   \
    static inline void mercer_##name##_init(mercer_##name *out)                                    \
    {                                                                                              \
        mercer_##name##_init_sized(out, sizeof *out);                                              \
    }

#endif
