/* SPDX-License-Identifier: BSD-3-Clause */
/* Standard input of several ranks.
 *
 * The launcher gives it to rank 0 alone, as a pipe. Rank 0 reads it to its end and sends it to all
 * ranks. Each puts it into a temporary file that has no name any more, and has that file for its
 * standard input from then on: whoever reads "-" reads a plain file, once or twice, from wherever
 * its own rows begin. It is done when a command has nothing left to refuse without the bytes, and
 * before its first read. Pipes with names (of mkfifo, or of the shell's <(...)) are refused: which
 * of the ranks would get their bytes is a matter of chance. So are other names of standard input.
 *
 * A launcher that is interrupted closes the pipe before it ends the ranks: mpirun of Open MPI does
 * so a second earlier, and has them continue (SIGCONT) meanwhile. What came up to then must not be
 * taken for all rows, and the model of them written over another one. So rank 0, which alone
 * writes, waits a moment at the end, and where such a signal came until it is ended. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    INPUTS = 9,
    SIGNAL_MS = 200, /* until a launcher that has closed the pipe sends its first signal */
    END_MS = 5000    /* and its last one; who has stopped the job and gone on waits for it, too */
};

static volatile sig_atomic_t continued;

static pid_t launched_by;

static void on_continue(int number)
{
    continued = number;
}

void cli_spool_watch(void)
{
    const struct sigaction action = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
    sigaction(SIGCONT, &action, NULL);
    launched_by = getppid();
}

static void list_inputs(const cli_settings *set, const char *out[INPUTS])
{
    const char *const inputs[INPUTS] = {set->operands > 0 ? set->operand[0] : NULL,
                                        set->operands > 1 ? set->operand[1] : NULL,
                                        set->test,
                                        set->labels,
                                        set->test_labels,
                                        set->split,
                                        set->self,
                                        set->landmarks,
                                        set->validation};
    memcpy(out, inputs, sizeof inputs);
}

static bool is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

int cli_spool_check(const cli_settings *set, int ranks)
{
    const char *inputs[INPUTS];
    list_inputs(set, inputs);
    for (int i = 0; i < INPUTS; i++)
        if (inputs[i] && cli_is_live(inputs[i]) && !is_stdin(inputs[i]))
            return cli_fail(CLI_WRONG_CALL,
                            "%s: cannot be read by %d ranks, of which one would get the rows; give "
                            "a file that all of them can read, or standard input ('-')",
                            inputs[i], ranks);
    return CLI_DONE;
}

/* A new file without a name; its folder, for messages, in *where, owned by the caller. */
static int open_spool(char **where)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    *where = cli_format("temporary file in %s (TMPDIR)", folder);
    char *path = cli_format("%s/mercer-XXXXXX", folder);
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    else
        cli_fail(CLI_FAILED, "%s: cannot be made: %s", *where, strerror(errno));
    free(path);
    return fd;
}

/* Wait where the end of the bytes may be that of the launcher, whose signal then ends us. Returns 0
 * or a status after one line. */
static int await_launcher(void)
{
    const struct timespec step = {.tv_nsec = 10 * 1000 * 1000};
    for (int ms = 0; ms < (continued ? END_MS : SIGNAL_MS); ms += 10)
        nanosleep(&step, NULL);
    if (getppid() != launched_by)
        return cli_fail(CLI_FAILED, "standard input: the launcher has ended, perhaps before its "
                                    "last bytes");
    return CLI_DONE;
}

/* The bytes of rank 0, as standard input of this rank. */
static int spool(cli_app *app)
{
    const bool reads = mercer_ctx_rank(app->ctx) == 0;
    mercer_error err = {0};
    char *where;
    int from = -1, fd = open_spool(&where), status = CLI_FAILED;
    if (fd < 0)
        goto out;
    if (reads)
        from = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    /* A launcher that sends all ranks the same bytes does not wait for those that have closed it.
     */
    dup2(fd, STDIN_FILENO);
    close(fd);
    const mercer_status rc =
        mercer_ctx_copy_input(app->ctx, from, "standard input", STDIN_FILENO, where, &err);
    if (from >= 0)
        close(from);
    status = rc != MERCER_OK ? cli_fail_library(rc, &err, NULL)
             : reads         ? await_launcher()
                             : CLI_DONE;
    lseek(STDIN_FILENO, 0, SEEK_SET);
out:
    free(where);
    return status;
}

int cli_spool(cli_app *app)
{
    mercer_error err = {0};
    const char *inputs[INPUTS];
    int count = 0;
    unsigned mine = 0, first; /* a bit for each input */
    if (mercer_ctx_ranks(app->ctx) == 1)
        return CLI_DONE;
    list_inputs(&app->set, inputs);
    for (unsigned i = 0; i < INPUTS; i++)
        if (inputs[i] && is_stdin(inputs[i])) {
            mine |= 1U << i;
            count++;
        }
    first = mine;
    const mercer_status rc = mercer_ctx_broadcast(app->ctx, &first, sizeof first, 0, &err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &err, NULL);
    if (mine != first)
        return cli_fail(CLI_WRONG_CALL, "what is read from standard input is not what rank 0 reads "
                                        "from there; give all ranks the same command");
    if (count > 1)
        return cli_fail(CLI_WRONG_CALL, "standard input is named %d times, but its bytes come once",
                        count);
    return mine ? spool(app) : CLI_DONE;
}
