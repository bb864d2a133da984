/* Model files: safetensors, so that any language can open them. docs/format.md is the description.
 *
 *   8 bytes   N, little-endian
 *   N bytes   JSON, padded with spaces: {"__metadata__":{text:text,...}, name:{dtype,shape,
 *             data_offsets}, ...}
 *   the rest  the tensors, little-endian, back to back in the order of their offsets
 *
 * All meaning is in __metadata__; numbers there are exact in every locale. The
 * checksum is the CRC-32 of the whole file with its own eight digits taken as zeroes. Lengths are
 * compared with the bytes that are there before anything is allocated for them, and tensors are
 * read straight into the arrays of the model. The same model gives the same bytes. */
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "model/json.h"
#include "model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "model files are little-endian; this host needs byte swapping in file.c"
#endif
_Static_assert(sizeof(double) == 8, "model files hold 8-byte doubles");

enum {
    FORMAT_VERSION = 2, /* the newest we read; packed points and mean weights need it. A streaming
                           state does not: older readers skip it and have the model */
    MOST_HEADER = 64 << 20,
    CHECKSUM_DIGITS = 8,
    READ_STEP = 1 << 24 /* bytes a pipe must have delivered before its buffer grows */
};

/* Stands once in every header: in a JSON string its quotation marks would be escaped. */
static const char checksum_key[] = "\"checksum\":\"crc32:";
static const char checksum_blank[] = "crc32:00000000";

/* By mercer_target_kind. */
static const char *const head_kinds[] = {"none", "classes", "values"};

/* ---- Text: JSON takes UTF-8 only, names from files can be any bytes ---- */

/* U+EF80 .. U+EFFF stand for the bytes 0x80 .. 0xFF that are no UTF-8. */
static bool is_byte_code(const unsigned char *s)
{
    return s[0] == 0xEE && (s[1] == 0xBE || s[1] == 0xBF);
}

static mercer_status text_encode(const char *text, char **out, mercer_error *err)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned char *to;
    mercer_status rc = mrc_alloc2_raw(out, (int64_t)strlen(text) + 1, 3, 1, err);
    if (rc != MERCER_OK)
        return rc;
    to = (unsigned char *)*out;
    while (*s) {
        int length = mrc_utf8_length(s);
        if (length == 0 || is_byte_code(s)) {
            *to++ = 0xEE;
            *to++ = *s < 0xC0 ? 0xBE : 0xBF;
            *to++ = *s < 0xC0 ? *s : (unsigned char)(*s - 0x40);
            s++;
        } else {
            memcpy(to, s, (size_t)length);
            to += length;
            s += length;
        }
    }
    *to = 0;
    return MERCER_OK;
}

/* Back in place: the text only shrinks. */
static void text_decode(char *text)
{
    unsigned char *s = (unsigned char *)text, *to = s;
    while (*s) {
        if (is_byte_code(s)) {
            *to++ = s[1] == 0xBE ? s[2] : (unsigned char)(s[2] + 0x40);
            s += 3;
        } else {
            *to++ = *s++;
        }
    }
    *to = 0;
}

/* ---- Saving ---- */

static mercer_status no_memory(mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_MEMORY, "out of memory (model header)");
}

static mercer_status put_text(json_t *object, const char *key, const char *text, mercer_error *err)
{
    char *encoded = NULL;
    mercer_status rc = MERCER_OK;
    if (!text)
        return MERCER_OK;
    MRC_TRY(text_encode(text, &encoded, err));
    if (json_object_set_new(object, key, json_string(encoded)) != 0)
        rc = no_memory(err);
out:
    mrc_free(encoded);
    return rc;
}

static mercer_status put_int(json_t *object, const char *key, int64_t value, mercer_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return put_text(object, key, text, err);
}

static mercer_status put_real(json_t *object, const char *key, double value, mercer_error *err)
{
    char text[MRC_NUMBER_SIZE];
    mrc_format_double(value, text);
    return put_text(object, key, text, err);
}

/* The JSON text of value, zero-terminated, from mrc_alloc. */
static mercer_status dump(const json_t *value, char **out, size_t *length, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *out = NULL;
    size_t size = json_dumpb(value, NULL, 0, JSON_COMPACT);
    if (size == 0)
        return no_memory(err);
    rc = mrc_alloc(out, (int64_t)size + 1, 1, err);
    if (rc == MERCER_OK && json_dumpb(value, *out, size, JSON_COMPACT) != size)
        rc = no_memory(err);
    *length = size;
    return rc;
}

/* Strings of any bytes as a JSON array, for json_decref. */
static mercer_status names_to_json(char *const *names, int64_t count, json_t **out,
                                   mercer_error *err)
{
    char *name = NULL;
    mercer_status rc = MERCER_OK;
    *out = json_array();
    if (!*out)
        MRC_TRY(no_memory(err));
    for (int64_t j = 0; j < count; j++) {
        MRC_TRY(text_encode(names[j], &name, err));
        if (json_array_append_new(*out, json_string(name)) != 0)
            MRC_TRY(no_memory(err));
        mrc_free(name);
        name = NULL;
    }
out:
    mrc_free(name);
    return rc;
}

/* Metadata is text, so lists stand in it as the text of their JSON. */
static mercer_status put_json(json_t *object, const char *key, const json_t *value,
                              mercer_error *err)
{
    char *text = NULL;
    size_t length = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(dump(value, &text, &length, err));
    if (json_object_set_new(object, key, json_string(text)) != 0)
        MRC_TRY(no_memory(err));
out:
    mrc_free(text);
    return rc;
}

static mercer_status put_names(json_t *object, const char *key, char *const *names, int64_t count,
                               mercer_error *err)
{
    json_t *list = NULL;
    mercer_status rc = MERCER_OK;
    if (!names)
        return MERCER_OK;
    MRC_TRY(names_to_json(names, count, &list, err));
    MRC_TRY(put_json(object, key, list, err));
out:
    json_decref(list);
    return rc;
}

static mercer_status put_head(json_t *meta, const mrc_head *head, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!head->spec)
        return MERCER_OK;
    MRC_TRY(put_text(meta, "head", head->spec, err));
    MRC_TRY(put_text(meta, "head_kind", head_kinds[head->kind], err));
    MRC_TRY(put_int(meta, "head_outputs", head->outputs, err));
    MRC_TRY(put_int(meta, "head_rows", head->rows, err));
    if (head->whole)
        MRC_TRY(put_text(meta, "head_whole", "true", err));
    MRC_TRY(put_names(meta, "head_names", head->names, head->outputs, err));
    MRC_TRY(put_text(meta, "scale_target", mrc_scale_name(head->scale), err));
out:
    return rc;
}

