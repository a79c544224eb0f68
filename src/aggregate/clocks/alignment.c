/* Joins measured knots and inferred bounds into one map per clock domain; see alignment.h. */
#include "aggregate/clocks/alignment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/clocks/domainmap.h"
#include "aggregate/clocks/orders.h"
#include "core/clockmap.h"
#include "core/h5/h5reader.h"
#include "core/sort.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- what was measured ---- */

struct domain_knot {
    int64_t domain;
    struct pw_row_clock knot;
};

static int by_domain_and_time(const void *a, const void *b)
{
    const struct domain_knot *x = a, *y = b;
    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    if (x->knot.local_ns != y->knot.local_ns)
        return x->knot.local_ns < y->knot.local_ns ? -1 : 1;
    return (x->knot.error_ns > y->knot.error_ns) - (x->knot.error_ns < y->knot.error_ns);
}

/* The rank with most knots speaks for its domain, the lowest of several: one of each domain
 * measured during the run, the others have what was measured over MPI. */
static int64_t weight(const struct pw_input *input)
{
    return ((int64_t)input->nknots << 25) - input->rank;
}

static int64_t *choose_speakers(const struct pw_job *job)
{
    int64_t *best = malloc(sizeof(*best) * ((size_t)job->world.ndomains + 1));
    for (int32_t d = 0; best && d < job->world.ndomains; d++)
        best[d] = INT64_MIN;
    for (size_t i = 0; best && i < job->ninputs; i++) {
        const struct pw_input *s = &job->inputs[i];
        best[s->domain] = weight(s) > best[s->domain] ? weight(s) : best[s->domain];
    }
    if (pw_procs_all_ok(&job->procs, best != NULL))
        MPI_Allreduce(MPI_IN_PLACE, best, job->world.ndomains, MPI_INT64_T, MPI_MAX,
                      job->procs.comm);
    return best;
}

static size_t gather_knots(const struct pw_job *job, struct domain_knot **out)
{
    size_t n = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].nknots;
    struct domain_knot *mine = calloc(n + 1, sizeof(*mine));
    int64_t *speakers = choose_speakers(job);
    n = 0;
    for (size_t i = 0; i < job->ninputs && mine; i++) {
        const struct pw_input *s = &job->inputs[i];
        int speaks = speakers && speakers[s->domain] == weight(s);
        for (size_t k = 0; k < s->nknots && speaks; k++)
            mine[n++] = (struct domain_knot){s->domain, s->knots[k]};
    }
    void *all;
    if (!pw_procs_all_ok(&job->procs, mine && speakers))
        pw_procs_out_of_memory(&job->procs);
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &all);
    free(mine);
    free(speakers);
    *out = all;
    pw_sort(all, n, sizeof(**out), by_domain_and_time);
    return n;
}

static int make_measured_maps(const struct pw_job *job, struct pw_domainmap *maps)
{
    struct domain_knot *all;
    size_t n = gather_knots(job, &all);
    int err = 0;
    for (size_t i = 0; i < n && !err; i++) {
        struct pw_domainmap *map = &maps[all[i].domain];
        if (map->n && map->knots[map->n - 1].local_ns >= all[i].knot.local_ns)
            continue;
        err = pw_domainmap_append(map, &all[i].knot);
        map->measured = map->n;
    }
    free(all);
    return err;
}

/* ---- the inputs' maps ---- */

static int give_map(struct pw_input *input, const struct pw_domainmap *map)
{
    struct pw_row_clock *knots = malloc(sizeof(*knots) * (map->n + 1));
    if (!knots)
        return -ENOMEM;
    if (map->n)
        memcpy(knots, map->knots, sizeof(*knots) * map->n);
    free(input->knots);
    input->knots = knots;
    input->nknots = map->n;
    input->aligned = input->domain == 0 || map->n > 0;
    return 0;
}

static int give_maps(struct pw_job *job, const struct pw_domainmap *maps)
{
    int err = 0;
    for (size_t i = 0; i < job->ninputs && !err; i++)
        err = give_map(&job->inputs[i], &maps[job->inputs[i].domain]);
    return err;
}

static int64_t first_time(const struct pw_job *job)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *s = &job->inputs[i];
        if (s->nsteps)
            first = smaller(first, pw_input_time(s, s->steps[0].start));
        else if (s->begin_ns != INT64_MAX)
            first = smaller(first, pw_input_time(s, s->begin_ns));
    }
    return first;
}

static void share_clock_errors(struct pw_job *job)
{
    int64_t *errors = malloc(sizeof(*errors) * (size_t)job->world.nranks), first = first_time(job);
    if (!pw_procs_all_ok(&job->procs, errors != NULL))
        pw_procs_out_of_memory(&job->procs);
    for (int64_t r = 0; r < job->world.nranks; r++)
        errors[r] = -2;
    for (size_t i = 0; i < job->ninputs; i++)
        errors[job->inputs[i].rank] = pw_input_clock_error(&job->inputs[i]);
    MPI_Allreduce(MPI_IN_PLACE, errors, (int)job->world.nranks, MPI_INT64_T, MPI_MAX,
                  job->procs.comm);
    MPI_Allreduce(&first, &job->world.epoch_ns, 1, MPI_INT64_T, MPI_MIN, job->procs.comm);
    job->world.epoch_ns = job->world.epoch_ns == INT64_MAX ? 0 : job->world.epoch_ns;
    for (int64_t r = 0; r < job->world.nranks; r++) {
        if (!job->world.ranks[r].present)
            continue;
        job->world.ranks[r].clock_error_ns = errors[r];
        if (errors[r] < 0)
            job->world.clock_error_max_ns = -1;
        else if (job->world.clock_error_max_ns >= 0 && errors[r] > job->world.clock_error_max_ns)
            job->world.clock_error_max_ns = errors[r];
        if (errors[r] < 0 && job->procs.process == 0)
            pw_job_note(job, r, "unaligned_clock", 1,
                        "neither a measurement nor an event relates its clock to rank 0's");
    }
    free(errors);
}

