/* Finds the losses that the ranks share, ordered by what they cost, and the verdict in two steps:
 * first, which evidence is missing; if none is, which loss is the largest. See verdict.h. */
#include "analysis/advice/verdict.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "analysis/statistics.h"
#include "analysis/straggler.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/search.h"

/* A straggler needs so many steps: with fewer measured steps the verdict is unknown. */
enum { STEPS_LEAST = 3 };

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t pw_advice_whatif_gain(const struct pw_advice_input *in, const char *scope)
{
    const struct pw_cluster *c = in->cluster;
    for (size_t i = 0; i < c->nwhatif; i++)
        if (strncmp(c->whatif[i].scope, scope, sizeof(c->whatif[i].scope)) == 0)
            return larger(c->whatif[i].gain_ns, 0);
    return -1;
}

int64_t pw_advice_together_gain(const struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    const int64_t ns = pw_advice_whatif_gain(in, "stragglers");
    /* The replay is of all stragglers in the steps: not of some of them, nor of other times. */
    if (ns < 0 || c->nstragglers < 2 || c->restricted_to[0])
        return -1;
    for (size_t i = 0; i < c->nstragglers; i++)
        if (c->stragglers[i].kind == PW_STRAGGLER_STRETCH)
            return -1;
    const struct pw_row_c_straggler *first = c->stragglers;
    const struct pw_row_c_host *host = pw_host_of_straggler(c, first);
    const int64_t alone = larger(first->gain_ns, host ? host->gain_ns : -1);
    const double steps_ns = (double)in->step_mean_ns * (double)in->measured;
    /* Without a gain of its own, the replay may lack the loss. */
    if (alone < 0 && 2 * (double)ns < (double)first->lost_ns)
        return -1;
    return (double)ns > PW_TOGETHER_TIMES * (double)alone &&
                   (double)ns >= PW_TOGETHER_SHARE * steps_ns
               ? ns
               : -1;
}

int64_t pw_advice_of_all_steps(const struct pw_advice_input *in, double ns)
{
    return ns < 0 ? -1 : pw_whole(ns * (double)in->measured);
}

int pw_advice_is_nonblocking(uint32_t op)
{
    const struct pw_op_info *info = pw_op_info(op);
    return info->cls == PW_CLASS_COLL && info->name[0] == 'I' &&
           islower((unsigned char)info->name[1]);
}

static double load_balance(const struct pw_cluster *c)
{
    return c->nefficiency ? c->efficiency->load_balance : -1;
}

int pw_advice_is_unnamed(const struct pw_advice_input *in)
{
    return in->verdict.kind != PW_VERDICT_UNKNOWN && in->verdict.kind != PW_VERDICT_SINGLE_RANK &&
           !in->cluster->nstragglers && !in->verdict.imbalance;
}

int pw_advice_is_balanced(const struct pw_advice_input *in)
{
    const double balance = load_balance(in->cluster);
    return balance < 0 || balance >= PW_BALANCED;
}

static double share_of(int64_t part, int64_t whole)
{
    return part < 0 || whole <= 0 ? -1 : (double)part / (double)whole;
}

/* `ns` of a mean step, summed over all measured steps and ranks; 0: not known. */
static int64_t in_all_steps(const struct pw_advice_input *in, int64_t ns)
{
    return ns > 0 ? pw_whole((double)ns * (double)in->measured * (double)in->present) : 0;
}

static void forget_rank(struct pw_shared *out)
{
    out->rank = -1;
    out->of_rank = -1;
}

/* ---- GPUs that the host left dry ---- */

/* Time in which hosts waited for other ranks. Waits in NCCL do not count, because they keep the GPU
 * busy. */
static int64_t waits_of_hosts(const struct pw_cluster *c)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->ncollectives; i++)
        if (!pw_source_is_on_device(c->collectives[i].source) && c->collectives[i].wait_ns > 0)
            sum = pw_sum(sum, c->collectives[i].wait_ns);
    for (size_t i = 0; i < c->np2p; i++)
        if (c->p2p[i].late_sender_ns > 0)
            sum = pw_sum(sum, c->p2p[i].late_sender_ns);
    return sum;
}

/* Transfers of a mean step that no computation hides; -1: not known. */
static int64_t transfers_of_step(const struct pw_advice_input *in)
{
    const struct pw_row_c_step_trace *mean = &in->mean;
    return mean->comm_exposed_ns < 0 || mean->wait_ns < 0 ? -1
                                                          : mean->comm_exposed_ns - mean->wait_ns;
}

