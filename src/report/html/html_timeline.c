/* Chooses steps and ranks, and writes their timelines; see html_timeline.h. */
#include "report/html/html_timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/limits.h"
#include "report/html/html_planes.h"

static int is_timed(const struct pw_row_c_step *step)
{
    return step->recorded == PW_RECORDED_ACTIVE && step->start >= 0 && step->end > step->start &&
           step->duration_ns >= 0;
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

/* Adds the step in which the straggler's own time was longest. */
static void add_straggler(const struct pw_figures *f, const struct pw_row_c_straggler *from,
                          struct pw_timeline_step *out, size_t *n)
{
    const struct pw_cluster *c = f->cluster;
    const int64_t r = pw_figures_row(f, from->rank);
    size_t worst = SIZE_MAX;
    int64_t most_ns = -1;
    for (size_t s = 0; r >= 0 && s < c->nstep_rows; s++) {
        const struct pw_row_c_step *step = &c->steps[s];
        if (!is_timed(step) || step->step < from->first_step || step->step > from->last_step)
            continue;
        const int64_t own_ns = pw_figures_borrow_cells(f, s)[r].own_ns;
        worst = own_ns > most_ns ? s : worst;
        most_ns = own_ns > most_ns ? own_ns : most_ns;
    }
    if (worst != SIZE_MAX)
        add(out, n, (struct pw_timeline_step){worst, "straggler", from->rank});
}

size_t pw_timeline_choose(const struct pw_figures *f,
                          struct pw_timeline_step out[PW_TIMELINE_STEPS])
{
    size_t n = 0;
    add_longest(f->cluster, out, &n);
    add_typical(f->cluster, out, &n);
    for (size_t i = 0; i < f->cluster->nstragglers && n < PW_TIMELINE_STEPS; i++)
        add_straggler(f, &f->cluster->stragglers[i], out, &n);
    return n;
}

void pw_timeline_ranks(const struct pw_figures *f, char *out, size_t size)
{
    const struct pw_cluster *c = f->cluster;
    char *wanted = calloc(f->nranks + 1, 1);
    struct pw_timeline_step steps[PW_TIMELINE_STEPS];
    const size_t n = pw_timeline_choose(f, steps);
    size_t chosen = 0, used = 0;
    out[0] = '\0';
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

static int write_data(FILE *out, const struct pw_report_options *options, int64_t step,
                      struct pw_report_window *window)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return -ENOMEM;
    int err = options->timeline(options->timeline_context, memory, window);
    if (fclose(memory) && !err)
        err = -ENOMEM;
    if (!err) {
        fprintf(out, "<script type=\"text/plain\" id=\"timeline-%" PRId64 "\">", step);
        err = pw_packed_write(out, text, size);
        fputs("</script>\n", out);
    }
    free(text);
    return err;
}

int pw_html_timelines_write(FILE *out, const struct pw_figures *f,
                            const struct pw_report_options *options)
{
    struct pw_timeline_step steps[PW_TIMELINE_STEPS];
    char ranks[PW_REPORT_WINDOW_RANKS * 12], list[PW_TIMELINE_STEPS * 256] = "";
    const size_t n = options->timeline ? pw_timeline_choose(f, steps) : 0;
    size_t used = 0;
    pw_timeline_ranks(f, ranks, sizeof(ranks));
    for (size_t i = 0; i < n; i++) {
        const struct pw_row_c_step *step = &f->cluster->steps[steps[i].row];
        struct pw_report_window window = {
            f->cluster, ranks, step->start, step->end, PW_TIMELINE_BYTES, 0, 1};
        const int err = write_data(out, options, step->step, &window);
        if (err == -ENOMEM || ferror(out))
            return err == -ENOMEM ? err : -EIO;
        if (err)
            continue; /* no rank files: the page says how to get a timeline */
        used += (size_t)snprintf(list + used, sizeof(list) - used,
                                 "%s{\"step\":%" PRId64 ",\"why\":\"%s\",\"rank\":%" PRId32
                                 ",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64 ",\"share\":%.4f}",
                                 used ? "," : "", step->step, steps[i].why, steps[i].rank,
                                 pw_difference(step->start, window.base_ns),
                                 pw_difference(step->end, window.base_ns), window.share);
    }
    fprintf(out, "<script type=\"application/json\" id=\"timelines\">[%s]</script>\n", list);
    return ferror(out) ? -EIO : 0;
}
