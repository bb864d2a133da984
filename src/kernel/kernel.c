/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels as users write them: one named kernel, or a sum of weighted products of named ones,
 *
 *   k(x, y) = sum over terms t of w_t prod over the parts p of t of k_p(x, y),   w_t >= 0
 *
 * Sums and products of positive semidefinite kernels are positive semidefinite (the product by
 * Schur), so a combination is when all its parts are. A term without parts is a constant.
 *
 * Each part prepares the rows for itself (points.c); tiles are combined in blocks that fit on the
 * stack, so that nothing is allocated. Cost: that of the parts, and two operations a part. */
#include "base/number.h"
#include "base/order.h"
#include "base/sweep.h"
#include "kernel/named.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

/* Length of the factor at the start of text: up to '+' or '*', except the sign of a number, as in
 * "coef0=+1" and "2e+3". */
static size_t factor_length(const char *text)
{
    size_t i = 0;
    for (; text[i] && text[i] != '*'; i++) {
        if (text[i] != '+')
            continue;
        bool exponent = i > 1 && (text[i - 1] == 'e' || text[i - 1] == 'E') &&
                        strchr("0123456789.", text[i - 2]) && text[i + 1] >= '0' &&
                        text[i + 1] <= '9';
        if (!exponent && (i == 0 || text[i - 1] != '='))
            break;
    }
    return i;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A copy without blanks at the ends and around ':', ',' and '='. False when there is no room. */
static bool copy_factor(const char *text, size_t length, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        size_t next = i;
        while (next < length && is_blank(text[next]))
            next++;
        bool drop = used == 0 || next == length || strchr(":,=", out[used - 1]) ||
                    strchr(":,=", text[next]);
        i = drop ? next : i;
        if (i == length)
            break;
        if (used + 1 >= size)
            return false;
        out[used++] = text[i];
    }
    out[used] = 0;
    return true;
}

static mercer_status fail_factor(const char *spec, size_t at, size_t length, const char *what,
                                 mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE];
    mrc_show(shown, spec + at, length);
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "kernel: '%s' %s", shown, what);
}

static mercer_status add_weight(mrc_kernel *kernel, int term, double weight, const char *text,
                                mercer_error *err)
{
    if (!isfinite(weight))
        return fail_factor(text, 0, strlen(text), "is not a finite weight", err);
    if (weight < 0)
        return fail_factor(text, 0, strlen(text),
                           "is a negative weight: the sum would not be positive semidefinite "
                           "(weights are >= 0)",
                           err);
    kernel->weight[term] *= weight;
    if (!isfinite(kernel->weight[term]))
        return fail_factor(text, 0, strlen(text), "makes the weight of its term overflow", err);
    return MERCER_OK;
}

static mercer_status add_part(mrc_kernel *kernel, const mercer_ctx *ctx, int term, const char *text,
                              mercer_error *err)
{
    if (kernel->parts == MRC_KERNEL_PARTS)
        return fail_factor(text, 0, strlen(text), "is one kernel too many (8 can be combined)",
                           err);
    mercer_status rc = mrc_part_parse(&kernel->part[kernel->parts], ctx, text, err);
    if (rc == MERCER_OK)
        kernel->term[kernel->parts++] = term;
    return rc;
}

/* No values of its own: everything is asked of the parts. */
static const mrc_param no_params[] = {MRC_PARAM_END};
static const mrc_kernel_def combined = {
    .entry = {"combined", "sums and products of kernels", "", no_params}};

bool mrc_kernel_is_combined(const mrc_kernel *kernel)
{
    return kernel->terms != 1 || kernel->parts != 1 || kernel->weight[0] != 1;
}

const mrc_kernel_def *mrc_kernel_def_of(const mrc_kernel *kernel)
{
    return mrc_kernel_is_combined(kernel) ? &combined : kernel->part[0].def;
}

static mercer_status check_combination(const mrc_kernel *kernel, const char *spec,
                                       mercer_error *err)
{
    if (kernel->parts == 0)
        return fail_factor(spec, 0, strlen(spec), "names no kernel", err);
    for (int p = 0; mrc_kernel_is_combined(kernel) && p < kernel->parts; p++)
        if (kernel->part[p].def->rows == MRC_ROWS_MATRIX)
            return fail_factor(spec, 0, strlen(spec),
                               "combines precomputed, which has no rows for other kernels; combine "
                               "the matrices before",
                               err);
    return MERCER_OK;
}

mercer_status mrc_kernel_parse(mrc_kernel *kernel, const char *spec, mercer_error *err)
{
    return mrc_kernel_parse_in(kernel, NULL, spec, err);
}

