/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of an evaluation that are dealt to ranks, and what they came to as records of bytes. */
#ifndef MRC_EVAL_DEAL_H
#define MRC_EVAL_DEAL_H

#include "base/memory.h"

#include <mercer/context.h>

/* Bytes that grow while they are written. Owned; zeroed at first. */
typedef struct mrc_record {
    char *data;
    int64_t size, room;
} mrc_record;

void mrc_record_destroy(mrc_record *record);
mercer_status mrc_record_put(mrc_record *record, const void *data, int64_t bytes,
                             mercer_error *err);
/* An error whose code is *rc: nothing more than the code when that is MERCER_OK. */
mercer_status mrc_record_put_error(mrc_record *record, mercer_status rc, const mercer_error *why,
                                   mercer_error *err);

/* Reading: what is left of a record, borrowed. */
typedef struct mrc_reading {
    const char *at;
    int64_t left;
} mrc_reading;

/* MERCER_ERR_PEER when there is not as much. */
mercer_status mrc_record_get(mrc_reading *from, void *data, int64_t bytes, mercer_error *err);
mercer_status mrc_record_get_error(mrc_reading *from, mercer_status *rc, mercer_error *why,
                                   mercer_error *err);

/* What pieces 0 to count - 1 came to; of some nothing may be known. Owned. */
typedef struct mrc_outcomes {
    mrc_record *pieces; /* count of them; without data: not known */
    int64_t count;
} mrc_outcomes;

mercer_status mrc_outcomes_init(mrc_outcomes *outcomes, int64_t count, mercer_error *err);
void mrc_outcomes_destroy(mrc_outcomes *outcomes);

/* Let every rank know what the others know; a piece is known to one rank only before. Nothing to do
 * when ctx is alone. */
mercer_status mrc_outcomes_share(mercer_ctx *ctx, mrc_outcomes *outcomes, mercer_error *err);
/* The record of a piece; false: it is not known. */
bool mrc_outcomes_find(const mrc_outcomes *outcomes, int64_t piece, mrc_reading *out);

#endif
