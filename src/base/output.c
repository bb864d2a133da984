/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files that appear whole or not at all.
 *
 * The temporary file stands in the folder of the resolved target, because rename() is atomic only
 * within a file system. It is created by open(O_CREAT | O_EXCL) and not by mkstemp(): so the kernel
 * applies the umask (or the folder's default access list) and nobody has to read the umask, which
 * cannot be done without changing it for other threads. The name is entered in ctx before the file
 * exists and removed after it is gone, so a signal handler that calls
 * mercer_ctx_discard_temporaries() misses nothing at any moment.
 *
 * A writer that is killed leaves its temporary behind. So names are counted, .NAME.mercer-0 to -f,
 * and each is locked (flock) until it is renamed: the next writer of NAME removes those that nobody
 * holds. A file of the user may have such a name, so ours are marked by the sticky bit, which says
 * nothing for a file, is there from the moment of creation and is removed right after the rename:
 * what lacks it is never removed, also where a file system knows no such bit. A writer that ends in
 * between leaves the bit on the new file, where it does no harm, until that is written again.
 * Looking at 16 names costs the same in a folder of a million files. Between creating and locking
 * another writer may take a new file for a dead one; its owner sees that it has no name any more,
 * and makes another.
 *
 * SIGPIPE is the host's business: a program that ignores it gets MERCER_ERR_IO here. */
#include "base/output.h"

#include "base/descriptor.h"
#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_LINKS = 40,          /* symbolic links followed, as in the kernel */
    COUNTED = 16,            /* temporaries of one target that are found again */
    MAX_ATTEMPTS = 100,      /* names tried: those first, then random ones */
    MAX_WRITE = 1 << 30,     /* bytes per write(); the kernel stops a little below 2^31 */
    SUFFIX_SIZE = 1 + 8 + 6, /* the leading dot, ".mercer-" and six letters */
    MARK = S_ISVTX           /* of the mode of a temporary */
};

static mercer_status too_long(const char *path, mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "%.200s...: the file name is too long", path);
}

static mercer_status copy_path(char out[MRC_PATH_MAX], const char *path, mercer_error *err)
{
    size_t length = strlen(path);
    if (length >= MRC_PATH_MAX)
        return too_long(path, err);
    memcpy(out, path, length + 1);
    return MERCER_OK;
}

/* The descriptor meant by /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N, else -1. Opening
 * those names would start again at the beginning of a redirected file. */
static int named_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t length = strlen(folders[i]);
        int64_t fd;
        if (strncmp(path, folders[i], length) == 0 &&
            mrc_parse_int(path + length, strlen(path + length), &fd) && fd >= 0 && fd <= INT_MAX)
            return (int)fd;
    }
    return -1;
}

/* Length of the folder part of path with its last slash; 0 when there is none. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Follow symbolic links, also those that lead nowhere yet, until path names no link. */
static mercer_status follow_links(char path[MRC_PATH_MAX], const char *shown, mercer_error *err)
{
    for (int i = 0; i < MAX_LINKS; i++) {
        char link[MRC_PATH_MAX], joined[2 * MRC_PATH_MAX];
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length < 0)
            return MERCER_OK; /* no link, or not there, or not to be seen: opening will tell */
        link[length] = 0;
        int folder = link[0] == '/' ? 0 : (int)folder_length(path);
        snprintf(joined, sizeof joined, "%.*s%s", folder, path, link);
        mercer_status rc = copy_path(path, joined, err);
        if (rc != MERCER_OK)
            return rc;
    }
    return mrc_fail_errno(err, MERCER_ERR_IO, ELOOP, "%s", shown);
}

static mercer_status open_through(mrc_output *output, const char *path, mercer_error *err)
{
    int fd = named_descriptor(path);
    if (fd >= 0)
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    else
        fd = mrc_open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY, 0);
    if (fd < 0)
        return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot write", output->shown);
    output->fd = fd;
    return MERCER_OK;
}

/* Why nothing can be created beside the target. */
static mercer_status explain_open(const mrc_output *output, int errnum, mercer_error *err)
{
    char folder[MRC_PATH_MAX];
    size_t length = folder_length(output->target);
    memcpy(folder, output->target, length);
    folder[length] = 0;
    if (length == 0)
        memcpy(folder, ".", 2);
    else if (length > 1)
        folder[length - 1] = 0;
    if (errnum == ENOENT && access(folder, F_OK)) /* /proc is there, and takes no files */
        return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: the folder '%s' does not exist",
                           output->shown, folder);
    if (errnum == ENOTDIR)
        return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: '%s' is not a folder",
                           output->shown, folder);
    if (errnum == EACCES || errnum == EPERM)
        return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE,
                           "%s: not permitted to write into the folder '%s'", output->shown,
                           folder);
    return mrc_fail_errno(err, MERCER_ERR_IO, errnum, "%s: cannot write", output->shown);
}

