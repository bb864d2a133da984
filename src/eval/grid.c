/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids of values: KEY=VALUES texts to combinations of specs. */
#include "eval/grid.h"

#include "base/number.h"
#include "base/order.h"
#include "base/params.h"
#include "methods/common/method.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 10000, MAX_CHOICES = 1000000 };

/* The values of one key, one after the other. */
struct axis {
    const char *key; /* the text before '=', key_length bytes */
    size_t key_length;
    char **values;
    int64_t count;
};

static void axis_destroy(struct axis *axis)
{
    for (int64_t i = 0; i < axis->count; i++)
        mrc_free(axis->values[i]);
    mrc_free(axis->values);
}

static mercer_status axis_add(struct axis *axis, const char *text, size_t length, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_grow(&axis->values, axis->count + 1, sizeof *axis->values, err));
    axis->values[axis->count] = NULL;
    MRC_TRY(mrc_alloc(&axis->values[axis->count], (int64_t)length + 1, 1, err));
    memcpy(axis->values[axis->count++], text, length);
out:
    return rc;
}

/* A:B:+STEP or A:B:*FACTOR, ends included; a last value a millionth beyond B still counts. */
static mercer_status axis_range(struct axis *axis, const char *values, mercer_error *err)
{
    const char *second = strchr(values, ':'), *third = second ? strchr(second + 1, ':') : NULL;
    double from, to, step;
    char number[MRC_NUMBER_SIZE];
    mercer_status rc = MERCER_OK;
    if (!third || (third[1] != '+' && third[1] != '*') ||
        !mrc_parse_double(values, (size_t)(second - values), &from) ||
        !mrc_parse_double(second + 1, (size_t)(third - second - 1), &to) ||
        !mrc_parse_double(third + 2, strlen(third + 2), &step) || !isfinite(from) ||
        !isfinite(to) || !isfinite(step))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "tune: '%.*s=%s' is not a range; write A:B:+STEP or A:B:*FACTOR",
                 (int)axis->key_length, axis->key, values);
    bool times = third[1] == '*';
    if (from > to || (times ? step <= 1 || from <= 0 : step <= 0))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: '%.*s=%s' never gets from %g to %g",
                 (int)axis->key_length, axis->key, values, from, to);
    double steps = times ? log(to / from) / log(step) : (to - from) / step;
    if (steps > MAX_VALUES)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: '%.*s=%s' has more than %d values",
                 (int)axis->key_length, axis->key, values, MAX_VALUES);
    for (int64_t i = 0; (double)i <= steps + 1e-6; i++) {
        double value = times ? from * pow(step, (double)i) : from + step * (double)i;
        snprintf(number, sizeof number, "%.15g", value); /* 0.3, not 0.30000000000000004 */
        MRC_TRY(axis_add(axis, number, strlen(number), err));
    }
out:
    return rc;
}

static bool axis_is(const struct axis *axis, const char *key)
{
    return axis->key_length == strlen(key) && strncmp(axis->key, key, axis->key_length) == 0;
}

/* Length of the first of some specs, NAME[:key=value,key=value],NAME...: what follows a comma and
 * has a '=' before any ':' is one more key of the same spec. */
static size_t spec_length(const char *text)
{
    size_t length = strcspn(text, ",");
    while (text[length]) {
        const char *next = text + length + 1;
        if (next[strcspn(next, "=:,")] != '=')
            break;
        length += 1 + strcspn(next, ",");
    }
    return length;
}

static mercer_status axis_read(struct axis *axis, const char *text, mercer_error *err)
{
    const char *equals = strchr(text, '=');
    mercer_status rc = MERCER_OK;
    if (!equals || equals == text || !equals[1])
        MRC_FAIL(
            err, MERCER_ERR_ARGUMENT,
            "tune: '%s' is not KEY=VALUES; KEY is components, kernel, method.KEY, kernel.KEY or "
            "head.KEY",
            text);
    axis->key = text;
    axis->key_length = (size_t)(equals - text);
    bool specs = axis_is(axis, "kernel"), range = !specs && strchr(equals, ':');
    if (range)
        MRC_TRY(axis_range(axis, equals + 1, err));
    for (const char *value = equals + 1; value && !range;) {
        size_t length = specs ? spec_length(value) : strcspn(value, ",");
        if (length == 0)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: '%s' has an empty value", text);
        if (axis->count == MAX_VALUES)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: %.*s has more than %d values",
                     (int)axis->key_length, axis->key, MAX_VALUES);
        MRC_TRY(axis_add(axis, value, length, err));
        value = value[length] ? value + length + 1 : NULL;
    }
