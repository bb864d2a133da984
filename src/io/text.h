/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of text from an input. */
#ifndef MRC_IO_TEXT_H
#define MRC_IO_TEXT_H

#include "data/budget.h"
#include "io/input.h"

typedef enum mrc_encoding_kind {
    MRC_UTF8,
    MRC_LATIN1,
    MRC_UTF16_LITTLE,
    MRC_UTF16_BIG
} mrc_encoding_kind;

/* Text in a buffer that ends in a newline of our own, so that scanning needs no test for its end.
 */
typedef struct mrc_text {
    mrc_input *input; /* borrowed */
    char *data;
    size_t start, end, capacity; /* unread: data[start .. end), data[end] == '\n' */
    bool ended;                  /* nothing more comes from the input */
    int64_t line;                /* physical line number of data[start], from 1 */
    bool fill_blocks;            /* set by the reader: a block waits until it is full */
    bool paused;                 /* the last block ended because the next bytes have not come yet */
    mrc_budget *budget;          /* that a long row has to fit, borrowed; or NULL */
    mrc_encoding_kind encoding;  /* of the input; data is UTF-8 */
    unsigned char raw[4];        /* bytes of a character that is not complete yet */
    size_t raw_count;
} mrc_text;

/* Borrow input and budget; the first bytes are read, a byte order mark is skipped, binary files are
 * refused. */
mercer_status mrc_text_init(mrc_text *text, mrc_input *input, mrc_budget *budget,
                            mercer_error *err);
/* The same for a text in another encoding: "utf8", "latin1", "utf16"; NULL is utf8. */
mercer_status mrc_text_init_encoded(mrc_text *text, mrc_input *input, mrc_budget *budget,
                                    const char *encoding, mercer_error *err);
/* Go back to the first byte of an input that rewinds, in the encoding that was found. */
mercer_status mrc_text_restart(mrc_text *text, mercer_error *err);
/* Where the first byte stands that is not UTF-8; length: all of them are. */
size_t mrc_text_first_bad(const char *bytes, size_t length);
/* Fail because of such a byte in a line. */
mercer_status mrc_text_fail_bad(const mrc_text *text, int64_t line, unsigned char byte,
                                mercer_error *err);
/* Get more bytes behind data[end]; data and start move. Not to be called after `ended`. */
mercer_status mrc_text_more(mrc_text *text, mercer_error *err);
/* The next line without its end, and a step over it: text->line is then the next one's. *first is
 * NULL behind the last line. Polls for cancellation and shows progress. */
mercer_status mrc_text_line(mrc_text *text, mercer_ctx *ctx, const char **first, const char **end,
                            mercer_error *err);
/* Whether going on means waiting for bytes that may only come after these rows are answered. */
bool mrc_text_would_wait(const mrc_text *text);
void mrc_text_destroy(mrc_text *text);

#endif
