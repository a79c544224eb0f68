/* Makes the data of the HTML report: those of the JSON report, in the form that charts need. Called
 * by html_report.c, which writes the page around them. Makes no verdicts: all computations are
 * shared with the other reports. */
#ifndef PW_REPORT_HTML_HTML_DATA_H
#define PW_REPORT_HTML_HTML_DATA_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/figures/figures.h"
#include "report/html/html_planes.h"

/* Writes <script type="application/json" id="data">, and packed JSON (html_planes.h) as <script
 * type="text/plain" id="late-NAME"> for data that only one page shows. All text is printable
 * (safenames.h) and ASCII, and cannot end the element. Returns 0, -ENOMEM or -EIO. */
int pw_html_data_write(FILE *out, const struct pw_columns *columns);

#endif
