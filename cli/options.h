/* SPDX-License-Identifier: BSD-3-Clause */
/* One option parser for all commands, driven by tables; the same tables give --help. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <jansson.h>
#include <mercer/fit.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An option that may be given again and again. */
enum { CLI_MAX_LIST = 32 };
typedef struct cli_list {
    const char *item[CLI_MAX_LIST];
    int count;
} cli_list;

/* An option as it was typed: its long name, and its value or NULL. */
enum { CLI_MAX_GIVEN = 160 };
typedef struct cli_given {
    const char *name, *value;
} cli_given;

/* What the words after a command said. Texts are borrowed from argv. */
typedef struct cli_settings {
    const char *operand[2];
    int operands;
    mercer_fit_options fit;                        /* those of its members that do not hold rows */
    const char *output;                            /* NULL: not given */
    const char *label, *target, *labels, *self;    /* NULL: not given */
    const char *columns, *drop, *id;               /* NULL: not given */
    const char *delimiter, *decimal, *thousands;   /* NULL: not given */
    const char *encoding, *comment, *na;           /* NULL: not given */
    const char *validation;                        /* NULL: not given */
    const char *landmarks;                         /* NULL: not given */
    const char *format, *output_format;            /* NULL: by the ending */
    const char *header, *list_header;              /* NULL: by the first line */
    const char *encode, *missing, *image_features; /* NULL: not given */
    const char *unlabelled;                        /* likewise */
    bool no_label, errors, keep_label, resume, json, quiet;
    bool untrusted;
    cli_list limits;                                      /* KEY=VALUE each */
    int64_t memory, threads, rows, keep, checkpoint, top; /* 0: not given */
    double coverage;                                      /* likewise */
    bool importance;
    int64_t resize[2]; /* width and height; 0: not given */
    uint64_t seed;
    double noise;                                                /* negative: not given */
    const char *goal;                                            /* NULL: not given */
    double time;                                                 /* seconds; 0: not given */
    const char *cv, *split, *test, *test_labels;                 /* NULL: not given */
    const char *metric, *positive, *predictions, *roc, *journal; /* NULL: not given */
    const char *tune_rule, *groups;                              /* NULL: not given */
    int64_t repeats, inner;                                      /* 0: not given */
    cli_list tune, methods;
    const char *kind, *axes, *plot; /* NULL: not given */
    int64_t sheet[2];               /* images across and down; 0: not given */
    cli_given given[CLI_MAX_GIVEN]; /* all of them, in their order */
    int given_count;
    const char *report; /* NULL: not given */
    int64_t max_points; /* 0: not given */
    bool explore;
    bool help; /* --help was among the words */
} cli_settings;

typedef enum cli_option_kind {
    CLI_FLAG,       /* bool */
    CLI_TEXT,       /* const char * */
    CLI_LIST,       /* cli_list of texts; may be given more than once */
    CLI_CHOICE,     /* const char *, one of `choices` */
    CLI_FORMAT,     /* const char *, the name of a format that is read */
    CLI_FORMAT_OUT, /* const char *, one that is written, or one of `choices` */
    CLI_COUNT,      /* int64_t, 1 or more */
    CLI_SEED,       /* uint64_t */
    CLI_SIZE,       /* int64_t, bytes: 4G, 512M */
    CLI_REAL,       /* double, 0 or more */
    CLI_DURATION,   /* double, seconds: 90s, 10m, 2h */
    CLI_SHAPE,      /* int64_t[2], 1 or more each: 32x24 */
    CLI_SHARE,      /* double between 0 and 1, both left out */
    CLI_COMPONENTS, /* double: a whole number, or a share between 0 and 1 */
    CLI_HELP,       /* bool; parsing stops */
    CLI_FIT_OPTION, /* what the library says of the fit option; only before cli_options_of() */
    CLI_FIT_REST    /* all fit options of the calls in `offset` that have no line; likewise */
} cli_option_kind;

typedef struct cli_option {
    const char *name; /* long form without the dashes */
    char letter;      /* short form, or 0 */
    cli_option_kind kind;
    size_t offset;       /* of the field in cli_settings */
    const char *value;   /* what stands for the value in --help */
    const char *choices; /* "a|b|c" */
    const char *help;
    const char *more; /* of a fit option: what follows the help of the library, or NULL */
    const char *fit;  /* of a fit option: its key */
} cli_option;

/* Rows of the tables, so that an option reads the same in every command. */
#define CLI_OPTION(name, letter, kind, field, value, choices, help)                                \
    {                                                                                              \
        name, letter, kind, offsetof(cli_settings, field), value, choices, help, NULL, NULL        \
    }
