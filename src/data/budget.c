/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory budget of reading. Bytes are counted where memory is asked for; what is counted is
 * what pages hold in the end, not what an allocator adds to large arrays. */
#include "data/budget.h"

#include "base/bytes.h"

int64_t mrc_budget_left(const mrc_budget *budget)
{
    if (!budget)
        return INT64_MAX;
    return budget->most > budget->used ? budget->most - budget->used : 0;
}

mercer_status mrc_budget_fail(const mrc_budget *budget, const char *what, double bytes,
                              mercer_error *err)
{
    const mrc_bytes_pair sizes =
        mrc_bytes_texts(bytes + (double)budget->used, (double)budget->most);
    return mrc_fail_at(
        err, MERCER_ERR_BUDGET, MRC_AT(.key = "memory", .names_file = *budget->shown != NULL),
        "%s: %s would take %s, the memory budget is %s: raise it, or read "
        "fewer rows or columns",
        *budget->shown ? *budget->shown : "the input", what, sizes.first.text, sizes.second.text);
}

mercer_status mrc_budget_take(mrc_budget *budget, int64_t count, int64_t size, const char *what,
                              mercer_error *err)
{
    int64_t bytes;
    if (!budget)
        return MERCER_OK;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > mrc_budget_left(budget))
        return mrc_budget_fail(budget, what, (double)count * (double)size, err);
    budget->used += bytes;
    return MERCER_OK;
}

static const char *shown_of(const mrc_budget *budget)
{
    return *budget->shown ? *budget->shown : "the input";
}

mercer_status mrc_budget_rows(const mrc_budget *budget, int64_t found, bool exact,
                              mercer_error *err)
{
    return budget ? mrc_limit_rows(&budget->limits, shown_of(budget), found, exact, err)
                  : MERCER_OK;
}

mercer_status mrc_budget_columns(const mrc_budget *budget, int64_t found, bool exact,
                                 mercer_error *err)
{
    return budget ? mrc_limit_columns(&budget->limits, shown_of(budget), found, exact, err)
                  : MERCER_OK;
}

mercer_status mrc_budget_name(const mrc_budget *budget, const char *name, size_t bytes,
                              mercer_error *err)
{
    return budget ? mrc_limit_name(&budget->limits, shown_of(budget), name, bytes, err) : MERCER_OK;
}

void mrc_budget_give(mrc_budget *budget, int64_t count, int64_t size)
{
    if (budget)
        budget->used = count * size < budget->used ? budget->used - count * size : 0;
}
