/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator: all bits arrive whatever the order of addition, and ranks that fail, one of
 * them or all, in memory or in the table, end together. */
#include "ranks.h"

#include "base/comm.h"
#include "base/memory.h"

#include <fcntl.h>
#include <unistd.h>

enum { ODD = 7 };

static const int sizes[] = {1, 2, 3, 4, 7, MAX_RANKS};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Byte i of rank r, of every value. */
static unsigned char byte_of(int r, int64_t i)
{
    return (unsigned char)(37 * r + 101 * i + 255);
}

/* Where the order shows in the result. */
static mercer_status run_on(void *arg, int64_t begin, int64_t end, double *state, mercer_error *err)
{
    const int rank = ((const struct rank *)arg)->rank;
    (void)err;
    for (int64_t i = begin; i < end; i++)
        state[i] = (state[i] + 1e16 * (rank % 2 ? -1 : 1) + (double)i) / 3;
    return MERCER_OK;
}

/* One of each exchange, whose results are checked by every rank. Of the pieces of a merge there are
 * several, the last one of them short. */
static mercer_status exchange_all(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    const int r = mercer_ctx_rank(ctx), size = mercer_ctx_ranks(ctx);
    const int64_t own = ODD + 13 * r, many = 300001;
    double sums[2] = {1, r}, largest = r == size / 2 ? 5.5 : -1e300 * (r + 1);
    const double numbers[] = {-0.0, NAN, 5e-324, -1.7976931348623157e308};
    double *slots = NULL;
    uint64_t decided = 77 + (uint64_t)r;
    char *all = NULL, *mine = NULL;
    int64_t total = 0, at = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_comm_sum(ctx, sums, 2, err));
    assert_true(sums[0] == size && sums[1] == 0.5 * size * (size - 1));
    MRC_TRY(mrc_comm_broadcast(ctx, &decided, sizeof decided, err));
    assert_true(decided == 77);
    MRC_TRY(mrc_comm_broadcast(ctx, NULL, 0, err));
    decided = 77 + (uint64_t)r;
    MRC_TRY(mercer_ctx_broadcast(ctx, &decided, sizeof decided, size - 1, err));
    assert_true(decided == 76 + (uint64_t)size);
    MRC_TRY(mercer_ctx_broadcast(ctx, NULL, 0, size / 2, err));
    assert_int_equal(mercer_ctx_broadcast(ctx, &decided, 1, size, NULL), MERCER_ERR_ARGUMENT);
    assert_int_equal(mercer_ctx_broadcast(ctx, &decided, 1, -1, NULL), MERCER_ERR_ARGUMENT);
    MRC_TRY(mrc_comm_largest(ctx, &largest, err));
    assert_true(largest == 5.5);
    MRC_TRY(mrc_alloc(&slots, 4 * (int64_t)size, sizeof *slots, err));
    memcpy(slots + 4 * r, numbers, sizeof numbers);
    MRC_TRY(mrc_comm_merge(ctx, slots, 4 * (int64_t)(size * sizeof *slots), err));
    for (int q = 0; q < size; q++)
        assert_memory_equal(slots + 4 * q, numbers, sizeof numbers);
    MRC_TRY(mrc_comm_merge(ctx, NULL, 0, err));
    int64_t bytes = r == size - 1 ? many : own;
    MRC_TRY(mrc_alloc(&mine, bytes, 1, err));
    for (int64_t i = 0; i < bytes; i++)
        mine[i] = (char)byte_of(r, i);
    if (size > 1) {
        MRC_TRY(mrc_comm_gather(ctx, mine, bytes, &all, &total, err));
        for (int q = 0; q < size; q++)
            for (int64_t i = 0; i < (q == size - 1 ? many : ODD + 13 * q); i++, at++)
                assert_true((unsigned char)all[at] == byte_of(q, i));
        assert_true(at == total);
    }
    /* Numbers in their places, one of them -0, and those of every rank. */
    memset(slots, 0, (size_t)size * sizeof *slots);
    slots[r] = r == size / 2 ? -0.0 : 1.5 * r;
    MRC_TRY(mrc_comm_merge_numbers(ctx, slots, size, err));
    for (int q = 0; q < size; q++)
        assert_true(slots[q] == (q == size / 2 ? 0 : 1.5 * q) &&
                    !signbit(slots[q]) == (q != size / 2));
    MRC_TRY(mrc_comm_collect(ctx, sums, 2, slots, err));
    for (int q = 0; q < 2 * size; q++)
        assert_true(slots[q] == sums[q % 2]);
    /* A running sum in the order of ranks. */
    for (int64_t group = 1; group < 6; group++) {
        double running[ODD] = {0}, expected[ODD] = {0};
        MRC_TRY(mrc_comm_relay(ctx, running, ODD, group, run_on, rank, err));
        for (int q = 0; q < size; q++)
            for (int64_t i = 0; i < ODD; i++)
                expected[i] = (expected[i] + 1e16 * (q % 2 ? -1 : 1) + (double)i) / 3;
        assert_memory_equal(running, expected, sizeof running);
    }
    /* In groups of any size, some of them empty. */
    for (int64_t first = 0; first <= ODD; first++) {
        const int64_t cuts[] = {0, first, first, (first + ODD) / 2, ODD};
        double running[ODD] = {0}, expected[ODD] = {0};
        MRC_TRY(mrc_comm_relay_cut(ctx, running, cuts, 4, run_on, rank, err));
        MRC_TRY(mrc_comm_relay(ctx, expected, ODD, 1, run_on, rank, err));
        assert_memory_equal(running, expected, sizeof running);
    }
