/* Judges rows of the cluster's tables and says what they mean; see findings.h. */
#include "analysis/advice/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cause.h"
#include "analysis/statistics.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/search.h"
#include "core/text.h"

static int is(const char field[16], const char *name)
{
    return strncmp(field, name, 16) == 0;
}

/* ---- slow transfers between hosts ---- */

/* 1 when a rank lacked a CPU. Such a rank makes its transfers longer, so the network is not to
 * blame. */
static int is_starved(const struct pw_cluster *c)
{
    double least = 1, most = 0, throttled = 0;
    for (size_t i = 0; i < c->nutilisation; i++) {
        const struct pw_row_c_utilisation *row = &c->utilisation[i];
        if (row->runq_share >= 0) {
            least = row->runq_share < least ? row->runq_share : least;
            most = row->runq_share > most ? row->runq_share : most;
        }
        throttled = row->throttled_share > throttled ? row->throttled_share : throttled;
    }
    return throttled > PW_TRANSFERS_THROTTLED || most - least > PW_TRANSFERS_READY;
}

const struct pw_row_c_network *pw_network_worst(const struct pw_cluster *c)
{
    return c->nnetwork && !is_starved(c) ? &c->network[0] : NULL;
}

int pw_network_explains(const struct pw_row_c_network *row, const struct pw_row_c_trend *trend)
{
    return row->first_step <= trend->last_step && trend->first_step <= row->last_step &&
           (double)row->gain_ns >= (double)trend->cost_ns / 2;
}

static void say_unsteady(const struct pw_row_c_network *row, struct pw_sentence *s)
{
    char mean[32], fast[32], gain[32];
    pw_sentence_add(s,
                    "The network between all hosts was unsteady: %" PRId64
                    " transfers took %s on average; if all were as fast as the fastest 2 %% of "
                    "their kind (%s on average), the job would save %s",
                    row->transfers, pw_text_ns(mean, sizeof(mean), row->mean_ns),
                    pw_text_ns(fast, sizeof(fast), row->usual_ns),
                    pw_text_ns(gain, sizeof(gain), row->gain_ns));
    pw_sentence_add(s, row->share < 0.1 ? " (%.1f %%)" : " (%.0f %%)", 100 * row->share);
    pw_sentence_add(s, " by the replay");
}

void pw_network_say(const struct pw_row_c_network *row, struct pw_sentence *s)
{
    char mean[32], usual[32], cost[32];
    if (is(row->scope, "unsteady")) {
        say_unsteady(row, s);
        return;
    }
    if (is(row->scope, "link"))
        pw_sentence_add(s, "The link between ranks %" PRId32 " and %" PRId32 " (%.64s, %.64s) was",
                        row->src, row->dst, row->hostname, row->peer_hostname);
    else if (is(row->scope, "host"))
        pw_sentence_add(s, "The network at host %.64s was", row->hostname);
    else
        pw_sentence_add(s, "The network between all hosts was");
    pw_sentence_add(s,
                    " slow in steps %" PRId64 "-%" PRId64 ": %" PRId64
                    " transfers took %s on average instead of %s, which cost the job %s",
                    row->first_step, row->last_step, row->transfers,
                    pw_text_ns(mean, sizeof(mean), row->mean_ns),
                    pw_text_ns(usual, sizeof(usual), row->usual_ns),
                    pw_text_ns(cost, sizeof(cost), row->gain_ns));
    pw_sentence_add(s, row->share < 0.1 ? " (%.1f %%)" : " (%.0f %%)", 100 * row->share);
}

/* ---- slow hosts ---- */

/* Whether the host's other ranks lost about as much as the straggler, in the same steps if the host
 * was slow in steps. */
static int is_loss_of_host(const struct pw_row_c_host *host, const struct pw_row_c_straggler *row)
{
    if (strncmp(host->hostname, row->hostname, sizeof(row->hostname)) != 0)
        return 0;
    if (host->lost_ns >= 0)
        return 2 * (double)host->lost_ns >= (double)row->lost_ns;
    return row->kind != PW_STRAGGLER_STRETCH && row->first_step <= host->last_step &&
           row->last_step >= host->first_step &&
           2 * (double)host->excess_ns >= (double)row->excess_ns;
}

