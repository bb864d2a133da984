/* SPDX-License-Identifier: BSD-3-Clause */
/* What is tuned: every combination of the values given for some keys. */
#ifndef MRC_EVAL_GRID_H
#define MRC_EVAL_GRID_H

#include "base/memory.h"

/* One combination: specs of method, kernel and head with its values, and its text for people,
 * "kernel.sigma=2,method.nu=0.1" (empty when nothing but components is tuned). */
typedef struct mrc_choice {
    char *method, *kernel, *head; /* NULL where the caller gave none */
    char *text;
} mrc_choice;

/* The values of one key, one after the other. */
typedef struct mrc_axis {
    char *key;
    char **values;
    int64_t count;
    char sign;   /* of a range: '+' or '*'; 0: a list */
    double step; /* of a range: what is added, or the factor */
} mrc_axis;

typedef struct mrc_grid {
    mrc_axis *axes; /* in the order of the texts, components last and increasing */
    int64_t axis_count;
    mrc_choice *choices;
    int64_t count;
    double *components; /* the numbers of components to try, increasing; or NULL: as given */
    int64_t components_count;
    bool heads; /* the last key is the head's: its choices follow each other */
} mrc_grid;

/* From texts KEY=VALUES: KEY is components, method.KEY, kernel.KEY or head.KEY; VALUES are a,b,c or
 * A:B:+STEP or A:B:*FACTOR; or KEY is kernel, and VALUES are kernels, rbf:sigma=1,poly:degree=2.
 * Choices are in the order of the texts, the last one changing fastest. Without texts there is one
 * choice, the specs as given. */
mercer_status mrc_grid_init(mrc_grid *grid, const char *method, const char *kernel,
                            const char *head, const char *const *texts, int64_t count,
                            mercer_error *err);
void mrc_grid_destroy(mrc_grid *grid);

/* Cells of the grid: a choice with each number of components, which change fastest. */
int64_t mrc_grid_numbers(const mrc_grid *grid);
int64_t mrc_grid_cells(const mrc_grid *grid);
/* Which value of an axis a cell has. */
int64_t mrc_grid_place(const mrc_grid *grid, int64_t axis, int64_t cell);
/* The value of a key in the kernel, method or head of a choice as a number; NaN: it has none. */
double mrc_spec_number(const char *spec, const char *key);

#endif
