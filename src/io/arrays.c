/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrays inside a container file: one list and one set of messages for all formats. */
#include "io/arrays.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

enum { LISTED_SIZE = 240, FIRST = 16 };

static mercer_status enter(mrc_arrays *arrays, const char *name, mrc_array **out, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (arrays->count == arrays->capacity) {
        int64_t capacity = 2 * arrays->capacity + FIRST;
        MRC_TRY(mrc_grow(&arrays->list, capacity, sizeof *arrays->list, err));
        arrays->capacity = capacity;
    }
    *out = &arrays->list[arrays->count];
    **out = (mrc_array){0};
    MRC_TRY(mrc_strdup(&(*out)->name, name, err));
    arrays->count++;
out:
    return rc;
}

mercer_status mrc_arrays_add(mrc_arrays *arrays, const char *name, int axes, const int64_t *shape,
                             mercer_error *err)
{
    mrc_array *array;
    mercer_status rc = enter(arrays, name, &array, err);
    if (rc != MERCER_OK)
        return rc;
    array->axes = axes;
    array->rows = axes > 0 ? shape[0] : 1;
    array->rest = 1;
    size_t used = 0;
    for (int i = 0; i < axes; i++) {
        if (i > 0 && __builtin_mul_overflow(array->rest, shape[i], &array->rest))
            array->rest = INT64_MAX;
        if (used < sizeof array->note)
            used += (size_t)snprintf(array->note + used, sizeof array->note - used, "%s%lld",
                                     i ? "x" : "", (long long)shape[i]);
    }
    if (axes == 0)
        snprintf(array->note, sizeof array->note, "a single number");
    return MERCER_OK;
}

mercer_status mrc_arrays_add_other(mrc_arrays *arrays, const char *name, const char *note,
                                   mercer_error *err)
{
    mrc_array *array;
    mercer_status rc = enter(arrays, name, &array, err);
    if (rc == MERCER_OK)
        snprintf(array->note, sizeof array->note, "%s", note);
    return rc;
}

/* "X (100x20), y (100)", as many as fit. */
static const char *list_arrays(const mrc_arrays *arrays, char text[LISTED_SIZE])
{
    size_t used = 0;
    text[0] = 0;
    for (int64_t i = 0; i < arrays->count; i++) {
        char shown[MRC_SHOWN_SIZE];
        const mrc_array *array = &arrays->list[i];
        mrc_show(shown, array->name, strlen(array->name));
        if (used + strlen(shown) + strlen(array->note) + sizeof ",  (), ..." > LISTED_SIZE) {
            snprintf(text + used, LISTED_SIZE - used, "%s...", i ? ", " : "");
            break;
        }
        used += (size_t)snprintf(text + used, LISTED_SIZE - used, "%s%s (%s)", i ? ", " : "", shown,
                                 array->note);
    }
    return text;
}

/* The only array (any), or the only one with two axes, both longer than `longer`; -1: none,
 * -2: several. */
static int64_t only_one(const mrc_arrays *arrays, bool any, int64_t longer)
{
    int64_t found = -1;
    for (int64_t i = 0; i < arrays->count; i++) {
        const mrc_array *array = &arrays->list[i];
        bool fits = array->axes > 0 &&
                    (any || (array->axes == 2 && array->rows > longer && array->rest > longer));
        if (fits)
            found = found == -1 ? i : -2;
    }
    return found;
}

mercer_status mrc_arrays_choose(const mrc_arrays *arrays, const char *file, const char *wanted,
                                int64_t *out, mercer_error *err)
{
    char listed[LISTED_SIZE];
    *out = -1;
    if (arrays->count == 0)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: holds no arrays", file);
    if (wanted) {
        for (int64_t i = 0; i < arrays->count && *out < 0; i++)
            if (strcmp(arrays->list[i].name, wanted) == 0)
                *out = i;
        if (*out >= 0)
            return MERCER_OK;
        char shown[MRC_SHOWN_SIZE];
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE,
                           "%s: there is no array '%s' (arrays: %s)", file,
                           mrc_show(shown, wanted, strlen(wanted)), list_arrays(arrays, listed));
    }
    *out = arrays->count == 1 ? 0 : only_one(arrays, true, 0);
    if (*out < 0)
        *out = only_one(arrays, false, 1);
    if (*out == -1)
        *out = only_one(arrays, false, 0);
    if (*out >= 0)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE,
                       "%s: name one of its arrays as FILE:NAME (arrays: %s)", file,
                       list_arrays(arrays, listed));
}

void mrc_arrays_destroy(mrc_arrays *arrays)
{
    for (int64_t i = 0; i < arrays->count; i++)
        mrc_free(arrays->list[i].name);
    mrc_free(arrays->list);
    *arrays = (mrc_arrays){0};
}
