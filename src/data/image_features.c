/* SPDX-License-Identifier: BSD-3-Clause */
/* Rectangle features of Viola and Jones ("Robust real-time face detection", 2004).
 *
 * A feature is the sum of the pixels in the black cells minus the sum in the white ones, the cells
 * being equal rectangles side by side:
 *
 *   two across   white black          two down: white above black
 *   three across white black white    three down: the same from top to bottom
 *   four         black white / white black
 *
 * Every kind, every cell size and every place that fits: 63,960 features of 19 x 19 pixels. They
 * come by kind (in the order above), then cell height, top, cell width, left, the last one running
 * fastest.
 *
 * With the integral image I (sums over everything above and left) a sum over a rectangle is a
 * difference of I in both directions, and a row of cells is a weighted difference: e.g. two across
 * is D(x) - 2 D(x + c) + D(x + 2c) of the differences D between two lines of I. So the vertical
 * half is done once for a line, and each feature costs at most four loads from it: constant work
 * whatever its size, in loops over x that the compiler makes vectors of. Images are independent
 * tasks. */
#include "data/prepare.h"

/* How many cells follow each other in one direction. */
enum cells { ONE = 1, TWO = 2, THREE = 3 };

static const struct {
    enum cells across, down;
} kinds[] = {{TWO, ONE}, {ONE, TWO}, {THREE, ONE}, {ONE, THREE}, {TWO, TWO}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Places of `cells` cells of every size along a line. */
static int64_t places(int64_t length, int64_t cells)
{
    int64_t sizes = length / cells;
    return sizes * (length + 1) - cells * (sizes * (sizes + 1) / 2);
}

int64_t mrc_haar_count(int64_t width, int64_t height)
{
    int64_t count = 0;
    for (int k = 0; k < KINDS; k++)
        count += places(width, kinds[k].across) * places(height, kinds[k].down);
    return count;
}

/* out[i] = black minus white of neighbouring cells, each `cell` long, the first of which starts at
 * sums[i]; one pixel further is `step` values further. */
static void differences(const double *sums, int64_t count, int64_t cell, int64_t step,
                        enum cells cells, double *out)
{
    const double *a = sums, *b = a + cell * step, *c = b + cell * step;
    switch (cells) {
    case ONE:
        for (int64_t i = 0; i < count; i++)
            out[i] = b[i] - a[i];
        break;
    case TWO:
        for (int64_t i = 0; i < count; i++)
            out[i] = (c[i] - b[i]) - (b[i] - a[i]);
        break;
    case THREE: {
        const double *d = c + cell * step;
        for (int64_t i = 0; i < count; i++)
            out[i] = 2 * (c[i] - b[i]) - (d[i] - a[i]);
        break;
    }
    }
}

struct job {
    const double *pixels;
    int64_t width, height, features;
    double *out;
    double *scratch; /* per worker: the integral image and one line */
    int64_t scratch_size;
};

static void integrate(const struct job *job, const double *pixels, double *sums)
{
    int64_t step = job->width + 1;
    for (int64_t x = 0; x < step; x++)
        sums[x] = 0;
    for (int64_t y = 0; y < job->height; y++) {
        double line = 0, *to = sums + (y + 1) * step;
        to[0] = 0;
        for (int64_t x = 0; x < job->width; x++) {
            line += pixels[y * job->width + x];
            to[x + 1] = to[x + 1 - step] + line;
        }
    }
}

static void image_task(void *arg, int64_t task, int worker)
{
    const struct job *job = arg;
    int64_t step = job->width + 1;
    double *sums = job->scratch + worker * job->scratch_size,
           *line = sums + step * (job->height + 1);
    double *out = job->out + task * job->features;
    integrate(job, job->pixels + task * job->width * job->height, sums);
    for (int k = 0; k < KINDS; k++) {
        int64_t across = kinds[k].across, down = kinds[k].down;
        for (int64_t high = 1; high * down <= job->height; high++)
            for (int64_t y = 0; y + high * down <= job->height; y++) {
                differences(sums + y * step, step, high, step, kinds[k].down, line);
                for (int64_t wide = 1; wide * across <= job->width; wide++) {
                    int64_t count = job->width + 1 - wide * across;
                    differences(line, count, wide, 1, kinds[k].across, out);
                    out += count;
                }
            }
    }
}

mercer_status mrc_haar_rows(mercer_ctx *ctx, const double *pixels, int64_t n, int64_t width,
                            int64_t height, double *out, mercer_error *err)
{
    enum { PART = 256 }; /* images between two looks at cancellation */
    struct job job = {.width = width, .height = height, .features = mrc_haar_count(width, height)};
    mercer_status rc = MERCER_OK;
    job.scratch_size = (width + 1) * (height + 2);
    MRC_TRY(mrc_alloc2_raw(&job.scratch, ctx->threads, job.scratch_size, sizeof *out, err));
    for (int64_t first = 0; first < n; first += PART) {
        int64_t count = n - first < PART ? n - first : PART;
        MRC_TRY(mrc_check_cancel(ctx, err));
        job.pixels = pixels + first * width * height;
        job.out = out + first * job.features;
        mrc_parfor_sized(ctx, count, 4.0 * (double)count * (double)job.features, image_task, &job);
    }
out:
    mrc_free(job.scratch);
    return rc;
}
