/* SPDX-License-Identifier: BSD-3-Clause */
/* Images decoded by the helper program mercer-read, which needs no file for that and can open none:
 * it gets their bytes, and gives pixels. */
#include "io/containers.h"

#include "base/spawn.h"

#include <string.h>

enum { MIN_TIME = 30 }; /* seconds of the processor, besides those for each image */

struct mrc_image_decoder {
    mrc_helper helper;
};

static mercer_status fail_lost(const mrc_image_decoder *decoder, const char *path,
                               mercer_error *err)
{
    switch (decoder->helper.fate) {
    case MRC_FATE_KILLED:
        return mrc_fail_at(err, MERCER_ERR_MEMORY, MRC_IN_FILE,
                           "%s: the process that decoded this image was killed; out of memory?",
                           path);
    case MRC_FATE_EXIT:
        return mrc_fail_at(err, MERCER_ERR_IO, MRC_IN_FILE,
                           "%s: cannot be decoded: %s does not run, or got no memory", path,
                           decoder->helper.path);
    case MRC_FATE_TIME:
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: takes far too long to decode; the image is damaged", path);
    default:
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: the decoder crashed on this image; it is damaged", path);
    }
}

mercer_status mrc_image_decoder_new(mercer_ctx *ctx, const mrc_limits *limits, const char *shown,
                                    mrc_image_decoder **out, mercer_error *err)
{
    const mrc_read_request request = {.version = MRC_READ_VERSION,
                                      .format = MRC_CONTAINER_IMAGES,
                                      .memory = mercer_ctx_memory(ctx),
                                      .time_seconds = MIN_TIME,
                                      .limits = *limits};
    mrc_image_decoder *decoder = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&decoder, 1, sizeof *decoder, err));
    MRC_TRY(mrc_helper_start(&decoder->helper, MRC_READ_PROGRAM, NULL, shown, err));
    MRC_TRY(mrc_helper_send(&decoder->helper, ctx, &request, sizeof request, err));
    *out = decoder;
    decoder = NULL;
out:
    mrc_image_decoder_free(decoder);
    return rc;
}

void mrc_image_decoder_free(mrc_image_decoder *decoder)
{
    if (decoder)
        mrc_helper_stop(&decoder->helper);
    mrc_free(decoder);
}

/* A size that an image can have, and that there is room for. */
static mercer_status check_answer(const mrc_image_answer *answer, const mrc_budget *budget,
                                  const char *path, mercer_error *err)
{
    const bool sound = answer->status >= 0 && (answer->status != MERCER_OK ||
                                               (answer->width > 0 && answer->height > 0 &&
                                                (answer->channels == 1 || answer->channels == 3) &&
                                                answer->width <= MRC_MAX_PIXELS / answer->height));
    mercer_status rc = MERCER_OK;
    if (!sound)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: the decoder crashed on this image; it is damaged", path);
    if (answer->status != MERCER_OK)
        MRC_TRY(mrc_fail_again(err, (mercer_status)answer->status, &answer->error));
    const int64_t bytes = answer->width * answer->height * answer->channels;
    if (bytes > mrc_budget_left(budget))
        MRC_TRY(mrc_budget_fail(budget, "an image", (double)bytes, err));
    if (budget)
        MRC_TRY(mrc_limit_bytes(&budget->limits, path, bytes, true, err));
out:
    return rc;
}

mercer_status mrc_image_decoder_run(mrc_image_decoder *decoder, mercer_ctx *ctx, const char *path,
                                    const unsigned char *bytes, size_t length,
                                    const mrc_budget *budget, mrc_pixels *out, mercer_error *err)
{
    const mrc_image_request request = {.name_bytes = (int64_t)strlen(path) + 1,
                                       .bytes = (int64_t)length};
    mrc_helper *helper = &decoder->helper;
    mrc_image_answer answer;
    mercer_status rc = MERCER_OK;
    *out = (mrc_pixels){0};
    MRC_TRY(mrc_helper_send(helper, ctx, &request, sizeof request, err));
    MRC_TRY(mrc_helper_send(helper, ctx, path, (size_t)request.name_bytes, err));
    MRC_TRY(mrc_helper_send(helper, ctx, bytes, length, err));
    MRC_TRY(mrc_helper_receive(helper, ctx, &answer, sizeof answer, err));
    if (answer.open)
        mrc_helper_note_open(ctx, path);
    MRC_TRY(check_answer(&answer, budget, path, err));
    const int64_t values = answer.width * answer.height * answer.channels;
    MRC_TRY(mrc_alloc2_raw(&out->values, values, 1, 1, err));
    MRC_TRY(mrc_helper_receive(helper, ctx, out->values, (size_t)values, err));
    out->width = answer.width;
    out->height = answer.height;
    out->channels = answer.channels;
out:
    return rc != MERCER_OK && helper->fate != MRC_FATE_ALIVE ? fail_lost(decoder, path, err) : rc;
}
