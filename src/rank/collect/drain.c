/* Empties rings that another process writes; see drain.h. No value read from them is used as an
 * index or a length before it is checked. */
#include "rank/collect/drainstate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/ops.h"
#include "rank/clocks/tickmap.h"
#include "rank/collect/ringpage.h"

enum {
    READING_NS = 1000000, /* least time between two readings of both clocks */
    CATCH_UP_NS = 1000000000,
    STAY_NS = 1000000000, /* so long records may stay in a ring */
    LOOKS = 16,           /* how often one run empties the rings, at most */
    /* Numbers of records that wait for a spare core: 0.4 ms to 0.1 s of the intake. */
    LEAST_DELAYED = 4096,
    MOST_DELAYED = 1 << 20,
    LOAD = 16384, /* records between two looks for a spare core that tell what it is in a burst */
};

void pw_drain_read_clocks(struct pw_drain *drain)
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

bool pw_drain_is_full(struct pw_drain *drain)
{
    if (drain->limit_bytes && !drain->is_full)
        drain->is_full =
            pw_journal_bytes(drain->journal) >= drain->limit_bytes || is_file_full(drain);
    return drain->is_full;
}

/* Whether the intake gets the next records from this drain, while they are in the processor's
 * cache, and not later from the backlog. */
static bool is_direct(const struct pw_drain *drain)
{
    return drain->may_process && !drain->is_filling && !pw_backlog_waiting(drain->backlog);
}

/* Whether the backlog gets copies of records. In a burst, or without a spare core, records wait in
 * the journal: a copy of them would take time that the program has not. */
static bool copies(const struct pw_drain *drain)
{
    return !drain->needs_spare_core || (drain->may_process && !drain->is_filling);
}

static void count_unkept(struct pw_drained_ring *ring, const struct pw_record *batch, uint32_t n)
{
    const struct pw_losscount lost = pw_losscount_of(batch, n);
    pw_losscount_add(&ring->unkept, &lost);
}

/* Takes the next `n` records: adds them to the journal and to the backlog or the intake, and frees
 * their places in the ring. Returns false when the journal cannot take them and they stay in the
 * ring. */
static bool take_batch(struct pw_drain *drain, int index, uint32_t n)
{
    struct pw_drained_ring *ring = &drain->rings[index];
    const bool keeps = !pw_drain_is_full(drain), direct = keeps && is_direct(drain);
    struct pw_record *waiting =
        keeps && !direct && copies(drain) ? pw_backlog_add_records(drain->backlog, index, n) : NULL;
    struct pw_record *batch = waiting ? waiting : drain->batch;
    pw_drainedring_copy(ring, batch, n);
    const int err = keeps ? pw_journal_add_records(drain->journal, index, ring->tail, batch, n) : 0;
    if (err && drain->keeps_unwritten) {
        drain->error = err;
        return false;
    }
    const bool is_written = drain->journal && !err;
    if (is_written)
        pw_drainedring_free(ring, n);
    if (!keeps)
        count_unkept(ring, batch, n);
    else if (drain->backlog && !waiting && !direct)
        pw_backlog_add_written(drain->backlog, index, batch, n);
    else if (drain->intake && !waiting)
        pw_intake_records(drain->intake, index, batch, n);
    if (!is_written)
        pw_drainedring_free(ring, n);
    return true;
}

/* Takes the next `count` records of a ring, which has them. */
static void take_records(struct pw_drain *drain, int index, uint64_t count)
{
    struct pw_drained_ring *ring = &drain->rings[index];
    const uint64_t end = ring->tail + count, before = pw_drainedring_used(ring);
    if (count)
        update_clocks(drain);
    /* In batches, so that the producer of a full ring gets room as early as possible. */
    while (ring->tail != end) {
        uint64_t left = end - ring->tail, used;
        if (!take_batch(drain, index, left < PW_JOURNAL_BATCH ? (uint32_t)left : PW_JOURNAL_BATCH))
            break;
        used = pw_drainedring_used(ring);
        drain->is_filling |= used > before && used > ring->records / 4;
    }
    drain->taken += (int64_t)count;
}

