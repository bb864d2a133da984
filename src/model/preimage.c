/* Pre-images: a row x whose image is near a point P of feature space,
 *
 *   P = mean + sum_j y_j w_j = sum_i g_i phi(z_i),  g = B y + v;   f(x) = |P - phi(x)|^2
 *     = |P|^2 - 2 <P, phi(x)> + k(x,x),  |P|^2 = g'K g, whose K g the search for starts has anyway.
 *
 * Linear: x = sum_i g_i z_i, exact. Gaussian: the fixed point of Mika et al. (1999),
 * x <- sum g_i k(x,z_i) z_i / sum g_i k(x,z_i), whose denominator is <P, phi(x)> itself, so that
 * the best x seen is known for nothing. Polynomial (a x.z + c)^p: Gauss-Newton for f, whose first
 * factor is the fixed point of the gradient and whose rank-one part mends the length, with halving
 * until f falls. Both start from the five training points with the smallest f; p = 2 replaces the
 * fifth by the leading eigenvector of P, seen as a quadratic form (the best rank-one fit).
 *
 * Cost: m^2 kernel values per 64 to 256 rows for the starts, then 5 m (2 d + 1) per iteration and
 * row; with sparse points 10 multiply-adds an entry and 5 d, since a pre-image is dense.
 * Products have fixed shapes, so that a row does not depend on its neighbours.
 *
 * Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch: Kernel PCA and de-noising in feature spaces,
 * NIPS 11, 1999. */
#include "kernel/sparse.h"
#include "linalg/linalg.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    STARTS = 5,        /* per row. More find a better optimum now and then; cost is in proportion */
    ROWS_PER_TASK = 3, /* STARTS x ROWS_PER_TASK iterates move together in one product */
    SLOTS = 16,        /* of that height: a multiple of what BLAS handles in one go */
    PANEL = 64,        /* feature rows per product of the starting search */
    MOST_PANELS = 4,   /* share one pass over the m x m kernel values */
    PANEL_DOUBLES =
        1 << 23, /* coefficients per batch, when m is so large that panels must be few */
    BLOCK = 64,  /* points per task of the search */
    TILE = 256,  /* points (or columns) per product */
    ITERATIONS = 500,
    HALVINGS = 40,
    POWER_STEPS = 40 /* a start need not be exact */
};
static const double CONVERGED = 1e-10;        /* change of x relative to its length, or to sigma */
static const double NOISE = 64 * DBL_EPSILON; /* of sums, relative to the size of their terms */
static const double VANISHED = 1e-12; /* a denominator below this share of its terms is noise */

