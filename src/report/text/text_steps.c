/* Prints the steps and phases as means over the measured steps of each rank, and the parts of the
 * run; see sections.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/advice/findings.h"
#include "analysis/parts.h"
#include "core/limits.h"
#include "core/text.h"
#include "report/text/sections.h"
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

int pw_section_steps(const struct pw_page *page)
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

int pw_section_phases(const struct pw_page *page)
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

/* ---- the parts of the run, which add up to the ranks' wall time ---- */

static void mean_time_cell(struct pw_grid *grid, double ns)
{
    pw_grid_time(grid, ns < 0 ? -1 : pw_whole(ns + 0.5));
}

static void share_cell(struct pw_grid *grid, double part, double all)
{
    pw_grid_share(grid, part >= 0 && all > 0 ? part / all : -1);
}

/* The parts of a run, and their sum, the run. */
struct parts {
    struct pw_parts_known known;
    struct pw_partmean means[PW_PARTS], run;
};

static void add_part(struct pw_grid *grid, const struct pw_cluster *c, const struct parts *parts,
                     int i)
{
    const struct pw_partmean *mean = &parts->means[i];
    const int part = PW_PART_START + i;
    pw_grid_cell(grid, "%s", pw_enum_name(PW_F_PART, part));
    pw_grid_cell(grid, "%s", pw_words_part(part, &parts->known));
    mean_time_cell(grid, mean->mean_ns);
    share_cell(grid, mean->mean_ns, parts->run.mean_ns);
    mean_time_cell(grid, mean->wait_ns);
    mean_time_cell(grid, mean->most_ns);
    if (mean->most_ns < 0)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%" PRId32, c->ranks[mean->most_rank].rank);
}

/* 0 for a part that lies before or after MPI, in a job in which MPI was not seen. */
static int is_listed(const struct parts *parts, int i)
{
    const int part = PW_PART_START + i;
    const int is_of_mpi = part == PW_PART_START || part == PW_PART_INIT ||
                          part == PW_PART_FINALIZE || part == PW_PART_END;
    return !is_of_mpi || parts->known.has_init || parts->known.has_finalize;
}

static void add_run(struct pw_grid *grid, double run_ns, double wait_ns)
{
    pw_grid_cell(grid, "the run");
    pw_grid_cell(grid, "%s", "");
    mean_time_cell(grid, run_ns);
    share_cell(grid, run_ns, run_ns);
    mean_time_cell(grid, wait_ns);
    pw_grid_cell(grid, "%s", "");
    pw_grid_cell(grid, "%s", "");
}

int pw_section_parts(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"part", 1},    {"what it is", 1},   {"mean of\nranks", 0}, {"of\nthe run", 0},
        {"waiting", 0}, {"longest\nown", 0}, {"on\nrank", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    struct parts parts = {.known = pw_parts_known(c->part_trace, c->nrank_rows)};
    if (!parts.known.nranks)
        return pw_page_print(page, 2, 2, "Not known: it needs aligned clocks.");
    pw_partmeans(c->part_trace, c->nrank_rows, &parts.known, parts.means);
    parts.run = pw_partmeans_sum(parts.means);
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    int is_missing = 0;
    for (int i = 0; i < PW_PARTS; i++) {
        if (!is_listed(&parts, i))
            continue;
        add_part(&grid, c, &parts, i);
        is_missing |= parts.means[i].mean_ns < 0;
    }
    add_run(&grid, parts.run.mean_ns, parts.run.wait_ns);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err ? err
               : pw_page_print(
                     page, 2, 2,
                     "The parts of each rank add up to the run, from its first event or "
                     "sample on any rank to its last (\"ran\" also includes the launch before it "
                     "and the closing of files after it). own: without waiting for "
                     "other ranks.%s",
                     is_missing ? " n/a: its end is not known on all ranks; its time is in the "
                                  "part next to it."
                                : "");
}
