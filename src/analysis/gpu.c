/* Sweeps over activities, adds up samples, and compares with the table of peaks; see gpu.h. */
#include "analysis/gpu.h"

#include <assert.h>
#include <string.h>

#include "core/limits.h"

/* Sweeps over the activities with a cursor that closes windows as it passes them. */

enum {
    COMPUTE = 1 << PW_GPU_COMPUTE,
    COMM = 1 << PW_GPU_COMM,
    COPY = 1 << PW_GPU_COPY,
    WAIT = 1 << PW_GPU_WAIT,
    CALL = 1 << PW_GPU_CALL,
    DEVICE = COMPUTE | COMM | COPY,
    MASKS = 1 << PW_GPU_KINDS,
};

void pw_gputime_begin(struct pw_gputime *g, struct pw_gpu_window *windows, size_t n)
{
    *g = (struct pw_gputime){.windows = windows, .n = n};
    for (size_t i = 0; i < n; i++)
        windows[i] = (struct pw_gpu_window){.start = windows[i].start, .end = windows[i].end};
    for (int kind = 0; kind < PW_GPU_KINDS; kind++)
        g->until[kind] = INT64_MIN;
    g->cursor = INT64_MIN;
    g->device_until = n ? windows[0].start : INT64_MIN;
}

/* Returns the time in which a kind in `some` and no kind in `without` was active, ns. */
static int64_t sum_masks(const int64_t *by_mask, int some, int without)
{
    int64_t sum = 0;
    for (int mask = 0; mask < MASKS; mask++)
        if ((mask & some) && !(mask & without))
            sum += by_mask[mask];
    return sum;
}

static void fill(struct pw_gpu_window *w, const int64_t *by_mask)
{
    w->busy_ns = sum_masks(by_mask, DEVICE, 0);
    w->compute_ns = sum_masks(by_mask, COMPUTE, 0);
    w->comm_ns = sum_masks(by_mask, COMM, 0);
    w->comm_exposed_ns = sum_masks(by_mask, COMM, COMPUTE);
    w->copy_ns = sum_masks(by_mask, COPY, 0);
    w->wait_exposed_ns = sum_masks(by_mask, WAIT, COMPUTE);
    w->call_ns = sum_masks(by_mask, COMM | CALL, 0);
    w->call_exposed_ns = sum_masks(by_mask, COMM | CALL, COMPUTE);
    w->covered_ns = sum_masks(by_mask, COMPUTE | COMM | CALL, 0);
}

/* Returns the kinds that are active at the cursor, as bits; *until: when that changes. */
static int mask_at(const struct pw_gputime *g, int64_t *until)
{
    int mask = 0;
    for (int kind = 0; kind < PW_GPU_KINDS; kind++)
        if (g->until[kind] > g->cursor) {
            mask |= 1 << kind;
            *until = g->until[kind] < *until ? g->until[kind] : *until;
        }
    return mask;
}

static void close_window(struct pw_gputime *g)
{
    fill(&g->windows[g->at++], g->by_mask);
    memset(g->by_mask, 0, sizeof(g->by_mask));
}

/* Moves the cursor to `to`, before which no further activity begins. */
static void advance(struct pw_gputime *g, int64_t to)
{
    while (g->cursor < to) {
        int64_t next = to;
        int mask = mask_at(g, &next);
        while (g->at < g->n && g->windows[g->at].end <= g->cursor)
            close_window(g);
        int inside = g->at < g->n && g->windows[g->at].start <= g->cursor;
        if (g->at < g->n) {
            int64_t edge = inside ? g->windows[g->at].end : g->windows[g->at].start;
            next = edge < next ? edge : next;
        }
        if (mask) {
            g->all_by_mask[mask] += next - g->cursor;
            g->by_mask[mask] += inside ? next - g->cursor : 0;
        }
        g->cursor = next;
    }
}

static void count_idle(struct pw_gpu_window *w, enum pw_gpu_idle idle, int64_t ns)
{
    if (idle == PW_GPU_IDLE_HOST)
        w->idle_host_ns += ns;
    else if (idle == PW_GPU_IDLE_GAP)
        w->idle_gap_ns += ns;
}

