/* Sends that were over before their receives came, and yet stood still for their receiver: MPI had
 * no room for what is under way, and the receiver makes room only inside MPI. */
#ifndef PW_ANALYSIS_FLOW_H
#define PW_ANALYSIS_FLOW_H

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

#endif
