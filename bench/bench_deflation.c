/* SPDX-License-Identifier: BSD-3-Clause */
/* Time AKFA as it was published: the n x n matrix is deflated in place, by BLAS.
 *
 *     bench_deflation DATA rbf|laplacian GAMMA FEATURES THREADS REPEATS
 *
 * A feature costs the squared sums of all rows and one rank-one update of the whole matrix (dger).
 * Prints one JSON object: the smallest time of a feature over the repetitions (mean over the
 * features of one, the matrix being there), and the rows it takes, which must be Mercer's. */
#include "bench.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>

struct problem {
    int64_t n, d;
    double *columns; /* d x n: the inner loops run over rows */
    int absolute;    /* laplacian: sums of |x - y| instead of squares */
    double gamma;
};

static double *array(int64_t count)
{
    double *a = aligned_alloc(64, ((size_t)count * sizeof *a + 63) / 64 * 64);
    if (!a)
        die("bench_deflation", "out of memory");
    return a;
}

static void read_columns(struct problem *p, const mercer_rows *rows)
{
    double *row = array(p->d);
    p->columns = array(p->n * p->d);
    for (int64_t i = 0; i < p->n; i++) {
        mercer_rows_copy(rows, i, 1, row);
        for (int64_t k = 0; k < p->d; k++)
            p->columns[k * p->n + i] = row[k];
    }
    free(row);
}

static void kernel_row(const struct problem *p, int64_t i, double *out)
{
    memset(out, 0, (size_t)p->n * sizeof *out);
    for (int64_t k = 0; k < p->d; k++) {
        const double *column = p->columns + k * p->n;
        double at = column[i];
        for (int64_t j = 0; p->absolute && j < p->n; j++)
            out[j] += fabs(column[j] - at);
        for (int64_t j = 0; !p->absolute && j < p->n; j++)
            out[j] += (column[j] - at) * (column[j] - at);
    }
    for (int64_t j = 0; j < p->n; j++)
        out[j] = exp(-p->gamma * out[j]);
}

/* The centred kernel matrix, all of it. */
static void fill(const struct problem *p, double *gram, double *mean)
{
    int64_t n = p->n;
    double grand = 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        kernel_row(p, i, gram + i * n);
        mean[i] = 0;
        for (int64_t j = 0; j < n; j++)
            mean[i] += gram[i * n + j] / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        grand += mean[i] / (double)n;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            gram[i * n + j] += grand - mean[i] - mean[j];
}

/* One feature: the row of largest score, and what it leaves of the matrix. */
static int64_t take(int64_t n, double *gram, double *score, double *row)
{
    int64_t best = 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double left = gram[i * n + i];
        score[i] = left > 1e-10 ? cblas_ddot((int)n, gram + i * n, 1, gram + i * n, 1) / left : 0;
    }
    for (int64_t i = 1; i < n; i++)
        if (score[i] > score[best])
            best = i;
    double left = gram[best * n + best];
    memcpy(row, gram + best * n, (size_t)n * sizeof *row);
    cblas_dger(CblasRowMajor, (int)n, (int)n, -1 / left, row, 1, row, 1, gram, (int)n);
    return best;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fputs("usage: bench_deflation DATA rbf|laplacian GAMMA FEATURES THREADS REPEATS\n", stderr);
        return 2;
    }
    int threads = (int)strtol(argv[5], NULL, 10);
    mercer_ctx *ctx = open_context(threads);
    mercer_table *data = read_table(ctx, argv[1]);
    const mercer_rows *rows = mercer_table_rows(data);
    struct problem p = {.n = mercer_rows_count(rows),
                        .d = mercer_rows_columns(rows),
                        .absolute = strcmp(argv[2], "laplacian") == 0,
                        .gamma = strtod(argv[3], NULL)};
    long features = strtol(argv[4], NULL, 10), repeats = strtol(argv[6], NULL, 10);
    double *gram = array(p.n * p.n), *score = array(p.n), *row = array(p.n), smallest = 0;
    int64_t *selected = calloc((size_t)features + 1, sizeof *selected);
    omp_set_num_threads(threads);
    read_columns(&p, rows);

    for (long r = 0; selected && r < repeats; r++) {
        fill(&p, gram, score);
        double start = now();
        for (long i = 0; i < features; i++)
            selected[i] = take(p.n, gram, score, row);
        double took = (now() - start) / (double)features;
        smallest = r == 0 || took < smallest ? took : smallest;
    }
    printf("{\"feature_s\": %.9g, ", smallest);
    print_blas();
    print_rows("selected", selected, selected ? features : 0);
    printf("}\n");
    free(selected);
    free(p.columns);
    free(gram);
    free(score);
    free(row);
    mercer_table_free(data);
    mercer_ctx_free(ctx);
    return 0;
}
