/* SPDX-License-Identifier: BSD-3-Clause */
/* The container of model files, see safetensors.h. */
#include "model/safetensors.h"

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "model files are little-endian; this host needs byte swapping in safetensors.c"
#endif
_Static_assert(sizeof(double) == 8, "model files hold 8-byte doubles");

enum { READ_STEP = 1 << 24 /* bytes a pipe must have delivered before its buffer grows */ };

/* Stands once in every header: in a JSON string its quotation marks would be escaped. */
static const char checksum_key[] = "\"checksum\":\"crc32:";

static const struct type {
    const char *name;
    int64_t bytes;
} types[] = {
    [MERCER_F64] = {"F64", 8}, [MERCER_F32] = {"F32", 4}, [MERCER_U8] = {"U8", 1},
    [MERCER_I64] = {"I64", 8}, [MERCER_I32] = {"I32", 4},
};

int64_t mrc_value_bytes(mercer_dtype dtype)
{
    return types[dtype].bytes;
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
    if (left < MRC_CHECKSUM_DIGITS || memmem(digits, left, checksum_key, key))
        return NULL;
    return digits;
}

/* ---- Writing ---- */

/* Bytes of a tensor: 0 when there is none. */
static size_t tensor_bytes(const mrc_tensor *tensor)
{
    const mercer_array *array = &tensor->array;
    if (!array->data)
        return 0;
    return (size_t)(array->shape[0] * array->shape[1] * mrc_value_bytes(array->dtype));
}

static mercer_status put_tensor(json_t *header, const mrc_tensor *tensor, size_t begin,
                                mercer_error *err)
{
    const mercer_array *array = &tensor->array;
    json_t *shape = array->rank == 1 ? json_pack("[I]", (json_int_t)array->shape[0])
                                     : json_pack("[II]", (json_int_t)array->shape[0],
                                                 (json_int_t)array->shape[1]);
    /* json_pack takes over shape, also on failure. */
    json_t *entry =
        json_pack("{s:s,s:o,s:[I,I]}", "dtype", types[array->dtype].name, "shape", shape,
                  "data_offsets", (json_int_t)begin, (json_int_t)(begin + tensor_bytes(tensor)));
    if (!entry || json_object_set_new(header, tensor->name, entry) != 0)
        return mrc_json_no_memory(err);
    return MERCER_OK;
}

static mercer_status put_checksum(mrc_tensors *tensors, mercer_error *err)
{
    uint64_t length64 = tensors->header_bytes;
    char digits[MRC_CHECKSUM_DIGITS + 1];
    char *at = find_checksum(tensors->header, tensors->header_bytes);
    if (!at)
        return mrc_fail(err, MERCER_ERR_ARGUMENT, "metadata without one place for a checksum");
    uLong crc = crc32_z(0, (const Bytef *)&length64, sizeof length64);
    crc = crc32_z(crc, (const Bytef *)tensors->header, tensors->header_bytes);
    for (int i = 0; i < tensors->count; i++)
        if (tensor_bytes(&tensors->list[i]) > 0)
            crc = crc32_z(crc, tensors->list[i].array.data, tensor_bytes(&tensors->list[i]));
    snprintf(digits, sizeof digits, "%08lx", crc & 0xFFFFFFFFUL);
    memcpy(at, digits, MRC_CHECKSUM_DIGITS);
    return MERCER_OK;
}

mercer_status mrc_tensors_init(mrc_tensors *tensors, json_t *metadata, const mrc_tensor *list,
                               int count, mercer_error *err)
{
    json_t *header = json_object();
    char *text = NULL;
    size_t begin = 0, length = 0;
    mercer_status rc = MERCER_OK;

    *tensors = (mrc_tensors){.list = list, .count = count};
    if (!header || json_object_set(header, "__metadata__", metadata) != 0)
        MRC_TRY(mrc_json_no_memory(err));
    for (int i = 0; i < count; i++)
        if (tensor_bytes(&list[i]) > 0) {
            MRC_TRY(put_tensor(header, &list[i], begin, err));
            begin += tensor_bytes(&list[i]);
        }
    MRC_TRY(mrc_json_text(header, &text, &length, err));
    tensors->header_bytes = (length + 7) / 8 * 8;
    tensors->bytes = sizeof(uint64_t) + tensors->header_bytes + begin;
    MRC_TRY(mrc_alloc(&tensors->header, (int64_t)tensors->header_bytes, 1, err));
    memset(tensors->header, ' ', tensors->header_bytes);
    memcpy(tensors->header, text, length);
    MRC_TRY(put_checksum(tensors, err));
out:
    json_decref(header);
    mrc_free(text);
    if (rc != MERCER_OK)
        mrc_tensors_destroy(tensors);
    return rc;
}

