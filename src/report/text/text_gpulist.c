/* Each GPU of the job: who used it, what was sampled of it, and what NVML measured on it. */
#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "report/content/gpulist.h"
#include "report/text/sections.h"
#include "report/writing/grid.h"
#include "report/writing/safenames.h"

static void share_cell(struct pw_grid *grid, double share, const char *mark)
{
    char text[32];
    pw_grid_cell(grid, "%s%s", pw_page_percent(text, sizeof(text), share), mark);
}

/* "node-a 3B:00.0", without what all have alike; of one whose place is not known its number. */
static void name_cell(struct pw_grid *grid, const struct pw_gpulist *list,
                      const struct pw_gpulist_row *gpu)
{
    char host[80] = "", place[80];
    const char *bus = gpu->all.bus_id + strspn(gpu->all.bus_id, "0:");
    pw_names_printable(place, sizeof(place), bus,
                       sizeof(gpu->all.bus_id) - (size_t)(bus - gpu->all.bus_id));
    if (list->nhosts > 1)
        pw_names_printable(host, sizeof(host), gpu->hostname, 64);
    if (place[0])
        pw_grid_cell(grid, "%s%s%s", host, host[0] ? " " : "", place);
    else
        pw_grid_cell(grid, "%s%snumber %" PRId32, host, host[0] ? " " : "", gpu->all.device);
}

static void use_cells(struct pw_grid *grid, const struct pw_gpulist_row *gpu)
{
    const struct pw_row_c_gpu_device *all = &gpu->all;
    const double busy =
        all->span_ns > 0 && all->busy_ns >= 0 ? (double)all->busy_ns / (double)all->span_ns : -1;
    char text[32];
    pw_grid_cell(grid, "%s", gpu->ranks);
    pw_grid_cell(grid, "%" PRId64, all->kernels);
    share_cell(grid, busy > 1 ? 1 : busy, gpu->nranks > 1 ? "*" : "");
    pw_grid_cell(grid, "%s", pw_text_bytes(text, sizeof(text), all->copied_bytes));
    pw_grid_cell(grid, "%s", pw_text_bytes(text, sizeof(text), all->memory_most_bytes));
    if (all->power_w >= 0)
        pw_grid_cell(grid, "%.0f (%.0f)", all->power_w, all->power_most_w);
    else
        pw_grid_cell(grid, "n/a");
    pw_grid_time(grid, all->power_capped_ns);
    pw_grid_time(grid, all->heat_slowed_ns);
    pw_grid_time(grid, all->brake_slowed_ns);
    pw_grid_cell(grid, "%s", all->xids[0] ? all->xids : all->errors ? "yes" : "none");
}

static int print_more(const struct pw_page *page, const struct pw_gpulist *list)
{
    return list->n > page->top
               ? pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", list->n - page->top)
               : 0;
}

static int print_use(const struct pw_page *page, const struct pw_gpulist *list)
{
    static const struct pw_grid_column columns[] = {
        {"GPU", 1},    {"used by\nranks", 1}, {"# of\nKernels", 0}, {"busy", 0},
        {"copied", 0}, {"memory,\nmost", 0},  {"W (most)", 0},      {"slowed by:\npower", 0},
        {"\nheat", 0}, {"\nbrake", 0},        {"errors\n(XID)", 1},
    };
    struct pw_grid grid;
    int err = pw_page_print(page, 2, 2, "Each GPU, for all ranks that used it:");
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < list->n && i < page->top; i++) {
        name_cell(&grid, list, &list->rows[i]);
        use_cells(&grid, &list->rows[i]);
    }
    err = err ? err : pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    err = err ? err : print_more(page, list);
    if (!err && list->is_shared)
        err =
            pw_page_print(page, 2, 2,
                          "*: several ranks share it: the sum of what each kept busy, which is too "
                          "much where they computed at the same time (MPS).");
    return err ? err
               : pw_page_print(page, 2, 2,
                               "slowed: for how long the power limit, heat or the power brake "
                               "lowered its clocks, between its first sample and its last.");
}

static void measured_cells(struct pw_grid *grid, const struct pw_gpulist_row *gpu)
{
    const struct pw_row_c_gpu_device *all = &gpu->all;
    const double shares[] = {all->sm_active,   all->sm_occupancy, all->tensor_active,
                             all->fp64_active, all->fp32_active,  all->fp16_active,
                             all->dram_active};
    const double rates[] = {all->pcie_tx_bytes_per_s, all->pcie_rx_bytes_per_s,
                            all->nvlink_tx_bytes_per_s, all->nvlink_rx_bytes_per_s};
    const int is_known = all->gpm_ns > 0;
    char text[32];
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        share_cell(grid, is_known ? shares[i] : -1, "");
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i += 2) {
        const int is_sum = is_known && rates[i] >= 0 && rates[i + 1] >= 0;
        pw_grid_cell(grid, "%s",
                     pw_text_rate(text, sizeof(text), is_sum ? rates[i] + rates[i + 1] : -1));
    }
    if (gpu->roof.name)
        pw_grid_cell(grid, "%s %s", gpu->roof.name,
                     pw_page_percent(text, sizeof(text), gpu->roof.share));
    else
        pw_grid_cell(grid, "%.31s", is_known || !all->gpm[0] ? "n/a" : all->gpm);
}

static int print_measured(const struct pw_page *page, const struct pw_gpulist *list)
{
    static const struct pw_grid_column columns[] = {
        {"GPU", 1},  {"SMs\nactive", 0}, {"warps", 0},         {"tensor\ncores", 0},
        {"fp64", 0}, {"fp32", 0},        {"fp16", 0},          {"memory", 0},
        {"PCIe", 0}, {"NVLink", 0},      {"nearest\nroof", 1},
    };
    struct pw_grid grid;
    int err = pw_page_print(page, 2, 2, "What NVML measured on them (GPM), means over the run:");
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < list->n && i < page->top; i++) {
        name_cell(&grid, list, &list->rows[i]);
        measured_cells(&grid, &list->rows[i]);
    }
    err = err ? err : pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    err = err ? err : print_more(page, list);
    return err ? err
               : pw_page_print(
                     page, 2, 2,
                     "Shares of the time, of the warps there could be, and of what its "
                     "memory can move. nearest roof: of tensor cores, fp64, fp32, fp16 and "
                     "memory the one that is used most, and how much while the GPU has "
                     "work. It is of the GPU, all ranks and kernels together: NVML does "
                     "not measure single kernels.");
}

int pw_section_gpu_list(const struct pw_page *page)
{
    struct pw_gpulist list;
    int err = pw_gpulist_make(page->figures, &list);
    if (!err && (list.n > list.nhosts || list.is_sampled))
        err = print_use(page, &list);
    if (!err && list.is_measured)
        err = print_measured(page, &list);
    pw_gpulist_fini(&list);
    return err;
}
