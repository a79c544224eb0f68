/* How each rank used its CPU and GPU in windows of steps. Called by evidence.c on all processes
 * together; each process reads the samples of its own inputs. */
#ifndef PW_AGGREGATE_FINDINGS_WINDOWUSAGE_H
#define PW_AGGREGATE_FINDINGS_WINDOWUSAGE_H

#include "aggregate/input/job.h"
#include "aggregate/secondpass/matrix.h"
#include "analysis/cause.h"

enum { PW_USAGE_WINDOWS = 64 }; /* the most windows */

struct pw_step_window {
    int64_t first, last; /* step numbers */
};

/* The usage of one rank in one window. */
struct pw_window_usage {
    int64_t window, rank, steps; /* window: its number; steps: how many of them are known */
    struct pw_usage usage;
    struct pw_gpu_usage gpu;
};

/* Adds to a sum, which becomes unknown (-1) with the first unknown value. */
static inline void pw_usage_add(int64_t *total, int64_t more)
{
    *total = *total < 0 || more < 0 ? -1 : *total + more;
}

/* Gathers on every process the usage of all ranks with a file in n windows, malloc'ed in *all. The
 * windows are the same on all processes. Returns how many there are, in any order; without memory
 * none. Collective. */
size_t pw_windowusage_gather(struct pw_window_usage **all, const struct pw_job *job,
                             const struct pw_share *share, const struct pw_step_window *windows,
                             size_t n);

#endif
