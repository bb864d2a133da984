/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading a model: its file (model/file.c), and what its method knows beyond it.
 *
 * Files from before models said whether their features are nested are asked about by the method
 * that they name; landmarks are not told apart there. A method that is not known, as one of a
 * host's own, counts as nested. */
#include "methods/common/registry.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

static void ask_method(mercer_model *model)
{
    char name[64];
    bool nested;
    mercer_status rc = mrc_spec_is_nested(model->method, &nested, NULL);
    if (rc == MERCER_ERR_ARGUMENT) { /* a key that is no more: by the name alone */
        snprintf(name, sizeof name, "%.*s", (int)strcspn(model->method, ":"), model->method);
        rc = mrc_spec_is_nested(name, &nested, NULL);
    }
    model->whole = rc != MERCER_OK ? MRC_UNKNOWN : nested ? MRC_FALSE : MRC_TRUE;
}

mercer_status mercer_model_load(mercer_ctx *ctx, const char *path, mercer_model **out,
                                mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(path);
    mercer_status rc = mrc_model_load(ctx, path, out, err);
    if (rc == MERCER_OK && (*out)->whole == MRC_UNKNOWN)
        ask_method(*out);
    return rc;
}

mercer_status mercer_model_from_bytes(mercer_ctx *ctx, const void *bytes, size_t size,
                                      mercer_model **out, mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(bytes);
    mercer_status rc = mrc_model_from_bytes(ctx, bytes, size, out, err);
    if (rc == MERCER_OK && (*out)->whole == MRC_UNKNOWN)
        ask_method(*out);
    return rc;
}
