/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorting and what comes from it. */
#include "base/order.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

int mrc_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int mrc_compare_rows(const void *a, const void *b)
{
    int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    return (i > j) - (i < j);
}

static void swap(double *a, double *b)
{
    double value = *a;
    *a = *b;
    *b = value;
}

/* Hoare's selection: afterwards v[k] is what sorting would put there, with none larger before it.
 * Each round keeps the side that k is on; values of three places make a bad pivot rare, and where
 * rounds bring little all the same, sorting ends it. */
static void select_nth(double *v, int64_t n, int64_t k)
{
    int64_t first = 0, last = n - 1;
    for (int round = 0; first < last; round++) {
        if (round == 100) {
            qsort(v + first, (size_t)(last - first + 1), sizeof *v, mrc_compare_doubles);
            return;
        }
        double *middle = v + first + (last - first) / 2;
        if (*middle < v[first])
            swap(middle, v + first);
        if (v[last] < v[first])
            swap(v + last, v + first);
        if (v[last] < *middle)
            swap(v + last, middle);
        double pivot = *middle;
        int64_t i = first, j = last;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j)
                swap(v + i++, v + j--);
        }
        if (k <= j)
            last = j;
        else if (k >= i)
            first = i;
        else
            return;
    }
}

double mrc_median(double *values, int64_t n)
{
    int64_t middle = n / 2;
    select_nth(values, n, middle);
    double high = values[middle], low = high;
    if (n % 2 == 0) {
        low = values[0];
        for (int64_t i = 1; i < middle; i++)
            low = values[i] > low ? values[i] : low;
    }
    double sum = low + high;
    return isfinite(sum) ? sum / 2 : low / 2 + high / 2; /* halves alone would lose a bit near 0 */
}

mercer_status mrc_groups_take(const int64_t *groups, int64_t n, const int64_t *which, int64_t count,
                              int64_t **out, mercer_error *err)
{
    int64_t *number = NULL, *taken = NULL, known = 0; /* number: from 1 on; 0: not seen yet */
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&number, n, sizeof *number, err));
    MRC_TRY(mrc_alloc(&taken, count, sizeof *taken, err));
    for (int64_t i = 0; i < count; i++) {
        int64_t *mine = &number[groups[which[i]]];
        if (*mine == 0)
            *mine = ++known;
        taken[i] = *mine - 1;
    }
    *out = taken;
    taken = NULL;
out:
    mrc_free(number);
    mrc_free(taken);
    return rc;
}
