/* A table of text cells that is as wide as its contents, and never wider than the page. */
#ifndef PW_REPORT_WRITING_GRID_H
#define PW_REPORT_WRITING_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "report/writing/page.h"

enum { PW_GRID_COLUMNS = 16 };

/* The title may have two lines. Text columns are flush left and are shortened first. */
struct pw_grid_column {
    const char *title;
    int is_text;
};

struct pw_grid {
    const struct pw_grid_column *columns;
    size_t ncolumns;
    char **cells; /* row-major */
    size_t ncells, capacity;
    char **notes; /* by row; NULL where there is none */
    size_t nnotes;
    int error; /* the first error; later calls do nothing */
};

/* `columns` must outlive the grid; at most PW_GRID_COLUMNS. */
void pw_grid_init(struct pw_grid *grid, const struct pw_grid_column *columns, size_t ncolumns);
void pw_grid_fini(struct pw_grid *grid);

/* Adds the next cell, left to right and then down. */
__attribute__((format(printf, 2, 3))) void pw_grid_cell(struct pw_grid *grid, const char *format,
                                                        ...);

/* Cells of a time, a share and a size, as pw_text_ns, pw_page_percent and pw_text_bytes write them:
 * "n/a" for values below 0. */
void pw_grid_time(struct pw_grid *grid, int64_t ns);
void pw_grid_share(struct pw_grid *grid, double share);
void pw_grid_bytes(struct pw_grid *grid, int64_t bytes);

/* A line of text below the last full row. */
__attribute__((format(printf, 2, 3))) void pw_grid_note(struct pw_grid *grid, const char *format,
                                                        ...);

/* Titles and rows, indented by two columns. 0 or the grid's error. */
int pw_grid_print(const struct pw_grid *grid, const struct pw_page *page);

#endif
