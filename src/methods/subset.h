/* Methods that do kernel PCA in the span of a few points: rkpca, greedy, nystroem. They differ only
 * in how the points are chosen. */
#ifndef MRC_METHODS_SUBSET_H
#define MRC_METHODS_SUBSET_H

#include "methods/selection.h"

typedef struct mrc_subset_choice {
    mrc_selection_rule rule; /* a greedy one; what the problem says of it is set here */
    int64_t points;          /* asked for; 0: the default */
    bool depth_of_points;    /* the rule looks at as many rows in each step as it will take */
    /* Choose up to *count rows, put them into list (room for n) and set *count; instead of the
     * rule. gram is the uncentred operator. */
    mercer_status (*choose)(mercer_ctx *ctx, const mrc_problem *problem, mrc_gram *gram,
                            int64_t *list, int64_t *count, mercer_error *err);
} mrc_subset_choice;

/* Choose the points, or take the problem's landmarks, and fill the model. */
mercer_status mrc_subset_fit(mercer_ctx *ctx, const mrc_problem *problem, mrc_subset_choice *choice,
                             mercer_model *model, mercer_error *err);

/* The schema line of `points`. */
#define MRC_POINTS(type)                                                                           \
    MRC_INT(type, points, 0, 0, 1e9,                                                               \
            "rows the features stand on; 0: three times the components, or what a share or "       \
            "another stop takes")

#endif
