/* SPDX-License-Identifier: BSD-3-Clause */
/* The body of one vector width. The including file defines WIDTH, NAME, TABLE and the functions
 * VECTOR_LOG1P, _SQRT and _TANH, and is compiled with the flags of its instruction set. */
#include "kernel/simd.h"

#include "base/vector.h"

/* The last count < WIDTH values, zeroes behind them. */
static inline vector load_part(const double *from, int64_t count)
{
    vector v = {0};
    memcpy(&v, from, (size_t)count * sizeof *from);
    return v;
}

static inline void store_part(double *to, vector v, int64_t count)
{
    memcpy(to, &v, (size_t)count * sizeof *to);
}

/* exp(x) for x <= 0, to one unit in the last place; 0 below -708, where results would lose digits.
 * Every value of a Gaussian goes through here, and without the general cases (x > 0, NaN) it takes
 * half the time of a library's exp, mostly by being inlined.
 * x = n ln 2 + r, |r| <= ln(2)/2; exp(r) by its series to r^13/13!; times 2^n in the exponent. */
static inline vector vector_exp(vector x)
{
    const double round = 0x1.8p52; /* adding it leaves the nearest integer in the low bits */
    vector shifted = x * 0x1.71547652b82fep0 + round;
    vector n = shifted - round;
    /* ln 2 in two parts, the first short enough for n * part to be exact. */
    vector r = x - n * 0x1.62e42fefa0000p-1;
    r = r - n * 0x1.cf79abc9e3b39p-40;
    vector r2 = r * r, r4 = r2 * r2;
    vector first = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    vector second = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    vector third =
        (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800));
    /* The one is added last: all other roundings are of smaller numbers. */
    vector power = 1 + (r + r2 * (first + r4 * (second + r4 * third)));
    words result = (words)power + ((words)shifted << 52); /* wraps: n <= 0 */
    return (vector)(result & (words)(x > -708));
}

static inline vector fetch(const double *from, int64_t left)
{
    return left < WIDTH ? load_part(from, left) : load(from);
}

static inline void save(double *to, vector v, int64_t left)
{
    if (left < WIDTH)
        store_part(to, v, left);
    else
        store(to, v);
}

/* The dimension is a constant in the common cases, so that the loop over it is unrolled. */
static inline __attribute__((always_inline)) void
gaussian_rows(const double *a, int64_t na, int64_t lda, const double *bt, int64_t nb, int64_t ldb,
              int64_t d, double gamma, double *out, int64_t ldo)
{
    for (int64_t i = 0; i < na; i++) {
        const double *ai = a + i * lda;
        double *row = out + i * ldo;
        int64_t j = 0;
        for (; j + WIDTH <= nb; j += WIDTH) {
            vector sum = {0};
            for (int64_t k = 0; k < d; k++) {
                vector difference = load(bt + k * ldb + j) - ai[k];
                sum += difference * difference;
            }
            store(row + j, vector_exp(-gamma * sum));
        }
        if (j < nb) {
            vector sum = {0};
            for (int64_t k = 0; k < d; k++) {
                vector difference = load_part(bt + k * ldb + j, nb - j) - ai[k];
                sum += difference * difference;
            }
            store_part(row + j, vector_exp(-gamma * sum), nb - j);
        }
    }
}

static void gaussian_by_differences(const double *a, int64_t na, int64_t lda, const double *bt,
                                    int64_t nb, int64_t ldb, int64_t d, double gamma, double *out,
                                    int64_t ldo)
{
    switch (d) {
    case 1:
        gaussian_rows(a, na, lda, bt, nb, ldb, 1, gamma, out, ldo);
        break;
    case 2:
        gaussian_rows(a, na, lda, bt, nb, ldb, 2, gamma, out, ldo);
        break;
    case 3:
        gaussian_rows(a, na, lda, bt, nb, ldb, 3, gamma, out, ldo);
        break;
    default:
        gaussian_rows(a, na, lda, bt, nb, ldb, d, gamma, out, ldo);
    }
}

