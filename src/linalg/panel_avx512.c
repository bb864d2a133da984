/* Eight doubles at a time. */
#define WIDTH 8
#define TABLE mrc_panel_loops_avx512
#include "linalg/panel_loops.h"
