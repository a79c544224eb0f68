/* Makes the summary of a run; see runsummary.h. */
#include "report/content/runsummary.h"

#include <stdio.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "analysis/parts.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "report/writing/words.h"

/* Parts that exceed the total by less than this share do so because their means are rounded. */
#define ROUNDING 0.001

/* A rank stands beside the mean when it has this much more own work, or held the job back. */
#define STANDS_OUT 1.01

/* What is known of a rank, or of the mean: of a step, or of the run. -1: not known. */
struct times {
    const struct pw_row_c_step_trace *step;
    const struct pw_row_c_phase_trace *phases;
    struct pw_row_c_part_trace run;
};

/* A way to divide the time. `split` sets one value for each row of `parts`, which add up to *total.
 * Returns 0, or -1 when the values are not known or contradict each other. */
struct division {
    const struct {
        const char *name;
        char letter;
    } parts[PW_RUNPARTS];
    size_t nparts;
    int (*split)(const struct times *of, int64_t *total, int64_t out[PW_RUNPARTS]);
};

/* Sets *rest to what the n other parts leave of `total`. Returns 0, or -1 when they are longer. */
static int leave_rest(int64_t total, const int64_t *parts, size_t n, int64_t *rest)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (parts[i] < 0)
            return -1;
        sum = pw_sum(sum, parts[i]);
    }
    *rest = sum < total ? total - sum : 0;
    return total > 0 && (double)sum <= (double)total * (1 + ROUNDING) ? 0 : -1;
}

/* Waiting for other ranks; -1: not known. */
static int64_t waiting(const struct pw_row_c_step_trace *t)
{
    return t->wait_ns < 0 ? -1 : pw_difference(t->total_ns, t->own_ns);
}

/* A phase that no step has, such as allreduce under DistributedDataParallel, takes nothing. */
static int64_t in_phase(int64_t ns)
{
    return ns < 0 ? 0 : ns;
}

static int split_phases(const struct times *of, int64_t *total, int64_t out[PW_RUNPARTS])
{
    const struct pw_row_c_phase_trace *p = of->phases;
    const int64_t known[] = {in_phase(p->data_ns),      in_phase(p->forward_ns),
                             in_phase(p->backward_ns),  in_phase(p->allreduce_ns),
                             in_phase(p->optimizer_ns), waiting(of->step)};
    enum { KNOWN = sizeof(known) / sizeof(known[0]) };
    memcpy(out, known, sizeof(known));
    *total = of->step->total_ns;
    out[KNOWN] = out[KNOWN - 1]; /* the rest stands before the waiting */
    return leave_rest(*total, known, KNOWN, &out[KNOWN - 1]);
}

static int split_gpu(const struct times *of, int64_t *total, int64_t out[PW_RUNPARTS])
{
    const struct pw_row_c_step_trace *t = of->step;
    const int64_t known[] = {t->compute_ns, t->idle_ns};
    if (t->comm_exposed_ns < 0)
        return -1;
    *total = t->total_ns;
    out[0] = t->compute_ns;
    out[2] = t->idle_ns;
    return leave_rest(*total, known, 2, &out[1]);
}

static int split_step(const struct times *of, int64_t *total, int64_t out[PW_RUNPARTS])
{
    const struct pw_row_c_step_trace *t = of->step;
    const int64_t known[] = {pw_difference(t->total_ns, t->comm_exposed_ns), waiting(t)};
    if (t->comm_exposed_ns < 0)
        return -1;
    *total = t->total_ns;
    out[0] = known[0];
    out[2] = known[1];
    return leave_rest(*total, known, 2, &out[1]);
}

static int split_run(const struct times *of, int64_t *total, int64_t out[PW_RUNPARTS])
{
    const struct pw_row_c_part_trace *t = &of->run;
    const int64_t known[] = {t->inside_ns, t->outside_ns, t->wait_ns};
    *total = t->total_ns;
    memcpy(out + 1, known, sizeof(known));
    return leave_rest(*total, known, 3, &out[0]);
}

/* The first that can divide the mean is used. A GPU's time is divided without the phases' names
 * when the phases overlap. */
enum { BY_PHASES, BY_GPU, BY_STEP, BY_RUN, DIVISIONS };
static const struct division divisions[DIVISIONS] = {
    [BY_PHASES] = {{{"data", 'd'},
                    {"forward", 'f'},
                    {"backward", 'b'},
                    {"allreduce", 'a'},
                    {"optimizer", 'o'},
                    {"other", '-'},
                    {"waiting", '.'}},
                   7,
                   split_phases},
    [BY_GPU] = {{{"computing", '#'}, {"communication and waiting", '='}, {"GPU idle", '.'}},
                3,
                split_gpu},
    [BY_STEP] = {{{"outside communication", '#'}, {"communication", '='}, {"waiting", '.'}},
                 3,
                 split_step},
    [BY_RUN] = {{{"outside communication", '#'},
                 {"communication", '='},
                 {"before and after MPI", '-'},
                 {"waiting", '.'}},
                4,
                split_run},
};

