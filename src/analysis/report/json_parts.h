/* The key `parts` of the JSON report. */
#ifndef PW_ANALYSIS_REPORT_JSON_PARTS_H
#define PW_ANALYSIS_REPORT_JSON_PARTS_H

#include <jansson.h>

#include "analysis/report/figures.h"

/* The parts of the run: the means over ranks and who has most own time; JSON's null where none is
 * known. NULL when memory is short. */
json_t *pw_json_parts(const struct pw_figures *figures);

#endif
