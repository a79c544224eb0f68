/* The collector's end of the rings: empties them into the journal, and from there into the intake.
 * Called by the loop of run/collect.c while the program runs and after its end, by the watch that
 * answers inquiries, and by recovery. Tool code, one thread: the only consumer of the rings.
 * Nothing that it reads from shared memory is used as an index or length before it is checked. */
#ifndef PW_RANK_COLLECT_DRAIN_H
#define PW_RANK_COLLECT_DRAIN_H

#include <stdbool.h>

#include "core/live.h"
#include "rank/collect/intake.h"
#include "rank/journal/journal.h"
#include "rank/ring/segment.h"

struct pw_drain;

/* What is in a ring goes first into `journal` (may be NULL), then to `intake`, unless it waits for
 * that; only then is its place given back. `intake` is NULL for a collector that took over from one
 * that was killed: the file will be made from the journal. The caller keeps all of them alive. NULL
 * when memory is short. */
struct pw_drain *pw_drain_create(const char *segment_name, struct pw_segment_shared *segment,
                                 struct pw_journal *journal, struct pw_intake *intake);

/* From now on records are counted instead of kept once the journal, or `file` (may be NULL), has
 * `bytes`. */
void pw_drain_limit(struct pw_drain *drain, struct pw_rankfile *file, int64_t bytes);

/* From now on a ring's place is given back once the journal has what was there: as records, at most
 * `most_bytes` of them wait for the intake. Without memory for that, none do. */
void pw_drain_delay(struct pw_drain *drain, int64_t most_bytes);

/* At the end, what these collectors find besides rings is taken like records. */
void pw_drain_use_salvage(struct pw_drain *drain, const struct pw_collector *collectors);

/* Empties all rings, and again between one slice and the next of what waits for the intake; the
 * records taken. Also readies a ring for the next thread. */
int64_t pw_drain_run(struct pw_drain *drain);

/* Whether the last run found a ring that was more than a quarter full, or left records waiting for
 * the intake: run again at once. */
bool pw_drain_is_filling(const struct pw_drain *drain);

/* What is known of the running program, as far as the rings tell: its threads, the calls that they
 * are in, and what the intake adds. Rank, host and process are the caller's to fill in. 0 or
 * -ENOMEM; pw_live_fini() in any case. Call after pw_drain_run(). */
int pw_drain_live(struct pw_drain *drain, struct pw_live *live);

/* How long the thread that is longest in a call has been in it, ns, of those that entered theirs
 * after `after` (ticks); 0 when there is none, or no intake. *start is when, ticks. */
int64_t pw_drain_longest_call(const struct pw_drain *drain, uint64_t after, uint64_t *start);

/* Empties the rings into the journal, and lets other hosts see that. */
void pw_drain_sync(struct pw_drain *drain);

/* Tells all threads that an order is there which takes effect at once (rank/live/order.h). */
void pw_drain_signal(struct pw_drain *drain);

/* After the program's end: everything that is left, losses that no marker told, and the calls that
 * it did not come back from. 0; or -errno when a ring cannot be mapped for want of memory or
 * descriptors, and there is a journal: nothing but records of the other rings was added then, and a
 * recovery can take the rest. A ring that nobody can map is counted. */
int pw_drain_finish(struct pw_drain *drain);

/* The same where nobody waits for room in the rings any more: what the journal cannot take stays in
 * its ring. 0; or -errno, also the journal's, and then nothing but records of rings was added. */
int pw_drain_finish_whole(struct pw_drain *drain);

void pw_drain_destroy(struct pw_drain *drain);

#endif
