/* Calls NVML through pointers; see nvml.h. Numbers and structs are those of NVIDIA's documentation
 * of its functions, which keep them. */
#include "collectors/cuda/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLOCK_SM = 1,
    CLOCK_MEMORY = 2,
    SENSOR_GPU = 0,
    ECC_CORRECTED = 0,
    ECC_UNCORRECTED = 1,
    ECC_SINCE_DRIVER = 0,
    FIELD_NVLINK_TX_KIB = 138,
    FIELD_NVLINK_RX_KIB = 139,
    FIELD_PCIE_TX_BYTES = 197,
    FIELD_PCIE_RX_BYTES = 198,
    VALUE_DOUBLE = 0,
    VALUE_UINT = 1,
    VALUE_ULONG = 2,
    VALUE_ULONGLONG = 3,
    NFIELDS = 4,
    NOT_READABLE = -1,
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
};

struct pw_nvml *pw_nvml_open(void)
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

struct pw_nvml_device *pw_nvml_find(const struct pw_nvml *n, const char *uuid)
{
    handle device = NULL;
    return n->by_uuid(uuid, &device) == 0 ? device : NULL;
}

void pw_nvml_bus(const struct pw_nvml *n, struct pw_nvml_device *device, char *out, size_t size)
{
    struct pci pci = {0};
    if (!n->pci || n->pci(device, &pci))
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

static int64_t value_of(const struct field *field, int64_t unit)
{
    uint32_t small;
    double real;
    if (field->result)
        return NOT_READABLE;
    switch (field->type) {
    case VALUE_UINT:
        memcpy(&small, &field->value, sizeof(small));
        return (int64_t)small * unit;
    case VALUE_ULONG:
    case VALUE_ULONGLONG:
        return (int64_t)(field->value & (INT64_MAX / 1024)) * unit;
    case VALUE_DOUBLE:
        memcpy(&real, &field->value, sizeof(real));
        return real >= 0 && real < (double)(INT64_MAX / 1024) ? (int64_t)real * unit : NOT_READABLE;
    default:
        return NOT_READABLE;
    }
}

/* Of all links of the device together. */
static void read_counters(const struct pw_nvml *n, handle device, struct pw_row_gpu *out)
{
    struct field fields[NFIELDS] = {
        {.id = FIELD_PCIE_TX_BYTES, .result = 1},
        {.id = FIELD_PCIE_RX_BYTES, .result = 1},
        {.id = FIELD_NVLINK_TX_KIB, .scope = UINT_MAX, .result = 1},
        {.id = FIELD_NVLINK_RX_KIB, .scope = UINT_MAX, .result = 1},
    };
    unsigned replays;
    if (n->fields)
        n->fields(device, NFIELDS, fields);
    out->pcie_tx_bytes = value_of(&fields[0], 1);
    out->pcie_rx_bytes = value_of(&fields[1], 1);
    out->nvlink_tx_bytes = value_of(&fields[2], 1024);
    out->nvlink_rx_bytes = value_of(&fields[3], 1024);
    out->pcie_replays =
        n->replays && n->replays(device, &replays) == 0 ? (int64_t)replays : NOT_READABLE;
}

void pw_nvml_read(const struct pw_nvml *n, struct pw_nvml_device *device, int slow,
                  struct pw_row_gpu *out)
{
    unsigned power, temperature;
    struct utilisation busy;
    struct memory memory;
    const int has_busy = n->utilisation && n->utilisation(device, &busy) == 0;
    out->sm_clock_mhz = read_clock(n, device, CLOCK_SM);
    out->memory_clock_mhz = read_clock(n, device, CLOCK_MEMORY);
    out->clock_reasons = read_reasons(n, device);
    out->power_mw = n->power && n->power(device, &power) == 0 ? (int64_t)power : NOT_READABLE;
    out->temperature_c = n->temperature && n->temperature(device, SENSOR_GPU, &temperature) == 0
                             ? (int32_t)temperature
                             : NOT_READABLE;
    out->busy_percent = has_busy ? (int32_t)busy.gpu : NOT_READABLE;
    out->memory_busy_percent = has_busy ? (int32_t)busy.memory : NOT_READABLE;
    out->memory_used_bytes =
        n->memory && n->memory(device, &memory) == 0 ? (int64_t)memory.used : NOT_READABLE;
    if (!slow)
        return;
    out->ecc_corrected = read_ecc(n, device, ECC_CORRECTED);
    out->ecc_uncorrected = read_ecc(n, device, ECC_UNCORRECTED);
    read_counters(n, device, out);
}

void pw_nvml_close(struct pw_nvml *n)
{
    if (!n)
        return;
    if (n->shutdown)
        n->shutdown();
    dlclose(n->library);
    free(n);
}
