/* SPDX-License-Identifier: BSD-3-Clause */
/* Notices of the folds: kept while folds run beside each other, told once when they are done. */
#include "eval/notices.h"

#include "data/rows.h"

#include <string.h>

void mrc_notice_keep(void *host, const mercer_notice *notice)
{
    mrc_fold_result *fold = host;
    mercer_notice *kept = NULL;
    if (fold->notice_count == MRC_MAX_NOTICES ||
        mrc_alloc(&kept, 1, sizeof *kept, NULL) != MERCER_OK)
        return;
    *kept = *notice;
    fold->notices[fold->notice_count++] = kept;
}

void mrc_notice_missing_classes(const mercer_ctx *ctx, const mercer_targets *train,
                                const mercer_targets *test)
{
    if (!train || !test || train->kind != MERCER_TARGET_CLASSES)
        return;
    for (int64_t c = 0; c < train->classes; c++) {
        bool known = false, asked = false;
        for (int64_t i = 0; i < train->n; i++)
            known |= train->codes[i] == c;
        for (int64_t i = 0; i < test->n; i++)
            asked |= test->codes[i] == c;
        if (asked && !known)
            mrc_notice(ctx, "class '%s' is held out as a whole: its rows cannot be recognised",
                       train->class_names[c]);
    }
}

/* Whether two texts differ in numbers at most. */
static bool is_alike(const char *a, const char *b)
{
    static const char numbers[] = "0123456789.+-e%";
    while (*a && *b) {
        a += strspn(a, numbers);
        b += strspn(b, numbers);
        if (*a != *b)
            return false;
        a += *a != 0;
        b += *b != 0;
    }
    return *a == *b;
}

void mrc_notices_tell(const mercer_ctx *ctx, const mercer_evaluation *result, bool named)
{
    enum { MAX_KINDS = 32 }; /* hosts are not told more at once */
    struct {
        const mercer_notice *notice;
        int64_t fold, alike;
    } kinds[MAX_KINDS];
    int known = 0;
    for (int64_t f = 0; f < result->count; f++)
        for (int i = 0; i < result->folds[f].notice_count; i++) {
            const mercer_notice *notice = result->folds[f].notices[i];
            int k = 0;
            while (k < known && !is_alike(kinds[k].notice->text, notice->text))
                k++;
            if (k == MAX_KINDS)
                continue;
            if (k == known) {
                kinds[known].notice = notice;
                kinds[known].fold = f;
                kinds[known++].alike = 0;
            }
            kinds[k].alike++;
        }
    for (int k = 0; k < known; k++) {
        const mrc_at at = mrc_at_of(kinds[k].notice);
        const char *text = kinds[k].notice->text;
        if (!named)
            mrc_notice_at(ctx, &at, "%s", text);
        else if (kinds[k].alike == 1)
            mrc_notice_at(ctx, &at, "fold %lld: %s", (long long)kinds[k].fold + 1, text);
        else
            mrc_notice_at(ctx, &at, "fold %lld, and alike in %lld more: %s",
                          (long long)kinds[k].fold + 1, (long long)kinds[k].alike - 1, text);
    }
}
