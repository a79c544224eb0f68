/* Reads memory that another process may change at the same time; see drainedring.h. */
#include "rank/collect/drainedring.h"

#include <string.h>

#include "core/ops.h"

/* ---- the control page ---- */

bool pw_ringpage_is_owned(const struct pw_segment_shared *segment, int index)
{
    uint32_t state = atomic_load(&segment->rings[index].state);
    return (state & PW_RING_STATE_MASK) == PW_RING_OWNED;
}

/* Adds where the requests of the call are, if it has shown that. */
static void read_requests(const struct pw_ring_shared *ring, uint64_t start,
                          struct pw_shown_call *out)
{
    const struct pw_shown_requests *shown = &ring->shown;
    if (atomic_load(&shown->start) != start)
        return;
    out->requests_at = atomic_load(&shown->requests);
    out->requests_n = atomic_load(&shown->count);
}

/* Adds the error that MPI has reported in the call. */
static void read_error(const struct pw_ring_shared *ring, uint64_t start, struct pw_shown_call *out)
{
    const struct pw_shown_error *error = &ring->error;
    if (!start || atomic_load(&error->start) != start)
        return;
    out->error = atomic_load(&error->error);
    out->error_time = atomic_load(&error->time);
}

static struct pw_shown_call read_fields(const struct pw_open_call *open)
{
    return (struct pw_shown_call){
        .op = atomic_load(&open->op),
        .start = atomic_load(&open->start),
        .peer = atomic_load(&open->peer),
        .tag = atomic_load(&open->tag),
        .handle = atomic_load(&open->handle),
        .awaited = atomic_load(&open->awaited),
        .signature = atomic_load(&open->signature),
    };
}

bool pw_ringpage_read_call(const struct pw_ring_shared *ring, struct pw_shown_call *out)
{
    enum { TRIES = 4 };
    const struct pw_open_call *open = &ring->open;
    for (int i = 0; i < TRIES; i++) {
        *out = read_fields(open);
        if (pw_op_info(out->op)->cls == PW_CLASS_WAIT) /* MPI_Startall, too, shows requests */
            read_requests(ring, out->start, out);
        read_error(ring, out->start, out);
        if (out->op == 0 || out->op >= PW_OP_COUNT)
            return false;
        if (out->start == atomic_load(&open->start) && out->op == atomic_load(&open->op))
            return true;
    }
    return false;
}

struct pw_polls pw_ringpage_polls(const struct pw_ring_shared *ring)
{
    const struct pw_shown_requests *shown = &ring->shown;
    const uint32_t op = atomic_load(&shown->poll_op);
    return (struct pw_polls){.sum = atomic_load(&shown->polls),
                             .what = atomic_load(&shown->poll_what),
                             .op = op < PW_OP_COUNT ? op : PW_OP_None};
}

/* The inverse of an odd number, modulo 2^64, by Newton's method: each step doubles the bits. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int bits = 3; bits < 64; bits *= 2)
        x *= 2 - odd * x;
    return x;
}

uint64_t pw_ringpage_count_polls(const struct pw_polls *before, const struct pw_polls *now)
{
    /* A sum of different hashes is a multiple of the last of them, too, modulo 2^64. That it is one
     * of so few has a probability of 2^-24. */
    enum { MOST_LOG2 = 40 };
    const uint64_t n = (now->sum - before->sum) * inverse(now->what);
    return n >> MOST_LOG2 == 0 ? n : PW_POLLS_DIFFER;
}

/* What the test or probe is for: of a test, the open call shows it. */
static struct pw_shown_call read_polled(const struct pw_ring_shared *ring, uint32_t op)
{
    const struct pw_shown_requests *shown = &ring->shown;
    struct pw_shown_call call = read_fields(&ring->open);
    if (pw_op_info(op)->cls == PW_CLASS_WAIT) {
        read_requests(ring, call.start, &call);
    } else {
        const uint64_t peer_tag = atomic_load(&shown->peer_tag);
        call.handle = atomic_load(&shown->handle);
        call.peer = (int32_t)(peer_tag >> 32);
        call.tag = (int32_t)peer_tag;
        call.awaited = PW_OP_None;
    }
    call.op = op;
    return call;
}

