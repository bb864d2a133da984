/* SPDX-License-Identifier: BSD-3-Clause */
/* Which kernels of BLAS a program should ask for; products of a few rows without BLAS. */
#include "support.h"

#include "linalg/blas.h"
#include "linalg/linalg.h"

#include <cblas.h>
#include <math.h>

static void test_blas_wider_kernels(void **state)
{
    enum { NONE, SSE2, SSE3, SSE42, AVX, AVX2, AVX512, LEVELS };
    /* By what the processor has, in the order of mrc_vectors. */
    static const struct {
        const char *taken, *wider[LEVELS];
    } cases[] = {
        {"Prescott", {NULL, NULL, NULL, "Nehalem", "Sandybridge", "Haswell", "SkylakeX"}},
        {"Barcelona", {NULL, NULL, NULL, "Nehalem", "Sandybridge", "Haswell", "SkylakeX"}},
        {"Core2", {NULL, NULL, NULL, "Nehalem", "Sandybridge", "Haswell", "SkylakeX"}},
        {"Nehalem", {NULL, NULL, NULL, NULL, "Sandybridge", "Haswell", "SkylakeX"}},
        {"Sandybridge", {NULL, NULL, NULL, NULL, NULL, "Haswell", "SkylakeX"}},
        {"Piledriver", {NULL, NULL, NULL, NULL, NULL, "Haswell", "SkylakeX"}},
        {"Excavator", {NULL, NULL, NULL, NULL, NULL, NULL, "SkylakeX"}},
        {"Haswell", {NULL, NULL, NULL, NULL, NULL, NULL, "SkylakeX"}},
        {"Zen", {NULL, NULL, NULL, NULL, NULL, NULL, "SkylakeX"}},
        {"SkylakeX", {NULL}},
        {"Cooperlake", {NULL}},
        {"SapphireRapids", {NULL}},
        /* We say nothing of what we do not know: other processors, later versions, no OpenBLAS. */
        {"NeoverseN1", {NULL}},
        {"Generic", {NULL}},
        {"unknown", {NULL}},
        {"", {NULL}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int level = 0; level < LEVELS; level++) {
            const char *got = mrc_kernels_wider(cases[i].taken, (mrc_vectors)level);
            const char *expected = cases[i].wider[level];
            print_message("%s on %d: %s\n", cases[i].taken, level, got ? got : "-");
            assert_int_equal(got != NULL, expected != NULL);
            if (expected)
                assert_string_equal(got, expected);
        }
}

/* What is asked for is as wide as the processor, so nobody asks twice. */
static void test_blas_wider_kernels_are_wide_enough(void **state)
{
    (void)state;
    for (int level = MRC_VECTORS_SSE42; level <= MRC_VECTORS_AVX512; level++) {
        const char *wider = mrc_kernels_wider("Prescott", (mrc_vectors)level);
        assert_non_null(wider);
        assert_int_equal(mrc_kernels_vectors(wider), level);
        assert_null(mrc_kernels_wider(wider, (mrc_vectors)level));
    }
}

static void test_blas_names_what_runs(void **state)
{
    (void)state;
#if defined(MRC_OPENBLAS)
    static const char *const builds[] = {"serial", "pthread", "openmp"};
    assert_string_equal(mercer_blas(), builds[openblas_get_parallel()]);
    assert_string_equal(mercer_blas_kernels(), openblas_get_corename());
    static const char *const kernels[][2] = {
        {"Prescott", "SSE3"}, {"Haswell", "AVX2"}, {"Zen", "AVX2"}, {"SkylakeX", "AVX-512"}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(mercer_blas_kernels(), kernels[i][0]) == 0)
            assert_string_equal(mercer_blas_kernels_vectors(), kernels[i][1]);
#else
    assert_string_equal(mercer_blas(), "other");
    assert_string_equal(mercer_blas_kernels(), "");
    assert_string_equal(mercer_blas_kernels_vectors(), "");
    assert_null(mercer_blas_kernels_wider());
#endif
    assert_false(mrc_blas_is_foreign());
#if defined(__x86_64__)
    assert_true(strlen(mercer_processor_vectors()) > 0);
#endif
}

/* Every sum from its first term to its last, rounded once per term where the vectors do so. */
static void test_few_rows_in_order(void **state)
{
    enum { M = 3, MOST = 210, GAP = 2 };
    static const int64_t columns[] = {1, 2, 3, 5, 8, 15, 16, 31, 48, 49, 51, 60, 97, 200};
    static const int64_t lengths[] = {0, 1, 2, 7, 64, 200};
    static double a[M * MOST], b[MOST * MOST], c[M * MOST];
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 5);
    for (int64_t i = 0; i < M * MOST; i++)
        a[i] = mrc_rng_normal(&rng);
    for (int64_t i = 0; i < MOST * MOST; i++)
        b[i] = mrc_rng_normal(&rng);
    for (mrc_simd simd = MRC_SIMD_BASELINE; simd <= mrc_simd_detect(); simd++)
        for (int turn = 0; turn < 8; turn++)
            for (size_t p = 0; p < sizeof columns / sizeof *columns; p++)
                for (size_t q = 0; q < sizeof lengths / sizeof *lengths; q++) {
                    const bool transposed = turn & 1, keep = turn & 2;
                    const double alpha = turn & 4 ? -1 : 1;
                    const int64_t n = columns[p], k = lengths[q], ldc = n + GAP;
                    const int64_t ldb = (transposed ? k : n) + GAP;
                    for (int64_t i = 0; i < M * ldc; i++)
                        c[i] = 0.25;
                    mrc_gemm_rows(simd, transposed, M, n, k, alpha, a, MOST, b, ldb, keep, c, ldc);
                    for (int64_t i = 0; i < M; i++)
                        for (int64_t j = 0; j < ldc; j++) {
                            double sum = 0, wanted = 0.25; /* nobody touches the gap */
                            for (int64_t r = 0; j < n && r < k; r++) {
                                double x = a[i * MOST + r];
                                double y = transposed ? b[j * ldb + r] : b[r * ldb + j];
                                sum = simd == MRC_SIMD_BASELINE ? sum + x * y : fma(x, y, sum);
                            }
                            if (j < n)
                                wanted = (keep ? 0.25 : 0) + alpha * sum;
                            assert_true(c[i * ldc + j] == wanted);
                        }
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blas_wider_kernels),
        cmocka_unit_test(test_blas_wider_kernels_are_wide_enough),
        cmocka_unit_test(test_blas_names_what_runs),
        cmocka_unit_test(test_few_rows_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
