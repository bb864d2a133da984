/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters by schema: every message, exact round trips, nothing stored on error. */
#include "data_support.h"

#include "base/params.h"

#include <float.h>

struct sample {
    int64_t groups;
    double sigma;
    double share;
    int loss;
    double free_one;
};

static const mrc_param schema[] = {
    MRC_INT(struct sample, groups, 2, 1, (double)INT64_MAX, "groups"),
    MRC_REAL_OR(struct sample, sigma, MRC_KEYWORD(0), DBL_MIN, DBL_MAX, "median|learn", "width"),
    MRC_REAL(struct sample, share, 0.5, 0, 1, "share"),
    MRC_CHOICE(struct sample, loss, 1, "ls|lad|exp", "loss"),
    MRC_REAL(struct sample, free_one, 0, -DBL_MAX, DBL_MAX, "anything"),
    MRC_PARAM_END};

static struct sample defaults(void)
{
    struct sample p;
    memset(&p, 0x55, sizeof p);
    mrc_params_defaults(schema, &p);
    return p;
}

static void test_defaults(void **state)
{
    struct sample p = defaults();
    (void)state;
    assert_int_equal(p.groups, 2);
    assert_true(p.sigma == MRC_KEYWORD(0) && p.share == 0.5 && p.free_one == 0);
    assert_int_equal(p.loss, 1);
}

static void test_parse_all(void **state)
{
    struct sample p = defaults();
    (void)state;
    assert_ok(mrc_params_parse(schema, "kernel x", "x", &p, &err));
    assert_int_equal(p.groups, 2);
    assert_ok(mrc_params_parse(schema, "kernel x",
                               "x:groups=9007199254740993,sigma=1e-3,share=1,loss=exp,free_one=-7",
                               &p, &err));
    assert_int_equal(p.groups, 9007199254740993);
    assert_true(p.sigma == 1e-3 && p.share == 1 && p.free_one == -7);
    assert_int_equal(p.loss, 2);
    assert_ok(mrc_params_parse(schema, "kernel x", "x:sigma=learn,groups=1e3", &p, &err));
    assert_true(p.sigma == MRC_KEYWORD(1));
    assert_int_equal(p.groups, 1000);
    assert_int_equal(mrc_spec_name_length("rbf:sigma=1"), 3);
    assert_int_equal(mrc_spec_name_length("rbf"), 3);
}

static void refuses(const char *spec, const char *words)
{
    struct sample p = defaults(), before = p;
    assert_fails(mrc_params_parse(schema, "kernel rbf", spec, &p, &err), MERCER_ERR_ARGUMENT,
                 words);
    assert_memory_equal(&p, &before, sizeof p);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("rbf:foo=1",
            "kernel rbf: unknown key 'foo' (known: groups, sigma, share, loss, free_one)");
    refuses("rbf:sigma=-1", "kernel rbf: sigma=-1 is out of range (> 0, or median, learn)");
    refuses("rbf:sigma=0", "sigma=0 is out of range");
    refuses("rbf:sigma=abc", "'abc' is not a number for sigma (> 0, or median, learn)");
    refuses("rbf:share=1.5", "share=1.5 is out of range (0 .. 1)");
    refuses("rbf:groups=2.5", "groups=2.5 is not a whole number (>= 1)");
    refuses("rbf:groups=0", "groups=0 is out of range (>= 1)");
    refuses("rbf:groups=1e30", "groups=1e30 is out of range (>= 1)");
    refuses("rbf:groups=9223372036854775808", "out of range");
    refuses("rbf:groups=", "key 'groups' has no value");
    refuses("rbf:groups", "'groups' has no '='");
    refuses("rbf:", "nothing where key=value was expected");
    refuses("rbf:groups=1,", "nothing where key=value was expected");
    refuses("rbf:=3", "unknown key ''");
    refuses("rbf:groups=1,groups=2", "key 'groups' is given twice");
    refuses("rbf:free_one=nan", "free_one=nan is not finite (any)");
    refuses("rbf:free_one=1e999", "is not finite");
    refuses("rbf:loss=foo", "loss=foo is not one of ls, lad, exp");
    refuses("rbf:loss=l", "is not one of");
    refuses("rbf:share= 1", "is not a number");
    refuses("rbf:share=1,5", "'5' has no '='");
    refuses("rbf:share=0x1", "is not a number");
    refuses("rbf:share=0.25,foo=1", "unknown key"); /* and share is not stored */
    struct sample p = defaults();
    assert_fails(mrc_params_parse(NULL, "method pca", "pca:a=1", &p, &err), MERCER_ERR_ARGUMENT,
                 "method pca: unknown key 'a' (it has no keys)");
}