/* Time in transfers of hosts, such as those of gloo, that no computation hides. */
static int64_t transfers_of_hosts(const struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    const int64_t exposed = in_all_steps(in, transfers_of_step(in));
    int64_t sum = 0;
    for (size_t i = 0; i < c->ncollective_stats; i++) {
        const struct pw_row_c_collective_stat *row = &c->collective_stats[i];
        if (!pw_source_is_on_device(row->source) && row->transfer_mean_ns > 0 && row->count > 0)
            sum = pw_sum(sum, pw_whole((double)row->transfer_mean_ns * (double)row->count *
                                       (double)row->nranks));
    }
    for (size_t i = 0; i < c->np2p; i++)
        if (c->p2p[i].transfer_ns > 0)
            sum = pw_sum(sum, c->p2p[i].transfer_ns);
    return sum < exposed ? sum : exposed;
}

/* A host that waits for another rank or for a transfer launches the next kernel late, too. Waits
 * and transfers are listed as losses of their own, so they are subtracted here. */
static int find_host_late(const struct pw_advice_input *in, struct pw_shared *out)
{
    const struct pw_cluster *c = in->cluster;
    int64_t span_ns = 0;
    if (c->restricted_to[0])
        return 0; /* the figures of GPUs are of the whole run */
    for (size_t i = 0; i < c->ngpu_ranks; i++) {
        const struct pw_row_c_gpu_rank *row = &c->gpu_ranks[i];
        const double share = share_of(row->idle_host_ns, row->span_ns);
        if (share < 0)
            continue;
        span_ns = pw_sum(span_ns, row->span_ns);
        out->ns = pw_sum(out->ns, row->idle_host_ns);
        out->rank = share > out->of_rank ? row->rank : out->rank;
        out->of_rank = share > out->of_rank ? share : out->of_rank;
    }
    const int64_t causes_ns = pw_sum(waits_of_hosts(c), transfers_of_hosts(in));
    out->ns -= causes_ns;
    out->is_least = causes_ns > 0;
    out->share = span_ns > 0 ? (double)out->ns / (double)span_ns : 0;
    if (out->share < PW_SHARED_GPUS_DRY)
        return 0;
    if (out->of_rank < out->share + PW_SHARED_STANDS_OUT || out->is_least)
        forget_rank(out);
    out->cost_ns = out->ns / (int64_t)c->ngpu_ranks;
    return 1;
}

/* ---- data ---- */

/* 1 when a straggler's row covers this step of the rank: then the verdict reports it. */
static int is_straggling(const struct pw_cluster *c, int32_t rank, int64_t step)
{
    for (size_t i = 0; i < c->nstragglers; i++)
        if (c->stragglers[i].rank == rank && c->stragglers[i].first_step >= 0 &&
            c->stragglers[i].first_step <= step && step <= c->stragglers[i].last_step)
            return 1;
    return 0;
}

/* Adds the data waits and the lengths of a step, of ranks that no straggler's row covers. */
static void add_data_waits(const struct pw_cluster *c, size_t step, double *wait, double *total)
{
    int64_t waits[PW_CELLS_RANKS], totals[PW_CELLS_RANKS];
    for (size_t at = 0; at < c->nrank_rows; at += PW_CELLS_RANKS) {
        const size_t left = c->nrank_rows - at;
        const struct pw_cells_area area = {step, 1, at,
                                           left < PW_CELLS_RANKS ? left : PW_CELLS_RANKS};
        pw_cells_read(&c->step_trace, offsetof(struct pw_row_c_step_trace, data_wait_ns), &area,
                      waits);
        pw_cells_read(&c->step_trace, offsetof(struct pw_row_c_step_trace, total_ns), &area,
                      totals);
        for (size_t r = 0; r < area.ranks; r++) {
            if (waits[r] < 0 || totals[r] < 0 ||
                is_straggling(c, c->ranks[at + r].rank, c->steps[step].step))
                continue;
            *wait += (double)waits[r];
            *total += (double)totals[r];
        }
    }
}

/* The share of data waits in steps that no straggler's row covers; `all`: that of all steps. */
static double data_wait_beside(const struct pw_cluster *c, double all)
{
    double wait = 0, total = 0;
    if (!c->nstragglers || !pw_cells_is_known(&c->step_trace))
        return all;
    for (size_t s = 0; s < c->nstep_rows; s++)
        if (c->steps[s].recorded == PW_RECORDED_ACTIVE)
            add_data_waits(c, s, &wait, &total);
    return total > 0 ? wait / total : 0;
}

