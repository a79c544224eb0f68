/* Stages in virtual time: each computes for every rank when it can continue, and reports to the
 * sink what profwrap would have recorded. See stage.h. */
#include "sim/stage.h"

#include <stdlib.h>

#include "sim/faults.h"
#include "sim/gpuwork.h"
#include "sim/noise.h"
#include "sim/random.h"
#include "sim/unequal.h"
#include "sim/workranges.h"

/* Latency and bandwidth of collectives and of messages; the duration of a call that waits for no
 * other rank. */
enum {
    COLL_LATENCY_NS = 20000,
    P2P_LATENCY_NS = 4000,
    CALL_NS = PW_SIM_CALL_NS,
    EAGER_BYTES = 1 << 20
};
static const double bytes_per_ns = 10;

/* Values of PW_EVENT_ flags in /events/comm, as rank/ring/record.h has them. */
enum { RECV_PART = 2, NONBLOCKING = 4 };

static int is_told(const struct pw_sim_play *play, int64_t rank)
{
    return play->sink && rank >= play->sink->first && rank <= play->sink->last;
}

static uint64_t draw(struct pw_sim_play *play, int64_t rank)
{
    return pw_sim_bits(play->params->seed, (uint64_t)rank,
                       (uint64_t)play->step + ((uint64_t)1 << 40), play->draw);
}

void pw_sim_phase_begin(struct pw_sim_play *play)
{
    for (int64_t r = 0; r < play->params->ranks; r++)
        play->phase_start[r] = play->now[r];
}

void pw_sim_phase_end(struct pw_sim_play *play, enum pw_phase phase)
{
    const struct pw_sim_sink *sink = play->sink;
    for (int64_t r = sink ? sink->first : 0; sink && r <= sink->last && !play->params->bare; r++)
        sink->phase(sink->context, r, phase, play->phase_start[r], play->now[r]);
}

static int64_t work_of(struct pw_sim_play *play, int64_t rank, enum pw_phase phase, double mean_ns,
                       double share)
{
    double own = mean_ns * pw_sim_lognormal(draw(play, rank), play->sigma);
    own *= pw_sim_gpu_growth(play->params, play->without, rank, play->step, phase);
    own *= pw_sim_operators_growth(play->params, play->without, rank, play->step, phase);
    own *= pw_sim_noise_growth(play->params, rank, play->step);
    if (phase == PW_PHASE_FORWARD || phase == PW_PHASE_BACKWARD)
        own *= play->params->even_lengths ? play->mean_length
                                          : pw_sim_length(play->params, rank, play->step);
    own += pw_sim_noise_ns(play->params, rank, play->step, phase) * share;
    return (int64_t)(own + pw_sim_extra(play, rank, phase, share));
}

/* Advances the rank's clock. */
void pw_sim_work_one(struct pw_sim_play *play, int64_t rank, enum pw_phase phase, double mean_ns,
                     double share)
{
    const struct pw_sim_sink *sink = play->sink;
    int64_t start = play->now[rank];
    int64_t own_ns = work_of(play, rank, phase, mean_ns, share);
    play->now[rank] = pw_sim_extra_work(play, rank, phase, share, own_ns);
    const struct pw_sim_piece piece = {rank, play->step, phase, start, play->now[rank]};
    if (is_told(play, rank))
        sink->work(sink->context, &piece);
}

void pw_sim_work(struct pw_sim_play *play, enum pw_phase phase, double mean_ns, double share)
{
    play->draw++;
    for (int64_t r = 0; r < play->params->ranks; r++)
        pw_sim_work_one(play, r, phase, mean_ns, share);
}

static int64_t inside(const struct pw_sim_group *g, int64_t rank)
{
    int64_t at = rank - g->leader;
    return at >= 0 && at % g->stride == 0 && at / g->stride < g->size;
}

/* Whether the fault, other traffic on the links of one host or all hosts, affects the group. A
 * group within one host is not affected. */
static int is_congested(const struct pw_sim_params *p, const struct pw_sim_fault *f,
                        const struct pw_sim_group *g)
{
    int64_t hosts = 0, before = -1, has = f->host < 0;
    for (int64_t i = 0; i < g->size; i++) {
        int64_t host = pw_sim_host(p, g->leader + i * g->stride);
        hosts += host != before;
        has |= host == f->host;
        before = host;
    }
    return hosts > 1 && has;
}

