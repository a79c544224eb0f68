/* GPUs and kernels: where their time goes, what launches it, and FLOP/s of each rank. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "analysis/gpu.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/sort.h"
#include "core/text.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/safenames.h"
#include "report/writing/words.h"

/* ---- the list of the GPUs of the job, each once, also when several ranks used it ---- */

/* One GPU: activity is the sum over the ranks that used it; samples are of the GPU itself. */
struct gpulist_row {
    /* `rank`: the first rank that used it; `span_ns`: the longest of its ranks */
    struct pw_row_c_gpu_device all;
    const char *hostname; /* 64 bytes, perhaps without a NUL; "": not known */
    char ranks[64];       /* "0, 1" */
    size_t nranks;
    struct pw_roof roof;
};

struct gpulist {
    struct gpulist_row *rows; /* sorted by host, then by the first rank that used the GPU */
    size_t n, nhosts;
    /* 1: any GPU is shared by ranks; was sampled by NVML; was measured by GPM */
    int is_shared, is_sampled, is_measured;
};

enum { RANKS_TOLD = 6, HOST = 64 };

static const char *host_of(const struct pw_figures *f, int32_t rank)
{
    const int64_t row = pw_figures_row(f, rank);
    return row < 0 ? "" : f->cluster->ranks[row].hostname;
}

/* Returns what identifies the GPU on its host: its UUID, else its bus address; "": not known. Then
 * it counts as a GPU of this rank only. */
static const char *identity_of(const struct pw_row_c_gpu_device *row)
{
    return row->uuid[0] ? row->uuid : row->bus_id;
}

