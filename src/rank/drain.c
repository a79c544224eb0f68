/* Reads rings that another process writes; see drain.h. Nothing read from them is trusted as an
 * index or a length. */
#include "rank/drain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/log.h"
#include "rank/stacktable.h"

enum { MAX_COLLECTORS = 16 };

struct ring {
    struct pw_ring_shared *shared; /* NULL until mapped */
    uint64_t tail;
    uint32_t thread;
};

struct pw_drain {
    const char *segment_name;
    struct pw_segment_shared *segment;
    struct pw_rankfile *file;
    const struct pw_collector *collectors;
    void *states[MAX_COLLECTORS];
    const struct pw_collector *by_type[PW_REC_TYPE_COUNT];
    void *state_by_type[PW_REC_TYPE_COUNT];
    struct ring rings[PW_MAX_RINGS];
    int readied; /* rings that have memory */
    struct pw_tickmap ticks;
    struct pw_stacktable *stacks; /* NULL when none are taken */
    uint32_t name_base, stack_base, epoch;
    int64_t records;
};

static void create_states(struct pw_drain *drain)
{
    const struct pw_collector *c = drain->collectors;
    for (int i = 0; c[i].name && i < MAX_COLLECTORS; i++) {
        if (!(c[i].activity & drain->segment->activities))
            continue;
        drain->states[i] = c[i].create(drain->file);
        if (!drain->states[i])
            continue; /* memory is short: this collector's records are dropped */
        for (int type = c[i].first_type; type && type <= (int)c[i].last_type; type++) {
            drain->by_type[type] = &c[i];
            drain->state_by_type[type] = drain->states[i];
        }
    }
}

struct pw_drain *pw_drain_create(const char *segment_name, struct pw_segment_shared *segment,
                                 struct pw_rankfile *file, const struct pw_collector *collectors)
{
    struct pw_drain *drain = calloc(1, sizeof(*drain));
    if (!drain)
        return NULL;
    drain->segment_name = segment_name;
    drain->segment = segment;
    drain->file = file;
    drain->collectors = collectors;
    drain->readied = 1;
    drain->stacks = segment->stack_depth ? pw_stacktable_create() : NULL;
    drain->ticks.test = segment->test_clock;
    pw_tickmap_init(&drain->ticks, (enum pw_tick_source)segment->tick_source);
    create_states(drain);
    return drain;
}

static void append_gap(struct pw_drain *drain, uint32_t thread, uint64_t start, uint64_t end,
                       uint64_t lost)
{
    struct pw_row_gap row = {
        .start = pw_tickmap_ns(&drain->ticks, start),
        .end = pw_tickmap_ns(&drain->ticks, end),
        .reason = PW_REASON_RING_FULL,
        .thread = (uint16_t)thread,
        .lost = (int64_t)lost,
    };
    pw_rankfile_append(drain->file, PW_TABLE_gap, &row);
    pw_rankfile_count_dropped(drain->file, (int64_t)lost);
}

static void begin_thread(struct pw_drain *drain, struct ring *ring, const struct pw_record *record)
{
    ring->thread = record->thread.thread;
    if (record->flags & PW_THREAD_NEW_PROCESS) {
        drain->epoch++;
        drain->name_base = pw_rankfile_texts(drain->file) - 1;
        drain->stack_base = pw_stacktable_rows(drain->stacks) - 1;
    }
}

static void dispatch(struct pw_drain *drain, struct ring *ring, const struct pw_record *record)
{
    const struct pw_collector *collector =
        record->type < PW_REC_TYPE_COUNT ? drain->by_type[record->type] : NULL;
    if (!collector || !collector->record)
        return;
    struct pw_origin origin = {
        .thread = (uint16_t)ring->thread,
        .name_base = drain->name_base,
        .stack_base = drain->stack_base,
        .epoch = drain->epoch,
        .start = pw_tickmap_ns(&drain->ticks, record->start),
        .end = pw_tickmap_ns(&drain->ticks, record->end),
    };
    collector->record(drain->state_by_type[record->type], record, &origin);
}

static void handle(struct pw_drain *drain, struct ring *ring, const struct pw_record *record)
{
    switch (record->type) {
    case PW_REC_THREAD:
        begin_thread(drain, ring, record);
        break;
    case PW_REC_LOST:
        append_gap(drain, ring->thread, record->start, record->end, record->lost.lost);
        break;
    case PW_REC_STRING:
        pw_rankfile_text(drain->file, drain->name_base + record->string.id, record->string.total,
                         record->string.offset, record->string.bytes, PW_STRING_PIECE);
        break;
    case PW_REC_STACK:
        pw_stacktable_add(drain->stacks, drain->stack_base + record->stack, drain->name_base,
                          record);
        break;
    default:
        dispatch(drain, ring, record);
        break;
    }
}

