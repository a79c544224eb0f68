/* Gathers each rank's mean step, and lets the rules judge; see advise.h. */
#include "aggregate/findings/advise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice.h"
#include "analysis/statistics.h"

enum { FIELDS = sizeof(struct pw_row_c_step_trace) / sizeof(int64_t) };

/* Sums over a rank's measured steps, field by field: all of the trace's are int64. */
struct sums {
    int64_t rank;
    struct pw_mean fields[FIELDS];
};

static struct sums sum_rank(const struct pw_world *world, const struct pw_share *share,
                            size_t column)
{
    struct sums sums = {.rank = (int64_t)(share->first + column)};
    for (size_t s = 0; s < world->nsteps; s++) {
        int64_t values[FIELDS];
        int64_t recorded = share->step_recorded[s];
        if (recorded > 0 && recorded != PW_RECORDED_ACTIVE)
            continue;
        memcpy(values, &share->steps[s * share->count + column], sizeof(values));
        for (size_t i = 0; i < FIELDS; i++)
            pw_mean_add(&sums.fields[i], values[i]);
    }
    return sums;
}

static void take_means(const struct pw_mean *means, struct pw_row_c_step_trace *out)
{
    int64_t values[FIELDS];
    for (size_t i = 0; i < FIELDS; i++)
        values[i] = pw_mean_value(&means[i]);
    memcpy(out, values, sizeof(values));
}

/* Of all ranks, on every process; NULL when memory is short. */
static struct sums *gather_sums(const struct pw_job *job, const struct pw_share *share, size_t *n)
{
    struct sums *mine = malloc((share->count + 1) * sizeof(*mine));
    void *all;
    for (size_t i = 0; mine && i < share->count; i++)
        mine[i] = sum_rank(&job->world, share, i);
    *n = pw_procs_allgather(&job->procs, mine, share->count, sizeof(*mine), &all);
    free(mine);
    return all;
}

/* The findings as a loaded file has them; borrowed. */
static struct pw_cluster view(const struct pw_job *job, const struct pw_findings *f)
{
    struct pw_cluster c = {
        .nranks = job->world.nranks,
        .nhosts = job->world.nhosts,
        .nsteps = (int64_t)job->world.nsteps,
        .steps_inferred = job->world.steps_inferred,
        .clock_error_max_ns = job->world.clock_error_max_ns,
        .snapshot = job->world.is_snapshot,
        .ranks = job->world.ranks,
        .nrank_rows = (size_t)job->world.nranks,
        .steps = f->steps,
        .nstep_rows = f->nsteps,
        .collective_stats = f->stats,
        .ncollective_stats = f->nstats,
        .p2p = f->pairs.rows,
        .np2p = f->pairs.n,
        .stragglers = f->stragglers,
        .nstragglers = f->nstragglers,
        .whatif = f->whatif.rows,
        .nwhatif = f->whatif.nrows,
        .hosts_slow = f->whatif.hosts,
        .nhosts_slow = f->whatif.nhosts,
        .links_slow = f->pairs.links,
        .nlinks_slow = f->pairs.nlinks,
        .trends = (struct pw_row_c_trend *)f->trends.rows,
        .ntrends = f->trends.n,
        .network = (struct pw_row_c_network *)f->network.rows,
        .nnetwork = f->network.n,
        .imbalances = f->imbalance.rows,
        .nimbalances = f->imbalance.n,
        .completeness = job->notes,
        .ncompleteness = job->nnotes,
        .queues = f->samples.queues.rows,
        .nqueues = f->samples.queues.n,
        .utilisation = f->samples.usages.rows,
        .nutilisation = f->samples.usages.n,
        .memory = f->samples.usages.memory,
        .nmemory = f->samples.usages.nmemory,
    };
    return c;
}

/* On process 0: the rows, malloc'ed; NULL when memory is short. */
static struct pw_row_c_advice *make_rows(const struct pw_job *job, const struct pw_findings *f,
                                         const struct sums *sums, size_t nsums, size_t *n)
{
    size_t nranks = (size_t)job->world.nranks;
    struct pw_row_c_efficiency efficiency = f->efficiency;
    struct pw_cluster cluster = view(job, f);
    struct pw_mean means[FIELDS] = {{0}};
    struct pw_row_c_step_trace *trace = malloc((nranks + 1) * sizeof(*trace));
    struct pw_advice *advice = malloc(PW_ADVICE_MAX * sizeof(*advice));
    struct pw_row_c_advice *rows = calloc(PW_ADVICE_MAX, sizeof(*rows));
    cluster.efficiency = &efficiency;
    cluster.nefficiency = f->nefficiency;
    *n = 0;
    if (trace && advice && rows) {
        struct pw_advice_input input = {.cluster = &cluster, .trace = trace};
        memset(trace, 0xff, nranks * sizeof(*trace));
        for (size_t i = 0; i < nsums; i++) {
            take_means(sums[i].fields, &trace[sums[i].rank]);
            for (size_t k = 0; k < FIELDS; k++) {
                means[k].sum += sums[i].fields[k].sum;
                means[k].count += sums[i].fields[k].count;
            }
        }
        take_means(means, &input.mean);
        pw_advice_prepare(&input);
        *n = pw_advice_collect(&input, advice);
        for (size_t i = 0; i < *n; i++)
            rows[i] = pw_advice_row(&input, &advice[i]);
    }
    free(trace);
    free(advice);
    return rows;
}

void pw_advise_write(struct pw_clusterfile *file, const struct pw_job *job,
                     const struct pw_share *share, const struct pw_findings *findings)
{
    size_t nsums, n = 0;
    struct sums *sums = gather_sums(job, share, &nsums);
    struct pw_row_c_advice *rows = NULL;
    if (job->procs.process == 0)
        rows = make_rows(job, findings, sums, nsums, &n);
    pw_clusterfile_write_root(file, PW_TABLE_c_advice, n, rows);
    free(rows);
    free(sums);
}