static int64_t hidden(const struct pw_row_c_step_trace *t)
{
    return t->comm_ns <= 0 || t->comm_exposed_ns < 0 || t->comm_ns < t->comm_exposed_ns
               ? -1
               : t->comm_ns - t->comm_exposed_ns;
}

int pw_phases_are_known(const struct pw_figures *f)
{
    const struct pw_row_c_phase_trace *p = &f->phase_mean;
    return p->data_ns > 0 || p->forward_ns > 0 || p->backward_ns > 0 || p->allreduce_ns > 0 ||
           p->optimizer_ns > 0;
}

/* Whether the division is possible for what was recorded. */
static int can_divide(const struct pw_figures *f, int by)
{
    return by == BY_RUN      ? !f->measured
           : !f->measured    ? 0
           : by == BY_PHASES ? pw_phases_are_known(f)
           : by == BY_GPU    ? f->cluster->ngpu_ranks > 0
                             : f->expected > 1;
}

/* Divides the mean, and the rank's time (`rank` NULL: of no rank). Returns 0 or -1. */
static int divide(const struct division *by, const struct times *mean, const struct times *rank,
                  struct pw_runtime *out)
{
    int64_t of_mean[PW_RUNPARTS], of_rank[PW_RUNPARTS];
    if (by->split(mean, &out->mean_ns, of_mean))
        return -1;
    const int has_rank = rank && by->split(rank, &out->rank_ns, of_rank) == 0;
    out->nparts = by->nparts;
    for (size_t i = 0; i < by->nparts; i++)
        out->parts[i] = (struct pw_runpart){by->parts[i].name, by->parts[i].letter, of_mean[i],
                                            has_rank ? of_rank[i] : -1};
    if (!has_rank)
        out->rank = -1;
    return 0;
}

static void add_time(int64_t *sum, int64_t ns)
{
    *sum = *sum < 0 || ns < 0 ? -1 : pw_sum(*sum, ns);
}

/* The whole run of the rank in row r of /ranks; the times that are not known are -1. */
static struct pw_row_c_part_trace run_of(const struct pw_cluster *c, size_t r)
{
    struct pw_row_c_part_trace run = {.total_ns = 0};
    for (size_t part = 0; part < PW_PARTS; part++) {
        const struct pw_row_c_part_trace *row = &c->part_trace[part * c->nrank_rows + r];
        if (row->total_ns <= 0)
            continue;
        add_time(&run.total_ns, row->total_ns);
        add_time(&run.wait_ns, row->wait_ns);
        add_time(&run.inside_ns, row->inside_ns);
        add_time(&run.outside_ns, row->outside_ns);
    }
    return run;
}

/* The mean run of the ranks that are known, and the one with most own time in row *most. Returns
 * how many ranks are known. */
static int64_t mean_run(const struct pw_figures *f, struct pw_row_c_part_trace *mean, size_t *most)
{
    const struct pw_cluster *c = f->cluster;
    int64_t n = 0, own_ns = -1;
    for (size_t r = 0; c->part_trace && !f->has_silent_ranks && r < c->nrank_rows; r++) {
        const struct pw_row_c_part_trace run = run_of(c, r);
        if (!c->ranks[r].present || run.total_ns <= 0 || run.wait_ns < 0 || run.inside_ns < 0 ||
            run.outside_ns < 0)
            continue;
        n++;
        add_time(&mean->total_ns, run.total_ns);
        add_time(&mean->wait_ns, run.wait_ns);
        add_time(&mean->inside_ns, run.inside_ns);
        add_time(&mean->outside_ns, run.outside_ns);
        if (run.total_ns - run.wait_ns > own_ns) {
            own_ns = run.total_ns - run.wait_ns;
            *most = r;
        }
    }
    if (n) {
        mean->total_ns /= n;
        mean->wait_ns /= n;
        mean->inside_ns /= n;
        mean->outside_ns /= n;
    }
    return n;
}

/* The row of the rank that the headline names (*is_named 1), or else of the one with most own work
 * in a step; -1: there is none. */
static int64_t row_beside(const struct pw_figures *f, const struct pw_verdict *v, int *is_named)
{
    int64_t most = -1;
    const int64_t named =
        v->kind == PW_VERDICT_HELD_BACK ? pw_figures_row(f, f->cluster->stragglers[0].rank) : -1;
    *is_named = named >= 0 && f->samples[named] > 0;
    if (*is_named)
        return named;
    for (size_t r = 0; r < f->nranks; r++)
        if (f->samples[r] > 0 && (most < 0 || f->trace[r].own_ns > f->trace[most].own_ns))
            most = (int64_t)r;
    return most;
}

