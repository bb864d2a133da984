/* SPDX-License-Identifier: BSD-3-Clause */
/* The program as one of several ranks: found out from what launchers put into the environment. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "cli.h"

/* The first thing main() does about it: a copy that the launcher calls another than the first says
 * nothing, on either stream. */
void cli_ranks_look(void);

/* Load the module of the launcher's MPI, if one has started several copies, and start it. Refuses
 * copies that do not know each other. Returns 0 or a status after one line. */
int cli_ranks_start(void);

/* Refuse what several ranks cannot share. Returns 0 or a status after one line. */
int cli_ranks_check(const cli_command *command, const cli_settings *set);

/* Let the context have the ranks, and this one its part of the node's threads and memory, unless
 * the call says otherwise later. */
mercer_status cli_ranks_join(cli_app *app, mercer_error *err);

/* Meet the other ranks at the end of the command, and end MPI. Returns the status of the whole. The
 * context may be NULL, if there was no memory for it. */
int cli_ranks_end(cli_app *app, int status);

#endif
