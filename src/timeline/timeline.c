/* Chooses ranks and times in one or two passes over the rank files, then lets chrome.c write them
 * in another pass; see timeline.h. */
#include "timeline/timeline.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/chrome.h"
#include "timeline/rankview.h"

/* Reads a number below n. Returns the position after it, or NULL when there is no such number. */
static const char *read_rank(const char *at, size_t n, size_t *rank)
{
    if (!isdigit((unsigned char)*at))
        return NULL;
    char *end;
    unsigned long number = strtoul(at, &end, 10);
    *rank = number;
    return number < n ? end : NULL;
}

char *pw_ranklist_parse(const char *list, size_t n, char *problem, size_t size)
{
    char *wanted = calloc(n + 1, 1);
    problem[0] = '\0';
    if (!wanted)
        return NULL;
    if (!list[0])
        memset(wanted, 1, n);
    const char *at = list;
    while (at && *at) {
        size_t first, last;
        at = read_rank(at, n, &first);
        last = first;
        if (at && *at == '-')
            at = read_rank(at + 1, n, &last);
        if (!at || last < first || (*at && *at != ',') || (*at == ',' && !at[1])) {
            at = NULL;
            break;
        }
        memset(wanted + first, 1, last - first + 1);
        at += *at == ',';
    }
    if (at)
        return wanted;
    snprintf(problem, size, "--ranks is '%.60s', but takes ranks 0 to %zu, such as 0-3,7", list,
             n ? n - 1 : 0);
    free(wanted);
    return NULL;
}

/* Estimated bytes of output for a row of comm_event, and for a row of range or step; they include
 * arrows. */
enum { COMM_BYTES = 320, RANGE_BYTES = 160, PERFETTO_BYTES = 16 };

enum { BINS = 1024 };

struct span {
    int64_t from, until;        /* the times to show, cluster clock */
    int64_t first, last, bytes; /* of the rows between `from` and `until` */
    int64_t bins[BINS + 1];     /* bytes by the rows' start, filled once first and last are known */
    int is_known;
    /* of output for a row of comm_event, a range and a step */
    int64_t comm_bytes, range_bytes, step_bytes;
};

static double length(const struct span *span)
{
    return (double)span->last - (double)span->first + 1;
}

static void note(struct span *span, const struct pw_rankview *view, int64_t start, int64_t end,
                 int64_t bytes)
{
    start = pw_rankview_time(view, start);
    end = pw_rankview_time(view, end);
    if (start == INT64_MIN || end < start || start >= span->until || end < span->from)
        return;
    if (span->is_known) {
        double share = ((double)start - (double)span->first) / length(span);
        span->bins[share > 0 && share <= 1 ? (size_t)(share * BINS) : 0] += bytes;
        return;
    }
    span->first = start < span->first ? start : span->first;
    span->last = end > span->last ? end : span->last;
    span->bytes += bytes;
}

static void note_comm(void *context, const struct pw_rankview *view, const void *row)
{
    const struct pw_row_comm_event *event = row;
    const struct span *span = context;
    note(context, view, event->start, event->end, span->comm_bytes);
}

static void note_range(void *context, const struct pw_rankview *view, const void *row)
{
    const struct pw_row_range *range = row;
    const struct span *span = context;
    note(context, view, range->start, range->end, span->range_bytes);
}

static void note_step(void *context, const struct pw_rankview *view, const void *row)
{
    const struct pw_row_step *step = row;
    const struct span *span = context;
    note(context, view, step->start, step->end, span->step_bytes);
}

/* Sets the span from the start of the first step to the end of the last. Returns 0 or -EINVAL. */
static int find_steps(const struct pw_cluster *cluster, struct span *span,
                      struct pw_timeline_result *result)
{
    span->from = INT64_MAX;
    span->until = INT64_MIN;
    for (size_t i = 0; i < cluster->nstep_rows; i++) {
        const struct pw_row_c_step *step = &cluster->steps[i];
        span->from = step->start < span->from ? step->start : span->from;
        span->until = step->end > span->until ? step->end : span->until;
    }
    if (span->from < span->until)
        return 0;
    snprintf(result->problem, sizeof(result->problem),
             "the run has no steps whose times are known: leave out --steps");
    return -EINVAL;
}

/* Most files that stay open between the passes, because opening one takes longer than reading a
 * short one. */
enum { KEPT = 64 };

/* The files to read: the options' directory, the ranks to show and their clock maps. */
struct source {
    const struct pw_cluster *cluster;
    const struct pw_timeline_options *options;
    const char *wanted; /* for each row of cluster->ranks: 1 to show it, 0 not */
    const struct pw_clockmaps *maps;
    struct pw_rankview *kept; /* KEPT of them, the first ones that could be opened; or NULL */
    size_t nkept;
};

static struct pw_rankview *find_kept(const struct source *source, int64_t rank)
{
    for (size_t i = 0; i < source->nkept; i++)
        if (source->kept[i].rank == rank)
            return &source->kept[i];
    return NULL;
}

static void close_kept(struct source *source)
{
    for (size_t i = 0; i < source->nkept; i++)
        pw_rankview_close(&source->kept[i]);
    free(source->kept);
}

