/* SPDX-License-Identifier: BSD-3-Clause */
/* The body of one vector width. The including file defines WIDTH and TABLE, and is compiled with
 * the flags of its instruction set. */
#include "linalg/panel.h"

#include "base/vector.h"

/* MRC_PANEL_LANES columns make PARTS vectors; ROWS rows of T go together, as many as registers
 * allow. */
enum { PARTS = MRC_PANEL_LANES / WIDTH, ROWS = WIDTH == 8 ? 8 : WIDTH == 4 ? 2 : 1 };

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void times_rows(const double *tile, int64_t stride, int64_t cols, double alpha,
                       const double *v, int64_t ldv, double beta, double *y, int64_t ldy, int count)
{
    vector sum[ROWS][PARTS];
    for (int r = 0; r < count; r++)
        for (int p = 0; p < PARTS; p++)
            sum[r][p] = (vector){0};
    for (int64_t j = 0; j < cols; j++) {
        vector down[PARTS];
        for (int p = 0; p < PARTS; p++)
            down[p] = load(v + j * ldv + p * WIDTH);
        for (int r = 0; r < count; r++)
            for (int p = 0; p < PARTS; p++)
                sum[r][p] += tile[r * stride + j] * down[p];
    }
    for (int r = 0; r < count; r++)
        for (int p = 0; p < PARTS; p++) {
            double *to = y + r * ldy + p * WIDTH;
            /* beta = 0 must not read what may be anything */
            store(to, beta == 0 ? alpha * sum[r][p] : beta * load(to) + alpha * sum[r][p]);
        }
}

static void times(const double *tile, int64_t stride, int64_t rows, int64_t cols, double alpha,
                  const double *v, int64_t ldv, double beta, double *y, int64_t ldy, int64_t width)
{
    int64_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        for (int64_t w = 0; w < width; w += MRC_PANEL_LANES)
            times_rows(tile + i * stride, stride, cols, alpha, v + w, ldv, beta, y + i * ldy + w,
                       ldy, ROWS);
    for (; i < rows; i++)
        for (int64_t w = 0; w < width; w += MRC_PANEL_LANES)
            times_rows(tile + i * stride, stride, cols, alpha, v + w, ldv, beta, y + i * ldy + w,
                       ldy, 1);
}

ALWAYS void transposed_rows(const double *tile, int64_t stride, int64_t cols, const double *v,
                            int64_t ldv, double *y, int64_t ldy, int count)
{
    vector across[ROWS][PARTS];
    for (int r = 0; r < count; r++)
        for (int p = 0; p < PARTS; p++)
            across[r][p] = load(v + r * ldv + p * WIDTH);
    for (int64_t j = 0; j < cols; j++) {
        vector out[PARTS];
        for (int p = 0; p < PARTS; p++)
            out[p] = load(y + j * ldy + p * WIDTH);
        for (int r = 0; r < count; r++)
            for (int p = 0; p < PARTS; p++)
                out[p] += tile[r * stride + j] * across[r][p];
        for (int p = 0; p < PARTS; p++)
            store(y + j * ldy + p * WIDTH, out[p]);
    }
}

static void transposed_times(const double *tile, int64_t stride, int64_t rows, int64_t cols,
                             const double *v, int64_t ldv, double *y, int64_t ldy, int64_t width)
{
    int64_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        for (int64_t w = 0; w < width; w += MRC_PANEL_LANES)
            transposed_rows(tile + i * stride, stride, cols, v + i * ldv + w, ldv, y + w, ldy,
                            ROWS);
    for (; i < rows; i++)
        for (int64_t w = 0; w < width; w += MRC_PANEL_LANES)
            transposed_rows(tile + i * stride, stride, cols, v + i * ldv + w, ldv, y + w, ldy, 1);
}

/* Columns that go together: their part of v_cols and y_cols stays in the first-level cache while
 * all rows of the tile pass. */
enum { BOTH_COLS = 64, LINE = 8 /* doubles of a cache line */ };

