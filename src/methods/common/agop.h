/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of a fit, learnt from targets before its method runs: see agop.c. */
#ifndef MRC_METHODS_COMMON_AGOP_H
#define MRC_METHODS_COMMON_AGOP_H

#include "model/model.h"

typedef enum mrc_map_form { MRC_MAP_AUTO, MRC_MAP_FULL, MRC_MAP_DIAGONAL } mrc_map_form;

typedef enum mrc_map_choice { MRC_MAP_BY_FOLDS, MRC_MAP_AS_TOLD } mrc_map_choice;

typedef struct mrc_map_params {
    int64_t steps; /* at most; 0: no map is wanted */
    int form;      /* mrc_map_form */
    double ridge;
    int64_t rows; /* to learn from, at most */
    int choose;   /* mrc_map_choice */
} mrc_map_params;

/* NULL and "none" give no steps. */
mercer_status mrc_map_parse(const char *spec, mrc_map_params *out, mercer_error *err);
/* MERCER_ERR_ARGUMENT when the kernel has no gradients; names those that do. */
mercer_status mrc_map_check_kernel(const mrc_kernel *kernel, mercer_error *err);
/* Learn a map from rows, as scaled, and targets into map, map_weights, map_columns and map_text of
 * the model; or say in a notice why there is none. What the kernel leaves open is learnt for each
 * map anew; the random state of ctx is left as it was. groups: one number per row, from 0 to
 * rows - 1, rows of one number are in one fold; or NULL. */
mercer_status mrc_map_learn(mercer_ctx *ctx, const mrc_map_params *params, const mrc_kernel *kernel,
                            const mercer_rows *rows, const mercer_targets *targets,
                            const int64_t *groups, mercer_model *model, mercer_error *err);

/* One step, for the tests: from a map (diagonal, with weights 1, to begin with) of these rows to
 * the next. targets: n x outputs. *matrix (d x *width) and weights (d); diagonal: *matrix is NULL.
 * *width is 0 when there is no next map: nothing changes along any column. */
mercer_status mrc_agop_step(mercer_ctx *ctx, const mrc_kernel *kernel, double ridge, bool diagonal,
                            const mercer_rows *rows, const double *targets, int64_t outputs,
                            double **matrix, int64_t *width, double *weights, mercer_error *err);

#endif
