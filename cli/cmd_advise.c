/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer advise: what a table is, what to mend in it, and which methods suit it here.
 *
 * The table is read as other commands read it. Where that is refused, the error tells by its key,
 * column and advice which option would help; it is added, and the table read again. What is found
 * so, with the survey of the rows and the forecasts of the library, becomes commands to paste. */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
    TRIES = 60,          /* options that may be added, one after the other */
    LOOK_ROWS = 20000,   /* rows of a large table that are looked at */
    MAX_ADVICE = 3,      /* methods that are named */
    MAX_CLASSES = 50,    /* of a column that is called a class */
    MANY_ROWS = 3000,    /* from here on a choice of 1000 rows saves something */
    NOVELTY_ROWS = 200,  /* fewer held out would say nothing of a rare error */
    FOLDS = 5,           /* of evaluate */
    FEW_ROWS = 30,       /* below, one row at a time may be left out instead */
    KOCA_ROWS = 3000,    /* above, its search takes too long */
    HEAD_BYTES = 1 << 20 /* of a text whose lines are measured */
};
static const double LARGE_BYTES = 6e7;    /* a text beyond is not read to its end */
static const double TRY_SECONDS = 0.3;    /* a command that takes less is tried */
static const double SHORT_SECONDS = 1;    /* a command that is done by then is not timed */
static const double WIDE_SPREAD = 5;      /* of columns that want scaling */
static const double LONG_SECONDS = 60;    /* an exact method beyond is not the first advice */
static const double NOVELTY_SHARE = 0.05; /* of new rows that count as outliers */
static const double LINEAR_ENOUGH = 0.98; /* share of the variance that needs no kernel */

/* A problem with a column, and the option that mends it. */
typedef struct mend {
    char *column, *option, *value;
    const char *problem;
} mend;

/* A method with what it would cost. */
typedef struct advice {
    const char *why;
    char *method, *kernel, *components, *head, *novelty;
    char *command, *then; /* to paste; the second one may be NULL */
    mercer_forecast cost;
    double times;        /* fits that the command does */
    bool leaves_one_out; /* there are too few rows for FOLDS folds */
} advice;

typedef struct look {
    cli_app *app;
    cli_settings set; /* of the call, and what was found */
    mend mends[TRIES];
    int mend_count;
    char **texts; /* of settings, which borrow them */
    size_t text_count;
    bool marks_forgotten; /* of a column that has other texts, too */
    mercer_table *table;
    mercer_survey survey;
    int64_t rows;      /* of the whole table, */
    bool estimated;    /* which was not read to its end */
    bool images;       /* the columns are pixels */
    const char *goal;  /* features, predict, outliers, pictures */
    const char *scale; /* of the columns */
    char *candidate;   /* a column that may hold classes; or NULL */
    int64_t header;    /* the notice that the first line can be read in two ways; or -1 */
    char *id;          /* that a notice of the reader names, as options name it; or NULL */
    char *reason;      /* why the first method that was tried is not advised; or NULL */
    advice list[MAX_ADVICE];
    int count;
} look;

/* ---- mending ---- */

/* Remember an option, and set it. */
static void take_option(look *o, const char **field, const char *option, const char *value,
                        const char *column, const char *problem)
{
    const bool is_list = strcmp(option, "drop") == 0 || strcmp(option, "na") == 0;
    char *text = *field && is_list ? cli_format("%s,%s", *field, value) : cli_copy(value);
    *field = text;
    o->texts = cli_resize(o->texts, o->text_count + 1, sizeof *o->texts);
    o->texts[o->text_count++] = text;
    if (o->mend_count < TRIES)
        o->mends[o->mend_count++] = (mend){.column = cli_copy(column ? column : ""),
                                           .option = cli_copy(option),
                                           .value = cli_copy(value),
                                           .problem = problem};
}

/* Whether a column can be named in a list. */
static bool is_nameable(const char *column)
{
    return *column && !strpbrk(column, ",*?") &&
           strlen(column) + 1 < sizeof((mercer_error *)0)->column;
}

/* How options name a column: a number alone would be a position, too, and some names are written
 * like a way to name columns, or cannot stand in a list. Owned by the caller. */
static char *column_word(const char *name, int64_t position)
{
    const bool is_plain = name[strspn(name, "0123456789-")] && strncmp(name, "name:", 5) != 0 &&
                          strncmp(name, "position:", 9) != 0;
    char *number = cli_format("%lld", (long long)position), *word = NULL;
    if (position > 0 && strcmp(number, name) == 0) /* by its name and its place */
        word = cli_copy(number);
    else if (is_nameable(name) && strcmp(name, "none") != 0)
        word = cli_format("%s%s", is_plain ? "" : "name:", name);
    else if (position > 0)
        word = cli_format("position:%lld", (long long)position);
    free(number);
    return word;
}

/* Whether the last word of a name is one of a list, which ends in NULL. */
static bool ends_in(const char *name, const char *const *words)
{
    const char *last = name;
    for (const char *at = name; *at; at++)
        if ((*at == ' ' || *at == '_' || *at == '.' || *at == '-') && at[1])
            last = at + 1;
    while (*words && strcasecmp(last, *words) != 0)
        words++;
    return *words != NULL;
}

static bool is_class_name(const char *name)
{
    static const char *const words[] = {"class",  "classes", "label",    "labels",    "species",
                                        "target", "outcome", "category", "diagnosis", NULL};
    return ends_in(name, words);
}

static bool is_id_name(const char *name)
{
    static const char *const words[] = {"id", "ids", "key", "nr", "no", "number", "index", NULL};
    return ends_in(name, words);
}

static void take_column(look *o, const char **field, const char *option, const char *name,
                        const char *problem)
{
    char *word = column_word(name, 0);
    take_option(o, field, option, word, name, problem);
    free(word);
}

