/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands share: statuses, the running program, input and output, reports.
 *
 * A client of libmercer: it includes the public headers only. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "options.h"
#include "report/page.h"
#include "util.h"

#include <jansson.h>
#include <mercer/mercer.h>

/* Exit statuses, a contract with scripts. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_WRONG_CALL = 2, CLI_INTERRUPTED = 130 };

/* The running program. */
typedef struct cli_app {
    mercer_ctx *ctx;
    char **notices; /* what the library or the command had to say, in order; owned */
    int64_t notice_count;
    char *command_line; /* as typed, quoted for a shell; owned */
    cli_settings set;
} cli_app;

typedef struct cli_command {
    const char *name;
    const char *summary;  /* one line, for the list of commands */
    const char *operands; /* "MODEL DATA" */
    const char *usage;    /* what follows the name in --help; NULL: the operands and [options] */
    int least, most;      /* number of operands */
    const cli_option *options;
    const char *details; /* paragraphs after the options, or NULL */
    const char *(*name_at)(
        int index);            /* what the operand NAME may be, NULL past the last; or NULL */
    void (*print_extra)(void); /* generated part of --help, or NULL */
    bool (*is_spread)(const cli_settings *set); /* whether several ranks can share it; NULL: no */
    int (*run)(cli_app *app);                   /* returns the exit status */
} cli_command;

extern const cli_command cli_command_fit, cli_command_transform, cli_command_predict,
    cli_command_evaluate, cli_command_compare, cli_command_inverse, cli_command_update,
    cli_command_info, cli_command_truncate, cli_command_scale, cli_command_generate,
    cli_command_methods, cli_command_kernels, cli_command_heads, cli_command_demo, cli_command_plot,
    cli_command_advise, cli_command_report;

/* The commands there are; NULL past the last. */
const cli_command *cli_command_at(int index);

/* Print one line on standard error and return status. */
int cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* From now on this process says nothing on standard error: another one does. */
void cli_fail_silently(void);
bool cli_is_silent(void);
/* The last line of cli_fail(), without the program's name; "": there was none. */
const char *cli_fail_text(void);

/* The command that runs: its options are spelled in messages of the library, which knows keys. */
void cli_fail_for(const cli_command *command);

/* An error as cli_fail_library() tells it, with the options it is about; owned by the caller. */
char *cli_error_text(const mercer_error *err);
/* The same for an error of the library. about, when not NULL, is the file the work was about; it
 * is put in front of texts that do not name it. Options that the error is about come behind it. */
int cli_fail_library(mercer_status code, const mercer_error *err, const char *about);

/* The same for reading a table: also says how to name a column of classes. */
int cli_fail_reading(const cli_settings *set, mercer_status code, const mercer_error *err,
                     const char *path);

/* Remove temporary files and the progress bar; only for a program about to end. */
void cli_emergency_cleanup(void);