static int find_data_wait(const struct pw_advice_input *in, struct pw_shared *out)
{
    const struct pw_cluster *c = in->cluster;
    if (c->nstragglers && (c->stragglers[0].phase == PW_PHASE_DATA ||
                           c->stragglers[0].cause == PW_CAUSE_DATA_STARVATION))
        return 0; /* the headline reports this */
    out->share = share_of(in->mean.data_wait_ns, in->mean.total_ns);
    if (out->share < PW_SHARED_DATA_WAIT_SHARE ||
        data_wait_beside(c, out->share) < PW_SHARED_DATA_WAIT_SHARE)
        return 0;
    for (size_t r = 0; r < c->nrank_rows; r++) {
        const struct pw_row_c_step_trace *trace = &in->trace[r];
        const double share = share_of(trace->data_wait_ns, trace->total_ns);
        out->rank = share > out->of_rank ? c->ranks[r].rank : out->rank;
        out->of_rank = share > out->of_rank ? share : out->of_rank;
    }
    if (out->of_rank < out->share + PW_SHARED_STANDS_OUT)
        forget_rank(out);
    out->step_ns = in->mean.data_wait_ns;
    out->ns = in_all_steps(in, out->step_ns);
    out->cost_ns = out->ns / (in->present > 0 ? in->present : 1);
    return 1;
}

/* ---- more to run than cores ---- */

static int64_t longest_run(const struct pw_cluster *c)
{
    int64_t run_ns = c->start_unix_ns > 0 && c->end_unix_ns > c->start_unix_ns
                         ? c->end_unix_ns - c->start_unix_ns
                         : 0;
    int64_t longest_ns = 0;
    for (size_t r = 0; r < c->nrank_rows; r++)
        longest_ns = c->ranks[r].run_ns > longest_ns ? c->ranks[r].run_ns : longest_ns;
    return longest_ns > 0 ? longest_ns : run_ns;
}

/* What the job would save without the rank that the verdict names; 0: it names none. */
static int64_t cost_of_named(const struct pw_advice_input *in)
{
    const struct pw_row_c_straggler *first = in->cluster->stragglers;
    if (in->verdict.kind != PW_VERDICT_HELD_BACK || !in->cluster->nstragglers)
        return 0;
    const int64_t together_ns = pw_advice_together_gain(in);
    if (together_ns >= 0)
        return together_ns;
    return first->gain_ns > 0 ? first->gain_ns : first->lost_ns;
}

/* A shortage that costs less than the rank that is named is not reported beside it: it would read
 * as if it were the cause. The line "Rests on" names it all the same. */
static int find_no_cpu(const struct pw_advice_input *in, struct pw_shared *out)
{
    struct pw_nocpu found = pw_nocpu_find(in->cluster);
    if (found.worst < 0)
        found = pw_nocpu_outside(in->cluster);
    if (found.worst < 0 || in->cluster->restricted_to[0] || found.ns < cost_of_named(in))
        return 0; /* with --steps: the shares are not of these steps */
    out->where = found.where;
    out->is_quota = found.is_quota;
    out->share = found.share;
    out->cost_ns = found.ns;
    out->ns = pw_whole((double)out->cost_ns * (double)in->present);
    if (found.worst_share >= out->share + PW_SHARED_STANDS_OUT) {
        out->rank = found.worst;
        out->of_rank = found.worst_share;
    }
    return 1;
}

/* ---- steps in which all ranks were slower, and the network ---- */

/* Warm-up is reported only in the list of trends. */
static int find_all_slower(const struct pw_advice_input *in, struct pw_shared *out)
{
    const struct pw_cluster *c = in->cluster;
    if (!c->ntrends || c->trends[0].kind == PW_SLOWING_WARM_UP ||
        in->verdict.kind == PW_VERDICT_ALL_SLOWER)
        return 0;
    if (in->verdict.network && pw_network_explains(in->verdict.network, &c->trends[0]))
        return 0; /* the same loss, of which the cause is known */
    out->ns = out->cost_ns = c->trends[0].cost_ns;
    out->share = c->trends[0].share;
    return 1;
}

static int find_network(const struct pw_advice_input *in, struct pw_shared *out)
{
    if (!in->verdict.network || in->verdict.kind == PW_VERDICT_NETWORK)
        return 0;
    out->ns = out->cost_ns = in->verdict.network->gain_ns;
    out->share = in->verdict.network->share;
    return 1;
}

/* ---- transfers that nothing hides ---- */

/* Waits for other ranks do not count. Nothing is found when ranks lacked a CPU, because that makes
 * transfers longer, too, nor when the verdict is a slow network, which explains them. */
