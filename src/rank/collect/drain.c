/* Empties rings that another process writes; see drain.h. No value read from them is used as an
 * index or a length before it is checked. */
#include "rank/collect/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/ops.h"
#include "rank/clocks/tickmap.h"
#include "rank/collect/backlog.h"
#include "rank/collect/ringpage.h"
#include "rank/collect/sparecore.h"
#include "rank/journal/losscount.h"

struct pw_drained_ring {
    struct pw_ring_shared *shared; /* NULL until mapped */
    uint64_t records;              /* capacity, read when the ring was mapped */
    uint64_t tail;                 /* number of the next record to take */
    struct pw_losscount unkept;    /* records that were dropped because the file was full */
    struct pw_losscount unwritten; /* records that the previous collector took, but did not write */
};

struct pw_drain {
    const char *segment_name;
    struct pw_segment_shared *segment;
    struct pw_journal *journal;
    struct pw_intake *intake;
    struct pw_backlog *backlog; /* records that wait for the intake; NULL: there is no backlog */
    struct pw_drained_ring rings[PW_MAX_RINGS];
    const struct pw_collector
        *collectors; /* modules whose `salvage` is called at the end; or NULL */
    struct pw_rankfile *limited_file;
    int64_t limit_bytes;   /* of file and journal; 0: no limit */
    bool is_full;          /* the limit was reached */
    bool needs_spare_core; /* the intake waits until a core is spare */
    struct pw_sparecore spare;
    bool is_filling;         /* the last run found a ring more than a quarter full */
    bool keeps_unwritten;    /* records that the journal cannot take stay in their ring */
    int error;               /* the journal's error because of which records stay; 0: none */
    int readied;             /* number of rings that have memory */
    int64_t last_reading_ns; /* when the clocks were last read */
    struct pw_record batch[PW_JOURNAL_BATCH];
};

enum {
    READING_NS = 1000000, /* least time between two readings of both clocks */
    CATCH_UP_NS = 1000000000,
    LOOKS = 16, /* how often one run empties the rings, at most */
    /* Numbers of records that wait for a spare core: 0.4 ms to 0.1 s of the intake. */
    LEAST_DELAYED = 4096,
    MOST_DELAYED = 1 << 20,
};

/* Reads both clocks, and adds the reading to the journal and the intake. */
static void pw_drain_read_clocks(struct pw_drain *drain)
{
    uint64_t ticks;
    int64_t ns;
    enum pw_tick_source source = (enum pw_tick_source)drain->segment->tick_source;
    if (source == PW_TICK_RAW)
        return; /* ticks are nanoseconds already */
    pw_tickmap_read(source, &ticks, &ns);
    drain->last_reading_ns = ns;
    pw_journal_add_reading(drain->journal, ticks, ns);
    if (drain->intake && !pw_backlog_add_reading(drain->backlog, ticks, ns))
        pw_intake_reading(drain->intake, ticks, ns);
}

static void update_clocks(struct pw_drain *drain)
{
    if (pw_local_ns() - drain->last_reading_ns >= READING_NS)
        pw_drain_read_clocks(drain);
}

struct pw_drain *pw_drain_create(const char *segment_name, struct pw_segment_shared *segment,
                                 struct pw_journal *journal, struct pw_intake *intake)
{
    struct pw_drain *drain = calloc(1, sizeof(*drain));
    if (!drain)
        return NULL;
    drain->segment_name = segment_name;
    drain->segment = segment;
    drain->journal = journal;
    drain->intake = intake;
    drain->readied = 1;
    pw_drain_read_clocks(drain);
    usleep(READING_NS / 1000); /* a rate needs two readings */
    pw_drain_read_clocks(drain);
    return drain;
}

void pw_drain_limit(struct pw_drain *drain, struct pw_rankfile *file, int64_t bytes)
{
    drain->limit_bytes = bytes;
    drain->limited_file = file;
}

void pw_drain_delay(struct pw_drain *drain, int64_t most_bytes)
{
    if (drain->intake && !drain->backlog && most_bytes > 0)
        drain->backlog = pw_backlog_create(drain->intake, drain->journal, (size_t)most_bytes);
}

