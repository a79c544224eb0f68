/* Chooses files by their summaries; see selection.h. */
#include "aggregate/input/selection.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/windows.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/sort.h"

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

static int by_name(const void *a, const void *b)
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
static char (*grow(char (*names)[PW_FILE_NAME], size_t n, size_t *capacity))[PW_FILE_NAME]
{
    if (n < *capacity)
        return names;
    *capacity = *capacity ? *capacity * 2 : 64;
    char(*more)[PW_FILE_NAME] = realloc(names, *capacity * PW_FILE_NAME);
    if (!more)
        free(names);
    return more;
}

char (*pw_filelist_read(struct pw_job *job, const char *dir, size_t *count))[PW_FILE_NAME]
{
    DIR *stream = opendir(dir);
    char(*names)[PW_FILE_NAME] = NULL;
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
        memset(names[n], 0, PW_FILE_NAME);
        snprintf(names[n++], PW_FILE_NAME, "%s", entry->d_name);
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
    names = names ? names : calloc(1, PW_FILE_NAME);
    pw_sort(names, n, PW_FILE_NAME, by_name);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length = kept ? strlen(names[kept - 1]) : 0;
        if (!kept || strncmp(names[i], names[kept - 1], length) != 0)
            memmove(names[kept++], names[i], PW_FILE_NAME);
        else
            leave_out(job, names[i], names[kept - 1]);
    }
    *count = kept;
    return names;
}

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
