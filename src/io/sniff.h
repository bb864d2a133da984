/* SPDX-License-Identifier: BSD-3-Clause */
/* How the cells of a text are separated, and what their decimal mark is. */
#ifndef MRC_IO_SNIFF_H
#define MRC_IO_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

/* The separator by the first lines of a text, all of them complete: ',', ';', '\t', '|' or ' '
 * (runs of blanks). comment: lines that start with it do not count; 0: none do. */
char mrc_sniff_delimiter(const char *text, size_t size, char comment);
/* The decimal mark of its numbers: ',' where some cell can be nothing else, and none has a point
 * that can be nothing else; else '.'. *doubtful: cells have points that may separate thousands, and
 * no cell settles it. */
char mrc_sniff_decimal(const char *text, size_t size, char delimiter, char comment, bool *doubtful);

#endif
