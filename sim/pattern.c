/* The programs that can be simulated, each a function that plays one step as a sequence of stages.
 * play.c calls pw_sim_pattern_step() (stage.h) once a step, and nothing else here is called from
 * outside. */
#include <errno.h>
#include <stdlib.h>

#include "sim/faults.h"
#include "sim/script.h"
#include "sim/stage.h"
#include "sim/unequal.h"

enum { NORM_BYTES = 8 };

/* Shares of a step's work, the same in all patterns. */
#define DATA_SHARE 0.05
#define FORWARD_SHARE 0.30
#define BACKWARD_SHARE 0.60
#define OPTIMIZER_SHARE 0.05

/* Returns the share of a step's mean work, ns. */
static inline double ns_of(const struct pw_sim_play *play, double share)
{
    return share * (double)play->params->step_ns;
}

/* Nonblocking collectives that overlap with the work after them. Only a part of each is hidden,
 * because MPI without a progress thread moves data only while the program is inside MPI. */

enum { MOST = 256, NONBLOCKING = 4 }; /* the flag as rank/ring/record.h has it */

struct pw_sim_overlap {
    int64_t count, hidden_until; /* end of the hidden part of the last one */
    double exposed_ns;           /* the part that remains for the wait */
    int64_t bytes[MOST];
    int64_t began[]; /* [count * ranks] */
};

static int is_told(const struct pw_sim_play *play, int64_t rank)
{
    return play->sink && rank >= play->sink->first && rank <= play->sink->last;
}

/* Every rank begins an Iallreduce. */
static void overlap_begin(struct pw_sim_play *play, int64_t bytes)
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

/* Every rank waits for all that it has begun. */
static void overlap_end(struct pw_sim_play *play)
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

enum { HALO_BYTES = 1 << 16 };

static void work_phase(struct pw_sim_play *play, enum pw_phase phase, double share)
{
    pw_sim_phase_begin(play);
    pw_sim_work(play, phase, ns_of(play, share), 1);
    pw_sim_phase_end(play, phase);
}

static void reduce_phase(struct pw_sim_play *play, enum pw_sim_comm comm, int64_t bytes)
{
    pw_sim_phase_begin(play);
    pw_sim_collective(play, comm, PW_OP_Allreduce, bytes);
    pw_sim_phase_end(play, PW_PHASE_ALLREDUCE);
}

static int64_t pieces(const struct pw_sim_params *p)
{
    return p->collectives > 0 ? p->collectives : 1;
}

static void data_step(struct pw_sim_play *play)
{
    int64_t n = pieces(play->params);
    work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    work_phase(play, PW_PHASE_FORWARD, FORWARD_SHARE);
    for (int64_t i = 0; i < n; i++) {
        pw_sim_phase_begin(play);
        pw_sim_work(play, PW_PHASE_BACKWARD, ns_of(play, BACKWARD_SHARE) / (double)n,
                    1 / (double)n);
        pw_sim_phase_end(play, PW_PHASE_BACKWARD);
        if (play->params->collectives && play->params->overlap > 0)
            overlap_begin(play, play->params->bytes / n);
        else if (play->params->collectives && play->params->gpu)
            pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Allreduce, play->params->bytes / n);
        else if (play->params->collectives)
            reduce_phase(play, PW_SIM_WORLD, play->params->bytes / n);
    }
    if (play->params->overlap > 0)
        overlap_end(play);
    if (play->params->gpu)
        pw_sim_join(play);
    work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
}

/* Columns of the grid: the largest divisor of the ranks that is at most their square root. */
static int64_t grid_width(int64_t ranks)
{
    int64_t width = 1;
    for (int64_t w = 2; w * w <= ranks; w++)
        width = ranks % w == 0 ? w : width;
    return width;
}

static void halo_step(struct pw_sim_play *play)
{
    work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    pw_sim_exchange(play, grid_width(play->params->ranks), HALO_BYTES);
    work_phase(play, PW_PHASE_FORWARD, FORWARD_SHARE);
    pw_sim_exchange(play, grid_width(play->params->ranks), HALO_BYTES);
    work_phase(play, PW_PHASE_BACKWARD, BACKWARD_SHARE);
    work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    for (int64_t i = 0; i < play->params->collectives; i++)
        pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Allreduce, NORM_BYTES);
}

static void pipeline_phase(struct pw_sim_play *play, enum pw_phase phase, double share)
{
    const struct pw_sim_params *p = play->params;
    double part_of_phase = 1 / (double)p->microbatches;
    for (int64_t m = 0; m < p->microbatches; m++) {
        pw_sim_phase_begin(play);
        pw_sim_pipeline(play, phase, phase == PW_PHASE_FORWARD, ns_of(play, share) * part_of_phase,
                        part_of_phase);
        pw_sim_collective(play, PW_SIM_TENSOR, PW_OP_Allreduce, p->bytes / 64);
        pw_sim_phase_end(play, phase);
    }
}

