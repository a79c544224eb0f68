/* Chooses steps and ranks, and writes their timelines; see html_timeline.h. */
#include "report/html/html_timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/advice/findings.h"
#include "core/limits.h"
#include "report/html/html_planes.h"

static int has_times(const struct pw_row_c_step *step)
{
    return step->start >= 0 && step->end > step->start && step->duration_ns >= 0;
}

static int is_timed(const struct pw_row_c_step *step)
{
    return step->recorded == PW_RECORDED_ACTIVE && has_times(step);
}

/* Adds a step, if it is not in the list. */
static void add(struct pw_timeline_step *out, size_t *n, struct pw_timeline_step one)
{
    for (size_t i = 0; i < *n; i++)
        if (out[i].row == one.row)
            return;
    if (*n < PW_TIMELINE_STEPS)
        out[(*n)++] = one;
}

static void add_longest(const struct pw_cluster *c, struct pw_timeline_step *out, size_t *n)
{
    size_t longest = SIZE_MAX;
    for (size_t s = 0; s < c->nstep_rows; s++)
        if (is_timed(&c->steps[s]) &&
            (longest == SIZE_MAX || c->steps[s].duration_ns > c->steps[longest].duration_ns))
            longest = s;
    if (longest != SIZE_MAX)
        add(out, n, (struct pw_timeline_step){longest, "longest", c->steps[longest].slowest_rank});
}

static int by_duration(const void *a, const void *b)
{
    const struct pw_row_c_step *x = *(const struct pw_row_c_step *const *)a,
                               *y = *(const struct pw_row_c_step *const *)b;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns < y->duration_ns ? -1 : 1;
    return (x > y) - (x < y);
}

/* Adds the step whose duration is the median. */
static void add_typical(const struct pw_cluster *c, struct pw_timeline_step *out, size_t *n)
{
    const struct pw_row_c_step **rows = calloc(c->nstep_rows + 1, sizeof(*rows));
    size_t timed = 0;
    for (size_t s = 0; rows && s < c->nstep_rows; s++)
        if (is_timed(&c->steps[s]))
            rows[timed++] = &c->steps[s];
    if (timed) {
        qsort(rows, timed, sizeof(*rows), by_duration);
        const struct pw_row_c_step *median = rows[(timed - 1) / 2];
        add(out, n,
            (struct pw_timeline_step){(size_t)(median - c->steps), "typical",
                                      median->slowest_rank});
    }
    free(rows);
}

/* The steps among which one is chosen, and for which row of /ranks; -1: none. */
struct range {
    int64_t first, last, row;
    int (*has)(const struct pw_row_c_step *step);
};

/* Returns the step in which the own time of the rank was longest, or, without a rank, the longest
 * step; SIZE_MAX: there is none. */
static size_t find_worst(const struct pw_figures *f, const struct range *range)
{
    const struct pw_cluster *c = f->cluster;
    size_t worst = SIZE_MAX;
    int64_t most_ns = INT64_MIN;
    for (size_t s = 0; s < c->nstep_rows; s++) {
        const struct pw_row_c_step *step = &c->steps[s];
        if (!range->has(step) || step->step < range->first || step->step > range->last)
            continue;
        const int64_t ns =
            range->row < 0
                ? step->duration_ns
                : pw_cells_value(&c->step_trace, offsetof(struct pw_row_c_step_trace, own_ns), s,
                                 (size_t)range->row);
        worst = ns > most_ns ? s : worst;
        most_ns = ns > most_ns ? ns : most_ns;
    }
    return worst;
}

/* Adds the step in which the straggler's own time was longest. */
static void add_straggler(const struct pw_figures *f, const struct pw_row_c_straggler *from,
                          struct pw_timeline_step *out, size_t *n)
{
    const struct range range = {from->first_step, from->last_step, pw_figures_row(f, from->rank),
                                is_timed};
    const size_t worst = range.row < 0 ? SIZE_MAX : find_worst(f, &range);
    if (worst != SIZE_MAX)
        add(out, n, (struct pw_timeline_step){worst, "straggler", from->rank});
}

/* Adds the longest step of a range. */
static void add_between(const struct pw_figures *f, struct range range, const char *why,
                        struct pw_timeline_step *out, size_t *n)
{
    const size_t worst = find_worst(f, &range);
    if (worst != SIZE_MAX)
        add(out, n, (struct pw_timeline_step){worst, why, f->cluster->steps[worst].slowest_rank});
}

/* Adds the step in which a job ended that did not end well: of the rank that the others waited for,
 * if one signal ended all, or of the one that ended first. */
