/* A profiler plugin of the program's own, in its image, as PyTorch's CUPTI monitor has one: NCCL
 * finds it with NCCL_PROFILER_PLUGIN=STATIC_PLUGIN. */
#include <string.h>

#include "collectors/nccl/nccl_abi.h"

static int inits, calls, tasks, stops, ends;
static int context_, event_;

static pw_nccl_result init(void **context, uint64_t comm_hash, int *mask, const char *comm_name,
                           int nodes, int ranks, int rank, pw_nccl_logger log)
{
    (void)comm_hash, (void)comm_name, (void)nodes, (void)rank, (void)log;
    inits += ranks == 2;
    *mask = PW_NCCL_COLL | PW_NCCL_COLL_API;
    *context = &context_;
    return 0;
}

static pw_nccl_result start(void *context, void **handle, void *description)
{
    const struct pw_nccl_descr_v6 *d = description;
    const int is_ours = context == &context_;
    calls += is_ours && d->type == PW_NCCL_COLL_API && strcmp(d->coll_api.datatype, "") != 0;
    tasks += is_ours && d->type == PW_NCCL_COLL && strcmp(d->coll.algorithm, "RING") == 0;
    *handle = &event_;
    return 0;
}

static pw_nccl_result stop(void *handle)
{
    stops += handle == &event_;
    return 0;
}

static pw_nccl_result state(void *handle, int now, void *args)
{
    (void)handle, (void)now, (void)args;
    return 0;
}

static pw_nccl_result finalize(void *context)
{
    ends += context == &context_;
    return 0;
}

extern const struct pw_nccl_plugin_v5 ncclProfiler_v6;
const struct pw_nccl_plugin_v5 ncclProfiler_v6 = {"own", init, start, stop, state, finalize};

/* What it was told: communicators, calls, tasks, ends of events, ends of communicators. */
void own_plugin_counts(int counts[5]);
void own_plugin_counts(int counts[5])
{
    counts[0] = inits;
    counts[1] = calls;
    counts[2] = tasks;
    counts[3] = stops > 0;
    counts[4] = ends;
}