static void hybrid_step(struct pw_sim_play *play)
{
    work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    pipeline_phase(play, PW_PHASE_FORWARD, FORWARD_SHARE);
    pipeline_phase(play, PW_PHASE_BACKWARD, BACKWARD_SHARE);
    for (int64_t i = 0; i < play->params->collectives; i++)
        reduce_phase(play, PW_SIM_REPLICAS, play->params->bytes / play->params->collectives);
    work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    reduce_phase(play, PW_SIM_WORLD, NORM_BYTES);
}

/* Messages with neighbours in a ring of ranks, to one side and to the other. Ranks with even
 * numbers send first, so that sends that wait are received. */
static void add_shift(struct pw_sim_script *script, const struct pw_sim_params *p, int64_t rank,
                      int64_t by)
{
    int64_t to = (rank + by + p->ranks) % p->ranks, from = (rank - by + p->ranks) % p->ranks;
    struct pw_sim_op send = {.kind = PW_SIM_SENDS, .peer = to, .bytes = p->message, .tag = 1 + by};
    struct pw_sim_op recv = {
        .kind = PW_SIM_RECVS, .peer = from, .bytes = p->message, .tag = 1 + by};
    pw_sim_script_add(script, rank, rank % 2 ? &recv : &send);
    pw_sim_script_add(script, rank, rank % 2 ? &send : &recv);
}

static struct pw_sim_script *make_ring(const struct pw_sim_params *p)
{
    static const struct {
        enum pw_phase phase;
        double share;
        int64_t shift;
    } parts[] = {{PW_PHASE_DATA, DATA_SHARE, 0},
                 {PW_PHASE_FORWARD, FORWARD_SHARE, 1},
                 {PW_PHASE_BACKWARD, BACKWARD_SHARE, -1},
                 {PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE, 0}};
    struct pw_sim_script *script = pw_sim_script_create(p, 8);
    for (int64_t r = 0; r < p->ranks && script; r++)
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
            struct pw_sim_op work = {.kind = PW_SIM_WORKS,
                                     .phase = parts[i].phase,
                                     .mean_ns = parts[i].share * (double)p->step_ns,
                                     .share = 1};
            pw_sim_script_add(script, r, &work);
            if (parts[i].shift)
                add_shift(script, p, r, parts[i].shift);
        }
    return script;
}

static void ring_step(struct pw_sim_play *play)
{
    if (!play->script)
        play->script = make_ring(play->params);
    pw_sim_script_step(play);
}

static void nested_step(struct pw_sim_play *play)
{
    double n = (double)play->params->inner;
    work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    for (int64_t i = 0; i < play->params->inner; i++) {
        pw_sim_phase_begin(play);
        pw_sim_work(play, PW_PHASE_FORWARD, ns_of(play, FORWARD_SHARE) / n, 1 / n);
        pw_sim_phase_end(play, PW_PHASE_FORWARD);
        pw_sim_phase_begin(play);
        pw_sim_work(play, PW_PHASE_BACKWARD, ns_of(play, BACKWARD_SHARE) / n, 1 / n);
        pw_sim_phase_end(play, PW_PHASE_BACKWARD);
        pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Allreduce, NORM_BYTES);
    }
    work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    reduce_phase(play, PW_SIM_WORLD, play->params->bytes);
}

/* Like a simulation that balances its load in every 4th step and writes a summary in every 10th. */
static void periods_step(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    work_phase(play, PW_PHASE_FORWARD, FORWARD_SHARE);
    pw_sim_exchange(play, grid_width(p->ranks), HALO_BYTES);
    work_phase(play, PW_PHASE_BACKWARD, BACKWARD_SHARE);
    if (play->step % 4 == 3) {
        pw_sim_phase_begin(play);
        pw_sim_work(play, PW_PHASE_OTHER, ns_of(play, FORWARD_SHARE), 1);
        pw_sim_phase_end(play, PW_PHASE_OTHER);
        pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Alltoall, p->bytes);
    }
    work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    reduce_phase(play, PW_SIM_WORLD, NORM_BYTES);
    if (play->step % 10 == 9)
        pw_sim_collective(play, PW_SIM_WORLD, PW_OP_Allgather, p->bytes / 16);
}

/* The worker that is free first. */
static int64_t free_worker(const struct pw_sim_play *play)
{
    int64_t first = 1;
    for (int64_t r = 2; r < play->params->ranks; r++)
        first = play->now[r] < play->now[first] ? r : first;
    return first;
}

