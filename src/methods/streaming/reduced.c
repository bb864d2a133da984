/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterated pre-images (Schoelkopf, Smola 2002; Chin, Suter 2006, section 5).
 *
 * Every target u gets its share of points: of the part of u that the points so far do not span,
 * with coefficients a over library and points, the pre-image y is sought, the row whose image lies
 * most along it; of several the one is taken with which the span comes nearest to u. Points found
 * for one target serve all of them: in the end vectors are projected on the span of all points,
 * which can never be worse than the coefficients found on the way.
 *
 * How y is found is the kernel's own: preimage_rbf.c, preimage_poly.c, from the STARTS points that
 * would add most themselves.
 *
 * All products are taken in the coordinates of library and points together (library.h). */
#include "methods/streaming/reduced.h"

#include "linalg/linalg.h"
#include "model/preimage.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STARTS = 5 }; /* more find better points, slowly */

mercer_status mrc_reduced_check(const mrc_kernel *kernel, mercer_error *err)
{
    const mrc_preimage *preimage = mrc_preimage_of(kernel);
    if (preimage && preimage->along)
        return MERCER_OK;
    return mrc_fail(err, MERCER_ERR_ARGUMENT,
                    "compress=preimage requires kernel rbf or poly; compress=subset takes "
                    "all");
}

struct search {
    mercer_ctx *ctx;
    /* The task, see reduced.h, and what became of it. */
    mrc_library *lib;
    const double *targets;
    int64_t k;
    double tolerance, **vectors;
    mercer_error *err;
    mercer_status rc;
    /* The work. */
    mrc_library all;    /* the library, and the points that it does not span */
    mercer_rows *found; /* the points, `size` of them */
    double *frame;      /* orthonormal vectors of their span, room x all.count */
    int64_t size, room;
    double *residual;   /* k x all.count: what is left of each target */
    double *weights;    /* all.count: coefficients of the longest over the points of all */
    double *image;      /* all.count: coordinates of a mapped row */
    double *y, *next;   /* d + 1: where the search is */
    double *best, most; /* the row that would add most, and how much */
    double floor;       /* squared share of a mapped row outside the frame that counts as nothing */
};

/* ---- coordinates that grow ---- */

/* rows x from numbers become rows x to, with zeroes behind. */
static mercer_status widen(double **x, int64_t rows, int64_t from, int64_t to, mercer_error *err)
{
    double *wide = NULL;
    mercer_status rc = mrc_alloc2(&wide, rows, to, sizeof *wide, err);
    if (rc != MERCER_OK)
        return rc;
    for (int64_t i = 0; i < rows && from > 0; i++)
        memcpy(wide + i * to, *x + i * from, (size_t)from * sizeof *wide);
    mrc_free(*x);
    *x = wide;
    return MERCER_OK;
}

/* Part of v outside the frame, twice; returns its squared length. */
static double outside(const struct search *s, double *v)
{
    int64_t m = s->all.count;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 0; j < s->size; j++) {
            const double *f = s->frame + j * m;
            double dot = mrc_dot(f, v, m);
            for (int64_t i = 0; i < m; i++)
                v[i] -= dot * f[i];
        }
    return mrc_dot(v, v, m);
}

/* Take s->best for a point, unless the others span it; *taken tells. */
static mercer_status take_point(struct search *s, bool *taken, mercer_error *err)
{
    int64_t d = s->all.rows->d, before = s->all.count;
    double *copy = NULL, *x = NULL, diag = 0;
    mercer_rows *row = NULL;
    mercer_status rc = MERCER_OK;
    *taken = false;
    MRC_TRY(mrc_alloc(&copy, d, sizeof *copy, err));
    memcpy(copy, s->best, (size_t)d * sizeof *copy);
    MRC_TRY(mrc_rows_adopt(MRC_F64, copy, 1, d, &row, err));
    copy = NULL;
    double largest = s->all.largest;
    MRC_TRY(mrc_library_take_in(&s->all, s->ctx, row, s->tolerance, &x, &diag, NULL, err));
    s->all.largest = largest; /* of rows, not of what we make up */
    int64_t m = s->all.count;
    if (m > before) {
        MRC_TRY(widen(&s->frame, s->room, before, m, err));
        MRC_TRY(widen(&s->residual, s->k, before, m, err));
        MRC_TRY(widen(&s->weights, 1, before, m, err));
        MRC_TRY(widen(&s->image, 1, before, m, err));
    }
    double left = outside(s, x);
    if (left > s->floor * diag) {
        for (int64_t i = 0; i < m; i++)
            s->frame[s->size * m + i] = x[i] / sqrt(left);
        s->size++;
        MRC_TRY(mrc_rows_append(&s->found, row, err));
        *taken = true;
    }
out:
    mercer_rows_free(row);
    mrc_free(copy);
    mrc_free(x);
    return rc;
}

