/* SPDX-License-Identifier: BSD-3-Clause */
/* Incremental kernel PCA: principal directions of all rows so far, from a library of a few of them
 * (Chin, Suter 2006).
 *
 * Everything happens in the coordinates of the library (library.h). With directions U, singular
 * values S and mean mu of rows of weight N, a block of weight c with coordinates X, weights D and
 * mean nu changes the scatter to that of
 *
 *   [U S, (X' - nu) D^1/2, sqrt(N c / (N + c)) (mu - nu)],   mu <- (N mu + c nu) / (N + c),
 *
 * whose left singular vectors and values are the new U and S: exactly kernel PCA of all rows as
 * long as nothing is truncated or compressed; until then the frame is mended where it would cost
 * digits. One Householder factorisation gives them without a
 * rank to decide on, and orthonormal to rounding for ever. Without centring there is no mean:
 * incremental kernel SVD.
 *
 * Directions beyond `rank` are dropped. Points beyond `library` are, too: those stay whose span
 * captures most of [U S, s_1 mu / r], r the length of the longest mapped row, and U, mu are
 * projected on it (S by an SVD). They are chosen anew (library.c), or of a large library the few go
 * that are missed least (weakest.c). forget weighs a row by (1 - forget)^(rows since), wherever
 * blocks begin and end: before a block of b rows is added S and N fade by that many steps, and its
 * own rows have the weights of their places in it. The newest row always weighs 1, so nothing
 * grows, and weights that underflow are those of rows long forgotten. window keeps the coordinates
 * of its rows, which are exact projections whatever happens to the library, and does PCA of them at
 * each block.
 *
 * Cost of a block: m c + c^2 kernel values, m (r + c)^2 and, when g points go, m^3 with a small
 * factor for a choice, or m^3 / 3 and g m^2 for dropping them. Every CHECK_EVERY blocks the factor
 * is compared with the kernel matrix of the library. */
#include "methods/streaming/reduced.h"
#include "methods/streaming/streaming.h"

#include "linalg/linalg.h"

#include <math.h>
#include <string.h>

enum { SUBSET, PREIMAGE, NO_COMPRESSION };

struct ikpca_params {
    double components;
    double captured;
    int64_t block, first, rank, library;
    int compress;
    double tolerance, forget;
    int64_t window;
};

static const mrc_param ikpca_schema[] = {
    MRC_COMPONENTS(struct ikpca_params, 10),
    MRC_REAL(struct ikpca_params, captured, 1, DBL_MIN, 1,
             "no more components than capture this share of the variance; 1: no such limit"),
    MRC_INT(struct ikpca_params, block, 30, 1, 1e6, "rows that are folded in at a time"),
    MRC_INT(struct ikpca_params, first, 300, 1, 1e6,
            "rows of the first block, from which scaling and sigma=median are learnt"),
    MRC_INT(struct ikpca_params, rank, 0, 0, 1e9,
            "directions kept while learning; 0: twice the components, 100 for a share"),
    MRC_INT(struct ikpca_params, library, 0, 0, 1e9,
            "rows kept to express them; 0: five times the directions"),
    MRC_CHOICE(struct ikpca_params, compress, 0, "subset|preimage|none",
               "how the library stays small: by a choice of its rows, by new points (rbf and poly "
               "kernels), or not at all"),
    MRC_REAL(
        struct ikpca_params, tolerance, 1e-7, 1e-7, 0.1,
        "what stands out of the library by less, relative to the longest mapped row, is dropped"),
    MRC_REAL(struct ikpca_params, forget, 0, 0, 0.5,
             "share of its weight that a row loses with each row after it; 0: none"),
    MRC_INT(struct ikpca_params, window, 0, 0, 1e9, "number of the newest rows that count; 0: all"),
    MRC_PARAM_END};

enum { CHECK_EVERY = 256 };        /* blocks; fewer cost m^2 kernel values more often */
static const double DRIFT = 1e-10; /* of factor or basis, beyond which they are computed anew */

static int64_t most_directions(const mrc_request *r)
{
    const struct ikpca_params *p = r->params;
    enum { TIMES = 2, BY_SHARE = 100 };
    if (p->rank > 0)
        return p->rank;
    return r->problem.components > 0 ? TIMES * r->problem.components : BY_SHARE;
}

