/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables in files, whole or block by block: CSV, TSV, NPY and LIBSVM text, plain or gzipped; for
 * reading also Matrix Market, NPZ, MAT, HDF5 and folders of images. Rows of LIBSVM text, and of
 * sparse matrices in the other formats, are sparse. */
#ifndef MERCER_IO_H
#define MERCER_IO_H

#include <mercer/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is done to the columns of a file before a model sees them; see mercer_model_read_options().
 */
typedef struct mercer_prepare mercer_prepare;

/* Set the fields by mercer_read_options_init(), then change what you need. Strings are borrowed. */
typedef struct mercer_read_options {
    size_t struct_size;
    const char *format; /* "csv", "tsv", "npy", "libsvm", "mtx", "npz", "mat", "hdf5", "images";
                           NULL: by the file's ending, csv for "-", images for a folder */
    const char *label;  /* class column, by name or 1-based position, or as name:NAME or position:N
                           (a text that means two columns is an error); NULL: the rule below */
    const char *target; /* value columns, comma-separated, each as a label; NULL: the rule */
    const char *labels_file; /* one class per line in row order, instead of a column; or NULL */
    int no_label;            /* 1: every column is data, whatever it is called; 2: the rule below is
                                off, but what prepare remembers is looked for */
    const char *const *only; /* names of the data columns wanted, in this order; NULL: all. In a
                                file that names its columns a missing one is an error, and all
                                others, numbers or not, are skipped */
    int64_t only_count;
    int64_t resize_width; /* images are brought to this size by area averages; 0: as they are */
    int64_t resize_height;
    int64_t columns; /* LIBSVM text: how many there are; 0: as many as the largest index says. A
                        larger index is then an error. A stream that is read block by block needs
                        it, for the largest index may stand in its last row */
    int ignore_extra_columns;      /* 1: no error, entries beyond those columns are left out */
    const char *encode;            /* "onehot": a text column becomes columns of 0 and 1, one for
                                      each value, called name=value and sorted; refused are more
                                      than 50 values, and more than 10 in fewer than 5 rows each,
                                      unless "onehot:max=N" allows N; "dates": days since
                                      1970-01-01 of ISO 8601, or "dates:format=%d.%m.%Y";
                                      "onehot,dates": both; "none": text in a data column is an
                                      error; NULL: none */
    const char *missing;           /* empty cells, NA, NaN, ... in data columns: "error"; "mean",
                                      replaced by the mean of the column ("median": its median; of
                                      a text column always the shares of its values); "drop", the
                                      row is left out; NULL: error. mercer_evaluate() fills again
                                      by the training rows of each fold */
    const char *image_features;    /* of a folder of images or a stack of them (an array of 3 axes,
                                      or 4 with colours): "pixels"; or "haar", rectangle features
                                      of grey images; NULL: pixels */
    const mercer_prepare *prepare; /* prepare the rows as those of a model were; NULL: by the
                                      fields above. Images of a folder are then automatically
                                      resized to the model's size */
    int skip_labels; /* 1: labels in front of LIBSVM text are not looked at, unless label or target
                        asks for them */
    int fill_blocks; /* 1: from a pipe or terminal, too, a block waits until it is full */
    const char *header; /* "yes": the first line of CSV and TSV has names; "no": it has none; NULL:
                           by what stands in it */
    const char *labels_header; /* the same for labels_file; NULL: its first line is a name when it
                                  is "label" or "target" */
    const char *use_columns;   /* the data columns wanted, comma-separated: names, positions from 1,
                                  ranges 3-15 and 3-, patterns mean_* with * and ?; a column of
                                  exactly that name wins. Label, target and id need not be listed.
                                  NULL: all */
    const char *drop_columns;  /* columns that are left out, in the same way, after use_columns.
                                  Their cells are not looked at */
    const char *id;  /* column of texts that name the rows, by name or position as a label: never
                        data, see mercer_table_id(); "none": there is none; NULL: the column that
                        prepare remembers, else a first column without a name in a file with names,
                        when it counts rows (0, 1, 2, ... or 1, 2, 3, ...) or names them by texts,
                        all different: then with a notice */
    int id_optional; /* 1: no error when there is no column `id` */
    /* How CSV and TSV are written; NULL stands for the first word: */
    const char *delimiter;  /* "auto", by the first 20 lines (of a pipe whose rows are answered as
                               they come, the first); "comma", "semicolon", "tab", "space" (any run
                               of blanks), or one character */
    const char *decimal;    /* "auto", likewise; "point", "comma" */
    const char *thousands;  /* "auto": separators of groups of three digits where a whole column
                               agrees, and nothing else can be meant; "none"; "comma", "point",
                               "apostrophe", "space" (no-break ones and plain ones) */
    const char *encoding;   /* "utf8": bytes that are not UTF-8 are refused, except in columns that
                               are left out; a mark of UTF-16 is obeyed; "latin1" (Windows-1252);
                               "utf16", with or without a mark */
    const char *comment;    /* lines that start with this character are skipped; NULL: none */
    const char *na;         /* further cells that are missing, comma-separated ("-,.,-999"); numbers
                               by their value; kept in prepare */
    const char *groups;     /* column that says which rows belong together, by name or position as a
                               label: never data, see mercer_table_groups(); it may be that of the
                               ids; NULL: none */
    const char *unlabelled; /* a row whose class or target value is missing (an empty cell, NA, NaN,
                               nan, ?, #N/A, and what `na` lists): "error"; "drop", it is left out;
                               NULL: error */
} mercer_read_options;
/* The rule: a column named "label" holds classes, one named "target" values; else there are none.
 * LIBSVM text has its labels in front of the rows, not in columns: they are classes when all are
 * whole numbers or label is given (as "label" or "0"), else values; with no_label or labels_file
 * they are ignored. */
