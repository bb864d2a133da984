/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs of callers of every age: each is cut before each of its fields and stands at the end of a
 * page, the next of which nobody may touch. What works with the whole struct works with its
 * beginning as if the rest had its default, wherever the library passes it on to. */
#include "classes_support.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 60, D = 3, MAX_FIELDS = 64 };

CLASSES_GROUP(N)

/* ---- structs at the end of a page ---- */

typedef struct page {
    char *memory;
    size_t length;
    void *at; /* the last bytes of it */
} page;

static page guarded(const void *from, size_t size)
{
    size_t one = (size_t)sysconf(_SC_PAGESIZE);
    page p = {.length = 2 * one};
    assert_true(size <= one);
    p.memory = mmap(NULL, p.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p.memory != MAP_FAILED);
    assert_int_equal(mprotect(p.memory + one, one, PROT_NONE), 0);
    p.at = p.memory + one - size;
    if (from)
        memcpy(p.at, from, size);
    memcpy(p.at, &size, sizeof size);
    return p;
}

static void page_free(page *p)
{
    assert_int_equal(munmap(p->memory, p->length), 0);
}

/* Where a struct can end: before each field, as a compiler would pad it, and behind the last. */
typedef struct field {
    size_t offset, size;
} field;
#define F(type, name)                                                                              \
    {                                                                                              \
        offsetof(type, name), sizeof((type *)0)->name                                              \
    }

static int ends_of(const field *fields, size_t count, size_t whole, size_t *out)
{
    int ends = 0;
    size_t end = sizeof(size_t);
    assert_true(count < MAX_FIELDS);
    for (size_t f = 0; f < count; f++) { /* all fields are listed, in order */
        assert_true(fields[f].offset >= end && fields[f].offset - end < sizeof(size_t));
        end = fields[f].offset + fields[f].size;
        out[ends++] = (fields[f].offset + sizeof(size_t) - 1) / sizeof(size_t) * sizeof(size_t);
    }
    assert_true(whole >= end && whole - end < sizeof(size_t));
    out[ends++] = whole;
    return ends;
}

#define ENDS(fields, type, out)                                                                    \
    ends_of(fields, sizeof(fields) / sizeof *(fields), sizeof(type), out)

static const field fit_fields[] = {
#define X(name) F(mercer_fit_options, name)
    X(method),        X(criterion),    X(kernel),    X(components), X(center),
    X(scale),         X(scale_target), X(landmarks), X(validation), X(validation_targets),
    X(head),          X(novelty),      X(store),     X(precision),  X(command),
    X(want_features), X(intervals),    X(keep),      X(groups),     X(map),
    X(tolerance),     X(toy),
#undef X
};

static const field evaluate_fields[] = {
#define X(name) F(mercer_evaluate_options, name)
    X(fit),        X(folds),       X(repeats),      X(splits),     X(split_start),
    X(split_rows), X(test),        X(test_targets), X(metric),     X(tune),
    X(tune_count), X(inner_folds), X(predictions),  X(positive),   X(tune_rule),
    X(groups),     X(ordered),     X(choose),       X(importance), X(journal),
#undef X
};

static const field read_fields[] = {
#define X(name) F(mercer_read_options, name)
    X(format),
    X(label),
    X(target),
    X(labels_file),
    X(no_label),
    X(only),
    X(only_count),
    X(resize_width),
    X(resize_height),
    X(columns),
    X(ignore_extra_columns),
    X(encode),
    X(missing),
    X(image_features),
    X(prepare),
    X(skip_labels),
    X(fill_blocks),
    X(header),
    X(labels_header),
    X(use_columns),
    X(drop_columns),
    X(id),
    X(id_optional),
    X(delimiter),
    X(decimal),
    X(thousands),
    X(encoding),
    X(comment),
    X(na),
    X(groups),
    X(unlabelled),
#undef X
};

static const field limits_fields[] = {
#define X(name) F(mercer_limits, name)
    X(max_rows),    X(max_columns), X(max_bytes), X(max_name_bytes),
    X(max_seconds), X(plain_files), X(confine),
#undef X
};

static const field generate_fields[] = {
    F(mercer_dataset_options, rows),
    F(mercer_dataset_options, noise),
};

