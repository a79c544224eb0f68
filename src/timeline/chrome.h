/* Trace Event JSON, rank by rank: what chrome://tracing and Perfetto read. Called by timeline.c, in
 * the order begin, ranks, end. Writes to the given stream; opens no file. The format: "Trace Event
 * Format", Google, docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. */
#ifndef PW_TIMELINE_CHROME_H
#define PW_TIMELINE_CHROME_H

#include <stdio.h>

#include "core/cluster.h"
#include "timeline/rankview.h"

struct pw_chrome;

/* What lies in [from, until) of the cluster clock is shown; `base` is the trace's time 0. */
struct pw_chrome_window {
    int64_t from, until, base;
};

/* Begins the output. 0 or -ENOMEM. Whether it could be written is for the caller to ask `out`. */
int pw_chrome_begin(FILE *out, const struct pw_cluster *cluster,
                    const struct pw_chrome_window *window, struct pw_chrome **result);

/* Writes a rank: its tracks, events and counters. */
void pw_chrome_rank(struct pw_chrome *chrome, const struct pw_rankview *view);

/* Writes the arrows and the end, and says how many events and arrows there were. */
void pw_chrome_end(struct pw_chrome *chrome, int64_t *events, int64_t *arrows);

#endif
