/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel PCA of a noisy ring: generate, fit, transform, save, load, compare.
 *
 *     cc ring.c -o ring $(pkg-config --cflags --libs mercer) && ./ring
 *
 * Prints the spectrum and leaves with 0 when the loaded model gives the same features, bit for bit.
 */
#include <mercer/mercer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 500, COMPONENTS = 4 };

static int fail(const char *what, const mercer_error *err)
{
    fprintf(stderr, "ring: %s: %s\n", what, err->text);
    return EXIT_FAILURE;
}

/* Fit, save to path, load again, and compare the features of the two models. */
static int run(mercer_ctx *ctx, const mercer_rows *rows, const char *path)
{
    mercer_error err;
    mercer_fit_options options;
    mercer_fit_report report = {.struct_size = sizeof report};
    mercer_model_info info = {.struct_size = sizeof info};
    mercer_model *model = NULL, *loaded = NULL;
    static double features[ROWS * COMPONENTS], again[ROWS * COMPONENTS], errors[ROWS];
    int status = EXIT_FAILURE;

    mercer_fit_options_init(&options);
    options.method = "kpca";
    options.kernel = "rbf:sigma=4";
    options.components = COMPONENTS;
    if (mercer_fit(ctx, &options, rows, NULL, &model, &report, &err) != MERCER_OK) {
        fail("fit", &err);
        goto out;
    }
    mercer_model_get_info(model, &info);
    printf("%lld rows, kernel %s, store %s, mean reconstruction error %.4f\n",
           (long long)mercer_rows_count(rows), info.kernel, report.store,
           report.reconstruction_error);
    for (int64_t i = 0; i < info.components; i++)
        printf("component %lld: eigenvalue %.6f\n", (long long)i + 1, info.spectrum[i]);
    if (info.components != COMPONENTS)
        goto out;

    if (mercer_model_transform(ctx, model, rows, NULL, features, errors, &err) != MERCER_OK ||
        mercer_model_save(ctx, model, path, &err) != MERCER_OK ||
        mercer_model_load(ctx, path, &loaded, &err) != MERCER_OK ||
        mercer_model_transform(ctx, loaded, rows, NULL, again, NULL, &err) != MERCER_OK) {
        fail(path, &err);
        goto out;
    }
    if (memcmp(features, again, sizeof features) == 0) {
        puts("the loaded model gives the same features");
        status = EXIT_SUCCESS;
    }
out:
    mercer_model_free(model);
    mercer_model_free(loaded);
    return status;
}

int main(int argc, char **argv)
{
    mercer_error err;
    mercer_dataset_options options;
    mercer_ctx *ctx = NULL;
    mercer_table *ring = NULL;

    if (mercer_ctx_new(&ctx, &err) != MERCER_OK)
        return fail("context", &err);
    mercer_dataset_options_init(&options);
    options.rows = ROWS;
    int status;
    if (mercer_dataset_generate(ctx, "circle", &options, &ring, &err) != MERCER_OK)
        status = fail("generate", &err);
    else
        status = run(ctx, mercer_table_rows(ring), argc > 1 ? argv[1] : "ring.safetensors");
    mercer_table_free(ring);
    mercer_ctx_free(ctx);
    return status;
}
