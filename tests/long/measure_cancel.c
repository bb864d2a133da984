/* SPDX-License-Identifier: BSD-3-Clause */
/* How soon is a poll called, and a cancellation seen?
 *
 *     measure_cancel [-t THREADS] [-c TIMES] [-m FOLDER] [LIMIT [WORD...]]
 *
 * Every method and store, and what is done with models and files, on work of some seconds; or the
 * cases whose name has one of the words. Each is run once with a poll that notes when it was
 * called, then TIMES more (4) with a thread that cancels. Prints in milliseconds the median and the
 * largest time between two polls; the largest processor time of the calling thread between two
 * polls, and between two looks at whether there was a cancellation (both are what a busy machine
 * does not change); and the largest time from cancellation to return. Leaves with 1 when one of the
 * two processor times is above LIMIT seconds (0.5), or a cancellation took twice as long; where it
 * was the looks, the stack at the end of the longest gap goes to standard error (for addr2line).
 * -m leaves the fitted models in FOLDER, so that the bits of two builds can be compared.
 *
 * Looks are seen because the linker puts __wrap_mrc_check_cancel() in the place of the library's
 * own (meson.build). */
#include "base/ctx.h"

#include "views.h"

#include <mercer/mercer.h>

#include <execinfo.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct work;
typedef mercer_status (*work_run)(const struct work *w, mercer_error *err);
struct sample {
    const char *method, *kernel, *store, *head;
    int64_t n, d;
    double components;
    const char *name; /* NULL: the fit itself is measured; else it comes first, and this */
    work_run run;
};

static mercer_status transform(const struct work *w, mercer_error *err);
static mercer_status predict(const struct work *w, mercer_error *err);
static mercer_status invert(const struct work *w, mercer_error *err);
static mercer_status truncate_model(const struct work *w, mercer_error *err);
static mercer_status save(const struct work *w, mercer_error *err);
static mercer_status load(const struct work *w, mercer_error *err);
static mercer_status evaluate(const struct work *w, mercer_error *err);
static mercer_status write_csv(const struct work *w, mercer_error *err);
static mercer_status write_npy(const struct work *w, mercer_error *err);
static mercer_status write_libsvm(const struct work *w, mercer_error *err);
static mercer_status read_csv(const struct work *w, mercer_error *err);
static mercer_status read_npy(const struct work *w, mercer_error *err);
static mercer_status read_libsvm(const struct work *w, mercer_error *err);

