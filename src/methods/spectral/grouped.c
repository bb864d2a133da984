/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel PCA by split and merge (Zheng, Zou, Zhao 2005).
 *
 * The rows, in random order, are cut into groups. Of each group's own uncentred matrix the leading
 * eigenvectors U_g are kept: no more than the group's share of the matrix is ever decomposed. They
 * stand for the rows: the merged problem is U' K^ U with U block-diagonal and K^ the whole centred
 * matrix, as large as the number of vectors kept, from one product of the operator with U. Its
 * leading eigenpairs give orthonormal directions a = U v / sqrt(mu), and a last step turns these
 * within their span to where the rows really vary most: eigenpairs (lambda, w) of (K^ a)'(K^ a),
 * B = a w. So features are uncorrelated, lambda and the error are those of the rows, and only the
 * span is approximate: what the eigenvectors of the groups leave out. Cost: groups times (n /
 * groups)^2 for the eigenvectors, and a product of the operator with all that is kept. */
#include "methods/spectral/grouped.h"

#include "linalg/linalg.h"
#include "methods/greedy/selection.h"
#include "methods/spectral/spectral.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MIN_KEPT = 32, /* eigenvectors of a group at most, unless twice the components are more: a
                        larger span is closer to the whole one, and the merged problem larger */
    BY_SHARE = 128 /* when a share of the variance is wanted */
};

/* A group: rows order[first .. first + count), and its eigenvectors. */
struct group {
    int64_t first, count;
    int64_t column; /* of its first vector among all */
    mrc_spectrum spectrum;
};

struct split {
    mercer_ctx *ctx;
    const mrc_problem *problem;
    mrc_gram *gram;
    int64_t n, groups, kept; /* vectors of all groups */
    int64_t *order;
    struct group *group;
    double *inner; /* U' K^ U, kept x kept */
};

static void split_destroy(struct split *s)
{
    for (int64_t g = 0; s->group && g < s->groups; g++)
        mrc_spectrum_destroy(&s->group[g].spectrum);
    mrc_free(s->group);
    mrc_free(s->order);
    mrc_free(s->inner);
    mrc_gram_free(s->gram);
}

/* The rows of a group; of a given matrix its block. */
static mercer_status take_group(const struct split *s, const struct group *group, mercer_rows **out,
                                mercer_error *err)
{
    const mercer_rows *rows = s->problem->rows;
    const int64_t *order = s->order + group->first;
    double *line = NULL, *block = NULL;
    mercer_status rc = MERCER_OK;
    if (!mrc_kernel_is_precomputed(s->problem->kernel))
        return mrc_rows_take(rows, order, group->count, out, err);
    MRC_TRY(mrc_alloc(&line, rows->d, sizeof *line, err));
    MRC_TRY(mrc_alloc2_raw(&block, group->count, group->count, sizeof *block, err));
    for (int64_t i = 0; i < group->count; i++) {
        mercer_rows_copy(rows, order[i], 1, line);
        for (int64_t j = 0; j < group->count; j++)
            block[i * group->count + j] = line[order[j]];
    }
    MRC_TRY(mrc_rows_adopt(MRC_F64, block, group->count, group->count, out, err));
    block = NULL;
out:
    mrc_free(line);
    mrc_free(block);
    return rc;
}

static mercer_status solve_group(struct split *s, struct group *group, int64_t most,
                                 mercer_error *err)
{
    mrc_gram_request request = {.store = s->problem->store,
                                .single = s->problem->single,
                                .solver_columns = mrc_spectrum_columns(group->count, most)};
    mercer_rows *rows = NULL;
    mrc_gram *gram = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(take_group(s, group, &rows, err));
    MRC_TRY(mrc_gram_new(&gram, s->ctx, s->problem->kernel, rows, &request, NULL, err));
    MRC_TRY(mrc_gram_spectrum(gram, most, 0, &group->spectrum, err));
    group->column = s->kept;
    s->kept += group->spectrum.count;
out:
    mercer_rows_free(rows);
    mrc_gram_free(gram);
    return rc;
}

