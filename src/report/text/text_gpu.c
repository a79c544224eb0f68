/* GPU time per rank, and kernels. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "core/text.h"
#include "report/text/sections.h"
#include "report/writing/grid.h"
#include "report/writing/safenames.h"

enum { NAME = 320 };

/* A kernel's name is told from here on to be slower on a rank. */
#define SURE 0.95

static void share_cell(struct pw_grid *grid, int64_t part, int64_t whole)
{
    pw_grid_share(grid, whole > 0 ? (double)part / (double)whole : -1);
}

static void clock_cell(struct pw_grid *grid, double mhz)
{
    if (mhz > 0)
        pw_grid_cell(grid, "%.0f", mhz);
    else
        pw_grid_cell(grid, "n/a");
}

static bool has_occupancy(const struct pw_cluster *c)
{
    for (size_t i = 0; i < c->ngpu_ranks; i++)
        if (c->gpu_ranks[i].occupancy >= 0)
            return true;
    return false;
}

static void rank_cells(struct pw_grid *grid, const struct pw_row_c_gpu_rank *row, bool occupancy)
{
    pw_grid_cell(grid, "%d%s", (int)row->rank, row->unrecorded_ns ? "*" : "");
    pw_grid_time(grid, row->span_ns);
    share_cell(grid, row->busy_ns, row->span_ns);
    share_cell(grid, row->compute_ns, row->span_ns);
    share_cell(grid, row->comm_ns, row->span_ns);
    share_cell(grid, row->comm_exposed_ns, row->span_ns);
    share_cell(grid, row->comm_ns - row->comm_exposed_ns, row->comm_ns);
    share_cell(grid, row->copy_ns, row->span_ns);
    share_cell(grid, row->idle_host_ns, row->span_ns);
    share_cell(grid, row->idle_gap_ns, row->span_ns);
    share_cell(grid, row->idle_other_ns, row->span_ns);
    clock_cell(grid, row->sm_clock_mhz);
    if (occupancy)
        pw_grid_share(grid, row->occupancy);
}

static int print_table(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0},         {"Time", 0},          {"busy", 0},         {"computing", 0},
        {"NCCL", 0},         {"NCCL\nexposed", 0}, {"NCCL\nhidden", 0}, {"copies", 0},
        {"dry:\nhost", 0},   {"kernel\ngaps", 0},  {"idle,\nother", 0}, {"SM\nMHz", 0},
        {"Occu-\npancy", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    size_t count = c->ngpu_ranks < page->top ? c->ngpu_ranks : page->top;
    struct pw_grid grid;
    const bool occupancy = has_occupancy(c);
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]) - (occupancy ? 0 : 1));
    for (size_t i = 0; i < count; i++)
        rank_cells(&grid, &c->gpu_ranks[i], occupancy);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && count < c->ngpu_ranks)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", c->ngpu_ranks - count);
    return err;
}

static void device_cells(struct pw_grid *grid, const struct pw_row_c_gpu_device *row)
{
    char name[NAME];
    pw_grid_cell(grid, "%d", (int)row->rank);
    pw_grid_cell(grid, "%d", (int)row->device);
    pw_grid_cell(grid, "%s", pw_names_printable(name, sizeof(name), row->name, sizeof(row->name)));
    pw_grid_cell(grid, "%" PRId64, row->kernels);
    pw_grid_time(grid, row->span_ns);
    share_cell(grid, row->busy_ns, row->span_ns);
    share_cell(grid, row->compute_ns, row->span_ns);
    share_cell(grid, row->comm_ns, row->span_ns);
    share_cell(grid, row->comm_exposed_ns, row->span_ns);
    share_cell(grid, row->copy_ns, row->span_ns);
    pw_grid_share(grid, row->occupancy);
    clock_cell(grid, row->sm_clock_mhz);
}

static bool has_several(const struct pw_cluster *c)
{
    for (size_t i = 1; i < c->ngpu_devices; i++)
        if (c->gpu_devices[i].rank == c->gpu_devices[i - 1].rank)
            return true;
    return false;
}

/* Above, all GPUs of a rank are one. */
static int print_devices(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0},          {"GPU", 0},    {"Name", 1},         {"# of\nKernels", 0},
        {"Time", 0},          {"busy", 0},   {"computing", 0},    {"NCCL", 0},
        {"NCCL\nexposed", 0}, {"copies", 0}, {"Occu-\npancy", 0}, {"SM\nMHz", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    size_t count = c->ngpu_devices < page->top ? c->ngpu_devices : page->top;
    struct pw_grid grid;
    if (!has_several(c))
        return 0;
    int err = pw_page_print(page, 2, 2, "Ranks that used several GPUs, each GPU separately:");
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        device_cells(&grid, &c->gpu_devices[i]);
    err = err ? err : pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && count < c->ngpu_devices)
        err =
            pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", c->ngpu_devices - count);
    return err;
}