static int find_transfers(const struct pw_advice_input *in, struct pw_shared *out)
{
    out->step_ns = in->mean.wait_ns < 0 ? in->mean.comm_exposed_ns : transfers_of_step(in);
    out->share = share_of(out->step_ns, in->mean.total_ns);
    if (out->share < PW_SHARED_TRANSFERS_SHARE || pw_nocpu_find(in->cluster).worst >= 0 ||
        in->verdict.kind == PW_VERDICT_NETWORK)
        return 0;
    out->ns = in_all_steps(in, out->step_ns);
    out->cost_ns = out->ns / (in->present > 0 ? in->present : 1);
    return 1;
}

/* ---- waits for each other for which no rank is named ---- */

/* Equal work for all cannot make the job longer, nor gain far less than one rank that works like
 * the others. A replay that says so lacks something, as where ranks poll, and the polling is their
 * work. */
static int is_doubtful(const struct pw_advice_input *in)
{
    double job = 0, most = 0;
    for (size_t i = 0; i < in->cluster->nwhatif; i++) {
        const struct pw_row_c_whatif *row = &in->cluster->whatif[i];
        const double gain = share_of(row->gain_ns, row->elapsed_ns);
        if (strcmp(row->scope, "job") == 0)
            job = gain;
        else if (strcmp(row->scope, "rank") == 0 && gain > most)
            most = gain;
    }
    return job < -PW_SHARED_REPLAY_ERROR || (most >= PW_SHARED_REPLAY_RANK && most >= 2 * job);
}

/* What balanced work would gain is the cost. Where that is little, the order of the calls makes the
 * ranks wait, as in a pipeline: then the waits must be much of the whole run. */
static int find_waits(const struct pw_advice_input *in, struct pw_shared *out)
{
    const int64_t gain_ns = pw_advice_whatif_gain(in, "job");
    out->step_ns = in->mean.wait_ns;
    out->share = share_of(out->step_ns, in->mean.total_ns);
    out->ns = in_all_steps(in, out->step_ns);
    if (!pw_advice_is_unnamed(in) || out->share < PW_SHARED_WAITS_SHARE || in->mean.total_ns <= 0 ||
        in->present <= 0)
        return 0;
    const double least = PW_SHARED_WAITS_SHARE * (double)in->mean.total_ns * (double)in->measured;
    const int64_t wait_ns = out->ns / in->present, run_ns = longest_run(in->cluster);
    out->is_ordered = (double)gain_ns < least;
    if (gain_ns < 0 ||
        (out->is_ordered && (double)wait_ns < PW_SHARED_WAITS_SHARE * (double)run_ns))
        return 0;
    out->cost_ns = gain_ns;
    out->is_doubtful = out->is_ordered && is_doubtful(in);
    out->is_uneven = !pw_advice_is_balanced(in);
    return 1;
}

/* ---- all ranks together in MPI_Init or MPI_Finalize ---- */

static int is_rank_named_for(const struct pw_cluster *c, enum pw_part part)
{
    for (size_t i = 0; i < c->nstragglers; i++)
        if (c->stragglers[i].part == part)
            return 1;
    return 0;
}