/* Reports a message of the farm, whose call began at the rank's present time and ends at `end`. */
static void tell_task(struct pw_sim_play *play, enum pw_op op, int64_t rank, int64_t peer,
                      int64_t end)
{
    const struct pw_sim_side side = {.op = op,
                                     .rank = rank,
                                     .peer = peer,
                                     .bytes = NORM_BYTES,
                                     .start = play->now[rank],
                                     .end = end};
    pw_sim_tell_message(play, &side);
    play->now[rank] = end;
}

/* A message to a rank that waits for it, or comes for it later. */
static void send_task(struct pw_sim_play *play, int64_t from, int64_t to)
{
    const int64_t sent = pw_sim_advance(play, from, play->now[from], PW_SIM_CALL_NS);
    const int64_t came = sent + pw_sim_message_ns(play, from, to, NORM_BYTES);
    const int64_t free = play->now[to] + PW_SIM_CALL_NS;
    tell_task(play, PW_OP_Send, from, to, sent);
    tell_task(play, PW_OP_Recv, to, from, pw_sim_advance(play, to, came > free ? came : free, 0));
}

/* As many tasks as there are workers: who is free tells rank 0, and gets the next one. No worker
 * waits for another, so ranks are in different steps at the same time. */
static void farm_step(struct pw_sim_play *play)
{
    for (int64_t i = 1; i < play->params->ranks; i++) {
        const int64_t worker = free_worker(play);
        play->draw++;
        send_task(play, worker, 0);
        send_task(play, 0, worker);
        pw_sim_work_one(play, worker, PW_PHASE_FORWARD, ns_of(play, 1), 1);
    }
}

double pw_sim_sum_of_squares(const struct pw_sim_params *p)
{
    if (p->pattern == PW_SIM_FARM)
        return 1; /* a task is one piece of work */
    int64_t forward = p->pattern == PW_SIM_HYBRID     ? p->microbatches
                      : p->pattern == PW_SIM_NESTED   ? p->inner
                      : p->pattern == PW_SIM_PIPELINE ? p->microbatches * p->chunks
                      : p->pattern == PW_SIM_MOE      ? 2 * p->microbatches
                                                      : 1;
    int64_t backward = p->pattern == PW_SIM_DATA ? pieces(p) : forward;
    return DATA_SHARE * DATA_SHARE + OPTIMIZER_SHARE * OPTIMIZER_SHARE +
           FORWARD_SHARE * FORWARD_SHARE / (double)forward +
           BACKWARD_SHARE * BACKWARD_SHARE / (double)backward;
}

/* Training in which ranks do different work: pipelines with alternating forward and backward passes
 * (1F1B), and mixtures of experts. */

/* A pipeline of `stages` ranks, each with `chunks` parts of the model: part k of stage s is the
 * model's part k * stages + s. */
struct pipeline {
    const struct pw_sim_params *params;
    struct pw_sim_script *script;
    int64_t stages, chunks, microbatches, rank, stage;
};

/* Returns the factor for the work of a part of the model: the additional work of the first stage is
 * in its first part, that of the last stage in its last part. */
static double more_work(const struct pipeline *l, int64_t part)
{
    const double more = pw_sim_stage_growth(l->params, l->stage) - 1;
    if (l->params->even_stages)
        return more;
    return part == 0 || part == l->stages * l->chunks - 1 ? more * (double)l->chunks : 0;
}

/* Adds the pass of one microbatch through one part of the model: the message from the part before
 * (backward: after) it, the work, and the message to the next part. */
static void add_pass(const struct pipeline *l, int64_t microbatch, int64_t chunk, int forward)
{
    const struct pw_sim_params *p = l->params;
    int64_t parts = l->stages * l->chunks, part = chunk * l->stages + l->stage;
    int64_t before = forward ? part - 1 : part + 1, after = forward ? part + 1 : part - 1;
    int64_t first = l->rank - l->stage, pass = 2 * microbatch * parts + !forward;
    double n = (double)(l->microbatches * l->chunks);
    struct pw_sim_op message = {.bytes = p->message, .is_buffered = 1};
    struct pw_sim_op work = {
        .kind = PW_SIM_WORKS,
        .phase = forward ? PW_PHASE_FORWARD : PW_PHASE_BACKWARD,
        .mean_ns = (forward ? FORWARD_SHARE : BACKWARD_SHARE) * (double)p->step_ns / n *
                   (1 + more_work(l, part)),
        .share = 1 / n,
    };
    if (before >= 0 && before < parts && l->stages > 1) {
        message.kind = PW_SIM_RECVS;
        message.peer = first + before % l->stages;
        message.tag = pass + 2 * part;
        pw_sim_script_add(l->script, l->rank, &message);
    }
    pw_sim_script_add(l->script, l->rank, &work);
    if (after >= 0 && after < parts && l->stages > 1) {
        message.kind = PW_SIM_SENDS;
        message.peer = first + after % l->stages;
        message.tag = pass + 2 * after;
        pw_sim_script_add(l->script, l->rank, &message);
    }
}

