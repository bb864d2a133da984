/* SPDX-License-Identifier: BSD-3-Clause */
/* The program: finds the command, reads its options, minds the signals and other ranks. */
#include "cli.h"
#include "process.h"
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {
    &cli_command_fit,     &cli_command_transform, &cli_command_predict, &cli_command_evaluate,
    &cli_command_compare, &cli_command_advise,    &cli_command_plot,    &cli_command_report,
    &cli_command_inverse, &cli_command_update,    &cli_command_info,    &cli_command_truncate,
    &cli_command_scale,   &cli_command_generate,  &cli_command_methods, &cli_command_kernels,
    &cli_command_heads,   &cli_command_demo,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static mercer_ctx *volatile running; /* whose temporary files a signal removes */

const cli_command *cli_command_at(int index)
{
    return index >= 0 && index < COMMANDS ? commands[index] : NULL;
}

void cli_emergency_cleanup(void)
{
    mercer_ctx *ctx = running;
    running = NULL;
    if (ctx)
        mercer_ctx_discard_temporaries(ctx);
    cli_unlock_in_handler();
    cli_progress_clear_in_handler();
}

/* Ends the program at once, so that Ctrl-C works inside LAPACK too. Only async-signal-safe calls.
 */
static void on_signal(int signal_number)
{
    cli_emergency_cleanup();
    if ((signal_number == SIGINT || signal_number == SIGTERM) && !cli_is_silent())
        cli_interrupt_tell();
    if (signal_number == SIGPIPE) {
        /* Whoever read our output has enough: end the way every filter does. */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
        return;
    }
    _exit(128 + signal_number);
}

static void install_signal_handlers(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        /* What the parent has us ignore (nohup, background jobs) stays ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    /* A limit of file size is an error of the write, with a message, as a full disk is. */
    signal(SIGXFSZ, SIG_IGN);
}

/* A closed standard stream must not become the number of a file we open. */
static void mind_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) < 0)
            _exit(CLI_FAILED);
}

static void print_help(void)
{
    const int width = cli_terminal_width();
    printf("usage: mercer COMMAND ...\n\n");
    cli_print_wrapped(stdout,
                      "Mercer turns the rows of a table into a few informative non-linear features "
                      "by kernel methods.",
                      0, width);
    printf("\n");
    cli_table table = {.align = "ll"};
    for (int i = 0; i < COMMANDS; i++) {
        cli_table_cell(&table, "%s", commands[i]->name);
        cli_table_cell(&table, "%s", commands[i]->summary);
    }
    cli_table_print(&table, stdout, 2);
    printf("\n"
           "First steps:\n"
           "  mercer demo                              see it work\n"
           "  mercer fit data.csv -m kpca -o my.model  learn features from your own table\n"
           "  mercer transform my.model data.csv       print them\n"
           "  mercer plot my.model data.csv            look at them\n"
           "\n"
           "'mercer COMMAND --help' explains a command.\n"
           "Exit status: 0 done, 1 the work failed, 2 the call was wrong, 130 interrupted.\n");
}

static void print_help_json(void)
{
    char *text = NULL;
    json_t *all = json_array(), *report = json_object();
    json_t *schema = cli_json_take(mercer_schema_json(&text, NULL), &text);
    for (int i = 0; i < COMMANDS; i++)
        json_array_append_new(all, cli_options_json(commands[i]));
    json_object_set_new(report, "version", cli_json_text(mercer_version()));
    json_object_set_new(report, "commands", all);
    json_object_set(report, "formats", json_object_get(schema, "formats"));
    cli_json_print(stdout, report);
    json_decref(schema);
}

static const cli_command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const cli_command *best = NULL;
    int least = 0;
    char list[256] = "";
    for (int i = 0; i < COMMANDS; i++) {
        const int distance = cli_distance(name, commands[i]->name);
        if (cli_resembles(name, commands[i]->name) && (!best || distance < least)) {
            best = commands[i];
            least = distance;
        }
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", commands[i]->name);
    }
    if (!best && access(name, R_OK) == 0)
        return cli_fail(CLI_WRONG_CALL,
                        "'%s' is a file, not a command; to learn from it: mercer fit %s -m kpca",
                        name, name);
    if (best)
        return cli_fail(CLI_WRONG_CALL, "unknown command '%s'; did you mean '%s'? There are %s",
                        name, best->name, list);
    return cli_fail(CLI_WRONG_CALL, "unknown command '%s'; there are %s", name, list);
}