static const field report_fields[] = {
#define X(name) F(mercer_fit_report, name)
    X(store),
    X(store_reason),
    X(solver),
    X(store_bytes),
    X(store_rank),
    X(passes),
    X(residual),
    X(reconstruction_error),
    X(projection_variance),
    X(total_variance),
    X(seconds),
    X(features),
#undef X
};

static const field forecast_fields[] = {
#define X(name) F(mercer_forecast, name)
    X(seconds),      X(seconds_low), X(seconds_high), X(measured), X(store),
    X(store_reason), X(store_rank),  X(memory_bytes), X(cheaper),  X(cheaper_seconds),
#undef X
};

static const field survey_fields[] = {
#define X(name) F(mercer_survey, name)
    X(looked_at),        X(constant_columns), X(repeated_rows), X(widest_column), X(spread_ratio),
    X(square_symmetric), X(largest),          X(least),         X(whole_numbers), X(features),
    X(median_distance),  X(linear_share),     X(kernel_share),
#undef X
};

static const field model_fields[] = {
#define X(name) F(mercer_model_info, name)
    X(method),
    X(kernel),
    X(center),
    X(scale),
    X(components),
    X(columns),
    X(rows),
    X(expansion_points),
    X(orthonormal),
    X(spectrum),
    X(total_variance),
    X(reconstruction_error),
    X(selected),
    X(selected_count),
    X(version),
    X(command),
    X(data_hash),
    X(seed),
    X(novelty_threshold),
    X(novelty_share),
    X(image_features),
    X(image_width),
    X(image_height),
    X(image_channels),
    X(missing),
    X(encode),
    X(expansion_entries),
    X(correlated),
    X(selection),
    X(alignment),
    X(covariance),
    X(kernel_evaluations),
    X(bound),
    X(influence),
    X(influence_count),
    X(kernel_alignment),
    X(head),
    X(head_kind),
    X(head_outputs),
    X(head_rows),
    X(head_errors),
    X(scale_target),
    X(trace),
    X(trace_seconds),
    X(trace_count),
    X(stream_blocks),
    X(stream_evaluations),
    X(stream_block_evaluations),
    X(stream_unfinished),
    X(weight),
    X(nested),
    X(invertible),
    X(precomputed),
    X(sparse),
    X(label_column),
    X(id_column),
    X(left_out_share),
    X(head_left_out),
    X(map),
    X(map_columns),
    X(map_weights),
#undef X
};

static const field stream_fields[] = {
#define X(name) F(mercer_stream_info, name)
    X(rows),           X(pending),       X(wanted),  X(block), X(blocks),      X(input_rows),
    X(points),         X(rank),          X(outside), X(lost),  X(evaluations), X(block_evaluations),
    X(input_finished), X(input_differs),
#undef X
};

static const field parameter_fields[] = {
#define X(name) F(mercer_parameter, name)
    X(key),          X(help),         X(default_value),  X(allowed),   X(type),
    X(choices),      X(calls),        X(default_number), X(minimum),   X(maximum),
    X(minimum_open), X(maximum_open), X(default_word),   X(other_key),
#undef X
};

static const field entry_fields[] = {
#define X(name) F(mercer_entry_info, name)
    X(name),         X(summary),    X(reference),      X(default_center),  X(default_head),
    X(learns),       X(streams),    X(linear_only),    X(takes_landmarks), X(takes_validation),
    X(learns_width), X(not_nested), X(centers),        X(endings),         X(writes),
    X(has_header),   X(has_arrays), X(default_kernel), X(takes_tolerance),
#undef X
};

static const field criterion_fields[] = {
#define X(name) F(mercer_criterion, name)
    X(name),
    X(choose),
    X(host),
    X(sparse),
#undef X
};

static const field array_fields[] = {
#define X(name) F(mercer_array, name)
    X(data), X(dtype), X(rank), X(shape), X(stride), X(release), X(host),
#undef X
};

static const field evaluation_fields[] = {
#define X(name) F(mercer_evaluation_info, name)
    X(metric), X(summary), X(larger_is_better), X(mean),    X(sd),        X(folds),
    X(kind),   X(outputs), X(confusion),        X(choices), X(undecided), X(positive),
#undef X
};