struct job {
    mercer_ctx *ctx;
    const mercer_model *model;
    int64_t batch;            /* rows of the buffers: whole panels */
    int64_t first, count;     /* rows of features in this batch */
    const double *z;          /* m x d: the points, NULL when they are sparse, */
    const mrc_points *points; /* and as the kernel wants them */
    mercer_rows
        *wide; /* behind both when the model's are packed: every step goes through them all */
    mrc_points wide_points;
    double *y;       /* batch x l, padded by zeroes: coefficients of the w_j */
    double *gamma;   /* batch x m */
    double *dots;    /* batch x m: <P, phi(z_i)> */
    double *diag;    /* m: k(z_i, z_i) */
    double *center;  /* d, Gaussian only: the mean of the points; zero when they are sparse */
    double *centred; /* m x d, Gaussian only: z_i - center, which sum without losing digits;
                        NULL when they are sparse, which this would fill */
    double *x;       /* batch x d: results */
    double *value;   /* batch: f(x) */
    double *scratch; /* per worker */
    int64_t scratch_size;
    _Atomic bool out_of_memory;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static double integer_power(double base, int64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/* x (d) += sum_i w_i z_i over sparse points [z0, z0 + nz). */
static void add_sparse(const mercer_model *model, int64_t z0, int64_t nz, const double *w,
                       double *x)
{
    for (int64_t i = 0; i < nz; i++) {
        mrc_sparse_row row = mrc_sparse_row_of(&model->z_points, z0 + i);
        for (int64_t k = 0; k < row.count; k++)
            x[row.column[k]] += w[i] * row.value[k];
    }
}

/* ---- Coefficients of P ---- */

/* gamma = y B' + (1 + y t) v on one tile of points. */
static void expand_tile(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    const mercer_model *model = job->model;
    int64_t m = model->points, l = model->components, z0 = task * TILE, nz = least(TILE, m - z0);
    int64_t nb = model->basis_points - z0; /* points of the basis in this tile */
    (void)worker;
    for (int64_t i = 0; i < job->batch; i++) {
        double share =
            model->mean_weights ? 1 + mrc_dot(job->y + i * l, model->mean_weights, l) : 1;
        for (int64_t j = 0; j < nz; j++)
            job->gamma[i * m + z0 + j] = model->mean ? share * model->mean[z0 + j] : 0.0;
    }
    if (nb <= 0)
        return;
    for (int64_t p = 0; p < job->batch; p += PANEL)
        mrc_gemm(false, true, PANEL, least(nb, nz), l, 1.0, job->y + p * l, l,
                 model->coefficients + z0 * l, l, 1.0, job->gamma + p * m + z0, m);
}

/* dots = gamma K on one block of points, all panels sharing the kernel values. */
static void search_block(void *arg, int64_t task, int worker)
{
    struct job *job = arg;
    const mercer_model *model = job->model;
    int64_t m = model->points, b0 = task * BLOCK, nb = least(BLOCK, m - b0);
    double *k = job->scratch + worker * job->scratch_size; /* TILE x BLOCK */
    if (mrc_check_cancel(job->ctx, NULL) != MERCER_OK)
        return;
    for (int64_t i = 0; i < job->batch; i++)
        memset(job->dots + i * m + b0, 0, (size_t)nb * sizeof(double));
    for (int64_t z0 = 0; z0 < m; z0 += TILE) {
        int64_t nz = least(TILE, m - z0);
        mrc_kernel_tile(&model->kernel, job->ctx->simd, job->points, z0, nz, job->points, b0, nb, k,
                        BLOCK);
        for (int64_t p = 0; p < job->batch; p += PANEL)
            mrc_gemm(false, false, PANEL, nb, nz, 1.0, job->gamma + p * m + z0, m, k, BLOCK, 1.0,
                     job->dots + p * m + b0, m);
    }
    mrc_kernel_diag(&model->kernel, job->points, b0, nb, job->diag + b0);
}

/* The STARTS points with the smallest f, best first; the lower index wins a tie. Returns how many
 * there are. */
static int best_points(const struct job *job, int64_t row, int64_t best[STARTS])
{
    int64_t m = job->model->points;
    const double *dots = job->dots + row * m;
    double f[STARTS];
    int count = 0;
    for (int64_t i = 0; i < m; i++) {
        double value = job->diag[i] - 2 * dots[i];
        if (count == STARTS && !(value < f[STARTS - 1]))
            continue;
        int at = count < STARTS ? count++ : STARTS - 1;
        for (; at > 0 && value < f[at - 1]; at--) {
            f[at] = f[at - 1];
            best[at] = best[at - 1];
        }
        f[at] = value;
        best[at] = i;
    }
    return count;
}

/* ---- Iterates that move together ---- */

struct slots {
    const struct job *job;
    int64_t row[SLOTS];  /* of the batch, or -1: not in use */
    bool active[SLOTS];  /* moves; the sums of the others are not wanted */
    double best[SLOTS];  /* smallest f(x) - |P|^2 seen */
    double noise[SLOTS]; /* rounding errors of such values */
    double *x;           /* SLOTS x d: the iterates */
    double *best_x;      /* SLOTS x d */
    double *sum;         /* SLOTS x d: weighted sums of points */
    double *tile;        /* SLOTS x TILE */
    double *step;        /* SLOTS x d, polynomials only, as the next two */
    double *u, *v;       /* SLOTS x m: x.z_i and step.z_i */
};

static int64_t slots_size(const mercer_model *model)
{
    int64_t d = model->columns, m = model->points;
    int64_t size = SLOTS * (3 * d + TILE);
    if (model->kernel.kind == MRC_KERNEL_poly)
        size += SLOTS * (d + 2 * m);
    return size > TILE * BLOCK ? size : TILE * BLOCK;
}

static void slots_init(struct slots *slots, struct job *job, int64_t task, int worker)
{
    int64_t d = job->model->columns, m = job->model->points;
    double *scratch = job->scratch + worker * job->scratch_size;
    slots->job = job;
    slots->x = scratch;
    slots->best_x = slots->x + SLOTS * d;
    slots->sum = slots->best_x + SLOTS * d;
    slots->tile = slots->sum + SLOTS * d;
    slots->step = slots->u = slots->v = NULL;
    if (job->model->kernel.kind == MRC_KERNEL_poly) {
        slots->step = slots->tile + SLOTS * TILE;
        slots->u = slots->step + SLOTS * d;
        slots->v = slots->u + SLOTS * m;
    }
    memset(slots->x, 0, (size_t)(2 * SLOTS * d) * sizeof(double));
    if (slots->step)
        memset(slots->step, 0, (size_t)(SLOTS * d) * sizeof(double));
    for (int s = 0; s < SLOTS; s++) {
        slots->row[s] = -1;
        slots->active[s] = false;
        slots->best[s] = INFINITY;
        slots->noise[s] = 0;
    }
    for (int r = 0; r < ROWS_PER_TASK; r++) {
        int64_t row = task * ROWS_PER_TASK + r, points[STARTS];
        int found = row < job->count ? best_points(job, row, points) : 0;
        for (int k = 0; k < found; k++) {
            int s = r * STARTS + k;
            slots->row[s] = row;
            slots->active[s] = true;
            mercer_rows_copy(job->model->z_rows, points[k], 1, slots->x + s * d);
        }
    }
}

/* sum (SLOTS x d) += tile times points [z0, z0 + nz), which are the z_i or, when dense, others as
 * many. */
static void add_points(struct slots *slots, const double *points, int64_t z0, int64_t nz)
{
    const mercer_model *model = slots->job->model;
    int64_t d = model->columns;
    if (!model->z_csr.start)
        mrc_gemm(false, false, SLOTS, d, nz, 1.0, slots->tile, TILE, points + z0 * d, d, 1.0,
                 slots->sum, d);
    for (int s = 0; model->z_csr.start && s < SLOTS; s++)
        if (slots->active[s])
            add_sparse(model, z0, nz, slots->tile + s * TILE, slots->sum + s * d);
}

/* Near an optimum f is flat, and rounding alone would pick one of the last iterates: among those
 * whose f differ by no more than rounding the latest, which is nearest to the end, is kept. */
static void keep_best(struct slots *slots, int s, double f)
{
    int64_t d = slots->job->model->columns;
    if (!(f <= slots->best[s] + slots->noise[s]))
        return;
    slots->best[s] = fmin(f, slots->best[s]);
    memcpy(slots->best_x + s * d, slots->x + s * d, (size_t)d * sizeof(double));
}

static bool any_active(const struct slots *slots)
{
    if (mrc_check_cancel(slots->job->ctx, NULL) != MERCER_OK)
        return false;
    for (int s = 0; s < SLOTS; s++)
        if (slots->active[s])
            return true;
    return false;
}

/* The best start of each row is its result; the first of several that are as good. */
static void slots_finish(const struct slots *slots, struct job *job)
{
    int64_t d = job->model->columns, m = job->model->points;
    for (int r = 0; r < ROWS_PER_TASK; r++) {
        int best = r * STARTS;
        for (int s = best + 1; s < (r + 1) * STARTS; s++)
            if (slots->best[s] < slots->best[best] - slots->noise[best])
                best = s;
        int64_t row = slots->row[best];
        if (row < 0)
            continue;
        memcpy(job->x + row * d, slots->best_x + best * d, (size_t)d * sizeof(double));
        double norm2 = mrc_dot(job->gamma + row * m, job->dots + row * m, m);
        job->value[row] = fmax(0.0, norm2 + slots->best[best]);
    }
}

/* ---- Gaussian ---- */

/* One evaluation at all iterates: sum = sum_i g_i k(x,z_i) (z_i - center), total = sum_i g_i
 * k(x,z_i), and the size of its terms. */
static mercer_status gaussian_sums(struct slots *slots, double total[SLOTS], double size[SLOTS])
{
    const struct job *job = slots->job;
    const mercer_model *model = job->model;
    int64_t d = model->columns, m = model->points;
    mercer_rows rows = {.n = SLOTS, .d = d, .ld = d, .x = slots->x};
    mrc_points points;
    mercer_status rc = mrc_points_init(&points, job->ctx, &model->kernel, &rows, job->points, NULL);
    if (rc != MERCER_OK)
        return rc;
    memset(slots->sum, 0, (size_t)(SLOTS * d) * sizeof(double));
    memset(total, 0, SLOTS * sizeof *total);
    memset(size, 0, SLOTS * sizeof *size);
    for (int64_t z0 = 0; z0 < m; z0 += TILE) {
        int64_t nz = least(TILE, m - z0);
        mrc_kernel_tile(&model->kernel, job->ctx->simd, &points, 0, SLOTS, job->points, z0, nz,
                        slots->tile, TILE);
        for (int s = 0; s < SLOTS; s++) {
            double *w = slots->tile + s * TILE;
            const double *gamma = slots->active[s] ? job->gamma + slots->row[s] * m + z0 : NULL;
            for (int64_t i = 0; i < nz; i++) {
                w[i] = gamma ? gamma[i] * w[i] : 0.0;
                total[s] += w[i];
                size[s] += fabs(w[i]);
            }
        }
        add_points(slots, job->centred, z0, nz);
    }
    mrc_points_destroy(&points);
    return MERCER_OK;
}

static void gaussian_task(void *arg, int64_t task, int worker)
{
    struct job *job = arg;
    int64_t d = job->model->columns;
    double sigma2 = 0.5 / job->model->kernel.gamma, total[SLOTS], size[SLOTS];
    struct slots slots;

    slots_init(&slots, job, task, worker);
    for (int iteration = 0; iteration < ITERATIONS && any_active(&slots); iteration++) {
        if (gaussian_sums(&slots, total, size) != MERCER_OK) {
            job->out_of_memory = true;
            return;
        }
        for (int s = 0; s < SLOTS; s++) {
            double *x = slots.x + s * d, change = 0, length = 0;
            if (!slots.active[s])
                continue;
            slots.noise[s] = NOISE * (1 + size[s]);
            keep_best(&slots, s, 1.0 - 2 * total[s]);
            if (!(fabs(total[s]) > VANISHED * size[s])) {
                slots.active[s] = false;
                continue;
            }
            for (int64_t j = 0; j < d; j++) {
                double next = job->center[j] + slots.sum[s * d + j] / total[s];
                change += (next - x[j]) * (next - x[j]);
                length += next * next;
                x[j] = next;
            }
            /* Far from the origin the last bit of x may be more than that share of sigma. */
            if (!(change >
                  fmax(CONVERGED * CONVERGED * sigma2, DBL_EPSILON * DBL_EPSILON * length)))
                slots.active[s] = false;
        }
    }
    slots_finish(&slots, job);
}

/* ---- Polynomial ---- */

/* out (SLOTS x m) = rows . z_i for the active ones of SLOTS rows. */
static void products_with_points(const struct slots *slots, const double *rows, double *out)
{
    const mercer_model *model = slots->job->model;
    int64_t d = model->columns, m = model->points;
    for (int s = 0; model->z_csr.start && s < SLOTS; s++)
        for (int64_t i = 0; slots->active[s] && i < m; i++)
            out[s * m + i] = mrc_sparse_dot(mrc_sparse_row_of(&model->z_points, i), rows + s * d);
    for (int64_t z0 = 0; slots->job->z && z0 < m; z0 += TILE)
        mrc_gemm(false, true, SLOTS, least(TILE, m - z0), d, 1.0, rows, d, slots->job->z + z0 * d,
                 d, 0.0, out + z0, m);
}

/* sum = sum_i w_i z_i with w_i = g_i (a u_i + c_s)^exponent; total = sum_i w_i. */
static void weighted_points(struct slots *slots, double a, const double c[SLOTS], int64_t exponent,
                            double total[SLOTS])
{
    const struct job *job = slots->job;
    const mercer_model *model = job->model;
    int64_t d = model->columns, m = model->points;
    memset(slots->sum, 0, (size_t)(SLOTS * d) * sizeof(double));
    memset(total, 0, SLOTS * sizeof *total);
    for (int64_t z0 = 0; z0 < m; z0 += TILE) {
        int64_t nz = least(TILE, m - z0);
        for (int s = 0; s < SLOTS; s++) {
            double *w = slots->tile + s * TILE;
            const double *u = slots->u + s * m + z0;
            const double *gamma = slots->active[s] ? job->gamma + slots->row[s] * m + z0 : NULL;
            for (int64_t i = 0; i < nz; i++) {
                w[i] = gamma ? gamma[i] * integer_power(a * u[i] + c[s], exponent) : 0.0;
                total[s] += w[i];
            }
        }
        add_points(slots, job->z, z0, nz);
    }
}

/* f - |P|^2 at x + t step, from the products with the points alone. Sets the noise it has. */
static double polynomial_value(struct slots *slots, int s, double t)
{
    const mercer_model *model = slots->job->model;
    const mrc_kernel *k = &model->kernel;
    int64_t d = model->columns, m = model->points;
    const double *gamma = slots->job->gamma + slots->row[s] * m;
    const double *u = slots->u + s * m, *v = slots->v + s * m;
    const double *x = slots->x + s * d, *step = slots->step + s * d;
    double inner = 0, norm2 = 0, size = 0;
    for (int64_t i = 0; i < m; i++) {
        double product = t == 0 ? u[i] : u[i] + t * v[i];
        double term = gamma[i] * integer_power(k->gamma * product + k->coef0, k->degree);
        inner += term;
        size += fabs(term);
    }
    for (int64_t j = 0; j < d; j++) {
        double next = t == 0 ? x[j] : x[j] + t * step[j];
        norm2 += next * next;
    }
    double self = integer_power(k->gamma * norm2 + k->coef0, k->degree);
    slots->noise[s] = NOISE * (self + size);
    return self - 2 * inner;
}

/* Gauss-Newton steps of all active iterates; those that have arrived become inactive. */
static void polynomial_steps(struct slots *slots)
{
    const mrc_kernel *k = &slots->job->model->kernel;
    int64_t d = slots->job->model->columns;
    double c[SLOTS], total[SLOTS];
    for (int s = 0; s < SLOTS; s++)
        c[s] = k->coef0;
    weighted_points(slots, k->gamma, c, k->degree - 1, total);
    for (int s = 0; s < SLOTS; s++) {
        const double *x = slots->x + s * d;
        double *step = slots->step + s * d;
        double norm2 = mrc_dot(x, x, d), base = k->gamma * norm2 + k->coef0;
        double scale = integer_power(base, k->degree - 1);
        memset(step, 0, (size_t)d * sizeof(double));
        if (!slots->active[s])
            continue;
        if (!(scale > 0) || !(base > 0)) { /* the origin of a homogeneous kernel: no gradient */
            slots->active[s] = false;
            continue;
        }
        for (int64_t j = 0; j < d; j++)
            step[j] = slots->sum[s * d + j] / scale - x[j];
        /* (I + q x x')^-1 of the Gauss-Newton matrix, which curbs changes of length. */
        double q = (double)(k->degree - 1) * k->gamma / base;
        double along = mrc_dot(x, step, d) * q / (1 + q * norm2);
        for (int64_t j = 0; j < d; j++)
            step[j] -= along * x[j];
        if (!(mrc_dot(step, step, d) > CONVERGED * CONVERGED * norm2))
            slots->active[s] = false;
    }
}

static void descend(struct slots *slots)
{
    int64_t d = slots->job->model->columns, m = slots->job->model->points;
    products_with_points(slots, slots->x, slots->u);
    for (int s = 0; s < SLOTS; s++)
        if (slots->active[s])
            keep_best(slots, s, polynomial_value(slots, s, 0));
    for (int iteration = 0; iteration < ITERATIONS && any_active(slots); iteration++) {
        polynomial_steps(slots);
        products_with_points(slots, slots->step, slots->v);
        for (int s = 0; s < SLOTS; s++) {
            double t = 2, f = INFINITY;
            bool fell = false;
            if (!slots->active[s])
                continue;
            for (int h = 0; h < HALVINGS && !fell; h++) {
                t *= 0.5;
                f = polynomial_value(slots, s, t);
                /* A whole step within rounding is taken, too: x is found when steps vanish. */
                fell = f < slots->best[s] || (h == 0 && f <= slots->best[s] + slots->noise[s]);
            }
            if (!fell) {
                slots->active[s] = false;
                continue;
            }
            for (int64_t j = 0; j < d; j++)
                slots->x[s * d + j] += t * slots->step[s * d + j];
            for (int64_t i = 0; i < m; i++)
                slots->u[s * m + i] += t * slots->v[s * m + i];
            keep_best(slots, s, f);
        }
    }
}

/* Degree 2: P is the quadratic form M = sum g_i z~_i z~_i' with z~ = (sqrt(a) z, sqrt(c)), and the
 * image of x is the square of x~. The leading eigenpair of M, by power steps on M + shift I, gives
 * the start of the last slot of each row. */
static void eigenvector_starts(struct slots *slots)
{
    const mrc_kernel *k = &slots->job->model->kernel;
    int64_t d = slots->job->model->columns;
    double root = sqrt(k->gamma), last[SLOTS] = {0}, c[SLOTS], total[SLOTS];
    double value[SLOTS] = {0}, shift[SLOTS] = {0}, largest[SLOTS] = {0};

    memcpy(slots->step, slots->x, (size_t)(SLOTS * d) * sizeof(double)); /* the starts wait here */
    for (int s = STARTS - 1; s < SLOTS; s += STARTS) {
        /* From the best training point of the row. */
        memcpy(slots->x + s * d, slots->step + (s - STARTS + 1) * d, (size_t)d * sizeof(double));
        for (int64_t j = 0; j < d; j++)
            slots->x[s * d + j] *= root;
        last[s] = sqrt(k->coef0);
    }
    for (int s = 0; s < SLOTS; s++)
        slots->active[s] = slots->row[s] >= 0 && s % STARTS == STARTS - 1;
    for (int step = 0; step < 2 * POWER_STEPS; step++) {
        for (int s = 0; s < SLOTS; s++) {
            double *x = slots->x + s * d;
            double length = sqrt(mrc_dot(x, x, d) + last[s] * last[s]);
            for (int64_t j = 0; length > 0 && j < d; j++)
                x[j] /= length;
            last[s] /= length > 0 ? length : 1;
            c[s] = sqrt(k->coef0) * last[s];
            largest[s] = fmax(largest[s], step ? length - shift[s] : 0);
            /* Half the norm makes the largest eigenvalue dominate, negative ones or not. */
            if (step == POWER_STEPS)
                shift[s] = 0.5 * largest[s];
        }
        products_with_points(slots, slots->x, slots->u);
        weighted_points(slots, root, c, 1, total);
        for (int s = STARTS - 1; s < SLOTS; s += STARTS) {
            double *x = slots->x + s * d, next_last = sqrt(k->coef0) * total[s];
            value[s] = root * mrc_dot(x, slots->sum + s * d, d) + last[s] * next_last;
            for (int64_t j = 0; j < d; j++)
                x[j] = root * slots->sum[s * d + j] + shift[s] * x[j];
            last[s] = next_last + shift[s] * last[s];
        }
    }
    for (int s = STARTS - 1; s < SLOTS; s += STARTS) {
        double *x = slots->x + s * d;
        double length = sqrt(mrc_dot(x, x, d) + last[s] * last[s]);
        double sign = k->coef0 > 0 ? last[s] : mrc_dot(x, slots->step + (s - STARTS + 1) * d, d);
        slots->active[s] = slots->row[s] >= 0 && value[s] > 0 && length > 0;
        double factor = slots->active[s] ? copysign(sqrt(value[s]) / (length * root), sign) : 0;
        for (int64_t j = 0; j < d; j++)
            x[j] *= factor;
    }
    for (int s = 0; s < SLOTS; s++)
        if (s % STARTS != STARTS - 1) {
            slots->active[s] = slots->row[s] >= 0;
            memcpy(slots->x + s * d, slots->step + s * d, (size_t)d * sizeof(double));
        }
}

static void polynomial_task(void *arg, int64_t task, int worker)
{
    struct job *job = arg;
    struct slots slots;
    slots_init(&slots, job, task, worker);
    if (job->model->kernel.degree == 2) {
        /* With fewer points than starts the last slot is free, but belongs to the row all the
         * same. */
        for (int s = STARTS - 1; s < SLOTS; s += STARTS)
            slots.row[s] = slots.row[s - STARTS + 1];
        eigenvector_starts(&slots);
    }
    descend(&slots);
    slots_finish(&slots, job);
}

/* ---- Linear ---- */

/* One block of columns of x = sum_i g_i z_i, or of x = center + W y. */
static void linear_block(void *arg, int64_t task, int worker)
{
    struct job *job = arg;
    const mercer_model *model = job->model;
    int64_t d = model->columns, m = model->points, l = model->components;
    int64_t c0 = task * TILE, nc = least(TILE, d - c0);
    (void)worker;
    for (int64_t i = 0; i < job->batch; i++)
        for (int64_t j = 0; j < nc; j++)
            job->x[i * d + c0 + j] = model->input_center ? model->input_center[c0 + j] : 0.0;
    for (int64_t p = 0; p < job->batch; p += PANEL) {
        double *x = job->x + p * d + c0;
        if (m == 0)
            mrc_gemm(false, true, PANEL, nc, l, 1.0, job->y + p * l, l, model->weights + c0 * l, l,
                     1.0, x, d);
        for (int64_t z0 = 0; z0 < m; z0 += TILE)
            mrc_gemm(false, false, PANEL, nc, least(TILE, m - z0), 1.0, job->gamma + p * m + z0, m,
                     job->z + z0 * d + c0, d, 1.0, x, d);
    }
}

/* One row of x = sum_i g_i z_i over sparse points. */
static void linear_row(void *arg, int64_t row, int worker)
{
    struct job *job = arg;
    int64_t d = job->model->columns, m = job->model->points;
    (void)worker;
    memset(job->x + row * d, 0, (size_t)d * sizeof(double));
    add_sparse(job->model, 0, m, job->gamma + row * m, job->x + row * d);
}

/* ---- The whole ---- */

static mercer_status check_inverse(const mercer_model *model, const double *features, int64_t n,
                                   mercer_error *err)
{
    const mrc_kernel *kernel = &model->kernel;
    if (!model->orthonormal)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                        "pre-images need an orthonormal basis, which '%s' does not give",
                        model->method);
    if (kernel->kind != MRC_KERNEL_linear && kernel->kind != MRC_KERNEL_rbf &&
        kernel->kind != MRC_KERNEL_poly)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                        "pre-images: not for kernel '%s' (linear, poly and rbf have them)",
                        mrc_kernel_def_of(kernel->kind)->entry.name);
    if (kernel->kind == MRC_KERNEL_poly && kernel->coef0 < 0)
        return mrc_fail(err, MERCER_ERR_UNSUPPORTED,
                        "pre-images: kernel 'poly' with coef0 below 0 spans no feature space");
    for (int64_t i = 0; i < n * model->components; i++)
        if (!isfinite(features[i]))
            return mrc_fail(err, MERCER_ERR_DATA, "row %lld: feature %lld is not finite",
                            (long long)(i / model->components + 1),
                            (long long)(i % model->components + 1));
    return MERCER_OK;
}

