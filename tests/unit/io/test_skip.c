/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that are stepped over: whoever skips some rows and reads others gets what a reader of all
 * rows gets there, with the same errors; and parts of a file are together what the file is. */
#include "data_support.h"

#include "ranks.h"

#include "io/reader.h"

#include <math.h>
#include <zlib.h>

/* ---- messy tables ---- */

static uint64_t dice;

/* 0 .. most - 1 */
static int roll(int most)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((dice >> 33) % (uint64_t)most);
}

static bool often(int percent)
{
    return roll(100) < percent;
}

static char text[1 << 20];
static size_t used;

static void put(const char *words)
{
    size_t length = strlen(words);
    assert_true(used + length < sizeof text);
    memcpy(text + used, words, length);
    used += length;
}

static void put_number(double value)
{
    char number[64];
    snprintf(number, sizeof number, "%.6g", value);
    put(number);
}

static const char *line_end(int kind)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    return ends[kind < 3 ? kind : roll(3)];
}

/* What is wrong with a table, at one of its rows. */
enum wrong { NOTHING, WORD, TOO_FEW, TOO_MANY, NOT_CLOSED, BEHIND_QUOTE, ZERO_BYTE, BLANK, WRONGS };

static void put_class(char delimiter)
{
    static const char *const classes[] = {
        "red",        "green", "\"blue\"", "\"two\nlines\"", "\"a \"\"b\"\"\"",
        "\"x\r\ny\"", "\"#\"", "it's 5\"", "\"\"\"\""};
    const char *word = classes[roll(9)];
    put(delimiter == ' ' && strchr(word, '5') ? "red" : word);
}

static void put_cell(char delimiter)
{
    const double value = (roll(4000) - 2000) / 8.0;
    const bool quoted = often(10), blanks = often(10) && delimiter != ' ';
    put(blanks ? "  " : "");
    put(quoted ? "\"" : "");
    put_number(value);
    put(quoted ? "\"" : "");
    put(blanks ? " " : "");
}

/* A table of CSV; the label, if there is one, is the last column. */
static void make_csv(mercer_read_options *o, int64_t rows, enum wrong wrong)
{
    static const char *const names[] = {"\"p\"", "q", "\"r\ns\"", "t", "label"};
    static const char delimiters[] = ",;\t ";
    static const char *const asked[] = {"comma", "semicolon", "tab", "space"};
    static char position[2];
    const int columns = 1 + roll(4), kind = roll(4), way = often(70) ? 0 : roll(4);
    const bool label = often(50), header = often(50);
    const char separator[2] = {delimiters[way], 0};
    const int64_t bad = rows > 0 ? roll((int)rows) : 0;
    used = 0;
    mercer_read_options_init(o);
    o->format = "csv";
    o->delimiter = asked[way];
    o->decimal = "point";
    o->comment = often(50) ? "#" : NULL;
    o->header = header ? "yes" : "no";
    position[0] = (char)('1' + columns);
    o->label = !label ? NULL : header ? "label" : position;
    o->no_label = !label;
    put(often(10) ? "\xef\xbb\xbf" : "");
    put(o->comment && often(50) ? "# \"a comment\n" : "");
    put(often(20) ? "\n" : "");
    for (int j = 0; header && j < columns + label; j++) {
        put(j > 0 ? separator : "");
        put(names[j == columns ? 4 : j]);
    }
    put(header ? line_end(kind) : "");
    for (int64_t i = 0; i < rows; i++) {
        const enum wrong here = i == bad ? wrong : NOTHING;
        const int cells = columns - (here == TOO_FEW) + (here == TOO_MANY);
        if (often(5) && (columns + label > 1 || here == BLANK))
            put(line_end(kind));
        if (often(5) && o->comment)
            put("#, \"not, closed\n");
        for (int j = 0; j < cells; j++) {
            put(j > 0 ? separator : "");
            if (here == WORD && j == 0)
                put("xx");
            else if (here == BEHIND_QUOTE && j == 0)
                put("\"1\"2");
            else if (here == NOT_CLOSED && j == 0)
                put("\"1");
            else
                put_cell(separator[0]);
            if (here == ZERO_BYTE && j == 0)
                text[used++] = 0;
        }
        if (label) {
            put(cells > 0 ? separator : "");
            put_class(separator[0]);
        }
        if (i + 1 < rows || often(70))
            put(line_end(kind));
    }
}

