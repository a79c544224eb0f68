/* Makes all processes agree on the job: files, ranks, hosts, clock domains and steps; see job.h. */
#include "aggregate/input/job.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "analysis/statistics.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/readlimit.h"
#include "core/sort.h"

/* ---- the job as a whole ---- */

ptrdiff_t pw_world_step_index(const struct pw_world *world, int64_t step)
{
    /* Steps usually have successive numbers. */
    if (world->nsteps && step >= world->step_numbers[0]) {
        const uint64_t likely = (uint64_t)step - (uint64_t)world->step_numbers[0];
        if (likely < world->nsteps && world->step_numbers[likely] == step)
            return (ptrdiff_t)likely;
    }
    const size_t at = pw_place_i64(world->step_numbers, world->nsteps, step);
    return at < world->nsteps && world->step_numbers[at] == step ? (ptrdiff_t)at : -1;
}

static int by_name(const void *a, const void *b)
{
    return strncmp(a, b, 64);
}

int pw_world_number_hosts(const struct pw_world *world, int64_t *host_of, size_t *nhosts)
{
    size_t n = (size_t)world->nranks, kept = 0;
    char(*names)[64] = malloc(64 * (n + 1));
    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        memcpy(names[i], world->ranks[i].hostname, 64);
    pw_sort(names, n, 64, by_name);
    for (size_t i = 0; i < n; i++)
        if (names[i][0] && (!kept || memcmp(names[kept - 1], names[i], 64) != 0))
            memmove(names[kept++], names[i], 64);
    size_t known = kept;
    for (size_t i = 0; i < n; i++) {
        const char *at = bsearch(world->ranks[i].hostname, names, known, 64, by_name);
        host_of[i] =
            world->ranks[i].hostname[0] && at ? (int64_t)((at - names[0]) / 64) : (int64_t)kept++;
    }
    *nhosts = kept;
    free(names);
    return 0;
}

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
    size_t n = pw_procs_allgather(&job->procs, job->notes, job->nnotes, sizeof(*job->notes), &all);
    free(job->notes);
    job->notes = all;
    job->nnotes = n;
    pw_sort(all, n, sizeof(*job->notes), by_rank_and_what);
}

/* ---- the rank files of a directory, and those that are merged ---- */

enum { FILE_NAME = 320 };

/* The data about a file that every process has. */
struct summary {
    int64_t rank, world_size, complete, dropped, exit_code, exit_signal, events;
    int64_t start_unix_ns, end_unix_ns, run_ns, overhead_ns, first_ns;
    int64_t keep;
    int32_t has_pauses, is_snapshot; /* see struct pw_world */
    char file[64];                   /* name of the file */
    char hostname[64], job[64], clock_domain[128], clock_sync[16], command[512], imported[16];
};

/* Returns the text after "rank-00012"; "" for other names. */
static const char *suffix_of(const char *name)
{
    if (strncmp(name, "rank-", 5) != 0 || !isdigit((unsigned char)name[5]))
        return "";
    return name + 5 + strspn(name + 5, "0123456789");
}

/* 1 for "rank-00012.h5", and for "rank-00012.h5.part" of a rank whose file was not closed. */
static int is_rank_file(const char *name)
{
    const char *suffix = suffix_of(name);
    return strcmp(suffix, ".h5") == 0 || strcmp(suffix, ".h5.part") == 0;
}

