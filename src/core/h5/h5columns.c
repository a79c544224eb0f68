/* Writes the units and meanings of columns; see h5columns.h. */
#include "core/h5/h5columns.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5/h5types.h"

/* A text that grows. */
struct text {
    char *bytes;
    size_t n, room;
    int err;
};

static void put_bytes(struct text *out, const char *bytes, size_t n)
{
    enum { LEAST_ROOM = 2048 };
    if (out->n + n >= out->room && !out->err) {
        const size_t room = 2 * (out->n + n) + LEAST_ROOM;
        char *moved = realloc(out->bytes, room);
        out->err = moved ? 0 : -ENOMEM;
        out->bytes = moved ? moved : out->bytes;
        out->room = moved ? room : out->room;
    }
    if (out->err)
        return;
    memcpy(out->bytes + out->n, bytes, n);
    out->n += n;
    out->bytes[out->n] = '\0';
}

static void put(struct text *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

/* Writes a JSON string. The texts of tables.def have no control characters. */
static void put_text(struct text *out, const char *text)
{
    put(out, "\"");
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\"\\");
        put_bytes(out, text, n);
        if (text[n]) {
            put(out, "\\");
            put_bytes(out, text + n, 1);
            n++;
        }
    }
    put(out, "\"");
}

/* Writes an object with the text at `offset` in struct pw_field for each field, unless it is "". */
static void put_columns(struct text *out, const struct pw_table *table, size_t offset)
{
    const char *between = "";
    put(out, "{");
    for (size_t i = 0; i < table->nfields; i++) {
        const struct pw_field *field = &table->fields()[i];
        const char *text = *(const char *const *)((const char *)field + offset);
        if (!*text)
            continue;
        put(out, between);
        put_text(out, field->name);
        put(out, ": ");
        put_text(out, text);
        between = ", ";
    }
    put(out, "}");
}

static void put_rank_tables(struct text *out)
{
    put(out, "{");
    for (int id = 0; id < PW_RANK_TABLE_COUNT; id++) {
        put(out, id ? ", " : "");
        put_text(out, pw_table_borrow(id)->path);
        put(out, ": ");
        put_columns(out, pw_table_borrow(id), offsetof(struct pw_field, meaning));
    }
    put(out, "}");
}

/* Writes an attribute: the text at `offset` for each field of `table`, or, when that is NULL, the
 * meanings of all tables of rank files. */
static int write_attribute(hid_t object, const char *name, const struct pw_table *table,
                           size_t offset)
{
    struct text text = {.bytes = NULL};
    if (table)
        put_columns(&text, table, offset);
    else
        put_rank_tables(&text);
    const int err = text.err ? text.err : pw_h5_set_text(object, name, text.bytes);
    free(text.bytes);
    return err;
}

int pw_h5_units_write(hid_t dataset, const struct pw_table *table)
{
    size_t units = 0;
    for (size_t i = 0; i < table->nfields; i++)
        units += *table->fields()[i].unit != '\0';
    return units ? write_attribute(dataset, PW_H5_UNITS, table, offsetof(struct pw_field, unit))
                 : 0;
}

int pw_h5_meanings_write(hid_t dataset, const struct pw_table *table)
{
    return write_attribute(dataset, PW_H5_MEANINGS, table, offsetof(struct pw_field, meaning));
}

int pw_h5_rank_meanings_write(hid_t group)
{
    return write_attribute(group, PW_H5_MEANINGS, NULL, 0);
}
