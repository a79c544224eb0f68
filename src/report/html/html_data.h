/* Makes the data of the HTML report: those of the JSON report, in the form that charts need. Called
 * by html_report.c, which writes the page around them. Makes no verdicts: all computations are
 * shared with the other reports. */
#ifndef PW_REPORT_HTML_HTML_DATA_H
#define PW_REPORT_HTML_HTML_DATA_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/figures/figures.h"
#include "report/html/html_planes.h"

/* Writes <script type="application/json" id="data">, and packed JSON (html_planes.h) as <script
 * type="text/plain" id="late-NAME"> for data that only one page shows. All text is printable
 * (safenames.h) and ASCII, and cannot end the element. Returns 0, -ENOMEM or -EIO. */
int pw_html_data_write(FILE *out, const struct pw_columns *columns);

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
