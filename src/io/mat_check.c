/* SPDX-License-Identifier: BSD-3-Clause */
/* What is wrong with a MAT file of version 5, before matio sees it.
 *
 * The library overlooks much. So the elements of the file are walked through: each must end inside
 * the file, and so must the parts of the array that is meant (and the heads of all others), once it
 * is unpacked; it must have the values its dimensions announce, and its check sum is verified on
 * the way. */
#include "io/mat_check.h"

#include <string.h>

enum {
    HEADER = 128, /* text, version, byte order */
    TAG = 8,      /* in front of each element: type and length */
    TAG_DATA = 4, /* bytes that may stand in the tag itself */
    TYPE_INT32 = 5,
    TYPE_UINT32 = 6,
    TYPE_SINGLE = 7,
    TYPE_DOUBLE = 9,
    TYPE_MATRIX = 14,
    TYPE_COMPRESSED = 15,
    CLASS_CELL = 1, /* this and the next two, and functions, hold arrays */
    CLASS_STRUCT = 2,
    CLASS_OBJECT = 3,
    CLASS_SPARSE = 5,
    CLASS_DOUBLE = 6, /* this, single precision, and whole numbers of 8 to 64 bits, signed or not */
    CLASS_SINGLE = 7,
    CLASS_UINT64 = 15,
    CLASS_FUNCTION = 16,
    CLASS_OPAQUE = 17, /* has no dimensions */
    PARTS_OF_HEAD = 3, /* flags, dimensions, name */
    PARTS_OF_DATA = 3, /* of a sparse array: rows, starts of columns, values */
    STARTS = 1,
    MAX_HEAD_PART = 256, /* bytes of each: 64 dimensions; names have up to 63 letters */
    MAX_DEPTH = 64,
    BUFFER_SIZE = 1 << 16
};

static uint32_t get4(const unsigned char *p, bool swapped)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

/* The bytes of one element behind its tag, unpacked when they are compressed. */
struct element {
    mrc_input *input; /* borrowed */
    int64_t offset, left;
    bool swapped, packed, live, ended;
    z_stream z;
    unsigned char *in; /* BUFFER_SIZE bytes when packed */
};

static mercer_status element_open(struct element *e, bool packed, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    e->packed = packed;
    if (!packed)
        goto out;
    MRC_TRY(mrc_alloc2_raw(&e->in, BUFFER_SIZE, 1, 1, err));
    e->z = (z_stream){.zalloc = mrc_zlib_alloc, .zfree = mrc_zlib_free};
    if (inflateInit(&e->z) != Z_OK)
        MRC_FAIL_AT(err, MERCER_ERR_MEMORY, MRC_IN_FILE, "%s: out of memory for unpacking",
                    e->input->shown);
    e->live = true;
out:
    return rc;
}

static void element_close(struct element *e)
{
    if (e->live)
        inflateEnd(&e->z);
    mrc_free(e->in);
    e->live = false;
    e->in = NULL;
}

/* Fill the next part of a buffer from the compressed bytes; *got 0 only at their end. */
static mercer_status unpack(struct element *e, unsigned char *out, size_t wanted, size_t *got,
                            mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    e->z.next_out = out;
    e->z.avail_out = (uInt)wanted;
    *got = 0;
    while (e->z.avail_out > 0 && !e->ended) {
        if (e->z.avail_in == 0 && e->left > 0) {
            size_t part = e->left < BUFFER_SIZE ? (size_t)e->left : BUFFER_SIZE;
            MRC_TRY(mrc_input_at(e->input, e->offset, e->in, part, &part, err));
            e->offset += (int64_t)part;
            e->left = part > 0 ? e->left - (int64_t)part : 0;
            e->z.next_in = e->in;
            e->z.avail_in = (uInt)part;
        }
        int status = inflate(&e->z, Z_NO_FLUSH);
        e->ended = status == Z_STREAM_END;
        bool starved = status == Z_BUF_ERROR && e->z.avail_in == 0 && e->left == 0;
        if (starved || (status != Z_OK && status != Z_BUF_ERROR && !e->ended))
            MRC_FAIL(err, status == Z_MEM_ERROR ? MERCER_ERR_MEMORY : MERCER_ERR_FORMAT,
                     "%s: the compressed data are damaged (%s)", e->input->shown,
                     e->z.msg ? e->z.msg : "they end too early");
    }
    *got = wanted - e->z.avail_out;
out:
    e->z.next_out = NULL; /* the buffer may be gone at the next call */
    e->z.avail_out = 0;
    return rc;
}