static inline __attribute__((always_inline)) vector column_term(mrc_term term, vector b, double a)
{
    vector difference = b - a, total = b + a;
    bits less = b < a + (vector){0}, nothing = total == 0;
    switch (term) {
    case MRC_TERM_SQUARE:
        return difference * difference;
    case MRC_TERM_ABSOLUTE:
        return (vector)((bits)difference & INT64_MAX);
    case MRC_TERM_CHI2: /* |difference| <= total, so that nothing overflows or vanishes early */
        return difference * (difference / (total + (vector)((bits)(1 + (vector){0}) & nothing)));
    default:
        return (vector)(((bits)b & less) | ((bits)(a + (vector){0}) & ~less));
    }
}

/* Columns go in panels, whose part of b stays in the first-level cache while all rows of a pass;
 * four rows share each load of b. The sums run over the columns in order, whatever the blocks. */
enum { PANEL = 16, ROWS = 4 };

static inline __attribute__((always_inline)) void
add_columns(mrc_term term, const double *a, int64_t rows, int64_t lda, const double *bt, int64_t nb,
            int64_t ldb, int64_t d, bool first, double *out, int64_t ldo)
{
    for (int64_t j = 0; j < nb; j += WIDTH) {
        int64_t left = nb - j;
        vector sum[ROWS] = {{0}};
        for (int64_t r = 0; !first && r < rows; r++)
            sum[r] = fetch(out + r * ldo + j, left);
        for (int64_t k = 0; k < d; k++) {
            vector b = fetch(bt + k * ldb + j, left);
            for (int64_t r = 0; r < rows; r++)
                sum[r] += column_term(term, b, a[r * lda + k]);
        }
        for (int64_t r = 0; r < rows; r++)
            save(out + r * ldo + j, sum[r], left);
    }
}

static inline __attribute__((always_inline)) void
sum_columns(mrc_term term, const double *a, int64_t na, int64_t lda, const double *bt, int64_t nb,
            int64_t ldb, int64_t d, double *out, int64_t ldo)
{
    for (int64_t k = 0; k < d; k += PANEL) {
        int64_t width = d - k < PANEL ? d - k : PANEL, i = 0;
        for (; i + ROWS <= na; i += ROWS)
            add_columns(term, a + i * lda + k, ROWS, lda, bt + k * ldb, nb, ldb, width, k == 0,
                        out + i * ldo, ldo);
        for (; i < na; i++)
            add_columns(term, a + i * lda + k, 1, lda, bt + k * ldb, nb, ldb, width, k == 0,
                        out + i * ldo, ldo);
    }
}

static void column_sums(mrc_term term, const double *a, int64_t na, int64_t lda, const double *bt,
                        int64_t nb, int64_t ldb, int64_t d, double *out, int64_t ldo)
{
    switch (term) {
    case MRC_TERM_SQUARE:
        sum_columns(MRC_TERM_SQUARE, a, na, lda, bt, nb, ldb, d, out, ldo);
        break;
    case MRC_TERM_ABSOLUTE:
        sum_columns(MRC_TERM_ABSOLUTE, a, na, lda, bt, nb, ldb, d, out, ldo);
        break;
    case MRC_TERM_CHI2:
        sum_columns(MRC_TERM_CHI2, a, na, lda, bt, nb, ldb, d, out, ldo);
        break;
    default:
        sum_columns(MRC_TERM_MIN, a, na, lda, bt, nb, ldb, d, out, ldo);
    }
}

