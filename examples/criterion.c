/* SPDX-License-Identifier: BSD-3-Clause */
/* A supervised method of one's own: partial least squares on the signs of what is left, so that a
 * few wild targets cannot turn the directions.
 *
 *     cc criterion.c -o criterion $(pkg-config --cflags --libs mercer) -lm && ./criterion
 *
 * Prints the error of predictions with kpls and with the method; leaves with 0 when its is smaller.
 */
#include <mercer/mercer.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 400, COLUMNS = 2, COMPONENTS = 6 };

/* The method: a direction is the sum of the images of rows whose target is too large, less the
 * others. */
static mercer_status choose_signs(void *host, mercer_step *step, double *beta, mercer_error *err)
{
    const double *rest = mercer_step_residual_targets(step);
    int64_t outputs = mercer_step_outputs(step);
    (void)host, (void)err;
    for (int64_t i = 0; i < mercer_step_rows(step); i++)
        for (int64_t c = 0; c < outputs; c++)
            beta[i] += (rest[i * outputs + c] > 0) - (rest[i * outputs + c] < 0);
    return MERCER_OK;
}

/* Numbers from -1 to 1 in no order that anybody could see. */
static double scatter(void)
{
    static uint32_t state = 1;
    state = 1664525 * state + 1013904223;
    return state / 2147483648.0 - 1;
}

/* The surface that the targets show through noise. */
static double surface(const double *x)
{
    return sin(3 * x[0]) + x[1] * x[1];
}

/* Root mean square of prediction less surface. */
static double error_of(mercer_ctx *ctx, const char *method, const mercer_criterion *criterion,
                       const mercer_rows *rows, const double *x, const mercer_targets *targets)
{
    static double predicted[ROWS];
    mercer_error err;
    mercer_fit_options options;
    mercer_model *model = NULL;
    double sum = 0;
    mercer_fit_options_init(&options);
    options.method = method;
    options.criterion = criterion;
    options.kernel = "rbf:sigma=0.7";
    options.components = COMPONENTS;
    if (mercer_fit(ctx, &options, rows, targets, &model, NULL, &err) != MERCER_OK ||
        mercer_model_predict(ctx, model, rows, 0, predicted, NULL, &err) != MERCER_OK) {
        fprintf(stderr, "criterion: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    for (int i = 0; i < ROWS; i++)
        sum += pow(predicted[i] - surface(x + COLUMNS * i), 2) / ROWS;
    mercer_model_free(model);
    return sqrt(sum);
}

int main(void)
{
    static double x[ROWS * COLUMNS], y[ROWS];
    const mercer_array data = {
        .struct_size = sizeof data, .data = x, .rank = 2, .shape = {ROWS, COLUMNS}};
    const mercer_criterion signs = {
        .struct_size = sizeof signs, .name = "signs", .choose = choose_signs};
    mercer_ctx *ctx = NULL;
    mercer_rows *rows = NULL;
    mercer_targets *targets = NULL;
    mercer_error err;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = scatter();
    for (int i = 0; i < ROWS; i++) /* every twentieth target is far off */
        y[i] = surface(x + COLUMNS * i) + (i % 20 == 0 ? 8 : 0.1) * scatter();
    if (mercer_ctx_new(&ctx, &err) != MERCER_OK ||
        mercer_rows_view(ctx, &data, &rows, &err) != MERCER_OK ||
        mercer_targets_new_values(y, ROWS, 1, NULL, &targets, &err) != MERCER_OK) {
        fprintf(stderr, "criterion: %s\n", err.text);
        return EXIT_FAILURE;
    }
    double ours = error_of(ctx, NULL, &signs, rows, x, targets);
    double theirs = error_of(ctx, "kpls", NULL, rows, x, targets);
    printf("error of the predictions: signs %.3f, kpls %.3f\n", ours, theirs);
    mercer_targets_free(targets);
    mercer_rows_free(rows);
    mercer_ctx_free(ctx);
    return ours < theirs ? EXIT_SUCCESS : EXIT_FAILURE;
}
