/* SPDX-License-Identifier: BSD-3-Clause */
/* What rows are like, before a method is chosen for them. */
#ifndef MERCER_SURVEY_H
#define MERCER_SURVEY_H

#include <mercer/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set struct_size before the call. */
typedef struct mercer_survey {
    size_t struct_size;
    int64_t looked_at;        /* rows that all below is about, one drawn from each stretch */
    int64_t constant_columns; /* columns that hold one value, in all rows */
    int64_t repeated_rows;    /* rows that are equal to another one looked at before */
    int64_t widest_column;    /* the column of the largest standard deviation, from 0, */
    double spread_ratio;      /* which is this many times the median one; NaN: there is none */
    /* 1: the rows are a symmetric matrix with a positive diagonal, as kernel matrices are. */
    int square_symmetric;
    double largest, least; /* of all values */
    int whole_numbers;     /* 1: all values are whole */
    /* The median distance of two scaled rows, and the shares of the variance that `features`
     * features hold: those of pca, and of kpca with a Gaussian kernel of that width. A symmetric
     * matrix has kernel_share alone. NaN: undefined. */
    int64_t features;
    double median_distance, linear_share, kernel_share;
} mercer_survey;
MERCER_VERSIONED(survey)

/* Look at up to 1000 of the rows, in some tenths of a second. scale: as in mercer_fit_options. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_rows_survey(mercer_ctx *ctx,
                                                                const mercer_rows *rows,
                                                                const char *scale,
                                                                mercer_survey *out,
                                                                mercer_error *err);

#ifdef __cplusplus
}
#endif
#endif