/* Take back an option that was found here: entry i of the list. */
static void forget_mend(look *o, int i)
{
    free(o->mends[i].column);
    free(o->mends[i].option);
    free(o->mends[i].value);
    memmove(&o->mends[i], &o->mends[i + 1], (size_t)(--o->mend_count - i) * sizeof *o->mends);
}

/* A column of marks and words has values, - and + for example: its marks mean nothing else. */
static void forget_marks(look *o, const char *column)
{
    o->set.na = o->app->set.na;
    for (int i = 0; i < o->mend_count; i++)
        if (strcmp(o->mends[i].option, "na") == 0 && strcmp(o->mends[i].column, column) == 0) {
            forget_mend(o, i--);
            o->marks_forgotten = true;
        } else if (strcmp(o->mends[i].option, "na") == 0)
            o->set.na = o->set.na ? cli_format("%s,%s", o->set.na, o->mends[i].value)
                                  : cli_copy(o->mends[i].value);
}

/* Take back a role that was found here, not given: its column is left out instead. */
static void forget_role(look *o, const char **field, const char *option, const char *word)
{
    if (!*field || strcmp(*field, word) != 0)
        return;
    for (int i = 0; i < o->mend_count; i++)
        if (strcmp(o->mends[i].option, option) == 0) {
            *field = NULL;
            forget_mend(o, i);
            return;
        }
}

static bool drop(look *o, const mercer_error *err, const char *problem)
{
    char *word = column_word(err->column, err->position);
    const bool new = word && !cli_is_listed(o->set.drop, word);
    if (new) {
        forget_role(o, &o->set.label, "label", word);
        forget_role(o, &o->set.target, "target", word);
        forget_role(o, &o->set.id, "id", word);
        take_option(o, &o->set.drop, "drop", word, err->column, problem);
    }
    free(word);
    return new;
}

/* A column of numbers below the name of classes, which are values then. */
static bool predict_values(look *o)
{
    cli_settings *set = &o->set;
    const char *column = set->label ? set->label : "label"; /* by the rule of mercer/io.h */
    if (set->target || set->labels)
        return false;
    char *word = cli_copy(column);
    forget_role(o, &set->label, "label", word);
    const bool taken = !set->label;
    if (taken)
        take_option(o, &set->target, "target", word, word, "holds values, not classes");
    free(word);
    return taken;
}

/* Add the option that an error asks for; false: there is none, or it was tried. */
static bool mend_table(look *o, const mercer_error *err)
{
    cli_settings *set = &o->set;
    const char *advised = err->advice_key, *value = err->advice_value;
    if (err->cause == MERCER_CAUSE_NOT_A_NUMBER)
        forget_marks(o, err->column);
    if (strcmp(advised, "encoding") == 0 && !set->encoding)
        take_option(o, &set->encoding, "encoding", value, NULL, "is not UTF-8");
    else if (strcmp(advised, "unlabelled") == 0 && !set->unlabelled)
        take_option(o, &set->unlabelled, "unlabelled", value, err->column,
                    "lacks the class or value of some rows");
    else if (strcmp(advised, "na") == 0 && !cli_is_listed(set->na, value))
        take_option(o, &set->na, "na", value, err->column, "has a mark for missing values");
    else if (strcmp(err->key, "label target") == 0 && cli_is_listed(set->drop, "label") &&
             !set->no_label)
        set->no_label = true; /* neither can be read */
    else if (strcmp(err->key, "label target") == 0 && !set->label && !set->target) {
        take_option(o, &set->label, "label", "label", "label", "is one of two to predict");
        take_option(o, &set->drop, "drop", "target", "target", "is the other one");
    } else if (strcmp(advised, "drop") == 0 && !err->cause && !cli_is_listed(set->drop, value))
        take_option(o, &set->drop, "drop", value, err->column, "is the name of two columns");
    else if (err->cause == MERCER_CAUSE_MISSING_VALUE && !set->missing)
        take_option(o, &set->missing, "missing", "mean", NULL, "has cells that are missing");
    else if (strcmp(err->key, "target") == 0 && !*err->column)
        return predict_values(o);
    else if (strcmp(advised, "decimal") == 0 && !set->decimal)
        take_option(o, &set->decimal, "decimal", value, err->column, "has decimal commas");
    else if (strcmp(err->key, "drop id") == 0)
        return drop(o, err, "holds dates");
    else if (strcmp(err->key, "drop na") == 0)
        return drop(o, err, "has a text among numbers");
    else if (strcmp(advised, "encode") == 0)
        return drop(o, err, "is a text of too many values");
    else if (err->cause == MERCER_CAUSE_NOT_A_NUMBER && is_nameable(err->column) && !set->label &&
             !set->target && !set->labels && !set->no_label && is_class_name(err->column))
        take_column(o, &set->label, "label", err->column, "holds classes");
    else if (err->cause == MERCER_CAUSE_NOT_A_NUMBER && !set->encode)
        take_option(o, &set->encode, "encode", "onehot", err->column, "is a text");
    else if (err->cause == MERCER_CAUSE_NOT_A_NUMBER)
        return drop(o, err, "is a text among numbers");
    else if (strcmp(err->key, "decimal thousands") == 0 ||
             strcmp(err->key, "thousands decimal") == 0)
        return drop(o, err, "may have thousands separators or decimal marks");
    else
        return err->code == MERCER_ERR_DATA && drop(o, err,
                                                    strcmp(err->key, "drop") != 0 ? "cannot be read"
                                                    : err->line ? "has signs beside its numbers"
                                                                : "has nothing that can be read");
    return true;
}

/* ---- reading ---- */

static void hear(void *host, const mercer_notice *notice)
{
    look *o = host;
    if (strcmp(notice->advice_key, "id") == 0 && strcmp(notice->advice_value, "none") != 0 &&
        !o->id)
        o->id = column_word(notice->column, notice->position);
    const int64_t before = o->app->notice_count;
    cli_notice_library(o->app, notice);
    if (o->app->notice_count > before &&
        (strcmp(notice->key, "header") == 0 || strcmp(notice->advice_key, "header") == 0))
        o->header = before;
}

