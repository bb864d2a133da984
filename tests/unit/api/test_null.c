/* SPDX-License-Identifier: BSD-3-Clause */
/* NULL where a pointer is required: an error code, or the documented result of a function that has
 * none, and never a crash. Every function that the headers declare is called with each of its
 * pointers NULL in turn; one that is not listed here fails the test. err may always be NULL. */
#include "classes_support.h"

#include <glob.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 30, D = 3 };

static mercer_fit_options fit;
static mercer_model *model;
static mercer_error why;

static char covered[8192] = " ";

/* The function is listed. */
static void of(const char *function)
{
    size_t used = strlen(covered);
    assert_true(used + strlen(function) + 2 < sizeof covered);
    snprintf(covered + used, sizeof covered - used, "%s ", function);
}

/* It fails with a line of text, and does without one. */
#define REFUSED(function, ...)                                                                     \
    do {                                                                                           \
        of(#function);                                                                             \
        why.text[0] = 0;                                                                           \
        assert_int_equal(function(__VA_ARGS__, &why), MERCER_ERR_ARGUMENT);                        \
        assert_true(why.text[0] && why.code == MERCER_ERR_ARGUMENT);                               \
        assert_int_equal(function(__VA_ARGS__, NULL), MERCER_ERR_ARGUMENT);                        \
    } while (0)
#define ZERO(function, ...)                                                                        \
    do {                                                                                           \
        of(#function);                                                                             \
        assert_true(!function(__VA_ARGS__));                                                       \
    } while (0)
#define QUIET(function, ...)                                                                       \
    do {                                                                                           \
        of(#function);                                                                             \
        function(__VA_ARGS__);                                                                     \
    } while (0)

static int set_up(void **state)
{
    (void)state;
    set_up_classes(N);
    mercer_fit_options_init(&fit);
    fit.method = "kpca";
    fit.kernel = "rbf:sigma=2";
    fit.components = 2;
    fit.head = "ls";
    assert_ok(mercer_fit(ctx, &fit, rows, classes, &model, NULL, err));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mercer_model_free(model);
    tear_down_classes();
    return 0;
}

static mercer_status host_kernel(void *host, const double *a, int64_t na, int64_t lda,
                                 const double *b, int64_t nb, int64_t ldb, int64_t d, double *out,
                                 int64_t ldo, mercer_error *error)
{
    (void)host, (void)a, (void)na, (void)lda, (void)b, (void)nb, (void)ldb, (void)d, (void)error;
    out[0] = (double)ldo;
    return MERCER_OK;
}

static void test_context(void **state)
{
    double number = 0;
    (void)state;
    REFUSED(mercer_ctx_new, NULL);
    REFUSED(mercer_ctx_set_threads, NULL, 1);
    REFUSED(mercer_ctx_set_memory, NULL, 1 << 30);
    REFUSED(mercer_ctx_set_limits, NULL, NULL);
    QUIET(mercer_limits_untrusted, NULL);
    QUIET(mercer_limits_init_sized, NULL, sizeof(mercer_limits));
    REFUSED(mercer_ctx_add_kernel, NULL, "own", host_kernel, NULL, 1);
    REFUSED(mercer_ctx_add_kernel, ctx, NULL, host_kernel, NULL, 1);
    REFUSED(mercer_ctx_add_kernel, ctx, "own", NULL, NULL, 1);
    REFUSED(mercer_ctx_add_kernel_owned, NULL, "own", host_kernel, NULL, NULL, 1);
    REFUSED(mercer_ctx_add_kernel_owned, ctx, NULL, host_kernel, NULL, NULL, 1);
    REFUSED(mercer_ctx_add_kernel_owned, ctx, "own", NULL, NULL, NULL, 1);
    REFUSED(mercer_ctx_set_comm, NULL, NULL);
    REFUSED(mercer_ctx_agree, NULL, MERCER_OK);
    REFUSED(mercer_ctx_broadcast, NULL, &number, sizeof number, 0);
    REFUSED(mercer_ctx_broadcast, ctx, NULL, 1, 0);
    REFUSED(mercer_ctx_copy_input, NULL, 0, "a", 1, "b");
    REFUSED(mercer_ctx_copy_input, ctx, 0, NULL, 1, "b");
    REFUSED(mercer_ctx_copy_input, ctx, 0, "a", 1, NULL);
    ZERO(mercer_ctx_rank, NULL);
    ZERO(mercer_ctx_ranks, NULL);
    ZERO(mercer_ctx_sent, NULL);
    int64_t first, count;
    REFUSED(mercer_ctx_part, NULL, 1, &first, &count);
    REFUSED(mercer_ctx_part, ctx, 1, NULL, &count);
    REFUSED(mercer_ctx_part, ctx, 1, &first, NULL);
    QUIET(mercer_comm_init_sized, NULL, sizeof(mercer_comm));
    ZERO(mercer_ctx_threads, NULL);
    ZERO(mercer_ctx_memory, NULL);
    ZERO(mercer_ctx_seed, NULL);
    QUIET(mercer_ctx_set_seed, NULL, 1);
    QUIET(mercer_ctx_set_parfor, NULL, NULL, NULL);
    QUIET(mercer_ctx_set_progress, NULL, NULL, NULL);
    QUIET(mercer_ctx_set_notice, NULL, NULL, NULL);
    QUIET(mercer_ctx_set_poll, NULL, NULL, NULL);
    QUIET(mercer_ctx_cancel, NULL);
    QUIET(mercer_ctx_resume, NULL);
    QUIET(mercer_ctx_discard_temporaries, NULL);
    QUIET(mercer_ctx_free, NULL);
    QUIET(mercer_free, NULL);
}

static void test_rows(void **state)
{
    static const char *const names[] = {"p", "q", "r"}, *const hole[] = {"p", NULL, "r"};
    const int64_t start[] = {0, 1};
    const int32_t column[] = {0};
    mercer_array dense = matrix_array(MERCER_F64, x, 1, 1, 1), nothing = dense;
    mercer_array starts = vector_array(MERCER_I64, start, 2);
    mercer_array columns = vector_array(MERCER_I32, column, 1),
                 values = vector_array(MERCER_F64, x, 1);
    mercer_rows *out = NULL;
    mercer_table *table = NULL;
    double one[D];
    (void)state;
    nothing.data = NULL;
    REFUSED(mercer_rows_view, NULL, &dense, &out);
    REFUSED(mercer_rows_view, ctx, NULL, &out);
    REFUSED(mercer_rows_view, ctx, &nothing, &out);
    REFUSED(mercer_rows_view, ctx, &dense, NULL);
    REFUSED(mercer_rows_view_part, NULL, &dense, 1, &out);
    REFUSED(mercer_rows_view_part, ctx, NULL, 1, &out);
    REFUSED(mercer_rows_view_part, ctx, &nothing, 1, &out);
    REFUSED(mercer_rows_view_part, ctx, &dense, 1, NULL);
    REFUSED(mercer_rows_view_csr_part, NULL, &starts, &columns, &values, 1, 1, &out);
    REFUSED(mercer_rows_view_csr_part, ctx, NULL, &columns, &values, 1, 1, &out);
    REFUSED(mercer_rows_view_csr_part, ctx, &starts, NULL, &values, 1, 1, &out);
    REFUSED(mercer_rows_view_csr_part, ctx, &starts, &columns, NULL, 1, 1, &out);
    REFUSED(mercer_rows_view_csr_part, ctx, &starts, &columns, &values, 1, 1, NULL);
    REFUSED(mercer_rows_view_csr, NULL, &starts, &columns, &values, 1, &out);
    REFUSED(mercer_rows_view_csr, ctx, NULL, &columns, &values, 1, &out);
    REFUSED(mercer_rows_view_csr, ctx, &starts, NULL, &values, 1, &out);
    REFUSED(mercer_rows_view_csr, ctx, &starts, &columns, NULL, 1, &out);
    REFUSED(mercer_rows_view_csr, ctx, &starts, &columns, &values, 1, NULL);
    REFUSED(mercer_rows_set_names, NULL, names);
    REFUSED(mercer_rows_set_names, rows, hole);
    REFUSED(mercer_rows_scale, NULL, rows, "unit", &out);
    REFUSED(mercer_rows_scale, ctx, NULL, "unit", &out);
    REFUSED(mercer_rows_scale, ctx, rows, "unit", NULL);
    assert_null(out);
    ZERO(mercer_rows_is_sparse, NULL);
    ZERO(mercer_rows_entries, NULL);
    ZERO(mercer_rows_count, NULL);
    ZERO(mercer_rows_columns, NULL);
    ZERO(mercer_rows_name, NULL, 0);
    QUIET(mercer_rows_copy, NULL, 0, 1, one);
    QUIET(mercer_rows_copy, rows, 0, 1, NULL);
    QUIET(mercer_rows_free, NULL);
    char *checksum = NULL;
    REFUSED(mercer_rows_checksum, NULL, &checksum);
    REFUSED(mercer_rows_checksum, rows, NULL);
    REFUSED(mercer_dataset_generate, NULL, "circle", NULL, &table);
    REFUSED(mercer_dataset_generate, ctx, NULL, NULL, &table);
    REFUSED(mercer_dataset_generate, ctx, "circle", NULL, NULL);
    assert_null(table);
    of("mercer_dataset_name");
    of("mercer_dataset_summary");
    QUIET(mercer_dataset_options_init_sized, NULL, sizeof(mercer_dataset_options));
}

static void test_targets(void **state)
{
    static const char *const names[] = {"p", "q"}, *const hole[] = {"p", NULL};
    const int64_t codes[] = {0, 1};
    mercer_targets *out = NULL;
    (void)state;
    REFUSED(mercer_targets_new_classes, NULL, 2, names, 2, NULL, &out);
    REFUSED(mercer_targets_new_classes, codes, 2, NULL, 2, NULL, &out);
    REFUSED(mercer_targets_new_classes, codes, 2, hole, 2, NULL, &out);
    REFUSED(mercer_targets_new_classes, codes, 2, names, 2, NULL, NULL);
    REFUSED(mercer_targets_new_values, NULL, 1, 2, names, &out);
    REFUSED(mercer_targets_new_values, x, 1, 2, hole, &out);
    REFUSED(mercer_targets_new_values, x, 1, 2, names, NULL);
    assert_null(out);
    ZERO(mercer_targets_kind, NULL);
    ZERO(mercer_targets_classes, NULL);
    ZERO(mercer_targets_class_name, NULL, 0);
    ZERO(mercer_targets_codes, NULL);
    ZERO(mercer_targets_columns, NULL);
    ZERO(mercer_targets_values, NULL);
    ZERO(mercer_targets_name, NULL, 0);
    QUIET(mercer_targets_free, NULL);
}

static void test_reading(void **state)
{
    mercer_table *table = NULL;
    mercer_reader *reader = NULL;
    mercer_read_options options;
    int64_t skipped = 0;
    char path[] = "/tmp/mercer-null-XXXXXX";
    int file = mkstemp(path);
    (void)state;
    assert_true(file >= 0 && write(file, "a,b\n1,2\n", 8) == 8);
    close(file);
    mercer_read_options_init(&options);
    REFUSED(mercer_table_read, NULL, path, NULL, &table);
    REFUSED(mercer_table_read, ctx, NULL, NULL, &table);
    REFUSED(mercer_table_read, ctx, path, NULL, NULL);
    REFUSED(mercer_table_read_part, NULL, path, NULL, &table);
    REFUSED(mercer_table_read_part, ctx, NULL, NULL, &table);
    REFUSED(mercer_table_read_part, ctx, path, NULL, NULL);
    REFUSED(mercer_reader_open, NULL, path, NULL, &reader);
    REFUSED(mercer_reader_open, ctx, NULL, NULL, &reader);
    REFUSED(mercer_reader_open, ctx, path, NULL, NULL);
    options.format = "csv";
    assert_ok(mercer_reader_open(ctx, path, &options, &reader, err));
    REFUSED(mercer_reader_next, NULL, reader, 1, &table);
    REFUSED(mercer_reader_next, ctx, NULL, 1, &table);
    REFUSED(mercer_reader_next, ctx, reader, 1, NULL);
    REFUSED(mercer_reader_skip, NULL, reader, 1, &skipped);
    REFUSED(mercer_reader_skip, ctx, NULL, 1, &skipped);
    REFUSED(mercer_reader_skip, ctx, reader, 1, NULL);
    ZERO(mercer_reader_skipped, NULL, NULL);
    ZERO(mercer_reader_skipped, reader, NULL);
    assert_ok(mercer_reader_next(ctx, reader, 1, &table, err));
    QUIET(mercer_table_read_options, NULL, &options);
    QUIET(mercer_table_read_options, table, NULL);
    REFUSED(mercer_table_scale, NULL, table, "unit");
    REFUSED(mercer_table_scale, ctx, NULL, "unit");
    mercer_table_free(table);
    mercer_reader_close(reader);
    ZERO(mercer_table_rows, NULL);
    ZERO(mercer_table_targets, NULL);
    ZERO(mercer_table_target_origin, NULL);
    int64_t group = 0;
    REFUSED(mercer_table_groups, NULL, &group);
    ZERO(mercer_table_id, NULL, 0);
    ZERO(mercer_table_id_name, NULL);
    ZERO(mercer_format_find, NULL, NULL);
    ZERO(mercer_format_at, -1);
    ZERO(mercer_format_at, 1000);
    ZERO(mercer_entry_writes, NULL);
    QUIET(mercer_table_free, NULL);
    QUIET(mercer_reader_close, NULL);
    QUIET(mercer_read_options_init_sized, NULL, sizeof options);
    unlink(path);
}

static void test_writing(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    mercer_writer *writer = NULL;
    void *bytes = NULL;
    const void *taken = NULL;
    int64_t count = 0;
    size_t size = 0;
    char path[] = "/tmp/mercer-null-XXXXXX";
    int file = mkstemp(path);
    (void)state;
    assert_true(file >= 0);
    close(file);
    REFUSED(mercer_writer_open, NULL, path, "csv", D, names, NULL, &writer);
    REFUSED(mercer_writer_open, ctx, NULL, "csv", D, names, NULL, &writer);
    REFUSED(mercer_writer_open, ctx, path, "csv", D, names, NULL, NULL);
    REFUSED(mercer_writer_open_texts, NULL, path, "csv", D, names, 2, names, &writer);
    REFUSED(mercer_writer_open_texts, ctx, NULL, "csv", D, names, 2, names, &writer);
    REFUSED(mercer_writer_open_texts, ctx, path, "csv", D, names, 2, NULL, &writer);
    REFUSED(mercer_writer_open_texts, ctx, path, "csv", D, names, 2, names, NULL);
    assert_null(writer);
    assert_ok(mercer_writer_open(ctx, path, "csv", D, names, NULL, &writer, err));
    REFUSED(mercer_writer_rows, NULL, writer, x, 1, D, NULL);
    REFUSED(mercer_writer_rows, ctx, NULL, x, 1, D, NULL);
    REFUSED(mercer_writer_rows, ctx, writer, NULL, 1, D, NULL);
    REFUSED(mercer_writer_add, NULL, writer, rows, NULL);
    REFUSED(mercer_writer_add, ctx, NULL, rows, NULL);
    REFUSED(mercer_writer_add, ctx, writer, NULL, NULL);
    REFUSED(mercer_writer_flush, NULL);
    REFUSED(mercer_writer_append, NULL, writer, x, 8, 1);
    REFUSED(mercer_writer_append, ctx, NULL, x, 8, 1);
    REFUSED(mercer_writer_append, ctx, writer, NULL, 8, 1);
    REFUSED(mercer_writer_finish, ctx, NULL);
    assert_int_equal(mercer_writer_finish(NULL, writer, &why), MERCER_ERR_ARGUMENT); /* frees it */
    QUIET(mercer_writer_abort, NULL);
    REFUSED(mercer_writer_open_part, NULL, path, "csv", D, 2, names, &writer);
    REFUSED(mercer_writer_open_part, ctx, NULL, "csv", D, 2, names, &writer);
    REFUSED(mercer_writer_open_part, ctx, path, "csv", D, 2, NULL, &writer);
    REFUSED(mercer_writer_open_part, ctx, path, "csv", D, 2, names, NULL);
    assert_ok(mercer_writer_open_part(ctx, path, "csv", D, 0, NULL, &writer, err));
    REFUSED(mercer_writer_take, NULL, &taken, &size, &count);
    REFUSED(mercer_writer_take, writer, NULL, &size, &count);
    REFUSED(mercer_writer_take, writer, &taken, NULL, &count);
    REFUSED(mercer_writer_take, writer, &taken, &size, NULL);
    mercer_writer_abort(writer);
    ZERO(mercer_number_format, 1.5, NULL, MERCER_NUMBER_SIZE);
    REFUSED(mercer_image_write, NULL, path, "pgm", x, 1, 1, 1, NULL);
    REFUSED(mercer_image_write, ctx, NULL, "pgm", x, 1, 1, 1, NULL);
    REFUSED(mercer_image_write, ctx, path, "pgm", NULL, 1, 1, 1, NULL);
    REFUSED(mercer_file_write, NULL, path, x, 1);
    REFUSED(mercer_file_write, ctx, NULL, x, 1);
    REFUSED(mercer_file_write, ctx, path, NULL, 1);
    REFUSED(mercer_image_to_png, NULL, 1, 1, 1, NULL, &bytes, &size);
    REFUSED(mercer_image_to_png, x, 1, 1, 1, NULL, NULL, &size);
    REFUSED(mercer_image_to_png, x, 1, 1, 1, NULL, &bytes, NULL);
    unlink(path);
}

static void test_fitting(void **state)
{
    mercer_model *out = NULL;
    mercer_parameter parameter = {.struct_size = sizeof parameter};
    mercer_entry_info entry_info = {.struct_size = sizeof entry_info};
    const mercer_entry *entry = mercer_method_at(0);
    (void)state;
    REFUSED(mercer_fit, NULL, &fit, rows, classes, &out, NULL);
    REFUSED(mercer_fit, ctx, NULL, rows, classes, &out, NULL);
    REFUSED(mercer_fit, ctx, &fit, NULL, classes, &out, NULL);
    REFUSED(mercer_fit, ctx, &fit, rows, classes, NULL, NULL);
    mercer_forecast forecast = {.struct_size = sizeof forecast};
    REFUSED(mercer_fit_forecast, NULL, &fit, rows, classes, 0, 0, &forecast);
    REFUSED(mercer_fit_forecast, ctx, NULL, rows, classes, 0, 0, &forecast);
    REFUSED(mercer_fit_forecast, ctx, &fit, NULL, classes, 0, 0, &forecast);
    REFUSED(mercer_fit_forecast, ctx, &fit, rows, classes, 0, 0, NULL);
    mercer_survey survey = {.struct_size = sizeof survey};
    REFUSED(mercer_rows_survey, NULL, rows, NULL, &survey);
    REFUSED(mercer_rows_survey, ctx, NULL, NULL, &survey);
    REFUSED(mercer_rows_survey, ctx, rows, NULL, NULL);
    QUIET(mercer_survey_init_sized, NULL, sizeof survey);
    QUIET(mercer_forecast_init_sized, NULL, sizeof forecast);
    REFUSED(mercer_fit_options_check, NULL, 0);
    REFUSED(mercer_fit_options_set, NULL, "method", "kpca");
    REFUSED(mercer_fit_options_set, &fit, NULL, "kpca");
    ZERO(mercer_fit_option_at, 0, NULL);
    QUIET(mercer_fit_options_init_sized, NULL, sizeof fit);
    QUIET(mercer_fit_report_init_sized, NULL, sizeof(mercer_fit_report));
    QUIET(mercer_parameter_init_sized, NULL, sizeof parameter);
    assert_null(out);
    ZERO(mercer_entry_name, NULL);
    ZERO(mercer_entry_summary, NULL);
    ZERO(mercer_entry_reference, NULL);
    ZERO(mercer_entry_streams, NULL);
    ZERO(mercer_entry_parameter, NULL, 0, &parameter);
    ZERO(mercer_entry_parameter, entry, 0, NULL);
    QUIET(mercer_entry_get_info, NULL, &entry_info);
    QUIET(mercer_entry_get_info, entry, NULL);
    QUIET(mercer_entry_info_init_sized, NULL, sizeof entry_info);
    REFUSED(mercer_schema_json, NULL);
    ZERO(mercer_method_find, NULL);
    ZERO(mercer_kernel_find, NULL);
    ZERO(mercer_head_find, NULL);
    of("mercer_method_at");
    of("mercer_kernel_at");
    of("mercer_head_at");
}

static void test_models(void **state)
{
    mercer_model *out = NULL;
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_read_options options;
    double values[N * D];
    (void)state;
    mercer_read_options_init(&options);
    REFUSED(mercer_model_transform, NULL, model, rows, NULL, values, NULL);
    REFUSED(mercer_model_transform, ctx, NULL, rows, NULL, values, NULL);
    REFUSED(mercer_model_transform, ctx, model, NULL, NULL, values, NULL);
    REFUSED(mercer_model_transform, ctx, model, rows, NULL, NULL, NULL);
    mercer_array into = matrix_array(MERCER_F64, values, N, 2, 2);
    REFUSED(mercer_model_transform_into, NULL, model, rows, NULL, &into, NULL);
    REFUSED(mercer_model_transform_into, ctx, NULL, rows, NULL, &into, NULL);
    REFUSED(mercer_model_transform_into, ctx, model, NULL, NULL, &into, NULL);
    REFUSED(mercer_model_transform_into, ctx, model, rows, NULL, NULL, NULL);
    into.data = NULL;
    REFUSED(mercer_model_transform_into, ctx, model, rows, NULL, &into, NULL);
    REFUSED(mercer_model_p_values, NULL, values, 1, values);
    REFUSED(mercer_model_p_values, model, NULL, 1, values);
    REFUSED(mercer_model_p_values, model, values, 1, NULL);
    REFUSED(mercer_model_half_widths, NULL, 0.9, values);
    REFUSED(mercer_model_half_widths, model, 0.9, NULL);
    REFUSED(mercer_model_predict, NULL, model, rows, 0, values, NULL);
    REFUSED(mercer_model_predict, ctx, NULL, rows, 0, values, NULL);
    REFUSED(mercer_model_predict, ctx, model, NULL, 0, values, NULL);
    REFUSED(mercer_model_predict, ctx, model, rows, 0, NULL, NULL);
    REFUSED(mercer_model_inverse, NULL, model, x, 1, values, NULL);
    REFUSED(mercer_model_inverse, ctx, NULL, x, 1, values, NULL);
    REFUSED(mercer_model_inverse, ctx, model, NULL, 1, values, NULL);
    REFUSED(mercer_model_inverse, ctx, model, x, 1, NULL, NULL);
    REFUSED(mercer_model_truncate, NULL, model, 1, &out);
    REFUSED(mercer_model_truncate, ctx, NULL, 1, &out);
    REFUSED(mercer_model_truncate, ctx, model, 1, NULL);
    REFUSED(mercer_model_save, NULL, model, "/tmp/mercer-null");
    REFUSED(mercer_model_save, ctx, NULL, "/tmp/mercer-null");
    REFUSED(mercer_model_save, ctx, model, NULL);
    REFUSED(mercer_model_load, NULL, "/tmp/mercer-null", &out);
    REFUSED(mercer_model_load, ctx, NULL, &out);
    REFUSED(mercer_model_load, ctx, "/tmp/mercer-null", NULL);
    void *bytes = NULL;
    size_t size = 0;
    mercer_array array = {.struct_size = sizeof array};
    REFUSED(mercer_model_to_bytes, NULL, model, &bytes, &size);
    REFUSED(mercer_model_to_bytes, ctx, NULL, &bytes, &size);
    REFUSED(mercer_model_to_bytes, ctx, model, NULL, &size);
    REFUSED(mercer_model_to_bytes, ctx, model, &bytes, NULL);
    REFUSED(mercer_model_from_bytes, NULL, "x", 1, &out);
    REFUSED(mercer_model_from_bytes, ctx, NULL, 1, &out);
    REFUSED(mercer_model_from_bytes, ctx, "x", 1, NULL);
    REFUSED(mercer_model_array, NULL, "z", &array);
    REFUSED(mercer_model_array, model, NULL, &array);
    REFUSED(mercer_model_array, model, "z", NULL);
    ZERO(mercer_model_array_name, -1);
    QUIET(mercer_free, NULL);
    mercer_fit_report report;
    char *text = NULL;
    mercer_fit_report_init(&report);
    REFUSED(mercer_model_info_json, NULL, &text);
    REFUSED(mercer_model_info_json, model, NULL);
    REFUSED(mercer_fit_report_json, NULL, &report, &text);
    REFUSED(mercer_fit_report_json, model, NULL, &text);
    REFUSED(mercer_fit_report_json, model, &report, NULL);
    assert_null(text);
    assert_null(out);
    QUIET(mercer_model_get_info, NULL, &info);
    QUIET(mercer_model_get_info, model, NULL);
    ZERO(mercer_model_column_name, NULL, 0);
    ZERO(mercer_model_output_name, NULL, 0);
    ZERO(mercer_model_target_name, NULL, 0);
    ZERO(mercer_model_target_name, model, 0);
    QUIET(mercer_model_read_options, NULL, &options);
    QUIET(mercer_model_read_options, model, NULL);
    QUIET(mercer_model_info_init_sized, NULL, sizeof info);
    QUIET(mercer_array_init_sized, NULL, sizeof array);
    QUIET(mercer_model_free, NULL);
    ZERO(mercer_model_share, NULL);
}

static void test_streams(void **state)
{
    mercer_stream *stream = NULL, *other = NULL;
    mercer_stream_info info = {.struct_size = sizeof info};
    const mercer_model *out = NULL;
    mercer_fit_options options;
    (void)state;
    mercer_fit_options_init(&options);
    options.method = "ikpca";
    assert_ok(mercer_stream_new(ctx, &options, &stream, err));
    REFUSED(mercer_stream_new, NULL, &options, &other);
    REFUSED(mercer_stream_new, ctx, NULL, &other);
    REFUSED(mercer_stream_new, ctx, &options, NULL);
    REFUSED(mercer_stream_continue, NULL, model, &other);
    REFUSED(mercer_stream_continue, ctx, NULL, &other);
    REFUSED(mercer_stream_continue, ctx, model, NULL);
    REFUSED(mercer_stream_push, NULL, stream, rows);
    REFUSED(mercer_stream_push, ctx, NULL, rows);
    REFUSED(mercer_stream_push, ctx, stream, NULL);
    REFUSED(mercer_stream_flush, NULL, stream);
    REFUSED(mercer_stream_flush, ctx, NULL);
    REFUSED(mercer_stream_model, NULL, stream, &out, NULL);
    REFUSED(mercer_stream_model, ctx, NULL, &out, NULL);
    REFUSED(mercer_stream_model, ctx, stream, NULL, NULL);
    assert_true(!other && !out);
    QUIET(mercer_stream_get_info, NULL, &info);
    QUIET(mercer_stream_get_info, stream, NULL);
    QUIET(mercer_stream_info_init_sized, NULL, sizeof info);
    QUIET(mercer_stream_begin_input, NULL);
    QUIET(mercer_stream_resume_input, NULL);
    QUIET(mercer_stream_free, NULL);
    mercer_stream_free(stream);
}

static void test_evaluations(void **state)
{
    mercer_evaluation *out = NULL;
    mercer_evaluate_options options;
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_evaluation_fold fold = {.struct_size = sizeof fold, .rows = -7};
    const double *points;
    int64_t count;
    (void)state;
    mercer_evaluate_options_init(&options);
    REFUSED(mercer_evaluate, ctx, &options, rows, classes, &out); /* no options of a fit */
    options.fit = &fit;
    options.folds = 2;
    REFUSED(mercer_evaluate, NULL, &options, rows, classes, &out);
    REFUSED(mercer_evaluate, ctx, NULL, rows, classes, &out);
    REFUSED(mercer_evaluate, ctx, &options, NULL, classes, &out);
    REFUSED(mercer_evaluate, ctx, &options, rows, classes, NULL);
    assert_null(out);
    assert_ok(mercer_evaluate(ctx, &options, rows, classes, &out, err));
    char *text = NULL;
    REFUSED(mercer_evaluation_json, NULL, &text);
    REFUSED(mercer_evaluation_json, out, NULL);
    mercer_evaluation_importance(NULL, &points, &count);
    assert_true(points == NULL && count == 0);
    QUIET(mercer_evaluation_importance, out, NULL, NULL);
    ZERO(mercer_evaluation_column_name, NULL, 0);
    REFUSED(mercer_evaluation_get_roc, NULL, &points, &count);
    REFUSED(mercer_evaluation_get_roc, out, NULL, &count);
    REFUSED(mercer_evaluation_get_roc, out, &points, NULL);
    QUIET(mercer_evaluation_get_info, NULL, &info);
    QUIET(mercer_evaluation_get_info, out, NULL);
    QUIET(mercer_evaluation_get_fold, NULL, 0, &fold);
    QUIET(mercer_evaluation_get_fold, out, 0, NULL);
    QUIET(mercer_evaluation_get_fold, out, 2, &fold);
    QUIET(mercer_evaluation_get_fold, out, -1, &fold);
    assert_int_equal(fold.rows, -7);
    ZERO(mercer_fit_options_can_tune, NULL, "components=1");
    ZERO(mercer_fit_options_can_tune, &fit, NULL);
    QUIET(mercer_evaluate_options_init_sized, NULL, sizeof options);
    QUIET(mercer_evaluation_info_init_sized, NULL, sizeof info);
    QUIET(mercer_evaluation_fold_init_sized, NULL, sizeof fold);
    QUIET(mercer_evaluation_free, NULL);
    mercer_evaluation_free(out);
}

static void test_tuning(void **state)
{
    static const char *const texts[] = {"components=1,2"};
    mercer_evaluation *out = NULL;
    mercer_evaluate_options options;
    mercer_tuning tuning = {.struct_size = sizeof tuning, .cells = -7};
    mercer_tuning_axis axis = {.struct_size = sizeof axis, .count = -7};
    (void)state;
    mercer_evaluate_options_init(&options);
    options.fit = &fit;
    options.tune = texts;
    options.tune_count = 1;
    REFUSED(mercer_journal_remove, NULL);
    REFUSED(mercer_tune, NULL, &options, rows, classes, &out);
    REFUSED(mercer_tune, ctx, NULL, rows, classes, &out);
    REFUSED(mercer_tune, ctx, &options, NULL, classes, &out);
    REFUSED(mercer_tune, ctx, &options, rows, classes, NULL);
    assert_null(out);
    assert_ok(mercer_tune(ctx, &options, rows, classes, &out, err));
    QUIET(mercer_evaluation_get_tuning, NULL, &tuning);
    QUIET(mercer_evaluation_get_tuning, out, NULL);
    QUIET(mercer_evaluation_get_axis, NULL, 0, &axis);
    QUIET(mercer_evaluation_get_axis, out, 0, NULL);
    QUIET(mercer_evaluation_get_axis, out, 1, &axis);
    QUIET(mercer_evaluation_get_axis, out, -1, &axis);
    assert_true(tuning.cells == -7 && axis.count == -7);
    QUIET(mercer_tuning_init_sized, NULL, sizeof tuning);
    QUIET(mercer_tuning_axis_init_sized, NULL, sizeof axis);
    mercer_evaluation_free(out);
}

/* Inside of a criterion. */
static mercer_status choose(void *host, mercer_step *step, double *beta, mercer_error *err)
{
    const double *out;
    const int64_t first = 0;
    double v[2 * N] = {0};
    (void)host, (void)err;
    REFUSED(mercer_step_apply, NULL, v, 1, v);
    REFUSED(mercer_step_apply, step, NULL, 1, v);
    REFUSED(mercer_step_apply, step, v, 1, NULL);
    REFUSED(mercer_step_columns, NULL, &first, 1, v);
    REFUSED(mercer_step_columns, step, NULL, 1, v);
    REFUSED(mercer_step_columns, step, &first, 1, NULL);
    REFUSED(mercer_step_diagonal, NULL, &out);
    REFUSED(mercer_step_diagonal, step, NULL);
    REFUSED(mercer_step_deflate, NULL, v);
    REFUSED(mercer_step_deflate, step, NULL);
    ZERO(mercer_step_rows, NULL);
    ZERO(mercer_step_outputs, NULL);
    ZERO(mercer_step_features, NULL);
    ZERO(mercer_step_targets, NULL);
    ZERO(mercer_step_residual_targets, NULL);
    beta[0] = 1;
    return MERCER_OK;
}

static void test_criteria(void **state)
{
    mercer_criterion criterion;
    mercer_fit_options options;
    mercer_model *out = NULL;
    (void)state;
    mercer_fit_options_init(&options);
    QUIET(mercer_criterion_init_sized, NULL, sizeof criterion);
    mercer_criterion_init(&criterion);
    criterion.name = "own";
    criterion.choose = choose;
    options.criterion = &criterion;
    options.components = 1;
    assert_ok(mercer_fit(ctx, &options, rows, classes, &out, NULL, err));
    mercer_model_free(out);
    criterion.choose = NULL;
    REFUSED(mercer_fit, ctx, &options, rows, classes, &out, NULL);
    criterion.choose = choose;
    criterion.name = NULL;
    REFUSED(mercer_fit, ctx, &options, rows, classes, &out, NULL);
}

/* What the headers declare is listed above. */
static void test_no_function_is_missing(void **state)
{
    glob_t headers;
    int declared = 0;
    (void)state;
    of("mercer_status_text");
    assert_int_equal(glob(MERCER_CORPUS "/../../include/mercer/*.h", 0, NULL, &headers), 0);
    for (size_t h = 0; h < headers.gl_pathc; h++) {
        static char text[1 << 16];
        FILE *file = fopen(headers.gl_pathv[h], "r");
        assert_non_null(file);
        size_t length = fread(text, 1, sizeof text - 1, file);
        text[length] = 0;
        assert_int_equal(fclose(file), 0);
        for (const char *at = text; (at = strstr(at, "\nMERCER_API ")); at++) {
            const char *end = strchr(at, '('), *start = end;
            char name[80];
            while (start[-1] == '_' || (start[-1] >= 'a' && start[-1] <= 'z') ||
                   (start[-1] >= '0' && start[-1] <= '9'))
                start--;
            snprintf(name, sizeof name, " %.*s ", (int)(end - start), start);
            declared++;
            if (!strstr(covered, name) && strncmp(end, "(void)", 6) != 0)
                fail_msg("%s is not called with NULL: list it", name);
        }
        for (const char *at = text; (at = strstr(at, "\nMERCER_VERSIONED(")); at++) {
            const char *start = strchr(at, '(') + 1;
            char name[80];
            snprintf(name, sizeof name, " mercer_%.*s_init_sized ", (int)strcspn(start, ")"),
                     start);
            declared++;
            if (!strstr(covered, name))
                fail_msg("%s is not called with NULL: list it", name);
        }
    }
    globfree(&headers);
    assert_true(declared > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context),     cmocka_unit_test(test_rows),
        cmocka_unit_test(test_targets),     cmocka_unit_test(test_reading),
        cmocka_unit_test(test_writing),     cmocka_unit_test(test_fitting),
        cmocka_unit_test(test_models),      cmocka_unit_test(test_streams),
        cmocka_unit_test(test_evaluations), cmocka_unit_test(test_tuning),
        cmocka_unit_test(test_criteria),    cmocka_unit_test(test_no_function_is_missing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
