/* Compares the workers of a task farm by their time for a task; see taskfarm.h. */
#include "analysis/taskfarm.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "analysis/thresholds.h"

/* Of each rank, in the whole run or a part of it. */
struct worker {
    int64_t got, sent; /* messages */
    int64_t partner;   /* the only rank that it exchanges messages with; -1 none, -2 several */
    int64_t own_ns;
};

/* The work of one rank, or of several, in some bins that are joined. */
struct group {
    double own_ns, got;
};

/* In the scratch. */
struct farm {
    const struct pw_farm_input *in;
    int64_t master;           /* -1: it is no farm */
    struct worker *workers;   /* [nranks] of the whole run */
    struct worker *within;    /* [nranks] of a part of it */
    int64_t *values;          /* [nranks] */
    struct group *mine, *all; /* [nbins] of one worker, of all */
    double *spreads;          /* [nranks] */
    size_t joined, ngroups;   /* bins of a group */
};

size_t pw_farm_scratch(const struct pw_farm_input *in)
{
    return in->nranks * (2 * sizeof(struct worker) + sizeof(int64_t) + sizeof(double)) +
           2 * in->nbins * sizeof(struct group);
}

static void meet(struct worker *w, int64_t partner)
{
    w->partner = w->partner == -1 || w->partner == partner ? partner : -2;
}

static void count(const struct pw_farm_input *in, struct worker *workers)
{
    for (size_t r = 0; r < in->nranks; r++)
        workers[r] = (struct worker){.partner = -1, .own_ns = in->own_ns[r]};
    for (size_t i = 0; i < in->npairs; i++) {
        const struct pw_row_c_p2p *p = &in->pairs[i];
        if (p->src < 0 || p->dst < 0 || (size_t)p->src >= in->nranks ||
            (size_t)p->dst >= in->nranks || p->messages <= 0 || p->src == p->dst)
            continue;
        workers[p->src].sent += p->messages;
        workers[p->dst].got += p->messages;
        meet(&workers[p->src], p->dst);
        meet(&workers[p->dst], p->src);
    }
}

/* The rank with which all others exchange messages, and nobody else; -1: there is none. */
static int64_t find_master(const struct pw_farm_input *in, const struct worker *workers)
{
    int64_t master = -1;
    for (size_t r = 0; r < in->nranks; r++)
        if (workers[r].partner == -2) {
            if (master >= 0)
                return -1;
            master = (int64_t)r;
        }
    for (size_t r = 0; r < in->nranks && master >= 0; r++)
        if ((int64_t)r != master &&
            (workers[r].partner != master || workers[r].got < PW_FARM_TASKS ||
             workers[r].sent < PW_FARM_TASKS || workers[r].own_ns <= 0))
            return -1;
    return in->nranks > PW_FARM_WORKERS ? master : -1;
}

static struct farm open_farm(const struct pw_farm_input *in, void *scratch)
{
    struct worker *workers = scratch;
    struct worker *within = workers + in->nranks;
    struct group *mine = (struct group *)(within + in->nranks);
    double *spreads = (double *)(mine + 2 * in->nbins);
    struct farm farm = {.in = in,
                        .workers = workers,
                        .within = within,
                        .mine = mine,
                        .all = mine + in->nbins,
                        .spreads = spreads,
                        .values = (int64_t *)(spreads + in->nranks)};
    count(in, workers);
    farm.master = find_master(in, workers);
    return farm;
}

enum what { TASKS, OWN, TASK };

/* The median over the workers other than this one. */
static int64_t others(const struct farm *farm, const struct worker *workers, size_t but,
                      enum what what)
{
    size_t n = 0;
    for (size_t r = 0; r < farm->in->nranks; r++)
        if ((int64_t)r != farm->master && r != but && workers[r].got > 0)
            farm->values[n++] = what == TASKS ? workers[r].got
                                : what == OWN ? workers[r].own_ns
                                              : workers[r].own_ns / workers[r].got;
    return n ? pw_median_i64(farm->values, n) : 0;
}

/* The farm's rate is the sum of the workers'. With this worker as fast as the others' median, the
 * tasks would take (old rate / new rate) x the present time; the rest is lost. */
static int64_t lost(const struct farm *farm, const struct worker *workers,
                    const struct pw_farm_slow *slow)
{
    double rate = 0;
    for (size_t r = 0; r < farm->in->nranks; r++)
        if ((int64_t)r != farm->master && workers[r].own_ns > 0)
            rate += (double)workers[r].got / (double)workers[r].own_ns;
    const double own_ns = (double)workers[slow->rank].own_ns;
    const double more = 1 / (double)slow->others_ns - (double)slow->tasks / own_ns;
    return (int64_t)(own_ns * more / (rate + more));
}

/* Compares a worker with the others. Returns 0 when it is not slow by PW_FARM_RATIO, or is not as
 * busy as they are. */
