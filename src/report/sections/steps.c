/* The step trace and the phases: means by rank over the measured steps, and trends over the
 * run. */
#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "analysis/figures/figures.h"
#include "core/text.h"
#include "report/content/runsummary.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/csv.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

/* Returns the number of ranks with a known step. Ranks without a file are in the section
 * completeness. */
static size_t count_known(const struct pw_figures *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->nranks; i++)
        n += f->samples[i] > 0;
    return n;
}

/* Chooses the rows of /ranks to show among the known ones: all in file order, or the `top` with
 * most own time. */
static int pick_ranks(const struct pw_page *page, size_t **rows, size_t *count)
{
    const struct pw_figures *f = page->figures;
    size_t known = count_known(f), at = 0;
    int err = pw_figures_order_ranks(f, rows);
    if (err)
        return err;
    *count = known < page->top ? known : page->top;
    for (size_t i = 0; i < f->nranks && *count == known; i++)
        if (f->samples[i] > 0)
            (*rows)[at++] = i;
    for (size_t i = 0; i < f->nranks && *count < known && at < *count; i++)
        if (f->samples[(*rows)[i]] > 0)
            (*rows)[at++] = (*rows)[i];
    return 0;
}

static int explain_rows(const struct pw_page *page, size_t shown, const size_t *rows)
{
    const struct pw_figures *f = page->figures;
    int err = 0, lossy = 0, fewer = 0;
    for (size_t i = 0; i < shown; i++) {
        lossy |= pw_figures_is_lossy(f, rows[i]);
        fewer |= f->samples[rows[i]] < f->measured;
    }
    if (shown < count_known(f))
        err = pw_page_print(page, 2, 2,
                            "The %zu ranks with most own time; %zu more are not shown (--top 0 "
                            "shows all). The mean is over all.",
                            shown, count_known(f) - shown);
    if (!err && lossy)
        err = pw_page_print(
            page, 2, 2,
            "! part of what this rank did is missing: its figures cover only what was recorded.");
    if (!err && fewer)
        err = pw_page_print(page, 2, 2, "- some measured steps of this rank are not known.");
    return err;
}

static void rank_cell(struct pw_grid *grid, const struct pw_figures *f, size_t row)
{
    pw_grid_cell(grid, "%" PRId32 "%s%s", f->cluster->ranks[row].rank,
                 pw_figures_is_lossy(f, row) ? "!" : "", f->samples[row] < f->measured ? "-" : "");
}

static void trace_cells(struct pw_grid *grid, const struct pw_page *page,
                        const struct pw_row_c_step_trace *mean)
{
    char wait[40];
    pw_grid_time(grid, mean->total_ns);
    pw_grid_time(grid, mean->interval_ns);
    pw_grid_time(grid, mean->fp_bp_ns);
    pw_grid_time(grid, mean->tail_ns);
    pw_grid_time(grid, mean->data_wait_ns);
    pw_grid_time(grid, mean->comm_ns);
    pw_grid_time(grid, mean->comm_exposed_ns);
    pw_grid_cell(grid, "%s", pw_page_cross_ns(page, wait, sizeof(wait), mean->wait_ns));
    pw_grid_time(grid, mean->own_ns);
}

static int print_trace(const struct pw_page *page, const size_t *rows, size_t count)
{
    static const struct pw_grid_column columns[] = {
        {"rank", 0},       {"total", 0}, {"interval", 0},      {"fp+bp", 0}, {"tail", 0},
        {"data\nwait", 0}, {"comm", 0},  {"comm\nexposed", 0}, {"wait", 0},  {"own", PW_GRID_KEPT},
    };
    const struct pw_figures *f = page->figures;
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        rank_cell(&grid, f, rows[i]);
        trace_cells(&grid, page, &f->trace[rows[i]]);
    }
    pw_grid_cell(&grid, "mean");
    trace_cells(&grid, page, &f->trace_mean);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err;
}

static int print_trace_caption(const struct pw_page *page)
{
    const struct pw_figures *f = page->figures;
    char warmup[64] = "";
    if (f->warmup)
        snprintf(warmup, sizeof(warmup), " (%" PRId64 " %s left out)", f->warmup,
                 pw_words_left_out(f));
    return pw_page_print(page, 2, 2, "Means of %" PRId64 " measured steps per rank%s%s.",
                         f->measured, warmup,
                         f->cluster->steps_inferred > 1   ? "; the steps are slices of equal length"
                         : f->cluster->steps_inferred > 0 ? "; the steps are inferred"
                                                          : "");
}

