/* Formats values by the unit and type that core/tables.def gives; see rowgrid.h. */
#include "report/writing/rowgrid.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/cluster.h"
#include "core/tables.h"

static void add_real(struct pw_grid *grid, const struct pw_field *field, double value)
{
    const double giga = 1e9;
    if (!isfinite(value) || value < 0)
        pw_grid_cell(grid, "n/a");
    else if (strcmp(field->unit, "0..1") == 0)
        pw_grid_share(grid, value);
    else if (strcmp(field->unit, "bytes/s") == 0)
        pw_grid_cell(grid, "%.4g GB/s", value / giga);
    else if (strcmp(field->unit, "ns") == 0)
        pw_grid_time(grid, (int64_t)value);
    else
        pw_grid_cell(grid, "%.4g", value);
}

static void add_integer(struct pw_grid *grid, const struct pw_field *field, int64_t value)
{
    if (strcmp(field->unit, "ns") == 0)
        pw_grid_time(grid, value);
    else if (strcmp(field->unit, "bytes") == 0)
        pw_grid_bytes(grid, value);
    else if (field->type == PW_F_U64)
        pw_grid_cell(grid, "0x%" PRIx64, (uint64_t)value);
    else if (value < 0)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%" PRId64, value);
}

static int is_text(const struct pw_field *field)
{
    return field->type >= PW_F_S16 && field->type <= PW_F_S512;
}

/* Adds a cell with the field's value: "n/a" for what is not known. */
static void rowgrid_cell(struct pw_grid *grid, const struct pw_field *field, const void *row)
{
    const char *at = (const char *)row + field->offset;
    double real;
    if (is_text(field)) {
        pw_grid_cell(grid, "%.*s", *at ? (int)field->size : 3, *at ? at : "n/a");
    } else if (field->type == PW_F_F64) {
        memcpy(&real, at, sizeof(real));
        add_real(grid, field, real);
    } else if (pw_enum_borrow(field->type)) {
        pw_grid_cell(grid, "%s", pw_enum_name(field->type, (int)pw_field_integer(field, row)));
    } else {
        add_integer(grid, field, pw_field_integer(field, row));
    }
}

/* The columns of the page, and the fields that they show. */
struct layout {
    struct pw_grid_column columns[PW_GRID_COLUMNS];
    const struct pw_field *fields[PW_GRID_COLUMNS];
    char titles[PW_GRID_COLUMNS][64];
    size_t n;
};

static void add_column(struct layout *l, const struct pw_field *field, const char *title)
{
    const int kind = is_text(field) || pw_enum_borrow(field->type) ? PW_GRID_TEXT : PW_GRID_NUMBER;
    l->fields[l->n] = field;
    l->columns[l->n++] = (struct pw_grid_column){title, kind};
}

/* "wait_ns" becomes "wait": the cells have their units. */
static const char *title_of(const struct pw_field *field, char *title, size_t size)
{
    size_t n = strlen(field->name);
    if (n > 3 && strcmp(field->name + n - 3, "_ns") == 0)
        n -= 3;
    n = n < size ? n : size - 1;
    for (size_t i = 0; i < n; i++)
        title[i] = (char)(field->name[i] == '_' ? ' ' : field->name[i]);
    title[n] = '\0';
    return title;
}

static void lay_out(const struct pw_rowgrid *rows, struct layout *l)
{
    const struct pw_table *table = pw_table_borrow(rows->table);
    l->n = 0;
    if (!rows->columns)
        for (size_t i = 0; i < table->nfields && l->n < PW_GRID_COLUMNS; i++)
            add_column(l, &table->fields()[i],
                       title_of(&table->fields()[i], l->titles[l->n], sizeof(l->titles[0])));
    for (size_t c = 0; c < rows->ncolumns; c++)
        for (size_t i = 0; i < table->nfields; i++)
            if (strcmp(table->fields()[i].name, rows->columns[c].field) == 0)
                add_column(l, &table->fields()[i], rows->columns[c].title);
}

int pw_rowgrid_print(const struct pw_page *page, const struct pw_rowgrid *rows)
{
    const struct pw_cluster_rows all = pw_cluster_rows(page->figures->cluster, rows->table);
    const size_t row_size = pw_table_borrow(rows->table)->row_size;
    const size_t shown = rows->count < page->top ? rows->count : page->top;
    struct layout l;
    struct pw_grid grid;
    lay_out(rows, &l);
    pw_grid_init(&grid, l.columns, l.n);
    for (size_t i = 0; i < shown; i++)
        for (size_t c = 0; c < l.n; c++)
            rowgrid_cell(&grid, l.fields[c],
                         (const char *)all.rows + (rows->order ? rows->order[i] : i) * row_size);
    int err = shown ? pw_grid_print(&grid, page) : 0;
    pw_grid_fini(&grid);
    if (!err && shown < rows->count)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", rows->count - shown);
    return err;
}

int pw_rowgrid_print_all(const struct pw_page *page, int table)
{
    const size_t n = pw_cluster_rows(page->figures->cluster, table).n;
    return pw_rowgrid_print(page, &(struct pw_rowgrid){.table = table, .count = n});
}
