/* Readers from the inside: what the formats (csv.c, npy.c, ...) share with reader.c.
 *
 * A format finds out how many columns there are and what they are called, reader.c decides the role
 * of each column, and the format then fills blocks of rows by those roles. */
#ifndef MRC_DATA_READER_H
#define MRC_DATA_READER_H

#include "base/number.h"
#include "data/arrays.h"
#include "data/budget.h"
#include "data/image.h"
#include "data/input.h"
#include "data/rows.h"

/* The role of a file column: data column j is j, target k is MRC_ROLE_TARGET(k), which is its own
 * inverse. */
enum { MRC_ROLE_LABEL = -1 };
#define MRC_ROLE_SKIPPED INT64_MIN
#define MRC_ROLE_TARGET(k) (-2 - (k))

/* Class names seen so far, in order of first appearance. */
typedef struct mrc_classes {
    char **names;
    int64_t count, capacity;
    int64_t *slots; /* hash table of indices + 1, 0 for empty; size is a power of two */
    int64_t slot_count;
    int64_t last;       /* index found last: rows of one class often follow each other */
    mrc_budget *budget; /* that they are taken from, borrowed; or NULL */
    int64_t taken;      /* of it */
} mrc_classes;

/* The index of a class, entering it when it is new. */
mercer_status mrc_classes_code(mrc_classes *classes, const char *text, size_t length, int64_t *code,
                               mercer_error *err);
void mrc_classes_destroy(mrc_classes *classes);

/* The columns of a file, in its order. */
typedef struct mrc_columns {
    int64_t count;
    char **names;    /* count strings, or NULL when the file has no header */
    int64_t *role;   /* NULL: all are data, in their order */
    int64_t data;    /* how many are data */
    int64_t targets; /* how many are targets */
    int64_t label;   /* which one holds classes, or -1 */
    int64_t skipped; /* how many are not wanted */
    bool missing;    /* a missing value of a data column is NaN; else an error that ends in hint */
    const char *missing_hint;
    mrc_classes *texts; /* of each data column, when text columns are encoded; else NULL */
    bool texts_open;    /* any data column may have texts; else only those that have some */
    bool encode;        /* there will be texts */
} mrc_columns;

/* Whether a cell stands for a value that is not there. certain: by the words that cannot be a text
 * of its own. */
bool mrc_means_missing(const char *text, size_t length, bool certain);

/* A column for a message: "column 'age'" or "column 3". Returns out. */
enum { MRC_COLUMN_SHOWN = MRC_SHOWN_SIZE + 16 };
const char *mrc_column_shown(char out[MRC_COLUMN_SHOWN], const mrc_columns *columns,
                             int64_t column);

/* Rows being filled. */
typedef struct mrc_block {
    int64_t n, capacity;
    double *x;       /* capacity x data */
    void *packed;    /* the same instead of x, when dtype is not MRC_F64 */
    mrc_dtype dtype; /* set by the reader */
    double *values;  /* capacity x targets, when there are targets */
    int64_t *codes;  /* capacity, when there are classes */
    bool with_codes; /* set by the reader */
    bool sparse;     /* likewise; the rows are then in csr, not in x */
    mrc_csr_owned csr;
    int64_t entry_capacity;
    mrc_budget *budget; /* that the rows have to fit, borrowed; or NULL */
    bool elastic;       /* set by the reader: a block may end early where the budget does */
    bool full;          /* it did */
} mrc_block;

/* Bytes of one row, entries of sparse ones aside. */
int64_t mrc_block_row_bytes(const mrc_block *block, const mrc_columns *columns);
/* Whether another row has room in memory: an elastic block that has rows is full once it takes half
 * of what is left, because whoever gets it needs memory, too. */
bool mrc_block_is_full(mrc_block *block, const mrc_columns *columns);
/* Make room for exactly `rows` rows. */
mercer_status mrc_block_reserve(mrc_block *block, const mrc_columns *columns, int64_t rows,
                                mercer_error *err);
