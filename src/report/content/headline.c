/* Writes the headline, and the line about missing data; see firstscreen.h. */
#include "report/content/firstscreen.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "analysis/straggler.h"
#include "analysis/thresholds.h"
#include "report/content/hang.h"
#include "report/report.h"
#include "report/writing/safenames.h"
#include "report/writing/words.h"

/* Least share of a step that the recorded ranks of a job are in communication to be said to wait
 * for those that are missing. */
#define MOSTLY_WAITING 0.5

/* "Rank 2, which is not recorded, makes the others wait 50.0 ms of each 51.5 ms step". */
static void write_partners(const struct pw_figures *f, const struct pw_verdict *v, int is_first,
                           struct pw_sentence *s)
{
    const size_t at = s->used;
    const int64_t ranks = pw_unseen_write(f, s), n = ranks ? ranks : v->unrecorded.spawned;
    if (!ranks)
        pw_sentence_add(s, "%" PRId64 " process%s that MPI_Comm_spawn started", n,
                        n == 1 ? "" : "es");
    if (is_first && at < s->size)
        s->out[at] = (char)toupper((unsigned char)s->out[at]);
    pw_sentence_add(s, ", which %s not recorded, make%s the %s wait ", n == 1 ? "is" : "are",
                    n == 1 ? "s" : "",
                    ranks              ? "others"
                    : f->expected == 1 ? "rank"
                                       : "ranks");
    pw_words_add_ns(s, "", v->partners.wait_ns);
    pw_words_add_ns(s, " of each ", f->step_mean_ns);
    pw_sentence_add(s, " %s%s.", pw_words_step(f->cluster),
                    v->partners.is_sure ? ""
                    : n == 1            ? ", or transfers to it take that long"
                                        : ", or transfers to them take that long");
}

/* What is not known of NCCL's operations, and what has it. */
static void write_nccl_unknown(const struct pw_figures *f, const struct pw_nccl_unknown *nccl,
                               struct pw_sentence *s)
{
    if (nccl->untimed)
        pw_sentence_add(s,
                        "only the enqueueing of %" PRId64 " NCCL operations was recorded, so waits "
                        "and bandwidth are unknown, too; %s",
                        nccl->untimed,
                        f->cluster->imported[0]
                            ? "traces of GPU kernels have them"
                            : "record GPU kernels (activity cuda) or use --level 2");
    else
        pw_sentence_add(s,
                        "the operations of %" PRId64 " NCCL kernels in replayed CUDA graphs are "
                        "unknown, and so are waits and bandwidth",
                        nccl->unplaced);
}

/* Writes how many other ranks may also have held the job back: their calls were not recorded, or
 * they left no usable file. */
static void write_other_ranks(const struct pw_figures *f, const struct pw_verdict *v,
                              struct pw_sentence *s)
{
    const int64_t missing = f->expected - f->present, unrecorded = v->unrecorded.ranks;
    if (missing <= 0 && !unrecorded && !v->unrecorded.silent_ranks && !v->partners.wait_ns)
        return;
    if (v->partners.wait_ns) {
        pw_sentence_add(s, " In addition, ");
        write_partners(f, v, 0, s);
        return;
    }
    pw_sentence_add(s, " Other ranks may also have held the job back: ");
    if (v->unrecorded.silent_ranks)
        pw_sentence_add(s, "communication of %" PRId64 " of %" PRId64 " ranks was not recorded%s",
                        v->unrecorded.silent_ranks, f->expected,
                        unrecorded || missing > 0 ? "; " : "");
    if (unrecorded)
        pw_sentence_add(s, "MPI calls of %" PRId64 " of %" PRId64 " ranks were not recorded",
                        unrecorded, f->expected);
    if (missing > 0 && unrecorded)
        pw_sentence_add(s, ", and %" PRId64 " left no usable file", missing);
    else if (missing > 0)
        pw_sentence_add(s, "%" PRId64 " of %" PRId64 " ranks left no usable file", missing,
                        f->expected);
    pw_sentence_add(s, ".");
}

