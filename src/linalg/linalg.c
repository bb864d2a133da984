/* SPDX-License-Identifier: BSD-3-Clause */
/* BLAS and LAPACK behind one set of names: row-major, 64-bit sizes checked once, split into fixed
 * blocks so that the number of threads never changes a result. */
#include "linalg/linalg.h"

#include "base/aside.h"
#include "base/order.h"
#include "base/running.h"
#include "linalg/panel.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <string.h>

int mrc_blas_int(int64_t size)
{
    assert(size >= 0 && size <= INT_MAX);
    return (int)size;
}

void mrc_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
              const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c,
              int64_t ldc)
{
    if (m == 0 || n == 0)
        return;
    lda = lda > 0 ? lda : 1; /* k = 0: arrays without columns, which the reference BLAS refuses */
    ldb = ldb > 0 ? ldb : 1;
    cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, mrc_blas_int(m), mrc_blas_int(n),
                mrc_blas_int(k), alpha, a, mrc_blas_int(lda), b, mrc_blas_int(ldb), beta, c,
                mrc_blas_int(ldc));
}

void mrc_gemm_rows(mrc_simd simd, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
                   const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                   double *c, int64_t ldc)
{
    const mrc_panel_loops *loops = mrc_panel_loops_for(simd);
    for (int64_t i = 0; i < m; i++) {
        const double *x = a + i * lda;
        double *y = c + i * ldc;
        if (beta == 0)
            memset(y, 0, (size_t)n * sizeof *y);
        if (transpose_b)
            loops->times_row(b, ldb, n, k, x, alpha, y);
        else
            loops->row_times(x, b, ldb, k, n, alpha, y);
    }
}

void mrc_gemv(bool transpose, int64_t m, int64_t n, double alpha, const double *a, int64_t lda,
              const double *x, double beta, double *y)
{
    if (m == 0 || n == 0)
        return;
    cblas_dgemv(CblasRowMajor, transpose ? CblasTrans : CblasNoTrans, mrc_blas_int(m),
                mrc_blas_int(n), alpha, a, mrc_blas_int(lda), x, 1, beta, y, 1);
}

void mrc_lower_solve(bool right, bool transpose, int64_t m, int64_t n, const double *l, int64_t ldl,
                     double *b, int64_t ldb)
{
    if (m == 0 || n == 0)
        return;
    cblas_dtrsm(CblasRowMajor, right ? CblasRight : CblasLeft, CblasLower,
                transpose ? CblasTrans : CblasNoTrans, CblasNonUnit, mrc_blas_int(m),
                mrc_blas_int(n), 1, l, mrc_blas_int(ldl), b, mrc_blas_int(ldb));
}

/* Whether a block of this many columns is one for the narrow loops. */
static bool is_narrow(int64_t columns)
{
    return columns % MRC_PANEL_LANES == 0 && columns <= 4 * MRC_PANEL_LANES;
}

double mrc_dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void mrc_transpose(const double *from, int64_t rows, int64_t columns, double *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
}

/* Products A'B over tall matrices are summed by parts (base/strips.h), each in strips of STRIP
 * rows. */
enum { STRIP = 1024, MIN_STRIP = 128 };
#define STRIP_FLOPS 5e9

struct tall_product {
    mercer_ctx *ctx;
    const double *a, *b;
    int64_t ka, lda, kb, ldb, n;
    int64_t strip; /* rows between two looks at cancellation */
    bool symmetric;
    const mrc_panel_loops *narrow; /* NULL: BLAS */
    const double *wide;            /* B', of this stride, instead of b; turned into */
    int64_t stride;
    double *scratch; /* per worker: STRIP x kb */
};

/* Rows of B from row i on. */
static const double *rows_of_b(const struct tall_product *p, int64_t i, int64_t rows, int worker)
{
    if (!p->wide) /* without scratch, too */
        return p->b + i * p->ldb;
    double *out = p->scratch + (int64_t)worker * STRIP * p->kb;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < p->kb; k++)
            out[r * p->kb + k] = p->wide[k * p->stride + i + r];
    return out;
}

static void tall_product_part(void *arg, int64_t first, int64_t end, double *c, int worker)
{
    const struct tall_product *p = arg;
    for (int64_t i = first; i < end; i += p->strip) {
        int64_t rows = end - i < p->strip ? end - i : p->strip;
        if (mrc_check_cancel(p->ctx, NULL) != MERCER_OK)
            return; /* the caller sees it, too */
        const double *b = rows_of_b(p, i, rows, worker);
        if (p->symmetric)
            cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, mrc_blas_int(p->ka),
                        mrc_blas_int(rows), 1, p->a + i * p->lda, mrc_blas_int(p->lda), 1, c,
                        mrc_blas_int(p->ka));
        else if (p->narrow)
            p->narrow->transposed_times(p->a + i * p->lda, p->lda, rows, p->ka, b, p->ldb, c, p->kb,
                                        p->kb);
        else
            mrc_gemm(true, false, p->ka, p->kb, rows, 1, p->a + i * p->lda, p->lda, b, p->ldb, 1, c,
                     p->kb);
    }
}