mercer_status mrc_kernel_parse_in(mrc_kernel *kernel, const mercer_ctx *ctx, const char *spec,
                                  mercer_error *err)
{
    char text[512];
    mercer_status rc = MERCER_OK;
    memset(kernel, 0, sizeof *kernel);
    kernel->terms = 1;
    kernel->weight[0] = 1;
    for (size_t at = 0;;) {
        size_t length = factor_length(spec + at);
        int term = kernel->terms - 1;
        double weight;
        if (!copy_factor(spec + at, length, text, sizeof text))
            return fail_factor(spec, at, length, "is too long for a kernel", err);
        if (!text[0] && (at > 0 || spec[length]))
            return fail_factor(spec, 0, strlen(spec),
                               "has nothing where a kernel or a weight was expected", err);
        rc = mrc_parse_double(text, strlen(text), &weight)
                 ? add_weight(kernel, term, weight, text, err)
                 : add_part(kernel, ctx, term, text, err);
        if (rc != MERCER_OK)
            return rc;
        at += length;
        if (!spec[at])
            return check_combination(kernel, spec, err);
        if (spec[at++] == '+') {
            if (kernel->terms == MRC_KERNEL_PARTS)
                return fail_factor(spec, 0, strlen(spec), "has more than 8 terms", err);
            kernel->weight[kernel->terms++] = 1;
        }
    }
}

/* Append what fits; *used counts also what does not. */
static void append(char *text, size_t size, size_t *used, const char *more)
{
    for (; *more; more++, ++*used)
        if (*used + 1 < size)
            text[*used] = *more;
    if (size > 0)
        text[*used < size ? *used : size - 1] = 0;
}

mercer_status mrc_kernel_format(const mrc_kernel *kernel, char *text, size_t size,
                                mercer_error *err)
{
    size_t used = 0;
    for (int t = 0, p = 0; t < kernel->terms; t++) {
        char number[MRC_NUMBER_SIZE], part[512];
        bool constant = p == kernel->parts || kernel->term[p] != t, first = true;
        append(text, size, &used, t ? " + " : "");
        if (kernel->weight[t] != 1 || constant) {
            mrc_format_double(kernel->weight[t], number);
            append(text, size, &used, number);
            first = false;
        }
        for (; p < kernel->parts && kernel->term[p] == t; p++, first = false) {
            mercer_status rc = mrc_part_format(&kernel->part[p], part, sizeof part, err);
            if (rc != MERCER_OK)
                return rc;
            append(text, size, &used, first ? "" : "*");
            append(text, size, &used, part);
        }
    }
    if (used >= size)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "the kernel needs more than %zu characters",
                        size);
    return MERCER_OK;
}

/* ---- properties ---- */

mercer_status mrc_kernel_resolve(mrc_kernel *kernel, mercer_ctx *ctx, const mercer_rows *rows,
                                 mercer_error *err)
{
    double median = 0;
    mercer_status rc = MERCER_OK;
    for (int p = 0; rc == MERCER_OK && p < kernel->parts; p++)
        rc = mrc_part_resolve(&kernel->part[p], ctx, rows, &median, err);
    return rc;
}

/* The first part for which the answer is yes, or NULL. */
static const mrc_kernel_part *find_part(const mrc_kernel *kernel,
                                        bool (*asks)(const mrc_kernel_part *))
{
    for (int p = 0; p < kernel->parts; p++)
        if (asks(&kernel->part[p]))
            return &kernel->part[p];
    return NULL;
}

static bool is_indefinite(const mrc_kernel_part *part)
{
    return !mrc_part_is_semidefinite(part);
}

static bool asks_host(const mrc_kernel_part *part)
{
    return part->host != NULL;
}

static bool needs_dense(const mrc_kernel_part *part)
{
    return part->def->rows == MRC_ROWS_DENSE;
}

static bool needs_nonnegative(const mrc_kernel_part *part)
{
    return part->def->nonnegative;
}

static bool has_bound(const mrc_kernel_part *part)
{
    return part->def->most > 0;
}

const char *mrc_kernel_name(const mrc_kernel *kernel)
{
    return mrc_kernel_def_of(kernel)->entry.name;
}

bool mrc_kernel_is_precomputed(const mrc_kernel *kernel)
{
    return mrc_kernel_def_of(kernel)->rows == MRC_ROWS_MATRIX;
}

bool mrc_kernel_asks_host(const mrc_kernel *kernel)
{
    return find_part(kernel, asks_host) != NULL;
}

void mrc_kernel_hold(const mrc_kernel *kernel)
{
    for (int p = 0; p < kernel->parts; p++)
        mrc_host_kernel_hold(kernel->part[p].host);
}

void mrc_kernel_drop(const mrc_kernel *kernel)
{
    for (int p = 0; p < kernel->parts; p++)
        mrc_host_kernel_drop(kernel->part[p].host);
}

