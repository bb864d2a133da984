/* SPDX-License-Identifier: BSD-3-Clause */
/* Helper programs, started by posix_spawn: a bare fork in a host with threads would copy its locks.
 *
 * Requests go through a socket, since writing to one can be told not to raise SIGPIPE in the host;
 * answers, which are large, through a pipe. Both are non-blocking on this side, so that waiting can
 * be cancelled. The helper stays in the process group of the host, so that Ctrl-Z stops both; but
 * it never sees the signals that ask for an end: Ctrl-C in a terminal is for the host to handle. It
 * ends when the host does.
 *
 * A host may reap any child (it ignores SIGCHLD, or waits for all), so the number of a dead helper
 * may belong to another process soon. Signals therefore go through a pidfd where the kernel has
 * them, and a child that nobody can wait for any more counts as one whose end is not known. */
#include "base/spawn.h"

#include "base/ctx.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    POLL_MS = 50,         /* between looks at the cancellation */
    DEATH_MS = 1000,      /* for a helper whose answers have ended to be gone */
    PIPE_BYTES = 1 << 20, /* what an unprivileged process may ask for */
    FIRST_FREE_FD = 3
};

/* Close a descriptor that is open. */
static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Move a descriptor out of the way of the standard ones, which the helper will have. */
static bool move_up(int *fd)
{
    if (*fd >= FIRST_FREE_FD)
        return true;
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    close_fd(fd);
    *fd = moved;
    return moved >= 0;
}

/* Ends of socket and pipe: ours first, then the helper's. */
struct ends {
    int requests[2], answers[2];
};

static bool open_ends(struct ends *ends)
{
    *ends = (struct ends){{-1, -1}, {-1, -1}};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->requests) != 0 ||
        pipe2(ends->answers, O_CLOEXEC) != 0)
        return false;
    (void)fcntl(ends->answers[1], F_SETPIPE_SZ, PIPE_BYTES); /* a smaller one is only slower */
    return move_up(&ends->requests[0]) && move_up(&ends->requests[1]) &&
           move_up(&ends->answers[0]) && move_up(&ends->answers[1]) &&
           fcntl(ends->answers[0], F_SETFL, O_NONBLOCK) == 0;
}

static void close_ends(struct ends *ends)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&ends->requests[i]);
        close_fd(&ends->answers[i]);
    }
}

/* The surroundings of the process, which the helper's loader and BLAS read, with "NAME=value" in
 * the place of what they have by that name: a new list of strings that are not its own. */
static mercer_status surroundings_with(const char *setting, char ***out, mercer_error *err)
{
    extern char **environ;
    mercer_status rc = MERCER_OK;
    char **list = NULL;
    int64_t count = 0, kept = 0;
    const size_t name = setting ? (size_t)(strchr(setting, '=') - setting) + 1 : 0;
    while (environ && environ[count])
        count++;
    MRC_TRY(mrc_alloc(&list, count + 2, sizeof *list, err));
    for (int64_t i = 0; i < count; i++)
        if (name == 0 || strncmp(environ[i], setting, name) != 0)
            list[kept++] = environ[i];
    list[kept] = (char *)(uintptr_t)setting;
out:
    *out = list;
    return rc;
}

/* Run one file; 0, or the number of the error. */
static int spawn_file(const char *path, char **surroundings, const struct ends *ends, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t ends_asked, all;
    char *arguments[] = {(char *)(uintptr_t)path, NULL};
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    static const int asking[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM};
    sigemptyset(&ends_asked);
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++)
        sigaddset(&ends_asked, asking[i]);
    sigfillset(&all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (!(error = posix_spawnattr_setflags(&attributes, flags)) &&
        !(error = posix_spawnattr_setsigmask(&attributes, &ends_asked)) &&
        !(error = posix_spawnattr_setsigdefault(&attributes, &all)) &&
        !(error = posix_spawn_file_actions_adddup2(&actions, ends->requests[1], STDIN_FILENO)) &&
        !(error = posix_spawn_file_actions_adddup2(&actions, ends->answers[1], STDOUT_FILENO)) &&
        !(error =
              posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)))
        error = posix_spawn(pid, path, &actions, &attributes, arguments, surroundings);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* The folder of the file that holds this code: the library, or a program it is part of. */
