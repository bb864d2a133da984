/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse kernel partial least squares: kernel PLS whose directions each use a share nu of the rows
 * (Momma, Bennett 2003; Momma 2005). The direction P_j Y a of kernel PLS is thinned
 * (thinning.c) and goes through the deflation engine; the model keeps the rows that any direction
 * uses. nu = 1 is kernel PLS. */
#include "linalg/linalg.h"
#include "methods/supervised/supervised.h"
#include "methods/supervised/thinning.h"

static const double EXPLAINED = 1e-13; /* of the labels: what is left is rounding */

struct skpls_params {
    double components;
    double nu;
    int heuristic;
    int64_t cache;
};

static const mrc_param skpls_schema[] = {MRC_COMPONENTS_SUPERVISED(struct skpls_params, 10),
                                         MRC_THINNING(struct skpls_params, 0.25), MRC_PARAM_END};

static mercer_status choose(void *self, mrc_deflation *dual, bool *added, mercer_error *err)
{
    int64_t size = dual->n * dual->outputs;
    double left2 = mrc_dot(dual->rest, dual->rest, size), all2 = mrc_dot(dual->y, dual->y, size);
    *added = false;
    if (left2 <= EXPLAINED * EXPLAINED * all2)
        return MERCER_OK;
    return mrc_thin_add(self, dual, dual->rest, dual->outputs, added, err);
}

static mercer_status skpls_fit(mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                               mercer_model *model, mercer_error *err)
{
    const struct skpls_params *p = params;
    mrc_thinning rule = {.nu = p->nu, .heuristic = p->heuristic, .cache = p->cache};
    mrc_supervised method = {.choose = choose, .self = &rule, .sparse = true};
    mrc_thin_columns(&rule, problem, &method.work_columns, &method.solver_columns);
    return mrc_supervised_fit(ctx, problem, &method, model, err);
}

static void skpls_work(const mercer_ctx *ctx, const void *params, const mrc_problem *problem,
                       int64_t n, mrc_work *work)
{
    const mrc_supervised method = {.choose = choose, .sparse = true};
    (void)ctx;
    (void)params;
    mrc_supervised_work(problem, n, &method, 3, work);
    work->points = (double)n / 4; /* of all features together */
    work->spread = 4;
}

const mrc_method mrc_method_skpls = {
    .entry = {.name = "skpls",
              .summary = "sparse kernel partial least squares",
              .reference = "Momma, Bennett 2003",
              .params = skpls_schema},
    .params_size = sizeof(struct skpls_params),
    .default_center = MRC_CENTER_NONE,
    .centers = "none|exact",
    .fit = skpls_fit,
    .work = skpls_work,
    .cheaper = "rkopls:subset=1000",
    .default_head = "ls",
};