bool mrc_kernel_is_linear(const mrc_kernel *kernel)
{
    return mrc_kernel_is_product(kernel) && mrc_kernel_def_of(kernel)->rows == MRC_ROWS_AS_IS;
}

bool mrc_kernel_is_product(const mrc_kernel *kernel)
{
    const mrc_kernel_def *def = mrc_kernel_def_of(kernel);
    return def->term == MRC_TERM_PRODUCT && !def->value;
}

double mrc_kernel_max_abs(const mrc_kernel *kernel)
{
    return mrc_kernel_def_of(kernel)->max_abs;
}

bool mrc_kernel_is_semidefinite(const mrc_kernel *kernel)
{
    return !find_part(kernel, is_indefinite);
}

bool mrc_kernel_learns_width(const mrc_kernel *kernel)
{
    return find_part(kernel, mrc_part_learns_width) != NULL;
}

double mrc_kernel_width(const mrc_kernel *kernel)
{
    return mrc_kernel_is_combined(kernel) ? 0 : kernel->part[0].sigma;
}

void mrc_kernel_set_width(mrc_kernel *kernel, double sigma)
{
    if (mrc_kernel_width(kernel) > 0)
        mrc_part_set_width(&kernel->part[0], sigma);
}

bool mrc_kernel_is_open(const mrc_kernel *kernel)
{
    return find_part(kernel, mrc_part_is_open) != NULL;
}

mercer_status mrc_kernel_check_rows(const mrc_kernel *kernel, mercer_ctx *ctx,
                                    const mercer_rows *rows, int64_t first, mercer_error *err)
{
    const mrc_kernel_part *part = find_part(kernel, needs_dense);
    const mrc_csr *csr = &rows->csr;
    double *line = NULL;
    mercer_status rc = MERCER_OK;
    if (part && csr->start)
        return mrc_fail(err, MERCER_ERR_DATA, "kernel %s takes dense rows, and these are sparse",
                        part->host->name);
    part = find_part(kernel, needs_nonnegative);
    const mrc_kernel_part *bounded = find_part(kernel, has_bound);
    if ((part || bounded) && rows->packed)
        MRC_TRY(mrc_alloc(&line, rows->d, sizeof *line, err));
    for (int64_t i = 0; (part || bounded) && i < rows->n; i++) {
        int64_t start = csr->start ? csr->start[i] : 0;
        int64_t count = csr->start ? csr->start[i + 1] - start : rows->d;
        const double *x = csr->start ? csr->value + start : mrc_rows_line(rows, i, line);
        for (int64_t k = 0; k < count; k++) {
            const bool below = part && x[k] < 0;
            if (!below && !(bounded && fabs(x[k]) > bounded->def->most))
                continue;
            const int64_t column = (csr->start ? csr->column[start + k] : k) + 1;
            char range[48] = "values >= 0 only";
            if (!below)
                snprintf(range, sizeof range, "values up to %g only", bounded->def->most);
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.row = first + i + 1, .column_number = column),
                        "kernel %s: row %lld column %lld is %g, and it takes %s (after scaling)",
                        (below ? part : bounded)->def->entry.name, (long long)(first + i + 1),
                        (long long)column, x[k], range);
        }
        MRC_TRY(mrc_check_pass(ctx, i, count, err));
    }
out:
    mrc_free(line);
    return rc;
}

double mrc_kernel_rank_limit(const mrc_kernel *kernel, int64_t d)
{
    double sum = 0;
    for (int t = 0, p = 0; t < kernel->terms; t++) {
        double product = 1; /* of a constant */
        for (; p < kernel->parts && kernel->term[p] == t; p++)
            product *= mrc_part_rank_limit(&kernel->part[p], d);
        sum += product;
    }
    return sum;
}

/* ---- values ---- */

/* A block of a combination: twice this many doubles are on the stack (64 KB). Larger blocks make
 * longer products, but a thread's stack may be small. */
enum { BLOCK_ROWS = 32, BLOCK_COLUMNS = 128 };

/* out (rows x columns) = the combination; value: one part's values, product: one term's. */
static void combine_block(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *a,
                          int64_t a0, int64_t rows, const mrc_points *b, int64_t b0,
                          int64_t columns, double *out, int64_t ldo)
{
    double value[BLOCK_ROWS * BLOCK_COLUMNS], product[BLOCK_ROWS * BLOCK_COLUMNS];
    for (int t = 0, p = 0; t < kernel->terms; t++) {
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                product[i * BLOCK_COLUMNS + j] = kernel->weight[t];
        for (; p < kernel->parts && kernel->term[p] == t; p++) {
            mrc_part_tile(&kernel->part[p], ctx, &a->part[p], a0, rows, &b->part[p], b0, columns,
                          value, BLOCK_COLUMNS);
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < columns; j++)
                    product[i * BLOCK_COLUMNS + j] *= value[i * BLOCK_COLUMNS + j];
        }
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                out[i * ldo + j] = (t ? out[i * ldo + j] : 0) + product[i * BLOCK_COLUMNS + j];
    }
}

