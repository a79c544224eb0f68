/* Ends ranges in unusual ways; see ranges.h. */
#include "rank/probe/ranges.h"

#include <string.h>

#include "rank/probe/recording.h"

uint32_t pw_range_settle(struct pw_thread *thread)
{
    const uint64_t depths = pw_range_depths(thread);
    uint32_t depth = (uint32_t)depths, idle = (uint32_t)(depths >> 32);
    for (; idle > 0; depth++, idle--)
        if (depth < PW_MAX_DEPTH)
            thread->ring.shared->ranges[depth] = (struct pw_open_range){
                .key = thread->idle_key, .name = pw_range_name(0, (int)depth, PW_KIND_USER)};
    pw_range_set_depths(thread, depth);
    return depth;
}

int pw_range_begin_paused(struct pw_thread *thread, uint32_t key, enum pw_kind kind)
{
    const uint32_t depth = pw_range_depth(thread);
    thread->idle_key = key;
    if (kind == PW_KIND_USER) {
        pw_range_set_depths(thread, depth + PW_RANGE_IDLE);
        return (int)depth;
    }
    if (depth < PW_MAX_DEPTH)
        thread->ring.shared->ranges[depth] =
            (struct pw_open_range){.key = key, .name = pw_range_name(0, (int)depth, kind)};
    pw_range_set_depths(thread, depth + 1);
    return (int)depth;
}

bool pw_range_end_paused(struct pw_thread *thread, uint32_t key)
{
    const uint32_t depth = pw_range_depth(thread);
    const struct pw_open_range *ranges = thread->ring.shared->ranges;
    if (depth == 0)
        return true;
    if (depth <= PW_MAX_DEPTH && (ranges[depth - 1].start || ranges[depth - 1].key != key))
        return false;
    pw_range_set_depths(thread, depth - 1);
    return true;
}

struct pw_open_range *pw_range_innermost(struct pw_thread *thread, uint32_t key)
{
    struct pw_open_range *ranges = thread->ring.shared->ranges;
    const uint32_t known = pw_range_depth(thread);
    for (uint32_t depth = known; depth > 0 && known <= PW_MAX_DEPTH; depth--)
        if (pw_range_key(&ranges[depth - 1]) == key) {
            pw_open_range_settle(&ranges[depth - 1]);
            return &ranges[depth - 1];
        }
    return NULL;
}

bool pw_range_is_in(const struct pw_thread *thread, enum pw_kind kind)
{
    const struct pw_open_range *ranges = thread->ring.shared->ranges;
    const uint32_t open = (uint32_t)pw_range_depths(thread);
    const uint32_t known = open < PW_MAX_DEPTH ? open : PW_MAX_DEPTH;
    for (uint32_t depth = 0; depth < known; depth++)
        if (ranges[depth].name >> PW_RANGE_KIND_SHIFT == (uint64_t)kind)
            return true;
    return false;
}

int pw_range_end_inner(struct pw_thread *thread, uint32_t key, uint64_t end)
{
    struct pw_open_range *ranges = thread->ring.shared->ranges;
    const int open = (int)pw_range_depth(thread);
    int depth = open - 1;
    if (depth >= PW_MAX_DEPTH) {
        pw_range_set_depths(thread, (uint64_t)depth);
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
    memmove(&ranges[depth], &ranges[depth + 1], sizeof(*ranges) * (size_t)(open - 1 - depth));
    pw_range_set_depths(thread, (uint64_t)open - 1);
    pw_range_record(thread, &ended, end, 0);
    return depth;
}

/* Ranges that began during a pause have start 0 and are not recorded. */
void pw_range_end_all(struct pw_thread *thread)
{
    struct pw_ring_shared *shared = thread->ring.shared;
    uint64_t now = pw_probe_now();
    uint32_t depth = (uint32_t)pw_range_depths(thread);
    if (depth > PW_MAX_DEPTH)
        pw_ring_count_loss(&thread->ring, depth - PW_MAX_DEPTH, now, PW_LOST_RANGE);
    for (depth = depth < PW_MAX_DEPTH ? depth : PW_MAX_DEPTH; depth > 0; depth--) {
        pw_open_range_settle(&shared->ranges[depth - 1]);
        pw_range_record(thread, &shared->ranges[depth - 1], now, PW_RANGE_UNENDED);
    }
    pw_range_set_depths(thread, 0);
    pw_range_record(thread, &shared->phase, now, PW_RANGE_UNENDED);
    shared->phase.start = 0;
}
