/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the loops at run time: one binary serves every processor. */
#include "linalg/panel.h"

const mrc_panel_loops *mrc_panel_loops_for(mrc_simd simd)
{
#if defined(__x86_64__)
    if (simd == MRC_SIMD_AVX512)
        return mrc_panel_loops_avx512();
    if (simd == MRC_SIMD_AVX2)
        return mrc_panel_loops_avx2();
#endif
    (void)simd;
    return mrc_panel_loops_narrow();
}
