/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that are not written plainly.
 *
 *   1,065     groups of three digits; separators are , . ' U+2019 U+00A0 U+2009 U+202F
 *   5 %       a percent sign is left out: 5
 *   true, no  true and yes are 1, false and no are 0, in any case
 *   a date    days since 1970-01-01, where the caller wants that (date.c)
 *
 * A column is read so only when all of it agrees: one separator, and no number of 1000 or more
 * without it; a percent sign everywhere; words of one pair and nothing else. 1,065 can be a
 * thousand or little more than one. It is taken for a thousand where commas separate the cells,
 * because then the decimal mark is a point, and elsewhere only when the column has a number that
 * can be nothing else, for example 1,234,567 or 1,065.5. Neither is guessed: a silent factor of
 * 1000 is the worst that can happen to a table.
 *
 * While the first block is read, such cells are texts (mrc_text_cell), because one that comes later
 * may disagree. New rows for a model are read by what was learnt then. */
#include "data/dress.h"

#include "base/number.h"
#include "data/prepare.h"
#include "data/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 64 }; /* bytes of a number that is not plain: people write shorter ones */

static const char *const names[] = {[MRC_PLAIN] = "plain",
                                    [MRC_GROUPED] = "grouped",
                                    [MRC_PERCENT] = "percent",
                                    [MRC_BOOLEAN] = "boolean",
                                    [MRC_DATE] = "date"};

const char *mrc_dress_name(mrc_dress dress)
{
    return names[dress];
}

bool mrc_dress_find(const char *name, mrc_dress *out)
{
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (mrc_dress)i;
            return true;
        }
    return false;
}

bool mrc_parse_styled(const char *text, size_t length, const mrc_style *style, double *out)
{
    char copy[LONGEST];
    const char *comma = style->decimal == ',' ? memchr(text, ',', length) : NULL;
    if (style->decimal == ',' && memchr(text, '.', length))
        return false;
    if (!comma)
        return mrc_parse_double(text, length, out);
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[comma - text] = '.';
    return mrc_parse_double(copy, length, out);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Separators of groups, and the word of the caller for them. */
static const struct separator {
    const char *bytes;
    char word;
    bool asked; /* only when the caller names it: texts have blanks, too */
} separators[] = {{",", ',', false},
                  {".", '.', false},
                  {"'", '\'', false},
                  {"\xe2\x80\x99", '\'', false},
                  {"\xc2\xa0", ' ', false},
                  {"\xe2\x80\x89", ' ', false},
                  {"\xe2\x80\xaf", ' ', false},
                  {" ", ' ', true}};

/* Groups of three digits behind the first one, with this separator; digits go to `out`. */
static const char *take_groups(const char *p, const char *end, const struct separator *separator,
                               char *out, size_t *used, int *groups)
{
    size_t bytes = strlen(separator->bytes);
    *groups = 0;
    while ((size_t)(end - p) >= bytes + 3 && memcmp(p, separator->bytes, bytes) == 0 &&
           is_digit(p[bytes]) && is_digit(p[bytes + 1]) && is_digit(p[bytes + 2])) {
        memcpy(out + *used, p + bytes, 3);
        *used += 3;
        p += bytes + 3;
        ++*groups;
    }
    return p;
}

/* [sign] 1 to 3 digits, groups, and perhaps the decimal mark and digits. */
static bool take_grouped(const char *text, size_t length, const mrc_style *style,
                         const struct separator *separator, mrc_dressed *out)
{
    const char *p = text, *end = text + length;
    char plain[LONGEST + 2];
    size_t used = 0;
    int groups = 0, leading = 0;
    bool fraction = false;
    if (p < end && (*p == '-' || *p == '+'))
        plain[used++] = *p++;
    for (; p < end && is_digit(*p) && leading < 4; leading++)
        plain[used++] = *p++;
    if (leading < 1 || leading > 3 || plain[used - (size_t)leading] == '0')
        return false;
    p = take_groups(p, end, separator, plain, &used, &groups);
    if (groups == 0)
        return false;
    if (p < end && *p == style->decimal) {
        plain[used++] = '.';
        fraction = ++p < end;
        while (p < end && is_digit(*p))
            plain[used++] = *p++;
    }
    if (p != end || !mrc_parse_double(plain, used, &out->value))
        return false;
    bool mark = separator->word == ',' || separator->word == '.';
    out->dress = MRC_GROUPED;
    out->family = (unsigned char)separator->word;
    out->certain = !mark || groups > 1 || fraction || style->thousands == separator->word ||
                   (separator->word == ',' && style->comma_separated);
    return true;
}

bool mrc_undress(const char *text, size_t length, const mrc_style *style, mrc_dressed *out)
{
    static const char *const words[] = {"false", "true", "no", "yes"};
    *out = (mrc_dressed){.dress = MRC_BOOLEAN, .certain = true};
    for (int i = 0; i < 4; i++)
        if (mrc_spells(text, length, words[i])) {
            out->value = i % 2;
            out->family = i / 2;
            return true;
        }
    if (length == 0 || length >= LONGEST)
        return false;
    if (style->dates && mrc_parse_date(text, length, style->date_format, &out->value)) {
        out->dress = MRC_DATE;
        return true;
    }
    if (text[length - 1] == '%') {
        out->dress = MRC_PERCENT;
        length--;
        while (length > 0 && text[length - 1] == ' ')
            length--;
        if (length >= 2 && memcmp(text + length - 2, "\xc2\xa0", 2) == 0)
            length -= 2;
        else if (length >= 3 && memcmp(text + length - 3, "\xe2\x80\xaf", 3) == 0)
            length -= 3;
        return mrc_parse_styled(text, length, style, &out->value) && isfinite(out->value);
    }
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++) {
        const struct separator *s = &separators[i];
        bool allowed = style->thousands ? style->thousands == s->word : !s->asked;
        if (allowed && s->word != style->decimal && take_grouped(text, length, style, s, out))
            return true;
    }
    return false;
}

