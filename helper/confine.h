/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that can no longer do harm, as far as the kernel has what that takes. */
#ifndef MRC_HELPER_CONFINE_H
#define MRC_HELPER_CONFINE_H

#include <stdbool.h>

/* From now on no file can be opened but the one behind the descriptor `file`, for reading; none at
 * all when it is -1. For this thread and those that it starts. False: the kernel cannot do that. */
bool confine_files(int file);

/* From now on this process can make no other system calls than those that reading a file takes: it
 * cannot open a file for writing, reach a network, start a program, a process or a thread, look
 * into another process or send it signals. opens: it can open files for reading. For all threads.
 * False: the kernel cannot do that, or the processor is not known here. */
bool confine_calls(bool opens);

#endif
