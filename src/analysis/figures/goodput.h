/* The goodput of a job with restarts: the time of the steps that were kept as a share of the job's
 * time (docs/metrics.md, "Epochs and goodput"). Called by the text, JSON and HTML reports. Pure
 * arithmetic on the rows of /epochs. */
#ifndef PW_ANALYSIS_FIGURES_GOODPUT_H
#define PW_ANALYSIS_FIGURES_GOODPUT_H

#include <stdint.h>

#include "core/cluster.h"

/* -1: not known. An epoch that numbers its steps from the beginning may repeat steps or not, so the
 * goodput is a range: `least` counts kept steps only, `most` counts all steps of such a job. */
struct pw_goodput {
    int64_t wall_ns;     /* from the start of the first epoch to the end of the last, ns */
    int64_t restarts_ns; /* sum of the times between an epoch's end and the start of the next */
    int64_t kept_ns, kept_steps;
    int64_t steps_ns, steps; /* all steps, kept or not */
    double least, most;
    int begins_anew; /* 1: an epoch numbers its steps from the beginning again */
};

/* Returns the goodput; without epochs the sums are 0 and the rest is not known. */
struct pw_goodput pw_goodput_of(const struct pw_cluster *cluster);

#endif