out:
    mrc_free(slots);
    mrc_free(mine);
    mrc_free(all);
    return mrc_comm_agree(ctx, rc, err);
}

static void test_bits_arrive(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        struct rank_world world = {.size = sizes[s], .fail_rank = -1};
        struct rank ranks[MAX_RANKS] = {0};
        for (int r = 0; r < sizes[s]; r++)
            ranks[r].fail_alloc = -1;
        run_ranks(&world, ranks, exchange_all);
        for (int r = 0; r < sizes[s]; r++)
            if (ranks[r].rc != MERCER_OK)
                fail_msg("%d ranks, rank %d: %s", sizes[s], r, ranks[r].why.text);
        if (sizes[s] == 1)
            assert_true(world.made[0] == 0); /* alone: nothing is exchanged */
    }
}

/* The table fails in each of its calls in turn, on each rank: all return, one with the cause. */
static void test_lost_network(void **state)
{
    enum { SIZE = 3 };
    (void)state;
    for (int failing = 0; failing < SIZE; failing++) {
        int64_t call = 0;
        for (bool failed = true; failed; call++) {
            struct rank_world world = {.size = SIZE, .fail_rank = failing, .fail_call = call};
            struct rank ranks[MAX_RANKS] = {0};
            for (int r = 0; r < SIZE; r++)
                ranks[r].fail_alloc = -1;
            run_ranks(&world, ranks, exchange_all);
            failed = world.lost;
            for (int r = 0; r < SIZE; r++)
                if (!failed)
                    assert_int_equal(ranks[r].rc, MERCER_OK);
                else if (r == failing)
                    assert_string_equal(ranks[r].why.text, "the network is gone");
                else
                    assert_int_equal(ranks[r].rc, MERCER_ERR_PEER);
        }
        assert_true(call > 15);
    }
}

/* Each allocation of one rank fails in turn: that one says so, the others say which rank it was. */
static void test_failing_allocations(void **state)
{
    enum { SIZE = 3 };
    (void)state;
    for (int failing = 0; failing < SIZE; failing++) {
        int64_t k = 0;
        char expected[64];
        snprintf(expected, sizeof expected, "rank %d: ", failing);
        for (bool failed = true; failed; k++) {
            struct rank_world world = {.size = SIZE, .fail_rank = -1};
            struct rank ranks[MAX_RANKS] = {0};
            for (int r = 0; r < SIZE; r++)
                ranks[r].fail_alloc = r == failing ? k : -1;
            int64_t live = mrc_alloc_live();
            run_ranks(&world, ranks, exchange_all);
            assert_true(mrc_alloc_live() == live);
            failed = ranks[failing].rc != MERCER_OK;
            for (int r = 0; r < SIZE; r++) {
                if (!failed) {
                    assert_int_equal(ranks[r].rc, MERCER_OK);
                } else if (r == failing) {
                    assert_int_equal(ranks[r].rc, MERCER_ERR_MEMORY);
                } else {
                    assert_int_equal(ranks[r].rc, MERCER_ERR_PEER);
                    assert_memory_equal(ranks[r].why.text, expected, strlen(expected));
                    assert_non_null(strstr(ranks[r].why.text, ranks[failing].why.text));
                }
            }
        }
        assert_true(k > 8);
    }
}