static int print_trends(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    char text[256];
    int err = 0;
    for (size_t i = 0; i < c->ntrends && !err; i++) {
        struct pw_sentence s = pw_sentence_on(text, sizeof(text));
        pw_trends_say(c, &c->trends[i], &s);
        err = pw_page_print(page, 2, 4, "%s.", text);
    }
    return err;
}

static int show_steps(const struct pw_page *page)
{
    size_t *rows = NULL, count = 0;
    int err = pick_ranks(page, &rows, &count);
    if (!err)
        err = print_trace_caption(page);
    if (!err)
        err = print_trace(page, rows, count);
    if (!err)
        err = print_trends(page);
    if (!err)
        err = explain_rows(page, count, rows);
    if (!err)
        err = pw_page_print(page, 2, 2,
                            "own = total - wait: what the rank itself took; a straggler stands out "
                            "here. %sexposed: communication that no computation hides; wait: for "
                            "other ranks; n/a: not known.",
                            pw_figures_advice(page->figures).is_training
                                ? "interval: before forward begins; tail: after backward ends; "
                                : "");
    free(rows);
    return err;
}

enum { PHASES = 6 };

static int64_t phase_ns(const struct pw_row_c_phase_trace *row, int phase)
{
    const int64_t values[PHASES] = {row->data_ns,      row->forward_ns,   row->backward_ns,
                                    row->allreduce_ns, row->optimizer_ns, row->other_ns};
    return values[phase];
}

/* Returns the row of /ranks of the slowest rank in `phase`; -1 when there is none, or several are
 * equally slow. */
static int64_t slowest_rank(const struct pw_figures *f, int phase)
{
    int64_t slowest = -1, most = 0;
    for (size_t r = 0; r < f->nranks && f->nranks > 1; r++) {
        int64_t ns = phase_ns(&f->phases[r], phase);
        if (ns == most)
            slowest = -1;
        if (ns > most) {
            slowest = (int64_t)r;
            most = ns;
        }
    }
    return slowest;
}

static void phase_row(struct pw_grid *grid, const struct pw_row_c_phase_trace *mean, int64_t row,
                      const int64_t *slowest, const int *used)
{
    for (int p = 0; p < PHASES; p++) {
        char time[32];
        if (used[p])
            pw_grid_cell(grid, "%s%s", pw_text_ns(time, sizeof(time), phase_ns(mean, p)),
                         row >= 0 && row == slowest[p] ? "*" : " ");
    }
}

/* Prints the table of phases, without the phases that no rank was in. */
static int print_phases(const struct pw_page *page, const size_t *rows, size_t count)
{
    static const char *const titles[PHASES] = {"data ",      "forward ",   "backward ",
                                               "allreduce ", "optimizer ", "other "};
    const struct pw_figures *f = page->figures;
    struct pw_grid_column columns[PHASES + 1] = {{"rank", 0}};
    struct pw_grid grid;
    int64_t slowest[PHASES];
    int used[PHASES];
    size_t ncolumns = 1;
    for (int p = 0; p < PHASES; p++) {
        slowest[p] = slowest_rank(f, p);
        used[p] = phase_ns(&f->phase_mean, p) > 0;
        if (used[p])
            columns[ncolumns++] = (struct pw_grid_column){titles[p], 0};
    }
    pw_grid_init(&grid, columns, ncolumns);
    for (size_t i = 0; i < count; i++) {
        rank_cell(&grid, f, rows[i]);
        phase_row(&grid, &f->phases[rows[i]], (int64_t)rows[i], slowest, used);
    }
    pw_grid_cell(&grid, "mean");
    phase_row(&grid, &f->phase_mean, -1, slowest, used);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err;
}

static int show_phases(const struct pw_page *page)
{
    size_t *rows = NULL, count = 0;
    int err = pick_ranks(page, &rows, &count);
    if (!err)
        err = pw_page_print(page, 2, 2, "Means of %" PRId64 " measured steps per rank.",
                            page->figures->measured);
    if (!err)
        err = print_phases(page, rows, count);
    if (!err)
        err = explain_rows(page, count, rows);
    if (!err && page->figures->nranks > 1)
        err = pw_page_print(page, 2, 2, "* the slowest of all ranks in this phase.");
    free(rows);
    return err;
}

json_t *pw_json_steps_inferred(const struct pw_figures *f)
{
    int64_t value = f->cluster->steps_inferred;
    return value < 0 || !f->measured ? json_null() : json_boolean(value > 0);
}

