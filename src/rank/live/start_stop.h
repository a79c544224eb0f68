/* Orders to begin or end recording, as the collector hands them to its program through the segment.
 * Called by the collector's watch (run/run_watch.c); the probe obeys them (rank/probe/recording.h).
 * Tool code.
 *
 * An order is made in two steps, so that all ranks obey it at the same step or none does: prepared
 * everywhere first, which has no effect and can be withdrawn, and committed when every rank has
 * answered in time. They are obeyed in the order in which they were committed: one may follow while
 * those before it are still to be obeyed. See docs/control.md. */
#ifndef PW_RANK_LIVE_START_STOP_H
#define PW_RANK_LIVE_START_STOP_H

#include <stdbool.h>

#include "core/live.h"
#include "rank/ring/segment.h"

struct pw_order_wanted {
    uint32_t id; /* not 0 */
    int starts;
    enum pw_opened cause;
    int64_t step; /* -1: at once */
};

/* Whether the program, which is recorded or not now, will be when it has obeyed all of them. */
bool pw_order_outcome(struct pw_segment_shared *segment, bool is_recording);

/* Each answers what became of it, and in *step the step that the program was in when what was done
 * was visible to it: if that is before the order's, it will be obeyed there. LATE also when an
 * order before it is for that step or a later one. */
enum pw_order_state pw_order_prepare(struct pw_segment_shared *segment,
                                     const struct pw_order_wanted *wanted, int64_t *step);
enum pw_order_state pw_order_commit(struct pw_segment_shared *segment, uint32_t id, int64_t *step);
enum pw_order_state pw_order_withdraw(struct pw_segment_shared *segment, uint32_t id);

#endif
