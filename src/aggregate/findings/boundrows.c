/* Stragglers bound to CPUs that others use; see boundrows.h. */
#include "aggregate/findings/boundrows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pw_boundrows_measure(const struct pw_bound_input *in, struct pw_bound *bound)
{
    const size_t cells = in->nbins * in->nranks;
    void *scratch = malloc(pw_bound_scratch(in));
    *bound = (struct pw_bound){.others_ns = malloc(sizeof(int64_t) * (cells + 1)),
                               .kept_ns = malloc(sizeof(int64_t) * (cells + 1)),
                               .beside = malloc(cells + 1)};
    int err = scratch && bound->others_ns && bound->kept_ns && bound->beside ? 0 : -ENOMEM;
    if (!err)
        pw_bound_measure(in, scratch, bound);
    free(scratch);
    return err;
}

void pw_boundrows_free(struct pw_bound *bound)
{
    free(bound->others_ns);
    free(bound->kept_ns);
    free(bound->beside);
    *bound = (struct pw_bound){0};
}

int pw_boundrows_is_narrow(const struct pw_row_c_straggler *row)
{
    return row->cause == PW_CAUSE_CPU_CONTENTION && row->cpus > 0 &&
           2 * (int64_t)row->cpus <= row->others_cpus;
}

/* " since step 37", or the time where no step began before it. */
static void say_since(const struct pw_findings *f, const struct pw_job *job, int64_t since_ns,
                      char *out, size_t size)
{
    const struct pw_row_c_step *step = NULL;
    for (size_t i = 0; i < f->nsteps && f->steps[i].start <= since_ns; i++)
        step = &f->steps[i];
    out[0] = '\0';
    if (since_ns >= 0 && step)
        snprintf(out, size, " since step %" PRId64, step->step);
    else if (since_ns >= 0)
        snprintf(out, size, " since %.1f s", (double)(since_ns - job->bins.start_ns) / 1e9);
}

/* "bound to CPU 1 since step 37, of which other processes used 67 %; other ranks may use 2". */
static void describe(const struct pw_bound_found *found, const char *since,
                     struct pw_row_c_straggler *row)
{
    char where[48], more[48] = "", text[160];
    if (found->cpus == 1)
        snprintf(where, sizeof(where), "CPU %d", found->lowest);
    else
        snprintf(where, sizeof(where), "%d CPUs (%d to %d)", found->cpus, found->lowest,
                 found->highest);
    if (found->others_cpus > found->cpus)
        snprintf(more, sizeof(more), "; other ranks here may use %d", found->others_cpus);
    snprintf(text, sizeof(text), "bound to %s%s, of which other processes used %.0f %%%s", where,
             since, 100 * found->share, more);
    const size_t used = strnlen(row->evidence, sizeof(row->evidence) - 1);
    snprintf(row->evidence + used, sizeof(row->evidence) - used, "%s%s", used ? "; " : "", text);
}

static size_t bin_at(const struct pw_job *job, int64_t time)
{
    const int64_t bin = (time - job->bins.start_ns) / job->bins.bin_ns;
    return bin < 0 ? 0 : (size_t)bin < job->bins.n ? (size_t)bin : job->bins.n - 1;
}

void pw_boundrows_enter(struct pw_findings *f, const struct pw_job *job,
                        const struct pw_bound_input *in, const struct pw_bound *bound,
                        int64_t *scratch)
{
    for (size_t i = 0; i < f->nstragglers; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        struct pw_bound_found found;
        char since[48];
        row->cpus = row->others_cpus = 0;
        row->others_share = -1;
        row->bound_ns = -1;
        if (!in->nbins || row->end <= row->start)
            continue;
        const size_t first = bin_at(job, row->start), last = bin_at(job, row->end - 1);
        if (!pw_bound_look(in, bound, (size_t)row->rank, first, last, scratch, &found))
            continue;
        row->cpus = found.cpus;
        row->others_cpus = found.others_cpus;
        row->others_share = found.share;
        if (found.since >= 0)
            row->bound_ns = job->bins.start_ns + found.since * job->bins.bin_ns;
        say_since(f, job, row->bound_ns, since, sizeof(since));
        if (row->cause == PW_CAUSE_CPU_CONTENTION)
            describe(&found, since, row);
    }
}
