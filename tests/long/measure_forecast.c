/* SPDX-License-Identifier: BSD-3-Clause */
/* Does a fit take as long, and as much memory, as was forecast?
 *
 *     measure_forecast [-l LABEL] [-t TARGET] [-s SCALE] [-k KERNEL] [-n COMPONENTS] [-S STORE]
 *                      [-M BYTES] [-f FACTOR] DATA METHOD...
 *
 * Prints for each method the forecast and the fit: seconds, their ratio, the store, and memory: the
 * bytes forecast, those that the process took beyond what it had before (Linux), their ratio. Times
 * of a busy machine are what they are: processor seconds stand beside them. Leaves with 1 when a
 * fit of more than a second took FACTOR times longer or shorter (2), or had another store. */
#include <mercer/mercer.h>

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A line of /proc/self/status in bytes; 0: the system has none. */
static double memory_line(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            kilobytes = strtod(line + strlen(name), NULL);
    if (file)
        fclose(file);
    return 1024 * kilobytes;
}

/* From now on VmHWM is the most that was taken since. */
static int forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    int done = file && fputs("5", file) >= 0;
    return (!file || fclose(file) == 0) && done;
}

static int fail(const char *what, const mercer_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    return 2;
}

int main(int argc, char **argv)
{
    mercer_ctx *ctx = NULL;
    mercer_table *table = NULL;
    mercer_error err = {0};
    mercer_read_options reading;
    mercer_fit_options options;
    double factor = 2;
    int64_t budget = 0;
    int letter, status = 0;
    mercer_read_options_init(&reading);
    mercer_fit_options_init(&options);
    while ((letter = getopt(argc, argv, "l:t:s:k:n:S:M:f:")) != -1) {
        if (letter == 'l')
            reading.label = optarg;
        else if (letter == 't')
            reading.target = optarg;
        else if (letter == 's')
            options.scale = optarg;
        else if (letter == 'S')
            options.store = optarg;
        else if (letter == 'M')
            budget = strtoll(optarg, NULL, 10);
        else if (letter == 'k')
            options.kernel = optarg;
        else if (letter == 'n')
            options.components = strtod(optarg, NULL);
        else if (letter == 'f')
            factor = strtod(optarg, NULL);
        else
            return 2;
    }
    if (optind + 1 >= argc || mercer_ctx_new(&ctx, &err) != MERCER_OK)
        return 2;
    if (budget > 0 && mercer_ctx_set_memory(ctx, budget, &err) != MERCER_OK)
        return fail("-M", &err);
    if (mercer_table_read(ctx, argv[optind], &reading, &table, &err) != MERCER_OK)
        return fail(argv[optind], &err);
    const mercer_rows *rows = mercer_table_rows(table);
    const mercer_targets *targets = mercer_table_targets(table);
    for (int i = optind + 1; i < argc; i++) {
        mercer_forecast told = {.struct_size = sizeof told};
        mercer_fit_report report = {.struct_size = sizeof report};
        mercer_model *model = NULL;
        options.method = argv[i];
        double start = wall_seconds();
        if (mercer_fit_forecast(ctx, &options, rows, targets, 0, 0, &told, &err) != MERCER_OK)
            return fail(argv[i], &err);
        malloc_trim(0); /* what is free would be taken again */
        const double before = forget_peak() ? memory_line("VmRSS:") : 0;
        double asked = wall_seconds() - start, spent = processor_seconds();
        if (mercer_fit(ctx, &options, rows, targets, &model, &report, &err) != MERCER_OK)
            return fail(argv[i], &err);
        spent = processor_seconds() - spent;
        const double took = before > 0 ? memory_line("VmHWM:") - before : NAN;
        double ratio = report.seconds / told.seconds;
        int off = report.seconds > 1 && !(ratio < factor && ratio > 1 / factor);
        off = off || (strcmp(told.store, "none") != 0 && strcmp(told.store, report.store) != 0);
        printf("%-28s %8.3f s (%.3g to %.3g), was %8.3f s (cpu %.3f): %5.2f%s; %s %lld, was %s "
               "%lld; %.1f MB, was %.1f: %.3f; asked %.2f s; passes %lld; cheaper %s %.3g\n",
               argv[i], told.seconds, told.seconds_low, told.seconds_high, report.seconds, spent,
               ratio, off ? " OFF" : "", told.store, (long long)told.store_rank, report.store,
               (long long)report.store_rank, (double)told.memory_bytes / 1e6, took / 1e6,
               took / (double)told.memory_bytes, asked, (long long)report.passes, told.cheaper,
               told.cheaper_seconds);
        status |= off;
        mercer_model_free(model);
    }
    mercer_table_free(table);
    mercer_ctx_free(ctx);
    return status;
}
