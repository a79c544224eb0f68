/* The data of the HTML report: what the JSON report has, shaped for charts. Called by
 * html_report.c, which writes the page around it. Shares its computations with the other reports:
 * no verdict is made here. */
#ifndef PW_REPORT_HTML_HTML_DATA_H
#define PW_REPORT_HTML_HTML_DATA_H

#include <jansson.h>
#include <stdio.h>

#include "report/figures/figures.h"
#include "report/html/html_planes.h"

/* Writes <script type="application/json" id="data">, and packed JSON (html_planes.h) as <script
 * type="text/plain" id="late-NAME"> for what only one page shows. All text in it is printable
 * (safenames.h) and ASCII, and nothing of it can end the element. 0, -ENOMEM or -EIO. */
int pw_html_data_write(FILE *out, const struct pw_columns *columns);

/* Collectives by communicator, operation and size, and one by one. */

/* Limits. Where there are more, the instances with most waiting are kept, and the communicators,
 * operations and sizes that took most time. */
enum { PW_HTML_COLLECTIVES = 100000, PW_HTML_COLLECTIVE_STATS = 10000 };

/* "collectives" of the JSON report, and {"rows": n, "busbw_max": x} of all that there are. NULL
 * when memory is short. */
json_t *pw_html_collective_stats(const struct pw_figures *figures);
json_t *pw_html_collective_totals(const struct pw_figures *figures);

/* {"total": n, "op": [...], "comm": [...], ...}: arrays with a value for each instance, most
 * waiting first, and how many there are. NULL when memory is short. */
json_t *pw_html_collectives(const struct pw_figures *figures);

/* Messages between ranks. */

/* Rows of the matrix, and pairs listed, at most. */
enum { PW_TRAFFIC_SIDE = 128, PW_TRAFFIC_PAIRS = 1000 };

/* {"scope": "ranks" | "hosts" | "blocks", "names": [...], "cells": {"src": [...], ...}, "pairs":
 * [...], "pairs_total": n}. NULL when memory is short. */
json_t *pw_traffic_messages(const struct pw_figures *figures);

/* Queues, and what processes and GPUs did: the pages Data pipeline and Resources. */

/* As the JSON report's keys; "series" is a list of {rank, (place,) time_s, a list of each
 * quantity}, of the stragglers first and then as many ranks as have room. null where nothing was
 * sampled; NULL when memory is short. */
json_t *pw_html_data_pipeline(const struct pw_figures *figures);
json_t *pw_html_utilisation(const struct pw_figures *figures);

/* The series of the GPUs: a list of {rank, device, time_s, ...}. */
json_t *pw_html_gpu_series(const struct pw_figures *figures);

#endif