/* What the cells of a column come to. */
struct column {
    mrc_dress dress;
    double *value; /* of each text */
    bool numbers;  /* every text is a number with separators or a percent sign */
    bool agree;    /* all texts are of one kind */
    bool certain;  /* and one of them can be nothing else */
};

/* Look at the texts of a column. */
static mercer_status look(const mrc_classes *texts, const mrc_style *style, struct column *c,
                          mercer_error *err)
{
    mrc_dressed first = {0}, one;
    mercer_status rc = mrc_alloc2_raw(&c->value, texts->count, 1, sizeof *c->value, err);
    c->numbers = c->agree = true;
    for (int64_t i = 0; i < texts->count && rc == MERCER_OK && (c->numbers || c->agree); i++) {
        bool found = mrc_undress(texts->names[i], strlen(texts->names[i]), style, &one);
        first = i == 0 ? one : first;
        c->numbers &= found && one.dress != MRC_BOOLEAN && one.dress != MRC_DATE;
        c->agree &= found && one.dress == first.dress && one.family == first.family;
        c->certain |= one.certain;
        c->value[i] = one.value;
    }
    c->dress = first.dress;
    return rc;
}

/* Why a column of numbers cannot be read, at the first cell that is not plain. */
static mercer_status refuse(const char *shown, const mrc_columns *file, int64_t column,
                            int64_t text, const char *why, const mrc_at *about, mercer_error *err)
{
    char where[MRC_COLUMN_SHOWN], cell[MRC_SHOWN_SIZE];
    const char *first = file->texts[text].names[0];
    mrc_at at = *about;
    at.names_file = 1;
    at.line = file->text_lines[text];
    at.column = file->names ? file->names[column] : NULL;
    at.column_number = file->names ? 0 : column + 1;
    at.position = column + 1;
    return mrc_fail_at(err, MERCER_ERR_DATA, &at, "%s:%lld: %s: '%s' %s", shown, (long long)at.line,
                       mrc_column_shown(where, file, column), mrc_show(cell, first, strlen(first)),
                       why);
}

/* Say what was done to a column. */
static void notify(const mercer_ctx *ctx, const char *shown, const mrc_columns *file,
                   int64_t column, mrc_dress dress, int64_t cells)
{
    char where[MRC_COLUMN_SHOWN];
    mrc_column_shown(where, file, column);
    if (dress == MRC_GROUPED)
        mrc_notice_at(ctx, MRC_AT(.names_file = 1, .key = "thousands"),
                      "%s: %s: thousands separators in %lld cell%s", shown, where, (long long)cells,
                      cells == 1 ? "" : "s");
    else if (dress == MRC_PERCENT)
        mrc_notice_at(ctx, MRC_IN_FILE, "%s: %s: percent signs are left out, 5%% is 5", shown,
                      where);
    else if (dress == MRC_DATE)
        mrc_notice_at(ctx, MRC_IN_FILE, "%s: %s: dates are read as days since 1970-01-01", shown,
                      where);
    else
        mrc_notice_at(ctx, MRC_IN_FILE, "%s: %s: true and yes are read as 1, false and no as 0",
                      shown, where);
}

