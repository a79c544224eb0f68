/* Reads a ring's control page for data that is in no record: losses and waits that no record
 * reports yet, and the calls and ranges that the thread has begun and not ended. Called by the
 * drain. Tool code; the thread may change the page at the same time, and the page may hold
 * anything. */
#ifndef PW_RANK_COLLECT_RINGPAGE_H
#define PW_RANK_COLLECT_RINGPAGE_H

#include <stdbool.h>

#include "rank/collect/collector.h"
#include "rank/ring/segment.h"

/* Whether a thread writes ring `index`. */
bool pw_ringpage_is_owned(const struct pw_segment_shared *segment, int index);

/* Reads the call that the thread is in. Returns false when it is in none, or left the call during
 * the read. */
bool pw_ringpage_read_call(const struct pw_ring_shared *ring, struct pw_shown_call *out);

/* The tests and probes that have completed nothing (struct pw_shown_requests). */
struct pw_polls {
    uint64_t sum, what;
    uint32_t op; /* the last; PW_OP_None: there was none */
};
struct pw_polls pw_ringpage_polls(const struct pw_ring_shared *ring);

/* Returns how many there were between two looks; or PW_POLLS_DIFFER, if they were not all for the
 * same thing. */
#define PW_POLLS_DIFFER UINT64_MAX
uint64_t pw_ringpage_count_polls(const struct pw_polls *before, const struct pw_polls *now);

/* Reads what the last of them is for. The time of the call is not known (0); nor is what it tests
 * for, if the thread calls tests faster than they can be read. */
struct pw_shown_call pw_ringpage_read_poll(const struct pw_ring_shared *ring, uint32_t op);

/* The same, when it is not known. */
static inline struct pw_shown_call pw_ringpage_unknown_poll(uint32_t op)
{
    return (struct pw_shown_call){.op = op, .peer = -1, .signature = PW_REDUCTION_UNKNOWN};
}

/* The number of records that the thread has written, without those of the runtime. */
static inline uint64_t pw_ringpage_progress(const struct pw_ring_shared *ring)
{
    return atomic_load(&ring->head) - atomic_load(&ring->shown.runtime);
}

/* Returns the record for a call that is open at `now` (ticks). */
struct pw_record pw_ringpage_call_record(const struct pw_shown_call *call, uint64_t now);

/* Makes the record for an open range, as if it ended at `now`. Returns false when the range is not
 * recorded. */
bool pw_ringpage_range_record(const struct pw_open_range *range, uint64_t now,
                              struct pw_record *out);

/* Makes a record of losses or of a wait that no record reports yet. Returns false when there are
 * none. */
bool pw_ringpage_read_loss(const struct pw_ring_shared *ring, struct pw_record *out);
bool pw_ringpage_read_wait(const struct pw_ring_shared *ring, struct pw_record *out);

#endif
