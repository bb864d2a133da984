/* SPDX-License-Identifier: BSD-3-Clause */
/* Four doubles at a time, with fused multiply-add. */
#define WIDTH 4
#define TABLE mrc_panel_loops_avx2
#include "linalg/panel_loops.h"
