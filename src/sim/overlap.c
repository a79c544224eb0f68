/* Nonblocking collectives in virtual time; see overlap.h. */
#include "sim/overlap.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/stops.h"

enum { MOST = 256, NONBLOCKING = 4 }; /* the flag as rank/ring/record.h has it */

struct pw_sim_overlap {
    int64_t count, hidden_until; /* when what can be hidden of the last one is done */
    double exposed_ns;           /* what is left for the wait */
    int64_t bytes[MOST];
    int64_t began[]; /* [count * ranks] */
};

static int is_told(const struct pw_sim_play *play, int64_t rank)
{
    return play->sink && rank >= play->sink->first && rank <= play->sink->last;
}

void pw_sim_overlap_begin(struct pw_sim_play *play, int64_t bytes)
{
    const struct pw_sim_params *p = play->params;
    size_t times = (size_t)p->ranks * MOST * sizeof(int64_t);
    if (!play->overlap)
        play->overlap = calloc(1, sizeof(*play->overlap) + times);
    struct pw_sim_overlap *o = play->overlap;
    if (!o || o->count == MOST) {
        play->failed = o ? -EINVAL : -ENOMEM;
        return;
    }
    struct pw_sim_group all = {0, 1, p->ranks};
    int64_t last = o->hidden_until;
    play->draw++;
    for (int64_t r = 0; r < p->ranks; r++) {
        o->began[o->count * p->ranks + r] = play->now[r];
        play->now[r] = pw_sim_advance(play, r, play->now[r], PW_SIM_CALL_NS);
        last = play->now[r] > last ? play->now[r] : last;
    }
    double transfer = pw_sim_transfer_ns(play, &all, bytes);
    o->hidden_until = last + (int64_t)(p->overlap * transfer);
    o->exposed_ns += (1 - p->overlap) * transfer;
    o->bytes[o->count++] = bytes;
}

static void tell(struct pw_sim_play *play, int64_t rank, int64_t i, int64_t waits, int64_t end)
{
    const struct pw_sim_overlap *o = play->overlap;
    int64_t start = i < o->count ? o->began[i * play->params->ranks + rank] : waits;
    struct pw_row_comm_event event = {
        .start = start,
        .end = end,
        .op = i < o->count ? PW_OP_Iallreduce : PW_OP_Waitall,
        .source = PW_SOURCE_MPI,
        .flags = i < o->count ? NONBLOCKING : 0,
        .comm = i < o->count ? PW_SIM_WORLD : -1,
        .seq = i < o->count ? play->collectives[PW_SIM_WORLD] + i : o->count,
        .sent_bytes = i < o->count ? o->bytes[i] : -1,
        .recv_bytes = i < o->count ? o->bytes[i] : -1,
        .peer = -1,
        .tag = -1,
        .inside_ns = i < o->count ? PW_SIM_CALL_NS + end - waits : end - waits,
        .wait_start = i < o->count ? waits : 0,
    };
    if (is_told(play, rank))
        play->sink->event(play->sink->context, rank, &event);
}

void pw_sim_overlap_end(struct pw_sim_play *play)
{
    struct pw_sim_overlap *o = play->overlap;
    int64_t last = 0;
    if (!o || !o->count)
        return;
    last = o->hidden_until;
    for (int64_t r = 0; r < play->params->ranks; r++)
        last = play->now[r] > last ? play->now[r] : last;
    for (int64_t r = 0; r < play->params->ranks; r++) {
        int64_t end = pw_sim_advance(play, r, last, (int64_t)o->exposed_ns);
        for (int64_t i = 0; i <= o->count; i++)
            tell(play, r, i, play->now[r], end);
        play->now[r] = end;
    }
    play->collectives[PW_SIM_WORLD] += o->count;
    o->count = o->hidden_until = 0;
    o->exposed_ns = 0;
}