static int by_file(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void leave_out(struct pw_job *job, const char *name, const char *finished)
{
    char detail[160];
    snprintf(detail, sizeof(detail), "%.64s: ignored, because %.64s is complete", name, finished);
    pw_job_note(job, -1, "left_out", 1, detail);
}

/* Makes room for one more name. Returns the array; NULL, and frees it, when memory is short. */
static char (*grow(char (*names)[FILE_NAME], size_t n, size_t *capacity))[FILE_NAME]
{
    if (n < *capacity)
        return names;
    *capacity = *capacity ? *capacity * 2 : 64;
    char(*more)[FILE_NAME] = realloc(names, *capacity * FILE_NAME);
    if (!more)
        free(names);
    return more;
}

/* Returns the sorted names of the rank files; the caller frees them. A .part file beside the
 * finished file is ignored, with a note. If there are journals, a message says so. NULL with errno
 * set when the directory cannot be read or memory is short. */
static char (*list_files(struct pw_job *job, const char *dir, size_t *count))[FILE_NAME]
{
    DIR *stream = opendir(dir);
    char(*names)[FILE_NAME] = NULL;
    size_t n = 0, capacity = 0, unfinished = 0;
    if (!stream)
        return NULL;
    for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
        unfinished += strcmp(suffix_of(entry->d_name), ".journal") == 0;
        if (!is_rank_file(entry->d_name))
            continue;
        names = grow(names, n, &capacity);
        if (!names)
            break;
        memset(names[n], 0, FILE_NAME);
        snprintf(names[n++], FILE_NAME, "%s", entry->d_name);
    }
    closedir(stream);
    if (!names && capacity) {
        errno = ENOMEM;
        return NULL;
    }
    if (unfinished)
        pw_say("%zu rank%s in %s not finished; 'profwrap recover %s' completes what killed "
               "collectors left",
               unfinished, unfinished == 1 ? " is" : "s are", dir, dir);
    names = names ? names : calloc(1, FILE_NAME);
    pw_sort(names, n, FILE_NAME, by_file);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = kept ? strlen(names[kept - 1]) : 0;
        if (!kept || strncmp(names[i], names[kept - 1], length) != 0)
            memmove(names[kept++], names[i], FILE_NAME);
        else
            leave_out(job, names[i], names[kept - 1]);
    }
    *count = kept;
    return names;
}

static void make_summary(const struct pw_input *s, struct summary *out)
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
    out->has_pauses = pw_input_pauses(s);
    out->is_snapshot = s->snapshot != 0;
    /* Of imported files, only what the other profiler says of itself is known. */
    out->overhead_ns = s->imported[0] && !s->has_overhead
                           ? -1
                           : pw_whole(s->event_cost_ns * (double)s->events + s->sync_ns);
    memcpy(out->hostname, s->hostname, sizeof(out->hostname));
    memcpy(out->job, s->job, sizeof(out->job));
    memcpy(out->clock_domain, s->clock_domain, sizeof(out->clock_domain));
    memcpy(out->clock_sync, s->clock_sync, sizeof(out->clock_sync));
    memcpy(out->command, s->command, sizeof(out->command));
    memcpy(out->imported, s->imported, sizeof(out->imported));
}

static int is_same_world(const struct summary *a, const struct summary *b)
{
    return a->world_size == b->world_size && strcmp(a->job, b->job) == 0;
}

static int by_world(const void *a, const void *b)
{
    const struct summary *x = *(const struct summary *const *)a;
    const struct summary *y = *(const struct summary *const *)b;
    int order = strcmp(x->job, y->job);
    if (order || x->world_size == y->world_size)
        return order ? order : (x > y) - (x < y);
    return x->world_size < y->world_size ? -1 : 1;
}

/* Chooses the job and world that has most files, and returns the first of these files. If several
 * have as many, chooses the one whose first file comes first. NULL when memory is short. */
