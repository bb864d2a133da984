/* Symmetric eigenproblems of matrices that are written out: all pairs, or the leading ones.
 *
 * For the leading ones LAPACK reduces the matrix to a tridiagonal one, whose eigenvalues cost next
 * to nothing; vectors are computed for the pairs wanted alone. Few are found one by one (MRRR), in
 * about 60 % of the time of all; their orthogonality is checked and polished. Many, and any that
 * MRRR fails on, come from divide and conquer. */
#include "linalg/linalg.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* Beyond this order the size of LAPACK's workspace, 2 n^2, is no int any more. */
enum { MOST_EIGEN = 32000 };

static mercer_status check_order(int64_t n, mercer_error *err)
{
    if (n <= MOST_EIGEN)
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_BUDGET,
                    "an eigenproblem of order %lld is beyond LAPACK's %d: ask for fewer components",
                    (long long)n, (int)MOST_EIGEN);
}

static mercer_status did_not_converge(int64_t n, mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_NUMERIC,
                    "the symmetric eigenproblem of order %lld did not converge", (long long)n);
}

struct eigen_call {
    int64_t n;
    double *a, *values, *work;
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

mercer_status mrc_eigen_symmetric(mercer_ctx *ctx, int64_t n, double *a, double *values,
                                  mercer_error *err)
{
    struct eigen_call e = {.n = n, .a = a, .values = values};
    mercer_status rc = MERCER_OK;

    MRC_TRY(check_order(n, err));
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
    FEW = 5,             /* at most one pair of so many wanted: one by one is faster */
    REFLECTOR_BLOCK = 64 /* columns LAPACK reflects at a time, and its table of their products */
};

/* Entries outside are scaled: their squares, and sums of squares, would leave the range. */
enum { MOST_EXPONENT = 1000 }; /* of a scale: denormal numbers get no larger than they need */
static const double TINY = 0x1p-400, HUGE_ENTRY = 0x1p400;

/* A dot product of two vectors found one by one that is larger says that MRRR went wrong. */
static const double MOST_SKEW = 1e-9;

struct reduction_call {
    mrc_tridiagonal *t;
    double *values, *spare, *work;
    lapack_int work_size, info;
};

static void reduction_run(void *arg, int64_t task, int worker)
{
    struct reduction_call *c = arg;
    const mrc_tridiagonal *t = c->t;
    lapack_int n = mrc_blas_int(t->n);
    (void)task, (void)worker;
    c->info = LAPACKE_dsytrd_work(LAPACK_COL_MAJOR, 'U', n, t->reflectors, n, t->diagonal,
                                  t->beside, t->tau, c->work, c->work_size);
    if (c->info != 0)
        return;
    memcpy(c->values, t->diagonal, (size_t)t->n * sizeof(double));
    memcpy(c->spare, t->beside, (size_t)t->n * sizeof(double));
    c->info = LAPACKE_dsterf_work(n, c->values, c->spare);
}

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
    return ldexp(1, exponent < MOST_EXPONENT ? exponent : MOST_EXPONENT);
}

static lapack_int reflector_work(int64_t n)
{
    return mrc_blas_int(REFLECTOR_BLOCK * (n + REFLECTOR_BLOCK + 1));
}