static int64_t most_points(const mrc_request *r)
{
    const struct ikpca_params *p = r->params;
    enum { TIMES = 5 };
    if (p->compress == NO_COMPRESSION)
        return INT64_MAX;
    return p->library > 0 ? p->library : TIMES * most_directions(r);
}

static mercer_status ikpca_plan(const mrc_request *r, mrc_plan *plan, mercer_error *err)
{
    const struct ikpca_params *p = r->params;
    int64_t rank = most_directions(r);
    if (rank < r->problem.components)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "method ikpca: rank=%lld is below components=%lld", (long long)rank,
                        (long long)r->problem.components);
    if (p->library > 0 && p->compress == NO_COMPRESSION)
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "method ikpca: library is for compress=subset and preimage");
    if (p->forget > 0 && p->window > 0)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "method ikpca: give forget or window, not both");
    *plan = (mrc_plan){.first = p->first, .block = p->block, .captured = p->captured};
    return p->compress == PREIMAGE ? mrc_reduced_check(&r->kernel, err) : MERCER_OK;
}

/* A block at work: what the stream will be once it is folded in. */
struct work {
    mercer_ctx *ctx;
    const mercer_stream *stream;
    const struct ikpca_params *p;
    bool centered;
    mrc_library lib;
    mrc_state next;      /* the counters, to begin with */
    mercer_rows *window; /* scaled */
    double *x;           /* coordinates of the block, or of the window */
    double *diag;
    /* Directions, mean and window of the stream in the frame as it is now, where they have
     * coordinates along the first `known` points; turned copies when the frame has changed. */
    const double *old_basis, *old_mean, *old_window;
    int64_t known;
    double *turned_basis, *turned_mean, *turned_window;
};

static void work_destroy(struct work *w)
{
    mrc_library_destroy(&w->lib);
    mrc_state_destroy(&w->next);
    mercer_rows_free(w->window);
    mrc_free(w->x);
    mrc_free(w->diag);
    mrc_free(w->turned_basis);
    mrc_free(w->turned_mean);
    mrc_free(w->turned_window);
}

/* ---- points ---- */

/* What points stand out by at least. Once some were dropped the others are no longer the best ones
 * to compute with, and rounding goes further. */
static double least_residual(const struct work *w)
{
    enum { ROUGHER = 10 };
    return (w->next.compressed ? ROUGHER : 1) * w->p->tolerance;
}

struct turning {
    int64_t before, after, rank, window;
    const double *turn;
    const mrc_state *from;
    struct work *to;
};

static void turning_run(void *arg, int64_t task, int worker)
{
    const struct turning *t = arg;
    int64_t m = t->before, s = t->after;
    const mrc_state *from = t->from;
    (void)task, (void)worker;
    if (t->rank > 0)
        mrc_gemm(true, false, s, t->rank, m, 1, t->turn, s, from->basis, t->rank, 0,
                 t->to->turned_basis, t->rank);
    mrc_gemm(true, false, s, 1, m, 1, t->turn, s, from->mean, 1, 0, t->to->turned_mean, 1);
    if (t->window > 0)
        mrc_gemm(false, false, t->window, s, m, 1, from->coordinates, m, t->turn, s, 0,
                 t->to->turned_window, s);
}

/* Points for the block, and its coordinates. As long as nothing was dropped the frame may change,
 * for the sake of accuracy; then what was learnt is turned into the new one. */
static mercer_status take_in(struct work *w, const mercer_rows *block, mercer_error *err)
{
    const mrc_state *s = &w->stream->state;
    struct turning t = {.before = w->lib.count, .rank = s->rank, .window = s->window, .from = s};
    double *turn = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_library_take_in(&w->lib, w->ctx, block, least_residual(w), &w->x, w->diag,
                                s->compressed ? NULL : &turn, err));
    w->old_basis = s->basis;
    w->old_mean = s->mean;
    w->old_window = s->coordinates;
    w->known = t.before;
    if (!turn)
        return MERCER_OK;
    t.after = w->known = w->lib.count;
    t.turn = turn;
    t.to = w;
    MRC_TRY(mrc_alloc2(&w->turned_basis, t.after, t.rank, sizeof(double), err));
    MRC_TRY(mrc_alloc(&w->turned_mean, t.after, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&w->turned_window, t.window, t.after, sizeof(double), err));
    mrc_serial(w->ctx, turning_run, &t);
    w->old_basis = w->turned_basis;
    w->old_mean = w->turned_mean;
    w->old_window = w->turned_window;
