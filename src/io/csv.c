/* SPDX-License-Identifier: BSD-3-Clause */
/* CSV and TSV.
 *
 * Cells are separated by a comma (or tab, or what the first lines or the caller say: sniff.c),
 * lines end in LF, CRLF or CR. A cell in double quotes may hold separators, line ends and doubled
 * quotes. Blanks around a cell do not count. Lines that start with the caller's mark of comments,
 * and blank lines, are skipped; in a table of one column a blank line is refused. An empty cell and
 * words as NA are missing values: NaN where the reader takes them. Numbers that are not plain are
 * taken where a whole column agrees (data/dress.c). Texts that are kept must be UTF-8.
 *
 * The first row is a header when the caller says so; unless he says that it is none, also when
 *   (a) none of its cells is a number and one of them is a word (but see NA), or
 *   (b) a cell is the name by which the caller asks for a column, or
 *   (c) it has the names of the columns wanted (a model's), in their order or in another, or
 *   (d) a cell is "label" or "target", or
 *   (e) in some column it holds a word where the second row holds a number, or
 *   (f) all its cells are quoted, and the second row has a number that is not.
 * A word for a missing value is neither word nor number here, like an empty cell: "NA,1.5,2" is a
 * row. "NA,setosa" above "1.5,setosa" is one, too, with a notice: NA stands above a number (or
 * another such word), and no word does. "NA,EU" above "1,2" is a header. A position is not a name
 * in (b): with label 3 or position:3 the cell 3 decides nothing, with name:3 it does. Names that
 * count 0, 1, 2, ... or 1, 2, 3, ... decide in their order alone in (c): in another a row can have
 * them, too. So "5.1,3.5,setosa" is a row of data, also as the first line, and "x,y,2010" is a
 * header. "2019,2020,kind" is one with label "kind". With label 3 nothing decides: it is a row, and
 * a notice says so when no other row is of that class (table.c). A first row that counts up by one,
 * from 0, 1 or, in three columns or more, any other number, is a row with a notice; so is one of
 * whole numbers that differ, beside a word that is not a class. Columns that are left out by their
 * positions, the id and the groups do not count among the numbers.
 *
 * Rows are parsed in place from a large buffer, numbers straight into the block; only a cell that
 * is not a plain number followed by a separator takes the slow way. When the buffer ends inside a
 * row, the row is parsed again from its start after more bytes have come: nothing is stored until
 * its end, except class names, where repeating does no harm. Cost: O(bytes), no allocation per
 * cell. */
#include "base/number.h"
#include "data/dress.h"
#include "data/prepare.h"
#include "io/format.h"
#include "io/sniff.h"
#include "io/text.h"
#include "io/writer.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csv {
    mrc_table_source *source; /* borrowed */
    mrc_text text;
    char delimiter; /* ' ': any run of blanks */
    char comment;   /* lines that start with it are skipped; 0: none are */
    bool *quick;    /* of each column: a plain number can be taken as it stands */
    char *scratch;  /* a quoted cell without its escapes */
    size_t scratch_size;
    int64_t rows;       /* that were read, the header left out */
    int64_t blank_line; /* the first blank line that was skipped; or 0 */
};

/* How a piece of parsing ended. */
enum outcome {
    CELL_INSIDE, /* a separator follows: the row goes on */
    CELL_LAST,   /* a line end or the end of the file follows */
    CELL_MORE,   /* the buffer ends before the cell does */
    CELL_BAD     /* err says why */
};

struct cell {
    const char *text; /* without quotes, escapes and blanks around it */
    size_t length;
    bool quoted;
};

/* Where parsing stands inside a row. */
struct place {
    const char *p;
    int64_t line;
};

static bool is_blank(const struct csv *csv, char c)
{
    return c == ' ' || (c == '\t' && csv->delimiter != '\t');
}

/* Step over a line end at p; false when the buffer ends before it is clear which. */
static bool skip_line_end(const struct csv *csv, struct place *at)
{
    const char *end = csv->text.data + csv->text.end;
    if (*at->p == '\r') {
        if (at->p + 1 >= end && !csv->text.ended)
            return false;
        if (at->p + 1 < end && at->p[1] == '\n')
            at->p++;
    }
    if (at->p < end)
        at->p++;
    at->line++;
    return true;
}

/* Copy a quoted cell without its doubled quotes. */
static mercer_status unescape(struct csv *csv, struct cell *cell, mercer_error *err)
{
    if (csv->scratch_size < cell->length) {
        mercer_status rc = mrc_grow(&csv->scratch, (int64_t)cell->length, 1, err);
        if (rc != MERCER_OK)
            return rc;
        csv->scratch_size = cell->length;
    }
    size_t used = 0;
    for (size_t i = 0; i < cell->length; i++) {
        csv->scratch[used++] = cell->text[i];
        if (cell->text[i] == '"')
            i++;
    }
    cell->text = csv->scratch;
    cell->length = used;
    return MERCER_OK;
}

/* The quoted cell whose opening quote stands at at->p; at->p then stands behind the closing one. */
static enum outcome quoted_cell(struct csv *csv, struct place *at, struct cell *cell,
                                mercer_error *err)
{
    const char *end = csv->text.data + csv->text.end, *p = at->p + 1;
    int64_t first_line = at->line;
    bool escapes = false;
    cell->text = p;
    cell->quoted = true;
    for (;; p++) {
        if (p >= end) {
            if (!csv->text.ended)
                return CELL_MORE;
            mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_AT(.line = first_line, .names_file = 1),
                        "%s:%lld: a quoted cell is never closed", csv->text.input->shown,
                        (long long)first_line);
            return CELL_BAD;
        }
        if (*p == '"') {
            if (p + 1 >= end && !csv->text.ended)
                return CELL_MORE;
            if (p[1] != '"')
                break;
            escapes = true;
            p++;
        }
        at->line += *p == '\n' || (*p == '\r' && p[1] != '\n');
    }
    cell->length = (size_t)(p - cell->text);
    at->p = p + 1;
    if (escapes && unescape(csv, cell, err) != MERCER_OK)
        return CELL_BAD;
    return CELL_INSIDE;
}

/* The cell at at->p, and a step over what ends it. */
static enum outcome next_cell(struct csv *csv, struct place *at, struct cell *cell,
                              mercer_error *err)
{
    const char *end = csv->text.data + csv->text.end;
    while (at->p < end && is_blank(csv, *at->p))
        at->p++;
    *cell = (struct cell){.text = at->p};
    if (at->p < end && *at->p == '"') {
        enum outcome outcome = quoted_cell(csv, at, cell, err);
        if (outcome != CELL_INSIDE)
            return outcome;
        while (at->p < end && is_blank(csv, *at->p))
            at->p++;
        if (at->p < end && *at->p != csv->delimiter && *at->p != '\n' && *at->p != '\r' &&
            !(csv->delimiter == ' ' && is_blank(csv, at->p[-1]))) {
            mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_AT(.line = at->line, .names_file = 1),
                        "%s:%lld: text behind the closing quote of a cell", csv->text.input->shown,
                        (long long)at->line);
            return CELL_BAD;
        }
    } else {
        while (*at->p != csv->delimiter && *at->p != '\n' && *at->p != '\r' &&
               !(csv->delimiter == ' ' && *at->p == '\t'))
            at->p++;
        const char *last = at->p;
        while (last > cell->text && is_blank(csv, last[-1]))
            last--;
        cell->length = (size_t)(last - cell->text);
    }
    if (at->p >= end && !csv->text.ended)
        return CELL_MORE;
    if (cell->length > 0 && memchr(cell->text, 0, cell->length)) {
        mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_AT(.line = at->line, .names_file = 1),
                    "%s:%lld: a zero byte; this is not a text file", csv->text.input->shown,
                    (long long)at->line);
        return CELL_BAD;
    }
    if (csv->delimiter == ' ') {
        while (at->p < end && is_blank(csv, *at->p))
            at->p++;
        if (at->p >= end && !csv->text.ended)
            return CELL_MORE;
        if (at->p < end && *at->p != '\n' && *at->p != '\r')
            return CELL_INSIDE;
    } else if (at->p < end && *at->p == csv->delimiter) {
        at->p++;
        return CELL_INSIDE;
    }
    return skip_line_end(csv, at) ? CELL_LAST : CELL_MORE;
}

