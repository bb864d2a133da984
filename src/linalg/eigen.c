/* SPDX-License-Identifier: BSD-3-Clause */
/* Symmetric eigenproblems of matrices that are written out: all pairs, or the leading ones.
 *
 * For the leading ones LAPACK reduces the matrix to a tridiagonal one, whose eigenvalues cost next
 * to nothing; vectors are computed for the pairs wanted alone. Few are found one by one (MRRR), in
 * about 60 % of the time of all; their orthogonality is checked and polished. Many, and any that
 * MRRR fails on, come from divide and conquer.
 *
 * Large problems are solved aside (base/aside.h), in memory that their calls own. The reduction,
 * most of the work, goes by LAPACK's own steps, so that it ends soon after a cancellation. */
#include "linalg/linalg.h"

#include "base/aside.h"
#include "base/running.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* Beyond this order the size of LAPACK's workspace, 2 n^2, exceeds an int. */
enum { MAX_EIGEN = 32000 };

static mercer_status check_order(int64_t n, mercer_error *err)
{
    if (n <= MAX_EIGEN)
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_BUDGET,
                    "an eigenproblem of order %lld is beyond LAPACK's %d: ask for fewer components",
                    (long long)n, (int)MAX_EIGEN);
}

static mercer_status did_not_converge(int64_t n, mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_NUMERIC,
                    "the symmetric eigenproblem of order %lld did not converge", (long long)n);
}

/* Operations of the parts, in multiples of n^3. */
static const double REDUCTION = 4.0 / 3, CONQUEST = 4.0 / 3, ALL = 9;

static double cube(int64_t n)
{
    return (double)n * (double)n * (double)n;
}

struct eigen_call {
    int64_t n;
    double *a, *values, *work; /* a and values are the caller's */
    lapack_int work_size, *iwork, iwork_size, info;
};

static void eigen_run(void *arg, int64_t task, int worker)
{
    struct eigen_call *e = arg;
    lapack_int n = mrc_blas_int(e->n);
    (void)task, (void)worker;
    /* The lower triangle by rows is the upper one by columns. */
    e->info = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', n, e->a, n, e->values, e->work,
                                  e->work_size, e->iwork, e->iwork_size);
}

/* All pairs of a matrix so small that nobody minds waiting. */
static mercer_status solve_at_once(mercer_ctx *ctx, int64_t n, double *a, double *values,
                                   mercer_error *err)
{
    struct eigen_call e = {.n = n, .a = a, .values = values};
    mercer_status rc = MERCER_OK;

    e.work_size = mrc_blas_int(1 + 6 * n + 2 * n * n);
    e.iwork_size = mrc_blas_int(3 + 5 * n);
    MRC_TRY(mrc_alloc2_raw(&e.work, e.work_size, 1, sizeof *e.work, err));
    MRC_TRY(mrc_alloc2_raw(&e.iwork, e.iwork_size, 1, sizeof *e.iwork, err));
    mrc_serial(ctx, eigen_run, &e);
    if (e.info != 0)
        MRC_TRY(did_not_converge(n, err));
out:
    mrc_free(e.work);
    mrc_free(e.iwork);
    return rc;
}

enum {
    FEW = 5,              /* one pair of this many, or fewer, is wanted: one by one is faster */
    REFLECTOR_BLOCK = 64, /* columns LAPACK reflects at a time, and its table of their products */
    PANEL = 32            /* columns that dsytrd reduces at a time */
};

/* Entries outside are scaled: their squares, and sums of squares, would leave the range. */
enum { MAX_EXPONENT = 1000 }; /* of a scale: denormal numbers get no larger than they need */
static const double TINY = 0x1p-400, HUGE_ENTRY = 0x1p400;

/* A dot product of two vectors found one by one that is larger says that MRRR went wrong. */
static const double MAX_SKEW = 1e-9;

