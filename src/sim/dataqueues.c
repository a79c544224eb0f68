/* How full the queues of a synthetic rank are; see dataqueues.h. */
#include "sim/dataqueues.h"

#include "sim/play.h"
#include "sim/random.h"

enum { CAPACITY = 8, READY = 1, DEVICE = 2 };

static int is_empty(const struct pw_sim_params *p, int64_t rank, int64_t step, int q)
{
    for (size_t i = 0; i < p->nfaults; i++) {
        const struct pw_sim_fault *f = &p->faults[i];
        int from = f->kind == PW_SIM_STARVED_LOADER ? READY : DEVICE;
        if (pw_sim_queue_slowest(f->kind) && q >= from && pw_sim_fault_hits(p, f, rank, step))
            return 1;
    }
    return 0;
}

struct pw_row_queue pw_sim_queue_look(const struct pw_sim_params *p, int64_t rank, int64_t step,
                                      int q, int64_t time)
{
    /* Full, or one less. */
    uint64_t bits = pw_sim_bits(p->seed, (uint64_t)rank, (uint64_t)step, 77 + (uint64_t)q);
    return (struct pw_row_queue){
        .time = time,
        .queue = PW_SIM_TEXT_QUEUES + (uint32_t)q,
        .size = is_empty(p, rank, step, q) ? 0 : CAPACITY - (int64_t)(bits & 1),
        .capacity = CAPACITY,
    };
}

const char *pw_sim_queue_slowest(enum pw_sim_fault_kind kind)
{
    return kind == PW_SIM_STARVED_LOADER  ? "map decode"
           : kind == PW_SIM_SLOW_TRANSFER ? "transfer"
                                          : NULL;
}