void pw_drain_spare_core(struct pw_drain *drain, const char *root)
{
    drain->needs_spare_core = drain->backlog != NULL;
    pw_sparecore_init(&drain->spare, root, pw_local_ns());
}

/* Whether so few records wait that the intake takes less time for them than it takes to find out
 * whether a core is spare: /proc/stat has a line for each core. */
static bool is_little(const struct pw_drain *drain)
{
    return pw_backlog_bytes(drain->backlog) < LEAST_DELAYED * (int64_t)sizeof(struct pw_record);
}

/* Whether records of the backlog wait until a core is spare. */
static bool is_delayed(struct pw_drain *drain)
{
    return drain->needs_spare_core && !is_little(drain) &&
           pw_backlog_bytes(drain->backlog) < MOST_DELAYED * (int64_t)sizeof(struct pw_record) &&
           !pw_sparecore_look(&drain->spare, pw_local_ns());
}

/* Whether the file has reached its limit. Records in the backlog will be in the file, too; so when
 * file and backlog together reach the limit, the backlog is processed first. */
static bool is_file_full(struct pw_drain *drain)
{
    if (!drain->limited_file)
        return false;
    if (pw_rankfile_bytes(drain->limited_file) + pw_backlog_bytes(drain->backlog) >=
        drain->limit_bytes)
        pw_backlog_hand_over_all(drain->backlog);
    return pw_rankfile_bytes(drain->limited_file) >= drain->limit_bytes;
}

/* Whether records must be dropped because of the limit. Once true, this stays true, so that the
 * file has no gaps between its records. */
static bool is_full(struct pw_drain *drain)
{
    if (drain->limit_bytes && !drain->is_full)
        drain->is_full =
            pw_journal_bytes(drain->journal) >= drain->limit_bytes || is_file_full(drain);
    return drain->is_full;
}

/* Copies the next `n` records, which may wrap around the end of the ring. Records are checked and
 * used in the copy, because another process could change them in the ring after a check. */
static void copy_batch(const struct pw_drained_ring *ring, struct pw_record *to, uint32_t n)
{
    uint64_t mask = ring->records - 1, from = ring->tail & mask;
    uint64_t straight = mask + 1 - from < n ? mask + 1 - from : n;
    const struct pw_record *records = pw_ring_records(ring->shared);
    memcpy(to, records + from, straight * sizeof(*records));
    memcpy(to + straight, records, (n - straight) * sizeof(*records));
}

/* Takes the next `n` records: adds them to the journal and to the backlog or the intake, and frees
 * their places in the ring. Returns false when the journal cannot take them and they stay in the
 * ring. */
static bool take_batch(struct pw_drain *drain, int index, uint32_t n)
{
    struct pw_drained_ring *ring = &drain->rings[index];
    const bool keeps = !is_full(drain);
    /* In a burst, or without a spare core, records wait in the journal: a copy of them would take
     * time that the program has not. */
    const bool copies =
        keeps && (!drain->needs_spare_core ||
                  (!drain->is_filling && (drain->spare.is_spare || is_little(drain))));
    struct pw_record *waiting = copies ? pw_backlog_add_records(drain->backlog, index, n) : NULL;
    struct pw_record *batch = waiting ? waiting : drain->batch;
    copy_batch(ring, batch, n);
    if (keeps) {
        const int err = pw_journal_add_records(drain->journal, index, ring->tail, batch, n);
        if (err && drain->keeps_unwritten) {
            drain->error = err;
            return false;
        }
        if (drain->backlog && !waiting)
            pw_backlog_add_written(drain->backlog, index, batch, n);
        else if (drain->intake && !waiting)
            pw_intake_records(drain->intake, index, batch, n);
    } else {
        const struct pw_losscount lost = pw_losscount_of(batch, n);
        pw_losscount_add(&ring->unkept, &lost);
    }
    ring->tail += n;
    atomic_store_explicit(&ring->shared->tail, ring->tail, memory_order_release);
    return true;
}