struct pw_shown_call pw_ringpage_read_poll(const struct pw_ring_shared *ring, uint32_t op)
{
    enum { TRIES = 64 }; /* the next test may come within the time of one */
    for (int i = 0; i < TRIES; i++) {
        struct pw_shown_call call = read_polled(ring, op);
        const bool is_same = call.start == atomic_load(&ring->open.start);
        call.start = 0;
        if (is_same)
            return call;
    }
    return pw_ringpage_unknown_poll(op);
}

struct pw_record pw_ringpage_call_record(const struct pw_shown_call *call, uint64_t now)
{
    return (struct pw_record){
        .type = PW_REC_OPEN,
        .op = (uint16_t)call->op,
        .start = call->start,
        .end = now,
        .open = {.handle = call->handle,
                 .peer = call->peer,
                 .tag = call->tag,
                 .awaited = call->awaited,
                 .error = call->error,
                 .error_time = call->error_time},
    };
}

bool pw_ringpage_range_record(const struct pw_open_range *range, uint64_t now,
                              struct pw_record *out)
{
    struct pw_open_range open = *range; /* a copy: the original could change after the checks */
    pw_open_range_settle(&open);
    memcpy(out, &open, sizeof(*out));
    out->end = now;
    out->flags = PW_RANGE_UNENDED;
    out->range.alloc_bytes = 0; /* the thread's count of allocated bytes is not in shared memory */
    return out->start && (out->type == PW_REC_RANGE || out->type == PW_REC_NVTX);
}

bool pw_ringpage_read_loss(const struct pw_ring_shared *ring, struct pw_record *out)
{
    int is_marked = pw_ring_loss_is_marked(ring);
    uint64_t lost = 0;
    *out = (struct pw_record){
        .type = PW_REC_LOST,
        .start = atomic_load(&ring->lost_start),
        .end = atomic_load(&ring->lost_end),
    };
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        lost |= out->lost.lost[kind] = atomic_load(&ring->lost[kind]);
    return lost && !is_marked;
}

bool pw_ringpage_read_wait(const struct pw_ring_shared *ring, struct pw_record *out)
{
    *out = (struct pw_record){
        .type = PW_REC_WAIT,
        .op = PW_LOST_OTHER,
        .start = atomic_load(&ring->wait_start),
        .end = atomic_load(&ring->wait_end),
    };
    return out->start && out->end > out->start;
}

/* ---- the records ---- */

enum {
    ROOM_NS = 8000000,      /* a core is sooner found for the collector, even where all are used */
    FREE_NS = 2 * ROOM_NS,  /* so much is kept free where it can be: so no ring is hurried */
    HURRY_NS = 1000000000,  /* one burst is often followed by others */
    LEAST_LOOK_NS = 100000, /* a shorter time does not tell how fast the program records */
    STEP = PW_RING_STEP_FULL, /* the part of the ring after which it wakes the collector again */
};

uint64_t pw_drainedring_used(const struct pw_drained_ring *ring)
{
    /* Acquire: pairs with the producer's release of the records before this head. */
    const uint64_t head = atomic_load_explicit(&ring->shared->head, memory_order_acquire);
    return head - ring->tail <= ring->records ? head - ring->tail : 0;
}

/* Number of places that FREE_NS need at the pace of `written` records in `ns`. */
static uint64_t places_to_keep(const struct pw_drained_ring *ring, uint64_t written, int64_t ns)
{
    const double places = (double)written * FREE_NS / (double)ns;
    const uint64_t least = ring->records / 8, most = ring->records / 2;
    return places < (double)least ? least : places > (double)most ? most : (uint64_t)places;
}

