/* SPDX-License-Identifier: BSD-3-Clause */
/* The option parser: long options as --x V and --x=V, short ones as -x V and -xV, "--" ends the
 * options, "-" is an operand. Every wrong word gets one line that says what to type instead. */
#include "options.h"
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options of a fit ---- */

static bool find_fit_option(const char *key, mercer_parameter *out)
{
    *out = (mercer_parameter){.struct_size = sizeof *out};
    for (int i = 0; mercer_fit_option_at(i, out); i++)
        if (strcmp(out->key, key) == 0)
            return true;
    return false;
}

/* --scale-target for scale_target; owned by the caller. */
static char *spell(const char *key)
{
    char *name = cli_copy(key);
    for (char *at = name; *at; at++)
        *at = *at == '_' ? '-' : *at;
    return name;
}

/* Fill a line from what the library says. */
static void complete(cli_option *option, const mercer_parameter *parameter)
{
    static const struct {
        cli_option_kind kind;
        const char *value;
    } shown[] = {[MERCER_PARAMETER_CHOICE] = {CLI_CHOICE, "HOW"},
                 [MERCER_PARAMETER_SPEC] = {CLI_TEXT, "NAME"},
                 [MERCER_PARAMETER_COMPONENTS] = {CLI_COMPONENTS, "N"},
                 [MERCER_PARAMETER_SHARE] = {CLI_SHARE, "SHARE"},
                 [MERCER_PARAMETER_ROWS] = {CLI_TEXT, "FILE"}};
    const bool choice = parameter->type == MERCER_PARAMETER_CHOICE;
    option->name = spell(parameter->key);
    option->kind = shown[parameter->type].kind;
    option->value = option->value ? option->value : shown[parameter->type].value;
    option->choices = choice ? parameter->choices : NULL;
    option->fit = parameter->type == MERCER_PARAMETER_ROWS ? NULL : parameter->key;
    if (!option->help)
        option->help =
            cli_format("%s%s%s%s", parameter->help, *parameter->default_value ? "; default " : "",
                       parameter->default_value, option->more ? option->more : "");
}

static bool has_line(const cli_option *table, const char *key)
{
    char *name = spell(key);
    bool found = false;
    for (; table->name && !found; table++)
        found = strcmp(table->name, name) == 0 || (table->fit && strcmp(table->fit, key) == 0);
    free(name);
    return found;
}

/* A copy of the table with the options of a fit filled in. */
static cli_option *expand(const cli_option *table)
{
    size_t count = 1, at = 0;
    mercer_parameter parameter = {.struct_size = sizeof parameter};
    for (const cli_option *o = table; o->name; o++)
        count++;
    for (int i = 0; mercer_fit_option_at(i, &parameter); i++)
        count++;
    cli_option *full = cli_alloc(count, sizeof *full);
    for (const cli_option *o = table; o->name; o++) {
        if (o->kind != CLI_FIT_REST)
            full[at++] = *o;
        if (o->kind == CLI_FIT_OPTION && find_fit_option(o->fit, &parameter))
            complete(&full[at - 1], &parameter);
        for (int i = 0; o->kind == CLI_FIT_REST && mercer_fit_option_at(i, &parameter); i++)
            if ((parameter.calls & o->offset) && parameter.type != MERCER_PARAMETER_ROWS &&
                !has_line(table, parameter.key)) {
                full[at] = (cli_option){.name = ""};
                complete(&full[at++], &parameter);
            }
    }
    return full; /* cli_alloc() zeroes: the last has no name */
}

const cli_option *cli_options_of(const cli_command *command)
{
    enum { MAX_COMMANDS = 32 };
    static struct {
        const cli_option *table, *full;
    } known[MAX_COMMANDS];
    int i = 0;
    while (known[i].table && known[i].table != command->options)
        i++;
    if (!known[i].table) {
        known[i].full = expand(command->options);
        known[i].table = command->options;
    }
    return known[i].full;
}

char *cli_option_typed(const cli_command *command, const char *key)
{
    const bool own = has_line(cli_options_of(command), key);
    if (!*key || (!own && !has_line(cli_options_of(&cli_command_fit), key)))
        return NULL;
    char *name = spell(key), *typed = cli_format("%s--%s", own ? "" : "fit ", name);
    free(name);
    return typed;
}

bool cli_command_has_option(const cli_command *command, const char *name)
{
    const cli_option *option = cli_options_of(command);
    while (option->name && strcmp(option->name, name) != 0)
        option++;
    return option->name != NULL;
}

/* ---- parsing ---- */