/* Skip blank lines at the start of the unread text. *end: nothing follows them. */
static mercer_status skip_blank_lines(struct csv *csv, bool *end, mercer_error *err)
{
    mrc_text *text = &csv->text;
    *end = false;
    for (;;) {
        struct place at = {text->data + text->start, text->line};
        const char *limit = text->data + text->end;
        while (at.p < limit && is_blank(csv, *at.p))
            at.p++;
        bool comment = csv->comment && at.p < limit && *at.p == csv->comment;
        while (comment && at.p < limit && *at.p != '\n' && *at.p != '\r')
            at.p++;
        bool clear = at.p < limit || text->ended;
        if (clear && at.p < limit && *at.p != '\n' && *at.p != '\r')
            return MERCER_OK;
        if (clear && at.p >= limit) {
            *end = true;
            return MERCER_OK;
        }
        if (clear && skip_line_end(csv, &at)) {
            if (!csv->blank_line && !comment)
                csv->blank_line = text->line;
            text->start = (size_t)(at.p - text->data);
            text->line = at.line;
            continue;
        }
        mercer_status rc = mrc_text_more(text, err);
        if (rc != MERCER_OK)
            return rc;
    }
}

/* Step over what may stand in front of a row. *end: none follows. */
static mercer_status stand_at_row(struct csv *csv, bool *end, mercer_error *err)
{
    const mrc_text *text = &csv->text;
    const char c = text->data[text->start];
    *end = false;
    if (c == '\n' || c == '\r' || is_blank(csv, c) || text->start == text->end ||
        (csv->comment && c == csv->comment))
        return skip_blank_lines(csv, end, err);
    return MERCER_OK;
}

/* A row follows; a blank line before it was inside the table. In a table of one column it may be a
 * missing value. */
static mercer_status refuse_blank_line(const struct csv *csv, const mrc_columns *columns,
                                       mercer_error *err)
{
    if (!csv->blank_line || columns->count != 1)
        return MERCER_OK;
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_AT(.line = csv->blank_line, .names_file = 1),
                       "%s:%lld: a blank line inside a table of one column, where it may be a "
                       "missing value",
                       csv->text.input->shown, (long long)csv->blank_line);
}

static bool means_missing(const mrc_columns *columns, const struct cell *cell)
{
    return mrc_means_missing(cell->text, cell->length, columns->encode) ||
           (columns->na_count > 0 && mrc_means_na(columns, cell->text, cell->length));
}

/* Whether a cell of one of the first rows looks like a number, in whatever dress. */
static bool looks_number(const mrc_columns *columns, const struct cell *cell, double *value)
{
    mrc_dressed dressed;
    if (mrc_parse_styled(cell->text, cell->length, &columns->style, value))
        return true;
    bool found = mrc_undress(cell->text, cell->length, &columns->style, &dressed);
    *value = found ? dressed.value : *value;
    return found;
}

/* Refuse a text that is not UTF-8. */
static mercer_status check_text(const struct csv *csv, const struct cell *cell, int64_t line,
                                mercer_error *err)
{
    size_t bad = mrc_text_first_bad(cell->text, cell->length);
    return bad == cell->length
               ? MERCER_OK
               : mrc_text_fail_bad(&csv->text, line, (unsigned char)cell->text[bad], err);
}

/* What the cells of one of the first rows look like. */
enum {
    LOOKS_NUMBER = 1,
    LOOKS_QUOTED = 2,
    LOOKS_EMPTY = 4, /* no value: an empty cell or a word for a missing value */
    LOOKS_WHOLE = 8,
    LOOKS_MARKER = 16 /* such a word */
};
struct looks {
    unsigned char *cells;
    int64_t count, capacity;
    size_t length; /* bytes of the row, with its line end */
    int64_t lines;
};

/* Look at the row that starts `offset` bytes and `lines` lines behind the start of the unread text.
 */
static mercer_status look_at_row(struct csv *csv, const mrc_columns *columns, size_t offset,
                                 int64_t lines, struct looks *looks, mercer_error *err)
{
    mrc_text *text = &csv->text;
    mercer_error local = {.code = MERCER_OK}; /* err may be NULL, but its code is needed */
    mercer_status rc;
    for (;;) {
        struct place at = {text->data + text->start + offset, text->line + lines};
        const char *first = at.p;
        enum outcome outcome = CELL_INSIDE;
        looks->count = 0;
        while (outcome == CELL_INSIDE) {
            struct cell cell;
            double value;
            outcome = next_cell(csv, &at, &cell, &local);
            if (outcome == CELL_BAD)
                return mrc_fail_again(err, local.code, &local);
            if (outcome == CELL_MORE)
                break;
            if ((rc = mrc_budget_columns(text->budget, looks->count + 1, false, err)) != MERCER_OK)
                return rc;
            if (looks->count == looks->capacity) {
                int64_t capacity = 2 * looks->capacity + 16, left = mrc_budget_left(text->budget);
                if (looks->count >= left)
                    return mrc_budget_fail(text->budget, "this number of columns",
                                           (double)looks->count + 1, err);
                capacity = capacity < left ? capacity : left;
                if ((rc = mrc_grow(&looks->cells, capacity, 1, err)) != MERCER_OK)
                    return rc;
                looks->capacity = capacity;
            }
            int kind = means_missing(columns, &cell) ? LOOKS_EMPTY : 0;
            kind |= kind && cell.length > 0 ? LOOKS_MARKER : 0;
            if (looks_number(columns, &cell, &value))
                kind |= LOOKS_NUMBER | (isfinite(value) && value == floor(value) ? LOOKS_WHOLE : 0);
            kind |= cell.quoted ? LOOKS_QUOTED : 0;
            looks->cells[looks->count++] = (unsigned char)kind;
        }
        if (outcome == CELL_LAST) {
            looks->length = (size_t)(at.p - first);
            looks->lines = at.line - text->line - lines;
            return MERCER_OK;
        }
        if ((rc = mrc_text_more(text, err)) != MERCER_OK)
            return rc;
    }
}

/* The rule at the top of this file, as far as the first row tells. Only when it does not, the
 * second is looked at: on a pipe it may not have come yet. */
enum header { HEADER_NO, HEADER_YES, HEADER_BY_SECOND, HEADER_UNLESS_SECOND };

/* What the texts in the first row tell. */
struct clues {
    bool named; /* a cell is the name of the label or of a target that is asked for */
    bool model; /* the names of the columns wanted are there */
    bool usual; /* a cell is "label" or "target" */
    bool
        counts; /* besides columns of other roles there are 0, 1, 2, ... or 2019, 2020, 2021, ... */
    bool whole; /* besides them, and words, there are whole numbers, no two the same */
    bool beside; /* and a word, of the id or a column that is left out, or of data */
};

static bool is_text(const struct cell *cell, const char *text)
{
    return strlen(text) == cell->length && memcmp(text, cell->text, cell->length) == 0;
}

/* How a text means columns: all of it is one, or a list of them, in which a number is a position,
 * also where a cell has the same number. */
enum naming { ONE_COLUMN, LIST, LIST_FOR_NUMBER };

/* Whether a text of names and positions names this cell, or has its position. */
static void look_in_list(const char *list, enum naming naming, const struct cell *cell,
                         int64_t column, int64_t count, bool *named, bool *placed)
{
    for (const char *p = list; p;) {
        size_t length = naming == ONE_COLUMN ? strlen(p) : strcspn(p, ",");
        mrc_asked asked = mrc_column_asked(p, length, count);
        int64_t first, last;
        *placed |= asked.position == column + 1;
        *placed |= naming != ONE_COLUMN && mrc_column_range(p, length, count, &first, &last) &&
                   column + 1 >= first && column + 1 <= last;
        *named |= !asked.position && naming != LIST_FOR_NUMBER && length == cell->length &&
                  memcmp(p, cell->text, length) == 0;
        *named |= asked.name && asked.length == cell->length &&
                  memcmp(asked.name, cell->text, asked.length) == 0;
        p = p[length] ? p + length + 1 : NULL;
    }
}

static bool names_count(const char *const *names, int64_t count)
{
    int64_t value, first = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!mrc_parse_int(names[i], strlen(names[i]), &value))
            return false;
        first = i == 0 ? value : first;
        if (first < 0 || first > 1 || value != first + i)
            return false;
    }
    return true;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static bool is_date(const struct cell *cell)
{
    char format[MRC_DATE_FORMAT];
    double days;
    return mrc_parse_date(cell->text, cell->length, NULL, &days) ||
           mrc_looks_like_date(cell->text, cell->length, format);
}

