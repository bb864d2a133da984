/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program does about its own process: limits that BLAS cannot bear, and the kernels that
 * BLAS took.
 *
 * OpenBLAS takes a buffer of 128 MB of address space for each of its threads before main() runs,
 * and one more for each thread that calls it. Where a limit (ulimit -v, -d) leaves no room it asks
 * again for ever, without a word. So the first is looked at before OpenBLAS is initialised, in the
 * list of functions that run before those of the libraries; the second when a command starts. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ;

static const char kernels_variable[] = "OPENBLAS_CORETYPE";
/* Stands in the surroundings of a program that has started itself again: once is enough. */
static const char again_variable[] = "MERCER_STARTED_AGAIN";

/* True when the kernels are what the user asked for, narrow or not. */
static bool kernels_are_asked_for;

#if defined(MRC_OPENBLAS)

enum { MAX_BLAS_THREADS = 64 }; /* of Debian's build */
#define MEGABYTE ((rlim_t)1 << 20)
#define BLAS_BUFFER (128 * MEGABYTE)
#define THREAD_ROOM (BLAS_BUFFER + 16 * MEGABYTE) /* and its stack */
#define OTHER_ROOM (32 * MEGABYTE)                /* heap of a small command */

/* The functions of the libraries have not run, sanitizers among them, so these may only make plain
 * system calls. */
#define BEFORE_LIBRARIES __attribute__((no_sanitize("address", "undefined", "thread")))

BEFORE_LIBRARIES static rlim_t leading_number(const char *text)
{
    rlim_t number = 0;
    for (; *text >= '0' && *text <= '9' && number < MEGABYTE * MEGABYTE; text++)
        number = 10 * number + (rlim_t)(*text - '0');
    return number;
}

/* Address space in use, in bytes. */
BEFORE_LIBRARIES static rlim_t address_space(void)
{
    char text[32] = "";
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    return got > 0 ? leading_number(text) * (rlim_t)sysconf(_SC_PAGESIZE) : 0;
}

/* The threads OpenBLAS prepares for: one per processor, or fewer when a variable says so. */
BEFORE_LIBRARIES static rlim_t blas_threads(char **surroundings)
{
    static const char *const names[] = {"OPENBLAS_NUM_THREADS=", "OMP_NUM_THREADS="};
    cpu_set_t processors;
    rlim_t threads = MAX_BLAS_THREADS;
    if (sched_getaffinity(0, sizeof processors, &processors) == 0 &&
        (rlim_t)CPU_COUNT(&processors) < threads)
        threads = (rlim_t)CPU_COUNT(&processors);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (char **entry = surroundings; entry && *entry; entry++) {
            size_t k = 0;
            while (names[i][k] && (*entry)[k] == names[i][k])
                k++;
            const rlim_t asked = names[i][k] ? 0 : leading_number(*entry + k);
            if (asked > 0 && asked < threads)
                threads = asked;
        }
    return threads;
}

BEFORE_LIBRARIES static void add_text(char *line, size_t size, const char *text)
{
    size_t end = 0;
    while (line[end])
        end++;
    for (; *text && end + 1 < size; text++)
        line[end++] = *text;
    line[end] = '\0';
}

BEFORE_LIBRARIES static void add_number(char *line, size_t size, rlim_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) && at > 0);
    add_text(line, size, digits + at);
}

/* What must be there under a limit of which so much is taken: what OpenBLAS takes when it is
 * loaded, a buffer of the thread that computes, and one of the thread that LAPACK runs aside on. */
