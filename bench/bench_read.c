/* SPDX-License-Identifier: BSD-3-Clause */
/* Time mercer_table_read alone: bench_read FILE REPEATS
 *
 * Prints one JSON object: the smallest wall time and the smallest CPU time of the repetitions. */
#include "bench.h"

int main(int argc, char **argv)
{
    double wall = 0, cpu = 0;
    int64_t rows = 0;
    if (argc != 3) {
        fputs("usage: bench_read FILE REPEATS\n", stderr);
        return 2;
    }
    mercer_ctx *ctx = open_context(0);
    for (long i = 0; i < strtol(argv[2], NULL, 10); i++) {
        const double start = now(), used = cpu_seconds();
        mercer_table *table = read_table(ctx, argv[1]);
        const double took = now() - start, worked = cpu_seconds() - used;
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
