/* A job in which nothing is wrong, for tests of advice, and what can be wrong in it. */
#ifndef TEST_ADVICE_WORLD_H
#define TEST_ADVICE_WORLD_H

#include "analysis/advice/advice.h"
#include "test_report_make.h"

enum { RANKS = 4, STEPS = 52 }; /* of which 2 warm up: 50 x 150 ms are measured */

/* The job, and what the rules are given beside it. */
struct world {
    struct pw_cluster *c;
    struct pw_row_c_step_trace trace[RANKS];
    struct pw_row_c_step_trace mean;
};

/* The caller destroys `c`. */
void world_make(struct world *w);

size_t world_collect(const struct world *w, struct pw_advice advice[PW_ADVICE_MAX]);

/* NULL: the rule did not fire. */
const struct pw_advice *world_find(const struct pw_advice *advice, size_t n, const char *rule);

/* Rank 3, slow for this cause in this phase. */
void world_add_straggler(struct world *w, int cause, int phase);

/* A host's queue and a device's, of all ranks and of each; rank 2's are as given. */
void world_add_queues(struct world *w, double host_empty, int64_t device_empty);

/* A role of one rank, 2, with half as much work again as the others. */
void world_set_imbalance(struct world *w, const char *verdict, int64_t gain_ns);

#endif