/* Numbers of the streaming state; its arrays are tensors. */
static mercer_status put_state(json_t *meta, const mrc_state *state, mercer_error *err)
{
    char random[80];
    mercer_status rc = MERCER_OK;
    if (!state->factor)
        return MERCER_OK;
    snprintf(random, sizeof random, "%016llx %016llx %016llx %016llx",
             (unsigned long long)state->random[0], (unsigned long long)state->random[1],
             (unsigned long long)state->random[2], (unsigned long long)state->random[3]);
    MRC_TRY(put_text(meta, "state_random", random, err));
    MRC_TRY(put_int(meta, "state_rank", state->rank, err));
    MRC_TRY(put_int(meta, "state_blocks", state->blocks, err));
    MRC_TRY(put_int(meta, "state_compressed", state->compressed, err));
    MRC_TRY(put_int(meta, "state_input_rows", state->input_rows, err));
    MRC_TRY(put_int(meta, "state_input_checksum", state->input_crc, err));
    MRC_TRY(put_int(meta, "state_input_finished", state->input_finished, err));
    MRC_TRY(put_int(meta, "state_evaluations", state->evaluations, err));
    MRC_TRY(put_int(meta, "state_block_evaluations", state->block_evaluations, err));
    if (state->uncounted)
        MRC_TRY(put_int(meta, "state_uncounted", state->uncounted, err));
    MRC_TRY(put_int(meta, "state_window", state->window, err));
    MRC_TRY(put_int(meta, "state_pending", state->pending, err));
    MRC_TRY(put_real(meta, "state_weight", state->weight, err));
    MRC_TRY(put_real(meta, "state_diagonal", state->diagonal, err));
    MRC_TRY(put_real(meta, "state_largest", state->largest, err));
    MRC_TRY(put_real(meta, "state_lost", state->lost, err));
    MRC_TRY(put_real(meta, "state_outside", state->outside, err));
    MRC_TRY(put_real(meta, "state_halving", state->halving, err));
    MRC_TRY(put_real(meta, "state_reach", state->reach, err));
out:
    return rc;
}

/* The columns of the file: {"name": ..., "values": [...]}, the values of text columns only. */
static mercer_status put_encodings(json_t *meta, const mercer_prepare *prepare, mercer_error *err)
{
    json_t *list = NULL, *values = NULL;
    mercer_status rc = MERCER_OK;
    if (prepare->sources == 0)
        return MERCER_OK;
    MRC_TRY(put_text(meta, "encode", "onehot", err));
    list = json_array();
    for (int64_t s = 0; s < prepare->sources; s++) {
        const mrc_encoding *encoding = &prepare->encodings[s];
        json_t *source = json_object();
        if (json_array_append_new(list, source) != 0) /* list owns source, also now */
            MRC_TRY(no_memory(err));
        if (prepare->source_names)
            MRC_TRY(put_text(source, "name", prepare->source_names[s], err));
        if (encoding->count == 0)
            continue;
        MRC_TRY(names_to_json(encoding->values, encoding->count, &values, err));
        if (json_object_set(source, "values", values) != 0)
            MRC_TRY(no_memory(err));
        json_decref(values);
        values = NULL;
    }
    MRC_TRY(put_json(meta, "encodings", list, err));
out:
    json_decref(list);
    json_decref(values);
    return rc;
}

/* Only what there is: most models are fitted to the columns as they stand. */
static mercer_status put_prepare(json_t *meta, const mercer_prepare *prepare, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(put_encodings(meta, prepare, err));
    if (prepare->missing != MRC_MISSING_ERROR)
        MRC_TRY(put_text(meta, "missing", mrc_missing_name(prepare->missing), err));
    if (prepare->image != MRC_IMAGE_NONE) {
        MRC_TRY(put_text(meta, "image_features", mrc_image_kind_name(prepare->image), err));
        MRC_TRY(put_int(meta, "image_width", prepare->size.width, err));
        MRC_TRY(put_int(meta, "image_height", prepare->size.height, err));
        MRC_TRY(put_int(meta, "image_channels", prepare->size.channels, err));
    }
out:
    return rc;
}

static mercer_status put_metadata(json_t *header, const mercer_model *model, mercer_error *err)
{
    json_t *meta = json_object();
    mercer_status rc = MERCER_OK;

    if (json_object_set_new(header, "__metadata__", meta) != 0) /* header owns meta, also now */
        return no_memory(err);
    MRC_TRY(put_text(meta, "format", "mercer-model", err));
    /* As old a reader as can be will do. */
    int version = model->z_packed || model->mean_weights ? FORMAT_VERSION : 1;
    MRC_TRY(put_int(meta, "format_version", version, err));
    MRC_TRY(put_int(meta, "oldest_readable_version", version, err));
    MRC_TRY(put_text(meta, "checksum", checksum_blank, err));
    MRC_TRY(put_text(meta, "library_version", model->version, err));
    MRC_TRY(put_text(meta, "method", model->method, err));
    MRC_TRY(put_text(meta, "kernel", model->kernel_text, err));
    MRC_TRY(put_text(meta, "center", mrc_center_name(model->center), err));
    MRC_TRY(put_text(meta, "scale", mrc_scale_name(model->scale.kind), err));
    MRC_TRY(put_int(meta, "rows", model->rows, err));
    if (model->weight != (double)model->rows)
        MRC_TRY(put_real(meta, "weight", model->weight, err));
    MRC_TRY(put_int(meta, "columns", model->columns, err));
    MRC_TRY(put_int(meta, "components", model->components, err));
    MRC_TRY(put_int(meta, "expansion_points", model->points, err));
    MRC_TRY(put_text(meta, "orthonormal", model->orthonormal ? "true" : "false", err));
    if (model->correlated)
        MRC_TRY(put_text(meta, "correlated", "true", err));
    if (model->whole)
        MRC_TRY(put_text(meta, "whole", "true", err));
    MRC_TRY(put_real(meta, "mean_norm2", model->mean_norm2, err));
    MRC_TRY(put_real(meta, "total_variance", model->total_variance, err));
    MRC_TRY(put_real(meta, "reconstruction_error", model->reconstruction_error, err));
    if (!isnan(model->kernel_alignment))
        MRC_TRY(put_real(meta, "kernel_alignment", model->kernel_alignment, err));
    if (model->novelty_share > 0) {
        MRC_TRY(put_real(meta, "novelty_share", model->novelty_share, err));
        MRC_TRY(put_real(meta, "novelty_threshold", model->novelty_threshold, err));
    }
    MRC_TRY(put_names(meta, "column_names", model->column_names, model->columns, err));
    MRC_TRY(put_prepare(meta, &model->prepare, err));
    MRC_TRY(put_head(meta, &model->head, err));
    MRC_TRY(put_state(meta, &model->state, err));
    MRC_TRY(put_text(meta, "command", model->command, err));
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)model->seed);
    MRC_TRY(put_text(meta, "seed", seed, err));
    MRC_TRY(put_text(meta, "data_hash", model->data_hash, err));
out:
    return rc;
}