static void make_libsvm(mercer_read_options *o, int64_t rows, enum wrong wrong)
{
    static const char *const words[] = {"red", "green", "+1", "1", "1.0", "a:b"};
    const int kind = roll(5), ends = roll(2);
    const int64_t bad = rows > 0 ? roll((int)rows) : 0;
    used = 0;
    mercer_read_options_init(o);
    o->format = "libsvm";
    o->label = kind == 2 ? "label" : NULL;
    o->no_label = kind == 1 && often(50);
    o->columns = often(50) ? 45 : 0;
    for (int64_t i = 0; i < rows; i++) {
        const enum wrong here = i == bad ? wrong : NOTHING;
        int64_t index = 0;
        put(often(5) ? " \t\n" : "");
        put(often(5) ? "# 1 2:3\n" : "");
        put(often(5) ? "  " : "");
        if (kind == 1)
            put_number(roll(3));
        else if (kind == 2)
            put(words[roll(5)]);
        else if (kind == 3)
            put_number(roll(100) / 8.0);
        else if (kind == 4)
            put(here == TOO_FEW ? "1" : often(50) ? "1,0" : "0,3");
        if (here == TOO_MANY)
            put(kind == 0 ? "1 " : "");
        if (here == WORD && kind > 0 && i > 0)
            put(" 0:1");
        put(kind > 0 && often(5) ? " qid:3" : "");
        for (int k = roll(6); k > 0; k--) {
            index += 1 + roll(7);
            put(" ");
            put_number((double)index);
            put(here == BEHIND_QUOTE ? ":x" : ":");
            put_number((roll(4000) - 2000) / 8.0);
        }
        put(kind == 0 && index == 0 ? "1:2" : "");
        put(here == NOT_CLOSED ? " 3:1 2:1" : "");
        put(often(5) ? " # 7:x" : "");
        put(often(5) ? "  " : "");
        if (i + 1 < rows || often(70))
            put(line_end(ends));
    }
    put(o->columns == 0 && rows > 0 && wrong == NOTHING && kind > 0 && kind != 4 && kind != 2
            ? "\n1 45:1\n"
            : "");
}

/* ---- what two readers have ---- */

static const char *class_of(const mercer_targets *t, int64_t i)
{
    return t->kind == MERCER_TARGET_CLASSES ? t->class_names[t->codes[i]] : "";
}

/* Row i of one table is row j of the other. */
static void assert_same_row(const mercer_table *a, int64_t i, const mercer_table *b, int64_t j)
{
    enum { MOST = 64 };
    double x[MOST], y[MOST];
    const mercer_targets *s = &a->targets, *t = &b->targets;
    assert_int_equal(a->rows->d, b->rows->d);
    assert_int_equal(mercer_rows_is_sparse(a->rows), mercer_rows_is_sparse(b->rows));
    if (mercer_rows_is_sparse(a->rows)) {
        const mrc_csr *p = &a->rows->csr, *q = &b->rows->csr;
        const size_t count = (size_t)(p->start[i + 1] - p->start[i]);
        assert_int_equal(count, q->start[j + 1] - q->start[j]);
        for (size_t k = 0; k < count; k++)
            assert_true(p->column[p->start[i] + (int64_t)k] == q->column[q->start[j] + (int64_t)k]);
        if (count > 0)
            assert_memory_equal(p->value + p->start[i], q->value + q->start[j],
                                count * sizeof *p->value);
    } else {
        assert_true(a->rows->d <= MOST);
        mercer_rows_copy(a->rows, i, 1, x);
        mercer_rows_copy(b->rows, j, 1, y);
        assert_memory_equal(x, y, (size_t)a->rows->d * sizeof *x);
    }
    assert_int_equal(s->kind, t->kind);
    assert_int_equal(s->columns, t->columns);
    assert_string_equal(class_of(s, i), class_of(t, j));
    for (int64_t k = 0; s->kind == MERCER_TARGET_VALUES && k < s->columns; k++)
        assert_true(s->values[i * s->columns + k] == t->values[j * t->columns + k]);
}

static void assert_same_error(const mercer_error *a, const mercer_error *b)
{
    assert_int_equal(a->code, b->code);
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->line, b->line);
}

