/* SPDX-License-Identifier: BSD-3-Clause */
/* Time mercer_fit and mercer_model_transform alone, with the data in memory.
 *
 *     bench_mercer DATA METHOD KERNEL COMPONENTS CENTER STORE THREADS REPEATS
 *                  [MEMORY-BYTES [NEW-DATA]]
 *
 * Prints one JSON object: the smallest wall time of the repetitions and its CPU time, the peak of
 * resident memory over what the process held before the first fit, the mean of the reconstruction
 * errors (repetition i has seed i), the spectrum, points and selected rows of the last model, and
 * what the fit says about its store. CENTER - is the method's own; MEMORY-BYTES 0 leaves the budget
 * at its default. */
#include "bench.h"

#include <stdbool.h>
#include <string.h>

struct timing {
    double wall, cpu; /* seconds, of the repetition with the smallest wall time */
};

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

static void print_report(const mercer_fit_report *report, const mercer_model_info *info)
{
    printf("\"store\": \"%s\", \"reason\": \"%s\", \"solver\": \"%s\", \"store_mb\": %.1f, "
           "\"rank\": %lld, \"passes\": %lld, \"points\": %lld, ",
           report->store, report->store_reason, report->solver, (double)report->store_bytes / 1e6,
           (long long)report->store_rank, (long long)report->passes,
           (long long)info->expansion_points);
    print_rows("selected", info->selected, info->selected_count);
    printf(", \"eig\": [");
    for (int64_t i = 0; info->spectrum && i < info->components; i++)
        printf("%s%.17g", i ? ", " : "", info->spectrum[i]);
    printf("]");
}

/* OPTION=VALUE; false: the word is none. */
static bool set_option(mercer_fit_options *options, char *word)
{
    mercer_error err;
    char *value = strchr(word, '=');
    if (!value)
        return false;
    *value++ = 0;
    if (mercer_fit_options_set(options, word, value, &err) != MERCER_OK)
        die(word, err.text);
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 9) {
        fprintf(stderr, "usage: bench_mercer DATA METHOD KERNEL COMPONENTS CENTER STORE THREADS "
                        "REPEATS [MEMORY-BYTES [NEW-DATA]] [OPTION=VALUE...]\n");
        return 2;
    }
    mercer_error err;
    mercer_fit_options options;
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model *model = NULL;
    mercer_ctx *ctx = open_context((int)strtol(argv[7], NULL, 10));
    int repeats = (int)strtol(argv[8], NULL, 10);
    long long memory = argc > 9 ? strtoll(argv[9], NULL, 10) : 0;

    if (memory > 0 && mercer_ctx_set_memory(ctx, memory, &err) != MERCER_OK)
        die("memory", err.text);
    mercer_fit_options_init(&options);
    options.method = argv[2];
    options.kernel = argv[3];
    options.components = strtod(argv[4], NULL);
    options.center = strcmp(argv[5], "-") == 0 ? NULL : argv[5];
    options.store = argv[6];
    while (argc > 10 && set_option(&options, argv[argc - 1]))
        argc--;
    mercer_table *data = read_table(ctx, argv[1]);
    mercer_table *fresh = argc > 10 ? read_table(ctx, argv[10]) : NULL;

    struct timing fit = {0}, transform = {0};
    double error = 0;
    reset_peak();
    double base = status_mb("VmRSS");
    for (int i = 0; i < repeats; i++) {
        mercer_model_free(model);
        mercer_ctx_set_seed(ctx, (uint64_t)i + 1);
        double wall = now(), cpu = cpu_seconds();
        if (mercer_fit(ctx, &options, mercer_table_rows(data), NULL, &model, &report, &err) !=
            MERCER_OK)
            die("fit", err.text);
        keep_smallest(&fit, now() - wall, cpu_seconds() - cpu, i);
        error += report.reconstruction_error / repeats;
    }
    double peak = status_mb("VmHWM");
    mercer_model_get_info(model, &info);

    int64_t rows = fresh ? mercer_rows_count(mercer_table_rows(fresh)) : 0;
    double *features = calloc((size_t)(rows * info.components) + 1, sizeof *features);
    for (int i = 0; features && fresh && i < repeats; i++) {
        double wall = now(), cpu = cpu_seconds();
        if (mercer_model_transform(ctx, model, mercer_table_rows(fresh), NULL, features, NULL,
                                   &err) != MERCER_OK)
            die("transform", err.text);
        keep_smallest(&transform, now() - wall, cpu_seconds() - cpu, i);
    }

    printf("{\"fit_s\": %.6g, \"fit_cpu_s\": %.6g, ", fit.wall, fit.cpu);
    if (fresh)
        printf("\"transform_s\": %.6g, \"transform_cpu_s\": %.6g, ", transform.wall, transform.cpu);
    print_blas();
    printf("\"base_mb\": %.1f, \"peak_mb\": %.1f, ", base, peak - base);
    print_number("error", error);
    print_report(&report, &info);
    printf("}\n");
    free(features);
    mercer_model_free(model);
    mercer_table_free(fresh);
    mercer_table_free(data);
    mercer_ctx_free(ctx);
    return 0;
}
