/* Tells eager sends from those that wait; see sendmode.h. */
#include "aggregate/findings/sendmode.h"

#include "analysis/collectives.h"
#include "core/ops.h"

enum { LEAST = 3 };

#define MOSTLY 0.9

void pw_sendmode_see(struct pw_sendmode *mode, const struct pw_graph_op *send,
                     const struct pw_graph_op *receive)
{
    if (send->stands == INT64_MAX || receive->enter <= send->stands)
        return;
    int64_t *counts = send->leave >= receive->enter ? mode->waited : mode->left;
    counts[pw_size_eighth(send->size)]++;
}

int pw_sendmode_waits(const struct pw_sendmode *mode, const struct pw_graph_op *send)
{
    const size_t at = pw_size_eighth(send->size);
    const double waited = (double)mode->waited[at], all = waited + (double)mode->left[at];
    return send->op == PW_OP_Ssend || send->op == PW_OP_Issend ||
           (all >= LEAST && waited >= MOSTLY * all);
}