static const field fold_fields[] = {
#define X(name) F(mercer_evaluation_fold, name)
    X(value), X(inner), X(chosen), X(components), X(points), X(rows), X(row), X(codes), X(scores),
#undef X
};

static const field tuning_fields[] = {
#define X(name) F(mercer_tuning, name)
    X(cells),  X(axes), X(rows),   X(folds),  X(rule),   X(mean), X(se),
    X(values), X(best), X(chosen), X(method), X(kernel), X(head), X(components),
#undef X
};

static const field axis_fields[] = {
#define X(name) F(mercer_tuning_axis, name)
    X(key), X(count), X(values), X(chosen), X(further),
#undef X
};

/* ---- options ---- */

/* The same options, whole, with what lies beyond `end` at its default. */
static mercer_fit_options first_bytes(const mercer_fit_options *from, size_t end)
{
    mercer_fit_options out;
    mercer_fit_options_init(&out);
    memcpy((char *)&out + sizeof(size_t), (const char *)from + sizeof(size_t),
           end - sizeof(size_t));
    return out;
}

static mercer_model *fit_or_null(const mercer_fit_options *options)
{
    mercer_model *model = NULL;
    mercer_error why = {0};
    mercer_ctx_set_seed(ctx, 1);
    mercer_status rc = mercer_fit(ctx, options, rows, classes, &model, NULL, &why);
    assert_true(rc == MERCER_OK || rc == MERCER_ERR_ARGUMENT);
    assert_int_equal(mercer_fit_options_check(options, 0, NULL), rc);
    return model;
}

static void assert_same_models(const mercer_model *a, const mercer_model *b)
{
    mercer_model_info of_a = {.struct_size = sizeof of_a}, of_b = {.struct_size = sizeof of_b};
    mercer_model_get_info(a, &of_a);
    mercer_model_get_info(b, &of_b);
    assert_int_equal(of_a.components, of_b.components);
    assert_string_equal(of_a.head ? of_a.head : "", of_b.head ? of_b.head : "");
    assert_string_equal(of_a.command, of_b.command);
    assert_true(of_a.novelty_share == of_b.novelty_share);
    assert_true(of_a.novelty_share == 0 || of_a.novelty_threshold == of_b.novelty_threshold);
    double *of_rows = new_doubles(2 * N * of_a.components);
    assert_ok(mercer_model_transform(ctx, a, rows, NULL, of_rows, NULL, err));
    assert_ok(mercer_model_transform(ctx, b, rows, NULL, of_rows + N * of_a.components, NULL, err));
    assert_memory_equal(of_rows, of_rows + N * of_a.components,
                        (size_t)(N * of_a.components) * sizeof(double));
    free(of_rows);
}

static const struct {
    const char *method, *head;
    double novelty;
} fits[] = {
    {"kpca", "ls", 0.1}, {"kpca", "none", 0}, {"sma", NULL, 0}, {"ikpca:first=30", "centre", 0}};
enum { FITS = sizeof fits / sizeof *fits };

static mercer_fit_options whole_options(int f)
{
    mercer_fit_options options;
    mercer_fit_options_init(&options);
    options.method = fits[f].method;
    options.kernel = "rbf:sigma=2";
    options.components = 3;
    options.store = "dense";
    options.scale = "standard";
    options.command = "a command";
    options.novelty = fits[f].novelty;
    options.head = fits[f].head;
    return options;
}

static void test_fit_options(void **state)
{
    size_t ends[MAX_FIELDS];
    int count = ENDS(fit_fields, mercer_fit_options, ends);
    (void)state;
    for (int f = 0; f < FITS; f++)
        for (int e = 0; e < count; e++) {
            mercer_fit_options options = whole_options(f), longer = first_bytes(&options, ends[e]);
            page p = guarded(&options, ends[e]);
            mercer_model *of_cut = fit_or_null(p.at), *of_whole = fit_or_null(&longer);
            assert_true(!of_cut == !of_whole);
            if (of_cut)
                assert_same_models(of_cut, of_whole);
            mercer_model_free(of_cut);
            mercer_model_free(of_whole);
            page_free(&p);
        }
}

