/* Finds MPI calls that the probe cannot record, from outside: by the memory maps and environments
 * of the rank's processes in /proc. Polled by the collector (run/run_watch.h). Tool code: the
 * application runs no code for it. It checks a new process often, later less and less often, and no
 * longer once an MPI_Init was recorded. Its findings are rows of /unrecorded. */
#ifndef PW_RANK_COLLECT_UNRECORDEDWATCH_H
#define PW_RANK_COLLECT_UNRECORDEDWATCH_H

#include <sys/types.h>

#include "rank/file/rankfile.h"
#include "rank/ring/segment.h"

struct pw_unrecorded_watch;

/* `root` is the program; its descendants are checked too. `segment` and `file` must outlive the
 * result. Returns NULL when memory is short; the other functions accept NULL. */
struct pw_unrecorded_watch *
pw_unrecorded_create(pid_t root, const struct pw_segment_shared *segment, struct pw_rankfile *file);

/* Checks the processes that are due. */
void pw_unrecorded_poll(struct pw_unrecorded_watch *unrecorded);

/* Returns why MPI calls of the running rank are not and will not be recorded (enum pw_unrecorded).
 * NONE: no reason is known, or an MPI_Init was recorded since. */
int pw_unrecorded_reason(const struct pw_unrecorded_watch *unrecorded);

/* To be called after the program's end: also writes findings that are only likely. */
void pw_unrecorded_finish(struct pw_unrecorded_watch *unrecorded);

void pw_unrecorded_destroy(struct pw_unrecorded_watch *unrecorded);

#endif