/* ---- pre-images of the residual ---- */

/* What a point would add: the squared products of what is left of the targets with its
 * direction outside the frame. coordinates: of the mapped point, of this squared length. */
static double gain_of(const struct search *s, const double *coordinates, double norm2)
{
    int64_t m = s->all.count;
    double sum = 0, left = norm2;
    for (int64_t t = 0; t < s->k; t++) {
        double product = mrc_dot(coordinates, s->residual + t * m, m);
        sum += product * product;
    }
    for (int64_t j = 0; j < s->size; j++) {
        double dot = mrc_dot(s->frame + j * m, coordinates, m);
        left -= dot * dot;
    }
    return left > s->floor * norm2 ? sum / left : 0;
}

/* Look at s->y: the best row so far is kept. One far outside the data does not count:
 * beside its length in feature space the others would be rounding. */
static void judge(struct search *s)
{
    static const double DISTANT = 16; /* squared length, relative to the longest mapped row */
    const mrc_preimage *preimage = mrc_preimage_of(s->all.kernel);
    const mrc_kernel_part *kernel = &s->all.kernel->part[0];
    int64_t m = s->all.count, d = s->all.rows->d;
    for (int64_t i = 0; i < m; i++)
        s->image[i] = preimage->pair(kernel, s->all.rows->x + i * d, s->y, d);
    double own = preimage->pair(kernel, s->y, s->y, d);
    s->all.evaluations += m + 1;
    mrc_lower_solve(false, false, m, 1, s->all.factor, m, s->image, 1);
    double gain = gain_of(s, s->image, own);
    if (own <= DISTANT * s->all.largest && isfinite(gain) && gain > s->most) {
        s->most = gain;
        memcpy(s->best, s->y, (size_t)d * sizeof *s->best);
    }
}

/* The points that would add most, -1 behind the last. */
static void find_starts(const struct search *s, int64_t start[STARTS])
{
    int64_t m = s->all.count;
    double value[STARTS] = {0};
    int count = 0;
    for (int64_t i = 0; i < m; i++) {
        const double *coordinates = s->all.factor + i * m;
        double gain = gain_of(s, coordinates, mrc_dot(coordinates, coordinates, m));
        int at = count < STARTS ? count++ : STARTS; /* insert into the list, largest first */
        for (; at > 0 && gain > value[at - 1]; at--)
            if (at < STARTS) {
                value[at] = value[at - 1];
                start[at] = start[at - 1];
            }
        if (at < STARTS) {
            value[at] = gain;
            start[at] = i;
        }
    }
    for (; count < STARTS; count++)
        start[count] = -1;
}

/* Go from a point of the library to the row that, once mapped, lies most along what is left. */
static void search_from(struct search *s, int64_t start)
{
    int64_t d = s->all.rows->d;
    mrc_direction left = {.kernel = &s->all.kernel->part[0],
                          .x = s->all.rows->x,
                          .weights = s->weights,
                          .m = s->all.count,
                          .d = d,
                          .largest = s->all.largest};
    memcpy(s->y, s->all.rows->x + start * d, (size_t)d * sizeof *s->y);
    judge(s);
    bool found = mrc_preimage_of(s->all.kernel)->along(&left, s->y, s->next);
    s->all.evaluations += left.evaluations;
    if (found)
        judge(s);
}

/* ---- the whole ---- */

/* What is left of the targets, and the coefficients of the longest. */
static void set_residual(const struct search *s)
{
    int64_t m = s->all.count;
    const double *longest = s->residual;
    double most = -1;
    memset(s->residual, 0, (size_t)(s->k * m) * sizeof *s->residual);
    for (int64_t t = 0; t < s->k; t++) {
        double *u = s->residual + t * m;
        for (int64_t i = 0; i < s->lib->count; i++)
            u[i] = s->targets[i * s->k + t];
        double norm2 = outside(s, u);
        if (norm2 > most) {
            most = norm2;
            longest = u;
        }
    }
    memcpy(s->weights, longest, (size_t)m * sizeof *s->weights);
    mrc_lower_solve(false, true, m, 1, s->all.factor, m, s->weights, 1);
}

