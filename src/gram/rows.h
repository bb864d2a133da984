/* SPDX-License-Identifier: BSD-3-Clause */
/* What the choice of a store knows of the one that goes through dense rows (rows.c). */
#ifndef MRC_GRAM_ROWS_H
#define MRC_GRAM_ROWS_H

#include "gram/store.h"

/* Doubles of scratch that its products take, with l vectors of n values, for rows of d columns. */
int64_t mrc_rows_store_doubles(int64_t n, int64_t d, int64_t l);
/* Flops, at the rate of matrix products, that such a product is worth: reading its rows twice is
 * what most of its time goes to. */
double mrc_rows_store_flops(int64_t n, int64_t d, int64_t l);
/* Whether the squares of all values take no more than the products of the request: n d flops for
 * each of the fewer of rows and columns. With fewer columns they take a matrix of d x d. */
bool mrc_rows_store_squares_pay(int64_t n, int64_t d, const mrc_gram_request *request);

#endif
