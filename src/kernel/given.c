/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels whose values the caller gives: precomputed, where the rows are the matrix, and functions
 * that a host program adds to its context. */
#include "base/memory.h"
#include "base/number.h"
#include "kernel/named.h"

#include <stdio.h>
#include <string.h>

static const mrc_param no_params[] = {MRC_PARAM_END};

const mrc_kernel_def mrc_kernel_def_precomputed = {
    .entry = {"precomputed", "the input is the kernel matrix itself", "given by the caller",
              no_params},
    .rows = MRC_ROWS_MATRIX,
    .semidefinite = mrc_never_semidefinite, /* nobody knows */
};

static bool host_semidefinite(const mrc_kernel_part *part)
{
    return part->host->semidefinite;
}

const mrc_kernel_def mrc_kernel_def_host = {
    .entry = {"host", "a function of the host program", "", no_params},
    .rows = MRC_ROWS_DENSE,
    .semidefinite = host_semidefinite,
};

void mrc_host_values(const mrc_host_kernel *kernel, mercer_ctx *ctx, const double *x, int64_t nx,
                     int64_t ldx, const double *y, int64_t ny, int64_t ldy, int64_t d, double *out,
                     int64_t ldo)
{
    mercer_error why = {0}; /* the host fills what it knows of */
    mercer_status rc = MERCER_OK;
    bool failed = mrc_ctx_has_failed(ctx);
    if (!failed)
        rc = kernel->fn(kernel->host, x, nx, ldx, y, ny, ldy, d, out, ldo, &why);
    if (rc != MERCER_OK) {
        why.code = rc;
        if (!why.text[0])
            snprintf(why.text, sizeof why.text, "kernel %s failed: %s", kernel->name,
                     mercer_status_text(rc));
        mrc_ctx_fail(ctx, &why);
    }
    /* Nobody uses these values, but they pass through the work until it is seen to end. */
    for (int64_t i = 0; (failed || rc != MERCER_OK) && i < nx; i++)
        memset(out + i * ldo, 0, (size_t)ny * sizeof *out);
}

mercer_status mercer_ctx_add_kernel(mercer_ctx *ctx, const char *name, mercer_kernel_fn fn,
                                    void *host, int semidefinite, mercer_error *err)
{
    return mercer_ctx_add_kernel_owned(ctx, name, fn, host, NULL, semidefinite, err);
}

mercer_status mercer_ctx_add_kernel_owned(mercer_ctx *ctx, const char *name, mercer_kernel_fn fn,
                                          void *host, mercer_release_fn release, int semidefinite,
                                          mercer_error *err)
{
    MRC_NEED(ctx);
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-";
    mrc_host_kernel *added = NULL;
    size_t length = name ? strlen(name) : 0;
    double number;
    if (!fn || length == 0 || length >= sizeof added->name || strspn(name, allowed) != length ||
        mrc_parse_double(name, length, &number))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "a kernel needs a function and a name of letters, digits, '_' and '-'");
    bool known = mrc_kernel_def_find(name, length) != NULL;
    for (int i = 0; i < ctx->kernel_count; i++)
        known = known || strcmp(ctx->kernels[i]->name, name) == 0;
    if (known)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "there is a kernel '%s' already", name);
    if (ctx->kernel_count == MRC_HOST_KERNELS)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "a context takes %d kernels of the host, no more",
                        (int)MRC_HOST_KERNELS);
    mercer_status rc = mrc_alloc(&added, 1, sizeof *added, err);
    if (rc != MERCER_OK)
        return rc;
    added->fn = fn;
    added->host = host;
    added->release = release;
    added->semidefinite = semidefinite != 0;
    atomic_init(&added->owners, 1);
    memcpy(added->name, name, length + 1);
    ctx->kernels[ctx->kernel_count++] = added;
    return MERCER_OK;
}
