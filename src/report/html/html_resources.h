/* Queues and what processes and GPUs did, for the pages Data pipeline and Resources. */
#ifndef PW_REPORT_HTML_HTML_RESOURCES_H
#define PW_REPORT_HTML_HTML_RESOURCES_H

#include <jansson.h>

#include "report/figures/figures.h"

/* As the JSON report's keys; "series" is a list of {rank, (place,) time_s, a list of each
 * quantity}, of the stragglers first and then as many ranks as have room. null where nothing was
 * sampled; NULL when memory is short. */
json_t *pw_html_data_pipeline(const struct pw_figures *figures);
json_t *pw_html_utilisation(const struct pw_figures *figures);

/* Such a list of {rank, device, time_s, ...}. */
json_t *pw_html_gpu_series(const struct pw_figures *figures);

#endif