static mercer_reader *open_text(const mercer_read_options *o, mercer_error *why)
{
    mercer_reader *reader = NULL;
    *why = (mercer_error){.code = MERCER_OK};
    (void)mrc_reader_open_memory(ctx, "table", text, used, o, &reader, why);
    return reader;
}

static int stepped_over, failed_alike; /* what the tables came to, to see that they tell */

/* Read in blocks, and read some of these and step over the others. */
static void check_steps(const mercer_read_options *o)
{
    mercer_error why, other;
    mercer_reader *all = open_text(o, &why), *some = open_text(o, &other);
    assert_int_equal(!all, !some);
    if (!all)
        assert_same_error(&why, &other);
    for (int step = 0; all; step++) {
        const int64_t rows = often(5) ? INT64_MAX - 1 : 1 + roll(7);
        const bool skips = often(60);
        mercer_table *a = NULL, *b = NULL;
        int64_t skipped = 0;
        mercer_status rc = mercer_reader_next(ctx, all, rows, &a, &why);
        if (rc != MERCER_OK && skips)
            break; /* whether the other one sees it depends on what it is */
        mercer_status rc2 = skips ? mercer_reader_skip(ctx, some, rows, &skipped, &other)
                                  : mercer_reader_next(ctx, some, rows, &b, &other);
        assert_int_equal(rc, rc2);
        failed_alike += rc != MERCER_OK;
        stepped_over += (int)skipped;
        if (rc != MERCER_OK)
            assert_same_error(&why, &other);
        if (rc != MERCER_OK)
            break;
        if (skips)
            assert_int_equal(skipped, a ? a->rows->n : 0);
        else
            assert_int_equal(!a, !b);
        for (int64_t i = 0; b && i < a->rows->n; i++)
            assert_same_row(a, i, b, i);
        const bool ended = !a;
        mercer_table_free(a);
        mercer_table_free(b);
        if (ended)
            break;
    }
    mercer_reader_close(all);
    mercer_reader_close(some);
}

static void test_steps(void **state)
{
    enum { TABLES = 6000 };
    mercer_read_options o;
    (void)state;
    dice = 1;
    for (int way = 0; way < 2; way++) {
        stepped_over = failed_alike = 0;
        for (int t = 0; t < TABLES; t++) {
            const enum wrong wrong = often(30) ? (enum wrong)roll(WRONGS) : NOTHING;
            const int64_t rows = often(5) ? roll(3) : 1 + roll(40);
            way ? make_libsvm(&o, rows, wrong) : make_csv(&o, rows, wrong);
            check_steps(&o);
        }
        assert_true(stepped_over > 5 * TABLES);
        assert_true(failed_alike > TABLES / 50);
    }
}

/* A table that is longer than the buffer, with rows that it ends in. */
static void test_long_tables(void **state)
{
    mercer_read_options o;
    (void)state;
    dice = 2;
    for (int t = 0; t < 30; t++) {
        mercer_error why;
        t % 2 ? make_libsvm(&o, 15000, NOTHING) : make_csv(&o, 15000, NOTHING);
        mercer_reader *all = open_text(&o, &why), *some = open_text(&o, &why);
        assert_true(all && some);
        for (bool ended = false; !ended;) {
            const int64_t rows = 1 + roll(5000);
            int64_t seen = 0, skipped;
            mercer_table *a = NULL, *b = NULL;
            while (seen < rows && !ended) { /* the first block that is learnt from may be short */
                mercer_table_free(a);
                a = NULL;
                assert_ok(mercer_reader_next(ctx, all, rows - seen, &a, &err));
                ended = !a;
                seen += a ? a->rows->n : 0;
            }
            assert_ok(mercer_reader_skip(ctx, some, rows, &skipped, &err));
            assert_int_equal(skipped, seen);
            mercer_table_free(a);
            a = NULL;
            if (ended)
                break;
            assert_ok(mercer_reader_next(ctx, all, 2, &a, &err));
            assert_ok(mercer_reader_next(ctx, some, 2, &b, &err));
            assert_int_equal(!a, !b);
            for (int64_t i = 0; a && i < a->rows->n; i++)
                assert_same_row(a, i, b, i);
            ended = !a;
            mercer_table_free(a);
            mercer_table_free(b);
        }
        mercer_reader_close(all);
        mercer_reader_close(some);
    }
}