void mrc_tensors_destroy(mrc_tensors *tensors)
{
    mrc_free(tensors->header);
    *tensors = (mrc_tensors){0};
}

mercer_status mrc_tensors_write(const mrc_tensors *tensors, mrc_write_fn write, void *host,
                                mercer_error *err)
{
    uint64_t length64 = tensors->header_bytes;
    mercer_status rc = MERCER_OK;
    MRC_TRY(write(host, &length64, sizeof length64, err));
    MRC_TRY(write(host, tensors->header, tensors->header_bytes, err));
    for (int i = 0; i < tensors->count; i++)
        if (tensor_bytes(&tensors->list[i]) > 0)
            MRC_TRY(write(host, tensors->list[i].array.data, tensor_bytes(&tensors->list[i]), err));
out:
    return rc;
}

/* ---- Reading: bytes ---- */

mercer_status mrc_tensor_source_foreign(const mrc_tensor_source *source, const char *reason,
                                        mercer_error *err)
{
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: is not a %s (%s)", source->name,
                       source->kind, reason);
}

mercer_status mrc_tensor_source_damaged(const mrc_tensor_source *source, const char *reason,
                                        const char *what, mercer_error *err)
{
    char shown[MRC_SHOWN_SIZE]; /* what comes from the file may hold anything */
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: is damaged (%s%s)", source->name,
                       reason, what ? mrc_show(shown, what, strlen(what)) : "");
}

static mercer_status truncated(const mrc_tensor_source *source, uint64_t expected, uint64_t found,
                               mercer_error *err)
{
    return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                       "%s: is truncated (%llu bytes expected, %llu found)", source->name,
                       (unsigned long long)expected, (unsigned long long)found);
}

/* Read up to bytes; *got is less only at the end of the file. */
static mercer_status source_read(mrc_tensor_source *source, void *to, size_t bytes, size_t *got,
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
        mercer_status rc = mrc_limit_wait(&source->limits, source->fd, source->name, err);
        if (rc != MERCER_OK)
            return rc;
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
    return mrc_limit_bytes(&source->limits, source->name, (int64_t)source->at, false, err);
}

/* Take the rest of a pipe, up to `total` bytes of the whole file, into memory. The buffer grows
 * with what arrives, not with what the header promises. */
static mercer_status source_slurp(mrc_tensor_source *source, size_t total, mercer_error *err)
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

mercer_status mrc_tensor_source_open(mrc_tensor_source *source, const char *path, const char *kind,
                                     const mrc_limits *limits, mercer_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct stat status;
    *source =
        (mrc_tensor_source){.name = standard ? "standard input" : path, .kind = kind, .fd = -1};
    source->limits = *limits;
    source->fd =
        standard ? STDIN_FILENO : mrc_open(path, O_RDONLY | O_CLOEXEC | mrc_limit_flags(limits), 0);
    source->opened = source->fd >= 0 && !standard;
    if (source->fd < 0 || fstat(source->fd, &status) != 0)
        return mrc_limit_fail_open(limits, source->name, errno, err);
    if (!standard) {
        mercer_status rc = mrc_limit_opened(limits, source->name, source->fd, false, err);
        if (rc != MERCER_OK)
            return rc;
    }
    if (S_ISREG(status.st_mode) && !standard) { /* standard input may stand anywhere in its file */
        source->size = (size_t)status.st_size;
        source->size_known = true;
    }
    return MERCER_OK;
}

void mrc_tensor_source_memory(mrc_tensor_source *source, const char *name, const char *kind,
                              const void *bytes, size_t size)
{
    *source = (mrc_tensor_source){
        .name = name, .kind = kind, .fd = -1, .memory = bytes, .size = size, .size_known = true};
}

