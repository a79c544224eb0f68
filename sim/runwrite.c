/* Plays a run and writes the events of some ranks at a time to their rank files; see runwrite.h. */
#include "sim/runwrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank/file/rankfile.h"
#include "sim/filetexts.h"
#include "sim/gpuwork.h"
#include "sim/params.h"
#include "sim/play.h"
#include "sim/random.h"
#include "sim/samples.h"
#include "sim/unequal.h"
#include "sim/workranges.h"

/* The GPU tables of a synthetic rank file. */

/* The GPU tables of one rank. */
struct pw_sim_gpufile {
    struct pw_rankfile *file;
    const struct pw_sim_params *params;
    const struct pw_sim_clock *clock;
    int64_t comm_rows; /* of /events/comm so far */
    uint64_t correlation;
};

/* Clocks of a GPU that is not slowed, NVML's value for a GPU that is too hot, and the speed of
 * copies. */
enum { CLOCK_MHZ = 1980, MEMORY_MHZ = 2619, HOT = 0x40, COPY_BYTES_PER_NS = 25 };

static int64_t gpu_file_time(const struct pw_sim_gpufile *g, int64_t time)
{
    return pw_sim_local_time(g->clock, time);
}

static void append_kernel(struct pw_sim_gpufile *g, const struct pw_sim_gpu_event *event,
                          uint32_t stream)
{
    struct pw_row_kernel row = {
        .start = gpu_file_time(g, event->start),
        .end = gpu_file_time(g, event->end),
        .context = 1,
        .stream = stream,
        .correlation = ++g->correlation,
        .launch = gpu_file_time(g, event->launch),
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
        .start = gpu_file_time(g, event->start),
        .end = gpu_file_time(g, event->end),
        .context = 1,
        .stream = PW_SIM_STREAM,
        .correlation = ++g->correlation,
        .launch = gpu_file_time(g, event->launch),
        .launched_by = event->launched_by,
        .kind = PW_COPY_HTOD,
        .bytes = (event->end - event->start) * COPY_BYTES_PER_NS,
        .src_device = -1,
        .asynchronous = 1,
    };
    pw_rankfile_append(g->file, PW_TABLE_memcpy, &row);
}

static void pw_sim_gpufile_take(struct pw_sim_gpufile *g, const struct pw_sim_gpu_event *event)
{
    if (event->is_copy)
        append_copy(g, event);
    else
        append_kernel(g, event, PW_SIM_STREAM);
}

/* Adds the kernel and details of an NCCL operation that will be appended to /events/comm next; true
 * time. */
