/* Agrees on what is merged; see job.h. */
#include "aggregate/input/job.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/selection.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/readlimit.h"
#include "core/sort.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void pw_job_note(struct pw_job *job, int64_t rank, const char *what, int64_t count,
                 const char *detail)
{
    struct pw_row_c_completeness *notes =
        realloc(job->notes, (job->nnotes + 1) * sizeof(*job->notes));
    if (!notes)
        return;
    job->notes = notes;
    struct pw_row_c_completeness *row = &notes[job->nnotes++];
    memset(row, 0, sizeof(*row));
    row->rank = (int32_t)rank;
    row->count = count;
    snprintf(row->what, sizeof(row->what), "%s", what);
    snprintf(row->detail, sizeof(row->detail), "%s", detail);
}

static int by_rank_and_what(const void *a, const void *b)
{
    const struct pw_row_c_completeness *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    int order = strncmp(x->what, y->what, sizeof(x->what));
    return order ? order : strncmp(x->detail, y->detail, sizeof(x->detail));
}

void pw_job_gather_notes(struct pw_job *job)
{
    void *all;
    size_t n = pw_job_allgather(job, job->notes, job->nnotes, sizeof(*job->notes), &all);
    free(job->notes);
    job->notes = all;
    job->nnotes = n;
    pw_sort(all, n, sizeof(*job->notes), by_rank_and_what);
}

/* A contiguous share each, so that what a process writes is contiguous too. */
static void open_share(struct pw_job *job, const char *dir, char (*names)[PW_FILE_NAME], size_t n)
{
    size_t first = n * (size_t)job->process / (size_t)job->processes;
    size_t end = n * ((size_t)job->process + 1) / (size_t)job->processes;
    struct pw_h5_types *types = pw_h5_types_create();
    job->inputs = calloc(end - first + 1, sizeof(*job->inputs));
    for (size_t i = first; i < end && job->inputs && types; i++) {
        char path[4352], problem[256];
        snprintf(path, sizeof(path), "%.4000s/%s", dir, names[i]);
        struct pw_input *input = &job->inputs[job->ninputs];
        if (pw_input_open(types, path, input, problem, sizeof(problem)) == 0) {
            input->progress = &job->progress;
            job->ninputs++;
        } else {
            char detail[700];
            snprintf(detail, sizeof(detail), "%s %s", names[i], problem);
            pw_job_note(job, -1, "unreadable", 1, detail);
        }
    }
    pw_h5_types_destroy(types);
}

static void fill_ranks(struct pw_job *job, const struct pw_summary *all, size_t n,
                       const struct pw_summary *world)
{
    for (int64_t r = 0; r < job->nranks; r++)
        job->ranks[r] = (struct pw_row_c_rank){.rank = (int32_t)r,
                                               .exit_code = -1,
                                               .clock_error_ns = -1,
                                               .run_ns = -1,
                                               .overhead_ns = -1};
    job->start_unix_ns = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        if (!all[i].keep)
            continue;
        struct pw_row_c_rank *row = &job->ranks[all[i].rank];
        row->present = 1;
        row->complete = (uint8_t)all[i].complete;
        job->has_pauses |= all[i].has_pauses;
        job->is_snapshot |= all[i].is_snapshot;
        row->dropped_events = all[i].dropped;
        row->events = all[i].events;
        row->exit_code = (int32_t)all[i].exit_code;
        row->exit_signal = (int32_t)all[i].exit_signal;
        row->run_ns = all[i].run_ns;
        row->overhead_ns = all[i].overhead_ns;
        memcpy(row->hostname, all[i].hostname, sizeof(row->hostname));
        job->start_unix_ns = smaller(job->start_unix_ns, all[i].start_unix_ns);
        job->end_unix_ns =
            all[i].end_unix_ns > job->end_unix_ns ? all[i].end_unix_ns : job->end_unix_ns;
    }
    memcpy(job->job_id, world->job, sizeof(job->job_id));
    memcpy(job->command, world->command, sizeof(job->command));
}

static void note_missing(struct pw_job *job)
{
    for (int64_t r = 0; r < job->nranks && job->process == 0; r++) {
        const struct pw_row_c_rank *row = &job->ranks[r];
        if (!row->present)
            pw_job_note(job, r, "missing", 1, "no usable rank file");
        else if (row->complete == 0 && !job->is_snapshot)
            pw_job_note(job, r, "incomplete", 1, "its collector did not close the file");
        if (row->present && row->exit_signal)
            pw_job_note(job, r, "killed", row->exit_signal, "a signal ended the program");
    }
}