/* Returns how busy the link is with other traffic: from 0 to twice the mean. */
static double burst(const struct pw_sim_play *play, size_t fault, const struct pw_sim_group *g)
{
    uint64_t when = (uint64_t)play->step << 20 | (play->draw & 0xfffff);
    return 2 * pw_sim_uniform(pw_sim_bits(play->params->seed ^ 0x636f6e67, fault, when,
                                          (uint64_t)g->leader << 32 | (uint64_t)g->stride));
}

/* Returns the factor by which slow links lengthen a transfer of the group; a collective uses every
 * link of its group. */
static double link_factor(const struct pw_sim_play *play, const struct pw_sim_group *g)
{
    const struct pw_sim_params *p = play->params;
    double factor = 1;
    for (size_t i = 0; i < p->nfaults; i++) {
        const struct pw_sim_fault *f = &p->faults[i];
        if (f->kind == PW_SIM_SLOW_LINK && !(play->without >> i & 1) && play->step >= f->first &&
            play->step <= f->last && inside(g, f->rank) && inside(g, f->peer))
            factor += f->percent / 100;
        if (f->kind == PW_SIM_CONGESTION && !(play->without >> i & 1) && play->step >= f->first &&
            play->step <= f->last && is_congested(p, f, g))
            factor += f->percent / 100 * burst(play, i, g);
    }
    return factor;
}

/* Returns the clock that shows when a rank comes to a collective: on a GPU, when its data is
 * computed and the communication stream is free. */
static int64_t *clock_of(struct pw_sim_play *play, int64_t rank)
{
    if (!play->params->gpu)
        return &play->now[rank];
    if (play->reduced[rank] < play->now[rank])
        play->reduced[rank] = play->now[rank];
    return &play->reduced[rank];
}

void pw_sim_join(struct pw_sim_play *play)
{
    for (int64_t r = 0; r < play->params->ranks; r++)
        play->now[r] = *clock_of(play, r);
}

static int64_t weighted(int64_t bytes, const double *weights, int64_t rank)
{
    return weights ? (int64_t)((double)bytes * weights[rank]) : bytes;
}

/* A collective that every communicator of the kind does. */
struct collective {
    enum pw_sim_comm comm;
    enum pw_op op;
    int64_t bytes;
};

static void tell_collective(struct pw_sim_play *play, const struct collective *c, int64_t rank,
                            int64_t end)
{
    int64_t start = *clock_of(play, rank);
    const struct pw_sim_sink *sink = play->sink;
    struct pw_row_comm_event event = {
        .start = start,
        .end = end,
        .op = (uint16_t)c->op,
        .source = play->params->gpu ? PW_SOURCE_NCCL : PW_SOURCE_MPI,
        .comm = (int32_t)c->comm,
        .seq = play->collectives[c->comm],
        .sent_bytes = c->op == PW_OP_Barrier ? 0 : weighted(c->bytes, play->sent, rank),
        .recv_bytes = c->op == PW_OP_Barrier ? 0 : weighted(c->bytes, play->received, rank),
        .peer = -1,
        .tag = -1,
        .inside_ns = play->params->gpu ? 0 : end - start,
    };
    if (is_told(play, rank))
        sink->event(sink->context, rank, &event);
}

/* Returns by how much stopped members lengthen a collective that all have entered by `last`: each
 * member must run for its whole duration. */
static int64_t stopped_ns(const struct pw_sim_play *play, const struct pw_sim_group *g,
                          int64_t last, int64_t transfer)
{
    int64_t most = last + transfer;
    for (int64_t i = 0; i < g->size && play->stopping; i++) {
        int64_t end = pw_sim_advance(play, g->leader + i * g->stride, last, transfer);
        most = end > most ? end : most;
    }
    return most - last - transfer;
}

double pw_sim_transfer_ns(struct pw_sim_play *play, const struct pw_sim_group *g, int64_t bytes)
{
    double spread = pw_sim_lognormal(draw(play, g->leader), play->params->noise);
    double volume = (double)bytes / bytes_per_ns * 2 * (double)(g->size - 1) / (double)g->size;
    return (COLL_LATENCY_NS + volume) * spread * link_factor(play, g);
}