/* An option of a fit by its key: type, choices, help and where it goes are the library's. help,
 * unless NULL, stands in the place of the library's. */
#define CLI_FIT(key, letter, value, help, more)                                                    \
    {                                                                                              \
        key, letter, CLI_FIT_OPTION, 0, value, NULL, help, more, key                               \
    }
/* The same for rows, which are read from a file. */
#define CLI_FIT_FILE(key)                                                                          \
    {                                                                                              \
#key, 0, CLI_FIT_OPTION, offsetof(cli_settings, key), "FILE", NULL, NULL, NULL, #key       \
    }
/* Fit options that a command has, but no line of their own. */
#define CLI_FIT_OTHERS(calls)                                                                      \
    {                                                                                              \
        "", 0, CLI_FIT_REST, calls, NULL, NULL, NULL, NULL, NULL                                   \
    }
#define CLI_OPTION_LIST_HEADER                                                                     \
    CLI_OPTION("list-header", 0, CLI_CHOICE, list_header, "WHETHER", "yes|no",                     \
               "whether the first line of --labels and other lists is a name and not a value; by " \
               "default its text decides")
#define CLI_OPTION_LABELS                                                                          \
    CLI_OPTION("label", 0, CLI_TEXT, label, "COL", NULL,                                           \
               "column of class labels, by name or 1-based position (name:2 and position:2 where " \
               "2 could mean both); by default a column named 'label'. LIBSVM text: 'label' "      \
               "makes the labels classes"),                                                        \
        CLI_OPTION("target", 0, CLI_TEXT, target, "COLS", NULL,                                    \
                   "columns of target values, comma-separated; by default a column named "         \
                   "'target'. LIBSVM text: 'target' makes the labels values"),                     \
        CLI_OPTION("labels", 0, CLI_TEXT, labels, "FILE", NULL,                                    \
                   "class labels from another file, one per line in row order"),                   \
        CLI_OPTION_LIST_HEADER,                                                                    \
        CLI_OPTION("no-label", 0, CLI_FLAG, no_label, NULL, NULL,                                  \
                   "every column is data, whatever its name")
#define CLI_OPTION_ID                                                                              \
    CLI_OPTION("id", 0, CLI_TEXT, id, "COL", NULL,                                                 \
               "column that names the rows, by name or 1-based position: never data, the first "   \
               "column of what is written; by default the model's, else a first column without a " \
               "name that counts rows; none: no column")
#define CLI_OPTION_COLUMNS                                                                         \
    CLI_OPTION("columns", 0, CLI_TEXT, columns, "COLS", NULL,                                      \
               "data columns to use, comma-separated: names, 1-based positions, ranges 3-15 and "  \
               "3-, patterns 'mean_*'; default: all"),                                             \
        CLI_OPTION("drop", 0, CLI_TEXT, drop, "COLS", NULL,                                        \
                   "columns to leave out, listed like --columns, which comes first"),              \
        CLI_OPTION_ID
/* How CSV and TSV are written. */
#define CLI_OPTION_TEXT                                                                            \
    CLI_OPTION("delimiter", 0, CLI_TEXT, delimiter, "CHAR", NULL,                                  \
               "what separates the cells of CSV: auto (by the first 20 lines; the default), "      \
               "comma, semicolon, tab, space (any run of blanks), or one character"),              \
        CLI_OPTION("decimal", 0, CLI_CHOICE, decimal, "MARK", "auto|point|comma",                  \
                   "decimal mark of CSV and TSV; default auto, by the first 20 lines"),            \
        CLI_OPTION("thousands", 0, CLI_CHOICE, thousands, "MARK",                                  \
                   "auto|none|comma|point|apostrophe|space",                                       \
                   "separator of groups of three digits; default auto: any that a whole column "   \
                   "agrees on, where nothing else can be meant"),                                  \
        CLI_OPTION("encoding", 0, CLI_CHOICE, encoding, "CODE", "utf8|latin1|utf16",               \
                   "encoding of CSV and TSV; latin1 is Windows-1252; default utf8"),               \
        CLI_OPTION("comment", 0, CLI_TEXT, comment, "CHAR", NULL,                                  \
                   "skip lines of CSV and TSV that start with this character, for example '#'")
#define CLI_OPTION_FORMAT                                                                          \
    CLI_OPTION("format", 0, CLI_FORMAT, format, "F", NULL,                                         \
               "format of the data when the file's extension does not say"),                       \
        CLI_OPTION("header", 0, CLI_CHOICE, header, "WHETHER", "yes|no",                           \
                   "whether the first line of CSV and TSV has names, in every table of the call; " \
                   "by default its cells decide"),                                                 \
        CLI_OPTION_TEXT