/* ahead: values that are read next, as many rows as ROWS, or NULL. The processor does not foresee
 * them: rows of a block are short. */
ALWAYS void both_rows(const double *tile, int64_t stride, int64_t cols, const double *v_rows,
                      const double *v_cols, double *y_rows, double *y_cols, int64_t width,
                      int count, const double *ahead)
{
    vector sum[ROWS][PARTS], across[ROWS][PARTS];
    for (int r = 0; r < count; r++)
        for (int p = 0; p < PARTS; p++) {
            sum[r][p] = load(y_rows + r * width + p * WIDTH);
            across[r][p] = load(v_rows + r * width + p * WIDTH);
        }
    for (int64_t j = 0; j < cols; j++) {
        vector down[PARTS], out[PARTS];
        if (ahead && j % (LINE / ROWS) == 0) /* each line of them once */
            __builtin_prefetch(ahead + j % LINE * ROWS / LINE * stride + j / LINE * LINE, 0, 2);
        for (int p = 0; p < PARTS; p++) {
            down[p] = load(v_cols + j * width + p * WIDTH);
            out[p] = load(y_cols + j * width + p * WIDTH);
        }
        for (int r = 0; r < count; r++) {
            double value = tile[r * stride + j];
            for (int p = 0; p < PARTS; p++) {
                sum[r][p] += value * down[p];
                out[p] += value * across[r][p];
            }
        }
        for (int p = 0; p < PARTS; p++)
            store(y_cols + j * width + p * WIDTH, out[p]);
    }
    for (int r = 0; r < count; r++)
        for (int p = 0; p < PARTS; p++)
            store(y_rows + r * width + p * WIDTH, sum[r][p]);
}

static void both(const double *tile, int64_t stride, int64_t rows, int64_t cols,
                 const double *v_rows, const double *v_cols, double *y_rows, double *y_cols,
                 int64_t width)
{
    for (int64_t j = 0; j < cols; j += BOTH_COLS) {
        int64_t some = cols - j < BOTH_COLS ? cols - j : BOTH_COLS, i = 0;
        const double *v = v_cols + j * width;
        double *y = y_cols + j * width;
        for (; i + ROWS <= rows; i += ROWS) {
            const double *part = tile + i * stride + j;
            const double *ahead = i + 2 * ROWS <= rows ? part + ROWS * stride
                                  : j + some < cols    ? tile + j + some
                                                       : NULL;
            for (int64_t w = 0; w < width; w += MRC_PANEL_LANES)
                both_rows(part, stride, some, v_rows + i * width + w, v + w, y_rows + i * width + w,
                          y + w, width, ROWS, w == 0 ? ahead : NULL);
        }
        for (; i < rows; i++)
            for (int64_t w = 0; w < width; w += MRC_PANEL_LANES)
                both_rows(tile + i * stride + j, stride, some, v_rows + i * width + w, v + w,
                          y_rows + i * width + w, y + w, width, 1, NULL);
    }
}

/* The same with values in single precision, which become doubles a block of rows at a time. */
static void both_single(const float *tile, int64_t stride, int64_t rows, int64_t cols,
                        const double *v_rows, const double *v_cols, double *y_rows, double *y_cols,
                        int64_t width)
{
    enum { FLOATS = 2 * LINE }; /* of a cache line */
    double part[ROWS * BOTH_COLS];
    for (int64_t j = 0; j < cols; j += BOTH_COLS) {
        int64_t some = cols - j < BOTH_COLS ? cols - j : BOTH_COLS, count;
        const double *v = v_cols + j * width;
        double *y = y_cols + j * width;
        for (int64_t i = 0; i < rows; i += count) {
            count = rows - i < ROWS ? 1 : ROWS;
            for (int64_t r = 0; r < count; r++) {
                const float *from = tile + (i + r) * stride + j;
                for (int64_t k = 0; k < some; k++)
                    part[r * BOTH_COLS + k] = (double)from[k];
                for (int64_t k = 0; i + r + ROWS < rows && k < some; k += FLOATS)
                    __builtin_prefetch(from + ROWS * stride + k, 0, 2);
            }
            for (int64_t w = 0; w < width && count == ROWS; w += MRC_PANEL_LANES)
                both_rows(part, BOTH_COLS, some, v_rows + i * width + w, v + w,
                          y_rows + i * width + w, y + w, width, ROWS, NULL);
            for (int64_t w = 0; w < width && count < ROWS; w += MRC_PANEL_LANES)
                both_rows(part, BOTH_COLS, some, v_rows + i * width + w, v + w,
                          y_rows + i * width + w, y + w, width, 1, NULL);
        }
    }
}

