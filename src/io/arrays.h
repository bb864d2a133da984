/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrays inside a container file (NPZ, MAT, HDF5), and which one is meant. */
#ifndef MRC_IO_ARRAYS_H
#define MRC_IO_ARRAYS_H

#include "base/memory.h"

enum { MRC_MAX_ARRAYS = 1 << 20, MRC_ARRAY_NOTE = 48 };

typedef struct mrc_array {
    char *name;
    int axes;                  /* 0 for what is not an array of numbers */
    int64_t rows, rest;        /* length of the first axis; product of the others */
    bool elsewhere;            /* its values would come from other files; axes is 0 */
    char note[MRC_ARRAY_NOTE]; /* "100x20", or what it is instead */
} mrc_array;

typedef struct mrc_arrays {
    mrc_array *list;
    int64_t count, capacity;
} mrc_arrays;

/* Enter an array of numbers. */
mercer_status mrc_arrays_add(mrc_arrays *arrays, const char *name, int axes, const int64_t *shape,
                             mercer_error *err);
/* Enter something else, which can be named but not chosen: "cell", "complex". */
mercer_status mrc_arrays_add_other(mrc_arrays *arrays, const char *name, const char *note,
                                   mercer_error *err);
/* The array called wanted; with wanted NULL, the only one, or the only one with two axes (those of
 * more than one row and column first). Else an error that lists what there is. */
mercer_status mrc_arrays_choose(const mrc_arrays *arrays, const char *file, const char *wanted,
                                int64_t *out, mercer_error *err);
void mrc_arrays_destroy(mrc_arrays *arrays);

#endif
