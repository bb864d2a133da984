/* SPDX-License-Identifier: BSD-3-Clause */
/* What a format is: a descriptor in a file of its own and a line in formats.def.
 *
 * The reader opens the input, the format finds out how many columns there are and what they are
 * called, roles.c decides the role of each column, and the format then fills blocks of rows by
 * those roles. */
#ifndef MRC_IO_FORMAT_H
#define MRC_IO_FORMAT_H

#include "base/params.h"
#include "data/columns.h"
#include "data/image.h"
#include "io/block.h"
#include "io/input.h"

#include <mercer/io.h>

typedef struct mrc_format mrc_format;
typedef struct mrc_format_writer mrc_format_writer; /* writer.h */

enum { MRC_ORIGIN_SIZE = 256 }; /* of the line that says where classes or targets come from */

/* A table that is being read: what its format is told, and what it finds out. */
typedef struct mrc_table_source {
    const mrc_format *format;
    /* Only while the format is opened, borrowed: */
    const char *path, *array; /* array: the one asked for, or NULL */
    const mercer_read_options *options;
    mrc_input
        input; /* open unless the format opens its file; input.shown is the name in messages */
    mrc_budget budget;
    mrc_classes classes;
    bool fill_blocks;          /* a block waits until it is full */
    bool whole;                /* all rows will be asked for at once */
    const mercer_ctx *part_of; /* only the rows of this rank will be asked for, mrc_wanted_rows();
                                  NULL: any */
    /* Set by the format: */
    mrc_columns
        columns; /* count and names; the rest is for roles.c, except with MRC_LABELS_FRONT */
    bool sparse;
    bool classed;        /* the format fills the classes of all rows, whatever their names are */
    bool doubtful;       /* the first row was taken for data, but its numbers could be names */
    int64_t rows;        /* how many there are; 0: not known */
    mrc_dtype dtype;     /* the smallest that holds every value */
    mrc_image_size size; /* when each row is an image */
    char origin[MRC_ORIGIN_SIZE];
} mrc_table_source;

/* What the reader has to know of a format. */
enum {
    MRC_OPENS_FILE = 1,    /* by its name: a plain file, no pipe, no .gz */
    MRC_OPENS_FOLDER = 2,  /* likewise */
    MRC_HAS_ARRAYS = 4,    /* FILE:NAME is an array in it */
    MRC_HAS_HEADER = 8,    /* the first line may hold the names of the columns */
    MRC_LABELS_FRONT = 16, /* labels stand in front of the rows, and rows tell what they are */
};

struct mrc_format {
    struct mercer_entry entry; /* name, summary */
    const char *also;          /* other names, separated by blanks; or NULL */
    const char *endings;       /* ".tsv .tab" */
    const char *magic;         /* the first bytes of a pipe of this format; or NULL */
    char delimiter;            /* of cells; 0: the format has one way */
    unsigned caps;
    /* Open a table: *self is closed by the caller, after an error, too, unless it is NULL. */
    mercer_status (*open)(mrc_table_source *source, mercer_ctx *ctx, void **self,
                          mercer_error *err);
    /* Append up to most - block->n rows; fewer only at the end of the table, when paused() or when
     * block->full. */
    mercer_status (*rows)(void *self, mercer_ctx *ctx, int64_t most, mrc_block *block,
                          mercer_error *err);
    /* Step over the next rows, *skipped of them: fewer only at the end of the table. Of text only
     * the ends of rows are looked for: what is wrong inside a row is told by who reads it. A table
     * that cannot be read from any row on without holding all of it says so
     * (MERCER_ERR_UNSUPPORTED), also where there is nothing to step over. NULL: rows that are not
     * wanted are read, too. */
    mercer_status (*skip)(void *self, mercer_ctx *ctx, int64_t rows, int64_t *skipped,
                          mercer_error *err);
    /* Go through the whole table for source->rows, where it is not known, and stand in front of the
     * first row again; rows are left at 0 where the input cannot be gone through twice. Where the
     * end of a row is not found, that row counts: reading it says why. NULL: never needed. */
    mercer_status (*survey)(void *self, mercer_ctx *ctx, mercer_error *err);
    bool (*paused)(const void *self); /* the rest has not come yet; NULL: never */
    void (*close)(void *self);
    const mrc_format_writer *writer; /* NULL: read only */
};

#define MRC_FORMAT(file, name) extern const mrc_format mrc_format_##name;
#include "io/formats.def"
#undef MRC_FORMAT

/* The format of an entry, or NULL when it is the entry of something else. */
const mrc_format *mrc_format_of(const struct mercer_entry *entry);
/* The format called name; or, when name is NULL, by the ending of path without ".gz" (NULL when
 * that tells nothing). *gzip: path ends in ".gz". */
mercer_status mrc_format_find(const char *path, const char *name, const mrc_format **out,
                              bool *gzip, mercer_error *err);
/* What a stream is that starts with these bytes: the first of the list when they tell nothing. */
const mrc_format *mrc_format_of_stream(const void *bytes, size_t count);
/* What a folder is. */
const mrc_format *mrc_format_of_folder(void);

/* Fail because the ending of path tells nothing (reading: of other programs what to do), because
 * its format has no arrays (one called array was asked for), or because it is not written. */
mercer_status mrc_format_fail(const char *path, bool reading, mercer_error *err);
mercer_status mrc_format_fail_array(const char *path, const char *array, mercer_error *err);
mercer_status mrc_format_fail_write(const char *path, mercer_error *err);

#endif
