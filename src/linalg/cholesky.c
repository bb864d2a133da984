/* SPDX-License-Identifier: BSD-3-Clause */
/* Pivoted Cholesky factorisation of a small matrix, A = T T' + what is left: column s of T is the
 * column of the largest diagonal entry that the earlier columns leave, over its root. Only the
 * diagonal is kept up to date; what is left elsewhere is A less dots of rows of T, computed for the
 * columns that are taken. Cost: n q^2 for q columns. */
#include "linalg/linalg.h"

#include <math.h>

int64_t mrc_pivoted_cholesky(int64_t n, double *a, int64_t lda, int64_t most, double floor,
                             double share, double *t, int64_t ldt, int64_t *pivot)
{
    double first = 0;
    int64_t count = 0;
    for (; count < most; count++) {
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
            if (a[i * lda + i] > a[best * lda + best])
                best = i;
        double largest = a[best * lda + best], root = sqrt(largest);
        first = count == 0 ? largest : first;
        if (!(largest > floor) || largest < share * first)
            break;
        for (int64_t i = 0; i < n; i++) {
            double left = a[i * lda + best] - mrc_dot(t + i * ldt, t + best * ldt, count);
            t[i * ldt + count] = left / root;
        }
        for (int64_t k = 0; k < count; k++) /* earlier pivots have nothing left */
            t[pivot[k] * ldt + count] = 0;
        t[best * ldt + count] = root;
        for (int64_t i = 0; i < n; i++)
            a[i * lda + i] -= t[i * ldt + count] * t[i * ldt + count];
        a[best * lda + best] = 0;
        pivot[count] = best;
    }
    return count;
}