static bool distances_from_dots(double *row, int64_t nb, double norm_a, const double *norm_b)
{
    bits lost = {0}; /* set in some lane once a distance has lost digits */
    int64_t j = 0;
    for (; j + WIDTH <= nb; j += WIDTH) {
        vector total = norm_a + load(norm_b + j);
        vector distance = total - 2 * load(row + j);
        lost |= ~(distance >= MRC_DISTANCE_SHARE * total); /* inf - inf is lost, too */
        store(row + j, (vector)((bits)distance & (bits)(distance > 0)));
    }
    bool any = false;
    for (int lane = 0; lane < WIDTH; lane++)
        any |= lost[lane] != 0;
    for (; j < nb; j++) {
        double total = norm_a + norm_b[j], distance = total - 2 * row[j];
        any |= !(distance >= MRC_DISTANCE_SHARE * total);
        row[j] = distance > 0 ? distance : 0;
    }
    return any;
}

static void exponential(double *row, int64_t count, double factor)
{
    int64_t j = 0;
    for (; j + WIDTH <= count; j += WIDTH)
        store(row + j, vector_exp(factor * load(row + j)));
    if (j < count)
        store_part(row + j, vector_exp(factor * load_part(row + j, count - j)), count - j);
}

static void exponential_of_root(double *row, int64_t count, double factor)
{
    for (int64_t j = 0; j < count; j += WIDTH) {
        vector x = fetch(row + j, count - j);
        save(row + j, vector_exp(factor * VECTOR_SQRT(x)), count - j);
    }
}

static void matern(double *row, int64_t count, double scale, int order)
{
    for (int64_t j = 0; j < count; j += WIDTH) {
        vector x = fetch(row + j, count - j);
        vector square = scale * x, r = VECTOR_SQRT(square);
        vector polynomial = order == 1 ? 1 + r : 1 + (r + square / 3);
        vector value = polynomial * vector_exp(-r);
        /* Far out the exponential is 0 and the polynomial may be infinite: 0, not NaN. */
        value = (vector)((bits)value & (r < 1000));
        save(row + j, value, count - j);
    }
}

/* By log1p, since 1 + scale x would round away a small distance. */
static void rational(double *row, int64_t count, double scale, double power)
{
    for (int64_t j = 0; j < count; j += WIDTH) {
        vector x = fetch(row + j, count - j);
        save(row + j, vector_exp(-power * VECTOR_LOG1P(scale * x)), count - j);
    }
}

static void power(double *row, int64_t count, double gamma, double coef0, int64_t degree)
{
    for (int64_t j = 0; j < count; j++) {
        double base = gamma * row[j] + coef0, result = 1;
        for (int64_t left = degree; left > 0; left >>= 1) {
            if (left & 1)
                result *= base;
            base *= base;
        }
        row[j] = result;
    }
}

static void hyperbolic_tangent(double *row, int64_t count, double gamma, double coef0)
{
    int64_t j = 0;
    for (; j + WIDTH <= count; j += WIDTH)
        store(row + j, VECTOR_TANH(gamma * load(row + j) + coef0));
    if (j < count)
        store_part(row + j, VECTOR_TANH(gamma * load_part(row + j, count - j) + coef0), count - j);
}

/* Most values are not: runs of them are passed over before a single one is looked at. */
static int64_t first_below(const double *row, int64_t count, double limit)
{
    enum { RUN = 4 * WIDTH };
    int64_t j = 0;
    for (; j + RUN <= count; j += RUN) {
        bits below = {0};
        int64_t any = 0;
        for (int part = 0; part < RUN; part += WIDTH)
            below |= load(row + j + part) < limit;
        for (int lane = 0; lane < WIDTH; lane++)
            any |= below[lane];
        if (any)
            break;
    }
    while (j < count && !(row[j] < limit))
        j++;
    return j;
}

const mrc_simd_loops *TABLE(void)
{
    static const mrc_simd_loops table = {
        .name = NAME,
        .gaussian_by_differences = gaussian_by_differences,
        .distances_from_dots = distances_from_dots,
        .exponential = exponential,
        .column_sums = column_sums,
        .exponential_of_root = exponential_of_root,
        .matern = matern,
        .rational = rational,
        .power = power,
        .hyperbolic_tangent = hyperbolic_tangent,
        .first_below = first_below,
    };
    return &table;
}