static void add_ending(const struct pw_cluster *c, struct pw_timeline_step *out, size_t *n)
{
    const struct pw_row_c_ending *found = NULL;
    for (size_t i = 0; i < c->nendings; i++) {
        const struct pw_row_c_ending *one = &c->endings[i];
        if (one->held > 0 || (!found && one->ended == PW_ENDED_FIRST))
            found = one;
        if (one->held > 0)
            break;
    }
    for (size_t s = 0; found && s < c->nstep_rows; s++)
        if (c->steps[s].step == found->step && has_times(&c->steps[s])) {
            add(out, n, (struct pw_timeline_step){s, "ending", found->rank});
            return;
        }
}

/* Adds the steps that the first sentence of the report is about. */
static void add_verdict(const struct pw_figures *f, struct pw_timeline_step *out, size_t *n)
{
    const struct pw_cluster *c = f->cluster;
    const struct pw_verdict verdict = pw_figures_advice(f).verdict;
    const struct pw_row_c_trend *trend = pw_trends_leading(c);
    add_ending(c, out, n);
    if (verdict.kind == PW_VERDICT_HELD_BACK && c->nstragglers)
        add_straggler(f, &c->stragglers[0], out, n);
    else if (verdict.kind == PW_VERDICT_ALL_SLOWER && trend)
        add_between(f, (struct range){trend->first_step, trend->last_step, -1, is_timed},
                    "all_slower", out, n);
    else if (verdict.kind == PW_VERDICT_NETWORK && verdict.network)
        add_between(
            f,
            (struct range){verdict.network->first_step, verdict.network->last_step, -1, is_timed},
            "network", out, n);
}

size_t pw_timeline_choose(const struct pw_figures *f,
                          struct pw_timeline_step out[PW_TIMELINE_STEPS])
{
    size_t n = 0;
    add_verdict(f, out, &n);
    add_longest(f->cluster, out, &n);
    add_typical(f->cluster, out, &n);
    for (size_t i = 0; i < f->cluster->nstragglers && n < PW_TIMELINE_STEPS; i++)
        add_straggler(f, &f->cluster->stragglers[i], out, &n);
    return n;
}

void pw_timeline_ranks(const struct pw_figures *f, int64_t row, char *out, size_t size)
{
    const struct pw_cluster *c = f->cluster;
    char *wanted = calloc(f->nranks + 1, 1);
    struct pw_timeline_step steps[PW_TIMELINE_STEPS];
    const size_t n = pw_timeline_choose(f, steps);
    size_t chosen = 0, used = 0;
    out[0] = '\0';
    if (wanted && row >= 0) {
        wanted[row] = 1;
        chosen++;
    }
    for (size_t i = 0; wanted && i < n + c->nstragglers && chosen < PW_REPORT_WINDOW_RANKS / 2;
         i++) {
        const int64_t r = pw_figures_row(f, i < n ? steps[i].rank : c->stragglers[i - n].rank);
        if (r < 0 || wanted[r])
            continue;
        wanted[r] = 1;
        chosen++;
    }
    const size_t room = PW_REPORT_WINDOW_RANKS - chosen;
    for (size_t i = 0; wanted && i < room && i < f->nranks; i++)
        wanted[f->nranks <= room ? i : i * f->nranks / room] = 1;
    for (size_t r = 0; wanted && r < f->nranks && used < size; r++)
        if (wanted[r])
            used += (size_t)snprintf(out + used, size - used, "%s%zu", used ? "," : "", r);
    free(wanted);
}

/* The timeline of a step: its JSON, which the caller frees, and its window. */
struct timeline {
    char *text;
    size_t size;
    struct pw_report_window window;
};

/* What timelines are made of, and the times of those that are read together. */
struct maker {
    const struct pw_figures *figures;
    const struct pw_report_options *options;
    int64_t spans[PW_TIMELINE_STEPS][2];
    size_t nspans;
};

/* Reads the timeline of a step. Returns 0 or -errno; then there is nothing to free. */
static int read_timeline(const struct maker *maker, const struct pw_timeline_step *step,
                         int64_t row, struct timeline *out)
{
    char ranks[(PW_REPORT_WINDOW_RANKS + 1) * 12];
    const struct pw_figures *f = maker->figures;
    const struct pw_report_options *options = maker->options;
    const struct pw_row_c_step *at = &f->cluster->steps[step->row];
    pw_timeline_ranks(f, row, ranks, sizeof(ranks));
    *out = (struct timeline){.window = {.cluster = f->cluster,
                                        .ranks = ranks,
                                        .from = at->start,
                                        .until = at->end,
                                        .most_bytes = PW_TIMELINE_BYTES,
                                        .keeps_files = options->is_served,
                                        .spans = maker->spans,
                                        .nspans = maker->nspans,
                                        .share = 1}};
    FILE *memory = open_memstream(&out->text, &out->size);
    if (!memory)
        return -ENOMEM;
    int err = options->timeline(options->timeline_context, memory, &out->window);
    if (fclose(memory) && !err)
        err = -ENOMEM;
    if (err)
        free(out->text);
    out->window.ranks = NULL;
    out->window.spans = NULL;
    return err;
}

