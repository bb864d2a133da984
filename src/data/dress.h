/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that are not written plainly: with thousands separators, a percent sign, as a word. */
#ifndef MRC_DATA_DRESS_H
#define MRC_DATA_DRESS_H

#include "base/ctx.h"
#include "data/columns.h"

typedef struct mercer_prepare mercer_prepare;

/* A plain number with the decimal mark of the style; "nan" and "inf", too. */
bool mrc_parse_styled(const char *text, size_t length, const mrc_style *style, double *out);

/* A number that is not plain. */
typedef struct mrc_dressed {
    mrc_dress dress;
    double value;
    bool certain; /* of GROUPED: it cannot be a number with a decimal mark */
    int family;   /* which separator, or which pair of words: those of a column are the same */
} mrc_dressed;
bool mrc_undress(const char *text, size_t length, const mrc_style *style, mrc_dressed *out);

/* Days since 1970-01-01; format NULL: ISO 8601. date.c tells. */
bool mrc_parse_date(const char *text, size_t length, const char *format, double *out);
/* Whether a format has known fields, a year among them, and no plain number can be such a date. */
bool mrc_date_format_is_good(const char *format);

/* "plain", "grouped", "percent", "boolean", "date", and back; false for another word. */
const char *mrc_dress_name(mrc_dress dress);
bool mrc_dress_find(const char *name, mrc_dress *out);

/* Learn from n rows how the numbers of each column are written, x (n x file->data) and values (n x
 * file->targets, or NULL), in which cells that are not plain are texts; these become numbers,
 * except in columns that are left to be encoded. */
mercer_status mrc_dress_learn(mercer_prepare *prepare, const mercer_ctx *ctx, const char *shown,
                              mrc_columns *file, double *x, double *values, int64_t n,
                              mercer_error *err);

/* Whether a text has the form of a date that is not ISO 8601: 01.02.2024, 01/02/24, 2024/02/01, and
 * a time or something else behind it. format: by which the encoding of dates reads it, with the day
 * first where nothing says which number is the month; "" where there is none. */
enum { MRC_DATE_FORMAT = 20 };
bool mrc_looks_like_date(const char *text, size_t length, char format[MRC_DATE_FORMAT]);

#endif