static const struct summary *most_common_world(const struct summary *all, size_t n)
{
    const struct summary **sorted = malloc(sizeof(*sorted) * n), *best = NULL;
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

/* Marks the files that are used: those of the job and world, and of these the first of each
 * rank. */
static void mark_files(struct pw_job *job, struct summary *all, size_t n,
                       const struct summary *world)
{
    char *taken = calloc((size_t)job->world.nranks, 1), detail[128];
    for (size_t i = 0; i < n && taken; i++) {
        const char *why = NULL;
        if (strcmp(all[i].job, world->job) != 0)
            why = "is of another job";
        else if (all[i].world_size != job->world.nranks)
            why = "is of a job of another size";
        else if (taken[all[i].rank])
            why = "is a second file of its rank";
        all[i].keep = !why;
        snprintf(detail, sizeof(detail), "%s %s", all[i].file, why ? why : "");
        if (why && job->procs.process == 0) {
            pw_debug(PW_LOG_MERGE, 2, "%s %s: left out", all[i].file, why);
            pw_job_note(job, all[i].rank, "left_out", 1, detail);
        }
        if (!why)
            taken[all[i].rank] = 1;
    }
    free(taken);
}

/* Closes this process's inputs that are not used. */
static void close_unused(struct pw_job *job, const struct summary *mine)
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

/* Returns 0 when the world size cannot be right, because there are far too few files, else 1. The
 * merge takes memory for every rank, also for one without a file. */
static int is_believed(const struct summary *world, size_t files)
{
    enum { ALWAYS = 1 << 16, PER_FILE = 64 };
    return world->world_size <= ALWAYS + PER_FILE * (int64_t)files;
}

/* First raises the soft limit of descriptors to 2 n, as far as the hard limit allows. Returns half
 * of the limit: so many rank files may stay open. */
static size_t allow_open(size_t n)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return 0;
    if (limit.rlim_cur < 2 * (rlim_t)n) {
        const rlim_t before = limit.rlim_cur;
        limit.rlim_cur = 2 * (rlim_t)n < limit.rlim_max ? 2 * (rlim_t)n : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit))
            limit.rlim_cur = before;
    }
    return (size_t)(limit.rlim_cur / 2);
}

/* Opens this process's share of the files. Shares are contiguous, so that each process writes
 * contiguous rows. */
