/* Makes the file of one rank. Reads all traces of the rank before it writes the first window (the
 * records of one trace), because windows are written in order of time; see import.h. */
#include "import/import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/limits.h"
#include "core/log.h"
#include "core/readlimit.h"
#include "core/sort.h"
#include "import/msprof/msprof.h"
#include "import/trace/communicators.h"
#include "import/trace/stepsums.h"

/* The most memory that the names of a rank may use, bytes. */
enum { MOST_NAMES = 96 << 20 };

struct ranking {
    const struct pw_import_plan *plan;
    const struct pw_import_options *options;
    struct pw_import_file *files;
    size_t nfiles;
    struct pw_trace trace;
    struct pw_trace_window *windows; /* [nfiles] */
    struct pw_import_result *out;
    const struct pw_import_progress *progress; /* of all files of the rank */
    int64_t bytes_before;                      /* bytes of the files before the current one */
    int64_t start_ns, end_ns; /* first start and last end of all windows; -1: they have no event */
};

static void tell_progress(void *context, int64_t file_bytes)
{
    struct ranking *r = context;
    if (r->progress)
        r->progress->tell(r->progress->context, r->bytes_before + file_bytes);
}

static int create_file(struct ranking *r)
{
    const struct pw_import_head *head = &r->files[0].head;
    struct pw_identity id = {
        .rank = (int)head->rank, .size = (int)r->plan->world_size, .launched = 1};
    char command[300];
    snprintf(id.job, sizeof(id.job), "%s", r->plan->job);
    snprintf(id.hostname, sizeof(id.hostname), "%s", head->hostname);
    if (head->hostname[0])
        snprintf(id.clock_domain, sizeof(id.clock_domain), "import %s", head->hostname);
    else
        snprintf(id.clock_domain, sizeof(id.clock_domain), "import rank %d", id.rank);
    snprintf(command, sizeof(command), "import of %s traces: %.200s", r->files[0].format->name,
             r->files[0].path);
    int err = pw_rankfile_create(r->options->dir, &id, command, r->options->level, &r->trace.file);
    if (err) {
        snprintf(r->out->problem, sizeof(r->out->problem),
                 "rank %d: cannot make its file in %s: %s", id.rank, r->options->dir,
                 err == -EEXIST ? "it already exists; import into an empty directory"
                                : pw_readlimit_error(err));
        return err;
    }
    pw_rankfile_borrow_budget(r->trace.file)->limit_bytes = MOST_NAMES;
    pw_rankfile_set_text(r->trace.file, "clock_sync", "passive");
    pw_rankfile_set_text(r->trace.file, "imported", r->files[0].format->name);
    pw_names_init(&r->trace.names, r->trace.file);
    return 0;
}

static void log_window(const struct ranking *r, size_t i)
{
    const struct pw_trace_window *w = &r->windows[i];
    pw_debug(PW_LOG_IMPORT, 1, "rank %d: read %s: %lld events so far", r->trace.rank,
             r->files[i].path, (long long)r->trace.counts.events);
    pw_debug(PW_LOG_IMPORT, 2, "rank %d: operators are found by %s, waits by %s", r->trace.rank,
             w->calls ? "the calls that launched kernels" : "External ids: the trace has no calls",
             pw_sorter_count(w->syncs) ? "the trace's own list" : "their calls");
}

static void forget_text(struct pw_import_file *file)
{
    free(file->head.text.bytes);
    file->head.text = (struct pw_jsonfile_text){.bytes = NULL};
}

static int read_files(struct ranking *r)
{
    for (size_t i = 0; i < r->nfiles; i++) {
        char remark[256] = "";
        struct pw_import_file *file = &r->files[i];
        const struct pw_import_progress progress = {tell_progress, r};
        int err = pw_trace_window_create(&r->trace, &r->windows[i]);
        r->windows[i].text = file->head.text.bytes ? &file->head.text : NULL;
        err =
            err ? err
                : file->format->read(file->path, &r->windows[i], &progress, remark, sizeof(remark));
        if (err || remark[0])
            snprintf(r->out->problem, sizeof(r->out->problem), "%s: %s", file->path,
                     remark[0] ? remark : pw_readlimit_error(err));
        if (err)
            return err;
        pw_trace_window_bound(&r->windows[i]);
        log_window(r, i);
        forget_text(file);
        r->trace.described = 1;
        r->bytes_before += file->bytes;
        tell_progress(r, 0);
        if (r->nfiles > 1) { /* frees memory for the next file */
            pw_sorter_park(r->windows[i].host);
            pw_sorter_park(r->windows[i].device);
        }
    }
    return 0;
}

static int by_start(const void *a, const void *b)
{
    int64_t x = pw_trace_window_start(a), y = pw_trace_window_start(b);
    return (x > y) - (x < y);
}

/* Sorts the windows by start. Returns 0, or -EINVAL when two overlap: then they are of two runs, or
 * a trace was given twice. */
static int order_windows(struct ranking *r)
{
    pw_sort(r->windows, r->nfiles, sizeof(*r->windows), by_start);
    for (size_t i = 0; i + 1 < r->nfiles; i++) {
        const struct pw_trace_window *a = &r->windows[i];
        const struct pw_trace_window *b = &r->windows[i + 1];
        int is_same = pw_trace_window_start(a) == pw_trace_window_start(b) &&
                      pw_sum(a->end_ns, a->base_ns) == pw_sum(b->end_ns, b->base_ns);
        if (a->end_ns < a->start_ns ||
            (pw_sum(a->end_ns, a->base_ns) <= pw_trace_window_start(b) && !is_same))
            continue;
        snprintf(
            r->out->problem, sizeof(r->out->problem),
            "rank %d is in several traces at the same time, such as %.300s: give each trace once, "
            "and only traces of one run",
            r->trace.rank, r->files[0].path);
        return -EINVAL;
    }
    return 0;
}

