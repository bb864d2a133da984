/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON texts to Jansson's values: by recursive descent, see json.h. */
#include "model/json.h"

#include "base/json_writer.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 100 }; /* of arrays and objects in each other; model files have three */

struct parser {
    const char *at, *end; /* *end is a zero byte, which ends every loop */
    char *text;           /* scratch for a string: as long as the whole, so always enough */
    int depth;
    const char *reason;
    mercer_error *err;
};

static mercer_status refuse(struct parser *p, const char *reason)
{
    p->reason = reason;
    return MERCER_ERR_FORMAT;
}

static mercer_status no_memory(const struct parser *p)
{
    return mrc_fail(p->err, MERCER_ERR_MEMORY, "out of memory (JSON)");
}

/* A value of Jansson's, or that there is none. */
static mercer_status made(const struct parser *p, json_t *value, json_t **out)
{
    *out = value;
    return value ? MERCER_OK : no_memory(p);
}

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
        p->at++;
}

/* ---- strings ---- */

/* Four hexadecimal digits, or -1. */
static long read_code(struct parser *p)
{
    long code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        char c = *p->at;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        code = 16 * code + digit;
    }
    return code;
}

static size_t put_code(char *to, long code)
{
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    to[0] = (char)(first[more] | (code >> 6 * more));
    for (int i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3F));
    return (size_t)more + 1;
}

/* The character of \uXXXX or of a pair of them, behind the u; never 0. */
static mercer_status read_escape(struct parser *p, long *code)
{
    enum { HIGH = 0xD800, LOW = 0xDC00, BEHIND = 0xE000, PLANE = 0x10000 };
    *code = read_code(p);
    if (*code < 0)
        return refuse(p, "a \\u without four hexadecimal digits");
    if (*code == 0)
        return refuse(p, "a zero byte in a text");
    if (*code < HIGH || *code >= BEHIND)
        return MERCER_OK;
    if (*code >= LOW || p->at[0] != '\\' || p->at[1] != 'u')
        return refuse(p, "half of a surrogate pair");
    p->at += 2;
    long low = read_code(p);
    if (low < LOW || low >= BEHIND)
        return refuse(p, "half of a surrogate pair");
    *code = PLANE + ((*code - HIGH) << 10) + (low - LOW);
    return MERCER_OK;
}

/* A string, from its opening quotation mark on, to p->text. */
static mercer_status read_text(struct parser *p, size_t *length)
{
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char *to = p->text;
    p->at++;
    while (*p->at != '"') {
        unsigned char c = (unsigned char)*p->at;
        int size = mrc_utf8_length((const unsigned char *)p->at);
        if (c < 0x20)
            return refuse(p, p->at == p->end ? "a text without an end"
                                             : "a control character in a text");
        if (size == 0)
            return refuse(p, "a text that is not UTF-8");
        if (c != '\\') {
            memcpy(to, p->at, (size_t)size);
            to += size;
            p->at += size;
            continue;
        }
        const char *escape = p->at[1] ? strchr(escapes, p->at[1]) : NULL;
        if (escape) {
            *to++ = meant[escape - escapes];
            p->at += 2;
            continue;
        }
        if (p->at[1] != 'u')
            return refuse(p, "an unknown escape in a text");
        long code = 0;
        p->at += 2;
        mercer_status rc = read_escape(p, &code);
        if (rc != MERCER_OK)
            return rc;
        to += put_code(to, code);
    }
    p->at++;
    *to = 0;
    *length = (size_t)(to - p->text);
    return MERCER_OK;
}

/* ---- numbers ---- */

static bool skip_digits(struct parser *p)
{
    const char *start = p->at;
    while (*p->at >= '0' && *p->at <= '9')
        p->at++;
    return p->at > start;
}

static mercer_status read_number(struct parser *p, json_t **out)
{
    static const char wrong[] = "neither a value nor a number";
    const char *start = p->at;
    bool whole = true;
    int64_t integer = 0;
    double real = 0;
    p->at += *p->at == '-';
    if (*p->at == '0')
        p->at++;
    else if (!skip_digits(p))
        return refuse(p, wrong);
    if (*p->at == '.') {
        whole = false;
        p->at++;
        if (!skip_digits(p))
            return refuse(p, wrong);
    }
    if (*p->at == 'e' || *p->at == 'E') {
        whole = false;
        p->at++;
        p->at += *p->at == '+' || *p->at == '-';
        if (!skip_digits(p))
            return refuse(p, wrong);
    }
    size_t length = (size_t)(p->at - start);
    if (whole && !mrc_parse_int(start, length, &integer))
        return refuse(p, "an integer that is too large");
    if (whole)
        return made(p, json_integer(integer), out);
    if (!mrc_parse_double(start, length, &real) || !isfinite(real))
        return refuse(p, "a number that is too large");
    return made(p, json_real(real), out);
}

/* ---- values ---- */

static mercer_status read_value(struct parser *p, json_t **out);

