/* SPDX-License-Identifier: BSD-3-Clause */
/* What a confined process can still do: read its one file, and answer. Each test is a child that
 * seals itself off and tries the rest. A kernel without Landlock or seccomp leaves tests out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "confine.h"
#include "sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], mine[96], other[96];

enum { GOOD = 0, ABSENT = 77 };

/* Run in a child; its status, 0 when all is as expected, else the number of the line that is not.
 */
static void in_child(int (*run)(void))
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(run());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == ABSENT)
        skip();
    if (WEXITSTATUS(status) != GOOD)
        print_error("check %d failed\n", WEXITSTATUS(status));
    assert_int_equal(WEXITSTATUS(status), GOOD);
}

#define EXPECT(number, what)                                                                       \
    do {                                                                                           \
        if (!(what))                                                                               \
            return number;                                                                         \
    } while (0)

/* Fails, with one of two errors. */
static int refuses(long result, int first, int second)
{
    return result < 0 && (errno == first || errno == second);
}

static int files(void)
{
    char byte;
    const int fd = open(mine, O_RDONLY | O_CLOEXEC);
    EXPECT(1, fd >= 0);
    if (!confine_files(fd))
        return ABSENT;
    close(fd);
    const int again = open(mine, O_RDONLY);
    EXPECT(2, again >= 0 && read(again, &byte, 1) == 1 && byte == 'm');
    EXPECT(3, refuses(open(other, O_RDONLY), EACCES, EACCES));
    EXPECT(4, refuses(open("/etc/passwd", O_RDONLY), EACCES, ENOENT));
    EXPECT(5, refuses(open(mine, O_WRONLY), EACCES, EACCES));
    EXPECT(6, refuses(open(mine, O_RDWR), EACCES, EACCES));
    EXPECT(7, refuses(open(folder, O_RDONLY | O_DIRECTORY), EACCES, EACCES));
    EXPECT(8, refuses(unlink(mine), EACCES, EACCES));
    EXPECT(9, refuses(open("/proc/self/maps", O_RDONLY), EACCES, EACCES));
    return GOOD;
}

/* The name leads elsewhere once the file is chosen. */
static int moved(void)
{
    const int fd = open(mine, O_RDONLY | O_CLOEXEC);
    char link[128];
    snprintf(link, sizeof link, "%s/link", folder);
    EXPECT(1, fd >= 0 && symlink(other, link) == 0);
    EXPECT(2, rename(link, mine) == 0);
    if (!confine_files(fd))
        return ABSENT;
    EXPECT(3, refuses(open(mine, O_RDONLY), EACCES, EACCES));
    return GOOD;
}

static int no_file_at_all(void)
{
    if (!confine_files(-1))
        return ABSENT;
    EXPECT(1, refuses(open(mine, O_RDONLY), EACCES, EACCES));
    if (!confine_calls(false))
        return ABSENT;
    EXPECT(2, refuses(open(mine, O_RDONLY), EPERM, EPERM));
    return GOOD;
}

static void *do_nothing(void *unused)
{
    return unused;
}

static int calls(void)
{
    char *const program[] = {mine, NULL};
    struct rlimit limit;
    pthread_t thread;
    char byte;
    const int fd = open(mine, O_RDONLY | O_CLOEXEC);
    EXPECT(1, fd >= 0);
    if (!confine_calls(true))
        return ABSENT;
    EXPECT(2, refuses(socket(AF_INET, SOCK_STREAM, 0), EPERM, EPERM));
    EXPECT(3, refuses(socket(AF_UNIX, SOCK_STREAM, 0), EPERM, EPERM));
    EXPECT(4, refuses(execve("/bin/true", program, NULL), EPERM, EPERM));
    EXPECT(5, refuses(fork(), EPERM, EPERM));
    EXPECT(6, pthread_create(&thread, NULL, do_nothing, NULL) != 0);
    EXPECT(7, refuses(kill(getppid(), 0), EPERM, EPERM));
    EXPECT(8, refuses(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL), EPERM, EPERM));
    EXPECT(9, refuses(open(mine, O_WRONLY), EACCES, EACCES));
    EXPECT(10, refuses(open(mine, O_RDONLY | O_CREAT, 0600), EACCES, EACCES));
    EXPECT(11, refuses(open(mine, O_RDONLY | O_TRUNC), EACCES, EACCES));
    EXPECT(12, refuses(unlink(mine), EPERM, EPERM));
    EXPECT(13, refuses(rename(mine, other), EPERM, EPERM));
    EXPECT(14, refuses(chmod(mine, 0777), EPERM, EPERM));
    EXPECT(15, refuses(prlimit(getppid(), RLIMIT_CPU, NULL, &limit), EACCES, EPERM));
    EXPECT(16, getrlimit(RLIMIT_CPU, &limit) == 0);
    EXPECT(17, read(fd, &byte, 1) == 1 && byte == 'm');
    EXPECT(18, open(mine, O_RDONLY) >= 0);
    void *memory = malloc(1 << 24);
    EXPECT(19, memory != NULL);
    free(memory);
    return GOOD;
}

static void *wait_for_call(void *arg)
{
    const int *ends = arg;
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        return NULL;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd < 0 && errno == EPERM ? arg : NULL;
}

/* Threads that were there before are held, too. */
static int all_threads(void)
{
    int ends[2];
    pthread_t thread;
    void *found = NULL;
    EXPECT(1, pipe(ends) == 0 && pthread_create(&thread, NULL, wait_for_call, ends) == 0);
    if (!confine_calls(true))
        return ABSENT;
    EXPECT(2, write(ends[1], "x", 1) == 1);
    EXPECT(3, pthread_join(thread, &found) == 0 && found);
    return GOOD;
}

static void test_files(void **state)
{
    (void)state;
    in_child(files);
    in_child(no_file_at_all);
}

static void test_moved(void **state)
{
    (void)state;
    in_child(moved);
}

static void test_calls(void **state)
{
    (void)state;
    in_child(calls);
    in_child(all_threads);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/mercer-confine-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(mine, sizeof mine, "%s/mine", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    char *const paths[] = {mine, other};
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(paths[i], "w");
        if (!file || fputs(i ? "other" : "mine", file) < 0 || fclose(file) != 0)
            return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(mine);
    unlink(other);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calls, set_up, tear_down),
    };
#ifdef UNDER_SANITIZER
    (void)tests;
    return 0;
#else
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
