/* SPDX-License-Identifier: BSD-3-Clause */
/* mercer methods, kernels, heads: what there is, from the same descriptors that check the call. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

char *cli_entry_names(cli_entry_at at)
{
    char *list = cli_copy("");
    for (int i = 0; at(i); i++) {
        char *longer = cli_format("%s%s%s", list, i ? ", " : "", mercer_entry_name(at(i)));
        free(list);
        list = longer;
    }
    return list;
}

/* The entry that a name or NAME:key=value means, as the library understands it. */
static const mercer_entry *find_entry(cli_entry_at at, const char *spec)
{
    return at == mercer_method_at   ? mercer_method_find(spec)
           : at == mercer_kernel_at ? mercer_kernel_find(spec)
                                    : mercer_head_find(spec);
}

/* Names of methods that Mercer does not have, but people look for. */
static bool is_embedding(const char *word)
{
    static const char *const names[] = {"umap", "tsne", "t-sne", "isomap", "lle"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(word, names[i]) == 0)
            return true;
    return false;
}

/* Whether a name may have been meant: one letter from a short one, two from a longer one. */
static bool is_near(const char *word, const char *name)
{
    const size_t length = strlen(word);
    return (length >= 3 && strncasecmp(word, name, length) == 0) ||
           cli_distance(word, name) <= (length <= 4 ? 1 : 2);
}

static int unknown_entry(const char *what, const char *name, int length, cli_entry_at at)
{
    char *word = cli_format("%.*s", length, name);
    char *known = cli_entry_names(at);
    const char *best = NULL;
    int least = 0;
    for (int i = 0; at(i); i++) {
        const int distance = cli_distance(word, mercer_entry_name(at(i)));
        if (is_near(word, mercer_entry_name(at(i))) && (!best || distance < least)) {
            best = mercer_entry_name(at(i));
            least = distance;
        }
    }
    const int status =
        at == mercer_method_at && is_embedding(word)
            ? cli_fail(CLI_WRONG_CALL,
                       "unknown method '%s'; Mercer has no neighbour embeddings; there are %s",
                       word, known)
        : best ? cli_fail(CLI_WRONG_CALL, "unknown %s '%s'; did you mean '%s'? There are %s", what,
                          word, best, known)
               : cli_fail(CLI_WRONG_CALL, "unknown %s '%s'; there are %s", what, word, known);
    free(word);
    free(known);
    return status;
}

int cli_check_spec(const char *what, const char *spec, cli_entry_at at)
{
    const size_t length = strcspn(spec, ":");
    return find_entry(at, spec) ? CLI_DONE : unknown_entry(what, spec, (int)length, at);
}

/* A list: what it is of, the option that takes its names, and what the reference of an entry is. */
typedef struct catalogue {
    const char *what, *option, *reference;
    cli_entry_at at;
} catalogue;

static void print_entry(const mercer_entry *entry, const catalogue *of)
{
    const char *name = mercer_entry_name(entry);
    const char *reference = mercer_entry_reference(entry);
    mercer_parameter parameter = {.struct_size = sizeof parameter};
    printf("%s: %s\n", name, mercer_entry_summary(entry));
    if (reference && *reference)
        printf("%s\n", reference);
    if (!mercer_entry_parameter(entry, 0, &parameter)) {
        printf("\nThe %s has no keys: %s %s\n", of->what, of->option, name);
        return;
    }
    printf("\n");
    cli_table table = {.align = "llll", .header = true};
    cli_table_cell(&table, "key");
    cli_table_cell(&table, "default");
    cli_table_cell(&table, "allowed");
    cli_table_cell(&table, "meaning");
    for (int i = 0; mercer_entry_parameter(entry, i, &parameter); i++) {
        cli_table_cell(&table, "%s", parameter.key);
        cli_table_cell(&table, "%s", parameter.default_value);
        cli_table_cell(&table, "%s", parameter.allowed);
        cli_table_cell(&table, "%s", parameter.help);
    }
    cli_table_print(&table, stdout, 2);
    mercer_entry_parameter(entry, 0, &parameter);
    printf("\nKeys follow the name: %s %s:%s=%s\n", of->option, name, parameter.key,
           parameter.default_value);
}