/* Adds the i-th forward or backward pass of a rank. Microbatches are in groups of the number of
 * stages; each group passes one chunk after the other. */
static void add_nth(const struct pipeline *l, int64_t i, int forward)
{
    int64_t group = l->stages * l->chunks, chunk = i % group / l->stages;
    int64_t microbatch = i / group * l->stages + i % l->stages;
    if (l->chunks == 1)
        add_pass(l, i, 0, forward);
    else
        add_pass(l, microbatch, forward ? chunk : l->chunks - 1 - chunk, forward);
}

/* Adds some forward passes, then forward and backward passes alternately, then the remaining
 * backward passes (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
 * Using Megatron-LM", SC 2021). */
static void add_schedule(const struct pipeline *l)
{
    int64_t all = l->microbatches * l->chunks, ahead = l->stages - 1 - l->stage;
    int64_t warm = l->chunks == 1 ? ahead : 2 * ahead + (l->chunks - 1) * l->stages;
    warm = warm < all ? warm : all;
    for (int64_t i = 0; i < warm; i++)
        add_nth(l, i, 1);
    for (int64_t i = warm; i < all; i++) {
        add_nth(l, i, 1);
        add_nth(l, i - warm, 0);
    }
    for (int64_t i = all - warm; i < all; i++)
        add_nth(l, i, 0);
}

static struct pw_sim_script *make_pipeline(const struct pw_sim_params *p)
{
    struct pw_sim_script *script = pw_sim_script_create(p, 6 * p->microbatches * p->chunks);
    for (int64_t r = 0; r < p->ranks && script; r++) {
        struct pipeline line = {p, script,         p->pipeline, p->chunks, p->microbatches,
                                r, r % p->pipeline};
        add_schedule(&line);
    }
    return script;
}

static void pipeline_step(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    if (!play->script)
        play->script = make_pipeline(p);
    work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    pw_sim_script_step(play);
    for (int64_t i = 0; i < p->collectives; i++)
        reduce_phase(play, PW_SIM_REPLICAS, p->bytes / p->collectives);
    work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
    reduce_phase(play, PW_SIM_WORLD, NORM_BYTES);
}

/* A layer: half of its work is the same on all ranks, half depends on the tokens that the rank's
 * experts get. */
static void moe_layer(struct pw_sim_play *play, enum pw_phase phase, double share)
{
    const struct pw_sim_params *p = play->params;
    double half = ns_of(play, share) / 2, part = 0.5 / (double)p->microbatches;
    int64_t bytes = p->bytes / p->microbatches;
    pw_sim_phase_begin(play);
    pw_sim_work(play, phase, half, part);
    pw_sim_collective_weighted(play, PW_OP_Alltoallv, bytes, 0, play->weights);
    play->draw++;
    for (int64_t r = 0; r < p->ranks; r++)
        pw_sim_work_one(play, r, phase, half * play->weights[r], part);
    pw_sim_collective_weighted(play, PW_OP_Alltoallv, bytes, 1, play->weights);
    pw_sim_phase_end(play, phase);
}

/* Fills in the tokens of each rank's experts, divided by the mean. */
static void fill_weights(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    double sum = 0;
    for (int64_t r = 0; r < p->ranks; r++) {
        play->weights[r] = pw_sim_tokens(p, r, play->step);
        sum += play->weights[r];
    }
    for (int64_t r = 0; r < p->ranks && p->even_tokens; r++)
        play->weights[r] = sum / (double)p->ranks;
}

static void moe_step(struct pw_sim_play *play)
{
    const struct pw_sim_params *p = play->params;
    double layers = (double)p->microbatches;
    if (!play->weights)
        play->weights = malloc((size_t)p->ranks * sizeof(*play->weights));
    if (!play->weights) {
        play->failed = -ENOMEM;
        return;
    }
    fill_weights(play);
    work_phase(play, PW_PHASE_DATA, DATA_SHARE);
    for (int64_t i = 0; i < p->microbatches; i++)
        moe_layer(play, PW_PHASE_FORWARD, FORWARD_SHARE / layers);
    for (int64_t i = 0; i < p->microbatches; i++)
        moe_layer(play, PW_PHASE_BACKWARD, BACKWARD_SHARE / layers);
    for (int64_t i = 0; i < p->collectives; i++)
        reduce_phase(play, PW_SIM_WORLD, p->bytes / p->collectives);
    work_phase(play, PW_PHASE_OPTIMIZER, OPTIMIZER_SHARE);
}

void pw_sim_pattern_step(struct pw_sim_play *play)
{
    static void (*const steps[PW_SIM_PATTERNS])(struct pw_sim_play *) = {
        data_step,    halo_step,     hybrid_step, ring_step, nested_step,
        periods_step, pipeline_step, moe_step,    farm_step};
    steps[play->params->pattern](play);
}