/* Writes what else may have held the job back, which was not recorded. */
static void write_beside(const struct pw_figures *f, const struct pw_verdict *v,
                         struct pw_sentence *s)
{
    write_other_ranks(f, v, s);
    if (!v->nccl.untimed && !v->nccl.unplaced)
        return;
    pw_sentence_add(s, " Ranks may also have held the job back in NCCL operations: ");
    write_nccl_unknown(f, &v->nccl, s);
    pw_sentence_add(s, ".");
}

/* 1 when an earlier row is of the same rank: it may have held the job back in several ways. */
static int is_repeated(const struct pw_cluster *c, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (c->stragglers[i].rank == c->stragglers[row].rank)
            return 1;
    return 0;
}

/* The ranks that held the job back, beside the worst one or, if it is given, outside its host. */
static size_t count_others(const struct pw_cluster *c, const struct pw_row_c_host *host)
{
    size_t n = 0;
    for (size_t i = 1; i < c->nstragglers; i++)
        n += !is_repeated(c, i) &&
             (!host || strncmp(c->stragglers[i].hostname, host->hostname, sizeof(host->hostname)));
    return n;
}

static void write_straggler(const struct pw_figures *f, const struct pw_verdict *v,
                            struct pw_sentence *s)
{
    const struct pw_row_c_straggler *worst = &f->cluster->stragglers[0];
    const struct pw_row_c_host *host = pw_host_of_straggler(f->cluster, worst);
    const size_t more = count_others(f->cluster, host);
    const struct pw_advice_input in = pw_figures_advice(f);
    const int64_t together_ns = pw_advice_together_gain(&in);
    pw_straggler_say(f, worst, s);
    if (more)
        pw_sentence_add(s, "; and %zu more rank%s%s", more, more == 1 ? "" : "s",
                        host ? " elsewhere" : "");
    if (together_ns > 0)
        pw_words_add_ns(s, more ? "; together they cost the job " : "; in all it cost the job ",
                        together_ns);
    if (worst->without_clocks) {
        pw_sentence_add(s, "; found by the time outside communication, since the clock error ");
        if (f->clock_error_max_ns >= 0)
            pw_words_add_ns(s, "of up to ", f->clock_error_max_ns);
        else
            pw_sentence_add(s, "is not known, and");
        pw_sentence_add(s, " hides waits");
    } else if (pw_figures_is_unresolved(f, worst->excess_ns)) {
        pw_words_add_ns(s, "; but the clock error is up to ", f->clock_error_max_ns);
        pw_sentence_add(s, ", so this may be an error of the clocks");
    }
    pw_sentence_add(s, ".");
    write_beside(f, v, s);
}

static void write_imbalance(const struct pw_figures *f, const struct pw_verdict *v,
                            struct pw_sentence *s)
{
    pw_imbalance_say(f, v->imbalance, s);
    pw_sentence_add(s, ".");
    if (f->cluster->nstragglers) {
        const struct pw_row_c_straggler *worst = &f->cluster->stragglers[0];
        pw_sentence_add(s, " In addition, rank %" PRId32 " is slow", worst->rank);
        pw_words_add_ns(s, " by ", worst->excess_ns);
        const size_t more = count_others(f->cluster, NULL);
        if (more)
            pw_sentence_add(
                s, more == 1 ? ", and 1 more rank is slow" : ", and %zu more ranks are slow", more);
        pw_sentence_add(s, ".");
    }
    write_beside(f, v, s);
}

/* "; 50 steps of 51.5 ms." */
static void end_with_steps(const struct pw_figures *f, struct pw_sentence *s)
{
    if (f->measured)
        pw_sentence_add(s, "; %" PRId64 " %s%s", f->measured, pw_words_step(f->cluster),
                        f->measured == 1 ? "" : "s");
    if (f->measured && f->step_mean_ns >= 0)
        pw_words_add_ns(s, " of ", f->step_mean_ns);
    pw_sentence_add(s, ".");
}

/* The clocks are not aligned. A wait is a difference of times of two ranks, so neither waits are
 * known nor own work, which is the time without waits. */
