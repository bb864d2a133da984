/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator by MPI. One source, which the build compiles for each MPI that is there: they
 * differ in their headers, and a program is linked with one of them.
 *
 * Waiting for a slower rank takes no processor from it: an exchange is begun, then asked whether it
 * is done, with sleeps in between that grow to a millisecond. MPI's own waiting spins. Errors of
 * MPI end the whole job with MPI's message, which is its default: there is nobody left to talk to.
 *
 * A rank that fails sends each other one a message, the number of exchanges that it has made. All
 * ranks have made as many when they are at work, so that a smaller number is that of a failure
 * which all know of by now. Nobody waits for these messages until MPI ends; then all are received.
 */
#include "module.h"

#include <mpi.h>

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

mpi_start_fn mercer_mpi_start __attribute__((visibility("default")));
mpi_end_fn mercer_mpi_end __attribute__((visibility("default")));

/* Counts of MPI are ints; a piece of a sum is 1 GB at most. */
enum { PIECE = 1 << 27 };
enum { FIRST_NS = 2000, LAST_NS = 1000000 };

static void wait_for(MPI_Request *request)
{
    struct timespec pause = {.tv_nsec = FIRST_NS};
    for (int done = 0;;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            break;
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < LAST_NS / 2 ? 2 * pause.tv_nsec : LAST_NS;
    }
}

/* ---- who fails ---- */

enum { TAG = 1 };

static struct {
    int rank, size;
    int64_t exchanges;     /* made so far, */
    int64_t heard;         /* and when another rank told that it fails; -1: none has */
    int64_t told, taken;   /* how often this rank has; messages of others that were received */
    int64_t message;       /* on its way */
    MPI_Request *requests; /* one per rank; NULL: this one does not tell */
    bool under_way;
} failures;

static void tell(void *host)
{
    int done = failures.requests != NULL;
    (void)host;
    for (int r = 0; failures.under_way && done && r < failures.size; r++)
        MPI_Test(&failures.requests[r], &done, MPI_STATUS_IGNORE);
    if (!done)
        return; /* the exchange that comes next tells it, too */
    failures.message = failures.exchanges;
    for (int r = 0; r < failures.size; r++) {
        failures.requests[r] = MPI_REQUEST_NULL;
        if (r != failures.rank)
            MPI_Isend(&failures.message, 1, MPI_INT64_T, r, TAG, MPI_COMM_WORLD,
                      &failures.requests[r]);
    }
    failures.under_way = true;
    failures.told++;
}

static void take_message(int from)
{
    int64_t message = 0;
    MPI_Recv(&message, 1, MPI_INT64_T, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    failures.taken++;
    if (message > failures.heard)
        failures.heard = message;
}

static int heard(void *host)
{
    (void)host;
    for (;;) {
        MPI_Status status;
        int there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status);
        if (!there)
            return failures.heard == failures.exchanges;
        take_message(status.MPI_SOURCE);
    }
}

/* All messages of all ranks. */
static void take_the_rest(void)
{
    int64_t all = failures.told;
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
    wait_for(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* returns at once */
    while (failures.taken < all - failures.told)
        take_message(MPI_ANY_SOURCE);
    for (int r = 0; failures.under_way && r < failures.size; r++)
        MPI_Wait(&failures.requests[r], MPI_STATUS_IGNORE);
    free(failures.requests);
}

/* ---- exchanges ---- */

static mercer_status sum(void *host, double *values, int64_t count, mercer_error *err)
{
    (void)host, (void)err;
    for (int64_t first = 0; first < count; first += PIECE) {
        const int here = count - first < PIECE ? (int)(count - first) : PIECE;
        MPI_Request request;
        MPI_Iallreduce(MPI_IN_PLACE, values + first, here, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                       &request);
        wait_for(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* returns at once */
    }
    failures.exchanges++;
    return MERCER_OK;
}

static mercer_status broadcast(void *host, void *data, size_t bytes, int root, mercer_error *err)
{
    (void)host, (void)err;
    for (size_t first = 0; first < bytes; first += PIECE) {
        const int here = bytes - first < PIECE ? (int)(bytes - first) : PIECE;
        MPI_Request request;
        MPI_Ibcast((char *)data + first, here, MPI_BYTE, root, MPI_COMM_WORLD, &request);
        wait_for(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* returns at once */
    }
    failures.exchanges++;
    return MERCER_OK;
}

/* ---- begin and end ---- */

/* How many ranks are on this node, and how many of these the launcher lets run on the processors of
 * this one: all of them when it has bound none. */
static void look_around(mpi_world *world)
{
    MPI_Comm node;
    cpu_set_t mine;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world->comm.rank, MPI_INFO_NULL,
                        &node);
    MPI_Comm_size(node, &world->node_ranks);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        memset(&mine, 0xff, sizeof mine);
    world->sharing = 0;
    for (int r = 0; r < world->node_ranks; r++) {
        cpu_set_t theirs = mine, both;
        MPI_Bcast(&theirs, sizeof theirs, MPI_BYTE, r, node);
        CPU_AND(&both, &mine, &theirs);
        world->sharing += CPU_COUNT(&both) > 0;
    }
    MPI_Comm_free(&node);
}

mercer_status mercer_mpi_start(mpi_world *world, mercer_error *err)
{
    int provided = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED) {
        MPI_Finalize();
        *err = (mercer_error){.code = MERCER_ERR_UNSUPPORTED};
        snprintf(err->text, sizeof err->text, "this MPI was built without support of threads");
        return err->code;
    }
    world->comm = (mercer_comm){.struct_size = sizeof world->comm,
                                .sum = sum,
                                .broadcast = broadcast,
                                .tell = tell,
                                .heard = heard};
    MPI_Comm_rank(MPI_COMM_WORLD, &world->comm.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world->comm.size);
    failures.rank = world->comm.rank;
    failures.size = world->comm.size;
    failures.heard = -1;
    failures.requests = malloc((size_t)failures.size * sizeof(MPI_Request));
    look_around(world);
    return MERCER_OK;
}

void mercer_mpi_end(void)
{
    take_the_rest();
    MPI_Finalize();
}
