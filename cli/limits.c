/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command takes of files: --untrusted and --limit. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As options of their own would be read, with the names that messages have. */
#define LIMIT(name, kind, member)                                                                  \
    {                                                                                              \
        "limit " name, 0, kind, offsetof(mercer_limits, member), NULL, NULL, NULL, NULL, NULL      \
    }
static const cli_option kinds[] = {
    LIMIT("rows", CLI_COUNT, max_rows),       LIMIT("columns", CLI_COUNT, max_columns),
    LIMIT("bytes", CLI_SIZE, max_bytes),      LIMIT("names", CLI_COUNT, max_name_bytes),
    LIMIT("time", CLI_DURATION, max_seconds),
};
enum { KINDS = sizeof kinds / sizeof *kinds, PREFIX = sizeof "limit " - 1 };

static int read_limit(const char *text, mercer_limits *limits)
{
    const size_t length = strcspn(text, "=");
    for (int i = 0; i < KINDS; i++) {
        const char *key = kinds[i].name + PREFIX;
        if (strlen(key) != length || strncmp(key, text, length) != 0 || !text[length])
            continue;
        void *field = (char *)limits + kinds[i].offset;
        const char *value = text + length + 1;
        if (strcmp(value, "none") != 0)
            return cli_option_read(&kinds[i], value, field);
        memset(field, 0, sizeof(int64_t)); /* or a double of as many bytes */
        return CLI_DONE;
    }
    return cli_fail(CLI_WRONG_CALL,
                    "--limit: '%s' is none of rows=N, columns=N, bytes=SIZE, names=N and "
                    "time=TIME",
                    text);
}

int cli_get_limits(const cli_settings *set, mercer_limits *out)
{
    int status = CLI_DONE;
    mercer_limits_init(out);
    if (set->untrusted)
        mercer_limits_untrusted(out);
    for (int i = 0; i < set->limits.count && status == CLI_DONE; i++)
        status = read_limit(set->limits.item[i], out);
    return status;
}

int cli_open_list(const cli_settings *set, const char *path)
{
    struct stat what;
    mercer_limits limits;
    const char *kind = NULL;
    if (cli_get_limits(set, &limits) != CLI_DONE)
        return -1;
    const bool standard = strcmp(path, "-") == 0;
    const int flags = limits.plain_files ? O_NOFOLLOW | O_NONBLOCK : 0;
    const int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0 && errno == ELOOP && limits.plain_files)
        kind = "symbolic link";
    else if (fd < 0)
        cli_fail(CLI_FAILED, "%s: %s", cli_shown(path), strerror(errno));
    else if (!standard && limits.plain_files && (fstat(fd, &what) != 0 || !S_ISREG(what.st_mode)))
        kind = "pipe, folder or device";
    else if (limits.max_bytes > 0 && fstat(fd, &what) == 0 && what.st_size > limits.max_bytes)
        cli_fail(CLI_FAILED,
                 "%s: has %lld bytes, the limit is %lld: raise it if you trust this file (--limit "
                 "bytes=%lld)",
                 cli_shown(path), (long long)what.st_size, (long long)limits.max_bytes,
                 (long long)what.st_size);
    else
        return fd;
    if (kind)
        cli_fail(CLI_FAILED, "%s: is a %s, not a plain file, which is refused with --untrusted",
                 cli_shown(path), kind);
    if (fd >= 0)
        close(fd);
    return -1;
}