static const struct sample samples[] = {
    {"pca", NULL, NULL, NULL, 20000, 700, 50, NULL, NULL},
    {"kpca", "rbf:sigma=3", "dense", NULL, 3000, 10, 900, NULL,
     NULL}, /* LAPACK on the whole matrix */
    {"kpca", "rbf:sigma=3", "dense", NULL, 2500, 10, 1500, NULL, NULL},
    {"kpca", "rbf:sigma=3", "dense", NULL, 9000, 10, 300, NULL, NULL},
    {"kpca", "rbf:sigma=3", "stream", NULL, 6000, 10, 50, NULL, NULL},
    {"kpca", "rbf:sigma=9", "lowrank", NULL, 40000, 5, 100, NULL, NULL},
    {"kpca:groups=4", "rbf:sigma=3", "dense", NULL, 8000, 10, 100, NULL, NULL},
    {"akfa", "rbf:sigma=3", "dense", NULL, 6000, 10, 200, NULL, NULL},
    {"akfa", "rbf:sigma=3", "stream", NULL, 3000, 10, 60, NULL, NULL},
    {"akfa", "rbf:sigma=9", "lowrank", NULL, 30000, 5, 200, NULL, NULL},
    {"ackfa:delta=0.01,relative=off", "rbf:sigma=3", "dense", NULL, 5000, 10, 200, NULL, NULL},
    {"skfa", "rbf:sigma=3", "dense", NULL, 6000, 10, 200, NULL, NULL},
    {"rkpca", "rbf:sigma=3", "dense", NULL, 5000, 10, 150, NULL, NULL},
    {"rkpca", "rbf:sigma=3", "stream", NULL, 3000, 10, 60, NULL, NULL},
    {"greedy", "rbf:sigma=3", "dense", NULL, 5000, 10, 300, NULL, NULL},
    {"nystroem", "rbf:sigma=3", "stream", NULL, 20000, 10, 400, NULL, NULL},
    {"kica", "rbf:sigma=3", "dense", NULL, 3000, 10, 40, NULL, NULL},
    {"pls", NULL, NULL, NULL, 20000, 500, 40, NULL, NULL},
    {"kpls", "rbf:sigma=3", "dense", NULL, 6000, 10, 60, NULL, NULL},
    {"kpls", "rbf:sigma=3", "stream", NULL, 3000, 10, 20, NULL, NULL},
    {"sma", "rbf:sigma=3", "dense", NULL, 5000, 10, 60, NULL, NULL},
    {"smc", "rbf:sigma=3", "dense", NULL, 5000, 10, 60, NULL, NULL},
    {"smc:sparsity=3", "rbf:sigma=3", "dense", NULL, 1000, 10, 6, NULL, NULL},
    {"skpls", "rbf:sigma=3", "dense", NULL, 4000, 10, 40, NULL, NULL},
    {"rkopls", "rbf:sigma=3", "dense", NULL, 8000, 10, 40, NULL, NULL},
    {"cr", "rbf:sigma=3", "dense", NULL, 3000, 10, 20, NULL, NULL},
    {"blf:loss=lad", "rbf:sigma=3", "dense", NULL, 3000, 10, 30, NULL, NULL},
    {"kboost", "rbf:sigma=3", "dense", NULL, 4000, 10, 60, NULL, NULL},
    {"koca", "rbf:sigma=3", "dense", NULL, 1000, 10, 5, NULL, NULL},
    {"ikpca", "rbf:sigma=3", NULL, NULL, 3000, 10, 60, NULL, NULL},
    {"kha", "rbf:sigma=3", NULL, NULL, 3000, 10, 20, NULL, NULL},
    {"nystroem", "rbf:sigma=3", "stream", "ls", 8000, 10, 900, NULL, NULL},
    {"nystroem", "rbf:sigma=3", "stream", "lad", 8000, 10, 100, NULL, NULL},
    {"nystroem", "rbf:sigma=3", "stream", "exp", 8000, 10, 300, NULL, NULL},
    {"nystroem", "rbf:sigma=3", "stream", "log", 8000, 10, 300, NULL, NULL},
    {"nystroem", "rbf:sigma=3", "stream", "knn", 20000, 10, 50, NULL, NULL},
    {"nystroem", "rbf:sigma=3", "stream", "svm", 8000, 10, 50, NULL, NULL},
    {"nystroem", "rbf:sigma=3", "stream", "linsvm", 40000, 10, 100, NULL, NULL},
    {"kpca", "rbf:sigma=3", "dense", NULL, 6000, 10, 400, "transform", transform},
    {"pca", NULL, NULL, NULL, 20000, 700, 300, "transform", transform},
    {"nystroem", "rbf:sigma=3", "stream", "knn", 20000, 10, 50, "predict", predict},
    {"kpls", "rbf:sigma=3", "dense", "svm", 4000, 10, 10, "predict", predict},
    {"kpca", "rbf:sigma=3", "dense", NULL, 3000, 10, 100, "inverse", invert},
    {"kpca", "poly:degree=3,offset=1", "dense", NULL, 1500, 10, 20, "inverse", invert},
    {"pca", NULL, NULL, NULL, 20000, 700, 300, "inverse", invert},
    {"kpca", "rbf:sigma=3", "dense", NULL, 6000, 100, 1000, "truncate", truncate_model},
    {"kpca", "rbf:sigma=3", "dense", NULL, 9000, 1000, 300, "save", save},
    {"kpca", "rbf:sigma=3", "dense", NULL, 9000, 1000, 300, "load", load},
    {"kpca", "rbf:sigma=3", "dense", "ls", 4000, 10, 50, "evaluate", evaluate},
    {"pca", NULL, NULL, "ls", 20000, 200, 50, "evaluate", evaluate},
    {NULL, NULL, NULL, NULL, 60000, 200, 0, "write csv", write_csv},
    {NULL, NULL, NULL, NULL, 60000, 1000, 0, "write npy", write_npy},
    {NULL, NULL, NULL, NULL, 60000, 200, 0, "write libsvm", write_libsvm},
    {NULL, NULL, NULL, NULL, 60000, 200, 0, "read csv", read_csv},
    {NULL, NULL, NULL, NULL, 10, 600000, 0, "read csv", read_csv}, /* long lines */
    {NULL, NULL, NULL, NULL, 60000, 1000, 0, "read npy", read_npy},
    {NULL, NULL, NULL, NULL, 60000, 200, 0, "read libsvm", read_libsvm},
};
enum { SAMPLES = sizeof samples / sizeof *samples, MAX_POLLS = 100000, MAX_FRAMES = 24 };