MERCER_VERSIONED(read_options)

typedef struct mercer_table mercer_table;

/* Read a whole table. "-" is standard input; a name that ends in .gz (or a stream that starts like
 * one) is unzipped. FILE:NAME is an array inside an NPZ, MAT or HDF5 file, unless a file of that
 * whole name exists; without NAME the only table in it is read. A folder holds images, one row
 * each, its sub-folders being their classes. A table that does not fit the memory budget of ctx is
 * MERCER_ERR_BUDGET while it is read. Classes that are numbers and not all whole are
 * MERCER_ERR_DATA: they are values, for target. The caller frees *out with mercer_table_free().
 * Errors name file, line and column. options may be NULL. */
MERCER_API mercer_status mercer_table_read(mercer_ctx *ctx, const char *path,
                                           const mercer_read_options *options, mercer_table **out,
                                           mercer_error *err);
/* The rows of this rank (mercer_ctx_part() in <mercer/comm.h>) of a table that is spread over the
 * ranks of ctx, as mercer_rows_view_part() makes them: all ranks call it with the same file, and
 * only their part has to fit the memory budget. NPY, unless in Fortran order, is read from the
 * first of these rows on; of all other formats every rank reads the file up to its last row, twice
 * where the number of rows is not told before. Targets are those of these rows. What has to be
 * learnt from all rows is refused: encode, missing, unlabelled, labels_file, groups, image
 * features, cells that are not plain numbers. Ranks do not compare their files. They exchange
 * what their classes are, to judge whether these are values, and agree on errors. */
MERCER_API MERCER_EXPERIMENTAL mercer_status
mercer_table_read_part(mercer_ctx *ctx, const char *path, const mercer_read_options *options,
                       mercer_table **out, mercer_error *err);
/* The parts of a table, borrowed from it. Targets are of kind NONE when the table has none. */
MERCER_API const mercer_rows *mercer_table_rows(const mercer_table *table);
MERCER_API const mercer_targets *mercer_table_targets(const mercer_table *table);
/* One line that says where labels or targets came from ("classes from column 'label'"), or NULL. */
MERCER_API const char *mercer_table_target_origin(const mercer_table *table);
/* The id of a row, borrowed from the table; NULL when the table has no ids. Their name, "id" when
 * the column has none; NULL without ids. */
MERCER_API const char *mercer_table_id(const mercer_table *table, int64_t row);
MERCER_API const char *mercer_table_id_name(const mercer_table *table);
/* The groups of the rows, as mercer_evaluate_options.groups has them: numbers from 0 on in the
 * order of their first rows, into codes, which has room for all rows. MERCER_ERR_ARGUMENT when the
 * table was read without groups. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_table_groups(const mercer_table *table,
                                                                 int64_t *codes, mercer_error *err);
/* Scale the rows of a table, as mercer_rows_scale() does, but in their own memory: numbers that are
 * packed (floats, bytes) alone become new ones, MERCER_ERR_BUDGET where both do not fit the memory
 * budget. What was borrowed from the table is gone. On an error the table is as it was. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_table_scale(mercer_ctx *ctx,
                                                                mercer_table *table,
                                                                const char *kind,
                                                                mercer_error *err);
MERCER_API void mercer_table_free(mercer_table *table);
/* Set what a reader of more rows like those of a table needs: its columns by name, how many there
 * are, and how they are prepared. What is set is borrowed from the table. */
MERCER_API void mercer_table_read_options(const mercer_table *table, mercer_read_options *options);

/* The same, block by block in bounded memory: *block has up to max_rows rows, fewer where they
 * would take more than half of the memory budget, or is NULL after the last one. From a pipe or
 * terminal a block of text ends early rather than wait for rows that have not come yet; LIBSVM text
 * only when it is settled what its labels are (see the options). The class indices of later blocks
 * continue those of earlier ones. */
typedef struct mercer_reader mercer_reader;
MERCER_API mercer_status mercer_reader_open(mercer_ctx *ctx, const char *path,
                                            const mercer_read_options *options, mercer_reader **out,
                                            mercer_error *err);
MERCER_API mercer_status mercer_reader_next(mercer_ctx *ctx, mercer_reader *reader,
                                            int64_t max_rows, mercer_table **block,
                                            mercer_error *err);