/* ---- the rows of the cluster file ---- */

static const char *name_source(const struct pw_domainmap *map, int32_t domain)
{
    if (domain == 0)
        return "reference";
    if (map->n == 0)
        return "none";
    if (map->inferred && map->measured)
        return "both";
    return map->inferred ? "passive" : "active";
}

static void describe_drift(const struct pw_domainmap *map, struct pw_row_c_clock *row)
{
    if (map->n < 2)
        return;
    const struct pw_row_clock *a = &map->knots[0], *b = &map->knots[map->n - 1];
    double span = (double)(b->local_ns - a->local_ns);
    /* cluster = local + offset: a clock that is fast needs less and less. */
    row->drift_ppm = -1e6 * (double)(b->offset_ns - a->offset_ns) / span;
    row->drift_error_ppm = 1e6 * (double)(a->error_ns + b->error_ns) / span;
}

static void fill_ranks(struct pw_alignment *a, const struct pw_world *world,
                       const struct pw_domainmap *maps)
{
    for (int64_t r = 0; r < world->nranks; r++) {
        int32_t d = world->domains[r];
        struct pw_row_c_clock *row = &a->ranks[r];
        row->rank = (int32_t)r;
        row->domain = d;
        row->error_ns = world->ranks[r].clock_error_ns;
        memcpy(row->hostname, world->ranks[r].hostname, sizeof(row->hostname));
        snprintf(row->source, sizeof(row->source), "%s", d < 0 ? "none" : name_source(&maps[d], d));
        if (d < 0)
            continue;
        row->offset_ns = maps[d].n ? maps[d].knots[maps[d].n / 2].offset_ns : 0;
        row->knots = (int64_t)maps[d].n;
        row->active_knots = (int64_t)maps[d].measured;
        row->bounds = maps[d].bounds;
        row->violations = maps[d].violations;
        row->violations_beyond = maps[d].violations_beyond;
        describe_drift(&maps[d], row);
    }
}

static int fill_knots(struct pw_alignment *a, const struct pw_world *world,
                      const struct pw_domainmap *maps)
{
    size_t n = 0;
    for (int32_t d = 0; d < world->ndomains; d++)
        n += maps[d].n;
    a->knots = malloc(sizeof(*a->knots) * (n + 1));
    if (!a->knots)
        return -ENOMEM;
    for (int32_t d = 0; d < world->ndomains; d++)
        for (size_t k = 0; k < maps[d].n; k++)
            a->knots[a->nknots++] =
                (struct pw_row_c_clock_knot){d, maps[d].knots[k].local_ns,
                                             maps[d].knots[k].offset_ns, maps[d].knots[k].error_ns};
    return 0;
}

static int infer(struct pw_job *job, const struct pw_instances *instances,
                 struct pw_domainmap *maps)
{
    struct pw_orders orders = {0};
    int err = pw_orders_collect(&orders, job, instances);
    struct pw_domainmap_report report = {0};
    err = err ? err
              : pw_domainmaps_infer(maps, (size_t)job->world.ndomains, &orders, job->procs.comm,
                                    &report);
    if (!err && report.contradictions && job->procs.process == 0)
        pw_job_note(job, -1, "clock_contradiction", report.contradictions,
                    "measured clocks and the order of events disagree: a clock has stepped, or "
                    "drifts by more than 100 us/s; error bounds are widened");
    pw_orders_fini(&orders);
    return err;
}

int pw_alignment_make(struct pw_alignment *a, struct pw_job *job,
                      const struct pw_instances *instances)
{
    struct pw_domainmap *maps = calloc((size_t)job->world.ndomains + 1, sizeof(*maps));
    *a = (struct pw_alignment){.ranks = calloc((size_t)job->world.nranks, sizeof(*a->ranks))};
    for (size_t i = 0; i < job->ninputs; i++)
        job->inputs[i].domain = job->world.domains[job->inputs[i].rank];
    int err = maps && a->ranks ? make_measured_maps(job, maps) : -ENOMEM, worst;
    for (size_t i = 0; i < job->ninputs; i++)
        job->inputs[i].nknots = 0;
    worst = pw_procs_worst(&job->procs, err);
    if (!worst && job->world.ndomains > 1 && job->world.infer_clocks)
        err = infer(job, instances, maps);
    err = err ? err : worst ? worst : give_maps(job, maps);
    worst = pw_procs_worst(&job->procs, err);
    if (!worst) {
        share_clock_errors(job);
        fill_ranks(a, &job->world, maps);
        err = fill_knots(a, &job->world, maps);
        worst = pw_procs_worst(&job->procs, err);
    }
    for (int32_t d = 0; maps && d < job->world.ndomains; d++)
        free(maps[d].knots);
    free(maps);
    return worst;
}

void pw_alignment_fini(struct pw_alignment *a)
{
    free(a->ranks);
    free(a->knots);
}