const struct pw_row_c_host *pw_host_of_straggler(const struct pw_cluster *c,
                                                 const struct pw_row_c_straggler *row)
{
    for (size_t i = 0; i < c->nhosts_slow; i++)
        if (is_loss_of_host(&c->hosts_slow[i], row))
            return &c->hosts_slow[i];
    return NULL;
}

/* ---- time in which all ranks were slower ---- */

const struct pw_row_c_trend *pw_trends_leading(const struct pw_cluster *c)
{
    const struct pw_row_c_trend *worst = NULL;
    /* Work that grows from step to step may be the program's own: it is not in the place of a
     * rank. */
    for (size_t i = 0; i < c->ntrends; i++)
        if (c->trends[i].kind != PW_SLOWING_WARM_UP &&
            !(c->trends[i].kind == PW_SLOWING_STEADY && c->nstragglers) &&
            (!worst || c->trends[i].cost_ns > worst->cost_ns))
            worst = &c->trends[i];
    for (size_t i = 0; worst && i < c->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &c->stragglers[i];
        const double held = (double)row->steps_hit * (double)row->excess_ns;
        const double cost = row->gain_ns > 0 ? (double)row->gain_ns : held;
        /* A CPU that other processes use slows all ranks that may run on it. */
        const int is_bound = row->cause == PW_CAUSE_CPU_CONTENTION && row->cpus > 0;
        const int is_same = (worst->kind == PW_SLOWING_PAUSES || is_bound) &&
                            row->first_step >= 0 && row->first_step <= worst->last_step &&
                            row->last_step >= worst->first_step;
        /* `is_same`: all ranks stood still in a call because one of them did not finish it. */
        if (cost >= (double)worst->cost_ns * (is_same ? 0.5 : 1))
            worst = NULL;
    }
    return worst;
}

static void say_percent(struct pw_sentence *s, double share)
{
    pw_sentence_add(s, share < 0.1 ? " (%.1f %% of the run)" : " (%.0f %% of the run)",
                    100 * share);
}

static void say_doing(struct pw_sentence *s, int cause)
{
    const char *doing = pw_cause_doing(cause);
    pw_sentence_add(s, "%s%s", *doing ? ", " : "", doing);
}

/* "All ranks paused 4 times in steps 24-99, every 25 steps: for 200 ms each, 800 ms in all". */
static void say_pauses(struct pw_sentence *s, const struct pw_row_c_trend *t, const char *who)
{
    char excess[32], cost[32];
    pw_text_ns(excess, sizeof(excess), t->excess_ns);
    if (t->steps == 1) {
        pw_sentence_add(s, "%s paused once, in step %" PRId64 " or just before it: for %s", who,
                        t->first_step, excess);
    } else {
        pw_sentence_add(s, "%s paused %" PRId64 " times in steps %" PRId64 "-%" PRId64, who,
                        t->steps, t->first_step, t->last_step);
        if (t->every > 0)
            pw_sentence_add(s, ", every %" PRId64 " steps", t->every);
        pw_sentence_add(s, ": for %s each, %s in all", excess,
                        pw_text_ns(cost, sizeof(cost), t->cost_ns));
    }
    if (t->share >= 0)
        say_percent(s, t->share);
    say_doing(s, t->cause);
}

/* The mean length of the first tenth of a trend's steps, or of the last; -1: not known. */
static int64_t mean_of_tenth(const struct pw_cluster *c, const struct pw_row_c_trend *t,
                             int is_last)
{
    const int64_t tenth = (t->last_step - t->first_step) / 10;
    const int64_t first = is_last ? t->last_step - tenth : t->first_step, last = first + tenth;
    struct pw_mean mean = {0};
    size_t i = pw_search(c->steps, c->nstep_rows, PW_SEARCH_KEY(struct pw_row_c_step, step), first);
    for (; i < c->nstep_rows && c->steps[i].step <= last; i++)
        if (c->steps[i].recorded == PW_RECORDED_ACTIVE)
            pw_mean_add(&mean, c->steps[i].duration_ns);
    return pw_mean_value(&mean);
}

/* "All ranks became slower steadily: steps grow from 3.2 ms (step 0) to 5.6 ms (step 175), 560 ms
 * in all". */