/* Ends the gap before `a` and adds it to the windows that it overlaps. */
static void end_gap(struct pw_gputime *g, const struct pw_gpu_activity *a, struct pw_gpu_news *news)
{
    news->gap_start = g->device_until;
    news->gap_end = a->start;
    if (a->launch >= 0 && a->launch > g->device_until)
        news->idle = PW_GPU_IDLE_HOST;
    else if (a->launch >= 0 && g->began && a->start - g->device_until < PW_GPU_GAP_NS)
        news->idle = PW_GPU_IDLE_GAP;
    else
        news->idle = PW_GPU_IDLE_OTHER;
    if (g->began)
        count_idle(&g->all, news->idle, news->gap_end - news->gap_start);
    while (g->gap_at < g->n && g->windows[g->gap_at].end <= news->gap_start)
        g->gap_at++;
    for (size_t i = g->gap_at; i < g->n && g->windows[i].start < news->gap_end; i++) {
        struct pw_gpu_window *w = &g->windows[i];
        int64_t start = w->start > news->gap_start ? w->start : news->gap_start;
        int64_t end = w->end < news->gap_end ? w->end : news->gap_end;
        count_idle(w, news->idle, end > start ? end - start : 0);
    }
}

static void enter_device(struct pw_gputime *g, const struct pw_gpu_activity *a,
                         struct pw_gpu_news *news)
{
    if (a->start > g->device_until && g->device_until != INT64_MIN)
        end_gap(g, a, news);
    if (!g->began)
        g->all = (struct pw_gpu_window){.start = a->start, .end = a->end};
    g->began = 1;
    g->device_until = a->end > g->device_until ? a->end : g->device_until;
    g->all.end = a->end > g->all.end ? a->end : g->all.end;
}

static int64_t fresh(const struct pw_gputime *g, const struct pw_gpu_activity *a)
{
    int64_t from = a->start;
    from = g->until[PW_GPU_COMPUTE] > from ? g->until[PW_GPU_COMPUTE] : from;
    from = g->until[PW_GPU_COPY] > from ? g->until[PW_GPU_COPY] : from;
    return a->end > from ? a->end - from : 0;
}

struct pw_gpu_news pw_gputime_add(struct pw_gputime *g, const struct pw_gpu_activity *activity)
{
    struct pw_gpu_activity a = *activity;
    struct pw_gpu_news news = {0};
    if (a.start < g->cursor) {
        g->late++;
        a.start = g->cursor;
    }
    if (a.end <= a.start)
        return news;
    if (g->cursor == INT64_MIN)
        g->cursor = g->n && g->windows[0].start < a.start ? g->windows[0].start : a.start;
    advance(g, a.start);
    if (a.kind < PW_GPU_DEVICE_KINDS)
        enter_device(g, &a, &news);
    if (a.kind == PW_GPU_COMPUTE || a.kind == PW_GPU_COPY)
        news.fresh_ns = fresh(g, &a);
    int64_t *until = &g->until[a.kind];
    *until = a.end > *until ? a.end : *until;
    return news;
}

static void fill_other(struct pw_gpu_window *w)
{
    w->idle_other_ns = w->end - w->start - w->busy_ns - w->idle_host_ns - w->idle_gap_ns;
}

void pw_gputime_end(struct pw_gputime *g)
{
    int64_t last = INT64_MIN;
    for (int kind = 0; kind < PW_GPU_KINDS; kind++)
        last = g->until[kind] > last ? g->until[kind] : last;
    if (g->cursor != INT64_MIN)
        advance(g, last);
    while (g->at < g->n)
        close_window(g);
    fill(&g->all, g->all_by_mask);
    fill_other(&g->all);
    for (size_t i = 0; i < g->n; i++)
        fill_other(&g->windows[i]);
}

/* Adds up samples one at a time. */

void pw_gpu_clocks_add(struct pw_gpu_clocks *c, const struct pw_row_gpu *sample)
{
    enum { HIGHEST_MHZ = 1000000 };
    uint64_t reasons = sample->clock_reasons;
    if (sample->sm_clock_mhz <= 0 || sample->sm_clock_mhz > HIGHEST_MHZ)
        return;
    if (reasons == UINT64_MAX) /* the reasons could not be read */
        reasons = 0;
    if (reasons & PW_CLOCKS_IDLE)
        return;
    c->samples++;
    c->mhz += sample->sm_clock_mhz;
    c->slowed += (reasons & PW_CLOCKS_SLOWED) != 0;
    for (int bit = 0; bit < PW_CLOCKS_BITS; bit++)
        c->by_bit[bit] += (int64_t)(reasons >> bit & 1);
}

