/* The values of the JSON report's keys, which the HTML report shows too. Called by json_report.c
 * and html/. Each function returns a new value, or NULL when memory is short; JSON's null stands
 * for what was not recorded. Nothing here writes to a file. */
#ifndef PW_REPORT_JSON_JSON_KEYS_H
#define PW_REPORT_JSON_JSON_KEYS_H

#include <jansson.h>

#include "report/figures/figures.h"

/* The value of a key of report.h, which `name` must be. */
json_t *pw_json_key(const struct pw_figures *figures, const char *name);

/* "collectives": where there are more than `most` rows, those that took most time. */
json_t *pw_json_collectives_most(const struct pw_figures *figures, size_t most);

/* "operators", with at most `most` rows in each list, or PW_REPORT_JSON_OPERATORS. */
json_t *pw_json_operators_most(const struct pw_figures *figures, size_t most);
json_t *pw_json_operators(const struct pw_figures *figures);

/* "flops", "gpu" and "kernels". */
json_t *pw_json_flops(const struct pw_figures *figures);
json_t *pw_json_gpu(const struct pw_figures *figures);
json_t *pw_json_kernels(const struct pw_figures *figures);

/* "gpu.ranks" and "gpu.gpus": each rank's GPUs together, and each GPU once. Always arrays. */
json_t *pw_json_gpu_ranks(const struct pw_figures *figures);
json_t *pw_json_gpu_list(const struct pw_figures *figures);

/* "data_pipeline", "utilisation", "memory" and "advice". */
json_t *pw_json_data_pipeline(const struct pw_figures *figures);
json_t *pw_json_utilisation(const struct pw_figures *figures);
json_t *pw_json_memory(const struct pw_figures *figures);
json_t *pw_json_advice(const struct pw_figures *figures);

#endif