typedef void rank_visitor(void *context, const struct pw_rankview *view);

/* Opens the file of each wanted rank in order, and calls `visit`. Counts the files that were read
 * and those that could not be. Returns 0, or -ENOENT when no file could be read. */
static int visit_ranks(struct source *source, rank_visitor *visit, void *context,
                       struct pw_timeline_result *result)
{
    const struct pw_cluster *cluster = source->cluster;
    result->ranks = result->unread = 0;
    for (size_t i = 0; i < cluster->nrank_rows; i++) {
        const struct pw_row_c_rank *rank = &cluster->ranks[i];
        struct pw_rankview view, *kept = find_kept(source, rank->rank);
        if (!source->wanted[i] || !rank->present)
            continue;
        if (!kept && pw_rankview_open(source->options->dir, rank->rank, source->maps, &view)) {
            result->unread++;
            continue;
        }
        view.kept_rows = source->options->kept_rows;
        visit(context, kept ? kept : &view);
        if (!kept && source->kept && source->nkept < KEPT)
            source->kept[source->nkept++] = view;
        else if (!kept)
            pw_rankview_close(&view);
        result->ranks++;
    }
    return result->ranks ? 0 : -ENOENT;
}

static void survey(void *context, const struct pw_rankview *view)
{
    pw_rankview_read(view, PW_TABLE_comm_event, note_comm, context);
    pw_rankview_read(view, PW_TABLE_range, note_range, context);
    pw_rankview_read(view, PW_TABLE_step, note_step, context);
}

static void write_rank(void *context, const struct pw_rankview *view)
{
    pw_chrome_rank(context, view);
}

/* Shortens the span to about `most_bytes` of output. Returns the share of the bytes that it
 * keeps. */
static double cut(struct span *span, int64_t most_bytes)
{
    int64_t bytes = 0;
    size_t bin = 0;
    while (bin < BINS && bytes + span->bins[bin] <= most_bytes)
        bytes += span->bins[bin++];
    double width = length(span) / BINS;
    span->until = span->first + (int64_t)(width * (double)(bin ? bin : 1));
    return (double)(bin ? bytes : span->bins[0]) / (double)span->bytes;
}

static int write_span(FILE *out, struct source *source, struct span *span,
                      struct pw_timeline_result *result)
{
    const int64_t most_bytes = source->options->most_bytes;
    struct pw_chrome *chrome;
    int err = visit_ranks(source, survey, span, result);
    if (err)
        return err;
    if (span->first > span->from && span->first != INT64_MAX)
        span->from = span->first; /* leaves out samples from before the first event */
    if (most_bytes > 0 && span->bytes > most_bytes) {
        span->is_known = 1;
        err = visit_ranks(source, survey, span, result);
        result->share = cut(span, most_bytes);
    }
    const struct pw_chrome_window window = {
        span->from, span->until, span->first == INT64_MAX ? 0 : span->first,
        source->options->has_scopes, source->options->is_perfetto};
    result->base_ns = window.base;
    if (!err)
        err = pw_chrome_begin(out, source->cluster, &window, &chrome);
    if (err)
        return err;
    err = visit_ranks(source, write_rank, chrome, result);
    struct pw_chrome_counts counts;
    const int ended = pw_chrome_end(chrome, &counts);
    result->events = counts.events;
    result->arrows = counts.arrows;
    result->arrow_ends_left_out = counts.ends_left_out;
    return err ? err : ended ? ended : ferror(out) ? -EIO : 0;
}

int pw_timeline_write(FILE *out, const struct pw_cluster *cluster,
                      const struct pw_timeline_options *options, struct pw_timeline_result *result)
{
    struct span span = {
        .from = INT64_MIN, .until = INT64_MAX, .first = INT64_MAX, .last = INT64_MIN};
    const int64_t times = options->has_scopes ? 2 : 1;
    span.comm_bytes = options->is_perfetto ? PERFETTO_BYTES : COMM_BYTES;
    span.step_bytes = options->is_perfetto ? PERFETTO_BYTES : RANGE_BYTES;
    span.range_bytes = times * (options->is_perfetto ? PERFETTO_BYTES : RANGE_BYTES);
    struct pw_clockmaps maps;
    *result = (struct pw_timeline_result){.share = 1};
    if (options->only_steps) {
        int err = find_steps(cluster, &span, result);
        if (err)
            return err;
    }
    if (options->until > options->from) {
        span.from = options->from;
        span.until = options->until;
    }
    char *wanted = pw_ranklist_parse(options->ranks, cluster->nrank_rows, result->problem,
                                     sizeof(result->problem));
    if (!wanted)
        return result->problem[0] ? -EINVAL : -ENOMEM;
    int err = pw_clockmaps_load(options->cluster_file, &maps);
    if (!err) {
        struct source source = {cluster, options, wanted, &maps, NULL, 0};
        if (options->keeps_files)
            source.kept = calloc(KEPT, sizeof(struct pw_rankview));
        err = write_span(out, &source, &span, result);
        close_kept(&source);
        pw_clockmaps_fini(&maps);
    }
    free(wanted);
    return err;
}
