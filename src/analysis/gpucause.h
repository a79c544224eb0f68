/* Why a straggler with a GPU was slow, from what the ranks' GPUs did in the same steps.
 *
 * Its own work is compared with the median of the other ranks' in two parts: computing on the GPU,
 * and the GPU being dry since the host launched late. The part that explains at least half of the
 * excess is looked into. Longer computing is the clocks' doing where these are lower than the
 * others' and the GPU says that heat or power slows it; else the kernels', where they take longer
 * for the same launch configuration; else there is more to compute. */
#ifndef PW_ANALYSIS_GPUCAUSE_H
#define PW_ANALYSIS_GPUCAUSE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/gpuclocks.h"

/* What one rank has over the steps looked at. */
struct pw_gpu_usage {
    int64_t own_ns, compute_ns, dry_ns, copy_ns; /* -1: not known */
    struct pw_gpu_clocks clocks;
    double slowdown, confidence; /* of its kernels (kernelrank.h), over the run; -1: not known */
};

struct pw_gpu_cause_found {
    enum pw_cause cause;             /* unknown, or one of the GPU's */
    int64_t part_ns, others_part_ns; /* computing, or dry; median of the other ranks */
    double others_mhz;               /* median; -1: not known */
};

/* `scratch` has room for `nranks` values. */
struct pw_gpu_cause_found pw_gpu_cause_find(const struct pw_gpu_usage *ranks, size_t nranks,
                                            size_t rank, int64_t *scratch);

#endif