static int64_t empty_ring(struct pw_drain *drain, struct ring *ring)
{
    uint64_t capacity = drain->segment->ring_records;
    /* Acquire: pairs with the producer's release of the records before this head. */
    uint64_t head = atomic_load_explicit(&ring->shared->head, memory_order_acquire);
    if (head - ring->tail > capacity)
        return 0; /* no producer of ours writes this: leave it alone */
    pw_tickmap_update(&drain->ticks);

    const struct pw_record *records = pw_ring_records(ring->shared);
    int64_t count = (int64_t)(head - ring->tail);
    while (ring->tail != head) {
        /* A copy: what was checked must be what is used, whoever writes this memory. */
        const struct pw_record record = records[ring->tail & (capacity - 1)];
        handle(drain, ring, &record);
        ring->tail++;
        /* Given back in pieces, so that a full ring's producer can go on early. */
        if ((ring->tail & 1023) == 0)
            atomic_store_explicit(&ring->shared->tail, ring->tail, memory_order_release);
    }
    atomic_store_explicit(&ring->shared->tail, ring->tail, memory_order_release);
    return count;
}

/* One ring more than is used, once the program has a second thread: a thread's first record should
 * not have to wait for memory. */
static void ready_next_ring(struct pw_drain *drain, int used)
{
    if (used < 2 || used < drain->readied || used >= PW_MAX_RINGS)
        return;
    int err = pw_segment_allocate_ring(drain->segment_name, drain->segment, used);
    pw_debug("ring", 1, "ring %d made ready: %s", used, err ? strerror(-err) : "ok");
    drain->readied = used + 1;
}

int64_t pw_drain_run(struct pw_drain *drain)
{
    int used = (int)atomic_load(&drain->segment->nrings);
    used = used < PW_MAX_RINGS ? used : PW_MAX_RINGS;
    int64_t count = 0;
    for (int i = 0; i < used; i++) {
        struct ring *ring = &drain->rings[i];
        if (!ring->shared &&
            pw_segment_map_ring(drain->segment_name, drain->segment, i, &ring->shared))
            continue;
        count += empty_ring(drain, ring);
    }
    ready_next_ring(drain, used);
    drain->records += count;
    return count;
}

void pw_drain_sample(struct pw_drain *drain, pid_t pid)
{
    int64_t now = pw_testclock_now(&drain->segment->test_clock);
    for (int i = 0; drain->collectors[i].name && i < MAX_COLLECTORS; i++)
        if (drain->states[i] && drain->collectors[i].sample)
            drain->collectors[i].sample(drain->states[i], pid, now);
}

/* The program is gone: what its rings count as lost, no later record will say. */
static void append_unmarked_losses(struct pw_drain *drain)
{
    for (int i = 0; i < PW_MAX_RINGS; i++) {
        struct pw_ring_shared *shared = drain->rings[i].shared;
        uint64_t lost = shared ? atomic_load(&shared->lost) : 0;
        if (lost)
            append_gap(drain, drain->rings[i].thread, atomic_load(&shared->lost_start),
                       atomic_load(&shared->lost_end), lost);
    }
}

void pw_drain_finish(struct pw_drain *drain)
{
    while (pw_drain_run(drain) > 0)
        ;
    append_unmarked_losses(drain);
    pw_stacktable_write(drain->stacks, drain->file);
    int64_t now = pw_testclock_now(&drain->segment->test_clock);
    for (int i = 0; drain->collectors[i].name && i < MAX_COLLECTORS; i++)
        if (drain->states[i] && drain->collectors[i].finish)
            drain->collectors[i].finish(drain->states[i], now);
    pw_rankfile_overhead(drain->file, "records", (double)drain->records, "records");
    pw_debug("drain", 1, "%lld records", (long long)drain->records);
}

void pw_drain_destroy(struct pw_drain *drain)
{
    if (!drain)
        return;
    for (int i = 0; i < PW_MAX_RINGS; i++)
        if (drain->rings[i].shared)
            munmap(drain->rings[i].shared, drain->segment->ring_stride);
    for (int i = 0; drain->collectors[i].name && i < MAX_COLLECTORS; i++)
        if (drain->states[i] && drain->collectors[i].destroy)
            drain->collectors[i].destroy(drain->states[i]);
    pw_stacktable_destroy(drain->stacks);
    free(drain);
}
