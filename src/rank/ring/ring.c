/* The slow paths of the ring's producer; see ring.h. Losses and waits that no record reports yet
 * are counted in the shared control page, so that the collector sees them even if the producer
 * dies. */
#include "rank/ring/ring.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS ((int64_t)2000000000)

static int has_loss(const struct pw_ring *ring)
{
    uint64_t lost = 0;
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        lost |= atomic_load_explicit(&ring->shared->lost[kind], memory_order_relaxed);
    return lost != 0;
}

static int has_wait(const struct pw_ring *ring)
{
    return atomic_load_explicit(&ring->shared->wait_start, memory_order_relaxed) != 0;
}

/* Slots that only definitions may use; none in the rings of 8 records that tests use. */
static uint64_t kept_free(const struct pw_ring *ring)
{
    return (ring->mask + 1) / 64;
}

static void set_limit(struct pw_ring *ring)
{
    uint64_t full = ring->tail_seen + ring->mask + 1 - kept_free(ring);
    uint64_t used = ring->head - ring->tail_seen, near_half = (ring->mask + 1) / 16 * 7;
    uint64_t parts = used < near_half ? PW_RING_STEP : PW_RING_STEP_FULL;
    uint64_t signal = (ring->head | (ring->mask / parts)) + 1;
    uint64_t limit = full < signal ? full : signal;
    ring->limit = has_loss(ring) || has_wait(ring) ? ring->head : limit;
}

/* Reads the collector's tail. Acquire: slots before the tail may be overwritten only after the
 * collector has read them. */
static void look(struct pw_ring *ring)
{
    ring->tail_seen = atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
}

static void clear_loss(struct pw_ring *ring)
{
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        atomic_store_explicit(&ring->shared->lost[kind], 0, memory_order_relaxed);
    atomic_store_explicit(&ring->shared->lost_marked, 0, memory_order_release);
}

void pw_ring_init(struct pw_ring *ring, struct pw_ring_shared *shared, uint64_t capacity)
{
    *ring = (struct pw_ring){
        .shared = shared,
        .records = pw_ring_records(shared),
        .mask = capacity - 1,
        .head = atomic_load_explicit(&shared->head, memory_order_acquire),
    };
    look(ring);
    if (pw_ring_loss_is_marked(shared))
        clear_loss(ring);
    atomic_store(&shared->lost_marked, 0);
    set_limit(ring);
}

static uint64_t room(const struct pw_ring *ring, enum pw_lost kind)
{
    uint64_t used = ring->head - ring->tail_seen;
    uint64_t usable = ring->mask + 1 - (pw_lost_is_definition(kind) ? 0 : kept_free(ring));
    return used < usable ? usable - used : 0;
}

void pw_ring_count_loss(struct pw_ring *ring, uint64_t count, uint64_t now, enum pw_lost kind)
{
    struct pw_ring_shared *shared = ring->shared;
    if (!has_loss(ring))
        atomic_store_explicit(&shared->lost_start, now, memory_order_relaxed);
    atomic_store_explicit(&shared->lost_end, now, memory_order_relaxed);
    uint64_t lost = atomic_load_explicit(&shared->lost[kind], memory_order_relaxed);
    atomic_store_explicit(&shared->lost[kind], lost + count, memory_order_release);
    set_limit(ring);
}

static struct pw_record *next_record(struct pw_ring *ring)
{
    return &ring->records[ring->head & ring->mask];
}

static void mark_loss(struct pw_ring *ring)
{
    struct pw_ring_shared *shared = ring->shared;
    struct pw_record *record = next_record(ring);
    *record = (struct pw_record){
        .type = PW_REC_LOST,
        .start = atomic_load_explicit(&shared->lost_start, memory_order_relaxed),
        .end = atomic_load_explicit(&shared->lost_end, memory_order_relaxed),
    };
    for (int kind = 0; kind < PW_LOST_KINDS; kind++)
        record->lost.lost[kind] = atomic_load_explicit(&shared->lost[kind], memory_order_relaxed);
    /* The loss is reported exactly once, even if the producer is killed here: by the counts until
     * the head includes the record about the loss, then by that record. */
    atomic_store_explicit(&shared->lost_marked, ring->head + 1, memory_order_release);
    pw_ring_commit(ring);
    clear_loss(ring);
}

