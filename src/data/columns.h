/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of a file: their names and roles, the classes and texts found in them. */
#ifndef MRC_DATA_COLUMNS_H
#define MRC_DATA_COLUMNS_H

#include "base/number.h"
#include "data/budget.h"

/* The role of a file column: data column j is j, target k is MRC_ROLE_TARGET(k), which is its own
 * inverse. */
enum { MRC_ROLE_LABEL = -1 };
enum { MRC_NO_LABEL = -1 }; /* the code of a row without a class, which is left out */
#define MRC_ROLE_SKIPPED INT64_MIN
#define MRC_ROLE_ID (INT64_MIN + 1)
#define MRC_ROLE_GROUP (INT64_MIN + 2)
#define MRC_ROLE_TARGET(k) (-2 - (k))

static inline bool mrc_role_is_target(int64_t role)
{
    return role < MRC_ROLE_LABEL && role > MRC_ROLE_GROUP;
}

/* What a first column without a name holds. */
typedef enum mrc_counting {
    MRC_COUNTING_NONE,
    MRC_COUNTING_FROM_0, /* 0, 1, 2, ..., as far as was looked */
    MRC_COUNTING_FROM_1,
    MRC_COUNTING_TEXTS /* texts that differ, likewise */
} mrc_counting;

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

/* How the numbers of a column are written; dress.c tells. */
typedef enum mrc_dress { MRC_PLAIN, MRC_GROUPED, MRC_PERCENT, MRC_BOOLEAN, MRC_DATE } mrc_dress;

/* How the numbers of a file are written. */
enum { MRC_THOUSANDS_NONE = 1 };
typedef struct mrc_style {
    char decimal;            /* '.' or ',' */
    char thousands;          /* 0: any that is known; ',', '.', '\'' or ' '; MRC_THOUSANDS_NONE */
    bool comma_separated;    /* commas separate the cells */
    bool doubtful;           /* a point may be the decimal mark or separate thousands */
    bool dates;              /* dates are counted in days, */
    const char *date_format; /* written like this, borrowed; NULL: ISO 8601 */
} mrc_style;

/* The columns of a file, in its order. */
typedef struct mrc_columns {
    int64_t count;
    char **names;    /* count strings, or NULL when the file has no header */
    int64_t *role;   /* NULL: all are data, in their order */
    int64_t data;    /* how many are data */
    int64_t targets; /* how many are targets */
    int64_t label;   /* which one holds classes, or -1 */
    int64_t id;      /* which one holds the ids of the rows, or -1 */
    int64_t group;   /* which one holds the groups of the rows, or -1; it may be that of ids */
    bool unnamed;    /* the first column of a file with names has none */
    mrc_counting counting; /* what stands in it, and is checked while it is read */
    int64_t skipped;       /* how many are not wanted */
    bool missing; /* a missing value of a data column is NaN; else an error that ends in hint */
    const char *missing_hint;
    const char *missing_advice; /* what the option `missing` should be then, or NULL */
    bool drop_unlabelled;       /* a missing class is MRC_NO_LABEL, a missing target NaN; else
                                   errors */
    bool of_model;              /* the rows are for a model, which may need no labels */
    mrc_classes *texts; /* of each data column and target: text columns that are encoded, and in the
                           first block numbers that are not plain; NULL while there are none */
    int64_t *text_lines; /* where the first of each stands; or NULL */
    bool texts_open;     /* any data column may have texts; else only those that have some */
    bool encode;         /* there will be texts */
    int64_t max_values;  /* of a text column; 0: the rule of encode.c */
    mrc_style style;
    bool dress_open; /* how the numbers of a column are written is not yet known */
    const mrc_dress *dress, *target_dress; /* known, borrowed; NULL: all plainly */
    char *const *na;                       /* further words for a missing value, borrowed */
    int64_t na_count;
} mrc_columns;

/* Whether a cell stands for a value that is not there. certain: by the words that cannot be a text
 * of its own. */
bool mrc_means_missing(const char *text, size_t length, bool certain);
/* The same by the words of the caller, of which numbers mean their values. */
bool mrc_means_na(const mrc_columns *columns, const char *text, size_t length);
/* Whether a text is a mark for a missing value in many tables, but not in all: -, NaT, #REF!. */
bool mrc_may_mean_missing(const char *text, size_t length);
/* Whether a text where a class is expected is none. Words like None can be classes. */
bool mrc_means_unlabelled(const mrc_columns *columns, const char *text, size_t length);

/* A column for a message: "column 'age'" or "column 3". Returns out. */
enum { MRC_COLUMN_SHOWN = MRC_SHOWN_SIZE + 16 };
const char *mrc_column_shown(char out[MRC_COLUMN_SHOWN], const mrc_columns *columns,
                             int64_t column);
/* The column of this name, or -1. */
int64_t mrc_column_named(const mrc_columns *columns, const char *text, size_t length);
/* "; did you mean 'age'?" when a column has nearly that name, else "". Returns out. */
const char *mrc_column_near(char out[MRC_SHOWN_SIZE + 24], const mrc_columns *columns,
                            const char *text, size_t length);
/* Whether a name is this text, which need not end in a zero byte. */
bool mrc_same_text(const char *name, const char *text, size_t length);

/* What a text of the caller says of a column: NAME, POSITION (1-based), name:NAME or
 * position:POSITION. */
typedef struct mrc_asked {
    const char *name; /* what follows name:, or NULL */
    size_t length;
    int64_t position; /* 1 to count, also when the text may be a name just as well; 0: none */
} mrc_asked;
mrc_asked mrc_column_asked(const char *text, size_t length, int64_t count);
/* Positions in a list, "3-15" or "3-": false when the text is something else. */
bool mrc_column_range(const char *text, size_t length, int64_t count, int64_t *first,
                      int64_t *last);

#endif