mercer_status mrc_tridiagonal_init(mercer_ctx *ctx, int64_t n, double *a, double *values,
                                   mrc_tridiagonal *out, mercer_error *err)
{
    struct reduction_call c = {.t = out, .values = values};
    mercer_status rc = MERCER_OK;

    memset(out, 0, sizeof *out);
    MRC_TRY(check_order(n, err));
    c.work_size = reflector_work(n);
    out->n = n;
    out->reflectors = a;
    MRC_TRY(mrc_alloc(&out->diagonal, n, sizeof *out->diagonal, err));
    MRC_TRY(mrc_alloc(&out->beside, n, sizeof *out->beside, err));
    MRC_TRY(mrc_alloc(&out->tau, n, sizeof *out->tau, err));
    MRC_TRY(mrc_alloc(&c.spare, n, sizeof *c.spare, err));
    MRC_TRY(mrc_alloc2_raw(&c.work, c.work_size, 1, sizeof *c.work, err));
    double scale = scale_of(n, a);
    if (scale != 1)
        for (int64_t i = 0; i < n * n; i++)
            a[i] *= scale;
    mrc_serial(ctx, reduction_run, &c);
    if (c.info != 0)
        MRC_TRY(did_not_converge(n, err));
    for (int64_t i = 0; i < n; i++)
        values[i] /= scale;
out:
    mrc_free(c.spare);
    mrc_free(c.work);
    if (rc != MERCER_OK)
        mrc_tridiagonal_destroy(out);
    return rc;
}

void mrc_tridiagonal_destroy(mrc_tridiagonal *t)
{
    mrc_free(t->diagonal);
    mrc_free(t->beside);
    mrc_free(t->tau);
    memset(t, 0, sizeof *t);
}

/* The vectors of the tridiagonal matrix are found in z; those of the leading pairs, from
 * `leading` on, are then turned back. */
struct vectors_call {
    const mrc_tridiagonal *t;
    int64_t count;
    double *diagonal, *beside, *z, *values, *work, *leading;
    lapack_int work_size, *iwork, iwork_size, *support, info;
};

static void turn_back(struct vectors_call *c)
{
    const mrc_tridiagonal *t = c->t;
    lapack_int n = mrc_blas_int(t->n), count = mrc_blas_int(c->count);
    c->info = LAPACKE_dormtr_work(LAPACK_COL_MAJOR, 'L', 'U', 'N', n, count, t->reflectors, n,
                                  t->tau, c->leading, n, c->work, c->work_size);
}

static void one_by_one_run(void *arg, int64_t task, int worker)
{
    struct vectors_call *c = arg;
    lapack_int n = mrc_blas_int(c->t->n), count = mrc_blas_int(c->count), found = 0;
    lapack_logical accurate = 1;
    (void)task, (void)worker;
    c->leading = c->z;
    c->info = LAPACKE_dstemr_work(LAPACK_COL_MAJOR, 'V', 'I', n, c->diagonal, c->beside, 0, 0,
                                  n - count + 1, n, &found, c->values, c->z, n, count, c->support,
                                  &accurate, c->work, c->work_size, c->iwork, c->iwork_size);
    if (c->info == 0 && found != count)
        c->info = 1;
    if (c->info == 0)
        turn_back(c);
}

static void conquer_run(void *arg, int64_t task, int worker)
{
    struct vectors_call *c = arg;
    lapack_int n = mrc_blas_int(c->t->n);
    (void)task, (void)worker;
    c->leading = c->z + (c->t->n - c->count) * c->t->n;
    c->info = LAPACKE_dstedc_work(LAPACK_COL_MAJOR, 'I', n, c->diagonal, c->beside, c->z, n,
                                  c->work, c->work_size, c->iwork, c->iwork_size);
    if (c->info == 0)
        turn_back(c);
}

static mercer_status vectors_init(struct vectors_call *c, const mrc_tridiagonal *t, int64_t count,
                                  int64_t work_size, int64_t iwork_size, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *c = (struct vectors_call){.t = t, .count = count};
    work_size = work_size > reflector_work(t->n) ? work_size : reflector_work(t->n);
    c->work_size = mrc_blas_int(work_size);
    c->iwork_size = mrc_blas_int(iwork_size);
    MRC_TRY(mrc_alloc2_raw(&c->diagonal, t->n, 1, sizeof *c->diagonal, err));
    MRC_TRY(mrc_alloc2_raw(&c->beside, t->n, 1, sizeof *c->beside, err));
    MRC_TRY(mrc_alloc2_raw(&c->values, t->n, 1, sizeof *c->values, err));
    MRC_TRY(mrc_alloc2_raw(&c->work, work_size, 1, sizeof *c->work, err));
    MRC_TRY(mrc_alloc2_raw(&c->iwork, iwork_size, 1, sizeof *c->iwork, err));
    MRC_TRY(mrc_alloc2_raw(&c->support, t->n, 2, sizeof *c->support, err));
    memcpy(c->diagonal, t->diagonal, (size_t)t->n * sizeof(double));
    memcpy(c->beside, t->beside, (size_t)t->n * sizeof(double));
out:
    return rc;
}