/* The time that every rank was in the call; 0: that of some rank is not known. */
static int64_t least_in_call(const struct pw_cluster *c, enum pw_part part)
{
    int64_t least_ns = INT64_MAX;
    for (size_t r = 0; c->part_trace && r < c->nrank_rows; r++) {
        const int64_t ns = c->part_trace[(part - PW_PART_START) * c->nrank_rows + r].total_ns;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return least_ns < 0 || least_ns == INT64_MAX ? 0 : least_ns;
}

/* Ranks wait for each other in these calls, and it is not recorded for which. */
static int find_in_call(const struct pw_advice_input *in, enum pw_part part, double least,
                        int64_t least_ns, struct pw_shared *out)
{
    const struct pw_cluster *c = in->cluster;
    out->cost_ns = least_in_call(c, part);
    out->share = share_of(out->cost_ns, longest_run(c));
    if (c->restricted_to[0] || in->present < 2 || out->share < least || out->cost_ns < least_ns ||
        is_rank_named_for(c, part))
        return 0;
    out->ns = pw_whole((double)out->cost_ns * (double)in->present);
    return 1;
}

static int find_init(const struct pw_advice_input *in, struct pw_shared *out)
{
    return find_in_call(in, PW_PART_INIT, PW_SHARED_INIT_SHARE, PW_SHARED_INIT_NS, out);
}

static int find_finalize(const struct pw_advice_input *in, struct pw_shared *out)
{
    return find_in_call(in, PW_PART_FINALIZE, PW_SHARED_FINALIZE_SHARE, PW_SHARED_FINALIZE_NS, out);
}

size_t pw_shared_find(const struct pw_advice_input *in, struct pw_shared out[PW_SHARED_KINDS])
{
    static int (*const find[PW_SHARED_KINDS])(const struct pw_advice_input *,
                                              struct pw_shared *) = {
        [PW_SHARED_HOST_LATE] = find_host_late, [PW_SHARED_DATA_WAIT] = find_data_wait,
        [PW_SHARED_NO_CPU] = find_no_cpu,       [PW_SHARED_ALL_SLOWER] = find_all_slower,
        [PW_SHARED_NETWORK] = find_network,     [PW_SHARED_TRANSFERS] = find_transfers,
        [PW_SHARED_WAITS] = find_waits,         [PW_SHARED_INIT] = find_init,
        [PW_SHARED_FINALIZE] = find_finalize,
    };
    size_t n = 0;
    for (int kind = 0; kind < PW_SHARED_KINDS; kind++) {
        struct pw_shared one = {.kind = (enum pw_shared_kind)kind, .rank = -1, .of_rank = -1};
        if (!find[kind](in, &one))
            continue;
        size_t at = n++;
        for (; at > 0 && out[at - 1].cost_ns < one.cost_ns; at--)
            out[at] = out[at - 1];
        out[at] = one;
    }
    return n;
}

/* ---- the verdict ---- */

/* Whether the records of the first straggler show that it was late; unknown facts about other ranks
 * do not change that. */
static int has_straggler(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    const struct pw_cluster *c = in->cluster;
    return c->nstragglers && !v->unrecorded.is_silent &&
           !(v->unrecorded.ranks && pw_unrecorded_has(c, c->stragglers[0].rank)) &&
           !pw_unrecorded_is_silent(c, c->stragglers[0].rank);
}

static double straggler_cost(const struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    const int64_t together_ns = pw_advice_together_gain(in);
    if (!c->nstragglers || together_ns >= 0)
        return together_ns >= 0 ? (double)together_ns : 0;
    const struct pw_row_c_straggler *worst = &c->stragglers[0];
    return worst->gain_ns >= 0 ? (double)worst->gain_ns
                               : (double)worst->excess_ns * (double)worst->steps_hit;
}

/* ---- partners that were not recorded ---- */

/* How many ranks a list such as "0-3,8" has; -1: it was cut. */
static int64_t count_listed(const char *list)
{
    int64_t n = 0;
    while (*list) {
        char *end;
        const long first = strtol(list, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (end == list || (*end && *end != ','))
            return -1;
        n += last - first + 1;
        list = *end ? end + 1 : end;
    }
    return n;
}

/* Whether the communicator has members that were not recorded, besides some that were. */
static int has_unseen(const struct pw_cluster *c, uint64_t uid)
{
    for (size_t i = 0; i < c->ncommunicators; i++)
        if (c->communicators[i].comm_uid == uid) {
            const int64_t n = count_listed(c->communicators[i].ranks);
            return n > 0 && n < c->communicators[i].nranks;
        }
    return 0;
}

/* Whether the row is of a measured step, not all of its members were recorded, and those that were
 * do nothing else in it. */
static int is_with_partners(const struct pw_cluster *c, const struct pw_row_c_collective *row)
{
    const size_t at =
        pw_search(c->steps, c->nstep_rows, PW_SEARCH_KEY(struct pw_row_c_step, step), row->step);
    return !row->complete && row->step >= 0 && row->nranks > 1 && at < c->nstep_rows &&
           c->steps[at].step == row->step && c->steps[at].recorded == PW_RECORDED_ACTIVE &&
           !pw_advice_is_nonblocking(row->op) && !pw_source_is_on_device(row->source);
}

/* Whether a rank lost records: then it is not known which of its collectives are incomplete because
 * of that. */
static int has_dropped(const struct pw_cluster *c)
{
    for (size_t i = 0; i < c->nrank_rows; i++)
        if (c->ranks[i].dropped_events > 0)
            return 1;
    return 0;
}

/* Of several communicators the one with the longest wait counts: their waits may overlap. */
static struct pw_partners find_partners(const struct pw_advice_input *in,
                                        const struct pw_unrecorded_sum *u)
{
    enum { COMMS = 64 };
    struct {
        uint64_t uid;
        int has_unseen;
        int64_t ns, bytes;
    } sums[COMMS + 1] = {{0}}, *most = sums;
    size_t n = 0;
    const struct pw_cluster *c = in->cluster;
    const int is_all =
        (in->present == in->expected && !u->ranks && !u->silent_ranks && !u->spawned) ||
        has_dropped(c);
    for (size_t i = 0; !is_all && in->measured && i < c->ncollectives; i++) {
        const struct pw_row_c_collective *row = &c->collectives[i];
        size_t k = 0;
        if (!is_with_partners(c, row) || row->first_exit <= row->last_enter)
            continue;
        while (k < n && sums[k].uid != row->comm_uid)
            k++;
        if (k == COMMS)
            continue;
        if (k == n) {
            sums[n].uid = row->comm_uid;
            sums[n++].has_unseen = has_unseen(c, row->comm_uid);
        }
        if (!sums[k].has_unseen)
            continue;
        sums[k].ns = pw_sum(sums[k].ns, row->first_exit - row->last_enter);
        sums[k].bytes = pw_sum(sums[k].bytes, row->bytes);
        most = sums[k].ns > most->ns ? &sums[k] : most;
    }
    if (most->ns <= 0)
        return (struct pw_partners){0};
    const int is_sure = (double)most->bytes * 1e9 < PW_PARTNERS_BANDWIDTH * (double)most->ns;
    double ns = (double)most->ns / (double)in->measured;
    ns = ns < (double)in->step_mean_ns ? ns : (double)in->step_mean_ns;
    if (ns < (is_sure ? PW_PARTNERS_SHARE : PW_PARTNERS_MOSTLY) * (double)in->step_mean_ns)
        return (struct pw_partners){0};
    return (struct pw_partners){pw_whole(ns), is_sure};
}

/* Whether ranks that were not recorded cost more than any that was: who waits is not to blame. */
static int is_led_by_partners(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    const struct pw_row_c_straggler *worst = in->cluster->stragglers;
    double cost = straggler_cost(in);
    if (in->cluster->nstragglers && worst->kind == PW_STRAGGLER_STRETCH && worst->gain_ns < 0)
        cost = (double)worst->excess_ns;
    return (double)v->partners.wait_ns * (double)in->measured > cost;
}

/* The evidence that is missing. The order matters: without the evidence that is asked for first,
 * the rest says nothing. */
static enum pw_wanting find_wanting(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    if (in->present == 0)
        return PW_WANTING_RANKS;
    if (has_straggler(in, v) && !is_led_by_partners(in, v))
        return PW_WANTING_NOTHING;
    if (v->unrecorded.ranks > 0)
        return PW_WANTING_RECORDED_MPI;
    if (v->partners.wait_ns && v->unrecorded.spawned && in->present == in->expected)
        return PW_WANTING_SPAWNED;
    if (in->expected == 1)
        return PW_WANTING_NOTHING;
    if (v->unrecorded.is_silent || v->unrecorded.silent_ranks)
        return PW_WANTING_COMMUNICATION;
    if (in->present < in->expected)
        return PW_WANTING_ALL_RANKS;
    if (in->measured == 0)
        return PW_WANTING_STEPS;
    if (in->measured < STEPS_LEAST)
        return PW_WANTING_MORE_STEPS;
    if (v->nccl.unmatched)
        return PW_WANTING_WAITS;
    if (v->nccl.untimed)
        return PW_WANTING_NCCL_TIMES;
    if (v->nccl.unplaced)
        return PW_WANTING_NCCL_REPLAYS;
    return in->clock_error_max_ns < 0 ? PW_WANTING_CLOCKS : PW_WANTING_NOTHING;
}

/* The first, and so most expensive, imbalance that `has` accepts and that costs 1 % of the steps;
 * NULL when there is none. */
static const struct pw_row_c_imbalance *
first_imbalance(const struct pw_advice_input *in, int (*has)(const struct pw_row_c_imbalance *))
{
    const double least = (double)in->step_mean_ns * (double)in->measured / 100;
    for (size_t i = 0; i < in->cluster->nimbalances; i++) {
        const struct pw_row_c_imbalance *row = &in->cluster->imbalances[i];
        if (has(row) && (double)pw_imbalance_cost(row, in->measured) >= least)
            return row;
    }
    return NULL;
}

/* 1 when slow transfers cost more than any straggler, any imbalance, and any time in which all
 * ranks were slower, except one that the transfers explain. */
static int is_network(const struct pw_advice_input *in, const struct pw_verdict *v,
                      const struct pw_row_c_trend *trend)
{
    const struct pw_row_c_network *row = v->network;
    if (!row || (double)row->gain_ns <= straggler_cost(in))
        return 0;
    if (v->imbalance && pw_imbalance_cost(v->imbalance, in->measured) >= row->gain_ns)
        return 0;
    return !trend || row->gain_ns > trend->cost_ns || pw_network_explains(row, trend);
}

/* Whether a slow rank would not be seen: waits are lost in the clock error, and the steps are cut
 * at another rank's times, so that the time outside communication needs a common clock, too. */
static int is_lost_in_clocks(const struct pw_advice_input *in)
{
    return in->cluster->steps_inferred > 0 && in->step_mean_ns > 0 &&
           (double)in->clock_error_max_ns > PW_CLOCK_COARSE * (double)in->step_mean_ns;
}

int pw_advice_is_polled(const struct pw_cluster *c)
{
    for (size_t i = 0; i < c->ncompleteness; i++)
        if (strncmp(c->completeness[i].what, "requests_polled", sizeof(c->completeness[i].what)) ==
            0)
            return 1;
    return 0;
}

/* Whether a wait would not be seen: requests are open for most of a step, nearly nothing of it in
 * calls that block, and the program tests them in between. */
static int is_lost_in_polls(const struct pw_advice_input *in)
{
    const struct pw_row_c_step_trace *mean = &in->mean;
    return mean->comm_exposed_ns >= 0 && mean->total_ns > 0 &&
           (double)(mean->comm_ns - mean->comm_exposed_ns) >=
               PW_POLLED_SHARE * (double)mean->total_ns &&
           pw_advice_is_polled(in->cluster);
}

static enum pw_verdict_kind find_kind(const struct pw_advice_input *in, struct pw_verdict *v)
{
    if (v->wanting != PW_WANTING_NOTHING)
        return PW_VERDICT_UNKNOWN;
    if (in->expected == 1)
        return PW_VERDICT_SINGLE_RANK;
    const struct pw_row_c_trend *trend = pw_trends_leading(in->cluster);
    if (is_network(in, v, trend))
        return PW_VERDICT_NETWORK;
    /* Work that grows may be the program's own: no loss stands behind it. */
    const double others = !trend                             ? straggler_cost(in)
                          : trend->kind == PW_SLOWING_STEADY ? 0
                                                             : (double)trend->cost_ns;
    if (v->imbalance && (double)pw_imbalance_cost(v->imbalance, in->measured) > others)
        return PW_VERDICT_IMBALANCE;
    if (!in->cluster->nstragglers && is_lost_in_polls(in)) {
        v->wanting = PW_WANTING_BLOCKING;
        return PW_VERDICT_UNKNOWN;
    }
    if (trend)
        return PW_VERDICT_ALL_SLOWER;
    if (in->cluster->nstragglers)
        return PW_VERDICT_HELD_BACK;
    v->wanting = v->alone                ? PW_WANTING_PEERS
                 : is_lost_in_clocks(in) ? PW_WANTING_CLOCKS
                                         : PW_WANTING_NOTHING;
    return v->wanting != PW_WANTING_NOTHING ? PW_VERDICT_UNKNOWN : PW_VERDICT_NONE;
}

/* What the verdict names costs, ns; -1: it names nothing. */
static int64_t cost_of(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    switch (v->kind) {
    case PW_VERDICT_ALL_SLOWER:
        return pw_trends_leading(in->cluster)->cost_ns;
    case PW_VERDICT_IMBALANCE:
        return pw_imbalance_cost(v->imbalance, in->measured);
    case PW_VERDICT_NETWORK:
        return v->network->gain_ns;
    default:
        return -1;
    }
}

/* Finds what reports begin with. A named rank always comes first, and without a verdict nothing is
 * known to be first. */
static int find_lead(const struct pw_advice_input *in, const struct pw_verdict *v)
{
    struct pw_shared found[PW_SHARED_KINDS];
    struct pw_advice_input judged = *in;
    if (v->kind == PW_VERDICT_HELD_BACK || v->kind == PW_VERDICT_UNKNOWN)
        return -1;
    judged.verdict = *v;
    const size_t n = pw_shared_find(&judged, found);
    return n && found[0].cost_ns > cost_of(in, v) ? (int)found[0].kind : -1;
}

static void find_verdict(const struct pw_advice_input *in, struct pw_verdict *verdict)
{
    *verdict = (struct pw_verdict){.kind = PW_VERDICT_UNKNOWN, .lead = -1};
    pw_advice_nccl_unknown(in->cluster, &verdict->nccl);
    pw_unrecorded_sum(in->cluster, &verdict->unrecorded);
    verdict->partners = find_partners(in, &verdict->unrecorded);
    verdict->wanting = find_wanting(in, verdict);
    verdict->imbalance = first_imbalance(in, pw_imbalance_is_sure);
    verdict->alone = first_imbalance(in, pw_imbalance_is_alone);
    verdict->network = pw_network_worst(in->cluster);
    verdict->kind = find_kind(in, verdict);
    verdict->lead = find_lead(in, verdict);
}

const char *pw_verdict_name(enum pw_verdict_kind kind)
{
    static const char *const names[] = {
        [PW_VERDICT_HELD_BACK] = "held_back", [PW_VERDICT_ALL_SLOWER] = "all_slower",
        [PW_VERDICT_IMBALANCE] = "imbalance", [PW_VERDICT_NETWORK] = "network",
        [PW_VERDICT_NONE] = "none",           [PW_VERDICT_SINGLE_RANK] = "single_rank",
        [PW_VERDICT_UNKNOWN] = "unknown",
    };
    return names[kind];
}

const char *pw_verdict_reason(enum pw_wanting wanting)
{
    static const char *const names[] = {
        [PW_WANTING_NOTHING] = NULL,
        [PW_WANTING_RANKS] = "no_ranks",
        [PW_WANTING_RECORDED_MPI] = "mpi_not_recorded",
        [PW_WANTING_COMMUNICATION] = "no_communication",
        [PW_WANTING_ALL_RANKS] = "ranks_missing",
        [PW_WANTING_SPAWNED] = "spawned_not_recorded",
        [PW_WANTING_STEPS] = "no_steps",
        [PW_WANTING_MORE_STEPS] = "few_steps",
        [PW_WANTING_WAITS] = "waits_unknown",
        [PW_WANTING_NCCL_TIMES] = "nccl_untimed",
        [PW_WANTING_NCCL_REPLAYS] = "nccl_unplaced",
        [PW_WANTING_CLOCKS] = "clocks_not_aligned",
        [PW_WANTING_BLOCKING] = "requests_polled",
        [PW_WANTING_PEERS] = "no_peers",
    };
    return names[wanting];
}

/* ---- the input of all rules ---- */

static int64_t add_known(int64_t sum, int64_t value)
{
    return value < 0 ? sum : pw_sum(sum, value);
}

static void count_ranks(struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    int unaligned = 0;
    in->expected = larger(c->nranks, (int64_t)c->nrank_rows);
    in->clock_error_max_ns = c->clock_error_max_ns;
    for (size_t r = 0; r < c->nrank_rows; r++) {
        const struct pw_row_c_rank *rank = &c->ranks[r];
        in->present += rank->present != 0;
        in->unclosed += rank->present && rank->complete != 1 && c->snapshot <= 0;
        in->dropped_events = add_known(in->dropped_events, rank->dropped_events);
        in->clock_error_max_ns = larger(in->clock_error_max_ns, rank->clock_error_ns);
        unaligned |= rank->present && rank->clock_error_ns < 0;
        if (rank->overhead_ns >= 0 && rank->run_ns > 0) {
            in->overhead_ns = add_known(in->overhead_ns, rank->overhead_ns);
            in->overhead_of_ns = add_known(in->overhead_of_ns, rank->run_ns);
        }
    }
    if (unaligned)
        in->clock_error_max_ns = -1;
}

/* 1 when the program looks like training; then texts speak of training. Ranges of operators are no
 * sign of training, because other programs have them, too. */
static int is_training(const struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    int seen = c->nqueues > 0 || in->mean.interval_ns >= 0 || in->mean.fp_bp_ns >= 0 ||
               in->mean.tail_ns >= 0 || in->mean.data_wait_ns >= 0;
    for (size_t i = 0; i < c->nstragglers && !seen; i++)
        seen =
            c->stragglers[i].phase >= PW_PHASE_DATA && c->stragglers[i].phase <= PW_PHASE_OPTIMIZER;
    for (size_t i = 0; i < c->nwhatif && !seen; i++)
        seen = strncmp(c->whatif[i].scope, "phase", sizeof(c->whatif[i].scope)) == 0 &&
               c->whatif[i].phase >= PW_PHASE_DATA && c->whatif[i].phase <= PW_PHASE_OPTIMIZER;
    for (size_t i = 0; i < c->ncollective_stats && !seen; i++)
        seen = pw_source_is_on_device(c->collective_stats[i].source);
    return seen;
}

void pw_advice_prepare(struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_mean duration = {0};
    in->present = in->unclosed = in->dropped_events = in->measured = 0;
    in->overhead_ns = in->overhead_of_ns = 0;
    count_ranks(in);
    for (size_t s = 0; s < c->nstep_rows; s++)
        if (c->steps[s].recorded == PW_RECORDED_ACTIVE) {
            in->measured++;
            pw_mean_add(&duration, c->steps[s].duration_ns);
        }
    in->step_mean_ns = pw_mean_value(&duration);
    in->is_training = is_training(in);
    find_verdict(in, &in->verdict);
}
