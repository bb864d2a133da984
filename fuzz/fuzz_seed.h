/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether an input loads, which all fuzzers tell. A reader that refuses every input, for a reason
 * of the fuzzer's own, would pass for ever: fuzz/good_seeds names the seeds that must load,
 * tools/fuzz runs them with --must-load before it fuzzes, and tests/unit/io/test_corpus.c checks
 * them too. */
#ifndef MRC_FUZZ_SEED_H
#define MRC_FUZZ_SEED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool fuzz_must_load;
static bool fuzz_loaded; /* what came of the last input */

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    for (int i = 1; i < *argc; i++)
        fuzz_must_load |= strcmp((*argv)[i], "--must-load") == 0;
    return 0;
}

/* Processor time of this process. */
static inline double fuzz_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* For mercer_ctx_set_poll(), the host being the time at which work is given up: a fit with a
 * million iterations is nobody's mistake but the caller's. */
static inline int fuzz_is_over(void *host)
{
    return fuzz_seconds() > *(const double *)host;
}

/* The end of every target. */
static inline int fuzz_result(bool loaded)
{
    fuzz_loaded = loaded;
    if (fuzz_must_load && !loaded) {
        fprintf(stderr, "this seed must load, and does not\n");
        abort();
    }
    return 0;
}

#endif