static mercer_status tall_product_run(mercer_ctx *ctx, struct tall_product *p, const mrc_span *span,
                                      double bound, double *c, mercer_error *err)
{
    double per_row = (p->symmetric ? 1 : 2) * (double)p->ka * (double)p->kb;
    double narrower = (double)(p->ka < p->kb ? p->ka : p->kb), n = (double)p->n;
    p->ctx = ctx;
    /* STRIP rows of a wide matrix take longer than a cancellation may; much shorter strips would be
     * bound by the memory of the product. */
    p->strip = STRIP;
    while (p->strip > MIN_STRIP && (double)p->strip * per_row > STRIP_FLOPS)
        p->strip /= 2;
    /* The sums of parts together stay below half the size of the inputs. */
    return mrc_sum_span(ctx, span, p->ka * p->kb, n * narrower / 2, n * per_row, bound,
                        tall_product_part, p, c, err);
}

mercer_status mrc_gram_of_columns(mercer_ctx *ctx, const double *a, int64_t n, int64_t k,
                                  int64_t lda, double *gram, mercer_error *err)
{
    const mrc_span whole = mrc_span_whole(n);
    return mrc_gram_of_span(ctx, a, &whole, k, lda, 0, gram, err);
}

mercer_status mrc_gram_of_span(mercer_ctx *ctx, const double *a, const mrc_span *span, int64_t k,
                               int64_t lda, double bound, double *gram, mercer_error *err)
{
    struct tall_product p = {
        .a = a, .b = a, .ka = k, .kb = k, .lda = lda, .ldb = lda, .n = span->n, .symmetric = true};
    mercer_status rc = tall_product_run(ctx, &p, span, bound, gram, err);
    if (rc == MERCER_OK)
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = 0; j < i; j++)
                gram[j * k + i] = gram[i * k + j];
    return rc;
}

mercer_status mrc_tall_product(mercer_ctx *ctx, const double *a, int64_t ka, int64_t lda,
                               const double *b, int64_t kb, int64_t ldb, int64_t n, double *c,
                               mercer_error *err)
{
    const mrc_span whole = mrc_span_whole(n);
    return mrc_tall_product_of_span(ctx, a, ka, lda, b, kb, ldb, &whole, c, err);
}

mercer_status mrc_tall_product_of_span(mercer_ctx *ctx, const double *a, int64_t ka, int64_t lda,
                                       const double *b, int64_t kb, int64_t ldb,
                                       const mrc_span *span, double *c, mercer_error *err)
{
    struct tall_product p = {.a = a,
                             .b = b,
                             .ka = ka,
                             .kb = kb,
                             .lda = lda,
                             .ldb = ldb,
                             .n = span->n,
                             .symmetric = false,
                             .narrow = is_narrow(kb) ? mrc_panel_loops_for(ctx->simd) : NULL};
    return tall_product_run(ctx, &p, span, 0, c, err);
}

mercer_status mrc_tall_wide_product_of_span(mercer_ctx *ctx, const double *a, int64_t ka,
                                            int64_t lda, const double *b, int64_t kb,
                                            const mrc_span *span, double *c, mercer_error *err)
{
    struct tall_product p = {.a = a,
                             .ka = ka,
                             .kb = kb,
                             .lda = lda,
                             .ldb = kb,
                             .n = span->n,
                             .narrow = is_narrow(kb) ? mrc_panel_loops_for(ctx->simd) : NULL,
                             .wide = b,
                             .stride = mrc_wide_stride(span)};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&p.scratch, (int64_t)ctx->threads * STRIP, kb, sizeof(double), err));
    MRC_TRY(tall_product_run(ctx, &p, span, 0, c, err));
out:
    mrc_free(p.scratch);
    return rc;
}

struct tall_times {
    mercer_ctx *ctx; /* NULL: whatever happens the product is whole */
    int64_t n, m, k, lda, lds, ldc, strip;
    double alpha, beta;
    const double *a, *s;
    double *c;
    const mrc_panel_loops *narrow; /* NULL: BLAS */
};

static void tall_times_strip(void *arg, int64_t strip, int worker)
{
    const struct tall_times *t = arg;
    int64_t i = strip * t->strip, rows = t->n - i < t->strip ? t->n - i : t->strip;
    (void)worker;
    if (t->ctx && mrc_check_cancel(t->ctx, NULL) != MERCER_OK)
        return; /* the caller sees it, too */
    if (t->narrow)
        t->narrow->times(t->a + i * t->lda, t->lda, rows, t->k, t->alpha, t->s, t->lds, t->beta,
                         t->c + i * t->ldc, t->ldc, t->m);
    else
        mrc_gemm(false, false, rows, t->m, t->k, t->alpha, t->a + i * t->lda, t->lda, t->s, t->lds,
                 t->beta, t->c + i * t->ldc, t->ldc);
}