/* Features of the batch as coefficients of the w_j. */
static void load_batch(struct job *job, const double *features)
{
    const mercer_model *model = job->model;
    int64_t l = model->components;
    memset(job->y, 0, (size_t)(job->batch * l) * sizeof(double));
    for (int64_t i = 0; i < job->count; i++)
        for (int64_t j = 0; j < l; j++) {
            /* Without a mean the offsets are no part of the projection. */
            double offset = model->mean ? 0.0 : model->offsets[j];
            job->y[i * l + j] = features[(job->first + i) * l + j] - offset;
        }
}

static mercer_status run_batch(struct job *job, mercer_error *err)
{
    const mercer_model *model = job->model;
    int64_t m = model->points, tasks = (job->count + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
    mercer_status rc = MERCER_OK;

    MRC_TRY(mrc_check_cancel(job->ctx, err));
    mrc_parfor(job->ctx, (m + TILE - 1) / TILE, expand_tile, job);
    if (model->kernel.kind == MRC_KERNEL_linear) { /* x is P itself: the errors stay zero */
        if (model->z_csr.start)
            mrc_parfor(job->ctx, job->count, linear_row, job);
        else
            mrc_parfor(job->ctx, (model->columns + TILE - 1) / TILE, linear_block, job);
    } else {
        mrc_parfor(job->ctx, (m + BLOCK - 1) / BLOCK, search_block, job);
        MRC_TRY(mrc_check_cancel(job->ctx, err));
        mrc_parfor(job->ctx, tasks,
                   model->kernel.kind == MRC_KERNEL_rbf ? gaussian_task : polynomial_task, job);
    }
    if (job->out_of_memory)
        MRC_FAIL(err, MERCER_ERR_MEMORY, "out of memory (pre-images)");
    MRC_TRY(mrc_check_cancel(job->ctx, err));
    mrc_scale_undo(&model->scale, job->x, job->count, model->columns);
out:
    return rc;
}

static mercer_status center_points(struct job *job, mercer_error *err)
{
    const mercer_model *model = job->model;
    int64_t m = model->points, d = model->columns;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&job->center, d, sizeof(double), err));
    if (!job->z)
        goto out;
    MRC_TRY(mrc_alloc2_raw(&job->centred, m, d, sizeof(double), err));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++)
            job->center[j] += job->z[i * d + j] / (double)m;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++)
            job->centred[i * d + j] = job->z[i * d + j] - job->center[j];