static void write_unaligned(const struct pw_figures *f, struct pw_sentence *s)
{
    if (f->clock_error_max_ns >= 0) {
        pw_words_add_ns(s,
                        "Cannot tell whether a rank held the job back: the clock error is up to ",
                        f->clock_error_max_ns);
        pw_sentence_add(s, ", too much to compare ranks in inferred steps");
        end_with_steps(f, s);
        return;
    }
    pw_sentence_add(s, "Cannot tell whether a rank held the job back: the clocks of");
    if (f->nhosts > 1)
        pw_sentence_add(s, " %" PRId64 " hosts", f->nhosts);
    else
        pw_sentence_add(s, " the ranks");
    pw_sentence_add(s, " are not aligned; %" PRId64 " %ss", f->measured, pw_words_step(f->cluster));
    if (f->step_mean_ns >= 0)
        pw_words_add_ns(s, " of ", f->step_mean_ns);
    pw_sentence_add(s, ".");
}

/* The times of NCCL's operations are unknown, and so is which rank they waited for. */
static void write_untimed(const struct pw_figures *f, const struct pw_nccl_unknown *nccl,
                          struct pw_sentence *s)
{
    pw_sentence_add(s, "Cannot tell whether a rank held the job back: ");
    write_nccl_unknown(f, nccl, s);
    pw_sentence_add(s, "; %" PRId64 " %ss", f->measured, pw_words_step(f->cluster));
    if (f->step_mean_ns >= 0)
        pw_words_add_ns(s, " of ", f->step_mean_ns);
    pw_sentence_add(s, ".");
}

/* Kernels of communication that no library numbers: how long they lasted is known, and not how much
 * of it was waiting. */
static void write_unmatched(const struct pw_figures *f, const struct pw_nccl_unknown *nccl,
                            struct pw_sentence *s)
{
    pw_sentence_add(s,
                    "Cannot tell whether a rank held the job back: of %" PRId64 " kernels of "
                    "communication is not known which ranks they are of, so waits are unknown, "
                    "too; exposed communication is known",
                    nccl->unmatched);
    end_with_steps(f, s);
}

/* "held the job back", after "no rank". */
static const char *held_back(const struct pw_figures *f)
{
    return pw_totals_are_much(f) ? " alone held the job back" : " held the job back";
}

static void write_even(const struct pw_figures *f, const struct pw_verdict *v,
                       struct pw_sentence *s)
{
    if (v->lead >= 0) { /* after the sentence about what did */
        const int is_call = v->lead == PW_SHARED_INIT || v->lead == PW_SHARED_FINALIZE;
        pw_sentence_add(s, "%s%s.", is_call ? "Elsewhere no rank" : "No rank",
                        v->lead == PW_SHARED_WAITS ? " alone held the job back" : held_back(f));
        return;
    }
    pw_sentence_add(s, "No rank%s: %" PRId64 " %ss", held_back(f), f->measured,
                    pw_words_step(f->cluster));
    if (f->step_mean_ns >= 0)
        pw_words_add_ns(s, " of ", f->step_mean_ns);
    if (f->wait_share >= 0)
        pw_words_add_percent(s, ", of which ranks waited ", f->wait_share, " for each other");
    const int is_coarse = f->step_mean_ns > 0 &&
                          (double)f->clock_error_max_ns > PW_CLOCK_COARSE * (double)f->step_mean_ns;
    if (is_coarse) {
        pw_words_add_ns(s,
                        "; ranks were compared by their time outside communication, since the "
                        "clock error is up to ",
                        f->clock_error_max_ns);
    } else if (f->clock_error_max_ns > 0) {
        pw_words_add_ns(s, "; differences below the clock error of ", f->clock_error_max_ns);
        pw_sentence_add(s, " cannot be seen");
    }
    pw_sentence_add(s, ".");
}

static void write_all_slower(const struct pw_figures *f, const struct pw_verdict *v,
                             struct pw_sentence *s)
{
    pw_trends_say(f->cluster, pw_trends_leading(f->cluster), s);
    if (f->cluster->nstragglers)
        pw_sentence_add(s, "; %zu rank%s held the job back, too, which cost less",
                        f->cluster->nstragglers, f->cluster->nstragglers == 1 ? "" : "s");
    else if (f->expected > 1)
        pw_sentence_add(s, "; no rank%s", held_back(f));
    pw_sentence_add(s, ".");
    write_beside(f, v, s);
}