out:
    mrc_free(turn);
    return rc;
}

/* ---- directions ---- */

/* Keep the leading directions of vectors (m x available, with these singular values), of which none
 * turns round against the old ones, whose coordinates are their first `known` ones. */
static mercer_status keep_directions(struct work *w, const double *vectors, const double *singular,
                                     int64_t available, const double *old, int64_t old_rank,
                                     int64_t known, mercer_error *err)
{
    static const double NOISE = 1e-14; /* relative: rounding of the largest singular value */
    mrc_state *s = &w->next;
    int64_t m = w->lib.count, most = most_directions(&w->stream->request), rank = 0;
    mercer_status rc = MERCER_OK;
    while (rank < available && rank < most && singular[rank] > NOISE * singular[0])
        rank++;
    if (rank < available)
        s->lost += singular[rank] * singular[rank];
    MRC_TRY(mrc_alloc2(&s->basis, m, rank, sizeof(double), err));
    MRC_TRY(mrc_alloc(&s->singular, rank, sizeof(double), err));
    s->rank = rank;
    memcpy(s->singular, singular, (size_t)rank * sizeof(double));
    for (int64_t i = 0; i < m; i++)
        memcpy(s->basis + i * rank, vectors + i * available, (size_t)rank * sizeof(double));
    mrc_fix_signs(m, rank, s->basis);
    for (int64_t j = 0; j < rank && j < old_rank; j++) {
        double dot = 0;
        for (int64_t i = 0; i < known; i++)
            dot += s->basis[i * rank + j] * old[i * old_rank + j];
        for (int64_t i = 0; dot < 0 && i < m; i++)
            s->basis[i * rank + j] = -s->basis[i * rank + j];
    }
out:
    return rc;
}

/* Directions and singular values of scatter (m x k, destroyed), the new ones of the state. */
static mercer_status decompose(struct work *w, double *scatter, int64_t k, const double *old,
                               int64_t old_rank, int64_t known, mercer_error *err)
{
    int64_t m = w->lib.count, q = m < k ? m : k;
    double *vectors = NULL, *singular = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&vectors, m, q, sizeof *vectors, err));
    MRC_TRY(mrc_alloc(&singular, q + 1, sizeof *singular, err));
    if (q > 0)
        MRC_TRY(mrc_svd_left(w->ctx, m, k, scatter, singular, vectors, err));
    MRC_TRY(keep_directions(w, vectors, singular, q, old, old_rank, known, err));
out:
    mrc_free(vectors);
    mrc_free(singular);
    return rc;
}

/* U S of the state under way, m x (rank + 1) with room for a vector behind. */
static mercer_status scaled_basis(const struct work *w, double **out, mercer_error *err)
{
    const mrc_state *s = &w->next;
    int64_t m = w->lib.count, k = s->rank + 1;
    mercer_status rc = mrc_alloc2(out, m, k, sizeof **out, err);
    for (int64_t i = 0; rc == MERCER_OK && i < m; i++)
        for (int64_t j = 0; j < s->rank; j++)
            (*out)[i * k + j] = s->basis[i * s->rank + j] * s->singular[j];
    return rc;
}

/* Take vectors (m x (rank + 1): U S and the mean, in the frame of the library as it is now) for
 * directions and mean; both may have been projected. */