static void test_format(void **state)
{
    struct sample p = defaults(), back = defaults();
    char text[128];
    (void)state;
    assert_ok(mrc_params_format(schema, "x", &p, 0, text, sizeof text, &err));
    assert_string_equal(text, "x");
    assert_ok(mrc_params_format(schema, "x", &p, 1, text, sizeof text, &err));
    assert_string_equal(text, "x:groups=2,sigma=median,share=0.5,loss=lad,free_one=0");
    p = (struct sample){INT64_MAX - 1, 0.1 + 0.2, 1.0 / 3, 2, -1e-310};
    assert_ok(mrc_params_format(schema, "x", &p, 0, text, sizeof text, &err));
    assert_ok(mrc_params_parse(schema, "x", text, &back, &err));
    assert_true(back.groups == p.groups && back.sigma == p.sigma && back.share == p.share);
    assert_true(back.loss == p.loss && back.free_one == p.free_one);
    for (size_t size = 1; size < strlen(text) + 1; size++)
        assert_fails(mrc_params_format(schema, "x", &p, 0, text, size, &err), MERCER_ERR_ARGUMENT,
                     "characters");
    assert_ok(mrc_params_format(NULL, "linear", &p, 1, text, sizeof text, &err));
    assert_string_equal(text, "linear");
}

static void test_describe(void **state)
{
    static const char *const expected[][2] = {{"2", ">= 1"},
                                              {"median", "> 0, or median, learn"},
                                              {"0.5", "0 .. 1"},
                                              {"lad", "ls, lad, exp"},
                                              {"0", "any"}};
    char initial[48], allowed[48];
    (void)state;
    for (int i = 0; i < 5; i++) {
        mrc_param_describe(&schema[i], initial, allowed, sizeof initial);
        assert_string_equal(initial, expected[i][0]);
        assert_string_equal(allowed, expected[i][1]);
    }
    mrc_param_describe(&schema[1], initial, allowed, 8); /* cut, never beyond the end */
    assert_string_equal(allowed, "> 0, or");
}

/* Callers compiled with a shorter or longer struct get what fits, and not a byte beyond. */
static void test_options_of_other_ages(void **state)
{
    struct {
        mercer_dataset_options options;
        char beyond[16];
    } caller;
    size_t shorter = offsetof(mercer_dataset_options, noise);
    (void)state;
    memset(&caller, 0x55, sizeof caller);
    mercer_dataset_options_init_sized(&caller.options, shorter);
    assert_int_equal(caller.options.struct_size, shorter);
    assert_int_equal(*((unsigned char *)&caller.options + shorter), 0x55);
    mercer_dataset_options_init_sized(&caller.options, sizeof caller);
    assert_int_equal(caller.options.struct_size, sizeof caller);
    assert_true(caller.options.noise == -1);
    for (size_t i = 0; i < sizeof caller.beyond; i++)
        assert_int_equal(caller.beyond[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_defaults), TEST(test_parse_all), TEST(test_refusals),
        TEST(test_format),   TEST(test_describe),  TEST(test_options_of_other_ages),
    };
    return RUN_TESTS(tests);
}
