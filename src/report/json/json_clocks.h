/* The key `clock` of the JSON report: the errors over all ranks, and each rank's clock. */
#ifndef PW_REPORT_JSON_JSON_CLOCKS_H
#define PW_REPORT_JSON_JSON_CLOCKS_H

#include <jansson.h>

#include "report/figures/figures.h"

/* NULL when memory is short. */
json_t *pw_json_clocks(const struct pw_figures *figures);

#endif
