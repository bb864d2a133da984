/* SPDX-License-Identifier: BSD-3-Clause */
/* A table that is being read, from the inside: what open.c, roles.c, labels.c and table.c share. */
#ifndef MRC_IO_READER_H
#define MRC_IO_READER_H

#include "data/prepare.h"
#include "io/format.h"
#include "io/text.h"

struct mercer_reader {
    mrc_table_source source;
    void *self;        /* of its format */
    bool with_labels;  /* classes come from a file of their own */
    bool labels_named; /* whose first line is a name */
    mercer_prepare *prepare;
    bool prepare_from_model; /* the preparation is a model's; else it is learnt from the first block
                              */
    mrc_prepared prepare_counts; /* what it did */
    int64_t dropped;             /* rows left out, because a value is missing */
    int64_t unlabelled;          /* likewise, because the label is */
    mrc_input labels_input;
    mrc_text labels;
    int64_t rows; /* read so far */
    bool ended;
};

/* Decide the role of each column, once they are known. */
mercer_status mrc_decide_roles(mercer_reader *reader, const mercer_ctx *ctx,
                               const mercer_read_options *options, mercer_error *err);

/* The class of the first row, where that row could be names; else NULL. */
const char *mrc_doubtful_class(const mercer_reader *reader, const mercer_targets *targets);

/* Set out[i] for each column that a list of the caller's names; key: the option, for messages. */
mercer_status mrc_column_list(const mercer_reader *reader, const char *key, const char *text,
                              bool *out, mercer_error *err);

/* Open the file of classes, and step over its first line when that is a name. */
mercer_status mrc_labels_open(mercer_reader *reader, mercer_ctx *ctx,
                              const mercer_read_options *options, mercer_error *err);
/* Classes of the block's rows from that file; at the end of the rows it must end, too. */
mercer_status mrc_labels_take(mercer_reader *reader, mercer_ctx *ctx, mrc_block *block,
                              mercer_error *err);

/* What will be asked for: rows block by block, all at once, or mrc_wanted_rows() of this rank. */
typedef enum mrc_reading { MRC_READ_BLOCKS, MRC_READ_WHOLE, MRC_READ_PART } mrc_reading;
/* mercer_reader_open() for that. */
mercer_status mrc_reader_open(mercer_ctx *ctx, const char *path, const mercer_read_options *options,
                              mrc_reading reading, mercer_reader **out, mercer_error *err);
/* Open a reader over bytes in memory, which must outlive it. */
mercer_status mrc_reader_open_memory(mercer_ctx *ctx, const char *shown, const void *bytes,
                                     size_t count, const mercer_read_options *options,
                                     mercer_reader **out, mercer_error *err);

#endif