void mrc_tensor_source_close(mrc_tensor_source *source)
{
    if (source->opened)
        close(source->fd);
    mrc_free(source->owned);
    *source = (mrc_tensor_source){.fd = -1};
}

/* ---- Reading: tensors ---- */

static int compare_entries(const void *a, const void *b)
{
    const mrc_entry *x = a, *y = b;
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
static mercer_status list_entries(mrc_header *header, const mrc_tensor_source *source,
                                  int64_t *bytes, mercer_error *err)
{
    const char *name;
    json_t *value;
    int64_t n = 0;
    mercer_status rc = mrc_alloc(&header->entries, (int64_t)json_object_size(header->json),
                                 sizeof *header->entries, err);
    if (rc != MERCER_OK)
        return rc;
    json_object_foreach(header->json, name, value)
    {
        mrc_entry *entry = header->entries + n;
        const json_t *offsets = json_object_get(value, "data_offsets");
        if (strcmp(name, "__metadata__") == 0)
            continue;
        if (json_array_size(offsets) != 2 ||
            !get_integer(json_array_get(offsets, 0), &entry->begin) ||
            !get_integer(json_array_get(offsets, 1), &entry->end) || entry->begin > entry->end ||
            entry->end > INT64_MAX / 4)
            return mrc_tensor_source_damaged(source, "no usable data_offsets for tensor ", name,
                                             err);
        entry->name = name;
        entry->json = value;
        n++;
    }
    qsort(header->entries, (size_t)n, sizeof *header->entries, compare_entries);
    *bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        if (header->entries[i].begin != *bytes)
            return mrc_tensor_source_damaged(source, "gap or overlap before tensor ",
                                             header->entries[i].name, err);
        *bytes = header->entries[i].end;
    }
    header->count = n;
    return MERCER_OK;
}

/* The first eight bytes and the header; what is another kind of file is told apart here. */
static mercer_status read_text(mrc_header *header, mrc_tensor_source *source, mercer_error *err)
{
    uint64_t length64 = 0;
    char first = 0;
    size_t got = 0;
    mercer_status rc = MERCER_OK;

    MRC_TRY(source_read(source, &length64, sizeof length64, &got, err));
    if (got == 0)
        MRC_TRY(mrc_tensor_source_foreign(source, "it is empty", err));
    if (got < sizeof length64)
        MRC_TRY(mrc_tensor_source_foreign(source, "it has fewer than 8 bytes", err));
    if (length64 < 2 || length64 > MRC_MAX_HEADER)
        MRC_TRY(mrc_tensor_source_foreign(source, "it has no safetensors header", err));
    header->length = (size_t)length64;
    MRC_TRY(source_read(source, &first, 1, &got, err));
    if (got == 1 && first != '{')
        MRC_TRY(mrc_tensor_source_foreign(source, "it has no safetensors header", err));
    if (got < 1 || (source->size_known && source->size - 8 < header->length))
        MRC_TRY(truncated(source, 8 + length64, got < 1 ? 8 : source->size, err));
    MRC_TRY(
        mrc_alloc(&header->text, (int64_t)header->length + 1, 1, err)); /* and a zero byte behind */
    header->text[0] = first;
    MRC_TRY(source_read(source, header->text + 1, header->length - 1, &got, err));
    if (got < header->length - 1)
        MRC_TRY(truncated(source, 8 + length64, source->at, err));
    source->crc = crc32_z(0, (const Bytef *)&length64, sizeof length64);
out:
    return rc;
}

/* Take the digits out of the header, which then is what the checksum was computed from. */
static mercer_status take_checksum(mrc_header *header, mrc_tensor_source *source, mercer_error *err)
{
    char *at = find_checksum(header->text, header->length);
    if (!at)
        return mrc_tensor_source_damaged(source, "it has no checksum", NULL, err);
    memcpy(header->digits, at, MRC_CHECKSUM_DIGITS);
    memset(at, '0', MRC_CHECKSUM_DIGITS);
    source->crc = crc32_z(source->crc, (const Bytef *)header->text, header->length);
    return MERCER_OK;
}