/* Visit the cells of the first row, all of which is in the buffer. */
static mercer_status walk_first(struct csv *csv, const struct looks *first,
                                const mercer_read_options *options, double *values,
                                int64_t *value_count, struct clues *clues, mercer_error *err)
{
    struct place at = {csv->text.data + csv->text.start, csv->text.line};
    int64_t in_order = 0;
    bool all_count = true; /* labels among them */
    double start = 0;
    clues->counts = clues->whole = true;
    for (int64_t i = 0; i < first->count; i++) {
        struct cell cell;
        bool named = false, placed = false;
        if (next_cell(csv, &at, &cell, err) == CELL_BAD)
            return MERCER_ERR_MEMORY; /* the row was looked at; only unescaping can still fail */
        clues->usual |= is_text(&cell, "label") || is_text(&cell, "target");
        look_in_list(options->label, ONE_COLUMN, &cell, i, first->count, &named, &placed);
        look_in_list(options->target, ONE_COLUMN, &cell, i, first->count, &named, &placed);
        look_in_list(options->target, LIST, &cell, i, first->count, &named, &placed);
        const bool predicted = named || placed;
        look_in_list(options->id, ONE_COLUMN, &cell, i, first->count, &named, &placed);
        look_in_list(options->groups, ONE_COLUMN, &cell, i, first->count, &named, &placed);
        const bool has_role = named || placed, number = first->cells[i] & LOOKS_NUMBER;
        const enum naming list = number ? LIST_FOR_NUMBER : LIST;
        bool used = false;
        look_in_list(options->use_columns, list, &cell, i, first->count, &named, &used);
        look_in_list(options->drop_columns, list, &cell, i, first->count, &named, &placed);
        placed |= options->use_columns && !used;
        clues->named |= named;
        in_order += in_order < options->only_count && is_text(&cell, options->only[in_order]);
        double value = 0;
        int64_t k = *value_count;
        bool whole = (first->cells[i] & LOOKS_WHOLE) && !(first->cells[i] & LOOKS_EMPTY);
        if (whole)
            mrc_parse_double(cell.text, cell.length, &value);
        start = i == 0 ? value : start;
        all_count &= whole && value == start + (double)i;
        const bool apart = has_role || placed;
        const bool word = !number && !is_date(&cell) && (apart || !(first->cells[i] & LOOKS_EMPTY));
        clues->beside |= word && !predicted;
        if (apart)
            continue;
        clues->whole &= whole || word;
        clues->counts &= !word;
        if (word)
            continue;
        clues->counts &= whole && (k == 0 || value == values[0] + (double)k);
        values[(*value_count)++] = value;
    }
    clues->beside &= *value_count > 0;
    /* Two numbers are neighbours too easily, unless they are the first ones. */
    clues->counts &= *value_count > 2 || (*value_count == 2 && (values[0] == 0 || values[0] == 1));
    clues->counts |= all_count && first->count > 1 && (start == 0 || start == 1);
    clues->model = options->only_count > 0 && in_order == options->only_count;
    return MERCER_OK;
}

/* Whether the first row has a cell of this text. */
static bool has_cell(struct csv *csv, const struct looks *first, const char *text,
                     mercer_error *err)
{
    struct place at = {csv->text.data + csv->text.start, csv->text.line};
    struct cell cell;
    for (int64_t i = 0; i < first->count; i++)
        if (next_cell(csv, &at, &cell, err) != CELL_BAD && is_text(&cell, text))
            return true;
    return false;
}

static mercer_status find_clues(struct csv *csv, const struct looks *first,
                                const mercer_read_options *options, struct clues *clues,
                                mercer_error *err)
{
    double *values = NULL;
    int64_t count = 0;
    mercer_status rc = MERCER_OK;
    *clues = (struct clues){0};
    if (first->count > mrc_budget_left(csv->text.budget) / (int64_t)sizeof *values)
        MRC_TRY(mrc_budget_fail(csv->text.budget, "this number of columns",
                                (double)first->count * sizeof *values, err));
    MRC_TRY(mrc_alloc2_raw(&values, first->count, 1, sizeof *values, err));
    MRC_TRY(walk_first(csv, first, options, values, &count, clues, err));
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    for (int64_t i = 1; i < count; i++)
        clues->whole &= values[i] > values[i - 1];
    bool other = !clues->model && first->count >= options->only_count && options->only_count > 0 &&
                 !names_count(options->only, options->only_count);
    for (int64_t j = 0; other && j < options->only_count; j++)
        other = has_cell(csv, first, options->only[j], err);
    clues->model |= other;
out:
    mrc_free(values);
    return rc;
}

static enum header header_by_first(const struct looks *first)
{
    bool any_number = false, any_word = false, any_marker = false, all_quoted = true;
    for (int64_t i = 0; i < first->count; i++) {
        any_number |= (first->cells[i] & LOOKS_NUMBER) != 0;
        any_marker |= (first->cells[i] & LOOKS_MARKER) != 0;
        any_word |= !(first->cells[i] & (LOOKS_NUMBER | LOOKS_EMPTY));
        all_quoted &= (first->cells[i] & LOOKS_QUOTED) != 0;
    }
    if (!any_number && any_word)
        return any_marker ? HEADER_UNLESS_SECOND : HEADER_YES;
    return any_word || all_quoted ? HEADER_BY_SECOND : HEADER_NO;
}

/* What the second row says. second->count is 0 when there is none. */
static bool header_by_second(const struct looks *first, const struct looks *second, bool unless)
{
    bool all_quoted = true, marker_above = false;
    for (int64_t i = 0; i < first->count; i++)
        all_quoted &= (first->cells[i] & LOOKS_QUOTED) != 0;
    for (int64_t i = 0; i < first->count && i < second->count; i++) {
        bool word = !(first->cells[i] & (LOOKS_NUMBER | LOOKS_EMPTY));
        bool number = (second->cells[i] & LOOKS_NUMBER) != 0;
        if (number && (word || (all_quoted && !(second->cells[i] & LOOKS_QUOTED))))
            return true;
        marker_above |=
            (second->cells[i] & (LOOKS_NUMBER | LOOKS_EMPTY)) && (first->cells[i] & LOOKS_MARKER);
    }
    return unless && !marker_above;
}

/* A name for each column from the header row; one without a name is called by its position. */
static mercer_status take_names(struct csv *csv, mercer_ctx *ctx, const struct looks *header,
                                bool certain, mrc_columns *columns, mercer_error *err)
{
    const int64_t shift = columns->count - header->count; /* 1: that of the row names is left out */
    mrc_text *text = &csv->text;
    struct place at = {text->data + text->start, text->line};
    int64_t numbers = 0;
    assert(header->cells);
    mercer_status rc = mrc_budget_take(text->budget, columns->count, MRC_NAME_BYTES,
                                       "the names of all columns", err);
    if (rc == MERCER_OK)
        rc = mrc_alloc(&columns->names, columns->count, sizeof *columns->names, err);
    for (int64_t i = 0; i < columns->count && rc == MERCER_OK; i++) {
        struct cell cell = {.text = "", .length = 0};
        char position[MRC_NUMBER_SIZE + 8] = "column";
        if (i >= shift && next_cell(csv, &at, &cell, err) == CELL_BAD)
            return MERCER_ERR_MEMORY; /* the row was looked at; only unescaping can still fail */
        if ((rc = check_text(csv, &cell, at.line - (i + 1 == columns->count), err)) != MERCER_OK)
            break;
        numbers += i >= shift && (header->cells[i - shift] & LOOKS_NUMBER) != 0;
        columns->unnamed |= i == 0 && cell.length == 0;
        if (cell.length == 0) {
            cell.length = 6 + (size_t)mrc_format_double((double)(i + 1), position + 6);
            cell.text = position;
        }
        rc = mrc_budget_name(text->budget, "a column", cell.length, err);
        if (rc == MERCER_OK)
            rc = mrc_alloc(&columns->names[i], (int64_t)cell.length + 1, 1, err);
        if (rc == MERCER_OK)
            memcpy(columns->names[i], cell.text, cell.length);
    }
    if (rc == MERCER_OK && numbers && !certain)
        mrc_notice_at(ctx, MRC_AT(.advice_key = "header", .advice_value = "no", .names_file = 1),
                      "%s: the first line is read as column names, although %lld of its %lld cells "
                      "%s; header no reads it as data",
                      text->input->shown, (long long)numbers, (long long)header->count,
                      numbers == 1 ? "is a number" : "are numbers");
    text->start += header->length;
    text->line += header->lines;
    return rc;
}

/* Decide by the first row, whose cells are known, and if need be by the second. *certain: nobody
 * can doubt it. */
