/* Chooses files by their summaries; see selection.h. */
#include "aggregate/input/selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/windows.h"
#include "core/limits.h"
#include "core/sort.h"

void pw_summary_make(const struct pw_input *s, struct pw_summary *out)
{
    memset(out, 0, sizeof(*out));
    const char *slash = strrchr(s->path, '/');
    snprintf(out->file, sizeof(out->file), "%.63s", slash ? slash + 1 : s->path);
    out->rank = s->rank;
    out->world_size = s->world_size;
    out->complete = s->complete;
    out->dropped = s->dropped;
    out->exit_code = s->exit_code;
    out->exit_signal = s->exit_signal;
    out->events = s->events;
    out->start_unix_ns = s->start_unix_ns;
    out->end_unix_ns = s->end_unix_ns;
    out->run_ns = s->end_unix_ns > s->start_unix_ns ? s->end_unix_ns - s->start_unix_ns : -1;
    out->has_pauses = pw_windows_pause(s);
    out->is_snapshot = s->snapshot != 0;
    out->overhead_ns = pw_whole(s->event_cost_ns * (double)s->events + s->sync_ns);
    memcpy(out->hostname, s->hostname, sizeof(out->hostname));
    memcpy(out->job, s->job, sizeof(out->job));
    memcpy(out->clock_domain, s->clock_domain, sizeof(out->clock_domain));
    memcpy(out->clock_sync, s->clock_sync, sizeof(out->clock_sync));
    memcpy(out->command, s->command, sizeof(out->command));
}

static int is_same_world(const struct pw_summary *a, const struct pw_summary *b)
{
    return a->world_size == b->world_size && strcmp(a->job, b->job) == 0;
}

static int by_world(const void *a, const void *b)
{
    const struct pw_summary *x = *(const struct pw_summary *const *)a;
    const struct pw_summary *y = *(const struct pw_summary *const *)b;
    int order = strcmp(x->job, y->job);
    if (order || x->world_size == y->world_size)
        return order ? order : (x > y) - (x < y);
    return x->world_size < y->world_size ? -1 : 1;
}

const struct pw_summary *pw_selection_world(const struct pw_summary *all, size_t n)
{
    const struct pw_summary **sorted = malloc(sizeof(*sorted) * n), *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < n && sorted; i++)
        sorted[i] = &all[i];
    if (sorted)
        pw_sort(sorted, n, sizeof(*sorted), by_world);
    for (size_t at = 0, end; at < n && sorted; at = end) {
        for (end = at + 1; end < n && is_same_world(sorted[at], sorted[end]);)
            end++;
        if (end - at > most || (end - at == most && sorted[at] < best)) {
            most = end - at;
            best = sorted[at];
        }
    }
    free(sorted);
    return best;
}

void pw_selection_mark(struct pw_job *job, struct pw_summary *all, size_t n,
                       const struct pw_summary *world)
{
    char *taken = calloc((size_t)job->nranks, 1), detail[128];
    for (size_t i = 0; i < n && taken; i++) {
        const char *why = NULL;
        if (strcmp(all[i].job, world->job) != 0)
            why = "is of another job";
        else if (all[i].world_size != job->nranks)
            why = "is of a world of another size";
        else if (taken[all[i].rank])
            why = "is of a rank that another file is of";
        all[i].keep = !why;
        snprintf(detail, sizeof(detail), "%s %s", all[i].file, why ? why : "");
        if (why && job->process == 0)
            pw_job_note(job, all[i].rank, "left_out", 1, detail);
        if (!why)
            taken[all[i].rank] = 1;
    }
    free(taken);
}

void pw_selection_apply(struct pw_job *job, const struct pw_summary *mine)
{
    size_t kept = 0;
    for (size_t i = 0; i < job->ninputs; i++) {
        if (mine[i].keep)
            job->inputs[kept++] = job->inputs[i];
        else
            pw_input_close(&job->inputs[i]);
    }
    job->ninputs = kept;
}

int pw_selection_is_believed(const struct pw_summary *world, size_t files)
{
    enum { ALWAYS = 1 << 16, PER_FILE = 64 };
    return world->world_size <= ALWAYS + PER_FILE * (int64_t)files;
}