static bool all_dates(const mrc_classes *texts)
{
    double days;
    for (int64_t i = 0; i < texts->count; i++)
        if (!mrc_parse_date(texts->names[i], strlen(texts->names[i]), NULL, &days))
            return false;
    return true;
}

/* The format is that of one text by which all can be read; "" where there is none. */
static bool all_like_dates(const mrc_classes *texts, char format[MRC_DATE_FORMAT])
{
    char other[MRC_DATE_FORMAT];
    int64_t failed = 0;
    for (int64_t i = 0; i < texts->count; i++)
        if (!mrc_looks_like_date(texts->names[i], strlen(texts->names[i]), other))
            return false;
    for (int tries = 0; tries < 2; tries++) { /* the text that does not fit says more */
        const int64_t from = failed;
        double days;
        mrc_looks_like_date(texts->names[from], strlen(texts->names[from]), format);
        for (failed = 0; failed < texts->count; failed++)
            if (!*format ||
                !mrc_parse_date(texts->names[failed], strlen(texts->names[failed]), format, &days))
                break;
        if (failed == texts->count)
            return true;
    }
    *format = 0;
    return true;
}

/* Whether a text is a number with a sign of money, in parentheses, or with a minus that is none of
 * ASCII's: which people read as numbers, and no category. */
static bool is_marked(const char *text, const mrc_style *style)
{
    static const char *const marks[] = {"$",   "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5",     "(",
                                        ")",   "\xe2\x88\x92", " ",        "\xc2\xa0",     "EUR",
                                        "USD", "CHF",          "GBP",      "\xe2\x80\xaf", "-"};
    enum { MARKS = sizeof marks / sizeof *marks };
    const char *end = text + strlen(text);
    mrc_dressed dressed;
    double value;
    bool marked = false;
    for (int i = 0; i < MARKS; i++) { /* once more from the first after each that was there */
        const size_t length = strlen(marks[i]);
        if ((size_t)(end - text) < length)
            continue;
        if (memcmp(text, marks[i], length) == 0)
            text += length;
        else if (memcmp(end - length, marks[i], length) == 0)
            end -= length;
        else
            continue;
        marked = true;
        i = -1;
    }
    const size_t length = (size_t)(end - text);
    const mrc_style comma = {.decimal = ','}; /* which the first lines need not show */
    return marked && length > 0 &&
           (mrc_parse_styled(text, length, style, &value) ||
            mrc_parse_styled(text, length, &comma, &value) ||
            mrc_undress(text, length, style, &dressed));
}

static bool all_marked(const mrc_classes *texts, const mrc_style *style)
{
    for (int64_t i = 0; i < texts->count; i++)
        if (!is_marked(texts->names[i], style))
            return false;
    return true;
}