static void vectors_destroy(struct vectors_call *c)
{
    mrc_free(c->diagonal);
    mrc_free(c->beside);
    mrc_free(c->values);
    mrc_free(c->work);
    mrc_free(c->iwork);
    mrc_free(c->support);
}

/* Make rows that are orthonormal to some digits so to all: V <- V + (I - V V') V / 2, a step of
 * Newton's for the nearest orthonormal rows. *good: whether there were enough digits to begin with.
 */
static mercer_status polish(mercer_ctx *ctx, int64_t count, int64_t n, double *rows, bool *good,
                            mercer_error *err)
{
    double *skew = NULL, *copy = NULL;
    mercer_status rc = MERCER_OK;
    *good = true;
    MRC_TRY(mrc_alloc2_raw(&skew, count, count, sizeof *skew, err));
    MRC_TRY(mrc_alloc2_raw(&copy, count, n, sizeof *copy, err));
    MRC_TRY(mrc_wide_gram(ctx, rows, count, n, skew, err));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < count; j++) {
            double off = (i == j ? 1 : 0) - skew[i * count + j];
            *good &= fabs(off) <= MOST_SKEW; /* which no NaN is */
            skew[i * count + j] = off / 2;
        }
    if (!*good)
        goto out;
    memcpy(copy, rows, (size_t)(count * n) * sizeof *copy);
    mrc_gemm(false, false, count, n, count, 1, skew, count, copy, n, 1, rows, n);
out:
    mrc_free(skew);
    mrc_free(copy);
    return rc;
}

static mercer_status one_by_one(mercer_ctx *ctx, const mrc_tridiagonal *t, int64_t count,
                                double *rows, bool *good, mercer_error *err)
{
    struct vectors_call c;
    mercer_status rc = MERCER_OK;
    MRC_TRY(vectors_init(&c, t, count, 18 * t->n, 10 * t->n, err));
    c.z = rows;
    mrc_serial(ctx, one_by_one_run, &c);
    *good = c.info == 0;
    if (*good)
        MRC_TRY(polish(ctx, count, t->n, rows, good, err));
out:
    vectors_destroy(&c);
    return rc;
}

static mercer_status conquer(mercer_ctx *ctx, const mrc_tridiagonal *t, int64_t count, double *rows,
                             mercer_error *err)
{
    int64_t n = t->n;
    struct vectors_call c;
    double *all = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(vectors_init(&c, t, count, 1 + 4 * n + n * n, 3 + 5 * n, err));
    MRC_TRY(mrc_alloc2_raw(&all, n, n, sizeof *all, err));
    c.z = all;
    mrc_serial(ctx, conquer_run, &c);
    if (c.info != 0)
        MRC_TRY(did_not_converge(n, err));
    memcpy(rows, c.leading, (size_t)(count * n) * sizeof *rows);
out:
    vectors_destroy(&c);
    mrc_free(all);
    return rc;
}

mercer_status mrc_tridiagonal_leading(mercer_ctx *ctx, const mrc_tridiagonal *t, int64_t count,
                                      double *rows, mercer_error *err)
{
    bool found = count == 0;
    mercer_status rc = MERCER_OK;
    if (!found && FEW * count <= t->n)
        MRC_TRY(one_by_one(ctx, t, count, rows, &found, err));
    if (!found)
        MRC_TRY(conquer(ctx, t, count, rows, err));
out:
    return rc;
}
