/* The collector's end of the rings: empties them into the journal and the intake. */
#ifndef PW_RANK_DRAIN_H
#define PW_RANK_DRAIN_H

#include "rank/intake.h"
#include "rank/journal.h"
#include "rank/segment.h"

struct pw_drain;

/* What is in a ring goes first into `journal` (may be NULL), then to `intake`; only then is its
 * place given back. `intake` is NULL for a collector that took over from one that was killed: the
 * file will be made from the journal. The caller keeps all of them alive. NULL when memory is
 * short. */
struct pw_drain *pw_drain_create(const char *segment_name, struct pw_segment_shared *segment,
                                 struct pw_journal *journal, struct pw_intake *intake);

/* Empties all rings once; the records handled. Also readies a ring for the next thread. */
int64_t pw_drain_run(struct pw_drain *drain);

/* After the program's end: everything that is left, and losses that no marker told. */
void pw_drain_finish(struct pw_drain *drain);

void pw_drain_destroy(struct pw_drain *drain);

#endif
