/* Has the table of peaks, and computes the shares of them that a run reached; see gpulimits.h. */
#include "analysis/gpulimits.h"

#include <stddef.h>
#include <string.h>

#include "core/limits.h"

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
