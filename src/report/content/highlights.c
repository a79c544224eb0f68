/* Finds the highlights and writes their sentences; see firstscreen.h. */
#include "analysis/thresholds.h"
#include "report/content/firstscreen.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/advice/findings.h"
#include "core/limits.h"
#include "core/text.h"
#include "report/writing/words.h"

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
                                 .cost_ns = w.total_ns / (f->present > 0 ? f->present : 1),
                                 .share = (double)w.total_ns / all_ns,
                                 .of_rank = part};
    /* With two ranks, one of them always has half of the waits. */
    if (out->share < PW_LATE_RANK_SHARE || part < 0.5 || part < even ||
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

/* ---- losses that the ranks share ---- */

/* " (rank 3: 60 %": the rank that stands out, if one does. */
static void say_rank(const struct pw_shared *loss, const char *before, const char *after,
                     struct pw_sentence *s)
{
    if (loss->rank < 0)
        return;
    pw_sentence_add(s, "%srank %" PRId32, before, loss->rank);
    pw_words_add_percent(s, ": ", loss->of_rank, after);
}

static void say_host_late(const struct pw_figures *f, const struct pw_shared *loss,
                          struct pw_sentence *s)
{
    (void)f;
    pw_words_add_percent(s, loss->is_least ? "GPUs were idle for at least " : "GPUs were idle for ",
                         loss->share,
                         " of the time, because their CPU processes launched the next kernel late");
    say_rank(loss, " (", ")", s);
}

static void say_data_wait(const struct pw_figures *f, const struct pw_shared *loss,
                          struct pw_sentence *s)
{
    char wait[32], step[32];
    pw_words_add_percent(s, "Waiting for data takes ", loss->share, " of a step");
    pw_sentence_add(s, " (%s of %s on average", pw_text_ns(wait, sizeof(wait), loss->step_ns),
                    pw_text_ns(step, sizeof(step), f->trace_mean.total_ns));
    say_rank(loss, "; ", "", s);
    pw_sentence_add(s, ")");
}

static void say_no_cpu(const struct pw_figures *f, const struct pw_shared *loss,
                       struct pw_sentence *s)
{
    pw_words_add_percent(s,
                         loss->where == PW_NOCPU_OUTSIDE
                             ? "Outside of the steps, ranks were ready to run but without a CPU "
                               "for at least "
                             : "Ranks were ready to run but without a CPU for at least ",
                         loss->share,
                         loss->where == PW_NOCPU_STEPS ? " of the steps" : " of the run");
    if (!f->is_silent)
        pw_sentence_add(s, ", not counting waits for each other");
    say_rank(loss, " (", ")", s);
    pw_sentence_add(s, loss->is_quota ? ": the CPU quota of their cgroups was used up"
                                      : ": their hosts have more to run than cores");
}

static void say_all_slower(const struct pw_figures *f, const struct pw_shared *loss,
                           struct pw_sentence *s)
{
    (void)loss;
    pw_trends_say(f->cluster, &f->cluster->trends[0], s);
}

static void say_network(const struct pw_figures *f, const struct pw_shared *loss,
                        struct pw_sentence *s)
{
    (void)loss;
    pw_network_say(pw_figures_advice(f).verdict.network, s);
}

static void say_transfers(const struct pw_figures *f, const struct pw_shared *loss,
                          struct pw_sentence *s)
{
    char time[32], step[32];
    if (f->trace_mean.wait_ns < 0) {
        pw_words_add_percent(s, "Communication that no computation hides takes ", loss->share,
                             " of a step");
        pw_sentence_add(s,
                        " (%s of %s on average; how much of it is waiting for other ranks is not "
                        "known)",
                        pw_text_ns(time, sizeof(time), loss->step_ns),
                        pw_text_ns(step, sizeof(step), f->trace_mean.total_ns));
        return;
    }
    pw_words_add_percent(s, "Transfers that do not overlap with computation take ", loss->share,
                         " of a step");
    pw_sentence_add(s, " (%s of %s on average, without waiting for other ranks)",
                    pw_text_ns(time, sizeof(time), loss->step_ns),
                    pw_text_ns(step, sizeof(step), f->trace_mean.total_ns));
}

static void say_waits(const struct pw_figures *f, const struct pw_shared *loss,
                      struct pw_sentence *s)
{
    char time[32], step[32];
    pw_words_add_percent(s, "Ranks wait for each other for ", loss->share, " of a step");
    pw_sentence_add(s, " (%s of %s on average)", pw_text_ns(time, sizeof(time), loss->step_ns),
                    pw_text_ns(step, sizeof(step), f->trace_mean.total_ns));
    if (loss->is_doubtful) {
        pw_sentence_add(s, "; whether because of unequal work is not known");
        return;
    }
    if (loss->is_ordered && loss->cost_ns <= 0) {
        pw_sentence_add(s, ", not because of unequal work: equal work in each step would not make "
                           "the job shorter");
        return;
    }
    if (loss->is_ordered) {
        pw_words_add_ns(s,
                        ", mostly not because of unequal work: equal work in each step would make "
                        "the whole job shorter by only ",
                        loss->cost_ns);
        return;
    }
    pw_sentence_add(s, ": %s",
                    loss->is_uneven ? "their work is uneven" : "the delay moves from rank to rank");
    pw_words_add_ns(s, ", and with equal work in each step the whole job would take ",
                    loss->cost_ns);
    pw_sentence_add(s, " less");
}

static void say_in_call(const char *call, const struct pw_shared *loss, struct pw_sentence *s)
{
    char time[32];
    pw_sentence_add(s, "All ranks were in %s for %s or longer", call,
                    pw_text_ns(time, sizeof(time), loss->cost_ns));
    pw_words_add_percent(s, " (", loss->share, " of the run)");
}

static void say_init(const struct pw_figures *f, const struct pw_shared *loss,
                     struct pw_sentence *s)
{
    say_in_call(pw_source_init(f->cluster->init_source), loss, s);
    /* Without MPI it is known when the last rank entered: the waits for it are no part of this. */
    pw_sentence_add(s, f->cluster->init_source > PW_SOURCE_MPI
                           ? ", after the last rank had come to it"
                           : ": either it takes that long, or a rank came late to it; the records "
                             "do not tell which");
}

static void say_finalize(const struct pw_figures *f, const struct pw_shared *loss,
                         struct pw_sentence *s)
{
    (void)f;
    say_in_call("MPI_Finalize", loss, s);
    pw_sentence_add(s, ", where they wait for each other; which rank was late is not known");
}

static void say_shared(const struct pw_figures *f, const struct pw_shared *loss,
                       struct pw_highlight *out)
{
    static const struct {
        const char *kind;
        void (*say)(const struct pw_figures *, const struct pw_shared *, struct pw_sentence *);
    } rows[PW_SHARED_KINDS] = {
        [PW_SHARED_HOST_LATE] = {"host_late", say_host_late},
        [PW_SHARED_DATA_WAIT] = {"data_wait", say_data_wait},
        [PW_SHARED_NO_CPU] = {"no_cpu", say_no_cpu},
        [PW_SHARED_ALL_SLOWER] = {"all_slower", say_all_slower},
        [PW_SHARED_NETWORK] = {"slow_network", say_network},
        [PW_SHARED_TRANSFERS] = {"transfers", say_transfers},
        [PW_SHARED_WAITS] = {"waits", say_waits},
        [PW_SHARED_INIT] = {"mpi_init", say_init},
        [PW_SHARED_FINALIZE] = {"mpi_finalize", say_finalize},
    };
    *out = (struct pw_highlight){.kind = rows[loss->kind].kind,
                                 .rank = loss->rank,
                                 .ns = loss->ns,
                                 .cost_ns = loss->cost_ns,
                                 .share = loss->share,
                                 .of_rank = loss->of_rank,
                                 .is_of_steps = loss->kind == PW_SHARED_NO_CPU &&
                                                loss->where == PW_NOCPU_STEPS};
    struct pw_sentence s = pw_sentence_on(out->text, sizeof(out->text));
    rows[loss->kind].say(f, loss, &s);
    pw_sentence_add(&s, ".");
}

size_t pw_highlights_find(const struct pw_figures *figures, struct pw_highlight out[PW_HIGHLIGHTS])
{
    const struct pw_advice_input input = pw_figures_advice(figures);
    struct pw_shared shared[PW_SHARED_KINDS];
    struct pw_highlight late;
    const int is_late = find_late_rank(figures, &late);
    size_t n = 0;
    if (pw_ended_at_start(figures->cluster))
        return 0;
    for (size_t i = 0, all = pw_shared_find(&input, shared); i < all; i++) {
        say_shared(figures, &shared[i], &out[n]);
        out[n++].is_headline = input.verdict.lead == (int)shared[i].kind;
    }
    if (!is_late)
        return n;
    size_t at = n++;
    for (; at > 0 && out[at - 1].cost_ns < late.cost_ns; at--)
        out[at] = out[at - 1];
    out[at] = late;
    return n;
}