mercer_status mrc_header_read(mrc_header *header, mrc_tensor_source *source, mercer_error *err)
{
    const char *reason;
    mercer_status rc = MERCER_OK;
    *header = (mrc_header){0};
    MRC_TRY(read_text(header, source, err));
    rc = mrc_json_parse(header->text, header->length, &header->json, &reason, err);
    if (rc == MERCER_ERR_FORMAT)
        rc = mrc_tensor_source_damaged(source, "its header is not valid JSON: ", reason, err);
    MRC_TRY(rc);
    header->metadata = json_object_get(header->json, "__metadata__");
out:
    return rc;
}

mercer_status mrc_header_list(mrc_header *header, mrc_tensor_source *source, mercer_error *err)
{
    int64_t bytes = 0;
    mercer_status rc = MERCER_OK;
    MRC_TRY(take_checksum(header, source, err));
    MRC_TRY(list_entries(header, source, &bytes, err));
    size_t total = 8 + header->length + (size_t)bytes;
    if (!source->size_known)
        MRC_TRY(source_slurp(source, total, err));
    if (source->size < total)
        MRC_TRY(truncated(source, total, source->size, err));
    if (source->size > total)
        MRC_TRY(mrc_tensor_source_damaged(source, "there are bytes after its end", NULL, err));
out:
    return rc;
}

void mrc_header_destroy(mrc_header *header)
{
    json_decref(header->json);
    mrc_free(header->entries);
    mrc_free(header->text);
    *header = (mrc_header){0};
}

const mrc_entry *mrc_header_find(const mrc_header *header, const char *name)
{
    for (int64_t i = 0; i < header->count; i++)
        if (strcmp(header->entries[i].name, name) == 0)
            return &header->entries[i];
    return NULL;
}

bool mrc_entry_rows(const mrc_entry *entry, int64_t *rows)
{
    return get_integer(json_array_get(json_object_get(entry->json, "shape"), 0), rows);
}

bool mrc_entry_has_type(const mrc_entry *entry, mercer_dtype dtype)
{
    const char *name = json_string_value(json_object_get(entry->json, "dtype"));
    return name && strcmp(name, types[dtype].name) == 0;
}

bool mrc_entry_fits(const mrc_entry *entry, const mercer_array *array)
{
    const json_t *shape = json_object_get(entry->json, "shape");
    int64_t width = mrc_value_bytes(array->dtype), left = (entry->end - entry->begin) / width;
    if (!mrc_entry_has_type(entry, array->dtype) || json_array_size(shape) != (size_t)array->rank ||
        (entry->end - entry->begin) % width != 0)
        return false;
    for (int i = 0; i < array->rank; i++) {
        int64_t size;
        if (!get_integer(json_array_get(shape, (size_t)i), &size) || size < 1 ||
            size != array->shape[i] || left % size != 0)
            return false;
        left /= size;
    }
    return left == 1;
}

mercer_status mrc_entry_read(const mrc_entry *entry, mrc_tensor_source *source, void *to,
                             mercer_error *err)
{
    unsigned char skipped[4096];
    size_t left = (size_t)(entry->end - entry->begin), got = 0;
    mercer_status rc = MERCER_OK;
    while (left > 0) {
        size_t step = to || left < sizeof skipped ? left : sizeof skipped;
        void *at = to ? to : skipped;
        MRC_TRY(source_read(source, at, step, &got, err));
        if (got < step) /* the file shrank since we asked for its size */
            MRC_TRY(truncated(source, source->size, source->at, err));
        source->crc = crc32_z(source->crc, at, step);
        left -= step;
    }
out:
    return rc;
}

mercer_status mrc_header_verify(const mrc_header *header, const mrc_tensor_source *source,
                                mercer_error *err)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)source, (void)header, (void)err; /* a fuzzer cannot guess a checksum */
    return MERCER_OK;
#else
    char found[MRC_CHECKSUM_DIGITS + 1];
    snprintf(found, sizeof found, "%08lx", source->crc & 0xFFFFFFFFUL);
    if (memcmp(found, header->digits, MRC_CHECKSUM_DIGITS) != 0)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: is damaged (checksum %.8s expected, %s found)", source->name,
                           header->digits, found);
    return MERCER_OK;
#endif
}