/* Make room for at least one more row, and for at most `most` rows in all. */
mercer_status mrc_block_grow(mrc_block *block, const mrc_columns *columns, int64_t most,
                             mercer_error *err);

/* Make room for at least that many entries of sparse rows. */
mercer_status mrc_block_grow_entries(mrc_block *block, int64_t least, mercer_error *err);

typedef struct mrc_matrix mrc_matrix; /* data/matrix.h */

/* Text in a buffer that ends in a newline of our own, so that scanning needs no test for its end.
 */
typedef struct mrc_text {
    mrc_input *input; /* borrowed */
    char *data;
    size_t start, end, capacity; /* unread: data[start .. end), data[end] == '\n' */
    bool ended;                  /* nothing more comes from the input */
    int64_t line;                /* physical line number of data[start], from 1 */
    bool patient;                /* set by the reader: a block waits until it is full */
    bool paused;                 /* the last block ended because the next bytes have not come yet */
    mrc_budget *budget;          /* that a long row has to fit, borrowed; or NULL */
} mrc_text;

/* Borrow input and budget; the first bytes are read, a byte order mark is skipped, binary files are
 * refused. */
mercer_status mrc_text_init(mrc_text *text, mrc_input *input, mrc_budget *budget,
                            mercer_error *err);
/* Get more bytes behind data[end]; data and start move. Not to be called after `ended`. */
mercer_status mrc_text_more(mrc_text *text, mercer_error *err);
/* The next line without its end, and a step over it: text->line is then the next one's. *first is
 * NULL behind the last line. Polls for cancellation and shows progress. */
mercer_status mrc_text_line(mrc_text *text, mercer_ctx *ctx, const char **first, const char **end,
                            mercer_error *err);
/* Whether going on means waiting for bytes that may only come after these rows are answered. */
bool mrc_text_would_wait(const mrc_text *text);
void mrc_text_destroy(mrc_text *text);

typedef struct mrc_csv {
    mrc_text text;
    char delimiter;
    char *scratch; /* a quoted cell without its escapes */
    size_t scratch_size;
    int64_t blank_line; /* a blank line that was skipped and must be followed by nothing; or 0 */
    bool doubtful;      /* the first row was taken for data, but its numbers could be names */
} mrc_csv;

/* Find header and columns (names and count of columns are set). */
mercer_status mrc_csv_open(mrc_csv *csv, mercer_ctx *ctx, mrc_input *input, mrc_budget *budget,
                           char delimiter, const mercer_read_options *options, mrc_columns *columns,
                           mercer_error *err);
/* Append up to most - block->n rows; fewer only at the end of the file, when text.paused or when
 * block->full. */
mercer_status mrc_csv_rows(mrc_csv *csv, mercer_ctx *ctx, const mrc_columns *columns,
                           mrc_classes *classes, int64_t most, mrc_block *block, mercer_error *err);
void mrc_csv_destroy(mrc_csv *csv);

/* What the labels in front of LIBSVM rows are. */
typedef enum mrc_labels {
    MRC_LABELS_UNDECIDED, /* classes, as long as all are whole numbers */
    MRC_LABELS_CLASSES,
    MRC_LABELS_VALUES,
    MRC_LABELS_NONE, /* not there, or not wanted */
} mrc_labels;

typedef struct mrc_libsvm {
    mrc_text text;
    int64_t columns; /* how many there are; 0 as long as that is not known */
    int64_t widest;  /* largest index so far */
    bool ignore_beyond;
    mrc_labels labels;
    int64_t per_row;          /* labels of the first row, separated by commas */
    bool uneven;              /* other rows have more or fewer */
    bool started, handed_out; /* a row was seen; a block was filled */
    bool labelled;            /* rows start with a label, wanted or not */
    bool noted_query;
    char *scratch; /* a label as a class name */
    int64_t scratch_size;
} mrc_libsvm;

mercer_status mrc_libsvm_open(mrc_libsvm *libsvm, mrc_input *input, mrc_budget *budget,
                              const mercer_read_options *options, mercer_error *err);