static mercer_status solve_groups(struct split *s, mercer_error *err)
{
    int64_t wanted = s->problem->components, most = wanted > 0 ? 2 * wanted : BY_SHARE;
    mercer_status rc = MERCER_OK;
    most = most > MIN_KEPT ? most : MIN_KEPT;
    MRC_TRY(mrc_alloc(&s->group, s->groups, sizeof *s->group, err));
    MRC_TRY(mrc_alloc(&s->order, s->n, sizeof *s->order, err));
    for (int64_t i = 0; i < s->n; i++)
        s->order[i] = i;
    mrc_rng_shuffle(&s->ctx->rng, s->order, s->n);
    for (int64_t g = 0; g < s->groups; g++) {
        s->group[g].first = g * s->n / s->groups;
        s->group[g].count = (g + 1) * s->n / s->groups - s->group[g].first;
        MRC_TRY(solve_group(s, &s->group[g], most, err));
    }
out:
    return rc;
}

/* out (count of vectors x l, row stride ld) = U_g' y for y n x l. */
static mercer_status project(const struct split *s, const struct group *group, const double *y,
                             int64_t l, double *out, int64_t ld, mercer_error *err)
{
    int64_t q = group->spectrum.count;
    double *part = NULL, *product = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2_raw(&part, group->count, l, sizeof *part, err));
    MRC_TRY(mrc_alloc2(&product, q, l, sizeof *product, err));
    for (int64_t i = 0; i < group->count; i++)
        memcpy(part + i * l, y + s->order[group->first + i] * l, (size_t)l * sizeof *part);
    MRC_TRY(mrc_tall_product(s->ctx, group->spectrum.vectors, q, q, part, l, l, group->count,
                             product, err));
    for (int64_t j = 0; j < q; j++)
        memcpy(out + j * ld, product + j * l, (size_t)l * sizeof *out);
out:
    mrc_free(part);
    mrc_free(product);
    return rc;
}

/* v (n x l) += U_g w for w (vectors of the group) x l. */
static mercer_status expand(const struct split *s, const struct group *group, const double *w,
                            int64_t l, double *v, mercer_error *err)
{
    int64_t q = group->spectrum.count;
    double *part = NULL;
    mercer_status rc = mrc_alloc2_raw(&part, group->count, l, sizeof *part, err);
    if (rc != MERCER_OK)
        return rc;
    rc = mrc_tall_times_checked(s->ctx, group->count, l, q, 1, group->spectrum.vectors, q, w, l, 0,
                                part, l, err);
    for (int64_t i = 0; rc == MERCER_OK && i < group->count; i++)
        memcpy(v + s->order[group->first + i] * l, part + i * l, (size_t)l * sizeof *v);
    mrc_free(part);
    return rc;
}

/* U' K^ U, the columns of one group at a time. */
static mercer_status merge(struct split *s, mercer_error *err)
{
    double *v = NULL, *image = NULL, *identity = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&s->inner, s->kept, s->kept, sizeof(double), err));
    for (int64_t g = 0; g < s->groups; g++) {
        const struct group *group = &s->group[g];
        int64_t q = group->spectrum.count;
        if (q == 0)
            continue;
        mrc_progress(s->ctx, "merge", (double)g / (double)s->groups);
        MRC_TRY(mrc_alloc2(&v, s->n, q, sizeof *v, err));
        MRC_TRY(mrc_alloc2(&image, s->n, q, sizeof *image, err));
        MRC_TRY(mrc_alloc2(&identity, q, q, sizeof *identity, err));
        for (int64_t j = 0; j < q; j++)
            identity[j * q + j] = 1;
        MRC_TRY(expand(s, group, identity, q, v, err));
        MRC_TRY(mrc_gram_apply(s->gram, v, q, image, err));
        for (int64_t h = 0; h < s->groups; h++)
            MRC_TRY(project(s, &s->group[h], image, q,
                            s->inner + s->group[h].column * s->kept + group->column, s->kept, err));
        mrc_free(v);
        mrc_free(image);
        mrc_free(identity);
        v = image = identity = NULL;
    }
out:
    mrc_free(v);
    mrc_free(image);
    mrc_free(identity);
    return rc;
}

