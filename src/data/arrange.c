/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of rows in another order, sparse or dense. */
#include "base/memory.h"
#include "data/rows.h"

mercer_status mrc_rows_arrange(const mercer_rows *rows, const int64_t *map, int64_t d, bool sparse,
                               mercer_rows **out, mercer_error *err)
{
    int64_t n = rows->n;
    double *line = NULL, *x = NULL;
    mrc_csr_owned csr = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&line, rows->d, sizeof *line, err));
    if (sparse)
        MRC_TRY(mrc_alloc(&csr.start, n + 1, sizeof *csr.start, err));
    else
        MRC_TRY(mrc_alloc2(&x, n, d, sizeof *x, err));
    for (int64_t i = 0, end = 0; i < n; i++) {
        mercer_rows_copy(rows, i, 1, line);
        if (sparse) {
            MRC_TRY(mrc_grow(&csr.column, end + d, sizeof *csr.column, err));
            MRC_TRY(mrc_grow(&csr.value, end + d, sizeof *csr.value, err));
        }
        for (int64_t k = 0; k < d; k++) {
            double value = line[map[k]];
            if (!sparse) {
                x[i * d + k] = value;
            } else if (value != 0) {
                csr.column[end] = (int32_t)k;
                csr.value[end++] = value;
            }
        }
        if (sparse)
            csr.start[i + 1] = end;
    }
    rc = sparse ? mrc_rows_adopt_csr(&csr, n, d, out, err)
                : mrc_rows_adopt(MRC_F64, x, n, d, out, err);
    x = rc == MERCER_OK ? NULL : x;
out:
    mrc_free(line);
    mrc_free(x);
    mrc_csr_owned_destroy(&csr);
    return rc;
}