/* An option where the command should stand. */
static int early_option(const char *word)
{
    static const char *const known[] = {"--help", "--version"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (cli_resembles(word, known[i]))
            return cli_fail(CLI_WRONG_CALL, "unknown option %s; did you mean %s?", word, known[i]);
    return cli_fail(CLI_WRONG_CALL,
                    "unknown option %s before the command; options follow it: mercer COMMAND "
                    "[options] ('mercer --help' lists the commands)",
                    word);
}

static char *join_words(int argc, char **argv)
{
    char *line = NULL;
    FILE *out = cli_text_open(&line);
    fputs("mercer", out);
    for (int i = 1; i < argc; i++) {
        char *word = cli_quote(argv[i]);
        fprintf(out, " %s", word);
        free(word);
    }
    fclose(out);
    return line;
}

/* The threads asked for, or one per processor; fewer where a limit leaves no room for them, since
 * results do not depend on their number. */
static mercer_status set_threads(cli_app *app, mercer_error *err)
{
    const int64_t asked = app->set.threads ? app->set.threads : mercer_ctx_threads(app->ctx);
    const int threads = asked > 1 << 30 ? 1 << 30 : (int)asked;
    const int fit = cli_threads_that_fit(threads);
    char text[128];
    mercer_status rc = mercer_ctx_set_threads(app->ctx, threads, err);
    if (rc != MERCER_OK || fit == threads)
        return rc;
    snprintf(text, sizeof text,
             "the limit of address space (ulimit -v) leaves room for %d thread%s, not %d", fit,
             fit == 1 ? "" : "s", threads);
    cli_notice(app, text);
    return mercer_ctx_set_threads(app->ctx, fit, err);
}

static void close_app(cli_app *app)
{
    mercer_ctx_free(app->ctx);
    for (int64_t i = 0; i < app->notice_count; i++)
        free(app->notices[i]);
    free(app->notices);
    free(app->command_line);
}

/* With the options read and the ranks started. */
static int run_with(cli_app *app, const cli_command *command, int argc, char **argv)
{
    mercer_error err = {0};
    if (app->set.help) {
        cli_options_help(command);
        return CLI_DONE;
    }
    const int status = cli_ranks_check(command, &app->set);
    if (status != CLI_DONE)
        return status;
    mercer_status rc = set_threads(app, &err);
    if (rc == MERCER_OK && app->set.memory)
        rc = mercer_ctx_set_memory(app->ctx, app->set.memory, &err);
    mercer_limits limits;
    const int limited = cli_get_limits(&app->set, &limits);
    if (limited != CLI_DONE)
        return limited;
    if (rc == MERCER_OK)
        rc = mercer_ctx_set_limits(app->ctx, &limits, &err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &err, NULL);
    mercer_ctx_set_seed(app->ctx, app->set.seed);
    mercer_ctx_set_notice(app->ctx, cli_notice_library, app);
    mercer_ctx_set_progress(app->ctx, cli_progress, NULL);
    cli_progress_enable(!app->set.quiet && !cli_is_silent());
    app->command_line = join_words(argc, argv);
    running = app->ctx;
    if (command == &cli_command_fit)
        cli_mention_kernels(app);
    return command->run(app);
}

/* Several ranks start before anything can fail, so that the others hear of one that fails. */
static int run_command(const cli_command *command, int argc, char **argv)
{
    cli_app app = {0};
    mercer_error err = {0};
    cli_fail_for(command);
    int status = cli_ranks_start();
    if (status != CLI_DONE)
        return status;
    mercer_status rc = mercer_ctx_new(&app.ctx, &err);
    if (rc == MERCER_OK)
        rc = cli_ranks_join(&app, &err);
    if (rc == MERCER_OK)
        status = cli_options_parse(command, argc - 2, argv + 2, &app.set);
    else
        status = cli_fail_library(rc, &err, NULL);
    if (status == CLI_DONE)
        status = run_with(&app, command, argc, argv);
    cli_progress_end();
    status = cli_ranks_end(&app, status);
    running = NULL;
    close_app(&app);
    return status;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2)
        return cli_fail(CLI_WRONG_CALL,
                        "no command given; 'mercer demo' shows what it does, 'mercer --help' lists "
                        "the commands");
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
        cli_print_version();
        return CLI_DONE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        if (argc < 3 || name[0] == '-') {
            print_help();
            return CLI_DONE;
        }
        if (strcmp(argv[2], "--json") == 0) {
            print_help_json();
            return CLI_DONE;
        }
        const cli_command *about = find_command(argv[2]);
        if (!about)
            return unknown_command(argv[2]);
        cli_options_help(about);
        return CLI_DONE;
    }
    if (name[0] == '-' && name[1])
        return early_option(name);
    const cli_command *command = find_command(name);
    return command ? run_command(command, argc, argv) : unknown_command(name);
}

int main(int argc, char **argv)
{
    cli_take_wide_kernels(argv);
    mind_streams();
    cli_ranks_look();
    install_signal_handlers();
    (void)atexit(cli_emergency_cleanup); /* libgomp ends the program when it gets no memory */
    cli_mind_memory();
    return cli_finish_stdout(dispatch(argc, argv));
}