static mercer_status decide_header(struct csv *csv, mercer_ctx *ctx,
                                   const mercer_read_options *options, const mrc_columns *columns,
                                   const struct looks *first, bool *yes, bool *certain,
                                   mercer_error *err)
{
    mrc_text *text = &csv->text;
    struct looks second = {0};
    struct clues clues;
    mercer_status rc = MERCER_OK;
    *certain = options->header != NULL;
    *yes = *certain && strcmp(options->header, "yes") == 0;
    enum header header = header_by_first(first);
    if (*certain || header == HEADER_YES) {
        *yes |= !*certain;
        goto out;
    }
    MRC_TRY(find_clues(csv, first, options, &clues, err));
    *certain = clues.named || clues.model;
    *yes = *certain || clues.usual;
    if (*yes)
        goto out;
    if (header != HEADER_NO) {
        if (text->end - text->start == first->length && !text->ended)
            MRC_TRY(mrc_text_more(text, err));
        if (text->end - text->start > first->length)
            MRC_TRY(look_at_row(csv, columns, first->length, first->lines, &second, err));
        *yes = header_by_second(first, &second, header == HEADER_UNLESS_SECOND);
    }
    if (!*yes && header == HEADER_UNLESS_SECOND)
        mrc_notice_at(
            ctx, MRC_AT(.key = "header", .names_file = 1),
            "%s: the first line is read as data, because a word for a missing value stands "
            "above a number or another one; header yes reads it as column names, header "
            "no reads it as data without this note",
            text->input->shown);
    clues.beside &= !*yes && clues.whole && !clues.counts;
    csv->source->doubtful = !*yes && clues.whole && !clues.beside;
    if (clues.beside)
        mrc_notice_at(ctx, MRC_AT(.key = "header", .names_file = 1),
                      "%s: the first line is read as data, but it may be column names, because its "
                      "numbers are whole and differ, as years do; header yes reads it as names, "
                      "header no reads it as data without this note",
                      text->input->shown);
    if (!*yes && clues.counts)
        mrc_notice_at(
            ctx, MRC_AT(.key = "header", .names_file = 1),
            "%s: the first line is read as data, but it counts up by one, as column names "
            "may do; header yes reads it as names, header no reads it as data without "
            "this note",
            text->input->shown);
out:
    mrc_free(second.cells);
    return rc;
}

/* Whether whoever writes the input may wait for answers to the first rows. */
static bool is_live(const struct csv *csv)
{
    const mrc_input *input = csv->text.input;
    return !csv->source->fill_blocks && (input->borrowed_fd || !mrc_input_rewinds(input));
}

/* Whether the cell is that number, written plainly. */
static bool is_count(const struct cell *cell, int64_t number)
{
    int64_t value;
    return mrc_parse_int(cell->text, cell->length, &value) && value == number;
}

enum { LOOKED_AT = 20 }; /* rows, to see what the first column has */

/* Whether the first cell of a row can be its name: a text, a number in quotes, or a whole number;
 * behind a single name not the last, since 1,5 and 1 234 are numbers, too. */
static bool can_name_row(unsigned char first, const struct looks *header)
{
    if (first & LOOKS_EMPTY)
        return false;
    return !(first & LOOKS_NUMBER) || (first & LOOKS_QUOTED) ||
           ((first & LOOKS_WHOLE) && header->count > 1);
}

/* Whether the rows behind a header have one cell more than it: names of the rows, as R writes them.
 * Of one row, and of a pipe, nothing can be said. */
static mercer_status have_row_names(struct csv *csv, const mrc_columns *columns,
                                    const struct looks *header, bool *yes, mercer_error *err)
{
    mrc_text *text = &csv->text;
    struct looks row = {0};
    size_t offset = header->length;
    int64_t lines = header->lines, seen = 0;
    mercer_error why;
    bool more = !is_live(csv), filled = false;
    mercer_status rc = MERCER_OK;
    while (more && seen < LOOKED_AT) {
        while (text->end - text->start == offset && !text->ended)
            MRC_TRY(mrc_text_more(text, err));
        if (text->end - text->start == offset)
            break;
        rc = look_at_row(csv, columns, offset, lines, &row, &why);
        if (rc == MERCER_ERR_MEMORY || rc == MERCER_ERR_BUDGET) {
            if (err)
                *err = why;
            goto out;
        }
        const bool blank = rc == MERCER_OK && row.count == 1 && (row.cells[0] & LOOKS_EMPTY);
        /* Where the last cell is empty, each line may end in a separator too much. */
        filled |= rc == MERCER_OK && row.count > 0 && !(row.cells[row.count - 1] & LOOKS_EMPTY);
        more = rc == MERCER_OK &&
               (blank || (row.count == header->count + 1 && can_name_row(row.cells[0], header)));
        rc = MERCER_OK; /* what is wrong with a row is told when it is read */
        seen += !blank;
        offset += row.length;
        lines += row.lines;
    }
    *yes = more && seen > 1 && filled;
out:
    mrc_free(row.cells);
    return rc;
}

/* What stands in a first column without a name, by the first LOOKED_AT rows. Of one row nothing can
 * be said, nor of a pipe, where the second may wait for an answer to the first. row_names: numbers
 * in quotes are names, too; without them they have to count, or may be data below a ragged header.
 */
static mercer_status look_at_unnamed(struct csv *csv, mrc_columns *columns, bool row_names,
                                     mercer_error *err)
{
    mrc_text *text = &csv->text;
    mrc_classes texts = {.budget = text->budget};
    int64_t rows = is_live(csv) ? 0 : LOOKED_AT, seen = 0, from = 0, code;
    bool counts = true, differs = true;
    size_t offset = 0;
    mercer_status rc = MERCER_OK;
    while (seen < rows && (counts || differs)) {
        struct place at = {text->data + text->start + offset, text->line};
        struct cell cell;
        double value;
        if (at.p >= text->data + text->end && text->ended)
            break;
        enum outcome outcome = next_cell(csv, &at, &cell, NULL);
        if (outcome == CELL_BAD)
            break;                                      /* reading the rows says why */
        if (outcome == CELL_LAST && cell.length == 0) { /* an empty line is not a row */
            offset = (size_t)(at.p - text->data) - text->start;
            continue;
        }
        from = seen == 0 && is_count(&cell, 1) ? 1 : from;
        counts &= is_count(&cell, from + seen);
        differs &=
            cell.length > 0 && !means_missing(columns, &cell) &&
            ((row_names && cell.quoted) || !mrc_parse_double(cell.text, cell.length, &value));
        if (differs && outcome != CELL_MORE) {
            MRC_TRY(mrc_classes_code(&texts, cell.text, cell.length, &code, err));
            differs = code == seen;
        }
        while (outcome == CELL_INSIDE)
            outcome = next_cell(csv, &at, &cell, NULL);
        if (outcome == CELL_MORE && !text->ended) {
            MRC_TRY(mrc_text_more(text, err));
            mrc_classes_destroy(&texts);
            seen = from = 0; /* once more from the first row: bytes have moved */
            offset = 0;
            counts = differs = true;
            continue;
        }
        offset = (size_t)(at.p - text->data) - text->start;
        seen++;
    }
    if (seen > 1)
        columns->counting = counts    ? (from ? MRC_COUNTING_FROM_1 : MRC_COUNTING_FROM_0)
                            : differs ? MRC_COUNTING_TEXTS
                                      : MRC_COUNTING_NONE;
out:
    mrc_classes_destroy(&texts);
    return rc;
}

/* See that the buffer has the first `wanted` lines, as far as there are that many and they are not
 * very long; *size: the bytes of those that are complete. */
static mercer_status fetch_lines(struct csv *csv, int wanted, size_t *size, mercer_error *err)
{
    enum { ENOUGH = 1 << 20 };
    mrc_text *text = &csv->text;
    for (;;) {
        const char *first = text->data + text->start, *p = first, *end = text->data + text->end;
        int lines = 0;
        *size = 0;
        for (; p < end && lines < wanted; p++)
            if (*p == '\n' || (*p == '\r' && p + 1 < end && p[1] != '\n')) {
                lines++;
                *size = (size_t)(p + 1 - first);
            }
        if (text->ended && lines < wanted)
            *size = (size_t)(end - first);
        if (lines == wanted || text->ended || end - first > ENOUGH)
            return MERCER_OK;
        mercer_status rc = mrc_text_more(text, err);
        if (rc != MERCER_OK)
            return rc;
    }
}

/* The character that an option means: a word or the character. 0: it is none. */
static char character_of(const char *word)
{
    static const struct {
        const char *word;
        char character;
    } words[] = {{"comma", ','}, {"semicolon", ';'},           {"tab", '\t'},        {"space", ' '},
                 {"point", '.'}, {"none", MRC_THOUSANDS_NONE}, {"apostrophe", '\''}, {"pipe", '|'}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i].word) == 0)
            return words[i].character;
    bool usable = word[0] && !word[1] && (unsigned char)word[0] < 0x80 &&
                  !strchr("\"\r\n.+-_", word[0]) && !isalnum((unsigned char)word[0]);
    return usable ? word[0] : 0;
}

static bool is_automatic(const char *word)
{
    return !word || strcmp(word, "auto") == 0;
}

