/* Running ranks as OpenMetrics text, for Prometheus and what else reads it. */
#ifndef PW_REPORT_LIVE_OPENMETRICS_H
#define PW_REPORT_LIVE_OPENMETRICS_H

#include "report/live/liveview.h"

/* One point of each metric and rank; what a rank does not know is left out. 0 or -EIO. */
int pw_openmetrics_print(const struct pw_live_view *view, FILE *out);

#endif