double pw_gpu_clocks_mean(const struct pw_gpu_clocks *c)
{
    return c->samples ? (double)c->mhz / (double)c->samples : -1;
}

uint64_t pw_gpu_clocks_reasons(const struct pw_gpu_clocks *c)
{
    uint64_t reasons = 0;
    for (int bit = 0; bit < PW_CLOCKS_BITS; bit++)
        if (c->by_bit[bit] > 0 && 10 * c->by_bit[bit] >= c->samples)
            reasons |= (uint64_t)1 << bit;
    return reasons & PW_CLOCKS_SLOWED;
}

const char *pw_gpu_clocks_word(uint64_t reasons)
{
    if (reasons & (PW_CLOCKS_THERMAL | PW_CLOCKS_HARDWARE_THERMAL))
        return "heat";
    if (reasons & PW_CLOCKS_POWER_BRAKE)
        return "the power brake";
    if (reasons & PW_CLOCKS_HARDWARE)
        return "the hardware's slowdown";
    return reasons & PW_CLOCKS_POWER_CAP ? "the power cap" : "";
}

/* Offsets of each metric in a sample and in the row of a GPU. */
#define FIELD(type, name, unit, meaning) \
    {offsetof(struct pw_row_gpu, name), offsetof(struct pw_row_c_gpu_device, name)},
static const struct {
    size_t sample, row;
} gpm_fields[] = {PW_GPM_FIELDS(FIELD)};
#undef FIELD
static_assert(sizeof(gpm_fields) / sizeof(gpm_fields[0]) == PW_GPM_METRICS,
              "each metric has a mean");

static void count(struct pw_gpu_counter *c, int64_t value)
{
    if (value < 0 || !pw_is_possible(value))
        return;
    c->first = c->is_known ? c->first : value;
    c->last = value;
    c->is_known = 1;
}

static int64_t rise(const struct pw_gpu_counter *c)
{
    if (!c->is_known)
        return -1;
    return c->last > c->first ? c->last - c->first : 0;
}

static int64_t most(int64_t a, int64_t b)
{
    return b > a && pw_is_possible(b) ? b : a;
}

static void add_measured(struct pw_gpu_samples *s, const struct pw_row_gpu *sample)
{
    if (sample->gpm_ns <= 0 || !pw_is_possible(sample->gpm_ns))
        return;
    s->gpm_ns = pw_sum(s->gpm_ns, sample->gpm_ns);
    for (int i = 0; i < PW_GPM_METRICS; i++) {
        double value;
        memcpy(&value, (const char *)sample + gpm_fields[i].sample, sizeof(value));
        if (!(value >= 0 && value < 1e18))
            continue;
        s->gpm[i].sum += value * (double)sample->gpm_ns;
        s->gpm[i].weight += (double)sample->gpm_ns;
    }
}

void pw_gpu_samples_add(struct pw_gpu_samples *s, const struct pw_row_gpu *sample)
{
    pw_gpu_clocks_add(&s->clocks, sample);
    if (sample->power_mw >= 0 && pw_is_possible(sample->power_mw)) {
        s->power_mw.sum += (double)sample->power_mw;
        s->power_mw.weight++;
    }
    s->power_most_mw = most(s->power_most_mw, sample->power_mw);
    s->power_most_mw = most(s->power_most_mw, sample->power_instant_mw);
    s->memory_most = most(s->memory_most, sample->memory_used_bytes);
    s->temperature_most = most(s->temperature_most, sample->temperature_c);
    count(&s->power_capped, sample->power_capped_ns);
    count(&s->heat, sample->heat_slowed_ns);
    count(&s->brake, sample->brake_slowed_ns);
    add_measured(s, sample);
}

double pw_gpu_mean_value(const struct pw_gpu_mean *mean)
{
    return mean->weight > 0 ? mean->sum / mean->weight : -1;
}

