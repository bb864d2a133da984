/* Two doubles at a time: what every x86-64 and arm64 processor has. */
#define WIDTH 2
#define TABLE mrc_narrow_narrow
#include "linalg/narrow_loops.h"