static json_t *make_steps(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    json_t *steps = json_object();
    int bad = json_object_set_new(steps, "measured", pw_json_int(f->measured));
    bad |= json_object_set_new(steps, "warmup", pw_json_int(f->warmup));
    bad |= json_object_set_new(steps, "inferred", pw_json_steps_inferred(f));
    bad |= json_object_set_new(
        steps, "found_by", f->measured ? json_string(pw_words_found_by(f->cluster)) : json_null());
    bad |= json_object_set_new(steps, "mean_ns", pw_json_int(f->step_mean_ns));
    bad |= json_object_set_new(steps, "min_ns", pw_json_int(f->step_min_ns));
    bad |= json_object_set_new(steps, "max_ns", pw_json_int(f->step_max_ns));
    bad |= json_object_set_new(steps, "per_step",
                               c->nstep_rows > PW_REPORT_JSON_STEPS
                                   ? json_null()
                                   : pw_json_rows(PW_TABLE_c_step, c->steps, c->nstep_rows));
    return pw_json_or_null(steps, bad);
}

static json_t *make_rank_means(const struct pw_figures *f)
{
    json_t *array = json_array();
    for (size_t r = 0; array && r < f->nranks; r++) {
        const struct pw_row_c_rank *rank = &f->cluster->ranks[r];
        json_t *row = pw_json_row(PW_TABLE_c_step_trace, &f->trace[r]);
        int bad = json_object_set_new(row, "rank", pw_json_int(rank->rank));
        bad |= json_object_set_new(row, "hostname",
                                   pw_json_text(rank->hostname, sizeof(rank->hostname)));
        bad |= json_object_set_new(row, "steps", pw_json_int(f->samples[r]));
        bad |= json_object_set_new(row, "lossy", json_boolean(pw_figures_is_lossy(f, r)));
        bad |=
            json_object_set_new(row, "phases", pw_json_row(PW_TABLE_c_phase_trace, &f->phases[r]));
        if (json_array_append_new(array, pw_json_or_null(row, bad))) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *make_step_ranks(const struct pw_figures *f, size_t step)
{
    if (f->nranks && f->cluster->nstep_rows > PW_REPORT_JSON_CELLS / f->nranks)
        return json_null();
    struct pw_row_c_step_trace *cells = malloc((f->nranks + 1) * sizeof(*cells));
    if (!cells)
        return NULL;
    if (f->nranks)
        pw_cells_rows(&f->cluster->step_trace, &(struct pw_cells_area){step, 1, 0, f->nranks},
                      cells);
    json_t *array = pw_json_rows(PW_TABLE_c_step_trace, cells, f->nranks);
    free(cells);
    int bad = !array;
    for (size_t r = 0; r < f->nranks && !bad; r++)
        bad = json_object_set_new(json_array_get(array, r), "rank",
                                  pw_json_int(f->cluster->ranks[r].rank));
    return pw_json_or_null(array, bad);
}

static json_t *make_step_means(const struct pw_figures *f)
{
    if (f->cluster->nstep_rows > PW_REPORT_JSON_STEPS)
        return json_null();
    json_t *array = json_array();
    for (size_t s = 0; array && s < f->cluster->nstep_rows; s++) {
        const struct pw_row_c_step *step = &f->cluster->steps[s];
        struct pw_row_c_step_trace mean;
        pw_figures_mean_ranks(f, s, &mean);
        json_t *row = json_object();
        int bad = json_object_set_new(row, "step", pw_json_int(step->step));
        bad |= json_object_set_new(row, "recorded",
                                   json_string(pw_enum_name(PW_F_RECORDED, step->recorded)));
        bad |= json_object_set_new(row, "mean", pw_json_row(PW_TABLE_c_step_trace, &mean));
        bad |= json_object_set_new(row, "ranks", make_step_ranks(f, s));
        if (json_array_append_new(array, pw_json_or_null(row, bad))) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *make_step_trace(const struct pw_figures *f)
{
    json_t *trace = json_object();
    int bad = json_object_set_new(trace, "measured_steps", pw_json_int(f->measured));
    bad |= json_object_set_new(trace, "mean", pw_json_row(PW_TABLE_c_step_trace, &f->trace_mean));
    bad |= json_object_set_new(trace, "phase_mean",
                               pw_json_row(PW_TABLE_c_phase_trace, &f->phase_mean));
    bad |= json_object_set_new(trace, "per_rank", make_rank_means(f));
    bad |= json_object_set_new(trace, "per_step", make_step_means(f));
    return pw_json_or_null(trace, bad);
}

static json_t *make_trends(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_trend, f->cluster->trends, f->cluster->ntrends);
}

static struct pw_lack lack_of_steps(const struct pw_figures *f)
{
    if (f->measured)
        return (struct pw_lack){0};
    return (struct pw_lack){"No steps are known.",
                            "Call profwrap_step(n) of profwrap.h, or MPI_Pcontrol(10), at the "
                            "start of each iteration."};
}

static struct pw_lack lack_of_phases(const struct pw_figures *f)
{
    static const char none[] = "No phases are marked.";
    if (f->measured && pw_phases_are_known(f))
        return (struct pw_lack){0};
    if (!pw_figures_advice(f).is_training)
        return (struct pw_lack){none, PW_HOW_TO_MARK};
    return (struct pw_lack){none, "Mark data, forward, backward, allreduce and optimizer with "
                                  "profwrap_phase() of profwrap.h."};
}

/* Returns the index of a field, which the table must have. */
static size_t field_index(int table, const char *name)
{
    const struct pw_table *info = pw_table_borrow(table);
    size_t i = 0;
    while (i < info->nfields && strcmp(info->fields()[i].name, name) != 0)
        i++;
    return i;
}

/* How many cells become rows at a time: some ranks of a step, or some steps of all ranks. */
enum { BATCH = 64 };

/* Writes the rows of the cells in the area. */
static void put_cells(FILE *out, const struct pw_cluster *c, const struct pw_cells_area *area,
                      size_t ours)
{
    struct pw_row_c_step_trace rows[BATCH];
    struct pw_row_c_phase_trace phases[BATCH];
    pw_cells_rows(&c->step_trace, area, rows);
    pw_cells_rows(&c->phase_trace, area, phases);
    for (size_t i = 0; i < area->steps * area->ranks; i++) {
        const struct pw_row_c_step_trace *row = &rows[i];
        const struct pw_row_c_step *step = &c->steps[area->step + i / area->ranks];
        fprintf(out, "%" PRId64 ",%" PRId32, step->step,
                c->ranks[area->rank + i % area->ranks].rank);
        const int64_t known[] = {step->start,      step->end,     row->total_ns,
                                 row->interval_ns, row->fp_bp_ns, row->tail_ns};
        for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
            pw_csv_ns(out, known[k]);
        pw_csv_times(out, PW_TABLE_c_step_trace, ours, row);
        pw_csv_times(out, PW_TABLE_c_phase_trace, 0, &phases[i]);
        fputc('\n', out);
    }
}

/* Writes a row for each rank in each step: first the columns of MindSpore's step trace, with its
 * names, then the fields of /step_trace from compute_ns on, then all fields of /phase_trace. */
static int put_step_trace(FILE *out, const struct pw_figures *f,
                          const struct pw_report_options *options)
{
    const struct pw_cluster *c = f->cluster;
    const size_t ours = field_index(PW_TABLE_c_step_trace, "compute_ns");
    const size_t nranks = c->nrank_rows, cells = nranks * c->nstep_rows;
    fputs(
        "# step_trace\nstep_num,rank,start_point,end_point,total,iteration_interval,fp_and_bp,tail",
        out);
    pw_csv_names(out, PW_TABLE_c_step_trace, ours);
    pw_csv_names(out, PW_TABLE_c_phase_trace, 0);
    fputc('\n', out);
    for (size_t at = 0, n; at < cells; at += n) {
        const size_t step = at / nranks, rank = at % nranks;
        const size_t steps = nranks < BATCH ? BATCH / nranks : 1;
        const size_t left = c->nstep_rows - step, ranks = nranks - rank;
        const struct pw_cells_area area = {step, steps < left ? steps : left, rank,
                                           ranks < BATCH ? ranks : BATCH};
        put_cells(out, c, &area, ours);
        n = area.steps * area.ranks;
    }
    (void)options;
    return 0;
}

const struct pw_section pw_section_steps = {
    .name = "steps",
    .title = "Steps: where each rank's time goes",
    .flags = PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_step, PW_TABLE_c_trend},
    .lacks = lack_of_steps,
    .how_imported = "Call the profiler's step() in each iteration.",
    .print = show_steps,
    .keys = {{"steps", make_steps}, {"step_trace", make_step_trace}, {"trends", make_trends}},
    .csv = put_step_trace,
};

const struct pw_section pw_section_phases = {
    .name = "phases",
    .title = "Phases: each rank's own work, without waiting for other ranks",
    .flags = PW_SECTION_PAGE,
    .lacks = lack_of_phases,
    .how_imported = "Name parts of a step with record_function() of torch.profiler.",
    .print = show_phases,
};
