/* The thread that reads NVML, and NVML's functions, called through pointers; see nvml.h. Numbers
 * and structs are from NVIDIA's documentation; NVML keeps them in later versions. */
#include "collectors/cuda/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rank/ring/tick.h"

struct pw_nvml;
struct pw_nvml_device; /* NVML's */

/* A GPU, or an instance of a divided GPU (MIG). `memory` is the instance, `device` the whole GPU,
 * from which all other values are read. */
struct pw_nvml_target {
    struct pw_nvml_device *device, *memory; /* NULL: not found */
};

/* NVML's GPM measurements (from Hopper on): how busy a GPU's multiprocessors, their units and its
 * memory were between two samples. */

/* The measurement of one GPU, or of an instance of a divided GPU. */
struct pw_gpm;

/* Bytes of the text in /devices: "measured", or why not. */
#define PW_GPM_STATE_BYTES 32

enum {
    CLOCK_SM = 1,
    CLOCK_MEMORY = 2,
    SENSOR_GPU = 0,
    ECC_CORRECTED = 0,
    ECC_UNCORRECTED = 1,
    ECC_SINCE_DRIVER = 0,
    VALUE_DOUBLE = 0,
    VALUE_UINT = 1,
    VALUE_ULONG = 2,
    VALUE_ULONGLONG = 3,
    VALUE_LONGLONG = 4,
    VALUE_INT = 5,
    VALUE_USHORT = 6,
    EVENT_XID = 8,
    LINKS = 18, /* the most NVLink links of a GPU */
    NOT_READABLE = -1,
};

/* Numbers of NVML's fields (nvml.h of CUDA 13.5). Older drivers lack some of them. */
enum field_id {
    NVLINK_CRC_ERRORS = 38,
    NVLINK_REPLAYS = 52,
    NVLINK_RECOVERIES = 59,
    POWER_CAPPED_NS = 74,
    THERMAL_NS = 75,
    NVLINK_TX_KIB = 138,
    NVLINK_RX_KIB = 139,
    REMAPPED_CORRECTABLE = 142,
    REMAPPED_UNCORRECTABLE = 143,
    REMAP_PENDING = 144,
    REMAP_FAILED = 145,
    POWER_INSTANT_MW = 186,
    PCIE_TX_BYTES = 197,
    PCIE_RX_BYTES = 198,
    NVLINK5_TX_BYTES = 202,
    NVLINK5_RX_BYTES = 204,
    NVLINK5_RX_ERRORS = 208,
    NVLINK5_RECOVERIES = 215,
    SOFT_THERMAL_NS = 269,
    HARD_THERMAL_NS = 270,
    POWER_BRAKE_NS = 271,
};

struct utilisation {
    unsigned gpu, memory;
};

struct memory {
    unsigned long long total, free, used;
};

struct pci {
    char legacy[16];
    unsigned domain, bus, device, ids[2];
    char bus_id[32];
};

struct field {
    unsigned id, scope;
    long long time, latency;
    unsigned type;
    int result;
    uint64_t value; /* a union of 8 bytes */
};

typedef struct pw_nvml_device *handle;

struct event {
    handle device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

struct pw_nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_uuid)(const char *, handle *);
    int (*pci)(handle, struct pci *);
    int (*clock)(handle, int, unsigned *);
    int (*reasons)(handle, unsigned long long *);
    int (*old_reasons)(handle, unsigned long long *);
    int (*power)(handle, unsigned *);
    int (*temperature)(handle, int, unsigned *);
    int (*utilisation)(handle, struct utilisation *);
    int (*memory)(handle, struct memory *);
    int (*ecc)(handle, int, int, unsigned long long *);
    int (*replays)(handle, unsigned *);
    int (*fields)(handle, int, struct field *);
    int (*whole_of)(handle, handle *);
    int (*create_events)(void **);
    int (*free_events)(void *);
    int (*add_events)(handle, unsigned long long, void *);
    int (*next_event)(void *, struct event *, unsigned);
    void *events; /* NULL before the first GPU is watched */
};

