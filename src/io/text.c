/* Lines of text from an input, in a buffer that holds at least the row at hand. */
#include "io/text.h"

#include "base/bytes.h"

#include <string.h>

enum {
    TEXT_FIRST = 1 << 18, /* bytes read at a time: fits the second-level cache */
    MAX_TEXT = 1 << 26    /* longest row; a file with longer ones is not a table */
};

static mercer_status make_room(mrc_text *text, size_t capacity, mercer_error *err)
{
    int64_t more = (int64_t)(capacity - text->capacity);
    if (more > mrc_budget_left(text->budget)) {
        const mrc_bytes_pair sizes =
            mrc_bytes_texts((double)text->capacity, (double)text->budget->most);
        return mrc_fail_at(
            err, MERCER_ERR_BUDGET, MRC_AT(.key = "memory", .line = text->line, .names_file = 1),
            "%s:%lld: a row of more than %s does not fit the memory budget of %s: "
            "raise it (or does a quote or a line never end?)",
            text->input->shown, (long long)text->line, sizes.first.text, sizes.second.text);
    }
    mercer_status rc = mrc_grow(&text->data, (int64_t)capacity + 1, 1, err);
    return rc == MERCER_OK ? mrc_budget_take(text->budget, more, 1, "", err) : rc;
}

mercer_status mrc_text_more(mrc_text *text, mercer_error *err)
{
    size_t kept = text->end - text->start, got;
    if (text->start > 0 && kept > 0)
        memmove(text->data, text->data + text->start, kept);
    text->start = 0;
    text->end = kept;
    if (text->capacity - kept < TEXT_FIRST / 2) {
        if (text->capacity >= MAX_TEXT)
            return mrc_fail_at(err, MERCER_ERR_FORMAT,
                               MRC_AT(.key = "memory", .line = text->line, .names_file = 1),
                               "%s:%lld: a row of more than %d MB (a quote that is never closed?)",
                               text->input->shown, (long long)text->line, MAX_TEXT >> 20);
        size_t capacity = text->capacity ? 2 * text->capacity : TEXT_FIRST;
        mercer_status grown = make_room(text, capacity, err);
        if (grown != MERCER_OK)
            return grown;
        text->capacity = capacity;
    }
    /* A pipe gives what it has: that is enough when a row may end in it, and a long row is not
     * parsed again for every little piece. */
    bool line_end = false;
    while (!line_end && !text->ended && text->end < text->capacity) {
        char *new = text->data + text->end;
        mercer_status rc = mrc_input_some(text->input, new, text->capacity - text->end, &got, err);
        if (rc != MERCER_OK)
            return rc;
        line_end = memchr(new, '\n', got) || memchr(new, '\r', got);
        text->ended = got == 0;
        text->end += got;
    }
    text->data[text->end] = '\n';
    return MERCER_OK;
}

mercer_status mrc_text_init(mrc_text *text, mrc_input *input, mrc_budget *budget, mercer_error *err)
{
    *text = (mrc_text){.input = input, .budget = budget, .line = 1};
    mercer_status rc = mrc_text_more(text, err);
    if (rc != MERCER_OK)
        return rc;
    if (text->end >= 2 &&
        (memcmp(text->data, "\xff\xfe", 2) == 0 || memcmp(text->data, "\xfe\xff", 2) == 0))
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: is UTF-16 text; UTF-8 is expected", input->shown);
    if (memchr(text->data, 0, text->end))
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: is not a text file (it holds zero bytes)", input->shown);
    if (text->end >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0)
        text->start = 3;
    return MERCER_OK;
}

mercer_status mrc_text_line(mrc_text *text, mercer_ctx *ctx, const char **first, const char **end,
                            mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *first = NULL;
    for (;;) {
        const char *p = text->data + text->start, *limit = text->data + text->end;
        *end = memchr(p, '\n', (size_t)(limit - p) + 1); /* there is one at limit */
        if (*end < limit || text->ended) {
            *first = p < limit ? p : NULL;
            text->start += (size_t)(*end - p) + (*end < limit);
            text->line += p < limit;
            goto out;
        }
        MRC_TRY(mrc_check_cancel(ctx, err));
        MRC_TRY(mrc_text_more(text, err));
        mrc_progress(ctx, "reading", mrc_input_done(text->input));
    }
out:
    return rc;
}

bool mrc_text_would_wait(const mrc_text *text)
{
    return !text->fill_blocks && !text->ended && !mrc_input_ready(text->input);
}

void mrc_text_destroy(mrc_text *text)
{
    mrc_budget_give(text->budget, (int64_t)text->capacity, 1);
    mrc_free(text->data);
    *text = (mrc_text){0};
}