BEFORE_LIBRARIES static void check_limit(__rlimit_resource_t resource, const char *name,
                                         rlim_t taken, rlim_t threads)
{
    struct rlimit limit;
    char line[256] = "";
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    const rlim_t needed = taken + threads * BLAS_BUFFER + 2 * THREAD_ROOM + OTHER_ROOM;
    if (limit.rlim_cur >= needed)
        return;
    add_text(line, sizeof line, "mercer: the limit of ");
    add_text(line, sizeof line, name);
    add_text(line, sizeof line, " is ");
    add_number(line, sizeof line, limit.rlim_cur / MEGABYTE);
    add_text(line, sizeof line, " MB; with BLAS on ");
    add_number(line, sizeof line, threads);
    add_text(line, sizeof line, threads > 1 ? " threads " : " thread ");
    add_number(line, sizeof line, (needed + MEGABYTE - 1) / MEGABYTE);
    add_text(line, sizeof line, " MB are needed; raise it");
    if (threads > 1)
        add_text(line, sizeof line, ", or set OMP_NUM_THREADS=1");
    add_text(line, sizeof line, "\n");
    size_t length = 0;
    while (line[length])
        length++;
    const ssize_t written = write(STDERR_FILENO, line, length);
    (void)written; /* there is nobody else to tell */
    _exit(CLI_FAILED);
}

BEFORE_LIBRARIES static void check_limits(int argc, char **argv, char **surroundings)
{
    const rlim_t threads = blas_threads(surroundings);
    (void)argc;
    (void)argv;
    check_limit(RLIMIT_AS, "address space (ulimit -v)", address_space(), threads);
    check_limit(RLIMIT_DATA, "data (ulimit -d)", 0, threads);
}

__attribute__((section(".preinit_array"),
               used)) static void (*first_of_all)(int, char **, char **) = check_limits;

int cli_threads_that_fit(int threads)
{
    static const __rlimit_resource_t limits[] = {RLIMIT_AS, RLIMIT_DATA};
    const rlim_t used = address_space() + OTHER_ROOM + THREAD_ROOM; /* one for LAPACK aside */
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit limit;
        if (getrlimit(limits[i], &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
            continue;
        const rlim_t fit = limit.rlim_cur > used ? (limit.rlim_cur - used) / THREAD_ROOM : 0;
        threads = fit < 1 ? 1 : fit < (rlim_t)threads ? (int)fit : threads;
    }
    return threads;
}

#else

int cli_threads_that_fit(int threads)
{
    return threads;
}

#endif

void cli_take_wide_kernels(char **argv)
{
    const char *wider = mercer_blas_kernels_wider();
    const char *asked = getenv(kernels_variable);
    const bool again = getenv(again_variable) != NULL;
    unsetenv(again_variable);
    kernels_are_asked_for = asked && *asked && !again;
    /* Without a base the loader itself is the program that was started, and would be again. */
    if (!wider || kernels_are_asked_for || again || getauxval(AT_BASE) == 0)
        return;
    /* Without memory the work would end soon; going on would give other last digits than ever. */
    if (setenv(kernels_variable, wider, 1) != 0 || setenv(again_variable, "1", 1) != 0)
        cli_out_of_memory();
    execve("/proc/self/exe", argv, environ);
    /* Still here: the narrow kernels do the same, only slower. */
    unsetenv(again_variable);
    unsetenv(kernels_variable);
}

void cli_mention_kernels(cli_app *app)
{
    char text[256];
    const char *wider = mercer_blas_kernels_wider();
    if (!wider || kernels_are_asked_for)
        return;
    snprintf(text, sizeof text,
             "BLAS takes its %s kernels (%s), narrower than the processor (%s), and took no others "
             "(OPENBLAS_CORETYPE=%s); a newer OpenBLAS would be faster",
             mercer_blas_kernels(), mercer_blas_kernels_vectors(), mercer_processor_vectors(),
             wider);
    cli_notice(app, text);
}

void cli_print_version(void)
{
    mercer_ctx *ctx = NULL;
    const char *kernels = mercer_blas_kernels(), *vectors = mercer_blas_kernels_vectors();
    printf("mercer %s\nBLAS: ", mercer_version());
    if (*kernels)
        printf("OpenBLAS, %s build, %s kernels", mercer_blas(), kernels);
    else
        printf("%s", mercer_blas());
    if (*vectors)
        printf(" (%s)", vectors);
    vectors = mercer_processor_vectors();
    printf("\nprocessor: %s", *vectors ? vectors : "unknown");
    if (mercer_ctx_new(&ctx, NULL) == MERCER_OK)
        printf(", %d thread%s", mercer_ctx_threads(ctx), mercer_ctx_threads(ctx) == 1 ? "" : "s");
    printf("\n");
    mercer_ctx_free(ctx);
}