out:
    return rc;
}

/* The points as doubles. */
static mercer_status open_points(struct job *job, mercer_error *err)
{
    const mercer_model *model = job->model;
    mercer_status rc = MERCER_OK;
    job->z = model->z;
    job->points = &model->z_points;
    if (!model->z_packed)
        goto out;
    MRC_TRY(mrc_rows_widen(model->z_rows, &job->wide, err));
    MRC_TRY(mrc_points_init(&job->wide_points, job->ctx, &model->kernel, job->wide, NULL, err));
    job->z = job->wide->x;
    job->points = &job->wide_points;
out:
    return rc;
}

static mercer_status job_init(struct job *job, int64_t n, mercer_error *err)
{
    const mercer_model *model = job->model;
    int64_t m = model->points, panels = (n + PANEL - 1) / PANEL;
    mercer_status rc = MERCER_OK;

    panels = least(panels, MOST_PANELS);
    while (panels > 1 && panels * PANEL * m > PANEL_DOUBLES)
        panels--;
    job->batch = panels * PANEL;
    MRC_TRY(open_points(job, err));
    MRC_TRY(mrc_alloc2(&job->y, job->batch, model->components, sizeof(double), err));
    MRC_TRY(mrc_alloc2(&job->x, job->batch, model->columns, sizeof(double), err));
    MRC_TRY(mrc_alloc(&job->value, job->batch, sizeof(double), err));
    MRC_TRY(mrc_alloc2_raw(&job->gamma, job->batch, m, sizeof(double), err));
    if (model->kernel.kind == MRC_KERNEL_linear)
        goto out;
    MRC_TRY(mrc_alloc2_raw(&job->dots, job->batch, m, sizeof(double), err));
    MRC_TRY(mrc_alloc(&job->diag, m, sizeof(double), err));
    if (model->kernel.kind == MRC_KERNEL_rbf)
        MRC_TRY(center_points(job, err));
    job->scratch_size = slots_size(model);
    MRC_TRY(
        mrc_alloc2_raw(&job->scratch, job->ctx->threads, job->scratch_size, sizeof(double), err));
out:
    return rc;
}