static void make_steps_time(const struct pw_figures *f, const struct pw_verdict *v,
                            struct pw_runtime *out)
{
    const int64_t row = row_beside(f, v, &out->is_named);
    const int has_rank =
        row >= 0 && f->present > 1 &&
        (out->is_named || (double)f->trace[row].own_ns > STANDS_OUT * (double)f->trace_mean.own_ns);
    const struct times mean = {.step = &f->trace_mean, .phases = &f->phase_mean};
    const struct times rank = {.step = has_rank ? &f->trace[row] : NULL,
                               .phases = has_rank ? &f->phases[row] : NULL};
    out->rank = has_rank ? f->cluster->ranks[row].rank : -1;
    for (int by = 0; by < BY_RUN && !out->of; by++)
        if (can_divide(f, by) && divide(&divisions[by], &mean, has_rank ? &rank : NULL, out) == 0)
            out->of = pw_words_step(f->cluster);
    for (size_t r = 0; r < f->nranks; r++)
        out->ranks += f->samples[r] > 0;
    out->hidden_ns = hidden(&f->trace_mean);
    out->rank_hidden_ns = has_rank ? hidden(&f->trace[row]) : -1;
}

static void make_run_time(const struct pw_figures *f, struct pw_runtime *out)
{
    struct times mean = {.step = NULL}, rank = {.step = NULL};
    size_t most = 0;
    out->ranks = mean_run(f, &mean.run, &most);
    out->hidden_ns = out->rank_hidden_ns = -1;
    out->rank = -1;
    if (!out->ranks)
        return;
    rank.run = run_of(f->cluster, most);
    const int has_rank = (double)pw_difference(rank.run.total_ns, rank.run.wait_ns) >
                         STANDS_OUT * (double)pw_difference(mean.run.total_ns, mean.run.wait_ns);
    if (has_rank)
        out->rank = f->cluster->ranks[most].rank;
    if (divide(&divisions[BY_RUN], &mean, has_rank ? &rank : NULL, out) == 0)
        out->of = "run";
}

/* 0 when some communication was not recorded, or not when it ran: waiting for it looks like work.
 */
static int can_tell_waits(const struct pw_verdict *v)
{
    return !v->unrecorded.ranks && !v->unrecorded.silent_ranks && !v->unrecorded.is_silent &&
           !v->nccl.untimed && !v->nccl.unplaced;
}

/* 1 when all time is in one part, which is no information. */
static int is_one_part(const struct pw_runtime *time)
{
    size_t n = 0;
    for (size_t i = 0; i < time->nparts; i++)
        n += time->parts[i].mean_ns > 0;
    return n < 2;
}

/* 1 when the summary says it elsewhere, or it does not matter: for a program that could not start
 * only its end does. */
static int is_said(const struct pw_figures *f, const struct pw_basis *basis)
{
    const int is_about_ranks = strcmp(basis->what, "ranks") == 0;
    return is_about_ranks ? basis->mark == PW_MARK_MISSING : pw_ended_at_start(f->cluster);
}

static void make_cautions(const struct pw_figures *f, struct pw_runsummary *out)
{
    struct pw_basis found[PW_BASES];
    for (size_t i = 0, n = pw_basis_find(f, found); i < n; i++)
        if (found[i].mark != PW_MARK_SEEN && !is_said(f, &found[i]))
            out->cautions[out->ncautions++] = found[i];
}

int pw_runsummary_needs_cells(const struct pw_cluster *c)
{
    if (!pw_figures_has_means(c) || c->nqueues)
        return 1;
    const struct pw_row_c_rank_mean *all = &c->rank_means[c->nrank_rows];
    return c->nstragglers &&
           pw_figures_share(all->data_wait_ns, all->total_ns) >= PW_SHARED_DATA_WAIT_SHARE;
}

void pw_runsummary_make(const struct pw_figures *f, struct pw_runsummary *out)
{
    const struct pw_advice_input input = pw_figures_advice(f);
    struct pw_advice advice[PW_ADVICE_MAX];
    struct pw_loss losses[PW_LOSSES];
    const struct pw_loss *beside[PW_LOSSES_SHOWN];
    memset(out, 0, sizeof(*out));
    out->is_bad_end = pw_ending_is_bad(f->cluster);
    pw_headline_write(f, out->headline, sizeof(out->headline));
    pw_headline_missing(f, out->missing, sizeof(out->missing));
    const size_t n = pw_losses_beside(losses, pw_losses_find(f, losses), beside);
    while (out->nlosses < n && out->nlosses < PW_RUNSUMMARY_LOSSES) {
        out->losses[out->nlosses] = *beside[out->nlosses];
        out->nlosses++;
    }
    if (can_tell_waits(&input.verdict) && f->measured)
        make_steps_time(f, &input.verdict, &out->time);
    else if (can_tell_waits(&input.verdict))
        make_run_time(f, &out->time);
    if (is_one_part(&out->time))
        out->time.of = NULL;
    out->further_advice = pw_advice_collect(&input, advice) - 1;
    out->advice = advice[0];
    out->advice_share = pw_advice_share(&input, &advice[0]);
    make_cautions(f, out);
}
