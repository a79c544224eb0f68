/* The data of the HTML report: what the JSON report has, shaped for charts. */
#ifndef PW_REPORT_HTML_HTML_DATA_H
#define PW_REPORT_HTML_HTML_DATA_H

#include <stdio.h>

#include "report/html/html_planes.h"

/* Writes <script type="application/json" id="data">, and packed JSON (html_planes.h) as <script
 * type="text/plain" id="late-NAME"> for what only one page shows. All text in it is printable
 * (safenames.h) and ASCII, and nothing of it can end the element. 0, -ENOMEM or -EIO. */
int pw_html_data_write(FILE *out, const struct pw_columns *columns);

#endif
