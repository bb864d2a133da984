/* SPDX-License-Identifier: BSD-3-Clause */
/* One writer at a time for the file of a model.
 *
 * A model is replaced by rename, and a lock does not follow a name. So the lock is on an empty file
 * beside it, .NAME.mercer-lock in the folder of the file that symbolic links lead to: whoever comes
 * by another link, or another way to the folder, meets the same lock. It is removed at the end; one
 * that a killed run has left locks nothing, and is removed with the next. A file of that name that
 * is not empty is not ours: it serves as a lock, and stays. A NAME too long for the ending is cut,
 * with a number made of all its letters: names that begin alike have locks of their own.
 *
 * flock() works over NFS, too. Where a file system has no locks a notice says so. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char *volatile locked; /* the lock's file, for us to remove; NULL: there is none */

/* Length of the folder part of path with its last slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

/* The name that symbolic links of the last part of path lead to, there or not; to be freed. */
static char *follow(const char *path)
{
    enum { MOST = 40 }; /* as in the kernel */
    char link[PATH_MAX], *name = cli_copy(path);
    for (int i = 0; i < MOST; i++) {
        const ssize_t length = readlink(name, link, sizeof link - 1);
        if (length < 0)
            break;
        link[length] = 0;
        char *next = cli_format("%.*s%s", link[0] == '/' ? 0 : folder_length(name), name, link);
        free(name);
        name = next;
    }
    return name;
}

static char *lock_name(const char *path)
{
    static const char ending[] = ".mercer-lock";
    char *target = follow(path);
    const int folder = folder_length(target), most = NAME_MAX - 1 - (int)strlen(ending);
    const char *base = target + folder;
    char *name;
    if ((int)strlen(base) <= most) {
        name = cli_format("%.*s.%s%s", folder, target, base, ending);
    } else {
        uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
        for (const char *p = base; *p; p++)
            hash = (hash ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
        name = cli_format("%.*s.%.*s-%016llx%s", folder, target, most - 17, base,
                          (unsigned long long)hash, ending);
    }
    free(target);
    return name;
}

/* open(), again when a signal interrupts it. */
static int open_again(const char *name, int flags)
{
    int fd;
    do
        fd = open(name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int open_lock(const char *name)
{
    int fd = open_again(name, O_RDWR | O_CREAT);
    if (fd >= 0 || errno != EACCES)
        return fd;
    fd = open_again(name, O_RDONLY); /* that of another user, which we may only read */
    if (fd < 0 && errno == ENOENT)
        errno = EACCES; /* there is none, and the folder takes none */
    return fd;
}

/* Take the lock; 0 or an error number. *ours: the file is empty, as we make them. */
static int take(const char *name, int *fd, bool *ours)
{
    struct stat opened, now;
    for (;;) {
        *fd = open_lock(name);
        if (*fd < 0)
            return errno;
        if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
            break;
        /* Whoever had it may have removed the file in between: then it is nobody's lock. */
        if (fstat(*fd, &opened) == 0 && stat(name, &now) == 0 && opened.st_ino == now.st_ino &&
            opened.st_dev == now.st_dev) {
            *ours = S_ISREG(opened.st_mode) && opened.st_size == 0;
            return 0;
        }
        close(*fd);
    }
    const int reason = errno;
    if (reason != EWOULDBLOCK && fstat(*fd, &opened) == 0 && opened.st_size == 0)
        unlink(name); /* no lock, so nobody's */
    close(*fd);
    *fd = -1;
    return reason;
}

/* A signal that ends the program removes the lock, which it knows by `locked`: none may come
 * between the file and its name there. */
static void hold_signals(sigset_t *before)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&held, numbers[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

static void let_signals_come(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Outputs that are written through, not replaced. */
static bool is_written_through(const char *path)
{
    static const char *const descriptors[] = {"/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/"};
    struct stat there;
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (strncmp(path, descriptors[i], strlen(descriptors[i])) == 0)
            return true;
    return cli_is_stdout(path) || (stat(path, &there) == 0 && !S_ISREG(there.st_mode));
}

int cli_lock(cli_app *app, const char *path, int *fd)
{
    bool ours = false;
    sigset_t before;
    *fd = -1;
    if (!path || is_written_through(path))
        return CLI_DONE;
    char *name = lock_name(path);
    hold_signals(&before);
    const int reason = take(name, fd, &ours);
    if (reason == 0 && ours)
        locked = name;
    let_signals_come(&before);
    if (reason == 0 && ours)
        return CLI_DONE;
    int code = CLI_DONE;
    if (reason == EWOULDBLOCK)
        code = cli_fail(CLI_FAILED, "%s: another run of mercer is at work on it (lock file %s)",
                        path, name);
    else if (reason == ENOLCK || reason == ENOTSUP || reason == ENOSYS || reason == EINVAL)
        cli_notice(app, "the file system of the model has no locks: nothing keeps two runs of "
                        "mercer from writing it at once");
    else if (reason != 0)
        code = cli_fail(CLI_FAILED, "%s: its lock file %s cannot be made or locked: %s", path, name,
                        strerror(reason));
    free(name);
    return code;
}

void cli_unlock(int fd)
{
    char *name = locked;
    sigset_t before;
    hold_signals(&before);
    locked = NULL;
    if (name)
        unlink(name);
    let_signals_come(&before);
    free(name);
    if (fd >= 0)
        close(fd);
}

void cli_unlock_in_handler(void)
{
    if (locked)
        unlink(locked);
}
