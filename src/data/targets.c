/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets that do not come from a file: made from arrays, or scaled. */
#include "base/comm.h"
#include "base/number.h"
#include "data/columns.h"
#include "data/scale.h"

#include <math.h>
#include <string.h>

static mercer_status no_sense(int64_t n, int64_t columns, mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_ARGUMENT, "targets: %lld rows of %lld columns or classes",
                    (long long)n, (long long)columns);
}

mercer_status mercer_targets_new_classes(const int64_t *codes, int64_t n,
                                         const char *const *class_names, int64_t classes,
                                         const char *name, mercer_targets **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    mercer_targets *targets = NULL;
    mercer_status rc = MERCER_OK;
    if (!codes || !class_names || n < 1 || classes < 1)
        MRC_TRY(no_sense(n, classes, err));
    for (int64_t i = 0; i < n; i++)
        if (codes[i] < 0 || codes[i] >= classes)
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_AT(.row = i + 1),
                        "targets: row %lld is of class %lld, and there are %lld", (long long)i + 1,
                        (long long)codes[i], (long long)classes);
    for (int64_t c = 0; c < classes; c++)
        if (!class_names[c])
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "targets: class %lld has no name", (long long)c + 1);
    MRC_TRY(mrc_alloc(&targets, 1, sizeof *targets, err));
    targets->kind = MERCER_TARGET_CLASSES;
    targets->n = n;
    MRC_TRY(mrc_copy_names(&targets->class_names, (char *const *)class_names, classes, err));
    targets->classes = classes;
    if (name)
        MRC_TRY(mrc_copy_names(&targets->names, (char *const *)&name, 1, err));
    MRC_TRY(mrc_alloc2_raw(&targets->codes, n, 1, sizeof *codes, err));
    memcpy(targets->codes, codes, (size_t)n * sizeof *codes);
    *out = targets;
    targets = NULL;
out:
    mercer_targets_free(targets);
    return rc;
}

mercer_status mercer_targets_new_values(const double *values, int64_t n, int64_t columns,
                                        const char *const *names, mercer_targets **out,
                                        mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    mercer_targets *targets = NULL;
    mercer_status rc = MERCER_OK;
    if (!values || n < 1 || columns < 1)
        MRC_TRY(no_sense(n, columns, err));
    for (int64_t c = 0; names && c < columns; c++)
        if (!names[c])
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "targets: column %lld has no name",
                     (long long)c + 1);
    MRC_TRY(mrc_alloc(&targets, 1, sizeof *targets, err));
    targets->kind = MERCER_TARGET_VALUES;
    targets->n = n;
    targets->columns = columns;
    MRC_TRY(mrc_copy_names(&targets->names, (char *const *)names, columns, err));
    MRC_TRY(mrc_alloc2_raw(&targets->values, n, columns, sizeof *values, err));
    memcpy(targets->values, values, (size_t)(n * columns) * sizeof *values);
    int64_t bad = mrc_first_not_finite(values, n * columns);
    if (bad >= 0)
        MRC_FAIL_AT(err, MERCER_ERR_DATA,
                    MRC_AT(.row = bad / columns + 1, .column_number = bad % columns + 1),
                    "targets: row %lld, column %lld: the value is not finite",
                    (long long)(bad / columns) + 1, (long long)(bad % columns) + 1);
    *out = targets;
    targets = NULL;
out:
    mercer_targets_free(targets);
    return rc;
}

bool mrc_class_is_number(const char *name, bool *whole)
{
    *whole = true;
    for (const char *p = name;; p++) {
        size_t length = strcspn(p, ",");
        double value;
        if (!mrc_parse_double(p, length, &value) || !isfinite(value))
            return false;
        *whole &= value == floor(value);
        p += length;
        if (!*p)
            return true;
    }
}

mrc_class_kinds mrc_targets_class_kinds(const mercer_targets *targets)
{
    mrc_class_kinds kinds = {0};
    for (int64_t i = 0; i < targets->classes; i++) {
        const char *name = targets->class_names[i];
        bool whole, number = mrc_class_is_number(name, &whole);
        kinds.numbers += number;
        kinds.words += !number && !mrc_means_missing(name, strlen(name), false);
        kinds.fraction = number && !whole && !kinds.fraction ? name : kinds.fraction;
    }
    return kinds;
}

mercer_status mrc_class_kinds_judge(const mercer_ctx *ctx, const char *shown, const char *origin,
                                    bool from_list, const mrc_class_kinds *kinds, int64_t rows,
                                    mercer_error *err)
{
    /* There is no option for a file of values. */
    static const char *const how[] = {"give the column as target",
                                      "put them into the table as a column and give it as target"};
    char sample[MRC_SHOWN_SIZE];
    if (kinds->fraction && kinds->words == 0)
        return mrc_fail_at(
            err, MERCER_ERR_DATA, MRC_AT(.key = "target", .names_file = 1),
            "%s: %s are numbers, and not all are whole ('%s'): these are values, not "
            "classes; %s",
            shown, origin, mrc_show(sample, kinds->fraction, strlen(kinds->fraction)),
            how[from_list]);
    if (kinds->numbers > mrc_usual_classes(rows))
        mrc_notice_at(ctx, MRC_AT(.key = "target", .names_file = 1),
                      "%s: %s are %lld different numbers; if these are values and not classes, %s",
                      shown, origin, (long long)kinds->numbers, how[from_list]);
    return MERCER_OK;
}

int64_t mrc_usual_classes(int64_t rows)
{
    enum { ALWAYS = 20, MOST = 100, ROWS_PER_CLASS = 5 };
    const int64_t usual = rows / ROWS_PER_CLASS;
    return usual < ALWAYS ? ALWAYS : usual > MOST ? MOST : usual;
}