static void open_share(struct pw_job *job, const char *dir, char (*names)[FILE_NAME], size_t n)
{
    size_t first = n * (size_t)job->procs.process / (size_t)job->procs.processes;
    size_t end = n * ((size_t)job->procs.process + 1) / (size_t)job->procs.processes;
    struct pw_h5_types *types = pw_h5_types_create();
    const size_t most_open = allow_open(end - first);
    job->inputs = calloc(end - first + 1, sizeof(*job->inputs));
    for (size_t i = first; i < end && job->inputs && types; i++) {
        char path[4352], problem[256];
        snprintf(path, sizeof(path), "%.4000s/%s", dir, names[i]);
        struct pw_input *input = &job->inputs[job->ninputs];
        if (pw_input_open(types, path, input, problem, sizeof(problem)) == 0) {
            if (job->ninputs >= most_open)
                pw_input_close_file(input);
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

static void fill_ranks(struct pw_world *world, const struct summary *all, size_t n,
                       const struct summary *agreed)
{
    for (int64_t r = 0; r < world->nranks; r++)
        world->ranks[r] = (struct pw_row_c_rank){.rank = (int32_t)r,
                                                 .exit_code = -1,
                                                 .clock_error_ns = -1,
                                                 .run_ns = -1,
                                                 .overhead_ns = -1};
    world->start_unix_ns = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        if (!all[i].keep)
            continue;
        struct pw_row_c_rank *row = &world->ranks[all[i].rank];
        row->present = 1;
        row->complete = (uint8_t)all[i].complete;
        world->has_pauses |= all[i].has_pauses;
        world->is_snapshot |= all[i].is_snapshot;
        row->dropped_events = all[i].dropped;
        row->events = all[i].events;
        row->exit_code = (int32_t)all[i].exit_code;
        row->exit_signal = (int32_t)all[i].exit_signal;
        row->run_ns = all[i].run_ns;
        row->overhead_ns = all[i].overhead_ns;
        memcpy(row->hostname, all[i].hostname, sizeof(row->hostname));
        if (all[i].start_unix_ns >= 0) /* an imported file without events has no times */
            world->start_unix_ns = smaller(world->start_unix_ns, all[i].start_unix_ns);
        world->end_unix_ns =
            all[i].end_unix_ns > world->end_unix_ns ? all[i].end_unix_ns : world->end_unix_ns;
    }
    if (world->start_unix_ns == INT64_MAX)
        world->start_unix_ns = -1;
    memcpy(world->job_id, agreed->job, sizeof(world->job_id));
    memcpy(world->command, agreed->command, sizeof(world->command));
    memcpy(world->imported, agreed->imported, sizeof(world->imported));
}

static void note_missing(struct pw_job *job)
{
    for (int64_t r = 0; r < job->world.nranks && job->procs.process == 0; r++) {
        const struct pw_row_c_rank *row = &job->world.ranks[r];
        if (!row->present)
            pw_job_note(job, r, "missing", 1, "no usable rank file");
        else if (row->complete == 0 && !job->world.is_snapshot)
            pw_job_note(job, r, "incomplete", 1, "its collector did not close the file");
        if (row->present && row->exit_signal)
            pw_job_note(job, r, "killed", row->exit_signal, "a signal ended the program");
    }
}

/* Numbers the clock domains in the order of their lowest ranks; 0 is the reference. Returns 0 or
 * -ENOMEM. */
static int number_domains(struct pw_world *world, const struct summary *all, size_t n)
{
    const struct summary **first = malloc(sizeof(*first) * (n + 1)), **by_rank;
    by_rank = calloc((size_t)world->nranks, sizeof(*by_rank));
    int ok = first && by_rank;
    for (size_t i = 0; ok && i < n; i++)
        if (all[i].keep)
            by_rank[all[i].rank] = &all[i];
    for (int64_t r = 0; ok && r < world->nranks; r++) {
        int32_t d = 0;
        world->domains[r] = -1;
        if (!by_rank[r])
            continue;
        while (d < world->ndomains && strcmp(first[d]->clock_domain, by_rank[r]->clock_domain) != 0)
            d++;
        if (d == world->ndomains)
            first[world->ndomains++] = by_rank[r];
        world->domains[r] = d;
    }
    free(first);
    free(by_rank);
    return ok ? 0 : -ENOMEM;
}

static size_t unique(int64_t *numbers, size_t n)
{
    size_t kept = 0, rising = n > 0;
    while (rising && rising < n && numbers[rising - 1] < numbers[rising])
        rising++;
    if (rising == n)
        return n;
    pw_sort_i64(numbers, n);
    for (size_t i = 0; i < n; i++)
        if (!kept || numbers[kept - 1] != numbers[i])
            numbers[kept++] = numbers[i];
    return kept;
}

/* The numbers of steps of the files so far: the first `sorted` are unique and rise. */
struct step_numbers {
    int64_t *v;
    size_t sorted, n, capacity;
};

static int are_known(const struct step_numbers *numbers, const struct pw_input *input)
{
    size_t s = 0;
    while (s < input->nsteps && s < numbers->sorted && input->steps[s].step == numbers->v[s])
        s++;
    return s == input->nsteps;
}

/* Most files have the same steps. Numbers of other files are appended, and all are sorted only when
 * as many are new as are sorted, so that many different files do not cost a sort each. Returns 0 or
 * -ENOMEM. */
static int add_steps(struct step_numbers *numbers, const struct pw_input *input)
{
    if (are_known(numbers, input))
        return 0;
    if (numbers->n + input->nsteps > numbers->capacity) {
        const size_t capacity = 2 * numbers->n + input->nsteps;
        int64_t *v = realloc(numbers->v, sizeof(*v) * capacity);
        if (!v)
            return -ENOMEM;
        numbers->v = v;
        numbers->capacity = capacity;
    }
    for (size_t s = 0; s < input->nsteps; s++)
        numbers->v[numbers->n++] = input->steps[s].step;
    if (numbers->n >= 2 * numbers->sorted)
        numbers->n = numbers->sorted = unique(numbers->v, numbers->n);
    return 0;
}

int pw_job_agree_on_steps(struct pw_job *job)
{
    struct step_numbers mine = {.v = NULL};
    size_t n = 0;
    int err = 0;
    for (size_t i = 0; i < job->ninputs && !err; i++)
        err = add_steps(&mine, &job->inputs[i]);
    mine.n = unique(mine.v, mine.n);
    void *all = NULL;
    if (pw_procs_all_ok(&job->procs, !err))
        n = pw_procs_allgather(&job->procs, mine.v, mine.n, sizeof(*mine.v), &all);
    free(mine.v);
    if (!all)
        return -ENOMEM;
    free(job->world.step_numbers);
    job->world.step_numbers = all;
    job->world.nsteps = unique(job->world.step_numbers, n);
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
                        "it repeated steps, as after a restart; the first time counts");
        if (n < job->world.nsteps)
            pw_job_note(job, s->rank, "steps_missing", (int64_t)(job->world.nsteps - n),
                        "it lacks steps that other ranks of the job have");
    }
}

