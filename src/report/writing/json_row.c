/* Writes the fields of a row by the types that core/tables.def gives; see json_row.h. */
#include "report/writing/json_row.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/tables.h"
#include "report/writing/safenames.h"

json_t *pw_json_or_null(json_t *value, int failed)
{
    if (!failed)
        return value;
    json_decref(value);
    return NULL;
}

json_t *pw_json_int(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

json_t *pw_json_real(double value)
{
    return isfinite(value) && value >= 0 ? json_real(value) : json_null();
}

json_t *pw_json_text(const char *text, size_t length)
{
    char clean[1024];
    pw_names_utf8(clean, sizeof(clean), text, length);
    return clean[0] ? json_string(clean) : json_null();
}

static int is_bandwidth(const struct pw_field *field)
{
    return strncmp(field->name, "algbw", 5) == 0 || strncmp(field->name, "busbw", 5) == 0 ||
           strstr(field->name, "bandwidth");
}

/* Returns the unit to append to the key of a field whose name lacks it, else "". */
static const char *unit_of(const struct pw_field *field)
{
    if (is_bandwidth(field))
        return "_bytes_per_s";
    static const char *const times[] = {"start", "end", "time"};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (strcmp(field->name, times[i]) == 0)
            return "_ns";
    return "";
}

static json_t *real_value(const struct pw_field *field, const char *at)
{
    double value;
    memcpy(&value, at, sizeof(value));
    return is_bandwidth(field) && !(value > 0) ? json_null() : pw_json_real(value);
}

static json_t *field_value(const struct pw_field *field, const void *row)
{
    const char *at = (const char *)row + field->offset;
    char hex[32];
    switch (field->type) {
    case PW_F_F64:
        return real_value(field, at);
    case PW_F_S16:
    case PW_F_S32:
    case PW_F_S64:
    case PW_F_S256:
    case PW_F_S512:
        return pw_json_text(at, field->size);
    case PW_F_U64: /* an identifier, as text, because JSON integers are signed */
        snprintf(hex, sizeof(hex), "0x%" PRIx64, (uint64_t)pw_field_integer(field, row));
        return json_string(hex);
    default:
        break;
    }
    if (field->type >= PW_F_OP)
        return json_string(pw_enum_name(field->type, (int)pw_field_integer(field, row)));
    return pw_json_int(pw_field_integer(field, row));
}

const char *pw_json_key(const struct pw_field *field, char out[PW_JSON_KEY])
{
    snprintf(out, PW_JSON_KEY, "%s%s", field->name, unit_of(field));
    return out;
}

json_t *pw_json_row(int table, const void *row)
{
    const struct pw_table *info = pw_table_borrow(table);
    json_t *object = json_object();
    for (size_t i = 0; object && i < info->nfields; i++) {
        const struct pw_field *field = &info->fields()[i];
        char key[PW_JSON_KEY];
        if (json_object_set_new(object, pw_json_key(field, key), field_value(field, row))) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

json_t *pw_json_rows(int table, const void *rows, size_t count)
{
    size_t row_size = pw_table_borrow(table)->row_size;
    json_t *array = json_array();
    for (size_t i = 0; array && i < count; i++) {
        if (json_array_append_new(array, pw_json_row(table, (const char *)rows + i * row_size))) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

json_t *pw_json_rows_up_to(size_t most, int table, const void *rows, size_t count)
{
    return count > most ? json_null() : pw_json_rows(table, rows, count);
}