/* What each rank comes to an agreement with, twice. */
struct attitude {
    mercer_status first;
    bool cancel;
    mercer_status second; /* what the second agreement returned */
};

static mercer_status come_with(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    struct attitude *a = rank->arg;
    if (a->cancel)
        mercer_ctx_cancel(ctx);
    mercer_status rc = a->first != MERCER_OK ? mrc_fail_at(err, a->first, MRC_AT(.key = "memory"),
                                                           "own %d", rank->rank)
                                             : MERCER_OK;
    rc = mrc_comm_agree(ctx, rc, err);
    mercer_ctx_resume(ctx);
    mercer_error other = {0};
    a->second = mrc_comm_agree(ctx, MERCER_OK, &other);
    if (rc == MERCER_ERR_PEER)
        assert_string_equal(other.text, err->text);
    return rc;
}

static void test_who_is_told(void **state)
{
    enum { SIZE = 4 };
    struct attitude attitudes[SIZE];
    struct rank_world world = {.size = SIZE, .fail_rank = -1};
    struct rank ranks[MAX_RANKS] = {0};
    (void)state;
    for (int r = 0; r < SIZE; r++) {
        ranks[r].arg = &attitudes[r];
        ranks[r].fail_alloc = -1;
    }
    /* Two of four fail: the lower one is told, with what it is about, and nothing more is said. */
    memset(attitudes, 0, sizeof attitudes);
    attitudes[1].first = MERCER_ERR_DATA;
    attitudes[2].first = MERCER_ERR_BUDGET;
    run_ranks(&world, ranks, come_with);
    assert_int_equal(ranks[0].rc, MERCER_ERR_PEER);
    assert_string_equal(ranks[0].why.text, "rank 1: own 1");
    assert_string_equal(ranks[0].why.key, "memory");
    assert_int_equal(ranks[1].rc, MERCER_ERR_DATA);
    assert_string_equal(ranks[1].why.text, "own 1");
    assert_int_equal(ranks[2].rc, MERCER_ERR_BUDGET);
    assert_string_equal(ranks[2].why.text, "own 2");
    assert_string_equal(ranks[3].why.text, "rank 1: own 1");
    for (int r = 0; r < SIZE; r++)
        assert_int_equal(attitudes[r].second, MERCER_ERR_PEER);
    /* All fail: each with its own, and they are still in step. */
    for (int r = 0; r < SIZE; r++)
        attitudes[r] = (struct attitude){.first = MERCER_ERR_DATA};
    run_ranks(&world, ranks, come_with);
    for (int r = 0; r < SIZE; r++) {
        assert_int_equal(ranks[r].rc, MERCER_ERR_DATA);
        assert_int_equal(attitudes[r].second, MERCER_OK);
    }
    /* One is cancelled: all are. */
    memset(attitudes, 0, sizeof attitudes);
    attitudes[3].cancel = true;
    run_ranks(&world, ranks, come_with);
    for (int r = 0; r < SIZE; r++)
        assert_int_equal(ranks[r].rc, MERCER_ERR_CANCELLED);
    assert_string_equal(ranks[0].why.text, "rank 3: cancelled");
}

/* A rank gives up outside of the library while the others are in a call, or fail in it. */
static mercer_status leave_early(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    double value = 1;
    mercer_status rc;
    if (rank->rank == 1)
        return mercer_ctx_agree(ctx, mrc_fail(err, MERCER_ERR_IO, "no such file"), err);
    if (rank->arg)
        rc = mrc_comm_agree(ctx, mrc_fail(err, MERCER_ERR_DATA, "bad rows"), err);
    else
        rc = mrc_comm_sum(ctx, &value, 1, err);
    /* Nobody waits for the rank that is gone. */
    assert_int_not_equal(mrc_comm_sum(ctx, &value, 1, NULL), MERCER_OK);
    assert_int_not_equal(mercer_ctx_agree(ctx, MERCER_OK, NULL), MERCER_OK);
    assert_int_equal(mercer_ctx_agree(ctx, rc, NULL), rc);
    return rc;
}

