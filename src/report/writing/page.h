/* Prints paragraphs and tables of a given width; tables are as wide as their contents, but not
 * wider than the page. Called by the text and comparison reports. All text passes through
 * safenames.h, so that sections need not make names from files safe. */
#ifndef PW_REPORT_WRITING_PAGE_H
#define PW_REPORT_WRITING_PAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/figures/figures.h"
#include "report/report.h"

struct pw_page {
    FILE *out;
    size_t width;
    size_t top; /* rows of each table; SIZE_MAX: all */
    const struct pw_figures *figures;
    const struct pw_report_options *options;
};

/* Prints one paragraph, broken at spaces: the first line begins at column `indent`, the others at
 * `hang`. 0 or -ENOMEM. */
__attribute__((format(printf, 4, 5))) int pw_page_print(const struct pw_page *page, size_t indent,
                                                        size_t hang, const char *format, ...);

/* Prints "name text", a line of a list of properties. Returns 0 or -ENOMEM. */
__attribute__((format(printf, 3, 4))) int
pw_page_property(const struct pw_page *page, const char *name, const char *format, ...);

/* Writes "12 %", "4.2 %" or "0.3 %"; "n/a" for negative values and NaN. Returns `out`. */
const char *pw_page_percent(char *out, size_t size, double share);

/* The same as pw_text_ns(), with "~" before a time between ranks that is within the clock error. */
const char *pw_page_cross_ns(const struct pw_page *page, char *out, size_t size, int64_t ns);

/* ---- tables ---- */

enum { PW_GRID_COLUMNS = 16 };

/* Text columns are left-aligned, and are shortened first. On a narrow page, columns are left out
 * from the right, KEPT ones last; never the first. */
enum { PW_GRID_NUMBER, PW_GRID_TEXT, PW_GRID_KEPT };

/* A column. Its title may have two lines. */
struct pw_grid_column {
    const char *title;
    int kind;
};

struct pw_grid {
    const struct pw_grid_column *columns;
    size_t ncolumns;
    char **cells; /* row by row */
    size_t ncells, capacity;
    char **notes; /* [rows] note below each row; NULL: none */
    size_t nnotes;
    int error; /* the first error; after it, all calls do nothing */
};

/* Begins a table. `columns` must outlive the grid; there may be at most PW_GRID_COLUMNS. */
void pw_grid_init(struct pw_grid *grid, const struct pw_grid_column *columns, size_t ncolumns);
void pw_grid_fini(struct pw_grid *grid);

/* Adds the next cell, left to right and then down. */
__attribute__((format(printf, 2, 3))) void pw_grid_cell(struct pw_grid *grid, const char *format,
                                                        ...);

/* Add a time, a share and a size, in the formats of pw_text_ns(), pw_page_percent() and
 * pw_text_bytes(); "n/a" for values below 0. */
void pw_grid_time(struct pw_grid *grid, int64_t ns);
void pw_grid_share(struct pw_grid *grid, double share);
void pw_grid_bytes(struct pw_grid *grid, int64_t bytes);

/* Adds a line of text below the last complete row. */
__attribute__((format(printf, 2, 3))) void pw_grid_note(struct pw_grid *grid, const char *format,
                                                        ...);

/* Prints the titles and rows, indented by two columns. If the page is too narrow for all columns,
 * those of which no value is known are left out; a last line names others that do not fit. Returns
 * 0 or the grid's error. */
int pw_grid_print(const struct pw_grid *grid, const struct pw_page *page);

#endif
