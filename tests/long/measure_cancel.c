/* How soon is a poll called, and a cancellation seen?
 *
 *     measure_cancel [LIMIT [WORD...]]
 *
 * Every method and store, on work of some seconds, or the cases whose name has one of the words.
 * Each is run once with a poll that notes when it was called, then some times more with a thread
 * that cancels at random moments. Prints per case the median and the largest time between two
 * polls, the largest processor time of the calling thread between two polls (what a busy machine
 * does not change), and the largest time from cancellation to return, all in milliseconds. Leaves
 * with 1 when a gap in processor time is above LIMIT seconds (default 0.5), or a cancellation took
 * twice as long. */
#include <mercer/mercer.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct sample {
    const char *method, *kernel, *store, *head;
    int64_t n, d;
    double components;
};

static const struct sample samples[] = {
    {"pca", NULL, NULL, NULL, 20000, 700, 50},
    {"kpca", "rbf:sigma=3", "dense", NULL, 3000, 10, 900}, /* LAPACK on the whole matrix */
    {"kpca", "rbf:sigma=3", "dense", NULL, 2500, 10, 1500},
    {"kpca", "rbf:sigma=3", "dense", NULL, 9000, 10, 300},
    {"kpca", "rbf:sigma=3", "stream", NULL, 6000, 10, 50},
    {"kpca", "rbf:sigma=9", "lowrank", NULL, 40000, 5, 100},
    {"kpca:groups=4", "rbf:sigma=3", "dense", NULL, 8000, 10, 100},
    {"akfa", "rbf:sigma=3", "dense", NULL, 6000, 10, 200},
    {"akfa", "rbf:sigma=3", "stream", NULL, 3000, 10, 60},
    {"akfa", "rbf:sigma=9", "lowrank", NULL, 30000, 5, 200},
    {"ackfa:delta=0.01", "rbf:sigma=3", "dense", NULL, 5000, 10, 200},
    {"skfa", "rbf:sigma=3", "dense", NULL, 6000, 10, 200},
    {"rkpca", "rbf:sigma=3", "dense", NULL, 5000, 10, 150},
    {"rkpca", "rbf:sigma=3", "stream", NULL, 3000, 10, 60},
    {"greedy", "rbf:sigma=3", "dense", NULL, 5000, 10, 300},
    {"nystroem", "rbf:sigma=3", "stream", NULL, 20000, 10, 400},
    {"kica", "rbf:sigma=3", "dense", NULL, 3000, 10, 40},
    {"pls", NULL, NULL, NULL, 20000, 500, 40},
    {"kpls", "rbf:sigma=3", "dense", NULL, 6000, 10, 60},
    {"kpls", "rbf:sigma=3", "stream", NULL, 3000, 10, 20},
    {"sma", "rbf:sigma=3", "dense", NULL, 5000, 10, 60},
    {"smc", "rbf:sigma=3", "dense", NULL, 5000, 10, 60},
    {"smc:sparsity=3", "rbf:sigma=3", "dense", NULL, 1000, 10, 6},
    {"skpls", "rbf:sigma=3", "dense", NULL, 4000, 10, 40},
    {"rkopls", "rbf:sigma=3", "dense", NULL, 8000, 10, 40},
    {"cr", "rbf:sigma=3", "dense", NULL, 3000, 10, 20},
    {"blf:loss=lad", "rbf:sigma=3", "dense", NULL, 3000, 10, 30},
    {"kboost", "rbf:sigma=3", "dense", NULL, 4000, 10, 60},
    {"koca", "rbf:sigma=3", "dense", NULL, 1000, 10, 5},
    {"ikpca", "rbf:sigma=3", NULL, NULL, 3000, 10, 60},
    {"kha", "rbf:sigma=3", NULL, NULL, 3000, 10, 20},
    {"nystroem", "rbf:sigma=3", "stream", "ls", 8000, 10, 900},
    {"nystroem", "rbf:sigma=3", "stream", "lad", 8000, 10, 100},
    {"nystroem", "rbf:sigma=3", "stream", "exp", 8000, 10, 300},
    {"nystroem", "rbf:sigma=3", "stream", "log", 8000, 10, 300},
    {"nystroem", "rbf:sigma=3", "stream", "knn", 20000, 10, 50},
};
enum { SAMPLES = sizeof samples / sizeof *samples, CANCELLATIONS = 4, MOST_POLLS = 100000 };

