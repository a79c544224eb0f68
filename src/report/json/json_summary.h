/* Makes the value of the key "summary" of the JSON report: what the summary of a run shows. Called
 * by json_report.c. Writes nothing. */
#ifndef PW_REPORT_JSON_JSON_SUMMARY_H
#define PW_REPORT_JSON_JSON_SUMMARY_H

#include <jansson.h>

#include "analysis/figures/figures.h"

/* Returns a new value, or NULL when memory is short. */
json_t *pw_json_summary(const struct pw_figures *figures);

#endif