bool pw_drainedring_look(struct pw_drained_ring *ring, int64_t now_ns)
{
    const uint64_t used = pw_drainedring_used(ring), room = ring->records - used;
    const int64_t ns = now_ns - ring->looked_ns;
    if (ring->looked_ns && ns >= LEAST_LOOK_NS) {
        const uint64_t written = ring->tail + used - ring->looked_head;
        if ((double)room * (double)ns < (double)written * ROOM_NS)
            ring->hurried_until_ns = now_ns + HURRY_NS;
        ring->kept_free = places_to_keep(ring, written, ns);
    } else if (!ring->looked_ns) {
        ring->hurried_until_ns = now_ns + LEAST_LOOK_NS;
    }
    if (!ring->looked_ns || ns >= LEAST_LOOK_NS) {
        ring->looked_head = ring->tail + used;
        ring->looked_ns = now_ns;
    }
    return used > ring->records / 4 &&
           (now_ns < ring->hurried_until_ns || room <= ring->records / 16);
}

uint64_t pw_drainedring_excess(const struct pw_drained_ring *ring)
{
    const uint64_t used = pw_drainedring_used(ring), most = ring->records / 16;
    const uint64_t end = ring->records - (ring->kept_free ? ring->kept_free : ring->records / 2);
    const uint64_t excess = used < end ? 0 : used - end + ring->records / STEP;
    return excess < most ? excess : most;
}

void pw_drainedring_copy(const struct pw_drained_ring *ring, struct pw_record *to, uint32_t n)
{
    uint64_t mask = ring->records - 1, from = ring->tail & mask;
    uint64_t straight = mask + 1 - from < n ? mask + 1 - from : n;
    const struct pw_record *records = pw_ring_records(ring->shared);
    memcpy(to, records + from, straight * sizeof(*records));
    memcpy(to + straight, records, (n - straight) * sizeof(*records));
}

void pw_drainedring_free(struct pw_drained_ring *ring, uint64_t n)
{
    ring->tail += n;
    atomic_store_explicit(&ring->shared->tail, ring->tail, memory_order_release);
}

/* Whether the tests since the last look are not all for the same thing, nor for that of the looks
 * before. */
static bool differ(const struct pw_drained_ring *ring, const struct pw_polls *now)
{
    return pw_ringpage_count_polls(&ring->polls, now) == PW_POLLS_DIFFER ||
           (ring->has_polled && now->what != ring->polls.what);
}

uint64_t pw_drainedring_look_at_polls(struct pw_drained_ring *ring, bool is_owned)
{
    const uint64_t head = is_owned ? pw_ringpage_progress(ring->shared) : 0;
    const struct pw_polls now =
        is_owned ? pw_ringpage_polls(ring->shared) : (struct pw_polls){.what = 1};
    if (!is_owned || head != ring->polls_head)
        ring->has_polled = ring->polls_differ = ring->is_polling = false;
    else {
        const uint64_t n = pw_ringpage_count_polls(&ring->polls, &now);
        ring->is_polling = now.op != PW_OP_None && (n > 1 || (n == 1 && ring->has_polled));
        ring->polls_differ |= differ(ring, &now);
        ring->has_polled |= n > 0;
    }
    ring->polls = now;
    ring->polls_head = head;
    return head;
}

static bool is_test(uint32_t op)
{
    return op == PW_OP_Test || op == PW_OP_Testany || op == PW_OP_Testall || op == PW_OP_Testsome ||
           op == PW_OP_Iprobe || op == PW_OP_Improbe;
}

bool pw_drainedring_read_state(const struct pw_drained_ring *ring, struct pw_shown_call *out,
                               bool *polls)
{
    const bool is_in = pw_ringpage_read_call(ring->shared, out);
    const struct pw_polls now = pw_ringpage_polls(ring->shared);
    *polls = ring->is_polling && now.op != PW_OP_None &&
             pw_ringpage_progress(ring->shared) == ring->polls_head && (!is_in || is_test(out->op));
    if (*polls)
        *out = ring->polls_differ || differ(ring, &now)
                   ? pw_ringpage_unknown_poll(now.op)
                   : pw_ringpage_read_poll(ring->shared, now.op);
    return is_in || *polls;
}

bool pw_drainedring_has_gaps(const struct pw_drained_ring *ring)
{
    struct pw_record lost;
    return ring->unkept.n || ring->unwritten.n ||
           (ring->shared &&
            (atomic_load(&ring->shared->nested) || pw_ringpage_read_loss(ring->shared, &lost)));
}