static void test_leaving(void **state)
{
    enum { SIZE = 3 };
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        struct rank_world world = {.size = SIZE, .fail_rank = -1};
        struct rank ranks[MAX_RANKS] = {0};
        for (int r = 0; r < SIZE; r++) {
            ranks[r].arg = fails ? &world : NULL;
            ranks[r].fail_alloc = -1;
        }
        run_ranks(&world, ranks, leave_early);
        assert_int_equal(ranks[1].rc, MERCER_ERR_IO);
        assert_string_equal(ranks[0].why.text, fails ? "bad rows" : "rank 1: no such file");
        assert_int_equal(ranks[2].rc, fails ? MERCER_ERR_DATA : MERCER_ERR_PEER);
    }
}

static void test_tables(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    mercer_comm comm;
    mercer_error why;
    (void)state;
    mercer_comm_init(&comm);
    assert_int_equal(comm.size, 1);
    assert_ok(mercer_ctx_set_comm(ctx, &comm, err));
    comm.size = 2;
    assert_int_equal(mercer_ctx_set_comm(ctx, &comm, &why), MERCER_ERR_ARGUMENT); /* no functions */
    comm.sum = rank_sum;
    comm.broadcast = rank_broadcast;
    comm.tell = rank_tell;
    comm.rank = 1;
    assert_int_equal(mercer_ctx_set_comm(ctx, &comm, &why), MERCER_ERR_ARGUMENT); /* not heard */
    comm.tell = NULL;
    for (int rank = -1; rank < 3; rank++) {
        comm.rank = rank;
        assert_int_equal(mercer_ctx_set_comm(ctx, &comm, &why),
                         rank >= 0 && rank < 2 ? MERCER_OK : MERCER_ERR_ARGUMENT);
    }
    comm.rank = comm.size = 0;
    assert_int_equal(mercer_ctx_set_comm(ctx, &comm, &why), MERCER_ERR_ARGUMENT);
    assert_int_equal(mercer_ctx_ranks(ctx), 2); /* the last one that was taken */
    assert_int_equal(mercer_ctx_rank(ctx), 1);
    assert_ok(mercer_ctx_set_comm(ctx, NULL, err));
    assert_int_equal(mercer_ctx_ranks(ctx), 1);
    assert_int_equal(mercer_ctx_rank(ctx), 0);
    assert_true(mercer_ctx_sent(ctx) == 0);
    assert_int_equal(mercer_ctx_agree(ctx, MERCER_ERR_DATA, NULL), MERCER_ERR_DATA);
    assert_int_equal(mercer_ctx_agree(ctx, MERCER_OK, NULL), MERCER_OK);
    mercer_ctx_free(ctx);
}

/* ---- ranks that tell ---- */

/* What check_cancel says first, within some seconds. */
static mercer_status work_until_told(mercer_ctx *ctx, double seconds, mercer_error *err)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const double end = mrc_seconds() + seconds;
    mercer_status rc = MERCER_OK;
    mrc_comm_listen(ctx, true);
    while (rc == MERCER_OK && mrc_seconds() < end) {
        nanosleep(&pause, NULL);
        rc = mrc_check_cancel(ctx, err);
    }
    mrc_comm_listen(ctx, false);
    return rc;
}

