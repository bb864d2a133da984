/* SPDX-License-Identifier: BSD-3-Clause */
/* What the helper programs share. */
#include "serve.h"

#include "confine.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sanitizers reserve far more addresses than they use. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { MOST_FILES = 32 }; /* open at once, where strangers say which */

static int answers = STDOUT_FILENO;

/* Nobody reads our answers any more: the host has ended, and the work with it. */
static void *watch(void *unused)
{
    struct pollfd ended = {.fd = answers};
    (void)unused;
    while (poll(&ended, 1, -1) <= 0 || !(ended.revents & POLLERR))
        ;
    _exit(0);
    return NULL;
}

bool serve_watch(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, watch, NULL) == 0 && pthread_detach(thread) == 0;
}

/* Lower a limit; the hard one stays, so that it can be moved later. */
static void limit(__rlimit_resource_t resource, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) == 0) {
        now.rlim_cur = most < now.rlim_max ? most : now.rlim_max;
        (void)setrlimit(resource, &now); /* never above the hard limit, so it is granted */
    }
}

bool serve_confine(void)
{
    (void)close_range(STDERR_FILENO + 1, ~0U, 0); /* an old kernel: what the host left open */
    answers = dup(STDOUT_FILENO); /* libraries that print must not print among the answers */
    if (answers < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return false;
    signal(SIGXFSZ, SIG_IGN); /* writing fails instead */
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    prctl(PR_SET_DUMPABLE, 0); /* programs that gather core files do not ask for the limit */
    return true;
}

/* As far as it was lowered, a limit cannot be raised again. */
static void fix_limit(__rlimit_resource_t resource, rlim_t most)
{
    struct rlimit now;
    limit(resource, most);
    if (getrlimit(resource, &now) == 0) {
        now.rlim_max = now.rlim_cur;
        (void)setrlimit(resource, &now);
    }
}

bool serve_seal(int file, int64_t seconds, bool *complete)
{
    struct rlimit now;
    fix_limit(RLIMIT_CORE, 0);
    fix_limit(RLIMIT_FSIZE, 0);
    fix_limit(RLIMIT_NOFILE, MOST_FILES);
    if (getrlimit(RLIMIT_AS, &now) == 0)
        fix_limit(RLIMIT_AS, now.rlim_cur);
    if (seconds > 0 && getrlimit(RLIMIT_CPU, &now) == 0) {
        /* What was allowed so far may be moved up to here. */
        now.rlim_max = (rlim_t)seconds < now.rlim_max ? (rlim_t)seconds : now.rlim_max;
        now.rlim_cur = now.rlim_cur < now.rlim_max ? now.rlim_cur : now.rlim_max;
        (void)setrlimit(RLIMIT_CPU, &now);
    }
    if (SANITIZED) { /* which look into /proc, and into their own process from another one */
        *complete = true;
        return serve_watch();
    }
    const bool files = confine_files(file);
    if (!serve_watch()) /* a thread of later on has what was set before */
        return false;
    const bool calls = confine_calls(file >= 0);
    *complete = files && calls;
    return true;
}

/* Bytes of addresses in use. */
static int64_t addresses(void)
{
    long long pages = 0;
    char text[64];
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fgets(text, sizeof text, file))
            pages = strtoll(text, NULL, 10);
        fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE);
}

void serve_limit(int64_t bytes, int64_t seconds)
{
    int64_t used = SANITIZED ? 0 : addresses(), most;
    if (used > 0 && !__builtin_add_overflow(used, bytes, &most))
        limit(RLIMIT_AS, (rlim_t)most);
    if (seconds > 0)
        limit(RLIMIT_CPU, (rlim_t)seconds);
}

void serve_more_time(int64_t seconds)
{
    struct rlimit now;
    if (getrlimit(RLIMIT_CPU, &now) == 0 && now.rlim_cur != RLIM_INFINITY)
        limit(RLIMIT_CPU, now.rlim_cur + (rlim_t)seconds);
}

bool serve_receive(void *out, size_t count)
{
    char *to = out;
    while (count > 0) {
        ssize_t done = read(STDIN_FILENO, to, count);
        if (done == 0 || (done < 0 && errno != EINTR))
            return false;
        if (done > 0) {
            to += done;
            count -= (size_t)done;
        }
    }
    return true;
}

bool serve_send(const void *bytes, size_t count)
{
    const char *from = bytes;
    while (count > 0) {
        ssize_t done = write(answers, from, count);
        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            from += done;
            count -= (size_t)done;
        }
    }
    return true;
}
