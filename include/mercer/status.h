/* SPDX-License-Identifier: BSD-3-Clause */
/* Status codes, and errors as a text and as data. */
#ifndef MERCER_STATUS_H
#define MERCER_STATUS_H

#include <mercer/api.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of codes: name, number, meaning. Numbers are never reused. */
#define MERCER_STATUS_LIST(X)                                                                      \
    X(OK, 0, "done")                                                                               \
    X(ERR_MEMORY, 1, "out of memory")                                                              \
    X(ERR_ARGUMENT, 2, "a parameter is unknown, missing or out of range")                          \
    X(ERR_DATA, 3, "the data cannot be used")                                                      \
    X(ERR_IO, 4, "a file cannot be read or written")                                               \
    X(ERR_FORMAT, 5, "a file is damaged or of another kind")                                       \
    X(ERR_BUDGET, 6, "the work does not fit into the memory budget")                               \
    X(ERR_UNSUPPORTED, 7, "the model or kernel cannot do this")                                    \
    X(ERR_NUMERIC, 8, "a computation did not converge")                                            \
    X(ERR_CANCELLED, 9, "cancelled by the caller")                                                 \
    X(ERR_PEER, 10, "another rank failed")                                                         \
    X(ERR_LIMIT, 11, "a limit that the caller has set is exceeded")

typedef enum mercer_status {
#define MERCER_STATUS_ENUM(name, number, text) MERCER_##name = number,
    MERCER_STATUS_LIST(MERCER_STATUS_ENUM)
#undef MERCER_STATUS_ENUM
} mercer_status;

/* What is wrong with a value of the data, or what a notice tells; more may come. */
typedef enum mercer_cause {
    MERCER_CAUSE_NONE = 0,
    MERCER_CAUSE_NOT_A_NUMBER = 1,     /* a text where a number is expected */
    MERCER_CAUSE_MISSING_VALUE = 2,    /* an empty cell, a word that means missing, NaN in a file */
    MERCER_CAUSE_FEWER_COMPONENTS = 3, /* there are not as many as were asked for */
} mercer_cause;

/* Filled by every function that fails, when the caller passes one: the code and one line of text
 * that says what is wrong and what was expected, in words of the library, and the same as data, so
 * that no program has to read the text. The caller owns the storage; it need not be initialised.
 * On success it is left as it was. */
typedef struct mercer_error {
    mercer_status code;
    mercer_cause cause;
    char text[512];
    /* The option or key it is about, "memory" or "kernel.sigma"; several have a space between
     * them. "": none. */
    char key[32];
    /* Which rows of the call: "test", "landmarks", "validation"; "": the first or only ones. */
    char input[32];
    /* The column: its name, or its number from 1 when it has none; "": none. */
    char column[64];
    /* The row of the input and the line of the file, from 1; 0: none. */
    int64_t row, line;
    /* 1: text starts with the name of the file. */
    int names_file;
    /* An option that may help and its value, "scale" and "standard"; "": none. */
    char advice_key[32], advice_value[32];
    /* Where the column stands in its file, from 1, whether it has a name or not; 0: not known. */
    int64_t position;
    /* Room to grow: zeroes. */
    char reserved[48];
} mercer_error;

/* NULL for a pointer that a function needs is MERCER_ERR_ARGUMENT; err may always be NULL, and
 * other pointers where their comment says so. Functions without a status give 0 or NULL then, or do
 * nothing; every _free function accepts NULL. */

/* The general meaning of a code; a constant string, never NULL. */
MERCER_API const char *mercer_status_text(mercer_status status);

/* Free what the library hands over where no other function is named; NULL is fine. */
MERCER_API void mercer_free(void *memory);

/* The version of the library that runs, as opposed to MERCER_VERSION, which was compiled against.
 */
MERCER_API const char *mercer_version(void);
/* The same as a number that grows with the version: 10203 for 1.2.3. */
MERCER_API int mercer_version_number(void);

/* The BLAS that runs: "private" (inside the library), a build of OpenBLAS ("openmp", "pthread",
 * "serial") or "other". */
MERCER_API const char *mercer_blas(void);
/* The kernels OpenBLAS took for this processor, by its own name of them ("Haswell"), and the vector
 * instructions they are made for ("AVX2"); "" where that is not known. */
MERCER_API const char *mercer_blas_kernels(void);
MERCER_API const char *mercer_blas_kernels_vectors(void);
/* The widest vector instructions of the processor: "SSE2", "SSE3", "SSE4.2", "AVX", "AVX2" or
 * "AVX-512"; "" where that is not known. */
MERCER_API const char *mercer_processor_vectors(void);
/* The kernels that a program should ask for in the variable OPENBLAS_CORETYPE, before it loads
 * OpenBLAS, because those taken are narrower than the processor: an OpenBLAS older than the
 * processor takes the plainest it has. NULL where they are not. */
MERCER_API const char *mercer_blas_kernels_wider(void);

#ifdef __cplusplus
}
#endif
#endif
