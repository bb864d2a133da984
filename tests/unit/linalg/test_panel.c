/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of tiles with blocks of vectors against plain sums in long double, for every vector
 * width the processor has, and what lies behind the outputs. */
#include "support.h"

#include "base/rng.h"
#include "linalg/panel.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { GUARD = 40 };

/* Numbers of size `scale`, and sums of their moduli for bounds. */
static double *draw(mrc_rng *rng, int64_t count, double scale)
{
    double *x = new_doubles(count + GUARD);
    for (int64_t i = 0; i < count; i++)
        x[i] = scale * mrc_rng_normal(rng);
    for (int64_t i = count; i < count + GUARD; i++)
        x[i] = 12345;
    return x;
}

static void check_guard(const double *x, int64_t count)
{
    for (int64_t i = count; i < count + GUARD; i++)
        assert_true(x[i] == 12345);
}

/* y (rows x width) += T v or, transposed, y (cols x width) += T' v; `found` is what was computed.
 */
static void compare(const double *tile, int64_t stride, int64_t rows, int64_t cols, bool transposed,
                    const double *v, const double *before, const double *found, int64_t width)
{
    int64_t outs = transposed ? cols : rows, terms = transposed ? rows : cols;
    for (int64_t i = 0; i < outs; i++)
        for (int64_t w = 0; w < width; w++) {
            long double sum = before[i * width + w], size = fabsl(sum);
            for (int64_t k = 0; k < terms; k++) {
                double value = transposed ? tile[k * stride + i] : tile[i * stride + k];
                sum += (long double)value * v[k * width + w];
                size += fabsl((long double)value * v[k * width + w]);
            }
            long double off = fabsl(found[i * width + w] - sum);
            assert_true(off <= (long double)(terms + 2) * DBL_EPSILON * size);
        }
}

static void check_both(const mrc_panel_loops *loops, mrc_rng *rng, int64_t rows, int64_t cols,
                       int64_t stride, int64_t width, double scale)
{
    double *tile = draw(rng, rows * stride, scale);
    double *v_rows = draw(rng, rows * width, 1 / scale), *v_cols = draw(rng, cols * width, 1);
    double *y_rows = draw(rng, rows * width, scale), *y_cols = draw(rng, cols * width, 1);
    double *rows_before = new_doubles(rows * width), *cols_before = new_doubles(cols * width);
    memcpy(rows_before, y_rows, (size_t)(rows * width) * sizeof *y_rows);
    memcpy(cols_before, y_cols, (size_t)(cols * width) * sizeof *y_cols);
    if (width == 1)
        loops->both_one(tile, stride, rows, cols, v_rows, v_cols, y_rows, y_cols);
    else
        loops->both(tile, stride, rows, cols, v_rows, v_cols, y_rows, y_cols, width);
    compare(tile, stride, rows, cols, false, v_cols, rows_before, y_rows, width);
    compare(tile, stride, rows, cols, true, v_rows, cols_before, y_cols, width);
    check_guard(y_rows, rows * width);
    check_guard(y_cols, cols * width);
    if (width > 1) { /* one of them alone */
        memcpy(y_rows, rows_before, (size_t)(rows * width) * sizeof *y_rows);
        memcpy(y_cols, cols_before, (size_t)(cols * width) * sizeof *y_cols);
        loops->times(tile, stride, rows, cols, 1, v_cols, width, 1, y_rows, width, width);
        loops->transposed_times(tile, stride, rows, cols, v_rows, width, y_cols, width, width);
        compare(tile, stride, rows, cols, false, v_cols, rows_before, y_rows, width);
        compare(tile, stride, rows, cols, true, v_rows, cols_before, y_cols, width);
        check_guard(y_rows, rows * width);
        check_guard(y_cols, cols * width);
    }
    free(tile);
    free(v_rows);
    free(v_cols);
    free(y_rows);
    free(y_cols);
    free(rows_before);
    free(cols_before);
}

static void symmetric_products_are_plain_sums(void **state)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 16, 31, 63, 64, 65, 127, 128, 130, 255, 256};
    static const double scales[] = {1, 1e-100, 1e100};
    (void)state;
    for (mrc_simd simd = 0; simd <= mrc_simd_detect(); simd++)
        for (uint64_t seed = 0; seed < 240; seed++) {
            mrc_rng rng;
            mrc_rng_seed(&rng, seed);
            int64_t count = sizeof sizes / sizeof *sizes;
            int64_t rows = sizes[mrc_rng_below(&rng, count)];
            int64_t cols = sizes[mrc_rng_below(&rng, count)];
            int64_t width = mrc_rng_below(&rng, 5) * MRC_PANEL_LANES;
            int64_t stride = cols + mrc_rng_below(&rng, 2) * 5;
            check_both(mrc_panel_loops_for(simd), &rng, rows, cols, stride, width ? width : 1,
                       scales[seed % 3]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetric_products_are_plain_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
