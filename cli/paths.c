/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a command reads and writes: how they are read, and whether they can be written. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_read_options(const cli_settings *set, mercer_read_options *options)
{
    mercer_read_options_init(options);
    options->format = set->format;
    options->header = set->header;
    options->labels_header = set->list_header;
    options->label = set->label;
    options->target = set->target;
    options->labels_file = set->labels;
    options->no_label = set->no_label;
    options->use_columns = set->columns;
    options->drop_columns = set->drop;
    options->id = set->id;
    options->groups = set->groups;
    options->delimiter = set->delimiter;
    options->decimal = set->decimal;
    options->thousands = set->thousands;
    options->encoding = set->encoding;
    options->comment = set->comment;
    options->na = set->na;
    options->resize_width = set->resize[0];
    options->resize_height = set->resize[1];
    options->encode = set->encode;
    options->missing = set->missing;
    options->unlabelled = set->unlabelled;
    options->image_features = set->image_features;
}

char *cli_file_words(const cli_settings *set)
{
    const char *const words[][2] = {{"format", set->format},       {"header", set->header},
                                    {"delimiter", set->delimiter}, {"decimal", set->decimal},
                                    {"thousands", set->thousands}, {"encoding", set->encoding},
                                    {"comment", set->comment}};
    char *text = NULL;
    FILE *out = cli_text_open(&text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        cli_put_option(out, words[i][0], words[i][1]);
    fclose(out);
    return text;
}

bool cli_is_listed(const char *list, const char *column)
{
    const size_t length = strlen(column);
    for (const char *at = list; at && (at = strstr(at, column)); at++)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

const char *cli_unlabelled_words(const cli_settings *set)
{
    const bool drops = set->unlabelled && strcmp(set->unlabelled, "drop") == 0;
    return drops || cli_is_listed(set->drop, "label") || cli_is_listed(set->drop, "target")
               ? " --no-label"
               : "";
}

bool cli_has_header(const mercer_entry *format)
{
    mercer_entry_info info = {.struct_size = sizeof info};
    mercer_entry_get_info(format, &info);
    return !format || info.has_header;
}

void cli_read_other(const char *path, mercer_read_options *options)
{
    if (!cli_has_header(mercer_format_find(path, options->format)))
        options->header = options->delimiter = options->decimal = options->thousands =
            options->encoding = options->comment = options->na = NULL;
}

const char *cli_shown(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

bool cli_is_live(const char *path)
{
    struct stat in;
    const int failed = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &in) : stat(path, &in);
    return !failed && (S_ISFIFO(in.st_mode) || S_ISCHR(in.st_mode) || S_ISSOCK(in.st_mode));
}

bool cli_is_stdout(const char *path)
{
    if (!path || strcmp(path, "-") == 0)
        return true;
    struct stat file, out;
    if (stat(path, &file) || fstat(STDOUT_FILENO, &out))
        return false;
    if (file.st_dev != out.st_dev || file.st_ino != out.st_ino)
        return false;
    /* /dev/null given twice is not a mixture. */
    return !S_ISCHR(out.st_mode) || isatty(STDOUT_FILENO);
}

int cli_check_output(const char *path)
{
    if (!path || strcmp(path, "-") == 0)
        return CLI_DONE;
    struct stat there;
    const size_t length = strlen(path);
    if (stat(path, &there) == 0) {
        if (S_ISDIR(there.st_mode))
            return cli_fail(CLI_FAILED, "%s: is a folder; give the name of a file to write", path);
        return CLI_DONE; /* the writer knows the rest */
    }
    if (errno != ENOENT || path[length - 1] == '/')
        return cli_fail(CLI_FAILED, "%s: cannot be written: %s", path,
                        strerror(errno == ENOENT ? EISDIR : errno));
    if (lstat(path, &there) == 0)
        return CLI_DONE; /* a symbolic link to a file that is not there yet */
    char *folder = cli_copy(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    const char *name = slash ? folder : ".";
    int status = CLI_DONE;
    if (stat(name, &there))
        status = cli_fail(CLI_FAILED, "%s: cannot be written: there is no folder '%s'", path, name);
    else if (!S_ISDIR(there.st_mode))
        status = cli_fail(CLI_FAILED, "%s: cannot be written: '%s' is not a folder", path, name);
    else if (access(name, W_OK | X_OK))
        status = cli_fail(CLI_FAILED, "%s: cannot be written: folder '%s': %s", path, name,
                          strerror(errno));
    free(folder);
    return status;
}

/* stat() of the file that DATA names, which may be FILE:NAME. */
static bool stat_data(const char *data, struct stat *info)
{
    bool found = stat(data, info) == 0;
    char *file = cli_copy(data);
    for (char *colon; !found && (colon = strrchr(file, ':'));) {
        *colon = 0;
        found = stat(file, info) == 0;
    }
    free(file);
    return found;
}

int cli_check_overwrite(const char *path, const char *input, const char *what)
{
    struct stat out, in;
    if (!path || strcmp(path, "-") == 0 || strcmp(input, "-") == 0 || stat(path, &out) ||
        !stat_data(input, &in) || !S_ISREG(out.st_mode) || out.st_dev != in.st_dev ||
        out.st_ino != in.st_ino)
        return CLI_DONE;
    return cli_fail(CLI_WRONG_CALL,
                    "%s: would be written over the %s; give the output another name", path, what);
}

int cli_check_overwrite_options(const char *path, const cli_settings *set)
{
    const struct {
        const char *path, *what;
    } inputs[] = {{set->labels, "labels"},
                  {set->test, "test rows"},
                  {set->test_labels, "labels of the test rows"},
                  {set->split, "splits"},
                  {set->validation, "validation rows"},
                  {set->landmarks, "landmarks"},
                  {set->self, "values k(x,x)"}};
    int status = CLI_DONE;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs && status == CLI_DONE; i++)
        if (inputs[i].path)
            status = cli_check_overwrite(path, inputs[i].path, inputs[i].what);
    return status;
}

int cli_check_model_output(const char *command, const char *path)
{
    if (!cli_is_stdout(path) || !isatty(STDOUT_FILENO))
        return CLI_DONE;
    return cli_fail(CLI_WRONG_CALL,
                    "%s: a model is not text for a terminal; give -o FILE or redirect", command);
}

int cli_finish_stdout(int status)
{
    errno = 0;
    const bool failed = fflush(stdout) || ferror(stdout);
    if (failed && status == CLI_DONE)
        return cli_fail(CLI_FAILED, "standard output: %s",
                        errno == ENOSPC ? "the disk is full"
                        : errno         ? strerror(errno)
                                        : "cannot be written");
    return status;
}
