/* Finds the highlights and writes their sentences; see firstscreen.h. */
#include "report/content/firstscreen.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/advice/findings.h"
#include "core/limits.h"
#include "core/text.h"
#include "report/writing/words.h"

#define WAITS_LEAST 0.05     /* late_rank: least share of the ranks' time */
#define GPUS_DRY_LEAST 0.1   /* least share of the GPUs' time */
#define DATA_WAIT_LEAST 0.1  /* least share of a step */
#define TRANSFERS_LEAST 0.25 /* least share of a step */
#define STANDS_OUT 0.1       /* a rank stands out: least share of its time above the mean */

/* ---- the rank that the others waited for ---- */

struct waiting {
    int64_t total_ns;  /* waits of all ranks in complete collectives */
    int64_t for_ns;    /* of these, waits for the rank that the others waited for most */
    int64_t beyond_ns; /* of these, waits in which that rank was later than the clock error */
    int32_t rank;
};

/* Returns the row of a rank; usually it is the rank's number. */
static int64_t row_of(const struct pw_figures *f, int32_t rank)
{
    if (rank < 0)
        return -1;
    return (size_t)rank < f->nranks && f->cluster->ranks[rank].rank == rank
               ? rank
               : pw_figures_row(f, rank);
}

/* Sums the waits by the rank that was last; `sums` has two values for each row of /ranks. */
static void sum_waits(const struct pw_figures *f, struct waiting *w, int64_t *sums)
{
    const struct pw_cluster *c = f->cluster;
    for (size_t i = 0; i < c->ncollectives; i++) {
        const struct pw_row_c_collective *row = &c->collectives[i];
        const int64_t r = row_of(f, row->last_rank);
        if (!row->complete || row->wait_ns <= 0)
            continue;
        w->total_ns = pw_sum(w->total_ns, row->wait_ns);
        if (r < 0)
            continue;
        sums[2 * r] = pw_sum(sums[2 * r], row->wait_ns);
        if (row->error_ns >= 0 && row->critical_ns > row->error_ns)
            sums[2 * r + 1] = pw_sum(sums[2 * r + 1], row->wait_ns);
        if (sums[2 * r] > w->for_ns) {
            w->for_ns = sums[2 * r];
            w->rank = row->last_rank;
        }
    }
    const int64_t r = row_of(f, w->rank);
    w->beyond_ns = r >= 0 ? sums[2 * r + 1] : 0;
}

/* Finds that rank; -1: there is none, or memory is short. */
static struct waiting find_waiting(const struct pw_figures *f)
{
    struct waiting w = {.rank = -1};
    int64_t *sums = calloc(2 * f->nranks + 1, sizeof(*sums));
    if (sums)
        sum_waits(f, &w, sums);
    free(sums);
    return w;
}

static double time_of_ranks(const struct pw_figures *f)
{
    const double ranks = (double)f->present;
    return f->measured && f->trace_mean.total_ns > 0
               ? (double)f->trace_mean.total_ns * (double)f->measured * ranks
               : (double)f->run_ns * ranks;
}

/* Used only when too little was recorded for a verdict; otherwise the verdict is based on the same
 * waits. */
static int find_late_rank(const struct pw_figures *f, struct pw_highlight *out)
{
    const enum pw_wanting wanting = pw_figures_advice(f).verdict.wanting;
    const double all_ns = time_of_ranks(f), even = f->present > 0 ? 1.5 / (double)f->present : 1;
    if (wanting != PW_WANTING_MORE_STEPS && wanting != PW_WANTING_ALL_RANKS &&
        wanting != PW_WANTING_STEPS)
        return 0;
    if (f->clock_error_max_ns < 0 || f->present < 2 || !(all_ns > 0))
        return 0;
    const struct waiting w = find_waiting(f);
    const double part = w.total_ns > 0 ? (double)w.for_ns / (double)w.total_ns : 0;
    *out = (struct pw_highlight){.kind = "late_rank",
                                 .rank = w.rank,
                                 .ns = w.total_ns,
                                 .share = (double)w.total_ns / all_ns,
                                 .of_rank = part};
    /* With two ranks, one of them always has half of the waits. */
    if (out->share < WAITS_LEAST || part < 0.5 || part < even ||
        2 * (double)w.beyond_ns < (double)w.for_ns)
        return 0;
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    pw_words_add_percent(&s, "In collectives ranks waited ", out->share,
                         " of the time for each other");
    pw_words_add_percent(&s, ", ", part, " of it for ");
    pw_sentence_add(&s, "rank %" PRId32, w.rank);
    if (w.beyond_ns < w.for_ns)
        pw_words_add_percent(&s, " (", (double)w.beyond_ns / (double)w.total_ns,
                             " where it was later than the clock error)");
    pw_sentence_add(&s, ".");
    return 1;
}

