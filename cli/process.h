/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program does about its own process: limits that BLAS cannot bear, and the kernels that
 * BLAS took. */
#ifndef CLI_PROCESS_H
#define CLI_PROCESS_H

#include "cli.h"

/* The first thing main() does: where BLAS took kernels narrower than the processor, and the user
 * named none, start this program again, once, with the right ones; the process stays the same. */
void cli_take_wide_kernels(char **argv);

/* A notice when they are narrower all the same. */
void cli_mention_kernels(cli_app *app);

/* As many of the threads as the limit of address space has room for, at least one. */
int cli_threads_that_fit(int threads);

/* Version, BLAS and its kernels, vector instructions of the processor, threads. */
void cli_print_version(void);

#endif
