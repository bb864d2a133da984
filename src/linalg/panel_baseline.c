/* SPDX-License-Identifier: BSD-3-Clause */
/* Two doubles at a time: what every x86-64 and arm64 processor has. */
#define WIDTH 2
#define TABLE mrc_panel_loops_narrow
#include "linalg/panel_loops.h"
