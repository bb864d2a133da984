/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters described by a schema, and the text form NAME:key=value,key=value.
 *
 * A method or kernel lists its parameters once. Defaults, range checks, --help and the docs tables
 * come from that list; nobody parses a parameter by hand. */
#ifndef MRC_BASE_PARAMS_H
#define MRC_BASE_PARAMS_H

#include "base/error.h"

#include <stdbool.h>

typedef enum mrc_param_type {
    MRC_TYPE_END,
    MRC_TYPE_INT,
    MRC_TYPE_REAL,
    MRC_TYPE_CHOICE
} mrc_param_type;

typedef struct mrc_param {
    mrc_param_type type;
    const char *key;
    size_t offset;      /* of an int64_t, a double or an int in the parameter struct */
    double initial;     /* default; of a choice, its index */
    double least, most; /* allowed range of a number, ends included */
    const char
        *choices; /* of a choice: "a|b|c"; of a number: words allowed in its place, or NULL */
    const char *help;
    const char *also; /* another spelling of the key that is understood, or NULL */
} mrc_param;

/* A word allowed in the place of a number ("median", "learn") is stored as MRC_KEYWORD(index of the
 * word in `choices`): a NaN-free value that no range contains. */
#define MRC_KEYWORD(index) (-1e300 - 1e290 * (index))

#define MRC_INT(type, field, initial, least, most, help)                                           \
    {                                                                                              \
        MRC_TYPE_INT, #field, offsetof(type, field), initial, least, most, NULL, help, NULL        \
    }
#define MRC_REAL(type, field, initial, least, most, help)                                          \
    {                                                                                              \
        MRC_TYPE_REAL, #field, offsetof(type, field), initial, least, most, NULL, help, NULL       \
    }
#define MRC_REAL_ALSO(type, field, another, initial, least, most, help)                            \
    {                                                                                              \
        MRC_TYPE_REAL, #field, offsetof(type, field), initial, least, most, NULL, help, another    \
    }
#define MRC_REAL_OR(type, field, initial, least, most, words, help)                                \
    {                                                                                              \
        MRC_TYPE_REAL, #field, offsetof(type, field), initial, least, most, words, help, NULL      \
    }
#define MRC_CHOICE(type, field, initial, choices, help)                                            \
    {                                                                                              \
        MRC_TYPE_CHOICE, #field, offsetof(type, field), initial, 0, 0, choices, help, NULL         \
    }
#define MRC_PARAM_END                                                                              \
    {                                                                                              \
        MRC_TYPE_END, NULL, 0, 0, 0, 0, NULL, NULL, NULL                                           \
    }

/* The index of a text among the words "a|b|c", or -1. */
int mrc_text_cell_find(const char *words, const char *text, size_t length);
/* Write them as "a, b, c". */
void mrc_words_list(const char *words, char *text, size_t size);

/* Set every parameter to its default. */
void mrc_params_defaults(const mrc_param *schema, void *params);

/* Length of NAME in NAME[:key=value,...]. */
size_t mrc_spec_name_length(const char *spec);
/* Whether text[0 .. length) means the entry called name: in any case, or by another usual name. */
bool mrc_is_called(const char *name, const char *text, size_t length);

/* Set the keys given after the name in spec. what ("method kpca") stands in messages. Unknown and
 * repeated keys, missing values, NaN and values out of range are refused with the allowed ones. */
mercer_status mrc_params_parse(const mrc_param *schema, const char *what, const char *spec,
                               void *params, mercer_error *err);

/* Write name:key=value,... of all parameters that differ from their default, or of all, into
 * text (of the given size). Reading it back gives the same values exactly. */
mercer_status mrc_params_format(const mrc_param *schema, const char *name, const void *params,
                                int all, char *text, size_t size, mercer_error *err);

/* The range of a parameter: infinite where nothing limits it, open where the end itself is not
 * allowed. Choices have none. */
typedef struct mrc_param_range {
    double least, most;
    bool least_open, most_open;
} mrc_param_range;
mrc_param_range mrc_param_range_of(const mrc_param *param);
/* Whether its default is a word: a choice, or a word in the place of a number. */
bool mrc_param_starts_with_word(const mrc_param *param);

/* The default and the allowed values of a parameter as text. */
void mrc_param_describe(const mrc_param *param, char *initial, char *allowed, size_t size);

/* What users may ask about a method or kernel; the public, opaque mercer_entry. */
struct mercer_entry {
    const char *name, *summary, *reference;
    const mrc_param *params;
};

/* The entry of a list (NULL past its last) that NAME[:key=value,...] names, or NULL. */
const struct mercer_entry *mrc_entry_find(const struct mercer_entry *(*at)(int index),
                                          const char *spec);

/* Structs of callers start with size_t struct_size, how many bytes of them the caller knows. Only
 * these four functions may touch one: nothing is read or written past its end. */

/* Fill a caller's options (`size` bytes as it was compiled) with the defaults as we know them. */
void mrc_options_defaults(const void *defaults, size_t known, void *options, size_t size);
/* What MERCER_VERSIONED(name) declares; defaults as designated initialisers, none: zeroes. */
#define MRC_VERSIONED(name, ...)                                                                   \
    void mercer_##name##_init_sized(mercer_##name *out, size_t size)                               \
    {                                                                                              \
        const mercer_##name defaults = {.struct_size = size, __VA_ARGS__};                         \
        if (out && size >= sizeof size)                                                            \
            mrc_options_defaults(&defaults, sizeof defaults, out, size);                           \
    }
/* Copy a caller's options over the defaults in `out` (`size` bytes): older callers know fewer
 * members. out has our own struct_size afterwards, so that it can be passed on with members set
 * that the caller does not know. MERCER_ERR_ARGUMENT where a newer caller has set a member that we
 * do not know. given may be NULL. */
mercer_status mrc_options_import(const char *what, const void *given, void *out, size_t size,
                                 mercer_error *err);
/* The same of a struct that the library fills, whose other members may be anything. */
void mrc_take_struct(const void *given, void *out, size_t size);
/* No struct of a later version is larger: a size beyond it was not set. */
enum { MRC_MAX_STRUCT = 1 << 16 };

/* Fill a caller's struct with ours (`known` bytes), as far as it goes; members that only the caller
 * knows become zero. Its struct_size stays. */
void mrc_give_struct(const void *ours, size_t known, void *out);

#endif