out:
    return rc;
}

/* Whether a kernel is a sum or product; the sign of an exponent makes none. */
static bool is_composite(const char *spec)
{
    for (const char *at = spec; *at; at++)
        if (*at == '*' || *at == ' ' ||
            (*at == '+' && !(at > spec && (at[-1] == 'e' || at[-1] == 'E'))))
            return true;
    return false;
}

/* spec with key=value in place of what it says of key, if anything. */
static mercer_status spec_with(char **spec, const char *what, const char *key, size_t key_length,
                               const char *value, mercer_error *err)
{
    const char *old = *spec;
    char *made = NULL;
    mercer_status rc = MERCER_OK;
    if (!old)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: %s.%.*s, but no %s is given", what,
                 (int)key_length, key, what);
    if (is_composite(old))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "tune: %s.%.*s: '%s' is made of several, and it is not said which one is meant",
                 what, (int)key_length, key, old);
    MRC_TRY(mrc_alloc(&made, (int64_t)(strlen(old) + key_length + strlen(value) + 3), 1, err));
    size_t used = mrc_spec_name_length(old);
    memcpy(made, old, used);
    const char *next = old[used] ? old + used + 1 : NULL;
    char separator = ':';
    while (next && *next) {
        size_t length = strcspn(next, ",");
        bool same =
            length > key_length && next[key_length] == '=' && strncmp(next, key, key_length) == 0;
        if (!same) {
            made[used++] = separator;
            memcpy(made + used, next, length);
            used += length;
            separator = ',';
        }
        next = next[length] ? next + length + 1 : NULL;
    }
    made[used++] = separator;
    memcpy(made + used, key, key_length);
    used += key_length;
    made[used++] = '=';
    memcpy(made + used, value, strlen(value) + 1);
    mrc_free(*spec);
    *spec = made;
    made = NULL;
out:
    mrc_free(made);
    return rc;
}

static mercer_status choice_set(mrc_choice *choice, const struct axis *axis, const char *value,
                                mercer_error *err)
{
    static const char *const parts[] = {"method.", "kernel.", "head."};
    char **specs[] = {&choice->method, &choice->kernel, &choice->head};
    size_t used = choice->text ? strlen(choice->text) : 0;
    char *text = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&text, (int64_t)(used + axis->key_length + strlen(value) + 3), 1, err));
    snprintf(text, used + axis->key_length + strlen(value) + 3, "%s%s%.*s=%s",
             used ? choice->text : "", used ? "," : "", (int)axis->key_length, axis->key, value);
    if (axis_is(axis, "method.components"))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: write components instead of method.components");
    if (axis_is(axis, "kernel")) {
        mrc_free(choice->kernel);
        choice->kernel = NULL;
        MRC_TRY(mrc_strdup(&choice->kernel, value, err));
        mrc_free(choice->text);
        choice->text = text;
        return MERCER_OK;
    }
    for (int p = 0; p < 3; p++) {
        size_t length = strlen(parts[p]);
        char what[8];
        if (axis->key_length <= length || strncmp(axis->key, parts[p], length) != 0)
            continue;
        snprintf(what, sizeof what, "%.*s", (int)length - 1, parts[p]);
        MRC_TRY(
            spec_with(specs[p], what, axis->key + length, axis->key_length - length, value, err));
        mrc_free(choice->text);
        choice->text = text;
        return MERCER_OK;
    }
    MRC_FAIL(err, MERCER_ERR_ARGUMENT,
             "tune: '%.*s' is not components, kernel, method.KEY, kernel.KEY or head.KEY",
             (int)axis->key_length, axis->key);
out:
    mrc_free(text);
    return rc;
}