/* One vector: along the rows of T, ONE_ROWS of them at a time, so that each value of T is used for
 * both products and y_cols is read and written once for several rows. */
enum { ONE_ROWS = 4 };

ALWAYS void one_rows(const double *tile, int64_t stride, int64_t cols, const double *v_rows,
                     const double *v_cols, double *y_rows, double *y_cols, int count)
{
    vector sum[ONE_ROWS];
    int64_t j = 0;
    for (int r = 0; r < count; r++)
        sum[r] = (vector){0};
    for (; j + WIDTH <= cols; j += WIDTH) {
        vector down = load(v_cols + j), out = y_cols ? load(y_cols + j) : down;
        for (int r = 0; r < count; r++) {
            vector values = load(tile + r * stride + j);
            sum[r] += values * down;
            if (y_cols)
                out += values * v_rows[r];
        }
        if (y_cols)
            store(y_cols + j, out);
    }
    for (int r = 0; r < count; r++) {
        double total = 0;
        for (int p = 0; p < WIDTH; p++)
            total += sum[r][p];
        for (int64_t k = j; k < cols; k++) {
            total += tile[r * stride + k] * v_cols[k];
            if (y_cols)
                y_cols[k] += tile[r * stride + k] * v_rows[r];
        }
        y_rows[r] += total;
    }
}

static void both_one(const double *tile, int64_t stride, int64_t rows, int64_t cols,
                     const double *v_rows, const double *v_cols, double *y_rows, double *y_cols)
{
    int64_t i = 0;
    for (; i + ONE_ROWS <= rows; i += ONE_ROWS)
        one_rows(tile + i * stride, stride, cols, v_rows + i, v_cols, y_rows + i, y_cols, ONE_ROWS);
    for (; i < rows; i++)
        one_rows(tile + i * stride, stride, cols, v_rows + i, v_cols, y_rows + i, y_cols, 1);
}

/* One row times T, COLUMNS vectors of columns at a time, then fewer. */
enum { COLUMNS = WIDTH == 8 ? 24 : 12, DOTS = 8 };

ALWAYS void row_times_vectors(const double *x, const double *tile, int64_t stride, int64_t rows,
                              double alpha, double *y, int count)
{
    vector sum[COLUMNS];
    for (int p = 0; p < count; p++)
        sum[p] = (vector){0};
    for (int64_t i = 0; i < rows; i++)
        for (int p = 0; p < count; p++)
            sum[p] += x[i] * load(tile + i * stride + p * WIDTH);
    for (int p = 0; p < count; p++)
        store(y + p * WIDTH, load(y + p * WIDTH) + alpha * sum[p]);
}

/* One rounding where vectors have one, whatever the compiler makes of loops over numbers. */
ALWAYS double add_product(double sum, double a, double b)
{
#if defined(__FMA__) || defined(__AVX512F__) /* the latter brings it without saying so */
    return __builtin_fma(a, b, sum);
#else
    return sum + a * b;
#endif
}

ALWAYS void row_times_numbers(const double *x, const double *tile, int64_t stride, int64_t rows,
                              double alpha, double *y, int count)
{
    double sum[WIDTH] = {0};
    for (int64_t i = 0; i < rows; i++)
        for (int p = 0; p < count; p++)
            sum[p] = add_product(sum[p], x[i], tile[i * stride + p]);
    for (int p = 0; p < count; p++)
        y[p] += alpha * sum[p];
}