void pw_sim_collective_weighted(struct pw_sim_play *play, enum pw_op op, int64_t bytes, int sends,
                                const double *weights)
{
    double most = 0;
    for (int64_t r = 0; r < play->params->ranks; r++)
        most = weights[r] > most ? weights[r] : most;
    play->received = sends ? NULL : weights;
    play->sent = sends ? weights : NULL;
    play->heaviest = most;
    pw_sim_collective(play, PW_SIM_WORLD, op, bytes);
    play->received = play->sent = NULL;
}

void pw_sim_collective(struct pw_sim_play *play, enum pw_sim_comm comm, enum pw_op op,
                       int64_t bytes)
{
    const struct pw_sim_params *p = play->params;
    const struct collective collective = {comm, op, bytes};
    play->draw++;
    for (int64_t leader = 0; leader < p->ranks; leader++) {
        struct pw_sim_group g = pw_sim_group_of(p, comm, leader);
        if (g.leader != leader)
            continue;
        int64_t last = *clock_of(play, leader);
        for (int64_t i = 1; i < g.size; i++) {
            int64_t enter = *clock_of(play, leader + i * g.stride);
            last = enter > last ? enter : last;
        }
        int64_t most =
            play->received || play->sent ? (int64_t)((double)bytes * play->heaviest) : bytes;
        double transfer = pw_sim_transfer_ns(play, &g, most);
        int64_t late = stopped_ns(play, &g, last, (int64_t)transfer);
        for (int64_t i = 0; i < g.size; i++) {
            int64_t rank = leader + i * g.stride;
            /* Ranks leave at slightly different times, because the last rounds of the algorithm
             * differ. */
            int64_t end =
                last + (int64_t)(transfer * (0.98 + 0.02 * pw_sim_uniform(draw(play, rank))));
            end = pw_sim_advance(play, rank, end + late, 0);
            tell_collective(play, &collective, rank, end);
            *clock_of(play, rank) = end;
        }
    }
    play->collectives[comm]++;
}

int64_t pw_sim_message_ns(struct pw_sim_play *play, int64_t from, int64_t to, int64_t bytes)
{
    int64_t low = from < to ? from : to, apart = from < to ? to - from : from - to;
    struct pw_sim_group pair = {low, apart, 2};
    double spread =
        pw_sim_lognormal(pw_sim_mix(draw(play, from) ^ (uint64_t)to), play->params->noise);
    return (int64_t)((P2P_LATENCY_NS + (double)bytes / bytes_per_ns) * spread *
                     link_factor(play, &pair));
}

void pw_sim_tell_message(struct pw_sim_play *play, const struct pw_sim_side *side)
{
    const struct pw_sim_sink *sink = play->sink;
    int receives = side->op == PW_OP_Recv || side->op == PW_OP_Irecv;
    struct pw_row_comm_event event = {
        .start = side->start,
        .end = side->end,
        .op = (uint16_t)side->op,
        .source = PW_SOURCE_MPI,
        .flags = side->wait_start ? NONBLOCKING : 0,
        .comm = PW_SIM_WORLD,
        .seq = -1,
        .sent_bytes = receives ? -1 : side->bytes,
        .recv_bytes = receives ? side->bytes : -1,
        .peer = (int32_t)side->peer,
        .tag = (int32_t)side->tag,
        .inside_ns =
            side->wait_start ? CALL_NS + side->end - side->wait_start : side->end - side->start,
        .wait_start = side->wait_start,
    };
    if (is_told(play, side->rank))
        sink->event(sink->context, side->rank, &event);
}

/* Reports a message; its tag tells whether it goes to a higher or a lower rank. */
static void tell_message(struct pw_sim_play *play, struct pw_sim_side side)
{
    int receives = side.op == PW_OP_Recv || side.op == PW_OP_Irecv;
    side.tag = receives ? side.peer < side.rank : side.rank < side.peer;
    pw_sim_tell_message(play, &side);
}

/* The neighbours of a rank in the grid; a border has fewer. */
struct neighbours {
    int n;
    int64_t ranks[4];
};