static int by_host(const void *a, const void *b)
{
    return strncmp(a, b, 64);
}

static int count_hosts(struct pw_world *world)
{
    char(*names)[64] = calloc((size_t)world->nranks, 64);
    int64_t hosts = 0;
    if (!names)
        return -ENOMEM;
    for (int64_t r = 0; r < world->nranks; r++)
        memcpy(names[r], world->ranks[r].hostname, 64);
    pw_sort(names, (size_t)world->nranks, 64, by_host);
    for (int64_t r = 0; r < world->nranks; r++)
        if (names[r][0] && (r == 0 || strncmp(names[r], names[r - 1], 64) != 0))
            hosts++;
    free(names);
    world->nhosts = hosts;
    return 0;
}

/* Chooses the world to merge, and marks its files in `all`. Returns a summary of a file of that
 * world; NULL when there is none, or memory is short (*err). */
static const struct summary *choose_world(struct pw_job *job, const struct summary *all, size_t n,
                                          int *err)
{
    const struct summary *world = n ? most_common_world(all, n) : NULL;
    *err = n == 0 ? -ENODATA : !world ? -ENOMEM : 0;
    if (!*err && !is_believed(world, n))
        *err = -ERANGE;
    job->world.nranks = world ? world->world_size : 0;
    if (!*err && job->world.nranks > 0) {
        job->world.ranks = calloc((size_t)job->world.nranks + 1, sizeof(*job->world.ranks));
        job->world.domains = malloc((size_t)job->world.nranks * sizeof(*job->world.domains));
        *err = job->world.ranks && job->world.domains ? 0 : -ENOMEM;
    }
    pw_ex_allreduce(PW_EX_IN_PLACE, err, 1, PW_EX_INT, PW_EX_MIN, job->procs.comm);
    return *err ? NULL : world;
}

static int agree_on_files(struct pw_job *job, struct summary *all, size_t n)
{
    int err;
    const struct summary *world = choose_world(job, all, n, &err);
    if (!world)
        return err;
    mark_files(job, all, n, world);

    size_t before = 0; /* number of files of the processes before this one */
    unsigned long count = job->ninputs, sum = 0;
    pw_ex_exscan(&count, &sum, 1, PW_EX_UNSIGNED_LONG, PW_EX_SUM, job->procs.comm);
    before = job->procs.process ? sum : 0;
    close_unused(job, all + before);

    fill_ranks(&job->world, all, n, world);
    note_missing(job);
    err = number_domains(&job->world, all, n);
    job->world.infer_clocks = strcmp(world->clock_sync, "none") != 0;
    err = err ? err : count_hosts(&job->world);
    return pw_procs_all_ok(&job->procs, err == 0) ? pw_job_agree_on_steps(job) : -ENOMEM;
}

static int agree(struct pw_job *job)
{
    struct summary *mine = calloc(job->ninputs + 1, sizeof(*mine));
    void *all = NULL;
    size_t n = 0;
    for (size_t i = 0; mine && i < job->ninputs; i++)
        make_summary(&job->inputs[i], &mine[i]);
    if (pw_procs_all_ok(&job->procs, mine != NULL))
        n = pw_procs_allgather(&job->procs, mine, job->ninputs, sizeof(*mine), &all);
    int err = agree_on_files(job, all, n);
    free(mine);
    free(all);
    return err;
}

