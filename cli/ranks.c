/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks: which launcher started us, its MPI, and what becomes of threads, memory and errors.
 *
 * The program is not linked with any MPI. What is left in the environment by a launcher says that
 * there are several copies and which MPI made them; the module for that MPI is loaded then, from
 * beside the program (a build folder) or from <libdir>/mercer. Rank 0 alone prints and writes. Its
 * exit status is that of the whole, so the others end with 0 once they have met it.
 *
 * A launcher that knows nothing of our MPI starts copies that each believe to be alone, which would
 * all do the same and race for the outputs. So the number of copies that a launcher tells must be
 * the one that MPI tells. SLURM_NTASKS is not looked at: a batch script that starts one mercer has
 * it, too. */
#include "ranks.h"

#include "mpi/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct launcher {
    const char *count, *rank; /* variables; count may be NULL: not told */
    const char *module;       /* for its MPI; */
    const char *other;        /* or this one, where that is not there; or NULL */
    const char *name, *advice;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "openmpi", NULL, "Open MPI",
     "the mpirun of Open MPI"},
    {"PMI_SIZE", "PMI_RANK", "mpich", NULL, "MPICH", "the mpirun of MPICH"},
    {NULL, "PMIX_RANK", "openmpi", "mpich", "PMIx", "srun --mpi=pmix"},
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

static const char slurm_count[] = "SLURM_STEP_NUM_TASKS", slurm_rank[] = "SLURM_PROCID";

static mpi_world world = {.comm = {.size = 1}};
static mpi_end_fn *end_mpi; /* NULL: MPI does not run */

/* The number in a variable; -1: there is none. */
static long number_in(const char *variable)
{
    const char *text = variable ? getenv(variable) : NULL;
    char *end = NULL;
    const long value = text ? strtol(text, &end, 10) : -1;
    return text && *text && !*end && value >= 0 ? value : -1;
}

static const struct launcher *find_launcher(void)
{
    for (int i = 0; i < LAUNCHERS; i++)
        if (number_in(launchers[i].rank) >= 0 || number_in(launchers[i].count) >= 0)
            return &launchers[i];
    return NULL;
}

/* Copies that were started together, as far as is told; -1: not known. */
static long copies_of(const struct launcher *launcher)
{
    const long told = launcher ? number_in(launcher->count) : -1;
    return told > 0 ? told : number_in(slurm_count);
}

/* Which of them this one is. */
static long copy_of(const struct launcher *launcher)
{
    const long told = launcher ? number_in(launcher->rank) : -1;
    return told >= 0 ? told : number_in(slurm_rank);
}

static void be_silent(void)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    cli_fail_silently();
    if (nowhere < 0)
        return; /* then there is more to read */
    (void)dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
}

void cli_ranks_look(void)
{
    const struct launcher *launcher = find_launcher();
    if (copies_of(launcher) != 1 && copy_of(launcher) > 0 &&
        (launcher || number_in(slurm_count) > 1))
        be_silent();
}

/* ---- the module ---- */

/* The file of a module: FOLDER/mpi-NAME.so, of the folder seen from the program's own. */
static void *load_from(const char *folder, const char *name, char **why)
{
    char *path = cli_format("%s/mpi-%s.so", folder, name);
    /* Open MPI loads parts of its own that look for its names. */
    void *module = access(path, F_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!module && access(path, F_OK) == 0) {
        free(*why);
        *why = cli_copy(dlerror());
    }
    free(path);
    return module;
}

/* *why: what is wrong with one that is there; owned by the caller. */
static void *load(const char *name, char **why)
{
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    void *module = NULL;
    if (!name)
        return NULL;
    if (length > 0) {
        own[length] = 0;
        *strrchr(own, '/') = 0;
        char *moved = cli_format("%s/%s", own, MRC_MODULE_RELATIVE);
        module = load_from(own, name, why);
        if (!module)
            module = load_from(moved, name, why);
        free(moved);
    }
    return module ? module : load_from(MRC_MODULE_FOLDER, name, why);
}

/* dlsym() gives functions as data. */
static void find(void *module, const char *name, void *function, size_t size)
{
    void *address = dlsym(module, name);
    memcpy(function, &address, size);
}

static int start_mpi(const struct launcher *launcher)
{
    char *why = NULL;
    mpi_start_fn *start = NULL;
    mpi_end_fn *end = NULL;
    mercer_error err = {0};
    void *module = load(launcher->module, &why);
    if (!module)
        module = load(launcher->other, &why);
    if (module) {
        find(module, MPI_START_NAME, &start, sizeof start);
        find(module, MPI_END_NAME, &end, sizeof end);
    }
    if (!start || !end)
        cli_fail(CLI_FAILED,
                 "started by %s as one of several ranks, but there is no module for it "
                 "(mpi-%s.so%s%s): build Mercer where this MPI is installed, or start one copy "
                 "without a launcher",
                 launcher->name, launcher->module, why ? ": " : "", why ? why : "");
    free(why);
    if (!start || !end)
        return CLI_FAILED;
    cli_spool_watch();
    const mercer_status rc = start(&world, &err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &err, NULL);
    end_mpi = end;
    return CLI_DONE;
}