static void write_network(const struct pw_figures *f, const struct pw_verdict *v,
                          struct pw_sentence *s)
{
    pw_network_say(v->network, s);
    if (f->cluster->nstragglers)
        pw_sentence_add(s, "; %zu rank%s held the job back, too, which cost less",
                        f->cluster->nstragglers, f->cluster->nstragglers == 1 ? "" : "s");
    pw_sentence_add(s, ".");
    write_beside(f, v, s);
}

static void write_one_rank(const struct pw_figures *f, const struct pw_verdict *v,
                           struct pw_sentence *s)
{
    (void)v;
    pw_sentence_add(s, "There is only one rank, so no rank can hold another back: ");
    if (f->measured == 1)
        pw_words_add_ns(s, "1 step of ", f->step_mean_ns);
    else if (f->measured)
        pw_sentence_add(s, "%" PRId64 " steps", f->measured);
    if (f->measured > 1)
        pw_words_add_ns(s, " of ", f->step_mean_ns);
    if (!f->measured)
        pw_sentence_add(s, "no steps are known");
    if (f->run_ns >= 0)
        pw_words_add_ns(s, ", in a run of ", f->run_ns);
    pw_sentence_add(s, ".");
}

static void write_unmarked(const struct pw_figures *f, struct pw_sentence *s)
{
    pw_sentence_add(s, "No steps are known, so ranks cannot be compared: %" PRId64 " ranks",
                    f->present);
    if (f->nhosts > 0)
        pw_sentence_add(s, " on %" PRId64 " host%s", f->nhosts, f->nhosts == 1 ? "" : "s");
    if (f->run_ns >= 0)
        pw_words_add_ns(s, " ran for ", f->run_ns);
    pw_sentence_add(s, ".");
}

/* Without recorded MPI calls, a run looks as if no rank waited, so this comes before other
 * findings. */
static void write_unrecorded(const struct pw_figures *f, const struct pw_unrecorded_sum *sum,
                             struct pw_sentence *s)
{
    const enum pw_unrecorded most = pw_unrecorded_most(sum);
    pw_sentence_add(s,
                    "MPI calls of %" PRId64 " of %" PRId64 " ranks were not recorded, because %s",
                    sum->ranks, f->expected, pw_unrecorded_because(most));
    if (sum->by_reason[most] < sum->ranks)
        pw_sentence_add(s, " on %" PRId64 " of them, and for other reasons", sum->by_reason[most]);
    pw_sentence_add(s, "; %s.", pw_unrecorded_remedy(most));
}

static void write_silent(const struct pw_figures *f, const struct pw_unrecorded_sum *sum,
                         struct pw_sentence *s)
{
    if (!sum->is_silent)
        pw_sentence_add(s,
                        "Cannot tell whether a rank held the job back: no communication of "
                        "%" PRId64 " of %" PRId64 " ranks was recorded, so it is unknown how long "
                        "these waited",
                        sum->silent_ranks, f->expected);
    else
        pw_sentence_add(
            s,
            "Cannot tell whether a rank held the job back: no communication between its "
            "%" PRId64 " ranks was recorded, so it is unknown which rank waited for which",
            f->expected);
    end_with_steps(f, s);
}

/* Some ranks left no usable file: the slowest rank may be one of them. */
static void write_absent(const struct pw_figures *f, struct pw_sentence *s)
{
    const int64_t missing = f->expected - f->present;
    pw_sentence_add(s,
                    "Cannot tell whether a rank held the job back: %" PRId64 " of %" PRId64
                    " ranks left no usable file, and the slowest may be %s",
                    missing, f->expected, missing == 1 ? "that one" : "one of them");
    end_with_steps(f, s);
    /* Communication that other work hides costs nothing, however long it lasts. */
    const int64_t exposed_ns = f->trace_mean.comm_exposed_ns;
    const double share = pw_figures_share(exposed_ns, f->trace_mean.total_ns);
    if (share < MOSTLY_WAITING)
        return;
    pw_words_add_ns(s, " In ", exposed_ns);
    pw_words_add_percent(s, " of a step (", share,
                         ") the recorded ranks are in communication: they wait for ");
    pw_missing_write(f, s);
    pw_sentence_add(s, ", or their transfers take that long.");
}

