/* The collector's end of the rings: empties them and hands every record to the collector of its
 * type. */
#ifndef PW_RANK_DRAIN_H
#define PW_RANK_DRAIN_H

#include "rank/collector.h"
#include "rank/segment.h"
#include "rank/tickmap.h"

struct pw_drain;

/* `collectors` is an array ended by a row whose name is NULL; those whose activity is in the
 * segment's are created. The caller keeps segment, file and table alive. NULL when memory is short.
 */
struct pw_drain *pw_drain_create(const char *segment_name, struct pw_segment_shared *segment,
                                 struct pw_rankfile *file, const struct pw_collector *collectors);

/* Empties all rings once; the records handled. Also readies a ring for the next thread. */
int64_t pw_drain_run(struct pw_drain *drain);

/* Lets every collector sample the program. */
void pw_drain_sample(struct pw_drain *drain, pid_t pid);

/* After the program's end: everything that is left, losses that no marker told, and the collectors'
 * last words. */
void pw_drain_finish(struct pw_drain *drain);

void pw_drain_destroy(struct pw_drain *drain);

#endif