/* Steps of dsytrd that LAPACKE does not name: reduce `count` columns, and a small matrix whole. */
#define mrc_dlatrd LAPACK_GLOBAL(dlatrd, DLATRD)
#define mrc_dsytd2 LAPACK_GLOBAL(dsytd2, DSYTD2)
void mrc_dlatrd(const char *uplo, const lapack_int *n, const lapack_int *count, double *a,
                const lapack_int *lda, double *beside, double *tau, double *w,
                const lapack_int *ldw, size_t uplo_length);
void mrc_dsytd2(const char *uplo, const lapack_int *n, double *a, const lapack_int *lda,
                double *diagonal, double *beside, double *tau, lapack_int *info,
                size_t uplo_length);

struct reduction_call {
    mrc_tridiagonal t;
    double *values, *spare, *work; /* work: n x PANEL */
    lapack_int info;
};

static void reduction_release(void *arg)
{
    struct reduction_call *c = arg;
    if (!c)
        return;
    mrc_tridiagonal_destroy(&c->t);
    mrc_free(c->values);
    mrc_free(c->spare);
    mrc_free(c->work);
    mrc_free(c);
}

/* dsytrd, which has no way to stop, of an upper triangle by columns. */
static void reduce(const mrc_tridiagonal *t, double *work, lapack_int *info,
                   const atomic_bool *stop)
{
    lapack_int n = mrc_blas_int(t->n), panel = PANEL, left = n;
    double *a = t->reflectors;
    if (n == 0)
        return;
    for (; left > panel && !atomic_load(stop); left -= panel) {
        int64_t first = left - panel;
        mrc_dlatrd("U", &left, &panel, a, &n, t->beside, t->tau, work, &n, 1);
        cblas_dsyr2k(CblasColMajor, CblasUpper, CblasNoTrans, (int)first, panel, -1,
                     a + first * t->n, n, work, n, 1, a, n);
        for (int64_t j = first; j < left; j++) {
            a[j * t->n + j - 1] = t->beside[j - 1];
            t->diagonal[j] = a[j * t->n + j];
        }
    }
    if (!atomic_load(stop))
        mrc_dsytd2("U", &left, a, &n, t->diagonal, t->beside, t->tau, info, 1);
}

static void reduction_run(void *arg, const atomic_bool *stop)
{
    struct reduction_call *c = arg;
    const mrc_tridiagonal *t = &c->t;
    reduce(t, c->work, &c->info, stop);
    if (c->info != 0 || atomic_load(stop))
        return;
    memcpy(c->values, t->diagonal, (size_t)t->n * sizeof(double));
    memcpy(c->spare, t->beside, (size_t)t->n * sizeof(double));
    c->info = LAPACKE_dsterf_work(mrc_blas_int(t->n), c->values, c->spare);
}

static const mrc_aside_work reduction_work = {.run = reduction_run, .release = reduction_release};

/* The power of two that brings the lower triangle of a into the range, mostly one. */
static double scale_of(int64_t n, const double *a)
{
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            largest = fmax(largest, fabs(a[i * n + j]));
    if (largest == 0 || (largest > TINY && largest < HUGE_ENTRY))
        return 1;
    int exponent = -ilogb(largest);
    return ldexp(1, exponent < MAX_EXPONENT ? exponent : MAX_EXPONENT);
}

static mercer_status reduction_init(struct reduction_call *c, int64_t n, double **a,
                                    mercer_error *err)
{
    mrc_tridiagonal *t = &c->t;
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_order(n, err));
    t->n = n;
    t->reflectors = *a;
    *a = NULL;
    t->scale = scale_of(n, t->reflectors);
    MRC_TRY(mrc_alloc(&t->diagonal, n, sizeof *t->diagonal, err));
    MRC_TRY(mrc_alloc(&t->beside, n, sizeof *t->beside, err));
    MRC_TRY(mrc_alloc(&t->tau, n, sizeof *t->tau, err));
    MRC_TRY(mrc_alloc(&c->values, n, sizeof *c->values, err));
    MRC_TRY(mrc_alloc(&c->spare, n, sizeof *c->spare, err));
    MRC_TRY(mrc_alloc2_raw(&c->work, n, PANEL, sizeof *c->work, err));
    if (t->scale != 1)
        for (int64_t i = 0; i < n * n; i++)
            t->reflectors[i] *= t->scale;