/* How long the recorded ranks wait for others, and why these were not recorded. */
static void write_waiting(const struct pw_figures *f, const struct pw_verdict *v,
                          struct pw_sentence *s)
{
    write_partners(f, v, 1, s);
    if (v->wanting == PW_WANTING_RECORDED_MPI) {
        pw_sentence_add(s, " ");
        write_unrecorded(f, &v->unrecorded, s);
    }
    if (v->wanting == PW_WANTING_COMMUNICATION)
        pw_sentence_add(s, " No communication of %" PRId64 " of %" PRId64 " ranks was recorded.",
                        v->unrecorded.silent_ranks, f->expected);
}

/* The rank whose requests were open for a tenth less of a step than those of the others: they may
 * wait for it. -1: there is none. */
static int64_t least_open(const struct pw_figures *f, int64_t *mine_ns, int64_t *next_ns)
{
    int64_t rank = -1;
    *mine_ns = *next_ns = INT64_MAX;
    for (size_t r = 0; r < f->cluster->nrank_rows; r++) {
        const int64_t open_ns = f->trace[r].comm_ns;
        if (open_ns < 0)
            continue;
        *next_ns = open_ns < *mine_ns ? *mine_ns : open_ns < *next_ns ? open_ns : *next_ns;
        if (open_ns < *mine_ns) {
            rank = f->cluster->ranks[r].rank;
            *mine_ns = open_ns;
        }
    }
    return (double)*mine_ns < 0.9 * (double)*next_ns && *next_ns < INT64_MAX ? rank : -1;
}

static void write_polled(const struct pw_figures *f, struct pw_sentence *s)
{
    char mine[32], next[32];
    int64_t mine_ns, next_ns;
    const int64_t rank = least_open(f, &mine_ns, &next_ns);
    pw_words_add_percent(s, "Cannot tell whether a rank held the job back: for ",
                         (double)f->trace_mean.comm_ns / (double)f->trace_mean.total_ns,
                         " of a step requests are open that the ranks poll for, and a rank that "
                         "polls looks busy");
    if (rank >= 0)
        pw_sentence_add(s,
                        "; those of rank %" PRId64 " are open for the shortest time (%s of a step, "
                        "the others' %s or longer): they may wait for it",
                        rank, pw_text_ns(mine, sizeof(mine), mine_ns),
                        pw_text_ns(next, sizeof(next), next_ns));
    end_with_steps(f, s);
}

static void write_unknown(const struct pw_figures *f, const struct pw_verdict *v,
                          struct pw_sentence *s)
{
    if (v->partners.wait_ns) {
        write_waiting(f, v, s);
        return;
    }
    switch (v->wanting) {
    case PW_WANTING_RANKS:
        pw_sentence_add(s, "No rank left a usable file, so there is nothing to report.");
        break;
    case PW_WANTING_RECORDED_MPI:
        pw_sentence_add(s, "Cannot tell whether a rank held the job back: ");
        write_unrecorded(f, &v->unrecorded, s);
        break;
    case PW_WANTING_COMMUNICATION:
        write_silent(f, &v->unrecorded, s);
        break;
    case PW_WANTING_ALL_RANKS:
        write_absent(f, s);
        break;
    case PW_WANTING_MORE_STEPS:
        pw_sentence_add(
            s, "Only %" PRId64 " step%s measured: too few to say whether a rank held the job back.",
            f->measured, f->measured == 1 ? " was" : "s were");
        break;
    case PW_WANTING_WAITS:
        write_unmatched(f, &v->nccl, s);
        break;
    case PW_WANTING_NCCL_TIMES:
    case PW_WANTING_NCCL_REPLAYS:
        write_untimed(f, &v->nccl, s);
        break;
    case PW_WANTING_CLOCKS:
        write_unaligned(f, s);
        break;
    case PW_WANTING_BLOCKING:
        write_polled(f, s);
        break;
    case PW_WANTING_PEERS:
        pw_imbalance_write(v->alone, s);
        pw_sentence_add(s, ".");
        break;
    default:
        write_unmarked(f, s);
        break;
    }
}

