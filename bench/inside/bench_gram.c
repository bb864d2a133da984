/* SPDX-License-Identifier: BSD-3-Clause */
/* Time the parts of a selection on one store of the kernel matrix, with the data in memory.
 *
 *     bench_gram DATA KERNEL STORE THREADS SECONDS [METHOD FEATURES]...
 *
 * Prints one JSON object: building the store, one product of the (centred) matrix with one vector,
 * and for each method its fit without building the store. They stand in one process because their
 * ratios are what counts. Each time is the smallest of as many repetitions as SECONDS allow, ten at
 * most and one at least.
 *
 * The linker puts __wrap_mrc_gram_new in place of mrc_gram_new, so that what a fit spends in there
 * is known of that very fit: the difference of two fits would mostly be noise. */
#include "../bench.h"

#include "gram/gram.h"

#include <string.h>

enum { MAX_REPEATS = 10 };

struct store {
    mercer_ctx *ctx;
    const mercer_rows *rows;
    mrc_kernel kernel;
    mrc_gram_request request;
    mrc_gram *gram;
    mercer_fit_report report;
    double *in, *out; /* of a product */
};

struct fit {
    mercer_ctx *ctx;
    const mercer_rows *rows;
    mercer_fit_options options;
    mercer_model *model;
    mercer_fit_report report;
};

static double building; /* seconds spent in mrc_gram_new so far */

mercer_status __real_mrc_gram_new(mrc_gram **out, mercer_ctx *ctx, const mrc_kernel *kernel,
                                  const mercer_rows *rows, const mrc_gram_request *request,
                                  mercer_fit_report *report, mercer_error *err);
mercer_status __wrap_mrc_gram_new(mrc_gram **out, mercer_ctx *ctx, const mrc_kernel *kernel,
                                  const mercer_rows *rows, const mrc_gram_request *request,
                                  mercer_fit_report *report, mercer_error *err);

mercer_status __wrap_mrc_gram_new(mrc_gram **out, mercer_ctx *ctx, const mrc_kernel *kernel,
                                  const mercer_rows *rows, const mrc_gram_request *request,
                                  mercer_fit_report *report, mercer_error *err)
{
    double start = now();
    mercer_status rc = __real_mrc_gram_new(out, ctx, kernel, rows, request, report, err);
    building += now() - start;
    return rc;
}

struct timing {
    double building, rest; /* smallest seconds inside mrc_gram_new and outside it */
};

static struct timing time_work(mercer_status (*work)(void *self, mercer_error *err), void *self,
                               double seconds)
{
    mercer_error err;
    struct timing smallest = {INFINITY, INFINITY};
    double begin = now();
    for (int i = 0; i == 0 || (i < MAX_REPEATS && now() - begin < seconds); i++) {
        double start = now(), built = building;
        if (work(self, &err) != MERCER_OK)
            die("bench_gram", err.text);
        built = building - built;
        smallest.building = fmin(smallest.building, built);
        smallest.rest = fmin(smallest.rest, now() - start - built);
    }
    return smallest;
}

static mercer_status build(void *self, mercer_error *err)
{
    struct store *s = self;
    mrc_gram_free(s->gram);
    return mrc_gram_new(&s->gram, s->ctx, &s->kernel, s->rows, &s->request, &s->report, err);
}

static mercer_status pass(void *self, mercer_error *err)
{
    struct store *s = self;
    return mrc_gram_apply(s->gram, s->in, 1, s->out, err);
}

static mercer_status fit(void *self, mercer_error *err)
{
    struct fit *f = self;
    mercer_model_free(f->model);
    return mercer_fit(f->ctx, &f->options, f->rows, NULL, &f->model, &f->report, err);
}

static void print_store(struct store *s, const char *kernel, double seconds)
{
    mercer_error err;
    int64_t n = mercer_rows_count(s->rows);
    if (mrc_kernel_parse(&s->kernel, kernel, &err) != MERCER_OK ||
        mrc_kernel_resolve(&s->kernel, s->ctx, s->rows, &err) != MERCER_OK)
        die(kernel, err.text);
    s->in = calloc((size_t)n, sizeof *s->in);
    s->out = calloc((size_t)n, sizeof *s->out);
    if (!s->in || !s->out)
        die("bench_gram", "out of memory");
    for (int64_t i = 0; i < n; i++)
        s->in[i] = (double)(i % 7) - 3;
    double built = time_work(build, s, seconds).building;
    if (pass(s, &err) != MERCER_OK) /* the first one finds the column means too */
        die("bench_gram", err.text);
    printf("{\"rows\": %lld, \"store\": \"%s\", \"rank\": %lld, \"store_mb\": %.1f, ", (long long)n,
           s->report.store, (long long)s->report.store_rank, (double)s->report.store_bytes / 1e6);
    print_blas();
    printf("\"build_s\": %.9g, \"pass_s\": %.9g, \"fits\": [", built,
           time_work(pass, s, seconds).rest);
    mrc_gram_free(s->gram);
    free(s->in);
    free(s->out);
}

static void print_fit(struct fit *f, double seconds)
{
    mercer_model_info info = {.struct_size = sizeof info};
    printf("{\"spent_s\": %.9g, \"method\": \"%s\", ", time_work(fit, f, seconds).rest,
           f->options.method);
    mercer_model_get_info(f->model, &info);
    print_number("error", f->report.reconstruction_error);
    printf("\"features\": %lld, ", (long long)info.components);
    print_rows("selected", info.selected, info.selected_count);
    printf("}");
    mercer_model_free(f->model);
}

int main(int argc, char **argv)
{
    if (argc < 6 || argc % 2 == 1) {
        fputs("usage: bench_gram DATA KERNEL STORE THREADS SECONDS [METHOD FEATURES]...\n", stderr);
        return 2;
    }
    mercer_ctx *ctx = open_context((int)strtol(argv[4], NULL, 10));
    mercer_table *data = read_table(ctx, argv[1]);
    double seconds = strtod(argv[5], NULL);
    struct store store = {.ctx = ctx,
                          .rows = mercer_table_rows(data),
                          .request = {.store = mrc_store_find(argv[3]), .centered = true},
                          .report = {.struct_size = sizeof store.report}};
    print_store(&store, argv[2], seconds);
    for (int i = 6; i < argc; i += 2) {
        struct fit f = {.ctx = ctx, .rows = store.rows, .report = {.struct_size = sizeof f.report}};
        mercer_fit_options_init(&f.options);
        f.options.method = argv[i];
        f.options.kernel = argv[2];
        f.options.components = strtod(argv[i + 1], NULL);
        f.options.store = argv[3];
        printf("%s", i > 6 ? ", " : "");
        print_fit(&f, seconds);
    }
    printf("]}\n");
    mercer_table_free(data);
    mercer_ctx_free(ctx);
    return 0;
}