/* Say how the text is read, where that is not how CSV is read. */
static void notify_style(const struct csv *csv, const mercer_ctx *ctx, bool delimiter, bool decimal)
{
    static const char *const names[] = {";semicolons", "\ttabs", "|pipes", " blanks"};
    const char *name = NULL, *shown = csv->text.input->shown;
    for (size_t i = 0; delimiter && i < sizeof names / sizeof *names; i++)
        name = names[i][0] == csv->delimiter ? names[i] + 1 : name;
    if (!name && !decimal)
        return;
    mrc_notice_at(ctx,
                  MRC_AT(.key = name && decimal ? "delimiter decimal"
                                : name          ? "delimiter"
                                                : "decimal",
                         .names_file = 1),
                  "%s: read %s%s%s%s", shown, name ? "as separated by " : "", name ? name : "",
                  name && decimal ? ", " : "", decimal ? "with decimal commas" : "");
}

/* Step over a first line "sep=;", by which Excel is told what separates the cells, and take it at
 * its word. size: bytes of the first lines, which become fewer. */
static bool skip_announced(struct csv *csv, size_t *size)
{
    mrc_text *text = &csv->text;
    const char *first = text->data + text->start;
    size_t line = 0;
    while (line < *size && first[line] != '\n' && first[line] != '\r')
        line++;
    const bool quoted = line > 2 && first[0] == '"' && first[line - 1] == '"';
    const char *word = first + quoted;
    if (line - 2 * (size_t)quoted != 5 || line == *size || strncmp(word, "sep=", 4) != 0 ||
        !strchr(",;\t|", word[4]))
        return false;
    csv->delimiter = word[4];
    line += first[line] == '\r' && line + 1 < *size && first[line + 1] == '\n' ? 2 : 1;
    text->start += line;
    text->line++;
    *size -= line;
    return true;
}

/* How cells are separated and numbers written, as the caller says, else by the first lines. */
static mercer_status find_style(struct csv *csv, mercer_ctx *ctx,
                                const mercer_read_options *options, mrc_columns *columns,
                                mercer_error *err)
{
    enum { LINES = 20 };
    const mrc_format *format = csv->source->format;
    bool sniffed = is_automatic(options->delimiter) && format->delimiter == ',';
    char thousands = is_automatic(options->thousands) ? 0 : character_of(options->thousands);
    bool decimal = is_automatic(options->decimal) && thousands != '.' && thousands != ',';
    size_t size = 0;
    mercer_status rc = MERCER_OK;
    csv->delimiter =
        is_automatic(options->delimiter) ? format->delimiter : character_of(options->delimiter);
    csv->comment = options->comment ? character_of(options->comment) : 0;
    if (!csv->delimiter)
        MRC_FAIL_AT(err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "delimiter"),
                    "the delimiter '%s' is neither auto, comma, semicolon, tab, space nor one "
                    "character that numbers and names do not have",
                    options->delimiter);
    if (options->comment && (!csv->comment || csv->comment == MRC_THOUSANDS_NONE))
        MRC_FAIL_AT(
            err, MERCER_ERR_ARGUMENT, MRC_AT(.key = "comment"),
            "comments cannot begin with '%s', but with one character that numbers and names "
            "do not have",
            options->comment);
    columns->style.decimal = '.';
    if (!is_automatic(options->decimal))
        columns->style.decimal = character_of(options->decimal);
    else if (thousands == '.') /* which leaves the comma */
        columns->style.decimal = ',';
    columns->style.thousands = thousands;
    if (sniffed || decimal)
        MRC_TRY(fetch_lines(csv, is_live(csv) ? 1 : LINES, &size, err));
    if (sniffed && skip_announced(csv, &size))
        sniffed = false;
    if (sniffed)
        csv->delimiter = mrc_sniff_delimiter(csv->text.data + csv->text.start, size, csv->comment);
    /* Names tell nothing of numbers. An answer is not waited for before the first row. */
    if (decimal && is_live(csv) && csv->delimiter != ',')
        MRC_TRY(fetch_lines(csv, 2, &size, err));
    if (decimal)
        columns->style.decimal =
            mrc_sniff_decimal(csv->text.data + csv->text.start, size, csv->delimiter, csv->comment,
                              &columns->style.doubtful);
    columns->style.doubtful &= csv->delimiter == ';' && !is_live(csv) && !columns->style.thousands;
    columns->style.comma_separated = csv->delimiter == ',' && columns->style.decimal == '.';
    notify_style(csv, ctx, sniffed, decimal && columns->style.decimal == ',');
out:
    return rc;
}

static mercer_status csv_open(mrc_table_source *source, mercer_ctx *ctx, void **self,
                              mercer_error *err)
{
    mrc_input *input = &source->input;
    mrc_columns *columns = &source->columns;
    struct csv *csv;
    struct looks first = {0};
    mercer_status rc = MERCER_OK;
    bool end, header = false, certain = false, row_names = false;
    MRC_TRY(mrc_alloc(&csv, 1, sizeof *csv, err));
    *self = csv;
    csv->source = source;
    MRC_TRY(
        mrc_text_init_encoded(&csv->text, input, &source->budget, source->options->encoding, err));
    MRC_TRY(find_style(csv, ctx, source->options, columns, err));
    MRC_TRY(skip_blank_lines(csv, &end, err));
    if (end)
        MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is empty", input->shown);
    csv->blank_line = 0; /* before the table they are none of its rows */
    MRC_TRY(look_at_row(csv, columns, 0, 0, &first, err));
    columns->count = first.count;
    /* The header is not stepped over before it is known to be one. */
    MRC_TRY(decide_header(csv, ctx, source->options, columns, &first, &header, &certain, err));
    if (header) {
        MRC_TRY(have_row_names(csv, columns, &first, &row_names, err));
        columns->count += row_names;
        MRC_TRY(take_names(csv, ctx, &first, certain, columns, err));
        MRC_TRY(skip_blank_lines(csv, &end, err));
        if (end)
            MRC_FAIL_AT(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: has a header but no rows",
                        input->shown);
        if (columns->unnamed)
            MRC_TRY(look_at_unnamed(csv, columns, row_names, err));
        if (row_names && columns->counting == MRC_COUNTING_NONE)
            MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_AT(.line = csv->text.line, .names_file = 1),
                        "%s:%lld: %lld cells where %lld were expected, and the first ones do not "
                        "name the rows",
                        input->shown, (long long)csv->text.line, (long long)columns->count,
                        (long long)first.count);
    }
out:
    mrc_free(first.cells);
    return rc;
}

/* Where a cell of the row that is read stands. */
static mrc_at at_cell(const struct csv *csv, const mrc_columns *columns, int64_t column,
                      int64_t line)
{
    return (mrc_at){.column = columns->names ? columns->names[column] : NULL,
                    .column_number = columns->names ? 0 : column + 1,
                    .position = column + 1,
                    .row = csv->rows + 1,
                    .line = line,
                    .names_file = 1};
}

/* How the numbers of a column with this role are written. */
static mrc_dress dress_of(const mrc_columns *columns, int64_t role)
{
    if (role >= 0)
        return columns->dress ? columns->dress[role] : MRC_PLAIN;
    return columns->target_dress && mrc_role_is_target(role)
               ? columns->target_dress[MRC_ROLE_TARGET(role)]
               : MRC_PLAIN;
}

/* Keep a cell as a text until the column is known. */
static mercer_status keep_text(struct csv *csv, mrc_columns *columns, int64_t role,
                               const struct cell *cell, int64_t line, double *out,
                               mercer_error *err)
{
    int64_t at = role >= 0 ? role : columns->data + MRC_ROLE_TARGET(role), code = 0;
    int64_t count = columns->data + columns->targets;
    mercer_status rc = MERCER_OK;
    if (!columns->texts || !columns->text_lines)
        MRC_TRY(mrc_budget_take(csv->text.budget, count,
                                sizeof *columns->texts + sizeof *columns->text_lines,
                                "this number of columns", err));
    if (!columns->texts) {
        MRC_TRY(mrc_alloc(&columns->texts, count, sizeof *columns->texts, err));
        for (int64_t j = 0; j < count; j++)
            columns->texts[j].budget = csv->text.budget;
    }
    if (!columns->text_lines)
        MRC_TRY(mrc_alloc(&columns->text_lines, count, sizeof *columns->text_lines, err));
    columns->text_lines[at] = columns->text_lines[at] ? columns->text_lines[at] : line;
    MRC_TRY(check_text(csv, cell, line, err));
    MRC_TRY(mrc_classes_code(&columns->texts[at], cell->text, cell->length, &code, err));
    *out = mrc_text_cell(code);
out:
    return rc;
}

/* A position for an option: of a column at the end of a header that has no name, with all others
 * up to the last, "5-"; else "". A name that the header does not have was made by take_names(). */