static const char *const dtype_names[] = {"F64", "F32", "U8"}; /* of mrc_dtype */
enum { DTYPES = sizeof dtype_names / sizeof *dtype_names };

/* The tensors of a model in file order. One list serves both directions. */
enum { TENSORS = 44 };

struct tensor {
    const char *name;
    const char *dtype; /* F64, F32, U8, I64 or I32 */
    int rank;
    int64_t shape[2];
    void *data; /* address of the model's pointer to it, which is NULL when it has none */
};

/* Pointers of different types may not be read as one another, only copied. */
static void *tensor_data(const struct tensor *tensor)
{
    void *data;
    memcpy(&data, tensor->data, sizeof data);
    return data;
}

static void list_tensors(mercer_model *model, struct tensor tensors[TENSORS])
{
    int64_t m = model->points, d = model->columns, l = model->components;
    void *z = model->z_dtype == MRC_F64 ? (void *)&model->z : &model->z_packed;
    mrc_head *head = &model->head;
    int64_t functions = mrc_head_functions(head);
    /* Sizes of a file are anything; no array is as long as the largest. */
    int64_t increments =
        (double)(l + 1) * (double)head->outputs < 9e18 ? (l + 1) * head->outputs : INT64_MAX;
    mrc_state *state = &model->state;
    int64_t kept = state->window + state->pending;
    const struct tensor list[TENSORS] = {
        {"z_start", "I64", 1, {m + 1, 1}, &model->z_csr.start},
        {"z_value", "F64", 1, {model->z_entries, 1}, &model->z_csr.value},
        {"coefficients", "F64", 2, {model->basis_points, l}, &model->coefficients},
        {"offsets", "F64", 1, {l, 1}, &model->offsets},
        {"mean", "F64", 1, {m, 1}, &model->mean},
        {"mean_weights", "F64", 1, {l, 1}, &model->mean_weights},
        {"weights", "F64", 2, {d, l}, &model->weights},
        {"input_center", "F64", 1, {d, 1}, &model->input_center},
        {"spectrum", "F64", 1, {l, 1}, &model->spectrum},
        {"selected", "I64", 1, {model->selected_count, 1}, &model->selected},
        {"selection",
         "F64",
         2,
         {model->selected_count, MERCER_SELECTION_COLUMNS},
         &model->selection},
        {"alignment", "F64", 1, {l, 1}, &model->alignment},
        {"covariance", "F64", 1, {l, 1}, &model->covariance},
        {"evaluations", "I64", 1, {l, 1}, &model->evaluations},
        {"bound", "F64", 2, {l, MERCER_BOUND_COLUMNS}, &model->bound},
        {"influence", "F64", 2, {model->influence_count, 2}, &model->influence},
        {"trace", "F64", 2, {model->trace_count, MERCER_TRACE_COLUMNS}, &model->trace},
        {"scale_shift", "F64", 1, {d, 1}, &model->scale.shift},
        {"scale_factor", "F64", 1, {d, 1}, &model->scale.factor},
        {"prepare.means", "F64", 1, {model->prepare.means_count, 1}, &model->prepare.means},
        {"head.errors", "F64", 1, {l, 1}, &head->errors},
        {"head.center", "F64", 1, {l, 1}, &head->center},
        {"head.basis", "F64", 2, {l, l}, &head->basis},
        {"head.weights", "F64", 2, {l, head->outputs}, &head->weights},
        {"head.intercept", "F64", 1, {head->outputs, 1}, &head->intercept},
        {"head.class_centers", "F64", 2, {head->outputs, l}, &head->class_centers},
        {"head.increments", "F64", 2, {l, increments}, &head->increments},
        {"head.points", "F64", 2, {head->rows, l}, &head->points},
        {"head.codes", "I64", 1, {head->rows, 1}, &head->codes},
        {"head.values", "F64", 2, {head->rows, head->outputs}, &head->values},
        {"head.dual", "F64", 2, {head->rows, functions}, &head->dual},
        {"head.function_weights", "F64", 2, {l, functions}, &head->function_weights},
        {"head.function_offsets", "F64", 1, {functions, 1}, &head->function_offsets},
        {"state.factor", "F64", 2, {m, m}, &state->factor},
        {"state.basis", "F64", 2, {m, state->rank}, &state->basis},
        {"state.singular", "F64", 1, {state->rank, 1}, &state->singular},
        {"state.mean", "F64", 1, {m, 1}, &state->mean},
        {"state.coordinates", "F64", 2, {state->window, m}, &state->coordinates},
        {"state.kept", "F64", 2, {kept, d}, &state->kept},
        {"state.kept_start", "I64", 1, {kept + 1, 1}, &state->kept_csr.start},
        {"state.kept_value", "F64", 1, {state->kept_entries, 1}, &state->kept_csr.value},
        /* Last: the others then lie on multiples of eight bytes. */
        {"z", dtype_names[model->z_dtype], 2, {m, d}, z},
        {"z_column", "I32", 1, {model->z_entries, 1}, &model->z_csr.column},
        {"state.kept_column", "I32", 1, {state->kept_entries, 1}, &state->kept_csr.column},
    };
    memcpy(tensors, list, sizeof list);
}

/* Bytes of one value. */
static int64_t tensor_width(const struct tensor *tensor)
{
    const char *dtype = tensor->dtype;
    return strcmp(dtype, "U8") == 0 ? 1 : strstr(dtype, "32") ? 4 : 8;
}

/* Bytes of a tensor to be written: 0 when the model has none. */
static size_t tensor_bytes(const struct tensor *tensor)
{
    int64_t bytes = tensor->shape[0] * tensor->shape[1] * tensor_width(tensor);
    return tensor_data(tensor) ? (size_t)bytes : 0;
}

static mercer_status put_tensor(json_t *header, const struct tensor *tensor, size_t begin,
                                mercer_error *err)
{
    size_t bytes = tensor_bytes(tensor);
    json_t *shape = tensor->rank == 1 ? json_pack("[I]", (json_int_t)tensor->shape[0])
                                      : json_pack("[II]", (json_int_t)tensor->shape[0],
                                                  (json_int_t)tensor->shape[1]);
    /* json_pack takes over shape, also on failure. */
    json_t *entry = json_pack("{s:s,s:o,s:[I,I]}", "dtype", tensor->dtype, "shape", shape,
                              "data_offsets", (json_int_t)begin, (json_int_t)(begin + bytes));
    if (!entry || json_object_set_new(header, tensor->name, entry) != 0)
        return no_memory(err);
    return MERCER_OK;
}

/* Where the eight digits of the checksum stand in the header, or NULL unless there is one place. */
static char *find_checksum(char *header, size_t length)
{
    size_t key = sizeof checksum_key - 1;
    char *at = memmem(header, length, checksum_key, key);
    if (!at)
        return NULL;
    char *digits = at + key;
    size_t left = length - (size_t)(digits - header);
    if (left < CHECKSUM_DIGITS || memmem(digits, left, checksum_key, key))
        return NULL;
    return digits;
}