static mercer_status take_components(mrc_grid *grid, const struct axis *axis, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&grid->components, axis->count, sizeof *grid->components, err));
    for (int64_t i = 0; i < axis->count; i++) {
        double *value = &grid->components[i];
        if (!mrc_parse_double(axis->values[i], strlen(axis->values[i]), value) || *value < 1 ||
            *value != floor(*value) || *value > 1e9)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                     "tune: components=%s is not a whole number from 1 on", axis->values[i]);
    }
    qsort(grid->components, (size_t)axis->count, sizeof *grid->components, mrc_compare_doubles);
    grid->components_count = axis->count;
out:
    return rc;
}

/* Choice number c of the axes: the last one changes fastest. */
static mercer_status make_choice(mrc_choice *choice, const char *const specs[3],
                                 const struct axis *axes, int64_t count, int64_t c,
                                 mercer_error *err)
{
    int64_t block = 1;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_strdup(&choice->method, specs[0], err));
    MRC_TRY(mrc_strdup(&choice->kernel, specs[1], err));
    MRC_TRY(mrc_strdup(&choice->head, specs[2], err));
    for (int64_t a = 0; a < count; a++)
        block *= axes[a].count;
    for (int64_t a = 0; a < count; a++) {
        block /= axes[a].count;
        MRC_TRY(choice_set(choice, &axes[a], axes[a].values[c / block % axes[a].count], err));
    }
    if (!choice->text)
        MRC_TRY(mrc_strdup(&choice->text, "", err));
out:
    return rc;
}

mercer_status mrc_grid_init(mrc_grid *grid, const char *method, const char *kernel,
                            const char *head, const char *const *texts, int64_t count,
                            mercer_error *err)
{
    const char *const specs[3] = {method, kernel, head};
    struct axis *axes = NULL;
    int64_t used = 0, choices = 1;
    bool kernels = false, keys = false;
    mercer_status rc = MERCER_OK;
    memset(grid, 0, sizeof *grid);
    MRC_TRY(mrc_alloc(&axes, count + 1, sizeof *axes, err));
    for (int64_t i = 0; i < count; i++) {
        struct axis *axis = &axes[used];
        MRC_TRY(axis_read(axis, texts[i], err));
        if (axis_is(axis, "components")) {
            if (grid->components)
                MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: components is given twice");
            rc = take_components(grid, axis, err);
            axis_destroy(axis);
            memset(axis, 0, sizeof *axis);
            MRC_TRY(rc);
            continue;
        }
        kernels |= axis_is(axis, "kernel");
        keys |= strncmp(axis->key, "kernel.", strlen("kernel.")) == 0;
        if (kernels && keys)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                     "tune: kernel and kernel.KEY: write the keys after the kernels, e.g. "
                     "kernel=linear,rbf:sigma=1,rbf:sigma=2");
        for (int64_t a = 0; a < used; a++)
            if (axes[a].key_length == axis->key_length &&
                strncmp(axes[a].key, axis->key, axis->key_length) == 0)
                MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: %.*s is given twice",
                         (int)axis->key_length, axis->key);
        choices *= axis->count;
        used++;
        if (choices > MAX_CHOICES)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: more than %d combinations", MAX_CHOICES);
    }
    grid->heads = used > 0 && strncmp(axes[used - 1].key, "head.", strlen("head.")) == 0;
    MRC_TRY(mrc_alloc(&grid->choices, choices, sizeof *grid->choices, err));
    for (; grid->count < choices; grid->count++)
        MRC_TRY(make_choice(&grid->choices[grid->count], specs, axes, used, grid->count, err));
out:
    for (int64_t a = 0; axes && a <= count; a++)
        axis_destroy(&axes[a]);
    mrc_free(axes);
    if (rc != MERCER_OK) {
        grid->count += grid->choices != NULL && grid->count < choices; /* the one half made */
        mrc_grid_destroy(grid);
    }
    return rc;
}

void mrc_grid_destroy(mrc_grid *grid)
{
    for (int64_t c = 0; grid->choices && c < grid->count; c++) {
        mrc_free(grid->choices[c].method);
        mrc_free(grid->choices[c].kernel);
        mrc_free(grid->choices[c].head);
        mrc_free(grid->choices[c].text);
    }
    mrc_free(grid->choices);
    mrc_free(grid->components);
    memset(grid, 0, sizeof *grid);
}