/* Writes the keys of a step; without a `timeline`, those that are known before it is read. */
static void put_keys(FILE *out, const struct pw_figures *f, const struct pw_timeline_step *step,
                     const struct timeline *timeline)
{
    const struct pw_row_c_step *at = &f->cluster->steps[step->row];
    fprintf(out, "\"step\":%" PRId64 ",\"why\":\"%s\",\"rank\":%" PRId32, at->step, step->why,
            step->rank);
    if (timeline)
        fprintf(out,
                ",\"cluster_ns\":%" PRId64 ",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64
                ",\"share\":%.4f,\"unread\":%d",
                at->start, pw_difference(at->start, timeline->window.base_ns),
                pw_difference(at->end, timeline->window.base_ns), timeline->window.share,
                timeline->window.unread);
}

/* Reads the timelines of the steps and writes their data; adds the steps to `list`. */
static int write_steps(FILE *out, FILE *list, const struct pw_figures *f,
                       const struct pw_report_options *options)
{
    struct pw_timeline_step steps[PW_TIMELINE_STEPS];
    const size_t n = options->timeline ? pw_timeline_choose(f, steps) : 0;
    struct maker maker = {.figures = f, .options = options, .nspans = n};
    for (size_t i = 0; i < n; i++) {
        maker.spans[i][0] = f->cluster->steps[steps[i].row].start;
        maker.spans[i][1] = f->cluster->steps[steps[i].row].end;
    }
    for (size_t i = 0; i < n; i++) {
        struct timeline timeline;
        int err = options->is_served ? 0 : read_timeline(&maker, &steps[i], -1, &timeline);
        if (err == -ENOMEM)
            return err;
        if (err)
            continue; /* no rank files: the page says how to get a timeline */
        fputs(ftell(list) ? ",{" : "{", list);
        put_keys(list, f, &steps[i], options->is_served ? NULL : &timeline);
        fputs("}", list);
        if (options->is_served)
            continue;
        fprintf(out, "<script type=\"text/plain\" id=\"timeline-%" PRId64 "\">",
                f->cluster->steps[steps[i].row].step);
        err = pw_packed_write(out, timeline.text, timeline.size, PW_PACKED_TEXT);
        fputs("</script>\n", out);
        free(timeline.text);
        if (err)
            return err;
    }
    return 0;
}

int pw_html_timelines_write(FILE *out, const struct pw_figures *f,
                            const struct pw_report_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&text, &size);
    if (!list)
        return -ENOMEM;
    int err = write_steps(out, list, f, options);
    if (fclose(list) && !err)
        err = -ENOMEM;
    if (!err)
        fprintf(out, "<script type=\"application/json\" id=\"timelines\"%s>[%s]</script>\n",
                options->is_served ? " data-served" : "", text);
    free(text);
    return err ? err : ferror(out) ? -EIO : 0;
}

/* Sets `out` to the step that is asked for. Returns 0 or -ESRCH. */
static int find_step(const struct pw_figures *f, const struct pw_report_question *question,
                     int64_t row, struct pw_timeline_step *out)
{
    const struct range range = {question->first_step, question->last_step, row, has_times};
    const size_t worst = find_worst(f, &range);
    if (worst == SIZE_MAX)
        return -ESRCH;
    const int32_t rank = row < 0 ? f->cluster->steps[worst].slowest_rank : (int32_t)question->rank;
    *out = (struct pw_timeline_step){worst, "asked", rank};
    return 0;
}

int pw_report_html_step(FILE *out, const struct pw_figures *f,
                        const struct pw_report_options *options,
                        const struct pw_report_question *question)
{
    struct pw_timeline_step step;
    struct timeline timeline;
    const int64_t row = question->rank < 0 ? -1 : pw_figures_row(f, question->rank);
    int err = row < 0 && question->rank >= 0 ? -ESRCH : find_step(f, question, row, &step);
    const struct maker maker = {.figures = f, .options = options};
    err = err ? err : read_timeline(&maker, &step, row, &timeline);
    if (err)
        return err;
    fputs("{", out);
    put_keys(out, f, &step, &timeline);
    fputs(",\"packed\":\"", out);
    err = pw_packed_write(out, timeline.text, timeline.size, PW_PACKED_TEXT);
    fputs("\"}\n", out);
    free(timeline.text);
    return err ? err : ferror(out) ? -EIO : 0;
}
