/* SPDX-License-Identifier: BSD-3-Clause */
/* Points that represent a stream: rows that span, once mapped, what has been learnt, and an
 * orthonormal frame of that span.
 *
 * Point i has the coordinates L_i in the frame, L lower triangular and L L' the kernel matrix of
 * the points. A row x then has the coordinates L^-1 k(points, x): everything else is linear algebra
 * with coordinates, and a block of c rows costs m c + c^2 kernel values: of more than 64 rows
 * little more than half of the square. */
#ifndef MRC_METHODS_STREAMING_LIBRARY_H
#define MRC_METHODS_STREAMING_LIBRARY_H

#include "kernel/kernel.h"

typedef struct mrc_library {
    const mrc_kernel *kernel; /* borrowed */
    mercer_rows *rows;        /* the points, scaled; NULL while there are none */
    int64_t count;            /* m */
    double *factor;           /* L, m x m */
    double largest;           /* k(x,x) of any row so far */
    int64_t evaluations;      /* kernel values computed since it was made or copied */
} mrc_library;

mercer_status mrc_library_copy(mrc_library *out, const mrc_library *lib, mercer_error *err);
void mrc_library_destroy(mrc_library *lib);

/* Coordinates of rows, which become n x m values from mrc_alloc; diag, unless NULL, receives n
 * values k(x,x). */
mercer_status mrc_library_project(mrc_library *lib, mercer_ctx *ctx, const mercer_rows *rows,
                                  double **coordinates, double *diag, mercer_error *err);
/* The same after taking in as points the rows that the others do not span: largest residual first,
 * until none is longer than tolerance times the root of the largest k(x,x). What is left of the
 * others is dropped. Coordinates along points that stood out of those before by little carry the
 * rounding of kernel values over that little; when rows stand out there by more, the frame is a bad
 * one for them. Unless turn is NULL, points and frame are then chosen anew from points and rows
 * together, and *turn receives m x (new m) values from mrc_alloc that take the coordinates x of a
 * vector to x' turn; else it stays NULL. */
mercer_status mrc_library_take_in(mrc_library *lib, mercer_ctx *ctx, const mercer_rows *rows,
                                  double tolerance, double **coordinates, double *diag,
                                  double **turn, mercer_error *err);
/* Coordinates of rows (n x m) from those in the frame of the first `known` points (n x known). */
mercer_status mrc_library_extend(mrc_library *lib, mercer_ctx *ctx, const mercer_rows *rows,
                                 int64_t known, double **coordinates, mercer_error *err);

/* A smaller frame in the span of some of the points. */
typedef struct mrc_subframe {
    int64_t count;
    int64_t *chosen;    /* the points, in order */
    double *directions; /* count x m: the frame's, in coordinates of the old one */
    double *factor;     /* count x count: the chosen points in it, lower triangular */
} mrc_subframe;

/* Choose up to `most` points greedily: each the one with whose direction the span captures most of
 * the squared lengths of `targets` (m x k, in coordinates), among those that stand out of the span
 * by more than tolerance. */
mercer_status mrc_library_choose(const mrc_library *lib, mercer_ctx *ctx, const double *targets,
                                 int64_t k, int64_t most, double tolerance, mrc_subframe *out,
                                 mercer_error *err);
void mrc_subframe_destroy(mrc_subframe *frame);
/* Keep the chosen points alone; the factor is handed over. */
mercer_status mrc_library_keep(mrc_library *lib, mrc_subframe *frame, mercer_error *err);
/* Replace *x, k vectors in coordinates of the old frame (the columns of m x k numbers), by their
 * projections in those of the new one. */
mercer_status mrc_subframe_project(const mrc_subframe *frame, mercer_ctx *ctx, int64_t m,
                                   double **x, int64_t k, mercer_error *err);
/* The same for vectors that are the rows of n x m numbers. */
mercer_status mrc_subframe_project_rows(const mrc_subframe *frame, mercer_ctx *ctx, int64_t m,
                                        double **x, int64_t n, mercer_error *err);

/* Drop points until no more than `most` are left: those that stand out of the ones before them by
 * no more than tolerance, then again and again the one without which the span captures least less
 * of the squared lengths of targets (m x k, in coordinates). The others keep their order. targets
 * become their projections in the new frame, and so do rows, n vectors that are the rows of n x m
 * numbers; their arrays stay where they are, with room behind. After an error library and vectors
 * are half done. Cheaper than choosing anew where fewer points go than stay. */
mercer_status mrc_library_drop(mrc_library *lib, mercer_ctx *ctx, int64_t most, double tolerance,
                               double *targets, int64_t k, double *rows, int64_t n,
                               mercer_error *err);

/* Largest |L L' - K| over the largest k(x,x): what rounding has done to the factor. */
mercer_status mrc_library_drift(mrc_library *lib, mercer_ctx *ctx, double *out, mercer_error *err);

#endif
