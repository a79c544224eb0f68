/* The [ranks x columns] figures of the HTML report as planes: numbers of 16 bits, deflated, in
 * base64, which the page unpacks when it shows them (page/planes.js). */
#ifndef PW_REPORT_HTML_HTML_PLANES_H
#define PW_REPORT_HTML_HTML_PLANES_H

#include <stddef.h>
#include <stdio.h>

#include "report/html/html_columns.h"

/* Above so many cells, values are rounded to 7 bits (0.4 %) instead of 11 (0.03 %). */
enum { PW_PLANES_EXACT_CELLS = 1 << 17 };

/* A number of 16 bits: 0 is not known (negative); n + 1 is m for n < 2048, else
 * (2048 + m) << (e - 1) with m the low 11 bits of n and e the 5 above. In units of 2^shift ns. */
uint16_t pw_planes_encode(int64_t value, int shift, int rounded);

/* Writes one <script type="text/plain" id="plane-NAME"> per figure of which something is known. 0,
 * -ENOMEM or -EIO. */
int pw_planes_write(FILE *out, const struct pw_columns *columns);

/* Bytes as text in a page: deflated, in base64. page/packed.js unpacks them when they are shown. */

/* 0, -ENOMEM or -EIO. */
int pw_packed_write(FILE *out, const void *bytes, size_t n);

#endif
