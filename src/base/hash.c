/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashing, eight bytes at a time: a multiplication by an odd number carries each bit upwards, a
 * shift brings the upper half down again. The length is hashed too, so that zeroes at the end
 * count. */
#include "base/hash.h"

#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
}

uint64_t mrc_hash(uint64_t hash, const void *data, int64_t bytes)
{
    const char *at = data;
    for (int64_t left = bytes; left > 0; left -= (int64_t)sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, at + (bytes - left), (size_t)left < sizeof word ? (size_t)left : sizeof word);
        hash = mix(hash, word);
    }
    return mix(hash + 1, (uint64_t)bytes);
}

uint64_t mrc_hash_text(uint64_t hash, const char *text)
{
    return text ? mrc_hash(hash, text, (int64_t)strlen(text) + 1) : mrc_hash(hash, "", 0);
}
