/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that runs out anywhere: the k-th allocation fails, those of Jansson, zlib and the C
 * library included, for k = 1, 2, ... until none does. What comes back says so, or is the whole
 * result. */
#include "data_support.h"

#include "model/json.h"
#include "model/model.h"

#include <errno.h>
#include <stdatomic.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0 /* the sanitizer has one of its own */
#elif defined(__has_feature)
#define OWN_ALLOCATOR !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define OWN_ALLOCATOR 1
#endif

static atomic_long left = 0; /* allocations up to the failing one; 0: none fails */
static atomic_long fired = 0, seen = 0;

#if OWN_ALLOCATOR
#include "refusing_malloc.h" /* needs refuses() */

static bool refuses(const void *caller)
{
    if (is_in_blas(caller))
        return false;
    atomic_fetch_add(&seen, 1);
    if (atomic_load(&left) == 0 || atomic_fetch_sub(&left, 1) != 1)
        return false;
    atomic_fetch_add(&fired, 1);
    errno = ENOMEM;
    return true;
}
#endif

/* Whether allocations come here: a sanitizer or valgrind may have taken them over. */
static bool is_ours(void)
{
    long before = atomic_load(&seen);
    void *volatile memory = malloc(1);
    free(memory);
    return atomic_load(&seen) != before;
}

/* What an operation gives: its bytes, for comparing. */
struct result {
    char *bytes;
    size_t size;
};

typedef mercer_status (*operation)(const char *path, struct result *out);

static void take_file(const char *path, struct result *out)
{
    struct stat info;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &info) == 0);
    out->size = (size_t)info.st_size;
    out->bytes = test_malloc(out->size + 1);
    assert_int_equal(read(fd, out->bytes, out->size), info.st_size);
    close(fd);
}

/* Fail once at each allocation. Results are compared where the operation came to its end in spite
 * of that, too. */
static void fail_everywhere(const char *name, operation run, const char *path)
{
    struct result expected = {0};
    long points = 0, tolerated = 0;
    for (int i = 0; i < 2; i++) { /* the second time everything is there that is made once */
        test_free(i ? expected.bytes : test_malloc(1));
        expected = (struct result){0};
        assert_ok(run(path, &expected));
    }
    for (long k = 1;; k++) {
        struct result found = {0};
        int64_t live = mrc_alloc_live();
        memset(&err, 0, sizeof err);
        atomic_store(&fired, 0);
        atomic_store(&left, k);
        mercer_status rc = run(path, &found);
        atomic_store(&left, 0);
        if (rc != MERCER_OK && rc != MERCER_ERR_MEMORY)
            fail_msg("%s, allocation %ld: status %d: %s", name, k, (int)rc, err.text);
        if (rc == MERCER_ERR_MEMORY && !*err.text)
            fail_msg("%s, allocation %ld: no memory, and not a word", name, k);
        if (rc == MERCER_OK &&
            (found.size != expected.size || memcmp(found.bytes, expected.bytes, found.size) != 0))
            fail_msg("%s, allocation %ld: another result", name, k);
        assert_int_equal(mrc_alloc_live(), live);
        tolerated += rc == MERCER_OK && atomic_load(&fired) > 0;
        test_free(found.bytes ? found.bytes : test_malloc(1));
        if (atomic_load(&fired) == 0)
            break;
        points++;
    }
    test_free(expected.bytes);
    print_message("%s: %ld allocations failed, %ld were no loss\n", name, points, tolerated);
    assert_true(points > 10 || !is_ours());
}

/* ---- operations; results are taken with all memory there is ---- */

static void stop_failing(long *kept)
{
    *kept = atomic_exchange(&left, 0);
}

static mercer_status save_and_take(const mercer_model *model, struct result *out)
{
    const char *path = in_scratch("result.model");
    unlink(path);
    mercer_status rc = mercer_model_save(ctx, model, path, &err);
    assert_int_equal(access(path, F_OK), rc == MERCER_OK ? 0 : -1);
    long kept;
    stop_failing(&kept);
    if (rc == MERCER_OK)
        take_file(path, out);
    atomic_store(&left, kept);
    return rc;
}

static mercer_status load_and_save(const char *path, struct result *out)
{
    mercer_model *model = NULL;
    mercer_status rc = mercer_model_load(ctx, path, &model, &err);
    if (rc == MERCER_OK)
        rc = save_and_take(model, out);
    mercer_model_free(model);
    return rc;
}

static mercer_status load_and_transform(const char *path, struct result *out)
{
    mercer_model *model = NULL;
    mercer_table *table = NULL;
    mercer_read_options reading;
    mercer_model_info info = {.struct_size = sizeof info};
    double *features = NULL;
    mercer_status rc = mercer_model_load(ctx, path, &model, &err);
    mercer_read_options_init(&reading);
    if (rc == MERCER_OK) {
        mercer_model_get_info(model, &info);
        mercer_model_read_options(model, &reading);
        rc = mercer_table_read(ctx, in_scratch("rows.csv"), &reading, &table, &err);
    }
    if (rc == MERCER_OK) {
        int64_t n = mercer_rows_count(mercer_table_rows(table));
        size_t size = (size_t)(n * info.components) * sizeof(double);
        long kept;
        stop_failing(&kept);
        features = test_malloc(size);
        atomic_store(&left, kept);
        rc = mercer_model_transform(ctx, model, mercer_table_rows(table), NULL, features, NULL,
                                    &err);
        if (rc == MERCER_OK)
            *out = (struct result){(char *)features, size};
    }
    if (rc != MERCER_OK) {
        stop_failing(&(long){0});
        test_free(features ? features : test_malloc(1));
    }
    mercer_table_free(table);
    mercer_model_free(model);
    return rc;
}

