/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a model: what parts.def lists can be found by name, is saved and loaded bit for bit,
 * checked, truncated and freed. Every array goes through the same tests by its being listed, the
 * toys of tests/toys/parts.def too. */
#include "model_support.h"

#include "model/parts.h"

enum { LENGTH = 3, CLASSES = 2, HEAD_ROWS = 4 };

/* An unsealed model with a head, with expansion points or collapsed. */
static mercer_model *base_model(bool collapsed)
{
    static const char *const classes[CLASSES] = {"a", "b"};
    const struct recipe recipe = {.kernel = collapsed ? "linear" : "rbf:sigma=2",
                                  .center = MRC_CENTER_EXACT,
                                  .n = 12,
                                  .d = 5,
                                  .l = 3,
                                  .collapse = collapsed};
    double *x = recipe_rows(&recipe);
    mercer_model *model = unsealed_model(&recipe, x);
    mrc_head *head = &model->head;
    mrc_free(x);
    assert_int_equal(model->components, 3);
    assert_ok(mrc_strdup(&head->spec, "centre", &err));
    assert_ok(mrc_copy_names(&head->names, (char *const *)classes, CLASSES, &err));
    head->kind = MERCER_TARGET_CLASSES;
    head->outputs = CLASSES;
    head->rows = HEAD_ROWS;
    head->errors = ref_alloc(3, 1);
    return model;
}

/* Give the model an array that it may not have yet, with numbers that any array may hold. */
static void fill(mercer_model *model, const mrc_array_part *part)
{
    int64_t *length = mrc_length_of(model, part->rows);
    if (length && *length == 0)
        *length = LENGTH;
    mercer_array array = mrc_array_of(model, part);
    int64_t count = array.shape[0] * array.shape[1];
    void *data = (void *)(uintptr_t)array.data;
    if (!data) {
        assert_ok(mrc_alloc(&data, count, 8, &err));
        memcpy(mrc_array_place(model, part), &data, sizeof data);
    }
    for (int64_t i = 0; i < count; i++)
        if (part->dtype == MERCER_F64)
            ((double *)data)[i] = 1 - 1 / (double)(i + 3); /* some must be in order */
        else
            ((int64_t *)data)[i] = i % CLASSES;
}

/* The same, after the first array of its length: that one tells the length. */
static void fill_with_teller(mercer_model *model, const mrc_array_part *part)
{
    const mrc_array_part *teller = mrc_array_parts;
    while (mrc_length_of(model, part->rows) && teller->rows != part->rows)
        teller++;
    if (part->rows == MRC_SIZE_VARIANCE) { /* both parts of it or none, as large as the basis */
        model->variance_rank = model->points == 0 ? model->columns : model->basis_points;
        for (int i = 0; i < MRC_ARRAY_PARTS; i++)
            if (mrc_array_parts[i].rows == MRC_SIZE_VARIANCE)
                fill(model, &mrc_array_parts[i]);
        return;
    }
    if (part->columns == MRC_SIZE_MAP_COLUMNS) { /* not without weights, and as wide as Z is */
        model->map_columns = model->columns;
        for (int i = 0; i < MRC_ARRAY_PARTS; i++)
            if (strcmp(mrc_array_parts[i].name, "map_weights") == 0)
                fill(model, &mrc_array_parts[i]);
    }
    if (mrc_length_of(model, part->rows))
        fill(model, teller);
    fill(model, part);
}

/* A model with this array, sealed; NULL when none can have it. */
static mercer_model *model_with(const mrc_array_part *part)
{
    for (int collapsed = 0; collapsed < 2; collapsed++) {
        mercer_model *model = base_model(collapsed);
        if (mrc_size_of(model, part->rows) > 0 || mrc_length_of(model, part->rows)) {
            fill_with_teller(model, part);
            if (mrc_model_seal(model, ctx, &err) == MERCER_OK)
                return model;
        }
        mercer_model_free(model);
    }
    return NULL;
}

/* Arrays that the list itself looks after; those of a stream need a stream (test_stream.c). */
static bool is_tested(const mrc_array_part *part)
{
    return !(part->flags & MRC_ELSEWHERE) && part->group != MRC_GROUP_state;
}

