/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls on files, repeated where a signal interrupts them: a host may have handlers without
 * SA_RESTART, and on network file systems open() and fsync() can be interrupted, too. */
#ifndef MRC_BASE_DESCRIPTOR_H
#define MRC_BASE_DESCRIPTOR_H

#include <sys/types.h>

/* open(): a descriptor, or -1 and errno. mode: for files that are created. */
int mrc_open(const char *path, int flags, mode_t mode);
/* The folder that holds path, for mrc_sync(): a descriptor, or -1 and errno. */
int mrc_open_folder(const char *path);
/* pread(), until all bytes are there or the file ends: their number, or -1 and errno. */
ssize_t mrc_read_at(int fd, void *out, size_t bytes, off_t offset);
/* Bring a file, or the names in a folder, to the disk: 0 or an error number. File systems and
 * devices that know no such thing are content. */
int mrc_sync(int fd);

#endif
