/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-images: which kernels have them, and what those share. See preimage.c for the formulas. */
#ifndef MRC_MODEL_PREIMAGE_H
#define MRC_MODEL_PREIMAGE_H

#include "model/model.h"

#include <float.h>
#include <stdatomic.h>

enum {
    MRC_SLOTS_STARTS = 5, /* per row. More find a better optimum now and then; cost in proportion */
    MRC_SLOTS_ROWS = 3,   /* STARTS x ROWS iterates move together in one product */
    MRC_SLOTS = 16,       /* of that height: a multiple of what BLAS handles in one go */
    MRC_PREIMAGE_PANEL = 64, /* feature rows per product */
    MRC_PREIMAGE_TILE = 256, /* points (or columns) per product */
    MRC_PREIMAGE_ITERATIONS = 500,
    MRC_DIRECTION_STEPS = 60 /* more find better points along a direction, slowly */
};
#define MRC_PREIMAGE_CONVERGED 1e-10          /* change of x relative to its length, or to sigma */
#define MRC_PREIMAGE_NOISE (64 * DBL_EPSILON) /* of sums, relative to the size of their terms */

typedef struct mrc_preimage mrc_preimage;

struct mrc_preimage_job {
    mercer_ctx *ctx;
    const mercer_model *model;
    const mrc_preimage *preimage;
    int64_t batch;            /* rows of the buffers: whole panels */
    int64_t first, count;     /* rows of features in this batch */
    const double *z;          /* m x d: the points, NULL when they are sparse, */
    const mrc_points *points; /* and as the kernel wants them */
    mercer_rows
        *wide; /* behind both when the model's are packed: every step goes through them all */
    mrc_points wide_points;
    double *y;        /* batch x l, padded by zeroes: coefficients of the w_j */
    double *gamma;    /* batch x m */
    double *dots;     /* batch x m: <P, phi(z_i)> */
    double *diag;     /* m: k(z_i, z_i) */
    double *center;   /* d, Gaussian only: the mean of the points; zero when they are sparse */
    double *centered; /* m x d, Gaussian only: z_i - center, which sum without losing digits;
                        NULL when they are sparse, which this would fill */
    double *x;        /* batch x d: results */
    double *value;    /* batch: f(x) */
    double *scratch;  /* per worker */
    int64_t scratch_size;
    _Atomic bool out_of_memory;
};

/* A vector of feature space, sum_i weights_i phi(x_i). */
typedef struct mrc_direction {
    const mrc_kernel_part *kernel;
    const double *x;       /* m x d */
    const double *weights; /* m */
    int64_t m, d;
    double largest;      /* k(x, x) of a row */
    int64_t evaluations; /* of the kernel: those made are added */
} mrc_direction;

/* How x is found for one kernel, either exactly, by solve, or by iterations from the points with
 * the smallest f. A file preimage_<kernel>.c defines mrc_preimage_<kernel>; preimages.def lists it.
 */
struct mrc_preimage {
    /* Why there are none with these parameters; NULL: there are. The member may be NULL, too. */
    const char *(*refusal)(const mrc_kernel_part *kernel);
    /* job->x from job->gamma (or y, for a model without points); NULL: by iterations. */
    mercer_status (*solve)(struct mrc_preimage_job *job, mercer_error *err);
    /* Once before all iterations, and doubles beside the slots that they need; or NULL. */
    mercer_status (*prepare)(struct mrc_preimage_job *job, mercer_error *err);
    int64_t (*extra)(const mercer_model *model);
    /* A task of mrc_parfor over MRC_SLOTS_ROWS rows each; arg is the job. */
    void (*iterate)(void *arg, int64_t task, int worker);
    /* One kernel value, by libm. */
    double (*pair)(const mrc_kernel_part *kernel, const double *x, const double *y, int64_t d);
    /* Move y (d + 1 doubles, the first d a row) to the row whose image lies most along a. next: as
     * many, for scratch. False: there is none. NULL: the kernel is exact, which leaves nothing to
     * search for. */
    bool (*along)(mrc_direction *a, double *y, double *next);
};

/* What is known of a kernel; NULL: it has no pre-images. */
const mrc_preimage *mrc_preimage_of(const mrc_kernel *kernel);
/* See mercer_model_info.invertible. */
bool mrc_model_is_invertible(const mercer_model *model);

/* x (d) += sum_i w_i z_i over sparse points [z0, z0 + nz). */
void mrc_preimage_add_sparse(const mrc_points *points, int64_t z0, int64_t nz, const double *w,
                             double *x);

/* Points, or columns, of the tile that begins at the first. */
static inline int64_t mrc_tile_length(int64_t count, int64_t first)
{
    return count - first < MRC_PREIMAGE_TILE ? count - first : MRC_PREIMAGE_TILE;
}

/* Iterates that move together, MRC_SLOTS_STARTS for each row. */
struct mrc_slots {
    const struct mrc_preimage_job *job;
    int64_t row[MRC_SLOTS];  /* of the batch, or -1: not in use */
    bool active[MRC_SLOTS];  /* moves; the sums of the others are not wanted */
    double best[MRC_SLOTS];  /* smallest f(x) - |P|^2 seen */
    double noise[MRC_SLOTS]; /* rounding errors of such values */
    double *x;               /* MRC_SLOTS x d: the iterates */
    double *best_x;          /* MRC_SLOTS x d */
    double *sum;             /* MRC_SLOTS x d: weighted sums of points */
    double *tile;            /* MRC_SLOTS x MRC_PREIMAGE_TILE */
    double *extra;           /* what mrc_preimage.extra asked for, not zeroed */
};

void mrc_slots_init(struct mrc_slots *slots, struct mrc_preimage_job *job, int64_t task,
                    int worker);
/* sum (MRC_SLOTS x d) += tile times points [z0, z0 + nz), which are the z_i or, when dense, others
 * as many. */
void mrc_slots_add_points(struct mrc_slots *slots, const double *points, int64_t z0, int64_t nz);
void mrc_slots_keep_best(struct mrc_slots *slots, int s, double f);
bool mrc_slots_any_active(const struct mrc_slots *slots);
void mrc_slots_finish(const struct mrc_slots *slots, struct mrc_preimage_job *job);

#endif
