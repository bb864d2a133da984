/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters described by a schema: defaults, parsing, formatting, and the words of every message.
 *
 * Parsing reads the text twice, first to check and then to store, so that a call that fails leaves
 * the parameters as they were. One function words the allowed values, for messages and for --help
 * alike. */
#include "base/params.h"

#include "base/number.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ALLOWED_SIZE = 128, KNOWN_SIZE = 320, KEY_SIZE = sizeof((mercer_error *)0)->key };

/* A piece of the caller's text. */
struct piece {
    const char *text;
    size_t length;
};

static bool piece_is(struct piece piece, const char *word, size_t length)
{
    return piece.length == length && memcmp(piece.text, word, length) == 0;
}

/* The index-th of "a|b|c"; its text is NULL past the last. */
static struct piece word_at(const char *words, int index)
{
    while (words && index-- > 0) {
        words = strchr(words, '|');
        words = words ? words + 1 : NULL;
    }
    return (struct piece){words, words ? strcspn(words, "|") : 0};
}

int mrc_text_cell_find(const char *words, const char *text, size_t length)
{
    for (int i = 0;; i++) {
        struct piece word = word_at(words, i);
        if (!word.text)
            return -1;
        if (piece_is(word, text, length))
            return i;
    }
}

static double read_param(const mrc_param *param, const void *params)
{
    const char *place = (const char *)params + param->offset;
    int64_t whole;
    int choice;
    double real;
    switch (param->type) {
    case MRC_TYPE_INT:
        memcpy(&whole, place, sizeof whole);
        return (double)whole;
    case MRC_TYPE_CHOICE:
        memcpy(&choice, place, sizeof choice);
        return choice;
    default:
        memcpy(&real, place, sizeof real);
        return real;
    }
}

/* A double that is too large for int64_t (INT64_MAX rounded up) becomes INT64_MAX. */
static int64_t to_int64(double value)
{
    if (value >= 0x1p63)
        return INT64_MAX;
    return value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

static void store_param(const mrc_param *param, void *params, double value, int64_t whole)
{
    char *place = (char *)params + param->offset;
    int choice = (int)whole;
    if (param->type == MRC_TYPE_INT)
        memcpy(place, &whole, sizeof whole);
    else if (param->type == MRC_TYPE_CHOICE)
        memcpy(place, &choice, sizeof choice);
    else
        memcpy(place, &value, sizeof value);
}

void mrc_params_defaults(const mrc_param *schema, void *params)
{
    for (; schema && schema->type != MRC_TYPE_END; schema++)
        store_param(schema, params, schema->initial,
                    schema->type == MRC_TYPE_REAL ? 0 : to_int64(schema->initial));
}

/* Whether two texts are the same, whatever the case of their letters. */
static bool same_letters(const char *name, const char *text, size_t length)
{
    if (strlen(name) != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        char a = name[i], b = text[i];
        a = a >= 'A' && a <= 'Z' ? (char)(a | 0x20) : a;
        b = b >= 'A' && b <= 'Z' ? (char)(b | 0x20) : b;
        if (a != b)
            return false;
    }
    return true;
}

bool mrc_is_called(const char *name, const char *text, size_t length)
{
    static const char *const others[][2] = {
        {"rbf", "gaussian"},     {"rbf", "gauss"},        {"poly", "polynomial"},
        {"kpca", "kernel-pca"},  {"kpca", "kernelpca"},   {"kpca", "kernel_pca"},
        {"nystroem", "nystrom"}, {"nystroem", "nyström"}, {"centre", "center"}};
    if (same_letters(name, text, length))
        return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i][0], name) == 0 && same_letters(others[i][1], text, length))
            return true;
    return false;
}

size_t mrc_spec_name_length(const char *spec)
{
    return strcspn(spec, ":");
}

/* Append to text, which stays within size and ends in a zero byte. */
static void append(char *text, size_t size, const char *more, size_t length)
{
    size_t used = strlen(text);
    if (length > size - 1 - used)
        length = size - 1 - used;
    memcpy(text + used, more, length);
    text[used + length] = 0;
}

