/* SPDX-License-Identifier: BSD-3-Clause */
/* The container of model files on its own: what is not a model goes through it, too. */
#include "data_support.h"

#include "model/safetensors.h"

static const double reals[6] = {1, -0.5, 1e300, 0, 3, 4};
static const int32_t places[3] = {7, 8, 9};

/* Bytes in memory; too few make the write fail. */
struct heap {
    char bytes[4096];
    size_t filled, most;
};

static mercer_status keep(void *host, const void *data, size_t bytes, mercer_error *error)
{
    struct heap *heap = host;
    (void)error;
    if (heap->filled + bytes > heap->most)
        return MERCER_ERR_IO;
    memcpy(heap->bytes + heap->filled, data, bytes);
    heap->filled += bytes;
    return MERCER_OK;
}

static json_t *metadata(const char *checksum)
{
    return json_pack("{s:s,s:s}", "about", "a box", "checksum", checksum);
}

static mercer_status write_box(struct heap *heap, const char *checksum)
{
    const mrc_tensor list[] = {
        {"reals", {.data = reals, .dtype = MERCER_F64, .rank = 2, .shape = {2, 3}}},
        {"nothing", {.data = NULL, .dtype = MERCER_U8, .rank = 2, .shape = {9, 9}}},
        {"empty", {.data = reals, .dtype = MERCER_F64, .rank = 1, .shape = {0, 1}}},
        {"places", {.data = places, .dtype = MERCER_I32, .rank = 1, .shape = {3, 1}}},
    };
    mrc_tensors tensors = {0};
    json_t *meta = metadata(checksum);
    mercer_status rc = MERCER_OK;
    assert_non_null(meta);
    MRC_TRY(mrc_tensors_init(&tensors, meta, list, 4, &err));
    MRC_TRY(mrc_tensors_write(&tensors, keep, heap, &err));
    assert_int_equal(heap->filled, tensors.bytes);
out:
    mrc_tensors_destroy(&tensors);
    json_decref(meta);
    return rc;
}

/* Read a box as far as it goes. */
static mercer_status read_box(const void *bytes, size_t size, double *x, int32_t *at)
{
    mrc_tensor_source source;
    mrc_header header = {0};
    mercer_status rc = MERCER_OK;
    mrc_tensor_source_memory(&source, "memory", "box", bytes, size);
    MRC_TRY(mrc_header_read(&header, &source, &err));
    MRC_TRY(mrc_header_list(&header, &source, &err));
    assert_string_equal(json_string_value(json_object_get(header.metadata, "about")), "a box");
    assert_int_equal(header.count, 2);
    const mrc_entry *first = mrc_header_find(&header, "reals");
    const mrc_entry *second = mrc_header_find(&header, "places");
    assert_true(first && second && !mrc_header_find(&header, "empty"));
    const mercer_array matrix = {.dtype = MERCER_F64, .rank = 2, .shape = {2, 3}};
    const mercer_array other = {.dtype = MERCER_F64, .rank = 2, .shape = {3, 2}};
    const mercer_array longer = {.dtype = MERCER_I32, .rank = 1, .shape = {4, 1}};
    int64_t rows = 0;
    assert_true(mrc_entry_fits(first, &matrix) && !mrc_entry_fits(first, &other));
    assert_true(!mrc_entry_fits(second, &longer) && mrc_entry_has_type(second, MERCER_I32));
    assert_true(mrc_entry_rows(second, &rows) && rows == 3);
    MRC_TRY(mrc_entry_read(first, &source, x, &err)); /* x may be NULL: past it */
    MRC_TRY(mrc_entry_read(second, &source, at, &err));
    MRC_TRY(mrc_header_verify(&header, &source, &err));
out:
    mrc_header_destroy(&header);
    mrc_tensor_source_close(&source);
    return rc;
}

static void test_there_and_back(void **state)
{
    struct heap heap = {.most = sizeof heap.bytes};
    double x[6] = {0};
    int32_t at[3] = {0};
    (void)state;
    assert_ok(write_box(&heap, MRC_CHECKSUM_BLANK));
    assert_ok(read_box(heap.bytes, heap.filled, x, at));
    assert_memory_equal(x, reals, sizeof reals);
    assert_memory_equal(at, places, sizeof places);
    assert_ok(read_box(heap.bytes, heap.filled, NULL, at));
    heap.bytes[heap.filled - 1] ^= 1;
    assert_fails(read_box(heap.bytes, heap.filled, x, at), MERCER_ERR_FORMAT,
                 "memory: is damaged (checksum");
    assert_fails(read_box(heap.bytes, heap.filled - 1, x, at), MERCER_ERR_FORMAT,
                 "memory: is truncated");
    assert_fails(read_box("1234567", 7, x, at), MERCER_ERR_FORMAT,
                 "memory: is not a box (it has fewer than 8 bytes)");
}

static void test_files(void **state)
{
    struct heap heap = {.most = sizeof heap.bytes};
    const mrc_limits none = {.deadline = 0};
    mrc_tensor_source source;
    mrc_header header = {0};
    double x[6];
    (void)state;
    assert_ok(write_box(&heap, MRC_CHECKSUM_BLANK));
    const char *path = put_bytes("box", heap.bytes, heap.filled);
    assert_ok(mrc_tensor_source_open(&source, path, "box", &none, &err));
    assert_ok(mrc_header_read(&header, &source, &err));
    assert_ok(mrc_header_list(&header, &source, &err));
    assert_ok(mrc_entry_read(&header.entries[0], &source, x, &err));
    assert_memory_equal(x, reals, sizeof reals);
    mrc_header_destroy(&header);
    mrc_tensor_source_close(&source);
    assert_fails(mrc_tensor_source_open(&source, in_scratch("none"), "box", &none, &err),
                 MERCER_ERR_IO, "cannot open");
    mrc_tensor_source_close(&source);
}

static void test_what_cannot_be_written(void **state)
{
    struct heap heap = {.most = sizeof heap.bytes};
    (void)state;
    assert_fails(write_box(&heap, "none"), MERCER_ERR_ARGUMENT, "checksum");
    for (size_t most = 0; most < 200; most += 50) { /* the status of the sink comes through */
        heap = (struct heap){.most = most};
        assert_int_equal(write_box(&heap, MRC_CHECKSUM_BLANK), MERCER_ERR_IO);
    }
}

static void test_failing_allocations(void **state)
{
    mercer_status rc = MERCER_ERR_MEMORY;
    struct heap heap;
    double x[6];
    int32_t at[3];
    int64_t live = mrc_alloc_live();
    (void)state;
    for (int64_t k = 0; rc != MERCER_OK; k++) {
        heap = (struct heap){.most = sizeof heap.bytes};
        mrc_alloc_fail_after(k);
        rc = write_box(&heap, MRC_CHECKSUM_BLANK);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_int_equal(mrc_alloc_live(), live);
    }
    rc = MERCER_ERR_MEMORY;
    for (int64_t k = 0; rc != MERCER_OK; k++) {
        mrc_alloc_fail_after(k);
        rc = read_box(heap.bytes, heap.filled, x, at);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
        assert_int_equal(mrc_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_there_and_back),
        TEST(test_files),
        TEST(test_what_cannot_be_written),
        TEST(test_failing_allocations),
    };
    return RUN_TESTS(tests);
}