/* Tasks not begun when ctx is cancelled are dropped, if drops. */
static void run_tall_times(mercer_ctx *ctx, bool drops, int64_t strip, int64_t n, int64_t m,
                           int64_t k, double alpha, const double *a, int64_t lda, const double *s,
                           int64_t lds, double beta, double *c, int64_t ldc)
{
    struct tall_times t = {.ctx = drops ? ctx : NULL,
                           .n = n,
                           .m = m,
                           .k = k,
                           .lda = lda,
                           .lds = lds,
                           .ldc = ldc,
                           .strip = strip,
                           .alpha = alpha,
                           .beta = beta,
                           .a = a,
                           .s = s,
                           .c = c,
                           .narrow = is_narrow(m) ? mrc_panel_loops_for(ctx->simd) : NULL};
    mrc_parfor_sized(ctx, (n + t.strip - 1) / t.strip, 2 * (double)n * (double)m * (double)k,
                     tall_times_strip, &t);
}

static int64_t strip_of(int64_t n)
{
    return n < 16 * STRIP ? MRC_STRIP : STRIP;
}

void mrc_tall_times(mercer_ctx *ctx, int64_t n, int64_t m, int64_t k, double alpha, const double *a,
                    int64_t lda, const double *s, int64_t lds, double beta, double *c, int64_t ldc)
{
    run_tall_times(ctx, false, strip_of(n), n, m, k, alpha, a, lda, s, lds, beta, c, ldc);
}

mercer_status mrc_tall_times_checked(mercer_ctx *ctx, int64_t n, int64_t m, int64_t k, double alpha,
                                     const double *a, int64_t lda, const double *s, int64_t lds,
                                     double beta, double *c, int64_t ldc, mercer_error *err)
{
    run_tall_times(ctx, true, strip_of(n), n, m, k, alpha, a, lda, s, lds, beta, c, ldc);
    return mrc_check_cancel(ctx, err);
}

/* The rows [first, first + rows) of all, which are in one strip that other ranks have rows of, too:
 * in the company of as many others, and at their place in the strip. */
static mercer_status tall_times_within(mercer_ctx *ctx, const mrc_span *span, int64_t first,
                                       int64_t rows, int64_t m, int64_t k, const double *a,
                                       const double *s, double *c, mercer_error *err)
{
    const int64_t strip = strip_of(span->total), before = first % strip;
    const int64_t length = mrc_min64(strip, span->total - (first - before)),
                  at = first - span->first;
    double *whole = NULL, *product = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&whole, length, k, sizeof *whole, err));
    MRC_TRY(mrc_alloc2(&product, length, m, sizeof *product, err));
    memcpy(whole + before * k, a + at * k, (size_t)(rows * k) * sizeof *whole);
    run_tall_times(ctx, true, strip, length, m, k, 1, whole, k, s, m, 0, product, m);
    memcpy(c + at * m, product + before * m, (size_t)(rows * m) * sizeof *c);
out:
    mrc_free(whole);
    mrc_free(product);
    return rc;
}

mercer_status mrc_tall_times_as_one(mercer_ctx *ctx, const mrc_span *span, int64_t m, int64_t k,
                                    const double *a, const double *s, double *c, mercer_error *err)
{
    const int64_t strip = strip_of(span->total), last = span->first + span->n;
    /* Strips that are here in full. */
    int64_t begin = mrc_min64((span->first + strip - 1) / strip * strip, last);
    int64_t end = last == span->total ? last : last / strip * strip;
    mercer_status rc = MERCER_OK;
    end = end < begin ? begin : end;
    if (span->first < begin)
        MRC_TRY(tall_times_within(ctx, span, span->first, begin - span->first, m, k, a, s, c, err));
    run_tall_times(ctx, true, strip, end - begin, m, k, 1, a + (begin - span->first) * k, k, s, m,
                   0, c + (begin - span->first) * m, m);
    if (end < last)
        MRC_TRY(tall_times_within(ctx, span, end, last - end, m, k, a, s, c, err));
    MRC_TRY(mrc_check_cancel(ctx, err));
out:
    return rc;
}

/* Ranks have whole strips of MRC_STRIP rows, and BLAS may have other bits for a row of longer ones.
 */
mercer_status mrc_tall_times_of_span(mercer_ctx *ctx, const mrc_span *span, int64_t m, int64_t k,
                                     double alpha, const double *a, int64_t lda, const double *s,
                                     int64_t lds, double beta, double *c, int64_t ldc,
                                     mercer_error *err)
{
    run_tall_times(ctx, true, MRC_STRIP, span->n, m, k, alpha, a, lda, s, lds, beta, c, ldc);
    return mrc_check_cancel(ctx, err);
}

