/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program `mercer` finds in a module for an MPI, which it loads when a launcher has
 * started it as one of several ranks. */
#ifndef MPI_MODULE_H
#define MPI_MODULE_H

#include <mercer/comm.h>

/* The ranks as MPI knows them. */
typedef struct mpi_world {
    mercer_comm comm; /* for mercer_ctx_set_comm(); works until mercer_mpi_end() */
    int node_ranks;   /* ranks on this node, this one among them */
    int sharing;      /* those of them that may run on a processor that this one may run on */
} mpi_world;

/* Start MPI, once per process. */
typedef mercer_status mpi_start_fn(mpi_world *world, mercer_error *err);
/* End it, on all ranks: waits for the others. */
typedef void mpi_end_fn(void);

/* The names under which a module has them. */
#define MPI_START_NAME "mercer_mpi_start"
#define MPI_END_NAME "mercer_mpi_end"

#endif
