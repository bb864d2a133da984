/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods that learn from rows as they come, in memory that does not grow with them.
 *
 * Rows are gathered to blocks; a method folds one block after the other into its state and never
 * looks back. Points, frame, directions and mean (library.h, mrc_state) are common to all of them,
 * so that the model form, files and continuing are written once. What the first block teaches about
 * scaling and kernel stays as it is. */
#ifndef MRC_METHODS_STREAMING_STREAMING_H
#define MRC_METHODS_STREAMING_STREAMING_H

#include "methods/common/request.h"
#include "methods/streaming/library.h"

#include <mercer/stream.h>

struct mercer_stream {
    mrc_request request; /* its kernel has numbers, and rows are scaled, once there was a block */
    bool holds_kernel;   /* the functions of the host in its kernel are held */
    char *command;       /* owned; behind request.options */
    mrc_plan plan;
    mercer_model *base; /* what a model says of itself, from the first row on; no points */
    bool sparse;        /* the kind of rows it takes others to */
    bool learnt;        /* scaling and kernel are */
    mrc_library library;
    mrc_state state;          /* except factor and kept, which are library, window and pending */
    mercer_rows *window;      /* scaled */
    mercer_rows *pending;     /* arranged like the model's columns, not scaled */
    int64_t rows;             /* folded in */
    unsigned long crc;        /* of them */
    int64_t passed_over;      /* rows of a resumed input that are still to come again */
    unsigned long passed_crc; /* of those that have */
    bool differs;             /* those that have are not those that were counted */
    mercer_model *current;    /* the model of the state, or NULL: not derived since it changed */
};

/* For check of a streaming method: what its plan refuses, and what no stream has. */
mercer_status mrc_streaming_check(const mrc_request *request, mercer_error *err);

/* Copy the single numbers of a state that stay true of the next one. */
void mrc_state_copy_counters(mrc_state *out, const mrc_state *state);

/* A model of the rows folded in so far, with the state and the rows that wait; the caller owns it.
 * MERCER_ERR_DATA when there is nothing to extract yet. */
mercer_status mrc_stream_derive(mercer_ctx *ctx, const mercer_stream *stream, mercer_model **out,
                                mercer_error *err);
/* What there is to report of such a model. */
void mrc_stream_report(const mercer_stream *stream, const mercer_model *model,
                       mercer_fit_report *report);
/* A checksum of rows that does not depend on how they are cut into blocks. */
mercer_status mrc_stream_checksum(const mercer_rows *rows, unsigned long *crc, mercer_error *err);
/* Take over the state of a model; the stream has its request already. */
mercer_status mrc_stream_restore(mercer_stream *stream, const mercer_model *model,
                                 mercer_error *err);

/* Fit a streaming method to rows in memory. */
mercer_status mrc_stream_fit(mercer_ctx *ctx, const mercer_fit_options *options,
                             const mercer_rows *rows, mercer_fit_report *report, mercer_model **out,
                             mercer_error *err);

#endif
