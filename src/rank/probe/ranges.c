/* Ends ranges in unusual ways; see ranges.h. */
#include "rank/probe/ranges.h"

#include <string.h>

#include "rank/probe/recording.h"

static void set_depth(struct pw_thread *thread, int depth)
{
    thread->depth = depth;
    atomic_store_explicit(&thread->ring.shared->depth, depth, memory_order_release);
}

struct pw_open_range *pw_range_innermost(struct pw_thread *thread, uint32_t key)
{
    struct pw_open_range *ranges = thread->ring.shared->ranges;
    for (int depth = thread->depth; depth > 0 && thread->depth <= PW_MAX_DEPTH; depth--)
        if (pw_range_key(&ranges[depth - 1]) == key) {
            pw_open_range_settle(&ranges[depth - 1]);
            return &ranges[depth - 1];
        }
    return NULL;
}

bool pw_range_is_in(const struct pw_thread *thread, enum pw_kind kind)
{
    const struct pw_open_range *ranges = thread->ring.shared->ranges;
    const int known = thread->depth < PW_MAX_DEPTH ? thread->depth : PW_MAX_DEPTH;
    for (int depth = 0; depth < known; depth++)
        if (ranges[depth].name >> PW_RANGE_KIND_SHIFT == (uint64_t)kind)
            return true;
    return false;
}

int pw_range_end_inner(struct pw_thread *thread, uint32_t key, uint64_t end)
{
    struct pw_open_range *ranges = thread->ring.shared->ranges;
    int depth = thread->depth - 1;
    if (depth >= PW_MAX_DEPTH) {
        set_depth(thread, depth);
        if (!pw_recording_is_paused())
            pw_ring_count_loss(&thread->ring, 1, end, PW_LOST_RANGE);
        return depth;
    }
    while (depth >= 0 && pw_range_key(&ranges[depth]) != key)
        depth--;
    if (depth < 0)
        return -1;
    pw_open_range_settle(&ranges[depth]);
    const struct pw_open_range ended = ranges[depth];
    memmove(&ranges[depth], &ranges[depth + 1],
            sizeof(*ranges) * (size_t)(thread->depth - 1 - depth));
    set_depth(thread, thread->depth - 1);
    pw_range_record(thread, &ended, end, 0);
    return depth;
}

void pw_range_end_all(struct pw_thread *thread)
{
    struct pw_ring_shared *shared = thread->ring.shared;
    uint64_t now = pw_probe_now();
    int beyond = thread->depth - PW_MAX_DEPTH;
    if (beyond > 0)
        pw_ring_count_loss(&thread->ring, (uint64_t)beyond, now, PW_LOST_RANGE);
    for (int depth = beyond > 0 ? PW_MAX_DEPTH : thread->depth; depth > 0; depth--) {
        pw_open_range_settle(&shared->ranges[depth - 1]);
        pw_range_record(thread, &shared->ranges[depth - 1], now, PW_RANGE_UNENDED);
    }
    set_depth(thread, 0);
    pw_range_record(thread, &shared->phase, now, PW_RANGE_UNENDED);
    shared->phase.start = 0;
}