/* Rows that are read for GPU time: GPU activities, and once more the events. */
static int64_t gpu_work(const struct pw_input *s)
{
    uint64_t rows = s->kernel_rows.rows + s->memcpy_rows.rows + s->memset_rows.rows;
    return rows ? (int64_t)(rows + s->event_rows.rows) : 0;
}

/* Sets the number of rows to be read, for the progress. Events are read once to match collectives,
 * once for the trace of their rank, and once more if clocks are aligned; messages.c adds its own
 * reading. Ranges are read for phases and for operators. */
static void expect_work(struct pw_job *job, int quiet)
{
    struct pw_progress *p = &job->progress;
    int64_t passes = 2 + (job->world.ndomains > 1 && job->world.infer_clocks);
    for (int64_t r = 0; r < job->world.nranks; r++)
        p->events += job->world.ranks[r].events;
    for (size_t i = 0; i < job->ninputs; i++)
        p->total += passes * (int64_t)job->inputs[i].event_rows.rows +
                    2 * (int64_t)job->inputs[i].range_rows.rows + gpu_work(&job->inputs[i]);
    if (job->procs.process == 0 && !quiet)
        pw_progress_begin(p);
}

int pw_job_open(struct pw_job *job, pw_ex_comm comm, const char *dir, int quiet)
{
    *job = (struct pw_job){.procs.comm = comm};
    pw_ex_rank(comm, &job->procs.process);
    pw_ex_size(comm, &job->procs.processes);

    char(*names)[FILE_NAME] = NULL;
    size_t n = 0;
    int64_t found = -1;
    int error = 0;
    if (job->procs.process == 0) {
        names = list_files(job, dir, &n);
        found = names ? (int64_t)n : -1;
        error = names ? 0 : errno;
    }
    pw_ex_bcast(&found, 1, PW_EX_INT64_T, 0, comm);
    if (found <= 0) {
        if (job->procs.process == 0 && found < 0)
            pw_error("cannot read the directory %s: %s", dir, pw_readlimit_remedy(-error));
        else if (job->procs.process == 0)
            pw_error("no rank files in %s: give the output directory of a run (-o)", dir);
        free(names);
        return -ENOENT;
    }
    if (job->procs.process != 0)
        names = calloc((size_t)found, FILE_NAME);
    int err = pw_procs_all_ok(&job->procs, names != NULL) ? 0 : -ENOMEM;
    if (!err) {
        pw_procs_broadcast(&job->procs, names, (size_t)found * FILE_NAME, 0);
        open_share(job, dir, names, (size_t)found);
        err = pw_procs_all_ok(&job->procs, job->inputs != NULL) ? agree(job) : -ENOMEM;
    }
    free(names);
    if (!err)
        expect_work(job, quiet);
    if (err == -ENODATA)
        pw_job_gather_notes(job);
    if (err == -ERANGE && job->procs.process == 0)
        pw_error("the rank files in %s are of %lld ranks, far more than there are files: their "
                 "world_size cannot be right; move files of other jobs away",
                 dir, (long long)job->world.nranks);
    else if (err == -ENOMEM && job->procs.process == 0)
        pw_error("cannot merge %s: %s", dir, pw_readlimit_remedy(-ENOMEM));
    else if (err && job->procs.process == 0)
        pw_error(
            "none of the %lld rank files in %s can be read%s%.200s; 'profwrap dump FILE' shows "
            "what one has",
            (long long)found, dir, job->nnotes ? ": " : "",
            job->nnotes ? job->notes[0].detail : "");
    return err;
}

void pw_job_close(struct pw_job *job)
{
    pw_progress_end(&job->progress);
    for (size_t i = 0; i < job->ninputs; i++)
        pw_input_close(&job->inputs[i]);
    free(job->inputs);
    free(job->world.ranks);
    free(job->world.domains);
    free(job->comm_ranks);
    free(job->world.step_numbers);
    free(job->notes);
}