/* Takes all records of a ring; returns how many it had. */
static int64_t empty_ring(struct pw_drain *drain, int index)
{
    struct pw_drained_ring *ring = &drain->rings[index];
    /* Acquire: pairs with the producer's release of the records before this head. */
    uint64_t head = atomic_load_explicit(&ring->shared->head, memory_order_acquire);
    if (head - ring->tail > ring->records)
        return 0; /* the values are damaged: do not touch the ring */
    int64_t count = (int64_t)(head - ring->tail);
    drain->is_filling |= count > (int64_t)(ring->records / 4);
    if (count)
        update_clocks(drain);
    /* In batches, so that the producer of a full ring gets room as early as possible. */
    while (ring->tail != head) {
        uint64_t left = head - ring->tail;
        if (!take_batch(drain, index, left < PW_JOURNAL_BATCH ? (uint32_t)left : PW_JOURNAL_BATCH))
            break;
    }
    return count;
}

/* When the program has at least two threads, allocates one ring more than is used, so that a new
 * thread's first record does not have to wait for memory. */
static void ready_next_ring(struct pw_drain *drain, int used)
{
    if (used < 2 || used < drain->readied || used >= PW_MAX_RINGS)
        return;
    int err = pw_segment_allocate_ring(drain->segment_name, drain->segment, used);
    pw_debug(PW_LOG_RING, 1, "ring %d made ready: %s", used, err ? strerror(-err) : "ok");
    drain->readied = used + 1;
}

/* Maps a ring if it is not mapped yet. Returns 0 or -errno, as pw_segment_map_ring(). */
static int pw_drain_map_ring(struct pw_drain *drain, int index)
{
    struct pw_drained_ring *ring = &drain->rings[index];
    if (ring->shared)
        return 0;
    int err = pw_segment_map_ring(drain->segment_name, drain->segment, index, &ring->shared,
                                  &ring->records);
    if (err)
        return err;
    /* If the previous collector was killed, the journal's position and the ring's tail can differ:
     * it wrote records to the journal, but did not free their places yet; or it freed places of
     * records that it could not write. */
    uint64_t written = pw_journal_position(drain->journal, index);
    uint64_t given = atomic_load_explicit(&ring->shared->tail, memory_order_relaxed);
    ring->tail = written > given ? written : given;
    if (drain->journal && given > written)
        ring->unwritten = pw_losscount_unknown(
            given - written, &pw_ring_records(ring->shared)[(given - 1) & (ring->records - 1)]);
    /* Free the places now. If the ring has no further records, no later batch would free them, and
     * a producer that waits for room would wait for ever. */
    atomic_store_explicit(&ring->shared->tail, ring->tail, memory_order_release);
    return 0;
}

/* Number of rings that are or were used. */
static int pw_drain_count_used(const struct pw_drain *drain)
{
    uint32_t used = atomic_load(&drain->segment->nrings);
    return used < PW_MAX_RINGS ? (int)used : PW_MAX_RINGS;
}

/* Empties all rings once, and commits the journal. Returns the number of records taken. */
static int64_t pw_drain_empty_all(struct pw_drain *drain)
{
    const int used = pw_drain_count_used(drain);
    int64_t count = 0;
    drain->is_filling = false;
    for (int i = 0; i < used; i++)
        if (pw_drain_map_ring(drain, i) == 0)
            count += empty_ring(drain, i);
    pw_journal_commit(drain->journal);
    return count;
}

int64_t pw_drain_run(struct pw_drain *drain)
{
    int64_t count = pw_drain_empty_all(drain);
    ready_next_ring(drain, pw_drain_count_used(drain));
    /* While a ring is filling, only empty the rings; the intake continues when none is. */
    for (int i = 1; i < LOOKS && pw_backlog_waiting(drain->backlog) && !is_delayed(drain); i++) {
        if (!drain->is_filling)
            pw_backlog_hand_over(drain->backlog);
        count += pw_drain_empty_all(drain);
    }
    pw_backlog_trim(drain->backlog);
    return count;
}

