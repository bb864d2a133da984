/* Output files: whole or not at all, modes, links, devices, clear refusals. */
#include "data_support.h"

#include "base/output.h"

#include <signal.h>
#include <sys/resource.h>

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
    assert_fails(rc, MERCER_ERR_IO, "/big: cannot write");
    mrc_output_abort(&output);
    assert_file_is(path, "old");
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
        TEST(test_pipes_are_written_through),
        TEST(test_fifo_and_device),
        TEST(test_standard_output),
        TEST(test_abort_of_zeroed),
    };
    return RUN_TESTS(tests);
}