static const struct {
    const char *name;
    size_t place;
} functions[] = {
    {"nvmlInit_v2", offsetof(struct pw_nvml, init)},
    {"nvmlShutdown", offsetof(struct pw_nvml, shutdown)},
    {"nvmlDeviceGetHandleByUUID", offsetof(struct pw_nvml, by_uuid)},
    {"nvmlDeviceGetPciInfo_v3", offsetof(struct pw_nvml, pci)},
    {"nvmlDeviceGetClockInfo", offsetof(struct pw_nvml, clock)},
    {"nvmlDeviceGetCurrentClocksEventReasons", offsetof(struct pw_nvml, reasons)},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct pw_nvml, old_reasons)},
    {"nvmlDeviceGetPowerUsage", offsetof(struct pw_nvml, power)},
    {"nvmlDeviceGetTemperature", offsetof(struct pw_nvml, temperature)},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct pw_nvml, utilisation)},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct pw_nvml, memory)},
    {"nvmlDeviceGetTotalEccErrors", offsetof(struct pw_nvml, ecc)},
    {"nvmlDeviceGetPcieReplayCounter", offsetof(struct pw_nvml, replays)},
    {"nvmlDeviceGetFieldValues", offsetof(struct pw_nvml, fields)},
    {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle", offsetof(struct pw_nvml, whole_of)},
    {"nvmlEventSetCreate", offsetof(struct pw_nvml, create_events)},
    {"nvmlEventSetFree", offsetof(struct pw_nvml, free_events)},
    {"nvmlDeviceRegisterEvents", offsetof(struct pw_nvml, add_events)},
    {"nvmlEventSetWait_v2", offsetof(struct pw_nvml, next_event)},
};

/* Returns NULL when there is no NVML or no driver. */
static struct pw_nvml *nvml_open(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    struct pw_nvml *n = library ? calloc(1, sizeof(*n)) : NULL;
    for (size_t i = 0; n && i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *found = dlsym(library, functions[i].name);
        memcpy((char *)n + functions[i].place, &found, sizeof(found));
    }
    if (n && n->init && n->by_uuid && n->init() == 0) {
        n->library = library;
        return n;
    }
    free(n);
    if (library)
        dlclose(library);
    return NULL;
}

/* Finds a GPU by its UUID, "GPU-xxxxxxxx-...", as CUDA writes it. NVML writes "MIG-" and the same
 * digits for an instance. */
static struct pw_nvml_target nvml_find(const struct pw_nvml *n, const char *uuid)
{
    char instance[80];
    handle device = NULL, whole = NULL;
    if (n->by_uuid(uuid, &device) == 0)
        return (struct pw_nvml_target){device, device};
    snprintf(instance, sizeof(instance), "MIG-%s", strncmp(uuid, "GPU-", 4) == 0 ? uuid + 4 : uuid);
    if (!n->whole_of || n->by_uuid(instance, &device) || n->whole_of(device, &whole))
        return (struct pw_nvml_target){NULL, NULL};
    return (struct pw_nvml_target){whole, device};
}

/* Writes its address on the PCI bus; "" when it cannot be read. */
static void nvml_bus(const struct pw_nvml *n, const struct pw_nvml_target *target, char *out,
                     size_t size)
{
    struct pci pci = {0};
    if (!n->pci || n->pci(target->device, &pci))
        pci.bus_id[0] = '\0';
    snprintf(out, size, "%.31s", pci.bus_id);
}

static int32_t read_clock(const struct pw_nvml *n, handle device, int which)
{
    unsigned mhz;
    return n->clock && n->clock(device, which, &mhz) == 0 ? (int32_t)mhz : NOT_READABLE;
}

static uint64_t read_reasons(const struct pw_nvml *n, handle device)
{
    unsigned long long bits = 0;
    if (n->reasons && n->reasons(device, &bits) == 0)
        return bits;
    return n->old_reasons && n->old_reasons(device, &bits) == 0 ? bits : 0;
}

static int64_t read_ecc(const struct pw_nvml *n, handle device, int which)
{
    unsigned long long errors;
    return n->ecc && n->ecc(device, which, ECC_SINCE_DRIVER, &errors) == 0 ? (int64_t)errors
                                                                           : NOT_READABLE;
}