struct polls {
    double last, last_worked, gaps[MAX_POLLS], most_worked;
    int count;
};

/* Between two looks of the calling thread at whether there was a cancellation. */
static struct {
    bool on;
    pthread_t caller;
    double last, most;
    void *frames[MAX_FRAMES]; /* at the end of the longest gap */
    int frame_count;
} looks;

static int times = 4, threads = 1;
static const char *models_folder;
static char scratch[] = "/tmp/measure_cancel.XXXXXX";

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void look(void)
{
    if (!looks.on || !pthread_equal(looks.caller, pthread_self()))
        return;
    double now = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (now - looks.last > looks.most) {
        looks.most = now - looks.last;
        looks.frame_count = backtrace(looks.frames, MAX_FRAMES);
    }
    looks.last = now;
}

mercer_status __real_mrc_check_cancel(mercer_ctx *ctx, mercer_error *err);
mercer_status __wrap_mrc_check_cancel(mercer_ctx *ctx, mercer_error *err);
mercer_status __wrap_mrc_check_cancel(mercer_ctx *ctx, mercer_error *err)
{
    look();
    return __real_mrc_check_cancel(ctx, err);
}

mercer_status __real_mrc_check_pass(mercer_ctx *ctx, int64_t i, int64_t values, mercer_error *err);
mercer_status __wrap_mrc_check_pass(mercer_ctx *ctx, int64_t i, int64_t values, mercer_error *err);
mercer_status __wrap_mrc_check_pass(mercer_ctx *ctx, int64_t i, int64_t values, mercer_error *err)
{
    look();
    return __real_mrc_check_pass(ctx, i, values, err);
}

bool __real_mrc_is_cancelled(const mercer_ctx *ctx);
bool __wrap_mrc_is_cancelled(const mercer_ctx *ctx);
bool __wrap_mrc_is_cancelled(const mercer_ctx *ctx)
{
    look();
    return __real_mrc_is_cancelled(ctx);
}

static void note(struct polls *p)
{
    double now = seconds(CLOCK_MONOTONIC), worked = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (p->count < MAX_POLLS)
        p->gaps[p->count++] = now - p->last;
    p->most_worked = fmax(p->most_worked, worked - p->last_worked);
    p->last = now;
    p->last_worked = worked;
}

static int poll_noting(void *host)
{
    note(host);
    return 0;
}

struct work {
    mercer_ctx *ctx;
    const struct sample *sample;
    const mercer_rows *rows;
    const mercer_targets *targets;
    mercer_model *model; /* when the fit is not what is measured */
    double *in, *out;    /* features, and room for what comes of them */
};

static const char *file_in_scratch(const char *ending)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/file%s", scratch, ending);
    return path;
}

static mercer_fit_options fit_options(const struct work *w)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = w->sample->method;
    options.kernel = w->sample->kernel;
    options.store = w->sample->store;
    options.head = w->sample->head;
    options.components = w->sample->components;
    return options;
}

