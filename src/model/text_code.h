/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON takes UTF-8 only, but names from files can be any bytes. A byte that is not part of valid
 * UTF-8 becomes one of the characters U+EF80 to U+EFFF; so do the bytes of such a character itself,
 * which keeps this reversible. */
#ifndef MRC_MODEL_TEXT_CODE_H
#define MRC_MODEL_TEXT_CODE_H

#include "base/error.h"

/* The caller frees *out by mrc_free(). */
mercer_status mrc_text_encode(const char *text, char **out, mercer_error *err);
/* Back in place: the text only shrinks. */
void mrc_text_decode(char *text);

#endif