/* Step over the next rows, as if mercer_reader_next() had given them: *skipped of them, fewer than
 * asked for only at the end. Where nothing has to be known of them (NPY in C order, text; without
 * labels in another file, missing values or texts that are encoded) they are not read, class
 * indices are those of rows that are, and what is wrong inside a row of text is not seen. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_reader_skip(mercer_ctx *ctx,
                                                                mercer_reader *reader, int64_t rows,
                                                                int64_t *skipped,
                                                                mercer_error *err);
MERCER_API void mercer_reader_close(mercer_reader *reader);
/* How many columns are skipped because of `only`, and the name of the first one (borrowed); first
 * may be NULL. */
MERCER_API int64_t mercer_reader_skipped(const mercer_reader *reader, const char **first);

/* Write a table of numbers, optionally with one leading text column. The file appears whole or not
 * at all: rows go to a temporary file in the same folder, mercer_writer_finish() syncs and renames
 * it. Devices and pipes, and "-" for standard output, are written through. format as above, NULL:
 * by the ending; ".gz" compresses. names: `columns` strings, or NULL for no header; copied.
 * text_name: NULL when there is no text column (NPY takes none). LIBSVM text has no header and
 * leaves zeroes out; the text column is its label, one number or several separated by commas, and 0
 * when there is none. */
typedef struct mercer_writer mercer_writer;
MERCER_API mercer_status mercer_writer_open(mercer_ctx *ctx, const char *path, const char *format,
                                            int64_t columns, const char *const *names,
                                            const char *text_name, mercer_writer **out,
                                            mercer_error *err);
/* The same with `texts` leading text columns, called text_names[]. NPY takes none, LIBSVM text one.
 */
MERCER_API mercer_status mercer_writer_open_texts(mercer_ctx *ctx, const char *path,
                                                  const char *format, int64_t columns,
                                                  const char *const *names, int64_t texts,
                                                  const char *const *text_names,
                                                  mercer_writer **out, mercer_error *err);
/* Append count rows; row i starts at x + i*ld. text: count strings, of several text columns those
 * of a row side by side; or NULL without text column. */
MERCER_API mercer_status mercer_writer_rows(mercer_ctx *ctx, mercer_writer *writer, const double *x,
                                            int64_t count, int64_t ld, const char *const *text,
                                            mercer_error *err);
/* Hand the rows so far to the system, for a reader that waits for them at the other end of a pipe.
 * Without effect on compressed output and NPY. */
MERCER_API mercer_status mercer_writer_flush(mercer_writer *writer, mercer_error *err);
/* Append all of rows, dense or sparse; text as above. Sparse ones go to LIBSVM text as they are. */
MERCER_API mercer_status mercer_writer_add(mercer_ctx *ctx, mercer_writer *writer,
                                           const mercer_rows *rows, const char *const *text,
                                           mercer_error *err);
/* Finish the file and free the writer, also on error (then the old file, if any, is untouched). */
MERCER_API mercer_status mercer_writer_finish(mercer_ctx *ctx, mercer_writer *writer,
                                              mercer_error *err);
/* Give up: remove the temporary file and free the writer. Accepts NULL. */
MERCER_API void mercer_writer_abort(mercer_writer *writer);

/* Rows of a table that another process writes. The first is mercer_writer_open_texts() without a
 * file: path and format say how rows are written. mercer_writer_take() gives the rows since the
 * last one, as the bytes that they are in the file (without compression), borrowed until the next
 * call for the writer; mercer_writer_abort() frees it. mercer_writer_append() puts them behind the
 * rows of a writer of the file, which was opened with the same format and columns; the bytes may be
 * cut anywhere, `rows` says how many rows end in them. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_writer_open_part(
    mercer_ctx *ctx, const char *path, const char *format, int64_t columns, int64_t texts,
    const char *const *text_names, mercer_writer **out, mercer_error *err);
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_writer_take(mercer_writer *writer,
                                                                const void **bytes, size_t *size,
                                                                int64_t *rows, mercer_error *err);
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_writer_append(mercer_ctx *ctx,
                                                                  mercer_writer *writer,
                                                                  const void *bytes, size_t size,
                                                                  int64_t rows, mercer_error *err);

/* Write bytes to a file as tables are written: it appears whole or not at all; devices, pipes and
 * "-" are written through. */
MERCER_API MERCER_EXPERIMENTAL mercer_status mercer_file_write(mercer_ctx *ctx, const char *path,
                                                               const void *bytes, size_t size,
                                                               mercer_error *err);

/* A number as the shortest decimal that reads back to the same bits, whatever the locale, as the
 * writers of text give it; "nan", "inf" or "-inf" when it is not finite. out has room for size
 * bytes, MERCER_NUMBER_SIZE or more. Returns the length without the zero byte at the end, or 0 when
 * out is NULL or too small. */
enum { MERCER_NUMBER_SIZE = 32 };
MERCER_API int mercer_number_format(double value, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
