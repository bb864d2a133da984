/* JSON of a report. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>

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

json_t *cli_json_reals(const double *values, int64_t count, double factor)
{
    json_t *array = json_array();
    for (int64_t i = 0; values && i < count; i++)
        json_array_append_new(array, cli_json_real(values[i] * factor));
    return array;
}

json_t *cli_json_take(char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    mercer_free(text);
    return json;
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