/* The next bytes of an element, which must be there; out may be NULL to step over them. */
static mercer_status element_read(struct element *e, unsigned char *out, int64_t count,
                                  mercer_error *err)
{
    unsigned char dropped[1024] = {0};
    mercer_status rc = MERCER_OK;
    while (count > 0) {
        size_t part = count < (int64_t)sizeof dropped ? (size_t)count : sizeof dropped, got = part;
        unsigned char *to = out ? out : dropped;
        if (e->packed) {
            MRC_TRY(unpack(e, to, part, &got, err));
        } else {
            got = e->left < count ? 0 : out ? part : (size_t)count;
            if (got > 0 && out)
                MRC_TRY(mrc_input_at(e->input, e->offset, to, part, &got, err));
            e->offset += (int64_t)got;
            e->left -= (int64_t)got;
        }
        if (got < part)
            MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                        "%s: an array ends too early (damaged file)", e->input->shown);
        count -= (int64_t)got;
        out = out ? out + got : NULL;
    }
out:
    return rc;
}

/* The tag of a part of an array. */
struct part {
    uint32_t type;
    int64_t bytes;  /* of its data */
    int64_t behind; /* bytes behind the tag, padding included; 0 when the data stand in the tag */
};

/* Read the next tag; *left bytes of the array are then left behind the part. */
static mercer_status part_tag(struct element *e, int64_t *left, struct part *part,
                              mercer_error *err)
{
    unsigned char tag[TAG];
    mercer_status rc = element_read(e, tag, TAG, err);
    if (rc != MERCER_OK)
        return rc;
    *left -= TAG;
    part->type = get4(tag, e->swapped);
    part->bytes = part->behind = (int64_t)get4(tag + 4, e->swapped);
    if (part->type >> 16) {
        part->bytes = part->type >> 16;
        part->behind = 0;
        part->type &= 0xffff;
    }
    /* The last part need not be padded, nor are the arrays inside an array. */
    if (part->type != TYPE_MATRIX && part->behind % TAG && part->behind / TAG * TAG + TAG <= *left)
        part->behind += TAG - part->behind % TAG;
    if (*left < 0 || part->behind > *left || (part->behind == 0 && part->bytes > TAG_DATA))
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: a part of an array reaches beyond its end", e->input->shown);
    *left -= part->behind;
    return MERCER_OK;
}

/* Bytes of a value, by the type of its part: 8 bits to 64, signed and unsigned, float and double; 0
 * for what does not hold numbers. */
static int width_of_type(uint32_t type)
{
    static const int8_t width[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};
    return type < sizeof width ? width[type] : 0;
}

/* Values in a part. */
static int64_t values_of(const struct part *part)
{
    int bytes = width_of_type(part->type);
    return bytes > 0 ? part->bytes / bytes : 0;
}

/* Whether an array of this class can hold values of the type without a change. Files store values
 * in smaller types than the array's, never in larger ones; the library would cut or wrap those. */
static bool can_hold(uint32_t class, uint32_t type)
{
    static const int8_t width[] = {4, 1, 1, 2, 2, 4, 4, 8, 8}; /* from CLASS_SINGLE on */
    bool real = type == TYPE_SINGLE || type == TYPE_DOUBLE;
    if (class <= CLASS_DOUBLE || class > CLASS_UINT64)
        return true;
    if (class == CLASS_SINGLE && !real)
        return width_of_type(type) < width[0];
    return (!real || class == CLASS_SINGLE) && width_of_type(type) <= width[class - CLASS_SINGLE];
}

/* What the head of an array announces, and what is there. */
struct claims {
    uint32_t class;
    double values;                /* product of the dimensions; -1 as long as there are none */
    double columns;               /* the second one */
    int64_t found[PARTS_OF_DATA]; /* values in each part behind the head */
    int64_t entries;              /* of a sparse array: where its last column ends */
    int64_t inside;               /* arrays in this one */
};