static int write_windows(struct ranking *r)
{
    int err = order_windows(r);
    r->start_ns = r->end_ns = -1; /* a window without an event has no times */
    for (size_t i = 0; i < r->nfiles && !err; i++) {
        const struct pw_trace_window *w = &r->windows[i];
        err = pw_trace_write(&r->windows[i]);
        if (w->end_ns >= w->start_ns) {
            r->start_ns = r->start_ns < 0 ? pw_trace_window_start(w) : r->start_ns;
            r->end_ns = pw_sum(w->end_ns, w->base_ns);
        }
        pw_trace_window_destroy(&r->windows[i]);
    }
    if (err && !r->out->problem[0])
        snprintf(r->out->problem, sizeof(r->out->problem), "rank %d: %s", r->trace.rank,
                 pw_readlimit_error(err));
    return err;
}

static void finish_file(struct ranking *r, int64_t start, int64_t end)
{
    struct pw_import_counts *counts = &r->trace.counts;
    pw_comm_table_write(&r->trace);
    pw_rankfile_count_dropped(r->trace.file, counts->omitted[PW_OMIT_MALFORMED] +
                                                 counts->omitted[PW_OMIT_NO_TIME] +
                                                 counts->omitted[PW_OMIT_DUPLICATE_KEY] +
                                                 counts->omitted[PW_OMIT_INCOMPLETE] +
                                                 counts->omitted[PW_OMIT_FUNCTION] + counts->lost);
    const int64_t impossible = counts->omitted[PW_OMIT_EARLY] + counts->omitted[PW_OMIT_OUTSIDE] +
                               counts->omitted[PW_OMIT_TOO_LONG];
    if (counts->overheads)
        pw_rankfile_overhead(r->trace.file, "profiler", (double)counts->overhead_ns, "ns");
    if (impossible)
        pw_rankfile_overhead(r->trace.file, "impossible_times", (double)impossible, "count");
    pw_rankfile_set_times(r->trace.file, start, end > start ? end : start);
}

static int close_file(struct ranking *r, int failed)
{
    const struct pw_rankfile_end end = {
        .exit_code = -1,
        .complete = !failed && !r->trace.counts.cut_files && !r->trace.counts.cut_groups,
        .pid = -1,
    };
    char part[4200];
    pw_names_fini(&r->trace.names);
    int err = pw_rankfile_close(r->trace.file, &end);
    if (err && !failed)
        snprintf(r->out->problem, sizeof(r->out->problem), "rank %d: its file: %s", r->trace.rank,
                 pw_readlimit_error(err));
    if (failed || err) { /* removes a half-written file */
        snprintf(part, sizeof(part), "%s/rank-%05d.h5", r->options->dir, r->trace.rank);
        unlink(part);
        strcat(part, ".part");
        unlink(part);
    }
    return err;
}

static int make_rank(struct ranking *r)
{
    int err = create_file(r);
    if (err)
        return err;
    err = read_files(r);
    err = err ? err : write_windows(r);
    if (!err && r->trace.sums)
        pw_msprof_compare(&r->trace, &r->out->compared);
    if (!err)
        finish_file(r, r->start_ns, r->end_ns);
    int closed = close_file(r, err);
    return err ? err : closed;
}

void pw_import_rank(const struct pw_import_plan *plan, size_t at,
                    const struct pw_import_options *options,
                    const struct pw_import_progress *progress, struct pw_import_result *out)
{
    struct pw_stepsums sums = {0};
    struct ranking r = {
        .plan = plan,
        .options = options,
        .files = &plan->files[plan->first[at]],
        .nfiles = plan->first[at + 1] - plan->first[at],
        .out = out,
        .progress = progress,
    };
    *out = (struct pw_import_result){.rank = r.files[0].head.rank};
    r.trace = (struct pw_trace){
        .dir = options->dir,
        .rank = (int)out->rank,
        .world_size = (int)plan->world_size,
        .groups = r.files[0].head.groups,
        .ngroups = r.files[0].head.ngroups,
        .has_unnamed_groups = r.files[0].head.has_unnamed_groups,
        .keep_cuda_calls = options->keep_cuda_calls,
        .checks_devices = r.files[0].format == &pw_import_kineto,
        .counts = {.first_malformed = -1, .first_step = -1, .last_step = -1},
        .comms = pw_comm_table_create(),
        .msprof = plan->msprof,
        .sums = plan->msprof && r.files[0].format != &pw_import_msprof ? &sums : NULL,
    };
    r.windows = calloc(r.nfiles, sizeof(*r.windows));
    out->err = r.windows && r.trace.comms ? make_rank(&r) : -ENOMEM;
    if (out->err && !out->problem[0])
        snprintf(out->problem, sizeof(out->problem), "rank %lld: %s", (long long)out->rank,
                 pw_readlimit_error(out->err));
    for (size_t i = 0; r.windows && i < r.nfiles; i++)
        pw_trace_window_destroy(&r.windows[i]);
    free(r.windows);
    pw_collectives_fini(&r.trace.collectives);
    pw_comm_table_destroy(r.trace.comms);
    pw_stepsums_fini(&sums);
    out->counts = r.trace.counts;
    out->done = 1;
}