static mercer_status fit(const struct work *w, mercer_model **model, mercer_error *err)
{
    mercer_fit_options options = fit_options(w);
    return mercer_fit(w->ctx, &options, w->rows, w->targets, model, NULL, err);
}

static mercer_status transform(const struct work *w, mercer_error *err)
{
    return mercer_model_transform(w->ctx, w->model, w->rows, NULL, w->out, NULL, err);
}

static mercer_status predict(const struct work *w, mercer_error *err)
{
    return mercer_model_predict(w->ctx, w->model, w->rows, 0, w->out, NULL, err);
}

static mercer_status invert(const struct work *w, mercer_error *err)
{
    return mercer_model_inverse(w->ctx, w->model, w->in, w->sample->n, w->out, NULL, err);
}

static mercer_status truncate_model(const struct work *w, mercer_error *err)
{
    mercer_model *shorter = NULL;
    mercer_status rc =
        mercer_model_truncate(w->ctx, w->model, (int64_t)w->sample->components / 2, &shorter, err);
    mercer_model_free(shorter);
    return rc;
}

static mercer_status save(const struct work *w, mercer_error *err)
{
    return mercer_model_save(w->ctx, w->model, file_in_scratch(".mercer"), err);
}

static mercer_status load(const struct work *w, mercer_error *err)
{
    mercer_model *model = NULL;
    mercer_status rc = mercer_model_load(w->ctx, file_in_scratch(".mercer"), &model, err);
    mercer_model_free(model);
    return rc;
}

static mercer_status evaluate(const struct work *w, mercer_error *err)
{
    mercer_fit_options options = fit_options(w);
    mercer_evaluate_options how;
    mercer_evaluation *result = NULL;
    mercer_evaluate_options_init(&how);
    how.fit = &options;
    mercer_status rc = mercer_evaluate(w->ctx, &how, w->rows, w->targets, &result, err);
    mercer_evaluation_free(result);
    return rc;
}

static mercer_status write_table(const struct work *w, const char *path, mercer_error *err)
{
    mercer_writer *writer = NULL;
    mercer_status rc =
        mercer_writer_open(w->ctx, path, NULL, w->sample->d, NULL, NULL, &writer, err);
    if (rc != MERCER_OK)
        return rc;
    rc = mercer_writer_add(w->ctx, writer, w->rows, NULL, err);
    if (rc == MERCER_OK)
        return mercer_writer_finish(w->ctx, writer, err);
    mercer_writer_abort(writer);
    return rc;
}

static mercer_status write_csv(const struct work *w, mercer_error *err)
{
    return write_table(w, file_in_scratch(".csv"), err);
}

static mercer_status write_npy(const struct work *w, mercer_error *err)
{
    return write_table(w, file_in_scratch(".npy"), err);
}

static mercer_status write_libsvm(const struct work *w, mercer_error *err)
{
    return write_table(w, file_in_scratch(".libsvm"), err);
}

static mercer_status read_table(const struct work *w, const char *path, mercer_error *err)
{
    mercer_table *table = NULL;
    mercer_status rc = mercer_table_read(w->ctx, path, NULL, &table, err);
    mercer_table_free(table);
    return rc;
}

static mercer_status read_csv(const struct work *w, mercer_error *err)
{
    return read_table(w, file_in_scratch(".csv"), err);
}

static mercer_status read_npy(const struct work *w, mercer_error *err)
{
    return read_table(w, file_in_scratch(".npy"), err);
}

static mercer_status read_libsvm(const struct work *w, mercer_error *err)
{
    return read_table(w, file_in_scratch(".libsvm"), err);
}

/* What is measured. The caller frees *model, if there is one. */
static mercer_status run_work(const struct work *w, mercer_model **model)
{
    mercer_error err;
    *model = NULL;
    mercer_status rc = w->sample->run ? w->sample->run(w, &err) : fit(w, model, &err);
    if (rc != MERCER_OK && rc != MERCER_ERR_CANCELLED)
        fprintf(stderr, "%s: %s\n", w->sample->name ? w->sample->name : w->sample->method,
                err.text);
    return rc;
}