static void fill_random_name(char suffix[7])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    unsigned char noise[6];
    if (getrandom(noise, sizeof noise, GRND_NONBLOCK) != (ssize_t)sizeof noise) {
        /* No kernel randomness yet: O_EXCL still keeps two writers apart. */
        uint64_t mix = (uint64_t)getpid() * 0x9e3779b97f4a7c15u + (uint64_t)(mrc_seconds() * 1e9);
        memcpy(noise, &mix, sizeof noise);
    }
    for (int i = 0; i < 6; i++)
        suffix[i] = letters[noise[i] % (sizeof letters - 1)];
    suffix[6] = 0;
}

/* Write the name of the attempt-th temporary of the target to name; false: it is too long. */
static bool name_temporary(const mrc_output *output, int attempt, char name[MRC_PATH_MAX])
{
    int folder = (int)folder_length(output->target);
    const char *base = output->target + folder;
    char suffix[7];
    if (attempt < COUNTED)
        snprintf(suffix, sizeof suffix, "%x", (unsigned)attempt);
    else
        fill_random_name(suffix);
    return snprintf(name, MRC_PATH_MAX, "%.*s.%.*s.mercer-%s", folder, output->target,
                    NAME_MAX - SUFFIX_SIZE, base, suffix) < MRC_PATH_MAX;
}

/* Is name still the file that is open as fd? */
static bool is_named(const char *name, int fd)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && lstat(name, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* Remove what killed writers of the same target have left: our own regular files, marked, that
 * nobody has locked. What cannot be locked or removed stays; it is in nobody's way. */
static void remove_dead(const mrc_output *output)
{
    const char *base = output->target + folder_length(output->target);
    char name[MRC_PATH_MAX];
    if (strlen(base) > NAME_MAX - SUFFIX_SIZE)
        return; /* a name cut short may be another target's, too */
    for (int i = 0; i < COUNTED && name_temporary(output, i, name); i++) {
        struct stat info;
        int fd = open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & MARK) &&
            info.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(name, fd))
            unlink(name);
        close(fd);
    }
}

/* Mark a new temporary as in use. False: another writer was quicker and takes it for a dead one. On
 * file systems without locks nothing is marked, and nothing removed. */
static bool hold(const char *name, int fd)
{
    return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && is_named(name, fd);
}

/* Enter a new name in a free slot and create the file. mode: what an existing target has. */
static mercer_status open_temporary(mrc_output *output, mode_t mode, mercer_error *err)
{
    mercer_ctx *ctx = output->ctx;
    int slot = 0;
    while (slot < MRC_TEMPORARIES && ctx->temporary_live[slot])
        slot++;
    if (slot == MRC_TEMPORARIES)
        return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE,
                           "%s: more than %d output files at a time", output->shown,
                           MRC_TEMPORARIES);
    char *name = ctx->temporary[slot];
    remove_dead(output);
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        if (!name_temporary(output, i, name))
            return too_long(output->shown, err);
        atomic_signal_fence(memory_order_seq_cst);
        ctx->temporary_live[slot] = 1;
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode | MARK);
        int errnum = errno;
        if (fd >= 0 && hold(name, fd)) {
            output->fd = fd;
            output->slot = slot;
            return MERCER_OK;
        }
        ctx->temporary_live[slot] = 0;
        if (fd >= 0)
            close(fd);
        else if (errnum != EEXIST && errnum != EINTR)
            return explain_open(output, errnum, err);
    }
    return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: no free name for a temporary file",
                       output->shown);
}

mercer_status mrc_output_open(mrc_output *output, mercer_ctx *ctx, const char *path,
                              mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    struct stat info;
    *output = (mrc_output){.ctx = ctx, .fd = -1, .slot = -1};
    if (!path || !*path)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "the name of the output file is empty");
    if (strcmp(path, "-") == 0) {
        MRC_TRY(copy_path(output->shown, "standard output", err));
        output->fd = STDOUT_FILENO;
        output->borrowed_fd = true;
        goto out;
    }
    MRC_TRY(copy_path(output->shown, path, err));
    if (named_descriptor(path) >= 0) {
        MRC_TRY(open_through(output, path, err));
        goto out;
    }
    MRC_TRY(copy_path(output->target, path, err));
    MRC_TRY(follow_links(output->target, path, err));
    bool exists = stat(output->target, &info) == 0;
    if (!exists && errno != ENOENT)
        MRC_TRY(explain_open(output, errno, err));
    size_t length = strlen(output->target);
    if ((exists && S_ISDIR(info.st_mode)) || output->target[length - 1] == '/')
        MRC_FAIL_AT(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: is a folder, not a file", path);
    if (exists && !S_ISREG(info.st_mode)) {
        MRC_TRY(open_through(output, output->target, err));
        goto out;
    }
    /* Renaming over a file asks only for rights on its folder; a write-protected one stays. */
    if (exists && faccessat(AT_FDCWD, output->target, W_OK, AT_EACCESS) != 0)
        MRC_FAIL_AT(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: not permitted to replace this file",
                    path);
    MRC_TRY(open_temporary(output, exists ? info.st_mode & 0777 : 0666, err));
    if (exists) {
        /* The owner is kept where the system lets us; the mode after it, because chown resets it.
         */
        struct stat mine;
        if (fstat(output->fd, &mine) == 0 &&
            (mine.st_uid != info.st_uid || mine.st_gid != info.st_gid) &&
            fchown(output->fd, info.st_uid, info.st_gid) != 0)
            errno = 0;
        const mode_t marked = fstat(output->fd, &mine) == 0 ? mine.st_mode & MARK : 0;
        if (fchmod(output->fd, (info.st_mode & 0777) | marked) != 0) {
            rc = mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot set the mode", path);
            goto out;
        }
    }
out:
    if (rc != MERCER_OK)
        mrc_output_abort(output);
    return rc;
}

