/* SPDX-License-Identifier: BSD-3-Clause */
/* Eight doubles at a time. */
#define WIDTH 8
#define TABLE mrc_panel_loops_avx512
#include "linalg/panel_loops.h"
