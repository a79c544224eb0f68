/* The slow paths of the ring's producer; see ring.h. */
#include "rank/ring.h"

#include <errno.h>

static void set_limit(struct pw_ring *ring)
{
    uint64_t full = ring->tail_seen + ring->mask + 1;
    uint64_t quarter = (ring->head | (ring->mask >> 2)) + 1;
    ring->limit = ring->lost ? ring->head : full < quarter ? full : quarter;
}

void pw_ring_init(struct pw_ring *ring, struct pw_ring_shared *shared, uint64_t capacity)
{
    uint64_t head = atomic_load_explicit(&shared->head, memory_order_acquire);
    *ring = (struct pw_ring){
        .shared = shared,
        .records = pw_ring_records(shared),
        .mask = capacity - 1,
        .head = head,
        .tail_seen = atomic_load_explicit(&shared->tail, memory_order_acquire),
    };
    set_limit(ring);
}

static uint64_t room(const struct pw_ring *ring)
{
    return ring->mask + 1 - (ring->head - ring->tail_seen);
}

void pw_ring_count_loss(struct pw_ring *ring, uint64_t count, uint64_t now)
{
    if (ring->lost == 0)
        ring->lost_start = now;
    ring->lost += count;
    ring->lost_end = now;
    set_limit(ring);
    /* Mirrored, so that a loss at the very end of a run is seen without a later record. */
    atomic_store_explicit(&ring->shared->lost_start, ring->lost_start, memory_order_relaxed);
    atomic_store_explicit(&ring->shared->lost_end, now, memory_order_relaxed);
    atomic_store_explicit(&ring->shared->lost, ring->lost, memory_order_release);
}

static void mark_loss(struct pw_ring *ring)
{
    ring->records[ring->head & ring->mask] = (struct pw_record){
        .type = PW_REC_LOST,
        .start = ring->lost_start,
        .end = ring->lost_end,
        .lost.lost = ring->lost,
    };
    ring->lost = 0;
    /* Before the marker is visible: a reader in between sees the loss not at all rather than twice,
     * and the marker is in the ring by then. */
    atomic_store_explicit(&ring->shared->lost, 0, memory_order_relaxed);
    pw_ring_commit(ring);
}

int pw_ring_make_room(struct pw_ring *ring, uint64_t count, uint64_t now)
{
    /* Acquire: slots before the tail may be overwritten only once the collector has read them. */
    ring->tail_seen = atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
    uint64_t need = count + (ring->lost != 0);
    if (room(ring) < need) {
        pw_ring_count_loss(ring, count, now);
        return -ENOSPC;
    }
    if (ring->lost)
        mark_loss(ring);
    set_limit(ring);
    return 0;
}

int pw_ring_is_valid(const struct pw_ring *ring)
{
    uint64_t shared_head = atomic_load(&ring->shared->head);
    uint64_t tail = atomic_load(&ring->shared->tail);
    return (ring->mask & (ring->mask + 1)) == 0 && ring->head == shared_head &&
           tail <= shared_head && shared_head - tail <= ring->mask + 1 && ring->tail_seen <= tail;
}
