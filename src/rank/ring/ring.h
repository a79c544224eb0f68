/* The producer's end of a ring: one thread writes, the collector reads. Called by the in-app halves
 * of modules through probe.h. In-app: no lock; blocks only in a full ring, and only if the run
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
    uint64_t head;      /* the producer's own copy of the shared head */
    uint64_t limit;     /* the head at which the slow path is needed: the ring may be full, an
                         * eighth has been filled, or a loss must be reported */
    uint64_t tail_seen; /* the collector's tail when last looked at */
    struct pw_segment_shared *waits_for; /* the segment whose collector makes room; NULL: do not
                                          * wait */
    uint64_t waited_in_vain;             /* 1 + the tail that did not move during the last wait; 0:
                                          * none */
};

/* Begins writing to a mapped ring, after the records that are in it. Records that do not fit are
 * dropped, unless `waits_for` is set. */
void pw_ring_init(struct pw_ring *ring, struct pw_ring_shared *shared, uint64_t capacity);

/* Makes room for `count` records of `kind`: reads the collector's tail again, and waits for it to
 * move if the run allows waiting. Writes records about earlier losses and waits first. Returns 0,
 * or -ENOSPC after counting `count` records as lost at time `now` (ticks). `now` is the third
 * parameter because the wrappers have it in that register. */
int pw_ring_make_room(struct pw_ring *ring, uint64_t count, uint64_t now, enum pw_lost kind);

/* Whether `count` event records and the records about earlier losses fit now. Counts no loss and
 * does not wait. For a producer that can try again later. */
int pw_ring_has_room(struct pw_ring *ring, uint64_t count);

/* Counts `count` records as lost at time `now` (ticks). */
void pw_ring_count_loss(struct pw_ring *ring, uint64_t count, uint64_t now, enum pw_lost kind);

/* Whether head, tail and limit are consistent, as they must be between any two operations. For
 * tests and assertions (core/check.h). */
int pw_ring_is_valid(const struct pw_ring *ring);

/* Prefetches the cache line of the record that is `ahead` places after `record`, which will be
 * written some calls later. The collector read that line last, on another core, so without a
 * prefetch the store would wait longer than the rest of the call takes. */
static inline void pw_ring_prefetch_at(const struct pw_record *record, uint32_t ahead)
{
    /* Computed as a number, because near the end of the ring it points outside of it. A prefetch of
     * an invalid address does nothing. */
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

/* Returns the next free record, which the caller fills and passes to pw_ring_commit(); NULL when
 * the ring is full, after counting the loss under `kind` at time `now` (ticks). */
static inline struct pw_record *pw_ring_reserve(struct pw_ring *ring, uint64_t now,
                                                enum pw_lost kind)
{
    if (__builtin_expect(ring->head >= ring->limit, 0) && pw_ring_make_room(ring, 1, now, kind))
        return NULL;
    struct pw_record *record = &ring->records[ring->head & ring->mask];
    if (!record)
        __builtin_unreachable(); /* not NULL: removes the caller's comparison */
    return record;
}

/* Publishes `count` records to the collector: the reserved one and those after it, all below the
 * limit. Returns true when the next PW_RING_STEP-th of the ring has been filled, if half of it is
 * in use the next PW_RING_STEP_FULL-th, or when it is full: then the caller must wake the collector
 * if it sleeps. */
static inline int pw_ring_commit_many(struct pw_ring *ring, uint64_t count)
{
    uint64_t head = ring->head + count;
    ring->head = head;
    /* Release: the collector that sees the new head must also see the records' bytes. */
    atomic_store_explicit(&ring->shared->head, head, memory_order_release);
    PW_CHECK_FULL(pw_ring_is_valid(ring));
    return head >= ring->limit;
}

/* As pw_ring_commit_many() for one record. `record` is the reserved one. */
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