static void say_steady(struct pw_sentence *s, const struct pw_cluster *c,
                       const struct pw_row_c_trend *t, const char *who)
{
    const int64_t first_ns = mean_of_tenth(c, t, 0), last_ns = mean_of_tenth(c, t, 1);
    char first[32], last[32], excess[32], cost[32];
    pw_text_ns(first, sizeof(first), first_ns);
    pw_text_ns(last, sizeof(last), last_ns);
    pw_text_ns(excess, sizeof(excess), t->excess_ns);
    pw_text_ns(cost, sizeof(cost), t->cost_ns);
    if (first_ns >= 0 && last_ns > first_ns)
        pw_sentence_add(s,
                        "%s became slower steadily: steps grow from %s (step %" PRId64
                        ") to %s (step %" PRId64 "), %s in all",
                        who, first, t->first_step, last, t->last_step, cost);
    else
        pw_sentence_add(s,
                        "%s became slower steadily from step %" PRId64 " to %" PRId64
                        ": the last of %" PRId64 " steps took %s more than the first, %s in all",
                        who, t->first_step, t->last_step, t->steps, excess, cost);
}

static void say_slower(struct pw_sentence *s, const struct pw_cluster *c,
                       const struct pw_row_c_trend *t, const char *who, const char *was)
{
    char excess[32], cost[32];
    pw_text_ns(excess, sizeof(excess), t->excess_ns);
    pw_text_ns(cost, sizeof(cost), t->cost_ns);
    if (t->kind == PW_SLOWING_STEADY)
        say_steady(s, c, t, who);
    else
        pw_sentence_add(s,
                        "%s %s slower in steps %" PRId64 "-%" PRId64 ": by %s in each of %" PRId64
                        " steps, %s in all",
                        who, was, t->first_step, t->last_step, excess, t->steps, cost);
    if (t->share >= 0)
        say_percent(s, t->share);
    if (t->phase == PW_PHASE_OTHER)
        pw_sentence_add(s, ", most outside any phase");
    else if (t->phase > PW_PHASE_NONE && t->phase < PW_PHASE_OTHER)
        pw_sentence_add(s, ", most in %s", pw_enum_name(PW_F_PHASE, t->phase));
    say_doing(s, t->cause);
    if (t->kind == PW_SLOWING_WARM_UP)
        pw_sentence_add(s, "; runs often begin like this");
}

void pw_trends_say(const struct pw_cluster *c, const struct pw_row_c_trend *t,
                   struct pw_sentence *s)
{
    const char *who = c->nranks == 1 ? "The only rank" : "All ranks";
    if (t->kind == PW_SLOWING_PAUSES)
        say_pauses(s, t, who);
    else
        say_slower(s, c, t, who, c->nranks == 1 ? "was" : "were");
}

/* ---- work that differs by design ---- */

int pw_imbalance_is_sure(const struct pw_row_c_imbalance *row)
{
    return is(row->verdict, "imbalance");
}

int pw_imbalance_is_alone(const struct pw_row_c_imbalance *row)
{
    return !pw_imbalance_is_sure(row) && row->nranks == 1;
}

int64_t pw_imbalance_cost(const struct pw_row_c_imbalance *row, int64_t steps)
{
    if (row->gain_ns >= 0)
        return row->gain_ns;
    if (row->work_ns < 0 || row->others_ns < 0 || row->work_ns < row->others_ns)
        return 0;
    double cost = (double)(row->work_ns - row->others_ns) * (double)steps;
    return cost < 9e18 ? (int64_t)cost : INT64_MAX;
}

/* The quotient of two printed times, so that it is what a reader finds who divides them; `exact`
 * where they have different units. */
static double quotient_of(const char *above, const char *below, double exact)
{
    char *above_unit, *below_unit;
    const double x = strtod(above, &above_unit), y = strtod(below, &below_unit);
    return y > 0 && strcmp(above_unit, below_unit) == 0 ? x / y : exact;
}

static void write_times(const struct pw_row_c_imbalance *row, struct pw_sentence *s)
{
    char work[32], others[32];
    pw_text_ns(work, sizeof(work), row->work_ns);
    pw_text_ns(others, sizeof(others), row->others_ns);
    pw_sentence_add(s, "%.2f times the work of the others in a step (%s, others %s)",
                    quotient_of(work, others, row->ratio), work, others);
}