/* Append up to most - block->n rows; fewer only at the end of the file, when text.paused or when
 * block->full. Sets count, data and targets of columns, and the block's with_codes. */
mercer_status mrc_libsvm_rows(mrc_libsvm *libsvm, mercer_ctx *ctx, mrc_columns *columns,
                              mrc_classes *classes, int64_t most, mrc_block *block,
                              mercer_error *err);
void mrc_libsvm_destroy(mrc_libsvm *libsvm);

typedef struct mrc_npy {
    mrc_input *input;   /* borrowed */
    mrc_budget *budget; /* likewise; or NULL */
    int64_t rows, columns;
    int kind;  /* 'f', 'i', 'u' or 'b' */
    int width; /* bytes per value */
    bool swapped, fortran;
    int64_t chunk_rows;  /* rows converted at a time at most */
    unsigned char *raw;  /* a chunk of the file as it is; of a Fortran array, all of it */
    int64_t *order;      /* Fortran, 3 axes or more: where each column is stored; or NULL */
    mrc_image_size size; /* when each row is an image */
} mrc_npy;

mercer_status mrc_npy_open(mrc_npy *npy, mrc_input *input, mrc_budget *budget, mrc_columns *columns,
                           mercer_error *err);
/* The open array as a matrix, which borrows it. */
void mrc_npy_matrix(mrc_npy *npy, mrc_matrix *matrix);
/* Read the header alone and enter the array in the list under this name. */
mercer_status mrc_npy_peek(mrc_input *input, mrc_arrays *arrays, const char *name,
                           mercer_error *err);
void mrc_npy_destroy(mrc_npy *npy);

/* Arrays in container files. `array` is the name asked for, or NULL. matrix->budget is set by the
 * caller. NPZ: input, open at the start of the file, is moved to the array's bytes and called
 * file:array from then on; or, when the file is a sparse matrix of SciPy's, matrix has its rows. */
mercer_status mrc_npz_find(mrc_input *input, mercer_ctx *ctx, const char *array, mrc_matrix *matrix,
                           mercer_error *err);
/* A Matrix Market file, as a matrix that is read already; on error, too, it has to be destroyed.
 * matrix->budget is set by the caller. */
mercer_status mrc_mtx_open(mercer_ctx *ctx, mrc_input *input, mrc_matrix *matrix,
                           mercer_error *err);

/* The images of a folder, as a matrix that owns their list. width and height 0: all have the size
 * of the first one. shown is the folder, borrowed. matrix->budget is set by the caller. */
mercer_status mrc_images_open(mercer_ctx *ctx, const char *folder, const char *shown, int64_t width,
                              int64_t height, mrc_matrix *matrix, mercer_error *err);
/* The sub-folder of an image, or NULL when the images lie in the folder itself. */
const char *mrc_images_class(const mrc_matrix *matrix, int64_t row);

/* Formats by name and by ending; shared with the writer. */
typedef enum mrc_format {
    MRC_FORMAT_UNKNOWN,
    MRC_FORMAT_CSV,
    MRC_FORMAT_TSV,
    MRC_FORMAT_NPY,
    MRC_FORMAT_LIBSVM,
    /* Read, but not written: */
    MRC_FORMAT_MTX,
    MRC_FORMAT_NPZ,
    MRC_FORMAT_MAT,
    MRC_FORMAT_HDF5,
    MRC_FORMAT_IMAGES
} mrc_format;

/* The format called name; or, when name is NULL, by the ending of path without ".gz"
 * (MRC_FORMAT_UNKNOWN when that tells nothing). *gzip: path ends in ".gz". */
mercer_status mrc_format_find(const char *path, const char *name, mrc_format *out, bool *gzip,
                              mercer_error *err);
/* Fail because the ending of path tells nothing. */
mercer_status mrc_format_fail(const char *path, mercer_error *err);

/* Open a reader over bytes in memory, which must outlive it. */
mercer_status mrc_reader_open_memory(mercer_ctx *ctx, const char *shown, const void *bytes,
                                     size_t count, const mercer_read_options *options,
                                     mercer_reader **out, mercer_error *err);

#endif
