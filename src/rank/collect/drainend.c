/* Takes what is left after the program's end: the last records of the rings, records that are in no
 * ring, and open calls; see drain.h. */
#include <errno.h>
#include <unistd.h>

#include "rank/clocks/tickmap.h"
#include "rank/collect/drainstate.h"
#include "rank/collect/ringpage.h"

/* Adds a record that is in no ring to journal and intake. The backlog must be empty. */
static void add_ringless(struct pw_drain *drain, int index, const struct pw_record *record)
{
    pw_journal_add_ringless(drain->journal, index, record);
    if (drain->intake)
        pw_intake_records(drain->intake, index, record, 1);
}

static void take_salvaged(void *arg, const struct pw_record *record)
{
    add_ringless(arg, 0, record);
}

void pw_drain_use_salvage(struct pw_drain *drain, const struct pw_collector *collectors)
{
    drain->collectors = collectors;
}

static void salvage(struct pw_drain *drain)
{
    for (const struct pw_collector *c = drain->collectors; c && c->name; c++)
        if (c->salvage && (c->activity & drain->segment->activities))
            c->salvage(drain->segment_name, drain->segment, take_salvaged, drain);
}

static void take_unmarked_loss(struct pw_drain *drain, int index)
{
    struct pw_record record;
    if (pw_ringpage_read_loss(drain->rings[index].shared, &record))
        add_ringless(drain, index, &record);
}

static void take_unkept(struct pw_drain *drain, int index)
{
    const struct pw_drained_ring *ring = &drain->rings[index];
    const struct pw_record limit = pw_losscount_record(&ring->unkept, PW_REASON_LIMIT);
    const struct pw_record disk = pw_losscount_record(
        &ring->unwritten, pw_drain_is_full(drain) ? PW_REASON_LIMIT : PW_REASON_DISK);
    if (ring->unkept.n)
        add_ringless(drain, index, &limit);
    if (ring->unwritten.n)
        add_ringless(drain, index, &disk);
}

static void take_unmarked_wait(struct pw_drain *drain, int index)
{
    struct pw_record record;
    if (pw_ringpage_read_wait(drain->rings[index].shared, &record))
        add_ringless(drain, index, &record);
}

static uint64_t ticks_now(const struct pw_drain *drain)
{
    return pw_tick_read((enum pw_tick_source)drain->segment->tick_source);
}

/* Whether the ring has memory, but is not mapped. */
static bool is_missing(const struct pw_drain *drain, int index)
{
    return atomic_load(&drain->segment->rings[index].records) && !drain->rings[index].shared;
}

/* Counts each ring that could not be mapped as one call without a ring, because the number of its
 * records is not known. */
static void count_missing(const struct pw_drain *drain, struct pw_record *record)
{
    for (int i = 0; i < pw_drain_count_used(drain); i++)
        record->unrecorded.no_ring += is_missing(drain, i);
    if (record->unrecorded.no_ring && !record->end)
        record->start = record->end = ticks_now(drain);
}

static void take_unrecorded(struct pw_drain *drain)
{
    struct pw_segment_shared *segment = drain->segment;
    struct pw_record record = {
        .type = PW_REC_UNRECORDED,
        .start = atomic_load(&segment->no_ring_start),
        .end = atomic_load(&segment->no_ring_end),
        .unrecorded.no_ring = atomic_load(&segment->no_ring),
        .unrecorded.gpu_processes = atomic_load(&segment->gpu_processes),
        .unrecorded.cut_stacks = atomic_load(&segment->cut_stacks),
    };
    for (int i = 0; i < PW_MAX_RINGS; i++)
        if (drain->rings[i].shared)
            record.unrecorded.nested += atomic_load(&drain->rings[i].shared->nested);
    count_missing(drain, &record);
    if (record.unrecorded.no_ring || record.unrecorded.nested || record.unrecorded.gpu_processes ||
        record.unrecorded.cut_stacks)
        add_ringless(drain, 0, &record);
}

/* ---- open calls and ranges ---- */

/* Adds a record of the call that the ring's thread was in when the program ended. */
static void take_open_call(struct pw_drain *drain, int index)
{
    struct pw_shown_call call;
    if (!pw_drain_read_call(drain, index, &call))
        return;
    const struct pw_record record = pw_ringpage_call_record(&call, ticks_now(drain));
    add_ringless(drain, index, &record);
}

static void take_open_range(struct pw_drain *drain, int index, const struct pw_open_range *range)
{
    struct pw_record record;
    if (pw_ringpage_range_record(range, ticks_now(drain), &record))
        add_ringless(drain, index, &record);
}

/* Adds records of the ranges that were open when the program ended, the innermost first, as if the
 * thread had ended them. */
static void take_open_ranges(struct pw_drain *drain, int index)
{
    struct pw_ring_shared *shared = drain->rings[index].shared;
    if (!shared)
        return;
    uint32_t depth = (uint32_t)atomic_load(&shared->depth);
    for (depth = depth < PW_MAX_DEPTH ? depth : PW_MAX_DEPTH; depth > 0; depth--)
        take_open_range(drain, index, &shared->ranges[depth - 1]);
    take_open_range(drain, index, &shared->phase);
}

/* Adds all records that are in no ring. The counters in the rings are not reset: if this collector
 * is killed before the journal has its end, the next one needs them. */
static void take_rest(struct pw_drain *drain)
{
    pw_backlog_hand_over_all(drain->backlog);
    salvage(drain);
    /* The program, which has ended, writes no more records of these losses and waits. */
    for (int i = 0; i < PW_MAX_RINGS; i++)
        if (drain->rings[i].shared) {
            take_unkept(drain, i);
            take_unmarked_loss(drain, i);
            take_unmarked_wait(drain, i);
        }
    take_unrecorded(drain);
    pw_drain_read_clocks(drain);
    for (int i = 0; i < PW_MAX_RINGS; i++) {
        take_open_ranges(drain, i);
        take_open_call(drain, i);
    }
}

static void empty_to_end(struct pw_drain *drain)
{
    while (!drain->error && pw_drain_empty_all(drain) > 0)
        ;
}

static bool is_shortage(int err)
{
    return err == -ENOMEM || err == -EMFILE || err == -ENFILE || err == -EAGAIN;
}

/* Maps the used rings that could not be mapped before. Returns 0, or -errno when memory or
 * descriptors are still missing for one. */
static int map_missing(struct pw_drain *drain)
{
    int short_of = 0;
    for (int i = 0; i < pw_drain_count_used(drain); i++) {
        const int err = is_missing(drain, i) ? pw_drain_map_ring(drain, i) : 0;
        if (is_shortage(err))
            short_of = err;
    }
    return short_of;
}

/* As map_missing(), but tries for half a second: the kernel may still be freeing the memory and the
 * descriptors of the program. Returns 0 if there is no journal. */
static int map_all(struct pw_drain *drain)
{
    enum { TRIES = 25, PAUSE_US = 20000 };
    int err = map_missing(drain);
    for (int i = 1; err && i < TRIES; i++) {
        usleep(PAUSE_US);
        err = map_missing(drain);
    }
    return drain->journal ? err : 0;
}

int pw_drain_finish(struct pw_drain *drain)
{
    const int err = map_all(drain);
    empty_to_end(drain);
    if (err || drain->error) {
        pw_backlog_hand_over_all(drain->backlog);
        return err ? err : drain->error;
    }
    take_rest(drain);
    return 0;
}

int pw_drain_finish_whole(struct pw_drain *drain)
{
    drain->keeps_unwritten = true;
    return pw_drain_finish(drain);
}
