/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files: whole or not at all, modes, links, devices, clear refusals. */
#include "data_support.h"

#include "base/output.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void write_all(const char *path, const char *text)
{
    mrc_output output;
    assert_ok(mrc_output_open(&output, ctx, path, &err));
    assert_ok(mrc_output_write(&output, text, strlen(text), &err));
    assert_ok(mrc_output_finish(&output, &err));
    assert_int_equal(output.fd, -1);
}

static int mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (int)(info.st_mode & 07777);
}

static void refuses(const char *path, mercer_status code, const char *words)
{
    mrc_output output;
    assert_fails(mrc_output_open(&output, ctx, path, &err), code, words);
    assert_int_equal(output.fd, -1);
    mrc_output_abort(&output);
}

static void test_new_file_appears_at_the_end(void **state)
{
    mrc_output output;
    const char *path = in_scratch("new.csv");
    mode_t mask = umask(027);
    (void)state;
    assert_ok(mrc_output_open(&output, ctx, path, &err));
    assert_ok(mrc_output_write(&output, "abc", 3, &err));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(count_scratch(0), 1);
    assert_int_equal(ctx->temporary_live[0], 1);
    assert_non_null(strstr(ctx->temporary[0], "/.new.csv.mercer-"));
    assert_ok(mrc_output_finish(&output, &err));
    umask(mask);
    assert_file_is(path, "abc");
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(count_scratch(0), 1);
    assert_int_equal(ctx->temporary_live[0], 0);
}

static void test_old_file_stays_until_then(void **state)
{
    mrc_output output;
    const char *path = put_text("old", "old");
    (void)state;
    chmod(path, 0606);
    assert_ok(mrc_output_open(&output, ctx, path, &err));
    assert_ok(mrc_output_write(&output, "new", 3, &err));
    assert_file_is(path, "old");
    mrc_output_abort(&output);
    mrc_output_abort(&output);
    assert_file_is(path, "old");
    assert_int_equal(count_scratch(0), 1);
    write_all(path, "new");
    assert_file_is(path, "new");
    assert_int_equal(mode_of(path), 0606);
}

