/* Finds the losses, of whatever kind, and orders them by what the job would gain without them; see
 * firstscreen.h. */
#include "analysis/thresholds.h"
#include "report/content/firstscreen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "core/limits.h"
#include "report/writing/words.h"

/* ---- sentences, which the headline uses, too ---- */

/* ", every 5th step"; nothing where the loss does not come every so many steps. */
static void add_period(const struct pw_figures *f, const struct pw_row_c_straggler *row,
                       struct pw_sentence *s)
{
    const int64_t ten = row->period % 10, hundred = row->period % 100;
    const char *th = hundred >= 11 && hundred <= 13 ? "th"
                     : ten == 1                     ? "st"
                     : ten == 2                     ? "nd"
                     : ten == 3                     ? "rd"
                                                    : "th";
    if (row->period > 1)
        pw_sentence_add(s, ", every %" PRId64 "%s %s", row->period, th, pw_words_step(f->cluster));
}

/* "held the job back for 1.2 s, in 0.8 to 2.7 s of the run, in data". */
static void write_stretch(const struct pw_figures *f, const struct pw_row_c_straggler *row,
                          struct pw_sentence *s)
{
    char stretch[96];
    pw_words_add_ns(s, " held the job back for ", row->lost_ns);
    if (row->part != PW_PART_ANY)
        pw_sentence_add(s, ", %s", pw_words_stretch(f, row, stretch, sizeof(stretch)));
    else
        pw_sentence_add(s, ", in %s of the run",
                        pw_words_stretch(f, row, stretch, sizeof(stretch)));
    add_period(f, row, s);
    if (row->phase != PW_PHASE_NONE)
        pw_sentence_add(s, ", %s", pw_words_phase(row->phase));
}

/* "held back 8 of 20 steps by 5 ms each (20 % of a step) in data"; or "8 of 40 steps, every 5th
 * step, by". */
static void write_steps(const struct pw_figures *f, const struct pw_row_c_straggler *row,
                        struct pw_sentence *s)
{
    const char *phase = pw_words_phase(row->phase);
    char steps[96];
    pw_sentence_add(s, " held back %s", pw_words_steps(f, row, steps, sizeof(steps)));
    add_period(f, row, s);
    pw_words_add_ns(s, row->period > 1 ? ", by " : " by ", row->excess_ns);
    if (row->steps_hit > 1)
        pw_sentence_add(s, " each");
    if (row->slowdown >= 0)
        pw_words_add_percent(s, " (", row->slowdown, " of a step)");
    /* "outside any phase" is useful only when the program has phases. */
    if (phase[0] && (row->phase != PW_PHASE_OTHER || pw_figures_advice(f).is_training))
        pw_sentence_add(s, " %s", phase);
}

/* What the job would save without the straggler, or without its host; -1: not known. */
static int64_t gain_of(const struct pw_row_c_straggler *row, const struct pw_row_c_host *host)
{
    if (host && host->gain_ns > 0)
        return host->gain_ns;
    return row->gain_ns > 0 ? row->gain_ns : -1;
}

void pw_straggler_say(const struct pw_figures *f, const struct pw_row_c_straggler *row,
                      struct pw_sentence *s)
{
    const struct pw_row_c_host *host = pw_host_of_straggler(f->cluster, row);
    const char *cause = pw_cause_title(row->cause);
    const int64_t gain_ns = gain_of(row, host);
    if (host)
        pw_sentence_add(s, "Host %.64s with %" PRId32 " of its %" PRId32 " ranks", host->hostname,
                        host->slow_ranks, host->nranks);
    else
        pw_sentence_add(s, "Rank %" PRId32, row->rank);
    if (row->hostname[0] && !host)
        pw_sentence_add(s, " on %.64s", row->hostname);
    if (row->kind == PW_STRAGGLER_STRETCH)
        write_stretch(f, row, s);
    else
        write_steps(f, row, s);
    if (cause[0])
        pw_sentence_add(s, " (%s)", cause);
    /* Of a stretch, the loss has been said. */
    if (gain_ns > 0 && (row->kind != PW_STRAGGLER_STRETCH || gain_ns != row->lost_ns))
        pw_words_add_ns(s, ", which cost the job ", gain_ns);
}

/* Time of all measured steps, ns; 0: not known. */
static double steps_ns(const struct pw_figures *f)
{
    return f->step_mean_ns > 0 ? (double)f->step_mean_ns * (double)f->measured : 0;
}

void pw_imbalance_say(const struct pw_figures *f, const struct pw_row_c_imbalance *row,
                      struct pw_sentence *s)
{
    pw_imbalance_write(row, s);
    if (row->gain_ns > 0) {
        pw_words_add_ns(s, "; sharing it out evenly would save ", row->gain_ns);
        pw_words_add_percent(s, " (", (double)row->gain_ns / steps_ns(f), ")");
    }
}

