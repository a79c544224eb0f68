/* Plays a run's begin and end; see ends.h. */
#include "sim/ends.h"

#include "sim/kinds.h"
#include "sim/random.h"
#include "sim/stops.h"

/* What MPI_Init and MPI_Finalize take when all are there. */
enum { INIT_NS = 20000000, FINALIZE_NS = 5000000 };

/* A stream of random numbers of its own: other features draw what they drew before. */
enum { STREAM = 0x656e6473 };

static void add_faults(struct pw_sim_play *play, enum pw_sim_fault_kind kind)
{
    const struct pw_sim_params *p = play->params;
    for (size_t i = 0; i < p->nfaults; i++) {
        const struct pw_sim_fault *f = &p->faults[i];
        if (f->kind != kind || (play->without >> i & 1))
            continue;
        pw_sim_tell_fault(play, f->rank, i, play->now[f->rank], play->now[f->rank] + f->ns);
        play->now[f->rank] = pw_sim_advance(play, f->rank, play->now[f->rank] + f->ns, 0);
    }
}

static void work(struct pw_sim_play *play, uint64_t which)
{
    const struct pw_sim_params *p = play->params;
    for (int64_t r = 0; r < p->ranks; r++) {
        uint64_t bits = pw_sim_bits(p->seed, (uint64_t)r, STREAM, which);
        double ns = (double)p->ends_ns * pw_sim_lognormal(bits, p->noise);
        play->now[r] = pw_sim_advance(play, r, play->now[r], (int64_t)ns);
    }
}

/* Nobody leaves before all have entered. */
static void meet(struct pw_sim_play *play, enum pw_op op, int64_t ns)
{
    const struct pw_sim_sink *sink = play->sink;
    int64_t last = 0;
    for (int64_t r = 0; r < play->params->ranks; r++)
        last = play->now[r] > last ? play->now[r] : last;
    for (int64_t r = 0; r < play->params->ranks; r++) {
        struct pw_row_comm_event event = {
            .start = play->now[r],
            .end = pw_sim_advance(play, r, last, ns),
            .op = (uint16_t)op,
            .source = PW_SOURCE_MPI,
            .comm = -1,
            .peer = -1,
        };
        event.inside_ns = event.end - event.start;
        play->now[r] = event.end;
        if (sink && r >= sink->first && r <= sink->last)
            sink->event(sink->context, r, &event);
    }
}

void pw_sim_ends_start(struct pw_sim_play *play)
{
    if (!play->params->ends_ns)
        return;
    play->step = -1;
    add_faults(play, PW_SIM_LATE_START);
    meet(play, PW_OP_Init, INIT_NS);
    add_faults(play, PW_SIM_LATE_SETUP);
    work(play, 0);
}

void pw_sim_ends_finish(struct pw_sim_play *play)
{
    if (!play->params->ends_ns)
        return;
    play->step = play->params->steps;
    work(play, 1);
    add_faults(play, PW_SIM_LATE_END);
    meet(play, PW_OP_Finalize, FINALIZE_NS);
    for (int64_t r = 0; r < play->params->ranks; r++)
        pw_sim_tell_stops(play, r, play->now[r]);
}