static void pw_sim_gpufile_nccl(struct pw_sim_gpufile *g, int64_t rank, int64_t step,
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
        .enqueue = gpu_file_time(g, kernel.launch),
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

/* Adds a sample of the clocks in the middle of a step. */
static void pw_sim_gpufile_sample(struct pw_sim_gpufile *g, int64_t rank, int64_t step,
                                  int64_t time)
{
    double growth = pw_sim_gpu_growth(g->params, 0, rank, step, PW_PHASE_FORWARD);
    struct pw_row_gpu row = {
        .time = gpu_file_time(g, time),
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

static void pw_sim_gpufile_device(struct pw_sim_gpufile *g, int64_t rank)
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

/* Number of files that are open at the same time: each buffers a chunk of every table. The run is
 * played once for each batch. */
enum { BATCH = 128, DEFLATE = 1 };

/* Interval of clock synchronisations; Unix time of the job's start. */
#define KNOT_NS ((int64_t)5000000000)
#define UNIX_START_NS ((int64_t)1700000000000000000)

struct batch {
    const struct pw_sim_params *params;
    int64_t first;
    struct pw_rankfile *files[BATCH];
    struct pw_sim_clock clocks[BATCH];
    int64_t allocated[BATCH]; /* bytes allocated since the last phase */
    struct pw_sim_gpufile gpus[BATCH];
    struct pw_sim_samples samples[BATCH];
    int64_t step; /* the step that is being played */
};

/* Appends the knot that a synchronisation at that time would have found, with a random error within
 * its bound. */
static void append_knot(struct batch *b, int64_t i, int64_t time, uint64_t number)
{
    const struct pw_sim_clock *clock = &b->clocks[i];
    uint64_t host = (uint64_t)pw_sim_host(b->params, b->first + i);
    double share = 2 * pw_sim_uniform(pw_sim_bits(b->params->seed, host, 3, number)) - 1;
    int64_t local = pw_sim_local_time(clock, time);
    struct pw_row_clock knot = {
        .local_ns = local,
        .offset_ns = time - local + (int64_t)(share * (double)clock->error_ns),
        .error_ns = clock->error_ns,
    };
    pw_rankfile_append(b->files[i], PW_TABLE_clock, &knot);
}

static void append_clock(struct batch *b, int64_t i, int64_t end_ns)
{
    uint64_t number = 0;
    for (int64_t at = PW_SIM_START_NS / 2; at < end_ns; at += KNOT_NS)
        append_knot(b, i, at, number++);
    append_knot(b, i, end_ns + PW_SIM_START_NS, number);
}

static void append_comms(struct batch *b, int64_t i, const struct pw_sim_result *result)
{
    int64_t first_member = 0;
    int is_split = b->params->pattern == PW_SIM_HYBRID || b->params->pattern == PW_SIM_PIPELINE;
    int kinds = is_split ? PW_SIM_COMMS : 1;
    for (int kind = 0; kind < kinds; kind++) {
        struct pw_sim_group g = pw_sim_group_of(b->params, (enum pw_sim_comm)kind, b->first + i);
        struct pw_row_comms row = {
            .uid = (uint64_t)g.leader << 32 | (uint64_t)(kind + 1),
            .size = (int32_t)g.size,
            .my_rank = (int32_t)((b->first + i - g.leader) / g.stride),
            .source = b->params->gpu ? PW_SOURCE_NCCL : PW_SOURCE_MPI,
            .first_member = first_member,
            .collectives = result->collectives[kind],
        };
        pw_rankfile_append(b->files[i], PW_TABLE_comms, &row);
        for (int64_t m = 0; m < g.size; m++) {
            struct pw_row_member member = {(int32_t)(g.leader + m * g.stride)};
            pw_rankfile_append(b->files[i], PW_TABLE_member, &member);
        }
        first_member += g.size;
    }
}

static int64_t file_time(const struct batch *b, int64_t rank, int64_t time)
{
    return pw_sim_local_time(&b->clocks[rank - b->first], time);
}

static void take_event(void *context, int64_t rank, const struct pw_row_comm_event *event)
{
    struct batch *b = context;
    struct pw_row_comm_event row = *event;
    if (b->params->gpu)
        pw_sim_gpufile_nccl(&b->gpus[rank - b->first], rank, b->step, event);
    row.start = file_time(b, rank, event->start);
    row.end = file_time(b, rank, event->end);
    row.wait_start = event->wait_start ? file_time(b, rank, event->wait_start) : 0;
    pw_rankfile_append(b->files[rank - b->first], PW_TABLE_comm_event, &row);
}

/* Returns how far the host is ahead of the GPU. */
static int64_t lead(const struct batch *b, int64_t rank, int64_t step)
{
    return b->params->gpu ? pw_sim_gpu_lead(b->params, rank, step) : 0;
}

static void take_phase(void *context, int64_t rank, enum pw_phase phase, int64_t start, int64_t end)
{
    struct batch *b = context;
    int64_t ahead = lead(b, rank, b->step);
    struct pw_row_range row = {
        .start = file_time(b, rank, start - ahead),
        .end = file_time(b, rank, end - ahead),
        .name = (uint32_t)phase,
        .kind = PW_KIND_PHASE,
        .alloc_bytes = b->allocated[rank - b->first],
        .sequence = -1,
    };
    b->allocated[rank - b->first] = 0;
    pw_rankfile_append(b->files[rank - b->first], PW_TABLE_range, &row);
}

static void take_range(void *context, int64_t rank, const struct pw_row_range *range,
                       int64_t self_ns)
{
    struct batch *b = context;
    (void)self_ns;
    if (range->kind == PW_KIND_USER)
        b->allocated[rank - b->first] += range->alloc_bytes;
    pw_rankfile_append(b->files[rank - b->first], PW_TABLE_range, range);
}

static void take_gpu(void *context, int64_t rank, const struct pw_sim_gpu_event *event)
{
    struct batch *b = context;
    pw_sim_gpufile_take(&b->gpus[rank - b->first], event);
}

static void take_work(void *context, const struct pw_sim_piece *work)
{
    struct batch *b = context;
    struct pw_sim_piece in_file = *work;
    in_file.start = file_time(b, work->rank, work->start);
    in_file.end = file_time(b, work->rank, work->end);
    b->step = work->step;
    if (b->params->gpu)
        pw_sim_gpu_tell(b->params, work, take_gpu, b);
    pw_sim_operators_tell(b->params, &in_file, take_range, b);
}

static void take_step(void *context, int64_t rank, int64_t step, int64_t start, int64_t end)
{
    struct batch *b = context;
    struct pw_row_step row = {
        .step = step,
        .start = file_time(b, rank, start - lead(b, rank, step)),
        .end = file_time(b, rank, end - lead(b, rank, step + 1)),
        .recorded = PW_RECORDED_ACTIVE,
    };
    if (b->params->gpu)
        pw_sim_gpufile_sample(&b->gpus[rank - b->first], rank, step, start + (end - start) / 2);
    pw_rankfile_append(b->files[rank - b->first], PW_TABLE_step, &row);
    const struct pw_row_work work = {.time = row.start + 1,
                                     .amount = pw_sim_amount(b->params, rank, step)};
    if (b->params->tell_roles)
        pw_rankfile_append(b->files[rank - b->first], PW_TABLE_work, &work);
    for (int q = 0; q < PW_SIM_QUEUES && b->params->queues; q++) {
        const struct pw_row_queue look = pw_sim_queue_look(b->params, rank, step, q, row.start);
        pw_rankfile_append(b->files[rank - b->first], PW_TABLE_queue, &look);
    }
}

/* Writes what profwrap_role() would record; its texts come after all others. */
static void tell_role(struct batch *b, int64_t i)
{
    char role[64];
    pw_sim_role(b->params, b->first + i, role, sizeof(role));
    const char *const texts[] = {"role", role};
    for (uint32_t t = 0; t < 2 && role[0]; t++)
        pw_rankfile_text(b->files[i], TEXT_COUNT + t, texts[t], strlen(texts[t]));
    const struct pw_row_metadata row = {
        .time = pw_sim_local_time(&b->clocks[i], PW_SIM_START_NS),
        .key = TEXT_COUNT,
        .value = TEXT_COUNT + 1,
    };
    if (role[0])
        pw_rankfile_append(b->files[i], PW_TABLE_metadata, &row);
}

/* Records the operators of the data pipeline, and the CPUs that they use. */
static void tell_pipeline(struct batch *b, size_t i)
{
    static const uint32_t texts[][2] = {{TEXT_PIPELINE, TEXT_PIPELINE_OPERATORS},
                                        {TEXT_PIPELINE_CPUS, TEXT_CPUS_OF_OPERATORS}};
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        const struct pw_row_metadata row = {
            .time = pw_sim_local_time(&b->clocks[i], PW_SIM_START_NS),
            .key = texts[k][0],
            .value = texts[k][1],
        };
        pw_rankfile_append(b->files[i], PW_TABLE_metadata, &row);
    }
}

static void take_fault(void *context, const struct pw_sim_held *held)
{
    struct batch *b = context;
    if (b->params->os_samples)
        pw_sim_samples_fault(&b->samples[held->rank - b->first],
                             b->params->faults[held->fault].kind, held->start, held->end);
}

static int is_missing(const struct pw_sim_params *p, int64_t rank, enum pw_sim_fault_kind kind)
{
    for (size_t i = 0; i < p->nfaults; i++)
        if (p->faults[i].kind == kind && p->faults[i].rank == rank)
            return 1;
    return 0;
}

static int open_file(struct batch *b, const char *dir, int64_t i)
{
    const struct pw_sim_params *p = b->params;
    int64_t rank = b->first + i;
    struct pw_identity id = {
        .rank = (int)rank,
        .size = (int)p->ranks,
        .local_rank = (int)(rank % p->ranks_per_host),
        .launched = 1,
    };
    char command[96];
    snprintf(id.job, sizeof(id.job), "sim-%llu", (unsigned long long)p->seed);
    snprintf(id.hostname, sizeof(id.hostname), "node%04d", (int)pw_sim_host(p, rank));
    snprintf(id.clock_domain, sizeof(id.clock_domain), "sim-%s", id.hostname);
    snprintf(command, sizeof(command), "(simulated, pattern %s, seed %llu)",
             pw_sim_pattern_name(p->pattern), (unsigned long long)p->seed);
    int err = pw_rankfile_create(dir, &id, command, DEFLATE, &b->files[i]);
    for (uint32_t t = 0; !err && pw_sim_text(t); t++)
        pw_rankfile_text(b->files[i], t, pw_sim_text(t), strlen(pw_sim_text(t)));
    b->clocks[i] = pw_sim_clock_of(p, rank);
    pw_sim_samples_open(&b->samples[i], b->files[i], p, &b->clocks[i], rank);
    b->gpus[i] = (struct pw_sim_gpufile){b->files[i], p, &b->clocks[i], 0, 0};
    if (!err && p->gpu)
        pw_sim_gpufile_device(&b->gpus[i], rank);
    if (!err && p->queues)
        tell_pipeline(b, i);
    if (!err && p->tell_roles)
        tell_role(b, i);
    return err;
}

/* Cuts the file to three fifths, as after a full disk or the loss of a host. */
static int cut_short(const char *dir, int64_t rank)
{
    char path[4096];
    struct stat st;
    snprintf(path, sizeof(path), "%.4000s/rank-%05d.h5", dir, (int)rank);
    return stat(path, &st) || truncate(path, st.st_size * 3 / 5) ? -errno : 0;
}

static int close_file(struct batch *b, const char *dir, int64_t i,
                      const struct pw_sim_result *result)
{
    int64_t rank = b->first + i;
    struct pw_rankfile_end end = {.exit_code = 0, .complete = 1, .pid = 1000 + rank};
    pw_rankfile_set_times(b->files[i], UNIX_START_NS + PW_SIM_START_NS,
                          UNIX_START_NS + result->end_ns);
    pw_rankfile_set_main_thread(b->files[i], 0);
    int err = pw_rankfile_close(b->files[i], &end);
    b->files[i] = NULL;
    if (!err && is_missing(b->params, rank, PW_SIM_TRUNCATED))
        err = cut_short(dir, rank);
    return err;
}

static void drop_missing(const struct batch *b, const char *dir, int64_t i)
{
    char path[4096];
    snprintf(path, sizeof(path), "%.4000s/rank-%05d.h5", dir, (int)(b->first + i));
    if (is_missing(b->params, b->first + i, PW_SIM_MISSING))
        unlink(path);
}

static int write_batch(struct batch *b, const char *dir, int64_t count)
{
    struct pw_sim_sink sink = {b,          b->first,   b->first + count - 1,
                               take_event, take_phase, take_work,
                               take_step,  take_fault};
    struct pw_sim_result result = {0};
    int err = pw_sim_play(b->params, 0, NULL, &result);
    int64_t opened = 0;
    while (!err && opened < count) {
        err = open_file(b, dir, opened);
        opened += !err;
    }
    for (int64_t i = 0; i < opened && !err; i++) {
        append_clock(b, i, result.end_ns);
        append_comms(b, i, &result);
    }
    err = err ? err : pw_sim_play(b->params, 0, &sink, &result);
    for (int64_t i = 0; i < opened; i++) {
        if (b->params->os_samples && !err)
            pw_sim_samples_close(&b->samples[i], result.end_ns);
        int closed = close_file(b, dir, i, &result);
        err = err ? err : closed;
        drop_missing(b, dir, i);
    }
    return err;
}

int pw_sim_write(const char *dir, const struct pw_sim_params *p, struct pw_sim_ranks ranks,
                 char *problem, size_t size)
{
    struct batch *b = calloc(1, sizeof(*b));
    int err = b ? 0 : -ENOMEM;
    if (!err && mkdir(dir, 0700) && errno != EEXIST)
        err = -errno;
    for (int64_t at = ranks.first; at <= ranks.last && !err; at += BATCH) {
        *b = (struct batch){.params = p, .first = at};
        err = write_batch(b, dir, ranks.last - at + 1 < BATCH ? ranks.last - at + 1 : BATCH);
    }
    if (err)
        snprintf(problem, size, "cannot write the rank files in %.200s: %s", dir,
                 err == -EEXIST ? "a rank's file is there already" : strerror(-err));
    free(b);
    return err;
}