static void unnamed_range(const mrc_columns *columns, int64_t column, char out[MRC_NUMBER_SIZE + 8])
{
    char name[MRC_NUMBER_SIZE + 8] = "column";
    int64_t nameless = 0;
    *out = 0;
    for (int64_t i = column; columns->names && i < columns->count; i++, nameless++) {
        name[6 + mrc_format_double((double)(i + 1), name + 6)] = 0;
        if (strcmp(columns->names[i], name) != 0)
            break;
    }
    if (nameless == 0)
        return;
    int length = mrc_format_double((double)(column + 1), out);
    snprintf(out + length, 8, "%s", nameless > 1 && column + nameless == columns->count ? "-" : "");
}

/* A class or target value that is not there. */
static mercer_status fail_unlabelled(const struct csv *csv, const mrc_columns *columns,
                                     int64_t column, const struct cell *cell, int64_t line,
                                     const char *wanted, mercer_error *err)
{
    char where[MRC_COLUMN_SHOWN], shown[MRC_SHOWN_SIZE];
    mrc_at at = at_cell(csv, columns, column, line);
    at.cause = MERCER_CAUSE_MISSING_VALUE;
    at.key = columns->of_model ? "no_label" : NULL;
    at.advice_key = columns->of_model ? NULL : "unlabelled";
    at.advice_value = columns->of_model ? NULL : "drop";
    mrc_show(shown, cell->text, cell->length);
    return mrc_fail_at(err, MERCER_ERR_DATA, &at, "%s:%lld: %s is %s%s%s where %s is expected; %s",
                       csv->text.input->shown, (long long)line,
                       mrc_column_shown(where, columns, column), cell->length ? "'" : "empty",
                       shown, cell->length ? "'" : "", wanted,
                       columns->of_model ? "the rows can be read without labels"
                                         : "rows without one can be left out");
}

/* Say what is wrong with a cell. */
static mercer_status refuse_cell(const struct csv *csv, const mrc_columns *columns, int64_t column,
                                 const struct cell *cell, int64_t line, bool missing, bool number,
                                 mercer_error *err)
{
    static const char *const kinds[] = {[MRC_PERCENT] = "a percentage",
                                        [MRC_BOOLEAN] = "a boolean",
                                        [MRC_DATE] = "a date of the format expected"};
    double days;
    char where[MRC_COLUMN_SHOWN], shown[MRC_SHOWN_SIZE], range[MRC_NUMBER_SIZE + 8];
    char format[MRC_DATE_FORMAT];
    const char *file = csv->text.input->shown, *wanted = number ? "finite" : "a number", *hint = "";
    const char *comma = memchr(cell->text, ',', cell->length);
    mrc_dress dress = dress_of(columns, columns->role[column]);
    mrc_at at = at_cell(csv, columns, column, line);
    mrc_column_shown(where, columns, column);
    mrc_show(shown, cell->text, cell->length);
    at.cause = missing || cell->length == 0 ? MERCER_CAUSE_MISSING_VALUE
               : number                     ? MERCER_CAUSE_NONE
                                            : MERCER_CAUSE_NOT_A_NUMBER;
    if (missing && columns->role[column] < 0) {
        return fail_unlabelled(csv, columns, column, cell, line, "a value", err);
    } else if (missing) {
        hint = columns->missing_hint ? columns->missing_hint : "";
        at.advice_key = columns->missing_advice ? "missing" : NULL;
        at.advice_value = columns->missing_advice;
        unnamed_range(columns, column, range);
        if (cell->length == 0 && *range && !columns->of_model) {
            hint = "; its column has no name: where it has nothing but empty cells, leave it out";
            at.advice_key = "drop";
            at.advice_value = range;
        }
    } else if (dress == MRC_PLAIN && mrc_parse_date(cell->text, cell->length, NULL, &days)) {
        at.cause = MERCER_CAUSE_NONE;
        at.key = columns->dress_open ? "drop id" : NULL;
        at.advice_key = columns->dress_open ? "encode" : NULL;
        at.advice_value = columns->dress_open ? "dates" : NULL;
        return mrc_fail_at(err, MERCER_ERR_DATA, &at, "%s:%lld: %s: '%s' is a date%s", file,
                           (long long)line, where, shown,
                           columns->dress_open
                               ? "; leave the column out, name it as the id, or count days"
                               : ", where the model has numbers");
    } else if (dress == MRC_PERCENT || dress == MRC_BOOLEAN || dress == MRC_DATE) {
        wanted = kinds[dress];
        hint = ", as the column has them in the first rows";
        at.cause = MERCER_CAUSE_NONE;
    } else if (comma && columns->style.decimal == '.') {
        mrc_style other = {.decimal = ',', .thousands = columns->style.thousands};
        double value;
        if (mrc_parse_styled(cell->text, cell->length, &other, &value)) {
            hint = "; if it has a decimal comma, say so";
            at.advice_key = "decimal";
            at.advice_value = "comma";
            at.cause = MERCER_CAUSE_NONE;
        }
    } else if (mrc_looks_like_date(cell->text, cell->length, format) && columns->dress_open) {
        snprintf(range, sizeof range, "dates:format=%s", format);
        hint = *format ? "; if it is a date, leave the column out, name it as the id, or count "
                         "days by its format"
                       : "; if it is a date, leave the column out, or name it as the id";
        at.cause = MERCER_CAUSE_NONE;
        at.key = "drop id";
        at.advice_key = *format ? "encode" : NULL;
        at.advice_value = *format ? range : NULL;
    } else if (!number && mrc_may_mean_missing(cell->text, cell->length) && !columns->of_model) {
        snprintf(range, sizeof range, "%.*s", (int)cell->length, cell->text);
        hint = "; if it means that the value is missing, say so";
        at.cause = MERCER_CAUSE_NONE;
        at.advice_key = "na";
        at.advice_value = range;
    }
    if (cell->length == 0)
        return mrc_fail_at(err, MERCER_ERR_DATA, &at, "%s:%lld: %s is empty%s", file,
                           (long long)line, where, hint);
    return mrc_fail_at(err, MERCER_ERR_DATA, &at, "%s:%lld: %s: '%s' is not %s%s", file,
                       (long long)line, where, shown, wanted, hint);
}

/* Whether a point in a number may separate thousands. */
static bool is_doubtful(const struct cell *cell)
{
    mrc_style style = {.decimal = ','};
    mrc_dressed dressed;
    return memchr(cell->text, '.', cell->length) &&
           mrc_undress(cell->text, cell->length, &style, &dressed) && !dressed.certain;
}

static mercer_status refuse_doubtful(const struct csv *csv, const mrc_columns *columns,
                                     int64_t column, const struct cell *cell, int64_t line,
                                     mercer_error *err)
{
    char where[MRC_COLUMN_SHOWN], shown[MRC_SHOWN_SIZE];
    mrc_at at = at_cell(csv, columns, column, line);
    at.key = "decimal thousands";
    return mrc_fail_at(err, MERCER_ERR_DATA, &at,
                       "%s:%lld: %s: '%s' may be more than a thousand or have a decimal mark, and "
                       "nothing in the first lines says which",
                       csv->text.input->shown, (long long)line,
                       mrc_column_shown(where, columns, column),
                       mrc_show(shown, cell->text, cell->length));
}

/* The number in a cell that was not plain, or the reason why there is none. */
static mercer_status cell_number(struct csv *csv, int64_t column, const struct cell *cell,
                                 int64_t line, double *out, mercer_error *err)
{
    mrc_columns *columns = &csv->source->columns;
    int64_t role = columns->role[column];
    mrc_dress dress = dress_of(columns, role);
    mrc_dressed dressed = {0};
    double value = 0;
    bool plain = dress == MRC_PLAIN || dress == MRC_GROUPED;
    bool number = plain && mrc_parse_styled(cell->text, cell->length, &columns->style, &value);
    bool missing = means_missing(columns, cell);
    if (number && columns->style.doubtful && is_doubtful(cell))
        return refuse_doubtful(csv, columns, column, cell, line, err);
    if (number && isfinite(value) && !missing) {
        *out = value;
        return MERCER_OK;
    }
    if (missing && (role >= 0 ? columns->missing : columns->drop_unlabelled)) {
        *out = NAN;
        return MERCER_OK;
    }
    bool odd =
        !missing && !number && mrc_undress(cell->text, cell->length, &columns->style, &dressed);
    if (odd && dress != MRC_PLAIN && dressed.dress == dress) {
        *out = dressed.value;
        return MERCER_OK;
    }
    const mrc_classes *texts = columns->texts && role >= 0 ? &columns->texts[role] : NULL;
    bool text = !number && !missing && role >= 0 &&
                (columns->texts_open || (texts && !columns->dress_open && texts->count > 0));
    if ((odd && columns->dress_open) || text)
        return keep_text(csv, columns, role, cell, line, out, err);
    return refuse_cell(csv, columns, column, cell, line, missing, number, err);
}

