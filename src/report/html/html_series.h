/* Keys of the HTML report's data that are longer than those of the JSON report: single collectives,
 * the matrix of messages, and series of queues, processes and GPUs. Called by html_report.c. Makes
 * no verdicts: all computations are shared with the other reports. */
#ifndef PW_REPORT_HTML_HTML_SERIES_H
#define PW_REPORT_HTML_HTML_SERIES_H

#include <jansson.h>

#include "analysis/figures/figures.h"

/* ---- collectives: by communicator, operation and size, and one by one ---- */

/* Limits. The instances with most waiting are kept, and the groups (communicator, operation, size)
 * that took most time. */
enum { PW_HTML_COLLECTIVES = 100000, PW_HTML_COLLECTIVE_STATS = 10000 };

/* "collectives" as in the JSON report, and {"rows": n, "busbw_max": x} over all groups. NULL when
 * memory is short. */
json_t *pw_html_collective_stats(const struct pw_figures *figures);
json_t *pw_html_collective_totals(const struct pw_figures *figures);

/* {"total": n, "op": [...], "comm": [...], ...}: arrays with a value for each instance, most
 * waiting first; total: the number of all instances. NULL when memory is short. */
json_t *pw_html_collectives(const struct pw_figures *figures);

/* ---- messages between ranks ---- */

/* Limits: rows of the matrix, and listed pairs. */
enum { PW_TRAFFIC_SIDE = 128, PW_TRAFFIC_PAIRS = 1000 };

/* {"scope": "ranks" | "hosts" | "blocks", "names": [...], "cells": {"src": [...], ...}, "pairs":
 * [...], "pairs_total": n}. NULL when memory is short. */
json_t *pw_traffic_messages(const struct pw_figures *figures);

/* ---- the pages Data pipeline and Resources: queues, processes and GPUs ---- */

/* As the JSON report's keys. "series" is a list of {rank, (place,) time_s, and a list for each
 * quantity}: first of the stragglers, then of as many other ranks as fit. null when nothing was
 * sampled; NULL when memory is short. */
json_t *pw_html_data_pipeline(const struct pw_figures *figures);
json_t *pw_html_utilisation(const struct pw_figures *figures);

/* The series of the GPUs: a list of {rank, device, time_s, ...}. */
json_t *pw_html_gpu_series(const struct pw_figures *figures);

#endif
