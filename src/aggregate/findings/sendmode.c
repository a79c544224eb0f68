/* Tells eager sends from those that wait; see sendmode.h. */
#include "aggregate/findings/sendmode.h"

#include "core/ops.h"

enum { LEAST = 3 };

#define MOSTLY 0.9

static size_t place_of(int64_t bytes)
{
    if (bytes < 8)
        return bytes > 0 ? (size_t)bytes : 0;
    const int top = 63 - __builtin_clzll((uint64_t)bytes);
    return (size_t)(8 * top) + (size_t)((uint64_t)bytes >> (top - 3) & 7);
}

void pw_sendmode_see(struct pw_sendmode *mode, const struct pw_graph_op *send,
                     const struct pw_graph_op *receive)
{
    if (send->stands == INT64_MAX || receive->enter <= send->stands)
        return;
    int64_t *counts = send->leave >= receive->enter ? mode->waited : mode->left;
    counts[place_of(send->size)]++;
}

int pw_sendmode_waits(const struct pw_sendmode *mode, const struct pw_graph_op *send)
{
    const size_t at = place_of(send->size);
    const double waited = (double)mode->waited[at], all = waited + (double)mode->left[at];
    return send->op == PW_OP_Ssend || send->op == PW_OP_Issend ||
           (all >= LEAST && waited >= MOSTLY * all);
}
