/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of the largest errors, for 'transform --errors --top N'.
 *
 * A heap of the N worst rows so far, the least of them on top: a row that is better than it costs
 * one comparison. Of equal errors the earlier row is the worse one, so that the list does not
 * depend on how rows come. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct cli_worst {
    double error;
    int64_t row;      /* from 0 */
    char *id, *label; /* owned; or NULL */
    double *values;   /* targets; owned; or NULL */
} cli_worst;

struct cli_top {
    int64_t most, count;
    cli_worst *heap;
    char *id_name, *label_name, **value_names; /* owned; or NULL */
    int64_t values;
};

cli_top *cli_top_new(int64_t most)
{
    cli_top *top = cli_alloc(1, sizeof *top);
    top->most = most;
    return top;
}

static void free_worst(cli_worst *worst)
{
    /* The analyser does not see that swap() leaves each text in one place. */
    free(worst->id);     /* NOLINT(clang-analyzer-unix.Malloc) */
    free(worst->label);  /* NOLINT(clang-analyzer-unix.Malloc) */
    free(worst->values); /* NOLINT(clang-analyzer-unix.Malloc) */
    *worst = (cli_worst){0};
}

void cli_top_free(cli_top *top)
{
    if (!top)
        return;
    for (int64_t i = 0; i < top->count; i++)
        free_worst(&top->heap[i]);
    cli_names_free(top->value_names, top->values);
    free(top->heap);
    free(top->id_name);
    free(top->label_name);
    free(top);
}

static bool is_worse(const cli_worst *a, const cli_worst *b)
{
    return a->error > b->error || (a->error == b->error && a->row < b->row);
}

static void swap(cli_worst *a, cli_worst *b)
{
    const cli_worst kept = *a;
    *a = *b;
    *b = kept;
}

/* The least bad row goes to the top again. */
static void sift_down(cli_top *top)
{
    for (int64_t i = 0;;) {
        int64_t least = i;
        for (int64_t child = 2 * i + 1; child <= 2 * i + 2 && child < top->count; child++)
            if (is_worse(&top->heap[least], &top->heap[child]))
                least = child;
        if (least == i)
            return;
        swap(&top->heap[i], &top->heap[least]);
        i = least;
    }
}

static void sift_up(cli_top *top)
{
    for (int64_t i = top->count - 1; i > 0; i = (i - 1) / 2)
        if (is_worse(&top->heap[(i - 1) / 2], &top->heap[i]))
            swap(&top->heap[(i - 1) / 2], &top->heap[i]);
}

/* What is written of a row, besides its error. */
static void describe(const cli_top *top, cli_worst *worst, const mercer_table *block, int64_t i,
                     const mercer_targets *kept)
{
    const char *id = mercer_table_id(block, i);
    worst->id = id ? cli_copy(id) : NULL;
    if (top->label_name)
        worst->label = cli_copy(mercer_targets_class_name(kept, mercer_targets_codes(kept)[i]));
    if (top->values) {
        worst->values = cli_alloc((size_t)top->values, sizeof *worst->values);
        memcpy(worst->values, mercer_targets_values(kept) + i * top->values,
               (size_t)top->values * sizeof *worst->values);
    }
}

/* The names of what is written, from the first rows. */
static void name_columns(cli_top *top, const mercer_table *block, const mercer_targets *kept)
{
    const mercer_target_kind kind = kept ? mercer_targets_kind(kept) : MERCER_TARGET_NONE;
    if (mercer_table_id_name(block))
        top->id_name = cli_copy(mercer_table_id_name(block));
    if (kind == MERCER_TARGET_CLASSES)
        top->label_name =
            cli_copy(mercer_targets_name(kept, 0) ? mercer_targets_name(kept, 0) : "label");
    if (kind != MERCER_TARGET_VALUES)
        return;
    top->values = mercer_targets_columns(kept);
    top->value_names = cli_names_numbered("target", top->values, 0);
    for (int64_t k = 0; k < top->values && mercer_targets_name(kept, k); k++) {
        free(top->value_names[k]);
        top->value_names[k] = cli_copy(mercer_targets_name(kept, k));
    }
}

void cli_top_add(cli_top *top, const mercer_table *block, const mercer_targets *kept,
                 const double *errors, int64_t first)
{
    const int64_t n = mercer_rows_count(mercer_table_rows(block));
    if (first == 0)
        name_columns(top, block, kept);
    for (int64_t i = 0; i < n; i++) {
        cli_worst worst = {.error = errors[i], .row = first + i};
        const bool full = top->count == top->most;
        if (full && !is_worse(&worst, &top->heap[0]))
            continue;
        describe(top, &worst, block, i, kept);
        if (full) {
            swap(&worst, &top->heap[0]);
            free_worst(&worst);
            sift_down(top);
            continue;
        }
        if ((top->count & (top->count - 1)) == 0) /* room doubles at every power of two */
            top->heap = cli_resize(top->heap, 2 * (size_t)top->count + 1, sizeof *top->heap);
        top->heap[top->count++] = worst;
        sift_up(top);
    }
}

static int compare_worst(const void *a, const void *b)
{
    return is_worse(a, b) ? -1 : is_worse(b, a);
}

mercer_status cli_top_write(cli_top *top, cli_app *app, const mercer_model *model, int extra,
                            mercer_error *err)
{
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model_get_info(model, &info);
    const cli_settings *set = &app->set;
    const bool numbered = !top->id_name;
    const int64_t columns = numbered + top->values + extra;
    const char *texts[2], *text_names[2], **names = cli_alloc((size_t)columns, sizeof *names);
    double *row = cli_alloc((size_t)columns, sizeof *row);
    const char *path = set->output ? set->output : "-";
    mercer_writer *writer = NULL;
    int64_t at = 0, text = 0;
    if (numbered)
        names[at++] = "row";
    for (int64_t k = 0; k < top->values; k++)
        names[at++] = top->value_names[k];
    names[at++] = "error";
    if (extra > 1)
        names[at++] = "novel";
    if (extra > 2)
        names[at] = "p";
    if (top->id_name)
        text_names[text++] = top->id_name;
    if (top->label_name)
        text_names[text++] = top->label_name;
    qsort(top->heap, (size_t)top->count, sizeof *top->heap, compare_worst);
    mercer_status rc = mercer_writer_open_texts(app->ctx, path, set->output_format, columns, names,
                                                text, text ? text_names : NULL, &writer, err);
    for (int64_t i = 0; i < top->count && rc == MERCER_OK; i++) {
        const cli_worst *worst = &top->heap[i];
        at = text = 0;
        if (worst->id)
            texts[text++] = worst->id;
        if (worst->label)
            texts[text++] = worst->label;
        if (numbered)
            row[at++] = (double)worst->row;
        for (int64_t k = 0; k < top->values; k++)
            row[at++] = worst->values[k];
        row[at++] = worst->error;
        if (extra > 1)
            row[at++] = worst->error > info.novelty_threshold;
        if (extra > 2)
            rc = mercer_model_p_values(model, &worst->error, 1, row + at, err);
        if (rc == MERCER_OK)
            rc = mercer_writer_rows(app->ctx, writer, row, 1, columns, text ? texts : NULL, err);
    }
    if (rc == MERCER_OK)
        rc = mercer_writer_finish(app->ctx, writer, err);
    else
        mercer_writer_abort(writer);
    free(names);
    free(row);
    return rc;
}