static mercer_status build_header(const mercer_model *model, const struct tensor *tensors,
                                  char **out, size_t *length, mercer_error *err)
{
    json_t *header = json_object();
    char *text = NULL;
    size_t begin = 0;
    mercer_status rc = MERCER_OK;

    if (!header)
        MRC_TRY(no_memory(err));
    MRC_TRY(put_metadata(header, model, err));
    for (int i = 0; i < TENSORS; i++)
        if (tensor_bytes(&tensors[i]) > 0) {
            MRC_TRY(put_tensor(header, &tensors[i], begin, err));
            begin += tensor_bytes(&tensors[i]);
        }
    MRC_TRY(dump(header, &text, length, err));
    size_t padded = (*length + 7) / 8 * 8;
    if (padded > MOST_HEADER)
        MRC_FAIL(err, MERCER_ERR_ARGUMENT,
                 "the names of columns and values of the model take more than 64 MB");
    MRC_TRY(mrc_alloc(out, (int64_t)padded, 1, err));
    memset(*out, ' ', padded);
    memcpy(*out, text, *length);
    *length = padded;
out:
    json_decref(header);
    mrc_free(text);
    return rc;
}

mercer_status mercer_model_save(mercer_ctx *ctx, const mercer_model *model, const char *path,
                                mercer_error *err)
{
    MRC_NEED(ctx);
    MRC_NEED(model);
    MRC_NEED(path);
    struct tensor tensors[TENSORS];
    mrc_output *output = NULL;
    char *header = NULL, digits[CHECKSUM_DIGITS + 1];
    size_t length = 0;
    mercer_status rc = MERCER_OK;

    list_tensors((mercer_model *)model, tensors); /* only read here */
    MRC_TRY(build_header(model, tensors, &header, &length, err));
    uint64_t length64 = length;
    uLong crc = crc32_z(0, (const Bytef *)&length64, sizeof length64);
    crc = crc32_z(crc, (const Bytef *)header, length);
    for (int i = 0; i < TENSORS; i++)
        if (tensor_data(&tensors[i]))
            crc = crc32_z(crc, tensor_data(&tensors[i]), tensor_bytes(&tensors[i]));
    snprintf(digits, sizeof digits, "%08lx", crc & 0xFFFFFFFFUL);
    memcpy(find_checksum(header, length), digits, CHECKSUM_DIGITS);

    MRC_TRY(mrc_alloc(&output, 1, sizeof *output, err));
    output->fd = -1;
    MRC_TRY(mrc_output_open(output, ctx, path, err));
    MRC_TRY(mrc_output_write(output, &length64, sizeof length64, err));
    MRC_TRY(mrc_output_write(output, header, length, err));
    for (int i = 0; i < TENSORS; i++)
        if (tensor_data(&tensors[i]))
            MRC_TRY(
                mrc_output_write(output, tensor_data(&tensors[i]), tensor_bytes(&tensors[i]), err));
    MRC_TRY(mrc_output_finish(output, err));
out:
    if (output)
        mrc_output_abort(output); /* nothing to do once finished */
    mrc_free(output);
    mrc_free(header);
    return rc;
}

/* ---- Loading ---- */

/* The bytes of a file: a descriptor, or memory. */
struct source {
    const char *name;
    int fd;                      /* -1: memory */
    const unsigned char *memory; /* the bytes from `base` on */
    unsigned char *owned;        /* what a pipe delivered; behind memory */
    size_t base, at, size;
    bool size_known;
    uLong crc;
};

static mercer_status not_a_model(const struct source *source, const char *reason, mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_FORMAT, "%s: is not a Mercer model (%s)", source->name, reason);
}

static mercer_status damaged(const struct source *source, const char *reason, const char *what,
                             mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE]; /* what comes from the file may hold anything */
    return mrc_fail(err, MERCER_ERR_FORMAT, "%s: is damaged (%s%s)", source->name, reason,
                    what ? mrc_show(shown, what, strlen(what)) : "");
}

static mercer_status truncated(const struct source *source, uint64_t expected, uint64_t found,
                               mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_FORMAT, "%s: is truncated (%llu bytes expected, %llu found)",
                    source->name, (unsigned long long)expected, (unsigned long long)found);
}

/* Read up to bytes; *got is less only at the end of the file. */
static mercer_status source_read(struct source *source, void *to, size_t bytes, size_t *got,
                                 mercer_error *err)
{
    *got = 0;
    if (source->fd < 0) {
        size_t left = source->size - source->at;
        *got = bytes < left ? bytes : left;
        memcpy(to, source->memory + (source->at - source->base), *got);
    }
    while (source->fd >= 0 && *got < bytes) {
        size_t want = bytes - *got < READ_STEP ? bytes - *got : READ_STEP;
        ssize_t n = read(source->fd, (char *)to + *got, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot read", source->name);
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    source->at += *got;
    return MERCER_OK;
}

/* Take the rest of a pipe, up to `total` bytes of the whole file, into memory. The buffer grows
 * with what arrives, not with what the header promises. */
static mercer_status source_slurp(struct source *source, size_t total, mercer_error *err)
{
    size_t base = source->at, filled = 0, wanted = total - base, got;
    char extra;
    mercer_status rc = MERCER_OK;

    while (filled < wanted) {
        size_t step = filled > READ_STEP ? filled : READ_STEP;
        if (step > wanted - filled)
            step = wanted - filled;
        MRC_TRY(mrc_grow(&source->owned, (int64_t)(filled + step), 1, err));
        MRC_TRY(source_read(source, source->owned + filled, step, &got, err));
        filled += got;
        if (got < step)
            break;
    }
    got = 0;
    if (filled == wanted)
        MRC_TRY(source_read(source, &extra, 1, &got, err));
    source->size = source->at; /* one more than total when there are bytes left over */
    source->size_known = true;
    source->fd = -1;
    source->base = source->at = base;
    source->memory = source->owned;
out:
    return rc;
}

/* One entry of the header. */
struct entry {
    const char *name;
    const json_t *json;
    int64_t begin, end;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end); /* empty ones first */
}

static bool get_integer(const json_t *value, int64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = json_integer_value(value);
    return true;
}

/* List the tensors of the header in the order of their bytes: no gaps, no overlaps. */
static mercer_status read_entries(const struct source *source, json_t *header,
                                  struct entry **entries, int64_t *count, int64_t *bytes,
                                  mercer_error *err)
{
    const char *name;
    json_t *value;
    int64_t n = 0;
    mercer_status rc = mrc_alloc(entries, (int64_t)json_object_size(header), sizeof **entries, err);
    if (rc != MERCER_OK)
        return rc;
    json_object_foreach(header, name, value)
    {
        struct entry *entry = *entries + n;
        const json_t *offsets = json_object_get(value, "data_offsets");
        if (strcmp(name, "__metadata__") == 0)
            continue;
        if (json_array_size(offsets) != 2 ||
            !get_integer(json_array_get(offsets, 0), &entry->begin) ||
            !get_integer(json_array_get(offsets, 1), &entry->end) || entry->begin > entry->end ||
            entry->end > INT64_MAX / 4)
            return damaged(source, "no usable data_offsets for tensor ", name, err);
        entry->name = name;
        entry->json = value;
        n++;
    }
    qsort(*entries, (size_t)n, sizeof **entries, compare_entries);
    *bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        if ((*entries)[i].begin != *bytes)
            return damaged(source, "gap or overlap before tensor ", (*entries)[i].name, err);
        *bytes = (*entries)[i].end;
    }
    *count = n;
    return MERCER_OK;
}

