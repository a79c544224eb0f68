/* Calls NVML's GPM functions; see nvml_gpm.h. Structs, numbers and versions are those of nvml.h
 * from CUDA 12.0 to 13.5, which differ only in the number of metrics. */
#include "collectors/cuda/nvml_gpm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    WRONG_VERSION = 25,
    METRICS_VERSION = 1,
    SUPPORT_VERSION = 1,
    /* More than NVML_GPM_METRIC_MAX, which was 98 and is 333 in CUDA 13.5: a newer NVML may clear
     * the whole struct. */
    MOST_METRICS = 1024,
};

/* Two samples must be further apart than NVML's refresh interval. */
#define LEAST_NS ((int64_t)110000000)

struct metric {
    unsigned id;
    int result;
    double value;
    char *texts[3];
};

struct request {
    unsigned version, n;
    void *before, *after;
    struct metric metrics[MOST_METRICS];
};

struct support {
    unsigned version, is_supported;
};

struct pw_gpm {
    struct pw_nvml_target target;
    bool is_part;
    unsigned instance;
    void *before, *after; /* NVML's samples */
    int64_t before_ns;    /* 0: there is none */
    struct request request;
    int (*supports)(struct pw_nvml_device *, struct support *);
    int (*allocate)(void **);
    int (*release)(void *);
    int (*sample)(struct pw_nvml_device *, void *);
    int (*sample_part)(struct pw_nvml_device *, unsigned, void *);
    int (*metrics)(struct request *);
    int (*instance_of)(struct pw_nvml_device *, unsigned *);
};

static const struct {
    const char *name;
    size_t place;
} functions[] = {
    {"nvmlGpmQueryDeviceSupport", offsetof(struct pw_gpm, supports)},
    {"nvmlGpmSampleAlloc", offsetof(struct pw_gpm, allocate)},
    {"nvmlGpmSampleFree", offsetof(struct pw_gpm, release)},
    {"nvmlGpmSampleGet", offsetof(struct pw_gpm, sample)},
    {"nvmlGpmMigSampleGet", offsetof(struct pw_gpm, sample_part)},
    {"nvmlGpmMetricsGet", offsetof(struct pw_gpm, metrics)},
    {"nvmlDeviceGetGpuInstanceId", offsetof(struct pw_gpm, instance_of)},
};

enum unit { PERCENT, MIB_PER_S };

/* nvmlGpmMetricId_t. */
static const struct {
    unsigned id;
    enum unit unit;
    size_t place;
} metrics[] = {
    {1, PERCENT, offsetof(struct pw_row_gpu, engine_active)},
    {2, PERCENT, offsetof(struct pw_row_gpu, sm_active)},
    {3, PERCENT, offsetof(struct pw_row_gpu, sm_occupancy)},
    {5, PERCENT, offsetof(struct pw_row_gpu, tensor_active)},
    {10, PERCENT, offsetof(struct pw_row_gpu, dram_active)},
    {11, PERCENT, offsetof(struct pw_row_gpu, fp64_active)},
    {12, PERCENT, offsetof(struct pw_row_gpu, fp32_active)},
    {13, PERCENT, offsetof(struct pw_row_gpu, fp16_active)},
    {20, MIB_PER_S, offsetof(struct pw_row_gpu, pcie_tx_bytes_per_s)},
    {21, MIB_PER_S, offsetof(struct pw_row_gpu, pcie_rx_bytes_per_s)},
    {61, MIB_PER_S, offsetof(struct pw_row_gpu, nvlink_tx_bytes_per_s)},
    {60, MIB_PER_S, offsetof(struct pw_row_gpu, nvlink_rx_bytes_per_s)},
};
enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

static void say(char *state, int result)
{
    if (result == NOT_SUPPORTED)
        snprintf(state, PW_GPM_STATE_BYTES, "not supported");
    else if (result == NO_PERMISSION)
        snprintf(state, PW_GPM_STATE_BYTES, "no permission");
    else if (result == WRONG_VERSION)
        snprintf(state, PW_GPM_STATE_BYTES, "of another version");
    else
        snprintf(state, PW_GPM_STATE_BYTES, "error %d", result);
}

