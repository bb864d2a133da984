/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells of rows that a file left out, and were filled when it was read.
 *
 * The rows themselves have numbers everywhere: means or medians of all rows. Whoever holds rows out
 * must not let these numbers know of them, so the rows remember which cells they are, and
 * mrc_gaps_refill() fills them again by the rows to learn from. */
#include "data/prepare.h"

#include "data/rows.h"

#include <string.h>

/* The first of the gaps at or behind a cell. */
static int64_t find_gap(const mercer_rows *rows, int64_t cell)
{
    int64_t low = 0, high = rows->gap_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (rows->gaps[middle] < cell)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

mercer_status mrc_gaps_take(const mercer_rows *rows, const int64_t *which, mercer_rows *taken,
                            mercer_error *err)
{
    int64_t d = rows->d, count = 0;
    mercer_status rc = MERCER_OK;
    if (rows->gap_count == 0)
        return MERCER_OK;
    for (int pass = 0; pass < 2; pass++) { /* how many there are, then which */
        count = 0;
        for (int64_t i = 0; i < taken->n; i++) {
            int64_t row = which ? which[i] : i;
            for (int64_t k = find_gap(rows, row * d);
                 k < rows->gap_count && rows->gaps[k] < (row + 1) * d; k++, count++)
                if (pass == 1)
                    taken->gaps[count] = rows->gaps[k] - row * d + i * d;
        }
        if (pass == 0)
            MRC_TRY(mrc_alloc(&taken->gaps, count, sizeof *taken->gaps, err));
    }
    taken->gap_count = count;
    taken->gap_prepare = rows->gap_prepare;
out:
    return rc;
}

static void put_all(mercer_rows *rows, double value)
{
    for (int64_t k = 0; k < rows->gap_count; k++)
        ((double *)rows->owned)[rows->gaps[k]] = value;
}

mercer_status mrc_gaps_refill(mercer_rows *learn, mercer_rows *held, mercer_error *err)
{
    mercer_prepare again = {0};
    mercer_status rc = MERCER_OK;
    if (learn->gap_count == 0 && held->gap_count == 0)
        return MERCER_OK;
    const mercer_prepare *prepare = learn->gap_count ? learn->gap_prepare : held->gap_prepare;
    MRC_TRY(mrc_prepare_copy(prepare, &again, err));
    mrc_free(again.means);
    again.means = NULL;
    put_all(learn, (double)NAN);
    put_all(held, (double)NAN);
    rc = mrc_prepare_learn_fill(&again, "", NULL, learn->x, learn->n, learn->d, err);
    if (rc == MERCER_OK) {
        mrc_prepare_fill(&again, learn->owned, learn->n, learn->d);
        mrc_prepare_fill(&again, held->owned, held->n, held->d);
    }
    if (rc == MERCER_OK && learn->prepare) { /* new rows are filled alike */
        double *means = learn->prepare->means;
        learn->prepare->means = again.means;
        again.means = means;
    }
out:
    mrc_prepare_destroy(&again);
    return rc;
}
