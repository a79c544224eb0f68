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
#include "rank/collect/drainedring.h"
#include "rank/collect/sparecore.h"

enum {
    READING_NS = 1000000, /* least time between two readings of both clocks */
    CATCH_UP_NS = 1000000000,
    STAY_NS = 1000000000, /* longest time that records may stay in a ring */
    LOOK_NS = 900000000,  /* least time between two looks at polls */
    MOST_PASSES = 16,     /* how often one run empties the rings */
    /* Numbers of records that wait for a spare core: 0.4 ms to 0.1 s of the intake. */
    LEAST_DELAYED = 4096,
    MOST_DELAYED = 1 << 20,
};

/* What becomes of records that are in the journal. Each pass over the rings begins in one of the
 * first three states, by what choose_state() finds; FILLING can follow each of them within a pass.
 *
 *   state    records wait  core      the next batch                 run again at once
 *   DIRECT   none          spare     goes to the intake, while it   no
 *                                    is in the processor's cache
 *   BEHIND   some          spare     waits; the intake gets older   yes
 *                                    ones between two passes
 *   SAVING   any number    not spare waits                          no
 *   FILLING  any number    any       waits: only the journal is as  yes
 *                                    fast as the ring fills
 *
 * If the records in the rings and in the backlog are together fewer than LEAST_DELAYED, or
 * MOST_DELAYED or more, may_process() counts a core as spare. */
enum state { DIRECT, BEHIND, SAVING, FILLING };

struct pw_drain {
    const char *segment_name;
    struct pw_segment_shared *segment;
    struct pw_journal *journal;
    struct pw_intake *intake;
    struct pw_backlog backlog; /* what is in the journal and waits for the intake */
    struct pw_drained_ring rings[PW_MAX_RINGS];
    const struct pw_module *modules; /* those whose `salvage` is called at the end; or NULL */
    struct pw_rankfile *limited_file;
    int64_t limit_bytes; /* of file and journal; 0: no limit */
    bool is_full;        /* the limit was reached */
    enum state state;
    struct pw_sparecore spare;
    int64_t taken;           /* number of records that were in rings when these were emptied */
    bool keeps_unwritten;    /* records that the journal cannot take stay in their ring */
    int error;               /* the journal's error because of which records stay; 0: none */
    int readied;             /* number of rings that have memory */
    int64_t last_reading_ns; /* when the clocks were last read */
    int64_t emptied_ns;      /* when pw_drain_run() last emptied the rings */
    uint64_t heads;          /* sum of all rings' heads at the last pw_drain_look_at_polls(), */
    uint64_t changed_ticks;  /* when it was last seen to change, */
    int64_t looked_ns;       /* and the time of that look */
    struct pw_record batch[PW_JOURNAL_BATCH];
};

/* Reads both clocks, and adds the reading to the journal and the intake. */
static void read_clocks(struct pw_drain *drain)
{
    uint64_t ticks;
    int64_t ns;
    enum pw_tick_source source = (enum pw_tick_source)drain->segment->tick_source;
    if (source == PW_TICK_RAW)
        return; /* ticks are nanoseconds already */
    pw_tickmap_read(source, &ticks, &ns);
    drain->last_reading_ns = ns;
    pw_journal_add_reading(drain->journal, ticks, ns);
    pw_backlog_pass_reading(&drain->backlog, ticks, ns);
}

static void update_clocks(struct pw_drain *drain)
{
    if (pw_local_ns() - drain->last_reading_ns >= READING_NS)
        read_clocks(drain);
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
    pw_backlog_init(&drain->backlog, intake, journal);
    pw_sparecore_init(&drain->spare, NULL, 0);
    drain->readied = 1;
    read_clocks(drain);
    usleep(READING_NS / 1000); /* a rate needs two readings */
    read_clocks(drain);
    return drain;
}

void pw_drain_limit(struct pw_drain *drain, struct pw_rankfile *file, int64_t bytes)
{
    drain->limit_bytes = bytes;
    drain->limited_file = file;
}

void pw_drain_spare_core(struct pw_drain *drain, const char *root)
{
    pw_sparecore_init(&drain->spare, root, pw_local_ns());
}

/* Whether the file has reached its limit. Records of the backlog will be in the file, too; so when
 * file and backlog together reach the limit, the backlog is processed first. */