static int64_t value_of(const struct field *field)
{
    int32_t number;
    uint32_t small;
    double real;
    if (field->result)
        return NOT_READABLE;
    switch (field->type) {
    case VALUE_UINT:
        memcpy(&small, &field->value, sizeof(small));
        return small;
    case VALUE_INT:
        memcpy(&number, &field->value, sizeof(number));
        return number;
    case VALUE_USHORT:
        return (int64_t)(field->value & UINT16_MAX);
    case VALUE_ULONG:
    case VALUE_ULONGLONG:
    case VALUE_LONGLONG:
        return (int64_t)(field->value & (INT64_MAX / 1024));
    case VALUE_DOUBLE:
        memcpy(&real, &field->value, sizeof(real));
        return real >= 0 && real < (double)(INT64_MAX / 1024) ? (int64_t)real : NOT_READABLE;
    default:
        return NOT_READABLE;
    }
}

/* Returns the sum of the fields that could be read. */
static int64_t sum_of(const struct field *fields, int n)
{
    int64_t sum = NOT_READABLE;
    for (int i = 0; i < n; i++) {
        const int64_t value = value_of(&fields[i]);
        if (value >= 0)
            sum = (sum < 0 ? 0 : sum) + value;
    }
    return sum;
}

static int64_t read_fields(const struct pw_nvml *n, handle device, const enum field_id *ids,
                           int nids, unsigned scope)
{
    struct field fields[4];
    for (int i = 0; i < nids; i++)
        fields[i] = (struct field){.id = (unsigned)ids[i], .scope = scope, .result = 1};
    return n->fields && n->fields(device, nids, fields) == 0 ? sum_of(fields, nids) : NOT_READABLE;
}

static int64_t read_field(const struct pw_nvml *n, handle device, enum field_id id)
{
    return read_fields(n, device, &id, 1, 0);
}

/* Adds up the links, because NVML has no sum over links from NVLink 5 on. */
static int64_t read_links(const struct pw_nvml *n, handle device, enum field_id id)
{
    struct field fields[LINKS];
    for (unsigned i = 0; i < LINKS; i++)
        fields[i] = (struct field){.id = (unsigned)id, .scope = i, .result = 1};
    return n->fields && n->fields(device, LINKS, fields) == 0 ? sum_of(fields, LINKS)
                                                              : NOT_READABLE;
}

static void read_nvlink(const struct pw_nvml *n, handle device, struct pw_row_gpu *out)
{
    static const enum field_id tx = NVLINK_TX_KIB, rx = NVLINK_RX_KIB;
    static const enum field_id errors[] = {NVLINK_CRC_ERRORS, NVLINK_REPLAYS, NVLINK_RECOVERIES};
    const int64_t tx_kib = read_fields(n, device, &tx, 1, UINT_MAX),
                  rx_kib = read_fields(n, device, &rx, 1, UINT_MAX);
    out->nvlink_tx_bytes = tx_kib >= 0 ? tx_kib * 1024 : read_links(n, device, NVLINK5_TX_BYTES);
    out->nvlink_rx_bytes = rx_kib >= 0 ? rx_kib * 1024 : read_links(n, device, NVLINK5_RX_BYTES);
    out->nvlink_errors = read_fields(n, device, errors, 3, 0);
    if (out->nvlink_errors >= 0)
        return;
    const int64_t lost = read_links(n, device, NVLINK5_RX_ERRORS),
                  recoveries = read_links(n, device, NVLINK5_RECOVERIES);
    if (lost >= 0 || recoveries >= 0)
        out->nvlink_errors = (lost > 0 ? lost : 0) + (recoveries > 0 ? recoveries : 0);
}

/* Reads how long the clocks were lowered since the driver was loaded. */
static void read_slowing(const struct pw_nvml *n, handle device, struct pw_row_gpu *out)
{
    static const enum field_id heat[] = {SOFT_THERMAL_NS, HARD_THERMAL_NS};
    out->power_capped_ns = read_field(n, device, POWER_CAPPED_NS);
    out->heat_slowed_ns = read_fields(n, device, heat, 2, 0);
    if (out->heat_slowed_ns < 0)
        out->heat_slowed_ns = read_field(n, device, THERMAL_NS);
    out->brake_slowed_ns = read_field(n, device, POWER_BRAKE_NS);
}