/* A newer caller is taken as long as what only it knows is zero; nothing is ignored in silence. */
static void test_members_of_later_versions(void **state)
{
    struct {
        mercer_fit_options options;
        unsigned char later[24];
    } caller;
    mercer_error why;
    (void)state;
    for (size_t at = 0; at <= sizeof caller.later; at++) {
        mercer_fit_options_init_sized(&caller.options, sizeof caller);
        caller.options.method = "kpca";
        if (at < sizeof caller.later)
            caller.later[at] = 1;
        mercer_status rc = mercer_fit_options_check(&caller.options, 0, &why);
        if (at == sizeof caller.later) {
            assert_int_equal(rc, MERCER_OK);
            continue;
        }
        assert_int_equal(rc, MERCER_ERR_ARGUMENT);
        assert_non_null(strstr(why.text, "later version"));
    }
    caller.options.struct_size = (size_t)1 << 40; /* nobody set it */
    assert_int_equal(mercer_fit_options_check(&caller.options, 0, NULL), MERCER_ERR_ARGUMENT);
}

static void test_stream_options(void **state)
{
    size_t ends[MAX_FIELDS];
    int count = ENDS(fit_fields, mercer_fit_options, ends);
    mercer_fit_options options = whole_options(3);
    (void)state;
    options.head = NULL;
    for (int e = 0; e < count; e++) {
        page p = guarded(&options, ends[e]);
        mercer_stream *stream = NULL;
        mercer_status rc = mercer_stream_new(ctx, p.at, &stream, NULL);
        assert_int_equal(rc, e == 0 ? MERCER_ERR_ARGUMENT : MERCER_OK);
        mercer_stream_free(stream);
        page_free(&p);
    }
}

/* Mean and choices, or why not. */
static mercer_status evaluate(const mercer_evaluate_options *options, double *mean,
                              int64_t *choices)
{
    mercer_evaluation *result = NULL;
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_ctx_set_seed(ctx, 1);
    mercer_status rc = mercer_evaluate(ctx, options, rows, classes, &result, NULL);
    if (rc == MERCER_OK) {
        mercer_evaluation_get_info(result, &info);
        *mean = info.mean;
        *choices = info.choices;
    }
    mercer_evaluation_free(result);
    return rc;
}

static void assert_same_evaluations(const mercer_evaluate_options *a,
                                    const mercer_evaluate_options *b)
{
    double of_a = 0, of_b = 0;
    int64_t choices_a = 0, choices_b = 0;
    mercer_status rc = evaluate(a, &of_a, &choices_a);
    assert_int_equal(evaluate(b, &of_b, &choices_b), rc);
    assert_true(of_a == of_b);
    assert_int_equal(choices_a, choices_b);
}

/* Options inside of options. */
static void test_fit_options_of_an_evaluation(void **state)
{
    static const char *const tune[] = {"components=1,2", "kernel.sigma=1,3"};
    size_t ends[MAX_FIELDS];
    int count = ENDS(fit_fields, mercer_fit_options, ends);
    (void)state;
    for (int f = 0; f < FITS; f++)
        for (int e = 0; e < count; e++) {
            mercer_fit_options options = whole_options(f), longer = first_bytes(&options, ends[e]);
            page p = guarded(&options, ends[e]);
            mercer_evaluate_options judged, as_whole;
            mercer_evaluate_options_init(&judged);
            judged.fit = p.at;
            judged.folds = 2;
            judged.inner_folds = 2;
            judged.tune = tune;
            judged.tune_count = 2;
            as_whole = judged;
            as_whole.fit = &longer;
            assert_same_evaluations(&judged, &as_whole);
            assert_int_equal(mercer_fit_options_can_tune(p.at, tune[1]), e > 0);
            page_free(&p);
        }
}

static void test_evaluate_options(void **state)
{
    static const char *const tune[] = {"components=1,2"};
    size_t ends[MAX_FIELDS];
    int count = ENDS(evaluate_fields, mercer_evaluate_options, ends);
    mercer_fit_options fit = whole_options(2);
    mercer_evaluate_options options;
    (void)state;
    mercer_evaluate_options_init(&options);
    options.fit = &fit;
    options.folds = 3;
    options.metric = "balanced";
    options.tune = tune;
    options.tune_count = 1;
    options.inner_folds = 2;
    options.positive = "a";
    for (int e = 0; e < count; e++) {
        mercer_evaluate_options longer;
        page p = guarded(&options, ends[e]);
        mercer_evaluate_options_init(&longer);
        memcpy((char *)&longer + sizeof(size_t), (char *)&options + sizeof(size_t),
               ends[e] - sizeof(size_t));
        assert_same_evaluations(p.at, &longer);
        page_free(&p);
    }
}