static mercer_status hear(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    const int failing = *(const int *)rank->arg;
    double one = 1;
    mercer_status rc = MERCER_ERR_DATA;
    /* All fail, and each has told so: that is over then. */
    assert_int_equal(mrc_comm_agree(ctx, rc, err), MERCER_ERR_DATA);
    assert_int_equal(work_until_told(ctx, 0.15, err), MERCER_OK);
    assert_int_equal(mrc_comm_agree(ctx, MERCER_OK, err), MERCER_OK);
    if (rank->rank == failing) {
        rc = mrc_comm_agree(ctx, mrc_fail(err, MERCER_ERR_IO, "no such file"), err);
    } else {
        assert_int_equal(work_until_told(ctx, 20, err), MERCER_ERR_PEER);
        rc = mrc_comm_agree(ctx, MERCER_OK, err); /* even if it had not looked */
    }
    mercer_error later;
    assert_int_equal(mrc_check_cancel(ctx, NULL), MERCER_OK);
    assert_int_equal(work_until_told(ctx, 0.1, NULL), MERCER_OK); /* nobody listens now */
    assert_int_equal(mrc_comm_sum(ctx, &one, 1, &later), MERCER_ERR_PEER);
    return rc;
}

/* Each rank in turn fails while the others work. Ranks that only heard of it say its text. */
static void test_ranks_that_hear(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++)
        for (int failing = 0; failing < size; failing++) {
            struct rank_world world = {.size = size, .fail_rank = -1};
            struct rank ranks[MAX_RANKS] = {0};
            char text[64];
            for (int r = 0; r < size; r++) {
                ranks[r].fail_alloc = -1;
                ranks[r].arg = &failing;
            }
            run_ranks(&world, ranks, hear);
            snprintf(text, sizeof text, "rank %d: no such file", failing);
            for (int r = 0; r < size; r++) {
                assert_int_equal(ranks[r].rc, r == failing ? MERCER_ERR_IO : MERCER_ERR_PEER);
                assert_string_equal(ranks[r].why.text, r == failing ? "no such file" : text);
            }
        }
}

static int hear_always(void *host)
{
    (void)host;
    return 1;
}

static void tell_nobody(void *host)
{
    (void)host;
}

static mercer_status mishear(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    const bool *both = rank->arg;
    mercer_comm comm = ctx->comm.table;
    comm.heard = *both || rank->rank == 1 ? hear_always : rank_heard;
    comm.tell = tell_nobody;
    assert_int_equal(mercer_ctx_set_comm(ctx, &comm, err), MERCER_OK);
    mercer_status rc = work_until_told(ctx, 0.2, err);
    assert_int_equal(rc, *both || rank->rank == 1 ? MERCER_ERR_PEER : MERCER_OK);
    return mrc_comm_agree(ctx, rc, err);
}

/* A table that says what is not so ends the call, but makes nobody wait. */
static void test_what_nobody_told(void **state)
{
    (void)state;
    for (int both = 0; both < 2; both++) {
        struct rank_world world = {.size = 3, .fail_rank = -1};
        struct rank ranks[MAX_RANKS] = {{.fail_alloc = -1}, {.fail_alloc = -1}, {.fail_alloc = -1}};
        bool all = both;
        for (int r = 0; r < 3; r++)
            ranks[r].arg = &all;
        run_ranks(&world, ranks, mishear);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(ranks[r].rc, MERCER_ERR_PEER);
            assert_string_equal(ranks[r].why.text, both ? "rank 0: another rank failed"
                                                        : "rank 1: another rank failed");
        }
    }
}

/* ---- input ---- */

/* Bytes that rank 0 reads for all. */
enum { INPUT_BYTES = (1 << 22) + 4321 };

struct input {
    int from, to; /* descriptors */
    int64_t limit;
};

static mercer_status copy_input(struct rank *rank, mercer_ctx *ctx, mercer_error *err)
{
    const struct input *in = rank->arg;
    mercer_limits limits;
    mercer_limits_init(&limits);
    limits.max_bytes = in->limit;
    const mercer_status rc = mercer_ctx_set_limits(ctx, &limits, err);
    return rc == MERCER_OK ? mercer_ctx_copy_input(ctx, in->from, "source", in->to, "copy", err)
                           : rc;
}

static FILE *source_of(int64_t bytes)
{
    FILE *file = tmpfile();
    assert_true(file != NULL);
    for (int64_t i = 0; i < bytes; i++)
        assert_true(putc(byte_of(1, i), file) != EOF);
    assert_int_equal(fflush(file), 0);
    rewind(file);
    return file;
}

static void check_copy(FILE *copy, int64_t bytes)
{
    rewind(copy);
    for (int64_t i = 0; i < bytes; i++)
        if (getc(copy) != byte_of(1, i))
            fail_msg("byte %lld is another one", (long long)i);
    assert_true(getc(copy) == EOF);
}

