/* MAT and HDF5 files through a module that is loaded when the first such file comes.
 *
 * The HDF5 library brings thirty others with it (down to a web client), which would double the
 * start of every program that links ours. mat.c and hdf5.c therefore live in libmercer-formats.so
 * beside the library; the tests link them directly. */
#include "data/reader.h"

#include <dlfcn.h>
#include <string.h>

typedef mercer_status (*open_fn)(const char *file, const char *array, mrc_matrix *matrix,
                                 char **shown, mercer_error *err);

static mercer_status open_with(const char *function, const char *file, const char *array,
                               mrc_matrix *matrix, char **shown, mercer_error *err)
{
    /* Never unloaded: readers hold pointers into it. dlopen counts, so that asking again is cheap.
     */
    void *module = dlopen("libmercer-formats.so", RTLD_NOW | RTLD_LOCAL);
    void *symbol = module ? dlsym(module, function) : NULL;
    open_fn open;
    if (!symbol)
        return mrc_fail(err, MERCER_ERR_FORMAT,
                        "%s: MAT and HDF5 files need libmercer-formats.so (%s)", file, dlerror());
    memcpy(&open, &symbol, sizeof open); /* C has no cast between the two kinds of pointer */
    return open(file, array, matrix, shown, err);
}

mercer_status mrc_mat_open(const char *file, const char *array, mrc_matrix *matrix, char **shown,
                           mercer_error *err)
{
    return open_with("mrc_mat_open", file, array, matrix, shown, err);
}

mercer_status mrc_hdf5_open(const char *file, const char *array, mrc_matrix *matrix, char **shown,
                            mercer_error *err)
{
    return open_with("mrc_hdf5_open", file, array, matrix, shown, err);
}