static void read_counters(const struct pw_nvml *n, handle device, struct pw_row_gpu *out)
{
    static const enum field_id remapped[] = {REMAPPED_CORRECTABLE, REMAPPED_UNCORRECTABLE};
    unsigned replays;
    out->ecc_corrected = read_ecc(n, device, ECC_CORRECTED);
    out->ecc_uncorrected = read_ecc(n, device, ECC_UNCORRECTED);
    out->pcie_tx_bytes = read_field(n, device, PCIE_TX_BYTES);
    out->pcie_rx_bytes = read_field(n, device, PCIE_RX_BYTES);
    out->pcie_replays =
        n->replays && n->replays(device, &replays) == 0 ? (int64_t)replays : NOT_READABLE;
    out->rows_remapped = read_fields(n, device, remapped, 2, 0);
    out->remap_pending = (int32_t)read_field(n, device, REMAP_PENDING);
    out->remap_failed = (int32_t)read_field(n, device, REMAP_FAILED);
    read_nvlink(n, device, out);
    read_slowing(n, device, out);
}

/* Fills in all fields except time and device; -1: not readable. Fields that take long to read are
 * changed only with `slow`. */
static void nvml_read(const struct pw_nvml *n, const struct pw_nvml_target *target, int slow,
                      struct pw_row_gpu *out)
{
    handle device = target->device;
    unsigned power, temperature;
    struct utilisation busy;
    struct memory memory;
    const int has_busy = n->utilisation && n->utilisation(device, &busy) == 0;
    out->sm_clock_mhz = read_clock(n, device, CLOCK_SM);
    out->memory_clock_mhz = read_clock(n, device, CLOCK_MEMORY);
    out->clock_reasons = read_reasons(n, device);
    out->power_mw = n->power && n->power(device, &power) == 0 ? (int64_t)power : NOT_READABLE;
    out->power_instant_mw = read_field(n, device, POWER_INSTANT_MW);
    out->temperature_c = n->temperature && n->temperature(device, SENSOR_GPU, &temperature) == 0
                             ? (int32_t)temperature
                             : NOT_READABLE;
    out->busy_percent = has_busy ? (int32_t)busy.gpu : NOT_READABLE;
    out->memory_busy_percent = has_busy ? (int32_t)busy.memory : NOT_READABLE;
    out->memory_used_bytes =
        n->memory && n->memory(target->memory, &memory) == 0 ? (int64_t)memory.used : NOT_READABLE;
    if (slow)
        read_counters(n, device, out);
}

/* ---- errors ---- */

/* Registers for errors of the GPU. */
static void nvml_watch(struct pw_nvml *n, const struct pw_nvml_target *target)
{
    if (!n->create_events || !n->add_events || !n->next_event)
        return;
    if (!n->events && n->create_events(&n->events))
        n->events = NULL;
    if (n->events)
        n->add_events(target->device, EVENT_XID, n->events);
}

/* Takes the next error of any registered GPU: its XID and instance, and in *whose the GPU. Returns
 * false when there is none. */
static bool nvml_next_error(const struct pw_nvml *n, struct pw_row_gpu_error *out,
                            struct pw_nvml_device **whose)
{
    struct event event = {0};
    if (!n->events || n->next_event(n->events, &event, 0) || event.type != EVENT_XID)
        return false;
    out->xid = (int32_t)(event.data & INT32_MAX);
    out->instance = event.gpu_instance == UINT_MAX ? NOT_READABLE : (int64_t)event.gpu_instance;
    *whose = event.device;
    return true;
}

/* Returns NVML's function of this name, or NULL. */
static void *nvml_symbol(const struct pw_nvml *n, const char *name)
{
    return dlsym(n->library, name);
}

static void nvml_close(struct pw_nvml *n)
{
    if (!n)
        return;
    if (n->events && n->free_events)
        n->free_events(n->events);
    if (n->shutdown)
        n->shutdown();
    dlclose(n->library);
    free(n);
}