static bool find_functions(struct pw_gpm *gpm, const struct pw_nvml *nvml)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *found = pw_nvml_symbol(nvml, functions[i].name);
        memcpy((char *)gpm + functions[i].place, &found, sizeof(found));
    }
    return gpm->supports && gpm->allocate && gpm->release && gpm->sample && gpm->metrics &&
           (!gpm->is_part || (gpm->sample_part && gpm->instance_of));
}

/* Returns 0, or NVML's result that shows why it cannot be measured. */
static int begin(struct pw_gpm *gpm)
{
    struct support support = {.version = SUPPORT_VERSION};
    int result = gpm->supports(gpm->target.device, &support);
    if (!result && !support.is_supported)
        result = NOT_SUPPORTED;
    if (!result && gpm->is_part)
        result = gpm->instance_of(gpm->target.memory, &gpm->instance);
    if (!result)
        result = gpm->allocate(&gpm->before);
    if (!result)
        result = gpm->allocate(&gpm->after);
    return result;
}

struct pw_gpm *pw_gpm_open(const struct pw_nvml *nvml, const struct pw_nvml_target *target,
                           char state[PW_GPM_STATE_BYTES])
{
    struct pw_gpm *gpm = calloc(1, sizeof(*gpm));
    state[0] = '\0';
    if (!gpm)
        return NULL;
    gpm->target = *target;
    gpm->is_part = target->memory != target->device;
    int result = find_functions(gpm, nvml) ? begin(gpm) : NOT_SUPPORTED;
    if (!result)
        return gpm;
    say(state, result);
    pw_gpm_close(gpm);
    return NULL;
}

void pw_gpm_clear(struct pw_row_gpu *out)
{
    const double unknown = -1;
    out->gpm_ns = 0;
    for (int i = 0; i < METRICS; i++)
        memcpy((char *)out + metrics[i].place, &unknown, sizeof(unknown));
}

/* Returns a share or bytes per second; -1 for an impossible value. A share may be slightly above 1
 * by rounding. */
static double value_of(const struct metric *metric, enum unit unit)
{
    const double value = unit == PERCENT ? metric->value / 100 : metric->value * 1024 * 1024;
    if (metric->result || !(value >= 0) || value > (unit == PERCENT ? 1.01 : 1e15))
        return -1;
    return unit == PERCENT && value > 1 ? 1 : value;
}

static int ask(struct pw_gpm *gpm, struct pw_row_gpu *out)
{
    struct request *request = &gpm->request;
    request->version = METRICS_VERSION;
    request->n = METRICS;
    request->before = gpm->before;
    request->after = gpm->after;
    for (int i = 0; i < METRICS; i++)
        request->metrics[i] = (struct metric){.id = metrics[i].id, .result = NOT_SUPPORTED};
    const int result = gpm->metrics(request);
    for (int i = 0; i < METRICS && !result; i++) {
        const double value = value_of(&request->metrics[i], metrics[i].unit);
        memcpy((char *)out + metrics[i].place, &value, sizeof(value));
    }
    return result;
}

void pw_gpm_read(struct pw_gpm *gpm, int64_t now_ns, struct pw_row_gpu *out,
                 char state[PW_GPM_STATE_BYTES])
{
    const int64_t since = gpm->before_ns;
    pw_gpm_clear(out);
    if (since && now_ns - since < LEAST_NS)
        return;
    int result = gpm->is_part ? gpm->sample_part(gpm->target.device, gpm->instance, gpm->after)
                              : gpm->sample(gpm->target.device, gpm->after);
    if (!result && since)
        result = ask(gpm, out);
    if (!result && since) {
        out->gpm_ns = now_ns - since;
        snprintf(state, PW_GPM_STATE_BYTES, "measured");
    }
    void *sample = gpm->before;
    gpm->before = gpm->after;
    gpm->after = sample;
    gpm->before_ns = result ? 0 : now_ns; /* after a failure, begin with a new first sample */
    if (result && strcmp(state, "measured") != 0)
        say(state, result);
}

void pw_gpm_close(struct pw_gpm *gpm)
{
    if (!gpm)
        return;
    if (gpm->before)
        gpm->release(gpm->before);
    if (gpm->after)
        gpm->release(gpm->after);
    free(gpm);
}
