/* Choice of the loops at run time: one binary serves every processor. */
#include "linalg/narrow.h"

const mrc_narrow *mrc_narrow_for(mrc_simd simd)
{
#if defined(__x86_64__)
    if (simd == MRC_SIMD_AVX512)
        return mrc_narrow_avx512();
    if (simd == MRC_SIMD_AVX2)
        return mrc_narrow_avx2();
#endif
    (void)simd;
    return mrc_narrow_narrow();
}
