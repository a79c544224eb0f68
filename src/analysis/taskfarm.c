/* Compares the workers of a task farm by their time for a task; see taskfarm.h. */
#include "analysis/taskfarm.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "analysis/thresholds.h"

/* Of each rank. */
struct worker {
    int64_t got, sent; /* messages */
    int64_t partner;   /* the only rank that it exchanges messages with; -1 none, -2 several */
};

size_t pw_farm_scratch(size_t nranks)
{
    return nranks * (sizeof(struct worker) + sizeof(int64_t));
}

static void meet(struct worker *w, int64_t partner)
{
    w->partner = w->partner == -1 || w->partner == partner ? partner : -2;
}

static void count(const struct pw_farm_input *in, struct worker *workers)
{
    for (size_t r = 0; r < in->nranks; r++)
        workers[r] = (struct worker){.partner = -1};
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
             workers[r].sent < PW_FARM_TASKS || in->own_ns[r] <= 0))
            return -1;
    return master;
}

enum what { TASKS, OWN, TASK };

/* The median over the workers other than this one. */
static int64_t others(const struct pw_farm_input *in, struct worker *workers,
                      const struct pw_farm_slow *but, enum what what)
{
    /* Behind the workers in the scratch: pw_farm_scratch(). */
    int64_t *values = (int64_t *)(workers + in->nranks);
    size_t n = 0;
    for (size_t r = 0; r < in->nranks; r++)
        if (r != but->master && r != but->rank)
            values[n++] = what == TASKS ? workers[r].got
                          : what == OWN ? in->own_ns[r]
                                        : in->own_ns[r] / workers[r].got;
    return pw_median_i64(values, n);
}

/* The farm's rate is the sum of the workers'. With this worker as fast as the others' median, the
 * same tasks take the old rate over the new one of the time. */
static int64_t lost(const struct pw_farm_input *in, const struct worker *workers, int64_t master,
                    const struct pw_farm_slow *slow)
{
    double rate = 0;
    for (size_t r = 0; r < in->nranks; r++)
        if ((int64_t)r != master)
            rate += (double)workers[r].got / (double)in->own_ns[r];
    const double own_ns = (double)in->own_ns[slow->rank];
    const double more = 1 / (double)slow->others_ns - (double)slow->tasks / own_ns;
    return (int64_t)(own_ns * more / (rate + more));
}

size_t pw_farm_find(const struct pw_farm_input *in, void *scratch, struct pw_farm_slow *slow,
                    size_t max)
{
    struct worker *workers = scratch;
    size_t n = 0;
    count(in, workers);
    const int64_t master = find_master(in, workers);
    for (size_t r = 0; master >= 0 && in->nranks > PW_FARM_WORKERS && r < in->nranks; r++) {
        if ((int64_t)r == master || n == max)
            continue;
        struct pw_farm_slow one = {.rank = r, .master = (size_t)master, .tasks = workers[r].got};
        const int64_t own_ns = others(in, workers, &one, OWN);
        one.mine_ns = in->own_ns[r] / one.tasks;
        one.others_ns = others(in, workers, &one, TASK);
        one.others_tasks = others(in, workers, &one, TASKS);
        const double least = 1 + PW_FARM_ERRORS / sqrt((double)one.tasks);
        const double ratio = one.others_ns > 0 ? (double)one.mine_ns / (double)one.others_ns : 0;
        if (ratio < PW_FARM_RATIO || ratio < least ||
            fabs((double)(in->own_ns[r] - own_ns)) > PW_FARM_BUSY * (double)own_ns)
            continue;
        one.lost_ns = lost(in, workers, master, &one);
        slow[n++] = one;
    }
    return n;
}

int64_t pw_farm_task_ns(const struct pw_farm_input *in, void *scratch, size_t rank)
{
    struct worker *workers = scratch;
    count(in, workers);
    const int64_t master = find_master(in, workers);
    return master < 0 || (int64_t)rank == master || in->nranks <= PW_FARM_WORKERS
               ? -1
               : in->own_ns[rank] / workers[rank].got;
}
