/* Cuts a run into rounds of time, so that the messages of one are no more than fit. Times are of a
 * scale that all processes share: since the first operation in the clock domain, which is the end
 * of MPI_Init on all ranks. Clocks need not be aligned for it, and where they are cut changes no
 * result: messages that cross a cut wait for the next round. */
#ifndef PW_AGGREGATE_MATCH_ROUNDS_H
#define PW_AGGREGATE_MATCH_ROUNDS_H

#include "aggregate/input/job.h"

struct pw_rounds {
    int64_t *origins; /* [ndomains] local time of the scale's zero */
    int64_t *ends;    /* [nranks] when a rank begins its last message; INT64_MIN: none */
    int64_t from, to; /* the present round: [from, to); to INT64_MAX: the last */
};

/* Collective. 0 or -ENOMEM, the same on all processes. */
int pw_rounds_begin(struct pw_rounds *rounds, const struct pw_job *job);

/* The next round, of about `most` messages at most on the process that has most of them. It begins
 * with INT64_MIN. 0 when there is none left. Collective. */
int pw_rounds_next(struct pw_rounds *rounds, const struct pw_job *job, int64_t most);

/* A time of the scale in the input's own, and the reverse; INT64_MIN and MAX stay. */
int64_t pw_rounds_to_local(const struct pw_rounds *rounds, const struct pw_input *input,
                           int64_t time);
int64_t pw_rounds_from_local(const struct pw_rounds *rounds, const struct pw_input *input,
                             int64_t local);

void pw_rounds_fini(struct pw_rounds *rounds);

#endif