int pw_ring_has_room(struct pw_ring *ring, uint64_t count)
{
    if (ring->head + count < ring->limit)
        return 1;
    look(ring);
    return room(ring, PW_LOST_RANGE) >= count + 2;
}

/* How long a thread waited that was cancelled in its wait is not known: such a wait has no length.
 */
static void mark_wait(struct pw_ring *ring, enum pw_lost kind)
{
    const uint64_t start = atomic_load_explicit(&ring->shared->wait_start, memory_order_relaxed);
    const uint64_t end = atomic_load_explicit(&ring->shared->wait_end, memory_order_relaxed);
    *next_record(ring) = (struct pw_record){
        .type = PW_REC_WAIT,
        .op = (uint16_t)kind,
        .start = start,
        .end = end ? end : start,
    };
    atomic_store_explicit(&ring->shared->wait_start, 0, memory_order_relaxed);
    pw_ring_commit(ring);
}

static uint64_t markers(const struct pw_ring *ring)
{
    return (uint64_t)has_loss(ring) + (uint64_t)has_wait(ring);
}

/* Uses the system call, because nanosleep() is a cancellation point. */
static void nap(void)
{
    const struct timespec pause = {.tv_nsec = 100000};
    int saved = errno;
    syscall(SYS_nanosleep, &pause, NULL);
    errno = saved;
}

/* Waits until the collector has freed so many slots that the next wait is some time away. Gives up
 * when the tail has not moved for PATIENCE_NS: the collector is stopped or dead then, and no thread
 * waits again before the tail moves. */
static void wait_for_room(struct pw_ring *ring, uint64_t need, uint64_t now, enum pw_lost kind)
{
    struct pw_segment_shared *segment = ring->waits_for;
    uint64_t eighth = (ring->mask + 1) / 8, enough = need > eighth ? need : eighth;
    int64_t moved_ns = pw_local_ns();
    if (!segment || need > ring->mask || ring->waited_in_vain == ring->tail_seen + 1)
        return;
    if (!has_wait(ring)) {
        atomic_store(&ring->shared->wait_end, 0);
        atomic_store(&ring->shared->wait_start, now);
    }
    while (room(ring, kind) < enough && pw_local_ns() - moved_ns < PATIENCE_NS) {
        uint64_t tail = ring->tail_seen;
        pw_segment_wake(segment);
        nap();
        look(ring);
        moved_ns = ring->tail_seen == tail ? moved_ns : pw_local_ns();
    }
    ring->waited_in_vain = room(ring, kind) < need ? ring->tail_seen + 1 : 0;
    atomic_store(&ring->shared->wait_end, pw_tick_read((enum pw_tick_source)segment->tick_source));
}

int pw_ring_make_room(struct pw_ring *ring, uint64_t count, uint64_t now, enum pw_lost kind)
{
    look(ring);
    if (room(ring, kind) < count + markers(ring))
        wait_for_room(ring, count + markers(ring) + 1, now, kind);
    if (room(ring, kind) < count + markers(ring)) {
        pw_ring_count_loss(ring, count, now, kind);
        return -ENOSPC;
    }
    if (has_wait(ring))
        mark_wait(ring, kind);
    if (has_loss(ring))
        mark_loss(ring);
    set_limit(ring);
    PW_CHECK(pw_ring_is_valid(ring));
    return 0;
}

int pw_ring_is_valid(const struct pw_ring *ring)
{
    uint64_t shared_head = atomic_load(&ring->shared->head);
    uint64_t tail = atomic_load(&ring->shared->tail);
    return (ring->mask & (ring->mask + 1)) == 0 && ring->head == shared_head &&
           tail <= shared_head && shared_head - tail <= ring->mask + 1 && ring->tail_seen <= tail;
}