static bool holds_arrays(const struct claims *claims)
{
    return (claims->class >= CLASS_CELL && claims->class <= CLASS_OBJECT) ||
           claims->class == CLASS_FUNCTION;
}

/* The library takes memory by the dimensions, and hands it out whether or not it was filled. */
static mercer_status check_claims(const struct claims *claims, const char *shown, mercer_error *err)
{
    const int64_t *found = claims->found;
    bool good = claims->values >= 0;
    if (claims->class == CLASS_SPARSE)
        good &= (double)found[STARTS] > claims->columns && found[0] >= claims->entries &&
                found[PARTS_OF_DATA - 1] >= claims->entries;
    else if ((claims->class == CLASS_STRUCT && found[1] == 0) ||
             (claims->class == CLASS_OBJECT && found[2] == 0))
        good = true; /* there are no fields, whose names would stand in this part */
    else
        good &= (double)(holds_arrays(claims) ? claims->inside : found[0]) >= claims->values;
    if (!good)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: has fewer values than it says (damaged file)", shown);
    return MERCER_OK;
}

/* Flags and dimensions, as they stand behind their tags; false unless they are of the form that the
 * library takes for granted. */
static bool take_head(int part, const struct part *tag, const unsigned char *data, bool swapped,
                      struct claims *claims)
{
    if (part == 0) {
        claims->class = get4(data, swapped) & 0xff;
        return tag->type == TYPE_UINT32 && tag->behind == TAG;
    }
    if (part > 1 || claims->class == CLASS_OPAQUE)
        return true;
    int64_t size = sizeof(int32_t);
    if (tag->type != TYPE_INT32 || tag->behind == 0 || tag->bytes < 2 * size ||
        tag->bytes % size != 0)
        return false;
    claims->values = 1;
    for (int64_t i = 0; i < tag->bytes / size; i++) {
        double length = get4(data + i * size, swapped);
        claims->values *= length;
        claims->columns = i == 1 ? length : claims->columns;
    }
    return true;
}

/* Read a part, the tag of which is known, and note what it says. */
static mercer_status check_part(struct element *e, int part, const struct part *tag,
                                struct claims *claims, mercer_error *err)
{
    unsigned char head[MAX_HEAD_PART] = {0}, last[sizeof(int32_t)];
    int data = part - PARTS_OF_HEAD;
    bool index = claims->class == CLASS_SPARSE && data <= STARTS; /* rows, or starts of columns */
    bool whole_numbers = tag->type == TYPE_INT32 || tag->type == TYPE_UINT32;
    mercer_status rc = MERCER_OK;
    if (data < 0) {
        bool fits = tag->behind <= MAX_HEAD_PART;
        MRC_TRY(element_read(e, head, fits ? tag->behind : 0, err));
        if (!fits || !take_head(part, tag, head, e->swapped, claims))
            MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE, "%s: the head of an array is damaged",
                        e->input->shown);
        goto out;
    }
    /* The library takes the length of other types for that of whole numbers, even of an array
     * without entries. */
    if (index && !whole_numbers)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: the places of a sparse array are not whole numbers (damaged file)",
                    e->input->shown);
    if (data == 0 && !can_hold(claims->class, tag->type))
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: the values are of another type than the array (damaged file)",
                    e->input->shown);
    if (data < PARTS_OF_DATA)
        claims->found[data] = values_of(tag);
    if (!index || data != STARTS || tag->behind < (int64_t)sizeof last) {
        MRC_TRY(element_read(e, NULL, tag->behind, err));
        goto out;
    }
    MRC_TRY(element_read(e, NULL, tag->bytes - (int64_t)sizeof last, err));
    MRC_TRY(element_read(e, last, sizeof last, err));
    MRC_TRY(element_read(e, NULL, tag->behind - tag->bytes, err));
    claims->entries = get4(last, e->swapped);
out:
    return rc;
}

/* Walk through the parts of an array of `left` bytes: flags, dimensions, name and, with `whole`,
 * all that follows. The library takes memory by these lengths before it looks at what is there. */