static const cli_option *find_long(const cli_option *options, const char *name, size_t length)
{
    for (const cli_option *o = options; o->name; o++)
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static const cli_option *find_short(const cli_option *options, char letter)
{
    for (const cli_option *o = options; o->name; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

static bool takes_value(const cli_option *option)
{
    return option->kind != CLI_FLAG && option->kind != CLI_HELP;
}

/* True when word is an option of this command: then it cannot be the value of the one before. */
static bool is_option(const cli_option *options, const char *word)
{
    if (word[0] != '-' || word[1] == 0)
        return false;
    if (word[1] == '-')
        return word[2] == 0 || find_long(options, word + 2, strcspn(word + 2, "="));
    return word[2] == 0 && find_short(options, word[1]);
}

/* The commands that have the option, separated by ", "; owned by the caller. */
static char *commands_with(const char *word)
{
    char *list = cli_copy("");
    const cli_command *command;
    for (int i = 0; (command = cli_command_at(i)); i++) {
        if (!is_option(cli_options_of(command), word))
            continue;
        char *longer = cli_format("%s%s%s", list, *list ? ", " : "", command->name);
        free(list);
        list = longer;
    }
    return list;
}

static int unknown_option(const cli_command *command, const char *word)
{
    const int length = (int)strcspn(word, "=");
    char *name = cli_format("%.*s", length, word);
    const char *bare = name + strspn(name, "-");
    const cli_option *best = NULL;
    int least = 0;
    for (const cli_option *o = cli_options_of(command); o->name; o++) {
        const int distance = cli_distance(bare, o->name);
        if (cli_resembles(bare, o->name) && (!best || distance < least)) {
            best = o;
            least = distance;
        }
    }
    char *others = commands_with(name);
    int status;
    if (*others)
        status = cli_fail(CLI_WRONG_CALL,
                          "%s: has no option %s (it belongs to %s); see 'mercer %s "
                          "--help'",
                          command->name, name, others, command->name);
    else if (best)
        status = cli_fail(CLI_WRONG_CALL, "%s: unknown option %s; did you mean --%s?",
                          command->name, name, best->name);
    else
        status = cli_fail(CLI_WRONG_CALL, "%s: unknown option %s; see 'mercer %s --help'",
                          command->name, name, command->name);
    free(others);
    free(name);
    return status;
}

/* A plain decimal number and nothing else: no blanks, no hexadecimal, no "nan". */
static bool read_number(const char *text, size_t length, double *value)
{
    char copy[64];
    if (length == 0 || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    if (copy[strspn(copy, "0123456789.eE+-")] != 0)
        return false;
    char *end = NULL;
    *value = strtod(copy, &end);
    return *end == 0 && end != copy && isfinite(*value);
}

/* A number of seconds, minutes or hours. */
static bool read_duration(const char *text, double *seconds)
{
    size_t length = strlen(text);
    const char last = length ? text[length - 1] : 0;
    const double unit = last == 'h' ? 3600 : last == 'm' ? 60 : 1;
    if (last == 's' || last == 'm' || last == 'h')
        length--;
    if (!read_number(text, length, seconds) || !(*seconds > 0) || *seconds > 1e9)
        return false;
    *seconds *= unit;
    return true;
}

static bool read_size(const char *text, int64_t *bytes)
{
    static const char units[] = "KMGT";
    size_t length = strlen(text);
    double factor = 1;
    if (length > 2 &&
        (strcmp(text + length - 2, "iB") == 0 || strcmp(text + length - 2, "ib") == 0))
        length -= 2;
    else if (length > 1 && (text[length - 1] == 'B' || text[length - 1] == 'b'))
        length--;
    if (length > 1) {
        const char last = (char)(text[length - 1] & ~0x20);
        const char *unit = last ? strchr(units, last) : NULL;
        if (unit) {
            factor = ldexp(1, 10 * (int)(unit - units + 1));
            length--;
        }
    }
    double value;
    if (!read_number(text, length, &value) || value < 0 || value * factor > 0x1p62)
        return false;
    *bytes = (int64_t)(value * factor);
    return *bytes > 0;
}

/* WxH, two whole numbers of 1 or more. */
static bool read_shape(const char *text, int64_t shape[2])
{
    static const double most = 1 << 20;
    const size_t first = strcspn(text, "x");
    double width, height;
    if (!text[first] || !read_number(text, first, &width) ||
        !read_number(text + first + 1, strlen(text + first + 1), &height) || width < 1 ||
        height < 1 || width != floor(width) || height != floor(height) || width > most ||
        height > most)
        return false;
    shape[0] = (int64_t)width;
    shape[1] = (int64_t)height;
    return true;
}

/* What an option may be, "a|b|c", or NULL when anything; owned by the caller. */
static char *choices_of(const cli_option *option)
{
    const mercer_entry *entry;
    char *list = NULL;
    for (int i = 0; (entry = mercer_format_at(i)); i++) {
        if (option->kind != CLI_FORMAT &&
            (option->kind != CLI_FORMAT_OUT || !mercer_entry_writes(entry)))
            continue;
        char *longer =
            cli_format("%s%s%s", list ? list : "", list ? "|" : "", mercer_entry_name(entry));
        free(list);
        list = longer;
    }
    if (!option->choices)
        return list;
    char *all = cli_format("%s%s%s", list ? list : "", list ? "|" : "", option->choices);
    free(list);
    return all;
}

/* "a|b|c" as "a, b, c"; owned by the caller. */
static char *list_choices(const char *choices)
{
    char *list = cli_alloc(2 * strlen(choices) + 1, 1);
    for (size_t at = 0; *choices; choices++) {
        list[at++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            list[at++] = ' ';
    }
    return list;
}

static int wrong_choice(const cli_option *option, const char *value, const char *choices)
{
    char *list = cli_copy(choices);
    const char *best = NULL;
    int least = 0;
    char *rest = NULL;
    for (char *word = strtok_r(list, "|", &rest); word; word = strtok_r(NULL, "|", &rest)) {
        const int distance = cli_distance(value, word);
        if (cli_resembles(value, word) && (!best || distance < least)) {
            best = word;
            least = distance;
        }
    }
    char *shown = list_choices(choices);
    int status;
    if (best)
        status = cli_fail(CLI_WRONG_CALL, "--%s: '%s' is not one of %s; did you mean %s?",
                          option->name, value, shown, best);
    else
        status =
            cli_fail(CLI_WRONG_CALL, "--%s: '%s' is not one of %s", option->name, value, shown);
    free(list);
    free(shown);
    return status;
}

static bool is_choice(const char *choices, const char *value)
{
    const size_t length = strlen(value);
    for (const char *at = choices; length;) {
        const size_t word = strcspn(at, "|");
        if (word == length && strncmp(at, value, length) == 0)
            return true;
        if (at[word] == 0)
            break;
        at += word + 1;
    }
    return false;
}

int cli_option_read(const cli_option *option, const char *value, void *field)
{
    double number = 0;
    const bool is_number = value && read_number(value, strlen(value), &number);

    switch (option->kind) {
    case CLI_FLAG:
    case CLI_HELP:
        *(bool *)field = true;
        return CLI_DONE;
    case CLI_TEXT:
        if (*value == 0)
            return cli_fail(CLI_WRONG_CALL, "--%s: the value is empty", option->name);
        *(const char **)field = value;
        return CLI_DONE;
    case CLI_LIST: {
        cli_list *list = field;
        if (*value == 0)
            return cli_fail(CLI_WRONG_CALL, "--%s: the value is empty", option->name);
        if (list->count == CLI_MAX_LIST)
            return cli_fail(CLI_WRONG_CALL, "--%s is given more than %d times", option->name,
                            CLI_MAX_LIST);
        list->item[list->count++] = value;
        return CLI_DONE;
    }
    case CLI_CHOICE:
    case CLI_FORMAT:
    case CLI_FORMAT_OUT: {
        char *choices = choices_of(option);
        int status = CLI_DONE;
        if (is_choice(choices, value))
            *(const char **)field = value;
        else
            status = wrong_choice(option, value, choices);
        free(choices);
        return status;
    }
    case CLI_COUNT:
        if (!is_number || number < 1 || number != floor(number) || number > 0x1p53)
            return cli_fail(CLI_WRONG_CALL, "--%s: '%s' is not a whole number of 1 or more%s",
                            option->name, value, number > 0x1p53 ? " (at most 2^53)" : "");
        *(int64_t *)field = (int64_t)number;
        return CLI_DONE;
    case CLI_SEED: {
        char *end = NULL;
        if (*value && strlen(value) <= 19 && value[strspn(value, "0123456789")] == 0)
            *(uint64_t *)field = strtoull(value, &end, 10);
        if (!end)
            return cli_fail(CLI_WRONG_CALL,
                            "--%s: '%s' is not a whole number of 0 or more (19 digits at most)",
                            option->name, value);
        return CLI_DONE;
    }
    case CLI_SIZE:
        if (!read_size(value, field))
            return cli_fail(CLI_WRONG_CALL, "--%s: '%s' is not a size; write it as 512M or 4G",
                            option->name, value);
        return CLI_DONE;
    case CLI_DURATION:
        if (!read_duration(value, field))
            return cli_fail(CLI_WRONG_CALL, "--%s: '%s' is not a time; write it as 90s, 10m or 2h",
                            option->name, value);
        return CLI_DONE;
    case CLI_SHAPE:
        if (!read_shape(value, field))
            return cli_fail(CLI_WRONG_CALL,
                            "--%s: '%s' is not a size; write it as 32x24, width first",
                            option->name, value);
        return CLI_DONE;
    case CLI_REAL:
        if (!is_number || number < 0)
            return cli_fail(CLI_WRONG_CALL, "--%s: '%s' is not a number of 0 or more", option->name,
                            value);
        *(double *)field = number;
        return CLI_DONE;
    case CLI_SHARE:
        if (!is_number || number <= 0 || number >= 1)
            return cli_fail(CLI_WRONG_CALL, "--%s: '%s' is not a share between 0 and 1, e.g. 0.05",
                            option->name, value);
        *(double *)field = number;
        return CLI_DONE;
    case CLI_COMPONENTS:
        if (strcmp(value, "bound") == 0) {
            *(double *)field = MERCER_COMPONENTS_BOUND;
            return CLI_DONE;
        }
        if (!is_number || number <= 0 || number > 0x1p53 || (number > 1 && number != floor(number)))
            return cli_fail(CLI_WRONG_CALL,
                            "-n: '%s' is neither a whole number of 1 or more nor a share of the "
                            "variance between 0 and 1 (nor 'bound')",
                            value);
        *(double *)field = number;
        return CLI_DONE;
    default:
        break; /* not after cli_options_of() */
    }
    return CLI_DONE;
}

static int store(const cli_option *option, const char *value, cli_settings *settings)
{
    union {
        const char *text;
        double number;
        cli_list list;
    } checked = {0}; /* a wrong value is told as those of other options are */
    mercer_error err;
    if (!option->fit)
        return cli_option_read(option, value, (char *)settings + option->offset);
    double percent;
    char share[32]; /* read at once, never kept */
    if (option->kind == CLI_COMPONENTS && value && *value && value[strlen(value) - 1] == '%' &&
        read_number(value, strlen(value) - 1, &percent)) {
        snprintf(share, sizeof share, "%.15g", percent / 100);
        value = share;
    }
    int status = cli_option_read(option, value, &checked);
    if (status != CLI_DONE)
        return status;
    mercer_status rc = mercer_fit_options_set(&settings->fit, option->fit, value, &err);
    return rc == MERCER_OK ? CLI_DONE : cli_fail_library(rc, &err, NULL);
}

/* "needs DATA", "takes only MODEL DATA". */
static int check_operands(const cli_command *command, int given, const char *extra)
{
    if (extra)
        return command->most == 0
                   ? cli_fail(CLI_WRONG_CALL, "%s: unexpected '%s'; the command takes options only",
                              command->name, extra)
                   : cli_fail(CLI_WRONG_CALL,
                              "%s: unexpected '%s' after %s; see 'mercer %s --help'", command->name,
                              extra, command->operands, command->name);
    if (given < command->least) {
        const char *missing = command->operands;
        for (int i = 0; i < given; i++)
            missing += strcspn(missing, " ") + 1;
        return cli_fail(CLI_WRONG_CALL, "%s: %.*s is missing; usage: mercer %s %s ...",
                        command->name, (int)strcspn(missing, " "), missing, command->name,
                        command->operands);
    }
    return CLI_DONE;
}

int cli_options_parse(const cli_command *command, int argc, char **argv, cli_settings *settings)
{
    enum { MAX_OPTIONS = 96 };
    bool given[MAX_OPTIONS] = {false};
    bool only_operands = false;
    const cli_option *options = cli_options_of(command);
    int status = CLI_DONE;

    *settings = (cli_settings){.seed = 1, .noise = -1};
    mercer_fit_options_init(&settings->fit);
    /* Help wins over anything wrong on the same line. */
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            settings->help = true;
            return CLI_DONE;
        }

    for (int i = 0; i < argc && status == CLI_DONE; i++) {
        const char *word = argv[i];
        if (only_operands || word[0] != '-' || word[1] == 0) {
            if (settings->operands == command->most)
                return check_operands(command, settings->operands, word);
            settings->operand[settings->operands++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_operands = true;
            continue;
        }
        const cli_option *option;
        const char *value = NULL;
        if (word[1] == '-') {
            const size_t length = strcspn(word + 2, "=");
            option = find_long(options, word + 2, length);
            if (option && word[2 + length] == '=')
                value = word + 2 + length + 1;
        } else {
            option = find_short(options, word[1]);
            if (option && word[2])
                value = word + 2;
        }
        if (!option || (word[1] != '-' && value && !takes_value(option)))
            return unknown_option(command, word);
        if (word[1] != '-' && value && *value == '=') /* else a file would be called =x.model */
            return cli_fail(CLI_WRONG_CALL, "%s: %s: write -%c %s or --%s%s", command->name, word,
                            option->letter, value + 1, option->name, value);
        if (!takes_value(option) && value)
            return cli_fail(CLI_WRONG_CALL, "%s: --%s takes no value", command->name, option->name);
        if (takes_value(option) && !value) {
            if (i + 1 >= argc || is_option(options, argv[i + 1]))
                return cli_fail(CLI_WRONG_CALL, "%s: %s needs a value: %s", command->name, word,
                                option->value);
            value = argv[++i];
        }
        const ptrdiff_t index = option - options;
        if (takes_value(option) && given[index] && option->kind != CLI_LIST)
            return cli_fail(CLI_WRONG_CALL, "%s: --%s is given twice", command->name, option->name);
        if ((!given[index] || option->kind == CLI_LIST) && settings->given_count < CLI_MAX_GIVEN)
            settings->given[settings->given_count++] = (cli_given){option->name, value};
        given[index] = true;
        status = store(option, value, settings);
    }
    if (status == CLI_DONE)
        status = check_operands(command, settings->operands, NULL);
    return status;
}

void cli_options_help(const cli_command *command)
{
    const int width = cli_terminal_width();
    if (command->usage)
        printf("usage: mercer %s %s\n\n", command->name, command->usage);
    else
        printf("usage: mercer %s%s%s [options]\n\n", command->name, *command->operands ? " " : "",
               command->operands);
    cli_print_wrapped(stdout, command->summary, 0, width);
    printf("\n");
    int column = 0;
    for (const cli_option *o = cli_options_of(command); o->name; o++) {
        const int length = 8 + (int)strlen(o->name) + (o->value ? 1 + (int)strlen(o->value) : 0);
        if (length > column)
            column = length;
    }
    column += 2;
    for (const cli_option *o = cli_options_of(command); o->name; o++) {
        char *left = o->letter ? cli_format("  -%c, --%s", o->letter, o->name)
                               : cli_format("      --%s", o->name);
        printf("%s%s%-*s", left, o->value ? " " : "",
               column - (int)strlen(left) - (o->value ? 1 : 0), o->value ? o->value : "");
        char *choices = choices_of(o);
        if (choices) {
            char *shown = list_choices(choices);
            char *help = cli_format("%s (%s)", o->help, shown);
            cli_print_wrapped(stdout, help, column, width);
            free(shown);
            free(help);
        } else {
            cli_print_wrapped(stdout, o->help, column, width);
        }
        free(choices);
        free(left);
    }
    if (command->print_extra) {
        printf("\n");
        command->print_extra();
    }
    if (command->details)
        printf("\n%s", command->details);
}

static json_t *option_json(const cli_option *option)
{
    const char letter[2] = {option->letter, 0};
    json_t *choices = json_array();
    char *list = choices_of(option), *rest = NULL;
    for (char *word = list ? strtok_r(list, "|", &rest) : NULL; word;
         word = strtok_r(NULL, "|", &rest))
        json_array_append_new(choices, json_string(word));
    free(list);
    return json_pack("{so so so so so}", "name", cli_json_text(option->name), "letter",
                     cli_json_text(letter[0] ? letter : NULL), "value",
                     cli_json_text(option->value), "choices", choices, "help",
                     cli_json_text(option->help));
}

json_t *cli_options_json(const cli_command *command)
{
    json_t *options = json_array(), *names = json_array();
    for (const cli_option *o = cli_options_of(command); o->name; o++)
        json_array_append_new(options, option_json(o));
    for (int i = 0; command->name_at && command->name_at(i); i++)
        json_array_append_new(names, cli_json_text(command->name_at(i)));
    return json_pack("{so so so so so so so}", "name", cli_json_text(command->name), "summary",
                     cli_json_text(command->summary), "usage", cli_json_text(command->usage),
                     "operands", cli_json_text(command->operands), "names", names, "options",
                     options, "details", cli_json_text(command->details));
}