/* Clock domains, numbered by their lowest rank: 0 is the reference's. */
static int number_domains(struct pw_job *job, const struct pw_summary *all, size_t n)
{
    const struct pw_summary **first = malloc(sizeof(*first) * (n + 1)), **by_rank;
    by_rank = calloc((size_t)job->nranks, sizeof(*by_rank));
    int ok = first && by_rank;
    for (size_t i = 0; ok && i < n; i++)
        if (all[i].keep)
            by_rank[all[i].rank] = &all[i];
    for (int64_t r = 0; ok && r < job->nranks; r++) {
        int32_t d = 0;
        job->domains[r] = -1;
        if (!by_rank[r])
            continue;
        while (d < job->ndomains && strcmp(first[d]->clock_domain, by_rank[r]->clock_domain) != 0)
            d++;
        if (d == job->ndomains)
            first[job->ndomains++] = by_rank[r];
        job->domains[r] = d;
    }
    free(first);
    free(by_rank);
    return ok ? 0 : -ENOMEM;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static size_t unique(int64_t *numbers, size_t n)
{
    size_t kept = 0;
    pw_sort(numbers, n, sizeof(*numbers), by_number);
    for (size_t i = 0; i < n; i++)
        if (!kept || numbers[kept - 1] != numbers[i])
            numbers[kept++] = numbers[i];
    return kept;
}

int pw_job_agree_on_steps(struct pw_job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].nsteps;
    int64_t *mine = malloc(sizeof(*mine) * (n + 1));
    n = 0;
    for (size_t i = 0; mine && i < job->ninputs; i++)
        for (size_t s = 0; s < job->inputs[i].nsteps; s++)
            mine[n++] = job->inputs[i].steps[s].step;
    n = mine ? unique(mine, n) : 0;
    void *all = NULL;
    if (pw_job_all_ok(job, mine != NULL))
        n = pw_job_allgather(job, mine, n, sizeof(*mine), &all);
    free(mine);
    if (!all)
        return -ENOMEM;
    free(job->step_numbers);
    job->step_numbers = all;
    job->nsteps = unique(job->step_numbers, n);
    return 0;
}

void pw_job_note_steps(struct pw_job *job)
{
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *s = &job->inputs[i];
        int64_t *numbers = malloc(sizeof(*numbers) * (s->nsteps + 1));
        for (size_t k = 0; k < s->nsteps && numbers; k++)
            numbers[k] = s->steps[k].step;
        size_t n = numbers ? unique(numbers, s->nsteps) : s->nsteps;
        free(numbers);
        if (n < s->nsteps)
            pw_job_note(job, s->rank, "steps_repeated", (int64_t)(s->nsteps - n),
                        "it went through steps again, as after a restart: the first time counts");
        if (n < job->nsteps)
            pw_job_note(job, s->rank, "steps_missing", (int64_t)(job->nsteps - n),
                        "it has not all steps that the job has");
    }
}

static int by_host(const void *a, const void *b)
{
    return strncmp(a, b, 64);
}

static int count_hosts(struct pw_job *job)
{
    char(*names)[64] = calloc((size_t)job->nranks, 64);
    int64_t hosts = 0;
    if (!names)
        return -ENOMEM;
    for (int64_t r = 0; r < job->nranks; r++)
        memcpy(names[r], job->ranks[r].hostname, 64);
    pw_sort(names, (size_t)job->nranks, 64, by_host);
    for (int64_t r = 0; r < job->nranks; r++)
        if (names[r][0] && (r == 0 || strncmp(names[r], names[r - 1], 64) != 0))
            hosts++;
    free(names);
    job->nhosts = hosts;
    return 0;
}

/* What every process knows of all files, and which are those of the world that is merged; NULL when
 * there is none, or memory is short (*err). */
