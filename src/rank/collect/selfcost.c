/* Times the ring code on a ring that has no reader; see selfcost.h. */
#include "rank/collect/selfcost.h"

#include <stdlib.h>
#include <string.h>

#include "rank/ring/ring.h"

enum { BATCH = 4096, BATCHES = 9 };

static double time_batch(struct pw_ring *ring, enum pw_tick_source source)
{
    int64_t start = pw_local_ns();
    for (int i = 0; i < BATCH; i++) {
        uint64_t begin = pw_tick_read(source);
        struct pw_record *record = pw_ring_reserve(ring, begin, PW_LOST_OTHER);
        if (!record)
            return -1;
        memset(record, 0, sizeof(*record));
        record->start = begin;
        record->end = pw_tick_read(source);
        pw_ring_commit(ring);
    }
    int64_t end = pw_local_ns();
    atomic_store(&ring->shared->tail, ring->head);
    return (double)(end - start) / BATCH;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double pw_selfcost_event_ns(const struct pw_segment_shared *segment)
{
    struct pw_ring_shared *shared =
        aligned_alloc(64, PW_RING_CONTROL + BATCH * sizeof(struct pw_record));
    if (!shared)
        return -1;
    memset(shared, 0, PW_RING_CONTROL + BATCH * sizeof(struct pw_record));
    struct pw_ring ring;
    double cost[BATCHES];
    pw_ring_init(&ring, shared, BATCH);
    for (int i = 0; i < BATCHES; i++)
        cost[i] = time_batch(&ring, (enum pw_tick_source)segment->tick_source);
    free(shared);
    qsort(cost, BATCHES, sizeof(cost[0]), by_value);
    return cost[BATCHES / 2];
}
