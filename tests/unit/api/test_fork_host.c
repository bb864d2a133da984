/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that knows nothing of Mercer runs an OpenMP loop, forks, and its children load the
 * library:
 *
 *     test_fork_host LIBRARY
 *
 * Both children, and a process that has neither run such a loop nor forked (`test_fork_host LIBRARY
 * plain`), must find the same features, and none may hang. */
#include <mercer/mercer.h>

#include <dlfcn.h>
#include <omp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ROWS = 800, COMPONENTS = 5, THREADS = 2 };

struct library {
    mercer_status (*ctx_new)(mercer_ctx **, mercer_error *);
    mercer_status (*set_threads)(mercer_ctx *, int, mercer_error *);
    void (*ctx_free)(mercer_ctx *);
    mercer_status (*rows_view)(mercer_ctx *, const mercer_array *, mercer_rows **, mercer_error *);
    void (*rows_free)(mercer_rows *);
    void (*options_init)(mercer_fit_options *, size_t);
    mercer_status (*fit)(mercer_ctx *, const mercer_fit_options *, const mercer_rows *,
                         const mercer_targets *, mercer_model **, mercer_fit_report *,
                         mercer_error *);
    mercer_status (*transform)(mercer_ctx *, const mercer_model *, const mercer_rows *,
                               const int64_t *, double *, double *, mercer_error *);
    void (*model_free)(mercer_model *);
};

static int load(const char *path, struct library *out)
{
    static const char *const names[] = {
        "mercer_ctx_new",   "mercer_ctx_set_threads", "mercer_ctx_free",
        "mercer_rows_view", "mercer_rows_free",       "mercer_fit_options_init_sized",
        "mercer_fit",       "mercer_model_transform", "mercer_model_free",
    };
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *symbol = dlsym(handle, names[i]);
        if (!symbol)
            return 0;
        memcpy((char *)out + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return 1;
}

/* Write the features to a file descriptor; 0 when all went well. */
static int fit(const char *path, int out)
{
    static double x[ROWS * 2], features[ROWS * COMPONENTS];
    struct library m;
    mercer_ctx *ctx = NULL;
    mercer_rows *rows = NULL;
    mercer_model *model = NULL;
    mercer_fit_options options;
    const mercer_array all = {.struct_size = sizeof all, .data = x, .rank = 2, .shape = {ROWS, 2}};
    alarm(300); /* a hang is a failure */
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = i % 29 + 0.1 * (i % 7);
        x[2 * i + 1] = i % 31 - 0.2 * (i % 5);
    }
    if (!load(path, &m))
        return 2;
    m.options_init(&options, sizeof options);
    options.method = "kpca";
    options.kernel = "rbf:sigma=5";
    options.store = "dense";
    options.components = COMPONENTS;
    int status = m.ctx_new(&ctx, NULL) != MERCER_OK ||
                 m.set_threads(ctx, THREADS, NULL) != MERCER_OK ||
                 m.rows_view(ctx, &all, &rows, NULL) != MERCER_OK ||
                 m.fit(ctx, &options, rows, NULL, &model, NULL, NULL) != MERCER_OK ||
                 m.transform(ctx, model, rows, NULL, features, NULL, NULL) != MERCER_OK ||
                 write(out, features, sizeof features) != (ssize_t)sizeof features;
    m.model_free(model);
    m.rows_free(rows);
    m.ctx_free(ctx);
    return status;
}

static int read_all(int from, double *features)
{
    size_t have = 0, all = ROWS * COMPONENTS * sizeof *features;
    ssize_t count;
    while (have < all && (count = read(from, (char *)features + have, all - have)) > 0)
        have += (size_t)count;
    return have == all;
}

/* The features that a child finds: forked here, or a program started for them. */
static int from_child(char **argv, int plain, double *features)
{
    int ends[2], status = -1, whole;
    pid_t id = -1;
    if (pipe(ends) != 0)
        return 0;
    if (plain) {
        char word[] = "plain", *args[] = {argv[0], argv[1], word, NULL};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        if (posix_spawn(&id, argv[0], &actions, NULL, args, environ) != 0)
            id = -1;
        posix_spawn_file_actions_destroy(&actions);
    } else {
        id = fork();
        if (id == 0) {
            close(ends[0]);
            _exit(fit(argv[1], ends[1]));
        }
    }
    close(ends[1]);
    whole = id > 0 && read_all(ends[0], features);
    close(ends[0]);
    return whole && waitpid(id, &status, 0) == id && status == 0;
}

int main(int argc, char **argv)
{
    static double found[3][ROWS * COMPONENTS];
    int team = 0, failed = 0;
    if (argc == 3)
        return fit(argv[1], STDOUT_FILENO);
    if (argc != 2)
        return 2;
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp atomic
        team++;
    }
    for (int c = 0; c < 3; c++)
        if (!from_child(argv, c == 0, found[c])) {
            fprintf(stderr, "process %d failed\n", c);
            failed++;
        } else if (memcmp(found[c], found[0], sizeof found[0]) != 0) {
            fprintf(stderr, "process %d: other features\n", c);
            failed++;
        }
    printf("%d passed, %d failed, after a team of %d\n", 3 - failed, failed, team);
    return failed != 0 || team != THREADS;
}
