/* SPDX-License-Identifier: BSD-3-Clause */
/* A module like those of mpi/, without an MPI: the ranks are processes that share a file, which a
 * script has made of zeros and named in RANKS_FILE. It starts in no time, allocates nothing, and an
 * exchange fails where it is told: RANKS_FAIL=K, the K-th of this rank, from 1 on.
 *
 * A rank that waits for a minute ends with a line. What a rank has made of its exchanges, and
 * whether it came to the end, the script reads in the file (tests/mpi/test_faults.py). */
#include <mpi/module.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4, PIECE = 1 << 20, WATCHDOG_SECONDS = 60 };

struct shared {
    _Atomic int64_t exchanges[MOST]; /* of each rank */
    _Atomic int64_t ended[MOST];     /* it has called mercer_mpi_end() */
    _Atomic int64_t lost;            /* nothing is exchanged any more */
    _Atomic int64_t arrived, round;
    double piece[MOST][PIECE / sizeof(double)];
    _Atomic int64_t told[MOST]; /* exchanges that a rank had made when it told of a failure, + 1 */
};

static struct shared *shared;
static int rank, size;
static int64_t failing; /* exchange that fails; 0: none */

mpi_start_fn mercer_mpi_start __attribute__((visibility("default")));
mpi_end_fn mercer_mpi_end __attribute__((visibility("default")));

/* Until all ranks are here; false: they will never be. */
static bool meet(void)
{
    const struct timespec pause = {.tv_nsec = 20000};
    const int64_t round = atomic_load(&shared->round);
    const time_t start = time(NULL);
    if (atomic_fetch_add(&shared->arrived, 1) + 1 == size) {
        atomic_store(&shared->arrived, 0);
        atomic_fetch_add(&shared->round, 1);
    }
    while (atomic_load(&shared->round) == round) {
        if (atomic_load(&shared->lost))
            return false;
        if (time(NULL) > start + WATCHDOG_SECONDS) {
            fprintf(stderr, "mercer: rank %d waits for ever\n", rank);
            _exit(99);
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

static mercer_status lose(mercer_error *err, mercer_status code, const char *text)
{
    atomic_store(&shared->lost, 1);
    *err = (mercer_error){.code = code};
    snprintf(err->text, sizeof err->text, "%s", text);
    return code;
}

/* Each rank puts its bytes into its piece, and takes what it wants from all of them; root < 0: a
 * sum. */
static mercer_status exchange(void *data, size_t bytes, int root, mercer_error *err)
{
    if (atomic_fetch_add(&shared->exchanges[rank], 1) + 1 == failing)
        return lose(err, MERCER_ERR_IO, "the network is gone");
    for (size_t first = 0; first < bytes; first += PIECE) {
        const size_t here = bytes - first < PIECE ? bytes - first : PIECE;
        char *at = (char *)data + first;
        if (root < 0 || root == rank)
            memcpy(shared->piece[rank], at, here);
        if (!meet())
            return lose(err, MERCER_ERR_PEER, "another rank has lost the network");
        if (root >= 0 && root != rank)
            memcpy(at, shared->piece[root], here);
        for (size_t i = 0; root < 0 && i < here / sizeof(double); i++) {
            double sum = 0;
            for (int r = 0; r < size; r++)
                sum += shared->piece[r][i];
            memcpy(at + i * sizeof sum, &sum, sizeof sum);
        }
        if (!meet())
            return lose(err, MERCER_ERR_PEER, "another rank has lost the network");
    }
    return MERCER_OK;
}

static mercer_status sum(void *host, double *values, int64_t count, mercer_error *err)
{
    (void)host;
    return exchange(values, (size_t)count * sizeof *values, -1, err);
}

static mercer_status broadcast(void *host, void *data, size_t bytes, int root, mercer_error *err)
{
    (void)host;
    return exchange(data, bytes, root, err);
}

static void tell(void *host)
{
    (void)host;
    atomic_store(&shared->told[rank], atomic_load(&shared->exchanges[rank]) + 1);
}

static int heard(void *host)
{
    bool any = false;
    (void)host;
    for (int r = 0; r < size; r++)
        any = any || (r != rank &&
                      atomic_load(&shared->told[r]) == atomic_load(&shared->exchanges[rank]) + 1);
    return any;
}

static int number_of(const char *name)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : 0;
}

mercer_status mercer_mpi_start(mpi_world *world, mercer_error *err)
{
    const char *name = getenv("RANKS_FILE");
    const int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    void *there = MAP_FAILED;
    if (file >= 0) {
        there = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    }
    if (there == MAP_FAILED) {
        *err = (mercer_error){.code = MERCER_ERR_IO};
        snprintf(err->text, sizeof err->text, "the ranks have no memory in common");
        return err->code;
    }
    shared = there;
    rank = number_of("OMPI_COMM_WORLD_RANK");
    size = number_of("OMPI_COMM_WORLD_SIZE");
    failing = number_of("RANKS_FAIL");
    *world = (mpi_world){.comm = {.struct_size = sizeof world->comm,
                                  .rank = rank,
                                  .size = size,
                                  .sum = sum,
                                  .broadcast = broadcast,
                                  .tell = tell,
                                  .heard = heard},
                         .node_ranks = size,
                         .sharing = size};
    return MERCER_OK;
}

void mercer_mpi_end(void)
{
    atomic_store(&shared->ended[rank], 1);
}
