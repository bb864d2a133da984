/* Time mercer_table_read alone: bench_read FILE REPEATS
 *
 * Prints one JSON object: the smallest wall time and the smallest CPU time of the repetitions. */
#include <mercer/mercer.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    mercer_error err = {MERCER_OK, ""};
    mercer_ctx *ctx = NULL;
    double wall = 0, cpu = 0;
    int64_t rows = 0;
    if (argc != 3 || mercer_ctx_new(&ctx, &err) != MERCER_OK) {
        fprintf(stderr, "usage: bench_read FILE REPEATS\n");
        return 2;
    }
    for (long i = 0; i < strtol(argv[2], NULL, 10); i++) {
        mercer_table *table;
        const double start = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (mercer_table_read(ctx, argv[1], NULL, &table, &err) != MERCER_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        const double took = seconds(CLOCK_MONOTONIC) - start;
        const double worked = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
        wall = i == 0 || took < wall ? took : wall;
        cpu = i == 0 || worked < cpu ? worked : cpu;
        rows = mercer_rows_count(mercer_table_rows(table));
        mercer_table_free(table);
    }
    printf("{\"read_s\": %.9g, \"read_cpu_s\": %.9g, \"rows\": %lld}\n", wall, cpu,
           (long long)rows);
    mercer_ctx_free(ctx);
    return 0;
}