static void append_words(char *text, size_t size, const char *words)
{
    for (int i = 0;; i++) {
        struct piece word = word_at(words, i);
        if (!word.text)
            return;
        if (i)
            append(text, size, ", ", 2);
        append(text, size, word.text, word.length);
    }
}

void mrc_words_list(const char *words, char *text, size_t size)
{
    text[0] = 0;
    append_words(text, size, words);
}

/* Whole-number bounds at the ends of int64_t do not bound anything either. */
static bool has_least(const mrc_param *param)
{
    return param->least > -DBL_MAX && !(param->type == MRC_TYPE_INT && param->least <= -0x1p63);
}

static bool has_most(const mrc_param *param)
{
    return param->most < DBL_MAX && !(param->type == MRC_TYPE_INT && param->most >= 0x1p63);
}

/* Numbers above 0 are said to start with the smallest double. */
static bool is_positive(const mrc_param *param)
{
    return param->least == DBL_MIN;
}

mrc_param_range mrc_param_range_of(const mrc_param *param)
{
    mrc_param_range range = {.least = -INFINITY, .most = INFINITY};
    if (param->type == MRC_TYPE_CHOICE)
        return range;
    range.least_open = is_positive(param);
    if (range.least_open)
        range.least = 0;
    else if (has_least(param))
        range.least = param->least;
    if (has_most(param))
        range.most = param->most;
    return range;
}

bool mrc_param_starts_with_word(const mrc_param *param)
{
    return param->type == MRC_TYPE_CHOICE || (param->choices && param->initial <= MRC_KEYWORD(0));
}

/* "> 0, or median"; "1 .. 100"; "ls, lad, exp". */
static void describe_allowed(const mrc_param *param, char *text, size_t size)
{
    char least[MRC_NUMBER_SIZE], most[MRC_NUMBER_SIZE], range[2 * MRC_NUMBER_SIZE + 16];
    bool positive = is_positive(param);
    text[0] = 0;
    if (param->type == MRC_TYPE_CHOICE) {
        append_words(text, size, param->choices);
        return;
    }
    mrc_format_double(param->least, least);
    mrc_format_double(param->most, most);
    if (positive && has_most(param))
        snprintf(range, sizeof range, "> 0 and <= %s", most);
    else if (positive)
        snprintf(range, sizeof range, "> 0");
    else if (has_least(param) && has_most(param))
        snprintf(range, sizeof range, "%s .. %s", least, most);
    else if (has_least(param))
        snprintf(range, sizeof range, ">= %s", least);
    else if (has_most(param))
        snprintf(range, sizeof range, "<= %s", most);
    else
        snprintf(range, sizeof range, "any");
    append(text, size, range, strlen(range));
    if (param->choices) {
        append(text, size, ", or ", 5);
        append_words(text, size, param->choices);
    }
}

static const mrc_param *find_key(const mrc_param *schema, struct piece key)
{
    for (; schema && schema->type != MRC_TYPE_END; schema++)
        if (piece_is(key, schema->key, strlen(schema->key)) ||
            (schema->also && piece_is(key, schema->also, strlen(schema->also))))
            return schema;
    return NULL;
}

/* "kernel.sigma" of "kernel rbf" and sigma. */
static const char *full_key(char out[KEY_SIZE], const char *what, const char *key, size_t length)
{
    snprintf(out, KEY_SIZE, "%.*s.%.*s", (int)strcspn(what, " "), what,
             (int)(length < KEY_SIZE ? length : KEY_SIZE), key);
    return out;
}
#define AT_KEY(name) MRC_AT(.key = full_key((char[KEY_SIZE]){0}, what, name, strlen(name)))

static mercer_status fail_unknown(const mrc_param *schema, const char *what, struct piece key,
                                  mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE], known[KNOWN_SIZE] = "";
    char name[KEY_SIZE];
    full_key(name, what, key.text, key.length);
    mrc_show(shown, key.text, key.length);
    for (const mrc_param *p = schema; p && p->type != MRC_TYPE_END; p++) {
        append(known, sizeof known, known[0] ? ", " : "", known[0] ? 2 : 0);
        append(known, sizeof known, p->key, strlen(p->key));
    }
    if (!known[0])
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = name),
                           "%s: unknown key '%s' (it has no keys)", what, shown);
    return mrc_fail_at(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = name),
                       "%s: unknown key '%s' (known: %s)", what, shown, known);
}

