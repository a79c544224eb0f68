/* Which rank waited for which in one message. Called by aggregate/match and aggregate/findings.
 * Pure arithmetic: no I/O, no allocation.
 *
 * First, sends that ended before their receives began, and yet stood still for their receiver: MPI
 * had no more room for messages under way, and the receiver makes room only inside MPI. */
#ifndef PW_ANALYSIS_MESSAGE_H
#define PW_ANALYSIS_MESSAGE_H

#include <stdint.h>

#include "analysis/intervals.h"

struct pw_flow {
    int64_t waited_ns; /* of the send, the receiver was outside MPI, and then came back */
    int64_t left_ns;   /* the receiver was outside MPI when the send ended: since when, of it */
    int64_t came_ns;   /* when the receiver came back last; valid when waited_ns > 0 */
};

/* `inside` is the set of times that the receiver was inside MPI, as far as it is known: before the
 * first and after the last of them nothing is. `send` is on the same clock. */
struct pw_flow pw_flow_of(const struct pw_interval *inside, size_t n, struct pw_interval send);

/* Whether the receiver's coming back is what the send ended with: it had been away for two
 * thirds of the send or more. */
int pw_flow_waited(const struct pw_flow *flow, struct pw_interval send);

/* The time that a send or a receive waited for its partner. */

/* The send or the receive, ns on one clock. */
struct pw_message_end {
    int64_t enter, leave;
    int64_t blocked; /* from when its rank stood still for it: enter of a blocking call, enter of
                        the completing call of a nonblocking one; INT64_MAX: never */
};

/* When `end` was there for its partner. Mostly that is its enter. But a message that is too large
 * to be sent at once needs both ranks inside MPI, unless hardware or a thread moves it: where a
 * nonblocking operation was still open when its rank came back for it, and the partner left only
 * after that, the partner had waited for the return. */
static inline int64_t pw_message_came(const struct pw_message_end *end,
                                      const struct pw_message_end *partner)
{
    int came_back = end->blocked != INT64_MAX && end->leave >= end->blocked;
    return came_back && partner->leave >= end->blocked ? end->blocked : end->enter;
}

/* What `end` stood still for its partner, ns: until that was there, or it left itself. */
static inline int64_t pw_message_waited(const struct pw_message_end *end,
                                        const struct pw_message_end *partner)
{
    int64_t came = pw_message_came(partner, end), until = came < end->leave ? came : end->leave;
    return end->blocked < until ? until - end->blocked : 0;
}

#endif
