/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before a program (LD_PRELOAD): notes what it does to regular files and their names, with
 * the bytes, in the file MERCER_RECORD. tests/faults/run_crashes.py makes of it what a crash may
 * leave.
 *
 * A record is a struct entry, then the name, the second name and the bytes, without an end mark.
 * Files are told apart by the numbers of their inodes. */
/* The C library would give other names, or bodies of its own, to what is defined here. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, SYNC_FOLDER, RENAME, UNLINK, LINK, MODE };

struct entry {
    int64_t what, file, offset, name_bytes, other_bytes, data_bytes;
};

static int record = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
    enum { HIGH = 900 }; /* out of the way of the program's own descriptors */
    const char *name = getenv("MERCER_RECORD");
    if (!name || strcmp(program_invocation_short_name, "mercer") != 0)
        return;
    const int fd =
        (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    record = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH);
    syscall(SYS_close, fd);
}

static void put(const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes > 0) {
        const long done = syscall(SYS_write, record, from, bytes);
        if (done <= 0)
            abort(); /* a record with gaps would prove nothing */
        from += done;
        bytes -= (size_t)done;
    }
}

static void note(int64_t what, int64_t file, int64_t offset, const char *name, const char *other,
                 const void *data, size_t bytes)
{
    const struct entry entry = {what,
                                file,
                                offset,
                                name ? (int64_t)strlen(name) : 0,
                                other ? (int64_t)strlen(other) : 0,
                                (int64_t)bytes};
    const int errnum = errno;
    pthread_mutex_lock(&lock);
    put(&entry, sizeof entry);
    put(name, (size_t)entry.name_bytes);
    put(other, (size_t)entry.other_bytes);
    put(data, bytes);
    pthread_mutex_unlock(&lock);
    errno = errnum;
}

/* The inode of a descriptor that is open on a file of that type, or 0. */
static int64_t inode_of(int fd, mode_t type)
{
    struct stat info;
    const int errnum = errno;
    const bool fits = record >= 0 && fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == type;
    errno = errnum;
    return fits ? (int64_t)info.st_ino : 0;
}

static int open_file(const char *path, int flags, va_list rest)
{
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    struct stat info;
    const bool is_new = record >= 0 && (flags & O_CREAT) && lstat(path, &info) != 0;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    const int64_t file = fd >= 0 ? inode_of(fd, S_IFREG) : 0;
    if (file && is_new && fstat(fd, &info) == 0)
        note(CREATE, file, info.st_mode & 07777, path, NULL, NULL, 0);
    else if (file && (flags & O_TRUNC))
        note(TRUNCATE, file, 0, NULL, NULL, NULL, 0);
    return fd;
}

#define OPENS(name)                                                                                \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const int fd = open_file(path, flags, rest);                                               \
        va_end(rest);                                                                              \
        return fd;                                                                                 \
    }
OPENS(open)
OPENS(open64)

ssize_t write(int fd, const void *from, size_t bytes)
{
    const ssize_t done = syscall(SYS_write, fd, from, bytes);
    const int64_t file = done > 0 ? inode_of(fd, S_IFREG) : 0;
    if (file)
        note(WRITE, file, syscall(SYS_lseek, fd, 0L, SEEK_CUR) - done, NULL, NULL, from,
             (size_t)done);
    return done;
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
    const ssize_t done = syscall(SYS_pwrite64, fd, from, bytes, offset);
    const int64_t file = done > 0 ? inode_of(fd, S_IFREG) : 0;
    if (file)
        note(WRITE, file, offset, NULL, NULL, from, (size_t)done);
    return done;
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t offset)
{
    return pwrite(fd, from, bytes, offset);
}

int ftruncate(int fd, off_t length)
{
    const int status = (int)syscall(SYS_ftruncate, fd, length);
    const int64_t file = status == 0 ? inode_of(fd, S_IFREG) : 0;
    if (file)
        note(TRUNCATE, file, length, NULL, NULL, NULL, 0);
    return status;
}

int ftruncate64(int fd, off64_t length)
{
    return ftruncate(fd, length);
}

int fsync(int fd)
{
    const int status = (int)syscall(SYS_fsync, fd);
    const int64_t file = status == 0 ? inode_of(fd, S_IFREG) : 0;
    if (file)
        note(SYNC, file, 0, NULL, NULL, NULL, 0);
    else if (status == 0 && inode_of(fd, S_IFDIR))
        note(SYNC_FOLDER, 0, 0, NULL, NULL, NULL, 0);
    return status;
}

int fdatasync(int fd)
{
    return fsync(fd);
}

int fchmod(int fd, mode_t mode)
{
    const int status = (int)syscall(SYS_fchmod, fd, mode);
    const int64_t file = status == 0 ? inode_of(fd, S_IFREG) : 0;
    if (file)
        note(MODE, file, mode, NULL, NULL, NULL, 0);
    return status;
}

int rename(const char *from, const char *to)
{
    const int status = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (status == 0 && record >= 0)
        note(RENAME, 0, 0, from, to, NULL, 0);
    return status;
}

int link(const char *from, const char *to)
{
    const int status = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (status == 0 && record >= 0)
        note(LINK, 0, 0, from, to, NULL, 0);
    return status;
}

int unlink(const char *path)
{
    const int status = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (status == 0 && record >= 0)
        note(UNLINK, 0, 0, path, NULL, NULL, 0);
    return status;
}