static mercer_status replace_vectors(struct work *w, const double *vectors, mercer_error *err)
{
    mrc_state old = w->next;
    int64_t m = w->lib.count, r = old.rank;
    double *scatter = NULL, *like = NULL, before = 0, after = 0;
    mercer_status rc = MERCER_OK;
    w->next.basis = w->next.singular = NULL;
    w->next.rank = 0;
    MRC_TRY(mrc_alloc2_raw(&scatter, m, r, sizeof *scatter, err));
    for (int64_t i = 0; i < m; i++) {
        memcpy(scatter + i * r, vectors + i * (r + 1), (size_t)r * sizeof *scatter);
        w->next.mean[i] = vectors[i * (r + 1) + r];
    }
    /* Columns of U S are nearly the new directions already: their signs are to stay. */
    MRC_TRY(mrc_alloc2_raw(&like, m, r, sizeof *like, err));
    memcpy(like, scatter, (size_t)(m * r) * sizeof *like);
    MRC_TRY(decompose(w, scatter, r, like, r, m, err));
    for (int64_t j = 0; j < r; j++)
        before += old.singular[j] * old.singular[j];
    for (int64_t j = 0; j < w->next.rank; j++)
        after += w->next.singular[j] * w->next.singular[j];
    w->next.lost += fmax(before - after, 0);
out:
    mrc_free(scatter);
    mrc_free(like);
    mrc_free(old.basis);
    mrc_free(old.singular);
    return rc;
}

/* ---- a block ---- */

/* Weights of the c rows of a block, the newest last; *sum is theirs, *faded what the rows before
 * keep of their own. */
static mercer_status weigh_block(const struct work *w, int64_t c, double **weights, double *sum,
                                 double *faded, mercer_error *err)
{
    double kept = 1 - w->p->forget;
    mercer_status rc = mrc_alloc2_raw(weights, c, 1, sizeof **weights, err);
    *sum = 0;
    *faded = pow(kept, (double)c);
    for (int64_t t = 0; rc == MERCER_OK && t < c; t++) {
        (*weights)[t] = pow(kept, (double)(c - 1 - t));
        *sum += (*weights)[t];
    }
    return rc;
}

/* [U S, (X' - nu) D^1/2, sqrt(N c / (N + c)) (mu - nu)] and the new mean. */
static mercer_status add_block(struct work *w, int64_t c, mercer_error *err)
{
    const mrc_state *old = &w->stream->state;
    mrc_state *s = &w->next;
    int64_t m = w->lib.count, known = w->known, r = old->rank;
    int64_t k = r + c + (w->centered ? 1 : 0);
    double *scatter = NULL, *weights = NULL, sum = 0, faded = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&scatter, m, k, sizeof *scatter, err));
    MRC_TRY(weigh_block(w, c, &weights, &sum, &faded, err));
    double n = faded * old->weight, step = sum / (n + sum);
    for (int64_t i = 0; i < m; i++) {
        double *to = scatter + i * k, mean = 0, before = i < known ? w->old_mean[i] : 0;
        for (int64_t j = 0; i < known && j < r; j++)
            to[j] = w->old_basis[i * r + j] * old->singular[j] * sqrt(faded);
        for (int64_t t = 0; w->centered && t < c; t++)
            mean += weights[t] * w->x[t * m + i] / sum;
        for (int64_t t = 0; t < c; t++)
            to[r + t] = (w->x[t * m + i] - mean) * sqrt(weights[t]);
        if (w->centered)
            to[r + c] = sqrt(n * step) * (before - mean);
        s->mean[i] = before + step * (mean - before);
    }
    s->diagonal = faded * old->diagonal;
    for (int64_t t = 0; t < c; t++)
        s->diagonal += weights[t] * w->diag[t];
    s->weight = n + sum;
    s->lost *= faded;
    MRC_TRY(decompose(w, scatter, k, w->old_basis, r, known, err));
out:
    mrc_free(scatter);
    mrc_free(weights);
    return rc;
}

