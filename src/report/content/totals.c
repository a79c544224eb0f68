/* What the ranks waited and transferred in all, where that is much beside what the headline is
 * about; see firstscreen.h. */
#include <stdio.h>

#include "analysis/parts.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "report/content/firstscreen.h"
#include "report/writing/words.h"

/* `ns` of a mean step, in all measured steps. */
static int64_t in_steps(const struct pw_figures *f, int64_t ns)
{
    return ns < 0 ? 0 : pw_whole((double)ns * (double)f->measured);
}

/* The waits of the steps that the headline has without the totals, ns. */
static int64_t waits_told(const struct pw_figures *f, const struct pw_verdict *v)
{
    const int is_told = v->lead == PW_SHARED_WAITS || (v->kind == PW_VERDICT_NONE && v->lead < 0);
    return is_told ? in_steps(f, f->trace_mean.wait_ns) : 0;
}

/* Fills in `ns` of the rows that are waits; -1: not known. */
static void add_waits(const struct pw_figures *f, struct pw_total *out)
{
    const struct pw_cluster *c = f->cluster;
    const struct pw_parts_known known =
        pw_parts_known(c->part_trace, c->nrank_rows, c->init_source);
    struct pw_partmean means[PW_PARTS];
    if (!known.nranks || c->restricted_to[0]) {
        out[PW_TOTAL_STEPS].ns = in_steps(f, f->trace_mean.wait_ns);
        return;
    }
    pw_partmeans(c->part_trace, c->nrank_rows, &known, means);
    for (int i = 0; i < PW_TOTAL_TRANSFERS; i++)
        if (means[i + PW_PART_INIT - PW_PART_START].wait_ns >= 0)
            out[i].ns = pw_whole(means[i + PW_PART_INIT - PW_PART_START].wait_ns + 0.5);
}

/* What transfers cost the job: their mean time, or the gain of the replay with a network that takes
 * no time, if that is more, because the slowest rank's transfer is what a step waits for. */
static int64_t transfers_of(const struct pw_figures *f)
{
    const struct pw_advice_input in = pw_figures_advice(f);
    const int64_t gain_ns = pw_advice_whatif_gain(&in, "network");
    const struct pw_row_c_step_trace *mean = &f->trace_mean;
    if (mean->wait_ns < 0 || mean->comm_exposed_ns < mean->wait_ns)
        return -1;
    const int64_t ns = in_steps(f, mean->comm_exposed_ns - mean->wait_ns);
    return ns > gain_ns ? ns : gain_ns;
}

int pw_totals_are_much(const struct pw_figures *f)
{
    struct pw_total rows[PW_TOTALS];
    int64_t sum = 0;
    for (int i = 0; i < PW_TOTALS; i++)
        rows[i].ns = -1;
    if (f->cluster->restricted_to[0])
        return 0;
    add_waits(f, rows);
    rows[PW_TOTAL_TRANSFERS].ns = transfers_of(f);
    for (int i = 0; i < PW_TOTALS; i++)
        sum = pw_sum(sum, rows[i].ns > 0 ? rows[i].ns : 0);
    return f->run_ns > 0 && (double)sum >= PW_TOLD_MUCH * (double)f->run_ns;
}

void pw_totals_find(const struct pw_figures *f, struct pw_total out[PW_TOTALS])
{
    const struct pw_verdict v = pw_figures_advice(f).verdict;
    const int is_judged = v.kind != PW_VERDICT_UNKNOWN && v.kind != PW_VERDICT_SINGLE_RANK;
    struct pw_loss losses[PW_LOSSES];
    const int64_t told_ns = pw_losses_told(f, losses, pw_losses_find(f, losses));
    for (int i = 0; i < PW_TOTALS; i++)
        out[i] = (struct pw_total){.ns = -1, .share = -1};
    add_waits(f, out);
    out[PW_TOTAL_TRANSFERS].ns = transfers_of(f);
    for (int i = 0; i < PW_TOTALS; i++) {
        const int64_t waits_ns = i == PW_TOTAL_STEPS ? waits_told(f, &v) : 0;
        out[i].is_added = is_judged && !f->cluster->restricted_to[0] &&
                          !(i == PW_TOTAL_TRANSFERS && v.lead == PW_SHARED_TRANSFERS) &&
                          pw_is_untold(f, out[i].ns, told_ns > waits_ns ? told_ns : waits_ns);
        out[i].share = pw_figures_share(out[i].ns, f->run_ns);
        out[i].is_headline =
            out[i].is_added || waits_ns > 0 ||
            (is_judged && i == PW_TOTAL_TRANSFERS && v.lead == PW_SHARED_TRANSFERS);
    }
}

const char *pw_total_name(enum pw_total_kind kind)
{
    static const char *const names[] = {
        [PW_TOTAL_INIT] = "init_wait",         [PW_TOTAL_SETUP] = "setup_wait",
        [PW_TOTAL_STEPS] = "steps_wait",       [PW_TOTAL_TAIL] = "tail_wait",
        [PW_TOTAL_FINALIZE] = "finalize_wait", [PW_TOTAL_END] = "end_wait",
        [PW_TOTAL_TRANSFERS] = "transfers",
    };
    return names[kind];
}

/* "638 ms in the steps (20 % of the run)"; only the first share says what it is of. */
static void say(const struct pw_total *total, const char *where, const char *of,
                struct pw_sentence *s)
{
    pw_words_add_ns(s, "", total->ns);
    pw_words_add_percent(s, where, total->share, of);
}

void pw_totals_say(const struct pw_figures *f, struct pw_sentence *s)
{
    static const char *const where[PW_TOTAL_TRANSFERS] = {
        [PW_TOTAL_SETUP] = " before the first step (",
        [PW_TOTAL_STEPS] = " in the steps (",
        [PW_TOTAL_TAIL] = " after the last step (",
        [PW_TOTAL_FINALIZE] = " in MPI_Finalize (",
        [PW_TOTAL_END] = " at the end (",
    };
    char in_init[32];
    struct pw_total totals[PW_TOTALS];
    int left = 0, said = 0;
    pw_totals_find(f, totals);
    snprintf(in_init, sizeof(in_init), " in %s (", pw_source_init(f->cluster->init_source));
    for (int i = 0; i < PW_TOTAL_TRANSFERS; i++)
        left += totals[i].is_added;
    for (int i = 0; i < PW_TOTAL_TRANSFERS; i++) {
        if (!totals[i].is_added)
            continue;
        pw_sentence_add(s, "%s",
                        !said       ? " On average a rank waited for others for "
                        : left == 1 ? " and "
                                    : ", ");
        say(&totals[i], i == PW_TOTAL_INIT ? in_init : where[i], said ? ")" : " of the run)", s);
        said++;
        left--;
    }
    if (totals[PW_TOTAL_TRANSFERS].is_added) {
        pw_sentence_add(s, said ? ", and transfers that no computation hides cost "
                                : " In all, transfers that no computation hides cost ");
        say(&totals[PW_TOTAL_TRANSFERS], " (", said ? ")" : " of the run)", s);
        said++;
    }
    if (said)
        pw_sentence_add(s, ".");
}