struct columns {
    const double *v;
    int64_t n, l;
};

static mercer_status add_columns(void *arg, int64_t begin, int64_t end, double *sums,
                                 mercer_error *err)
{
    const struct columns *w = arg;
    (void)err;
    for (int64_t i = 0; i < w->n; i++)
        for (int64_t j = begin; j < end; j++)
            sums[j] += w->v[i * w->l + j];
    return MERCER_OK;
}

mercer_status mrc_column_sums_of_span(mercer_ctx *ctx, const mrc_span *span, const double *v,
                                      int64_t l, double *sums, mercer_error *err)
{
    enum { TOGETHER = 8 }; /* sums that a rank hands on at a time */
    struct columns w = {.v = v, .n = span->n, .l = l};
    memset(sums, 0, (size_t)l * sizeof *sums);
    return mrc_run_span(ctx, span, sums, l, TOGETHER, add_columns, &w, err);
}

enum { WIDE_RANGE = 2048 }; /* elements of each vector a task works on */

struct wide {
    mercer_ctx *ctx;
    int64_t k, n, stride;
    double alpha, beta;
    const double *a, *w;
    double *out;
};

static void wide_times_range(void *arg, int64_t task, int worker)
{
    const struct wide *p = arg;
    int64_t c = task * WIDE_RANGE, cols = p->n - c < WIDE_RANGE ? p->n - c : WIDE_RANGE;
    double *out = p->out + c;
    (void)worker;
    for (int64_t i = 0; p->beta != 1 && i < cols; i++)
        out[i] = p->beta == 0 ? 0 : p->beta * out[i];
    if (p->k > 0)
        cblas_dgemv(CblasRowMajor, CblasTrans, mrc_blas_int(p->k), mrc_blas_int(cols), p->alpha,
                    p->a + c, mrc_blas_int(p->stride), p->w, 1, 1, out, 1);
}

void mrc_wide_times(mercer_ctx *ctx, const double *a, int64_t k, int64_t n, double alpha,
                    const double *w, double beta, double *out)
{
    const mrc_span whole = mrc_span_whole(n);
    mrc_wide_times_of_span(ctx, a, k, &whole, alpha, w, beta, out);
}

void mrc_wide_times_of_span(mercer_ctx *ctx, const double *a, int64_t k, const mrc_span *span,
                            double alpha, const double *w, double beta, double *out)
{
    const int64_t n = span->n;
    struct wide p = {.k = k,
                     .n = n,
                     .stride = mrc_wide_stride(span),
                     .alpha = alpha,
                     .beta = beta,
                     .a = a,
                     .w = w,
                     .out = out};
    mrc_parfor_sized(ctx, (n + WIDE_RANGE - 1) / WIDE_RANGE, 2 * (double)n * (double)k,
                     wide_times_range, &p);
}

static void wide_dots_part(void *arg, int64_t first, int64_t end, double *sum, int worker)
{
    const struct wide *p = arg;
    (void)worker;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, mrc_blas_int(p->k), mrc_blas_int(end - first), 1,
                p->a + first, mrc_blas_int(p->stride), p->w + first, 1, 0, sum, 1);
}

mercer_status mrc_wide_dots(mercer_ctx *ctx, const double *a, int64_t k, int64_t n, const double *v,
                            double *out, mercer_error *err)
{
    const mrc_span whole = mrc_span_whole(n);
    return mrc_wide_dots_of_span(ctx, a, k, &whole, v, out, err);
}

mercer_status mrc_wide_dots_of_span(mercer_ctx *ctx, const double *a, int64_t k,
                                    const mrc_span *span, const double *v, double *out,
                                    mercer_error *err)
{
    struct wide p = {.k = k, .n = span->n, .stride = mrc_wide_stride(span), .a = a, .w = v};
    double size = (double)span->n * (double)k;
    if (k == 0)
        return MERCER_OK;
    return mrc_sum_span(ctx, span, k, size, 2 * size, 0, wide_dots_part, &p, out, err);
}

static void wide_gram_part(void *arg, int64_t first, int64_t end, double *sum, int worker)
{
    /* Beyond some tenths of a second a part is summed in strips, between which it can end. */
    static const double LONG = 4e9;
    const struct wide *p = arg;
    double square = (double)p->k * (double)p->k;
    int64_t strip = square * (double)(end - first) > LONG ? STRIP / 2 : end - first;
    (void)worker;
    for (int64_t i = first; i < end; i += strip) {
        if (mrc_check_cancel(p->ctx, NULL) != MERCER_OK)
            return; /* the caller sees it, too */
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, mrc_blas_int(p->k),
                    mrc_blas_int(end - i < strip ? end - i : strip), 1, p->a + i,
                    mrc_blas_int(p->n), 1, sum, mrc_blas_int(p->k));
    }
}

