/* Writes the units and meanings of columns; see h5columns.h. */
#include "core/h5/h5columns.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/h5/h5types.h"

/* Writes a JSON string. The texts of tables.def have no control characters. */
static void put_text(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
    putc('"', out);
}

/* Writes an object with the text at `offset` in struct pw_field for each field, unless it is "". */
static void put_columns(FILE *out, const struct pw_table *table, size_t offset)
{
    const char *between = "";
    putc('{', out);
    for (size_t i = 0; i < table->nfields; i++) {
        const struct pw_field *field = &table->fields()[i];
        const char *text = *(const char *const *)((const char *)field + offset);
        if (!*text)
            continue;
        fputs(between, out);
        put_text(out, field->name);
        fputs(": ", out);
        put_text(out, text);
        between = ", ";
    }
    putc('}', out);
}

static void put_rank_tables(FILE *out)
{
    putc('{', out);
    for (int id = 0; id < PW_RANK_TABLE_COUNT; id++) {
        fputs(id ? ", " : "", out);
        put_text(out, pw_table_borrow(id)->path);
        fputs(": ", out);
        put_columns(out, pw_table_borrow(id), offsetof(struct pw_field, meaning));
    }
    putc('}', out);
}

/* Writes an attribute: the text at `offset` for each field of `table`, or, when that is NULL, the
 * meanings of all tables of rank files. */
static int write_attribute(hid_t object, const char *name, const struct pw_table *table,
                           size_t offset)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return -ENOMEM;
    if (table)
        put_columns(out, table, offset);
    else
        put_rank_tables(out);
    int err = ferror(out) ? -ENOMEM : 0;
    err = fclose(out) ? -ENOMEM : err;
    err = err ? err : pw_h5_set_text(object, name, text);
    free(text);
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
