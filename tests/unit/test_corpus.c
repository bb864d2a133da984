/* Every seed of the fuzzers, and whatever they once found, through the readers: no crash, no leak.
 * MERCER_CORPUS is the folder fuzz/corpus. */
#define LLVMFuzzerTestOneInput fuzz_csv_input
#include "../../fuzz/fuzz_csv.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_hdf5_input
#include "../../fuzz/fuzz_hdf5.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_image_input
#include "../../fuzz/fuzz_image.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_libsvm_input
#include "../../fuzz/fuzz_libsvm.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_mat_input
#include "../../fuzz/fuzz_mat.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_model_input
#include "../../fuzz/fuzz_model.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_mtx_input
#include "../../fuzz/fuzz_mtx.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_npy_input
#include "../../fuzz/fuzz_npy.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_npz_input
#include "../../fuzz/fuzz_npz.c"
#undef LLVMFuzzerTestOneInput

#include "data_support.h"

static void run_folder(const char *name, int (*run)(const uint8_t *data, size_t size))
{
    char path[1024];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", MERCER_CORPUS, name);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        size_t length;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", MERCER_CORPUS, name, entry->d_name);
        char *bytes = get_bytes(path, &length);
        int64_t live = mrc_alloc_live();
        assert_int_equal(run((const uint8_t *)bytes, length), 0);
        assert_int_equal(mrc_alloc_live(), live);
        test_free(bytes);
        count++;
    }
    closedir(folder);
    assert_true(count > 10);
}

static void test_csv_corpus(void **state)
{
    (void)state;
    run_folder("csv", fuzz_csv_input);
}

static void test_hdf5_corpus(void **state)
{
    (void)state;
    run_folder("hdf5", fuzz_hdf5_input);
}

static void test_image_corpus(void **state)
{
    (void)state;
    run_folder("image", fuzz_image_input);
}

static void test_libsvm_corpus(void **state)
{
    (void)state;
    run_folder("libsvm", fuzz_libsvm_input);
}

static void test_mat_corpus(void **state)
{
    (void)state;
    run_folder("mat", fuzz_mat_input);
}

static void test_model_corpus(void **state)
{
    (void)state;
    run_folder("model", fuzz_model_input);
}

static void test_mtx_corpus(void **state)
{
    (void)state;
    run_folder("mtx", fuzz_mtx_input);
}

static void test_npy_corpus(void **state)
{
    (void)state;
    run_folder("npy", fuzz_npy_input);
}

static void test_npz_corpus(void **state)
{
    (void)state;
    run_folder("npz", fuzz_npz_input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_csv_corpus),    TEST(test_hdf5_corpus), TEST(test_image_corpus),
        TEST(test_libsvm_corpus), TEST(test_mat_corpus),  TEST(test_model_corpus),
        TEST(test_mtx_corpus),    TEST(test_npy_corpus),  TEST(test_npz_corpus),
    };
    return RUN_TESTS(tests);
}
