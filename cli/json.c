/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON of a report. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_text(const char *text)
{
    if (!text)
        return json_null();
    json_t *json = json_string(text);
    if (json)
        return json;
    char *plain = cli_copy(text);
    for (char *at = plain; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    json = json_string(plain);
    free(plain);
    return json;
}

json_t *cli_json_take(mercer_status rc, char **text)
{
    if (rc != MERCER_OK)
        cli_out_of_memory(); /* nothing else can go wrong */
    json_t *json = json_loads(*text, 0, NULL);
    mercer_free(*text);
    return json;
}

void cli_json_move(json_t *from, const char *key, json_t *to)
{
    json_t *value = json_object_get(from, key);
    if (value)
        json_object_set(to, key, value);
}

void cli_json_insert(json_t *object, const char *before, const char *key, json_t *value)
{
    json_t *old = json_copy(object), *member;
    const char *name;
    json_object_clear(object);
    json_object_foreach(old, name, member)
    {
        if (strcmp(name, before) == 0)
            json_object_set_new(object, key, value);
        json_object_set(object, name, member);
    }
    json_decref(old);
}

json_t *cli_json_notices(const cli_app *app)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < app->notice_count; i++)
        json_array_append_new(array, cli_json_text(app->notices[i]));
    return array;
}

void cli_json_print(FILE *out, json_t *object)
{
    const char *key;
    json_t *value;
    const char *before = "{\n";
    cli_progress_clear();
    json_object_foreach(object, key, value)
    {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        fprintf(out, "%s  \"%s\": ", before, key);
        cli_put_json(out, text);
        free(text);
        before = ",\n";
    }
    fprintf(out, "%s}\n", json_object_size(object) ? "\n" : "{");
    json_decref(object);
}
