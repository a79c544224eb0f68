/* Reads memory that another process may change at the same time; see ringpage.h. */
#include "rank/collect/ringpage.h"

#include <string.h>

#include "core/ops.h"

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