out:
    return rc;
}

mercer_status mrc_tridiagonal_init(mercer_ctx *ctx, int64_t n, double **a, double *values,
                                   mrc_tridiagonal *out, mercer_error *err)
{
    struct reduction_call *c = NULL;
    mercer_status rc = MERCER_OK;

    memset(out, 0, sizeof *out);
    MRC_TRY(mrc_alloc(&c, 1, sizeof *c, err));
    MRC_TRY(reduction_init(c, n, a, err));
    MRC_TRY(mrc_aside(ctx, &reduction_work, REDUCTION * cube(n), &c, err));
    if (c->info != 0)
        MRC_TRY(did_not_converge(n, err));
    for (int64_t i = 0; i < n; i++)
        values[i] = c->values[i] / c->t.scale;
    *out = c->t;
    memset(&c->t, 0, sizeof c->t);
out:
    reduction_release(c);
    mrc_free(*a);
    *a = NULL;
    return rc;
}

void mrc_tridiagonal_destroy(mrc_tridiagonal *t)
{
    mrc_free(t->reflectors);
    mrc_free(t->diagonal);
    mrc_free(t->beside);
    mrc_free(t->tau);
    memset(t, 0, sizeof *t);
}

/* The vectors of the tridiagonal matrix are found in z; those of the leading pairs, from
 * `leading` on, are then turned back. */
struct vectors_call {
    mrc_tridiagonal t; /* for the time of the call */
    int64_t count;
    double *diagonal, *beside, *z, *values, *work, *leading;
    lapack_int work_size, *iwork, iwork_size, *support, info;
};

static void turn_back(struct vectors_call *c)
{
    const mrc_tridiagonal *t = &c->t;
    lapack_int n = mrc_blas_int(t->n), count = mrc_blas_int(c->count);
    c->info = LAPACKE_dormtr_work(LAPACK_COL_MAJOR, 'L', 'U', 'N', n, count, t->reflectors, n,
                                  t->tau, c->leading, n, c->work, c->work_size);
}

static void one_by_one_run(void *arg, const atomic_bool *stop)
{
    struct vectors_call *c = arg;
    lapack_int n = mrc_blas_int(c->t.n), count = mrc_blas_int(c->count), found = 0;
    lapack_logical accurate = 1;
    c->leading = c->z;
    c->info = LAPACKE_dstemr_work(LAPACK_COL_MAJOR, 'V', 'I', n, c->diagonal, c->beside, 0, 0,
                                  n - count + 1, n, &found, c->values, c->z, n, count, c->support,
                                  &accurate, c->work, c->work_size, c->iwork, c->iwork_size);
    if (c->info == 0 && found != count)
        c->info = 1;
    if (c->info == 0 && !atomic_load(stop))
        turn_back(c);
}

static void conquer_run(void *arg, const atomic_bool *stop)
{
    struct vectors_call *c = arg;
    lapack_int n = mrc_blas_int(c->t.n);
    c->leading = c->z + (c->t.n - c->count) * c->t.n;
    c->info = LAPACKE_dstedc_work(LAPACK_COL_MAJOR, 'I', n, c->diagonal, c->beside, c->z, n,
                                  c->work, c->work_size, c->iwork, c->iwork_size);
    if (c->info == 0 && !atomic_load(stop))
        turn_back(c);
}

static void vectors_release(void *arg)
{
    struct vectors_call *c = arg;
    if (!c)
        return;
    mrc_tridiagonal_destroy(&c->t);
    mrc_free(c->diagonal);
    mrc_free(c->beside);
    mrc_free(c->z);
    mrc_free(c->values);
    mrc_free(c->work);
    mrc_free(c->iwork);
    mrc_free(c->support);
    mrc_free(c);
}

static const mrc_aside_work one_by_one_work = {.run = one_by_one_run, .release = vectors_release};
static const mrc_aside_work conquer_work = {.run = conquer_run, .release = vectors_release};