static const struct pw_summary *choose_world(struct pw_job *job, const struct pw_summary *all,
                                             size_t n, int *err)
{
    const struct pw_summary *world = n ? pw_selection_world(all, n) : NULL;
    *err = n == 0 ? -ENODATA : !world ? -ENOMEM : 0;
    if (!*err && !pw_selection_is_believed(world, n))
        *err = -ERANGE;
    job->nranks = world ? world->world_size : 0;
    if (!*err && job->nranks > 0) {
        job->ranks = calloc((size_t)job->nranks + 1, sizeof(*job->ranks));
        job->domains = malloc((size_t)job->nranks * sizeof(*job->domains));
        *err = job->ranks && job->domains ? 0 : -ENOMEM;
    }
    MPI_Allreduce(MPI_IN_PLACE, err, 1, MPI_INT, MPI_MIN, job->comm);
    return *err ? NULL : world;
}

static int agree_on_files(struct pw_job *job, struct pw_summary *all, size_t n)
{
    int err;
    const struct pw_summary *world = choose_world(job, all, n, &err);
    if (!world)
        return err;
    pw_selection_mark(job, all, n, world);

    size_t before = 0; /* files of the processes before this one */
    unsigned long count = job->ninputs, sum = 0;
    MPI_Exscan(&count, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, job->comm);
    before = job->process ? sum : 0;
    pw_selection_apply(job, all + before);

    fill_ranks(job, all, n, world);
    note_missing(job);
    err = number_domains(job, all, n);
    job->infer_clocks = strcmp(world->clock_sync, "none") != 0;
    err = err ? err : count_hosts(job);
    return pw_job_all_ok(job, err == 0) ? pw_job_agree_on_steps(job) : -ENOMEM;
}

static int agree(struct pw_job *job)
{
    struct pw_summary *mine = calloc(job->ninputs + 1, sizeof(*mine));
    void *all = NULL;
    size_t n = 0;
    for (size_t i = 0; mine && i < job->ninputs; i++)
        pw_summary_make(&job->inputs[i], &mine[i]);
    if (pw_job_all_ok(job, mine != NULL))
        n = pw_job_allgather(job, mine, job->ninputs, sizeof(*mine), &all);
    int err = agree_on_files(job, all, n);
    free(mine);
    free(all);
    return err;
}

/* What GPUs did is read once, and the events beside it. */
static int64_t gpu_work(const struct pw_input *s)
{
    uint64_t rows = s->kernel_rows.rows + s->memcpy_rows.rows + s->memset_rows.rows;
    return rows ? (int64_t)(rows + s->event_rows.rows) : 0;
}

/* Events are read once to match collectives, once for the trace of their rank, and once before
 * where clocks are aligned; matching messages adds to that. Ranges are read for phases and for
 * operators. */
static void expect_work(struct pw_job *job, int quiet)
{
    struct pw_progress *p = &job->progress;
    int64_t passes = 2 + (job->ndomains > 1 && job->infer_clocks);
    for (int64_t r = 0; r < job->nranks; r++)
        p->events += job->ranks[r].events;
    for (size_t i = 0; i < job->ninputs; i++)
        p->total += passes * (int64_t)job->inputs[i].event_rows.rows +
                    2 * (int64_t)job->inputs[i].range_rows.rows + gpu_work(&job->inputs[i]);
    if (job->process == 0 && !quiet)
        pw_progress_begin(p);
}

int pw_job_open(struct pw_job *job, MPI_Comm comm, const char *dir, int quiet)
{
    *job = (struct pw_job){.comm = comm};
    MPI_Comm_rank(comm, &job->process);
    MPI_Comm_size(comm, &job->processes);

    char(*names)[PW_FILE_NAME] = NULL;
    size_t n = 0;
    int64_t found = -1;
    int error = 0;
    if (job->process == 0) {
        names = pw_filelist_read(job, dir, &n);
        found = names ? (int64_t)n : -1;
        error = names ? 0 : errno;
    }
    MPI_Bcast(&found, 1, MPI_INT64_T, 0, comm);
    if (found <= 0) {
        if (job->process == 0 && found < 0)
            pw_error("cannot read the directory %s: %s", dir, pw_readlimit_error(-error));
        else if (job->process == 0)
            pw_error("no rank files in %s", dir);
        free(names);
        return -ENOENT;
    }
    if (job->process != 0)
        names = calloc((size_t)found, PW_FILE_NAME);
    int err = pw_job_all_ok(job, names != NULL) ? 0 : -ENOMEM;
    if (!err) {
        pw_job_broadcast(job, names, (size_t)found * PW_FILE_NAME, 0);
        open_share(job, dir, names, (size_t)found);
        err = pw_job_all_ok(job, job->inputs != NULL) ? agree(job) : -ENOMEM;
    }
    free(names);
    if (!err)
        expect_work(job, quiet);
    if (err == -ENODATA)
        pw_job_gather_notes(job);
    if (err == -ERANGE && job->process == 0)
        pw_error("the rank files in %s are of %lld ranks, far more than there are files: their "
                 "world_size is not believed",
                 dir, (long long)job->nranks);
    else if (err == -ENOMEM && job->process == 0)
        pw_error("cannot merge %s: %s", dir, pw_readlimit_error(-ENOMEM));
    else if (err && job->process == 0)
        pw_error("none of the %lld rank files in %s can be read%s%.200s", (long long)found, dir,
                 job->nnotes ? ": " : "", job->nnotes ? job->notes[0].detail : "");
    return err;
}

