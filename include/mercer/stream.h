/* SPDX-License-Identifier: BSD-3-Clause */
/* Learning from rows as they come: streaming methods (ikpca, kha), in memory that does not grow
 * with the number of rows. */
#ifndef MERCER_STREAM_H
#define MERCER_STREAM_H

#include <mercer/fit.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mercer_stream mercer_stream;

/* Start a stream of a streaming method; options as for mercer_fit(), with which it goes together:
 * pushing all rows and flushing gives the same model, bit for bit. head, novelty and landmarks need
 * all rows at once and are refused. The caller frees *out with mercer_stream_free(), which accepts
 * NULL. On error *out is NULL. */
MERCER_API mercer_status mercer_stream_new(mercer_ctx *ctx, const mercer_fit_options *options,
                                           mercer_stream **out, mercer_error *err);
/* Go on from a model that mercer_stream_model() or mercer_fit() made, perhaps saved and loaded in
 * between: as if there had been no interruption, bit for bit. The model is borrowed for the call. A
 * head or a novelty threshold of the model belongs to its features as they were; models of the
 * stream have none, with a notice. MERCER_ERR_UNSUPPORTED when the model has no state to go on
 * from. */
MERCER_API mercer_status mercer_stream_continue(mercer_ctx *ctx, const mercer_model *model,
                                                mercer_stream **out, mercer_error *err);
MERCER_API void mercer_stream_free(mercer_stream *stream);

/* Learn from more rows. They are gathered to blocks, however many come at a time; what does not
 * fill a block waits for more. The first rows decide names and number of the columns; later ones
 * are matched by name when both sides have names, else by position. rows are borrowed for the call.
 * On error the stream is as it was after the last block. */
MERCER_API mercer_status mercer_stream_push(mercer_ctx *ctx, mercer_stream *stream,
                                            const mercer_rows *rows, mercer_error *err);
/* The input has ended: fold in the rows that wait as a shorter block. */
MERCER_API mercer_status mercer_stream_flush(mercer_ctx *ctx, mercer_stream *stream,
                                             mercer_error *err);

/* The model of the rows folded in so far, to transform rows with, to save, and to continue from; it
 * holds the state and the rows that wait. Borrowed: valid until rows are pushed or flushed, or the
 * stream is freed, unless mercer_model_share() makes the caller an owner of it. MERCER_ERR_DATA
 * while there is no block, or nothing to extract. report, whose seconds are left alone, may be
 * NULL. */
MERCER_API mercer_status mercer_stream_model(mercer_ctx *ctx, mercer_stream *stream,
                                             const mercer_model **out, mercer_fit_report *report,
                                             mercer_error *err);

/* Where a stream stands. Set struct_size before the call. */
typedef struct mercer_stream_info {
    size_t struct_size;
    int64_t rows;        /* folded in */
    int64_t pending;     /* wait for a block */
    int64_t wanted;      /* more rows that fill the next block */
    int64_t block;       /* rows of a block */
    int64_t blocks;      /* folded in */
    int64_t input_rows;  /* pushed since mercer_stream_begin_input() */
    int64_t points;      /* of the library */
    int64_t rank;        /* directions kept */
    double outside;      /* share of the newest block's squared norms that the points do not span */
    double lost;         /* bound of what truncation took from any one direction, as a share of the
                            smallest component of the model; above 1: it may have drifted */
    int64_t evaluations; /* kernel values computed for all blocks */
    int64_t block_evaluations; /* and for the newest */
    int input_finished;        /* 1: the input was flushed, and nothing was pushed since */
    int input_differs;         /* 1: rows that were to be passed over turned out to be others */
} mercer_stream_info;
MERCER_VERSIONED(stream_info)
MERCER_API void mercer_stream_get_info(const mercer_stream *stream, mercer_stream_info *info);

/* A new input begins, a file say: count its rows from here on. Their number and checksum are saved
 * with the model, so that an input that was interrupted can be resumed: */
MERCER_API MERCER_EXPERIMENTAL void mercer_stream_begin_input(mercer_stream *stream);
/* the same input is pushed again from its first row on, and the rows that were counted are passed
 * over; when they turn out to be others, mercer_stream_push() fails with MERCER_ERR_DATA, and so
 * does mercer_stream_flush() when there are fewer. */
MERCER_API MERCER_EXPERIMENTAL void mercer_stream_resume_input(mercer_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