/* Is `array` the leading block of `whole`? */
static void assert_leading(const mercer_array *array, const mercer_array *whole)
{
    assert_int_equal(array->dtype, whole->dtype);
    assert_int_equal(array->rank, whole->rank);
    assert_true(array->shape[0] <= whole->shape[0] && array->shape[1] <= whole->shape[1]);
    for (int64_t i = 0; i < array->shape[0]; i++)
        assert_memory_equal((const char *)array->data + 8 * i * array->shape[1],
                            (const char *)whole->data + 8 * i * whole->shape[1],
                            (size_t)(8 * array->shape[1]));
}

static mercer_model *through_bytes(const mercer_model *model)
{
    void *bytes = NULL;
    size_t size = 0;
    mercer_model *back = NULL;
    assert_ok(mercer_model_to_bytes(ctx, model, &bytes, &size, &err));
    assert_ok(mercer_model_from_bytes(ctx, bytes, size, &back, &err));
    mercer_free(bytes);
    return back;
}

static void test_every_array_comes_back(void **state)
{
    (void)state;
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        const mrc_array_part *part = &mrc_array_parts[i];
        int64_t live = mrc_alloc_live();
        if (!is_tested(part))
            continue;
        mercer_model *model = model_with(part);
        if (!model)
            fail_msg("no model can have %s", part->name);
        mercer_array array = {.struct_size = sizeof array}, again = array;
        assert_ok(mercer_model_array(model, part->name, &array, &err));
        assert_int_equal(array.shape[0], mrc_size_of(model, part->rows));
        assert_int_equal(array.shape[1], mrc_size_of(model, part->columns));
        assert_true(array.stride[0] == 0 && array.stride[1] == 0 && !array.release);
        mercer_model *back = through_bytes(model);
        mercer_status rc = mercer_model_array(back, part->name, &again, &err);
        if (part->flags & MRC_UNSAVED) {
            assert_fails(rc, MERCER_ERR_UNSUPPORTED, "the model has no array");
        } else {
            assert_ok(rc);
            assert_int_equal(again.shape[0], array.shape[0]);
            assert_int_equal(again.shape[1], array.shape[1]);
            assert_leading(&again, &array);
        }
        mercer_model_free(back);
        mercer_model_free(model);
        assert_int_equal(mrc_alloc_live(), live);
    }
}

static void test_every_array_is_truncated(void **state)
{
    (void)state;
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        const mrc_array_part *part = &mrc_array_parts[i];
        int64_t live = mrc_alloc_live();
        if (!is_tested(part))
            continue;
        mercer_model *model = model_with(part), *shorter = NULL;
        mercer_array array = {.struct_size = sizeof array}, less = array;
        assert_ok(mercer_model_array(model, part->name, &array, &err));
        assert_ok(mercer_model_truncate(ctx, model, 2, &shorter, &err));
        mercer_status rc = mercer_model_array(shorter, part->name, &less, &err);
        if (part->flags & MRC_DROPPED) {
            assert_int_equal(rc, MERCER_ERR_UNSUPPORTED);
            assert_int_equal(mrc_size_of(shorter, part->rows), 0);
        } else {
            assert_ok(rc);
            assert_leading(&less, &array);
            assert_int_equal(less.shape[0] < array.shape[0], part->rows == MRC_SIZE_COMPONENTS);
        }
        mercer_model_free(shorter);
        mercer_model_free(model);
        assert_int_equal(mrc_alloc_live(), live);
    }
}

static void test_every_array_is_checked(void **state)
{
    (void)state;
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) {
        const mrc_array_part *part = &mrc_array_parts[i];
        if (!is_tested(part) || part->dtype != MERCER_F64 || part->flags & MRC_UNCHECKED)
            continue;
        mercer_model *model = model_with(part);
        double *x = (double *)(uintptr_t)mrc_array_of(model, part).data;
        char words[64];
        x[0] = NAN;
        mercer_status rc = mrc_arrays_check(model, part->group, &err);
        assert_int_equal(rc, part->flags & MRC_OR_NAN ? MERCER_OK : MERCER_ERR_NUMERIC);
        x[0] = -INFINITY;
        snprintf(words, sizeof words, "model: %s holds a value that is", part->name);
        assert_fails(mrc_arrays_check(model, part->group, &err), MERCER_ERR_NUMERIC, words);
        mercer_model_free(model);
    }
}