mercer_status mrc_wide_gram(mercer_ctx *ctx, const double *a, int64_t k, int64_t n, double *out,
                            mercer_error *err)
{
    const mrc_span whole = mrc_span_whole(n);
    return mrc_wide_gram_of_span(ctx, a, k, &whole, 0, out, err);
}

mercer_status mrc_wide_gram_of_span(mercer_ctx *ctx, const double *a, int64_t k,
                                    const mrc_span *span, double bound, double *out,
                                    mercer_error *err)
{
    struct wide p = {.ctx = ctx, .k = k, .n = span->n, .a = a};
    double size = (double)span->n * (double)k;
    /* The sums of parts together stay below half the size of a. */
    mercer_status rc = mrc_sum_span(ctx, span, k * k, size / 2, size * (double)k, bound,
                                    wide_gram_part, &p, out, err);
    for (int64_t i = 0; rc == MERCER_OK && i < k; i++)
        for (int64_t j = 0; j < i; j++)
            out[j * k + i] = out[i * k + j];
    return rc;
}

/* Calls that may be long work on copies, which they own (base/aside.h); others in place. *own is
 * the array to work on. */
static mercer_status lend(bool aside, double *array, int64_t size, double **own, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *own = array;
    if (aside)
        rc = mrc_alloc2_raw(own, size, 1, sizeof **own, err);
    if (aside && rc == MERCER_OK)
        memcpy(*own, array, (size_t)size * sizeof *array);
    return rc;
}

static void give_back(const double *own, double *array, int64_t size)
{
    if (own != array)
        memcpy(array, own, (size_t)size * sizeof *array);
}

static double product_of(int64_t a, int64_t b, int64_t c)
{
    return (double)a * (double)b * (double)c;
}

enum { QR_BLOCK = 64 }; /* columns LAPACK reflects at a time; more need more workspace */

/* Computes the QR factors of a, which by columns is k x rows. */
struct qr_call {
    bool aside;
    lapack_int rows, k, work_size, info;
    double *a, *tau, *work;
};

static void qr_run(void *arg, const atomic_bool *stop)
{
    struct qr_call *q = arg;
    (void)stop;
    /* What is A by rows is A' by columns, whose LQ factors are those of A transposed. */
    q->info = LAPACKE_dgelqf_work(LAPACK_COL_MAJOR, q->k, q->rows, q->a, q->k, q->tau, q->work,
                                  q->work_size);
}

static void qr_release(void *arg)
{
    struct qr_call *q = arg;
    if (!q)
        return;
    if (q->aside)
        mrc_free(q->a);
    mrc_free(q->tau);
    mrc_free(q->work);
    mrc_free(q);
}

static const mrc_aside_work qr_work = {.run = qr_run, .release = qr_release};

mercer_status mrc_qr_factor(mercer_ctx *ctx, int64_t rows, int64_t k, double *a, mercer_error *err)
{
    double flops = 2 * product_of(rows, k, k);
    struct qr_call *q = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&q, 1, sizeof *q, err));
    q->aside = mrc_aside_pays(flops);
    q->rows = mrc_blas_int(rows);
    q->k = mrc_blas_int(k);
    q->work_size = mrc_blas_int(QR_BLOCK * k);
    MRC_TRY(lend(q->aside, a, rows * k, &q->a, err));
    MRC_TRY(mrc_alloc2_raw(&q->tau, k, 1, sizeof *q->tau, err));
    MRC_TRY(mrc_alloc2_raw(&q->work, q->work_size, 1, sizeof *q->work, err));
    MRC_TRY(mrc_aside(ctx, &qr_work, flops, &q, err));
    assert(q->info == 0); /* there is no other way to fail than a wrong argument */
    give_back(q->a, a, rows * k);
    for (int64_t i = 1; i < k; i++)
        memset(a + i * k, 0, (size_t)i * sizeof *a);
out:
    qr_release(q);
    return rc;
}

struct basis_call {
    bool aside;
    lapack_int k, n, work_size, info;
    double *a, *factor, *tau, *work;
};

static void basis_run(void *arg, const atomic_bool *stop)
{
    struct basis_call *b = arg;
    /* Rows are columns to LAPACK. The diagonal of R tells which of them it turned round. */
    b->info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, b->n, b->k, b->a, b->n, b->tau, b->work,
                                  b->work_size);
    for (lapack_int j = 0; j < b->k; j++)
        for (lapack_int i = 0; i <= j; i++)
            b->factor[(int64_t)j * b->k + i] = b->a[(int64_t)j * b->n + i];
    if (b->info == 0 && !atomic_load(stop))
        b->info = LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, b->n, b->k, b->k, b->a, b->n, b->tau,
                                      b->work, b->work_size);
    for (lapack_int j = 0; j < b->k; j++)
        if (b->factor[(int64_t)j * b->k + j] < 0) {
            cblas_dscal(b->n, -1, b->a + (int64_t)j * b->n, 1);
            cblas_dscal(b->k - j, -1, b->factor + (int64_t)j * (b->k + 1), b->k);
        }
}

