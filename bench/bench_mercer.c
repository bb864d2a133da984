/* Time mercer_fit and mercer_model_transform alone, with the data in memory.
 *
 *     bench_mercer DATA KERNEL COMPONENTS STORE THREADS REPEATS [MEMORY-BYTES [NEW-DATA]]
 *
 * Prints one JSON object: the smallest wall time of the repetitions and its CPU time, the peak of
 * resident memory over what the process held before the first fit, the spectrum, and what the fit
 * says about its store. MEMORY-BYTES 0 leaves the budget at its default. */
#include <mercer/mercer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct timing {
    double wall, cpu; /* seconds, of the repetition with the smallest wall time */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void keep_smallest(struct timing *best, double wall, double cpu, int repetition)
{
    if (repetition == 0 || wall < best->wall)
        *best = (struct timing){wall, cpu};
}

/* A line of /proc/self/status in MB: VmRSS is what we hold now, VmHWM the peak. */
static double status_mb(const char *key)
{
    char line[256];
    double kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            kb = strtod(line + strlen(key) + 1, NULL);
    if (file)
        fclose(file);
    return kb / 1024;
}

/* Start a new peak of resident memory, so that reading the data does not count. */
static void reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

static void die(const char *what, const mercer_error *err)
{
    fprintf(stderr, "bench_mercer: %s: %s\n", what, err->text);
    exit(EXIT_FAILURE);
}

static mercer_table *read_table(mercer_ctx *ctx, const char *path)
{
    mercer_error err;
    mercer_table *table = NULL;
    if (mercer_table_read(ctx, path, NULL, &table, &err) != MERCER_OK)
        die(path, &err);
    return table;
}

static void print_report(const mercer_fit_report *report, const mercer_model_info *info)
{
    printf("\"store\": \"%s\", \"reason\": \"%s\", \"solver\": \"%s\", \"store_mb\": %.1f, "
           "\"rank\": %lld, \"passes\": %lld, \"residual\": %.3g, \"error\": %.6g, \"eig\": [",
           report->store, report->store_reason, report->solver, (double)report->store_bytes / 1e6,
           (long long)report->store_rank, (long long)report->passes, report->residual,
           report->reconstruction_error);
    for (int64_t i = 0; i < info->components; i++)
        printf("%s%.17g", i ? ", " : "", info->spectrum[i]);
    printf("]");
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: bench_mercer DATA KERNEL COMPONENTS STORE THREADS REPEATS "
                        "[MEMORY-BYTES [NEW-DATA]]\n");
        return 2;
    }
    mercer_error err;
    mercer_ctx *ctx = NULL;
    mercer_fit_options options;
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model *model = NULL;
    int repeats = (int)strtol(argv[6], NULL, 10);
    long long memory = argc > 7 ? strtoll(argv[7], NULL, 10) : 0;

    if (mercer_ctx_new(&ctx, &err) != MERCER_OK ||
        mercer_ctx_set_threads(ctx, (int)strtol(argv[5], NULL, 10), &err) != MERCER_OK ||
        (memory > 0 && mercer_ctx_set_memory(ctx, memory, &err) != MERCER_OK))
        die("context", &err);
    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = argv[2];
    options.components = strtod(argv[3], NULL);
    options.store = argv[4];
    mercer_table *data = read_table(ctx, argv[1]);
    mercer_table *fresh = argc > 8 ? read_table(ctx, argv[8]) : NULL;

    struct timing fit = {0}, transform = {0};
    reset_peak();
    double base = status_mb("VmRSS");
    for (int i = 0; i < repeats; i++) {
        mercer_model_free(model);
        mercer_ctx_set_seed(ctx, 1);
        double wall = now(), cpu = cpu_seconds();
        if (mercer_fit(ctx, &options, mercer_table_rows(data), NULL, &model, &report, &err) !=
            MERCER_OK)
            die("fit", &err);
        keep_smallest(&fit, now() - wall, cpu_seconds() - cpu, i);
    }
    double peak = status_mb("VmHWM");
    mercer_model_get_info(model, &info);

    int64_t rows = fresh ? mercer_rows_count(mercer_table_rows(fresh)) : 0;
    double *features = calloc((size_t)(rows * info.components) + 1, sizeof *features);
    for (int i = 0; features && fresh && i < repeats; i++) {
        double wall = now(), cpu = cpu_seconds();
        if (mercer_model_transform(ctx, model, mercer_table_rows(fresh), NULL, features, NULL,
                                   &err) != MERCER_OK)
            die("transform", &err);
        keep_smallest(&transform, now() - wall, cpu_seconds() - cpu, i);
    }

    printf("{\"fit_s\": %.6g, \"fit_cpu_s\": %.6g, ", fit.wall, fit.cpu);
    if (fresh)
        printf("\"transform_s\": %.6g, \"transform_cpu_s\": %.6g, ", transform.wall, transform.cpu);
    printf("\"base_mb\": %.1f, \"peak_mb\": %.1f, ", base, peak - base);
    print_report(&report, &info);
    printf("}\n");
    free(features);
    mercer_model_free(model);
    mercer_table_free(fresh);
    mercer_table_free(data);
    mercer_ctx_free(ctx);
    return 0;
}