static int is_one(const struct gpulist_row *gpu, const struct pw_row_c_gpu_device *row,
                  const char *hostname)
{
    const char *a = identity_of(&gpu->all), *b = identity_of(row);
    return *a && strncmp(a, b, sizeof(row->uuid)) == 0 &&
           strncmp(gpu->hostname, hostname, HOST) == 0;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static double most_of(double a, double b)
{
    return a > b ? a : b;
}

/* Joins the samples of one GPU by several ranks: the values of the rank with most samples, and the
 * largest of maxima. */
static void join_samples(struct pw_row_c_gpu_device *all, const struct pw_row_c_gpu_device *row)
{
    all->memory_most_bytes = most(all->memory_most_bytes, row->memory_most_bytes);
    all->power_most_w = most_of(all->power_most_w, row->power_most_w);
    all->temperature_most_c = most_of(all->temperature_most_c, row->temperature_most_c);
    all->power_capped_ns = most(all->power_capped_ns, row->power_capped_ns);
    all->heat_slowed_ns = most(all->heat_slowed_ns, row->heat_slowed_ns);
    all->brake_slowed_ns = most(all->brake_slowed_ns, row->brake_slowed_ns);
    if (row->samples > all->samples) {
        all->samples = row->samples;
        all->power_w = row->power_w;
        all->sm_clock_mhz = row->sm_clock_mhz;
        all->slowed_share = row->slowed_share;
    }
    if (row->errors > all->errors) {
        all->errors = row->errors;
        memcpy(all->xids, row->xids, sizeof(all->xids));
    }
#define COPY(type, name, unit, meaning) all->name = row->name;
    if (row->gpm_ns > all->gpm_ns) {
        all->gpm_ns = row->gpm_ns;
        memcpy(all->gpm, row->gpm, sizeof(all->gpm));
        PW_GPM_FIELDS(COPY)
    }
#undef COPY
}

static void join(struct gpulist_row *gpu, const struct pw_row_c_gpu_device *row)
{
    struct pw_row_c_gpu_device *all = &gpu->all;
    all->kernels = pw_sum(all->kernels, row->kernels);
    all->copies = pw_sum(all->copies, row->copies);
    all->copied_bytes = pw_sum(all->copied_bytes, row->copied_bytes);
    all->span_ns = most(all->span_ns, row->span_ns);
    all->busy_ns = pw_sum(all->busy_ns, row->busy_ns);
    all->compute_ns = pw_sum(all->compute_ns, row->compute_ns);
    all->comm_ns = pw_sum(all->comm_ns, row->comm_ns);
    all->comm_exposed_ns = pw_sum(all->comm_exposed_ns, row->comm_exposed_ns);
    all->copy_ns = pw_sum(all->copy_ns, row->copy_ns);
    all->occupancy = -1;
    join_samples(all, row);
}

static void tell_rank(struct gpulist_row *gpu, int32_t rank)
{
    struct pw_sentence s = {gpu->ranks, sizeof(gpu->ranks), strlen(gpu->ranks)};
    if (gpu->nranks < RANKS_TOLD)
        pw_sentence_add(&s, "%s%" PRId32, gpu->nranks ? ", " : "", rank);
    else if (gpu->nranks == RANKS_TOLD)
        pw_sentence_add(&s, " ...");
    gpu->nranks++;
}

static int by_host(const void *a, const void *b)
{
    const struct gpulist_row *x = a, *y = b;
    const int host = strncmp(x->hostname, y->hostname, HOST);
    if (host)
        return host;
    if (x->all.rank != y->all.rank)
        return x->all.rank < y->all.rank ? -1 : 1;
    return (x->all.device > y->all.device) - (x->all.device < y->all.device);
}

static struct pw_roof roof_of(const struct pw_row_c_gpu_device *row)
{
    const struct pw_roofline_input in = {.engine = row->engine_active,
                                         .tensor = row->tensor_active,
                                         .fp64 = row->fp64_active,
                                         .fp32 = row->fp32_active,
                                         .fp16 = row->fp16_active,
                                         .dram = row->dram_active};
    return row->gpm_ns > 0 ? pw_roofline_nearest(&in) : (struct pw_roof){NULL, -1};
}

static void conclude(struct gpulist *out)
{
    pw_sort(out->rows, out->n, sizeof(*out->rows), by_host);
    for (size_t i = 0; i < out->n; i++) {
        struct gpulist_row *row = &out->rows[i];
        out->nhosts += !i || strncmp(row->hostname, row[-1].hostname, HOST) != 0;
        out->is_shared |= row->nranks > 1;
        out->is_sampled |= row->all.power_w > 0 || row->all.memory_most_bytes > 0;
        out->is_measured |= row->all.gpm_ns > 0;
        row->roof = roof_of(&row->all);
    }
}

/* Returns the row of the GPU, or NULL. Searches the latest rows only, because a host has few
 * ranks. */
static struct gpulist_row *find(struct gpulist *out, const struct pw_row_c_gpu_device *row,
                                const char *hostname)
{
    enum { LOOK_BACK = 512 };
    for (size_t i = out->n, left = LOOK_BACK; i-- > 0 && left-- > 0;)
        if (is_one(&out->rows[i], row, hostname))
            return &out->rows[i];
    return NULL;
}

/* Returns 0 or -ENOMEM. */
static int gpulist_make(const struct pw_figures *f, struct gpulist *out)
{
    const struct pw_cluster *c = f->cluster;
    *out = (struct gpulist){.rows = calloc(c->ngpu_devices + 1, sizeof(*out->rows))};
    if (!out->rows)
        return -ENOMEM;
    for (size_t i = 0; i < c->ngpu_devices; i++) {
        const struct pw_row_c_gpu_device *row = &c->gpu_devices[i];
        const char *hostname = host_of(f, row->rank);
        struct gpulist_row *gpu = find(out, row, hostname);
        if (gpu) {
            join(gpu, row);
        } else {
            gpu = &out->rows[out->n++];
            gpu->all = *row;
            gpu->hostname = hostname;
        }
        tell_rank(gpu, row->rank);
    }
    conclude(out);
    return 0;
}

static void gpulist_fini(struct gpulist *list)
{
    free(list->rows);
    *list = (struct gpulist){0};
}

/* ---- the sections ---- */

static void marked_share_cell(struct pw_grid *grid, double share, const char *mark)
{
    char text[32];
    pw_grid_cell(grid, "%s%s", pw_page_percent(text, sizeof(text), share), mark);
}

/* Writes the name of a GPU: "node-a 3B:00.0", without the parts that all GPUs share. If the bus
 * address is unknown, the number of the GPU. */
static void name_cell(struct pw_grid *grid, const struct gpulist *list,
                      const struct gpulist_row *gpu)
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

static void use_cells(struct pw_grid *grid, const struct gpulist_row *gpu)
{
    const struct pw_row_c_gpu_device *all = &gpu->all;
    const double busy =
        all->span_ns > 0 && all->busy_ns >= 0 ? (double)all->busy_ns / (double)all->span_ns : -1;
    char text[32];
    pw_grid_cell(grid, "%s", gpu->ranks);
    pw_grid_cell(grid, "%" PRId64, all->kernels);
    marked_share_cell(grid, busy > 1 ? 1 : busy, gpu->nranks > 1 ? "*" : "");
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

static int print_more(const struct pw_page *page, const struct gpulist *list)
{
    return list->n > page->top
               ? pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", list->n - page->top)
               : 0;
}

static int print_use(const struct pw_page *page, const struct gpulist *list)
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

static void measured_cells(struct pw_grid *grid, const struct gpulist_row *gpu)
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
        marked_share_cell(grid, is_known ? shares[i] : -1, "");
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

static int print_measured(const struct pw_page *page, const struct gpulist *list)
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

static int print_list(const struct pw_page *page)
{
    struct gpulist list;
    int err = gpulist_make(page->figures, &list);
    if (!err && (list.n > list.nhosts || list.is_sampled))
        err = print_use(page, &list);
    if (!err && list.is_measured)
        err = print_measured(page, &list);
    gpulist_fini(&list);
    return err;
}

enum { NAME = 320 };

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
        {"comm", 0},         {"comm\nexposed", 0}, {"comm\nhidden", 0}, {"copies", 0},
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

/* Prints the GPUs of ranks with several; in the table above, all GPUs of a rank count as one. */
static int print_devices(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0},          {"GPU", 0},    {"Name", 1},         {"# of\nKernels", 0},
        {"Time", 0},          {"busy", 0},   {"computing", 0},    {"comm", 0},
        {"comm\nexposed", 0}, {"copies", 0}, {"Occu-\npancy", 0}, {"SM\nMHz", 0},
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
                      "*: the GPU was not recorded for up to %s of the time, which is left out.",
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
        if (row->slowdown <= 1.01 || row->confidence < PW_KERNELS_SURE || row->kernel_row < 0)
            continue;
        pw_names_printable(name, sizeof(name), c->kernels[row->kernel_row].name, 256);
        err = pw_page_print(page, 2, 4,
                            "Rank %d takes %.2f x as long as the other ranks for the same kernels "
                            "(%.0f %% sure), most of the excess in %s.",
                            (int)row->rank, row->slowdown, 100 * row->confidence, name);
    }
    return err;
}

