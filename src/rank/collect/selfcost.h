/* Measures what recording costs on this machine, for /overhead. Called by run/collect.c once a
 * run. Tool code, never in the program; takes some milliseconds. */
#ifndef PW_RANK_COLLECT_SELFCOST_H
#define PW_RANK_COLLECT_SELFCOST_H

#include "rank/ring/segment.h"

/* Median ns that the application spends on one record: two clock reads, as the segment's records
 * are timed, and a 64-byte store through the ring code. Measured in the calling process, in
 * milliseconds. */
double pw_selfcost_event_ns(const struct pw_segment_shared *segment);

#endif
