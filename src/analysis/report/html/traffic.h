/* What communicated, as the HTML report shows it: the matrix of messages, and collectives one by
 * one. */
#ifndef PW_ANALYSIS_REPORT_HTML_TRAFFIC_H
#define PW_ANALYSIS_REPORT_HTML_TRAFFIC_H

#include <jansson.h>

#include "analysis/report/figures.h"

/* Rows of the matrix at most, collectives listed and drawn, pairs listed. */
enum { PW_TRAFFIC_SIDE = 128, PW_TRAFFIC_WORST = 200, PW_TRAFFIC_DOTS = 2000 };

/* {"scope": "ranks" | "hosts" | "blocks", "names": [...], "cells": {"src": [...], ...}, "pairs":
 * [...], "pairs_total": n}. NULL when memory is short. */
json_t *pw_traffic_messages(const struct pw_figures *figures);

/* {"worst": [...], "total": n, "dots": {"op": [...], "bytes": [...], "busbw": [...]}}: those with
 * most waiting, and every n-th of those with a bandwidth. NULL when memory is short. */
json_t *pw_traffic_collectives(const struct pw_figures *figures);

#endif
