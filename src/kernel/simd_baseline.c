/* SPDX-License-Identifier: BSD-3-Clause */
/* Two doubles at a time: what every x86-64 and arm64 processor has. */
#include <sleef.h>

#define WIDTH 2
#define NAME "narrow"
#define TABLE mrc_simd_loops_baseline
#if defined(__aarch64__)
#define VECTOR_LOG1P(x) ((vector)Sleef_log1pd2_u10advsimd((float64x2_t)(x)))
#define VECTOR_SQRT(x) ((vector)vsqrtq_f64((float64x2_t)(x)))
#define VECTOR_TANH(x) ((vector)Sleef_tanhd2_u10advsimd((float64x2_t)(x)))
#else
#define VECTOR_LOG1P(x) ((vector)Sleef_log1pd2_u10sse2((__m128d)(x)))
#define VECTOR_SQRT(x) ((vector)_mm_sqrt_pd((__m128d)(x)))
#define VECTOR_TANH(x) ((vector)Sleef_tanhd2_u10sse2((__m128d)(x)))
#endif
#include "kernel/simd_loops.h"
