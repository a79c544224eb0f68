/* The figures of all ranks in all steps for the HTML report, as planes: 16-bit numbers, deflated,
 * in base64, which the page unpacks when it shows them (page/planes.js). Called by html_data.c and
 * html_report.c. Writes to the given stream; decides nothing about what is slow. */
#ifndef PW_REPORT_HTML_HTML_PLANES_H
#define PW_REPORT_HTML_HTML_PLANES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/figures/figures.h"

/* The steps as the columns of the HTML report's charts. A run of more steps than a screen can show
 * has blocks of consecutive steps, each the mean of what is known in it. */

enum { PW_COLUMNS_CELLS = 1 << 20, PW_COLUMNS_LEAST = 64, PW_COLUMNS_MOST = 16384 };

struct pw_columns {
    const struct pw_figures *figures;
    size_t block; /* steps in a column; the last may have fewer */
    size_t count;
};

void pw_columns_init(const struct pw_figures *figures, struct pw_columns *out);

/* Fills `cells` with the int64 field at `offset` of a [steps x ranks] table, rank-major; -1 is not
 * known. `cells` has room for figures->nranks x count values. */
void pw_columns_fill(const struct pw_columns *columns, int table, size_t offset, int64_t *cells);

/* An object of arrays, one value a column: first and last step, duration, quantiles of the ranks'
 * own time, the slowest rank, means over the ranks. NULL when memory is short. */
json_t *pw_columns_json(const struct pw_columns *columns);

/* Above so many cells, values are rounded to 7 bits (0.4 %) instead of 11 (0.03 %). */
enum { PW_PLANES_EXACT_CELLS = 1 << 17 };

/* A number of 16 bits: 0 is not known (negative); n + 1 is m for n < 2048, else
 * (2048 + m) << (e - 1) with m the low 11 bits of n and e the 5 above. In units of 2^shift ns. */
uint16_t pw_planes_encode(int64_t value, int shift, int rounded);

/* Writes one <script type="text/plain" id="plane-NAME"> per figure of which something is known. 0,
 * -ENOMEM or -EIO. */
int pw_planes_write(FILE *out, const struct pw_columns *columns);

/* Bytes as text in a page: deflated, in base64. page/planes.js unpacks them when they are shown. */

/* 0, -ENOMEM or -EIO. */
int pw_packed_write(FILE *out, const void *bytes, size_t n);

#endif