/* The window with the block behind, and its coordinates: w->window and w->x. */
static mercer_status move_window(struct work *w, const mercer_rows *block, mercer_error *err)
{
    const mercer_stream *stream = w->stream;
    int64_t m = w->lib.count, c = block->n, before = stream->window ? stream->window->n : 0;
    int64_t all = before + c, dropped = all > w->p->window ? all - w->p->window : 0;
    double *x = NULL, *joined = NULL;
    mercer_rows *rows = NULL;
    mercer_status rc = MERCER_OK;
    if (before > 0) {
        MRC_TRY(mrc_alloc2_raw(&x, before, w->known, sizeof *x, err));
        memcpy(x, w->old_window, (size_t)(before * w->known) * sizeof *x);
        MRC_TRY(mrc_library_extend(&w->lib, w->ctx, stream->window, w->known, &x, err));
        MRC_TRY(mrc_rows_append(&rows, stream->window, err));
    }
    MRC_TRY(mrc_rows_append(&rows, block, err));
    MRC_TRY(mrc_rows_slice(rows, dropped, all - dropped, &w->window, err));
    MRC_TRY(mrc_alloc2_raw(&joined, all, m, sizeof *joined, err));
    if (before > 0)
        memcpy(joined, x, (size_t)(before * m) * sizeof *x);
    memcpy(joined + before * m, w->x, (size_t)(c * m) * sizeof *x);
    memmove(joined, joined + dropped * m, (size_t)((all - dropped) * m) * sizeof *x);
    mrc_free(w->x);
    w->x = joined;
    joined = NULL;
out:
    mercer_rows_free(rows);
    mrc_free(x);
    mrc_free(joined);
    return rc;
}

/* PCA of the window's coordinates. */
static mercer_status learn_window(struct work *w, mercer_error *err)
{
    const mrc_state *old = &w->stream->state;
    mrc_state *s = &w->next;
    int64_t m = w->lib.count, n = w->window->n;
    double *scatter = NULL, *diag = NULL;
    mrc_points points = {0};
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&scatter, m, n, sizeof *scatter, err));
    MRC_TRY(mrc_alloc(&diag, n, sizeof *diag, err));
    MRC_TRY(mrc_points_init(&points, w->ctx, w->lib.kernel, w->window, NULL, err));
    mrc_kernel_diag(w->lib.kernel, w->ctx, &points, 0, n, diag);
    MRC_TRY(mrc_check_cancel(w->ctx, err));
    w->lib.evaluations += n;
    s->diagonal = 0;
    for (int64_t t = 0; t < n; t++)
        s->diagonal += diag[t];
    s->weight = (double)n;
    s->lost = 0; /* nothing of earlier truncations is left */
    for (int64_t i = 0; i < m; i++) {
        s->mean[i] = 0;
        for (int64_t t = 0; w->centered && t < n; t++)
            s->mean[i] += w->x[t * m + i] / (double)n;
        for (int64_t t = 0; t < n; t++)
            scatter[i * n + t] = w->x[t * m + i] - s->mean[i];
    }
    MRC_TRY(decompose(w, scatter, n, w->old_basis, old->rank, w->known, err));
out:
    mrc_points_destroy(&points);
    mrc_free(scatter);
    mrc_free(diag);
    return rc;
}

/* ---- compression, repair ---- */

/* [U S, weight mu] */
static mercer_status vectors_of(const struct work *w, double weight, double **out,
                                mercer_error *err)
{
    int64_t m = w->lib.count, k = w->next.rank + 1;
    mercer_status rc = scaled_basis(w, out, err);
    for (int64_t i = 0; rc == MERCER_OK && i < m; i++)
        (*out)[i * k + k - 1] = weight * w->next.mean[i];
    return rc;
}

/* The coordinates of the window in a new frame. */
static mercer_status project_window(struct work *w, mercer_error *err)
{
    if (!w->window)
        return MERCER_OK;
    mrc_free(w->x);
    w->x = NULL;
    return mrc_library_project(&w->lib, w->ctx, w->window, &w->x, NULL, err);
}

/* Whether the points that are missed least go one by one, instead of all being chosen anew: where
 * few go from a large library that is several times as fast. Small libraries cost little either
 * way, and a new choice is somewhat better for them where rows move. */
static bool few_go(int64_t m, int64_t most)
{
    enum { LARGE = 128 };
    return most >= LARGE && m - most <= most / 2;
}

