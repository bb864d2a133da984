/* SPDX-License-Identifier: BSD-3-Clause */
/* The members that parts.def gives to one struct. Included inside the struct, after
 * MRC_IN_group(...) was defined as its arguments for each group that belongs to it. No include
 * guard: every struct has its own. */
#ifndef MRC_IN_model
#define MRC_IN_model(...)
#endif
#ifndef MRC_IN_novelty
#define MRC_IN_novelty(...)
#endif
#ifndef MRC_IN_head
#define MRC_IN_head(...)
#endif
#ifndef MRC_IN_state
#define MRC_IN_state(...)
#endif
#ifndef MRC_IN_counts
#define MRC_IN_counts(...)
#endif
#define MRC_LENGTH(group, member, ...) MRC_IN_##group(int64_t member;)
#define MRC_ARRAY(group, member, dtype, ...) MRC_IN_##group(MRC_C_##dtype *member;)
#define MRC_NUMBER(group, member, kind, ...) MRC_IN_##group(MRC_DECLARE_##kind(member);)
#define MRC_NAMES(group, member, ...) MRC_IN_##group(char **member;)
#include "model/parts.def"
#undef MRC_IN_model
#undef MRC_IN_novelty
#undef MRC_IN_head
#undef MRC_IN_state
#undef MRC_IN_counts