/* Bytes of a file, or 0 for what is none. */
static double file_bytes(const char *path)
{
    struct stat what;
    return stat(path, &what) == 0 && S_ISREG(what.st_mode) ? (double)what.st_size : 0;
}

/* About how many lines a text has, by the lengths of its first ones. */
static double count_lines(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *head = cli_alloc(HEAD_BYTES, 1);
    const size_t size = file ? fread(head, 1, HEAD_BYTES, file) : 0;
    double lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += head[i] == '\n';
    if (file)
        fclose(file);
    free(head);
    return lines > 0 ? file_bytes(path) / ((double)size / lines) : 0;
}

static bool is_large_text(const look *o)
{
    const char *path = o->set.operand[0];
    const size_t length = strlen(path);
    return file_bytes(path) > LARGE_BYTES &&
           cli_has_header(mercer_format_find(path, o->set.format)) &&
           !(length > 3 && strcmp(path + length - 3, ".gz") == 0);
}

static mercer_status read_once(look *o, mercer_error *err)
{
    mercer_ctx *ctx = o->app->ctx;
    const char *path = o->set.operand[0];
    mercer_read_options reading;
    mercer_reader *reader = NULL;
    cli_read_options(&o->set, &reading);
    mercer_table_free(o->table);
    o->table = NULL;
    free(o->id);
    o->id = NULL;
    o->header = -1;
    if (!is_large_text(o)) {
        const mercer_status rc = mercer_table_read(ctx, path, &reading, &o->table, err);
        o->rows = rc == MERCER_OK ? mercer_rows_count(mercer_table_rows(o->table)) : 0;
        return rc;
    }
    reading.fill_blocks = 1;
    mercer_status rc = mercer_reader_open(ctx, path, &reading, &reader, err);
    if (rc == MERCER_OK)
        rc = mercer_reader_next(ctx, reader, LOOK_ROWS, &o->table, err);
    if (rc == MERCER_OK && !o->table)
        rc = cli_error(err, MERCER_ERR_DATA, "has no rows");
    mercer_reader_close(reader);
    o->estimated = true;
    o->rows = (int64_t)count_lines(path);
    return rc;
}

static void forget_notices(cli_app *app)
{
    for (int64_t i = 0; i < app->notice_count; i++)
        free(app->notices[i]);
    app->notice_count = 0;
}