/* Texts of __metadata__. */
struct metadata {
    const struct source *source;
    const json_t *json;
};

static mercer_status get_text(const struct metadata *meta, const char *key, const char **out,
                              mercer_error *err)
{
    *out = json_string_value(json_object_get(meta->json, key));
    return *out ? MERCER_OK : damaged(meta->source, "no metadata ", key, err);
}

static mercer_status get_copy(const struct metadata *meta, const char *key, char **out,
                              mercer_error *err)
{
    mercer_status rc = mrc_strdup(out, json_string_value(json_object_get(meta->json, key)), err);
    if (rc == MERCER_OK && *out)
        text_decode(*out);
    return rc;
}

static mercer_status get_unsigned(const struct metadata *meta, const char *key, uint64_t most,
                                  uint64_t *out, mercer_error *err)
{
    const char *text, *s;
    uint64_t value = 0;
    mercer_status rc = get_text(meta, key, &text, err);
    if (rc != MERCER_OK)
        return rc;
    for (s = text; *s >= '0' && *s <= '9'; s++) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (value > (most - digit) / 10)
            break;
        value = value * 10 + digit;
    }
    if (s == text || *s)
        return damaged(meta->source, "metadata is not a usable integer: ", key, err);
    *out = value;
    return MERCER_OK;
}

static mercer_status get_size(const struct metadata *meta, const char *key, int64_t *out,
                              mercer_error *err)
{
    uint64_t value = 0;
    mercer_status rc = get_unsigned(meta, key, INT64_MAX / 4, &value, err);
    *out = (int64_t)value;
    return rc;
}

static mercer_status get_real(const struct metadata *meta, const char *key, double *out,
                              mercer_error *err)
{
    const char *text;
    mercer_status rc = get_text(meta, key, &text, err);
    if (rc == MERCER_OK && !mrc_parse_double(text, strlen(text), out))
        rc = damaged(meta->source, "metadata is not a number: ", key, err);
    return rc;
}

/* The strings of a JSON array; also on error the caller frees *out, which has `count` places. */
static mercer_status names_from_json(const struct metadata *meta, const json_t *list, int64_t count,
                                     char ***out, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    MRC_TRY(mrc_alloc(out, count, sizeof **out, err));
    for (int64_t j = 0; j < count; j++) {
        const char *name = json_string_value(json_array_get(list, (size_t)j));
        if (!name)
            MRC_TRY(damaged(meta->source, "a name is not text", NULL, err));
        MRC_TRY(mrc_strdup(&(*out)[j], name, err));
        text_decode((*out)[j]);
    }
out:
    return rc;
}

/* Files of models without a threshold do not have it. */
static mercer_status get_novelty(const struct metadata *meta, mercer_model *model,
                                 mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    if (!json_object_get(meta->json, "novelty_threshold"))
        return MERCER_OK;
    MRC_TRY(get_real(meta, "novelty_threshold", &model->novelty_threshold, err));
    MRC_TRY(get_real(meta, "novelty_share", &model->novelty_share, err));
    if (!(model->novelty_share > 0 && model->novelty_share < 1))
        MRC_TRY(damaged(meta->source, "novelty_share is not between 0 and 1", NULL, err));
out:
    return rc;
}

/* The value of a JSON text in the metadata; NULL when it is none. */
static mercer_status get_json(const char *text, json_t **out, mercer_error *err)
{
    const char *reason;
    mercer_status rc = mrc_json_parse(text, strlen(text), out, &reason, err);
    return rc == MERCER_ERR_FORMAT ? MERCER_OK : rc;
}

/* A list of as many names as there must be, or none at all. */
static mercer_status get_names(const struct metadata *meta, const char *key, int64_t count,
                               char ***out, mercer_error *err)
{
    const char *text = json_string_value(json_object_get(meta->json, key));
    json_t *list = NULL;
    mercer_status rc = MERCER_OK;

    if (!text)
        return MERCER_OK;
    MRC_TRY(get_json(text, &list, err));
    if (!json_is_array(list) || (int64_t)json_array_size(list) != count)
        MRC_TRY(damaged(meta->source, "not the right number of names in ", key, err));
    MRC_TRY(names_from_json(meta, list, count, out, err));
out:
    json_decref(list);
    return rc;
}

static mercer_status get_head(const struct metadata *meta, mrc_head *head, mercer_error *err)
{
    const char *kind, *scale;
    mercer_status rc = MERCER_OK;
    if (!json_object_get(meta->json, "head"))
        return MERCER_OK;
    MRC_TRY(get_copy(meta, "head", &head->spec, err));
    MRC_TRY(get_text(meta, "head_kind", &kind, err));
    MRC_TRY(get_text(meta, "scale_target", &scale, err));
    MRC_TRY(get_size(meta, "head_outputs", &head->outputs, err));
    MRC_TRY(get_size(meta, "head_rows", &head->rows, err));
    head->whole = json_object_get(meta->json, "head_whole") != NULL;
    MRC_TRY(get_names(meta, "head_names", head->outputs, &head->names, err));
    head->kind = strcmp(kind, head_kinds[MERCER_TARGET_VALUES]) == 0 ? MERCER_TARGET_VALUES
                                                                     : MERCER_TARGET_CLASSES;
    if (strcmp(kind, head_kinds[head->kind]) != 0)
        MRC_TRY(
            damaged(meta->source, "a head predicts neither classes nor values but ", kind, err));
    if (mrc_scale_parse(scale, &head->scale, NULL) != MERCER_OK)
        MRC_TRY(damaged(meta->source, "unknown scaling ", scale, err));
out:
    return rc;
}