void pw_job_close(struct pw_job *job)
{
    pw_progress_end(&job->progress);
    for (size_t i = 0; i < job->ninputs; i++)
        pw_input_close(&job->inputs[i]);
    free(job->inputs);
    free(job->ranks);
    free(job->domains);
    free(job->comm_ranks);
    free(job->step_numbers);
    free(job->notes);
}

ptrdiff_t pw_job_step_index(const struct pw_job *job, int64_t step)
{
    const int64_t *found =
        job->nsteps ? bsearch(&step, job->step_numbers, job->nsteps, sizeof(step), by_number)
                    : NULL;
    return found ? found - job->step_numbers : -1;
}

static int by_name(const void *a, const void *b)
{
    return strncmp(a, b, 64);
}

int pw_job_number_hosts(const struct pw_job *job, int64_t *host_of, size_t *nhosts)
{
    size_t n = (size_t)job->nranks, kept = 0;
    char(*names)[64] = malloc(64 * (n + 1));
    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        memcpy(names[i], job->ranks[i].hostname, 64);
    pw_sort(names, n, 64, by_name);
    for (size_t i = 0; i < n; i++)
        if (names[i][0] && (!kept || memcmp(names[kept - 1], names[i], 64) != 0))
            memmove(names[kept++], names[i], 64);
    size_t known = kept;
    for (size_t i = 0; i < n; i++) {
        const char *at = bsearch(job->ranks[i].hostname, names, known, 64, by_name);
        host_of[i] =
            job->ranks[i].hostname[0] && at ? (int64_t)((at - names[0]) / 64) : (int64_t)kept++;
    }
    *nhosts = kept;
    free(names);
    return 0;
}

/* What the processes of a merge tell each other, of any size. */

int pw_job_all_ok(const struct pw_job *job, int ok)
{
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, job->comm);
    return ok;
}

void pw_job_broadcast(const struct pw_job *job, void *bytes, size_t size, int root)
{
    enum { PIECE = 1 << 28 };
    for (size_t at = 0; at < size; at += PIECE)
        MPI_Bcast((char *)bytes + at, size - at < PIECE ? (int)(size - at) : PIECE, MPI_BYTE, root,
                  job->comm);
}

void pw_job_out_of_memory(const struct pw_job *job)
{
    if (job->process == 0)
        pw_error("cannot merge: %s", pw_readlimit_error(-ENOMEM));
    MPI_Finalize();
    exit(1);
}

/* One process after the other, so that counts and places need not fit into MPI's int. */
size_t pw_job_allgather(const struct pw_job *job, const void *mine, size_t count, size_t size,
                        void **all)
{
    uint64_t n = count, *counts = calloc((size_t)job->processes, sizeof(*counts));
    size_t total = 0, at = 0;
    if (!pw_job_all_ok(job, counts && (mine || !count)))
        pw_job_out_of_memory(job);
    MPI_Allgather(&n, 1, MPI_UINT64_T, counts, 1, MPI_UINT64_T, job->comm);
    for (int p = 0; p < job->processes; p++)
        total += (size_t)counts[p];
    char *items = malloc(total * size + 1);
    if (!pw_job_all_ok(job, items != NULL))
        pw_job_out_of_memory(job);
    for (int p = 0; p < job->processes; at += (size_t)counts[p++] * size) {
        if (p == job->process && count)
            memcpy(items + at, mine, count * size);
        pw_job_broadcast(job, items + at, (size_t)counts[p] * size, p);
    }
    free(counts);
    *all = items;
    return total;
}
