/* Rows of GPU tables from what was played; see gpuwrite.h. */
#include "sim/gpuwrite.h"

#include <stdio.h>

#include "sim/filetexts.h"

/* Clocks of a GPU that nothing slows, and what NVML says of one that is too hot. */
enum { CLOCK_MHZ = 1980, MEMORY_MHZ = 2619, HOT = 0x40, COPY_BYTES_PER_NS = 25 };

static int64_t file_time(const struct pw_sim_gpufile *g, int64_t time)
{
    return pw_sim_local_time(g->clock, time);
}

static void append_kernel(struct pw_sim_gpufile *g, const struct pw_sim_gpu_event *event,
                          uint32_t stream)
{
    struct pw_row_kernel row = {
        .start = file_time(g, event->start),
        .end = file_time(g, event->end),
        .context = 1,
        .stream = stream,
        .correlation = ++g->correlation,
        .launch = file_time(g, event->launch),
        .launched_by = event->launched_by,
        .name = event->name,
        .grid_x = event->grid,
        .grid_y = 1,
        .grid_z = 1,
        .block_x = 256,
        .block_y = 1,
        .block_z = 1,
        .registers = 64,
        .cluster_x = 1,
        .cluster_y = 1,
        .cluster_z = 1,
    };
    pw_rankfile_append(g->file, PW_TABLE_kernel, &row);
}

static void append_copy(struct pw_sim_gpufile *g, const struct pw_sim_gpu_event *event)
{
    struct pw_row_memcpy row = {
        .start = file_time(g, event->start),
        .end = file_time(g, event->end),
        .context = 1,
        .stream = PW_SIM_STREAM,
        .correlation = ++g->correlation,
        .launch = file_time(g, event->launch),
        .launched_by = event->launched_by,
        .kind = PW_COPY_HTOD,
        .bytes = (event->end - event->start) * COPY_BYTES_PER_NS,
        .src_device = -1,
        .asynchronous = 1,
    };
    pw_rankfile_append(g->file, PW_TABLE_memcpy, &row);
}

void pw_sim_gpufile_take(struct pw_sim_gpufile *g, const struct pw_sim_gpu_event *event)
{
    if (event->is_copy)
        append_copy(g, event);
    else
        append_kernel(g, event, PW_SIM_STREAM);
}

void pw_sim_gpufile_nccl(struct pw_sim_gpufile *g, int64_t rank, int64_t step,
                         const struct pw_row_comm_event *event)
{
    struct pw_sim_gpu_event kernel = {
        .start = event->start,
        .end = event->end,
        .launch = event->start - pw_sim_gpu_lead(g->params, rank, step),
        .name = TEXT_K_NCCL,
        .launched_by = TEXT_ALLREDUCE_OP,
        .grid = 24,
    };
    append_kernel(g, &kernel, PW_SIM_COMM_STREAM);
    struct pw_row_nccl row = {
        .comm_row = g->comm_rows++,
        .enqueue = file_time(g, kernel.launch),
        .correlation = g->correlation,
        .stream = PW_SIM_COMM_STREAM,
        .count = event->sent_bytes / 2,
        .datatype = TEXT_F16,
        .algorithm = TEXT_RING,
        .protocol = TEXT_LL,
        .channels = 24,
        .timed = PW_TIMED_KERNEL,
    };
    pw_rankfile_append(g->file, PW_TABLE_nccl, &row);
}

void pw_sim_gpufile_sample(struct pw_sim_gpufile *g, int64_t rank, int64_t step, int64_t time)
{
    double growth = pw_sim_gpu_growth(g->params, 0, rank, step, PW_PHASE_FORWARD);
    struct pw_row_gpu row = {
        .time = file_time(g, time),
        .sm_clock_mhz = (int32_t)(CLOCK_MHZ / growth),
        .memory_clock_mhz = MEMORY_MHZ,
        .clock_reasons = growth > 1 ? HOT : 0,
        .power_mw = 650000,
        .temperature_c = growth > 1 ? 88 : 61,
        .busy_percent = 100,
        .memory_busy_percent = 40,
        .memory_used_bytes = (int64_t)60 << 30,
        .pcie_tx_bytes = -1,
        .pcie_rx_bytes = -1,
        .nvlink_tx_bytes = -1,
        .nvlink_rx_bytes = -1,
        .power_instant_mw = -1,
        .power_capped_ns = -1,
        .heat_slowed_ns = -1,
        .brake_slowed_ns = -1,
        .rows_remapped = -1,
        .remap_pending = -1,
        .remap_failed = -1,
        .nvlink_errors = -1,
    };
    pw_rankfile_append(g->file, PW_TABLE_gpu, &row);
}

void pw_sim_gpufile_device(struct pw_sim_gpufile *g, int64_t rank)
{
    struct pw_row_device row = {.memory_bytes = (int64_t)80 << 30,
                                .multiprocessors = 132,
                                .capability = 900,
                                .warps = 64,
                                .blocks = 32,
                                .shared_bytes = 228 << 10,
                                .registers = 64 << 10};
    snprintf(row.name, sizeof(row.name), "(simulated GPU)");
    snprintf(row.uuid, sizeof(row.uuid), "GPU-sim-%lld", (long long)rank);
    pw_rankfile_append(g->file, PW_TABLE_device, &row);
}
