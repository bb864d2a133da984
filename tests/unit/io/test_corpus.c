/* SPDX-License-Identifier: BSD-3-Clause */
/* Every seed of the fuzzers, and whatever they once found, through the readers: no crash, no leak;
 * and those that fuzz/good_seeds names must load. MERCER_CORPUS is the folder fuzz/corpus. */
#define LLVMFuzzerTestOneInput fuzz_api_input
#include "../../../fuzz/fuzz_api.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_csv_input
#include "../../../fuzz/fuzz_csv.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_fit_input
#include "../../../fuzz/fuzz_fit.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_hdf5_input
#include "../../../fuzz/fuzz_hdf5.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_image_input
#include "../../../fuzz/fuzz_image.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_libsvm_input
#include "../../../fuzz/fuzz_libsvm.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_mat_input
#include "../../../fuzz/fuzz_mat.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_model_input
#include "../../../fuzz/fuzz_model.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_mtx_input
#include "../../../fuzz/fuzz_mtx.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_npy_input
#include "../../../fuzz/fuzz_npy.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_npz_input
#include "../../../fuzz/fuzz_npz.c"
#undef LLVMFuzzerTestOneInput

#include "data_support.h"

/* The names that fuzz/good_seeds gives for a target, between spaces. */
static void list_good(const char *target, char *names, size_t size)
{
    char path[1024], line[1024];
    size_t length = strlen(target);
    snprintf(path, sizeof path, "%s/../good_seeds", MERCER_CORPUS);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    names[0] = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, target, length) == 0 && line[length] == ':')
            snprintf(names, size, "%s ", line + length + 1);
    }
    fclose(file);
    assert_true(names[0]);
}

static bool is_good(const char *names, const char *seed)
{
    char word[300];
    snprintf(word, sizeof word, " %s ", seed);
    return strstr(names, word) != NULL;
}

static int count_words(const char *names)
{
    int count = 0;
    for (size_t i = 0; names[i]; i++)
        count += names[i] != ' ' && names[i + 1] == ' ';
    return count;
}

static void run_folder(const char *name, int (*run)(const uint8_t *data, size_t size))
{
    char path[1024], names[1024];
    int count = 0, good = 0;
    list_good(name, names, sizeof names);
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
        if (!is_good(names, entry->d_name))
            continue;
        good++;
        if (!fuzz_loaded)
            print_error("%s must load, and does not\n", path);
        assert_true(fuzz_loaded);
    }
    closedir(folder);
    assert_true(count > 10);
    assert_int_equal(good, count_words(names)); /* else one is named that is not there */
}

static void test_api_corpus(void **state)
{
    (void)state;
    run_folder("api", fuzz_api_input);
}

static void test_csv_corpus(void **state)
{
    (void)state;
    run_folder("csv", fuzz_csv_input);
}

static void test_fit_corpus(void **state)
{
    (void)state;
    run_folder("fit", fuzz_fit_input);
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
        TEST(test_api_corpus),  TEST(test_csv_corpus),   TEST(test_fit_corpus),
        TEST(test_hdf5_corpus), TEST(test_image_corpus), TEST(test_libsvm_corpus),
        TEST(test_mat_corpus),  TEST(test_model_corpus), TEST(test_mtx_corpus),
        TEST(test_npy_corpus),  TEST(test_npz_corpus),
    };
    return RUN_TESTS(tests);
}
