/* The steps as the columns of the HTML report's charts. A run of more steps than a screen can show
 * has blocks of consecutive steps, each the mean of what is known in it. */
#ifndef PW_REPORT_HTML_HTML_COLUMNS_H
#define PW_REPORT_HTML_HTML_COLUMNS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "report/figures/figures.h"

enum { PW_COLUMNS_CELLS = 1 << 20, PW_COLUMNS_LEAST = 64, PW_COLUMNS_MOST = 16384 };

struct pw_columns {
    const struct pw_figures *figures;
    size_t block; /* steps in a column; the last may have fewer */
    size_t count;
};

void pw_columns_init(const struct pw_figures *figures, struct pw_columns *out);

/* Of the int64 field at `offset` of a [steps x ranks] table, rank-major; -1 is not known. `cells`
 * has room for figures->nranks x count values. */
void pw_columns_fill(const struct pw_columns *columns, int table, size_t offset, int64_t *cells);

/* An object of arrays, one value a column: first and last step, duration, quantiles of the ranks'
 * own time, the slowest rank, means over the ranks. NULL when memory is short. */
json_t *pw_columns_json(const struct pw_columns *columns);

#endif