void pw_gpu_samples_fill(const struct pw_gpu_samples *s, struct pw_row_c_gpu_device *out)
{
    const double power = pw_gpu_mean_value(&s->power_mw);
    out->samples = s->clocks.samples;
    out->sm_clock_mhz = pw_gpu_clocks_mean(&s->clocks);
    out->slowed_share =
        s->clocks.samples ? (double)s->clocks.slowed / (double)s->clocks.samples : -1;
    out->memory_most_bytes = s->memory_most > 0 ? s->memory_most : -1;
    out->power_w = power < 0 ? -1 : power / 1e3;
    out->power_most_w = s->power_most_mw > 0 ? (double)s->power_most_mw / 1e3 : -1;
    out->temperature_most_c = s->temperature_most > 0 ? (double)s->temperature_most : -1;
    out->power_capped_ns = rise(&s->power_capped);
    out->heat_slowed_ns = rise(&s->heat);
    out->brake_slowed_ns = rise(&s->brake);
    out->gpm_ns = s->gpm_ns;
    for (int i = 0; i < PW_GPM_METRICS; i++) {
        const double value = pw_gpu_mean_value(&s->gpm[i]);
        memcpy((char *)out + gpm_fields[i].row, &value, sizeof(value));
    }
}

/* Has the table of peaks, and computes the shares of them that a run reached. */

enum { TYPES = 7 };

static const char *const types[TYPES] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4"};

/* Peak TFLOP/s, in the order of `types`; 0: the GPU lacks the type. Of tensor or matrix cores if
 * they have the type, without sparsity. `multiprocessors` 0: any number. */
static const struct gpu {
    const char *name;
    int32_t multiprocessors;
    double peaks[TYPES];
} gpus[] = {
    {"NVIDIA GB200", 0, {40, 80, 1250, 2500, 2500, 5000, 10000}},
    {"NVIDIA B200", 148, {37, 75, 1100, 2250, 2250, 4500, 9000}},
    {"NVIDIA GH200 480GB", 132, {67, 67, 494.5, 989.5, 989.5, 1979, 0}},
    {"NVIDIA GH200 144G HBM3e", 132, {67, 67, 494.5, 989.5, 989.5, 1979, 0}},
    {"NVIDIA H200", 132, {67, 67, 494.5, 989.5, 989.5, 1979, 0}},
    {"NVIDIA H200 NVL", 132, {60, 60, 417.5, 835.5, 835.5, 1670.5, 0}},
    {"NVIDIA H100 80GB HBM3", 132, {66.9, 66.9, 494.7, 989.4, 989.4, 1978.9, 0}},
    {"NVIDIA H100 NVL", 132, {60, 60, 417.5, 835.5, 835.5, 1670.5, 0}},
    {"NVIDIA H100 PCIe", 114, {51.2, 51.2, 378, 756, 756, 1513, 0}},
    {"NVIDIA A100-SXM4-40GB", 108, {19.5, 19.5, 156, 312, 312, 0, 0}},
    {"NVIDIA A100-SXM4-80GB", 108, {19.5, 19.5, 156, 312, 312, 0, 0}},
    {"NVIDIA A100-PCIE-40GB", 108, {19.5, 19.5, 156, 312, 312, 0, 0}},
    {"NVIDIA A100 80GB PCIe", 108, {19.5, 19.5, 156, 312, 312, 0, 0}},
    {"NVIDIA A30", 56, {10.3, 10.3, 82, 165, 165, 0, 0}},
    {"NVIDIA A10", 72, {0, 31.2, 62.5, 125, 125, 0, 0}},
    {"NVIDIA A40", 84, {0, 37.4, 74.8, 149.7, 149.7, 0, 0}},
    {"NVIDIA L4", 58, {0, 30.3, 60, 121, 121, 242.5, 0}},
    {"NVIDIA L40", 142, {0, 90.5, 90.5, 181.05, 181.05, 362, 0}},
    {"NVIDIA L40S", 142, {0, 91.6, 183, 362.05, 362.05, 733, 0}},
    {"Tesla V100-SXM2-16GB", 80, {7.8, 15.7, 0, 0, 125, 0, 0}},
    {"Tesla V100-SXM2-32GB", 80, {7.8, 15.7, 0, 0, 125, 0, 0}},
    {"Tesla V100-PCIE-16GB", 80, {7, 14, 0, 0, 112, 0, 0}},
    {"Tesla V100-PCIE-32GB", 80, {7, 14, 0, 0, 112, 0, 0}},
    {"Tesla T4", 40, {0, 8.1, 0, 0, 65, 0, 0}},
    {"AMD Instinct MI300X", 304, {163.4, 163.4, 653.7, 1307.4, 1307.4, 2614.9, 0}},
};

