/* Sizes as people read them. */
#ifndef MRC_BASE_BYTES_H
#define MRC_BASE_BYTES_H

typedef struct mrc_bytes {
    char text[24]; /* "7.7 MB" */
} mrc_bytes;

/* A number of bytes in the largest unit that leaves at least one, in steps of 1024 as budgets are
 * given: two digits below 10 of a unit, else whole numbers. */
mrc_bytes mrc_bytes_text(double bytes);

#endif