/* All ranks copy; what each comes to is in ranks. */
static void copy_to_all(int size, int64_t bytes, int64_t limit, int full, int fail_rank,
                        int64_t fail_alloc, struct rank *ranks)
{
    struct rank_world world = {.size = size, .fail_rank = -1};
    struct input inputs[MAX_RANKS];
    FILE *source = source_of(bytes), *copies[MAX_RANKS];
    const int device = open("/dev/full", O_WRONLY | O_CLOEXEC);
    for (int r = 0; r < size; r++) {
        copies[r] = tmpfile();
        assert_true(copies[r] != NULL);
        inputs[r] = (struct input){.from = r == 0 ? fileno(source) : -1,
                                   .to = r == full ? device : fileno(copies[r]),
                                   .limit = limit};
        ranks[r].arg = &inputs[r];
        ranks[r].fail_alloc = r == fail_rank ? fail_alloc : -1;
    }
    run_ranks(&world, ranks, copy_input);
    for (int r = 0; r < size; r++) {
        if (ranks[r].rc == MERCER_OK)
            check_copy(copies[r], bytes);
        (void)fclose(copies[r]);
    }
    (void)fclose(source);
    close(device);
}

static void test_copied_input(void **state)
{
    static const int64_t lengths[] = {0, 1, INPUT_BYTES};
    struct rank ranks[MAX_RANKS] = {0};
    (void)state;
    for (int s = 0; s < SIZES; s++)
        for (int i = 0; i < 3; i++) {
            copy_to_all(sizes[s], lengths[i], lengths[i], -1, -1, -1, ranks);
            for (int r = 0; r < sizes[s]; r++)
                assert_int_equal(ranks[r].rc, MERCER_OK);
        }
}

static void test_input_that_cannot_be_copied(void **state)
{
    struct rank ranks[MAX_RANKS] = {0};
    (void)state;
    for (int bad = 0; bad < 3; bad++) {
        copy_to_all(3, 100, 0, bad, -1, -1, ranks);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(ranks[r].rc, r == bad ? MERCER_ERR_IO : MERCER_ERR_PEER);
            assert_non_null(strstr(ranks[r].why.text, "copy: cannot write: No space left"));
        }
    }
    copy_to_all(3, 100, 99, -1, -1, -1, ranks);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(ranks[r].rc, MERCER_ERR_LIMIT);
        assert_string_equal(ranks[r].why.advice_value, "bytes=N");
    }
    for (int bad = 0; bad < 3; bad++)
        for (int64_t k = 0;; k++) {
            copy_to_all(3, 100, 0, -1, bad, k, ranks);
            if (!ranks[bad].alloc_failed)
                break;
            for (int r = 0; r < 3; r++)
                assert_int_equal(ranks[r].rc, r == bad ? MERCER_ERR_MEMORY : MERCER_ERR_PEER);
        }
}

/* A pipe gives its bytes little by little; what cannot be read is an error of rank 0. */
static void test_input_from_a_pipe(void **state)
{
    mercer_ctx *ctx = new_ctx(1);
    mercer_error why;
    FILE *copy = tmpfile();
    int ends[2];
    (void)state;
    assert_true(copy != NULL);
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 1000; i++) {
        const char byte = (char)byte_of(1, i);
        assert_int_equal(write(ends[1], &byte, 1), 1);
    }
    assert_int_equal(mercer_ctx_copy_input(ctx, ends[1], "source", fileno(copy), "copy", &why),
                     MERCER_ERR_IO);
    assert_non_null(strstr(why.text, "source: cannot read"));
    close(ends[1]);
    assert_ok(mercer_ctx_copy_input(ctx, ends[0], "source", fileno(copy), "copy", err));
    check_copy(copy, 1000);
    close(ends[0]);
    (void)fclose(copy);
    mercer_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_arrive),
        cmocka_unit_test(test_lost_network),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_who_is_told),
        cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_copied_input),
        cmocka_unit_test(test_input_that_cannot_be_copied),
        cmocka_unit_test(test_input_from_a_pipe),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_ranks_that_hear),
        cmocka_unit_test(test_what_nobody_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