/* Part of the library's schema: an entry, or without a name the list of all. */
static void list_json(const catalogue *of, const char *name)
{
    char *text = NULL, *key = cli_format("%ss", of->what);
    json_t *schema = cli_json_take(mercer_schema_json(&text, NULL), &text);
    json_t *all = json_object_get(schema, key);
    if (name) {
        size_t index = 0;
        while (strcmp(mercer_entry_name(of->at((int)index)), name) != 0)
            index++;
        cli_json_print(stdout, json_incref(json_array_get(all, index)));
    } else {
        json_t *report = json_object();
        json_object_set(report, key, all);
        cli_json_print(stdout, report);
    }
    json_decref(schema);
    free(key);
}

static int list(cli_app *app, const catalogue *of)
{
    const cli_entry_at at = of->at;
    if (app->set.operands) {
        const char *name = app->set.operand[0];
        const mercer_entry *entry = find_entry(at, name);
        if (!entry)
            return unknown_entry(of->what, name, (int)strlen(name), at);
        if (app->set.json)
            list_json(of, name);
        else
            print_entry(entry, of);
        return CLI_DONE;
    }
    if (app->set.json) {
        list_json(of, NULL);
        return CLI_DONE;
    }
    cli_table table = {.align = "lll", .header = true};
    cli_table_cell(&table, "%s", of->what);
    cli_table_cell(&table, "what it is");
    cli_table_cell(&table, "%s", of->reference);
    for (int i = 0; at(i); i++) {
        const char *reference = mercer_entry_reference(at(i));
        cli_table_cell(&table, "%s", mercer_entry_name(at(i)));
        cli_table_cell(&table, "%s", mercer_entry_summary(at(i)));
        cli_table_cell(&table, "%s", reference ? reference : "");
    }
    cli_table_print(&table, stdout, 2);
    printf("\n'mercer %ss NAME' shows the keys of one.\n", of->what);
    return CLI_DONE;
}

static int run_methods(cli_app *app)
{
    return list(app, &(catalogue){"method", "-m", "reference", mercer_method_at});
}

static int run_kernels(cli_app *app)
{
    return list(app, &(catalogue){"kernel", "-k", "formula", mercer_kernel_at});
}

static int run_heads(cli_app *app)
{
    return list(app, &(catalogue){"head", "--head", "reference", mercer_head_at});
}

static const char *name_of(const mercer_entry *entry)
{
    return entry ? mercer_entry_name(entry) : NULL;
}

static const char *method_name(int index)
{
    return name_of(mercer_method_at(index));
}

static const char *kernel_name(int index)
{
    return name_of(mercer_kernel_at(index));
}

static const char *head_name(int index)
{
    return name_of(mercer_head_at(index));
}

static const cli_option options[] = {CLI_OPTION_JSON, CLI_OPTION_HELP, CLI_OPTION_END};

const cli_command cli_command_methods = {
    .name = "methods",
    .summary = "list the methods, or show the keys of one",
    .operands = "[NAME]",
    .most = 1,
    .options = options,
    .name_at = method_name,
    .run = run_methods,
};

const cli_command cli_command_kernels = {
    .name = "kernels",
    .summary = "list the kernels, or show the keys of one",
    .operands = "[NAME]",
    .most = 1,
    .options = options,
    .name_at = kernel_name,
    .run = run_kernels,
};

const cli_command cli_command_heads = {
    .name = "heads",
    .summary = "list the heads, which predict from features, or show the keys of one",
    .operands = "[NAME]",
    .most = 1,
    .options = options,
    .name_at = head_name,
    .run = run_heads,
};
