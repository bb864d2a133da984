/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory reading may take: the budget of the context. One budget is shared by all that a
 * reader holds, so that a small file (compressed, or with sizes that are lies) is refused while it
 * is read, before it has filled the machine. */
#ifndef MRC_DATA_BUDGET_H
#define MRC_DATA_BUDGET_H

#include "base/limits.h"

typedef struct mrc_budget {
    char *const *shown; /* borrowed: where the name of what is read stands, which may change */
    int64_t most;       /* bytes in all */
    int64_t used;       /* by what a reader keeps besides the rows at hand */
    mrc_limits limits;  /* of what is read, beside its memory */
} mrc_budget;

/* What a short string of its own takes, with the memory around it and a copy in the table. */
enum { MRC_NAME_BYTES = 320 };

/* Wherever a budget is expected, NULL stands for one without end. */

/* Bytes that are left. */
int64_t mrc_budget_left(const mrc_budget *budget);
/* Fail because `what` would take that many bytes more. */
mercer_status mrc_budget_fail(const mrc_budget *budget, const char *what, double bytes,
                              mercer_error *err);
/* Take count times size bytes for `what`, of which it has enough then; MERCER_ERR_BUDGET when
 * fewer are left, and nothing is taken. */
mercer_status mrc_budget_take(mrc_budget *budget, int64_t count, int64_t size, const char *what,
                              mercer_error *err);
/* MERCER_ERR_LIMIT when there are more rows or columns than the caller allows, or when a name is
 * too long: see base/limits.h. */
mercer_status mrc_budget_rows(const mrc_budget *budget, int64_t found, bool exact,
                              mercer_error *err);
mercer_status mrc_budget_columns(const mrc_budget *budget, int64_t found, bool exact,
                                 mercer_error *err);
mercer_status mrc_budget_name(const mrc_budget *budget, const char *name, size_t bytes,
                              mercer_error *err);
/* Give back what was taken; at most all of it. */
void mrc_budget_give(mrc_budget *budget, int64_t count, int64_t size);

#endif
