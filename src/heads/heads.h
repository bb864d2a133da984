/* SPDX-License-Identifier: BSD-3-Clause */
/* What a head is: a name, a parameter schema, fit, and predictions from features, either feature by
 * feature (add_feature) or for many rows at once (predict). heads.def lists them.
 *
 * A head sees features and targets, never rows or kernels, so any head works with any method. */
#ifndef MRC_HEADS_HEADS_H
#define MRC_HEADS_HEADS_H

#include "base/params.h"
#include "model/model.h"

/* What a head learns from, all borrowed. */
typedef struct mrc_head_data {
    int64_t n, l;
    const double *features; /* n x l */
    int64_t outputs;
    const int64_t *codes; /* class of each row, below outputs, every class occurring; or NULL: */
    const double *values; /* n x outputs */
    mrc_span span;        /* where the rows are spread over ranks: all of them, of which n are here;
                             zeroes: they are not spread */
} mrc_head_data;

/* Rows whose predictions are wanted, from the first k of their l features. */
typedef struct mrc_head_query {
    const double *features; /* n x l */
    int64_t n, l, k;
    bool own; /* they are all training rows, in their order: each is left out of what predicts it;
                 for heads that can */
} mrc_head_query;

/* Numbers of leading features, increasing, each at least 1 and at most l. */
typedef struct mrc_prefixes {
    const int64_t *numbers;
    int64_t count;
} mrc_prefixes;

typedef struct mrc_head_def {
    struct mercer_entry entry;
    size_t params_size;
    bool values;     /* it predicts values, too, not only classes */
    bool signs;      /* for two classes, or values of -1 and +1, alone */
    bool scale_free; /* what it predicts from scaled values, scaled back, is what it predicts from
                        the values: they are not scaled. Any other head predicts values by
                        decision functions, which are scaled back */
    bool needs_all_features; /* it predicts from all features or not at all */
    bool leaves_out;         /* predict can leave each training row out of what predicts it */
    bool of_predictions;     /* it is for features that are predictions, one per output */
    bool spreads;       /* its fit takes features and targets of rows that are spread over ranks;
                           not values that are scaled */
    int copies;         /* how often a fit holds the features besides the features themselves */
    int64_t most_tried; /* of more training rows it does not tell the error; 0: of any number */
    /* MERCER_ERR_ARGUMENT unless the parameters suit this kind of targets; NULL: they do. */
    mercer_status (*check)(const void *params, mercer_target_kind kind, mercer_error *err);
    /* Fill the parts of the head that it decides; numbers learnt go into params. */
    mercer_status (*fit)(mercer_ctx *ctx, void *params, const mrc_head_data *data, mrc_head *head,
                         mercer_error *err);
    /* Whether the parts are there that add_feature or predict needs. */
    bool (*is_complete)(const mrc_head *head);
    /* Add what feature j of a row (of l features) contributes to its scores, which start from the
     * intercept, or zero; the features before j have been added. The largest score wins. */
    void (*add_feature)(const mrc_head *head, const double *features, int64_t l, int64_t j,
                        double *scores);
    /* Instead of add_feature: scores (n x outputs) and, unless NULL, codes (n) of the predicted
     * classes, MERCER_NO_CLASS where none wins. A row gives the same bits whatever stands beside
     * it. */
    mercer_status (*predict)(mercer_ctx *ctx, const void *params, const mrc_head *head,
                             const mrc_head_query *query, double *scores, int64_t *codes,
                             mercer_error *err);
    /* Beside predict, unless needs_all_features: what mrc_head_predict_prefixes() does. */
    mercer_status (*predict_prefixes)(mercer_ctx *ctx, const void *params, const mrc_head *head,
                                      const mrc_head_query *query, const mrc_prefixes *prefixes,
                                      double *scores, int64_t *codes, mercer_error *err);
} mrc_head_def;

/* A head with its parameters, which are owned; def is NULL for none. */
typedef struct mrc_head_choice {
    const mrc_head_def *def;
    void *params;
} mrc_head_choice;

#define MRC_HEAD(name) extern const mrc_head_def mrc_head_##name;
#include "heads/heads.def"
#undef MRC_HEAD

/* The head of an entry, or NULL when it is the entry of something else. */
const mrc_head_def *mrc_head_of(const struct mercer_entry *entry);
/* The head of a spec, NAME[:key=value,...]; none for NULL and for "none". MERCER_ERR_ARGUMENT lists
 * the known ones. To be destroyed, also after an error. */
mercer_status mrc_head_find(const char *spec, mrc_head_choice *out, mercer_error *err);
void mrc_head_choice_destroy(mrc_head_choice *choice);

/* MERCER_ERR_DATA, or _ARGUMENT, unless the head can learn from these targets of n rows, scaled.
 * ranks: whose ranks the rows are spread over, or NULL. */
mercer_status mrc_head_check_targets(const mrc_head_choice *choice, const mercer_targets *targets,
                                     mrc_scale_kind scale, int64_t n, mercer_ctx *ranks,
                                     mercer_error *err);

/* Fit the head of a sealed model to the rows that the model was fitted to, and to their target
 * values scaled as model->head.scale says; it predicts in their own units. given: the features of
 * the rows, bit for bit as the model gives them, or NULL. with_errors: find its errors on them too,
 * which may cost more than learning. */
mercer_status mrc_head_learn(mercer_ctx *ctx, const mrc_head_choice *choice,
                             const mercer_rows *rows, const mercer_targets *targets,
                             const double *given, bool with_errors, mercer_model *model,
                             mercer_error *err);

/* Scores and, unless NULL, codes of rows by a complete head. */
mercer_status mrc_head_predict(mercer_ctx *ctx, const mrc_head_choice *choice, const mrc_head *head,
                               const mrc_head_query *query, double *scores, int64_t *codes,
                               mercer_error *err);

/* The same from each number of leading features, at little more than the cost of the largest: the
 * features add up. scores is count x n x outputs, codes (unless NULL) count x n; k of the query
 * does not matter. Not for a head that is whole. */
mercer_status mrc_head_predict_prefixes(mercer_ctx *ctx, const mrc_head_choice *choice,
                                        const mrc_head *head, const mrc_head_query *query,
                                        const mrc_prefixes *prefixes, double *scores,
                                        int64_t *codes, mercer_error *err);

/* How much the rows of a class count: all the same; balanced: n / (classes n_c), so that all
 * classes count the same; opposite: the share of the rows that are not of the class. */
#define MRC_CLASS_WEIGHTS "none|balanced|opposite"
void mrc_head_weigh_classes(const mrc_head_data *data, int choice, double *weights);

/* The mean features of each class, outputs x l, over the rows of all ranks; means holds zeroes. */
mercer_status mrc_head_class_means(mercer_ctx *ctx, const mrc_head_data *data, double *means,
                                   mercer_error *err);

/* The scores before the first feature. */
void mrc_head_start(const mrc_head *head, double *scores);

/* Index of the largest score, the first among equals. */
int64_t mrc_head_winner(const double *scores, int64_t outputs);

#endif