static void test_numbers_of_toys(void **state)
{
    mercer_model *model = base_model(false), *shorter = NULL;
    void *bytes = NULL;
    size_t size = 0;
    (void)state;
    assert_true(isnan(model->toy_number)); /* not known: not in files */
    assert_ok(mrc_model_seal(model, ctx, &err));
    assert_ok(mercer_model_to_bytes(ctx, model, &bytes, &size, &err));
    assert_null(memmem(bytes, size, "toy", 3));
    mercer_free(bytes);
    model->toy_number = 0.1;
    model->head.toy_flag = true;
    assert_ok(mrc_strdup(&model->toy_text, "any \xff", &err));
    assert_ok(mercer_model_truncate(ctx, model, 1, &shorter, &err));
    mercer_model *back = through_bytes(shorter);
    assert_true(back->toy_number == 0.1 && back->head.toy_flag);
    assert_string_equal(back->toy_text, "any \xff");
    mercer_model_free(back);
    mercer_model_free(shorter);
    mercer_model_free(model);
}

/* A length that no number tells is that of the array; a file where another disagrees is refused. */
static void test_lengths_come_from_shapes(void **state)
{
    static const char *const wrong[][2] = {{"\"toy_number\":\"0.5\"", "\"toy_number\":\"0;5\""},
                                           {"\"toy_profile\":{", "\"toy_profiles\":"},
                                           {"[3,3]", "[9,1]"}};
    mercer_model *model = base_model(false);
    (void)state;
    model->toy_count = LENGTH;
    model->toy_number = 0.5;
    model->toy_profile = ref_alloc(LENGTH, 3);
    assert_ok(mrc_model_seal(model, ctx, &err));
    mercer_model *back = through_bytes(model);
    assert_int_equal(back->toy_count, LENGTH);
    mercer_model_free(back);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        void *bytes = NULL;
        size_t size = 0;
        back = model;
        assert_ok(mercer_model_to_bytes(ctx, model, &bytes, &size, &err));
        char *at = memmem(bytes, size, wrong[i][0], strlen(wrong[i][0]));
        assert_non_null(at);
        memcpy(at, wrong[i][1], strlen(wrong[i][1]));
        assert_int_equal(mercer_model_from_bytes(ctx, bytes, size, &back, &err), MERCER_ERR_FORMAT);
        assert_null(back);
        mercer_free(bytes);
    }
    mercer_model_free(model);
}

static void test_arrays_of_a_state(void **state)
{
    mrc_state stream = {.rank = 2}, copy;
    int64_t live = mrc_alloc_live();
    (void)state;
    stream.factor = ref_alloc(2, 2);
    stream.toy_ages = ref_alloc(2, 1);
    copy = stream;
    mrc_arrays_forget(MRC_GROUP_state, &copy);
    assert_true(!copy.factor && !copy.toy_ages && copy.rank == 2);
    mrc_state_destroy(&copy);
    mrc_state_destroy(&stream);
    assert_true(!stream.factor && !stream.toy_ages);
    assert_int_equal(mrc_alloc_live(), live);
}

static void test_names(void **state)
{
    mercer_model *model = base_model(false);
    mercer_array array = {.struct_size = sizeof array}, none = array;
    int count = 0, points = 0, toys = 0;
    (void)state;
    assert_ok(mrc_model_seal(model, ctx, &err));
    for (const char *name; (name = mercer_model_array_name(count)); count++) {
        mercer_status rc = mercer_model_array(model, name, &array, &err);
        assert_true(rc == MERCER_OK || rc == MERCER_ERR_UNSUPPORTED);
        points += strcmp(name, "z") == 0; /* two lines of the list, one name */
        toys += strstr(name, "toy") != NULL;
    }
    assert_int_equal(points, 1);
    assert_int_equal(toys, 3);
    assert_int_equal(count, MRC_ARRAY_PARTS - 1);
    assert_null(mercer_model_array_name(-1));
    assert_null(mercer_model_array_name(count + 1));
    assert_ok(mercer_model_array(model, "head.errors", &array, &err));
    assert_ptr_equal(array.data, model->head.errors);
    assert_fails(mercer_model_array(model, "weights", &none, &err), MERCER_ERR_UNSUPPORTED,
                 "the model has no array weights");
    assert_fails(mercer_model_array(model, "wei\nghts", &none, &err), MERCER_ERR_ARGUMENT,
                 "there is no array called");
    assert_null(none.data);
    /* A program built against a shorter struct gets only that. */
    array = (mercer_array){.struct_size = offsetof(mercer_array, shape)};
    assert_ok(mercer_model_array(model, "offsets", &array, &err));
    assert_true(array.data == model->offsets && array.rank == 1 && array.shape[0] == 0);
    mercer_model_free(model);
}

