/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums of rows, by which a model tells the data that made it. */
#ifndef MRC_DATA_CHECKSUM_H
#define MRC_DATA_CHECKSUM_H

#include "data/rows.h"

/* A checksum of the numbers, going on from that of earlier rows (0: none). Packed rows have that of
 * the same numbers as doubles. */
mercer_status mrc_rows_checksum(const mercer_rows *rows, unsigned long *crc, mercer_error *err);
/* The same, by the threads of ctx. */
mercer_status mrc_rows_checksum_by(mercer_ctx *ctx, const mercer_rows *rows, unsigned long *crc,
                                   mercer_error *err);
/* The same of the rows of all ranks where they are spread, on all of them. */
mercer_status mrc_rows_checksum_of_all(mercer_ctx *ctx, const mercer_rows *rows, unsigned long *crc,
                                       mercer_error *err);
/* A hash (base/hash.h) of the same numbers and of cells that are gaps, going on from *hash: where
 * 32 bits are too few. */
mercer_status mrc_rows_hash(const mercer_rows *rows, uint64_t *hash, mercer_error *err);
/* The checksum as it stands in models. */
mercer_status mrc_format_checksum(unsigned long crc, int64_t n, int64_t d, char **out,
                                  mercer_error *err);

#endif
