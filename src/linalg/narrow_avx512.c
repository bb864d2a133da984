/* Eight doubles at a time. */
#define WIDTH 8
#define TABLE mrc_narrow_avx512
#include "linalg/narrow_loops.h"
