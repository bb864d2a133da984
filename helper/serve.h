/* SPDX-License-Identifier: BSD-3-Clause */
/* The helper's side of src/base/spawn.h: limits, and the two streams. */
#ifndef MRC_HELPER_SERVE_H
#define MRC_HELPER_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First of all: no other descriptors, no core file, no file written. False when that cannot be had.
 */
bool serve_confine(void);
/* From now on, end when the host ends: on a thread, which may do what its maker may then. */
bool serve_watch(void);

/* Read a file of strangers, or bytes of them: no file can be opened but the one behind the
 * descriptor `file`, none at all when it is -1, and nothing else be done that reading does not
 * take; no limit can be raised, and processor time is at most `seconds` (0: any number). False when
 * the host is gone, or there is no thread for serve_watch(), which this does. *complete: the kernel
 * has all that takes. */
bool serve_seal(int file, int64_t seconds, bool *complete);

/* From now on take at most `bytes` more bytes than now, and `seconds` of processor time in all (0:
 * any number). */
void serve_limit(int64_t bytes, int64_t seconds);

/* So many seconds of processor time more than were allowed or taken so far. */
void serve_more_time(int64_t seconds);

/* All bytes, or false when the host is gone. */
bool serve_receive(void *out, size_t count);
bool serve_send(const void *bytes, size_t count);

#endif