/* Models that cannot be updated do not have it. */
static mercer_status get_state(const struct metadata *meta, mrc_state *state, mercer_error *err)
{
    const char *random;
    char *end;
    mercer_status rc = MERCER_OK;
    if (!json_object_get(meta->json, "state_rank"))
        return MERCER_OK;
    MRC_TRY(get_text(meta, "state_random", &random, err));
    for (int i = 0; i < 4; i++, random = end) {
        state->random[i] = strtoull(random, &end, 16);
        if (end == random)
            MRC_TRY(damaged(meta->source, "state_random is not four numbers", NULL, err));
    }
    MRC_TRY(get_size(meta, "state_rank", &state->rank, err));
    MRC_TRY(get_size(meta, "state_blocks", &state->blocks, err));
    MRC_TRY(get_size(meta, "state_compressed", &state->compressed, err));
    MRC_TRY(get_size(meta, "state_input_rows", &state->input_rows, err));
    MRC_TRY(get_size(meta, "state_input_checksum", &state->input_crc, err));
    MRC_TRY(get_size(meta, "state_pending", &state->pending, err));
    /* What the first files tell: */
    state->input_finished = state->pending == 0;
    state->uncounted = state->blocks;
    if (json_object_get(meta->json, "state_evaluations")) {
        MRC_TRY(get_size(meta, "state_input_finished", &state->input_finished, err));
        MRC_TRY(get_size(meta, "state_evaluations", &state->evaluations, err));
        MRC_TRY(get_size(meta, "state_block_evaluations", &state->block_evaluations, err));
        state->uncounted = 0;
        if (json_object_get(meta->json, "state_uncounted"))
            MRC_TRY(get_size(meta, "state_uncounted", &state->uncounted, err));
    }
    MRC_TRY(get_size(meta, "state_window", &state->window, err));
    MRC_TRY(get_real(meta, "state_weight", &state->weight, err));
    MRC_TRY(get_real(meta, "state_diagonal", &state->diagonal, err));
    MRC_TRY(get_real(meta, "state_largest", &state->largest, err));
    MRC_TRY(get_real(meta, "state_lost", &state->lost, err));
    MRC_TRY(get_real(meta, "state_outside", &state->outside, err));
    MRC_TRY(get_real(meta, "state_halving", &state->halving, err));
    MRC_TRY(get_real(meta, "state_reach", &state->reach, err));
out:
    return rc;
}

static mercer_status get_encodings(const struct metadata *meta, mercer_prepare *prepare,
                                   mercer_error *err)
{
    const char *text = json_string_value(json_object_get(meta->json, "encodings"));
    json_t *list = NULL;
    mercer_status rc = MERCER_OK;

    if (!text)
        return MERCER_OK;
    MRC_TRY(get_json(text, &list, err));
    if (json_array_size(list) == 0) /* also of what is no array */
        MRC_TRY(damaged(meta->source, "encodings is not a list of columns", NULL, err));
    int64_t count = (int64_t)json_array_size(list);
    MRC_TRY(mrc_alloc(&prepare->encodings, count, sizeof *prepare->encodings, err));
    prepare->sources = count;
    if (json_object_get(json_array_get(list, 0), "name"))
        MRC_TRY(mrc_alloc(&prepare->source_names, count, sizeof *prepare->source_names, err));
    for (int64_t s = 0; s < count; s++) {
        const json_t *source = json_array_get(list, (size_t)s);
        const json_t *values = json_object_get(source, "values");
        const char *name = json_string_value(json_object_get(source, "name"));
        if (prepare->source_names) {
            if (!name)
                MRC_TRY(damaged(meta->source, "some encodings have no name", NULL, err));
            MRC_TRY(mrc_strdup(&prepare->source_names[s], name, err));
            text_decode(prepare->source_names[s]);
        }
        prepare->encodings[s].count = (int64_t)json_array_size(values);
        if (prepare->encodings[s].count > 0)
            MRC_TRY(names_from_json(meta, values, prepare->encodings[s].count,
                                    &prepare->encodings[s].values, err));
    }
out:
    json_decref(list);
    return rc;
}

static mercer_status get_prepare(const struct metadata *meta, mercer_model *model,
                                 mercer_error *err)
{
    const char *images = json_string_value(json_object_get(meta->json, "image_features"));
    const char *missing = json_string_value(json_object_get(meta->json, "missing"));
    mercer_prepare *prepare = &model->prepare;
    mercer_status rc = MERCER_OK;
    MRC_TRY(get_encodings(meta, prepare, err));
    if (mrc_missing_parse(missing, &prepare->missing, NULL) != MERCER_OK)
        MRC_TRY(damaged(meta->source, "unknown treatment of missing values ", missing, err));
    if (mrc_image_kind_parse(images, &prepare->image, NULL) != MERCER_OK)
        MRC_TRY(damaged(meta->source, "unknown image features ", images, err));
    if (images) {
        MRC_TRY(get_size(meta, "image_width", &prepare->size.width, err));
        MRC_TRY(get_size(meta, "image_height", &prepare->size.height, err));
        MRC_TRY(get_size(meta, "image_channels", &prepare->size.channels, err));
    }
out:
    return rc;
}

static mercer_status get_kernel(const struct metadata *meta, mercer_model *model, mercer_ctx *ctx,
                                mercer_error *err)
{
    mercer_error inner = {0};
    const char *text;
    mercer_status rc = get_text(meta, "kernel", &text, err);
    if (rc != MERCER_OK)
        return rc;
    rc = mrc_kernel_parse_in(&model->kernel, ctx, text, &inner);
    if (rc == MERCER_OK && mrc_kernel_is_open(&model->kernel))
        return damaged(meta->source, "a kernel parameter is no number: ", text, err);
    if (rc == MERCER_OK) /* only derives the other form of a width: nothing is open */
        rc = mrc_kernel_resolve(&model->kernel, ctx, NULL, &inner);
    if (rc == MERCER_ERR_MEMORY)
        return mrc_fail(err, rc, "%s", inner.text);
    return rc == MERCER_OK ? rc : damaged(meta->source, inner.text, NULL, err);
}

static mercer_status get_choices(const struct metadata *meta, mercer_model *model,
                                 mercer_error *err)
{
    const char *text;
    mercer_status rc = MERCER_OK;

    MRC_TRY(get_text(meta, "center", &text, err));
    model->center = MRC_CENTER_NONE;
    while (strcmp(text, mrc_center_name(model->center)) != 0) {
        if (model->center == MRC_CENTER_SPAN)
            MRC_TRY(damaged(meta->source, "unknown centring ", text, err));
        model->center++;
    }
    MRC_TRY(get_text(meta, "scale", &text, err));
    if (mrc_scale_parse(text, &model->scale.kind, NULL) != MERCER_OK)
        MRC_TRY(damaged(meta->source, "unknown scaling ", text, err));
    model->scale.d = model->columns;
    MRC_TRY(get_text(meta, "orthonormal", &text, err));
    model->orthonormal = strcmp(text, "true") == 0;
    if (!model->orthonormal && strcmp(text, "false") != 0)
        MRC_TRY(damaged(meta->source, "orthonormal is neither true nor false", NULL, err));
    model->correlated = json_object_get(meta->json, "correlated") != NULL;
    model->whole = json_object_get(meta->json, "whole") != NULL;
    if (json_object_get(meta->json, "kernel_alignment"))
        MRC_TRY(get_real(meta, "kernel_alignment", &model->kernel_alignment, err));
out:
    return rc;
}

