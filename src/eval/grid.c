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

static void axis_destroy(mrc_axis *axis)
{
    for (int64_t i = 0; i < axis->count; i++)
        mrc_free(axis->values[i]);
    mrc_free(axis->values);
    mrc_free(axis->key);
    memset(axis, 0, sizeof *axis);
}

static mercer_status axis_add(mrc_axis *axis, const char *text, size_t length, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_grow(&axis->values, axis->count + 1, sizeof *axis->values, err));
    axis->values[axis->count] = NULL;
    MRC_TRY(mrc_alloc(&axis->values[axis->count], (int64_t)length + 1, 1, err));
    memcpy(axis->values[axis->count++], text, length);
out:
    return rc;
}

/* A range from one number to another as one would write it: by factors of 2 where that makes three
 * values or more, else by ones, as of a few components. */
static void suggest_range(char *text, size_t size, const char *key, double from, double to)
{
    bool times = from > 0 && to >= 4 * from && (strcmp(key, "components") != 0 || to > 30);
    snprintf(text, size, "; did you mean %.64s=%.15g:%.15g:%s?", key, from, to,
             times            ? "*2"
             : to - from >= 1 ? "+1"
                              : "+0.1");
}

/* What A..B or A:B was meant to be; else nothing. */
static void suggest_for(char *text, size_t size, const char *key, const char *values)
{
    size_t length = strcspn(values, ":");
    const char *dots = strstr(values, ".."), *second = values[length] ? values + length + 1 : NULL;
    double from, to;
    *text = 0;
    if (dots) {
        length = (size_t)(dots - values);
        second = dots + 2;
    }
    if (second && mrc_parse_double(values, length, &from) &&
        mrc_parse_double(second, strlen(second), &to) && isfinite(from) && isfinite(to) &&
        from < to)
        suggest_range(text, size, key, from, to);
}

enum { SUGGESTED_SIZE = 160 };

/* A:B:+STEP or A:B:*FACTOR, ends included; a last value a millionth beyond B still counts. */
static mercer_status axis_range(mrc_axis *axis, const char *values, mercer_error *err)
{
    const char *second = strchr(values, ':'), *third = second ? strchr(second + 1, ':') : NULL;
    double from, to, step;
    char number[MRC_NUMBER_SIZE], suggested[SUGGESTED_SIZE];
    mercer_status rc = MERCER_OK;
    suggest_for(suggested, sizeof suggested, axis->key, values);
    if (!third || (third[1] != '+' && third[1] != '*') ||
        !mrc_parse_double(values, (size_t)(second - values), &from) ||
        !mrc_parse_double(second + 1, (size_t)(third - second - 1), &to) ||
        !mrc_parse_double(third + 2, strlen(third + 2), &step) || !isfinite(from) ||
        !isfinite(to) || !isfinite(step))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "tune: '%s=%s' is not a range; write A:B:+STEP or A:B:*FACTOR%s", axis->key,
                 values, suggested);
    bool times = third[1] == '*';
    if (from > to || (times ? step <= 1 || from <= 0 : step <= 0))
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: '%s=%s' never gets from %g to %g", axis->key,
                 values, from, to);
    double steps = times ? log(to / from) / log(step) : (to - from) / step;
    if (steps > MAX_VALUES)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: '%s=%s' has more than %d values", axis->key,
                 values, MAX_VALUES);
    axis->sign = third[1];
    axis->step = step;
    for (int64_t i = 0; (double)i <= steps + 1e-6; i++) {
        double value = times ? from * pow(step, (double)i) : from + step * (double)i;
        snprintf(number, sizeof number, "%.15g", value); /* 0.3, not 0.30000000000000004 */
        MRC_TRY(axis_add(axis, number, strlen(number), err));
    }
out:
    return rc;
}

static bool axis_is(const mrc_axis *axis, const char *key)
{
    return strcmp(axis->key, key) == 0;
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

static mercer_status axis_read(mrc_axis *axis, const char *text, mercer_error *err)
{
    const char *equals = strchr(text, '=');
    char suggested[SUGGESTED_SIZE];
    mercer_status rc = MERCER_OK;
    if (!equals || equals == text || !equals[1])
        MRC_FAIL(
            err, MERCER_ERR_ARGUMENT,
            "tune: '%s' is not KEY=VALUES; KEY is components, kernel, method.KEY, kernel.KEY or "
            "head.KEY, for example kernel.sigma=1:16:*2",
            text);
    MRC_TRY(mrc_alloc(&axis->key, equals - text + 1, 1, err));
    memcpy(axis->key, text, (size_t)(equals - text));
    bool specs = axis_is(axis, "kernel"), range = !specs && strchr(equals, ':');
    suggest_for(suggested, sizeof suggested, axis->key, equals + 1);
    if (!specs && !range && *suggested)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: '%s' is neither a list nor a range%s", text,
                 suggested);
    if (range)
        MRC_TRY(axis_range(axis, equals + 1, err));
    for (const char *value = equals + 1; value && !range;) {
        size_t length = specs ? spec_length(value) : strcspn(value, ",");
        if (length == 0)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: '%s' has an empty value", text);
        if (axis->count == MAX_VALUES)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: %s has more than %d values", axis->key,
                     MAX_VALUES);
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

static mercer_status choice_set(mrc_choice *choice, const mrc_axis *axis, const char *value,
                                mercer_error *err)
{
    static const char *const parts[] = {"method.", "kernel.", "head."};
    char **specs[] = {&choice->method, &choice->kernel, &choice->head};
    size_t used = choice->text ? strlen(choice->text) : 0;
    size_t size = used + strlen(axis->key) + strlen(value) + 3;
    char *text = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&text, (int64_t)size, 1, err));
    snprintf(text, size, "%s%s%s=%s", used ? choice->text : "", used ? "," : "", axis->key, value);
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
        if (strlen(axis->key) <= length || strncmp(axis->key, parts[p], length) != 0)
            continue;
        snprintf(what, sizeof what, "%.*s", (int)length - 1, parts[p]);
        MRC_TRY(
            spec_with(specs[p], what, axis->key + length, strlen(axis->key + length), value, err));
        mrc_free(choice->text);
        choice->text = text;
        return MERCER_OK;
    }
    MRC_FAIL(err, MERCER_ERR_ARGUMENT,
             "tune: '%s' is not components, kernel, method.KEY, kernel.KEY or head.KEY", axis->key);
