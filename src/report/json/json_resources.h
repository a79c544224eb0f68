/* The keys data_pipeline, utilisation, memory and advice of the JSON report. Each returns a new
 * value, null where nothing was sampled, or NULL when memory is short. */
#ifndef PW_REPORT_JSON_JSON_RESOURCES_H
#define PW_REPORT_JSON_JSON_RESOURCES_H

#include <jansson.h>

#include "report/figures/figures.h"

json_t *pw_json_data_pipeline(const struct pw_figures *figures);
json_t *pw_json_utilisation(const struct pw_figures *figures);
json_t *pw_json_memory(const struct pw_figures *figures);
json_t *pw_json_advice(const struct pw_figures *figures);

#endif
