/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON texts, written piece by piece into counted memory.
 *
 * Jansson is not used: it takes memory that no test counts, and its dump does not say which of
 * memory and text was at fault. The writer keeps its first failure, as a stdio stream does, so that
 * callers write on and ask once, at the end. */
#ifndef MRC_BASE_JSON_WRITER_H
#define MRC_BASE_JSON_WRITER_H

#include "base/error.h"

#include <stdbool.h>

enum { MRC_JSON_DEPTH = 16 }; /* of arrays and objects in each other */

typedef struct mrc_json_writer {
    char *text; /* owned until mrc_json_finish() */
    int64_t length, room;
    int depth;
    char closing[MRC_JSON_DEPTH]; /* brackets that are due */
    bool filled;                  /* something stands behind the newest opening bracket */
    mercer_status rc;
    mercer_error *err;
} mrc_json_writer;

/* Length of the UTF-8 sequence at s (which ends with a zero byte), or 0 when it is none. */
int mrc_utf8_length(const unsigned char *s);

/* Start a text, which is one object: one line per member of it, and whatever is inside on that
 * line. */
void mrc_json_start(mrc_json_writer *json, mercer_error *err);
/* End it: *out is the text, freed by mrc_free(); NULL after a failure, of which it returns the
 * status. To be called in any case. */
mercer_status mrc_json_finish(mrc_json_writer *json, char **out);

/* A member called key of the object, or (key is NULL) an element of the array that is open. */
void mrc_json_open_object(mrc_json_writer *json, const char *key);
void mrc_json_open_array(mrc_json_writer *json, const char *key);
void mrc_json_close(mrc_json_writer *json); /* the newest that is open */
/* NULL is null. Of a text that is not UTF-8, every byte beyond ASCII becomes '?'. */
void mrc_json_put_text(mrc_json_writer *json, const char *key, const char *text);
void mrc_json_put_text_part(mrc_json_writer *json, const char *key, const char *text,
                            size_t length);
void mrc_json_put_int(mrc_json_writer *json, const char *key, int64_t value);
/* The shortest decimal that reads back to the same bits, with a point or an exponent; null when it
 * is not finite. */
void mrc_json_put_real(mrc_json_writer *json, const char *key, double value);
void mrc_json_put_truth(mrc_json_writer *json, const char *key, bool value);
void mrc_json_put_null(mrc_json_writer *json, const char *key);

/* An array: count values times factor (none when values is NULL); the words "a|b|c" (of NULL:
 * null), or with another separator. */
void mrc_json_put_reals(mrc_json_writer *json, const char *key, const double *values, int64_t count,
                        double factor);
void mrc_json_put_words(mrc_json_writer *json, const char *key, const char *words, char separator);

#endif
