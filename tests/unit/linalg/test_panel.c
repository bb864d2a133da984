/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of tiles with blocks of vectors, and of rows with packed rows, against plain sums in
 * long double, for every vector width the processor has, and what lies behind the outputs. */
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
    if (width > 1 && scale == 1) { /* a tile in single precision: the bits of the same numbers */
        float *single = malloc((size_t)(rows * stride) * sizeof *single);
        double *rows_too = draw(rng, rows * width, 1), *cols_too = draw(rng, cols * width, 1);
        for (int64_t i = 0; i < rows * stride; i++)
            tile[i] = single[i] = (float)tile[i];
        memcpy(y_rows, rows_before, (size_t)(rows * width) * sizeof *y_rows);
        memcpy(y_cols, cols_before, (size_t)(cols * width) * sizeof *y_cols);
        memcpy(rows_too, rows_before, (size_t)(rows * width) * sizeof *y_rows);
        memcpy(cols_too, cols_before, (size_t)(cols * width) * sizeof *y_cols);
        loops->both(tile, stride, rows, cols, v_rows, v_cols, y_rows, y_cols, width);
        loops->both_single(single, stride, rows, cols, v_rows, v_cols, rows_too, cols_too, width);
        assert_memory_equal(y_rows, rows_too, (size_t)(rows * width) * sizeof *y_rows);
        assert_memory_equal(y_cols, cols_too, (size_t)(cols * width) * sizeof *y_cols);
        check_guard(rows_too, rows * width);
        check_guard(cols_too, cols * width);
        free(single);
        free(rows_too);
        free(cols_too);
    }
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

/* c = a b' with packed rows b, against sums in long double. */
static void check_products(const mrc_panel_loops *loops, mrc_rng *rng, int64_t rows, int64_t cols,
                           int64_t d, double scale)
{
    int64_t groups = (cols + MRC_PACK - 1) / MRC_PACK, lda = d + 3, ldb = d + 1;
    int64_t ldc = groups * MRC_PACK;
    double *a = draw(rng, rows * lda, scale), *b = draw(rng, cols * ldb, 1 / scale);
    double *packed = draw(rng, groups * MRC_PACK * d, 1), *c = draw(rng, rows * ldc, 1);
    mrc_pack_rows(b, ldb, cols, d, packed);
    check_guard(packed, groups * MRC_PACK * d);
    loops->products(a, lda, rows, d, packed, groups, c, ldc);
    check_guard(c, rows * ldc);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < ldc; j++) {
            long double sum = 0, size = 0;
            for (int64_t k = 0; j < cols && k < d; k++) {
                sum += (long double)a[i * lda + k] * b[j * ldb + k];
                size += fabsl((long double)a[i * lda + k] * b[j * ldb + k]);
            }
            assert_true(fabsl(c[i * ldc + j] - sum) <= (long double)(d + 1) * DBL_EPSILON * size);
        }
    /* A value does not hang on its place: row 0 alone gives the same bits. */
    double *alone = new_doubles(ldc);
    loops->products(a, lda, 1, d, packed, groups, alone, ldc);
    assert_memory_equal(alone, c, (size_t)ldc * sizeof *c);
    mrc_pack_rows(b + (cols - 1) * ldb, ldb, 1, d, packed);
    loops->products(a, lda, 1, d, packed, 1, alone, ldc);
    assert_true(alone[0] == c[cols - 1]);
    free(a);
    free(b);
    free(packed);
    free(c);
    free(alone);
}

/* The same in single precision, with the bound of its rounding. */
static void check_products_single(const mrc_panel_loops *loops, mrc_rng *rng, int64_t rows,
                                  int64_t cols, int64_t d, float scale)
{
    enum { PACK = MRC_PACK_SINGLE };
    int64_t groups = (cols + PACK - 1) / PACK, lda = d + 3, ldb = d + 1, ldc = groups * PACK;
    float *a = malloc((size_t)(rows * lda) * sizeof *a);
    float *b = malloc((size_t)(cols * ldb) * sizeof *b);
    float *packed = malloc((size_t)(groups * PACK * d + GUARD) * sizeof *packed);
    double *c = draw(rng, rows * ldc, 1);
    for (int64_t i = 0; i < rows * lda; i++)
        a[i] = scale * (float)mrc_rng_normal(rng);
    for (int64_t i = 0; i < cols * ldb; i++)
        b[i] = (float)mrc_rng_normal(rng) / scale;
    for (int64_t i = 0; i < GUARD; i++)
        packed[groups * PACK * d + i] = 12345;
    mrc_pack_rows_single(b, ldb, cols, d, packed);
    for (int64_t i = 0; i < GUARD; i++)
        assert_true(packed[groups * PACK * d + i] == 12345);
    loops->products_single(a, lda, rows, d, packed, groups, c, ldc);
    check_guard(c, rows * ldc);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < ldc; j++) {
            double sum = 0, size = 0, parts = 24 + sqrt((double)d);
            for (int64_t k = 0; j < cols && k < d; k++) {
                sum += (double)a[i * lda + k] * b[j * ldb + k];
                size += fabs((double)a[i * lda + k] * b[j * ldb + k]);
            }
            assert_true(fabs(c[i * ldc + j] - sum) <= parts * FLT_EPSILON * size);
        }
    free(a);
    free(b);
    free(packed);
    free(c);
}

static void products_with_packed_rows_are_plain_sums(void **state)
{
    static const int64_t sizes[] = {1, 3, 5, 6, 8, 13, 16, 17, 32, 33, 40, 64, 97};
    static const int64_t columns[] = {1, 2, 3, 9, 64, 191, 192, 193, 383, 400};
    static const double scales[] = {1, 1e-100, 1e100};
    static const float float_scales[] = {1, 1e-10F, 1e10F};
    (void)state;
    for (mrc_simd simd = 0; simd <= mrc_simd_detect(); simd++)
        for (uint64_t seed = 0; seed < 120; seed++) {
            const mrc_panel_loops *loops = mrc_panel_loops_for(simd);
            mrc_rng rng;
            mrc_rng_seed(&rng, seed);
            int64_t rows = sizes[mrc_rng_below(&rng, sizeof sizes / sizeof *sizes)];
            int64_t cols = sizes[mrc_rng_below(&rng, sizeof sizes / sizeof *sizes)];
            int64_t d = columns[seed % (sizeof columns / sizeof *columns)];
            check_products(loops, &rng, rows, cols, d, scales[seed % 3]);
            check_products_single(loops, &rng, rows, cols, d, float_scales[seed % 3]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetric_products_are_plain_sums),
        cmocka_unit_test(products_with_packed_rows_are_plain_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