/* Calls NVML's GPM gpm_functions. Structs, numbers and versions are those of nvml.h from CUDA 12.0
 * to 13.5, which differ only in the number of metrics. */

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
} gpm_functions[] = {
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
    for (size_t i = 0; i < sizeof(gpm_functions) / sizeof(gpm_functions[0]); i++) {
        void *found = nvml_symbol(nvml, gpm_functions[i].name);
        memcpy((char *)gpm + gpm_functions[i].place, &found, sizeof(found));
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

static void gpm_close(struct pw_gpm *gpm);

/* Returns NULL, and the reason in `state`, when the GPU cannot be measured. */
static struct pw_gpm *gpm_open(const struct pw_nvml *nvml, const struct pw_nvml_target *target,
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
    gpm_close(gpm);
    return NULL;
}

/* Sets the row's GPM fields to "not known". */
static void gpm_clear(struct pw_row_gpu *out)
{
    const double unknown = -1;
    out->gpm_ns = 0;
    for (int i = 0; i < METRICS; i++)
        memcpy((char *)out + metrics[i].place, &unknown, sizeof(unknown));
}

/* Returns a share or bytes per second; -1 for an impossible value. A share may be slightly above 1
 * by rounding. */
static double gpm_value_of(const struct metric *metric, enum unit unit)
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
        const double value = gpm_value_of(&request->metrics[i], metrics[i].unit);
        memcpy((char *)out + metrics[i].place, &value, sizeof(value));
    }
    return result;
}

/* Fills in the row's GPM fields for the time since the last reading. gpm_ns is 0 when there are no
 * values: at the first reading, too soon after the last one, and when reading fails; then `state`
 * has the reason. */
