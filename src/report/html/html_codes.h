/* The 16-bit codes of the HTML report's planes, for many cells at a time. Called by html_planes.c.
 * Pure functions. */
#ifndef PW_REPORT_HTML_HTML_CODES_H
#define PW_REPORT_HTML_HTML_CODES_H

#include <stdint.h>

#include "core/cells.h"

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

#endif