static void test_points_in_every_form(void **state)
{
    struct recipe recipe = {.kernel = "rbf:sigma=2", .n = 7, .d = 3, .l = 2};
    mercer_array array = {.struct_size = sizeof array};
    (void)state;
    for (int packed = 0; packed < 2; packed++) {
        recipe.packed = packed;
        mercer_model *model = make_model(&recipe), *back = through_bytes(model);
        assert_ok(mercer_model_array(back, "z", &array, &err));
        assert_int_equal(array.dtype, packed ? MERCER_F32 : MERCER_F64);
        assert_true(array.rank == 2 && array.shape[0] == 7 && array.shape[1] == 3);
        assert_memory_equal(array.data, packed ? model->z_packed : (void *)model->z,
                            packed ? 7 * 3 * 4 : 7 * 3 * 8);
        mercer_model_free(back);
        mercer_model_free(model);
    }
}

/* The bytes are those of the file. */
static void test_bytes_are_those_of_the_file(void **state)
{
    mercer_model *model = base_model(false);
    const char *path = in_scratch("bytes.mercer");
    void *bytes = NULL;
    size_t size = 0, length;
    (void)state;
    assert_ok(mrc_model_seal(model, ctx, &err));
    assert_ok(mercer_model_to_bytes(ctx, model, &bytes, &size, &err));
    assert_ok(mercer_model_save(ctx, model, path, &err));
    char *saved = get_bytes(path, &length);
    assert_int_equal(size, length);
    assert_memory_equal(bytes, saved, size);
    mercer_model *back = model;
    assert_fails(mercer_model_from_bytes(ctx, bytes, 7, &back, &err), MERCER_ERR_FORMAT,
                 "bytes: is not a Mercer model (it has fewer than 8 bytes)");
    assert_null(back);
    test_free(saved);
    mercer_free(bytes);
    mercer_free(NULL);
    mercer_model_free(model);
}

static void test_failing_allocations(void **state)
{
    mercer_model *model = base_model(false), *out = NULL;
    void *bytes = NULL;
    size_t size = 0;
    mercer_status rc = MERCER_ERR_MEMORY;
    (void)state;
    for (int i = 0; i < MRC_ARRAY_PARTS; i++) /* a head with all of its arrays */
        if (mrc_array_parts[i].group == MRC_GROUP_head)
            fill(model, &mrc_array_parts[i]);
    model->toy_profile = ref_alloc(LENGTH, 3);
    model->toy_count = LENGTH;
    assert_ok(mrc_strdup(&model->toy_text, "text", &err));
    assert_ok(mrc_model_seal(model, ctx, &err));
    int64_t live = mrc_alloc_live();
    for (int64_t k = 0; rc != MERCER_OK; k++) {
        mrc_alloc_fail_after(k);
        rc = mercer_model_to_bytes(ctx, model, &bytes, &size, &err);
        mrc_alloc_fail_after(-1);
        assert_true(rc == MERCER_OK ? bytes && size > 0 : !bytes && size == 0);
        assert_true(rc == MERCER_OK || (rc == MERCER_ERR_MEMORY && mrc_alloc_live() == live));
    }
    for (int which = 0; which < 2; which++) {
        live = mrc_alloc_live();
        rc = MERCER_ERR_MEMORY;
        for (int64_t k = 0; rc != MERCER_OK; k++) {
            mrc_alloc_fail_after(k);
            rc = which == 0 ? mercer_model_from_bytes(ctx, bytes, size, &out, &err)
                            : mercer_model_truncate(ctx, model, 2, &out, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_int_equal(out != NULL, rc == MERCER_OK);
            mercer_model_free(out);
            assert_int_equal(mrc_alloc_live(), live);
        }
    }
    mercer_free(bytes);
    mercer_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_array_comes_back),
        TEST(test_every_array_is_truncated),
        TEST(test_every_array_is_checked),
        TEST(test_numbers_of_toys),
        TEST(test_lengths_come_from_shapes),
        TEST(test_arrays_of_a_state),
        TEST(test_names),
        TEST(test_points_in_every_form),
        TEST(test_bytes_are_those_of_the_file),
        TEST(test_failing_allocations),
    };
    return RUN_TESTS(tests);
}
