/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of what pieces came to, exchanged between ranks as the bytes that they are: a rank that
 * reads one has every bit of the number that another has computed. */
#include "eval/deal.h"

#include "base/comm.h"

#include <string.h>

void mrc_record_destroy(mrc_record *record)
{
    mrc_free(record->data);
    *record = (mrc_record){0};
}

mercer_status mrc_record_put(mrc_record *record, const void *data, int64_t bytes, mercer_error *err)
{
    enum { LEAST = 256 };
    int64_t needed = record->size + bytes;
    if (needed > record->room) {
        int64_t room = needed > 2 * record->room ? needed + LEAST : 2 * record->room;
        mercer_status rc = mrc_grow(&record->data, room, 1, err);
        if (rc != MERCER_OK)
            return rc;
        record->room = room;
    }
    if (record->data && bytes > 0)
        memcpy(record->data + record->size, data, (size_t)bytes);
    record->size = needed;
    return MERCER_OK;
}

mercer_status mrc_record_put_error(mrc_record *record, mercer_status rc_of, const mercer_error *why,
                                   mercer_error *err)
{
    const int64_t code = rc_of;
    mercer_status rc = mrc_record_put(record, &code, sizeof code, err);
    if (rc == MERCER_OK && rc_of != MERCER_OK)
        rc = mrc_record_put(record, why, sizeof *why, err);
    return rc;
}

mercer_status mrc_record_get(mrc_reading *from, void *data, int64_t bytes, mercer_error *err)
{
    if (bytes > from->left)
        return mrc_fail(err, MERCER_ERR_PEER, "a rank has told less than was expected of it");
    if (bytes > 0)
        memcpy(data, from->at, (size_t)bytes);
    from->at += bytes;
    from->left -= bytes;
    return MERCER_OK;
}

mercer_status mrc_record_get_error(mrc_reading *from, mercer_status *rc_of, mercer_error *why,
                                   mercer_error *err)
{
    int64_t code = 0;
    mercer_status rc = mrc_record_get(from, &code, sizeof code, err);
    *rc_of = (mercer_status)code;
    if (rc == MERCER_OK && *rc_of != MERCER_OK)
        rc = mrc_record_get(from, why, sizeof *why, err);
    if (rc == MERCER_OK && *rc_of != MERCER_OK)
        mrc_fail_again(why, *rc_of, why); /* texts from a file or another process are ended */
    return rc;
}

mercer_status mrc_outcomes_init(mrc_outcomes *outcomes, int64_t count, mercer_error *err)
{
    outcomes->count = count;
    return mrc_alloc(&outcomes->pieces, count, sizeof *outcomes->pieces, err);
}

void mrc_outcomes_destroy(mrc_outcomes *outcomes)
{
    for (int64_t p = 0; outcomes->pieces && p < outcomes->count; p++)
        mrc_record_destroy(&outcomes->pieces[p]);
    mrc_free(outcomes->pieces);
    *outcomes = (mrc_outcomes){0};
}

/* Number and length of each record, and the record. */
static mercer_status join(const mrc_outcomes *outcomes, mrc_record *out, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    for (int64_t p = 0; p < outcomes->count; p++) {
        const mrc_record *piece = &outcomes->pieces[p];
        const int64_t head[] = {p, piece->size};
        if (!piece->data)
            continue;
        MRC_TRY(mrc_record_put(out, head, sizeof head, err));
        MRC_TRY(mrc_record_put(out, piece->data, piece->size, err));
    }
out:
    return rc;
}

static mercer_status split(mrc_reading all, mrc_outcomes *outcomes, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    while (all.left > 0) {
        int64_t head[2];
        MRC_TRY(mrc_record_get(&all, head, sizeof head, err));
        if (head[0] < 0 || head[0] >= outcomes->count || head[1] < 0 || head[1] > all.left)
            MRC_FAIL(err, MERCER_ERR_PEER, "a rank tells of a piece that is not there");
        mrc_record *piece = &outcomes->pieces[head[0]];
        if (!piece->data)
            MRC_TRY(mrc_record_put(piece, all.at, head[1], err));
        all.at += head[1];
        all.left -= head[1];
    }
out:
    return rc;
}

mercer_status mrc_outcomes_share(mercer_ctx *ctx, mrc_outcomes *outcomes, mercer_error *err)
{
    mrc_record mine = {0};
    char *all = NULL;
    int64_t total = 0;
    mercer_status rc = MERCER_OK;
    if (mercer_ctx_ranks(ctx) == 1)
        return rc;
    MRC_TRY(join(outcomes, &mine, err));
    MRC_TRY(mrc_comm_gather(ctx, mine.data, mine.size, &all, &total, err));
    MRC_TRY(split((mrc_reading){all, total}, outcomes, err));
out:
    mrc_record_destroy(&mine);
    mrc_free(all);
    return rc;
}

bool mrc_outcomes_find(const mrc_outcomes *outcomes, int64_t piece, mrc_reading *out)
{
    if (piece < 0 || piece >= outcomes->count || !outcomes->pieces[piece].data)
        return false;
    *out = (mrc_reading){outcomes->pieces[piece].data, outcomes->pieces[piece].size};
    return true;
}
