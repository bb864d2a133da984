/* SPDX-License-Identifier: BSD-3-Clause */
/* One user of the HDF5 library at a time: it is not safe for threads in every build, and it prints
 * its errors unless told not to. */
#ifndef MRC_IO_HDF5_H
#define MRC_IO_HDF5_H

#include "base/error.h"

/* Take and give back the library, without its printing in between. saved holds what the host
 * program had set. */
typedef struct mrc_hdf5_saved {
    int (*print)(int64_t, void *); /* H5E_auto2_t */
    void *host;
} mrc_hdf5_saved;

void mrc_hdf5_enter(mrc_hdf5_saved *saved);
void mrc_hdf5_leave(const mrc_hdf5_saved *saved);

/* Refuse a MAT file of version 7.3 that gets values from other files, before matio follows it
 * there; the library is the caller's (mrc_hdf5_enter). A file that is not HDF5 passes. */
mercer_status mrc_hdf5_check_alone(const char *file, mercer_error *err);
#define MRC_HDF5_ALONE "what the file itself holds is read"

#endif