static void basis_release(void *arg)
{
    struct basis_call *b = arg;
    if (!b)
        return;
    if (b->aside)
        mrc_free(b->a);
    mrc_free(b->factor);
    mrc_free(b->tau);
    mrc_free(b->work);
    mrc_free(b);
}

static const mrc_aside_work basis_work = {.run = basis_run, .release = basis_release};

mercer_status mrc_orthonormal_rows(mercer_ctx *ctx, int64_t k, int64_t n, double *a, double *factor,
                                   mercer_error *err)
{
    double flops = 4 * product_of(n, k, k);
    struct basis_call *b = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&b, 1, sizeof *b, err));
    b->aside = mrc_aside_pays(flops);
    b->k = mrc_blas_int(k);
    b->n = mrc_blas_int(n);
    b->work_size = mrc_blas_int(QR_BLOCK * k);
    MRC_TRY(lend(b->aside, a, k * n, &b->a, err));
    MRC_TRY(mrc_alloc2(&b->factor, k, k, sizeof *b->factor, err));
    MRC_TRY(mrc_alloc2_raw(&b->tau, k, 1, sizeof *b->tau, err));
    MRC_TRY(mrc_alloc2_raw(&b->work, b->work_size, 1, sizeof *b->work, err));
    if (k > 0)
        MRC_TRY(mrc_aside(ctx, &basis_work, flops, &b, err));
    assert(b->info == 0); /* there is no other way to fail than a wrong argument */
    give_back(b->a, a, k * n);
    memcpy(factor, b->factor, (size_t)(k * k) * sizeof *factor);
out:
    basis_release(b);
    return rc;
}

/* Rows become triangular by panels of TURN_PANEL rows, whose reflections the others follow in
 * strips of TURN_STRIP rows. Rows are columns to LAPACK. */
enum { TURN_PANEL = 32, TURN_STRIP = 128 };
/* What dormqr wants beside the strip: its triangular factors, as in LAPACK 3.7 and later. */
enum { TURN_FACTORS = 65 * 64 };

struct turn_call {
    int64_t n, count, k;   /* columns; rows of a, of others */
    int64_t first, height; /* rows of the panel, which begins in column `first` */
    int64_t width;         /* columns from there on that it has numbers in */
    double *a, *others, *tau;
    double *work; /* per worker */
    int64_t work_size;
    lapack_int info;
};

static void turn_factor(void *arg, int64_t task, int worker)
{
    struct turn_call *t = arg;
    (void)task, (void)worker;
    t->info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, mrc_blas_int(t->width), mrc_blas_int(t->height),
                                  t->a + t->first * (t->n + 1), mrc_blas_int(t->n), t->tau, t->work,
                                  mrc_blas_int(t->work_size));
}

static int64_t turn_strips(int64_t rows)
{
    return (rows + TURN_STRIP - 1) / TURN_STRIP;
}

/* A strip of the rows behind the panel, or of the others. */
static void turn_strip(void *arg, int64_t task, int worker)
{
    const struct turn_call *t = arg;
    int64_t below = t->count - t->first - t->height, own = turn_strips(below);
    bool is_own = task < own;
    int64_t at = (is_own ? task : task - own) * TURN_STRIP, all = is_own ? below : t->k;
    int64_t rows = all - at < TURN_STRIP ? all - at : TURN_STRIP;
    double *x = is_own ? t->a + (t->first + t->height + at) * t->n : t->others + at * t->n;
    lapack_int info =
        LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', mrc_blas_int(t->width), mrc_blas_int(rows),
                            mrc_blas_int(t->height), t->a + t->first * (t->n + 1),
                            mrc_blas_int(t->n), t->tau, x + t->first, mrc_blas_int(t->n),
                            t->work + worker * t->work_size, mrc_blas_int(t->work_size));
    assert(info == 0); /* there is no other way to fail than a wrong argument */
    (void)info;
}

/* What LAPACK leaves of the panel becomes a triangle with a diagonal >= 0. */
static void turn_finish(const struct turn_call *t)
{
    for (int64_t j = 0; j < t->height; j++) {
        int64_t row = t->first + j;
        double *own = t->a + row * t->n + t->first;
        memset(own + j + 1, 0, (size_t)(t->width - j - 1) * sizeof *own);
        if (!(own[j] < 0))
            continue;
        for (int64_t i = row; i < t->count; i++)
            t->a[i * t->n + row] = -t->a[i * t->n + row];
        for (int64_t i = 0; i < t->k; i++)
            t->others[i * t->n + row] = -t->others[i * t->n + row];
    }
}

