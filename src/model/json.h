/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON texts to Jansson's values.
 *
 * Jansson's own reader drops bytes of a text, or takes it for invalid, when memory runs out inside
 * it, and a library must not replace the allocator of a Jansson that its host may use, too. So the
 * text is read here, and Jansson only makes the values, which says when it cannot. */
#ifndef MRC_MODEL_JSON_H
#define MRC_MODEL_JSON_H

#include "base/error.h"

#include <jansson.h>

/* The value that text says, which must end with a zero byte; the caller has *out freed by
 * json_decref(). MERCER_ERR_FORMAT and *reason (static) when it is not JSON (RFC 8259), has a name
 * twice in one object, or a zero byte in a string; then err is untouched. MERCER_ERR_MEMORY. */
mercer_status mrc_json_parse(const char *text, size_t length, json_t **out, const char **reason,
                             mercer_error *err);

/* The JSON text of a value, zero-terminated; the caller frees *out by mrc_free(). */
mercer_status mrc_json_text(const json_t *value, char **out, size_t *length, mercer_error *err);
/* Fail because Jansson got no memory. */
mercer_status mrc_json_no_memory(mercer_error *err);

#endif
