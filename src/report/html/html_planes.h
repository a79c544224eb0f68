/* Writes the figures of all ranks in all steps for the HTML report, as planes: a plane is a table
 * of 16-bit numbers, deflated, in base64, which the page unpacks when it shows it (page/planes.js).
 * Called by html_report.c; html_timeline.c calls the writer of packed bytes, too.
 * Writes to the given stream; makes no verdicts. */
#ifndef PW_REPORT_HTML_HTML_PLANES_H
#define PW_REPORT_HTML_HTML_PLANES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/figures/figures.h"
#include "core/cells.h"

/* Writes bytes into the HTML report, deflated and in base64: the page unpacks them when it needs
 * them (page/planes.js). Writes to the given stream; reads no files. */

/* Levels of deflate. Planes are many bytes with much noise: ISA-L finds near strings only, in two
 * thirds of the time and for 12 % fewer bytes. */
enum { PW_PACKED_PLANE = 1, PW_PACKED_TEXT = 6 };

/* 0, -ENOMEM or -EIO. */
int pw_packed_write(FILE *out, const void *bytes, size_t n, int level);

/* The 16-bit codes of the HTML report's planes, for many cells at a time. Pure functions. */

enum {
    PW_CODES_COLUMNS = PW_CELLS_STEPS,
    PW_CODES_RANKS = PW_CELLS_RANKS,
    PW_CODES_CELLS = PW_CODES_COLUMNS * PW_CODES_RANKS,
    PW_CODES_SHORT_BITS = 31
};

/* Returns the 16-bit code of a value. Code 0: not known (negative). Code n + 1 means, in units of
 * 2^shift ns: n for n < 2048, else (2048 + m) << (e - 1), where m is the low 11 bits of n and e the
 * 5 bits above. `is_rounded`: the low 4 bits of n are 0. */
uint16_t pw_codes_of_value(int64_t value, int shift, int is_rounded);

/* How cells are encoded. */
struct pw_codes_form {
    int shift, is_rounded;
    int is_short; /* all values are below 2^PW_CODES_SHORT_BITS and at least -2^PW_CODES_SHORT_BITS
                   */
};

/* The high and the low bytes of codes, by rank. */
struct pw_codes_bytes {
    uint8_t high[PW_CODES_RANKS][PW_CODES_COLUMNS], low[PW_CODES_RANKS][PW_CODES_COLUMNS];
};

/* Encodes cells[PW_CODES_COLUMNS][PW_CODES_RANKS]. */
void pw_codes_of_cells(const int64_t *cells, const struct pw_codes_form *form,
                       struct pw_codes_bytes *out);

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
