/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine can do, to compute the floors of the benchmark from.
 *
 *     bench_limits THREADS [quick]
 *
 * Prints one JSON object: reading memory (GB/s), dgemm and dsymv (GFLOP/s) and a vectorised exp on
 * data in the cache (millions a second). Each is the best of a few repetitions. */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WIDEST __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define WIDEST
#endif

enum { REPEATS = 3, IN_CACHE = 4096 };

static double *array(size_t count, double value)
{
    double *a = aligned_alloc(64, count * sizeof *a);
    if (!a) {
        fputs("bench_limits: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        a[i] = value + 1e-9 * (double)(i % 1000);
    return a;
}

WIDEST static double sum(const double *a, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += a[i];
    return total;
}

WIDEST static void exponentials(const double *a, double *out, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = exp(a[i]);
}

static double best(double a, double b)
{
    return a > b ? a : b;
}

static double read_rate(size_t count, double *sink)
{
    double *a = array(count, 1), rate = 0;
    int parts = omp_get_max_threads();
    for (int r = 0; r < REPEATS; r++) {
        double start = omp_get_wtime(), total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
        for (int p = 0; p < parts; p++)
            total += sum(a + count / (size_t)parts * (size_t)p, count / (size_t)parts);
        rate = best(rate, 8e-9 * (double)count / (omp_get_wtime() - start));
        *sink += total;
    }
    free(a);
    return rate;
}

static double exp_rate(int rounds, double *sink)
{
    double rate = 0;
    for (int r = 0; r < REPEATS; r++) {
        double start = omp_get_wtime(), total = 0;
#pragma omp parallel reduction(+ : total)
        {
            double in[IN_CACHE], out[IN_CACHE];
            for (int i = 0; i < IN_CACHE; i++)
                in[i] = -1e-3 * (double)i;
            for (int round = 0; round < rounds; round++) {
                in[round % IN_CACHE] -= 1e-9; /* so that no round can be left out */
                exponentials(in, out, IN_CACHE);
                total += out[round % IN_CACHE];
            }
        }
        double count = (double)rounds * IN_CACHE * omp_get_max_threads();
        rate = best(rate, 1e-6 * count / (omp_get_wtime() - start));
        *sink += total;
    }
    return rate;
}

static double gemm_rate(int n)
{
    size_t size = (size_t)n * (size_t)n;
    double *a = array(size, 1), *b = array(size, 2), *c = array(size, 0), rate = 0;
    for (int r = 0; r < REPEATS; r++) {
        double start = omp_get_wtime();
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
        rate = best(rate, 2e-9 * (double)size * n / (omp_get_wtime() - start));
    }
    free(a);
    free(b);
    free(c);
    return rate;
}

static double symv_rate(int n)
{
    size_t size = (size_t)n * (size_t)n;
    double *a = array(size, 1), *x = array((size_t)n, 1), *y = array((size_t)n, 0), rate = 0;
    for (int r = 0; r < 3 * REPEATS; r++) {
        double start = omp_get_wtime();
        cblas_dsymv(CblasRowMajor, CblasLower, n, 1, a, n, x, 1, 0, y, 1);
        rate = best(rate, 2e-9 * (double)size / (omp_get_wtime() - start));
    }
    free(a);
    free(x);
    free(y);
    return rate;
}

int main(int argc, char **argv)
{
    int quick = argc > 2 && strcmp(argv[2], "quick") == 0;
    double sink = 0;
    if (argc < 2 || strtol(argv[1], NULL, 10) < 1) {
        fputs("usage: bench_limits THREADS [quick]\n", stderr);
        return 2;
    }
    omp_set_num_threads((int)strtol(argv[1], NULL, 10));
    double read = read_rate(quick ? (size_t)1 << 23 : (size_t)1 << 27, &sink);
    double gemm = gemm_rate(quick ? 500 : 2500);
    double symv = symv_rate(quick ? 1000 : 4000);
    double exps = exp_rate(quick ? 2000 : 40000, &sink);
    printf("{\"read_gbs\": %.4g, \"dgemm_gflops\": %.4g, \"dsymv_gflops\": %.4g, "
           "\"exp_mps\": %.4g}\n",
           read, gemm, symv, exps);
    return isfinite(sink) ? 0 : 1; /* uses every sum, so that none can be optimised away */
}
