/* SPDX-License-Identifier: BSD-3-Clause */
/* Mercer: kernel feature extraction. The only header a program has to include. */
#ifndef MERCER_MERCER_H
#define MERCER_MERCER_H

#include <mercer/api.h>
#include <mercer/array.h>
#include <mercer/comm.h>
#include <mercer/context.h>
#include <mercer/dataset.h>
#include <mercer/evaluate.h>
#include <mercer/fit.h>
#include <mercer/forecast.h>
#include <mercer/image.h>
#include <mercer/io.h>
#include <mercer/json.h>
#include <mercer/model.h>
#include <mercer/rows.h>
#include <mercer/status.h>
#include <mercer/stream.h>
#include <mercer/survey.h>

#endif
