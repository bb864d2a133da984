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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_sizes),
        cmocka_unit_test(test_texts_mean_the_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