struct polls {
    double last, last_worked, gaps[MOST_POLLS], most_worked;
    int count;
};

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void note(struct polls *p)
{
    double now = seconds(CLOCK_MONOTONIC), worked = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (p->count < MOST_POLLS)
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
};

static mercer_status fit(const struct work *w)
{
    mercer_fit_options options;
    mercer_model *model = NULL;
    mercer_error err;
    mercer_fit_options_init(&options);
    options.method = w->sample->method;
    options.kernel = w->sample->kernel;
    options.store = w->sample->store;
    options.head = w->sample->head;
    options.components = w->sample->components;
    mercer_status rc = mercer_fit(w->ctx, &options, w->rows, w->targets, &model, NULL, &err);
    if (rc != MERCER_OK && rc != MERCER_ERR_CANCELLED)
        fprintf(stderr, "%s: %s\n", w->sample->method, err.text);
    mercer_model_free(model);
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

/* Seconds from a cancellation to the return; negative when the fit was over before. */
static double time_cancel(const struct work *w, double after)
{
    struct canceller c = {.ctx = w->ctx, .after = after};
    pthread_t thread;
    if (pthread_create(&thread, NULL, cancel_later, &c) != 0)
        return -1;
    mercer_status rc = fit(w);
    double end = seconds(CLOCK_MONOTONIC);
    pthread_join(thread, NULL);
    mercer_ctx_resume(w->ctx);
    return rc == MERCER_ERR_CANCELLED ? end - c.at : -1;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(const struct work *w, double limit)
{
    static struct polls polls;
    memset(&polls, 0, sizeof polls);
    polls.last = seconds(CLOCK_MONOTONIC);
    polls.last_worked = seconds(CLOCK_THREAD_CPUTIME_ID);
    double start = polls.last;
    mercer_ctx_set_poll(w->ctx, poll_noting, &polls);
    if (fit(w) != MERCER_OK)
        return 1;
    note(&polls);
    mercer_ctx_set_poll(w->ctx, NULL, NULL);
    double took = polls.last - start, slowest = 0;
    for (int i = 0; i < CANCELLATIONS; i++)
        slowest = fmax(slowest, time_cancel(w, took * (i + 0.5) / CANCELLATIONS * 0.9));
    qsort(polls.gaps, (size_t)polls.count, sizeof *polls.gaps, by_size);
    int slow = polls.most_worked > limit || slowest > 2 * limit;
    printf("%-18s %-8s %-5s %6lld rows %5g features %6.1f s: gaps %4.0f, at most %5.0f (%5.0f at "
           "work), cancelled in %5.0f ms%s\n",
           w->sample->method, w->sample->store ? w->sample->store : "",
           w->sample->head ? w->sample->head : "", (long long)w->sample->n, w->sample->components,
           took, 1e3 * polls.gaps[polls.count / 2], 1e3 * polls.gaps[polls.count - 1],
           1e3 * polls.most_worked, 1e3 * slowest, slow ? "  TOO LATE" : "");
    fflush(stdout);
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
        mercer_ctx_set_threads(ctx, 1, NULL) == MERCER_OK &&
        mercer_rows_view(ctx, x, n, d, d, &rows, NULL) == MERCER_OK &&
        mercer_targets_new_classes(codes, n, names, 2, NULL, &targets, NULL) == MERCER_OK) {
        struct work w = {.ctx = ctx, .sample = sample, .rows = rows, .targets = targets};
        failed = measure(&w, limit);
    }
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    free(codes);
    free(x);
    return failed;
}

static int is_wanted(const struct sample *sample, int argc, char **argv)
{
    char name[128];
    snprintf(name, sizeof name, "%s %s %s", sample->method, sample->store ? sample->store : "",
             sample->head ? sample->head : "");
    for (int i = 2; i < argc; i++)
        if (strstr(name, argv[i]))
            return 1;
    return argc <= 2;
}

int main(int argc, char **argv)
{
    double limit = argc > 1 ? strtod(argv[1], NULL) : 0.5;
    int count = 0, failed = 0;
    for (size_t i = 0; i < SAMPLES; i++)
        if (is_wanted(&samples[i], argc, argv)) {
            count++;
            failed += run(&samples[i], limit);
        }
    printf("%d passed, %d failed\n", count - failed, failed);
    return failed != 0;
}
