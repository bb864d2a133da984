/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer report: what is known of a model, and of rows as it sees them, as one page to send. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_check_page(const char *command, const cli_settings *set, const char *path)
{
    if (!path)
        return CLI_DONE;
    const char *dot = strrchr(path, '.');
    const bool stream = cli_is_stdout(path);
    if (!stream && dot && !strchr(dot, '/') && strcmp(dot, ".html") != 0 &&
        strcmp(dot, ".htm") != 0)
        return cli_fail(CLI_WRONG_CALL, "%s: %s: a report is an HTML file; call it NAME.html",
                        command, path);
    int status = cli_check_output(path);
    for (int i = 0; i < set->operands && status == CLI_DONE; i++)
        status = cli_check_overwrite(path, set->operand[i], "input");
    if (status == CLI_DONE)
        status = cli_check_overwrite_options(path, set);
    if (status == CLI_DONE && set->output && strcmp(path, set->output) == 0 && path != set->output)
        status = cli_fail(CLI_WRONG_CALL,
                          "%s: %s is both the output and the report; give them two "
                          "names",
                          command, path);
    return status;
}

/* The last part of a path. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The next word of a line that is quoted for a shell, NULL after the last and at a comment; owned
 * by the caller. */
static char *next_word(const char **line)
{
    const char *at = *line + strspn(*line, " ");
    if (!*at || *at == '#')
        return NULL;
    char *word = cli_alloc(strlen(at) + 1, 1);
    size_t used = 0;
    for (bool quoted = false; *at && (quoted || *at != ' '); at++) {
        if (*at == '\'')
            quoted = !quoted;
        else if (*at != '\\' || quoted || !at[1])
            word[used++] = *at;
        else
            word[used++] = *++at;
    }
    *line = at;
    return word;
}

/* The value of a long option in the command of a fit, "" for a flag, NULL where it is not given;
 * owned by the caller. */
static char *option_of(const char *command, const char *option)
{
    const size_t length = strlen(option);
    char *value = NULL;
    for (char *word; command && !value && (word = next_word(&command)); free(word))
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, option, length) == 0) {
            if (word[2 + length] == '=')
                value = cli_copy(word + 3 + length);
            else if (!word[2 + length] && strcmp(option, "no-label") == 0)
                value = cli_copy("");
            else if (!word[2 + length])
                value = next_word(&command);
        }
    return value;
}

/* Whether a file has a column of this name. */
static bool has_column(cli_app *app, const char *path, const char *name)
{
    mercer_read_options reading;
    mercer_reader *reader = NULL;
    cli_read_options(&app->set, &reading);
    reading.missing = "mean";
    reading.drop_columns = name;
    mercer_ctx_set_notice(app->ctx, NULL, NULL); /* the table was told about */
    const bool has = strcmp(path, "-") != 0 &&
                     mercer_reader_open(app->ctx, path, &reading, &reader, NULL) == MERCER_OK;
    mercer_reader_close(reader);
    mercer_ctx_set_notice(app->ctx, cli_notice_library, app);
    return has;
}

/* The columns that a fit has to leave out where the rows are read without the labels that the model
 * was fitted with: "day,kind" or NULL. Owned by the caller. */
static char *unread_columns(cli_app *app, const mercer_model_info *info, const char *path)
{
    static const char *const usual[] = {"label", "target"}; /* by the rule of mercer/io.h */
    char *target = option_of(info->command, "target"), *labels = option_of(info->command, "labels");
    char *list = option_of(info->command, "drop");
    const char *told = info->label_column ? info->label_column : target;
    for (int i = 0; i < 2; i++) {
        const char *name = !told ? usual[i] : i == 0 ? told : NULL;
        if (!name || labels || cli_is_listed(list, name) || (!told && !has_column(app, path, name)))
            continue;
        char *longer = cli_format("%s%s%s", list ? list : "", list ? "," : "", name);
        free(list);
        list = longer;
    }
    free(target);
    free(labels);
    return list;
}

/* " --scale standard --drop day --label kind": what a fit to the same table takes besides kernel
 * and components. Which columns it reads is known from the command that fitted the model, where a
 * command did. Owned by the caller. */
