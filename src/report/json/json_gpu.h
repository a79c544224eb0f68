/* The keys "gpu" and "kernels" of the JSON report. */
#ifndef PW_REPORT_JSON_JSON_GPU_H
#define PW_REPORT_JSON_JSON_GPU_H

#include <jansson.h>

#include "report/figures/figures.h"

/* An array of what is known of the GPUs of each rank over the whole run. NULL when memory is short.
 */
json_t *pw_json_gpu_ranks(const struct pw_figures *figures);

/* An array of the GPUs of the job, each once. NULL when memory is short. */
json_t *pw_json_gpu_list(const struct pw_figures *figures);

/* null for jobs without GPUs. NULL when memory is short. */
json_t *pw_json_gpu(const struct pw_figures *figures);
json_t *pw_json_kernels(const struct pw_figures *figures);

/* null where nobody said what the model needs. NULL when memory is short. */
json_t *pw_json_flops(const struct pw_figures *figures);

#endif