/* ---- the losses ---- */

struct list {
    struct pw_loss *out;
    size_t n;
};

int64_t pw_loss_cost(const struct pw_loss *loss)
{
    return loss->gain_ns >= 0 ? loss->gain_ns : loss->lost_ns;
}

/* Adds a loss, behind those that cost as much or more. There is room: no list has more than
 * PW_LOSSES. */
static void add_loss(struct list *list, const struct pw_loss *one)
{
    size_t at = list->n++;
    for (; at > 0 && pw_loss_cost(&list->out[at - 1]) < pw_loss_cost(one); at--)
        list->out[at] = list->out[at - 1];
    list->out[at] = *one;
}

/* The gain as a share of the measured steps; -1: not known. */
static double share_of_steps(const struct pw_figures *f, int64_t gain_ns)
{
    const double all = f->cluster->restricted_to[0] ? 0 : steps_ns(f);
    return gain_ns > 0 && all > (double)gain_ns ? (double)gain_ns / all : -1;
}

/* Whether the straggler is on the host that an earlier row stands for. */
static int is_told_with_host(const struct pw_cluster *c, size_t row)
{
    const struct pw_row_c_host *host = pw_host_of_straggler(c, &c->stragglers[row]);
    for (size_t i = 0; host && i < row; i++)
        if (pw_host_of_straggler(c, &c->stragglers[i]) == host)
            return 1;
    return 0;
}

static void add_straggler(const struct pw_figures *f, size_t row, int is_headline,
                          struct list *list)
{
    const struct pw_row_c_straggler *from = &f->cluster->stragglers[row];
    const struct pw_row_c_host *host = pw_host_of_straggler(f->cluster, from);
    struct pw_loss one = {.kind = host ? "host" : "rank",
                          .rank = host ? -1 : from->rank,
                          .gain_ns = gain_of(from, host),
                          .together_ns = -1,
                          .lost_ns = host && host->lost_ns >= 0 ? host->lost_ns : from->lost_ns,
                          .share_of = "steps",
                          .is_headline = is_headline};
    const double all = steps_ns(f) > 0 ? steps_ns(f) : (double)f->run_ns;
    one.share = share_of_steps(f, one.gain_ns);
    if (is_headline) {
        const struct pw_advice_input in = pw_figures_advice(f);
        one.together_ns = pw_advice_together_gain(&in);
    }
    if (!is_headline && !((double)pw_loss_cost(&one) >= PW_LOSS_SHARE * all))
        return;
    snprintf(one.hostname, sizeof(one.hostname), "%.64s", host ? host->hostname : from->hostname);
    struct pw_sentence s = pw_sentence_on(one.text, sizeof(one.text));
    pw_straggler_say(f, from, &s);
    pw_sentence_add(&s, ".");
    add_loss(list, &one);
}

static void add_imbalance(const struct pw_figures *f, const struct pw_verdict *v, struct list *list)
{
    struct pw_loss one = {.kind = "imbalance",
                          .rank = -1,
                          .gain_ns = v->imbalance->gain_ns > 0 ? v->imbalance->gain_ns : -1,
                          .together_ns = -1,
                          .lost_ns = pw_imbalance_cost(v->imbalance, f->measured),
                          .share_of = "steps",
                          .is_headline = v->kind == PW_VERDICT_IMBALANCE && v->lead < 0};
    one.share = share_of_steps(f, one.gain_ns);
    struct pw_sentence s = pw_sentence_on(one.text, sizeof(one.text));
    pw_imbalance_say(f, v->imbalance, &s);
    pw_sentence_add(&s, ".");
    add_loss(list, &one);
}

/* The verdicts that begin with a sentence of their own: all ranks slower, or slow transfers. */
static void add_verdict(const struct pw_figures *f, const struct pw_verdict *v, struct list *list)
{
    const struct pw_row_c_trend *trend = pw_trends_leading(f->cluster);
    struct pw_loss one = {.rank = -1, .together_ns = -1, .is_headline = v->lead < 0};
    struct pw_sentence s = pw_sentence_on(one.text, sizeof(one.text));
    if (v->kind == PW_VERDICT_ALL_SLOWER) {
        one.kind = "all_slower";
        one.gain_ns = one.lost_ns = trend->cost_ns;
        one.share = trend->share;
        one.share_of = "run";
        pw_trends_say(f->cluster, trend, &s);
    } else {
        one.kind = "slow_network";
        one.gain_ns = one.lost_ns = v->network->gain_ns;
        one.share = v->network->share;
        one.share_of = "replay";
        pw_network_say(v->network, &s);
    }
    pw_sentence_add(&s, ".");
    add_loss(list, &one);
}