void mrc_note_lonely_class(const mercer_ctx *ctx, const char *shown, const char *name)
{
    char sample[MRC_SHOWN_SIZE];
    mrc_notice_at(
        ctx, MRC_AT(.key = "header", .names_file = 1),
        "%s: the first line is read as data, but it may be column names, because no other row "
        "is of class '%s'; header yes reads it as names, header no reads it as data "
        "without this note",
        shown, mrc_show(sample, name, strlen(name)));
}

mercer_status mrc_targets_check_signs(const mercer_targets *targets, const char *what,
                                      mercer_error *err)
{
    static const char needs[] = "is for two classes, or for one target of -1 and +1";
    bool classes = targets->kind == MERCER_TARGET_CLASSES;
    int64_t count = classes ? targets->classes : targets->columns;
    if (count != (classes ? 2 : 1))
        return mrc_fail(err, MERCER_ERR_DATA, "%s %s: here are %lld %s", what, needs,
                        (long long)count, classes ? "classes" : "targets");
    for (int64_t i = 0; !classes && i < targets->n; i++)
        if (fabs(targets->values[i]) != 1)
            return mrc_fail_at(err, MERCER_ERR_DATA, MRC_AT(.row = i + 1), "%s %s: row %lld has %g",
                               what, needs, (long long)i + 1, targets->values[i]);
    return MERCER_OK;
}

static mercer_status check_size(double size, mercer_error *err)
{
    static const double MOST = 1e140; /* it has a square, and so has its inverse */
    if (size > 0 && (size > MOST || size < 1 / MOST))
        return mrc_fail_at(err, MERCER_ERR_DATA,
                           MRC_AT(.advice_key = "scale_target", .advice_value = "standard"),
                           "targets of about %.0e: their squares %s; scale them", size,
                           size > MOST ? "overflow" : "are too small for numbers");
    return MERCER_OK;
}

mercer_status mrc_targets_check_sizes(mercer_ctx *ranks, const double *values, int64_t n,
                                      int64_t columns, double *largest, mercer_error *err)
{
    const int64_t parts = ranks ? mercer_ctx_ranks(ranks) : 0;
    double *sizes = NULL, *all = NULL; /* all: those of each rank */
    mercer_status rc = mrc_alloc(&sizes, columns, sizeof *sizes, err);
    if (rc == MERCER_OK && ranks)
        rc = mrc_alloc2(&all, parts, columns, sizeof *all, err);
    if (ranks)
        rc = mrc_comm_agree(ranks, rc, err);
    if (rc != MERCER_OK)
        goto out;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < columns; c++)
            sizes[c] = fmax(sizes[c], fabs(values[i * columns + c]));
    *largest = 0;
    if (ranks)
        MRC_TRY(mrc_comm_collect(ranks, sizes, columns, all, err));
    for (int64_t c = 0; c < columns; c++) {
        for (int64_t p = 0; all && p < parts; p++)
            sizes[c] = fmax(sizes[c], all[p * columns + c]);
        MRC_TRY(check_size(sizes[c], err));
        *largest = fmax(*largest, sizes[c]);
    }
out:
    mrc_free(sizes);
    mrc_free(all);
    return rc;
}

void mercer_targets_free(mercer_targets *targets)
{
    if (!targets)
        return;
    mrc_targets_destroy(targets);
    mrc_free(targets);
}

mercer_status mrc_targets_scale(const mercer_targets *targets, mrc_scale_kind kind,
                                mercer_targets **out, mercer_error *err)
{
    mercer_targets *scaled = NULL;
    mercer_rows *rows = NULL;
    mrc_scale scale = {0};
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(mercer_targets_new_values(targets->values, targets->n, targets->columns,
                                      (const char *const *)targets->names, &scaled, err));
    MRC_TRY(mrc_rows_view(MRC_F64, targets->values, targets->n, targets->columns, targets->columns,
                          &rows, err));
    MRC_TRY(mrc_scale_fit(&scale, kind, rows, err));
    mrc_scale_apply(&scale, scaled->values, scaled->n, scaled->columns);
    *out = scaled;
    scaled = NULL;
out:
    mrc_scale_destroy(&scale);
    mercer_rows_free(rows);
    mercer_targets_free(scaled);
    return rc;
}

mercer_status mrc_targets_take(const mercer_targets *targets, const int64_t *which, int64_t count,
                               mercer_targets **out, mercer_error *err)
{
    int64_t *codes = NULL, columns = targets->columns;
    double *values = NULL;
    mercer_status rc = MERCER_OK;
    if (targets->kind == MERCER_TARGET_CLASSES) {
        MRC_TRY(mrc_alloc(&codes, count, sizeof *codes, err));
        for (int64_t i = 0; i < count; i++)
            codes[i] = targets->codes[which[i]];
        MRC_TRY(mercer_targets_new_classes(codes, count, (const char *const *)targets->class_names,
                                           targets->classes,
                                           targets->names ? targets->names[0] : NULL, out, err));
    } else {
        MRC_TRY(mrc_alloc2(&values, count, columns, sizeof *values, err));
        for (int64_t i = 0; i < count; i++)
            memcpy(values + i * columns, targets->values + which[i] * columns,
                   (size_t)columns * sizeof *values);
        MRC_TRY(mercer_targets_new_values(values, count, columns,
                                          (const char *const *)targets->names, out, err));
    }
out:
    mrc_free(codes);
    mrc_free(values);
    return rc;
}
