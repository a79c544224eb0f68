/* Adds up the times in which the receiver was outside MPI during a send; see message.h. */
#include "analysis/message.h"

static int64_t within(int64_t start, int64_t end, struct pw_interval window)
{
    start = start > window.start ? start : window.start;
    end = end < window.end ? end : window.end;
    return end > start ? end - start : 0;
}

struct pw_flow pw_flow_of(const struct pw_interval *inside, size_t n, struct pw_interval send)
{
    struct pw_flow flow = {0};
    /* Starts with the pause before the first interval that ends after the send began. */
    size_t i = pw_intervals_first(inside, n, send.start, 0);
    for (i += i == 0; i < n && inside[i - 1].end < send.end; i++) {
        const int64_t away = within(inside[i - 1].end, inside[i].start, send);
        if (inside[i].start >= send.end) {
            flow.left_ns = away;
        } else if (away > 0) {
            flow.waited_ns += away;
            flow.came_ns = inside[i].start;
        }
    }
    return flow;
}

int pw_flow_waited(const struct pw_flow *flow, struct pw_interval send)
{
    return flow->waited_ns > 0 &&
           3 * (double)flow->waited_ns >= 2 * (double)(send.end - send.start);
}
