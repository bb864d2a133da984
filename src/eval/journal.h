/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials that are done, kept in files, so that an evaluation that was ended goes on from there. */
#ifndef MRC_EVAL_JOURNAL_H
#define MRC_EVAL_JOURNAL_H

#include "eval/deal.h"

#include <pthread.h>

/* What a line tells of. */
typedef enum mrc_journal_kind { MRC_OF_TRIAL, MRC_OF_FOLD, MRC_JOURNAL_KINDS } mrc_journal_kind;

/* Zeroed: there is none, and nothing is found or kept. */
typedef struct mrc_journal {
    char *path;    /* of this rank's file; NULL: there is no journal */
    uint64_t key;  /* of the evaluation */
    int fd;        /* that lines are appended to */
    double synced; /* mrc_seconds() of the last time that lines were known to be on the disk */
    pthread_mutex_t lock; /* of appending */
    mrc_outcomes known[MRC_JOURNAL_KINDS];
} mrc_journal;

/* Read what FILE.0, FILE.1, ... of path know of the evaluation `key`, which has counts[kind] trials
 * and folds, and open the file of this rank. All ranks call it, and all know the same afterwards.
 * To be closed, also after an error. */
mercer_status mrc_journal_open(mrc_journal *journal, mercer_ctx *ctx, const char *path,
                               uint64_t key, const int64_t counts[MRC_JOURNAL_KINDS],
                               mercer_error *err);
void mrc_journal_close(mrc_journal *journal);

/* What is known of trial or fold `index`; false: nothing. */
bool mrc_journal_find(const mrc_journal *journal, mrc_journal_kind kind, int64_t index,
                      mrc_reading *out);
/* Append it to the file. May be called by several threads at once. */
mercer_status mrc_journal_keep(mrc_journal *journal, mrc_journal_kind kind, int64_t index,
                               const mrc_record *record, mercer_error *err);

#endif