static void stop_mpi(void)
{
    mpi_end_fn *end = end_mpi;
    end_mpi = NULL;
    if (end)
        end();
}

/* ---- what can be spread ---- */

int cli_ranks_check(const cli_command *command, const cli_settings *set)
{
    if (world.comm.size == 1)
        return CLI_DONE;
    if (!command->is_spread || !command->is_spread(set))
        return cli_fail(CLI_WRONG_CALL,
                        "%s: cannot be spread over %d ranks yet; run it on one, without the "
                        "launcher (evaluate, compare, fit, transform and predict can be spread)",
                        command->name, world.comm.size);
    return cli_spool_check(set, world.comm.size);
}

int cli_ranks_start(void)
{
    const struct launcher *launcher = find_launcher();
    const long copies = copies_of(launcher);
    if (copies == 1 || (!launcher && copies < 0))
        return CLI_DONE;
    int status = launcher ? start_mpi(launcher) : CLI_DONE;
    if (status == CLI_DONE && copies > 1 && copies != world.comm.size)
        status =
            cli_fail(CLI_WRONG_CALL, "%ld copies were started that do not know each other: use %s",
                     copies, launcher ? launcher->advice : "srun --mpi=pmix");
    if (status == CLI_DONE && world.comm.rank > 0)
        be_silent();
    if (world.comm.size > 1)
        setenv("NO_COLOR", "1", 0); /* Open MPI shows us a terminal even where a file is written */
    if (status != CLI_DONE)
        stop_mpi();
    return status;
}

/* ---- the command ---- */

/* Digits depend on the kernels that BLAS takes for a processor. */
static mercer_status compare_kernels(cli_app *app, mercer_error *err)
{
    char mine[128], first[sizeof mine];
    snprintf(mine, sizeof mine, "%s %s %s", mercer_version(), mercer_blas_kernels(),
             mercer_processor_vectors());
    memcpy(first, mine, sizeof first);
    first[sizeof first - 1] = 0;
    mercer_status rc = world.comm.broadcast(world.comm.host, first, sizeof first, 0, err);
    double others = strcmp(mine, first) != 0;
    if (rc == MERCER_OK)
        rc = world.comm.sum(world.comm.host, &others, 1, err);
    if (rc == MERCER_OK && others > 0)
        cli_notice(app, "ranks run on processors of different kinds: results are right, but their "
                        "last digits belong to this mixture");
    return rc;
}

mercer_status cli_ranks_join(cli_app *app, mercer_error *err)
{
    enum { MIN_MEMORY = 1 << 20 };
    if (world.comm.size == 1)
        return MERCER_OK;
    const int threads = mercer_ctx_threads(app->ctx) / world.sharing;
    const int64_t memory = mercer_ctx_memory(app->ctx) / world.node_ranks;
    mercer_status rc = mercer_ctx_set_comm(app->ctx, &world.comm, err);
    if (rc == MERCER_OK)
        rc = mercer_ctx_set_threads(app->ctx, threads > 1 ? threads : 1, err);
    if (rc == MERCER_OK)
        rc = mercer_ctx_set_memory(app->ctx, memory > MIN_MEMORY ? memory : MIN_MEMORY, err);
    return rc == MERCER_OK ? compare_kernels(app, err) : rc;
}

int cli_ranks_end(cli_app *app, int status)
{
    if (world.comm.size == 1) {
        stop_mpi();
        return status;
    }
    if (!app->ctx)
        exit(status); /* nothing can be exchanged: without an end of MPI the launcher ends all */
    mercer_error err = {0};
    mercer_status rc = status == CLI_DONE          ? MERCER_OK
                       : status == CLI_INTERRUPTED ? MERCER_ERR_CANCELLED
                       : status == CLI_WRONG_CALL  ? MERCER_ERR_ARGUMENT
                                                   : MERCER_ERR_DATA;
    if (rc != MERCER_OK)
        cli_error(&err, rc, "%s", cli_fail_text());
    rc = mercer_ctx_agree(app->ctx, rc, &err);
    if (status == CLI_DONE && rc != MERCER_OK)
        status = cli_fail_library(rc, &err, NULL);
    status = cli_finish_stdout(status); /* all is said before a launcher sees the first end */
    stop_mpi();
    return world.comm.rank == 0 ? status : CLI_DONE;
}

void cli_print_ranks(FILE *out, const cli_app *app)
{
    cli_print_ranks_sent(out, app, mercer_ctx_sent(app->ctx));
}

void cli_print_ranks_sent(FILE *out, const cli_app *app, int64_t sent)
{
    const int ranks = mercer_ctx_ranks(app->ctx), threads = mercer_ctx_threads(app->ctx);
    if (ranks > 1)
        fprintf(out, "\n%d ranks x %d thread%s, %s sent per rank\n", ranks, threads,
                threads == 1 ? "" : "s", cli_text_bytes((double)sent).text);
}