static void gpm_read(struct pw_gpm *gpm, int64_t now_ns, struct pw_row_gpu *out,
                     char state[PW_GPM_STATE_BYTES])
{
    const int64_t since = gpm->before_ns;
    gpm_clear(out);
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

static void gpm_close(struct pw_gpm *gpm)
{
    if (!gpm)
        return;
    if (gpm->before)
        gpm->release(gpm->before);
    if (gpm->after)
        gpm->release(gpm->after);
    free(gpm);
}

/* The thread that reads NVML. The lock is held only while data is copied, never during a call of
 * NVML. */

/* Counters that change slowly and take longer to read are read at every SLOW-th sample. */
enum { DEVICES = 64, SLOW = 10, GAPS = 16, ERRORS = 64 };

struct device {
    int number;
    char uuid[64], bus_id[32];
    struct pw_row_gpu row;
    char gpm_state[PW_GPM_STATE_BYTES];
    bool is_ready; /* `row` is finished and was not taken yet */
    /* Used by the thread only. */
    struct pw_nvml_target nvml;
    struct pw_gpm *gpm; /* NULL: no GPM */
    bool is_open, is_part;
    int samples;
};

struct pw_nvml_sampler {
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    pthread_t thread;
    bool is_running, is_asked, is_reading, stops, has_ended;
    bool is_left;               /* the thread hangs in NVML, so this struct is never freed */
    int64_t row_time, asked_at; /* time of the requested sample, by the rank's clock and by ours */
    int64_t answered_at;        /* time at which it was finished, by the rank's clock */
    struct device devices[DEVICES];
    int ndevices;
    struct pw_nvml_gap open, gaps[GAPS]; /* open.lost 0: none */
    int ngaps;
    struct pw_row_gpu_error errors[ERRORS]; /* errors that were not taken yet */
    int nerrors;
    int64_t missed, nread, cost_ns;
};

struct pw_nvml_sampler *pw_nvml_sampler_create(void)
{
    struct pw_nvml_sampler *s = calloc(1, sizeof(*s));
    pthread_condattr_t monotonic;
    if (!s)
        return NULL;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->asked, NULL);
    pthread_cond_init(&s->answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return s;
}

/* ---- the thread ---- */

/* Finds the device in NVML by its UUID, because CUDA may number devices differently. */
static void open_device(struct pw_nvml_sampler *s, struct device *d, struct pw_nvml *nvml)
{
    char bus_id[sizeof(d->bus_id)] = "", state[PW_GPM_STATE_BYTES] = "";
    if (d->is_open)
        return;
    d->is_open = true;
    d->nvml = nvml_find(nvml, d->uuid);
    if (d->nvml.device) {
        nvml_bus(nvml, &d->nvml, bus_id, sizeof(bus_id));
        nvml_watch(nvml, &d->nvml);
        d->gpm = gpm_open(nvml, &d->nvml, state);
    }
    pthread_mutex_lock(&s->lock);
    memcpy(d->bus_id, bus_id, sizeof(bus_id));
    memcpy(d->gpm_state, state, sizeof(state));
    d->is_part = d->nvml.memory != d->nvml.device;
    pthread_mutex_unlock(&s->lock);
}

static void read_device(struct pw_nvml_sampler *s, struct device *d, struct pw_nvml *nvml)
{
    struct pw_row_gpu row = d->row;
    char state[PW_GPM_STATE_BYTES];
    open_device(s, d, nvml);
    if (!d->nvml.device)
        return;
    const int64_t begin = pw_local_ns();
    const bool is_slow = d->samples++ % SLOW == 0;
    memcpy(state, d->gpm_state, sizeof(state));
    nvml_read(nvml, &d->nvml, is_slow, &row);
    gpm_clear(&row);
    if (d->gpm && is_slow)
        gpm_read(d->gpm, pw_local_ns(), &row, state);
    const int64_t end = pw_local_ns();
    pthread_mutex_lock(&s->lock);
    memcpy(d->gpm_state, state, sizeof(state));
    row.time = s->row_time + (end - s->asked_at);
    row.device = d->number;
    d->row = row;
    d->is_ready = true;
    s->cost_ns += end - begin;
    s->nread++;
    pthread_mutex_unlock(&s->lock);
}

/* Adds an error. On a divided GPU, each instance that the program uses gets it. */
static void add_error(struct pw_nvml_sampler *s, struct pw_row_gpu_error *error,
                      const struct pw_nvml_device *whose)
{
    pthread_mutex_lock(&s->lock);
    error->time = s->row_time + (pw_local_ns() - s->asked_at);
    for (int i = 0; i < s->ndevices; i++)
        if (s->devices[i].nvml.device == whose && s->nerrors < ERRORS) {
            error->device = s->devices[i].number;
            s->errors[s->nerrors++] = *error;
        }
    pthread_mutex_unlock(&s->lock);
}

static void read_errors(struct pw_nvml_sampler *s, const struct pw_nvml *nvml)
{
    struct pw_row_gpu_error error;
    struct pw_nvml_device *whose;
    for (int i = 0; i < ERRORS && nvml_next_error(nvml, &error, &whose); i++)
        add_error(s, &error, whose);
}

/* Waits for a request. Returns the number of devices to read; -1: the thread must end. */
static int wait_for_request(struct pw_nvml_sampler *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->is_asked && !s->stops)
        pthread_cond_wait(&s->asked, &s->lock);
    const int n = s->is_asked ? s->ndevices : -1;
    s->is_asked = false;
    s->is_reading = n >= 0;
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void answer(struct pw_nvml_sampler *s, bool ends)
{
    pthread_mutex_lock(&s->lock);
    if (s->is_reading)
        s->answered_at = s->row_time + (pw_local_ns() - s->asked_at);
    s->is_reading = false;
    s->has_ended = ends;
    pthread_cond_signal(&s->answered);
    pthread_mutex_unlock(&s->lock);
}

static void *run(void *sampler)
{
    struct pw_nvml_sampler *s = sampler;
    struct pw_nvml *nvml = NULL;
    bool has_looked = false;
    for (int n; (n = wait_for_request(s)) >= 0; answer(s, false)) {
        if (!has_looked)
            nvml = nvml_open();
        has_looked = true;
        for (int i = 0; i < n && nvml; i++)
            read_device(s, &s->devices[i], nvml);
        if (nvml)
            read_errors(s, nvml);
    }
    for (int i = 0; i < DEVICES; i++)
        gpm_close(s->devices[i].gpm);
    nvml_close(nvml);
    answer(s, true);
    return NULL;
}

static void begin_thread(struct pw_nvml_sampler *s)
{
    sigset_t all, before;
    sigfillset(&all);
    /* The main thread handles signals. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->is_running = pthread_create(&s->thread, NULL, run, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pw_nvml_sampler_add(struct pw_nvml_sampler *s, int device, const char *uuid)
{
    pthread_mutex_lock(&s->lock);
    if (s->ndevices < DEVICES) {
        struct device *d = &s->devices[s->ndevices++];
        d->number = device;
        snprintf(d->uuid, sizeof(d->uuid), "%s", uuid);
    }
    pthread_mutex_unlock(&s->lock);
    if (!s->is_running)
        begin_thread(s);
}

/* ---- requests and results ---- */

static void end_gap(struct pw_nvml_sampler *s, int64_t end_ns)
{
    if (s->open.lost && end_ns - s->open.start >= PW_NVML_LATE_NS && s->ngaps < GAPS) {
        s->open.end = end_ns;
        s->gaps[s->ngaps++] = s->open;
    }
    s->open = (struct pw_nvml_gap){0};
}

void pw_nvml_sampler_ask(struct pw_nvml_sampler *s, int64_t now_ns)
{
    if (!s->is_running)
        return;
    pthread_mutex_lock(&s->lock);
    if (s->is_asked || s->is_reading) {
        if (!s->open.lost)
            s->open.start = now_ns;
        s->open.lost += s->ndevices;
        s->missed += s->ndevices;
    } else {
        end_gap(s, s->answered_at);
        s->is_asked = true;
        s->row_time = now_ns;
        s->asked_at = pw_local_ns();
        pthread_cond_signal(&s->asked);
    }
    pthread_mutex_unlock(&s->lock);
}

bool pw_nvml_sampler_take(struct pw_nvml_sampler *s, struct pw_row_gpu *row)
{
    bool is_there = false;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->ndevices && !is_there; i++) {
        struct device *d = &s->devices[i];
        is_there = d->is_ready;
        d->is_ready = false;
        *row = is_there ? d->row : *row;
    }
    pthread_mutex_unlock(&s->lock);
    return is_there;
}

bool pw_nvml_sampler_gap(struct pw_nvml_sampler *s, struct pw_nvml_gap *gap)
{
    const bool is_there = s->ngaps > 0;
    if (is_there)
        *gap = s->gaps[--s->ngaps];
    return is_there;
}

bool pw_nvml_sampler_error(struct pw_nvml_sampler *s, struct pw_row_gpu_error *error)
{
    pthread_mutex_lock(&s->lock);
    const bool is_there = s->nerrors > 0;
    if (is_there) {
        *error = s->errors[0];
        memmove(&s->errors[0], &s->errors[1], (size_t)--s->nerrors * sizeof(s->errors[0]));
    }
    pthread_mutex_unlock(&s->lock);
    return is_there;
}

bool pw_nvml_sampler_describe(struct pw_nvml_sampler *s, int device, struct pw_row_device *row)
{
    bool is_part = false;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->ndevices; i++)
        if (s->devices[i].number == device) {
            snprintf(row->bus_id, sizeof(row->bus_id), "%s", s->devices[i].bus_id);
            snprintf(row->gpm, sizeof(row->gpm), "%s", s->devices[i].gpm_state);
            is_part = s->devices[i].is_part;
        }
    pthread_mutex_unlock(&s->lock);
    return is_part;
}