/* Whether column j of dense rows looks like classes: few whole numbers, each of several rows. */
static bool has_few_values(const mercer_rows *rows, int64_t j, int most)
{
    double values[MAX_CLASSES], *row = cli_alloc((size_t)mercer_rows_columns(rows), sizeof *row);
    const int64_t n = mercer_rows_count(rows);
    int count = 0;
    bool few = true;
    for (int64_t i = 0; i < n && few; i++) {
        int at = 0;
        mercer_rows_copy(rows, i, 1, row);
        while (at < count && values[at] != row[j])
            at++;
        few = row[j] == floor(row[j]) && (at < count || count < most);
        if (few && at == count)
            values[count++] = row[j];
    }
    free(row);
    return few && count > 1 && n >= 5 * count;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Whether all values of column j are whole and differ. */
static bool numbers_rows(const mercer_rows *rows, int64_t j)
{
    const int64_t n = mercer_rows_count(rows);
    double *row = cli_alloc((size_t)mercer_rows_columns(rows), sizeof *row);
    double *values = cli_alloc((size_t)n, sizeof *values);
    bool differ = true;
    for (int64_t i = 0; i < n; i++) {
        mercer_rows_copy(rows, i, 1, row);
        values[i] = row[j];
        differ = differ && row[j] == floor(row[j]);
    }
    qsort(values, (size_t)n, sizeof *values, compare_numbers);
    for (int64_t i = 1; i < n && differ; i++)
        differ = values[i] != values[i - 1];
    free(row);
    free(values);
    return differ && n > 2;
}

/* A column of numbers that is called an id, and may be one. */
static bool find_id(look *o)
{
    const mercer_rows *rows = mercer_table_rows(o->table);
    if (o->set.id || mercer_table_id_name(o->table) || mercer_rows_is_sparse(rows))
        return false;
    for (int64_t j = 0; j < mercer_rows_columns(rows); j++) {
        const char *name = mercer_rows_name(rows, j);
        if (name && is_nameable(name) && is_id_name(name) && numbers_rows(rows, j)) {
            take_column(o, &o->set.id, "id", name, "numbers the rows");
            return true;
        }
    }
    return false;
}

/* A text that was encoded with the others, because it stands behind them, and is called a class. */
static bool find_encoded_classes(look *o)
{
    const mercer_rows *rows = mercer_table_rows(o->table);
    bool found = false;
    if (!o->set.encode || o->app->set.encode) /* as asked */
        return false;
    for (int64_t j = mercer_rows_columns(rows) - 1; j >= 0 && !found; j--) {
        char *name = cli_copy(mercer_rows_name(rows, j)); /* species=setosa */
        char *mark = strchr(name, '=');
        if (mark) {
            *mark = '\0';
            found = is_class_name(name) && is_nameable(name);
            if (found)
                take_column(o, &o->set.label, "label", name, "holds classes");
        }
        free(name);
    }
    return found;
}

/* A column of numbers that holds classes, by its name; the last one is a candidate. */
static bool find_classes(look *o)
{
    const cli_settings *set = &o->set;
    const mercer_rows *rows = mercer_table_rows(o->table);
    const int64_t d = mercer_rows_columns(rows);
    const mercer_targets *targets = mercer_table_targets(o->table);
    if (set->label || set->target || set->labels || set->no_label || mercer_rows_is_sparse(rows) ||
        d < 2 || !mercer_rows_name(rows, 0) ||
        (targets && mercer_targets_kind(targets) != MERCER_TARGET_NONE))
        return false;
    for (int64_t j = d - 1; j >= 0; j--) {
        const char *name = mercer_rows_name(rows, j);
        if (!is_class_name(name) || !is_nameable(name))
            continue;
        if (has_few_values(rows, j, MAX_CLASSES))
            take_column(o, &o->set.label, "label", name, "holds classes");
        else
            take_column(o, &o->set.target, "target", name, "holds values to predict");
        return true;
    }
    if (find_encoded_classes(o))
        return true;
    if (!o->candidate && is_nameable(mercer_rows_name(rows, d - 1)) && !o->survey.whole_numbers &&
        has_few_values(rows, d - 1, 10))
        o->candidate = cli_copy(mercer_rows_name(rows, d - 1));
    return false;
}

/* Take back an option that was found here for a column that was left out, or given a role, later.
 * The table is read again. */
static mercer_status forget_needless(look *o, const char **field, const char *option,
                                     mercer_error *err)
{
    const char *value = *field;
    int i = 0;
    while (i < o->mend_count && strcmp(o->mends[i].option, option) != 0)
        i++;
    if (i == o->mend_count || (i == o->mend_count - 1 && !o->marks_forgotten))
        return MERCER_OK; /* there is none, or nothing was changed after it */
    *field = NULL;
    forget_notices(o->app);
    if (read_once(o, err) == MERCER_OK) {
        forget_mend(o, i);
        return MERCER_OK;
    }
    if (*o->mends[i].column && *err->column) { /* the one that was there first may be left out */
        free(o->mends[i].column);
        o->mends[i].column = cli_copy(err->column);
    }
    *field = value;
    forget_notices(o->app);
    return read_once(o, err);
}

/* The table, with the options that it takes. Returns 0 or a status after one line. */
static int read_table(look *o)
{
    mercer_error err = {0};
    mercer_ctx_set_notice(o->app->ctx, hear, o);
    for (int tries = 0; tries < TRIES; tries++) {
        forget_notices(o->app);
        const mercer_status rc = read_once(o, &err);
        if (rc != MERCER_OK && !mend_table(o, &err))
            return cli_fail_reading(&o->set, rc, &err, o->set.operand[0]);
        if (rc != MERCER_OK)
            continue;
        if (o->id && !o->set.id) {
            take_option(o, &o->set.id, "id", o->id, o->id, "numbers the rows");
            continue;
        }
        if (find_id(o) || find_classes(o))
            continue;
        if (forget_needless(o, &o->set.encode, "encode", &err) != MERCER_OK ||
            forget_needless(o, &o->set.missing, "missing", &err) != MERCER_OK)
            return cli_fail_reading(&o->set, err.code, &err, o->set.operand[0]);
        return CLI_DONE;
    }
    return cli_fail(CLI_FAILED, "%s: %d options do not read it", o->set.operand[0], TRIES);
}

/* ---- commands ---- */

/* The options by which the table is read. */
static void add_reading(FILE *out, const look *o)
{
    const cli_settings *s = &o->set;
    char *file = cli_file_words(s);
    fputs(file, out);
    free(file);
    cli_put_option(out, "id", s->id);
    cli_put_option(out, "columns", s->columns);
    cli_put_option(out, "drop", s->drop);
    cli_put_option(out, "label", s->label);
    cli_put_option(out, "target", s->target);
    cli_put_option(out, "labels", s->labels);
    cli_put_option(out, "list-header", s->list_header);
    if (s->no_label)
        fprintf(out, " --no-label");
    cli_put_option(out, "encode", s->encode);
    cli_put_option(out, "missing", s->missing);
    cli_put_option(out, "unlabelled", s->unlabelled);
    cli_put_option(out, "na", s->na);
    if (s->resize[0])
        fprintf(out, " --resize %lldx%lld", (long long)s->resize[0], (long long)s->resize[1]);
    cli_put_option(out, "image-features", s->image_features);
}

static bool has_command(const char *name)
{
    for (int i = 0; cli_command_at(i); i++)
        if (strcmp(cli_command_at(i)->name, name) == 0)
            return true;
    return false;
}

static void write_command(const look *o, advice *a)
{
    const bool predicts = strcmp(o->goal, "predict") == 0;
    char *data = cli_quote_path(o->set.operand[0]), *file = cli_file_words(&o->set), *text = NULL;
    FILE *out = cli_text_open(&text);
    fprintf(out, "mercer %s %s", predicts ? "evaluate" : "fit", data);
    add_reading(out, o);
    if (strcmp(o->scale, "none") != 0)
        fprintf(out, " --scale %s", o->scale);
    char *method = cli_quote(a->method);
    fprintf(out, " -m %s", method);
    free(method);
    if (a->kernel)
        fprintf(out, " -k %s", a->kernel);
    if (a->components)
        fprintf(out, " -n %s", a->components);
    cli_put_option(out, "head", a->head);
    cli_put_option(out, "novelty", a->novelty);
    if (a->leaves_one_out)
        fprintf(out, " --cv loo");
    if (!predicts)
        fprintf(out, " -o my.model");
    fclose(out);
    a->command = text;
    const char *all = cli_unlabelled_words(&o->set);
    if (strcmp(o->goal, "outliers") == 0)
        a->then = cli_format("mercer transform my.model %s%s%s --errors --top 20", data, file, all);
    else if (strcmp(o->goal, "pictures") == 0 && has_command("plot"))
        a->then = cli_format("mercer plot my.model %s%s%s", data, file, all);
    else if (!predicts)
        a->then = cli_format("mercer transform my.model %s%s%s -o features.csv", data, file, all);
    free(data);
    free(file);
}

/* ---- advice ---- */

static mercer_status evaluate_once(const look *o, const mercer_fit_options *fit, int64_t folds,
                                   mercer_error *err)
{
    mercer_evaluate_options how;
    mercer_evaluation *told = NULL;
    mercer_evaluate_options_init(&how);
    how.fit = fit;
    how.folds = folds;
    mercer_ctx_set_seed(o->app->ctx, o->app->set.seed);
    const mercer_status rc = mercer_evaluate(o->app->ctx, &how, mercer_table_rows(o->table),
                                             mercer_table_targets(o->table), &told, err);
    mercer_evaluation_free(told);
    return rc;
}

/* Whether the command would work: what takes no time is tried, so that nobody pastes in vain. */
static bool works(look *o, const mercer_fit_options *fit, advice *a)
{
    mercer_ctx *ctx = o->app->ctx;
    mercer_error err = {0};
    mercer_status rc;
    mercer_ctx_set_notice(ctx, NULL, NULL);
    if (strcmp(o->goal, "predict") == 0) {
        rc = evaluate_once(o, fit, FOLDS, &err);
        if (rc != MERCER_OK && o->rows < FEW_ROWS) {
            rc = evaluate_once(o, fit, MERCER_LEAVE_ONE_OUT, &err);
            a->leaves_one_out = rc == MERCER_OK;
        }
    } else {
        mercer_model *model = NULL;
        mercer_ctx_set_seed(ctx, o->app->set.seed);
        rc = mercer_fit(ctx, fit, mercer_table_rows(o->table), mercer_table_targets(o->table),
                        &model, NULL, &err);
        mercer_model_free(model);
    }
    mercer_ctx_set_notice(ctx, hear, o);
    if (rc != MERCER_OK && !o->reason)
        o->reason = cli_error_text(&err);
    return rc == MERCER_OK;
}

/* A method for the table, with its cost; left out where the library refuses it. */
static void add_advice(look *o, const char *method, const char *kernel, const char *components,
                       const char *head, const char *why)
{
    const bool predicts = strcmp(o->goal, "predict") == 0;
    advice a = {.why = why, .times = predicts ? FOLDS : 1};
    mercer_fit_options options;
    mercer_error err = {0};
    mercer_fit_options_init(&options);
    options.method = method;
    options.kernel = kernel;
    options.components = components ? strtod(components, NULL) : 0;
    options.head = head;
    options.scale = o->scale;
    options.novelty =
        strcmp(o->goal, "outliers") == 0 && o->rows >= NOVELTY_ROWS ? NOVELTY_SHARE : 0;
    a.cost.struct_size = sizeof a.cost;
    const double brief = SHORT_SECONDS / a.times;
    const int64_t rows = predicts ? o->rows - o->rows / FOLDS : o->rows;
    if (o->count == MAX_ADVICE ||
        mercer_fit_forecast(o->app->ctx, &options, mercer_table_rows(o->table),
                            mercer_table_targets(o->table), rows, brief, &a.cost,
                            &err) != MERCER_OK)
        return;
    if (!a.cost.measured && a.cost.seconds_high > 0) /* a bound of what is short */
        a.cost.seconds = a.cost.seconds_high;
    /* Rows that do not differ are refused at once, however long others would take. */
    const bool alike =
        o->survey.constant_columns == mercer_rows_columns(mercer_table_rows(o->table));
    const bool brief_enough = alike || !(a.times * a.cost.seconds > TRY_SECONDS);
    if (!o->estimated && brief_enough && !works(o, &options, &a))
        return;
    a.method = cli_copy(method);
    a.kernel = kernel ? cli_copy(kernel) : NULL;
    a.components = components ? cli_copy(components) : NULL;
    a.head = head ? cli_copy(head) : NULL;
    a.novelty = options.novelty > 0 ? cli_format("%g", NOVELTY_SHARE) : NULL;
    /* Rows held out go through the model of each fold, which costs less than its fit. */
    write_command(o, &a);
    o->list[o->count++] = a;
}

static double advice_seconds(const advice *a)
{
    return a->times * a->cost.seconds;
}

/* The first one stays the first unless it takes long, and another one much less. */
static void put_quick_first(look *o)
{
    int best = 0;
    for (int i = 1; i < o->count && advice_seconds(&o->list[best]) > LONG_SECONDS; i++)
        if (2 * advice_seconds(&o->list[i]) < advice_seconds(&o->list[best]))
            best = i;
    const advice first = o->list[best];
    for (int i = best; i > 0; i--)
        o->list[i] = o->list[i - 1];
    o->list[0] = first;
}

static mercer_target_kind target_kind(const look *o)
{
    const mercer_targets *targets = mercer_table_targets(o->table);
    return targets ? mercer_targets_kind(targets) : MERCER_TARGET_NONE;
}

/* Classes of which there is one: nothing can be told apart, unless rows that were not read have
 * another. */
static bool is_of_one_class(const look *o)
{
    return target_kind(o) == MERCER_TARGET_CLASSES && !o->estimated &&
           mercer_targets_classes(mercer_table_targets(o->table)) < 2;
}

static void advise_prediction(look *o, const char *kernel)
{
    const bool classes = target_kind(o) == MERCER_TARGET_CLASSES;
    const bool sparse = mercer_rows_is_sparse(mercer_table_rows(o->table));
    if (classes)
        add_advice(
            o, "kfd", kernel, NULL, NULL,
            "directions that separate the classes, with a ridge that is chosen automatically");
    add_advice(o, "krr", kernel, NULL, NULL,
               classes ? "regression on the classes, likewise"
                       : "regression with its ridge chosen by leave-one-out errors");
    if (sparse)
        add_advice(o, "kpls", kernel, "20", NULL, "few features that have to do with the labels");
    else if (o->rows > MANY_ROWS)
        add_advice(o, "rkopls:subset=1000", kernel, NULL, NULL,
                   "the same on 1000 rows drawn, for very many rows");
    if (o->count < MAX_ADVICE)
        add_advice(o, "kpls", kernel, "10", NULL, "few features that have to do with the labels");
}

static void advise_features(look *o, const char *kernel)
{
    const char *components = strcmp(o->goal, "pictures") == 0 ? "2" : "10";
    const bool linear = o->survey.linear_share > LINEAR_ENOUGH && !kernel &&
                        mercer_rows_columns(mercer_table_rows(o->table)) > o->survey.features;
    if (linear)
        add_advice(o, "pca", NULL, components, NULL, "straight directions hold nearly everything");
    add_advice(o, "kpca", kernel, components, NULL, "exact, and curved where the rows are");
    if (o->rows > MANY_ROWS)
        add_advice(o, "nystroem:points=1000", kernel, components, NULL,
                   "the same from 1000 rows drawn: approximate");
    if (strcmp(o->goal, "features") == 0)
        add_advice(o, "rkpca", kernel, components, NULL, "few rows in the model");
    if (!linear && !kernel)
        add_advice(o, "pca", NULL, components, NULL, "the linear yardstick");
}

static void advise(look *o)
{
    const mercer_rows *rows = mercer_table_rows(o->table);
    const char *kernel = o->survey.square_symmetric    ? "precomputed"
                         : mercer_rows_is_sparse(rows) ? "cosine"
                                                       : NULL;
    if (strcmp(o->goal, "predict") == 0)
        advise_prediction(o, kernel);
    else
        advise_features(o, kernel);
    if (o->count)
        put_quick_first(o);
}

/* ---- the report ---- */

static char *text_of_labels(const look *o)
{
    const mercer_targets *targets = mercer_table_targets(o->table);
    const mercer_target_kind kind = target_kind(o);
    const char *origin = mercer_table_target_origin(o->table);
    if (kind == MERCER_TARGET_NONE)
        return o->candidate ? cli_format("none named; '%s' may hold classes: --label", o->candidate)
                            : cli_copy("none");
    if (kind == MERCER_TARGET_VALUES)
        return cli_copy(origin ? origin : "values");
    int64_t least = INT64_MAX, most = 0;
    const int64_t n = mercer_rows_count(mercer_table_rows(o->table));
    const int64_t classes = mercer_targets_classes(targets), *codes = mercer_targets_codes(targets);
    int64_t *sizes = cli_alloc((size_t)classes, sizeof *sizes);
    for (int64_t i = 0; i < n; i++)
        sizes[codes[i]]++;
    for (int64_t c = 0; c < classes; c++) {
        least = sizes[c] < least ? sizes[c] : least;
        most = sizes[c] > most ? sizes[c] : most;
    }
    free(sizes);
    if (classes == 1)
        return cli_format("%s: one of all rows, so there is nothing to predict",
                          origin ? origin : "classes");
    if (least == most)
        return cli_format("%s: %lld of %s rows each", origin ? origin : "classes",
                          (long long)classes, cli_text_count(least).text);
    return cli_format("%s: %lld of %s to %s rows", origin ? origin : "classes", (long long)classes,
                      cli_text_count(least).text, cli_text_count(most).text);
}

static void print_cost(const advice *a)
{
    const double n = a->times;
    if (isnan(a->cost.seconds))
        printf("time unknown");
    else if (n * a->cost.seconds_high < 1)
        printf("under 1 s");
    else
        printf("%s", cli_text_span(n * a->cost.seconds_low, n * a->cost.seconds_high).text);
    printf(", %s", cli_text_bytes((double)a->cost.memory_bytes).text);
    if (strcmp(a->cost.store, "none") != 0)
        printf(", store %s", a->cost.store);
}

/* Length of the first word, as a shell reads it. */
static size_t word_length(const char *text)
{
    const char *at = text;
    while (*at && *at != ' ') {
        if (*at == '\'')
            at += 1 + strcspn(at + 1, "'");
        else if (*at == '\\' && at[1])
            at++;
        at += *at != 0;
    }
    return (size_t)(at - text);
}

/* A long command on several lines, as a shell reads them. An option stays with its value. */
static void print_command(const char *command)
{
    const size_t width = (size_t)cli_terminal_width() - 4;
    size_t column = 0;
    for (const char *at = command; *at; at += *at == ' ') {
        size_t length = word_length(at);
        if (*at == '-' && at[length] == ' ' && at[length + 1] != '-')
            length += 1 + word_length(at + length + 1);
        const bool wraps = column > 6 && column + 1 + length > width;
        printf("%s%.*s", column == 0 ? "  " : wraps ? " \\\n      " : " ", (int)length, at);
        column = column == 0 ? 2 + length : wraps ? 6 + length : column + 1 + length;
        at += length;
    }
    printf("\n");
}

static bool is_far_too_long(const look *o, const advice *a)
{
    return advice_seconds(a) > 10 * LONG_SECONDS &&
           advice_seconds(a) > 4 * advice_seconds(&o->list[0]);
}

static void print_avoided(const look *o)
{
    for (int i = 1; i < o->count; i++)
        if (is_far_too_long(o, &o->list[i]))
            cli_print_row(stdout, "not", "%s: %s", o->list[i].method,
                          cli_text_span(o->list[i].times * o->list[i].cost.seconds_low,
                                        o->list[i].times * o->list[i].cost.seconds_high)
                              .text);
    if (o->rows > KOCA_ROWS && target_kind(o) == MERCER_TARGET_CLASSES)
        cli_print_row(stdout, "not", "koca: its search is for some thousand rows");
    if (target_kind(o) != MERCER_TARGET_NONE)
        cli_print_row(stdout, "not",
                      "a choice by the error on training rows: evaluate holds rows out");
    else
        cli_print_row(stdout, "not",
                      "a judgement by shares of different kernels: each has its own variance");
}

static void print_report(look *o)
{
    const mercer_rows *rows = mercer_table_rows(o->table);
    const mercer_survey *s = &o->survey;
    const int64_t d = mercer_rows_columns(rows);
    const bool sparse = mercer_rows_is_sparse(rows);
    char *entries =
        cli_sparse_text(sparse ? mercer_rows_entries(rows) : -1, mercer_rows_count(rows), d);
    printf("%s: %s%s rows, %s column%s%s\n", cli_visible(cli_shown(o->set.operand[0])),
           o->estimated ? "about " : "", cli_text_count(o->rows).text, cli_text_count(d).text,
           d == 1 ? "" : "s", entries);
    free(entries);
    char *labels = text_of_labels(o);
    cli_print_row(stdout, "labels", "%s", cli_visible(labels));
    free(labels);
    for (int i = 0; i < o->mend_count; i++) {
        const mend *m = &o->mends[i];
        const char *mark = mercer_rows_name(rows, 0) ? "'" : "";
        char *value = cli_quote(m->value);
        cli_print_row(stdout, i ? "" : "to mend", "%s%s%s%s %s: --%s %s",
                      !*m->column ? "the table"
                      : *mark     ? ""
                                  : "column ",
                      *m->column ? mark : "", cli_visible(m->column), *m->column ? mark : "",
                      m->problem, m->option, cli_visible(value));
        free(value);
    }
    if (s->constant_columns)
        cli_print_row(stdout, "constant", "%s column%s with one value, which add%s nothing",
                      cli_text_count(s->constant_columns).text, s->constant_columns == 1 ? "" : "s",
                      s->constant_columns == 1 ? "s" : "");
    if (s->repeated_rows)
        cli_print_row(stdout, "repeated", "%s of %s rows looked at",
                      cli_text_count(s->repeated_rows).text, cli_text_count(s->looked_at).text);
    if (s->spread_ratio > WIDE_SPREAD) {
        const char *name = mercer_rows_name(rows, s->widest_column);
        cli_print_row(stdout, "spreads", "%s%s%s has %s times the median spread%s",
                      name ? "'" : "column ",
                      name ? cli_visible(name) : cli_text_count(s->widest_column + 1).text,
                      name ? "'" : "", cli_text_count((int64_t)s->spread_ratio).text,
                      strcmp(o->scale, "none") != 0 ? ": --scale standard" : "");
    }
    if (s->square_symmetric)
        cli_print_row(stdout, "kernel",
                      "a symmetric matrix: kernel values themselves; %lld features hold %.0f %% of "
                      "the variance",
                      (long long)s->features, 100 * s->kernel_share);
    else if (!isnan(s->kernel_share))
        cli_print_row(stdout, "kernel",
                      "median distance %.3g%s; %lld features hold %.0f %% of the variance, %lld "
                      "linear ones %.0f %%",
                      s->median_distance, strcmp(o->scale, "none") != 0 ? " once scaled" : "",
                      (long long)s->features, 100 * s->kernel_share, (long long)s->features,
                      100 * s->linear_share);
    if (o->estimated || s->looked_at < o->rows)
        cli_print_row(stdout, "looked at", "%s rows", cli_text_count(s->looked_at).text);
    if (o->header >= 0)
        cli_print_row(stdout, "note", "%s", cli_visible(o->app->notices[o->header]));
    for (int i = 0; i < o->count; i++) {
        const advice *a = &o->list[i];
        if (i > 0 && is_far_too_long(o, a))
            continue;
        printf("\n%s%s: %s (", i ? "or " : "", a->method, a->why);
        print_cost(a);
        printf(")\n");
        print_command(cli_visible(a->command));
        if (a->then && i == 0)
            printf("  %s\n", cli_visible(a->then));
    }
    if (!o->count)
        printf("\nNo method suits: %s\n", o->rows < 2 ? "there is one row only"
                                          : o->reason ? cli_visible(o->reason)
                                                      : "see 'mercer methods'");
    printf("\n");
    print_avoided(o);
}

static json_t *report_json(const look *o)
{
    const mercer_rows *rows = mercer_table_rows(o->table);
    const mercer_survey *s = &o->survey;
    const bool sparse = mercer_rows_is_sparse(rows);
    json_t *json = json_object(), *mends = json_array(), *list = json_array();
    const char *origin = mercer_table_target_origin(o->table);
    for (int i = 0; i < o->mend_count; i++) {
        json_t *m = json_object();
        json_object_set_new(m, "column",
                            *o->mends[i].column ? cli_json_text(o->mends[i].column) : json_null());
        json_object_set_new(m, "problem", cli_json_text(o->mends[i].problem));
        json_object_set_new(m, "option", cli_json_text(o->mends[i].option));
        json_object_set_new(m, "value", cli_json_text(o->mends[i].value));
        json_array_append_new(mends, m);
    }
    for (int i = 0; i < o->count; i++) {
        const advice *a = &o->list[i];
        json_t *m = json_object();
        json_object_set_new(m, "method", cli_json_text(a->method));
        json_object_set_new(m, "kernel", cli_json_text(a->kernel));
        json_object_set_new(m, "why", cli_json_text(a->why));
        json_object_set_new(m, "command", cli_json_text(a->command));
        json_object_set_new(m, "then", cli_json_text(a->then));
        json_object_set_new(m, "seconds", cli_json_real(advice_seconds(a)));
        json_object_set_new(m, "seconds_low", cli_json_real(a->times * a->cost.seconds_low));
        json_object_set_new(m, "seconds_high", cli_json_real(a->times * a->cost.seconds_high));
        json_object_set_new(m, "memory_bytes", json_integer(a->cost.memory_bytes));
        json_object_set_new(m, "store", cli_json_text(a->cost.store));
        json_object_set_new(m, "store_reason", cli_json_text(a->cost.store_reason));
        json_array_append_new(list, m);
    }
    json_object_set_new(json, "data", cli_json_text(o->set.operand[0]));
    json_object_set_new(json, "rows", json_integer(o->rows));
    json_object_set_new(json, "rows_estimated", json_boolean(o->estimated));
    json_object_set_new(json, "columns", json_integer(mercer_rows_columns(rows)));
    json_object_set_new(json, "entries",
                        sparse ? json_integer(mercer_rows_entries(rows)) : json_null());
    json_object_set_new(json, "labels", cli_json_text(origin));
    json_object_set_new(json, "classes",
                        target_kind(o) == MERCER_TARGET_CLASSES
                            ? json_integer(mercer_targets_classes(mercer_table_targets(o->table)))
                            : json_null());
    json_object_set_new(json, "label_candidate", cli_json_text(o->candidate));
    json_object_set_new(json, "goal", cli_json_text(o->goal));
    json_object_set_new(json, "scale", cli_json_text(o->scale));
    json_object_set_new(json, "mend", mends);
    json_object_set_new(json, "looked_at", json_integer(s->looked_at));
    json_object_set_new(json, "constant_columns", json_integer(s->constant_columns));
    json_object_set_new(json, "repeated_rows", json_integer(s->repeated_rows));
    json_object_set_new(json, "spread_ratio", cli_json_real(s->spread_ratio));
    json_object_set_new(json, "precomputed", json_boolean(s->square_symmetric));
    json_object_set_new(json, "median_distance", cli_json_real(s->median_distance));
    json_object_set_new(json, "linear_share", cli_json_real(s->linear_share));
    json_object_set_new(json, "kernel_share", cli_json_real(s->kernel_share));
    json_object_set_new(json, "advice", list);
    json_object_set_new(json, "notices", cli_json_notices(o->app));
    return json;
}

static void finish(look *o)
{
    mercer_table_free(o->table);
    for (int i = 0; i < o->mend_count; i++) {
        free(o->mends[i].column);
        free(o->mends[i].option);
        free(o->mends[i].value);
    }
    for (size_t i = 0; i < o->text_count; i++)
        free(o->texts[i]);
    free(o->texts);
    for (int i = 0; i < o->count; i++) {
        advice *a = &o->list[i];
        free(a->method);
        free(a->kernel);
        free(a->components);
        free(a->head);
        free(a->novelty);
        free(a->command);
        free(a->then);
    }
    free(o->candidate);
    free(o->id);
    free(o->reason);
}

/* Columns of pixels have one unit, whatever their spreads. */
static bool is_of_images(const look *o)
{
    const mercer_survey *s = &o->survey;
    mercer_entry_info format = {.struct_size = sizeof format};
    mercer_entry_get_info(mercer_format_find(o->set.operand[0], o->set.format), &format);
    const bool folder = format.endings && strcmp(format.endings, "/") == 0;
    return folder || (s->whole_numbers && s->least >= 0 && s->largest > 100 && s->largest <= 255 &&
                      mercer_rows_columns(mercer_table_rows(o->table)) >= 64);
}

static int run_advise(cli_app *app)
{
    look o = {.app = app, .set = app->set, .survey = {.struct_size = sizeof o.survey}};
    mercer_error err = {0};
    if (strcmp(o.set.operand[0], "-") == 0)
        return cli_fail(CLI_WRONG_CALL, "advise: reads a table several times, so it needs a file; "
                                        "save standard input in one first");
    int status = read_table(&o);
    if (status != CLI_DONE) {
        finish(&o);
        return status;
    }
    const mercer_rows *rows = mercer_table_rows(o.table);
    mercer_status rc = mercer_rows_survey(app->ctx, rows, NULL, &o.survey, &err);
    o.scale = "none";
    if (rc == MERCER_OK && o.survey.spread_ratio > WIDE_SPREAD && !is_of_images(&o)) {
        o.scale = "standard";
        const double ratio = o.survey.spread_ratio;
        rc = mercer_rows_survey(app->ctx, rows, o.scale, &o.survey, &err);
        o.survey.spread_ratio = ratio;
    }
    if (rc != MERCER_OK) {
        status = cli_fail_library(rc, &err, o.set.operand[0]);
        finish(&o);
        return status;
    }
    const bool alike = is_of_one_class(&o);
    const bool labelled = target_kind(&o) != MERCER_TARGET_NONE && !alike;
    o.goal = app->set.goal ? app->set.goal : labelled ? "predict" : "features";
    if (strcmp(o.goal, "predict") == 0 && !labelled) {
        status = cli_fail(CLI_FAILED, "%s: there is nothing to predict; %s", o.set.operand[0],
                          alike ? "all rows are of one class"
                                : "name the column: --label (classes) or --target (values)");
        finish(&o);
        return status;
    }
    advise(&o);
    cli_progress_clear();
    if (app->set.json)
        cli_json_print(stdout, report_json(&o));
    else
        print_report(&o);
    finish(&o);
    return CLI_DONE;
}

static const cli_option options[] = {
    CLI_OPTION("goal", 0, CLI_CHOICE, goal, "GOAL", "features|predict|outliers|pictures",
               "what the methods are for; default: predict where there are labels, else features"),
    CLI_OPTION_LABELS,
    CLI_OPTION_COLUMNS,
    CLI_OPTION_FORMAT,
    CLI_OPTION_RESIZE,
    CLI_OPTION_IMAGE_FEATURES,
    CLI_OPTION_ENCODE,
    CLI_OPTION_MISSING,
    CLI_OPTION_UNLABELLED,
    CLI_OPTION_MACHINE,
    CLI_OPTION_UNTRUSTED,
    CLI_OPTION_JSON,
    CLI_OPTION_LAST,
};

const cli_command cli_command_advise = {
    .name = "advise",
    .summary = "look at a table: what to mend in it, which methods suit it, what they cost here",
    .operands = "DATA",
    .least = 1,
    .most = 1,
    .options = options,
    .details = "Examples:\n"
               "  mercer advise data.csv\n"
               "  mercer advise data.csv --goal outliers\n"
               "  mercer advise data.csv --label species --json\n",
    .run = run_advise,
};