static void write_role(const struct pw_row_c_imbalance *row, struct pw_sentence *s)
{
    const int one = row->nranks == 1;
    if (pw_imbalance_is_alone(row)) {
        pw_sentence_add(s,
                        "Cannot tell whether rank %" PRId32
                        " is slow or has more to do by design: it is the only one of its role "
                        "(%.64s), and has ",
                        row->first_rank, row->name);
        write_times(row, s);
        pw_sentence_add(s, " throughout the run");
        return;
    }
    pw_sentence_add(s, "Uneven work: role \"%.64s\" (rank%s %.64s) has ", row->name, one ? "" : "s",
                    row->ranks);
    write_times(row, s);
    if (pw_imbalance_is_sure(row))
        pw_sentence_add(s, ": an imbalance between roles, not a slow rank");
    else
        pw_sentence_add(s, "; cannot tell why: %.256s", row->reason);
}

static void write_amount(const struct pw_row_c_imbalance *row, struct pw_sentence *s)
{
    const int one = row->nranks == 1;
    const int is_guess = is(row->how, "messages") || is(row->how, "collectives");
    const char *most = one ? "" : "up to ";
    if (is(row->how, "phases")) {
        pw_sentence_add(s,
                        "Uneven work: from step to step another rank has more to do, and the "
                        "largest of a step is %.2f times the mean",
                        row->amount_ratio);
    } else if (row->nranks <= 0) {
        pw_sentence_add(s,
                        "Uneven work: the amounts differ from step to step, the largest of a step "
                        "is %.2f times the mean",
                        row->amount_ratio);
    } else if (is_guess) {
        pw_sentence_add(s,
                        "Uneven work: rank%s %.64s %s%s %s%.2f times as large as the others', and "
                        "work%s %s%.2f "
                        "times as long, as with more of the data",
                        one ? "" : "s", row->ranks, one ? "has" : "have",
                        is(row->how, "messages") ? " messages" : " parts of collectives", most,
                        row->amount_ratio, one ? "s" : "", most, row->ratio);
    } else {
        pw_sentence_add(
            s,
            "Uneven work: rank%s %.64s %s %s%.2f times the amount of work of the others, and "
            "take%s %s%.2f times as long",
            one ? "" : "s", row->ranks, one ? "has" : "have", most, row->amount_ratio,
            one ? "s" : "", most, row->ratio);
    }
    pw_sentence_add(s, ": an imbalance, not a slow rank");
}

void pw_imbalance_write(const struct pw_row_c_imbalance *row, struct pw_sentence *s)
{
    if (is(row->kind, "role"))
        write_role(row, s);
    else
        write_amount(row, s);
}

/* ---- ranks without a CPU ---- */

/* Ranks that wait in these parts may poll, and their waits are not recorded. */
static int is_counted(size_t part, enum pw_nocpu_where where)
{
    if (part == PW_PART_INIT - PW_PART_START || part == PW_PART_FINALIZE - PW_PART_START)
        return 0;
    return where == PW_NOCPU_RUN ||
           (part == PW_PART_STEPS - PW_PART_START) == (where == PW_NOCPU_STEPS);
}

/* The time that the rank was ready to run without a CPU there, what that is a share of, which is 0
 * when it is not known, and the time for which the quota of its cgroup was used up. Of type double,
 * so that a damaged file cannot overflow an integer. */
struct lacking {
    double ready, total, throttled;
};

static struct lacking lacking_of(const struct pw_cluster *c, size_t rank, enum pw_nocpu_where where)
{
    struct lacking sum = {0};
    for (size_t part = 0; part < PW_PART_END; part++) {
        const struct pw_row_c_part_trace *row = &c->part_trace[part * c->nranks + rank];
        const double wait = row->wait_ns > 0 ? (double)row->wait_ns : 0;
        const int is_there = is_counted(part, where);
        if (row->total_ns <= 0 || row->ready_ns < 0)
            continue;
        if (is_there || where != PW_NOCPU_STEPS)
            sum.total += (double)row->total_ns;
        if (is_there && (double)row->ready_ns > wait)
            sum.ready += (double)row->ready_ns - wait;
        if (is_there && row->throttled_ns > 0)
            sum.throttled += (double)row->throttled_ns;
    }
    return sum;
}

/* The least time for which the rank itself was throttled: the kernel adds the time of all CPUs on
 * which a cgroup is throttled. Ranks of a host with about the same sum are in one cgroup. */
static double least_throttled(const struct pw_cluster *c, size_t rank, enum pw_nocpu_where where)
{
    const double mine = lacking_of(c, rank, where).throttled;
    size_t sharing = 0;
    for (size_t r = 0; mine > 0 && r < (size_t)c->nranks; r++)
        if (strncmp(c->ranks[r].hostname, c->ranks[rank].hostname, sizeof(c->ranks[r].hostname)) ==
            0)
            sharing += pw_cause_is_same_quota(lacking_of(c, r, where).throttled, mine);
    return sharing ? mine / (double)sharing : 0;
}

