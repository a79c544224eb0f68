/* Writes the figures of all ranks in all steps for the HTML report, as planes: a plane is a table
 * of 16-bit numbers, deflated, in base64, which the page unpacks when it shows it (page/planes.js).
 * Called by html_data.c and html_report.c. Writes to the given stream; makes no verdicts. */
#ifndef PW_REPORT_HTML_HTML_PLANES_H
#define PW_REPORT_HTML_HTML_PLANES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/figures/figures.h"

/* The columns of the HTML report's charts: the steps. In a run with more steps than a screen can
 * show, a column is a block of consecutive steps, with the means of their known values. */

enum { PW_COLUMNS_CELLS = 1 << 20, PW_COLUMNS_LEAST = 64, PW_COLUMNS_MOST = 16384 };

struct pw_columns {
    const struct pw_figures *figures;
    size_t block; /* number of steps in a column; the last column may have fewer */
    size_t count;
};

void pw_columns_init(const struct pw_figures *figures, struct pw_columns *out);

/* Fills `cells` with the int64_t field at `offset` of a [steps x ranks] table, for all ranks in one
 * column; -1: not known. `cells` has room for figures->nranks values. */
void pw_columns_fill(const struct pw_columns *columns, int table, size_t offset, size_t column,
                     int64_t *cells);

/* Returns an object of arrays with one value for each column: first and last step, duration,
 * quantiles of the ranks' own time, the slowest rank, means over the ranks. NULL when memory is
 * short. */
json_t *pw_columns_json(const struct pw_columns *columns);

/* With more cells, values are rounded to 7 bits (0.4 %) instead of 11 (0.03 %). */
enum { PW_PLANES_EXACT_CELLS = 1 << 17 };

/* Writes a <script type="text/plain" id="plane-NAME"> for each figure with known values. Returns 0,
 * -ENOMEM or -EIO. */
int pw_planes_write(FILE *out, const struct pw_columns *columns);

#endif
