/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that runs for a day: soak ROWS. Two streams learn from rows that drift, blocks of them,
 * and now and then the host does what hosts do with a model: save it to bytes, load, transform and
 * invert, continue a stream from it, fit and evaluate something else, make mistakes, cancel a fit,
 * and end a context. Memory, descriptors and threads must be at the end what they were
 * after the first twentieth. Prints what it measured and closes with "N passed, N failed". */
#include <mercer/mercer.h>

#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 100, COLUMNS = 3, TURN = 20000, MAX_GROWTH = 1 << 20 };
/* The rate that makes ROWS a day's worth in the summary. */
static const double ROWS_PER_SECOND = 100;

static const char *const METHODS[] = {"ikpca:components=5,library=45,forget=0.001",
                                      "kha:components=3,library=60,passes=1"};
enum { STREAMS = sizeof METHODS / sizeof METHODS[0] };

static uint64_t state = 1;

/* Uniform in (0,1): splitmix64. */
static double uniform(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static void stop(const char *what, const mercer_error *err)
{
    fprintf(stderr, "soak: %s: %s\n", what, err->text);
    exit(EXIT_FAILURE);
}

static void must(mercer_status status, const char *what, const mercer_error *err)
{
    if (status != MERCER_OK)
        stop(what, err);
}

/* A noisy ring whose centre wanders. */
static void fill(double *x, int64_t rows, double time)
{
    for (int64_t i = 0; i < rows; i++) {
        double angle = 6.283185307179586 * uniform(), radius = 4 + uniform();
        x[i * COLUMNS] = radius * cos(angle) + sin(time);
        x[i * COLUMNS + 1] = radius * sin(angle);
        x[i * COLUMNS + 2] = uniform();
    }
}

static mercer_rows *view(mercer_ctx *ctx, const double *x, int64_t rows)
{
    mercer_array array = {.struct_size = sizeof array,
                          .data = x,
                          .dtype = MERCER_F64,
                          .rank = 2,
                          .shape = {rows, COLUMNS}};
    mercer_rows *out = NULL;
    mercer_error err;
    must(mercer_rows_view(ctx, &array, &out, &err), "view", &err);
    return out;
}

static int count_entries(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

typedef struct usage {
    size_t heap; /* bytes in use */
    long resident;
    int descriptors, threads;
} usage;

static usage measure(void)
{
    usage now = {.descriptors = count_entries("/proc/self/fd"),
                 .threads = count_entries("/proc/self/task")};
    FILE *status = fopen("/proc/self/statm", "r");
    long size, pages = 0;
    malloc_trim(0);
    struct mallinfo2 info = mallinfo2();
    now.heap = info.uordblks + info.hblkhd;
    if (status && fscanf(status, "%ld %ld", &size, &pages) != 2)
        pages = 0;
    if (status)
        fclose(status);
    now.resident = pages * 4096;
    return now;
}

/* ---- what a host does now and then ---- */

/* Bytes, back, features, rows again. Returns a stream that goes on from the loaded model. */
static mercer_stream *round_trip(mercer_ctx *ctx, const mercer_model *model,
                                 const mercer_rows *rows)
{
    static double features[BLOCK * 16], errors[BLOCK], back[BLOCK * COLUMNS];
    mercer_model *loaded = NULL;
    mercer_stream *next = NULL;
    mercer_error err;
    void *bytes = NULL;
    size_t size;
    must(mercer_model_to_bytes(ctx, model, &bytes, &size, &err), "to bytes", &err);
    must(mercer_model_from_bytes(ctx, bytes, size, &loaded, &err), "from bytes", &err);
    must(mercer_model_transform(ctx, loaded, rows, NULL, features, errors, &err), "transform",
         &err);
    must(mercer_model_inverse(ctx, loaded, features, BLOCK, back, NULL, &err), "inverse", &err);
    must(mercer_stream_continue(ctx, loaded, &next, &err), "continue", &err);
    mercer_model_free(loaded);
    mercer_free(bytes);
    return next;
}

/* Other work of the same process, in a context of its own: a fit with a head, an evaluation, and
 * three calls that fail. */
static void work(const double *x)
{
    static const char *const specs[] = {"kpls:components=3", "krr", "akfa:components=3",
                                        "kpca:components=3"};
    static int turn;
    mercer_ctx *ctx = NULL;
    mercer_fit_options fit;
    mercer_evaluate_options options;
    mercer_targets *targets = NULL;
    mercer_model *model = NULL;
    mercer_evaluation *evaluation = NULL;
    mercer_error err;
    double y[BLOCK];
    must(mercer_ctx_new(&ctx, &err), "context", &err);
    mercer_rows *rows = view(ctx, x, BLOCK);
    for (int64_t i = 0; i < BLOCK; i++)
        y[i] = x[i * COLUMNS] + uniform();
    must(mercer_targets_new_values(y, BLOCK, 1, NULL, &targets, &err), "targets", &err);
    mercer_fit_options_init(&fit);
    fit.method = specs[turn++ % 4];
    fit.head = strcmp(fit.method, "krr") == 0 ? NULL : "ls";
    must(mercer_fit(ctx, &fit, rows, targets, &model, NULL, &err), fit.method, &err);
    mercer_model_free(model);

    mercer_evaluate_options_init(&options);
    options.fit = &fit;
    must(mercer_evaluate(ctx, &options, rows, targets, &evaluation, &err), "evaluate", &err);
    mercer_evaluation_free(evaluation);

    fit.method = "kpca:components=2,compnents=3";
    fit.head = NULL;
    if (mercer_fit(ctx, &fit, rows, NULL, &model, NULL, &err) == MERCER_OK)
        stop("an unknown key was taken", &err);
    if (mercer_model_from_bytes(ctx, x, sizeof y, &model, &err) == MERCER_OK)
        stop("any bytes were taken for a model", &err);
    fit.method = "kpca";
    mercer_ctx_cancel(ctx);
    if (mercer_fit(ctx, &fit, rows, NULL, &model, NULL, &err) != MERCER_ERR_CANCELLED)
        stop("a cancelled fit went on", &err);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
}

int main(int argc, char **argv)
{
    static double x[BLOCK * COLUMNS];
    char *rest = NULL;
    const int64_t total = argc == 2 ? strtoll(argv[1], &rest, 10) : 0, warm = total / 20;
    mercer_stream *streams[STREAMS] = {NULL};
    mercer_ctx *ctx = NULL;
    mercer_error err;
    usage early = {0}, most = {0};
    int failed = 0, turns = 0;
    struct timespec begin, end;
    if (total <= 0 || *rest) {
        fputs("call it as: soak ROWS\n", stderr);
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    must(mercer_ctx_new(&ctx, &err), "context", &err);
    for (int s = 0; s < STREAMS; s++) {
        mercer_fit_options options;
        mercer_fit_options_init(&options);
        options.method = METHODS[s];
        options.kernel = "rbf:sigma=3";
        must(mercer_stream_new(ctx, &options, &streams[s], &err), METHODS[s], &err);
    }
    for (int64_t done = 0; done < total; done += BLOCK) {
        fill(x, BLOCK, (double)done / 1e5);
        mercer_rows *rows = view(ctx, x, BLOCK);
        for (int s = 0; s < STREAMS; s++)
            must(mercer_stream_push(ctx, streams[s], rows, &err), "push", &err);
        if (done % TURN == 0 && done > 0) {
            for (int s = 0; s < STREAMS; s++) {
                const mercer_model *model;
                must(mercer_stream_model(ctx, streams[s], &model, NULL, &err), "model", &err);
                mercer_stream *next = round_trip(ctx, model, rows);
                mercer_stream_free(streams[s]);
                streams[s] = next;
            }
            work(x);
            turns++;
            usage now = measure();
            if (!early.heap && done >= warm)
                early = now;
            if (now.heap > most.heap)
                most.heap = now.heap;
            if (now.resident > most.resident)
                most.resident = now.resident;
        }
        mercer_rows_free(rows);
    }
    usage last = measure();
    clock_gettime(CLOCK_MONOTONIC, &end);
    for (int s = 0; s < STREAMS; s++)
        mercer_stream_free(streams[s]);
    mercer_ctx_free(ctx);
    double seconds = (double)(end.tv_sec - begin.tv_sec);
    printf("%lld rows, those of %.1f hours at %.0f per second, through %d streams in %.0f s; %d "
           "models saved, loaded and continued\n",
           (long long)total, (double)total / ROWS_PER_SECOND / 3600, ROWS_PER_SECOND, (int)STREAMS,
           seconds, turns * STREAMS);
    const struct {
        const char *what;
        double before, after, most, allowed;
    } checks[] = {
        {"heap, bytes", (double)early.heap, (double)last.heap, (double)most.heap, MAX_GROWTH},
        {"resident, bytes", (double)early.resident, (double)last.resident, (double)most.resident,
         4.0 * MAX_GROWTH},
        {"descriptors", early.descriptors, last.descriptors, last.descriptors, 0},
        {"threads", early.threads, last.threads, last.threads, 0},
    };
    const int count = (int)(sizeof checks / sizeof checks[0]);
    for (int i = 0; i < count; i++) {
        int good = early.heap && checks[i].after <= checks[i].before + checks[i].allowed;
        printf("%s %s: %.0f after a twentieth, %.0f at the end, %.0f at most\n",
               good ? "ok" : "FAIL", checks[i].what, checks[i].before, checks[i].after,
               checks[i].most);
        failed += !good;
    }
    printf("%d passed, %d failed\n", count - failed, failed);
    return failed > 0;
}