static mercer_status check_array(struct element *e, int64_t left, bool whole, int depth,
                                 struct claims *claims, mercer_error *err)
{
    struct part tag;
    mercer_status rc = MERCER_OK;
    *claims = (struct claims){.values = -1};
    if (depth > MAX_DEPTH)
        MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                    "%s: arrays inside arrays, more than %d deep", e->input->shown, MAX_DEPTH);
    for (int part = 0; left >= TAG && (part < PARTS_OF_HEAD || whole); part++) {
        MRC_TRY(part_tag(e, &left, &tag, err));
        if (tag.type == TYPE_MATRIX) {
            struct claims inside;
            MRC_TRY(check_array(e, tag.behind, whole, depth + 1, &inside, err));
            claims->inside++;
            continue;
        }
        MRC_TRY(check_part(e, part, &tag, claims, err));
        whole |= holds_arrays(claims); /* the library looks inside */
    }
    if (whole)
        MRC_TRY(element_read(e, NULL, left, err));
    if (holds_arrays(claims))
        MRC_TRY(check_claims(claims, e->input->shown, err));
out:
    return rc;
}

/* Look into the element at this offset; with `whole` it is an array of numbers. */
static mercer_status check_element(mrc_input *input, int64_t offset, int64_t bytes, uint32_t type,
                                   bool swapped, bool whole, mercer_error *err)
{
    struct element e = {.input = input, .offset = offset, .left = bytes, .swapped = swapped};
    unsigned char tag[TAG];
    struct claims claims;
    mercer_status rc = MERCER_OK;
    if (type != TYPE_MATRIX && type != TYPE_COMPRESSED)
        goto out;
    MRC_TRY(element_open(&e, type == TYPE_COMPRESSED, err));
    if (e.packed) {
        MRC_TRY(element_read(&e, tag, TAG, err));
        if (get4(tag, swapped) != TYPE_MATRIX)
            goto out;
        bytes = (int64_t)get4(tag + 4, swapped);
    }
    MRC_TRY(check_array(&e, bytes, whole, 0, &claims, err));
    if (whole)
        MRC_TRY(check_claims(&claims, input->shown, err));
    size_t got = 1;
    while (whole && e.packed && got > 0) /* up to the check sum */
        MRC_TRY(unpack(&e, (unsigned char[1024]){0}, 1024, &got, err));
out:
    element_close(&e);
    return rc;
}

mercer_status mrc_mat_check_elements(mrc_input *input, bool swapped, int64_t wanted,
                                     mercer_error *err)
{
    int64_t at = HEADER;
    mercer_status rc = MERCER_OK;
    for (int64_t i = 0; at < input->size; i++) {
        unsigned char tag[TAG];
        size_t got;
        MRC_TRY(mrc_input_at(input, at, tag, TAG, &got, err));
        int64_t bytes = got == TAG ? (int64_t)get4(tag + 4, swapped) : 0;
        if (got < TAG || bytes > input->size - at - TAG)
            MRC_FAIL_AT(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                        "%s: array %lld reaches beyond the end (truncated or damaged file)",
                        input->shown, (long long)i + 1);
        if (wanted < 0 || i == wanted)
            MRC_TRY(check_element(input, at + TAG, bytes, get4(tag, swapped), swapped, wanted >= 0,
                                  err));
        at += TAG + bytes;
    }
out:
    return rc;
}

mercer_status mrc_mat_check_header(mrc_input *input, int *version, bool *swapped, mercer_error *err)
{
    unsigned char header[HEADER];
    size_t got;
    mercer_status rc = mrc_input_at(input, 0, header, HEADER, &got, err);
    if (rc != MERCER_OK)
        return rc;
    bool little = got == HEADER && header[126] == 'I' && header[127] == 'M';
    bool big = got == HEADER && header[126] == 'M' && header[127] == 'I';
    *version = little ? header[125] << 8 | header[124] : big ? header[124] << 8 | header[125] : 0;
    *swapped = little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    if (got == 0)
        return mrc_fail_at(err, MERCER_ERR_DATA, MRC_IN_FILE, "%s: is empty", input->shown);
    if (*version != MRC_MAT_5 && *version != MRC_MAT_73)
        return mrc_fail_at(err, MERCER_ERR_FORMAT, MRC_IN_FILE,
                           "%s: is not a MAT file of version 5 (v6, v7) or 7.3", input->shown);
    return MERCER_OK;
}