mercer_status mrc_lower_from_rows(mercer_ctx *ctx, int64_t count, int64_t n, const int64_t *last,
                                  double *a, int64_t k, double *others, mercer_error *err)
{
    struct turn_call t = {.n = n, .count = count, .k = k, .a = a, .others = others};
    int64_t most = count < TURN_PANEL ? count : TURN_PANEL;
    mercer_status rc = MERCER_OK;
    t.work_size = TURN_PANEL * TURN_STRIP + TURN_FACTORS;
    MRC_TRY(mrc_alloc2_raw(&t.tau, most, 1, sizeof *t.tau, err));
    MRC_TRY(mrc_alloc2_raw(&t.work, ctx->threads, t.work_size, sizeof *t.work, err));
    while (t.first < count && last[t.first] == t.first)
        t.first++;
    for (; t.first < count; t.first += t.height) {
        MRC_TRY(mrc_check_cancel(ctx, err));
        t.height = count - t.first < TURN_PANEL ? count - t.first : TURN_PANEL;
        t.width = last[t.first + t.height - 1] + 1 - t.first;
        mrc_serial(ctx, turn_factor, &t);
        assert(t.info == 0);
        int64_t below = count - t.first - t.height;
        mrc_parfor_sized(ctx, turn_strips(below) + turn_strips(k),
                         4 * product_of(t.width, t.height, below + k), turn_strip, &t);
        turn_finish(&t);
    }
out:
    mrc_free(t.tau);
    mrc_free(t.work);
    return rc;
}

/* Beyond this many vectors the size of LAPACK's workspace, 5 k^2, exceeds an int. */
enum { MAX_SINGULAR = 20000 };

/* Computes the SVD of a, m x n by columns; q is the smaller of both. */
struct svd_call {
    bool aside;
    char job; /* of dgesdd: where u goes */
    int64_t m, n, q, u_size, work_size;
    double *a, *s, *u, *vt, *work;
    lapack_int *iwork, info;
};

static void svd_run(void *arg, const atomic_bool *stop)
{
    struct svd_call *c = arg;
    lapack_int m = mrc_blas_int(c->m), n = mrc_blas_int(c->n), q = mrc_blas_int(c->q);
    (void)stop;
    c->info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, c->job, m, n, c->a, m, c->s, c->u, m, c->vt, q,
                                  c->work, mrc_blas_int(c->work_size), c->iwork);
}

static void svd_release(void *arg)
{
    struct svd_call *c = arg;
    if (!c)
        return;
    if (c->aside)
        mrc_free(c->a);
    mrc_free(c->s);
    mrc_free(c->u);
    mrc_free(c->vt);
    mrc_free(c->work);
    mrc_free(c->iwork);
    mrc_free(c);
}

static const mrc_aside_work svd_work = {.run = svd_run, .release = svd_release};

/* A call as the caller describes it, on a: a, s (q) and vt (q x n by columns) become the results.
 */
static mercer_status find_svd(mercer_ctx *ctx, const struct svd_call *wanted, double *a, double *s,
                              double *vt, mercer_error *err)
{
    int64_t m = wanted->m, n = wanted->n, q = m < n ? m : n;
    double flops = 8 * product_of(m, n, q);
    struct svd_call *c = NULL;
    mercer_status rc = MERCER_OK;
    if (q > MAX_SINGULAR)
        return mrc_fail(err, MERCER_ERR_BUDGET, "%lld singular vectors are beyond LAPACK's %d",
                        (long long)q, (int)MAX_SINGULAR);
    for (int64_t i = 0; i < m * n; i++) /* LAPACK would not come to an end */
        if (!isfinite(a[i]))
            return mrc_fail(err, MERCER_ERR_NUMERIC, "numbers too large for singular vectors");
    MRC_TRY(mrc_alloc(&c, 1, sizeof *c, err));
    *c = *wanted;
    c->q = q;
    c->aside = mrc_aside_pays(flops);
    MRC_TRY(lend(c->aside, a, m * n, &c->a, err));
    MRC_TRY(mrc_alloc2_raw(&c->s, q, 1, sizeof *c->s, err));
    MRC_TRY(mrc_alloc2_raw(&c->u, c->u_size, 1, sizeof *c->u, err));
    MRC_TRY(mrc_alloc2_raw(&c->vt, q, n, sizeof *c->vt, err));
    MRC_TRY(mrc_alloc2_raw(&c->work, c->work_size, 1, sizeof *c->work, err));
    MRC_TRY(mrc_alloc2_raw(&c->iwork, 8, q, sizeof *c->iwork, err));
    MRC_TRY(mrc_aside(ctx, &svd_work, flops, &c, err));
    if (c->info != 0)
        MRC_FAIL(err, MERCER_ERR_NUMERIC, "%lld singular vectors did not converge", (long long)q);
    give_back(c->a, a, m * n);
    memcpy(s, c->s, (size_t)q * sizeof *s);
    memcpy(vt, c->vt, (size_t)(q * n) * sizeof *vt);
out:
    svd_release(c);
    return rc;
}

