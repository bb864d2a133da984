/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a MAT file can be given to the library that reads it. */
#ifndef MRC_IO_MAT_CHECK_H
#define MRC_IO_MAT_CHECK_H

#include "io/input.h"

enum { MRC_MAT_5 = 0x0100, MRC_MAT_73 = 0x0200 }; /* versions, as the header has them */

/* The version, and whether the bytes are swapped; refuse what is not a MAT file. */
mercer_status mrc_mat_check_header(mrc_input *input, int *version, bool *swapped,
                                   mercer_error *err);
/* Walk through the elements of a version 5 file and look at the head of each; with wanted >= 0, at
 * all of that one instead. */
mercer_status mrc_mat_check_elements(mrc_input *input, bool swapped, int64_t wanted,
                                     mercer_error *err);

#endif