double pw_peak_flops(const char *name, int32_t multiprocessors, const char *type)
{
    const struct gpu *gpu = NULL;
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++)
        if (strcmp(gpus[i].name, name) == 0)
            gpu = &gpus[i];
    if (!gpu ||
        (multiprocessors > 0 && gpu->multiprocessors && multiprocessors != gpu->multiprocessors))
        return -1;
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i], type) == 0 && gpu->peaks[i] > 0)
            return gpu->peaks[i] * 1e12;
    return -1;
}

/* FLOP/s and MFU. */

void pw_mfu_add(struct pw_mfu *mfu, double flops, int64_t ns)
{
    if (!(flops > 0 && flops < PW_MOST_FLOPS) || ns <= 0 || !pw_is_possible(ns))
        return;
    mfu->flops += flops;
    mfu->ns = pw_sum(mfu->ns, ns);
    mfu->steps++;
}

double pw_mfu_rate(const struct pw_mfu *mfu)
{
    return mfu->steps ? mfu->flops / ((double)mfu->ns / 1e9) : -1;
}

double pw_mfu_share(double rate, double peak)
{
    return rate >= 0 && peak > 0 ? rate / peak : -1;
}

/* The nearest roof. */

static void take(struct pw_roof *nearest, const char *name, double share)
{
    if (share > nearest->share)
        *nearest = (struct pw_roof){name, share};
}

struct pw_roof pw_roofline_nearest(const struct pw_roofline_input *in)
{
    struct pw_roof nearest = {NULL, -1};
    const struct pw_roof nothing = nearest;
    take(&nearest, "tensor cores", in->tensor);
    take(&nearest, "fp64", in->fp64);
    take(&nearest, "fp32", in->fp32);
    take(&nearest, "fp16", in->fp16);
    if (!nearest.name || !(in->dram >= 0) || !(in->engine > 0))
        return nothing;
    take(&nearest, "memory", in->dram);
    nearest.share = nearest.share < in->engine ? nearest.share / in->engine : 1;
    return nearest;
}

/* Occupancy, by the rules of NVIDIA's cuda_occupancy.h. */

enum {
    WARP = 32,
    MOST_THREADS = 1024,
    REGISTER_UNIT = 256, /* registers are given to a warp in this unit; each quarter of a
                            multiprocessor has its own */
    QUARTERS = 4,
    NEW_SHARED =
        800, /* from this compute capability on, shared memory is given in units of NEW_UNIT ... */
    OLD_UNIT = 256,
    NEW_UNIT = 128,
    RESERVED = 1024, /* ... and the driver takes so many bytes of each block */
    OLDEST = 700,
    NEWEST = 1299, /* the units of later GPUs are not known */
};

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int is_known(const struct pw_row_device *d, const struct pw_row_kernel *k)
{
    return d->capability >= OLDEST && d->capability <= NEWEST && d->warps > 0 && d->blocks > 0 &&
           d->shared_bytes > 0 && d->registers > 0 && k->block_x > 0 && k->block_y > 0 &&
           k->block_z > 0 && k->block_x <= MOST_THREADS && k->block_y <= MOST_THREADS &&
           k->block_z <= MOST_THREADS && k->registers >= 0 && k->static_shared_bytes >= 0 &&
           k->dynamic_shared_bytes >= 0;
}

static int64_t shared_of(const struct pw_row_device *d, const struct pw_row_kernel *k)
{
    const int64_t asked = (int64_t)k->static_shared_bytes + k->dynamic_shared_bytes;
    return d->capability < NEW_SHARED ? round_up(asked, OLD_UNIT)
                                      : round_up(asked + RESERVED, NEW_UNIT);
}

double pw_occupancy(const struct pw_row_device *device, const struct pw_row_kernel *kernel)
{
    if (!is_known(device, kernel))
        return -1;
    const int64_t threads = (int64_t)kernel->block_x * kernel->block_y * kernel->block_z;
    const int64_t warps = (threads + WARP - 1) / WARP;
    const int64_t registers = round_up((int64_t)kernel->registers * WARP, REGISTER_UNIT);
    const int64_t shared = shared_of(device, kernel);
    int64_t blocks = least(device->blocks, device->warps / warps);
    if (registers)
        blocks = least(blocks, device->registers / QUARTERS / registers * QUARTERS / warps);
    if (shared)
        blocks = least(blocks, device->shared_bytes / shared);
    return threads > MOST_THREADS || !blocks ? -1
                                             : (double)(blocks * warps) / (double)device->warps;
}
