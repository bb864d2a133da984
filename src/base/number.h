/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as text, whatever the locale says about decimal commas: read to the nearest double, and
 * written so that reading gives back the same bits. Also text of the user made fit for a message.
 */
#ifndef MRC_BASE_NUMBER_H
#define MRC_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read the decimal number that starts at text and ends before limit: sign, digits with an optional
 * point, optional exponent. Returns where it ends, or NULL when there is none (*out unchanged).
 * Rounds to nearest; what is too large gives an infinity, what is too small gives zero. No blanks,
 * no hexadecimal, no words. */
const char *mrc_scan_double(const char *text, const char *limit, double *out);

/* Whether text[0 .. length) is the word (in lower case), in any case. */
bool mrc_spells(const char *text, size_t length, const char *word);

/* Read a text that is a number from its first to its last byte. "nan", "inf" and "infinity" (any
 * case, with a sign) count as numbers: the caller tests isfinite() and can say so. */
bool mrc_parse_double(const char *text, size_t length, double *out);

/* Read a whole number written in digits alone (with a sign); false when it is anything else or does
 * not fit. */
bool mrc_parse_int(const char *text, size_t length, int64_t *out);

/* The shortest decimal that reads back to the same bits. Returns the length; the text ends in a
 * zero byte. Not finite: "nan", "inf", "-inf". */
enum { MRC_NUMBER_SIZE = 32 };
int mrc_format_double(double value, char out[MRC_NUMBER_SIZE]);

/* Text of the user for a message: control characters and bytes that are not UTF-8 become '?', long
 * text ends in "...". Returns out. */
enum { MRC_SHOWN_SIZE = 64 };
const char *mrc_show(char out[MRC_SHOWN_SIZE], const char *text, size_t length);

#endif
