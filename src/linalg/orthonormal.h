/* SPDX-License-Identifier: BSD-3-Clause */
/* Gram-Schmidt, one vector after the other, for rows and for columns of a matrix. */
#ifndef MRC_LINALG_ORTHONORMAL_H
#define MRC_LINALG_ORTHONORMAL_H

#include <stdbool.h>
#include <stdint.h>

/* Make column j of u (m x r, row-major) orthogonal to those before it, which are orthonormal or
 * zero, and of length one. false: no more than `floor` of its length is left, so it depends on
 * them; it is then what was left, and of no use. */
bool mrc_orthonormalise_column(int64_t m, int64_t r, int64_t j, double floor, double *u);
/* The same for row j of w, whose rows have m numbers. */
bool mrc_orthonormalise_row(int64_t m, int64_t j, double floor, double *w);

/* All columns in turn, up to the first that depends on those before it: false. */
bool mrc_orthonormalise(int64_t m, int64_t r, double *u);

/* What mrc_orthonormalise() asks of a column. */
extern const double mrc_column_floor;

#endif
