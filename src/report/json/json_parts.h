/* The key `parts` of the JSON report. */
#ifndef PW_REPORT_JSON_JSON_PARTS_H
#define PW_REPORT_JSON_JSON_PARTS_H

#include <jansson.h>

#include "report/figures/figures.h"

/* The parts of the run: the means over ranks and who has most own time; JSON's null where none is
 * known. NULL when memory is short. */
json_t *pw_json_parts(const struct pw_figures *figures);

#endif
