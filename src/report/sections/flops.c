/* FLOP/s and MFU of each rank. */
#include <inttypes.h>
#include <stdbool.h>

#include "core/text.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

static void flops_cell(struct pw_grid *grid, double flops, const char *per)
{
    char text[32];
    pw_text_flops(text, sizeof(text), flops);
    pw_grid_cell(grid, "%s%s", text, flops < 0 ? "" : per);
}

static void flops_row_cells(struct pw_grid *grid, const struct pw_row_c_flops *row)
{
    char text[32];
    if (row->rank < 0)
        pw_grid_cell(grid, "all");
    else
        pw_grid_cell(grid, "%" PRId32, row->rank);
    pw_grid_cell(grid, "%" PRId64, row->steps);
    flops_cell(grid, row->steps > 0 ? row->flops / (double)row->steps : -1, "");
    flops_cell(grid, row->flops_per_s, "/s");
    pw_grid_cell(grid, "%" PRId32, row->gpus);
    flops_cell(grid, row->peak_flops, "/s");
    pw_grid_cell(grid, "%s", pw_words_mfu(text, sizeof(text), row->mfu));
}

static int print_flops_basis(const struct pw_page *page)
{
    const struct pw_row_c_flops *all = &page->figures->cluster->flops[0];
    if (all->peak_flops < 0)
        return pw_page_print(page, 2, 2,
                             "MFU is not known, because not all GPUs have a known peak in %.16s: "
                             "give a GPU's peak with profwrap merge --peak-flops N DIR.",
                             all->type);
    if (all->mfu > 1)
        return pw_page_print(
            page, 2, 2,
            "More than 100 %% is impossible: the FLOPs that the program or --step-flops gives, the "
            "peak, or its type (--flops-type, here %.16s) is wrong.",
            all->type);
    return pw_page_print(page, 2, 2,
                         "MFU: the FLOPs that the model needs, over what the GPUs could have "
                         "computed in the same steps, at their peak in %.16s, without sparsity.",
                         all->type);
}

static int show_flops(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0},       {"# of\nsteps", 0}, {"a step\nneeds", 0}, {"reached", 0},
        {"# of\nGPUs", 0}, {"their peak", 0},  {"MFU", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    size_t count = c->nflops - 1 < page->top ? c->nflops : page->top + 1;
    struct pw_grid grid;
    if (!c->nflops)
        return pw_page_print(
            page, 2, 2,
            "Neither the program nor --step-flops gives the FLOPs that the model needs.");
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        flops_row_cells(&grid, &c->flops[i]);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && count < c->nflops)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", c->nflops - count);
    return err ? err : print_flops_basis(page);
}

static json_t *make_flops(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->nflops)
        return json_null();
    json_t *all = pw_json_row(PW_TABLE_c_flops, &c->flops[0]);
    json_t *steps = c->nstep_flops > PW_REPORT_JSON_STEPS
                        ? json_null()
                        : pw_json_rows(PW_TABLE_c_step_flops, c->step_flops, c->nstep_flops);
    bool bad = !all || json_object_del(all, "rank") != 0;
    bad |= json_object_set_new(all, "by_rank",
                               pw_json_rows(PW_TABLE_c_flops, c->flops + 1, c->nflops - 1)) != 0;
    bad |= json_object_set_new(all, "per_step", steps) != 0;
    return pw_json_or_null(all, bad);
}

static bool has_flops(const struct pw_cluster *c)
{
    return c->nflops > 0;
}

const struct pw_section pw_section_flops = {
    .name = "flops",
    .title = "FLOP/s and MFU: what the model needs of what the GPUs can do",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_flops},
    .is_of = has_flops,
    .print = show_flops,
    .keys = {{"flops", make_flops}},
};