mercer_status mrc_wide_svd(mercer_ctx *ctx, double *a, int64_t k, int64_t n, double *s, double *v,
                           mercer_error *err)
{
    int64_t own = 5 * k * k + 4 * k;
    /* Vectors one after the other are the columns of A, and V' by columns is V by rows. */
    struct svd_call wanted = {.job = 'O',
                              .m = n,
                              .n = k,
                              .u_size = 0,
                              .work_size = (own > n ? own : n) + (3 + QR_BLOCK) * k};
    return find_svd(ctx, &wanted, a, s, v, err);
}

mercer_status mrc_svd_left(mercer_ctx *ctx, int64_t rows, int64_t k, double *a, double *values,
                           double *vectors, mercer_error *err)
{
    int64_t q = rows < k ? rows : k, most = rows < k ? k : rows;
    /* What is A by rows is A' by columns: its right vectors, transposed, are our left ones. */
    struct svd_call wanted = {.job = 'S',
                              .m = k,
                              .n = rows,
                              .u_size = k * q,
                              .work_size = 4 * q * q + 7 * q + QR_BLOCK * (q + most)};
    return find_svd(ctx, &wanted, a, values, vectors, err);
}

struct solve_call {
    bool aside;
    lapack_int n, count, info, *pivots;
    double *a, *b;
};

static void solve_run(void *arg, const atomic_bool *stop)
{
    struct solve_call *s = arg;
    (void)stop;
    /* What are rows here are columns there: A' X' = B'. */
    s->info =
        LAPACKE_dgesv_work(LAPACK_COL_MAJOR, s->n, s->count, s->a, s->n, s->pivots, s->b, s->n);
}

static void solve_release(void *arg)
{
    struct solve_call *s = arg;
    if (!s)
        return;
    if (s->aside) {
        mrc_free(s->a);
        mrc_free(s->b);
    }
    mrc_free(s->pivots);
    mrc_free(s);
}

static const mrc_aside_work solve_work = {.run = solve_run, .release = solve_release};

mercer_status mrc_solve(mercer_ctx *ctx, int64_t n, double *a, int64_t count, double *b,
                        bool *singular, mercer_error *err)
{
    double flops = product_of(n, n, n + 2 * count);
    struct solve_call *s = NULL;
    mercer_status rc = MERCER_OK;
    *singular = false;
    if (n == 0)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&s, 1, sizeof *s, err));
    s->aside = mrc_aside_pays(flops);
    s->n = mrc_blas_int(n);
    s->count = mrc_blas_int(count);
    MRC_TRY(lend(s->aside, a, n * n, &s->a, err));
    MRC_TRY(lend(s->aside, b, count * n, &s->b, err));
    MRC_TRY(mrc_alloc2_raw(&s->pivots, n, 1, sizeof *s->pivots, err));
    MRC_TRY(mrc_aside(ctx, &solve_work, flops, &s, err));
    *singular = s->info != 0;
    give_back(s->b, b, count * n);
out:
    solve_release(s);
    return rc;
}

static void turn_columns(int64_t m, int64_t count, int64_t first, int64_t some,
                         const double *largest, double *vectors)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < some; j++)
            if (largest[j] < 0)
                vectors[i * count + first + j] = -vectors[i * count + first + j];
}

void mrc_fix_signs_of_both(int64_t n, int64_t count, double *vectors, int64_t m, double *along)
{
    enum { GROUP = 64 }; /* columns at a time, along the rows: single ones wait for memory */
    for (int64_t first = 0; first < count; first += GROUP) {
        int64_t some = count - first < GROUP ? count - first : GROUP;
        double largest[GROUP] = {0};
        bool turn = false;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < some; j++) {
                double value = vectors[i * count + first + j];
                largest[j] = fabs(value) > fabs(largest[j]) ? value : largest[j];
            }
        for (int64_t j = 0; j < some; j++)
            turn |= largest[j] < 0;
        if (!turn)
            continue;
        turn_columns(n, count, first, some, largest, vectors);
        turn_columns(m, count, first, some, largest, along);
    }
}

void mrc_fix_signs(int64_t n, int64_t count, double *vectors)
{
    mrc_fix_signs_of_both(n, count, vectors, 0, NULL);
}

void mrc_solve_upper(const double *r, int64_t k, double *b, int64_t rows)
{
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit,
                mrc_blas_int(rows), mrc_blas_int(k), 1, r, mrc_blas_int(k), b, mrc_blas_int(k));
}
