/* SPDX-License-Identifier: BSD-3-Clause */
/* The linear map of a model, from scaled columns to those that the kernel sees: see map.c. */
#ifndef MRC_MODEL_MAP_H
#define MRC_MODEL_MAP_H

#include "model/model.h"

/* u = x L. */
typedef struct mrc_map {
    int64_t d, width;
    const double *matrix;  /* L, d x width; or NULL, */
    const double *weights; /* d >= 0: L is diagonal, with the roots of these; width is d */
} mrc_map;

/* That of a model that has one. */
mrc_map mrc_map_of(const mercer_model *model);
/* out (count x width) = u of rows x (count x d); out may be x where the map is diagonal. A row
 * gives the same bits whatever stands beside it. */
void mrc_map_apply(const mrc_map *map, mrc_simd simd, const double *x, int64_t count, double *out);
/* New rows u, sparse where the map is diagonal and the rows are; names are left out. */
mercer_status mrc_map_rows(mercer_ctx *ctx, const mrc_map *map, const mercer_rows *rows,
                           mercer_rows **out, mercer_error *err);
/* Why x does not follow from u, as the end of a message; NULL: it does. */
const char *mrc_map_refusal(const mrc_map *map);
/* x (count x d) from u in its place; MERCER_ERR_NUMERIC where the map is singular to rounding. */
mercer_status mrc_map_undo(mercer_ctx *ctx, const mrc_map *map, double *x, int64_t count,
                           mercer_error *err);

#endif
