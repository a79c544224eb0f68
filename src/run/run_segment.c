/* Creates segments, where memory and the length of files may be limited; see run_segment.h. */
#include "run/run_segment.h"

#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "rank/run/memory.h"

/* The part of the memory that a rank's rings may take, of which a node has many. */
enum { MEMORY_SHARE = 64, SMALLEST_RING = 64 << 10 };

/* A segment is as long as all its rings: where files may not be so long (ulimit -f), rings are made
 * smaller. */
static int create(const struct pw_run *run, struct pw_segment_shared **out)
{
    int64_t bytes = pw_option_size(&run->options, PW_OPT_RING_SIZE);
    int err;
    do {
        err = pw_segment_create(run->id.rank, (uint64_t)bytes, run->lifeline->segment, out);
        bytes /= 2;
    } while (err == -EFBIG && bytes >= SMALLEST_RING);
    return err;
}

static void ready_first_ring(const struct pw_run *run, struct pw_segment_shared *segment)
{
    const int64_t wanted = pw_option_size(&run->options, PW_OPT_RING_SIZE);
    int err = pw_segment_allocate_ring(run->lifeline->segment, segment, 0);
    const int64_t bytes =
        (int64_t)atomic_load(&segment->rings[0].records) * (int64_t)sizeof(struct pw_record);
    if (err)
        pw_say("shared memory is full (%s): calls of rank %d are counted and not recorded until "
               "there is room; give /dev/shm more",
               strerror(-err), run->id.rank);
    else if (bytes < wanted)
        pw_say("shared memory is short: rank %d records through rings of %lld KiB instead of %lld",
               run->id.rank, (long long)bytes >> 10, (long long)wanted >> 10);
}

int pw_run_segment_create(const struct pw_run *run, struct pw_segment_shared **out)
{
    int err = create(run, out);
    if (err) {
        pw_say("no shared memory for rank %d (%s): %s runs unprofiled; give /dev/shm more room",
               run->id.rank, strerror(-err), run->argv[0]);
        return err;
    }
    const int64_t limit = pw_memory_limit(run->options.text[PW_OPT_FSROOT]);
    atomic_store(&(*out)->memory_bytes, limit / MEMORY_SHARE);
    ready_first_ring(run, *out);
    return 0;
}

int64_t pw_run_backlog_bytes(const struct pw_run *run)
{
    const int64_t most = (int64_t)64 << 20;
    const int64_t share = pw_memory_limit(run->options.text[PW_OPT_FSROOT]) / MEMORY_SHARE;
    return share < most ? share : most;
}