static bool is_file_full(struct pw_drain *drain)
{
    const int64_t waiting = (int64_t)(drain->backlog.records * sizeof(struct pw_record));
    if (!drain->limited_file)
        return false;
    if (pw_rankfile_bytes(drain->limited_file) + waiting >= drain->limit_bytes)
        pw_backlog_hand_over_all(&drain->backlog);
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

static void count_unkept(struct pw_drained_ring *ring, const struct pw_record *batch, uint32_t n)
{
    const struct pw_losscount lost = pw_losscount_of(batch, n);
    pw_losscount_add(&ring->unkept, &lost);
}

/* Lets the batch, which is the journal's last block, wait there, or passes it to the intake now: to
 * read it again would take 11 ns a record, a tenth of what the collector takes for a record at 1
 * million records a second. */
static void settle_written(struct pw_drain *drain, int index, uint32_t n)
{
    if (drain->state == DIRECT || !pw_backlog_add(&drain->backlog, n))
        pw_backlog_pass(&drain->backlog, index, drain->batch, n);
}

/* Passes a batch on that is not in the journal. */
static void pass_unwritten(struct pw_drain *drain, int index, uint32_t n)
{
    if (drain->backlog.blocks) {
        pw_backlog_hand_over_all(&drain->backlog);
        read_clocks(drain); /* the last reading may have been lost with this batch */
    }
    pw_backlog_pass(&drain->backlog, index, drain->batch, n);
}

/* Takes the next `n` records: adds them to the journal, frees their places in the ring, and passes
 * them to the intake or lets them wait. Returns false when the journal cannot take them and they
 * stay in the ring. */
static bool take_batch(struct pw_drain *drain, int index, uint32_t n)
{
    struct pw_drained_ring *ring = &drain->rings[index];
    const bool keeps = !is_full(drain);
    pw_drainedring_copy(ring, drain->batch, n);
    const int err =
        keeps ? pw_journal_add_records(drain->journal, index, ring->tail, drain->batch, n) : 0;
    if (err && drain->keeps_unwritten) {
        drain->error = err;
        return false;
    }
    const bool is_written = drain->journal && !err;
    if (is_written)
        pw_drainedring_free(ring, n);
    if (!keeps)
        count_unkept(ring, drain->batch, n);
    else if (is_written)
        settle_written(drain, index, n);
    else
        pass_unwritten(drain, index, n);
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
        if (used > before && used > ring->records / 4)
            drain->state = FILLING;
    }
    drain->taken += (int64_t)count;
}

