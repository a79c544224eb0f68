/* Finds MPI that the probe does not see, from outside: by what the processes of a rank have mapped
 * and inherited, in /proc. Polled by the collector (run/run_watch.h). Tool code: the application
 * runs no code for it. It looks often at a process that has just begun, less and less often later,
 * and no more once an MPI_Init was recorded. What is found becomes rows of /unrecorded. */
#ifndef PW_RANK_COLLECT_UNRECORDEDWATCH_H
#define PW_RANK_COLLECT_UNRECORDEDWATCH_H

#include <sys/types.h>

#include "rank/file/rankfile.h"
#include "rank/ring/segment.h"

struct pw_unrecorded_watch;

/* `root`: the program as it was started; its descendants are looked at, too. NULL when memory is
 * short, which the other functions take. `segment` and `file` must outlive it. */
struct pw_unrecorded_watch *
pw_unrecorded_create(pid_t root, const struct pw_segment_shared *segment, struct pw_rankfile *file);

/* Looks, if it is time to. */
void pw_unrecorded_poll(struct pw_unrecorded_watch *unrecorded);

/* Why MPI calls of the running rank are not recorded, nor will be, enum pw_unrecorded; NONE:
 * nothing is known against it, or an MPI_Init was recorded since. */
int pw_unrecorded_reason(const struct pw_unrecorded_watch *unrecorded);

/* After the program's end: writes what is likely only, too. */
void pw_unrecorded_finish(struct pw_unrecorded_watch *unrecorded);

void pw_unrecorded_destroy(struct pw_unrecorded_watch *unrecorded);

#endif
