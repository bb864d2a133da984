/* SPDX-License-Identifier: BSD-3-Clause */
/* Which kernels of BLAS a program should ask for. */
#include "support.h"

#include "linalg/blas.h"

#include <cblas.h>

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
        /* Of what we do not know we say nothing: other processors, later versions, no OpenBLAS. */
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
#else
    assert_string_equal(mercer_blas(), "other");
    assert_string_equal(mercer_blas_kernels(), "");
    assert_null(mercer_blas_kernels_wider());
#endif
    assert_false(mrc_blas_is_foreign());
#if defined(__x86_64__)
    assert_true(strlen(mercer_processor_vectors()) > 0);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blas_wider_kernels),
        cmocka_unit_test(test_blas_wider_kernels_are_wide_enough),
        cmocka_unit_test(test_blas_names_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