static char *explore_words(const chart_subject *subject, cli_app *app, const char *path)
{
    static const char *const reading[] = {"columns", "list-header", "encode",         "missing",
                                          "na",      "resize",      "image-features", "drop",
                                          "target",  "unlabelled"}; /* the last ones with labels
                                                                       alone */
    enum { COUNT = sizeof reading / sizeof *reading, ALWAYS = 7 };
    const cli_settings *set = &app->set;
    mercer_model_info info = {.struct_size = sizeof info};
    char *text = NULL, *file = cli_file_words(set);
    FILE *out = cli_text_open(&text);
    mercer_model_get_info(subject->model, &info);
    const bool fitted = info.command && strncmp(info.command, "mercer fit ", 11) == 0;
    char *plain = fitted ? option_of(info.command, "no-label") : NULL;
    const bool unread = fitted && !plain && set->no_label;
    fputs(file, out);
    free(file);
    cli_put_option(out, "scale", strcmp(info.scale, "none") == 0 ? NULL : info.scale);
    for (int i = 0; i < (unread ? ALWAYS : COUNT) && fitted; i++) {
        char *value = option_of(info.command, reading[i]);
        cli_put_option(out, reading[i], value);
        free(value);
    }
    if (!fitted) {
        cli_put_option(out, "encode", strcmp(info.encode, "none") == 0 ? NULL : info.encode);
        cli_put_option(out, "missing", strcmp(info.missing, "error") == 0 ? NULL : info.missing);
    }
    if (unread) {
        char *list = unread_columns(app, &info, path);
        cli_put_option(out, "drop", list);
        free(list);
    } else if (set->no_label || (plain && !set->label)) {
        fprintf(out, " --no-label");
    }
    free(plain);
    if (!unread)
        cli_put_option(out, "label", set->label ? set->label : info.label_column);
    cli_put_option(out, "labels", set->labels);
    cli_put_option(out, "id", set->id ? set->id : info.id_column);
    fclose(out);
    return text;
}

mercer_status cli_write_page(cli_app *app, const chart_subject *subject, const char *model_path,
                             const char *data_path, const char *path, size_t *size,
                             mercer_error *err)
{
    page_command commands[4];
    char *lines[4] = {NULL};
    int64_t count = 0;
    if (!subject->model) {
        lines[count] = cli_copy(app->command_line);
        commands[count].what = "The command that this comes from:";
        count++;
    }
    if (model_path && subject->model) {
        mercer_model_info info = {.struct_size = sizeof info};
        mercer_model_get_info(subject->model, &info);
        char *model = cli_quote(model_path);
        lines[count] = cli_format("mercer transform %s new.csv -o features.csv", model);
        commands[count].what = "Features of new rows:";
        count++;
        if (info.head) {
            lines[count] = cli_format("mercer predict %s new.csv -o predictions.csv", model);
            commands[count].what = "Predictions for new rows:";
            count++;
        }
        if (info.orthonormal) {
            lines[count] = cli_format("mercer transform %s new.csv --errors --top 20", model);
            commands[count].what = "The most unusual of new rows:";
            count++;
        }
        free(model);
    }
    for (int64_t i = 0; i < count; i++)
        commands[i].line = lines[i];
    char *before = NULL, *after = NULL;
    if (app->set.explore && data_path) {
        char *data = cli_quote_path(data_path), *words = explore_words(subject, app, data_path);
        before = cli_format("mercer fit %s -m kpca", data);
        after = cli_format("%s -o my.model", words);
        free(data);
        free(words);
    }
    const page_options options = {
        .name = model_path ? base_name(cli_shown(model_path)) : NULL,
        .data_name = data_path ? base_name(cli_shown(data_path)) : NULL,
        .notices = (const char *const *)app->notices,
        .notice_count = app->notice_count,
        .commands = commands,
        .command_count = count,
        .explore_before = before,
        .explore_after = after,
        .max_points = app->set.max_points,
    };
    char *text = NULL;
    size_t length = 0;
    mercer_status rc = page_html(subject, &options, &text, &length, err);
    if (rc == MERCER_OK)
        rc = mercer_file_write(app->ctx, path ? path : "-", text, length, err);
    if (rc == MERCER_OK && size)
        *size = length;
    free(text);
    free(before);
    free(after);
    for (int64_t i = 0; i < count; i++)
        free(lines[i]);
    return rc;
}