/* Lets the intake process the records that are in the backlog now, for CATCH_UP_NS at most: whoever
 * asked waits a few seconds for an answer. Records that come meanwhile are not waited for, because
 * that might never end. */
static void catch_up(struct pw_drain *drain)
{
    const int64_t until = pw_local_ns() + CATCH_UP_NS;
    uint64_t left = pw_backlog_waiting(drain->backlog), done;
    for (; left && pw_local_ns() < until && (done = pw_backlog_hand_over(drain->backlog));
         left -= done < left ? done : left)
        pw_drain_empty_all(drain);
}

bool pw_drain_is_filling(struct pw_drain *drain)
{
    return drain->is_filling || (pw_backlog_waiting(drain->backlog) && !is_delayed(drain));
}

/* Whether the ring is mapped and belongs to a running thread. */
static bool is_owned(const struct pw_drain *drain, int index)
{
    return drain->rings[index].shared && pw_ringpage_is_owned(drain->segment, index);
}

/* Reads the call that the ring's thread is in. Returns false when it is in none. */
static bool pw_drain_read_call(const struct pw_drain *drain, int index, struct pw_shown_call *out)
{
    return is_owned(drain, index) && pw_ringpage_read_call(drain->rings[index].shared, out);
}

int64_t pw_drain_longest_call(const struct pw_drain *drain, uint64_t after, uint64_t *start)
{
    int64_t longest = 0;
    struct pw_shown_call call;
    for (int i = 0; i < PW_MAX_RINGS && drain->intake; i++) {
        if (!pw_drain_read_call(drain, i, &call) || call.start <= after)
            continue;
        int64_t ns = pw_intake_since(drain->intake, call.start);
        if (ns > longest) {
            longest = ns;
            *start = call.start;
        }
    }
    return longest;
}

void pw_drain_sync(struct pw_drain *drain)
{
    pw_drain_empty_all(drain);
    pw_journal_sync(drain->journal);
}

void pw_drain_signal(struct pw_drain *drain)
{
    for (int i = 0; i < PW_MAX_RINGS; i++)
        if (is_owned(drain, i))
            atomic_store(&drain->rings[i].shared->open.signalled, 1);
}

int pw_drain_live(struct pw_drain *drain, struct pw_live *live)
{
    live->step = live->steps = live->steps_ns = live->mpi_ns = -1;
    live->step_last_ns = live->step_mean_ns = live->step_mpi_ns = -1;
    catch_up(drain);
    live->threads = calloc(PW_LIVE_THREADS, sizeof(*live->threads));
    if (!live->threads)
        return -ENOMEM;
    for (int i = 0; i < PW_MAX_RINGS && live->nthreads < PW_LIVE_THREADS; i++) {
        const struct pw_drained_ring *ring = &drain->rings[i];
        if (!is_owned(drain, i))
            continue;
        struct pw_shown_call call;
        bool is_in = pw_drain_read_call(drain, i, &call);
        struct pw_live_thread *thread = &live->threads[live->nthreads++];
        *thread = (struct pw_live_thread){
            .tid = atomic_load(&ring->shared->tid),
            .op = is_in ? (uint16_t)call.op : PW_OP_None,
            .since_ns = -1,
            .comm_row = -1,
            .seq = -1,
            .peer = -1,
        };
        if (drain->intake)
            pw_intake_live_thread(drain->intake, i, is_in ? &call : NULL, thread);
    }
    if (drain->intake)
        pw_intake_live(drain->intake, live);
    return 0;
}

void pw_drain_destroy(struct pw_drain *drain)
{
    if (!drain)
        return;
    for (int i = 0; i < PW_MAX_RINGS; i++)
        if (drain->rings[i].shared)
            pw_segment_unmap_ring(drain->rings[i].shared, drain->rings[i].records);
    pw_backlog_destroy(drain->backlog);
    free(drain);
}

/* ---- after the program's end: records that are in no ring, and open calls ---- */

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
    const struct pw_record disk = pw_losscount_record(&ring->unwritten, PW_REASON_DISK);
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
