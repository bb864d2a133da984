/* What a head is: a name, a parameter schema, fit, and its share of a score. heads.def lists them.
 *
 * A head sees features and targets, never rows or kernels, so every head goes with every method. */
#ifndef MRC_HEADS_HEADS_H
#define MRC_HEADS_HEADS_H

#include "base/params.h"
#include "model/model.h"

/* What a head learns from, all borrowed. */
typedef struct mrc_lesson {
    int64_t n, l;
    const double *features; /* n x l */
    int64_t outputs;
    const int64_t *codes; /* class of each row, below outputs, every class occurring; or NULL: */
    const double *values; /* n x outputs */
} mrc_lesson;

typedef struct mrc_head_def {
    struct mercer_entry entry;
    bool values; /* it predicts values, too, not only classes */
    bool signs;  /* for two classes, or values of -1 and +1, alone */
    int copies;  /* of the features that fit makes */
    /* Fill the parts of the head that it decides. */
    mercer_status (*fit)(mercer_ctx *ctx, const mrc_lesson *lesson, mrc_head *head,
                         mercer_error *err);
    /* Whether the parts are there that a step needs. */
    bool (*is_complete)(const mrc_head *head);
    /* Add what feature j of a row (of l features) contributes to its scores, which start from the
     * intercept, or zero; the features before j have been added. */
    void (*step)(const mrc_head *head, const double *features, int64_t l, int64_t j,
                 double *scores);
} mrc_head_def;

#define MRC_HEAD(name) extern const mrc_head_def mrc_head_##name;
#include "heads/heads.def"
#undef MRC_HEAD

/* The head of a spec, NAME[:key=value,...]; NULL for NULL and for "none". MERCER_ERR_ARGUMENT lists
 * the known ones. */
mercer_status mrc_head_find(const char *spec, const mrc_head_def **out, mercer_error *err);

/* MERCER_ERR_DATA unless the head can learn from these targets of n rows. */
mercer_status mrc_head_check_targets(const mrc_head_def *def, const mercer_targets *targets,
                                     int64_t n, mercer_error *err);

/* Fit the head of a sealed model to the rows that the model was fitted to. */
mercer_status mrc_head_learn(mercer_ctx *ctx, const mrc_head_def *def, const mercer_rows *rows,
                             const mercer_targets *targets, mercer_model *model, mercer_error *err);

/* The scores before the first feature. */
void mrc_head_start(const mrc_head *head, double *scores);

/* Index of the largest score, the first among equals. */
int64_t mrc_head_winner(const double *scores, int64_t outputs);

#endif