static void test_read_options(void **state)
{
    size_t ends[MAX_FIELDS];
    int count = ENDS(read_fields, mercer_read_options, ends);
    mercer_read_options options;
    mercer_fit_options fit = whole_options(1);
    mercer_model *model = fit_or_null(&fit);
    static const char text[] = "a,b,c,label\n1,2,3,u\n4,5,6,v\n7,8,10,u\n";
    char path[] = "/tmp/mercer-structs-XXXXXX";
    int file = mkstemp(path);
    (void)state;
    assert_true(file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    close(file);
    mercer_read_options_init(&options);
    options.format = "csv";
    for (int e = 1; e < count; e++) {
        page p = guarded(&options, ends[e]);
        mercer_table *table = NULL;
        mercer_reader *reader = NULL;
        assert_ok(mercer_table_read(ctx, path, p.at, &table, err));
        assert_int_equal(mercer_rows_columns(mercer_table_rows(table)), 3);
        assert_ok(mercer_reader_open(ctx, path, p.at, &reader, err));
        mercer_reader_close(reader);
        mercer_table_read_options(table, p.at);
        mercer_read_options got = {0}, wanted = options;
        memcpy(&got, p.at, ends[e]);
        mercer_table_read_options(table, &wanted);
        assert_memory_equal((char *)&got + sizeof(size_t), (char *)&wanted + sizeof(size_t),
                            ends[e] - sizeof(size_t));
        mercer_model_read_options(model, p.at);
        mercer_table_free(table);
        page_free(&p);
    }
    unlink(path);
    mercer_model_free(model);
}

static void test_dataset_options(void **state)
{
    size_t ends[MAX_FIELDS];
    int count = ENDS(generate_fields, mercer_dataset_options, ends);
    mercer_dataset_options options;
    (void)state;
    mercer_dataset_options_init(&options);
    options.rows = 7;
    for (int e = 0; e < count; e++) {
        page p = guarded(&options, ends[e]);
        mercer_table *table = NULL;
        assert_ok(mercer_dataset_generate(ctx, "circle", p.at, &table, err));
        assert_true((mercer_rows_count(mercer_table_rows(table)) == 7) == (e > 0));
        mercer_table_free(table);
        page_free(&p);
    }
}

static void test_defaults(void **state)
{
    size_t ends[MAX_FIELDS];
    page p;
    (void)state;
#define EVERY_END(fields, type, init)                                                              \
    for (int e = 0, count = ENDS(fields, type, ends); e < count; e++) {                            \
        size_t size;                                                                               \
        p = guarded(NULL, ends[e]);                                                                \
        init(p.at, ends[e]);                                                                       \
        memcpy(&size, p.at, sizeof size);                                                          \
        assert_int_equal(size, ends[e]);                                                           \
        page_free(&p);                                                                             \
    }
    EVERY_END(fit_fields, mercer_fit_options, mercer_fit_options_init_sized)
    EVERY_END(evaluate_fields, mercer_evaluate_options, mercer_evaluate_options_init_sized)
    EVERY_END(read_fields, mercer_read_options, mercer_read_options_init_sized)
    EVERY_END(limits_fields, mercer_limits, mercer_limits_init_sized)
    EVERY_END(generate_fields, mercer_dataset_options, mercer_dataset_options_init_sized)
    EVERY_END(report_fields, mercer_fit_report, mercer_fit_report_init_sized)
    EVERY_END(forecast_fields, mercer_forecast, mercer_forecast_init_sized)
    EVERY_END(survey_fields, mercer_survey, mercer_survey_init_sized)
    EVERY_END(parameter_fields, mercer_parameter, mercer_parameter_init_sized)
    EVERY_END(model_fields, mercer_model_info, mercer_model_info_init_sized)
    EVERY_END(stream_fields, mercer_stream_info, mercer_stream_info_init_sized)
    EVERY_END(evaluation_fields, mercer_evaluation_info, mercer_evaluation_info_init_sized)
    EVERY_END(fold_fields, mercer_evaluation_fold, mercer_evaluation_fold_init_sized)
    EVERY_END(tuning_fields, mercer_tuning, mercer_tuning_init_sized)
    EVERY_END(axis_fields, mercer_tuning_axis, mercer_tuning_axis_init_sized)
    EVERY_END(entry_fields, mercer_entry_info, mercer_entry_info_init_sized)
    EVERY_END(criterion_fields, mercer_criterion, mercer_criterion_init_sized)
    EVERY_END(array_fields, mercer_array, mercer_array_init_sized)
#undef EVERY_END
}

/* What an older caller does not know limits nothing, and what it knows does. */
static void test_limits(void **state)
{
    size_t ends[MAX_FIELDS];
    int count = ENDS(limits_fields, mercer_limits, ends);
    static const char text[] = "a,b,c\n1,2,3\n4,5,6\n";
    char path[] = "/tmp/mercer-structs-XXXXXX";
    int file = mkstemp(path);
    mercer_read_options options;
    (void)state;
    assert_true(file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    close(file);
    mercer_read_options_init(&options);
    options.format = "csv";
    for (int e = 0; e < count; e++) {
        mercer_limits tight, one;
        mercer_table *table = NULL;
        page p = guarded(NULL, ends[e]);
        mercer_limits_init_sized(p.at, ends[e]);
        mercer_limits_init(&tight);
        mercer_limits_untrusted(&tight);
        mercer_limits_untrusted(p.at);
        assert_memory_equal((char *)p.at + sizeof(size_t), (char *)&tight + sizeof(size_t),
                            ends[e] - sizeof(size_t));
        assert_ok(mercer_ctx_set_limits(ctx, p.at, err));
        assert_ok(mercer_table_read(ctx, path, &options, &table, err));
        mercer_table_free(table);
        page_free(&p);
        mercer_limits_init(&one);
        one.max_columns = 2;
        p = guarded(&one, ends[e]);
        const bool known = ends[e] >= offsetof(mercer_limits, max_columns) + sizeof one.max_columns;
        assert_ok(mercer_ctx_set_limits(ctx, p.at, err));
        assert_int_equal(mercer_table_read(ctx, path, &options, &table, NULL),
                         known ? MERCER_ERR_LIMIT : MERCER_OK);
        mercer_table_free(table);
        page_free(&p);
    }
    assert_ok(mercer_ctx_set_limits(ctx, NULL, err));
    unlink(path);
}

/* The text, its parts and what runs are one version. */
static void test_version(void **state)
{
    char text[32];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", MERCER_VERSION_MAJOR, MERCER_VERSION_MINOR,
             MERCER_VERSION_PATCH);
    assert_string_equal(text, MERCER_VERSION);
    assert_string_equal(text, mercer_version());
    assert_int_equal(mercer_version_number(), 10000 * MERCER_VERSION_MAJOR +
                                                  100 * MERCER_VERSION_MINOR +
                                                  MERCER_VERSION_PATCH);
}

/* Options that were never initialised are told, wherever they stand. */
static void test_options_without_a_size(void **state)
{
    mercer_fit_options fit = {.method = "kpca"};
    mercer_evaluate_options judged;
    mercer_model *model = NULL;
    mercer_evaluation *result = NULL;
    mercer_error why;
    (void)state;
    mercer_evaluate_options_init(&judged);
    judged.fit = &fit;
    assert_int_equal(mercer_fit(ctx, &fit, rows, NULL, &model, NULL, &why), MERCER_ERR_ARGUMENT);
    assert_string_equal(why.text, "fit options were not initialised");
    assert_int_equal(mercer_evaluate(ctx, &judged, rows, NULL, &result, &why), MERCER_ERR_ARGUMENT);
    assert_string_equal(why.text, "fit options were not initialised");
    assert_int_equal(mercer_fit_options_can_tune(&fit, "components=1"), 0);
}

/* ---- what the library fills ---- */

/* The first bytes of a struct that was filled whole; of a longer one, zeroes behind. */
static void assert_filled(const page *p, size_t size, const field *fields, size_t count,
                          const void *whole, size_t known)
{
    size_t kept;
    memcpy(&kept, p->at, sizeof kept);
    assert_int_equal(kept, size);
    for (size_t f = 0; f < count; f++) /* not the padding between them */
        if (fields[f].offset + fields[f].size <= size)
            assert_memory_equal((char *)p->at + fields[f].offset,
                                (const char *)whole + fields[f].offset, fields[f].size);
    for (size_t i = known; i < size; i++)
        assert_int_equal(((char *)p->at)[i], 0);
}

/* Fill structs that end at each of the ends, and one that is longer than ours. */
#define EVERY_FILLED(fields, type, whole, call)                                                    \
    for (int e = 0, count = ENDS(fields, type, ends); e <= count; e++) {                           \
        size_t size = e < count ? ends[e] : sizeof(type) + 24;                                     \
        page p = guarded(NULL, size);                                                              \
        memset((char *)p.at + sizeof size, 0x55, size - sizeof size);                              \
        call;                                                                                      \
        assert_filled(&p, size, fields, sizeof(fields) / sizeof *(fields), whole, sizeof(type));   \
        page_free(&p);                                                                             \
    }

static void test_what_is_told_of_a_model(void **state)
{
    size_t ends[MAX_FIELDS];
    mercer_fit_options fit = whole_options(0);
    mercer_model *model = fit_or_null(&fit);
    mercer_model_info info = {.struct_size = sizeof info};
    (void)state;
    mercer_model_get_info(model, &info);
    EVERY_FILLED(model_fields, mercer_model_info, &info, mercer_model_get_info(model, p.at))
    mercer_model_free(model);
}

static void test_what_is_told_of_a_forecast(void **state)
{
    static const double brief = 1e9; /* nothing is timed: it is the same each time */
    size_t ends[MAX_FIELDS];
    mercer_fit_options fit = whole_options(0);
    mercer_forecast told = {.struct_size = sizeof told};
    (void)state;
    assert_ok(mercer_fit_forecast(ctx, &fit, rows, classes, 0, brief, &told, err));
    EVERY_FILLED(forecast_fields, mercer_forecast, &told,
                 assert_ok(mercer_fit_forecast(ctx, &fit, rows, classes, 0, brief, p.at, err)))
}

static void test_what_is_told_of_rows(void **state)
{
    size_t ends[MAX_FIELDS];
    mercer_survey told = {.struct_size = sizeof told};
    (void)state;
    assert_ok(mercer_rows_survey(ctx, rows, NULL, &told, err));
    EVERY_FILLED(survey_fields, mercer_survey, &told,
                 assert_ok(mercer_rows_survey(ctx, rows, NULL, p.at, err)))
}

static void test_what_is_told_of_a_stream(void **state)
{
    size_t ends[MAX_FIELDS];
    mercer_fit_options fit = whole_options(3);
    mercer_stream *stream = NULL;
    const mercer_model *model;
    mercer_stream_info info = {.struct_size = sizeof info};
    mercer_fit_report report = {.struct_size = sizeof report};
    (void)state;
    fit.head = NULL;
    assert_ok(mercer_stream_new(ctx, &fit, &stream, err));
    assert_ok(mercer_stream_push(ctx, stream, rows, err));
    mercer_stream_get_info(stream, &info);
    EVERY_FILLED(stream_fields, mercer_stream_info, &info, mercer_stream_get_info(stream, p.at))
    memset(&report.seconds, 0x55, sizeof report.seconds); /* which are the caller's */
    assert_ok(mercer_stream_model(ctx, stream, &model, &report, err));
    EVERY_FILLED(report_fields, mercer_fit_report, &report,
                 assert_ok(mercer_stream_model(ctx, stream, &model, p.at, err)))
    mercer_stream_free(stream);
}

static void test_what_is_told_of_parameters(void **state)
{
    size_t ends[MAX_FIELDS];
    mercer_parameter whole = {.struct_size = sizeof whole};
    const mercer_entry *kpca = mercer_method_at(1);
    (void)state;
    assert_int_equal(mercer_fit_option_at(3, &whole), 1);
    EVERY_FILLED(parameter_fields, mercer_parameter, &whole, mercer_fit_option_at(3, p.at))
    assert_int_equal(mercer_entry_parameter(kpca, 0, &whole), 1);
    EVERY_FILLED(parameter_fields, mercer_parameter, &whole, mercer_entry_parameter(kpca, 0, p.at))
    mercer_entry_info info = {.struct_size = sizeof info};
    mercer_entry_get_info(kpca, &info);
    EVERY_FILLED(entry_fields, mercer_entry_info, &info, mercer_entry_get_info(kpca, p.at))
}

static void test_what_is_told_of_a_fit(void **state)
{
    size_t ends[MAX_FIELDS];
    mercer_fit_options fit = whole_options(1);
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_model *model = NULL;
    int count = ENDS(report_fields, mercer_fit_report, ends);
    (void)state;
    assert_ok(mercer_fit(ctx, &fit, rows, classes, &model, &report, err));
    mercer_model_free(model);
    for (int e = 0; e < count; e++) {
        page p = guarded(NULL, ends[e]);
        assert_ok(mercer_fit(ctx, &fit, rows, classes, &model, p.at, err));
        for (int f = 0; f < count - 1 && report_fields[f].offset < ends[e]; f++)
            if (report_fields[f].offset !=
                offsetof(mercer_fit_report, seconds)) /* never the same */
                assert_memory_equal((char *)p.at + report_fields[f].offset,
                                    (char *)&report + report_fields[f].offset,
                                    report_fields[f].size);
        mercer_model_free(model);
        page_free(&p);
    }
}

static void test_what_is_told_of_an_evaluation(void **state)
{
    size_t ends[MAX_FIELDS];
    mercer_fit_options fit = whole_options(2);
    mercer_evaluate_options options;
    mercer_evaluation *result = NULL;
    mercer_evaluation_info info = {.struct_size = sizeof info};
    mercer_evaluation_fold fold = {.struct_size = sizeof fold};
    (void)state;
    mercer_evaluate_options_init(&options);
    options.fit = &fit;
    options.folds = 3;
    assert_ok(mercer_evaluate(ctx, &options, rows, classes, &result, err));
    mercer_evaluation_get_info(result, &info);
    mercer_evaluation_get_fold(result, 1, &fold);
    EVERY_FILLED(evaluation_fields, mercer_evaluation_info, &info,
                 mercer_evaluation_get_info(result, p.at))
    EVERY_FILLED(fold_fields, mercer_evaluation_fold, &fold,
                 mercer_evaluation_get_fold(result, 1, p.at))
    mercer_evaluation_free(result);
    mercer_tuning tuning = {.struct_size = sizeof tuning};
    mercer_tuning_axis axis = {.struct_size = sizeof axis};
    static const char *const texts[] = {"components=1,2"};
    options.tune = texts;
    options.tune_count = 1;
    options.folds = 0;
    assert_ok(mercer_tune(ctx, &options, rows, classes, &result, err));
    mercer_evaluation_get_tuning(result, &tuning);
    mercer_evaluation_get_axis(result, 0, &axis);
    EVERY_FILLED(tuning_fields, mercer_tuning, &tuning, mercer_evaluation_get_tuning(result, p.at))
    EVERY_FILLED(axis_fields, mercer_tuning_axis, &axis,
                 mercer_evaluation_get_axis(result, 0, p.at))
    mercer_evaluation_free(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit_options),
        cmocka_unit_test(test_members_of_later_versions),
        cmocka_unit_test(test_stream_options),
        cmocka_unit_test(test_fit_options_of_an_evaluation),
        cmocka_unit_test(test_evaluate_options),
        cmocka_unit_test(test_read_options),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_dataset_options),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_options_without_a_size),
        cmocka_unit_test(test_what_is_told_of_a_model),
        cmocka_unit_test(test_what_is_told_of_a_forecast),
        cmocka_unit_test(test_what_is_told_of_rows),
        cmocka_unit_test(test_what_is_told_of_a_stream),
        cmocka_unit_test(test_what_is_told_of_parameters),
        cmocka_unit_test(test_what_is_told_of_a_fit),
        cmocka_unit_test(test_what_is_told_of_an_evaluation),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
