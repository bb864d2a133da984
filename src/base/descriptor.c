/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls on files, repeated where a signal interrupts them. */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

int mrc_open(const char *path, int flags, mode_t mode)
{
    int fd;
    do
        fd = open(path, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int mrc_open_folder(const char *path)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    if (length >= sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (length) {
        memcpy(folder, path, length);
        folder[length] = 0;
    }
    return mrc_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

ssize_t mrc_read_at(int fd, void *out, size_t bytes, off_t offset)
{
    size_t got = 0;
    while (got < bytes) {
        const ssize_t more = pread(fd, (char *)out + got, bytes - got, offset + (off_t)got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

int mrc_sync(int fd)
{
    int status;
    do
        status = fsync(fd);
    while (status != 0 && errno == EINTR);
    return status == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS ? 0 : errno;
}