/* ---- parts ---- */

/* What a rank reads. */
struct reading {
    const char *path;
    const mercer_read_options *options;
    mercer_table *part;
    char told[512];
};

/* What is told of classes by the judgement of all ranks. */
static void keep_notice(void *host, const mercer_notice *notice)
{
    if (strstr(notice->text, "different numbers; if these") || strstr(notice->text, "of class"))
        snprintf(host, sizeof((struct reading *)NULL)->told, "%s", notice->text);
}

static mercer_status read_part(struct rank *rank, mercer_ctx *one, mercer_error *why)
{
    struct reading *reading = rank->arg;
    mercer_ctx_set_notice(one, keep_notice, reading->told);
    return mercer_table_read_part(one, reading->path, reading->options, &reading->part, why);
}

/* All ranks read their parts, which are the caller's. */
static void read_parts(const char *path, const mercer_read_options *o, int size, int64_t fail_alloc,
                       struct rank *ranks, struct reading *readings)
{
    struct rank_world world = {.size = size, .fail_rank = -1};
    for (int r = 0; r < size; r++) {
        readings[r] = (struct reading){.path = path, .options = o};
        ranks[r].arg = &readings[r];
        ranks[r].fail_alloc = r == 1 ? fail_alloc : -1;
    }
    run_ranks(&world, ranks, read_part);
}

/* A part holds the rows of the table from `seen` on; its classes are in the order of their first
 * rows, of which `known` are in the parts before it. */
static void check_part(const mercer_table *whole, const mercer_table *part, int64_t seen,
                       int64_t *known)
{
    assert_int_equal(part->rows->total, whole->rows->n);
    assert_int_equal(part->rows->d, whole->rows->d);
    assert_int_equal(part->rows->first, part->rows->n > 0 ? seen : part->rows->first);
    for (int64_t i = 0; i < part->rows->n; i++)
        assert_same_row(whole, seen + i, part, i);
    for (int64_t c = 0; part->rows->n > 0 && c < part->targets.classes; c++) {
        int64_t at = 0;
        while (strcmp(whole->targets.class_names[at], part->targets.class_names[c]) != 0)
            at++;
        assert_true(at <= *known);
        *known += at == *known;
    }
}

/* The parts of all ranks are the table; the error of the lowest rank that has one is that of the
 * table. */
static void check_parts(const char *path, const mercer_read_options *o)
{
    static const int sizes[] = {1, 2, 3, 4, 7};
    mercer_error whole_why = {0};
    mercer_table *whole = NULL;
    char told[sizeof((struct reading *)NULL)->told] = "";
    mercer_ctx_set_notice(ctx, keep_notice, told);
    const mercer_status rc = mercer_table_read(ctx, path, o, &whole, &whole_why);
    mercer_ctx_set_notice(ctx, NULL, NULL);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct rank ranks[MAX_RANKS] = {0};
        struct reading readings[MAX_RANKS];
        int64_t seen = 0, known = 0;
        int lowest = -1;
        read_parts(path, o, sizes[s], -1, ranks, readings);
        for (int r = 0; r < sizes[s]; r++) {
            assert_int_equal(ranks[r].rc != MERCER_OK, rc != MERCER_OK);
            assert_int_equal(ranks[r].rc != MERCER_OK, readings[r].part == NULL);
            if (ranks[r].rc != MERCER_OK && ranks[r].rc != MERCER_ERR_PEER && lowest < 0)
                lowest = r;
            if (rc == MERCER_OK)
                assert_string_equal(readings[r].told, told);
            if (readings[r].part) {
                check_part(whole, readings[r].part, seen, &known);
                seen += readings[r].part->rows->n;
            }
            mercer_table_free(readings[r].part);
        }
        assert_int_equal(rc != MERCER_OK, lowest >= 0);
        if (lowest >= 0)
            assert_same_error(&whole_why, &ranks[lowest].why);
        if (whole)
            assert_int_equal(seen, whole->rows->n);
    }
    mercer_table_free(whole);
}

