/* Kernels whose values the caller gives: precomputed, where the rows are the matrix, and functions
 * that a host program adds to its context. */
#include "base/number.h"
#include "kernel/named.h"

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
    return part->host.semidefinite;
}

const mrc_kernel_def mrc_kernel_def_host = {
    .entry = {"host", "a function of the host program", "", no_params},
    .rows = MRC_ROWS_DENSE,
    .semidefinite = host_semidefinite,
};

mercer_status mercer_ctx_add_kernel(mercer_ctx *ctx, const char *name, mercer_kernel_fn fn,
                                    void *host, int semidefinite, mercer_error *err)
{
    MRC_NEED(ctx);
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-";
    mrc_host_kernel *added = &ctx->kernels[ctx->kernel_count];
    size_t length = name ? strlen(name) : 0;
    double number;
    if (!fn || length == 0 || length >= sizeof added->name || strspn(name, allowed) != length ||
        mrc_parse_double(name, length, &number))
        return mrc_fail(err, MERCER_ERR_ARGUMENT,
                        "a kernel needs a function and a name of letters, digits, '_' and '-'");
    bool known = mrc_kernel_def_find(name, length) != NULL;
    for (int i = 0; i < ctx->kernel_count; i++)
        known = known || strcmp(ctx->kernels[i].name, name) == 0;
    if (known)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "there is a kernel '%s' already", name);
    if (ctx->kernel_count == MRC_HOST_KERNELS)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "a context takes %d kernels of the host, no more",
                        (int)MRC_HOST_KERNELS);
    *added = (mrc_host_kernel){.fn = fn, .host = host, .semidefinite = semidefinite != 0};
    memcpy(added->name, name, length + 1);
    ctx->kernel_count++;
    return MERCER_OK;
}
