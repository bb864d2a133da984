/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes as people read them. */
#ifndef MRC_BASE_BYTES_H
#define MRC_BASE_BYTES_H

typedef struct mrc_bytes {
    char text[40]; /* "7.7 MB" */
} mrc_bytes;

/* Two sizes of one message. */
typedef struct mrc_bytes_pair {
    mrc_bytes first, second;
} mrc_bytes_pair;

/* A number of bytes in the largest unit that leaves at least one, in steps of 1024 as budgets are
 * given: two digits below 10 of a unit, else whole numbers. */
mrc_bytes mrc_bytes_text(double bytes);

/* Two sizes that are compared in one message: both get more decimals, or all their digits, until
 * different whole numbers of bytes differ in print. "needs 64 MB, the budget is 64 MB" would say
 * nothing. */
mrc_bytes_pair mrc_bytes_texts(double first, double second);

#endif
