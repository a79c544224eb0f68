/* Reads the numbers of a ring; see drainedring.h. */
#include "rank/collect/drainedring.h"

#include <string.h>

#include "core/ops.h"
#include "rank/collect/ringpage.h"

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