/* Turn the text of a value into *value (and *whole, for a whole number or a choice). */
static mercer_status parse_value(const mrc_param *param, const char *what, struct piece text,
                                 double *value, int64_t *whole, mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE], allowed[ALLOWED_SIZE];
    int word = mrc_text_cell_find(param->choices, text.text, text.length);
    *value = 0;
    *whole = word;
    if (param->type == MRC_TYPE_CHOICE && word >= 0)
        return MERCER_OK;
    if (word >= 0) {
        *value = MRC_KEYWORD(word);
        return MERCER_OK;
    }
    mrc_show(shown, text.text, text.length);
    describe_allowed(param, allowed, sizeof allowed);
    if (param->type == MRC_TYPE_CHOICE)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, AT_KEY(param->key),
                           "%s: %s=%s is not one of %s", what, param->key, shown, allowed);
    if (!mrc_parse_double(text.text, text.length, value))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, AT_KEY(param->key),
                           "%s: '%s' is not a number for %s (%s)", what, shown, param->key,
                           allowed);
    if (!isfinite(*value))
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, AT_KEY(param->key),
                           "%s: %s=%s is not finite (%s)", what, param->key, shown, allowed);
    bool fits = true;
    if (param->type == MRC_TYPE_INT) {
        if (*value != floor(*value))
            return mrc_fail_at(err, MERCER_ERR_ARGUMENT, AT_KEY(param->key),
                               "%s: %s=%s is not a whole number (%s)", what, param->key, shown,
                               allowed);
        /* Digits alone are exact beyond 2^53, too; "1e3" is taken as well. */
        if (!mrc_parse_int(text.text, text.length, whole)) {
            fits = fabs(*value) < 0x1p63;
            *whole = fits ? (int64_t)*value : 0;
        }
    }
    if (!fits || *value < param->least || *value > param->most)
        return mrc_fail_at(err, MERCER_ERR_ARGUMENT, AT_KEY(param->key),
                           "%s: %s=%s is out of range (%s)", what, param->key, shown, allowed);
    return MERCER_OK;
}

/* Check every key=value in list and, with params, store them. */
static mercer_status parse_list(const mrc_param *schema, const char *what, const char *list,
                                void *params, mercer_error *err)
{
    uint64_t seen = 0;
    for (const char *next; list; list = next) {
        char shown[MRC_SHOWN_SIZE];
        double value = 0;
        int64_t whole = 0;
        size_t length = strcspn(list, ",");
        next = list[length] ? list + length + 1 : NULL;
        const char *equals = memchr(list, '=', length);
        struct piece key = {list, equals ? (size_t)(equals - list) : length};
        mrc_show(shown, list, length);
        if (length == 0)
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: nothing where key=value was expected",
                            what);
        if (!equals)
            return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s: '%s' has no '=' (key=value expected)",
                            what, shown);
        const mrc_param *param = find_key(schema, key);
        if (!param)
            return fail_unknown(schema, what, key, err);
        assert(param - schema < 64);
        uint64_t bit = (uint64_t)1 << (param - schema);
        if (seen & bit)
            return mrc_fail_at(err, MERCER_ERR_ARGUMENT, AT_KEY(param->key),
                               "%s: key '%s' is given twice", what, param->key);
        seen |= bit;
        struct piece text = {equals + 1, length - key.length - 1};
        if (text.length == 0)
            return mrc_fail_at(err, MERCER_ERR_ARGUMENT, AT_KEY(param->key),
                               "%s: key '%s' has no value", what, param->key);
        mercer_status rc = parse_value(param, what, text, &value, &whole, err);
        if (rc != MERCER_OK)
            return rc;
        if (params)
            store_param(param, params, value, whole);
    }
    return MERCER_OK;
}

mercer_status mrc_params_parse(const mrc_param *schema, const char *what, const char *spec,
                               void *params, mercer_error *err)
{
    size_t length = mrc_spec_name_length(spec);
    if (!spec[length])
        return MERCER_OK;
    const char *list = spec + length + 1;
    mercer_status rc = parse_list(schema, what, list, NULL, err);
    return rc == MERCER_OK ? parse_list(schema, what, list, params, err) : rc;
}

