/* What processes used of their hosts, and memory over the steps. */
#include <inttypes.h>
#include <stdlib.h>

#include "core/text.h"
#include "report/text/sections.h"
#include "report/writing/grid.h"

static void add_share(struct pw_grid *grid, double share)
{
    char text[32];
    pw_grid_cell(grid, "%s", pw_page_percent(text, sizeof(text), share));
}

static void add_bytes(struct pw_grid *grid, int64_t bytes)
{
    char text[32];
    pw_grid_cell(grid, "%s", pw_text_bytes(text, sizeof(text), bytes));
}

static void add_number(struct pw_grid *grid, double number)
{
    if (number < 0)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%.0f", number);
}

static void add_usage(struct pw_grid *grid, const struct pw_row_c_utilisation *u)
{
    pw_grid_cell(grid, "%" PRId32, u->rank);
    pw_grid_cell(grid, "%.64s", u->hostname);
    add_share(grid, u->cpu_user_share);
    add_share(grid, u->cpu_sys_share);
    add_share(grid, u->main_cpu_share);
    add_share(grid, u->runq_share);
    add_number(grid, u->involuntary_cs_per_s);
    add_number(grid, (double)u->major_faults);
    add_bytes(grid, u->rss_max_bytes);
    add_bytes(grid, u->read_bytes);
    add_bytes(grid, u->write_bytes);
    add_share(grid, u->host_busy_share);
}

static double runq_key(const struct pw_figures *f, size_t row)
{
    return f->cluster->utilisation[row].runq_share;
}

int pw_section_utilisation(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0},         {"Host", 1},           {"CPU\nuser", 0},        {"CPU\nsystem", 0},
        {"Main\nthread", 0}, {"Without\na CPU", 0}, {"Switched\nout /s", 0}, {"Major\nfaults", 0},
        {"Most\nmemory", 0}, {"Read", 0},           {"Written", 0},          {"Host\nbusy", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    size_t *order, n = c->nutilisation, count = n < page->top ? n : page->top;
    if (!n)
        return pw_page_print(page, 2, 2, "Not known: processes were not sampled.");
    int err = pw_figures_order(page->figures, n, runq_key, &order);
    if (err)
        return err;
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        add_usage(&grid, &c->utilisation[order[i]]);
    err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    free(order);
    if (!err && count < n)
        err = pw_page_print(page, 2, 2, "%zu more ranks are not shown (--top 0).", n - count);
    if (err)
        return err;
    return pw_page_print(page, 2, 2,
                         "Shares of time; CPU of all threads, so that it may be above 100 %%. "
                         "Without a CPU: the main thread was ready to run, and switched out: it "
                         "had to stop for another. Most such time first.");
}

static double peak_key(const struct pw_figures *f, size_t row)
{
    return (double)f->cluster->memory[row].peak_bytes;
}

static void add_slope(struct pw_grid *grid, int64_t steps, double slope)
{
    char text[32];
    int64_t bytes = (int64_t)(slope < 0 ? -slope : slope);
    if (steps < 2)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%s%s", slope < 0 && bytes ? "-" : "",
                     pw_text_bytes(text, sizeof(text), bytes));
}

static void add_memory(struct pw_grid *grid, const struct pw_row_c_memory *m)
{
    pw_grid_cell(grid, "%" PRId32, m->rank);
    pw_grid_cell(grid, "%.16s", m->what);
    if (m->device < 0)
        pw_grid_cell(grid, "host");
    else
        pw_grid_cell(grid, "%" PRId32, m->device);
    add_bytes(grid, m->peak_bytes);
    add_bytes(grid, m->end_bytes);
    add_slope(grid, m->steps, m->bytes_per_step);
    add_slope(grid, m->steps, m->later_bytes_per_step);
    add_share(grid, m->steps < 2 ? -1 : m->fit);
}

int pw_section_memory(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0}, {"What", 1},           {"Device", 1},      {"Peak", 0},
        {"End", 0},  {"Growth\na step", 0}, {"later\nhalf", 0}, {"Fit", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    size_t *order, n = c->nmemory, count = n < page->top ? n : page->top;
    if (!n)
        return pw_page_print(page, 2, 2, "Not known: memory was not sampled.");
    int err = pw_figures_order(page->figures, n, peak_key, &order);
    if (err)
        return err;
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        add_memory(&grid, &c->memory[order[i]]);
    err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    free(order);
    if (!err && count < n)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", n - count);
    if (err)
        return err;
    return pw_page_print(page, 2, 2,
                         "rss: of the process; allocated: as the program or CUPTI said; pools: "
                         "what CUDA's hold of the device. Growth: of a line through what was there "
                         "at the end of each step; fit: how much of the "
                         "changes it explains.");
}
