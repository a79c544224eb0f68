/* Finds what a thread did in a pause; see samplepause.h. */
#include "aggregate/steps/samplepause.h"

/* A sampled state explains pauses between later samples for this time. */
enum { STATE_LASTS_NS = 2000000000 };

/* If the time between two samples is this many times the usual one, the host, or the container of
 * the rank and its collector, may have been frozen. */
enum { FROZEN_TIMES = 4, FROZEN_LEAST_NS = 300000000 };

#define MEMBER(name) offsetof(struct pw_row_c_bin_trace, name)

/* Returns the member for a state in /proc of a thread that is off the CPU. */
static size_t member_of_state(uint8_t state)
{
    return state == 'T' || state == 't' ? MEMBER(stopped_ns)
           : state == 'D'               ? MEMBER(disk_ns)
                                        : MEMBER(asleep_ns);
}

static int is_off(uint8_t state)
{
    return state == 'T' || state == 't' || state == 'D' || state == 'S';
}

int pw_pause_is_long(const struct pw_row_process *from, const struct pw_row_process *to,
                     int64_t pause, const struct pw_pause_seen *seen)
{
    const int64_t span = to->time - from->time;
    return from->state == 'R' && to->state == 'R' && span >= FROZEN_LEAST_NS &&
           span / FROZEN_TIMES >= seen->shortest && pause >= span / 2;
}

size_t pw_pause_member(const struct pw_row_process *from, const struct pw_row_process *to,
                       int is_standing, struct pw_pause_seen *seen)
{
    uint8_t state = is_off(to->state) && to->state != 'S' ? to->state : from->state;
    state = is_off(state) ? state : to->state;
    if (is_off(state)) {
        seen->state = state;
        seen->at = to->time;
        return member_of_state(state);
    }
    if (is_standing && to->state == 'R')
        return MEMBER(ready_ns);
    return to->time - seen->at <= STATE_LASTS_NS ? member_of_state(seen->state) : MEMBER(asleep_ns);
}

int64_t pw_pause_end(struct pw_pause_held *held, int64_t surplus_ns)
{
    const int64_t most_ns = held->ns, ready_ns = surplus_ns - held->stood_ns;
    *held = (struct pw_pause_held){0};
    return ready_ns <= 0 ? 0 : ready_ns < most_ns ? ready_ns : most_ns;
}