/* path: method and kernel, apart by a blank. */
static mercer_status fit_and_save(const char *path, struct result *out)
{
    mercer_model *model = NULL;
    mercer_table *table = NULL;
    mercer_fit_options options;
    mercer_read_options reading;
    char method[128];
    bool classes = strncmp(path, "kpca", 4) == 0;
    mercer_read_options_init(&reading);
    reading.encode = "onehot";
    reading.label = "label";
    mercer_status rc = mercer_table_read(ctx, in_scratch("rows.csv"), &reading, &table, &err);
    mercer_fit_options_init(&options);
    snprintf(method, sizeof method, "%.*s", (int)strcspn(path, " "), path);
    options.method = method;
    options.kernel = path + strcspn(path, " ") + 1;
    options.head = classes ? "knn:k=1" : NULL;
    options.command = "mercer fit rows.csv, a command that is long enough to need more than a line";
    mercer_ctx_set_seed(ctx, 1);
    if (rc == MERCER_OK)
        rc = mercer_fit(ctx, &options, mercer_table_rows(table),
                        classes ? mercer_table_targets(table) : NULL, &model, NULL, &err);
    if (rc == MERCER_OK)
        rc = save_and_take(model, out);
    mercer_model_free(model);
    mercer_table_free(table);
    return rc;
}

static mercer_status parse(const char *text, struct result *out)
{
    json_t *value = NULL;
    const char *reason;
    long kept;
    mercer_status rc = mrc_json_parse(text, strlen(text), &value, &reason, &err);
    stop_failing(&kept);
    if (rc == MERCER_OK) {
        char *dumped = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
        out->size = strlen(dumped);
        out->bytes = test_malloc(out->size + 1);
        memcpy(out->bytes, dumped, out->size);
        free(dumped);
    }
    json_decref(value);
    return rc;
}

/* ---- */

static void serial(void *host, int64_t tasks, int threads, mercer_parfor_body body, void *arg)
{
    (void)host, (void)threads;
    for (int64_t t = 0; t < tasks; t++)
        body(arg, t, 0);
}

static const char *const fits[] = {
    "kpca:components=3 rbf:sigma=2", "pca:components=2 linear",
    "ikpca:components=2,first=10,block=5,window=12 0.7*rbf:sigma=2 + linear"};
enum { FITS = sizeof fits / sizeof *fits };

/* Rows with words, long names, names beyond ASCII, and classes. */
static void put_rows(void)
{
    static const char *const words[] = {"red", "green", "a long word, between marks, for blue"};
    char text[4096];
    int at = snprintf(text, sizeof text, "%s,caf\xc3\xa9,\"with \"\"marks\"\"\",colour,label\n",
                      "a name of a column that is much longer than most names of columns are");
    for (int i = 0; i < 24; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%d,%g,%g,\"%s\",class %d\n", i % 7,
                       0.3 * i, 1.0 / (i + 1), words[i % 3], i % 2);
    put_text("rows.csv", text);
    mercer_ctx_set_parfor(ctx, serial, NULL); /* no pool of threads to make */
}

static void test_fit_of_models(void **state)
{
    (void)state;
    put_rows();
    for (int i = 0; i < FITS; i++)
        fail_everywhere(fits[i], fit_and_save, fits[i]);
}

static void test_load_save_and_transform(void **state)
{
    (void)state;
    for (int i = 0; i < FITS; i++) {
        struct result fitted = {0};
        char path[512];
        put_rows();
        assert_ok(fit_and_save(fits[i], &fitted));
        test_free(fitted.bytes);
        snprintf(path, sizeof path, "%s", in_scratch("fitted.model"));
        assert_int_equal(rename(in_scratch("result.model"), path), 0);
        fail_everywhere("load and save", load_and_save, path);
        fail_everywhere("load and transform", load_and_transform, path);
    }
}

static void test_reading_json(void **state)
{
    (void)state;
    fail_everywhere(
        "JSON", parse,
        " {\"a name\":[1, -2.5e3, true, false, null, \"a text that is longer than "
        "sixteen bytes \\u00e9\\ud83d\\ude00\"], \"b\":{\"c\":[], \"d\":{}, \"e\":\"\", "
        "\"f\":1, \"g\":2, \"h\":3, \"i\":4, \"j\":5, \"k\":6, \"l\":7, \"m\":8}} ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_fit_of_models),
        TEST(test_load_save_and_transform),
        TEST(test_reading_json),
    };
    return cmocka_run_group_tests(tests, setup_scratch, teardown_scratch);
}