/* Fill an error of our own, to be told like one of the library. Returns code. */
mercer_status cli_error(mercer_error *err, mercer_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The library knows only the rows at hand: tell where the row of its error stands in the file,
 * given how many rows stand before them. The other one is for a stream, whose texts count within
 * blocks of its own. */
void cli_error_place(mercer_error *err, int64_t before);
void cli_error_place_block(mercer_error *err, int64_t before);

/* Keep a notice for the report; the other one is the library's callback. */
void cli_notice(cli_app *app, const char *text);
void cli_notice_library(void *app, const mercer_notice *notice);

/* Load a model; a table in its place is told as such, with the call that was meant: operands in the
 * other order, or fit. Returns 0 or a status after one line. */
int cli_load_model(const cli_app *app, const char *path, mercer_model **out, mercer_error *err);

/* Print the notices on standard error, unless --quiet. */
void cli_print_notices(const cli_app *app);

/* Check NAME[:key=value,...] against the list of methods (mercer_method_at) or kernels before any
 * file is read, and suggest the nearest name; the library checks the rest. Returns 0 or a status.
 */
typedef const mercer_entry *(*cli_entry_at)(int index);
int cli_check_spec(const char *what, const char *spec, cli_entry_at at);

/* The entry's names, separated by ", "; owned by the caller. */
char *cli_entry_names(cli_entry_at at);

/* Input. */
void cli_read_options(const cli_settings *set, mercer_read_options *options);

/* What --untrusted and --limit say. Returns 0, or a status after one line on standard error. */
int cli_get_limits(const cli_settings *set, mercer_limits *out);
/* Open a file that the library does not read, "-" standing for standard input: a descriptor, or -1
 * after one line on standard error. */
int cli_open_list(const cli_settings *set, const char *path);
/* " --format csv --encoding latin1": the options given by which a file is read that a model may
 * not remember, for a command to paste. Owned by the caller. */
char *cli_file_words(const cli_settings *set);
/* Whether a list separated by commas has this word. */
bool cli_is_listed(const char *list, const char *column);
/* " --no-label" or "", for a command that applies a model to the table it was fitted to: rows
 * without a label are new rows to it, and columns called label or target that were left out would
 * be looked for again. */
const char *cli_unlabelled_words(const cli_settings *set);
/* Whether the first line of a file of this format may hold the names of its columns; NULL, a format
 * that nothing tells yet, counts as one that does. */
bool cli_has_header(const mercer_entry *format);
/* Options for another file than DATA: the header of the call is only for text. */
void cli_read_other(const char *path, mercer_read_options *options);
const char *cli_shown(const char *path); /* "standard input" for "-" */

/* True when path is a pipe or a terminal: whoever writes there may wait for the answer. */
bool cli_is_live(const char *path);

/* Where there are several ranks, refuse a pipe that is not standard input, of which one rank would
 * get the rows. Returns 0 or a status after one line. */
int cli_spool_check(const cli_settings *set, int ranks);
/* Where there are several ranks, let all of them have what rank 0 gets from standard input, if the
 * call reads from there; it is a plain file then. Called before the first read, by all ranks.
 * Returns 0 or a status after one line. */
int cli_spool(cli_app *app);
/* Look out for signs that the launcher ends; called before ranks begin to talk. */
void cli_spool_watch(void);

/* True when writing to path ends up in standard output. */
bool cli_is_stdout(const char *path);

/* Refuse a path that cannot be written before the work starts: a folder, or no folder at all.
 * Returns 0 or a status after one line. */
int cli_check_output(const char *path);

/* Refuse to write over one's own input: a model over the data is a slip, and the data is gone. */
int cli_check_overwrite(const char *path, const char *input, const char *what);
/* The same for the files that options name. */
int cli_check_overwrite_options(const char *path, const cli_settings *set);

/* Refuse to print a model on a terminal. */
int cli_check_model_output(const char *command, const char *path);

/* Flush standard output; an error (disk full) becomes one line and CLI_FAILED. */
int cli_finish_stdout(int status);

/* Rows to read at a time, so that a block takes about 8 MB for `numbers` numbers per row, or up to
 * 64 MB where these are few rows; at most `most`. The first block (most = 0) is small: only after
 * it the width of the file is known. */
int64_t cli_block_rows(int64_t numbers, int64_t most);

/* Rows held out by each split of a file: rows[start[s]] to rows[start[s + 1] - 1]. */
typedef struct cli_splits {
    int64_t count;
    int64_t *start, *rows; /* owned */
    int64_t start_room, rows_room;
} cli_splits;
/* Read the splits of n rows from a file. To be freed, also after a failure. */
int cli_splits_read(const cli_app *app, const char *path, int64_t n, cli_splits *out);
void cli_splits_free(cli_splits *splits);

/* Ids for the rows of a table going out: those of `table`, of its rows row[0], row[1], ... unless
 * that is NULL. */
typedef struct cli_ids {
    const mercer_table *table;
    const int64_t *row;
} cli_ids;

/* A table going out: leading text columns (ids, class names), leading target values, numbers. */
typedef struct cli_sink {
    mercer_writer *writer;
    const char *path;
    int64_t rows, columns; /* written so far; columns include target values */
    int64_t leading;       /* target columns in front */
    bool ids;              /* a column of ids in front */
    bool text;             /* a text column behind it: classes, or labels of LIBSVM text */
    int64_t labels;        /* target values that are one such label */
    double *buffer;        /* rows with target values in front; owned */
    const char **names;    /* texts of these columns, row by row; owned */
    char *formatted;       /* what they point to when they are numbers; owned */
    int64_t room;          /* rows the three hold */
} cli_sink;

/* Predicted classes as a column to put in front, empty for MERCER_NO_CLASS. */
mercer_status cli_predicted_classes(const int64_t *codes, int64_t n, const char *const *names,
                                    int64_t classes, mercer_targets **out, mercer_error *err);

/* Open path (NULL: standard output as CSV) for `columns` numbers named names[] (NULL: no header).
 * targets and ids, when not NULL, tell what to put in front; ids are left out, with a notice, where
 * the format has no room for them. Of several ranks, rank 0 has the file; the writers of others are
 * parts (mercer_writer_open_part). */
mercer_status cli_sink_open(cli_sink *sink, cli_app *app, const char *path, const char *format,
                            int64_t columns, const char *const *names,
                            const mercer_targets *targets, const cli_ids *ids, mercer_error *err);
mercer_status cli_sink_rows(cli_sink *sink, mercer_ctx *ctx, const double *x, int64_t count,
                            const mercer_targets *targets, const cli_ids *ids, mercer_error *err);
/* Send the rows so far on their way; for input that is live (cli_is_live). */
mercer_status cli_sink_flush(cli_sink *sink, mercer_error *err);
/* All rows of a table, which may be sparse. */
mercer_status cli_sink_table(cli_sink *sink, mercer_ctx *ctx, const mercer_rows *rows,
                             const mercer_targets *targets, const cli_ids *ids, mercer_error *err);
mercer_status cli_sink_finish(cli_sink *sink, mercer_ctx *ctx, mercer_error *err);
void cli_sink_abort(cli_sink *sink);

/* Pre-images going out as images instead of a table. */
typedef struct cli_gallery {
    bool wanted;   /* the output is images at all */
    char *folder;  /* without its last slash; NULL: a single file; owned */
    double *rows;  /* images for a single file, written when all are known; owned */
    int64_t count; /* images so far */
    int64_t clipped;
} cli_gallery;

/* What -o asks for; a status after one line when it cannot be. */
int cli_gallery_open(cli_gallery *gallery, const cli_settings *set);
/* Whether the model's rows are images; likewise. */
int cli_gallery_check(const cli_gallery *gallery, const cli_settings *set,
                      const mercer_model_info *info);
mercer_status cli_gallery_rows(cli_gallery *gallery, const cli_app *app,
                               const mercer_model_info *info, const double *rows, int64_t count,
                               mercer_error *err);
mercer_status cli_gallery_finish(cli_gallery *gallery, cli_app *app, const mercer_model_info *info,
                                 mercer_error *err);
void cli_gallery_free(cli_gallery *gallery);

/* The rows of the largest errors, worst first. */
typedef struct cli_top cli_top;
cli_top *cli_top_new(int64_t most);
void cli_top_free(cli_top *top); /* accepts NULL */
/* Rows of a block with their errors; `first` rows came before. kept: labels to be written, or NULL.
 */
void cli_top_add(cli_top *top, const mercer_table *block, const mercer_targets *kept,
                 const double *errors, int64_t first);
/* Write them where the settings say: id, else row (from 0); label or targets; error; novel, when
 * there is a threshold. */
mercer_status cli_top_write(cli_top *top, cli_app *app, const mercer_model *model, int extra,
                            mercer_error *err);

/* What is counted over rows on their way. */
typedef struct cli_tally {
    int64_t rows;   /* gone out */
    double sum;     /* of what cli_row_pipe_tally() was told, in the order of rows */
    int64_t novel;  /* rows above the model's threshold, when there is a column 'novel' */
    int64_t judged; /* rows whose true class or values were in the data */
    int64_t within; /* true values in their intervals */
} cli_tally;

/* How ranks share the rows of a file: in each step every rank has `size` of them, in the order of
 * ranks, and rank 0 writes what all have made of them. */
typedef struct cli_share {
    int64_t size, most; /* rows per rank in this step, and in a later one at most */
    int64_t ahead;      /* rows to step over before the next ones of this rank */
    bool ended;         /* there are no more rows for this rank */
    int64_t sent;       /* bytes, by the rank that has sent most of all */
    char *piece;        /* bytes under way; owned */
} cli_share;

/* Rows of a file through a model and out to another, block by block. */
typedef struct cli_row_pipe {
    cli_app *app;
    const char *path; /* of the rows */
    double start;     /* when it began */
    mercer_error err;
    mercer_model *model; /* owned */
    mercer_model_info info;
    mercer_reader *reader; /* owned */
    mercer_table *block;   /* the rows at hand; owned */
    cli_sink sink;
    cli_gallery gallery;           /* instead of sink, when it is wanted */
    cli_top *top;                  /* likewise; owned; or NULL */
    char **names;                  /* of all columns going out; owned */
    int64_t width;                 /* columns going out, without 'error', 'novel' and 'p' */
    int extra;                     /* how many of these three follow */
    bool live;                     /* whoever writes the rows may wait for the answers */
    double *values;                /* of the rows at hand, `width` per row; owned */
    double *errors;                /* one per row, with --errors; owned */
    double *joined;                /* all columns, with --errors; owned */
    int64_t extra_numbers_per_row; /* numbers kept for each row, besides its columns */
    int64_t room, wanted;          /* rows that values holds, and that are read next */
    int64_t before, at;            /* rows of the file before the block at hand, and behind it */
    bool begun;                    /* a block of this rank has gone out */
    cli_tally total;               /* of all rows that have gone out */
    cli_tally own;                 /* of rows that are not in it yet; its sum is in: */
    double *addends;               /* owned */
    int64_t addend_count, addend_room;
    cli_share share; /* with several ranks */
    double error;    /* for the report, when the command sets it; else NaN */
    double within;   /* likewise: share of true values in their intervals */
    int64_t shown;   /* likewise: columns that count, when they are not `width`; else 0 */
    char note[64];   /* at the end of the summary's line */
    bool by_name;    /* only columns the model names are read: none of them holds classes */
} cli_row_pipe;

/* Refuse an output that cannot be, load the model and fill info. images: the output may be images.
 * Returns 0 or a status after one line; cli_row_pipe_end() is due in any case. */
int cli_row_pipe_start(cli_row_pipe *pipe, cli_app *app, bool images);

/* Open the rows, of about `columns` columns. names (handed over) are of the `width` columns that go
 * out and the `extra` ones behind them: 'error' when that is asked for, then 'novel' and 'p'. */
mercer_status cli_row_pipe_open(cli_row_pipe *pipe, const mercer_read_options *reading,
                                int64_t columns, int64_t extra_numbers_per_row, char **names,
                                int64_t width, int extra);

/* The next rows, borrowed until the next call; NULL after the last. The caller then fills values
 * and, unless NULL, errors. */
mercer_status cli_row_pipe_next(cli_row_pipe *pipe, const mercer_rows **rows);

/* Say which columns the model leaves unused; due after the first cli_row_pipe_next(). */
void cli_row_pipe_note_skipped(cli_row_pipe *pipe);

/* Add a number of the rows at hand to the tally's sum. */
void cli_row_pipe_tally(cli_row_pipe *pipe, double value);

/* Write values and errors, the kept labels (or NULL) in front. */
mercer_status cli_row_pipe_write(cli_row_pipe *pipe, const mercer_targets *kept);

/* Close the output and report. what: the columns' name, width_key and error_key: theirs and the
 * mean error's in --json. */
mercer_status cli_row_pipe_finish(cli_row_pipe *pipe, const char *what, const char *width_key,
                                  const char *error_key);

/* Free everything; an rc that is not MERCER_OK becomes one line. Returns the exit status. */
int cli_row_pipe_end(cli_row_pipe *pipe, mercer_status rc, int status);

/* Put what was counted of this rank's rows into the total. */
void cli_row_pipe_fold(cli_row_pipe *pipe);

/* Whether several ranks share rows that go through a model: always. */
bool cli_share_is_spread(const cli_settings *set);
/* Several ranks: see that all have the same model and options, and deal the first rows. */
mercer_status cli_share_open(cli_row_pipe *pipe);
/* How many rows this rank may read next, having stepped over those of others; 0: there are no more.
 * When its rows of a step have gone out, all ranks meet in here, and rank 0 writes them. */
mercer_status cli_share_next(cli_row_pipe *pipe, int64_t *rows);

/* Rows of a file or pipe into a stream, block by block. */
typedef struct cli_stream_input {
    cli_app *app;
    const char *path;   /* of the rows */
    const char *output; /* where the model goes, or NULL */
    mercer_error err;
    mercer_stream *stream; /* owned */
    int64_t read, learnt;  /* rows read, and those of them that were new to the stream */
    int64_t since;         /* learnt since the last checkpoint */
    int64_t checkpoints;
    int64_t columns, entries, classes; /* of what was read */
    bool sparse;
    char *origin; /* where labels came from, or NULL; owned */
    double seconds, seconds_read, seconds_write;
} cli_stream_input;

/* The stream begins with a new input. */
mercer_status cli_stream_input_begin(cli_stream_input *feed);
/* After a resumed run: whether its input is none that was interrupted, but turned out to be another
 * one than the model had finished with. Then the feed has no stream any more, for the caller to
 * start with the input as a new one. */
bool cli_stream_input_start_over(cli_stream_input *feed);
/* Read all rows, learn from them, fold in the last ones and save the model; reading is changed. */
mercer_status cli_stream_input_run(cli_stream_input *feed, mercer_read_options *reading);
void cli_stream_input_end(cli_stream_input *feed);

/* Lock the model at path against other writers, until cli_unlock(); nothing to do for NULL,
 * standard output and devices. Returns 0 or a status after one line. */
int cli_lock(cli_app *app, const char *path, int *fd);
void cli_unlock(int fd);
void cli_unlock_in_handler(void); /* async-signal-safe */

/* Column names of rows, or NULL when there are none (then prefix1, prefix2, ... if prefix is not
 * NULL). The array is owned by the caller: cli_names_free(). */
char **cli_names(const mercer_rows *rows, const char *prefix, int64_t count);
/* extra: how many of 'error' and 'novel' follow the numbered ones. */
char **cli_names_numbered(const char *prefix, int64_t count, int extra);
void cli_names_free(char **names, int64_t count);

/* JSON: NaN becomes null, text that is not UTF-8 is repaired. The report is printed one key a
 * line and freed. */
json_t *cli_json_real(double value);
json_t *cli_json_text(const char *text);
/* The values of a JSON text of the library's, which is freed, to which a report adds its own:
 * cli_json_take(mercer_schema_json(&text, NULL), &text). */
json_t *cli_json_take(mercer_status rc, char **text);
/* Put a member of one object, if it is there, at the end of another. */
void cli_json_move(json_t *from, const char *key, json_t *to);
/* Put a member before one that is there. */
void cli_json_insert(json_t *object, const char *before, const char *key, json_t *value);
json_t *cli_json_notices(const cli_app *app);
void cli_json_print(FILE *out, json_t *object);

/* Progress bar on standard error, when that is a terminal. */
void cli_progress_enable(bool enabled);
void cli_progress(void *host, const char *phase, double done);
void cli_progress_clear(void);
void cli_progress_clear_in_handler(void); /* async-signal-safe */
void cli_progress_end(void);              /* clear it for good */

/* What an interruption says of the files: "nothing was written" unless a command says otherwise;
 * "": no word. The other one tells, and how long it has been; it is async-signal-safe. */
void cli_interrupt_note(const char *text);
void cli_interrupt_tell(void);

/* Before a fit: a note when it will take long; a status after one line when that is more than
 * --time allows. *seconds: what is expected, NaN where that was not looked at. */
int cli_forecast_fit(cli_app *app, const mercer_fit_options *options, const mercer_rows *rows,
                     const mercer_targets *targets, double *seconds);
cli_text cli_text_about(double seconds);         /* "about 6 s", "under 1 s" */
cli_text cli_text_span(double low, double high); /* "20 to 50 min" */

/* Text table: `align` has 'l' or 'r' per column. Cells are added row by row; the last column is
 * wrapped at the width of the terminal when it is left-aligned. */
typedef struct cli_table {
    const char *align;
    char **cells; /* owned */
    int64_t count;
    bool header; /* the first row is one */
} cli_table;
void cli_table_cell(cli_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_table_print(cli_table *table, FILE *out, int indent); /* and free it */

/* One line of a summary: name, then text, wrapped. */
void cli_print_row(FILE *out, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Share of the entries that sparse rows have. */
double cli_density(int64_t entries, int64_t rows, int64_t columns);
/* How full sparse rows are, given their entries, or -1 for dense rows: ", sparse: 1,500,000 entries
 * (0.15 %)" or nothing, for the caller to free. */
char *cli_sparse_text(int64_t entries, int64_t rows, int64_t columns);

/* What a model does to the columns of a file first: rows of a summary. */
void cli_print_preparation(FILE *out, const mercer_model *model, const mercer_model_info *info);
/* The head of a model, when it has one: a row of a summary. */
void cli_print_head(FILE *out, const mercer_model_info *info);
/* What errors of a head are: "error_rate" or "rmse"; and such an error for people. */
const char *cli_error_key(const mercer_model_info *info);
cli_text cli_text_error(const mercer_model_info *info, double error);
/* The novelty threshold of a model, when it has one. */
void cli_print_novelty(FILE *out, const mercer_model_info *info);

/* The eigenvalues as a table with bars; factor turns them into shares of the variance. */
void cli_print_spectrum(FILE *out, const double *spectrum, int64_t count, double factor);

/* The rows a method selected, one line each: what each was worth, and the error it left. */
void cli_print_selection(FILE *out, const mercer_model_info *info);

/* The row "rows stored" of a summary. */
void cli_print_points(FILE *out, const mercer_model_info *info);

/* Spectrum, selection or both, whichever tell something; factor: share per unit of spectrum; bound:
 * the bound on new rows is told even when it says nothing. */
void cli_print_features(FILE *out, const mercer_model_info *info, double factor, bool bound);

/* What features have to do with the targets: a line each. */
void cli_print_alignment(FILE *out, const mercer_model_info *info, bool bound);

/* A row about the search for the features, where there was one. */
void cli_print_trace(FILE *out, const mercer_model_info *info);

/* A row about the blocks of a stream, where there was one. */
void cli_print_blocks(FILE *out, const mercer_model_info *info);

/* A line of a summary where several ranks have shared the work. */
void cli_print_ranks(FILE *out, const cli_app *app);
/* The same, where rank 0 knows that others have sent more than it has. */
void cli_print_ranks_sent(FILE *out, const cli_app *app, int64_t sent);

/* Draw a picture: as SVG into path, or on the terminal when that is NULL. */
mercer_status cli_draw(cli_app *app, const chart_subject *subject, const char *kind,
                       const char *path, mercer_error *err);
/* The same of the rows of a file, which are read as the call says. */
mercer_status cli_draw_rows(cli_app *app, const chart_subject *subject, const char *data,
                            const char *kind, const char *path, mercer_error *err);
/* Refuse a path that is not an SVG file, or cannot be written; nothing to do for NULL. Returns 0 or
 * a status after one line. */
int cli_check_picture(const char *command, const char *path);
/* The first kind of picture of a model alone that there is something of, else of its rows; NULL:
 * none. */
const char *cli_usual_kind(const chart_subject *subject);

/* The page about a subject into path, or on standard output when that is NULL; *size, unless NULL,
 * is its length. The paths of model and data name them in it; each may be NULL. */
mercer_status cli_write_page(cli_app *app, const chart_subject *subject, const char *model_path,
                             const char *data_path, const char *path, size_t *size,
                             mercer_error *err);
/* Refuse a path that is not an HTML file, cannot be written, or is another file of the call;
 * nothing to do for NULL. Returns 0 or a status after one line. */
int cli_check_page(const char *command, const cli_settings *set, const char *path);

/* A horizontal bar of share x width columns, in eighths; owned by the caller. */
char *cli_bar(double share, int width);

#endif