/* ---- GPUs that the host left dry ---- */

/* Time in which hosts waited for other ranks, which then are the cause of idle GPUs. Waits in NCCL
 * do not count, because they keep the GPU busy. */
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

static int find_host_late(const struct pw_figures *f, struct pw_highlight *out)
{
    const struct pw_cluster *c = f->cluster;
    int64_t span_ns = 0;
    *out = (struct pw_highlight){.kind = "host_late", .rank = -1, .of_rank = -1};
    if (c->restricted_to[0])
        return 0; /* the figures of GPUs are of the whole run */
    for (size_t i = 0; i < c->ngpu_ranks; i++) {
        const struct pw_row_c_gpu_rank *row = &c->gpu_ranks[i];
        const double share = pw_figures_share(row->idle_host_ns, row->span_ns);
        if (share < 0)
            continue;
        span_ns = pw_sum(span_ns, row->span_ns);
        out->ns = pw_sum(out->ns, row->idle_host_ns);
        out->rank = share > out->of_rank ? row->rank : out->rank;
        out->of_rank = share > out->of_rank ? share : out->of_rank;
    }
    const int64_t waits_ns = waits_of_hosts(c);
    out->ns -= waits_ns;
    out->share = span_ns > 0 ? (double)out->ns / (double)span_ns : 0;
    if (out->share < GPUS_DRY_LEAST)
        return 0;
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    pw_words_add_percent(&s, waits_ns ? "GPUs were idle for at least " : "GPUs were idle for ",
                         out->share,
                         " of the time, because the host launched their next kernel late");
    if (out->of_rank < out->share + STANDS_OUT || waits_ns) {
        out->rank = -1;
        out->of_rank = -1;
    } else {
        pw_sentence_add(&s, " (rank %" PRId32, out->rank);
        pw_words_add_percent(&s, ": ", out->of_rank, ")");
    }
    pw_sentence_add(&s, ".");
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

/* The share of data waits in steps that no straggler's row covers. */
static double data_wait_beside(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    double wait = 0, total = 0;
    for (size_t s = 0; c->nstragglers && s < c->nstep_rows; s++)
        for (size_t r = 0; r < f->nranks && c->steps[s].recorded == PW_RECORDED_ACTIVE; r++) {
            const struct pw_row_c_step_trace *cell = &c->step_trace[s * f->nranks + r];
            if (cell->data_wait_ns < 0 || cell->total_ns < 0 ||
                is_straggling(c, c->ranks[r].rank, c->steps[s].step))
                continue;
            wait += (double)cell->data_wait_ns;
            total += (double)cell->total_ns;
        }
    return !c->nstragglers ? f->data_wait_share : total > 0 ? wait / total : 0;
}

static int find_data_wait(const struct pw_figures *f, struct pw_highlight *out)
{
    const struct pw_cluster *c = f->cluster;
    char wait[32], step[32];
    *out = (struct pw_highlight){.kind = "data_wait", .rank = -1, .of_rank = -1};
    if (c->nstragglers && (c->stragglers[0].phase == PW_PHASE_DATA ||
                           c->stragglers[0].cause == PW_CAUSE_DATA_STARVATION))
        return 0; /* the headline reports this */
    out->share = f->data_wait_share;
    if (out->share < DATA_WAIT_LEAST || data_wait_beside(f) < DATA_WAIT_LEAST)
        return 0;
    for (size_t r = 0; r < f->nranks; r++) {
        const struct pw_row_c_step_trace *trace = &f->trace[r];
        const double share = pw_figures_share(trace->data_wait_ns, trace->total_ns);
        if (share >= 0)
            out->ns =
                pw_sum(out->ns, pw_whole((double)trace->data_wait_ns * (double)f->samples[r]));
        out->rank = share > out->of_rank ? c->ranks[r].rank : out->rank;
        out->of_rank = share > out->of_rank ? share : out->of_rank;
    }
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    pw_words_add_percent(&s, "Waiting for data takes ", out->share, " of a step");
    pw_sentence_add(&s, " (%s of %s on average",
                    pw_text_ns(wait, sizeof(wait), f->trace_mean.data_wait_ns),
                    pw_text_ns(step, sizeof(step), f->trace_mean.total_ns));
    if (out->of_rank < out->share + STANDS_OUT) {
        out->rank = -1;
        out->of_rank = -1;
    } else {
        pw_sentence_add(&s, "; rank %" PRId32, out->rank);
        pw_words_add_percent(&s, ": ", out->of_rank, "");
    }
    pw_sentence_add(&s, ").");
    return 1;
}

/* ---- more to run than cores ---- */

static int find_no_cpu(const struct pw_figures *f, struct pw_highlight *out)
{
    const struct pw_nocpu found = pw_nocpu_find(f->cluster);
    *out = (struct pw_highlight){.kind = "no_cpu", .rank = -1, .of_rank = -1};
    if (found.worst < 0 || f->cluster->restricted_to[0])
        return 0; /* the shares are of the whole run */
    out->share = found.share;
    out->ns = pw_whole(out->share * (double)f->run_ns * (double)f->present);
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    pw_words_add_percent(&s, "Ranks were ready to run but without a CPU for at least ", out->share,
                         " of the time");
    if (!f->is_silent)
        pw_sentence_add(&s, ", not counting waits for each other");
    if (found.worst_share >= out->share + STANDS_OUT) {
        out->rank = found.worst;
        out->of_rank = found.worst_share;
        pw_sentence_add(&s, " (rank %" PRId32, out->rank);
        pw_words_add_percent(&s, ": ", out->of_rank, ")");
    }
    pw_sentence_add(&s, ": their hosts have more to run than cores.");
    return 1;
}

/* ---- steps in which all ranks were slower ---- */

/* Finds nothing when the headline reports it. Warm-up is reported only in the list of trends. */
static int find_all_slower(const struct pw_figures *f, struct pw_highlight *out)
{
    const struct pw_cluster *c = f->cluster;
    *out = (struct pw_highlight){.kind = "all_slower", .rank = -1, .of_rank = -1};
    if (!c->ntrends || c->trends[0].kind == PW_SLOWING_WARM_UP ||
        pw_figures_advice(f).verdict.kind == PW_VERDICT_ALL_SLOWER)
        return 0;
    out->ns = c->trends[0].cost_ns;
    out->share = c->trends[0].share;
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    pw_trends_say(c, &c->trends[0], &s);
    pw_sentence_add(&s, ".");
    return 1;
}

/* ---- the network ---- */

/* Finds nothing when the headline reports it. */
static int find_network(const struct pw_figures *f, struct pw_highlight *out)
{
    const struct pw_verdict verdict = pw_figures_advice(f).verdict;
    *out = (struct pw_highlight){.kind = "slow_network", .rank = -1, .of_rank = -1};
    if (!verdict.network || verdict.kind == PW_VERDICT_NETWORK)
        return 0;
    out->ns = verdict.network->gain_ns;
    out->share = verdict.network->share;
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    pw_network_say(verdict.network, &s);
    pw_sentence_add(&s, ".");
    return 1;
}

/* ---- transfers that nothing hides ---- */

/* Waits for other ranks do not count. Nothing is found when ranks lacked a CPU, because that makes
 * transfers longer, too. */
static int find_transfers(const struct pw_figures *f, struct pw_highlight *out)
{
    const struct pw_row_c_step_trace *mean = &f->trace_mean;
    char time[32], step[32];
    *out = (struct pw_highlight){.kind = "transfers", .rank = -1, .of_rank = -1};
    if (mean->comm_exposed_ns < 0 || mean->wait_ns < 0 || mean->total_ns <= 0 ||
        pw_nocpu_find(f->cluster).worst >= 0 ||
        pw_figures_advice(f).verdict.kind == PW_VERDICT_NETWORK)
        return 0;
    const int64_t ns = mean->comm_exposed_ns - mean->wait_ns;
    out->share = (double)ns / (double)mean->total_ns;
    out->ns = pw_whole((double)ns * (double)f->measured * (double)f->present);
    if (out->share < TRANSFERS_LEAST)
        return 0;
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    pw_words_add_percent(&s, "Transfers that no computation hides take ", out->share, " of a step");
    pw_sentence_add(&s, " (%s of %s on average, without waiting for other ranks).",
                    pw_text_ns(time, sizeof(time), ns),
                    pw_text_ns(step, sizeof(step), mean->total_ns));
    return 1;
}

/* Whether the headline begins with the largest highlight: when the evidence for a verdict is
 * complete, and it names nothing. */
static int is_headline(const struct pw_figures *f)
{
    const enum pw_verdict_kind kind = pw_figures_advice(f).verdict.kind;
    return kind == PW_VERDICT_NONE || kind == PW_VERDICT_SINGLE_RANK;
}

size_t pw_highlights_find(const struct pw_figures *figures, struct pw_highlight out[PW_HIGHLIGHTS])
{
    static int (*const find[PW_HIGHLIGHTS])(const struct pw_figures *, struct pw_highlight *) = {
        find_late_rank,  find_host_late, find_data_wait, find_no_cpu,
        find_all_slower, find_network,   find_transfers};
    size_t n = 0;
    for (size_t i = 0; i < PW_HIGHLIGHTS; i++) {
        struct pw_highlight one;
        if (!find[i](figures, &one))
            continue;
        size_t at = n++;
        for (; at > 0 && out[at - 1].share < one.share; at--)
            out[at] = out[at - 1];
        out[at] = one;
    }
    if (n)
        out[0].is_headline = is_headline(figures);
    return n;
}