static mercer_status vectors_new(struct vectors_call **out, const mrc_tridiagonal *t, int64_t count,
                                 int64_t found, int64_t work_size, int64_t iwork_size,
                                 mercer_error *err)
{
    int64_t reflecting = REFLECTOR_BLOCK * (t->n + REFLECTOR_BLOCK + 1);
    struct vectors_call *c = NULL;
    mercer_status rc = MERCER_OK;
    work_size = work_size > reflecting ? work_size : reflecting;
    MRC_TRY(mrc_alloc(&c, 1, sizeof *c, err));
    c->count = count;
    c->work_size = mrc_blas_int(work_size);
    c->iwork_size = mrc_blas_int(iwork_size);
    MRC_TRY(mrc_alloc2_raw(&c->diagonal, t->n, 1, sizeof *c->diagonal, err));
    MRC_TRY(mrc_alloc2_raw(&c->beside, t->n, 1, sizeof *c->beside, err));
    MRC_TRY(mrc_alloc2_raw(&c->z, found, t->n, sizeof *c->z, err));
    MRC_TRY(mrc_alloc2_raw(&c->values, t->n, 1, sizeof *c->values, err));
    MRC_TRY(mrc_alloc2_raw(&c->work, work_size, 1, sizeof *c->work, err));
    MRC_TRY(mrc_alloc2_raw(&c->iwork, iwork_size, 1, sizeof *c->iwork, err));
    MRC_TRY(mrc_alloc2_raw(&c->support, t->n, 2, sizeof *c->support, err));
    memcpy(c->diagonal, t->diagonal, (size_t)t->n * sizeof(double));
    memcpy(c->beside, t->beside, (size_t)t->n * sizeof(double));
out:
    if (rc != MERCER_OK) {
        vectors_release(c);
        c = NULL;
    }
    *out = c;
    return rc;
}

/* Do the work with the reflectors of t, which are gone when it was cancelled. */
static mercer_status vectors_find(mercer_ctx *ctx, const mrc_aside_work *work, double flops,
                                  mrc_tridiagonal *t, struct vectors_call **c, mercer_error *err)
{
    (*c)->t = *t;
    memset(t, 0, sizeof *t);
    mercer_status rc = mrc_aside(ctx, work, flops, c, err);
    if (*c) {
        *t = (*c)->t;
        memset(&(*c)->t, 0, sizeof(*c)->t);
    }
    return rc;
}

/* rows (count x n) += skew (count x count) times a copy of them. */
struct polish_call {
    int64_t count, n;
    double *skew, *copy, *rows;
};

static void polish_run(void *arg, const atomic_bool *stop)
{
    struct polish_call *p = arg;
    (void)stop;
    mrc_gemm(false, false, p->count, p->n, p->count, 1, p->skew, p->count, p->copy, p->n, 1,
             p->rows, p->n);
}

static void polish_release(void *arg)
{
    struct polish_call *p = arg;
    if (!p)
        return;
    mrc_free(p->skew);
    mrc_free(p->copy);
    mrc_free(p->rows);
    mrc_free(p);
}

static const mrc_aside_work polish_work = {.run = polish_run, .release = polish_release};

/* Make rows that are orthonormal to some digits so to all: V <- V + (I - V V') V / 2, a step of
 * Newton's for the nearest orthonormal rows. *good: whether there were enough digits to begin with.
 */
static mercer_status polish(mercer_ctx *ctx, int64_t count, int64_t n, double *rows, bool *good,
                            mercer_error *err)
{
    size_t bytes = (size_t)(count * n) * sizeof *rows;
    struct polish_call *p = NULL;
    mercer_status rc = MERCER_OK;
    *good = true;
    MRC_TRY(mrc_alloc(&p, 1, sizeof *p, err));
    p->count = count;
    p->n = n;
    MRC_TRY(mrc_alloc2_raw(&p->skew, count, count, sizeof *p->skew, err));
    MRC_TRY(mrc_alloc2_raw(&p->copy, count, n, sizeof *p->copy, err));
    MRC_TRY(mrc_alloc2_raw(&p->rows, count, n, sizeof *p->rows, err));
    MRC_TRY(mrc_wide_gram(ctx, rows, count, n, p->skew, err));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < count; j++) {
            double off = (i == j ? 1 : 0) - p->skew[i * count + j];
            *good &= fabs(off) <= MAX_SKEW; /* which no NaN is */
            p->skew[i * count + j] = off / 2;
        }
    if (!*good)
        goto out;
    memcpy(p->copy, rows, bytes);
    memcpy(p->rows, rows, bytes);
    MRC_TRY(mrc_aside(ctx, &polish_work, 2 * (double)count * (double)count * (double)n, &p, err));
    memcpy(rows, p->rows, bytes);
