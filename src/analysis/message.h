/* Who waited for whom in one message. */
#ifndef PW_ANALYSIS_MESSAGE_H
#define PW_ANALYSIS_MESSAGE_H

#include <stdint.h>

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