static int show_gpu(const struct pw_page *page)
{
    if (!page->figures->cluster->ngpu_ranks)
        return pw_page_print(page, 2, 2, "None was recorded.");
    int err = print_table(page);
    err = err ? err : print_unrecorded(page);
    err = err ? err : print_devices(page);
    err = err ? err : print_list(page);
    err = err ? err : print_slow(page);
    err =
        err ? err
            : pw_page_print(page, 2, 2,
                            "Time: from the first activity to the last; percentages are of it. "
                            "hidden: share of communication while the GPU computes; dry: the next "
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

static int show_kernels(const struct pw_page *page)
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
                               "that launched most of it. Kernels of communication include their "
                               "waiting for other ranks.");
}

/* Returns the GPU time of each rank in each step; null for a rank without any. */
static json_t *make_steps(const struct pw_cluster *c)
{
    json_t *steps = json_array();
    bool bad = !steps;
    for (size_t s = 0; s < c->nstep_rows && pw_cells_is_known(&c->gpu_trace) && !bad; s++) {
        json_t *step = json_object(), *ranks = json_array();
        for (size_t r = 0; r < c->nrank_rows && !bad; r++) {
            struct pw_row_c_gpu_trace row;
            pw_cells_rows(&c->gpu_trace, &(struct pw_cells_area){s, 1, r, 1}, &row);
            bad |= json_array_append_new(ranks, row.span_ns < 0
                                                    ? json_null()
                                                    : pw_json_row(PW_TABLE_c_gpu_trace, &row)) != 0;
        }
        bad |= json_object_set_new(step, "step", json_integer(c->steps[s].step)) != 0;
        bad |= json_object_set_new(step, "ranks", ranks) != 0;
        bad |= json_array_append_new(steps, step) != 0;
    }
    return pw_json_or_null(steps, bad);
}

static json_t *make_rank(const struct pw_cluster *c, const struct pw_row_c_gpu_rank *from)
{
    json_t *row = pw_json_row(PW_TABLE_c_gpu_rank, from);
    const char *name = from->kernel_row >= 0 ? c->kernels[from->kernel_row].name : "";
    double overlap =
        from->comm_ns > 0 ? 1 - (double)from->comm_exposed_ns / (double)from->comm_ns : -1;
    bool bad = !row;
    bad |= bad ||
           json_object_set_new(row, "slowest_kernel", pw_json_text(name, strnlen(name, 256))) != 0;
    bad |= bad || json_object_set_new(row, "comm_overlap", pw_json_real(overlap)) != 0;
    return pw_json_or_null(row, bad);
}