static void test_parts_of_text(void **state)
{
    static const int64_t counts[] = {1, 2, 255, 257, 1025, 2100, 3077};
    mercer_read_options o;
    (void)state;
    dice = 3;
    for (int t = 0; t < 280; t++) {
        const enum wrong wrong = t % 3 == 2 ? (enum wrong)(t / 3 % WRONGS) : NOTHING;
        const int64_t rows = counts[t % 7];
        t % 2 ? make_libsvm(&o, rows, wrong) : make_csv(&o, rows, wrong);
        check_parts(put_bytes("a", text, used), &o);
    }
}

/* Class i of a kind. */
static const char *class_of_kind(char kind, int i)
{
    static char name[16];
    const char *const words[] = {"low", "high", "a,b", "0.5x"};
    switch (kind) {
    case 'w':
        return words[i % 4][1] == ',' ? "\"a,b\"" : words[i % 4];
    case 'd': /* digits */
        snprintf(name, sizeof name, "%d", i % 10);
        break;
    case 'n': /* whole numbers */
        snprintf(name, sizeof name, "%d", i % 60);
        break;
    case 'm': /* others of them */
        snprintf(name, sizeof name, "%d.0", 60 + i % 60);
        break;
    default:
        snprintf(name, sizeof name, "%d.5", i % 30);
    }
    return name;
}

/* What a rank alone would take for classes, and the next one for values, is judged by all. */
static void test_classes_of_all_ranks(void **state)
{
    static const char *const columns[] = {"wf", "fw",     "df",     "fd",     "dn", "nm", "nw",
                                          "mn", "dddddw", "dddddf", "fddddw", "w",  "n",  "f"};
    enum { ROWS = 3077 };
    mercer_read_options o;
    (void)state;
    mercer_read_options_init(&o);
    for (size_t t = 0; t < sizeof columns / sizeof *columns; t++) {
        const int stretches = (int)strlen(columns[t]);
        used = 0;
        put("a,label\n");
        for (int i = 0; i < ROWS; i++) {
            put(i % 2 ? "1.5," : "2.5,");
            put(class_of_kind(columns[t][i * stretches / ROWS], i));
            put("\n");
        }
        check_parts(put_bytes("a.csv", text, used), &o);
    }
    /* A first line that may be names: no other rank has its class, or one has. */
    o.label = "3";
    for (int again = 0; again < 2; again++) {
        used = 0;
        put("2019,2020,kind\n");
        for (int i = 0; i < ROWS; i++)
            put(i == ROWS - 2 && again ? "1.5,2.5,kind\n" : i % 2 ? "1.5,2.5,a\n" : "2,3,b\n");
        check_parts(put_bytes("a.csv", text, used), &o);
    }
    /* Names that are longer than a message shows of them. */
    static char line[1024];
    snprintf(line, sizeof line, "2019,2020,%0600d-kind\n", 0);
    for (int again = 0; again < 2; again++) {
        used = 0;
        put(line);
        for (int i = 0; i < ROWS; i++)
            put(i == ROWS - 2 && again ? line : i % 2 ? "1.5,2.5,a\n" : "2,3,b\n");
        check_parts(put_bytes("a.csv", text, used), &o);
    }
}

/* Entries in no order, and rows and columns without any. */
static void test_parts_of_a_matrix(void **state)
{
    enum { ROWS = 3077, COLUMNS = 40, ENTRIES = 9000 };
    mercer_read_options o;
    (void)state;
    dice = 4;
    mercer_read_options_init(&o);
    o.format = "mtx";
    used = 0;
    put("%%MatrixMarket matrix coordinate real general\n% made\n3077 40 9000\n");
    for (int k = 0; k < ENTRIES; k++) {
        put_number(1 + roll(ROWS));
        put(" ");
        put_number(1 + roll(COLUMNS - 3));
        put(" ");
        put_number((roll(4000) - 2000) / 8.0);
        put("\n");
    }
    check_parts(put_bytes("a.mtx", text, used), &o);
    o.label = "2";
    check_parts(put_bytes("a.mtx", text, used), &o);
    o.label = NULL;
    o.target = "3,4";
    check_parts(put_bytes("a.mtx", text, used), &o);
    used = 0;
    put("%%MatrixMarket matrix array real general\n300 2\n");
    for (int k = 0; k < 600; k++) {
        put_number((roll(4000) - 2000) / 8.0);
        put("\n");
    }
    o.target = NULL;
    check_parts(put_bytes("a.mtx", text, used), &o);
}

