/* Makes the values of the JSON report's keys, which the HTML report shows, too. Called by
 * json_report.c and html/. Each function returns a new value, or NULL when memory is short; a JSON
 * null means "not recorded". Writes no file. */
#ifndef PW_REPORT_JSON_JSON_KEYS_H
#define PW_REPORT_JSON_JSON_KEYS_H

#include <jansson.h>

#include "analysis/figures/figures.h"

/* The value of the key `name`, which must be one of those in report.h. */
json_t *pw_json_key(const struct pw_figures *figures, const char *name);

/* The value of "collectives", with at most `most` rows: those that took most time. */
json_t *pw_json_collectives_most(const struct pw_figures *figures, size_t most);

/* The value of "operators", with at most `most` (and PW_REPORT_JSON_OPERATORS) rows in each
 * list. */
json_t *pw_json_operators_most(const struct pw_figures *figures, size_t most);
json_t *pw_json_operators(const struct pw_figures *figures);

/* The values of "flops", "gpu" and "kernels". */
json_t *pw_json_flops(const struct pw_figures *figures);
json_t *pw_json_gpu(const struct pw_figures *figures);
json_t *pw_json_kernels(const struct pw_figures *figures);

/* The values of "gpu.ranks", all GPUs of a rank together, and "gpu.gpus", each GPU once. Always
 * arrays. */
json_t *pw_json_gpu_ranks(const struct pw_figures *figures);
json_t *pw_json_gpu_list(const struct pw_figures *figures);

/* The values of "msprof", "aicore" and "pipeline_cpu": what other profilers added up. */
json_t *pw_json_msprof(const struct pw_figures *figures);
json_t *pw_json_aicore(const struct pw_figures *figures);
json_t *pw_json_pipeline_cpu(const struct pw_figures *figures);

/* The value of "hccl": what HCCL's own profiler measured. */
json_t *pw_json_hccl(const struct pw_figures *figures);

/* The value of "summary": what the summary of a run shows. */
json_t *pw_json_summary(const struct pw_figures *figures);

/* The values of "data_pipeline", "utilisation", "memory" and "advice". */
json_t *pw_json_data_pipeline(const struct pw_figures *figures);
json_t *pw_json_utilisation(const struct pw_figures *figures);
json_t *pw_json_memory(const struct pw_figures *figures);
json_t *pw_json_advice(const struct pw_figures *figures);

#endif