/* What the command has done, for people or as JSON. */
static void print_summary(cli_app *app, int64_t rows, size_t size, double seconds)
{
    const cli_settings *set = &app->set;
    const bool on_stdout = cli_is_stdout(set->output);
    const int64_t most = set->max_points ? set->max_points : PAGE_MAX_POINTS;
    cli_progress_clear();
    if (set->json) {
        json_t *json = json_object();
        json_object_set_new(json, "model", cli_json_text(set->operand[0]));
        json_object_set_new(json, "data",
                            cli_json_text(set->operands > 1 ? set->operand[1] : NULL));
        json_object_set_new(json, "output", cli_json_text(set->output ? set->output : "-"));
        json_object_set_new(json, "rows", json_integer(rows));
        json_object_set_new(json, "points", json_integer(rows < most ? rows : most));
        json_object_set_new(json, "bytes", json_integer((int64_t)size));
        json_object_set_new(json, "seconds", cli_json_real(seconds));
        json_object_set_new(json, "notices", cli_json_notices(app));
        cli_json_print(on_stdout ? stderr : stdout, json);
        return;
    }
    cli_print_notices(app);
    if (set->quiet || on_stdout)
        return;
    printf("%s: a page of %s", cli_visible(set->output), cli_text_bytes((double)size).text);
    if (rows)
        printf(" about %s rows%s", cli_text_count(rows).text,
               rows > most ? ", some of them in its map" : "");
    printf("; open it in a browser\n");
}

static int run_report(cli_app *app)
{
    const cli_settings *set = &app->set;
    const char *data_path = set->operands > 1 ? set->operand[1] : NULL;
    chart_subject subject = {.ctx = app->ctx};
    mercer_error err = {0};
    mercer_model *model = NULL;
    mercer_table *table = NULL;
    chart_data *data = NULL;
    size_t size = 0;
    const double start = cli_now();
    int status = cli_check_page("report", set, set->output);
    if (status == CLI_DONE && cli_is_stdout(set->output) && isatty(STDOUT_FILENO))
        status = cli_fail(CLI_WRONG_CALL, "report: a page is not text for a terminal; give -o "
                                          "FILE.html or redirect");
    if (status == CLI_DONE && set->explore && !data_path)
        status =
            cli_fail(CLI_WRONG_CALL, "report: --explore needs rows: mercer report MODEL DATA ...");
    if (status != CLI_DONE)
        return status;
    mercer_status rc = mercer_model_load(app->ctx, set->operand[0], &model, &err);
    if (rc != MERCER_OK)
        return cli_fail_library(rc, &err, set->operand[0]);
    subject.model = model;
    if (data_path) {
        mercer_read_options reading;
        cli_read_options(set, &reading);
        mercer_model_read_options(model, &reading);
        rc = mercer_table_read(app->ctx, data_path, &reading, &table, &err);
        if (rc == MERCER_OK)
            rc = chart_data_new(app->ctx, model, table, NULL, &data, &err);
        subject.data = data;
    }
    if (rc == MERCER_OK)
        rc = cli_write_page(app, &subject, set->operand[0], data_path, set->output, &size, &err);
    if (rc != MERCER_OK)
        status = cli_fail_library(rc, &err, data_path ? data_path : set->operand[0]);
    else
        print_summary(app, data ? data->rows : 0, size, cli_now() - start);
    chart_data_free(data);
    mercer_table_free(table);
    mercer_model_free(model);
    return status;
}

static const cli_option options[] = {
    CLI_OPTION("output", 'o', CLI_TEXT, output, "FILE.html", NULL,
               "page to write; default: standard output, unless that is a terminal"),
    CLI_OPTION("max-points", 0, CLI_COUNT, max_points, "N", NULL,
               "points that the map has at most; of more rows it takes N, one of each stretch of "
               "the table; default 200000"),
    CLI_OPTION("explore", 0, CLI_FLAG, explore, NULL, NULL,
               "add an explorer: sliders for kernel, width and number of features, computed in the "
               "browser from up to 2000 rows, which the page then holds in full"),
    CLI_OPTION_MODEL_ROWS,
    CLI_OPTION_MACHINE,
    CLI_OPTION_UNTRUSTED,
    CLI_OPTION_JSON,
    CLI_OPTION_LAST,
};

const cli_command cli_command_report = {
    .name = "report",
    .summary = "write a page about a model and rows, to open in a browser",
    .operands = "MODEL DATA",
    .usage = "MODEL [DATA] -o FILE.html [options]",
    .least = 1,
    .most = 2,
    .options = options,
    .details = "The page is one file that asks for nothing from elsewhere. It is whole without\n"
               "scripts and on paper; in a browser its map of the rows has zoom, lasso and the\n"
               "name of each row. The same input gives the same bytes.\n\n"
               "Examples:\n"
               "  mercer report my.model data.csv -o report.html\n"
               "  mercer report my.model -o report.html\n",
    .run = run_report,
};