json_t *pw_json_gpu_ranks(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    json_t *ranks = json_array();
    bool bad = !ranks;
    for (size_t i = 0; i < c->ngpu_ranks && !bad; i++)
        bad |= json_array_append_new(ranks, make_rank(c, &c->gpu_ranks[i])) != 0;
    return pw_json_or_null(ranks, bad);
}

static json_t *make_gpu(const struct gpulist_row *gpu)
{
    json_t *row = pw_json_row(PW_TABLE_c_gpu_device, &gpu->all), *roof = json_null();
    bool bad = !row;
    if (gpu->roof.name)
        roof = json_pack("{s:s, s:f}", "name", gpu->roof.name, "share", gpu->roof.share);
    bad |= json_object_del(row, "rank") != 0;
    bad |= json_object_set_new(row, "hostname", pw_json_text(gpu->hostname, 64)) != 0;
    bad |= json_object_set_new(row, "ranks", json_string(gpu->ranks)) != 0;
    bad |= json_object_set_new(row, "nranks", json_integer((json_int_t)gpu->nranks)) != 0;
    bad |= json_object_set_new(row, "nearest_roof", roof) != 0;
    return pw_json_or_null(row, bad);
}

json_t *pw_json_gpu_list(const struct pw_figures *f)
{
    struct gpulist list;
    json_t *all = json_array();
    bool bad = !all || gpulist_make(f, &list) != 0;
    if (bad)
        return pw_json_or_null(all, true);
    for (size_t i = 0; i < list.n && !bad; i++)
        bad |= json_array_append_new(all, make_gpu(&list.rows[i])) != 0;
    gpulist_fini(&list);
    return pw_json_or_null(all, bad);
}

static json_t *make_gpu_key(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->ngpu_ranks)
        return json_null();
    json_t *all = json_object();
    bool bad = !all;
    bad |= json_object_set_new(all, "ranks", pw_json_gpu_ranks(f)) != 0;
    bad |= json_object_set_new(
               all, "devices",
               pw_json_rows(PW_TABLE_c_gpu_device, c->gpu_devices, c->ngpu_devices)) != 0;
    bad |= json_object_set_new(all, "gpus", pw_json_gpu_list(f)) != 0;
    bad |= json_object_set_new(all, "steps", make_steps(c)) != 0;
    json_t *series = c->ngpu_series > PW_REPORT_JSON_CELLS
                         ? json_null()
                         : pw_json_rows(PW_TABLE_c_gpu_series, c->gpu_series, c->ngpu_series);
    bad |= json_object_set_new(all, "series", series) != 0;
    return pw_json_or_null(all, bad);
}

static json_t *make_kernels(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    size_t n = c->nkernels < PW_REPORT_JSON_OPERATORS ? c->nkernels : PW_REPORT_JSON_OPERATORS;
    if (!c->ngpu_ranks)
        return json_null();
    json_t *all = json_object();
    bool bad = !all;
    bad |= json_object_set_new(all, "names", json_integer((json_int_t)c->nkernels)) != 0;
    bad |= json_object_set_new(all, "by_name", pw_json_rows(PW_TABLE_c_kernel, c->kernels, n)) != 0;
    bad |= json_object_set_new(
               all, "by_rank",
               pw_json_rows(PW_TABLE_c_kernel_rank, c->kernel_ranks, c->nkernel_ranks)) != 0;
    return pw_json_or_null(all, bad);
}

static struct pw_lack lack_of_kernels(const struct pw_figures *f)
{
    return f->cluster->nkernels ? (struct pw_lack){0}
                                : (struct pw_lack){"None were recorded.", NULL};
}

static bool has_gpu(const struct pw_cluster *c)
{
    return c->ngpu_ranks > 0;
}

const struct pw_section pw_section_gpu = {
    .name = "gpu",
    .title = "GPUs: where their time goes",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_gpu_rank},
    .is_of = has_gpu,
    .print = show_gpu,
    .keys = {{"gpu", make_gpu_key}},
};

const struct pw_section pw_section_kernels = {
    .name = "kernels",
    .title = "Kernels: what the GPUs compute, and what launches it",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_kernel},
    .is_of = has_gpu,
    .lacks = lack_of_kernels,
    .print = show_kernels,
    .keys = {{"kernels", make_kernels}},
};

/* FLOP/s and MFU of each rank. */

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
