/* Why a rank of a running job is slow: the kernel's counters of all ranks at the last answers, and
 * the cause that analysis/cause.h finds in them, as the report of the whole run does. Used by
 * livealarm.c. Asks no rank itself. */
#ifndef PW_REPORT_LIVE_LIVECAUSE_H
#define PW_REPORT_LIVE_LIVECAUSE_H

#include "analysis/cause.h"
#include "core/live.h"

enum { PW_LIVECAUSE_LOOKS = 16 };

/* A rank at an answer: its counters, and the sums over the steps until then. */
struct pw_livecause_look {
    struct pw_live_usage usage;
    double own_ns, total_ns;
};

struct pw_livecause {
    size_t nranks;
    struct pw_livecause_look *looks;   /* [PW_LIVECAUSE_LOOKS * nranks] */
    int64_t steps[PW_LIVECAUSE_LOOKS]; /* the last step of each look */
    int64_t nlooks;
    struct pw_usage *usage; /* [nranks] */
    int64_t *scratch;
};

/* Returns 0 or -ENOMEM. */
int pw_livecause_init(struct pw_livecause *cause, size_t nranks);
void pw_livecause_fini(struct pw_livecause *cause);

/* Forgets all looks. */
void pw_livecause_restart(struct pw_livecause *cause);

/* Begins the next look, whose last step is `step`. Returns its ranks, which the caller fills: usage
 * and sums since the restart. A rank that is not filled is not known in it. */
struct pw_livecause_look *pw_livecause_add(struct pw_livecause *cause, int64_t step);

/* The cause of a rank that is slow in `phase` since the step `first`, from the looks since then. */
enum pw_cause pw_livecause_find(struct pw_livecause *cause, size_t rank, enum pw_phase phase,
                                int64_t first);

#endif
