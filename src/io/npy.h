/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of NumPy's, in files of their own and in archives. */
#ifndef MRC_IO_NPY_H
#define MRC_IO_NPY_H

#include "io/arrays.h"
#include "io/matrix.h"

/* Open the array that the input holds, as a matrix that owns what it takes and borrows the input.
 * matrix->budget is set by the caller. */
mercer_status mrc_npy_open(mrc_input *input, mrc_matrix *matrix, mercer_error *err);
/* Read the header alone and enter the array in the list under this name. */
mercer_status mrc_npy_peek(mrc_input *input, mrc_arrays *arrays, const char *name,
                           mercer_error *err);

#endif
