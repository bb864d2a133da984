/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns that are chosen, left out, or name the rows; what a reader remembers of them. */
#include "data_support.h"

#include "io/reader.h"

static const char text[] = "when,a,mean_x,mean_y,kind,key\n"
                           "-,1,2,3,u,k1\n"
                           "-,4,5,6,v,\"k,2\"\n"
                           "-,7,8,9.5,u,\n";

static mercer_table *read_with(const mercer_read_options *options)
{
    mercer_table *table = NULL;
    assert_ok(mercer_table_read(ctx, put_text("data.csv", text), options, &table, &err));
    return table;
}

static void test_lists(void **state)
{
    static const struct {
        const char *use, *drop, *names[4];
    } cases[] = {{"a,mean_y", NULL, {"a", "mean_y"}},
                 {"2-4", NULL, {"a", "mean_x", "mean_y"}},
                 {"2-4", "mean_*", {"a"}},
                 {NULL, "1,5-", {"a", "mean_x", "mean_y"}},
                 {"*a*", "when", {"a", "mean_x", "mean_y"}},
                 {"m*_?", NULL, {"mean_x", "mean_y"}},
                 {"name:a,position:4", NULL, {"a", "mean_y"}}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_read_options options;
        mercer_read_options_init(&options);
        options.use_columns = cases[c].use;
        options.drop_columns = cases[c].drop;
        mercer_table *table = read_with(&options);
        const mercer_rows *rows = mercer_table_rows(table);
        int64_t count = 0;
        while (count < 4 && cases[c].names[count])
            count++;
        assert_int_equal(mercer_rows_columns(rows), count);
        for (int64_t j = 0; j < count; j++)
            assert_string_equal(mercer_rows_name(rows, j), cases[c].names[j]);
        mercer_table_free(table);
    }
}

static void test_refused_lists(void **state)
{
    static const char *const wrong[] = {"b",   "0",    "7", "2-9", "4-2",    "2-x",       "-",
                                        "a,,", "x*y*", "?", "",    "name:2", "position:a"};
    mercer_table *table = NULL;
    (void)state;
    for (size_t c = 0; c < sizeof wrong / sizeof *wrong; c++) {
        mercer_read_options options;
        mercer_read_options_init(&options);
        options.drop_columns = wrong[c];
        if (strcmp(wrong[c], "?") == 0) { /* one letter: there is a column a */
            options.drop_columns = "??";
        }
        assert_fails(mercer_table_read(ctx, put_text("data.csv", text), &options, &table, &err),
                     MERCER_ERR_ARGUMENT, "no column matches");
        assert_string_equal(err.key, "drop");
        options.use_columns = wrong[c];
        options.drop_columns = NULL;
        if (strcmp(wrong[c], "?") != 0)
            assert_fails(mercer_table_read(ctx, in_scratch("data.csv"), &options, &table, &err),
                         MERCER_ERR_ARGUMENT, "no column matches");
    }
}

