/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors and notices: one line each. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool silent;
static char failed[1024]; /* the last line */

void cli_fail_silently(void)
{
    silent = true;
}

bool cli_is_silent(void)
{
    return silent;
}

const char *cli_fail_text(void)
{
    return failed;
}

int cli_fail(int status, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_clean(text); /* one line, whatever the file is called */
    snprintf(failed, sizeof failed, "%s", text);
    if (silent)
        return status;
    cli_progress_clear();
    fflush(stdout);
    fprintf(stderr, "mercer: %s\n", text);
    return status;
}

static const cli_command *failing; /* whose options are spelled in messages */

void cli_fail_for(const cli_command *command)
{
    failing = command;
}

/* The options that an error or a notice of the library is about, as they are typed:
 * " (--label, --target)", " (--scale standard)" or "". Owned by the caller. */
static char *spell_options(const mercer_error *err)
{
    char *list = cli_copy(""), *keys = cli_copy(err->key);
    for (char *key = keys, *next; failing && *key; key = next) {
        next = key + strcspn(key, " ");
        if (*next)
            *next++ = 0;
        char *option = cli_option_typed(failing, key);
        if (option && strcmp(key, err->advice_key) != 0) {
            char *longer = cli_format("%s%s%s", list, *list ? ", " : "", option);
            free(list);
            list = longer;
        }
        free(option);
    }
    free(keys);
    char *option = failing ? cli_option_typed(failing, err->advice_key) : NULL;
    if (option) {
        char *value = *err->advice_value ? cli_quote(err->advice_value) : cli_copy("");
        /* what begins with a dash would be another option */
        const char *between = !*value ? "" : *err->advice_value == '-' ? "=" : " ";
        char *longer = cli_format("%s%s%s%s%s", list, *list ? ", " : "", option, between, value);
        free(value);
        free(list);
        list = longer;
    }
    free(option);
    char *out = *list ? cli_format(" (%s)", list) : cli_copy("");
    free(list);
    return out;
}

char *cli_error_text(const mercer_error *err)
{
    char *options = spell_options(err), *text = cli_format("%s%s", err->text, options);
    free(options);
    return text;
}

int cli_fail_library(mercer_status code, const mercer_error *err, const char *about)
{
    const int status = code == MERCER_ERR_ARGUMENT    ? CLI_WRONG_CALL
                       : code == MERCER_ERR_CANCELLED ? CLI_INTERRUPTED
                                                      : CLI_FAILED;
    const char *text = err->text[0] ? err->text : mercer_status_text(code);
    const bool named = !about || code != MERCER_ERR_DATA || err->names_file;
    char *options = spell_options(err);
    cli_fail(status, "%s%s%s%s", named ? "" : cli_shown(about), named ? "" : ": ", text, options);
    free(options);
    return status;
}

int cli_fail_reading(const cli_settings *set, mercer_status code, const mercer_error *err,
                     const char *path)
{
    /* A text in the first row of data is most likely a column of classes nobody named, or, where
     * the classes are known, a column of texts. A name that fills its room may have been cut. */
    const bool text = code == MERCER_ERR_DATA && err->cause == MERCER_CAUSE_NOT_A_NUMBER &&
                      err->line >= 1 && err->line <= 2 && err->column[0] &&
                      strlen(err->column) + 1 < sizeof err->column;
    const bool learns = set->operands == 1; /* of a model everything about columns is fixed */
    if (text && (!set->label || (learns && !set->encode))) {
        char *column = cli_quote(err->column);
        char *names =
            set->id ? cli_copy("") : cli_format("; if it names the rows, --id %s", column);
        const int status =
            set->label ? cli_fail(CLI_FAILED,
                                  "%s; leave the column out (--drop %s), or make a column of each "
                                  "of its values (--encode onehot)%s",
                                  err->text, column, names)
                       : cli_fail(CLI_FAILED, "%s; if the column holds classes, add --label %s%s%s",
                                  err->text, column, names,
                                  learns ? "; if it is data, --encode onehot" : "");
        free(names);
        free(column);
        return status;
    }
    return cli_fail_library(code, err, path);
}

int cli_load_model(const cli_app *app, const char *path, mercer_model **out, mercer_error *err)
{
    const cli_settings *set = &app->set;
    const mercer_status rc = mercer_model_load(app->ctx, path, out, err);
    if (rc == MERCER_OK)
        return CLI_DONE;
    const mercer_entry *format = mercer_format_find(path, NULL);
    if (rc != MERCER_ERR_FORMAT || !format || !failing || path != set->operand[0])
        return cli_fail_library(rc, err, path);
    char *data = cli_quote(path), *model = set->operands > 1 ? cli_quote(set->operand[1]) : NULL;
    mercer_model *other = NULL;
    int status = CLI_FAILED;
    if (model && mercer_model_load(app->ctx, set->operand[1], &other, NULL) == MERCER_OK)
        status = cli_fail(CLI_WRONG_CALL, "%s is a table; did you mean: mercer %s %s %s?", path,
                          failing->name, model, data);
    else if (!model)
        status = cli_fail(CLI_FAILED,
                          "%s is a table, not a model; to make one: mercer fit %s -m kpca -o "
                          "my.model",
                          path, data);
    else
        status = cli_fail_library(rc, err, path);
    mercer_model_free(other);
    free(data);
    free(model);
    return status;
}

mercer_status cli_error(mercer_error *err, mercer_status code, const char *format, ...)
{
    va_list args;
    *err = (mercer_error){.code = code};
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

static void __attribute__((format(printf, 2, 3))) append(mercer_error *err, const char *format, ...)
{
    const size_t used = strlen(err->text);
    va_list args;
    va_start(args, format);
    vsnprintf(err->text + used, sizeof err->text - used, format, args);
    va_end(args);
}

void cli_error_place(mercer_error *err, int64_t before)
{
    if (err->row > 0 && before > 0)
        append(err, ", counted after the first %lld rows", (long long)before);
}

void cli_error_place_block(mercer_error *err, int64_t before)
{
    if (err->row > 0)
        append(err, "; in all it is row %lld", (long long)(before + err->row));
}

void cli_notice_library(void *host, const mercer_notice *notice)
{
    char *options = spell_options(notice), *text = cli_format("%s%s", notice->text, options);
    cli_notice(host, text);
    free(options);
    free(text);
}

void cli_notice(cli_app *app, const char *text)
{
    for (int64_t i = 0; i < app->notice_count; i++)
        if (strcmp(app->notices[i], text) == 0)
            return;
    char **grown = cli_alloc((size_t)app->notice_count + 1, sizeof *grown);
    if (app->notice_count)
        memcpy(grown, app->notices, (size_t)app->notice_count * sizeof *grown);
    grown[app->notice_count++] = cli_copy(text);
    free(app->notices);
    app->notices = grown;
}

void cli_print_notices(const cli_app *app)
{
    if (app->set.quiet || silent)
        return;
    cli_progress_clear();
    for (int64_t i = 0; i < app->notice_count; i++)
        fprintf(stderr, "mercer: note: %s\n", cli_visible(app->notices[i]));
}