static mercer_status cell_class(const struct csv *csv, const mrc_columns *columns, int64_t column,
                                const struct cell *cell, int64_t line, mrc_classes *classes,
                                int64_t *code, mercer_error *err)
{
    if (mrc_means_unlabelled(columns, cell->text, cell->length)) {
        *code = MRC_NO_LABEL;
        return columns->drop_unlabelled
                   ? MERCER_OK
                   : fail_unlabelled(csv, columns, column, cell, line, "a class", err);
    }
    mercer_status rc = check_text(csv, cell, line, err);
    if (rc != MERCER_OK)
        return rc;
    return mrc_classes_code(classes, cell->text, cell->length, code, err);
}

/* Count the cells of a row that has too many or too few, and say so. */
static enum outcome fail_ragged(struct csv *csv, const mrc_columns *columns, mercer_error *err)
{
    struct place at = {csv->text.data + csv->text.start, csv->text.line};
    struct cell cell;
    int64_t count = 0;
    enum outcome outcome = CELL_INSIDE;
    while (outcome == CELL_INSIDE) {
        outcome = next_cell(csv, &at, &cell, err);
        count++;
    }
    const char *hint = "";
    if (columns->count == 1 && csv->rows == 0 && columns->names)
        hint = "; if the first line is a title, the table has to begin with the next one";
    else if (count == columns->count + 1 && cell.length == 0 && !cell.quoted)
        hint = "; the line ends in a separator";
    if (outcome == CELL_LAST)
        mrc_fail_at(err, MERCER_ERR_FORMAT,
                    MRC_AT(.row = csv->rows + 1, .line = csv->text.line, .names_file = 1),
                    "%s:%lld: %lld cell%s where %lld %s expected%s", csv->text.input->shown,
                    (long long)csv->text.line, (long long)count, count == 1 ? "" : "s",
                    (long long)columns->count, columns->count == 1 ? "was" : "were", hint);
    return outcome == CELL_MORE ? CELL_MORE : CELL_BAD;
}

/* The id of the row that is read; one that was seen to count must go on counting. */
static mercer_status cell_id(const struct csv *csv, const mrc_columns *columns,
                             const struct cell *cell, int64_t line, mrc_block *block,
                             mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE];
    int64_t expected = csv->rows + (columns->counting == MRC_COUNTING_FROM_1);
    bool counting =
        columns->counting == MRC_COUNTING_FROM_0 || columns->counting == MRC_COUNTING_FROM_1;
    if (counting && !is_count(cell, expected)) {
        mrc_at at = at_cell(csv, columns, columns->id, line);
        at.advice_key = "id";
        at.advice_value = "1";
        return mrc_fail_at(err, MERCER_ERR_DATA, &at,
                           "%s:%lld: column 1 has no name and counts rows up to here, where it has "
                           "'%s'; say whether it is the id (id 1) or data (id none)",
                           csv->text.input->shown, (long long)line,
                           mrc_show(shown, cell->text, cell->length));
    }
    mercer_status rc = check_text(csv, cell, line, err);
    if (rc != MERCER_OK)
        return rc;
    return mrc_block_set_text(block, &block->ids, block->n, cell->text, cell->length, err);
}

/* The group of the row that is read, which has to have one. */
static mercer_status cell_group(const struct csv *csv, const mrc_columns *columns,
                                const struct cell *cell, int64_t line, mrc_block *block,
                                mercer_error *err)
{
    mercer_status rc = check_text(csv, cell, line, err);
    if (rc != MERCER_OK)
        return rc;
    if (means_missing(columns, cell)) {
        char shown[MRC_SHOWN_SIZE];
        mrc_at at = at_cell(csv, columns, columns->group, line);
        at.key = "groups";
        return mrc_fail_at(err, MERCER_ERR_DATA, &at, "%s:%lld: '%s' is not the group of a row",
                           csv->text.input->shown, (long long)line,
                           mrc_show(shown, cell->text, cell->length));
    }
    return mrc_block_set_text(block, &block->groups, block->n, cell->text, cell->length, err);
}

/* Parse the row at the start of the unread text into the next row of the block, and step over it.
 */
static enum outcome parse_row(struct csv *csv, const mrc_columns *columns, mrc_classes *classes,
                              mrc_block *block, mercer_error *err)
{
    double *x = block->x + block->n * columns->data;
    double *values = block->values ? block->values + block->n * columns->targets : NULL;
    int64_t *code = block->codes ? block->codes + block->n : NULL;
    mrc_text *text = &csv->text;
    const char *end = text->data + text->end;
    const int64_t *role = columns->role;
    int64_t count = columns->count;
    struct place at = {text->data + text->start, text->line};
    enum outcome outcome = CELL_INSIDE;
    for (int64_t i = 0; i < count; i++) {
        double *slot = role[i] >= 0                  ? x + role[i]
                       : mrc_role_is_target(role[i]) ? values + MRC_ROLE_TARGET(role[i])
                                                     : NULL;
        if (csv->quick[i]) {
            double value;
            const char *stop = mrc_scan_double(at.p, end, &value);
            /* value - value is 0 unless the number overflowed; that goes the slow way. */
            if (stop && stop < end && *stop == (i + 1 < count ? csv->delimiter : '\n') &&
                value - value == 0) {
                *slot = value;
                at.p = stop + 1;
                continue;
            }
        }
        struct cell cell;
        int64_t line = at.line;
        outcome = next_cell(csv, &at, &cell, err);
        if (outcome == CELL_MORE || outcome == CELL_BAD)
            return outcome;
        if ((outcome == CELL_LAST) != (i + 1 == count))
            return fail_ragged(csv, columns, err);
        if (role[i] == MRC_ROLE_SKIPPED)
            continue;
        if ((role[i] == MRC_ROLE_LABEL
                 ? cell_class(csv, columns, i, &cell, line, classes, code, err)
             : role[i] == MRC_ROLE_ID ? cell_id(csv, columns, &cell, line, block, err)
             : role[i] == MRC_ROLE_GROUP
                 ? cell_group(csv, columns, &cell, line, block, err)
                 : cell_number(csv, i, &cell, line, slot, err)) != MERCER_OK)
            return CELL_BAD;
    }
    /* The fast way leaves the line of a row's last cell uncounted. */
    text->line = outcome == CELL_LAST ? at.line : at.line + 1;
    text->start = (size_t)(at.p - text->data);
    return CELL_LAST;
}

/* Which columns take plain numbers as they stand: not where every cell has another dress, where the
 * decimal mark is another one, or where a number may mean that there is none. */
static mercer_status find_quick(struct csv *csv, const mrc_columns *columns, mercer_error *err)
{
    bool all = columns->style.decimal == '.' && !columns->style.doubtful && csv->delimiter != ' ' &&
               columns->na_count == 0;
    mercer_status rc = MERCER_OK;
    if (!csv->quick)
        MRC_TRY(mrc_alloc(&csv->quick, columns->count, sizeof *csv->quick, err));
    for (int64_t i = 0; i < columns->count; i++) {
        int64_t role = columns->role[i];
        mrc_dress dress = dress_of(columns, role);
        csv->quick[i] = all && (role >= 0 || mrc_role_is_target(role)) &&
                        (dress == MRC_PLAIN || dress == MRC_GROUPED);
    }
out:
    return rc;
}

static mercer_status csv_rows(void *self, mercer_ctx *ctx, int64_t most, mrc_block *block,
                              mercer_error *err)
{
    struct csv *csv = self;
    const mrc_columns *columns = &csv->source->columns;
    mrc_classes *classes = &csv->source->classes;
    mrc_text *text = &csv->text;
    mercer_error local = {.code = MERCER_OK}; /* err may be NULL, but its code is needed */
    mercer_status rc = MERCER_OK;
    bool end = false;
    text->paused = false;
    text->fill_blocks = csv->source->fill_blocks;
    MRC_TRY(find_quick(csv, columns, err));
    while (block->n < most) {
        if (text->start == text->end && block->n > 0 && mrc_text_would_wait(text)) {
            text->paused = true;
            break;
        }
        MRC_TRY(stand_at_row(csv, &end, err));
        if (end)
            break;
        MRC_TRY(refuse_blank_line(csv, columns, err));
        if (block->n == block->capacity) {
            if (mrc_block_is_full(block, columns))
                break;
            MRC_TRY(mrc_block_grow(block, columns, most, err));
        }
        enum outcome outcome = parse_row(csv, columns, classes, block, &local);
        if (outcome == CELL_LAST) {
            block->n++;
            csv->rows++;
        } else if (outcome == CELL_MORE && block->n > 0 && mrc_text_would_wait(text)) {
            text->paused = true;
            break;
        } else if (outcome == CELL_MORE) {
            MRC_TRY(mrc_check_cancel(ctx, err));
            MRC_TRY(mrc_text_more(text, err));
            mrc_progress(ctx, "reading", mrc_input_done(text->input));
        } else {
            MRC_TRY(mrc_fail_again(err, local.code, &local));
        }
    }
out:
    return rc;
}

