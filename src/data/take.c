/* Some rows of a table as rows of their own, dense or sparse like the table. */
#include "data/rows.h"

#include <string.h>

static mercer_status take_csr(const mercer_rows *rows, const int64_t *which, int64_t count,
                              mercer_rows **out, mercer_error *err)
{
    const mrc_csr *csr = &rows->csr;
    mrc_csr_owned copy = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&copy.start, count + 1, sizeof *copy.start, err));
    for (int64_t i = 0; i < count; i++)
        copy.start[i + 1] = copy.start[i] + csr->start[which[i] + 1] - csr->start[which[i]];
    MRC_TRY(mrc_alloc2_raw(&copy.column, copy.start[count], 1, sizeof *copy.column, err));
    MRC_TRY(mrc_alloc2_raw(&copy.value, copy.start[count], 1, sizeof *copy.value, err));
    for (int64_t i = 0; i < count; i++) {
        size_t entries = (size_t)(copy.start[i + 1] - copy.start[i]);
        if (entries == 0)
            continue;
        memcpy(copy.column + copy.start[i], csr->column + csr->start[which[i]],
               entries * sizeof *copy.column);
        memcpy(copy.value + copy.start[i], csr->value + csr->start[which[i]],
               entries * sizeof *copy.value);
    }
    MRC_TRY(mrc_rows_adopt_csr(&copy, count, rows->d, out, err));
out:
    mrc_csr_owned_destroy(&copy);
    return rc;
}

mercer_status mrc_rows_take(const mercer_rows *rows, const int64_t *which, int64_t count,
                            mercer_rows **out, mercer_error *err)
{
    double *copy = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (mercer_rows_is_sparse(rows))
        return take_csr(rows, which, count, out, err);
    MRC_TRY(mrc_alloc2_raw(&copy, count, rows->d, sizeof *copy, err));
    for (int64_t i = 0; i < count; i++)
        mercer_rows_copy(rows, which[i], 1, copy + i * rows->d);
    MRC_TRY(mrc_rows_adopt(copy, count, rows->d, out, err));
    copy = NULL;
out:
    mrc_free(copy);
    return rc;
}