static void keep_model(const struct work *w, const mercer_model *model)
{
    char path[512];
    if (!model || !models_folder)
        return;
    snprintf(path, sizeof path, "%s/%td.mercer", models_folder, w->sample - samples);
    mercer_model_save(w->ctx, model, path, NULL);
}

/* What has to be there first. */
static mercer_status prepare_work(struct work *w)
{
    work_run run = w->sample->run;
    int64_t n = w->sample->n, l = (int64_t)w->sample->components, d = w->sample->d;
    mercer_status rc = MERCER_OK;
    mercer_error err = {0};
    if (run && run != evaluate && w->sample->method)
        rc = fit(w, &w->model, &err);
    if (rc == MERCER_OK && run == load)
        rc = save(w, &err);
    if (rc == MERCER_OK && run == read_csv)
        rc = write_csv(w, &err);
    if (rc == MERCER_OK && run == read_npy)
        rc = write_npy(w, &err);
    if (rc == MERCER_OK && run == read_libsvm)
        rc = write_libsvm(w, &err);
    if (rc == MERCER_OK && w->model) {
        w->in = calloc((size_t)(n * l), sizeof *w->in);
        w->out = calloc((size_t)(n * (d > l ? d : l)), sizeof *w->out);
        rc = w->in && w->out ? MERCER_OK : MERCER_ERR_MEMORY;
    }
    if (rc == MERCER_OK && run == invert)
        rc = mercer_model_transform(w->ctx, w->model, w->rows, NULL, w->in, NULL, &err);
    if (rc != MERCER_OK)
        fprintf(stderr, "%s: %s\n", w->sample->name ? w->sample->name : w->sample->method,
                err.text);
    return rc;
}

struct canceller {
    mercer_ctx *ctx;
    double after, at;
};

static void *cancel_later(void *arg)
{
    struct canceller *c = arg;
    usleep((useconds_t)(c->after * 1e6));
    c->at = seconds(CLOCK_MONOTONIC);
    mercer_ctx_cancel(c->ctx);
    return NULL;
}

