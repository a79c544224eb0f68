/* Writes cells by the types that core/tables.def gives; see csv.h. */
#include "report/writing/csv.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/tables.h"
#include "report/writing/safenames.h"

void pw_csv_text(FILE *out, const char *text, size_t length)
{
    char clean[1024];
    pw_names_printable(clean, sizeof(clean), text, length);
    fputc('"', out);
    if (clean[0] && strchr("=+-@", clean[0]))
        fputc('\'', out);
    for (const char *at = clean; *at; at++) {
        if (*at == '"')
            fputc('"', out);
        fputc(*at, out);
    }
    fputc('"', out);
}

void pw_csv_real(FILE *out, double value)
{
    if (isfinite(value) && value >= 0)
        fprintf(out, "%.9g", value);
}

static void put_field(FILE *out, const struct pw_field *field, const void *row)
{
    const char *at = (const char *)row + field->offset;
    double real;
    switch (field->type) {
    case PW_F_S16:
    case PW_F_S32:
    case PW_F_S64:
    case PW_F_S256:
    case PW_F_S512:
        pw_csv_text(out, at, field->size);
        return;
    case PW_F_F64:
        memcpy(&real, at, sizeof(real));
        pw_csv_real(out, real);
        return;
    case PW_F_U64:
        fprintf(out, "0x%" PRIx64, (uint64_t)pw_field_integer(field, row));
        return;
    default:
        if (pw_enum_borrow(field->type))
            pw_csv_text(out, pw_enum_name(field->type, (int)pw_field_integer(field, row)),
                        SIZE_MAX);
        else
            fprintf(out, "%" PRId64, pw_field_integer(field, row));
    }
}

void pw_csv_table(FILE *out, const char *name, int table, struct pw_cluster_rows rows)
{
    const struct pw_table *info = pw_table_borrow(table);
    fprintf(out, "# %s\n", name);
    for (size_t i = 0; i < info->nfields; i++)
        fprintf(out, "%s%s", i ? "," : "", info->fields()[i].name);
    fputc('\n', out);
    for (size_t r = 0; r < rows.n; r++)
        for (size_t i = 0; i < info->nfields; i++) {
            const struct pw_field *field = &info->fields()[i];
            put_field(out, field, (const char *)rows.rows + r * info->row_size);
            fputc(i + 1 < info->nfields ? ',' : '\n', out);
        }
}

void pw_csv_names(FILE *out, int table, size_t first)
{
    const struct pw_table *info = pw_table_borrow(table);
    for (size_t i = first; i < info->nfields; i++)
        fprintf(out, ",%s", info->fields()[i].name);
}

void pw_csv_ns(FILE *out, int64_t ns)
{
    fputc(',', out);
    if (ns >= 0)
        fprintf(out, "%" PRId64, ns);
}

void pw_csv_times(FILE *out, int table, size_t first, const void *row)
{
    const struct pw_table *info = pw_table_borrow(table);
    for (size_t i = first; i < info->nfields; i++) {
        int64_t ns;
        memcpy(&ns, (const char *)row + info->fields()[i].offset, sizeof(ns));
        pw_csv_ns(out, ns);
    }
}
