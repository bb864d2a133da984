/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of rows with packed rows, for one type of numbers. The including file, panel_loops.h,
 * defines NUMBER, LANES of a vector, PACK (packed rows in a group) and the names PRODUCTS,
 * PRODUCT_ROWS and NUMBERS. */
typedef NUMBER NUMBERS __attribute__((vector_size(sizeof(NUMBER) * LANES)));

/* c (count x 2 vectors) = or += a b' over `depth` columns. */
ALWAYS void PRODUCT_ROWS(const NUMBER *a, int64_t lda, int64_t depth, const NUMBER *packed,
                         bool first, double *c, int64_t ldc, int count)
{
    NUMBERS sum[PRODUCT_STEP][2];
    for (int r = 0; r < count; r++)
        sum[r][0] = sum[r][1] = (NUMBERS){0};
    for (int64_t k = 0; k < depth; k++) {
        NUMBERS left, right;
        memcpy(&left, packed + k * PACK, sizeof left);
        memcpy(&right, packed + k * PACK + LANES, sizeof right);
        for (int r = 0; r < count; r++) {
            sum[r][0] += a[r * lda + k] * left;
            sum[r][1] += a[r * lda + k] * right;
        }
    }
    for (int r = 0; r < count; r++) {
        NUMBERS left = sum[r][0], right = sum[r][1]; /* an array of them would leave registers */
        NUMBER sums[2 * LANES];
        double *to = c + r * ldc;
        memcpy(sums, &left, sizeof left);
        memcpy(sums + LANES, &right, sizeof right);
        for (int p = 0; p < 2 * LANES; p++)
            to[p] = first ? (double)sums[p] : to[p] + (double)sums[p];
    }
}

static void PRODUCTS(const NUMBER *a, int64_t lda, int64_t rows, int64_t d, const NUMBER *packed,
                     int64_t groups, double *c, int64_t ldc)
{
    for (int64_t k = 0; k < d; k += PRODUCT_DEPTH) {
        int64_t depth = d - k < PRODUCT_DEPTH ? d - k : PRODUCT_DEPTH;
        for (int64_t g = 0; g < groups * PACK; g += 2 * LANES) {
            const NUMBER *b = packed + g / PACK * PACK * d + k * PACK + g % PACK;
            int64_t i = 0;
            for (; i + PRODUCT_STEP <= rows; i += PRODUCT_STEP)
                PRODUCT_ROWS(a + i * lda + k, lda, depth, b, k == 0, c + i * ldc + g, ldc,
                             PRODUCT_STEP);
            for (; i < rows; i++)
                PRODUCT_ROWS(a + i * lda + k, lda, depth, b, k == 0, c + i * ldc + g, ldc, 1);
        }
    }
}

#undef NUMBER
#undef NUMBERS
#undef LANES
#undef PACK
#undef PRODUCTS
#undef PRODUCT_ROWS