static int compare(const struct farm *farm, const struct worker *workers, size_t rank,
                   struct pw_farm_slow *one)
{
    *one = (struct pw_farm_slow){
        .rank = rank, .master = (size_t)farm->master, .tasks = workers[rank].got};
    const int64_t own_ns = others(farm, workers, rank, OWN);
    if (one->tasks < PW_FARM_TASKS)
        return 0;
    one->mine_ns = workers[rank].own_ns / one->tasks;
    one->others_ns = others(farm, workers, rank, TASK);
    one->others_tasks = others(farm, workers, rank, TASKS);
    if (one->others_ns <= 0 || (double)one->mine_ns < PW_FARM_RATIO * (double)one->others_ns ||
        fabs((double)(workers[rank].own_ns - own_ns)) > PW_FARM_BUSY * (double)own_ns)
        return 0;
    one->lost_ns = lost(farm, workers, one);
    return 1;
}

static int find_in_all(const struct farm *farm, size_t rank, struct pw_farm_slow *one)
{
    return compare(farm, farm->workers, rank, one) &&
           (double)one->mine_ns >=
               (1 + PW_FARM_ERRORS / sqrt((double)one->tasks)) * (double)one->others_ns;
}

/* ---- a worker that was slow for a part of the run ---- */

static void add_bin(const struct pw_farm_input *in, size_t bin, size_t rank, struct group *sum)
{
    const struct pw_row_c_bin_trace *row = &in->bins[bin * in->nranks + rank];
    if (row->wait_ns < 0)
        return;
    sum->own_ns += (double)(in->bin_ns - row->outside_ns - row->wait_ns - row->inside_ns);
    sum->got += (double)in->received[bin * in->nranks + rank];
}

/* Joins bins until the median worker gets PW_FARM_GROUP tasks in a group. */
static void choose_groups(struct farm *farm)
{
    const int64_t tasks = others(farm, farm->workers, (size_t)farm->master, TASKS);
    const double groups = (double)tasks / PW_FARM_GROUP;
    farm->joined = groups < 1 ? farm->in->nbins : (size_t)((double)farm->in->nbins / groups) + 1;
    farm->ngroups = farm->in->nbins / farm->joined;
}

static void sum_groups(const struct farm *farm, size_t rank, struct group *sums)
{
    for (size_t b = 0; b < farm->ngroups * farm->joined; b++)
        add_bin(farm->in, b, rank, &sums[b / farm->joined]);
}

static void take_mine(const struct farm *farm, size_t rank)
{
    memset(farm->mine, 0, farm->in->nbins * sizeof(*farm->mine));
    sum_groups(farm, rank, farm->mine);
}

/* A tenth of the mean, squared. */
#define LEAST_SPREAD 0.01

/* The variance of a task of the worker whose groups are in `mine`, over the square of its mean:
 * from the differences of successive groups. */
static double spread_of(const struct farm *farm)
{
    double sum = 0, pairs = 0, got = 0;
    for (size_t g = 0; g + 1 < farm->ngroups; g++) {
        const struct group *a = &farm->mine[g], *b = a + 1;
        if (a->got < 1 || b->got < 1)
            continue;
        const double x = a->own_ns / a->got, y = b->own_ns / b->got, mean = (x + y) / 2;
        sum += mean > 0 ? (x - y) * (x - y) / 2 / (mean * mean) : 0;
        got += (a->got + b->got) / 2;
        pairs++;
    }
    return pairs > 0 ? sum / pairs * (got / pairs) : 1;
}

/* The median spread of a task of the workers, at most that of an exponential distribution, and at
 * least LEAST_SPREAD. Sums up the groups of all workers. */
static double find_spread(const struct farm *farm)
{
    size_t n = 0;
    memset(farm->all, 0, farm->in->nbins * sizeof(*farm->all));
    for (size_t r = 0; r < farm->in->nranks; r++) {
        if ((int64_t)r == farm->master)
            continue;
        sum_groups(farm, r, farm->all);
        take_mine(farm, r);
        farm->spreads[n++] = spread_of(farm);
    }
    const double spread = pw_median_f64(farm->spreads, n);
    return spread > 1 ? 1 : spread > LEAST_SPREAD ? spread : LEAST_SPREAD;
}

/* The time for a task of the workers other than that in `mine`, near a group. */
static double usual_ns(const struct farm *farm, size_t group)
{
    const size_t first = group ? group - 1 : 0;
    const size_t last = group + 1 < farm->ngroups ? group + 1 : group;
    struct group sum = {0};
    for (size_t g = first; g <= last; g++) {
        sum.own_ns += farm->all[g].own_ns - farm->mine[g].own_ns;
        sum.got += farm->all[g].got - farm->mine[g].got;
    }
    return sum.got > 0 ? sum.own_ns / sum.got : 0;
}

static double run_of(const struct pw_farm_input *in)
{
    return (double)in->bin_ns * (double)in->nbins;
}

