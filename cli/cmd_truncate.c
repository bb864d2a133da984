/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer truncate: keep the first components of a model. */
#include "cli.h"

#include <string.h>

static void print_report(FILE *out, const cli_app *app, const char *output,
                         const mercer_model_info *before, const mercer_model_info *after)
{
    if (app->set.json) {
        json_t *json = json_object();
        json_object_set_new(json, "model", cli_json_text(app->set.operand[0]));
        json_object_set_new(json, "output", cli_json_text(output));
        json_object_set_new(json, "components", json_integer(after->components));
        json_object_set_new(json, "components_before", json_integer(before->components));
        json_object_set_new(json, "reconstruction_error",
                            cli_json_real(after->reconstruction_error));
        json_object_set_new(json, "notices", cli_json_notices(app));
        cli_json_print(out, json);
        return;
    }
    cli_print_notices(app);
    if (app->set.quiet)
        return;
    const cli_text error = cli_text_number(after->reconstruction_error);
    fprintf(out, "%s: %lld of %lld components kept; reconstruction error %s, was %s\n",
            strcmp(output, "-") == 0 ? "standard output" : cli_visible(output),
            (long long)after->components, (long long)before->components, error.text,
            cli_text_number(before->reconstruction_error).text);
}

static int run_truncate(cli_app *app)
{
    const cli_settings *set = &app->set;
    const char *path = set->operand[0];
    const char *output = set->output ? set->output : path;
    if (!set->keep)
        return cli_fail(CLI_WRONG_CALL, "truncate: how many components to keep is missing; add -n");
    if (!set->output && strcmp(path, "-") == 0)
        return cli_fail(CLI_WRONG_CALL,
                        "truncate: standard input cannot be replaced; give -o FILE");
    int status = cli_check_output(output);
    if (status == CLI_DONE)
        status = cli_check_model_output("truncate", output);
    int lock = -1;
    if (status == CLI_DONE)
        status = cli_lock(app, output, &lock);
    if (status != CLI_DONE)
        return status;

    mercer_error err = {0};
    mercer_model *model = NULL, *shorter = NULL;
    mercer_model_info before = {.struct_size = sizeof before};
    mercer_model_info after = {.struct_size = sizeof after};
    mercer_status rc = mercer_model_load(app->ctx, path, &model, &err);
    if (rc == MERCER_OK)
        rc = mercer_model_truncate(app->ctx, model, set->keep, &shorter, &err);
    if (rc == MERCER_OK)
        rc = mercer_model_save(app->ctx, shorter, output, &err);
    if (rc == MERCER_OK) {
        mercer_model_get_info(model, &before);
        mercer_model_get_info(shorter, &after);
        print_report(cli_is_stdout(output) ? stderr : stdout, app, output, &before, &after);
    } else {
        status = cli_fail_library(rc, &err, path);
    }
    mercer_model_free(shorter);
    mercer_model_free(model);
    cli_unlock(lock);
    return status;
}

static const cli_option options[] = {
    CLI_OPTION("components", 'n', CLI_COUNT, keep, "L", NULL,
               "how many components to keep: the first L features stay as they are"),
    CLI_OPTION("output", 'o', CLI_TEXT, output, "MODEL2", NULL,
               "file for the shorter model; without it MODEL is replaced, in one step"),
    CLI_OPTION_UNTRUSTED,
    CLI_OPTION_JSON,
    CLI_OPTION_LAST,
};

const cli_command cli_command_truncate = {
    .name = "truncate",
    .summary = "keep the first components of a model",
    .operands = "MODEL",
    .usage = "MODEL -n L [-o MODEL2] [options]",
    .least = 1,
    .most = 1,
    .options = options,
    .details = "Examples:\n"
               "  mercer truncate my.model -n 5 -o small.model\n"
               "  mercer truncate my.model -n 5\n",
    .run = run_truncate,
};
