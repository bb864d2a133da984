/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fit will cost here, before it is done. */
#ifndef MERCER_FORECAST_H
#define MERCER_FORECAST_H

#include <mercer/fit.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set struct_size before the call. */
typedef struct mercer_forecast {
    size_t struct_size;
    /* The fit alone takes, without reading rows and writing the model: what is expected, and
     * between which it should lie; NaN: nobody knows. */
    double seconds, seconds_low, seconds_high;
    /* 1: from rates of this machine on some of the rows; 0: a bound of short work, which was not
     * looked at closer: seconds_high holds, the others are zero. */
    int measured;
    char store[16];         /* how the kernel matrix would be held, as in mercer_fit_report */
    char store_reason[224]; /* why, for people */
    int64_t store_rank;     /* columns of a low-rank factor, about; else 0 */
    int64_t memory_bytes;   /* that the fit holds at its peak, beyond the rows given */
    /* A method that does nearly the same faster, NAME:key=value, and its time; "": none is known
     * that would take less than half. */
    char cheaper[64];
    double cheaper_seconds;
} mercer_forecast;
MERCER_VERSIONED(forecast)

/* Forecast mercer_fit() with these options, for n rows like the given ones (0: for these). It takes
 * about 0.2 seconds: kernel values, products and eigenvalues of a sample are timed. The random
 * state of ctx stays what it is, and no notices are given. A fit that would be refused for its
 * options, or because it does not fit the memory budget, is refused here in the same way; other
 * refusals are left to the fit. brief: work that even a slow machine has done in this many seconds
 * is not timed; 0: it is. targets may be NULL, then those of a method that learns from them count
 * as one column.
 */
MERCER_API MERCER_EXPERIMENTAL mercer_status
mercer_fit_forecast(mercer_ctx *ctx, const mercer_fit_options *options, const mercer_rows *rows,
                    const mercer_targets *targets, int64_t n, double brief, mercer_forecast *out,
                    mercer_error *err);

#ifdef __cplusplus
}
#endif
#endif
