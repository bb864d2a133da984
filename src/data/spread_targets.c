/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets of rows that are spread over ranks: each rank has those of its own rows. All of them
 * agree on what the targets are, and on the classes: those of the first rank that has rows, then
 * those of the next one that are new, and so on. That is the order in which the rows have them,
 * where each rank lists them so; a list that all ranks give stays as it is. */
#include "data/spread_targets.h"

#include "base/comm.h"
#include "base/ctx.h"
#include "data/columns.h"

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

/* ---- classes or values ---- */

/* What each rank tells of its classes. */
enum told { TOLD_ROWS, TOLD_NUMBERS, TOLD_WORDS, TOLD_FRACTION, TOLD_DOUBTFUL, TOLD };

/* The lowest rank that tells this; -1: none does. */
static int first_that_tells(const double *all, int ranks, enum told what)
{
    int rank = 0;
    while (rank < ranks && !(all[rank * TOLD + what] > 0))
        rank++;
    return rank < ranks ? rank : -1;
}

/* A name that one rank has; *out is owned by the caller. */
static mercer_status share_name(mercer_ctx *ctx, int root, const char *mine, char **out,
                                mercer_error *err)
{
    const bool has = ctx->comm.table.rank == root && mine;
    int64_t total;
    return mrc_comm_gather(ctx, mine, has ? (int64_t)strlen(mine) + 1 : 0, out, &total, err);
}

/* How many different numbers the classes of all ranks are. */
static mercer_status count_numbers(mercer_ctx *ctx, const mercer_targets *own, int64_t *count,
                                   mercer_error *err)
{
    const int64_t classes = own ? own->classes : 0;
    char *mine = NULL, *all = NULL;
    int64_t bytes = 0, total = 0, code;
    mrc_classes seen = {0};
    bool whole;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&mine, own ? names_bytes(own->class_names, classes) : 0, 1, err));
    for (int64_t c = 0; c < classes; c++)
        if (mrc_class_is_number(own->class_names[c], &whole))
            bytes = put_names(mine + bytes, &own->class_names[c], 1) - mine;
    MRC_TRY(mrc_comm_gather(ctx, mine, bytes, &all, &total, err));
    for (int64_t at = 0; at < total; at += (int64_t)strlen(all + at) + 1)
        MRC_TRY(mrc_classes_code(&seen, all + at, strlen(all + at), &code, err));
    *count = seen.count;
out:
    mrc_free(mine);
    mrc_free(all);
    mrc_classes_destroy(&seen);
    return rc;
}

/* Whether one row of all is of this class. */
static mercer_status is_lonely(mercer_ctx *ctx, const mercer_targets *own, int64_t rows,
                               const char *name, bool *out, mercer_error *err)
{
    double count = 0;
    for (int64_t i = 0; own && i < rows; i++)
        count += strcmp(own->class_names[own->codes[i]], name) == 0;
    const mercer_status rc = mrc_comm_sum(ctx, &count, 1, err);
    *out = count <= 1;
    return rc;
}

mercer_status mrc_targets_judge_together(mercer_ctx *ctx, const char *shown, const char *origin,
                                         const mercer_targets *own, int64_t rows,
                                         const char *doubtful, mercer_error *err)
{
    const int ranks = ctx->comm.table.size;
    mrc_class_kinds kinds = own ? mrc_targets_class_kinds(own) : (mrc_class_kinds){0};
    const double mine[TOLD] = {(double)rows, (double)kinds.numbers, (double)kinds.words,
                               kinds.fraction != NULL, doubtful != NULL};
    double *all = NULL, sums[TOLD] = {0};
    char *name = NULL, *fraction = NULL;
    bool lonely;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&all, ranks, TOLD, sizeof *all, err));
    MRC_TRY(mrc_comm_collect(ctx, mine, TOLD, all, err));
    for (int k = 0; k < ranks * TOLD; k++)
        sums[k % TOLD] += all[k];
    if (sums[TOLD_DOUBTFUL] > 0) {
        MRC_TRY(share_name(ctx, first_that_tells(all, ranks, TOLD_DOUBTFUL), doubtful, &name, err));
        MRC_TRY(is_lonely(ctx, own, rows, name, &lonely, err));
        if (lonely)
            mrc_note_lonely_class(ctx, shown, name);
    }
    kinds.words = (int64_t)sums[TOLD_WORDS];
    kinds.numbers = (int64_t)sums[TOLD_NUMBERS];
    if (sums[TOLD_FRACTION] > 0) {
        MRC_TRY(share_name(ctx, first_that_tells(all, ranks, TOLD_FRACTION), kinds.fraction,
                           &fraction, err));
        kinds.fraction = fraction;
    }
    /* Ranks may have the same numbers: to be told apart where their sum looks like too many. */
    if (ranks > 1 && kinds.numbers > mrc_usual_classes((int64_t)sums[TOLD_ROWS]))
        MRC_TRY(count_numbers(ctx, own, &kinds.numbers, err));
    MRC_TRY(
        mrc_class_kinds_judge(ctx, shown, origin, false, &kinds, (int64_t)sums[TOLD_ROWS], err));
out:
    mrc_free(all);
    mrc_free(name);
    mrc_free(fraction);
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