static void test_links_are_followed(void **state)
{
    const char *real = put_text("real", "old"), *link = in_scratch("link"),
               *chain = in_scratch("chain"), *nowhere = in_scratch("nowhere"),
               *self = in_scratch("self");
    struct stat info;
    (void)state;
    assert_int_equal(symlink("real", link), 0);
    assert_int_equal(symlink(link, chain), 0);
    assert_int_equal(symlink("later", nowhere), 0);
    assert_int_equal(symlink("self", self), 0);
    write_all(chain, "new");
    assert_file_is(real, "new");
    assert_int_equal(lstat(chain, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    write_all(nowhere, "made");
    assert_file_is(in_scratch("later"), "made");
    refuses(self, MERCER_ERR_IO, "symbolic links");
}

static void test_relative_name(void **state)
{
    char before[1024];
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(scratch), 0);
    write_all("plain.txt", "x");
    assert_int_equal(chdir(before), 0);
    assert_file_is(in_scratch("plain.txt"), "x");
}

static void test_long_name(void **state)
{
    char name[256];
    (void)state;
    memset(name, 'n', 255);
    name[255] = 0;
    write_all(in_scratch(name), "x");
    assert_file_is(in_scratch(name), "x");
    static char path[2 * MRC_PATH_MAX];
    memset(path, 'n', sizeof path - 1);
    refuses(path, MERCER_ERR_ARGUMENT, "too long");
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("", MERCER_ERR_ARGUMENT, "empty");
    refuses(NULL, MERCER_ERR_ARGUMENT, "empty");
    refuses(in_scratch("none/a.csv"), MERCER_ERR_IO, "/none' does not exist");
    refuses(scratch, MERCER_ERR_IO, "is a folder");
    refuses(in_scratch("a/"), MERCER_ERR_IO, "is a folder");
    put_text("file", "x");
    refuses(in_scratch("file/a.csv"), MERCER_ERR_IO, "is not a folder");
    refuses("/proc/self/status-of-mercer", MERCER_ERR_IO, "status-of-mercer");
    refuses("/dev/fd/987", MERCER_ERR_IO, "/dev/fd/987: cannot write");
    if (geteuid() != 0) {
        chmod(in_scratch("file"), 0444);
        refuses(in_scratch("file"), MERCER_ERR_IO, "not permitted to replace");
        chmod(scratch, 0555);
        refuses(in_scratch("other"), MERCER_ERR_IO, "not permitted to write into the folder");
        chmod(scratch, 0755);
    }
}

static void test_slots_run_out(void **state)
{
    static mrc_output outputs[MRC_TEMPORARIES];
    char name[16];
    (void)state;
    for (int i = 0; i < MRC_TEMPORARIES; i++) {
        snprintf(name, sizeof name, "f%d", i);
        assert_ok(mrc_output_open(&outputs[i], ctx, in_scratch(name), &err));
    }
    refuses(in_scratch("more"), MERCER_ERR_IO, "more than 4 output files");
    assert_int_equal(count_scratch(0), MRC_TEMPORARIES);
    mercer_ctx_discard_temporaries(ctx);
    assert_int_equal(count_scratch(0), 0);
    for (int i = 0; i < MRC_TEMPORARIES; i++)
        mrc_output_abort(&outputs[i]);
    write_all(in_scratch("more"), "x");
}

static void test_disk_full(void **state)
{
    mrc_output output;
    (void)state;
    assert_ok(mrc_output_open(&output, ctx, "/dev/full", &err));
    assert_int_equal(output.slot, -1);
    assert_fails(mrc_output_write(&output, "x", 1, &err), MERCER_ERR_IO,
                 "/dev/full: the disk is full");
    mrc_output_abort(&output);
}

/* A limit on file sizes stands in for a full disk: the old file stays, the temporary goes. */
static void test_write_fails_halfway(void **state)
{
    static char block[1 << 16];
    struct rlimit before, small;
    mrc_output output;
    const char *path = put_text("big", "old");
    (void)state;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 1 << 15;
    signal(SIGXFSZ, SIG_IGN);
    assert_ok(mrc_output_open(&output, ctx, path, &err));
    setrlimit(RLIMIT_FSIZE, &small);
    mercer_status rc = mrc_output_write(&output, block, sizeof block, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_fails(rc, MERCER_ERR_IO, "/big: the file would be larger than the limit");
    assert_non_null(strstr(err.text, "nothing was written"));
    mrc_output_abort(&output);
    assert_file_is(path, "old");
    assert_int_equal(count_scratch(0), 1);
}

/* A child begins to write and is killed, or waits with the temporary in use. */
static pid_t write_in_child(const char *path, bool killed)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        mrc_output output;
        mercer_ctx *own = NULL;
        if (mercer_ctx_new(&own, NULL) != MERCER_OK ||
            mrc_output_open(&output, own, path, NULL) != MERCER_OK ||
            mrc_output_write(&output, "half", 4, NULL) != MERCER_OK)
            _exit(1);
        if (killed)
            raise(SIGKILL);
        if (write(ready[1], "x", 1) == 1)
            pause();
        _exit(0);
    }
    close(ready[1]);
    if (killed)
        assert_int_equal(waitpid(child, NULL, 0), child);
    else
        assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void test_temporaries_of_killed_writers_go(void **state)
{
    const char *path = in_scratch("a.model"), *other = in_scratch("b.model"),
               *link = in_scratch("link");
    (void)state;
    for (int i = 0; i < 3; i++)
        write_in_child(path, true);
    /* The second and third writer have removed what the one before them left. */
    assert_int_equal(count_scratch(0), 1);
    pid_t living = write_in_child(path, false);
    write_in_child(other, true);
    put_text(".a.model.mercer-notes", "mine");
    put_text(".a.model.mercer-lock", "mine");
    put_text(".a.model.mercer-a", "mine"); /* the name of one of ours, and yet the user's */
    put_text("a.model.lock", "mine");
    assert_int_equal(symlink("a.model", link), 0);
    assert_int_equal(count_scratch(0), 7);
    write_all(link, "whole");
    /* What lives, what belongs to another target and what is not ours stay. */
    assert_int_equal(count_scratch(0), 8);
    assert_file_is(path, "whole");
    assert_file_is(in_scratch(".a.model.mercer-notes"), "mine");
    kill(living, SIGKILL);
    assert_int_equal(waitpid(living, NULL, 0), living);
    write_all(path, "again");
    assert_int_equal(count_scratch(0), 7);
    write_all(other, "whole");
    assert_int_equal(count_scratch(0), 7); /* b.model in place of its temporary */
    assert_file_is(in_scratch(".a.model.mercer-a"), "mine");
}

/* Two at once on one target do not get into each other's way, and more than have a counted name do
 * not either. */
static void test_many_writers_of_one_file(void **state)
{
    enum { WRITERS = 20 };
    const char *path = in_scratch("many");
    pid_t children[WRITERS];
    (void)state;
    for (int i = 0; i < WRITERS; i++)
        children[i] = write_in_child(path, false);
    assert_int_equal(count_scratch(0), WRITERS);
    write_all(path, "whole");
    assert_int_equal(count_scratch(0), WRITERS + 1);
    for (int i = 0; i < WRITERS; i++) {
        kill(children[i], SIGKILL);
        assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
    }
    write_all(path, "again");
    assert_file_is(path, "again");
    assert_int_equal(count_scratch(0), 1 + WRITERS - 16);
}

/* Writers that start at the same moment take new temporaries for dead ones now and then. */
static void test_writers_that_start_together(void **state)
{
    enum { WRITERS = 8, TIMES = 200 };
    const char *path = in_scratch("together");
    pid_t children[WRITERS];
    int status;
    (void)state;
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            mercer_ctx *own = NULL;
            mrc_output output;
            bool fine = mercer_ctx_new(&own, NULL) == MERCER_OK;
            for (int t = 0; fine && t < TIMES; t++)
                fine = mrc_output_open(&output, own, path, NULL) == MERCER_OK &&
                       mrc_output_write(&output, "whole", 5, NULL) == MERCER_OK &&
                       mrc_output_finish(&output, NULL) == MERCER_OK;
            _exit(fine ? 0 : 1);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_file_is(path, "whole");
    assert_int_equal(count_scratch(0), 1);
}

static void test_pipes_are_written_through(void **state)
{
    int ends[2];
    char name[32], got[8] = "";
    mrc_output output;
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    write_all(name, "hello");
    assert_int_equal(read(ends[0], got, sizeof got), 5);
    assert_string_equal(got, "hello");
    assert_ok(mrc_output_open(&output, ctx, name, &err));
    close(ends[0]);
    assert_fails(mrc_output_write(&output, "x", 1, &err), MERCER_ERR_IO, "reader of the pipe");
    mrc_output_abort(&output);
    close(ends[1]);
    signal(SIGPIPE, SIG_DFL);
}

static void test_fifo_and_device(void **state)
{
    const char *fifo = in_scratch("fifo");
    char got[8] = "";
    (void)state;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int reader = open(fifo, O_RDONLY | O_NONBLOCK);
    write_all(fifo, "abc");
    assert_int_equal(read(reader, got, sizeof got), 3);
    close(reader);
    struct stat info;
    assert_int_equal(stat(fifo, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    write_all("/dev/null", "abc");
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

/* "-" goes to descriptor 1, which stays open; /dev/stdout appends where the file stands. */
static void test_standard_output(void **state)
{
    const char *path = in_scratch("redirected");
    int saved = dup(1), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)state;
    fflush(stdout);
    dup2(file, 1);
    close(file);
    write_all("-", "one ");
    write_all("/dev/stdout", "two ");
    write_all("-", "three");
    dup2(saved, 1);
    close(saved);
    assert_file_is(path, "one two three");
    assert_int_equal(count_scratch(0), 1);
}

static void test_abort_of_zeroed(void **state)
{
    static mrc_output output;
    (void)state;
    mrc_output_abort(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_new_file_appears_at_the_end),
        TEST(test_old_file_stays_until_then),
        TEST(test_links_are_followed),
        TEST(test_relative_name),
        TEST(test_long_name),
        TEST(test_refusals),
        TEST(test_slots_run_out),
        TEST(test_disk_full),
        TEST(test_write_fails_halfway),
        TEST(test_temporaries_of_killed_writers_go),
        TEST(test_many_writers_of_one_file),
        TEST(test_writers_that_start_together),
        TEST(test_pipes_are_written_through),
        TEST(test_fifo_and_device),
        TEST(test_standard_output),
        TEST(test_abort_of_zeroed),
    };
    return RUN_TESTS(tests);
}