static bool own_folder(char folder[PATH_MAX])
{
    Dl_info info;
    void *here;
    bool (*function)(const mrc_helper *) = mrc_helper_is_ours;
    memcpy(&here, &function, sizeof here); /* C has no cast between the two kinds of pointer */
    if (!dladdr(here, &info) || !info.dli_fname || !realpath(info.dli_fname, folder))
        return false;
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = 0;
    return true;
}

/* Try the places where the program can be, nearest first: beside the library (a build tree, a
 * bundle), where the installed library expects it from its own place (also when the tree was
 * moved), and where it was installed. */
static int spawn_program(const char *program, char **surroundings, const struct ends *ends,
                         mrc_helper *helper)
{
    char folder[PATH_MAX];
    bool known = own_folder(folder);
    int error = ENOENT;
    for (int place = known ? 0 : 2; place < 3 && (error == ENOENT || error == ENOTDIR); place++) {
        int length = place == 2 ? snprintf(helper->path, sizeof helper->path, "%s/%s",
                                           MRC_HELPER_FOLDER, program)
                                : snprintf(helper->path, sizeof helper->path, "%s/%s%s", folder,
                                           place == 0 ? "" : MRC_HELPER_RELATIVE "/", program);
        if (length < (int)sizeof helper->path)
            error = spawn_file(helper->path, surroundings, ends, &helper->pid);
    }
    return error;
}

/* One that is nowhere: all places, since the last says little to whoever moved the others. */
static mercer_status fail_start(const mrc_helper *helper, const char *program, const char *shown,
                                int error, mercer_error *err)
{
    char folder[PATH_MAX];
    if ((error == ENOENT || error == ENOTDIR) && own_folder(folder))
        return mrc_fail(err, MERCER_ERR_IO,
                        "%s: cannot start the helper program %s: it is neither in %s nor in %s/%s "
                        "nor in %s",
                        shown, program, folder, folder, MRC_HELPER_RELATIVE, MRC_HELPER_FOLDER);
    return mrc_fail_errno(err, MERCER_ERR_IO, error, "%s: cannot start the helper program %s",
                          shown, helper->path[0] ? helper->path : program);
}

mercer_status mrc_helper_start(mrc_helper *helper, const char *program, const char *setting,
                               const char *shown, mercer_error *err)
{
    struct ends ends;
    char **surroundings = NULL;
    mercer_status rc = surroundings_with(setting, &surroundings, err);
    *helper = (mrc_helper){0};
    if (rc != MERCER_OK)
        return rc;
    *helper = (mrc_helper){.requests = -1, .answers = -1, .pidfd = -1};
    int error = open_ends(&ends) ? 0 : errno;
    if (!error)
        error = spawn_program(program, surroundings, &ends, helper);
    if (error) {
        rc = fail_start(helper, program, shown, error, err);
        *helper = (mrc_helper){0};
    } else {
        helper->owner = getpid();
        helper->pidfd = (int)syscall(SYS_pidfd_open, helper->pid, 0);
        helper->requests = ends.requests[0];
        helper->answers = ends.answers[0];
        ends.requests[0] = ends.answers[0] = -1;
    }
    close_ends(&ends);
    mrc_free(surroundings);
    return rc;
}

/* Kill it, unless its number may no longer be its own. */
static void kill_helper(mrc_helper *helper)
{
    int status;
    if (helper->reaped)
        return;
    if (helper->pidfd >= 0) {
        (void)syscall(SYS_pidfd_send_signal, helper->pidfd, SIGKILL, NULL, 0);
        return;
    }
    pid_t done = waitpid(helper->pid, &status, WNOHANG);
    if (done == 0)
        kill(helper->pid, SIGKILL);
    else
        helper->reaped = true;
}