/* The largest loss that all ranks share, when the verdict's own costs less. */
static void write_lead(const struct pw_figures *f, const struct pw_verdict *v,
                       struct pw_sentence *s)
{
    const size_t stragglers = f->cluster->nstragglers;
    struct pw_highlight found[PW_HIGHLIGHTS];
    if (pw_highlights_find(f, found))
        pw_sentence_add(s, "%s ", found[0].text);
    if (v->kind == PW_VERDICT_SINGLE_RANK)
        write_one_rank(f, v, s);
    else if (!stragglers)
        write_even(f, v, s);
    else
        pw_sentence_add(s, "%zu rank%s held the job back, too, which cost less.", stragglers,
                        stragglers == 1 ? "" : "s");
    if (v->kind != PW_VERDICT_NONE && v->kind != PW_VERDICT_SINGLE_RANK)
        write_beside(f, v, s);
}

/* Writes what held the job back, or that nothing did, or that it is not known. */
static void write_delay(const struct pw_figures *figures, const struct pw_verdict *verdict,
                        struct pw_sentence *s)
{
    typedef void write(const struct pw_figures *f, const struct pw_verdict *v,
                       struct pw_sentence *s);
    static write *const writers[] = {
        [PW_VERDICT_UNKNOWN] = write_unknown,
        [PW_VERDICT_HELD_BACK] = write_straggler,
        [PW_VERDICT_ALL_SLOWER] = write_all_slower,
        [PW_VERDICT_IMBALANCE] = write_imbalance,
        [PW_VERDICT_NETWORK] = write_network,
        [PW_VERDICT_SINGLE_RANK] = write_one_rank,
        [PW_VERDICT_NONE] = write_even,
    };
    if (verdict->lead >= 0)
        write_lead(figures, verdict, s);
    else
        writers[verdict->kind](figures, verdict, s);
}

/* Adds what costs the job more than the loss that the headline is about. Waits and transfers are
 * said by pw_totals_say(). */
static void add_larger(const struct pw_figures *f, struct pw_sentence *s)
{
    struct pw_loss losses[PW_LOSSES];
    for (size_t i = 0, n = pw_losses_find(f, losses); i < n; i++)
        if (losses[i].is_headline == PW_LOSS_ADDED && strcmp(losses[i].kind, "waits") != 0 &&
            strcmp(losses[i].kind, "transfers") != 0)
            pw_sentence_add(s, " %s", losses[i].text);
    pw_totals_say(f, s);
}

/* Whether the verdict is about more than what is missing. */
static int says_something(const struct pw_verdict *v)
{
    return v->lead >= 0 || (v->kind != PW_VERDICT_UNKNOWN && v->kind != PW_VERDICT_SINGLE_RANK);
}

/* Makes a sentence follow "Before that, ". */
static void begin_small(char *sentence)
{
    if (islower((unsigned char)sentence[0]) || islower((unsigned char)sentence[1]))
        sentence[0] = (char)tolower((unsigned char)sentence[0]);
}

void pw_headline_write(const struct pw_figures *figures, char *out, size_t size)
{
    struct pw_sentence s = {out, size, 0};
    const struct pw_verdict verdict = pw_figures_advice(figures).verdict;
    out[0] = '\0';
    pw_hang_write(figures->cluster, &s);
    if (s.used) /* dumps do not tell more */
        return;
    pw_ending_write(figures, &s);
    const int has_ending = s.used > 0;
    if (has_ending && !says_something(&verdict))
        return;
    if (has_ending)
        pw_sentence_add(&s, " Before that, ");
    const size_t at = s.used < size ? s.used : size - 1;
    write_delay(figures, &verdict, &s);
    if (verdict.kind != PW_VERDICT_UNKNOWN && verdict.kind != PW_VERDICT_SINGLE_RANK)
        add_larger(figures, &s);
    if (has_ending)
        begin_small(out + at);
}