out:
    polish_release(p);
    return rc;
}

static mercer_status one_by_one(mercer_ctx *ctx, mrc_tridiagonal *t, int64_t count, double *rows,
                                bool *good, mercer_error *err)
{
    int64_t n = t->n;
    double flops = 2 * (double)n * (double)n * (double)count;
    struct vectors_call *c = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(vectors_new(&c, t, count, count, 18 * n, 10 * n, err));
    MRC_TRY(vectors_find(ctx, &one_by_one_work, flops, t, &c, err));
    *good = c->info == 0;
    if (*good) {
        memcpy(rows, c->z, (size_t)(count * n) * sizeof *rows);
        MRC_TRY(polish(ctx, count, n, rows, good, err));
    }
out:
    vectors_release(c);
    return rc;
}

/* values: all of them, or NULL. */
static mercer_status conquer(mercer_ctx *ctx, mrc_tridiagonal *t, int64_t count, double *rows,
                             double *values, mercer_error *err)
{
    int64_t n = t->n;
    double flops = CONQUEST * cube(n) + 2 * (double)n * (double)n * (double)count;
    struct vectors_call *c = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(vectors_new(&c, t, count, n, 1 + 4 * n + n * n, 3 + 5 * n, err));
    MRC_TRY(vectors_find(ctx, &conquer_work, flops, t, &c, err));
    if (c->info != 0)
        MRC_TRY(did_not_converge(n, err));
    memcpy(rows, c->leading, (size_t)(count * n) * sizeof *rows);
    for (int64_t i = 0; values && i < n; i++)
        values[i] = c->diagonal[i] / t->scale;
out:
    vectors_release(c);
    return rc;
}

mercer_status mrc_tridiagonal_leading(mercer_ctx *ctx, mrc_tridiagonal *t, int64_t count,
                                      double *rows, mercer_error *err)
{
    bool found = count == 0;
    mercer_status rc = MERCER_OK;
    if (!found && FEW * count <= t->n)
        MRC_TRY(one_by_one(ctx, t, count, rows, &found, err));
    if (!found)
        MRC_TRY(conquer(ctx, t, count, rows, NULL, err));
out:
    return rc;
}

mercer_status mrc_eigen_symmetric(mercer_ctx *ctx, int64_t n, double *a, double *values,
                                  mercer_error *err)
{
    mrc_tridiagonal t = {0};
    double *copy = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(check_order(n, err));
    if (!mrc_aside_pays(ALL * cube(n)))
        return solve_at_once(ctx, n, a, values, err);
    MRC_TRY(mrc_alloc2_raw(&copy, n, n, sizeof *copy, err));
    memcpy(copy, a, (size_t)(n * n) * sizeof *a);
    MRC_TRY(mrc_tridiagonal_init(ctx, n, &copy, values, &t, err));
    MRC_TRY(conquer(ctx, &t, n, a, values, err));
out:
    mrc_tridiagonal_destroy(&t);
    return rc;
}

mercer_status mrc_eigen_symmetric_of_all(mercer_ctx *ctx, const mrc_span *span, int64_t n,
                                         double *a, double *values, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (mrc_decides(ctx, span))
        MRC_TRY(mrc_eigen_symmetric(ctx, n, a, values, err));
    MRC_TRY(mrc_decide_numbers(ctx, span, values, n, err));
    MRC_TRY(mrc_decide_numbers(ctx, span, a, n * n, err));
out:
    return rc;
}