/* Finds the groups in which the worker lost most, by Kadane's algorithm. Returns 0 when that is
 * less than PW_FARM_PART_SHARE of the run, of which the farm loses only a part. */
static int find_groups(const struct farm *farm, size_t *first, size_t *last)
{
    const double edge_ns = PW_STRETCH_EDGE * (double)farm->in->bin_ns * (double)farm->joined;
    double best = 0, sum = 0;
    size_t start = 0;
    for (size_t g = 0; g < farm->ngroups; g++) {
        if (sum <= 0) {
            sum = 0;
            start = g;
        }
        sum += farm->mine[g].own_ns - farm->mine[g].got * usual_ns(farm, g) - edge_ns;
        if (sum > best) {
            best = sum;
            *first = start;
            *last = g;
        }
    }
    return best >= PW_FARM_PART_SHARE * run_of(farm->in);
}

/* At most this is the chance that n tasks take `ratio` > 1 times their mean or more. It is the tail
 * of a gamma distribution of shape n, and that of a Poisson distribution of mean n x ratio below n:
 * at most its last term, by Stirling's formula, times the sum of the geometric series of the
 * quotients of successive terms. */
static double chance_of(double n, double ratio)
{
    static const double two_pi = 6.28318530717958647692;
    return exp(-n * (ratio - 1 - log(ratio))) / ((ratio - 1) * sqrt(two_pi * n));
}

static int find_in_part(const struct farm *farm, double spread, size_t rank,
                        struct pw_farm_slow *one)
{
    size_t first = 0, last = 0;
    take_mine(farm, rank);
    if (!find_groups(farm, &first, &last))
        return 0;
    first *= farm->joined;
    last = (last + 1) * farm->joined - 1;
    for (size_t r = 0; r < farm->in->nranks; r++) {
        struct group sum = {0};
        for (size_t b = first; b <= last; b++)
            add_bin(farm->in, b, r, &sum);
        farm->within[r] = (struct worker){.got = (int64_t)sum.got, .own_ns = (int64_t)sum.own_ns};
    }
    if (!compare(farm, farm->within, rank, one))
        return 0;
    const double n = (double)farm->ngroups, workers = (double)farm->in->nranks - 1;
    const double ratio = (double)one->mine_ns / (double)one->others_ns;
    one->is_part = 1;
    one->first = first;
    one->last = last;
    return (double)one->lost_ns >= PW_FARM_PART_SHARE * run_of(farm->in) &&
           chance_of((double)one->tasks / spread, ratio) * n * (n + 1) / 2 * workers <
               PW_STRAGGLER_CHANCE;
}

/* A part that has nearly all of the run's loss tells more than the run, if it is shorter. */
static int is_better(const struct farm *farm, const struct pw_farm_slow *part,
                     const struct pw_farm_slow *all)
{
    return (double)part->lost_ns >= PW_FARM_PART_LOSS * (double)all->lost_ns &&
           (double)(part->last - part->first + 1) < PW_FARM_PART_LENGTH * (double)farm->in->nbins;
}

size_t pw_farm_find(const struct pw_farm_input *in, void *scratch, struct pw_farm_slow *slow,
                    size_t max)
{
    struct farm farm = open_farm(in, scratch);
    double spread = 1;
    size_t n = 0;
    if (farm.master < 0)
        return 0;
    if (in->nbins) {
        choose_groups(&farm);
        spread = find_spread(&farm);
    }
    for (size_t r = 0; r < in->nranks && n < max; r++) {
        struct pw_farm_slow all, part;
        if ((int64_t)r == farm.master)
            continue;
        const int is_all = find_in_all(&farm, r, &all);
        const int is_part = farm.ngroups > 1 && find_in_part(&farm, spread, r, &part);
        if (is_part && (!is_all || is_better(&farm, &part, &all)))
            slow[n++] = part;
        else if (is_all)
            slow[n++] = all;
    }
    return n;
}

int64_t pw_farm_task_ns(const struct pw_farm_input *in, void *scratch, size_t rank)
{
    const struct farm farm = open_farm(in, scratch);
    return farm.master < 0 || (int64_t)rank == farm.master
               ? -1
               : in->own_ns[rank] / farm.workers[rank].got;
}

int pw_farm_is_balanced(const struct pw_farm_input *in, void *scratch, int64_t run_ns)
{
    const struct farm farm = open_farm(in, scratch);
    if (farm.master < 0)
        return 0;
    const double own_ns = (double)others(&farm, farm.workers, (size_t)farm.master, OWN);
    for (size_t r = 0; r < in->nranks; r++)
        if ((int64_t)r != farm.master &&
            fabs((double)in->own_ns[r] - own_ns) > PW_FARM_BUSY * own_ns)
            return 0;
    return own_ns >= PW_FARM_MOSTLY * (double)run_ns;
}