#define CLI_OPTION_GROUPS                                                                          \
    CLI_OPTION("groups", 0, CLI_TEXT, groups, "COL", NULL,                                         \
               "column that says which rows belong together, by name or 1-based position: never "  \
               "data; rows of one group are in one fold, or held out together")
#define CLI_OPTION_TUNE(what)                                                                      \
    CLI_OPTION("tune", 0, CLI_LIST, tune, "KEY=VALUES", NULL,                                      \
               what ": KEY is components, method.KEY, kernel.KEY or head.KEY, VALUES a,b,c or "    \
                    "A:B:+STEP or A:B:*FACTOR; or KEY is kernel and VALUES are kernels; may be "   \
                    "repeated")
#define CLI_OPTION_TUNE_RULE                                                                       \
    CLI_OPTION("tune-rule", 0, CLI_CHOICE, tune_rule, "RULE", "best|1se",                          \
               "what --tune takes: the best mean; or 1se, the simplest within one standard error " \
               "of it (fewest components, then widest kernel, then most ridge); default best")
#define CLI_OPTION_METRIC                                                                          \
    CLI_OPTION("metric", 0, CLI_CHOICE, metric, "M",                                               \
               "error|balanced|auc|ap|rmse|columns|structure|reconstruction|preimage",             \
               "what is measured; default: error for classes, rmse for values, structure "         \
               "without a head")
#define CLI_OPTION_POSITIVE(what)                                                                  \
    CLI_OPTION("positive", 0, CLI_TEXT, positive, "CLASS", NULL,                                   \
               "which of two classes " what                                                        \
               " look for; default: the one whose first row comes later")
#define CLI_OPTION_RESIZE                                                                          \
    CLI_OPTION("resize", 0, CLI_SHAPE, resize, "WxH", NULL,                                        \
               "bring the images of a folder to this size, in pixels, by area averages")
#define CLI_OPTION_ENCODE                                                                          \
    CLI_OPTION("encode", 0, CLI_TEXT, encode, "HOW", NULL,                                         \
               "text columns: onehot makes 0/1 columns of them, one per value (onehot:max=N of "   \
               "at most N values), dates counts days since 1970-01-01 (dates:format=%d.%m.%Y), "   \
               "onehot,dates does both; default none, an error")
#define CLI_OPTION_MISSING                                                                         \
    CLI_OPTION("missing", 0, CLI_CHOICE, missing, "HOW", "error|mean|median|drop",                 \
               "empty cells, NA, NaN, ?: the column's mean or median instead, or leave the row "   \
               "out; "                                                                             \
               "default error"),                                                                   \
        CLI_OPTION("na", 0, CLI_TEXT, na, "TEXTS", NULL,                                           \
                   "further cells of CSV and TSV that are missing, comma-separated, for example "  \
                   "-,.,-999")
#define CLI_OPTION_UNLABELLED                                                                      \
    CLI_OPTION("unlabelled", 0, CLI_CHOICE, unlabelled, "HOW", "error|drop",                       \
               "rows whose class or target value is missing: leave them out; default error")
#define CLI_OPTION_IMAGE_FEATURES                                                                  \
    CLI_OPTION(                                                                                    \
        "image-features", 0, CLI_CHOICE, image_features, "KIND", "pixels|haar",                    \
        "what is computed from each image; haar: the rectangle features of Viola and Jones; "      \
        "default pixels")
#define CLI_OPTION_OUTPUT                                                                          \
    CLI_OPTION("output", 'o', CLI_TEXT, output, "OUT", NULL,                                       \
               "file to write; its extension gives the format: .csv .tsv .npy .svm, also .gz; "    \
               "default: CSV on standard output")
#define CLI_OPTION_OUTPUT_FORMAT                                                                   \
    CLI_OPTION("output-format", 0, CLI_FORMAT_OUT, output_format, "F", NULL,                       \
               "format of the output when its extension does not say; default: csv")
/* What a command takes about rows that it reads for a model; and with the table that it writes. */
#define CLI_OPTION_MODEL_ROWS CLI_OPTION_LABELS, CLI_OPTION_ID, CLI_OPTION_FORMAT, CLI_OPTION_RESIZE
#define CLI_OPTION_NEW_ROWS                                                                        \
    CLI_OPTION_MODEL_ROWS, CLI_OPTION_OUTPUT_FORMAT, CLI_OPTION_MACHINE, CLI_OPTION_UNTRUSTED,     \
        CLI_OPTION_JSON, CLI_OPTION_QUIET, CLI_OPTION_HELP
