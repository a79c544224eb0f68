/* The parts of the run, which add up to its whole wall time. */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/figures/figures.h"
#include "analysis/parts.h"
#include "core/limits.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/csv.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

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

/* 0 for a part that lies before or after MPI, in a job in which MPI was not seen. PyTorch and
 * MindSpore have those of the begin, and none of the end. */
static int is_listed(const struct parts *parts, int i)
{
    const struct pw_parts_known *known = &parts->known;
    const int part = PW_PART_START + i;
    if (part == PW_PART_START || part == PW_PART_INIT)
        return known->has_init || known->has_finalize;
    if (part == PW_PART_FINALIZE || part == PW_PART_END)
        return known->has_finalize || (known->has_init && known->init_source <= PW_SOURCE_MPI);
    return 1;
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

static int show_parts(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"part", 1},    {"what it is", 1},   {"mean of\nranks", 0}, {"of\nthe run", 0},
        {"waiting", 0}, {"longest\nown", 0}, {"on\nrank", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    struct parts parts = {.known = pw_parts_known(c->part_trace, c->nrank_rows, c->init_source)};
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

static json_t *time_json(double ns)
{
    return pw_json_int(ns < 0 ? -1 : pw_whole(ns + 0.5));
}

static json_t *part_json(const struct pw_figures *f, const struct pw_parts_known *known, int part,
                         const struct pw_partmean *mean, double run_ns)
{
    const int is_known = mean->mean_ns >= 0;
    const int64_t rank = is_known ? f->cluster->ranks[mean->most_rank].rank : -1;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "part", pw_enum_name(PW_F_PART, part),
                     "words", pw_words_part(part, known), "mean_ns", time_json(mean->mean_ns),
                     "share", pw_json_real(is_known && run_ns > 0 ? mean->mean_ns / run_ns : -1),
                     "wait_ns", time_json(mean->wait_ns), "longest_own_ns",
                     time_json(mean->most_ns), "longest_rank", pw_json_int(rank));
}

/* Returns the parts of the run: means over ranks, and the rank with most own time; a JSON null when
 * no part is known. NULL when memory is short. */
static json_t *pw_json_parts(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    const struct pw_parts_known known =
        pw_parts_known(c->part_trace, c->nrank_rows, c->init_source);
    struct pw_partmean means[PW_PARTS];
    if (!known.nranks)
        return json_null();
    pw_partmeans(c->part_trace, c->nrank_rows, &known, means);
    const struct pw_partmean run = pw_partmeans_sum(means);
    json_t *rows = json_array();
    int bad = !rows;
    for (int i = 0; i < PW_PARTS; i++)
        bad |= json_array_append_new(
            rows, part_json(f, &known, PW_PART_START + i, &means[i], run.mean_ns));
    json_t *parts =
        json_pack("{s:I, s:o, s:o, s:o}", "ranks", (json_int_t)known.nranks, "run_ns",
                  time_json(run.mean_ns), "wait_ns", time_json(run.wait_ns), "rows", rows);
    return pw_json_or_null(parts, bad);
}

static bool has_parts(const struct pw_cluster *c)
{
    const struct pw_parts_known known =
        pw_parts_known(c->part_trace, c->nrank_rows, c->init_source);
    return known.nranks > 0 && (known.has_init || known.has_steps || known.has_finalize);
}

/* Writes a row for each rank in each part of the run. */
static int put_parts(FILE *out, const struct pw_figures *f, const struct pw_report_options *options)
{
    const struct pw_cluster *c = f->cluster;
    fputs("# parts\nrank,part", out);
    pw_csv_names(out, PW_TABLE_c_part_trace, 0);
    fputc('\n', out);
    for (size_t i = 0; c->part_trace && i < PW_PART_END * c->nrank_rows; i++) {
        const int part = PW_PART_START + (int)(i / c->nrank_rows);
        fprintf(out, "%" PRId32 ",%s", c->ranks[i % c->nrank_rows].rank,
                pw_enum_name(PW_F_PART, part));
        pw_csv_times(out, PW_TABLE_c_part_trace, 0, &c->part_trace[i]);
        fputc('\n', out);
    }
    (void)options;
    return 0;
}

const struct pw_section pw_section_parts = {
    .name = "parts",
    .title = "Parts of the run: the whole wall time of the ranks",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .is_of = has_parts,
    .print = show_parts,
    .keys = {{"parts", pw_json_parts}},
    .csv = put_parts,
};