static mercer_status compress_library(struct work *w, int64_t most, mercer_error *err)
{
    enum { STRICTER = 10 }; /* points kept for long stand out by more than those taken in */
    w->next.compressed = 1;
    int64_t m = w->lib.count, k = w->next.rank + 1, window = w->window ? w->window->n : 0;
    const double largest = w->lib.largest, root = sqrt(mrc_usual_unit(largest));
    /* The mean has this weight among the targets. */
    const double weight = w->next.rank > 0 ? w->next.singular[0] / sqrt(largest) : 1;
    mrc_subframe frame = {0};
    double *targets = NULL, *vectors = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(vectors_of(w, weight, &targets, err));
    for (int64_t i = 0; root != 1 && i < m * k; i++) /* their products are squared */
        targets[i] /= root;
    MRC_TRY(vectors_of(w, 1, &vectors, err));
    if (w->p->compress == PREIMAGE) {
        MRC_TRY(mrc_reduced_replace(&w->lib, w->ctx, targets, k, most, least_residual(w), &vectors,
                                    err));
        MRC_TRY(project_window(w, err));
    } else if (few_go(m, most)) {
        MRC_TRY(mrc_library_drop(&w->lib, w->ctx, most, STRICTER * least_residual(w), targets, k,
                                 w->x, window, err));
        for (int64_t i = 0; root != 1 && i < w->lib.count * k; i++)
            targets[i] *= root;
        for (int64_t i = 0; i < w->lib.count; i++)
            targets[i * k + k - 1] /= weight;
        mrc_free(vectors);
        vectors = targets;
        targets = NULL;
    } else {
        MRC_TRY(mrc_library_choose(&w->lib, w->ctx, targets, k, most, STRICTER * least_residual(w),
                                   &frame, err));
        MRC_TRY(mrc_library_keep(&w->lib, &frame, err));
        MRC_TRY(mrc_subframe_project(&frame, w->ctx, m, &vectors, k, err));
        if (w->window)
            MRC_TRY(mrc_subframe_project_rows(&frame, w->ctx, m, &w->x, w->window->n, err));
    }
    MRC_TRY(replace_vectors(w, vectors, err));
out:
    mrc_subframe_destroy(&frame);
    mrc_free(targets);
    mrc_free(vectors);
    return rc;
}

/* Largest |U'U - I|. */
static double lack_of_orthonormality(const mrc_state *s, int64_t m)
{
    double worst = 0;
    for (int64_t j = 0; j < s->rank; j++)
        for (int64_t k = 0; k <= j; k++) {
            double dot = j == k ? -1 : 0;
            for (int64_t i = 0; i < m; i++)
                dot += s->basis[i * s->rank + j] * s->basis[i * s->rank + k];
            worst = fmax(worst, fabs(dot));
        }
    return worst;
}

struct repair {
    const mrc_library *old;
    int64_t m, k;         /* new points, vectors */
    const double *x;      /* old points x m: all of them in the new frame */
    double *coefficients; /* old points x k: vectors, then over the old points */
    double *out;          /* m x k */
};

static void repair_run(void *arg, int64_t task, int worker)
{
    const struct repair *r = arg;
    int64_t n = r->old->count;
    (void)task, (void)worker;
    mrc_lower_solve(false, true, n, r->k, r->old->factor, n, r->coefficients, r->k);
    mrc_gemm(true, false, r->m, r->k, n, 1, r->x, r->m, r->coefficients, r->k, 0, r->out, r->k);
}

/* A new frame for the same points, and directions and mean in it. */
static mercer_status repair(struct work *w, mercer_error *err)
{
    mrc_library fresh = {.kernel = w->lib.kernel, .largest = w->lib.largest};
    struct repair r = {.old = &w->lib, .k = w->next.rank + 1};
    double *x = NULL, *diag = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&diag, w->lib.count, sizeof *diag, err));
    MRC_TRY(
        mrc_library_take_in(&fresh, w->ctx, w->lib.rows, least_residual(w), &x, diag, NULL, err));
    MRC_TRY(vectors_of(w, 1, &r.coefficients, err));
    r.m = fresh.count;
    r.x = x;
    MRC_TRY(mrc_alloc2(&r.out, r.m, r.k, sizeof(double), err));
    mrc_serial(w->ctx, repair_run, &r);
    fresh.evaluations += w->lib.evaluations;
    mrc_library old = w->lib;
    w->lib = fresh;
    fresh = old;
    MRC_TRY(project_window(w, err));
    MRC_TRY(replace_vectors(w, r.out, err));