/* Takes all records of a ring; returns how many it had. */
static int64_t empty_ring(struct pw_drain *drain, int index)
{
    struct pw_drained_ring *ring = &drain->rings[index];
    const uint64_t count = pw_drainedring_used(ring);
    if (pw_drainedring_look(ring, pw_local_ns()))
        drain->state = FILLING;
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

/* Maps a ring if it is not mapped yet. Returns 0 or -errno, as pw_segment_map_ring(). */
static int map_ring(struct pw_drain *drain, int index)
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
static int count_used(const struct pw_drain *drain)
{
    uint32_t used = atomic_load(&drain->segment->nrings);
    return used < PW_MAX_RINGS ? (int)used : PW_MAX_RINGS;
}

static int64_t count_in_rings(struct pw_drain *drain)
{
    int64_t count = 0;
    for (int i = 0; i < count_used(drain); i++)
        if (map_ring(drain, i) == 0)
            count += (int64_t)pw_drainedring_used(&drain->rings[i]);
    return count;
}

/* Whether the intake may process records. Yes if they are few: to process them takes less time than
 * to look for a spare core (/proc/stat has a line for each core). Yes, too, if they are too many to
 * wait, or if a core is spare. */
static bool may_process(struct pw_drain *drain)
{
    const int64_t in_rings = count_in_rings(drain);
    const int64_t count = in_rings + (int64_t)drain->backlog.records;
    return count < LEAST_DELAYED || count >= MOST_DELAYED ||
           pw_sparecore_look(&drain->spare, pw_local_ns(), drain->taken + in_rings);
}

static enum state choose_state(const struct pw_drain *drain, bool may_process)
{
    return !may_process ? SAVING : drain->backlog.blocks ? BEHIND : DIRECT;
}

/* Empties all rings once, and commits the journal. Returns the number of records taken. */
static int64_t empty_all(struct pw_drain *drain)
{
    const int used = count_used(drain);
    int64_t count = 0;
    drain->state = choose_state(drain, may_process(drain));
    for (int i = 0; i < used; i++)
        if (map_ring(drain, i) == 0)
            count += empty_ring(drain, i);
    pw_journal_commit(drain->journal);
    return count;
}

/* Whether a ring must be emptied at once. */
static bool is_hurried(struct pw_drain *drain)
{
    const int64_t now_ns = pw_local_ns();
    bool is_hurried = false;
    for (int i = 0; i < count_used(drain); i++)
        is_hurried |= map_ring(drain, i) == 0 && pw_drainedring_look(&drain->rings[i], now_ns);
    return is_hurried;
}

/* Takes only what must not stay in the rings. The program may be in a burst. So the intake may use
 * a core only if one was spare while the program recorded much. */
static int64_t take_excess(struct pw_drain *drain)
{
    int64_t count = 0;
    drain->state = choose_state(drain, pw_sparecore_is_in_load(&drain->spare));
    for (int i = 0; i < count_used(drain); i++) {
        if (map_ring(drain, i)) /* a thread that begins gets its memory a little later */
            continue;
        const uint64_t excess = pw_drainedring_excess(&drain->rings[i]);
        take_records(drain, i, excess);
        count += (int64_t)excess;
    }
    if (count)
        pw_journal_commit(drain->journal);
    ready_next_ring(drain, count_used(drain));
    return count;
}

/* Whether records can stay in the rings although it is time to read them: they are many, no core is
 * spare for them, and the rings were emptied lately. */
static bool can_stay(struct pw_drain *drain)
{
    return !pw_drain_must_go_on(drain) && pw_local_ns() - drain->emptied_ns < STAY_NS &&
           !may_process(drain) && !is_hurried(drain);
}

int64_t pw_drain_run(struct pw_drain *drain)
{
    if (can_stay(drain))
        return take_excess(drain);
    drain->emptied_ns = pw_local_ns();
    int64_t count = empty_all(drain);
    ready_next_ring(drain, count_used(drain));
    for (int i = 1; i < MOST_PASSES && pw_drain_must_go_on(drain); i++) {
        if (drain->state == BEHIND)
            pw_backlog_hand_over(&drain->backlog);
        count += empty_all(drain);
    }
    return count;
}

int64_t pw_drain_relieve(struct pw_drain *drain)
{
    return pw_drain_must_go_on(drain) || is_hurried(drain) ? pw_drain_run(drain)
                                                           : take_excess(drain);
}

/* Lets the intake process the records that wait now, for CATCH_UP_NS at most: whoever asked waits a
 * few seconds for an answer. Records that come meanwhile are not waited for, because that might
 * never end. */
static void catch_up(struct pw_drain *drain)
{
    const int64_t until = pw_local_ns() + CATCH_UP_NS;
    empty_all(drain);
    uint64_t left = drain->backlog.records, done;
    for (; left && pw_local_ns() < until && (done = pw_backlog_hand_over(&drain->backlog));
         left -= done < left ? done : left)
        empty_all(drain);
}

bool pw_drain_must_go_on(const struct pw_drain *drain)
{
    return drain->state == BEHIND || drain->state == FILLING;
}

/* Whether the ring is mapped and belongs to a running thread. */
static bool is_owned(const struct pw_drain *drain, int index)
{
    return drain->rings[index].shared && pw_ringpage_is_owned(drain->segment, index);
}

/* Reads the call that the ring's thread is in. Returns false when it is in none. */
static bool read_call(const struct pw_drain *drain, int index, struct pw_shown_call *out)
{
    return is_owned(drain, index) && pw_ringpage_read_call(drain->rings[index].shared, out);
}

static uint64_t ticks_now(const struct pw_drain *drain)
{
    return pw_tick_read((enum pw_tick_source)drain->segment->tick_source);
}

void pw_drain_look_at_polls(struct pw_drain *drain, int64_t now_ns)
{
    const uint64_t before = drain->heads;
    if (drain->looked_ns && now_ns - drain->looked_ns < LOOK_NS)
        return;
    drain->looked_ns = now_ns;
    drain->heads = 0;
    for (int i = 0; i < PW_MAX_RINGS; i++)
        if (drain->rings[i].shared)
            drain->heads += pw_drainedring_look_at_polls(&drain->rings[i], is_owned(drain, i));
    drain->changed_ticks = drain->heads == before ? drain->changed_ticks : ticks_now(drain);
}

/* When (ticks) the ring's thread entered the call, or the loop of tests, that it is in; 0: in none.
 */
static uint64_t entered(const struct pw_drain *drain, int index)
{
    struct pw_shown_call call;
    bool polls;
    if (!drain->intake || !is_owned(drain, index) ||
        !pw_drainedring_read_state(&drain->rings[index], &call, &polls))
        return 0;
    if (polls) /* before, another thread recorded: this one may have helped it to progress */
        return drain->changed_ticks;
    return call.start;
}

/* entered() for each ring, and last for the call of NCCL, which is in none. */
static uint64_t entered_any(const struct pw_drain *drain, int index)
{
    if (index < PW_MAX_RINGS)
        return entered(drain, index);
    return drain->intake ? atomic_load(&drain->segment->nccl.start) : 0;
}

int64_t pw_drain_longest_call(const struct pw_drain *drain, uint64_t after, uint64_t *start)
{
    int64_t longest = 0;
    for (int i = 0; i <= PW_MAX_RINGS; i++) {
        const uint64_t since = entered_any(drain, i);
        const int64_t ns = since > after ? pw_intake_since(drain->intake, since) : 0;
        if (ns > longest) {
            longest = ns;
            *start = since;
        }
    }
    return longest;
}

uint64_t pw_drain_last_entry(const struct pw_drain *drain, int64_t least_ns)
{
    uint64_t last = 0;
    for (int i = 0; i <= PW_MAX_RINGS; i++) {
        const uint64_t since = entered_any(drain, i);
        if (since > last && pw_intake_since(drain->intake, since) >= least_ns)
            last = since;
    }
    return last;
}

int64_t pw_drain_queued(const struct pw_drain *drain, int64_t *start)
{
    *start = -1;
    return drain->intake ? pw_intake_queued(drain->intake, start) : 0;
}

void pw_drain_sync(struct pw_drain *drain)
{
    empty_all(drain);
    pw_journal_sync(drain->journal);
}

void pw_drain_signal(struct pw_drain *drain)
{
    for (int i = 0; i < PW_MAX_RINGS; i++)
        if (is_owned(drain, i))
            atomic_store(&drain->rings[i].shared->open.signalled, 1);
}

/* Whether the ring has memory, but is not mapped. */
static bool is_missing(const struct pw_drain *drain, int index)
{
    return atomic_load(&drain->segment->rings[index].records) && !drain->rings[index].shared;
}

/* Whether records are missing that the intake does not know of, or has not got yet. */
static bool has_gaps(const struct pw_drain *drain)
{
    bool has = drain->backlog.records > 0;
    for (int i = 0; i < PW_MAX_RINGS; i++)
        has |= is_missing(drain, i) || pw_drainedring_has_gaps(&drain->rings[i]);
    return has;
}

/* Shows the call of NCCL in the row of its thread. */
static void show_nccl(const struct pw_drain *drain, struct pw_live *live)
{
    const struct pw_shown_nccl *call = &drain->segment->nccl;
    const uint64_t start = atomic_load(&call->start);
    const int32_t tid = atomic_load(&call->tid);
    live->nccl_inits = atomic_load(&call->inits);
    struct pw_live_thread shown = {.tid = tid,
                                   .source = PW_SOURCE_NCCL,
                                   .op = (uint16_t)(atomic_load(&call->op) % PW_OP_COUNT),
                                   .comm_uid = atomic_load(&call->uid),
                                   .comm_row = -1,
                                   .seq = -1,
                                   .peer = -1,
                                   .tag = -1,
                                   .signature = PW_REDUCTION_UNKNOWN};
    struct pw_live_thread *place = NULL;
    for (size_t i = 0; i < live->nthreads; i++)
        if (live->threads[i].queue == PW_LIVE_THREAD && live->threads[i].tid == tid)
            place = &live->threads[i];
    if (!place && live->nthreads < PW_LIVE_THREADS)
        place = &live->threads[live->nthreads];
    /* Changed meanwhile: it has left the call. */
    if (!start || !drain->intake || !place || atomic_load(&call->start) != start ||
        (place < live->threads + live->nthreads && place->op != PW_OP_None))
        return;
    const struct pw_live_comm *comm = pw_live_comm(live, shown.comm_uid);
    if (comm && pw_op_info(shown.op)->cls == PW_CLASS_COLL)
        shown.seq = comm->reached;
    if (shown.op == PW_OP_Init) /* of all ranks */
        shown.comm_uid = 0;
    shown.since_ns = pw_intake_since(drain->intake, start);
    live->nthreads += place == &live->threads[live->nthreads];
    *place = shown;
}

int pw_drain_live(struct pw_drain *drain, struct pw_live *live)
{
    live->step = live->steps = live->steps_ns = live->mpi_ns = -1;
    live->step_last_ns = live->step_mean_ns = live->step_mpi_ns = -1;
    catch_up(drain);
    live->threads = calloc(PW_LIVE_THREADS, sizeof(*live->threads));
    live->comms = calloc(PW_LIVE_COMMS, sizeof(*live->comms));
    if (!live->threads || !live->comms)
        return -ENOMEM;
    for (int i = 0; i < PW_MAX_RINGS && live->nthreads < PW_LIVE_THREADS; i++) {
        const struct pw_drained_ring *ring = &drain->rings[i];
        if (!is_owned(drain, i))
            continue;
        struct pw_shown_call call;
        bool polls;
        const bool is_in = pw_drainedring_read_state(ring, &call, &polls);
        struct pw_live_thread *thread = &live->threads[live->nthreads++];
        *thread = (struct pw_live_thread){
            .tid = atomic_load(&ring->shared->tid),
            .op = is_in ? (uint16_t)call.op : PW_OP_None,
            .since_ns = -1,
            .comm_row = -1,
            .seq = -1,
            .peer = -1,
            .signature = PW_REDUCTION_UNKNOWN,
            .polls = polls,
        };
        if (drain->intake)
            pw_intake_live_thread(drain->intake, i, is_in ? &call : NULL, thread);
    }
    if (drain->intake)
        pw_intake_live(drain->intake, live);
    show_nccl(drain, live);
    if (!has_gaps(drain))
        return 0;
    live->pairs_known = 0;
    for (size_t i = 0; i < live->ncomms; i++)
        live->comms[i].unnumbered = -1;
    return 0;
}

/* ---- after the program's end: what is left in the rings, and what is in no ring ---- */

/* Adds a record that is in no ring to journal and intake. The backlog must be empty. */
static void add_ringless(struct pw_drain *drain, int index, const struct pw_record *record)
{
    pw_journal_add_ringless(drain->journal, index, record);
    pw_backlog_pass(&drain->backlog, index, record, 1);
}

static void take_salvaged(void *arg, const struct pw_record *record)
{
    add_ringless(arg, 0, record);
}

void pw_drain_use_salvage(struct pw_drain *drain, const struct pw_module *modules)
{
    drain->modules = modules;
}

static void salvage(struct pw_drain *drain)
{
    for (const struct pw_module *module = drain->modules; module && module->name; module++)
        if (module->salvage && (module->activity & drain->segment->activities))
            module->salvage(drain->segment_name, drain->segment, take_salvaged, drain);
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
    const struct pw_record disk =
        pw_losscount_record(&ring->unwritten, is_full(drain) ? PW_REASON_LIMIT : PW_REASON_DISK);
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

/* Counts each ring that could not be mapped as one call without a ring, because the number of its
 * records is not known. */
static void count_missing(const struct pw_drain *drain, struct pw_record *record)
{
    for (int i = 0; i < count_used(drain); i++)
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
    if (!read_call(drain, index, &call))
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
    pw_backlog_hand_over_all(&drain->backlog);
    salvage(drain);
    /* The program, which has ended, writes no more records of these losses and waits. */
    for (int i = 0; i < PW_MAX_RINGS; i++)
        if (drain->rings[i].shared) {
            take_unkept(drain, i);
            take_unmarked_loss(drain, i);
            take_unmarked_wait(drain, i);
        }
    take_unrecorded(drain);
    read_clocks(drain);
    for (int i = 0; i < PW_MAX_RINGS; i++) {
        take_open_ranges(drain, i);
        take_open_call(drain, i);
    }
}

static void empty_to_end(struct pw_drain *drain)
{
    while (!drain->error && empty_all(drain) > 0)
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
    for (int i = 0; i < count_used(drain); i++) {
        const int err = is_missing(drain, i) ? map_ring(drain, i) : 0;
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
        pw_backlog_hand_over_all(&drain->backlog);
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
void pw_drain_destroy(struct pw_drain *drain)
{
    if (!drain)
        return;
    for (int i = 0; i < PW_MAX_RINGS; i++)
        if (drain->rings[i].shared)
            pw_segment_unmap_ring(drain->rings[i].shared, drain->rings[i].records);
    pw_backlog_fini(&drain->backlog);
    free(drain);
}