/* Adds MPI calls and processes that were not recorded. Returns the separator for the next item. */
static const char *add_unrecorded(const struct pw_figures *f, const char *separator,
                                  struct pw_sentence *s)
{
    struct pw_unrecorded_sum sum;
    pw_unrecorded_sum(f->cluster, &sum);
    if (sum.ranks) {
        pw_sentence_add(s, "%sMPI calls of %" PRId64 " rank%s were not recorded", separator,
                        sum.ranks, sum.ranks == 1 ? "" : "s");
        separator = "; ";
    }
    if (sum.spawned) {
        pw_sentence_add(s, "%s%" PRId64 " process%s started by MPI_Comm_spawn %s not recorded",
                        separator, sum.spawned, sum.spawned == 1 ? "" : "es",
                        sum.spawned == 1 ? "was" : "were");
        separator = "; ";
    }
    char gpus[384];
    pw_unrecorded_gpus(&sum, gpus, sizeof(gpus));
    pw_sentence_add(s, "%s%s", gpus[0] ? separator : "", gpus);
    return gpus[0] ? "; " : separator;
}

void pw_headline_missing(const struct pw_figures *figures, char *out, size_t size)
{
    struct pw_sentence s = {out, size, 0};
    const char *separator = "";
    out[0] = '\0';
    if (figures->present < figures->expected) {
        pw_sentence_add(&s, "%" PRId64 " of %" PRId64 " ranks are present, without ",
                        figures->present, figures->expected);
        pw_missing_write(figures, &s);
        separator = "; ";
    }
    if (figures->cluster->snapshot > 0) {
        pw_sentence_add(&s, "%sthe job was still running", separator);
        separator = "; ";
    } else if (figures->unclosed) {
        pw_sentence_add(&s, "%s%" PRId64 " rank file%s not closed in order", separator,
                        figures->unclosed, figures->unclosed == 1 ? " was" : "s were");
        separator = "; ";
    }
    separator = add_unrecorded(figures, separator, &s);
    if (figures->dropped_events > 0) {
        pw_sentence_add(&s, "%s%" PRId64 " events were dropped", separator,
                        figures->dropped_events);
        pw_words_add_percent(&s, " (",
                             (double)figures->dropped_events /
                                 ((double)figures->dropped_events + (double)figures->events),
                             ")");
    }
}

/* Writes the headline and, with `with_more`, the first highlight. Returns 0 or -ENOMEM. */
static int write_line(const struct pw_cluster *cluster, int with_more, char *out, size_t size)
{
    char raw[PW_REPORT_LINE];
    struct pw_figures *figures;
    struct pw_highlight found[PW_HIGHLIGHTS];
    int err = pw_figures_create(cluster, &figures);
    if (err)
        return err;
    pw_headline_write(figures, raw, PW_HEADLINE_BYTES);
    struct pw_loss losses[PW_LOSSES];
    const size_t n = with_more ? pw_highlights_find(figures, found) : 0;
    const size_t nlosses = n ? pw_losses_find(figures, losses) : 0;
    if (n && !pw_losses_tells(losses, nlosses, found[0].kind)) {
        struct pw_sentence s = {raw, sizeof(raw), strlen(raw)};
        pw_sentence_add(&s, " %s", found[0].text);
    }
    pw_names_printable(out, size, raw, sizeof(raw));
    pw_figures_destroy(figures);
    return 0;
}

int pw_report_headline(const struct pw_cluster *cluster, char *out, size_t size)
{
    return write_line(cluster, 0, out, size);
}

int pw_report_one_line(const struct pw_cluster *cluster, char *out, size_t size)
{
    return write_line(cluster, 1, out, size);
}

int pw_report_line(FILE *out, const struct pw_cluster *cluster,
                   const struct pw_report_options *options)
{
    (void)options;
    char line[PW_REPORT_LINE];
    int err = pw_report_one_line(cluster, line, sizeof(line));
    if (!err)
        fprintf(out, "%s\n", line);
    return err;
}