/* A value as text that reads back to the same value. */
static void format_value(const mrc_param *param, const void *params, char *text, size_t size)
{
    double value = read_param(param, params);
    text[0] = 0;
    if (param->type == MRC_TYPE_INT) {
        int64_t whole;
        memcpy(&whole, (const char *)params + param->offset, sizeof whole);
        snprintf(text, size, "%lld", (long long)whole);
        return;
    }
    for (int i = 0; param->choices; i++) {
        struct piece word = word_at(param->choices, i);
        if (!word.text)
            break;
        if (value == (param->type == MRC_TYPE_CHOICE ? i : MRC_KEYWORD(i))) {
            append(text, size, word.text, word.length);
            return;
        }
    }
    char number[MRC_NUMBER_SIZE];
    mrc_format_double(value, number);
    append(text, size, number, strlen(number));
}

mercer_status mrc_params_format(const mrc_param *schema, const char *name, const void *params,
                                int all, char *text, size_t size, mercer_error *err)
{
    size_t used = 0;
    int length = snprintf(text, size, "%s", name);
    for (const mrc_param *p = schema; length >= 0; p++) {
        char value[ALLOWED_SIZE];
        used += (size_t)length;
        if (used >= size)
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "%s: its parameters need more than %zu characters", name, size);
        while (p && p->type != MRC_TYPE_END && !all && read_param(p, params) == p->initial)
            p++;
        if (!p || p->type == MRC_TYPE_END)
            break;
        format_value(p, params, value, sizeof value);
        length = snprintf(text + used, size - used, "%c%s=%s", strchr(text, ':') ? ',' : ':',
                          p->key, value);
    }
    return MERCER_OK;
}

void mrc_param_describe(const mrc_param *param, char *initial, char *allowed, size_t size)
{
    double storage = 0; /* as large and as aligned as any of the three types */
    mrc_param alone = *param;
    alone.offset = 0;
    store_param(&alone, &storage, param->initial,
                param->type == MRC_TYPE_REAL ? 0 : to_int64(param->initial));
    format_value(&alone, &storage, initial, size);
    describe_allowed(param, allowed, size);
}

const struct mercer_entry *mrc_entry_find(const struct mercer_entry *(*at)(int index),
                                          const char *spec)
{
    const struct mercer_entry *entry = NULL;
    size_t length = spec ? mrc_spec_name_length(spec) : 0;
    for (int i = 0; spec && (entry = at(i)); i++)
        if (mrc_is_called(entry->name, spec, length))
            break;
    return entry;
}

void mrc_options_defaults(const void *defaults, size_t known, void *options, size_t size)
{
    memset(options, 0, size);
    memcpy(options, defaults, known < size ? known : size);
}

void mrc_take_struct(const void *given, void *out, size_t size)
{
    size_t known;
    memcpy(&known, given, sizeof known);
    if (known < sizeof known || known > MRC_MAX_STRUCT) /* nobody set it */
        return;
    memcpy(out, given, known < size ? known : size);
    memcpy(out, &size, sizeof size);
}

mercer_status mrc_options_import(const char *what, const void *given, void *out, size_t size,
                                 mercer_error *err)
{
    size_t known;
    if (!given)
        return MERCER_OK;
    memcpy(&known, given, sizeof known);
    if (known < sizeof known || known > MRC_MAX_STRUCT)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "%s options were not initialised", what);
    for (size_t i = size; i < known; i++)
        if (((const char *)given)[i] != 0)
            return mrc_fail(err, MERCER_ERR_ARGUMENT,
                            "%s options: a member is set that only a later version of the library "
                            "knows",
                            what);
    mrc_take_struct(given, out, size);
    return MERCER_OK;
}

void mrc_give_struct(const void *ours, size_t known, void *out)
{
    size_t size, common;
    memcpy(&size, out, sizeof size);
    common = size < known ? size : known;
    if (common < sizeof size || size > MRC_MAX_STRUCT) /* nobody set it */
        return;
    memcpy((char *)out + sizeof size, (const char *)ours + sizeof size, common - sizeof size);
    memset((char *)out + common, 0, size - common);
}
