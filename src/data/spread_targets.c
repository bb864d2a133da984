/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets of rows that are spread over ranks: each rank has those of its own rows. All of them
 * agree on what the targets are, and on the classes: those of the first rank that has rows, then
 * those of the next one that are new, and so on. That is the order in which the rows have them,
 * where each rank lists them so; a list that all ranks give stays as it is. */
#include "data/spread_targets.h"

#include "base/comm.h"

#include <string.h>

/* What a rank tells the others of its targets; names follow, each with its end. */
struct described {
    int64_t rows, kind, columns, classes, names, bytes;
};

static int64_t names_bytes(char *const *names, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; names && i < count; i++)
        sum += (int64_t)strlen(names[i]) + 1;
    return sum;
}

static char *put_names(char *to, char *const *names, int64_t count)
{
    for (int64_t i = 0; names && i < count; i++) {
        size_t length = strlen(names[i]) + 1;
        memcpy(to, names[i], length);
        to += length;
    }
    return to;
}

static mercer_status describe(const mercer_targets *t, int64_t rows, char **out, int64_t *bytes,
                              mercer_error *err)
{
    struct described d = {.rows = rows};
    mercer_status rc = MERCER_OK;
    if (t) {
        d.kind = t->kind;
        d.columns = t->columns;
        d.classes = t->classes;
        d.names = !t->names ? 0 : t->kind == MERCER_TARGET_CLASSES ? 1 : t->columns;
        d.bytes = names_bytes(t->class_names, t->classes) + names_bytes(t->names, d.names);
    }
    *bytes = (int64_t)sizeof d + d.bytes;
    MRC_TRY(mrc_alloc(out, *bytes, 1, err));
    memcpy(*out, &d, sizeof d);
    if (t)
        put_names(put_names(*out + sizeof d, t->class_names, t->classes), t->names, d.names);
out:
    return rc;
}

/* Take the names over that a rank has beyond those that are known; `at` is its first one. */
static mercer_status add_classes(mercer_targets *t, const char *at, int64_t count,
                                 mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; i < count; i++, at += strlen(at) + 1) {
        int64_t c = 0;
        while (c < t->classes && strcmp(t->class_names[c], at) != 0)
            c++;
        if (c < t->classes)
            continue;
        MRC_TRY(mrc_grow(&t->class_names, t->classes + 1, sizeof *t->class_names, err));
        MRC_TRY(mrc_strdup(&t->class_names[t->classes], at, err));
        t->classes++;
    }
out:
    return rc;
}

static mercer_status take_names(mercer_targets *t, const char *at, int64_t count, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (t->names || count == 0)
        return rc;
    MRC_TRY(mrc_alloc(&t->names, count, sizeof *t->names, err));
    for (int64_t i = 0; i < count; i++, at += strlen(at) + 1)
        MRC_TRY(mrc_strdup(&t->names[i], at, err));
out:
    return rc;
}

/* What all ranks have told. */
static mercer_status join(mercer_targets *t, const char *all, int64_t total, mercer_error *err)
{
    bool begun = false;
    mercer_status rc = MERCER_OK;
    for (int64_t at = 0; at < total;) {
        struct described d;
        memcpy(&d, all + at, sizeof d);
        const char *names = all + at + sizeof d;
        at += (int64_t)sizeof d + d.bytes;
        if (d.rows == 0)
            continue;
        if (begun && (d.kind != (int64_t)t->kind || d.columns != t->columns))
            MRC_FAIL(
                err, MERCER_ERR_DATA,
                "the targets of the ranks are not of one kind, or not as many: every rank must "
                "have those of its rows");
        begun = true;
        t->kind = (mercer_target_kind)d.kind;
        t->columns = d.columns;
        MRC_TRY(add_classes(t, names, d.classes, err));
        for (int64_t i = 0; i < d.classes; i++)
            names += strlen(names) + 1;
        MRC_TRY(take_names(t, names, d.names, err));
    }
out:
    return rc;
}

/* The numbers of the targets here, in terms of all. */
static mercer_status take_rows(mercer_targets *t, const mercer_targets *given, mercer_error *err)
{
    const int64_t n = given ? t->n : 0; /* who has rows has given theirs: join() */
    int64_t *code = NULL;
    mercer_status rc = MERCER_OK;
    if (t->kind == MERCER_TARGET_CLASSES) {
        MRC_TRY(mrc_alloc(&t->codes, t->n, sizeof *t->codes, err));
        MRC_TRY(mrc_alloc(&code, given ? given->classes : 0, sizeof *code, err));
        for (int64_t c = 0; n > 0 && c < given->classes; c++)
            while (strcmp(t->class_names[code[c]], given->class_names[c]) != 0)
                code[c]++;
        for (int64_t i = 0; i < n; i++)
            t->codes[i] = code[given->codes[i]];
    } else if (t->kind == MERCER_TARGET_VALUES) {
        MRC_TRY(mrc_alloc2(&t->values, t->n, t->columns, sizeof *t->values, err));
        if (n > 0)
            memcpy(t->values, given->values, (size_t)(n * t->columns) * sizeof *t->values);
    }
out:
    mrc_free(code);
    return rc;
}

mercer_status mrc_targets_join(mercer_ctx *ctx, const mercer_targets *given, int64_t rows,
                               mercer_targets **out, mercer_error *err)
{
    char *mine = NULL, *all = NULL;
    int64_t bytes = 0, total = 0;
    mercer_targets *t = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (given && rows > 0 && given->n != rows)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "%lld targets for %lld rows", (long long)given->n,
                 (long long)rows);
    MRC_TRY(describe(given, rows, &mine, &bytes, err));
    MRC_TRY(mrc_comm_gather(ctx, mine, bytes, &all, &total, err));
    MRC_TRY(mrc_alloc(&t, 1, sizeof *t, err));
    t->n = rows;
    MRC_TRY(join(t, all, total, err));
    MRC_TRY(take_rows(t, given, err));
    *out = t;
    t = NULL;
out:
    mrc_free(mine);
    mrc_free(all);
    mercer_targets_free(t);
    return rc;
}

mercer_status mrc_targets_gather(mercer_ctx *ctx, const mercer_targets *own, const mrc_span *span,
                                 mercer_targets **out, mercer_error *err)
{
    const int64_t n = span->total, columns = own->columns;
    int64_t *codes = NULL;
    double *values = NULL;
    mercer_status rc = MERCER_OK;
    *out = NULL;
    if (own->kind == MERCER_TARGET_CLASSES) {
        MRC_TRY(mrc_alloc(&codes, n, sizeof *codes, err));
        memcpy(codes + span->first, own->codes, (size_t)own->n * sizeof *codes);
        MRC_TRY(mrc_comm_merge(ctx, codes, n * (int64_t)sizeof *codes, err));
        MRC_TRY(mercer_targets_new_classes(codes, n, (const char *const *)own->class_names,
                                           own->classes, own->names ? own->names[0] : NULL, out,
                                           err));
    } else if (own->kind == MERCER_TARGET_VALUES) {
        MRC_TRY(mrc_alloc2(&values, n, columns, sizeof *values, err));
        memcpy(values + span->first * columns, own->values,
               (size_t)(own->n * columns) * sizeof *values);
        MRC_TRY(mrc_comm_merge(ctx, values, n * columns * (int64_t)sizeof *values, err));
        MRC_TRY(mercer_targets_new_values(values, n, columns, (const char *const *)own->names, out,
                                          err));
    }
out:
    mrc_free(codes);
    mrc_free(values);
    return rc;
}