static void row_times(const double *x, const double *tile, int64_t stride, int64_t rows,
                      int64_t cols, double alpha, double *y)
{
    int64_t j = 0;
    for (; j + COLUMNS * WIDTH <= cols; j += COLUMNS * WIDTH)
        row_times_vectors(x, tile + j, stride, rows, alpha, y + j, COLUMNS);
    for (; j + 4 * WIDTH <= cols; j += 4 * WIDTH)
        row_times_vectors(x, tile + j, stride, rows, alpha, y + j, 4);
    for (; j + WIDTH <= cols; j += WIDTH)
        row_times_vectors(x, tile + j, stride, rows, alpha, y + j, 1);
    for (; j + 2 <= cols; j += 2)
        row_times_numbers(x, tile + j, stride, rows, alpha, y + j, 2);
    if (j < cols)
        row_times_numbers(x, tile + j, stride, rows, alpha, y + j, 1);
}

ALWAYS void dots(const double *tile, int64_t stride, int64_t cols, const double *x, double alpha,
                 double *y, int count)
{
    double sum[DOTS] = {0};
    for (int64_t k = 0; k < cols; k++)
        for (int r = 0; r < count; r++)
            sum[r] = add_product(sum[r], x[k], tile[r * stride + k]);
    for (int r = 0; r < count; r++)
        y[r] += alpha * sum[r];
}

static void times_row(const double *tile, int64_t stride, int64_t rows, int64_t cols,
                      const double *x, double alpha, double *y)
{
    int64_t i = 0;
    for (; i + DOTS <= rows; i += DOTS)
        dots(tile + i * stride, stride, cols, x, alpha, y + i, DOTS);
    for (; i < rows; i++)
        dots(tile + i * stride, stride, cols, x, alpha, y + i, 1);
}

static void scatter(const int32_t *column, const double *value, int64_t count, const double *across,
                    double *panel)
{
    vector from[PARTS];
    for (int p = 0; p < PARTS; p++)
        from[p] = load(across + p * WIDTH);
    for (int64_t k = 0; k < count; k++) {
        double *to = panel + (int64_t)column[k] * MRC_PANEL_LANES;
        for (int p = 0; p < PARTS; p++)
            store(to + p * WIDTH, load(to + p * WIDTH) + value[k] * from[p]);
    }
}

static void gather(const int32_t *column, const double *value, int64_t count, const double *panel,
                   double *out)
{
    vector sum[PARTS] = {0};
    for (int64_t k = 0; k < count; k++) {
        const double *from = panel + (int64_t)column[k] * MRC_PANEL_LANES;
        for (int p = 0; p < PARTS; p++)
            sum[p] += value[k] * load(from + p * WIDTH);
    }
    for (int p = 0; p < PARTS; p++)
        store(out + p * WIDTH, sum[p]);
}

/* Rows times packed rows. A group of PRODUCT_DEPTH columns and PRODUCT_STEP rows beside it stay in
 * the first-level cache; sums of PRODUCT_STEP rows and two vectors stay in registers. */
enum { PRODUCT_DEPTH = 192, PRODUCT_STEP = WIDTH == 8 ? 8 : WIDTH == 4 ? 6 : 4 };

#define NUMBER double
#define NUMBERS doubles
#define LANES WIDTH
#define PACK MRC_PACK
#define PRODUCTS products
#define PRODUCT_ROWS product_rows
#include "linalg/panel_products.h"

#define NUMBER float
#define NUMBERS floats
#define LANES (2 * WIDTH)
#define PACK MRC_PACK_SINGLE
#define PRODUCTS products_single
#define PRODUCT_ROWS product_rows_single
#include "linalg/panel_products.h"

const mrc_panel_loops *TABLE(void)
{
    static const mrc_panel_loops table = {
        .times = times,
        .transposed_times = transposed_times,
        .both = both,
        .both_single = both_single,
        .both_one = both_one,
        .products = products,
        .products_single = products_single,
        .row_times = row_times,
        .times_row = times_row,
        .scatter = scatter,
        .gather = gather,
    };
    return &table;
}