out:
    mrc_library_destroy(&fresh);
    mrc_free(r.coefficients);
    mrc_free(r.out);
    mrc_free(x);
    mrc_free(diag);
    return rc;
}

static mercer_status check_drift(struct work *w, mercer_error *err)
{
    double factor = 0, basis = lack_of_orthonormality(&w->next, w->lib.count);
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_library_drift(&w->lib, w->ctx, &factor, err));
    if (factor <= DRIFT && basis <= DRIFT)
        return MERCER_OK;
    MRC_TRY(repair(w, err));
    mrc_notice(w->ctx, "rounding had made the library's factor or the directions drift; both were "
                       "computed anew");
out:
    return rc;
}

/* ---- fold ---- */

/* The work becomes the stream's. */
static void commit(struct work *w, mercer_stream *stream)
{
    if (w->window) {
        w->next.window = w->window->n;
        w->next.coordinates = w->x;
        w->x = NULL;
    }
    mrc_library_destroy(&stream->library);
    mrc_state_destroy(&stream->state);
    mercer_rows_free(stream->window);
    stream->library = w->lib;
    stream->state = w->next;
    stream->window = w->window;
    w->lib = (mrc_library){0};
    w->next = (mrc_state){0};
    w->window = NULL;
}

static mercer_status ikpca_fold(mercer_ctx *ctx, mercer_stream *stream, const mercer_rows *block,
                                mercer_error *err)
{
    struct work w = {.ctx = ctx, .stream = stream, .p = stream->request.params};
    int64_t most = most_points(&stream->request), c = block->n;
    mercer_status rc = MERCER_OK;
    w.centered = stream->request.problem.center != MRC_CENTER_NONE;
    mrc_state_copy_counters(&w.next, &stream->state);
    w.next.blocks++;
    MRC_TRY(mrc_alloc(&w.diag, c, sizeof *w.diag, err));
    MRC_TRY(mrc_library_copy(&w.lib, &stream->library, err));
    MRC_TRY(take_in(&w, block, err));
    MRC_TRY(mrc_alloc(&w.next.mean, w.lib.count, sizeof(double), err));
    if (w.p->window > 0) {
        MRC_TRY(move_window(&w, block, err));
        MRC_TRY(learn_window(&w, err));
    } else {
        MRC_TRY(add_block(&w, c, err));
    }
    if (w.lib.count > most)
        MRC_TRY(compress_library(&w, most, err));
    if (w.next.blocks % CHECK_EVERY == 0)
        MRC_TRY(check_drift(&w, err));
    w.next.largest = w.lib.largest;
    commit(&w, stream);
out:
    work_destroy(&w);
    return rc;
}

static const mrc_streaming ikpca_streaming = {.plan = ikpca_plan, .fold = ikpca_fold};

/* What is kept while learning must not hang on the number of components. */
static bool ikpca_is_nested(const void *params)
{
    const struct ikpca_params *p = params;
    return p->rank > 0;
}

/* The library against every block, and a factorisation of what both span. */
static void ikpca_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                       int64_t n, mrc_work *work)
{
    const struct ikpca_params *p = params;
    double l = problem->components > 0 ? (double)problem->components : 50;
    double rank = p->rank > 0 ? (double)p->rank : 2 * l;
    double points = p->library > 0 ? (double)p->library : 5 * rank;
    double side = rank + (double)p->block, blocks = (double)n / (double)p->block;
    (void)ctx;
    work->columns = points;
    work->flops = blocks * 100 * points * (side * side + points * (double)p->block);
    work->points = points;
    work->bytes = 8 * (points * (double)problem->rows->d + 4 * points * (points + side));
    work->spread = 4;
}

const mrc_method mrc_method_ikpca = {
    .entry = {.name = "ikpca",
              .summary = "incremental kernel PCA of a stream of rows",
              .reference = "Chin, Suter 2006",
              .params = ikpca_schema},
    .params_size = sizeof(struct ikpca_params),
    .default_center = MRC_CENTER_EXACT,
    .streaming = &ikpca_streaming,
    .work = ikpca_work,
    .check = mrc_streaming_check,
    .is_nested = ikpca_is_nested,
};