/* Behind an element: false at the closing bracket, which is passed over, as is a comma. */
static mercer_status next_element(struct parser *p, char closing, bool *more)
{
    skip_space(p);
    *more = *p->at == ',';
    if (!*more && *p->at != closing)
        return refuse(p, closing == ']' ? "neither , nor ] after an element"
                                        : "neither , nor } after a member");
    p->at++;
    skip_space(p);
    return MERCER_OK;
}

/* True, and passed over, when nothing stands between brackets. */
static bool is_empty(struct parser *p, char closing)
{
    p->at++;
    skip_space(p);
    if (*p->at != closing)
        return false;
    p->at++;
    return true;
}

static mercer_status read_array(struct parser *p, json_t **out)
{
    mercer_status rc = made(p, json_array(), out);
    bool more = rc == MERCER_OK && !is_empty(p, ']');
    while (rc == MERCER_OK && more) {
        json_t *element = NULL;
        rc = read_value(p, &element);
        if (rc == MERCER_OK && json_array_append_new(*out, element) != 0)
            rc = no_memory(p);
        if (rc == MERCER_OK)
            rc = next_element(p, ']', &more);
    }
    return rc;
}

/* A name, its colon and its value, into the object. */
static mercer_status read_member(struct parser *p, json_t *object)
{
    char *name = NULL;
    json_t *value = NULL;
    size_t length = 0;
    mercer_status rc = MERCER_OK;
    if (*p->at != '"') {
        rc = refuse(p, "a member without a name");
        goto out;
    }
    MRC_TRY(read_text(p, &length));
    MRC_TRY(mrc_strdup(&name, p->text, p->err)); /* the value needs the scratch */
    if (json_object_get(object, name)) {
        rc = refuse(p, "a name twice in one object");
        goto out;
    }
    skip_space(p);
    if (*p->at != ':') {
        rc = refuse(p, "no : after a name");
        goto out;
    }
    p->at++;
    skip_space(p);
    MRC_TRY(read_value(p, &value));
    if (json_object_set_new_nocheck(object, name, value) != 0)
        rc = no_memory(p);
out:
    mrc_free(name);
    return rc;
}

static mercer_status read_object(struct parser *p, json_t **out)
{
    mercer_status rc = made(p, json_object(), out);
    bool more = rc == MERCER_OK && !is_empty(p, '}');
    while (rc == MERCER_OK && more) {
        rc = read_member(p, *out);
        if (rc == MERCER_OK)
            rc = next_element(p, '}', &more);
    }
    return rc;
}

static bool skip_word(struct parser *p, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

/* On error *out is NULL. */
static mercer_status read_value(struct parser *p, json_t **out)
{
    mercer_status rc;
    size_t length = 0;
    *out = NULL;
    if (*p->at == '[' || *p->at == '{') {
        if (p->depth == MAX_DEPTH)
            return refuse(p, "arrays and objects too deep in each other");
        p->depth++;
        rc = *p->at == '[' ? read_array(p, out) : read_object(p, out);
        p->depth--;
    } else if (*p->at == '"') {
        rc = read_text(p, &length);
        if (rc == MERCER_OK)
            rc = made(p, json_stringn_nocheck(p->text, length), out);
    } else if (skip_word(p, "true")) {
        rc = made(p, json_true(), out);
    } else if (skip_word(p, "false")) {
        rc = made(p, json_false(), out);
    } else if (skip_word(p, "null")) {
        rc = made(p, json_null(), out);
    } else {
        rc = p->at == p->end ? refuse(p, "it ends too early") : read_number(p, out);
    }
    if (rc != MERCER_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}

mercer_status mrc_json_parse(const char *text, size_t length, json_t **out, const char **reason,
                             mercer_error *err)
{
    struct parser p = {.at = text, .end = text + length, .reason = "", .err = err};
    mercer_status rc = MERCER_OK;
    *out = NULL;
    MRC_TRY(mrc_alloc2_raw(&p.text, (int64_t)length + 1, 1, 1, err));
    skip_space(&p);
    MRC_TRY(read_value(&p, out));
    skip_space(&p);
    if (p.at != p.end) {
        rc = refuse(&p, "something follows its end");
        json_decref(*out);
        *out = NULL;
    }
out:
    mrc_free(p.text);
    *reason = p.reason;
    return rc;
}

mercer_status mrc_json_text(const json_t *value, char **out, size_t *length, mercer_error *err)
{
    mercer_status rc = MERCER_OK;
    *out = NULL;
    size_t size = json_dumpb(value, NULL, 0, JSON_COMPACT);
    if (size == 0)
        return mrc_json_no_memory(err);
    rc = mrc_alloc(out, (int64_t)size + 1, 1, err);
    if (rc == MERCER_OK && json_dumpb(value, *out, size, JSON_COMPACT) != size)
        rc = mrc_json_no_memory(err);
    *length = size;
    return rc;
}

mercer_status mrc_json_no_memory(mercer_error *err)
{
    return mrc_fail(err, MERCER_ERR_MEMORY, "out of memory (model header)");
}
