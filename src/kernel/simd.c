/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the inner loops at run time: one binary serves every processor. */
#include "kernel/simd.h"

const mrc_simd_loops *mrc_simd_loops_for(mrc_simd simd)
{
#if defined(__x86_64__)
    if (simd == MRC_SIMD_AVX512)
        return mrc_simd_loops_avx512();
    if (simd == MRC_SIMD_AVX2)
        return mrc_simd_loops_avx2();
#endif
    (void)simd;
    return mrc_simd_loops_baseline();
}