static mercer_status fail_write(const mrc_output *output, int errnum, mercer_error *err)
{
    const char *kept = output->slot >= 0 ? ", nothing was written" : "";
    if (errnum == ENOSPC)
        return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: the disk is full%s", output->shown,
                           kept);
    if (errnum == EDQUOT)
        return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: the disk quota is used up%s",
                           output->shown, kept);
    if (errnum == EFBIG)
        return mrc_fail_at(
            err, MERCER_ERR_IO, MRC_IN_FILE,
            "%s: the file would be larger than the limit of the process (ulimit -f) or "
            "of the file system%s",
            output->shown, kept);
    if (errnum == EPIPE)
        return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE, "%s: the reader of the pipe has gone",
                           output->shown);
    return mrc_fail_errno(err, MERCER_ERR_IO, errnum, "%s: cannot write", output->shown);
}

mercer_status mrc_output_write(mrc_output *output, const void *data, size_t bytes,
                               mercer_error *err)
{
    const char *p = data;
    while (bytes > 0) {
        ssize_t done = write(output->fd, p, bytes < MAX_WRITE ? bytes : MAX_WRITE);
        if (done < 0) {
            if (errno == EINTR)
                continue;
            return fail_write(output, errno, err);
        }
        p += done;
        bytes -= (size_t)done;
    }
    return MERCER_OK;
}

/* Close without repeating on EINTR: on Linux the descriptor is gone then, too. */
static int close_descriptor(mrc_output *output)
{
    int fd = output->fd;
    output->fd = -1;
    if (output->borrowed_fd || fd < 0)
        return 0;
    return close(fd) == 0 || errno == EINTR ? 0 : errno;
}

/* Take the mark away; 0 or an error number. */
static int unmark(int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return errno;
    return !(info.st_mode & MARK) || fchmod(fd, info.st_mode & 0777) == 0 ? 0 : errno;
}

/* Give the temporary its name. Its entry in ctx goes first, and no signal comes between: a handler
 * after the rename would remove what another writer has made under that name since. */
static int put_in_place(const mrc_output *output)
{
    mercer_ctx *ctx = output->ctx;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ctx->temporary_live[output->slot] = 0;
    atomic_signal_fence(memory_order_seq_cst);
    const int errnum = rename(ctx->temporary[output->slot], output->target) == 0 ? 0 : errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return errnum;
}

mercer_status mrc_output_finish(mrc_output *output, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    int folder = -1, held = -1, errnum;
    if (output->slot < 0) {
        errnum = close_descriptor(output);
        if (errnum)
            rc = fail_write(output, errnum, err);
        goto out;
    }
    errnum = mrc_sync(output->fd);
    /* A copy keeps the lock until the file has its name. Without one, nothing but a writer in
     * between is lost, and the mark has to go now. */
    held = fcntl(output->fd, F_DUPFD_CLOEXEC, 0);
    if (!errnum && held < 0)
        errnum = unmark(output->fd);
    if (!errnum)
        errnum = close_descriptor(output);
    if (errnum) {
        rc = fail_write(output, errnum, err);
        goto out;
    }
    /* A folder one may write but not read cannot be synced; the file is whole all the same. */
    folder = mrc_open_folder(output->target);
    errnum = folder < 0 && errno != EACCES && errno != EPERM ? errno : put_in_place(output);
    if (errnum) {
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errnum, "%s: cannot put the new file in place",
                            output->shown);
        goto out;
    }
    output->slot = -1;
    errnum = held >= 0 ? unmark(held) : 0;
    if (errnum) {
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errnum, "%s: written, but its mode cannot be set",
                            output->shown);
        goto out;
    }
    errnum = folder >= 0 ? mrc_sync(folder) : 0;
    if (errnum)
        rc = mrc_fail_errno(err, MERCER_ERR_IO, errnum,
                            "%s: written, but its folder cannot be synced", output->shown);
out:
    if (folder >= 0)
        close(folder);
    mrc_output_abort(output);
    if (held >= 0)
        close(held);
    return rc;
}

void mrc_output_abort(mrc_output *output)
{
    if (!output->ctx)
        return;
    close_descriptor(output);
    if (output->slot >= 0) {
        unlink(output->ctx->temporary[output->slot]);
        output->ctx->temporary_live[output->slot] = 0;
        output->slot = -1;
    }
}
