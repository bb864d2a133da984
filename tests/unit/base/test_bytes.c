/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes as texts, against known ones and against what they mean. */
#include "support.h"

#include "base/bytes.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void test_known_sizes(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } known[] = {
        {0, "0 bytes"},
        {1, "1 bytes"},
        {1023, "1023 bytes"},
        {1023.5, "1.0 kB"},
        {1024, "1.0 kB"},
        {0x1p20 - 1, "1.0 MB"}, /* never 1024 kB */
        {9.94 * 0x1p20, "9.9 MB"},
        {9.96 * 0x1p20, "10 MB"}, /* never 10.0 */
        {7.7 * 0x1p20, "7.7 MB"},
        {0x1.8p30, "1.5 GB"},
        {1023 * 0x1p40, "1023 TB"},
        {0x1p60, "1024 PB"}, /* the last unit */
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_string_equal(mrc_bytes_text(known[i].bytes).text, known[i].text);
    /* A forecast without bound still ends in its unit. */
    assert_non_null(strstr(mrc_bytes_text(INFINITY).text, " PB"));
}

/* The text read back is the number, to half of its last digit. */
static void test_texts_mean_the_number(void **state)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 1);
    for (int t = 0; t < 200000; t++) {
        double bytes = exp2(59 * mrc_rng_uniform(&rng)), scale = 1;
        mrc_bytes shown = mrc_bytes_text(bytes);
        char *unit, *point = strchr(shown.text, '.');
        double value = strtod(shown.text, &unit);
        size_t k = 0;
        while (k < 6 && strcmp(unit + 1, units[k]) != 0)
            k++, scale *= 1024;
        assert_true(k < 6 && *unit == ' ');
        assert_true(fabs(value * scale - bytes) <= (point ? 0.0500001 : 0.5000001) * scale);
        assert_true(value < 1024 && (k == 0 || value >= 1));
        assert_true(!point == !(k > 0 && value < 10));
    }
}

/* Sizes that differ by a byte or more differ in print, and each text is its number, to half of its
 * last digit. Where one text each does, it is that of mrc_bytes_text(). */
static void test_compared_sizes_differ(void **state)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    mrc_bytes_pair known = mrc_bytes_texts(64.02 * 0x1p20, 0x1p26);
    mrc_rng rng;
    (void)state;
    assert_string_equal(known.first.text, "64.02 MB");
    assert_string_equal(known.second.text, "64.00 MB");
    known = mrc_bytes_texts(0x1p26 + 1, 0x1p26);
    assert_string_equal(known.first.text, "67108865 bytes");
    assert_string_equal(known.second.text, "67108864 bytes");
    known = mrc_bytes_texts(0x1.ap30, 0x1p31);
    assert_string_equal(known.first.text, "1.6 GB");
    assert_string_equal(known.second.text, "2.0 GB");
    known = mrc_bytes_texts(0x1p26, 0x1p26);
    assert_string_equal(known.first.text, "64 MB");
    assert_string_equal(known.second.text, "64 MB");
    known = mrc_bytes_texts(INFINITY, 0x1p30);
    assert_non_null(strstr(known.first.text, " PB"));
    assert_string_equal(known.second.text, "1.0 GB");
    mrc_rng_seed(&rng, 2);
    for (int t = 0; t < 200000; t++) {
        double sizes[2] = {rint(exp2(52 * mrc_rng_uniform(&rng)))};
        sizes[1] = sizes[0] + 1 + rint(sizes[0] * exp2(-60 * mrc_rng_uniform(&rng)));
        mrc_bytes_pair pair = mrc_bytes_texts(sizes[0], sizes[1]);
        const char *texts[2] = {pair.first.text, pair.second.text};
        assert_string_not_equal(texts[0], texts[1]);
        bool plain = strcmp(mrc_bytes_text(sizes[0]).text, mrc_bytes_text(sizes[1]).text) != 0;
        for (int i = 0; i < 2; i++) {
            char *unit;
            const char *point = strchr(texts[i], '.');
            double value = strtod(texts[i], &unit), scale = 1, digit = 1;
            size_t k = 0;
            while (k < 6 && strcmp(unit + 1, units[k]) != 0)
                k++, scale *= 1024;
            assert_true(k < 6 && *unit == ' ');
            for (const char *c = point; c && c + 1 < unit; c++)
                digit /= 10;
            assert_true(fabs(value * scale - sizes[i]) <= 0.5000001 * digit * scale);
            if (plain)
                assert_string_equal(texts[i], mrc_bytes_text(sizes[i]).text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_sizes),
        cmocka_unit_test(test_texts_mean_the_number),
        cmocka_unit_test(test_compared_sizes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
