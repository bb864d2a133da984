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

void mrc_pack_rows(const double *b, int64_t ldb, int64_t count, int64_t d, double *packed)
{
    for (int64_t first = 0; first < count; first += MRC_PACK, packed += MRC_PACK * d) {
        int64_t rows = count - first < MRC_PACK ? count - first : MRC_PACK;
        const double *from = b + first * ldb;
        for (int64_t k = 0; k < d; k++)
            for (int64_t i = 0; i < MRC_PACK; i++)
                packed[k * MRC_PACK + i] = i < rows ? from[i * ldb + k] : 0;
    }
}

void mrc_pack_rows_single(const float *b, int64_t ldb, int64_t count, int64_t d, float *packed)
{
    for (int64_t first = 0; first < count;
         first += MRC_PACK_SINGLE, packed += MRC_PACK_SINGLE * d) {
        int64_t rows = count - first < MRC_PACK_SINGLE ? count - first : MRC_PACK_SINGLE;
        const float *from = b + first * ldb;
        for (int64_t k = 0; k < d; k++)
            for (int64_t i = 0; i < MRC_PACK_SINGLE; i++)
                packed[k * MRC_PACK_SINGLE + i] = i < rows ? from[i * ldb + k] : 0;
    }
}
