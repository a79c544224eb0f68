/* How long the sender and the receiver of a message waited for each other. Called by
 * aggregate/match and aggregate/findings. Pure arithmetic: no I/O, no allocation.
 *
 * The first part is about sends that ended before their receive began, and still had to wait for
 * the receiver: MPI had no buffer left for unreceived messages, and the receiver frees buffers only
 * while it is inside MPI. */
#ifndef PW_ANALYSIS_MESSAGE_H
#define PW_ANALYSIS_MESSAGE_H

#include <stdint.h>

#include "analysis/intervals.h"

struct pw_flow {
    int64_t waited_ns; /* time in the send in which the receiver was outside MPI, up to its last
                          return */
    int64_t left_ns;   /* time between the receiver's last exit from MPI and the end of the send; 0:
                          it was inside, or that is not known */
    /* when the receiver last entered MPI during the send; valid when waited_ns > 0 */
    int64_t came_ns;
};

/* Returns when the receiver was outside MPI during `send`. `inside` is the set of times in which it
 * was inside MPI. Before its first and after its last interval nothing is known. `send` is on the
 * same clock. */
struct pw_flow pw_flow_of(const struct pw_interval *inside, size_t n, struct pw_interval send);

/* 1 when the send waited for the receiver's return into MPI: the receiver was outside for two
 * thirds of the send or more. */
int pw_flow_waited(const struct pw_flow *flow, struct pw_interval send);

/* ---- how long a send or a receive waited for its partner ---- */

/* The send or the receive of a message; times on one clock, ns. */
struct pw_message_end {
    int64_t enter, leave;
    int64_t blocked; /* when the rank began to block: entry of the blocking call, or of the call
                        that completes a nonblocking one; INT64_MAX: it did not block */
};

/* When `end` was ready for its partner. This is usually its enter. But a message with a rendezvous
 * needs both ranks inside MPI, unless hardware or a thread moves it. So when a nonblocking
 * operation was still incomplete at its completing call, and the partner left only after that call
 * began, the partner had waited for that call. */
static inline int64_t pw_message_came(const struct pw_message_end *end,
                                      const struct pw_message_end *partner)
{
    int came_back = end->blocked != INT64_MAX && end->leave >= end->blocked;
    return came_back && partner->leave >= end->blocked ? end->blocked : end->enter;
}

/* How long `end` blocked, ns, until its partner was ready or `end` left. */
static inline int64_t pw_message_waited(const struct pw_message_end *end,
                                        const struct pw_message_end *partner)
{
    int64_t came = pw_message_came(partner, end), until = came < end->leave ? came : end->leave;
    return end->blocked < until ? until - end->blocked : 0;
}

#endif
