/* The goodput of a job with restarts: the time of the steps that were kept as a share of the job's
 * time (docs/metrics.md, "Epochs and goodput"). Called by the text, JSON and HTML reports. Pure. */
#ifndef PW_REPORT_FIGURES_GOODPUT_H
#define PW_REPORT_FIGURES_GOODPUT_H

#include <stdint.h>

#include "core/cluster.h"

/* -1 is "not known". `least` believes the numbers of the steps; `most` is larger where an epoch
 * numbers its steps from the beginning, as if none of them were a repetition. */
struct pw_goodput {
    int64_t wall_ns;     /* from the start of the first epoch to the end of the last */
    int64_t restarts_ns; /* from the end of an epoch to the start of the next */
    int64_t kept_ns, kept_steps;
    int64_t steps_ns, steps; /* kept or not */
    double least, most;
    int begins_anew; /* an epoch numbers its steps from the beginning */
};

struct pw_goodput pw_goodput_of(const struct pw_cluster *cluster);

#endif
