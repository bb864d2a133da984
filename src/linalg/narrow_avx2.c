/* Four doubles at a time, with fused multiply-add. */
#define WIDTH 4
#define TABLE mrc_narrow_avx2
#include "linalg/narrow_loops.h"