static struct neighbours neighbours(const struct pw_sim_params *p, int64_t width, int64_t rank)
{
    struct neighbours out = {0};
    if (rank % width > 0)
        out.ranks[out.n++] = rank - 1;
    if (rank % width < width - 1 && rank + 1 < p->ranks)
        out.ranks[out.n++] = rank + 1;
    if (rank >= width)
        out.ranks[out.n++] = rank - width;
    if (rank + width < p->ranks)
        out.ranks[out.n++] = rank + width;
    return out;
}

static void tell_exchange(struct pw_sim_play *play, int64_t rank, const struct neighbours *to,
                          int64_t bytes, int64_t end)
{
    int n = to->n;
    int64_t start = play->now[rank], waits = start + 2 * n * CALL_NS;
    for (int i = 0; i < 2 * n; i++, start += CALL_NS)
        tell_message(play, (struct pw_sim_side){.op = i < n ? PW_OP_Irecv : PW_OP_Isend,
                                                .rank = rank,
                                                .peer = to->ranks[i % n],
                                                .bytes = bytes,
                                                .start = start,
                                                .end = end,
                                                .wait_start = waits});
    struct pw_row_comm_event wait = {
        .start = waits,
        .end = end,
        .op = PW_OP_Waitall,
        .comm = -1,
        .seq = 2 * n,
        .sent_bytes = -1,
        .recv_bytes = -1,
        .peer = -1,
        .tag = -1,
        .inside_ns = end - waits,
    };
    if (n && is_told(play, rank))
        play->sink->event(play->sink->context, rank, &wait);
}

void pw_sim_exchange(struct pw_sim_play *play, int64_t width, int64_t bytes)
{
    const struct pw_sim_params *p = play->params;
    int64_t *ends = play->scratch;
    play->draw++;
    for (int64_t r = 0; r < p->ranks; r++) {
        const struct neighbours at = neighbours(p, width, r);
        ends[r] = pw_sim_advance(play, r, play->now[r], (2 * at.n + 1) * CALL_NS);
        for (int i = 0; i < at.n; i++) {
            int64_t peer = at.ranks[i];
            /* The transfer begins when the sender has begun it and this rank has posted the
             * receive. */
            int64_t sent = play->now[peer] > play->now[r] ? play->now[peer] : play->now[r];
            int64_t ns = 2 * 4 * CALL_NS + pw_sim_message_ns(play, peer, r, bytes);
            int64_t came = pw_sim_advance_both(play, r, peer, sent, ns);
            ends[r] = came > ends[r] ? came : ends[r];
        }
        ends[r] = pw_sim_advance(play, r, ends[r], 0);
    }
    for (int64_t r = 0; r < p->ranks; r++) {
        const struct neighbours at = neighbours(p, width, r);
        tell_exchange(play, r, &at, bytes, ends[r]);
        play->now[r] = ends[r];
    }
}

void pw_sim_pipeline(struct pw_sim_play *play, enum pw_phase phase, int forward, double mean_ns,
                     double share)
{
    const struct pw_sim_params *p = play->params;
    int64_t stages = p->pipeline, hop = forward ? p->tensor : -p->tensor, bytes = EAGER_BYTES;
    int64_t *sent = play->scratch;
    play->draw++;
    for (int64_t i = 0; i < stages; i++) {
        int64_t stage = forward ? i : stages - 1 - i;
        for (int64_t r = 0; r < p->ranks; r++) {
            if (r / p->tensor % stages != stage)
                continue;
            if (i > 0) {
                int64_t from = r - hop, here = play->now[r];
                int64_t both = sent[from] > here ? sent[from] : here;
                play->now[r] =
                    pw_sim_advance(play, r, both, pw_sim_message_ns(play, from, r, bytes));
                tell_message(play, (struct pw_sim_side){PW_OP_Recv, r, from, 0, bytes, here,
                                                        play->now[r], 0});
            }
            pw_sim_work_one(play, r, phase, mean_ns, share);
            sent[r] = play->now[r];
            if (i + 1 < stages) {
                /* The message is buffered, so the sender continues. */
                play->now[r] = pw_sim_advance(play, r, sent[r], CALL_NS);
                tell_message(play, (struct pw_sim_side){PW_OP_Send, r, r + hop, 0, bytes, sent[r],
                                                        play->now[r], 0});
            }
        }
    }
}