void mrc_kernel_tile(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *a, int64_t a0,
                     int64_t na, const mrc_points *b, int64_t b0, int64_t nb, double *out,
                     int64_t ldo)
{
    if (!mrc_kernel_is_combined(kernel)) {
        mrc_part_tile(&kernel->part[0], ctx, a, a0, na, b, b0, nb, out, ldo);
        return;
    }
    for (int64_t i = 0; i < na; i += BLOCK_ROWS)
        for (int64_t j = 0; j < nb; j += BLOCK_COLUMNS)
            combine_block(kernel, ctx, a, a0 + i, mrc_min64(BLOCK_ROWS, na - i), b, b0 + j,
                          mrc_min64(BLOCK_COLUMNS, nb - j), out + i * ldo + j, ldo);
}

bool mrc_kernel_takes_products(const mrc_kernel *kernel, const mrc_points *points)
{
    return !mrc_kernel_is_combined(kernel) && mrc_part_takes_products(&kernel->part[0], points);
}

void mrc_kernel_tile_of_products(const mrc_kernel *kernel, mercer_ctx *ctx, const double *a,
                                 int64_t lda, const double *norm_a, int64_t na,
                                 const double *packed, const double *norm_b, int64_t nb, int64_t d,
                                 double *out, int64_t ldo)
{
    mrc_part_tile_of_products(&kernel->part[0], ctx, a, lda, norm_a, na, packed, norm_b, nb, d, out,
                              ldo);
}

void mrc_kernel_tile_gather(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *a,
                            const int64_t *index, int64_t na, const mrc_points *b, int64_t b0,
                            int64_t nb, double *scratch, double *out, int64_t ldo)
{
    mrc_points rows = mrc_points_gather(a, index, na, scratch);
    mrc_kernel_tile(kernel, ctx, &rows, 0, na, b, b0, nb, out, ldo);
}

void mrc_kernel_diag(const mrc_kernel *kernel, mercer_ctx *ctx, const mrc_points *points,
                     int64_t first, int64_t count, double *out)
{
    if (!mrc_kernel_is_combined(kernel)) {
        mrc_part_diag(&kernel->part[0], ctx, points, first, count, out);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        out[i] = 0;
        for (int t = 0, p = 0; t < kernel->terms; t++) {
            double product = kernel->weight[t], value;
            for (; p < kernel->parts && kernel->term[p] == t; p++) {
                mrc_part_diag(&kernel->part[p], ctx, &points->part[p], first + i, 1, &value);
                product *= value;
            }
            out[i] += product;
        }
    }
}

enum { DIAG_ROWS = 64 };

struct diag_work {
    const mrc_kernel *kernel;
    mercer_ctx *ctx;
    const mrc_points *points;
    double *out;
};

static void diag_rows(void *arg, int64_t task, int worker)
{
    const struct diag_work *w = arg;
    int64_t i = task * DIAG_ROWS;
    (void)worker;
    mrc_kernel_diag(w->kernel, w->ctx, w->points, i, mrc_min64(DIAG_ROWS, w->points->n - i),
                    w->out + i);
}

static bool calls_the_host(const mrc_kernel *kernel)
{
    bool calls = false;
    for (int p = 0; p < kernel->parts; p++)
        calls = calls || kernel->part[p].host;
    return calls;
}

mercer_status mrc_kernel_whole_diag(const mrc_kernel *kernel, mercer_ctx *ctx,
                                    const mrc_points *points, double *out, mercer_error *err)
{
    enum { ROWS = DIAG_ROWS };
    struct diag_work w = {.kernel = kernel, .ctx = ctx, .points = points, .out = out};
    mercer_status rc = MERCER_OK;
    if (!calls_the_host(kernel)) /* which expects one call after the other */
        return mrc_sweep(ctx, (points->n + ROWS - 1) / ROWS, (double)points->n * (double)points->d,
                         diag_rows, &w, err);
    for (int64_t i = 0; rc == MERCER_OK && i < points->n; i += ROWS) {
        mrc_kernel_diag(kernel, ctx, points, i, mrc_min64(ROWS, points->n - i), out + i);
        rc = mrc_check_pass(ctx, i / ROWS, ROWS * points->d, err);
        if (rc == MERCER_OK && mrc_ctx_has_failed(ctx))
            rc = mrc_check_cancel(ctx, err);
    }
    return rc;
}