static void add_highlight(const struct pw_figures *f, const struct pw_highlight *from,
                          struct list *list)
{
    static const struct kind {
        const char *name, *share_of;
    } kinds[] = {
        {"host_late", "gpus"},  {"data_wait", "steps"}, {"no_cpu", "run"},
        {"transfers", "steps"}, {"all_slower", "run"},  {"slow_network", "replay"},
        {"waits", "steps"},     {"mpi_init", "run"},    {"mpi_finalize", "run"},
    };
    struct pw_loss one = {.kind = from->kind,
                          .rank = from->rank,
                          .gain_ns = from->cost_ns,
                          .together_ns = -1,
                          .lost_ns = from->ns,
                          .share = from->share,
                          .share_of = f->measured ? "steps"
                                                  : "run", /* of a kind that is not in the table */
                          .is_headline = from->is_headline};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, from->kind) == 0)
            one.share_of = from->is_of_steps ? "steps" : kinds[i].share_of;
    snprintf(one.text, sizeof(one.text), "%s", from->text);
    add_loss(list, &one);
}

static size_t find_losses(const struct pw_figures *f, struct pw_loss out[PW_LOSSES])
{
    const struct pw_verdict v = pw_figures_advice(f).verdict;
    struct list list = {out, 0};
    struct pw_highlight found[PW_HIGHLIGHTS];
    for (size_t i = 0, n = pw_highlights_find(f, found); i < n; i++)
        add_highlight(f, &found[i], &list);
    if (v.kind == PW_VERDICT_ALL_SLOWER || v.kind == PW_VERDICT_NETWORK)
        add_verdict(f, &v, &list);
    if (v.kind == PW_VERDICT_UNKNOWN || v.kind == PW_VERDICT_SINGLE_RANK)
        return list.n; /* the evidence about ranks is incomplete */
    if (v.imbalance)
        add_imbalance(f, &v, &list);
    for (size_t i = 0; i < f->cluster->nstragglers && i < PW_LOSS_RANKS; i++)
        if (!is_told_with_host(f->cluster, i))
            add_straggler(f, i, i == 0 && v.kind == PW_VERDICT_HELD_BACK, &list);
    return list.n;
}

int64_t pw_losses_told(const struct pw_figures *f, const struct pw_loss *losses, size_t n)
{
    const struct pw_row_c_straggler *first = f->cluster->stragglers;
    int64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t alone = pw_loss_cost(&losses[i]),
                      cost = alone > losses[i].together_ns ? alone : losses[i].together_ns;
        most = losses[i].is_headline == PW_LOSS_FIRST && cost > most ? cost : most;
    }
    if (most > 0 || !f->cluster->nstragglers ||
        pw_figures_advice(f).verdict.kind != PW_VERDICT_HELD_BACK)
        return most;
    return pw_whole((double)first->excess_ns * (double)first->steps_hit);
}

int pw_is_untold(const struct pw_figures *f, int64_t ns, int64_t told_ns)
{
    return f->run_ns > 0 && (double)ns >= PW_TOLD_SHARE * (double)f->run_ns &&
           (double)ns > PW_TOLD_TIMES * (double)told_ns;
}

/* Marks the losses that the headline has at its end. Further slow ranks are not marked: the
 * headline counts them where it names the first one. */
static void mark_added(const struct pw_figures *f, const struct pw_verdict *v,
                       struct pw_loss *losses, size_t n)
{
    const int64_t told_ns = pw_losses_told(f, losses, n);
    for (size_t i = 0; i < n; i++) {
        const int is_rank =
            strcmp(losses[i].kind, "rank") == 0 || strcmp(losses[i].kind, "host") == 0;
        if (!losses[i].is_headline && !(is_rank && v->kind == PW_VERDICT_HELD_BACK) &&
            pw_is_untold(f, pw_loss_cost(&losses[i]), told_ns))
            losses[i].is_headline = PW_LOSS_ADDED;
    }
}

size_t pw_losses_find(const struct pw_figures *f, struct pw_loss out[PW_LOSSES])
{
    const struct pw_verdict v = pw_figures_advice(f).verdict;
    const size_t n = find_losses(f, out);
    if (v.kind != PW_VERDICT_UNKNOWN && v.kind != PW_VERDICT_SINGLE_RANK)
        mark_added(f, &v, out, n);
    return n;
}

int pw_losses_tells(const struct pw_loss *losses, size_t n, const char *kind)
{
    for (size_t i = 0; i < n; i++)
        if (losses[i].is_headline && strcmp(losses[i].kind, kind) == 0)
            return 1;
    return 0;
}

size_t pw_losses_beside(const struct pw_loss *losses, size_t n, const struct pw_loss *out[])
{
    size_t shown = 0, told = 0;
    for (size_t i = 0; i < n; i++)
        told += losses[i].is_headline != 0;
    for (size_t i = 0; i < n && told + shown < PW_LOSSES_SHOWN; i++)
        if (!losses[i].is_headline)
            out[shown++] = &losses[i];
    return shown;
}