static int print_unrecorded(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    int64_t most = 0;
    for (size_t i = 0; i < c->ngpu_ranks; i++)
        most = c->gpu_ranks[i].unrecorded_ns > most ? c->gpu_ranks[i].unrecorded_ns : most;
    char text[32];
    return most ? pw_page_print(
                      page, 2, 2,
                      "*: the GPU was not recorded for up to %s of the time, which counts as idle.",
                      pw_text_ns(text, sizeof(text), most))
                : 0;
}

static int print_slow(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    int err = 0;
    for (size_t i = 0; i < c->ngpu_ranks && !err; i++) {
        const struct pw_row_c_gpu_rank *row = &c->gpu_ranks[i];
        char name[NAME];
        if (row->slowdown <= 1.01 || row->confidence < SURE || row->kernel_row < 0)
            continue;
        pw_names_printable(name, sizeof(name), c->kernels[row->kernel_row].name, 256);
        err = pw_page_print(page, 2, 4,
                            "Rank %d takes %.2f x as long as the other ranks for the same kernels "
                            "(%.0f %% sure), most of the excess in %s.",
                            (int)row->rank, row->slowdown, 100 * row->confidence, name);
    }
    return err;
}

int pw_section_gpu(const struct pw_page *page)
{
    if (!page->figures->cluster->ngpu_ranks)
        return pw_page_print(page, 2, 2, "None was recorded.");
    int err = print_table(page);
    err = err ? err : print_unrecorded(page);
    err = err ? err : print_devices(page);
    err = err ? err : pw_section_gpu_list(page);
    err = err ? err : print_slow(page);
    err = err ? err
              : pw_page_print(page, 2, 2,
                              "Time: from the first activity to the last; percentages are of it. "
                              "hidden: share of NCCL's time while the GPU computes; dry: the next "
                              "kernel was launched after the GPU had run out of work.");
    if (err || !has_occupancy(page->figures->cluster))
        return err;
    return pw_page_print(
        page, 2, 2,
        "Occupancy: warps of a kernel that fit on a multiprocessor by its blocks, registers and "
        "shared memory, over the warps that it can hold; mean weighted by time.");
}

static void kernel_cells(struct pw_grid *grid, const struct pw_row_c_kernel *row, int has_ranks)
{
    char name[NAME], by[NAME], text[32];
    pw_grid_cell(grid, "%s", pw_names_printable(name, sizeof(name), row->name, 256));
    pw_grid_cell(grid, "%s",
                 *row->operator? pw_names_printable(by, sizeof(by), row->operator, 256) : "n/a");
    pw_grid_cell(grid, "%s", pw_page_percent(text, sizeof(text), row->share));
    pw_grid_time(grid, row->total_ns);
    pw_grid_cell(grid, "%" PRId64, row->calls);
    pw_grid_time(grid, row->mean_ns);
    pw_grid_time(grid, row->p95_ns);
    pw_grid_time(grid, row->max_ns);
    if (has_ranks && row->imbalance >= 0)
        pw_grid_cell(grid, "%.2f (%d)", row->imbalance, (int)row->max_rank);
    else if (has_ranks)
        pw_grid_cell(grid, "n/a");
}

int pw_section_kernels(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Kernel", 1}, {"launched by", 1}, {"Total %", 0},
        {"Total", 0},  {"# of\nCalls", 0}, {"Avg", 0},
        {"p95", 0},    {"max", 0},         {"max rank\n/ mean", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    size_t count = c->nkernels < page->top ? c->nkernels : page->top;
    int has_ranks = c->ngpu_ranks > 1;
    struct pw_grid grid;
    if (!c->nkernels)
        return pw_page_print(page, 2, 2, "None were recorded.");
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]) - (has_ranks ? 0 : 1));
    for (size_t i = 0; i < count; i++)
        kernel_cells(&grid, &c->kernels[i], has_ranks);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && count < c->nkernels)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", c->nkernels - count);
    return err ? err
               : pw_page_print(page, 2, 2,
                               "All ranks together, warm-up left out. launched by: the operator "
                               "that launched most of it. NCCL's kernels include their waiting for "
                               "other ranks.");
}