#define CLI_OPTION_PLOT(what)                                                                      \
    CLI_OPTION("plot", 0, CLI_TEXT, plot, "FILE.svg", NULL, "also draw a picture: " what)
#define CLI_OPTION_REPORT                                                                          \
    CLI_OPTION(                                                                                    \
        "report", 0, CLI_TEXT, report, "FILE.html", NULL,                                          \
        "also write a page about it, to open in a browser; 'mercer help report' tells more")
#define CLI_OPTION_CHECKPOINT                                                                      \
    CLI_OPTION("checkpoint", 0, CLI_COUNT, checkpoint, "ROWS", NULL,                               \
               "write the model whenever ROWS more rows have been learnt, at the end of a "        \
               "block, so that --resume can go on from there")
#define CLI_OPTION_JOURNAL(what)                                                                   \
    CLI_OPTION("journal", 0, CLI_TEXT, journal, "FILE", NULL,                                      \
               what                                                                                \
               " is kept in FILE.0 (of several ranks FILE.0, FILE.1, ...) as soon as it is "       \
               "done; when the run is ended, the same command goes on from there, and removes "    \
               "the files in the end")
#define CLI_OPTION_SEED                                                                            \
    CLI_OPTION("seed", 0, CLI_SEED, seed, "N", NULL, "seed of all random choices; default 1")
#define CLI_OPTION_MEMORY                                                                          \
    CLI_OPTION("memory", 0, CLI_SIZE, memory, "SIZE", NULL,                                        \
               "memory to use, e.g. 4G or 512M; default: half of what there is")
#define CLI_OPTION_MACHINE                                                                         \
    CLI_OPTION_MEMORY,                                                                             \
        CLI_OPTION("threads", 0, CLI_COUNT, threads, "N", NULL,                                    \
                   "threads to use; default: all processors. The results do not depend on it")
/* For commands that read files. */
#define CLI_OPTION_UNTRUSTED                                                                       \
    CLI_OPTION("untrusted", 0, CLI_FLAG, untrusted, NULL, NULL,                                    \
               "files of strangers: tight limits, no links, pipes or devices, images, MAT and "    \
               "HDF5 read in a process that can do nothing else"),                                 \
        CLI_OPTION(                                                                                \
            "limit", 0, CLI_LIST, limits, "KEY=VALUE", NULL,                                       \
            "refuse files beyond it: rows, columns, bytes (for example 1G), names (bytes "         \
            "of one), or time of the command (10m); VALUE none: no limit; may be repeated, "       \
            "and changes a limit of --untrusted")
#define CLI_OPTION_TIME                                                                            \
    CLI_OPTION("time", 0, CLI_DURATION, time, "TIME", NULL,                                        \
               "refuse, before it starts, a fit that is expected to take longer, e.g. 90s, 10m "   \
               "or 2h; default: a note when it is more than 30 seconds")
#define CLI_OPTION_JSON                                                                            \
    CLI_OPTION("json", 0, CLI_FLAG, json, NULL, NULL, "print the report as JSON")
#define CLI_OPTION_QUIET                                                                           \
    CLI_OPTION("quiet", 'q', CLI_FLAG, quiet, NULL, NULL, "no progress bar, notes or text summary")
#define CLI_OPTION_HELP CLI_OPTION("help", 'h', CLI_HELP, help, NULL, NULL, "print this text")
#define CLI_OPTION_END                                                                             \
    {                                                                                              \
        NULL, 0, CLI_FLAG, 0, NULL, NULL, NULL, NULL, NULL                                         \
    }

/* What most commands end with. */
#define CLI_OPTION_LAST CLI_OPTION_QUIET, CLI_OPTION_HELP, CLI_OPTION_END

struct cli_command;

/* How the option for a key of the library is typed: "--scale-target"; "fit --head" when only fit
 * has it, NULL when none has. Owned by the caller. */
char *cli_option_typed(const struct cli_command *command, const char *key);

/* The options of a command, those of a fit with all that the library says of them. They live as
 * long as the program. */
const cli_option *cli_options_of(const struct cli_command *command);

/* Whether the command has an option of this long name. */
bool cli_command_has_option(const struct cli_command *command, const char *name);

/* Read the words after the command. Returns 0, or a status after one line on standard error. */
int cli_options_parse(const struct cli_command *command, int argc, char **argv,
                      cli_settings *settings);

/* Check a value as the option wants it, and store it. Returns 0, or a status after one line on
 * standard error. */
int cli_option_read(const cli_option *option, const char *value, void *field);

/* The help of a command on standard output. */
void cli_options_help(const struct cli_command *command);

/* The same as data, from which documents, man page and completions are made; owned by the caller.
 */
json_t *cli_options_json(const struct cli_command *command);

#endif
