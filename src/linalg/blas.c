/* SPDX-License-Identifier: BSD-3-Clause */
/* Which BLAS runs, and with which of its kernels.
 *
 * OpenBLAS chooses its kernels by the model of the processor. One that is newer than itself gets
 * the kernels every processor can run (Prescott, Barcelona: vectors of 2 numbers where 4 or 8 would
 * do), which costs a factor of two to four in products of matrices. The variable OPENBLAS_CORETYPE
 * names others, but is read when OpenBLAS is loaded; so the library can only say what it would be,
 * and the program that uses it may start itself again. */
#include "linalg/blas.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#if defined(MRC_OPENBLAS)
#include <cblas.h>
#endif

static const char *const vector_names[] = {"", "SSE2", "SSE3", "SSE4.2", "AVX", "AVX2", "AVX-512"};

/* What the processors have that the kernels are made for. */
static const struct {
    const char *name;
    mrc_vectors vectors;
} known_kernels[] = {
    {"Opteron", MRC_VECTORS_SSE2},
    {"Prescott", MRC_VECTORS_SSE3},
    {"Opteron_SSE3", MRC_VECTORS_SSE3},
    {"Core2", MRC_VECTORS_SSE3},
    {"Penryn", MRC_VECTORS_SSE3},
    {"Dunnington", MRC_VECTORS_SSE3},
    {"Barcelona", MRC_VECTORS_SSE3},
    {"Bobcat", MRC_VECTORS_SSE3},
    {"Atom", MRC_VECTORS_SSE3},
    {"Nano", MRC_VECTORS_SSE3},
    {"Nehalem", MRC_VECTORS_SSE42},
    {"Sandybridge", MRC_VECTORS_AVX},
    {"Bulldozer", MRC_VECTORS_AVX},
    {"Piledriver", MRC_VECTORS_AVX},
    {"Steamroller", MRC_VECTORS_AVX},
    {"Excavator", MRC_VECTORS_AVX2},
    {"Haswell", MRC_VECTORS_AVX2},
    {"Zen", MRC_VECTORS_AVX2},
    {"SkylakeX", MRC_VECTORS_AVX512},
    {"Cooperlake", MRC_VECTORS_AVX512},
    {"SapphireRapids", MRC_VECTORS_AVX512},
};

/* What to ask for, by the vectors of the processor. */
static const char *const best_kernels[] = {
    [MRC_VECTORS_SSE42] = "Nehalem",
    [MRC_VECTORS_AVX] = "Sandybridge",
    [MRC_VECTORS_AVX2] = "Haswell",
    [MRC_VECTORS_AVX512] = "SkylakeX",
};

mrc_vectors mrc_kernels_vectors(const char *kernels)
{
    for (size_t i = 0; i < sizeof known_kernels / sizeof *known_kernels; i++)
        if (strcmp(kernels, known_kernels[i].name) == 0)
            return known_kernels[i].vectors;
    return MRC_VECTORS_UNKNOWN;
}

const char *mrc_kernels_wider(const char *taken, mrc_vectors processor)
{
    const mrc_vectors now = mrc_kernels_vectors(taken);
    if (now == MRC_VECTORS_UNKNOWN || now >= processor || processor < MRC_VECTORS_SSE42)
        return NULL;
    return best_kernels[processor];
}

/* Only what the system saves and restores counts, which the compiler's function asks too. */
static mrc_vectors processor_vectors(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd"))
        return MRC_VECTORS_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return MRC_VECTORS_AVX2;
    if (__builtin_cpu_supports("avx"))
        return MRC_VECTORS_AVX;
    if (__builtin_cpu_supports("sse4.2"))
        return MRC_VECTORS_SSE42;
    return __builtin_cpu_supports("sse3") ? MRC_VECTORS_SSE3 : MRC_VECTORS_SSE2;
#else
    return MRC_VECTORS_UNKNOWN;
#endif
}

#if defined(MRC_OPENBLAS)
/* Whether OpenBLAS is part of the same file as this function. */
static bool is_private(void)
{
    int (*const theirs)(void) = openblas_get_parallel;
    const char *(*const ours)(void) = mercer_blas;
    void *address[2];
    Dl_info file[2];
    memcpy(&address[0], &theirs, sizeof theirs);
    memcpy(&address[1], &ours, sizeof ours);
    return dladdr(address[0], &file[0]) && dladdr(address[1], &file[1]) &&
           file[0].dli_fbase == file[1].dli_fbase;
}
#endif

const char *mercer_blas(void)
{
#if defined(MRC_OPENBLAS)
    static const char *const builds[] = {"serial", "pthread", "openmp"};
    const int build = openblas_get_parallel();
    if (is_private())
        return "private";
    return build >= 0 && build <= 2 ? builds[build] : "other";
#else
    return "other";
#endif
}

const char *mercer_blas_kernels(void)
{
#if defined(MRC_OPENBLAS)
    return openblas_get_corename();
#else
    return "";
#endif
}

const char *mercer_blas_kernels_vectors(void)
{
    return vector_names[mrc_kernels_vectors(mercer_blas_kernels())];
}

const char *mercer_blas_kernels_wider(void)
{
#if defined(MRC_OPENBLAS)
    /* A build for one processor does not listen to the variable. */
    if (!strstr(openblas_get_config(), "DYNAMIC_ARCH"))
        return NULL;
#endif
    return mrc_kernels_wider(mercer_blas_kernels(), processor_vectors());
}

const char *mercer_processor_vectors(void)
{
    return vector_names[processor_vectors()];
}

bool mrc_blas_is_foreign(void)
{
#if defined(MRC_OPENBLAS) && defined(MRC_BLAS_OPENMP)
    return !is_private() && openblas_get_parallel() != 2;
#else
    return false;
#endif
}