/* Turn the texts of one column, which starts at x, into numbers, or refuse them. */
static mercer_status learn_column(const mercer_ctx *ctx, const char *shown, mrc_columns *file,
                                  int64_t column, int64_t text, double *x, int64_t n,
                                  int64_t stride, mrc_dress *dress, mercer_error *err)
{
    mrc_classes *texts = &file->texts[text];
    struct column c = {0};
    int64_t plain = 0, large = 0, cells = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(look(texts, &file->style, &c, err));
    for (int64_t i = 0; i < n; i++) {
        cells += mrc_text_cell_code(x[i * stride]) >= 0;
        plain += !isnan(x[i * stride]);
        large += fabs(x[i * stride]) >= 1000;
    }
    bool whole = c.dress == MRC_GROUPED ? large == 0 : plain == 0;
    if (cells == 0) /* rows with them were left out */
        goto out;
    if (file->texts_open && !file->style.dates && all_dates(texts))
        MRC_TRY(refuse(shown, file, column, text,
                       "is a date; leave the column out, name it as the id, or count days",
                       MRC_AT(.key = "drop id", .advice_key = "encode", .advice_value = "dates"),
                       err));
    char advice[MRC_DATE_FORMAT + 16] = "dates:format=", *format = advice + strlen(advice);
    if (file->texts_open && !file->style.dates && all_like_dates(texts, format))
        MRC_TRY(refuse(shown, file, column, text,
                       *format ? "may be a date; leave the column out, name it as the id, or count "
                                 "days by its format"
                               : "may be a date; leave the column out, or name it as the id",
                       MRC_AT(.key = "drop id", .advice_key = *format ? "encode" : NULL,
                              .advice_value = *format ? advice : NULL),
                       err));
    if (file->texts_open && file->max_values == 0 && !c.agree && all_marked(texts, &file->style))
        MRC_TRY(
            refuse(shown, file, column, text,
                   "is a number with a sign that is not read; write plain numbers, or leave the "
                   "column out",
                   MRC_AT(.key = "drop"), err));
    if (!c.agree || !whole) {
        /* A text, unless all of it are numbers: these must not become columns of 0 and 1. */
        if (file->texts_open && !c.numbers)
            goto out;
        MRC_TRY(refuse(
            shown, file, column, text,
            c.dress == MRC_GROUPED   ? "has a thousands separator, but other cells of "
                                       "the column are written in another way"
            : c.dress == MRC_PERCENT ? "has a percent sign, but other cells of the "
                                       "column are written in another way"
            : c.dress == MRC_DATE    ? "is a date, but other cells of the column are not"
                                     : "is not a number",
            MRC_AT(.key = c.dress == MRC_GROUPED ? "thousands decimal" : NULL,
                   .cause = c.dress == MRC_BOOLEAN ? MERCER_CAUSE_NOT_A_NUMBER : MERCER_CAUSE_NONE),
            err));
    }
    if (c.dress == MRC_GROUPED && !c.certain)
        MRC_TRY(refuse(shown, file, column, text,
                       "may be more than a thousand or have a decimal mark, and nothing in the "
                       "column says which",
                       MRC_AT(.key = "decimal thousands"), err));
    for (int64_t i = 0; i < n; i++) {
        int64_t code = mrc_text_cell_code(x[i * stride]);
        if (code >= 0)
            x[i * stride] = c.value[code];
    }
    *dress = c.dress;
    notify(ctx, shown, file, column, c.dress, cells);
    mrc_classes_destroy(texts);
out:
    mrc_free(c.value);
    return rc;
}

mercer_status mrc_dress_learn(mercer_prepare *prepare, const mercer_ctx *ctx, const char *shown,
                              mrc_columns *file, double *x, double *values, int64_t n,
                              mercer_error *err)
{
    mrc_dress *dress = NULL, *targets = NULL;
    bool any = false, any_target = false;
    mercer_status rc = MERCER_OK;
    file->dress_open = false;
    if (!file->texts)
        return MERCER_OK;
    MRC_TRY(mrc_alloc(&dress, file->data, sizeof *dress, err));
    MRC_TRY(mrc_alloc(&targets, file->targets + 1, sizeof *targets, err));
    for (int64_t i = 0; i < file->count; i++) {
        int64_t role = file->role[i];
        if (role >= 0 && file->texts[role].count > 0)
            MRC_TRY(learn_column(ctx, shown, file, i, role, x + role, n, file->data, &dress[role],
                                 err));
        if (role >= 0)
            any |= dress[role] != MRC_PLAIN;
        if (!mrc_role_is_target(role))
            continue;
        int64_t k = MRC_ROLE_TARGET(role);
        if (file->texts[file->data + k].count > 0)
            MRC_TRY(learn_column(ctx, shown, file, i, file->data + k, values + k, n, file->targets,
                                 &targets[k], err));
        any_target |= targets[k] != MRC_PLAIN;
    }
    if (any) {
        prepare->dress = dress;
        prepare->dress_count = file->data;
        dress = NULL;
    }
    if (any_target) {
        prepare->target_dress = targets;
        prepare->target_dress_count = file->targets;
        targets = NULL;
    }
    file->dress = prepare->dress;
    file->target_dress = prepare->target_dress;
out:
    mrc_free(dress);
    mrc_free(targets);
    return rc;
}
