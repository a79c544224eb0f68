/* Messages between ranks, as the HTML report shows them. */
#ifndef PW_REPORT_HTML_HTML_TRAFFIC_H
#define PW_REPORT_HTML_HTML_TRAFFIC_H

#include <jansson.h>

#include "report/figures/figures.h"

/* Rows of the matrix, and pairs listed, at most. */
enum { PW_TRAFFIC_SIDE = 128, PW_TRAFFIC_PAIRS = 1000 };

/* {"scope": "ranks" | "hosts" | "blocks", "names": [...], "cells": {"src": [...], ...}, "pairs":
 * [...], "pairs_total": n}. NULL when memory is short. */
json_t *pw_traffic_messages(const struct pw_figures *figures);

#endif
