/* SPDX-License-Identifier: BSD-3-Clause */
/* Gram-Schmidt of rows and columns against the same in quadruple precision. */
#include "support.h"

#include "quad.h"

#include "base/rng.h"
#include "linalg/orthonormal.h"

#include <math.h>
#include <string.h>

/* Vectors as rows of q, made orthonormal without any floor: r x m. */
static void plain(quad *q, int64_t r, int64_t m)
{
    for (int64_t j = 0; j < r; j++) {
        quad norm2 = 0;
        for (int64_t k = 0; k < j; k++) {
            quad along = 0;
            for (int64_t i = 0; i < m; i++)
                along += q[k * m + i] * q[j * m + i];
            for (int64_t i = 0; i < m; i++)
                q[j * m + i] -= along * q[k * m + i];
        }
        for (int64_t i = 0; i < m; i++)
            norm2 += q[j * m + i] * q[j * m + i];
        quad norm = sqrt((double)norm2); /* to 53 bits; one step of Newton's doubles them */
        norm = (norm + norm2 / norm) / 2;
        for (int64_t i = 0; i < m; i++)
            q[j * m + i] /= norm;
    }
}

/* Vectors that differ by `spread` from one another, in units of `scale`. */
static void draw(mrc_rng *rng, int64_t r, int64_t m, double spread, double scale, double *w)
{
    for (int64_t j = 0; j < r; j++)
        for (int64_t i = 0; i < m; i++)
            w[j * m + i] = scale * ((j ? w[i] / scale : 0) + spread * mrc_rng_normal(rng));
}

static void check(mrc_rng *rng, int64_t r, int64_t m, double spread, double scale)
{
    double *w = new_doubles(r * m), *u = new_doubles(r * m);
    quad *q = new_quads(r * m);
    draw(rng, r, m, spread, scale, w);
    for (int64_t j = 0; j < r; j++)
        for (int64_t i = 0; i < m; i++) {
            u[i * r + j] = w[j * m + i];
            q[j * m + i] = w[j * m + i] / (quad)scale;
        }
    plain(q, r, m);
    assert_true(mrc_orthonormalise(m, r, u));
    for (int64_t j = 0; j < r; j++)
        assert_true(mrc_orthonormalise_row(m, j, 1e-12, w));
    double worst = 0, worst_dot = 0;
    for (int64_t j = 0; j < r; j++) {
        for (int64_t i = 0; i < m; i++) {
            assert_true(u[i * r + j] == w[j * m + i]); /* rows and columns: the same bits */
            worst = fmax(worst, fabs((double)(w[j * m + i] - q[j * m + i])));
        }
        for (int64_t k = 0; k <= j; k++) {
            double dot = 0;
            for (int64_t i = 0; i < m; i++)
                dot += w[j * m + i] * w[k * m + i];
            worst_dot = fmax(worst_dot, fabs(dot - (j == k)));
        }
    }
    double allowed = 100 * (double)(r + m) * DBL_EPSILON;
    if (!(worst_dot <= allowed && worst <= allowed * (double)r / spread))
        fail_msg("%d x %d, spread %g, scale %g: off by %g, dots by %g", (int)r, (int)m, spread,
                 scale, worst, worst_dot);
    free(w);
    free(u);
    free(q);
}

static void test_against_quadruple_precision(void **state)
{
    static const double scales[] = {1e-140, 1e-9, 1, 1e9, 1e140};
    mrc_rng rng;
    (void)state;
    mrc_rng_seed(&rng, 3);
    for (int64_t r = 1; r <= 12; r++)
        for (int64_t m = 2 * r; m <= 96; m += 7)
            for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
                check(&rng, r, m, 1, scales[s]);
                check(&rng, r, m, 1e-3, scales[s]);
            }
}

/* Either side of the floor, and vectors that leave nothing. */
static void test_dependent_vectors(void **state)
{
    static const double floors[] = {1e-6, 1e-10, 1e-12};
    (void)state;
    for (size_t f = 0; f < sizeof floors / sizeof *floors; f++) {
        double above[] = {1, 0, 0, 1, 2 * floors[f], 0}, below[] = {1, 0, 0, 1, floors[f] / 2, 0};
        double columns[] = {1, 1, 0, 2 * floors[f], 0, 0};
        assert_true(mrc_orthonormalise_row(3, 1, floors[f], above));
        assert_true(above[3] == 0 && above[4] == 1 && above[5] == 0);
        assert_false(mrc_orthonormalise_row(3, 1, floors[f], below));
        assert_true(mrc_orthonormalise_column(3, 2, 1, floors[f], columns));
        columns[1] = 1;
        columns[3] = floors[f] / 2;
        assert_false(mrc_orthonormalise_column(3, 2, 1, floors[f], columns));
    }
    double zero[] = {0, 0}, twice[] = {3, 4, 6, 8}, unknown[] = {NAN, 1};
    assert_false(mrc_orthonormalise_row(2, 0, 1e-12, zero));
    assert_false(mrc_orthonormalise(1, 2, zero));
    assert_false(mrc_orthonormalise_row(2, 0, 1e-12, unknown));
    assert_true(mrc_orthonormalise_row(2, 0, 1e-12, twice));
    assert_false(mrc_orthonormalise_row(2, 1, 1e-12, twice));
    /* A zero row among those before it changes nothing. */
    double gap[] = {1, 0, 0, 0, 5, 2};
    assert_true(mrc_orthonormalise_row(2, 2, 1e-12, gap));
    assert_true(gap[4] == 0 && gap[5] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_quadruple_precision),
        cmocka_unit_test(test_dependent_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