static struct pw_nocpu find_lacking(const struct pw_cluster *c, enum pw_nocpu_where where)
{
    struct pw_nocpu found = {.where = where, .worst = -1};
    size_t known = 0, waiting = 0, worst = 0;
    double sum_ns = 0;
    for (size_t r = 0; c->part_trace && r < (size_t)c->nranks; r++) {
        const struct lacking one = lacking_of(c, r, where);
        if (!(one.total > 0))
            continue;
        const double share = one.ready / one.total;
        known++;
        sum_ns += one.ready;
        found.share += share;
        waiting += share >= PW_NOCPU_SHARE;
        if (found.worst < 0 || share > found.worst_share) {
            found.worst_share = share;
            found.worst = c->ranks[r].rank;
            worst = r;
        }
    }
    if (2 * waiting <= known)
        return (struct pw_nocpu){.where = where, .worst = -1};
    found.is_quota =
        least_throttled(c, worst, where) >= lacking_of(c, worst, where).ready / PW_QUOTA_PARTS;
    found.share /= (double)known;
    found.ns = pw_whole(sum_ns / (double)known);
    return found;
}

static int has_steps(const struct pw_cluster *c)
{
    const size_t steps = (PW_PART_STEPS - PW_PART_START) * (size_t)c->nranks;
    for (size_t r = 0; c->nsteps && c->part_trace && r < (size_t)c->nranks; r++)
        if (c->part_trace[steps + r].total_ns > 0)
            return 1;
    return 0;
}

struct pw_nocpu pw_nocpu_find(const struct pw_cluster *c)
{
    return find_lacking(c, has_steps(c) ? PW_NOCPU_STEPS : PW_NOCPU_RUN);
}

struct pw_nocpu pw_nocpu_outside(const struct pw_cluster *c)
{
    const struct pw_nocpu found = find_lacking(c, PW_NOCPU_OUTSIDE);
    return has_steps(c) && found.ns >= PW_NOCPU_OUTSIDE_NS
               ? found
               : (struct pw_nocpu){.where = PW_NOCPU_OUTSIDE, .worst = -1};
}

static int same_host(const struct pw_row_c_utilisation *a, const struct pw_row_c_utilisation *b)
{
    return strncmp(a->hostname, b->hostname, sizeof(a->hostname)) == 0;
}

struct pw_oversubscribed pw_oversubscribed_find(const struct pw_cluster *cluster)
{
    const struct pw_row_c_utilisation *rows = cluster->utilisation;
    struct pw_oversubscribed found = {0};
    double most = 0;
    for (size_t first = 0, end; first < cluster->nutilisation; first = end) {
        size_t waiting = 0, worst = first;
        double sum = 0;
        for (end = first; end < cluster->nutilisation && same_host(&rows[first], &rows[end]);
             end++) {
            waiting += rows[end].runq_share > PW_OVERSUBSCRIBED_SHARE;
            sum += rows[end].runq_share > 0 ? rows[end].runq_share : 0;
            worst = rows[end].runq_share > rows[worst].runq_share ? end : worst;
        }
        const size_t ranks = end - first;
        if (!waiting || 2 * waiting < ranks)
            continue;
        found.hosts++;
        if (!(sum / (double)ranks > most))
            continue;
        most = sum / (double)ranks;
        found.waiting = waiting;
        found.ranks = ranks;
        found.worst = &rows[worst];
    }
    return found;
}

/* ---- jobs that did not start ---- */

/* The longest time that a program which did nothing may have needed to fail at its start: the
 * import of a large Python package takes seconds. */
#define START_LONGEST_NS INT64_C(10000000000)

int pw_ended_at_start(const struct pw_cluster *c)
{
    int has_first = 0;
    for (size_t i = 0; i < c->nendings && c->snapshot <= 0; i++)
        has_first |= c->endings[i].ended == PW_ENDED_FIRST;
    for (size_t r = 0; r < c->nrank_rows; r++)
        if (c->ranks[r].events > 0 || c->ranks[r].dropped_events > 0 ||
            c->ranks[r].run_ns > START_LONGEST_NS)
            return 0;
    return has_first && !c->nstep_rows;
}