/* ---- the end ---- */

static bool wait_for_end(struct pw_nvml_sampler *s)
{
    struct timespec until;
    int err = 0;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PW_NVML_LATE_NS / 1000000000;
    while (!s->has_ended && !err)
        err = pthread_cond_timedwait(&s->answered, &s->lock, &until);
    return s->has_ended;
}

void pw_nvml_sampler_stop(struct pw_nvml_sampler *s, int64_t now_ns)
{
    if (!s->is_running || s->stops)
        return;
    pthread_mutex_lock(&s->lock);
    s->stops = true;
    pthread_cond_signal(&s->asked);
    const int64_t begin = pw_local_ns();
    const bool has_ended = wait_for_end(s);
    end_gap(s, has_ended ? s->answered_at : now_ns + (pw_local_ns() - begin));
    s->is_left = !has_ended;
    pthread_mutex_unlock(&s->lock);
    if (has_ended)
        pthread_join(s->thread, NULL);
    else
        pthread_detach(s->thread);
}

void pw_nvml_sampler_costs(struct pw_nvml_sampler *s, struct pw_nvml_costs *out)
{
    pthread_mutex_lock(&s->lock);
    *out = (struct pw_nvml_costs){
        .missed = s->missed, .sample_ns = s->nread ? (double)s->cost_ns / (double)s->nread : 0};
    pthread_mutex_unlock(&s->lock);
}

void pw_nvml_sampler_destroy(struct pw_nvml_sampler *s)
{
    if (!s)
        return;
    pw_nvml_sampler_stop(s, 0);
    if (s->is_left)
        return;
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->asked);
    pthread_cond_destroy(&s->answered);
    free(s);
}