static mercer_status search_points(struct search *s, mercer_error *err)
{
    int64_t start[STARTS];
    bool taken = true;
    mercer_status rc = MERCER_OK;
    while (taken && s->size < s->room) {
        MRC_TRY(mrc_check_cancel(s->ctx, err));
        set_residual(s);
        find_starts(s, start);
        s->most = 0;
        for (int i = 0; i < STARTS && start[i] >= 0; i++)
            search_from(s, start[i]);
        taken = s->most > 0;
        if (taken)
            MRC_TRY(take_point(s, &taken, err));
    }
out:
    return rc;
}

/* Vectors in the frame of the points found, which become the library. */
static mercer_status change_frame(struct search *s, mercer_error *err)
{
    mrc_library *lib = s->lib, fresh = {.kernel = lib->kernel, .largest = lib->largest};
    int64_t known = lib->count, all = s->all.count, k = s->k;
    double *x = NULL, *diag = NULL, *products = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&diag, s->found->n, sizeof *diag, err));
    MRC_TRY(mrc_library_take_in(&fresh, s->ctx, s->found, s->tolerance, &x, diag, NULL, err));
    fresh.largest = lib->largest;
    mrc_free(x);
    x = NULL;
    MRC_TRY(mrc_library_project(&s->all, s->ctx, fresh.rows, &x, NULL, err));
    MRC_TRY(mrc_alloc2(&products, fresh.count, k, sizeof *products, err));
    mrc_gemm(false, false, fresh.count, k, known, 1, x, all, *s->vectors, k, 0, products, k);
    mrc_lower_solve(false, false, fresh.count, k, fresh.factor, fresh.count, products, k);
    mrc_free(*s->vectors);
    *s->vectors = products;
    products = NULL;
    fresh.evaluations += lib->evaluations + s->all.evaluations;
    mrc_library_destroy(lib);
    *lib = fresh;
    fresh = (mrc_library){0};
out:
    mrc_library_destroy(&fresh);
    mrc_free(x);
    mrc_free(diag);
    mrc_free(products);
    return rc;
}

/* Many small products, on one thread whatever their sizes. */
static void search_run(void *arg, int64_t task, int worker)
{
    struct search *s = arg;
    mercer_status rc = MERCER_OK;
    (void)task, (void)worker;
    MRC_TRY(search_points(s, s->err));
    if (!s->found)
        MRC_FAIL(s->err, MERCER_ERR_NUMERIC, "compress=preimage found no pre-image");
    MRC_TRY(change_frame(s, s->err));
out:
    s->rc = rc;
}

mercer_status mrc_reduced_replace(mrc_library *lib, mercer_ctx *ctx, const double *targets,
                                  int64_t k, int64_t most, double tolerance, double **vectors,
                                  mercer_error *err)
{
    struct search s = {.ctx = ctx, .room = most, .floor = tolerance * tolerance};
    int64_t d = lib->rows->d;
    mercer_status rc = MERCER_OK;
    if (mercer_rows_is_sparse(lib->rows))
        MRC_FAIL(err, MERCER_ERR_DATA,
                 "compress=preimage takes dense rows; compress=subset takes "
                 "sparse ones, too");
    MRC_TRY(mrc_library_copy(&s.all, lib, err));
    MRC_TRY(mrc_alloc2(&s.frame, most, s.all.count, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&s.residual, k, s.all.count, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s.weights, s.all.count, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s.image, s.all.count, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s.y, d + 1, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s.best, d + 1, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s.next, d + 1, sizeof(double), err));
    s.lib = lib;
    s.targets = targets;
    s.k = k;
    s.tolerance = tolerance;
    s.vectors = vectors;
    s.err = err;
    mrc_serial(ctx, search_run, &s);
    rc = s.rc;
out:
    mrc_library_destroy(&s.all);
    mercer_rows_free(s.found);
    mrc_free(s.frame);
    mrc_free(s.residual);
    mrc_free(s.weights);
    mrc_free(s.image);
    mrc_free(s.y);
    mrc_free(s.best);
    mrc_free(s.next);
    return rc;
}
