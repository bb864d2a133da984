/* SPDX-License-Identifier: BSD-3-Clause */
/* What the stores made of tiles share (tiled.c): dense, stream and precomputed. */
#ifndef MRC_GRAM_TILED_H
#define MRC_GRAM_TILED_H

#include "gram/store.h"

/* Scratch of a worker. */
typedef struct mrc_tile_space {
    double tile[MRC_TILE * MRC_TILE];
    double *windows;   /* two of MRC_TILE packed points each, behind gathered */
    double *columns;   /* where tiles are made of products: MRC_TILE rows by mrc_pack_rows(), */
    int64_t column;    /* those of this column of tiles; -1: none yet */
    double *single;    /* where they are tried in single precision first: see kernel/single.h; */
    int64_t first;     /* the first row that is held there, -1: none yet */
    double gathered[]; /* MRC_GATHER x mrc_points_gather_size(), for a source that gathers */
} mrc_tile_space;

typedef struct mrc_tiled mrc_tiled;

/* Where tiles come from. Both are single-threaded, for use inside parfor. */
typedef struct mrc_tile_source {
    /* Tile (I, J), I >= J; *stride is its row stride. Stored values, or the worker's own tile. */
    const double *(*tile)(const mrc_tiled *t, int64_t i, int64_t j, int worker, int64_t *stride);
    /* K[J, first .. first + count), at most MRC_GATHER rows J and MRC_TILE columns, into out
     * (stride ldo), which may be the worker's own tile. */
    void (*block)(const mrc_tiled *t, const int64_t *rows, int64_t nrows, int64_t first,
                  int64_t count, int worker, double *out, int64_t ldo);
    /* Tile (I, J), row stride MRC_TILE, where it is held in single precision, else NULL. The
     * operation may be NULL, too. */
    const float *(*single)(const mrc_tiled *t, int64_t i, int64_t j);
    bool gathers; /* block needs copies of the points J */
} mrc_tile_source;

struct mrc_tiled {
    const mrc_gram *gram;
    const mrc_tile_source *source;
    int64_t tiles;          /* per side */
    double scale;           /* what values are multiplied with as they are computed or read */
    mrc_tile_space **space; /* per worker */
};

/* A store of `size` bytes that starts with an mrc_tiled. */
mercer_status mrc_tiled_new(const mrc_gram *g, const mrc_tile_source *source, size_t size,
                            void **self, mercer_error *err);
/* Operations of such a store. */
mercer_status mrc_tiled_apply(void *self, mrc_pick j, const double *v, int64_t l, double *out,
                              mercer_error *err);
mercer_status mrc_tiled_columns(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                mercer_error *err);
mercer_status mrc_tiled_row_norms2(void *self, mrc_pick j, const mrc_shift *shift, double *out,
                                   mercer_error *err);
void mrc_tiled_scale(void *self, double factor); /* of stores that keep no values */
void mrc_tiled_destroy(void *self);

/* Rows of a tile in row `index` of tiles. */
static inline int64_t mrc_tile_rows(const mrc_tiled *t, int64_t index)
{
    int64_t left = t->gram->n - index * MRC_TILE;
    return left < MRC_TILE ? left : MRC_TILE;
}

/* Compute tile (I, J), I >= J, into values (stride MRC_TILE). The diagonal is exact and a tile on
 * the diagonal is symmetric to the last bit. */
void mrc_tiled_compute(const mrc_tiled *t, int64_t i, int64_t j, int worker, double *values);

/* Scratch that a tiled store of this operator takes, all workers together. */
int64_t mrc_tiled_scratch_bytes(const mrc_gram *g);
/* What the dense store holds. */
int64_t mrc_dense_bytes(int64_t n, bool single);

#endif
