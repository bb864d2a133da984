/* SPDX-License-Identifier: BSD-3-Clause */
/* A number of 64 bits that tells one set of bytes from another; against accidents, not attacks. */
#ifndef MRC_BASE_HASH_H
#define MRC_BASE_HASH_H

#include <stdint.h>

/* That of the bytes behind those whose number is hash; 0: none are before. */
uint64_t mrc_hash(uint64_t hash, const void *data, int64_t bytes);
/* The same of a text with its end; NULL is another one than "". */
uint64_t mrc_hash_text(uint64_t hash, const char *text);

#endif