static mercer_status check_format(const struct metadata *meta, mercer_error *err)
{
    const char *format = json_string_value(json_object_get(meta->json, "format"));
    uint64_t version = 0, oldest = 0;
    mercer_status rc = MERCER_OK;

    if (!format || strcmp(format, "mercer-model") != 0)
        MRC_TRY(not_a_model(meta->source, "a safetensors file without Mercer's metadata", err));
    MRC_TRY(get_unsigned(meta, "format_version", UINT64_MAX, &version, err));
    MRC_TRY(get_unsigned(meta, "oldest_readable_version", UINT64_MAX, &oldest, err));
    if (oldest > FORMAT_VERSION)
        MRC_FAIL(err, MERCER_ERR_FORMAT,
                 "%s: was written by a newer Mercer (format %llu, this reads up to %d)",
                 meta->source->name, (unsigned long long)version, FORMAT_VERSION);
    if (version < 1 || oldest < 1)
        MRC_TRY(damaged(meta->source, "there was no format 0", NULL, err));
out:
    return rc;
}

static mercer_status get_metadata(const struct metadata *meta, mercer_model *model, mercer_ctx *ctx,
                                  mercer_error *err)
{
    const char *text;
    mercer_status rc = MERCER_OK;

    MRC_TRY(get_size(meta, "rows", &model->rows, err));
    if (json_object_get(meta->json, "weight"))
        MRC_TRY(get_real(meta, "weight", &model->weight, err));
    MRC_TRY(get_size(meta, "columns", &model->columns, err));
    MRC_TRY(get_size(meta, "components", &model->components, err));
    MRC_TRY(get_size(meta, "expansion_points", &model->points, err));
    MRC_TRY(get_text(meta, "method", &text, err));
    MRC_TRY(get_copy(meta, "method", &model->method, err));
    MRC_TRY(get_text(meta, "library_version", &text, err));
    MRC_TRY(get_copy(meta, "library_version", &model->version, err));
    MRC_TRY(get_copy(meta, "command", &model->command, err));
    MRC_TRY(get_copy(meta, "data_hash", &model->data_hash, err));
    MRC_TRY(get_kernel(meta, model, ctx, err));
    MRC_TRY(get_choices(meta, model, err));
    MRC_TRY(get_real(meta, "mean_norm2", &model->mean_norm2, err));
    MRC_TRY(get_real(meta, "total_variance", &model->total_variance, err));
    MRC_TRY(get_real(meta, "reconstruction_error", &model->reconstruction_error, err));
    MRC_TRY(get_unsigned(meta, "seed", UINT64_MAX, &model->seed, err));
    MRC_TRY(get_novelty(meta, model, err));
    MRC_TRY(get_names(meta, "column_names", model->columns, &model->column_names, err));
    MRC_TRY(get_prepare(meta, model, err));
    MRC_TRY(get_head(meta, &model->head, err));
    MRC_TRY(get_state(meta, &model->state, err));
out:
    return rc;
}

/* Does the entry say what the model needs: type, shape, and as many bytes? */
static bool entry_fits(const struct entry *entry, const struct tensor *tensor)
{
    const char *dtype = json_string_value(json_object_get(entry->json, "dtype"));
    const json_t *shape = json_object_get(entry->json, "shape");
    int64_t width = tensor_width(tensor), left = (entry->end - entry->begin) / width;
    if (!dtype || strcmp(dtype, tensor->dtype) != 0 ||
        json_array_size(shape) != (size_t)tensor->rank || (entry->end - entry->begin) % width != 0)
        return false;
    for (int i = 0; i < tensor->rank; i++) {
        int64_t size;
        if (!get_integer(json_array_get(shape, (size_t)i), &size) || size < 1 ||
            size != tensor->shape[i] || left % size != 0)
            return false;
        left /= size;
    }
    return left == 1;
}

/* How the points are stored; an unknown type is refused like a wrong one. */
static void dtype_of_points(mercer_model *model, const struct entry *entry)
{
    const char *dtype = json_string_value(json_object_get(entry->json, "dtype"));
    for (int i = 0; dtype && i < DTYPES; i++)
        if (strcmp(dtype, dtype_names[i]) == 0)
            model->z_dtype = (mrc_dtype)i;
}

/* Sizes and types that only the arrays tell. */
static void sizes_from_shapes(mercer_model *model, const struct entry *entries, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const json_t *shape = json_object_get(entries[i].json, "shape");
        int64_t size = 0;
        if (!get_integer(json_array_get(shape, 0), &size))
            continue;
        if (strcmp(entries[i].name, "z") == 0)
            dtype_of_points(model, &entries[i]);
        else if (strcmp(entries[i].name, "coefficients") == 0)
            model->basis_points = size;
        else if (strcmp(entries[i].name, "selected") == 0)
            model->selected_count = size;
        else if (strcmp(entries[i].name, "z_value") == 0)
            model->z_entries = size;
        else if (strcmp(entries[i].name, "trace") == 0)
            model->trace_count = size;
        else if (strcmp(entries[i].name, "state.kept_value") == 0)
            model->state.kept_entries = size;
        else if (strcmp(entries[i].name, "prepare.means") == 0)
            model->prepare.means_count = size;
        else if (strcmp(entries[i].name, "influence") == 0)
            model->influence_count = size;
    }
}

/* Read the bytes of one entry into the model, or past it when it is none of ours. */
static mercer_status read_entry(struct source *source, const struct entry *entry,
                                const struct tensor *tensor, mercer_error *err)
{
    unsigned char skipped[4096];
    size_t left = (size_t)(entry->end - entry->begin), got = 0;
    unsigned char *to = skipped;
    mercer_status rc = MERCER_OK;

    if (tensor) {
        if (!entry_fits(entry, tensor))
            return damaged(source, "wrong type, shape or length of tensor ", entry->name, err);
        MRC_TRY(mrc_alloc2_raw(tensor->data, (int64_t)left, 1, 1, err));
        to = tensor_data(tensor);
    }
    while (left > 0) {
        size_t step = tensor || left < sizeof skipped ? left : sizeof skipped;
        MRC_TRY(source_read(source, to, step, &got, err));
        if (got < step) /* the file shrank since we asked for its size */
            MRC_TRY(truncated(source, source->size, source->at, err));
        source->crc = crc32_z(source->crc, to, step);
        left -= step;
    }
out:
    return rc;
}