/* What is wrong with an entry of a matrix: nothing, or something that every rank sees, or that the
 * one sees that has the row. */
static const char *const wrong_lines[] = {"",
                                          "3 4\n",
                                          "1 2 x\n",
                                          "5000 1 1\n",
                                          "1 1 1e999\n",
                                          "7 7 1e308\n7 7 1e308\n7 7 1e308\n",
                                          "2000 7 1e308\n2000 7 1e308\n2000 7 1e308\n"};

static void test_parts_of_special_matrices(void **state)
{
    static const char *const kinds[] = {"real symmetric", "integer skew-symmetric",
                                        "pattern symmetric", "real general"};
    enum { ROWS = 2100, ENTRIES = 4000, WRONG = sizeof wrong_lines / sizeof *wrong_lines };
    mercer_read_options o;
    (void)state;
    dice = 6;
    mercer_read_options_init(&o);
    o.format = "mtx";
    for (int t = 0; t < 4 + WRONG; t++) {
        const char *kind = kinds[t < 4 ? t : 3], *wrong = t < 4 ? "" : wrong_lines[t - 4];
        char head[128];
        int64_t added = 0;
        for (const char *p = wrong; *p; p++)
            added += *p == '\n';
        used = 0;
        snprintf(head, sizeof head, "%%%%MatrixMarket matrix coordinate %s\n%d %d %d\n", kind, ROWS,
                 ROWS, ENTRIES + (int)added + (t == 4)); /* one more than there are */
        put(head);
        for (int k = 0; k < ENTRIES; k++) {
            const int i = 1 + roll(ROWS), j = 1 + roll(ROWS);
            put(k == 2500 ? wrong : "");
            put_number(i > j ? i : j);
            put(" ");
            put_number(i > j ? j : i);
            put(" ");
            if (kind[0] != 'p')
                put_number(roll(200) - 100);
            put("\n");
        }
        check_parts(put_bytes("a.mtx", text, used), &o);
    }
}

/* ---- sparse archives ---- */

static unsigned char archive[1 << 20];
static unsigned char directory[4096];
static size_t archive_used, directory_used;
static int members;

static size_t put_little(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = i < 8 ? (unsigned char)(value >> 8 * i) : 0;
    return (size_t)bytes;
}

/* The fields that a member has in front of it and in the table. */
static size_t put_fields(unsigned char *to, uint32_t check, size_t size, size_t name)
{
    unsigned char *p = to;
    p += put_little(p, 20, 2); /* version; no flags, stored, no time */
    p += put_little(p, 0, 8);
    p += put_little(p, check, 4);
    p += put_little(p, size, 4);
    p += put_little(p, size, 4);
    p += put_little(p, name, 2);
    p += put_little(p, 0, 2);
    return (size_t)(p - to);
}

/* An array with one axis into the archive, stored. */
static void put_array(const char *name, const char *dtype, const void *values, int64_t count,
                      size_t width, bool damaged)
{
    unsigned char *begin = archive + archive_used, *p = begin, *q = directory + directory_used;
    char header[119], file[32];
    const int length = snprintf(file, sizeof file, "%s.npy", name);
    const size_t size = 128 + (size_t)count * width;
    unsigned char *body = begin + 30 + length;
    assert_true(archive_used + size + 64 < sizeof archive);
    memset(header, ' ', sizeof header);
    memcpy(body, "\x93NUMPY\1\0\x76\0", 10);
    const int used_here = snprintf(header, sizeof header,
                                   "{'descr': '%s', 'fortran_order': False, 'shape': (%lld,), }",
                                   dtype, (long long)count);
    header[used_here] = ' ';
    header[117] = '\n';
    memcpy(body + 10, header, 118);
    memcpy(body + 128, values, (size_t)count * width);
    const uint32_t check = (uint32_t)crc32(0, body, (uInt)size) ^ damaged;
    p += put_little(p, 0x04034b50, 4);
    p += put_fields(p, check, size, (size_t)length);
    memcpy(p, file, (size_t)length);
    q += put_little(q, 0x02014b50, 4);
    q += put_little(q, 20, 2);
    q += put_fields(q, check, size, (size_t)length);
    q += put_little(q, 0, 10);
    q += put_little(q, archive_used, 4);
    memcpy(q, file, (size_t)length);
    directory_used = (size_t)(q - directory) + (size_t)length;
    archive_used += 30 + (size_t)length + size;
    members++;
}