/* Step over the row at the start of the unread text: its end is looked for, and nothing else.
 * Quotes matter where a cell begins, so rows that have any are gone through cell by cell. */
static enum outcome skip_row(struct csv *csv, mercer_error *err)
{
    mrc_text *text = &csv->text;
    const char *first = text->data + text->start, *limit = text->data + text->end;
    const char *end = memchr(first, '\n', (size_t)(limit - first) + 1); /* there is one at limit */
    const char *quote = memchr(first, '"', (size_t)(end - first));
    const char *carriage = memchr(first, '\r', (size_t)(end - first));
    struct place at = {first, text->line};
    struct cell cell;
    enum outcome outcome = CELL_INSIDE;
    if (!quote || (carriage && carriage < quote)) {
        at.p = carriage ? carriage : end;
        outcome = at.p == limit && !text->ended ? CELL_MORE
                  : skip_line_end(csv, &at)     ? CELL_LAST
                                                : CELL_MORE;
    }
    while (outcome == CELL_INSIDE)
        outcome = next_cell(csv, &at, &cell, err);
    if (outcome == CELL_LAST) {
        text->line = at.line;
        text->start = (size_t)(at.p - text->data);
    }
    return outcome;
}

static mercer_status csv_skip(void *self, mercer_ctx *ctx, int64_t rows, int64_t *skipped,
                              mercer_error *err)
{
    struct csv *csv = self;
    const mrc_columns *columns = &csv->source->columns;
    mrc_text *text = &csv->text;
    mercer_error local = {.code = MERCER_OK}; /* err may be NULL, but its code is needed */
    bool end = false;
    mercer_status rc = MERCER_OK;
    *skipped = 0;
    while (*skipped < rows) {
        MRC_TRY(stand_at_row(csv, &end, err));
        if (end)
            break;
        MRC_TRY(refuse_blank_line(csv, columns, err));
        enum outcome outcome = skip_row(csv, &local);
        if (outcome == CELL_LAST) {
            ++*skipped;
            csv->rows++;
        } else if (outcome == CELL_MORE) {
            MRC_TRY(mrc_check_cancel(ctx, err));
            MRC_TRY(mrc_text_more(text, err));
            mrc_progress(ctx, "reading", mrc_input_done(text->input));
        } else {
            MRC_TRY(mrc_fail_again(err, local.code, &local));
        }
    }
out:
    return rc;
}

/* Stand where a line begins again. */
static mercer_status return_to_line(struct csv *csv, int64_t line, mercer_error *err)
{
    mrc_text *text = &csv->text;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_text_restart(text, err));
    while (text->line < line) {
        struct place at = {text->data + text->start, text->line};
        while (*at.p != '\n' && *at.p != '\r') /* there is a line end behind the text */
            at.p++;
        if ((at.p == text->data + text->end || !skip_line_end(csv, &at)) && !text->ended) {
            MRC_TRY(mrc_text_more(text, err));
            continue;
        }
        text->start = (size_t)(at.p - text->data);
        text->line = at.line;
    }
out:
    return rc;
}

static mercer_status csv_survey(void *self, mercer_ctx *ctx, mercer_error *err)
{
    struct csv *csv = self;
    const int64_t line = csv->text.line, blank_line = csv->blank_line;
    int64_t rows = 0;
    mercer_error why = {.code = MERCER_OK};
    mercer_status rc = MERCER_OK;
    if (!mrc_input_rewinds(csv->text.input))
        return MERCER_OK;
    rc = csv_skip(csv, ctx, INT64_MAX, &rows, &why);
    if (rc != MERCER_OK && rc != MERCER_ERR_FORMAT && rc != MERCER_ERR_DATA)
        MRC_TRY(mrc_fail_again(err, rc, &why));
    csv->source->rows = rows + (rc != MERCER_OK);
    csv->rows = 0;
    csv->blank_line = blank_line;
    rc = return_to_line(csv, line, err);
out:
    return rc;
}

static bool csv_paused(const void *self)
{
    const struct csv *csv = self;
    return csv->text.paused;
}

static void csv_close(void *self)
{
    struct csv *csv = self;
    mrc_text_destroy(&csv->text);
    mrc_free(csv->scratch);
    mrc_free(csv->quick);
    mrc_free(csv);
}

/* --- writing --- */

/* A text cell, in quotes when it needs them to be read back as it is. */
static mercer_status put_text(mercer_writer *writer, const char *text, bool quote,
                              mercer_error *err)
{
    size_t length = strlen(text);
    mercer_status rc = MERCER_OK;
    quote |= length == 0 || strpbrk(text, "\"\r\n") || strchr(text, writer->format->delimiter) ||
             strchr(" \t", text[0]) || strchr(" \t", text[length - 1]);
    if (!quote)
        return mrc_writer_put(writer, text, length, err);
    MRC_TRY(mrc_writer_put(writer, "\"", 1, err));
    for (;;) {
        size_t part = strcspn(text, "\"");
        MRC_TRY(mrc_writer_put(writer, text, part, err));
        if (!text[part])
            break;
        MRC_TRY(mrc_writer_put(writer, "\"\"", 2, err));
        text += part + 1;
    }
    MRC_TRY(mrc_writer_put(writer, "\"", 1, err));
out:
    return rc;
}

/* The header row. A name that looks like a number puts all names in quotes: so the reader knows it
 * for a header. */
static mercer_status csv_begin(mercer_writer *writer, const char *const *names,
                               const char *const *text_names, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    bool quote = false, first = true;
    double value;
    if (!names)
        return MERCER_OK;
    for (int64_t i = 0; i < writer->columns; i++)
        quote |= mrc_parse_double(names[i], strlen(names[i]), &value);
    for (int64_t k = 0; k < writer->texts; k++) {
        if (!first)
            MRC_TRY(mrc_writer_put(writer, &writer->format->delimiter, 1, err));
        MRC_TRY(put_text(writer, text_names[k], quote, err));
        first = false;
    }
    for (int64_t i = 0; i < writer->columns; i++) {
        if (!first)
            MRC_TRY(mrc_writer_put(writer, &writer->format->delimiter, 1, err));
        MRC_TRY(put_text(writer, names[i], quote, err));
        first = false;
    }
    MRC_TRY(mrc_writer_put(writer, "\n", 1, err));
out:
    return rc;
}

static mercer_status csv_row(mercer_writer *writer, const double *x, const char *const *text,
                             mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    const int64_t columns = x ? writer->columns : 0; /* a text column may stand alone */
    assert(text || writer->texts == 0);
    for (int64_t k = 0; k < writer->texts; k++) {
        if (k > 0)
            MRC_TRY(mrc_writer_put(writer, &writer->format->delimiter, 1, err));
        MRC_TRY(put_text(writer, text[k], false, err));
    }
    for (int64_t j = 0; j < columns; j++) {
        MRC_TRY(mrc_writer_room(writer, MRC_NUMBER_SIZE + 2, err));
        if (j || writer->texts > 0)
            writer->buffer[writer->used++] = writer->format->delimiter;
        writer->used += (size_t)mrc_format_double(x[j], writer->buffer + writer->used);
    }
    MRC_TRY(mrc_writer_put(writer, "\n", 1, err));
out:
    return rc;
}

static const mrc_format_writer csv_writer = {
    .many_texts = true, .begin = csv_begin, .row = csv_row};

const mrc_format mrc_format_csv = {
    .entry = {.name = "csv", .summary = "comma-separated values"},
    .endings = ".csv",
    .delimiter = ',',
    .caps = MRC_HAS_HEADER,
    .open = csv_open,
    .rows = csv_rows,
    .skip = csv_skip,
    .survey = csv_survey,
    .paused = csv_paused,
    .close = csv_close,
    .writer = &csv_writer,
};

const mrc_format mrc_format_tsv = {
    .entry = {.name = "tsv", .summary = "tab-separated values"},
    .also = "tab",
    .endings = ".tsv .tab",
    .delimiter = '\t',
    .caps = MRC_HAS_HEADER,
    .open = csv_open,
    .rows = csv_rows,
    .skip = csv_skip,
    .survey = csv_survey,
    .paused = csv_paused,
    .close = csv_close,
    .writer = &csv_writer,
};
