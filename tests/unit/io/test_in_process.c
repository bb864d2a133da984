/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzers of MAT and HDF5 read in their own process, by fuzz/in_process.c in place of what asks
 * the helper program: linked that way, seeds that must load do. Else the fuzzers are noticed to be
 * broken only when somebody fuzzes. Damaged seeds may crash the libraries here; test_corpus.c reads
 * those, as the library does. MERCER_CORPUS is the folder fuzz/corpus. */
#define LLVMFuzzerTestOneInput fuzz_hdf5_input
#include "../../../fuzz/fuzz_hdf5.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_mat_input
#include "../../../fuzz/fuzz_mat.c"
#undef LLVMFuzzerTestOneInput

#include "data_support.h"

static void check_loads(const char *seed, int (*run)(const uint8_t *data, size_t size))
{
    char path[1024];
    size_t length;
    snprintf(path, sizeof path, "%s/%s", MERCER_CORPUS, seed);
    char *bytes = get_bytes(path, &length);
    fuzz_loaded = false;
    assert_int_equal(run((const uint8_t *)bytes, length), 0);
    if (!fuzz_loaded)
        print_error("%s must load, and does not\n", path);
    assert_true(fuzz_loaded);
    test_free(bytes);
}

static void test_hdf5_in_process(void **state)
{
    (void)state;
    check_loads("hdf5/plain", fuzz_hdf5_input);
    check_loads("hdf5/chunks", fuzz_hdf5_input);
}

static void test_mat_in_process(void **state)
{
    (void)state;
    check_loads("mat/full", fuzz_mat_input);
    check_loads("mat/v73_sparse", fuzz_mat_input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_hdf5_in_process), TEST(test_mat_in_process)};
    return RUN_TESTS(tests);
}
