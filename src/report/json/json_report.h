/* Parts of the JSON report, for the HTML report, which shows the same numbers. */
#ifndef PW_REPORT_JSON_JSON_REPORT_H
#define PW_REPORT_JSON_JSON_REPORT_H

#include <jansson.h>

#include "report/figures/figures.h"

/* The value of a key of report.h, which `name` must be; NULL when memory is short. */
json_t *pw_json_key(const struct pw_figures *figures, const char *name);

/* Its "collectives", and of more rows only those that took most time. */
json_t *pw_json_collectives_most(const struct pw_figures *figures, size_t most);

#endif
