/* The figures of a running job as OpenMetrics text, from the answers to an inquiry. Called by
 * `profwrap ctl metrics` and by profwrap-metrics. Tool code; it sends no inquiry itself. */
#ifndef PW_CLI_METRICS_TEXT_H
#define PW_CLI_METRICS_TEXT_H

#include <stdio.h>

#include "rank/live/inquiry.h"

/* Prints the ranks' answers. Returns 0 or -errno. */
int pw_metrics_print(const struct pw_inquiry *inquiry, FILE *out);

#endif