static const char *end_archive(void)
{
    unsigned char *p = archive + archive_used + directory_used;
    memcpy(archive + archive_used, directory, directory_used);
    p += put_little(p, 0x06054b50, 4);
    p += put_little(p, 0, 4);
    p += put_little(p, (uint64_t)members, 2);
    p += put_little(p, (uint64_t)members, 2);
    p += put_little(p, directory_used, 4);
    p += put_little(p, archive_used, 4);
    p += put_little(p, 0, 2);
    const char *path = put_bytes("a.npz", archive, (size_t)(p - archive));
    archive_used = directory_used = 0;
    members = 0;
    return path;
}

enum { LINES = 3077, WIDE = 40, NUMBERS = 30000 };

/* A matrix of the given number of lines, which are rows (csr) or columns (csc), or entry by entry
 * (coo); in no order within a line, some twice in one place. at: an entry that is wrong; -1: none.
 */
static const char *make_archive(const char *format, int wrong)
{
    static int32_t start[LINES + 1], line[NUMBERS], place[NUMBERS];
    static double value[NUMBERS];
    const bool rows = strcmp(format, "csc") != 0;
    const int32_t shape[] = {rows ? LINES : WIDE, rows ? WIDE : LINES};
    int64_t indices = NUMBERS;
    for (int k = 0; k < NUMBERS; k++)
        start[1 + roll(LINES) * 9 / 10]++;
    for (int i = 0, k = 0; i < LINES; i++) {
        start[i + 1] += start[i];
        for (; k < start[i + 1]; k++) {
            line[k] = i;
            place[k] = roll(WIDE - 3);
            value[k] = (roll(4000) - 2000) / 8.0;
        }
    }
    if (wrong == 1)
        place[NUMBERS - 5] = WIDE;
    if (wrong == 2)
        place[3] = -1;
    if (wrong == 3)
        start[LINES - 1] = start[LINES] + 1;
    if (wrong == 4)
        value[NUMBERS - 5] = NAN;
    if (wrong == 5)
        value[3] = INFINITY;
    indices -= wrong == 6;
    put_array("indices", "<i4", place, indices, 4, wrong == 7);
    put_array("indptr", "<i4", start, LINES + 1, 4, wrong == 8);
    put_array("row", "<i4", line, NUMBERS, 4, false);
    put_array("col", "<i4", place, indices, 4, false);
    put_array("format", "|S3", format, 1, 3, false);
    put_array("shape", "<i4", shape, 2, 4, false);
    put_array("data", "<f8", value, NUMBERS, 8, wrong == 9);
    memset(start, 0, sizeof start);
    return end_archive();
}

static void test_parts_of_archives(void **state)
{
    enum { ALL_WRONG = 10 };
    static const char *const formats[] = {"csr", "csc", "coo"};
    mercer_read_options o;
    (void)state;
    dice = 7;
    mercer_read_options_init(&o);
    o.format = "npz";
    for (int t = 0; t < 3; t++)
        for (int wrong = 0; wrong < ALL_WRONG; wrong++)
            check_parts(make_archive(formats[t], wrong), &o);
    o.label = "2";
    check_parts(make_archive("csr", 0), &o);
    o.label = NULL;
    o.target = "3,4";
    check_parts(make_archive("csr", 0), &o);
    /* Dense ones are stepped over. */
    static double x[2100];
    o.target = NULL;
    for (int i = 0; i < 2100; i++)
        x[i] = roll(9);
    put_array("x", "<f8", x, 2100, 8, false);
    check_parts(end_archive(), &o);
}

static mercer_status sum_of_one(void *host, double *values, int64_t count, mercer_error *why)
{
    (void)host, (void)values, (void)count, (void)why;
    return MERCER_OK;
}

static mercer_status broadcast_of_one(void *host, void *data, size_t bytes, int root,
                                      mercer_error *why)
{
    (void)host, (void)data, (void)bytes, (void)root, (void)why;
    return MERCER_OK;
}

/* A rank of several, of which the others are not there. */
static mercer_ctx *lonely_ctx(int rank, int size)
{
    mercer_ctx *one = NULL;
    mercer_comm comm;
    mercer_comm_init(&comm);
    comm.rank = rank;
    comm.size = size;
    comm.sum = sum_of_one;
    comm.broadcast = broadcast_of_one;
    assert_ok(mercer_ctx_new(&one, &err));
    assert_ok(mercer_ctx_set_comm(one, &comm, &err));
    return one;
}