/* a (n x *count): leading eigenvectors of the merged problem as coefficients of unit directions. */
static mercer_status find_span(struct split *s, double floor, int64_t *count, double **out,
                               mercer_error *err)
{
    int64_t kept = s->kept, l = 0, wanted = s->problem->components;
    double *values = NULL, *w = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(&values, kept, sizeof *values, err));
    MRC_TRY(mrc_eigen_symmetric(s->ctx, kept, s->inner, values, err));
    wanted = wanted > 0 && 2 * wanted < kept ? 2 * wanted : kept;
    while (l < wanted && values[kept - 1 - l] > floor)
        l++;
    MRC_TRY(mrc_alloc2(&w, kept, l, sizeof *w, err));
    MRC_TRY(mrc_alloc2(out, s->n, l, sizeof **out, err));
    for (int64_t j = 0; j < l; j++)
        for (int64_t i = 0; i < kept; i++)
            w[i * l + j] = s->inner[(kept - 1 - j) * kept + i] / sqrt(values[kept - 1 - j]);
    for (int64_t g = 0; g < s->groups && l > 0; g++)
        MRC_TRY(expand(s, &s->group[g], w + s->group[g].column * l, l, *out, err));
    *count = l;
out:
    mrc_free(values);
    mrc_free(w);
    return rc;
}

/* Turn the directions a (n x m) to the components of the rows: values and B of result. */
static mercer_status turn(const struct split *s, const double *a, int64_t m, double floor,
                          mrc_spectrum *result, mercer_error *err)
{
    double *image = NULL, *scatter = NULL, *values = NULL, *w = NULL;
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc2(&image, s->n, m, sizeof *image, err));
    MRC_TRY(mrc_alloc2(&scatter, m, m, sizeof *scatter, err));
    MRC_TRY(mrc_alloc(&values, m, sizeof *values, err));
    MRC_TRY(mrc_alloc(&result->values, m, sizeof *values, err));
    MRC_TRY(mrc_gram_apply(s->gram, a, m, image, err));
    MRC_TRY(mrc_gram_of_columns(s->ctx, image, s->n, m, m, scatter, err));
    MRC_TRY(mrc_eigen_symmetric(s->ctx, m, scatter, values, err));
    for (int64_t j = 0; j < m; j++)
        result->values[j] = values[m - 1 - j];
    int64_t l = result->count = mrc_wanted_pairs(result->values, m, floor, s->problem->components,
                                                 s->problem->share, result->trace);
    MRC_TRY(mrc_alloc2(&w, m, l, sizeof *w, err));
    MRC_TRY(mrc_alloc2(&result->vectors, s->n, l, sizeof *w, err));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < l; j++)
            w[i * l + j] = scatter[(m - 1 - j) * m + i];
    MRC_TRY(mrc_tall_times_checked(s->ctx, s->n, l, m, 1, a, m, w, l, 0, result->vectors, l, err));
    mrc_fix_signs(s->n, l, result->vectors);
out:
    mrc_free(image);
    mrc_free(scatter);
    mrc_free(values);
    mrc_free(w);
    return rc;
}

mercer_status mrc_split_fit(mercer_ctx *ctx, const mrc_problem *problem, int64_t groups,
                            mercer_model *model, mercer_error *err)
{
    int64_t n = problem->rows->n, m = 0;
    struct split s = {.ctx = ctx, .problem = problem, .n = n, .groups = groups};
    mrc_gram_request request = {.centered = problem->center != MRC_CENTER_NONE,
                                .work_columns = 4 * MIN_KEPT + 2 * problem->components};
    mrc_spectrum result = {.passes = groups + 1, .solver = "split"};
    const double *diag;
    double *a = NULL;
    mercer_status rc = MERCER_OK;
    if (2 * groups > n)
        return mrc_fail(err, MERCER_ERR_DATA,
                        "method kpca: %lld groups of %lld rows: a group needs at least two",
                        (long long)groups, (long long)n);
    MRC_TRY(mrc_problem_gram(ctx, problem, &request, &s.gram, err));
    MRC_TRY(solve_groups(&s, err));
    MRC_TRY(mrc_gram_diag(s.gram, &diag, err));
    for (int64_t i = 0; i < n; i++)
        result.trace += diag[i];
    double floor =
        mrc_rank_floor(n, mrc_gram_eps(s.gram) * mrc_gram_kmax(s.gram), mrc_gram_left_out(s.gram));
    if (s.kept > 0) {
        MRC_TRY(merge(&s, err));
        MRC_TRY(find_span(&s, floor, &m, &a, err));
    }
    if (m == 0)
        MRC_TRY(mrc_problem_no_component(problem, err));
    MRC_TRY(turn(&s, a, m, floor, &result, err));
    result.residual = NAN;
    MRC_TRY(mrc_spectral_model(ctx, problem, s.gram, &result, model, err));
out:
    split_destroy(&s);
    mrc_spectrum_destroy(&result);
    mrc_free(a);
    return rc;
}
