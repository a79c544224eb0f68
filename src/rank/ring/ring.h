/* The producer's end of a ring: one thread writes, the collector reads. Called by the in-app halves
 * of collectors through probe.h. In-app: no lock; blocks only in a full ring, and only if the run
 * asked for that.
 *
 * `head` and `tail` count records for ever; a slot is at count & mask. A full ring drops the record
 * and counts it by its kind; the first record that fits again is preceded by a PW_REC_LOST that
 * says how many were lost and between which times. If the segment says so, the producer waits for
 * room first, and a PW_REC_WAIT says how long. The last 64th of a ring is for definitions only
 * (names, communicators, threads): a flood of events must not lose what the events mean. */
#ifndef PW_RANK_RING_RING_H
#define PW_RANK_RING_RING_H

#include "core/check.h"
#include "rank/ring/segment.h"

struct pw_ring {
    struct pw_ring_shared *shared;
    struct pw_record *records;
    uint64_t mask;
    uint64_t head;      /* own copy: the producer never reads the shared one */
    uint64_t limit;     /* the head at which to look up: full, a quarter on, or a loss to mark */
    uint64_t tail_seen; /* the collector's tail when last looked at */
    struct pw_segment_shared *waits_for; /* whose collector to wait for; NULL: drop at once */
    uint64_t waited_in_vain;             /* 1 + the tail that did not move while it waited; 0 */
};

/* Begins writing to a mapped ring, after what is in it. Drops when it is full. */
void pw_ring_init(struct pw_ring *ring, struct pw_ring_shared *shared, uint64_t capacity);

/* Makes room for `count` records of a kind by looking at the collector's tail again and, where it
 * may, waiting for it to move; marks earlier losses and waits first. 0, or -ENOSPC after counting
 * `count` lost records at time `now` (ticks). `now` is third because it is so where the wrappers
 * have it already. */
int pw_ring_make_room(struct pw_ring *ring, uint64_t count, uint64_t now, enum pw_lost kind);

/* Whether `count` records of events, and the markers of earlier losses, fit now: looks, and counts
 * nothing. For a producer that would rather come back. */
int pw_ring_has_room(struct pw_ring *ring, uint64_t count);

/* Counts `count` records as lost at time `now` (ticks). */
void pw_ring_count_loss(struct pw_ring *ring, uint64_t count, uint64_t now, enum pw_lost kind);

/* Bounds and order that hold between any two operations; for tests, and for checks
 * (core/check.h). */
int pw_ring_is_valid(const struct pw_ring *ring);

/* Asks for the cache line of a record that will be written some calls from now: `ahead` places
 * behind `record`. The collector has read it last, on another core; to fetch it when it is written
 * would cost more than the record. */
static inline void pw_ring_prefetch_at(const struct pw_record *record, uint32_t ahead)
{
    /* A number: the ring's last lines ask for what is behind it. A prefetch of no memory does
     * nothing. */
    const char *line = (const char *)((uintptr_t)record + ahead * sizeof(*record));
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

enum { PW_RING_AHEAD = 8 };

static inline void pw_ring_prefetch(const struct pw_record *written)
{
    pw_ring_prefetch_at(written, PW_RING_AHEAD);
}

/* The next free record, or NULL when the ring is full (the loss is counted). It is the caller's
 * until pw_ring_commit(). `now` is in ticks. `kind` is what the record is to those who miss it. */
static inline struct pw_record *pw_ring_reserve(struct pw_ring *ring, uint64_t now,
                                                enum pw_lost kind)
{
    if (__builtin_expect(ring->head >= ring->limit, 0) && pw_ring_make_room(ring, 1, now, kind))
        return NULL;
    struct pw_record *record = &ring->records[ring->head & ring->mask];
    if (!record)
        __builtin_unreachable(); /* so that who asks for NULL need not compare */
    return record;
}

/* Hands `count` records to the collector: the reserved one and those behind it, all below the
 * limit. True at every quarter of the ring, and when it is full: time to see whether the collector
 * sleeps. */
static inline int pw_ring_commit_many(struct pw_ring *ring, uint64_t count)
{
    uint64_t head = ring->head + count;
    ring->head = head;
    /* Release: the collector that sees the new head must also see the records' bytes. */
    atomic_store_explicit(&ring->shared->head, head, memory_order_release);
    PW_CHECK_FULL(pw_ring_is_valid(ring));
    return head >= ring->limit;
}

/* The same of one. `record` is what was reserved: its place need not be worked out again. */
static inline int pw_ring_commit_record(struct pw_ring *ring, const struct pw_record *record)
{
    pw_ring_prefetch(record);
    return pw_ring_commit_many(ring, 1);
}

static inline int pw_ring_commit(struct pw_ring *ring)
{
    return pw_ring_commit_record(ring, &ring->records[ring->head & ring->mask]);
}

#endif