out:
    mrc_free(text);
    return rc;
}

static mercer_status take_components(mrc_grid *grid, mrc_axis *axis, mercer_error *err)
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
    for (int64_t i = 0; i < axis->count; i++) {
        char number[MRC_NUMBER_SIZE];
        snprintf(number, sizeof number, "%.15g", grid->components[i]);
        mrc_free(axis->values[i]);
        axis->values[i] = NULL;
        MRC_TRY(mrc_strdup(&axis->values[i], number, err));
    }
out:
    return rc;
}

/* Choice number c of the axes: the last one changes fastest. */
static mercer_status make_choice(mrc_choice *choice, const char *const specs[3],
                                 const mrc_axis *axes, int64_t count, int64_t c, mercer_error *err)
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

/* The axes of the texts, components last. */
static mercer_status read_axes(mrc_grid *grid, const char *const *texts, int64_t count,
                               mercer_error *err)
{
    bool kernels = false, keys = false;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&grid->axes, count + 1, sizeof *grid->axes, err));
    for (int64_t i = 0; i < count; i++) {
        mrc_axis *axis = &grid->axes[grid->axis_count++];
        MRC_TRY(axis_read(axis, texts[i], err));
        kernels |= axis_is(axis, "kernel");
        keys |= strncmp(axis->key, "kernel.", strlen("kernel.")) == 0;
        if (kernels && keys)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                     "tune: kernel and kernel.KEY: write the keys after the kernels, e.g. "
                     "kernel=linear,rbf:sigma=1,rbf:sigma=2");
        for (int64_t a = 0; a < grid->axis_count - 1; a++)
            if (axis_is(&grid->axes[a], axis->key))
                MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: %s is given twice", axis->key);
    }
    for (int64_t a = 0; a < grid->axis_count; a++)
        if (axis_is(&grid->axes[a], "components")) {
            mrc_axis axis = grid->axes[a];
            memmove(&grid->axes[a], &grid->axes[a + 1],
                    (size_t)(grid->axis_count - a - 1) * sizeof axis);
            grid->axes[grid->axis_count - 1] = axis;
            MRC_TRY(take_components(grid, &grid->axes[grid->axis_count - 1], err));
            break;
        }
out:
    return rc;
}

mercer_status mrc_grid_init(mrc_grid *grid, const char *method, const char *kernel,
                            const char *head, const char *const *texts, int64_t count,
                            mercer_error *err)
{
    const char *const specs[3] = {method, kernel, head};
    int64_t choices = 1;
    mercer_status rc = MERCER_OK;
    memset(grid, 0, sizeof *grid);
    MRC_TRY(read_axes(grid, texts, count, err));
    int64_t used = grid->axis_count - (grid->components != NULL);
    for (int64_t a = 0; a < used; a++) {
        choices *= grid->axes[a].count;
        if (choices > MAX_CHOICES)
            MRC_FAIL(err, MERCER_ERR_ARGUMENT, "tune: more than %d combinations", MAX_CHOICES);
    }
    grid->heads = used > 0 && strncmp(grid->axes[used - 1].key, "head.", strlen("head.")) == 0;
    MRC_TRY(mrc_alloc(&grid->choices, choices, sizeof *grid->choices, err));
    for (; grid->count < choices; grid->count++)
        MRC_TRY(
            make_choice(&grid->choices[grid->count], specs, grid->axes, used, grid->count, err));
out:
    if (rc != MERCER_OK) {
        grid->count += grid->choices != NULL && grid->count < choices; /* the one half made */
        mrc_grid_destroy(grid);
    }
    return rc;
}

int64_t mrc_grid_numbers(const mrc_grid *grid)
{
    return grid->components ? grid->components_count : 1;
}

int64_t mrc_grid_cells(const mrc_grid *grid)
{
    return grid->count * mrc_grid_numbers(grid);
}

int64_t mrc_grid_place(const mrc_grid *grid, int64_t axis, int64_t cell)
{
    for (int64_t a = grid->axis_count - 1; a > axis; a--)
        cell /= grid->axes[a].count;
    return cell % grid->axes[axis].count;
}

double mrc_spec_number(const char *spec, const char *key)
{
    double value = NAN;
    if (!spec || is_composite(spec))
        return NAN;
    for (const char *at = spec + mrc_spec_name_length(spec); *at;) {
        size_t length = strcspn(++at, ","), name = strcspn(at, "=");
        if (name == strlen(key) && strncmp(at, key, name) == 0 && name < length &&
            !mrc_parse_double(at + name + 1, length - name - 1, &value))
            value = NAN;
        at += length;
    }
    return value;
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
    for (int64_t a = 0; a < grid->axis_count; a++)
        axis_destroy(&grid->axes[a]);
    mrc_free(grid->axes);
    memset(grid, 0, sizeof *grid);
}
