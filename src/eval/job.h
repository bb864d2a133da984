/* SPDX-License-Identifier: BSD-3-Clause */
/* An evaluation that is under way: what its folds share. */
#ifndef MRC_EVAL_JOB_H
#define MRC_EVAL_JOB_H

#include "eval/deal.h"
#include "eval/folds.h"
#include "eval/journal.h"
#include "eval/result.h"
#include "eval/trial.h"

#include <stdatomic.h>

enum { MRC_USUAL_FOLDS = 5 }; /* inner ones, where the caller asks for no number */

typedef struct mrc_job {
    mercer_ctx *ctx;
    mercer_evaluate_options options; /* the caller's, of whatever age, over the defaults */
    mercer_fit_options fit;
    const mercer_rows *rows;
    const mercer_targets *targets; /* or NULL */
    const mrc_folds *folds;        /* NULL: the test rows of the options, or no folds at all */
    mrc_rng start;                 /* the random state that the call began with */
    int64_t inner_folds;           /* 0: 5, or as many as there are groups */
    mrc_rule rule;
    mrc_scoring scoring;
    bool precomputed; /* rows are a kernel matrix */
    bool streaming;   /* the method looks at blocks of rows */
    mrc_scale_kind scale;
    bool wanted[MRC_TERMS];    /* pairs that kernels of the grid are made of */
    int64_t fits;              /* to come to a choice, by 5 inner folds unless more are asked for */
    int64_t steps;             /* fits in all, for the progress bar */
    uint64_t key;              /* a hash of all that the result depends on; with ranks or journal */
    mrc_journal journal;       /* trials, (fold x inner_most + inner fold) x choices, and folds */
    int64_t memory;            /* budget of the call: the smallest that a rank has, */
    int64_t share;             /* and that of a worker */
    bool large;                /* folds have all of the memory now, one after the other */
    int64_t *todo, todo_count; /* folds to run, increasing; owned */
    atomic_bool failed;        /* one of them has, and those after it need not be run */
    mrc_outcomes ahead;        /* inner folds of the folds, inner_most per fold, that ranks have */
    int64_t inner_most;        /* tried before the folds are run; none when there is one rank */
    mercer_evaluation *result; /* owned */
    mercer_ctx **workers;      /* one per thread, of one thread each; owned */
    atomic_bool ended;         /* by mrc_job_end(), */
    mercer_error why;          /* why, code and all, */
    int64_t why_fold;          /* and in which fold */
    mrc_pair_cache known;      /* of all rows, when it pays */
    atomic_llong done;         /* steps */
} mrc_job;

/* Read and check the call: everything that is tried is known to make sense before the first fit.
 * To be destroyed, also after an error. */
mercer_status mrc_job_init(mrc_job *job, mercer_ctx *ctx, const mercer_evaluate_options *given,
                           const mercer_rows *rows, const mercer_targets *targets,
                           mercer_error *err);
void mrc_job_destroy(mrc_job *job);

/* Get ready for `steps` fits: ranks agree that they do the same, the journal is read, there are
 * contexts for the workers, and pairs of rows where that pays. */
mercer_status mrc_job_start(mrc_job *job, int64_t steps, mercer_error *err);

/* How all rows, or those of a portion, are cut into folds. */
mrc_fold_plan mrc_job_plan(const mrc_job *job, const mrc_fold_rows *portion, int64_t count,
                           int64_t repeats);
/* Whether there is anything to choose from. */
bool mrc_job_is_tuned(const mrc_job *job);
/* All rows, borrowed: not to be destroyed. */
mrc_fold_rows mrc_job_rows(const mrc_job *job);

/* Pieces 0, 1, ... are dealt to the ranks in turn: how many of `count` this rank has, and which is
 * its k-th. */
int64_t mrc_job_dealt(const mrc_job *job, int64_t count);
int64_t mrc_job_piece(const mrc_job *job, int64_t k);

/* What a piece of fold `fold` came to. An error that is none of the piece, but of this process (no
 * memory, a journal or a helper program that fails), ends the run: what is under way ends with
 * MERCER_ERR_PEER. The first such error is kept, and told by mrc_job_conclude(). Any thread may
 * call. */
void mrc_job_end(mrc_job *job, int64_t fold, mercer_status rc, const mercer_error *why);
/* rc, what the call has come to, or why it was ended. */
mercer_status mrc_job_conclude(mrc_job *job, mercer_status rc, mercer_error *err);
/* Whether a piece that came to rc has failed, and is not tried again with more memory. */
bool mrc_job_is_final(const mrc_job *job, mercer_status rc);
/* An error of fold f, and why (NULL: only its status is known), as the call tells it. */
mercer_status mrc_job_fail_fold(int64_t f, mercer_status rc, const mercer_error *why,
                                mercer_error *err);

/* One fit more is done. */
void mrc_job_count_step(mrc_job *job, const mercer_ctx *ctx);
/* Room for predictions of n rows, unless nothing is predicted. */
mercer_status mrc_job_reserve(const mrc_job *job, int64_t n, double **scores, int64_t **codes,
                              mercer_error *err);
/* Whether sums between all pairs of the rows are worth computing for this number of fits, in a
 * budget of memory: those of a set of rows are looked up by every kernel and for every part of the
 * set. */
bool mrc_job_pairs_pay(const mrc_job *job, int64_t memory, const mercer_rows *rows, int64_t fits);

/* Choose among the cells of the grid by the inner folds of some rows, on the threads of ctx, which
 * is that of the job, and then on all ranks, or of one of its workers. The rows are those that fold
 * `fold` learns from, or with the number behind the last fold all rows. Scores are to be destroyed,
 * also after an error. Draws from the random state of ctx, and leaves its notices alone; *left_out
 * tells of cells that cannot be fitted (its text is empty when there are none). */
mercer_status mrc_choose(mercer_ctx *ctx, mrc_job *job, const mrc_fold_rows *rows, int64_t fold,
                         mrc_scores *scores, mercer_notice *left_out, mercer_error *err);

/* Try the choices on inner fold `inner` of fold `fold` alone, with the random state that
 * mrc_choose() will have, and put what it will need to know into job->ahead. Nothing is put where
 * there is no such inner fold or it fails: mrc_choose() will find out. ctx is that of a worker. */
mercer_status mrc_choose_ahead(mercer_ctx *ctx, mrc_job *job, const mrc_fold_rows *rows,
                               int64_t fold, int64_t inner, mercer_error *err);
/* Whether all that would be tried there is in the journal. */
bool mrc_choose_is_known(const mrc_job *job, int64_t fold, int64_t inner);

/* The choice on all rows, from the random state that the call began with, into the result. Tells
 * the host of cells that cannot be fitted. */
mercer_status mrc_tune_all(mrc_job *job, mercer_error *err);

#endif
