/* SPDX-License-Identifier: BSD-3-Clause */
/* Data sets made by formulas, for examples and tests. */
#ifndef MERCER_DATASET_H
#define MERCER_DATASET_H

#include <mercer/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set the fields by mercer_dataset_options_init(), then change what you need. */
typedef struct mercer_dataset_options {
    size_t struct_size;
    int64_t rows; /* 0: the set's own default */
    double noise; /* negative: the set's own default */
} mercer_dataset_options;
MERCER_VERSIONED(dataset_options)

/* Draw a set from the random state of ctx. options may be NULL. On MERCER_OK the caller frees *out
 * with mercer_table_free(). */
MERCER_API mercer_status mercer_dataset_generate(mercer_ctx *ctx, const char *name,
                                                 const mercer_dataset_options *options,
                                                 mercer_table **out, mercer_error *err);
/* The sets: name and one-line description of the index-th, NULL past the last. */
MERCER_API const char *mercer_dataset_name(int index);
MERCER_API const char *mercer_dataset_summary(int index);

#ifdef __cplusplus
}
#endif
#endif
