/* The parts of the run: where the ranks' whole wall time went. */
#include <inttypes.h>

#include "analysis/partmean.h"
#include "core/limits.h"
#include "core/text.h"
#include "report/text/sections.h"
#include "report/writing/grid.h"
#include "report/writing/words.h"

static void time_cell(struct pw_grid *grid, double ns)
{
    char time[32];
    pw_grid_cell(grid, "%s", pw_text_ns(time, sizeof(time), ns < 0 ? -1 : pw_whole(ns + 0.5)));
}

static void share_cell(struct pw_grid *grid, double part, double all)
{
    char share[32];
    pw_grid_cell(grid, "%s",
                 pw_page_percent(share, sizeof(share), part >= 0 && all > 0 ? part / all : -1));
}

static void add_part(struct pw_grid *grid, const struct pw_figures *f,
                     const struct pw_parts_known *known, int part, const struct pw_partmean *mean,
                     double run_ns)
{
    pw_grid_cell(grid, "%s", pw_enum_name(PW_F_PART, part));
    pw_grid_cell(grid, "%s", pw_words_part(part, known));
    time_cell(grid, mean->mean_ns);
    share_cell(grid, mean->mean_ns, run_ns);
    time_cell(grid, mean->wait_ns);
    time_cell(grid, mean->most_ns);
    if (mean->most_ns < 0)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%" PRId32, f->cluster->ranks[mean->most_rank].rank);
}

static void add_run(struct pw_grid *grid, double run_ns, double wait_ns)
{
    pw_grid_cell(grid, "the run");
    pw_grid_cell(grid, "%s", "");
    time_cell(grid, run_ns);
    share_cell(grid, run_ns, run_ns);
    time_cell(grid, wait_ns);
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
    const struct pw_parts_known known = pw_parts_known(c->part_trace, c->nrank_rows);
    struct pw_partmean means[PW_PARTS];
    if (!known.nranks)
        return pw_page_print(page, 2, 2, "Not known: it needs aligned clocks.");
    pw_partmeans(c->part_trace, c->nrank_rows, &known, means);
    const struct pw_partmean run = pw_partmeans_sum(means);
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < PW_PARTS; i++)
        add_part(&grid, page->figures, &known, PW_PART_START + i, &means[i], run.mean_ns);
    add_run(&grid, run.mean_ns, run.wait_ns);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err ? err
               : pw_page_print(page, 2, 2,
                               "The parts of each rank add up to the run, from its first event or "
                               "sample on any rank to its last (\"ran\" has the launch before and "
                               "the closing of files after it, too). own: without waiting for "
                               "other ranks. n/a: its end is not known on all ranks; its time is "
                               "in the part next to it.");
}
