/* The consumer of the rings: moves their records to the journal and then to the intake. Called by
 * the loop of run/collect.c while the program runs and after its end, by the watch that answers
 * inquiries, and by recovery. Tool code, one thread. No value from shared memory is used as an
 * index or a length before it is checked. */
#ifndef PW_RANK_COLLECT_DRAIN_H
#define PW_RANK_COLLECT_DRAIN_H

#include <stdbool.h>

#include "core/live.h"
#include "rank/collect/intake.h"
#include "rank/journal/journal.h"
#include "rank/ring/segment.h"

struct pw_drain;

/* Creates a drain. Records go from a ring to `journal`; then their places in the ring are freed.
 * `intake` gets them at once, or reads them from the journal later (backlog.h). Without a journal
 * (NULL), or when it can take no more, places are freed after the intake has processed the records.
 * `intake` is NULL in a collector that replaced a killed one: the file will be made from the
 * journal. All parameters must stay valid until pw_drain_destroy(). Returns NULL when memory is
 * short. */
struct pw_drain *pw_drain_create(const char *segment_name, struct pw_segment_shared *segment,
                                 struct pw_journal *journal, struct pw_intake *intake);

/* Limits the size of the journal and of `file` (may be NULL): when either has reached `bytes`,
 * further records are dropped and counted. */
void pw_drain_limit(struct pw_drain *drain, struct pw_rankfile *file, int64_t bytes);

/* From now on, records wait for the intake while no core is spare (sparecore.h), as long as they
 * are few enough to be processed in some tenths of a second. `root` is where to look for /proc; it
 * must stay valid. Before, a core counts as spare. */
void pw_drain_spare_core(struct pw_drain *drain, const char *root);

/* At the end, the `salvage` functions of these collector modules are called: they add records that
 * are in the shared memory, but in no ring. */
void pw_drain_use_salvage(struct pw_drain *drain, const struct pw_module *modules);

/* To be called when it is time to read the rings, or at once if the drain must go on. Where records
 * wait for a spare core, and there is none, does the same as pw_drain_relieve() if the rings were
 * emptied in the last second. Otherwise empties all rings. Then, if a core is spare, lets the
 * intake process the backlog in parts, and empties the rings again after each part. Returns the
 * number of records that were taken from rings. Also allocates a ring for the program's next
 * thread. */
int64_t pw_drain_run(struct pw_drain *drain);

/* To be called when the program wakes the collector, before it is time to read the rings. If a ring
 * may soon be full, does the same as pw_drain_run(). Otherwise, the records can wait in the rings:
 * takes only as many as keep enough of each ring free. Returns the number of records taken. */
int64_t pw_drain_relieve(struct pw_drain *drain);

/* Whether a ring was filling when it was last emptied, or records wait for the intake although a
 * core is spare: run again at once. */
bool pw_drain_must_go_on(const struct pw_drain *drain);

/* Does something about once a second only, so may be called more often: finds the threads that call
 * tests or probes again and again without success. */
void pw_drain_look_at_polls(struct pw_drain *drain, int64_t now_ns);

/* Fills *live with the state of the running program: its threads, the calls that they are in, and
 * the intake's figures. The caller fills in rank, host and process. Returns 0 or -ENOMEM; the
 * caller must call pw_live_fini() in both cases. */
int pw_drain_live(struct pw_drain *drain, struct pw_live *live);

/* Finds the call that is open for the longest time, among calls that were entered after `after`
 * (ticks). Returns that time, ns, and sets *start to the time of entering (ticks). Returns 0 when
 * there is no such call, or no intake. */
int64_t pw_drain_longest_call(const struct pw_drain *drain, uint64_t after, uint64_t *start);

/* Returns when (ticks) the last one was entered of the calls that have been open for `least_ns` or
 * longer; 0 when there is no such call, or no intake. */
uint64_t pw_drain_last_entry(const struct pw_drain *drain, int64_t least_ns);

/* pw_intake_queued(); 0 when there is no intake. */
int64_t pw_drain_queued(const struct pw_drain *drain, int64_t *start);

/* Empties the rings into the journal, and flushes the journal, so that other hosts can read it. */
void pw_drain_sync(struct pw_drain *drain);

/* Signals to all threads that there is a change that takes effect at once (rank/live/start_stop.h).
 */
void pw_drain_signal(struct pw_drain *drain);

/* To be called after the program's end. Takes the remaining records, the losses for which the ring
 * has no record yet, and the calls that were open. A ring that can never be mapped is counted as
 * lost calls. When there is a journal, and memory or descriptors were missing to map a ring, this
 * function takes only the records of the other rings, and returns -errno. Recovery can take the
 * rest later. Otherwise returns 0. */
int pw_drain_finish(struct pw_drain *drain);

/* As pw_drain_finish(), but records that the journal cannot take stay in their ring: after the
 * program's end, nobody waits for room in the ring. When a write to the journal failed, this
 * function adds only records of rings, no losses and no open calls, and returns the -errno of the
 * write. */
int pw_drain_finish_whole(struct pw_drain *drain);

void pw_drain_destroy(struct pw_drain *drain);

#endif