/* Seconds from a cancellation to the return; negative when the work was over before. */
static double time_cancel(const struct work *w, double after)
{
    struct canceller c = {.ctx = w->ctx, .after = after};
    pthread_t thread;
    if (pthread_create(&thread, NULL, cancel_later, &c) != 0)
        return -1;
    mercer_model *model;
    mercer_status rc = run_work(w, &model);
    double end = seconds(CLOCK_MONOTONIC);
    mercer_model_free(model);
    pthread_join(thread, NULL);
    mercer_ctx_resume(w->ctx);
    return rc == MERCER_ERR_CANCELLED ? end - c.at : -1;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void name_sample(const struct sample *sample, char *name, size_t size)
{
    snprintf(name, size, "%s%s%s %s %s", sample->name ? sample->name : "", sample->name ? " " : "",
             sample->method ? sample->method : "", sample->store ? sample->store : "",
             sample->head ? sample->head : "");
}

static int measure(const struct work *w, double limit)
{
    static struct polls polls;
    char name[128];
    memset(&polls, 0, sizeof polls);
    memset(&looks, 0, sizeof looks);
    polls.last = seconds(CLOCK_MONOTONIC);
    polls.last_worked = looks.last = seconds(CLOCK_THREAD_CPUTIME_ID);
    looks.caller = pthread_self();
    looks.on = true;
    double start = polls.last;
    mercer_ctx_set_poll(w->ctx, poll_noting, &polls);
    mercer_model *model;
    mercer_status rc = run_work(w, &model);
    note(&polls);
    look();
    looks.on = false;
    keep_model(w, model);
    mercer_model_free(model);
    mercer_ctx_set_poll(w->ctx, NULL, NULL);
    if (rc != MERCER_OK)
        return 1;
    double took = polls.last - start, slowest = 0;
    for (int i = 0; i < times; i++)
        slowest = fmax(slowest, time_cancel(w, took * (i + 0.5) / times * 0.9));
    qsort(polls.gaps, (size_t)polls.count, sizeof *polls.gaps, by_size);
    int slow = polls.most_worked > limit || looks.most > limit || slowest > 2 * limit;
    name_sample(w->sample, name, sizeof name);
    printf("%-34s %6lld x %-6lld %5g features %6.1f s: polls %4.0f, at most %5.0f (%5.0f at work), "
           "looks %5.0f, cancelled in %5.0f ms%s\n",
           name, (long long)w->sample->n, (long long)w->sample->d, w->sample->components, took,
           1e3 * polls.gaps[polls.count / 2], 1e3 * polls.gaps[polls.count - 1],
           1e3 * polls.most_worked, 1e3 * looks.most, 1e3 * slowest, slow ? "  TOO LATE" : "");
    fflush(stdout);
    if (looks.most > limit)
        backtrace_symbols_fd(looks.frames, looks.frame_count, STDERR_FILENO);
    return slow;
}

static int run(const struct sample *sample, double limit)
{
    static const char *const names[] = {"no", "yes"};
    int64_t n = sample->n, d = sample->d;
    uint64_t state = 88172645463325252u;
    double *x = calloc((size_t)(n * d), sizeof *x);
    int64_t *codes = calloc((size_t)n, sizeof *codes);
    mercer_ctx *ctx = NULL;
    mercer_rows *rows = NULL;
    mercer_targets *targets = NULL;
    int failed = 1;
    for (int64_t i = 0; x && i < n * d; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++) { /* nearly normal */
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            sum += (double)(state >> 11) * 0x1p-53 - 0.5;
        }
        x[i] = sum * 1.7;
    }
    for (int64_t i = 0; x && codes && i < n; i++)
        codes[i] = x[i * d] * x[i * d + 1] > 0.1 * x[i * d + 2];
    if (x && codes && mercer_ctx_new(&ctx, NULL) == MERCER_OK &&
        mercer_ctx_set_threads(ctx, threads, NULL) == MERCER_OK &&
        view_f64(ctx, x, n, d, d, &rows, NULL) == MERCER_OK &&
        mercer_targets_new_classes(codes, n, names, 2, NULL, &targets, NULL) == MERCER_OK) {
        struct work w = {.ctx = ctx, .sample = sample, .rows = rows, .targets = targets};
        failed = prepare_work(&w) != MERCER_OK || measure(&w, limit);
        mercer_model_free(w.model);
        free(w.in);
        free(w.out);
    }
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(codes);
    free(x);
    return failed;
}

static int is_wanted(const struct sample *sample, char **words, int count)
{
    char name[128];
    name_sample(sample, name, sizeof name);
    for (int i = 0; i < count; i++)
        if (strstr(name, words[i]))
            return 1;
    return count <= 0;
}

static void remove_scratch(void)
{
    static const char *const endings[] = {".csv", ".npy", ".libsvm", ".mercer"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        unlink(file_in_scratch(endings[i]));
    rmdir(scratch);
}

int main(int argc, char **argv)
{
    int option, count = 0, failed = 0;
    while ((option = getopt(argc, argv, "t:c:m:")) != -1)
        if (option == 't')
            threads = (int)strtol(optarg, NULL, 10);
        else if (option == 'c')
            times = (int)strtol(optarg, NULL, 10);
        else if (option == 'm')
            models_folder = optarg;
        else
            return 2;
    argv += optind, argc -= optind;
    double limit = argc > 0 ? strtod(argv[0], NULL) : 0.5;
    if (!mkdtemp(scratch))
        return 2;
    for (size_t i = 0; i < SAMPLES; i++)
        if (is_wanted(&samples[i], argv + 1, argc - 1)) {
            count++;
            failed += run(&samples[i], limit);
        }
    remove_scratch();
    printf("%d passed, %d failed\n", count - failed, failed);
    return failed != 0;
}