static void job_destroy(struct job *job)
{
    mrc_points_destroy(&job->wide_points);
    mercer_rows_free(job->wide);
    mrc_free(job->y);
    mrc_free(job->x);
    mrc_free(job->value);
    mrc_free(job->gamma);
    mrc_free(job->dots);
    mrc_free(job->diag);
    mrc_free(job->center);
    mrc_free(job->centred);
    mrc_free(job->scratch);
}

mercer_status mercer_model_inverse(mercer_ctx *ctx, const mercer_model *model,
                                   const double *features, int64_t n, double *out, double *errors,
                                   mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(model);
    MRC_NEED(features);
    MRC_NEED(out);
    struct job job = {.ctx = ctx, .model = model};
    int64_t d = model->columns;
    mercer_status rc = MERCER_OK;

    MRC_TRY(check_inverse(model, features, n, err));
    if (n == 0)
        goto out;
    if (model->scale.kind == MRC_SCALE_UNIT || model->scale.kind == MRC_SCALE_ROWSTANDARD)
        mrc_notice(ctx, "the row scaling '%s' cannot be undone: pre-images are in scaled units",
                   mrc_scale_name(model->scale.kind));
    MRC_TRY(job_init(&job, n, err));
    for (job.first = 0; job.first < n; job.first += job.count) {
        job.count = least(job.batch, n - job.first);
        mrc_progress(ctx, "inverse", (double)job.first / (double)n);
        load_batch(&job, features);
        MRC_TRY(run_batch(&job, err));
        memcpy(out + job.first * d, job.x, (size_t)(job.count * d) * sizeof(double));
        if (errors)
            memcpy(errors + job.first, job.value, (size_t)job.count * sizeof(double));
    }
    mrc_progress(ctx, "inverse", 1.0);
out:
    job_destroy(&job);
    return rc;
}
