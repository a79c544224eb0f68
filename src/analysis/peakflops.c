/* The table of peaks; see peakflops.h. */
#include "analysis/peakflops.h"

#include <stddef.h>
#include <string.h>

enum { TYPES = 7 };

static const char *const types[TYPES] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4"};

/* TFLOP/s, in the order of `types`, 0 none: by tensor or matrix cores where they have the type, and
 * without sparsity. `multiprocessors` 0: any number. */
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