/* Wait for the end of a helper that is ending, or was killed. False: its status is not known. */
static bool reap(mrc_helper *helper, int *status)
{
    pid_t done = -1;
    if (helper->reaped)
        return false;
    do
        done = waitpid(helper->pid, status, 0);
    while (done < 0 && errno == EINTR);
    helper->reaped = true;
    return done == helper->pid;
}

/* Give a helper whose answers have ended the time to be gone, so that its status is its own. */
static void await_end(const mrc_helper *helper)
{
    struct pollfd ended = {.fd = helper->pidfd, .events = POLLIN};
    struct timespec short_while = {.tv_nsec = DEATH_MS * 10000L};
    siginfo_t info = {0};
    if (helper->pidfd >= 0) {
        (void)poll(&ended, 1, DEATH_MS);
        return;
    }
    for (int i = 0; i < 100; i++) {
        if (waitid(P_PID, (id_t)helper->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid != 0)
            return;
        nanosleep(&short_while, NULL);
    }
}

/* The helper has closed its streams: find out how it ended. */
static mercer_status fail_dead(mrc_helper *helper, mercer_error *err)
{
    int status = 0;
    await_end(helper);
    kill_helper(helper);
    bool known = reap(helper, &status);
    int signal_number = known && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    helper->fate = known && WIFEXITED(status) ? MRC_FATE_EXIT
                   : signal_number == SIGXCPU ? MRC_FATE_TIME
                   : signal_number == SIGKILL ? MRC_FATE_KILLED
                                              : MRC_FATE_CRASH;
    return mrc_fail(err, MERCER_ERR_IO, "the helper program %s ended unexpectedly", helper->path);
}

/* Wait until the descriptor is ready, or its other end is gone. */
static mercer_status await(int fd, short events, mercer_ctx *ctx, mercer_error *err)
{
    struct pollfd waiting = {.fd = fd, .events = events};
    mercer_status rc;
    while ((rc = mrc_check_cancel(ctx, err)) == MERCER_OK && poll(&waiting, 1, POLL_MS) <= 0)
        ;
    return rc;
}

mercer_status mrc_helper_send(mrc_helper *helper, mercer_ctx *ctx, const void *bytes, size_t count,
                              mercer_error *err)
{
    const char *from = bytes;
    mercer_status rc = MERCER_OK;
    while (rc == MERCER_OK && count > 0) {
        ssize_t done = send(helper->requests, from, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done > 0) {
            from += done;
            count -= (size_t)done;
        } else if (errno == EAGAIN) {
            rc = await(helper->requests, POLLOUT, ctx, err);
        } else if (errno != EINTR) {
            rc = fail_dead(helper, err);
        }
    }
    return rc;
}

mercer_status mrc_helper_receive(mrc_helper *helper, mercer_ctx *ctx, void *out, size_t count,
                                 mercer_error *err)
{
    char *to = out;
    mercer_status rc = MERCER_OK;
    while (rc == MERCER_OK && count > 0) {
        ssize_t done = read(helper->answers, to, count);
        if (done > 0) {
            to += done;
            count -= (size_t)done;
        } else if (done < 0 && errno == EAGAIN) {
            rc = await(helper->answers, POLLIN, ctx, err);
        } else if (done == 0 || errno != EINTR) {
            rc = fail_dead(helper, err);
        }
    }
    return rc;
}

bool mrc_helper_is_ours(const mrc_helper *helper)
{
    return helper->pid > 0 && helper->owner == getpid();
}

void mrc_helper_stop(mrc_helper *helper)
{
    int status;
    if (helper->pid == 0)
        return;
    close_fd(&helper->requests);
    close_fd(&helper->answers);
    if (mrc_helper_is_ours(helper)) {
        kill_helper(helper);
        reap(helper, &status);
    }
    close_fd(&helper->pidfd);
    *helper = (mrc_helper){0};
}

void mrc_helper_note_open(const mercer_ctx *ctx, const char *shown)
{
    mrc_notice_at(ctx, MRC_AT(.key = "untrusted", .names_file = 1),
                  "%s: is read in a process of its own, which this kernel cannot confine: it has "
                  "no Landlock or no seccomp",
                  shown);
}
