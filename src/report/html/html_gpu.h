/* GPUs in the data of the HTML report. */
#ifndef PW_REPORT_HTML_HTML_GPU_H
#define PW_REPORT_HTML_HTML_GPU_H

#include <jansson.h>

#include "report/figures/figures.h"

/* {ranks, step}: ranks as in the JSON report's key; step has, for each field of /gpu_trace, the
 * means over the measured steps in the order of the report's ranks, and is null without steps. null
 * for jobs without GPUs; NULL when memory is short. */
json_t *pw_html_gpu(const struct pw_figures *figures);

/* {names, by_name, heat}: as the JSON report's key, and {name, rank, total_ns}, time by kernel and
 * rank, without NCCL's, whose time is least on the rank that the others wait for. null likewise. */
json_t *pw_html_kernels(const struct pw_figures *figures);

#endif