/* A rank takes memory for its own rows. */
static void test_memory_of_parts(void **state)
{
    mercer_read_options o;
    (void)state;
    dice = 8;
    for (int t = 0; t < 2; t++) {
        mercer_read_options_init(&o);
        o.format = t ? "npz" : "mtx";
        used = 0;
        put("%%MatrixMarket matrix coordinate real general\n3077 40 80000\n");
        for (int k = 0; k < 80000 && !t; k++) {
            put_number(1 + roll(LINES));
            put(" ");
            put_number(1 + k % 40);
            put(" 1\n");
        }
        const char *path = t ? make_archive("csr", 0) : put_bytes("a.mtx", text, used);
        int64_t peaks[2] = {0};
        for (int spread = 0; spread < 2; spread++)
            for (int r = 0; r < (spread ? 8 : 1); r++) {
                mercer_ctx *one = lonely_ctx(r, spread ? 8 : 1);
                mercer_table *part = NULL;
                (void)mrc_alloc_peak(true);
                const int64_t before = mrc_alloc_peak(false);
                assert_ok(mercer_table_read_part(one, path, &o, &part, &err));
                const int64_t peak = mrc_alloc_peak(false) - before;
                peaks[spread] = peak > peaks[spread] ? peak : peaks[spread];
                mercer_table_free(part);
                mercer_ctx_free(one);
            }
        /* beside buffers that do not depend on the rows */
        assert_true((double)peaks[1] < (t ? 0.7 : 0.4) * (double)peaks[0]);
    }
}

/* Text in other encodings is gone through twice, too. */
static void test_parts_of_utf16(void **state)
{
    static char wide[2 * 40000 + 2];
    mercer_read_options o;
    (void)state;
    mercer_read_options_init(&o);
    o.format = "csv";
    for (int big = 0; big < 2; big++) {
        size_t length = 0;
        used = 0;
        put("a,b,label\r\n");
        for (int i = 0; i < 2100; i++) {
            put_number(i % 7);
            put(i % 2 ? ",2.5,x\r\n" : ",\"3\",\"y\ny\"\r\n");
        }
        wide[length++] = big ? '\xfe' : '\xff';
        wide[length++] = big ? '\xff' : '\xfe';
        for (size_t i = 0; i < used; i++) {
            wide[length + (size_t)big] = text[i];
            wide[length + 1 - (size_t)big] = 0;
            length += 2;
        }
        check_parts(put_bytes("a.csv", wide, length), &o);
    }
}

static void test_every_allocation_fails(void **state)
{
    mercer_read_options o;
    (void)state;
    dice = 5;
    for (int t = 0; t < 9; t++) {
        t % 2 ? make_libsvm(&o, 2100, NOTHING) : make_csv(&o, 2100, NOTHING);
        const char *path = put_bytes("a", text, used);
        if (t > 5) {
            mercer_read_options_init(&o);
            o.format = "npz";
            path = make_archive(t == 6 ? "csr" : t == 7 ? "csc" : "coo", 0);
        }
        const int64_t live = mrc_alloc_live();
        for (int64_t k = 0;; k++) {
            struct rank ranks[MAX_RANKS] = {0};
            struct reading readings[MAX_RANKS];
            read_parts(path, &o, 2, k, ranks, readings);
            mercer_table_free(readings[0].part);
            mercer_table_free(readings[1].part);
            if (!ranks[1].alloc_failed)
                break;
            assert_int_equal(ranks[0].rc, MERCER_ERR_PEER);
            assert_int_equal(ranks[1].rc, MERCER_ERR_MEMORY);
        }
        assert_int_equal(mrc_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_steps),
        TEST(test_long_tables),
        TEST(test_parts_of_text),
        TEST(test_parts_of_a_matrix),
        TEST(test_classes_of_all_ranks),
        TEST(test_parts_of_special_matrices),
        TEST(test_parts_of_archives),
        TEST(test_memory_of_parts),
        TEST(test_parts_of_utf16),
        TEST(test_every_allocation_fails),
    };
    return RUN_TESTS(tests);
}
