/* SPDX-License-Identifier: BSD-3-Clause */
/* Eight doubles at a time. */
#include <sleef.h>

#define WIDTH 8
#define NAME "avx512"
#define TABLE mrc_simd_loops_avx512
#define VECTOR_LOG1P(x) ((vector)Sleef_log1pd8_u10avx512f((__m512d)(x)))
#define VECTOR_SQRT(x) ((vector)_mm512_sqrt_pd((__m512d)(x)))
#define VECTOR_TANH(x) ((vector)Sleef_tanhd8_u10avx512f((__m512d)(x)))
#include "kernel/simd_loops.h"