static void test_ids(void **state)
{
    mercer_read_options options;
    (void)state;
    mercer_read_options_init(&options);
    options.use_columns = "2-4";
    options.id = "key";
    options.label = "kind";
    mercer_table *table = read_with(&options);
    assert_string_equal(mercer_table_id_name(table), "key");
    assert_string_equal(mercer_table_id(table, 0), "k1");
    assert_string_equal(mercer_table_id(table, 1), "k,2");
    assert_string_equal(mercer_table_id(table, 2), "");
    assert_null(mercer_table_id(table, 3));
    assert_null(mercer_table_id(table, -1));
    assert_int_equal(mercer_targets_classes(mercer_table_targets(table)), 2);
    /* More rows are read like these: by name, label and id without being told. */
    mercer_read_options more;
    mercer_table *next = NULL;
    mercer_read_options_init(&more);
    mercer_table_read_options(table, &more);
    assert_ok(
        mercer_table_read(ctx, put_text("more.csv", "kind,key,mean_y,junk,mean_x,a\nw,K,3,x,2,1\n"),
                          &more, &next, &err));
    assert_string_equal(mercer_table_id(next, 0), "K");
    assert_string_equal(mercer_targets_class_name(mercer_table_targets(next), 0), "w");
    assert_int_equal(mercer_rows_columns(mercer_table_rows(next)), 3);
    assert_true(mercer_table_rows(next)->x[0] == 1 && mercer_table_rows(next)->x[2] == 3);
    mercer_table_free(next);
    assert_ok(mercer_table_read(ctx, put_text("few.csv", "mean_y,mean_x,a\n3,2,1\n"), &more, &next,
                                &err));
    assert_null(mercer_table_id(next, 0));
    assert_int_equal(mercer_targets_kind(mercer_table_targets(next)), MERCER_TARGET_NONE);
    mercer_table_free(next);
    mercer_table_free(table);
    options.id_optional = 1;
    options.id = "nowhere";
    table = read_with(&options);
    assert_null(mercer_table_id_name(table));
    mercer_table_free(table);
    options.id_optional = 0;
    assert_fails(mercer_table_read(ctx, in_scratch("data.csv"), &options, &table, &err),
                 MERCER_ERR_ARGUMENT, "there is no column 'nowhere'");
}

/* Blocks have the ids of their own rows. */
static void test_blocks(void **state)
{
    mercer_read_options options;
    mercer_reader *reader = NULL;
    mercer_table *block = NULL;
    char *many = test_malloc(1 << 16), expected[32];
    size_t used = 0;
    int64_t row = 0;
    (void)state;
    for (int i = 0; i < 2000; i++)
        used += (size_t)snprintf(many + used, (1 << 16) - used, "%d,id %d\n", i, i);
    mercer_read_options_init(&options);
    options.id = "2";
    assert_ok(mercer_reader_open(ctx, put_text("many.csv", many), &options, &reader, &err));
    for (;;) {
        assert_ok(mercer_reader_next(ctx, reader, 137, &block, &err));
        if (!block)
            break;
        for (int64_t i = 0; i < mercer_rows_count(mercer_table_rows(block)); i++, row++) {
            snprintf(expected, sizeof expected, "id %d", (int)row);
            assert_string_equal(mercer_table_id(block, i), expected);
            assert_true(mercer_table_rows(block)->x[i] == (double)row);
        }
        mercer_table_free(block);
    }
    assert_int_equal(row, 2000);
    mercer_reader_close(reader);
    test_free(many);
}

static void test_every_allocation_fails(void **state)
{
    static const char *const texts[] = {text, "k1,1,2,3\nk2,4,5,6\n", ",a,b,c\n0,1,2,3\n1,4,5,6\n"};
    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        mercer_read_options options;
        int64_t live = mrc_alloc_live();
        mercer_status rc = MERCER_ERR_MEMORY;
        mercer_read_options_init(&options);
        options.use_columns = t == 0 ? "a,m*" : NULL;
        options.drop_columns = t == 2 ? NULL : "3";
        options.id = t == 0 ? "key" : t == 1 ? "1" : NULL;
        options.target = t == 0 ? NULL : "4";
        options.label = t == 0 ? "kind" : NULL;
        put_text("data.csv", texts[t]);
        for (int k = 0; rc != MERCER_OK; k++) {
            mercer_table *got = NULL;
            mrc_alloc_fail_after(k);
            rc = mercer_table_read(ctx, in_scratch("data.csv"), &options, &got, &err);
            mrc_alloc_fail_after(-1);
            assert_true(rc == MERCER_OK || rc == MERCER_ERR_MEMORY);
            assert_true((rc == MERCER_OK) == (got != NULL));
            mercer_table_free(got);
            assert_int_equal(mrc_alloc_live(), live);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lists),  TEST(test_refused_lists),          TEST(test_ids),
        TEST(test_blocks), TEST(test_every_allocation_fails),
    };
    return RUN_TESTS(tests);
}
