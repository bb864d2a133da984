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

static bool fuzz_must_load;
static bool fuzz_loaded; /* what came of the last input */

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    for (int i = 1; i < *argc; i++)
        fuzz_must_load |= strcmp((*argv)[i], "--must-load") == 0;
    return 0;
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
