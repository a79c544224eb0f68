/* The consumer's end of a ring, which the drain empties: how much is in the ring, and how soon it
 * will be full; and what the ring's control page has that is in no record: losses and waits that no
 * record reports yet, and the calls and ranges that the thread has begun and not ended. Called by
 * the drain. Tool code, one thread. The program may change the page at the same time, and the page
 * may hold anything: no value from shared memory is used as an index or a length before it is
 * checked. */
#ifndef PW_RANK_COLLECT_DRAINEDRING_H
#define PW_RANK_COLLECT_DRAINEDRING_H

#include <stdbool.h>

#include "rank/collect/module.h"
#include "rank/journal/losscount.h"
#include "rank/ring/segment.h"

/* ---- the control page ---- */

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

/* ---- the records ---- */

struct pw_drained_ring {
    struct pw_ring_shared *shared; /* NULL until mapped */
    uint64_t records;              /* capacity, read when the ring was mapped */
    uint64_t tail;                 /* number of the next record to take */
    struct pw_losscount unkept;    /* records that were dropped because the file was full */
    struct pw_losscount unwritten; /* records that the previous collector took, but did not write */
    uint64_t looked_head;          /* head at the last look, */
    int64_t looked_ns;             /* and its time; 0: none yet */
    int64_t hurried_until_ns;      /* until then it is emptied early */
    /* Tests without success at the last look of the watch, and the number of records then, without
     * those of the runtime. */
    struct pw_polls polls;
    uint64_t polls_head;
    bool is_polling;    /* the thread has tested between the last two looks */
    bool has_polled;    /* the thread has tested since `polls_head` */
    bool polls_differ;  /* these tests were not all for the same thing */
    uint64_t kept_free; /* number of places to keep free at the last pace; 0: half */
};

/* Number of records in the ring; 0 when its numbers are damaged. The records can be read. */
uint64_t pw_drainedring_used(const struct pw_drained_ring *ring);

/* Whether the ring must be emptied at once: more than a quarter of it is in use, and in the last
 * second the program recorded so fast that the ring would have been full in some milliseconds. Or
 * it has little room left. Otherwise, its records can stay there. */
bool pw_drainedring_look(struct pw_drained_ring *ring, int64_t now_ns);

/* How many of the oldest records to take from a ring that is not hurried. Places stay free for what
 * the program writes in 16 ms, at its pace before the last look: at most half of the ring, and at
 * least an eighth for a sudden burst. At most a 16th of the ring is taken at once, so that a
 * program that waits for its core does not wait long. */
uint64_t pw_drainedring_excess(const struct pw_drained_ring *ring);

/* Copies the next `n` records, which may wrap around the end of the ring. Records are checked and
 * used in the copy, because another process could change them in the ring after a check. */
void pw_drainedring_copy(const struct pw_drained_ring *ring, struct pw_record *to, uint32_t n);

/* Frees the places of the next `n` records. */
void pw_drainedring_free(struct pw_drained_ring *ring, uint64_t n);

/* Finds out whether the thread that owns the ring (if `is_owned`) has called tests or probes
 * without success since the last look, and has written no record. Returns the ring's head, 0
 * without a thread. */
uint64_t pw_drainedring_look_at_polls(struct pw_drained_ring *ring, bool is_owned);

/* Reads the call that the thread is in; or (*polls is set) the test or probe that it calls again
 * and again without success, unless it has gone on to another call. Returns false if there is
 * neither.
 */
bool pw_drainedring_read_state(const struct pw_drained_ring *ring, struct pw_shown_call *out,
                               bool *polls);

/* Whether calls or records of the thread are missing that no record reports yet. */
bool pw_drainedring_has_gaps(const struct pw_drained_ring *ring);

#endif
