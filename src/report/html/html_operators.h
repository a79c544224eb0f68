/* Operators in the data of the HTML report. */
#ifndef PW_REPORT_HTML_HTML_OPERATORS_H
#define PW_REPORT_HTML_HTML_OPERATORS_H

#include <jansson.h>

#include "report/figures/figures.h"

/* As the JSON report's key, with fewer rows, and "heat": {name, type, rank, own_ns}, own work by
 * operator and rank; null when there are no operators. NULL when memory is short. */
json_t *pw_html_operators(const struct pw_figures *figures);

#endif