static mercer_status read_tensors(struct source *source, mercer_model *model,
                                  const struct entry *entries, int64_t count, mercer_error *err)
{
    struct tensor tensors[TENSORS];
    mercer_status rc = MERCER_OK;

    sizes_from_shapes(model, entries, count);
    list_tensors(model, tensors);
    for (int64_t i = 0; i < count; i++) {
        const struct tensor *known = NULL;
        for (int t = 0; t < TENSORS; t++)
            if (strcmp(tensors[t].name, entries[i].name) == 0)
                known = &tensors[t];
        MRC_TRY(read_entry(source, &entries[i], known, err));
    }
out:
    return rc;
}

/* The first eight bytes and the header; what is no model at all is told apart here. */
static mercer_status read_header(struct source *source, char **header, size_t *length,
                                 mercer_error *err)
{
    uint64_t length64 = 0;
    char first = 0;
    size_t got = 0;
    mercer_status rc = MERCER_OK;

    MRC_TRY(source_read(source, &length64, sizeof length64, &got, err));
    if (got == 0)
        MRC_TRY(not_a_model(source, "it is empty", err));
    if (got < sizeof length64)
        MRC_TRY(not_a_model(source, "it has fewer than 8 bytes", err));
    if (length64 < 2 || length64 > MOST_HEADER)
        MRC_TRY(not_a_model(source, "it has no safetensors header", err));
    *length = (size_t)length64;
    MRC_TRY(source_read(source, &first, 1, &got, err));
    if (got == 1 && first != '{')
        MRC_TRY(not_a_model(source, "it has no safetensors header", err));
    if (got < 1 || (source->size_known && source->size - 8 < *length))
        MRC_TRY(truncated(source, 8 + length64, got < 1 ? 8 : source->size, err));
    MRC_TRY(mrc_alloc(header, (int64_t)*length + 1, 1, err)); /* and a zero byte behind */
    (*header)[0] = first;
    MRC_TRY(source_read(source, *header + 1, *length - 1, &got, err));
    if (got < *length - 1)
        MRC_TRY(truncated(source, 8 + length64, source->at, err));
    source->crc = crc32_z(0, (const Bytef *)&length64, sizeof length64);
out:
    return rc;
}

/* Take the digits out of the header, which then is what the checksum was computed from. */
static mercer_status take_checksum(struct source *source, char *header, size_t length,
                                   char digits[CHECKSUM_DIGITS], mercer_error *err)
{
    char *at = find_checksum(header, length);
    if (!at)
        return damaged(source, "it has no checksum", NULL, err);
    memcpy(digits, at, CHECKSUM_DIGITS);
    memset(at, '0', CHECKSUM_DIGITS);
    source->crc = crc32_z(source->crc, (const Bytef *)header, length);
    return MERCER_OK;
}

static mercer_status check_checksum(const struct source *source, const char digits[CHECKSUM_DIGITS],
                                    mercer_error *err)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)source, (void)digits, (void)err; /* a fuzzer cannot guess a checksum */
    return MERCER_OK;
#else
    char found[CHECKSUM_DIGITS + 1];
    snprintf(found, sizeof found, "%08lx", source->crc & 0xFFFFFFFFUL);
    if (memcmp(found, digits, CHECKSUM_DIGITS) != 0)
        return mrc_fail(err, MERCER_ERR_FORMAT, "%s: is damaged (checksum %.8s expected, %s found)",
                        source->name, digits, found);
    return MERCER_OK;
#endif
}

static mercer_status seal(const struct source *source, mercer_model *model, mercer_ctx *ctx,
                          mercer_error *err)
{
    mercer_error inner = {0};
    mercer_status rc = mrc_model_seal(model, ctx, &inner);
    if (rc == MERCER_ERR_MEMORY || rc == MERCER_ERR_CANCELLED)
        return mrc_fail(err, rc, "%s", inner.text);
    return rc == MERCER_OK ? rc : damaged(source, inner.text, NULL, err);
}

static mercer_status load(mercer_ctx *ctx, struct source *source, mercer_model **out,
                          mercer_error *err)
{
    mercer_model *model = NULL;
    json_t *json = NULL;
    struct metadata meta = {.source = source};
    struct entry *entries = NULL;
    int64_t count = 0, bytes = 0;
    char *header = NULL, digits[CHECKSUM_DIGITS];
    size_t length = 0;
    const char *reason;
    mercer_status rc = MERCER_OK;

    *out = NULL;
    MRC_TRY(read_header(source, &header, &length, err));
    rc = mrc_json_parse(header, length, &json, &reason, err);
    if (rc == MERCER_ERR_FORMAT)
        rc = damaged(source, "its header is not valid JSON: ", reason, err);
    MRC_TRY(rc);
    meta.json = json_object_get(json, "__metadata__");
    MRC_TRY(check_format(&meta, err));
    MRC_TRY(take_checksum(source, header, length, digits, err));
    MRC_TRY(read_entries(source, json, &entries, &count, &bytes, err));
    size_t total = 8 + length + (size_t)bytes;
    if (!source->size_known)
        MRC_TRY(source_slurp(source, total, err));
    if (source->size < total)
        MRC_TRY(truncated(source, total, source->size, err));
    if (source->size > total)
        MRC_TRY(damaged(source, "there are bytes after its end", NULL, err));

    MRC_TRY(mrc_model_new(&model, err));
    MRC_TRY(get_metadata(&meta, model, ctx, err));
    MRC_TRY(read_tensors(source, model, entries, count, err));
    MRC_TRY(check_checksum(source, digits, err));
    MRC_TRY(seal(source, model, ctx, err));
    *out = model;
    model = NULL;
out:
    mercer_model_free(model);
    json_decref(json);
    mrc_free(entries);
    mrc_free(header);
    mrc_free(source->owned);
    return rc;
}

mercer_status mrc_model_load_memory(mercer_ctx *ctx, const char *name, const void *bytes,
                                    size_t size, mercer_model **out, mercer_error *err)
{
    struct source source = {
        .name = name, .fd = -1, .memory = bytes, .size = size, .size_known = true};
    return load(ctx, &source, out, err);
}

mercer_status mercer_model_load(mercer_ctx *ctx, const char *path, mercer_model **out,
                                mercer_error *err)
{
    MRC_NEED(out);
    *out = NULL;
    MRC_NEED(ctx);
    MRC_NEED(path);
    bool standard = strcmp(path, "-") == 0;
    struct source source = {.name = standard ? "standard input" : path, .fd = -1};
    struct stat status;
    int fd = -1;
    mercer_status rc = MERCER_OK;

    fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        MRC_TRY(mrc_fail_errno(err, MERCER_ERR_IO, errno, "%s: cannot open", source.name));
    if (S_ISREG(status.st_mode) && !standard) { /* standard input may stand anywhere in its file */
        source.size = (size_t)status.st_size;
        source.size_known = true;
    }
    source.fd = fd;
    MRC_TRY(load(ctx, &source, out, err));
out:
    if (fd >= 0 && !standard)
        close(fd);
    return rc;
}
