/* The key "operators" of the JSON report. */
#ifndef PW_REPORT_JSON_JSON_OPERATORS_H
#define PW_REPORT_JSON_JSON_OPERATORS_H

#include <jansson.h>

#include "report/figures/figures.h"

/* At most `most` rows of each list; null when there are no operators. NULL when memory is short. */
json_t *pw_json_operators_most(const struct pw_figures *figures, size_t most);

/* With PW_REPORT_JSON_OPERATORS of them. */
json_t *pw_json_operators(const struct pw_figures *figures);

#endif
