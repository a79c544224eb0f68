/* Changes to begin or end recording, which the collector passes to its program through the segment.
 * Called by the collector's watch (run/run_watch.c); the probe applies them
 * (rank/probe/recording.h). Tool code.
 *
 * A change takes two steps, so that all ranks apply it at the same step of the program, or none
 * does. It is first prepared on all ranks, which has no effect and can be withdrawn. It is
 * committed when all ranks have answered that it is in time. Changes are applied in the sequence of
 * their commits; a new change can be made while earlier ones are still to be applied. See
 * docs/control.md. */
#ifndef PW_RANK_LIVE_START_STOP_H
#define PW_RANK_LIVE_START_STOP_H

#include <stdbool.h>

#include "core/live.h"
#include "rank/ring/segment.h"

struct pw_change_wanted {
    uint32_t id; /* not 0 */
    int starts;
    enum pw_opened cause;
    int64_t step; /* -1: at once */
};

/* Whether the program will record after it has applied all changes. `is_recording`: whether it
 * records now. */
bool pw_change_outcome(struct pw_segment_shared *segment, bool is_recording);

/* Each function returns the state of the change, and sets *step to the program's step at a time
 * when the program could already see the change. So when *step is before the change's step, the
 * program will apply the change at that step. LATE also when an earlier change is for the same step
 * or a later one. */
enum pw_change_state pw_change_prepare(struct pw_segment_shared *segment,
                                       const struct pw_change_wanted *wanted, int64_t *step);
enum pw_change_state pw_change_commit(struct pw_segment_shared *segment, uint32_t id,
                                      int64_t *step);
enum pw_change_state pw_change_withdraw(struct pw_segment_shared *segment, uint32_t id);

#endif