/* Takes all records of a ring; returns how many it had. */
static int64_t empty_ring(struct pw_drain *drain, int index)
{
    struct pw_drained_ring *ring = &drain->rings[index];
    const uint64_t count = pw_drainedring_used(ring);
    drain->is_filling |= pw_drainedring_look(ring, pw_local_ns());
    take_records(drain, index, count);
    return (int64_t)count;
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

int pw_drain_map_ring(struct pw_drain *drain, int index)
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

int pw_drain_count_used(const struct pw_drain *drain)
{
    uint32_t used = atomic_load(&drain->segment->nrings);
    return used < PW_MAX_RINGS ? (int)used : PW_MAX_RINGS;
}

int64_t pw_drain_empty_all(struct pw_drain *drain)
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

/* Number of records that are in rings or wait. */
static int64_t count_records(struct pw_drain *drain)
{
    int64_t count = pw_backlog_bytes(drain->backlog) / (int64_t)sizeof(struct pw_record);
    for (int i = 0; i < pw_drain_count_used(drain); i++)
        if (pw_drain_map_ring(drain, i) == 0)
            count += (int64_t)pw_drainedring_used(&drain->rings[i]);
    return count;
}

/* Decides whether the intake may process records at once: they are few, or a core is spare. */
static void decide_to_process(struct pw_drain *drain)
{
    const int64_t count = drain->needs_spare_core ? count_records(drain) : 0;
    const int64_t looked_ns = drain->spare.looked_ns;
    drain->may_process = drain->needs_spare_core && count < LEAST_DELAYED;
    if (count < LEAST_DELAYED)
        return;
    drain->may_process = pw_sparecore_look(&drain->spare, pw_local_ns());
    if (drain->spare.looked_ns == looked_ns)
        return;
    drain->is_spare_in_load = drain->may_process && drain->taken + count >= LOAD;
    drain->taken = 0;
}

/* Whether a ring must be emptied at once. */
static bool is_hurried(struct pw_drain *drain)
{
    const int64_t now_ns = pw_local_ns();
    bool is_hurried = false;
    for (int i = 0; i < pw_drain_count_used(drain); i++)
        is_hurried |=
            pw_drain_map_ring(drain, i) == 0 && pw_drainedring_look(&drain->rings[i], now_ns);
    return is_hurried;
}

/* Takes only what must not stay in the rings. */
static int64_t take_excess(struct pw_drain *drain)
{
    int64_t count = 0;
    drain->is_filling = false;
    drain->may_process = drain->is_spare_in_load;
    for (int i = 0; i < pw_drain_count_used(drain); i++) {
        const uint64_t excess =
            drain->rings[i].shared ? pw_drainedring_excess(&drain->rings[i]) : 0;
        take_records(drain, i, excess);
        count += (int64_t)excess;
    }
    if (count)
        pw_journal_commit(drain->journal);
    ready_next_ring(drain, pw_drain_count_used(drain));
    drain->must_go_on = drain->is_filling;
    return count;
}

/* Whether records can stay in the rings although it is time to read them: they are many, no core is
 * spare for them, and the rings were emptied lately. */
static bool can_stay(struct pw_drain *drain)
{
    return drain->needs_spare_core && !drain->may_process && !drain->must_go_on &&
           pw_local_ns() - drain->emptied_ns < STAY_NS && !is_hurried(drain);
}

int64_t pw_drain_run(struct pw_drain *drain)
{
    decide_to_process(drain);
    if (can_stay(drain))
        return take_excess(drain);
    drain->emptied_ns = pw_local_ns();
    int64_t count = pw_drain_empty_all(drain);
    ready_next_ring(drain, pw_drain_count_used(drain));
    /* While a ring is filling, only empty the rings; the intake continues when none is. */
    for (int i = 1; i < LOOKS && pw_backlog_waiting(drain->backlog) && !is_delayed(drain); i++) {
        if (!drain->is_filling)
            pw_backlog_hand_over(drain->backlog);
        count += pw_drain_empty_all(drain);
    }
    pw_backlog_trim(drain->backlog);
    drain->must_go_on =
        drain->is_filling || (pw_backlog_waiting(drain->backlog) && !is_delayed(drain));
    return count;
}

int64_t pw_drain_relieve(struct pw_drain *drain)
{
    return drain->must_go_on || is_hurried(drain) ? pw_drain_run(drain) : take_excess(drain);
}

/* Lets the intake process the records that are in the backlog now, for CATCH_UP_NS at most: whoever
 * asked waits a few seconds for an answer. Records that come meanwhile are not waited for, because
 * that might never end. */
static void catch_up(struct pw_drain *drain)
{
    const int64_t until = pw_local_ns() + CATCH_UP_NS;
    pw_drain_empty_all(drain);
    uint64_t left = pw_backlog_waiting(drain->backlog), done;
    for (; left && pw_local_ns() < until && (done = pw_backlog_hand_over(drain->backlog));
         left -= done < left ? done : left)
        pw_drain_empty_all(drain);
}

bool pw_drain_must_go_on(const struct pw_drain *drain)
{
    return drain->must_go_on;
}

/* Whether the ring is mapped and belongs to a running thread. */
static bool is_owned(const struct pw_drain *drain, int index)
{
    return drain->rings[index].shared && pw_ringpage_is_owned(drain->segment, index);
}

bool pw_drain_read_call(const struct pw_drain *drain, int index, struct pw_shown_call *out)
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
