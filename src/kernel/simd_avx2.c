/* SPDX-License-Identifier: BSD-3-Clause */
/* Four doubles at a time, with fused multiply-add. */
#include <sleef.h>

#define WIDTH 4
#define NAME "avx2"
#define TABLE mrc_simd_loops_avx2
#define VECTOR_LOG1P(x) ((vector)Sleef_log1pd4_u10avx2((__m256d)(x)))
#define VECTOR_SQRT(x) ((vector)_mm256_sqrt_pd((__m256d)(x)))
#define VECTOR_TANH(x) ((vector)Sleef_tanhd4_u10avx2((__m256d)(x)))
#include "kernel/simd_loops.h"
