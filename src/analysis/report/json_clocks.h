/* The key `clock` of the JSON report: the errors over all ranks, and each rank's clock. */
#ifndef PW_ANALYSIS_REPORT_JSON_CLOCKS_H
#define PW_ANALYSIS_REPORT_JSON_CLOCKS_H

#include <jansson.h>

#include "analysis/report/figures.h"

/* NULL when memory is short. */
json_t *pw_json_clocks(const struct pw_figures *figures);

#endif
