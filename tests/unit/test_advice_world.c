/* See test_advice_world.h. */
#include "test_advice_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void world_make(struct world *w)
{
    w->c = make_cluster(RANKS, STEPS);
    w->mean = step_rows(w->c)[0];
    w->mean.comm_exposed_ns = 20 * MS;
    for (size_t r = 0; r < RANKS; r++)
        w->trace[r] = w->mean;
}

size_t world_collect(const struct world *w, struct pw_advice advice[PW_ADVICE_MAX])
{
    struct pw_advice_input in = {.cluster = w->c, .trace = w->trace, .mean = w->mean};
    pw_advice_prepare(&in);
    return pw_advice_collect(&in, advice);
}

const struct pw_advice *world_find(const struct pw_advice *advice, size_t n, const char *rule)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(advice[i].rule, rule) == 0)
            return &advice[i];
    return NULL;
}

void world_add_straggler(struct world *w, int cause, int phase)
{
    struct pw_row_c_straggler row = straggler(3);
    row.cause = (uint8_t)cause;
    row.phase = (uint8_t)phase;
    add_straggler(w->c, row);
}

void world_add_queues(struct world *w, double host_empty, int64_t device_empty)
{
    w->c->queues = calloc(2 * (RANKS + 1), sizeof(*w->c->queues));
    for (int32_t rank = -1; rank < RANKS; rank++)
        for (int32_t place = 0; place < 2; place++) {
            int is_hit = rank == 2;
            struct pw_row_c_queue *q = &w->c->queues[w->c->nqueues++];
            *q = (struct pw_row_c_queue){.rank = rank,
                                         .place = place,
                                         .samples = 100,
                                         .steps = 50,
                                         .usage = 0.95,
                                         .first_empty_step = 4,
                                         .last_empty_step = 40};
            strcpy(q->queue, place ? "device" : "ready");
            strcpy(q->side, place ? "device" : "host");
            strcpy(q->filled_by, place ? "transfer" : "map decode");
            q->empty_share = is_hit && !place ? host_empty : 0;
            q->usage = is_hit && q->empty_share > 0.3 ? 0.2 : 0.95;
            q->steps_empty = is_hit && place ? device_empty : 0;
        }
}

void world_set_imbalance(struct world *w, const char *verdict, int64_t gain_ns)
{
    w->c->imbalances = calloc(1, sizeof(*w->c->imbalances));
    w->c->nimbalances = 1;
    *w->c->imbalances = (struct pw_row_c_imbalance){.kind = "role",
                                                    .name = "heavy",
                                                    .ranks = "2",
                                                    .nranks = 1,
                                                    .first_rank = 2,
                                                    .work_ns = 60 * MS,
                                                    .others_ns = 40 * MS,
                                                    .ratio = 1.5,
                                                    .gain_ns = gain_ns};
    snprintf(w->c->imbalances->verdict, sizeof(w->c->imbalances->verdict), "%s", verdict);
}
