/* Reads a ring's control page, for what no record says: losses and waits that are not marked, and
 * the calls and ranges that its thread has begun and not ended. Called by the drain. Tool code; the
 * thread may change the page at the same time, and the page may hold anything. */
#ifndef PW_RANK_COLLECT_RINGPAGE_H
#define PW_RANK_COLLECT_RINGPAGE_H

#include <stdbool.h>

#include "rank/collect/collector.h"
#include "rank/ring/segment.h"

/* Whether a thread writes ring `index`. */
bool pw_ringpage_is_owned(const struct pw_segment_shared *segment, int index);

/* The call that the thread is in; false when it is in none, or has just left one: the thread
 * changes them as it goes on. */
bool pw_ringpage_read_call(const struct pw_ring_shared *ring, struct pw_shown_call *out);

/* The record of a call that is open at `now` (ticks). */
struct pw_record pw_ringpage_call_record(const struct pw_shown_call *call, uint64_t now);

/* The record of a range that is open at `now`, as if it ended then. False when there is none. */
bool pw_ringpage_range_record(const struct pw_open_range *range, uint64_t now,
                              struct pw_record *out);

/* Losses, and a wait, of which no record says; false when there are none. */
bool pw_ringpage_read_loss(const struct pw_ring_shared *ring, struct pw_record *out);
bool pw_ringpage_read_wait(const struct pw_ring_shared *ring, struct pw_record *out);

#endif
