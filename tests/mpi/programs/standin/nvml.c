/* A stand-in for libnvidia-ml that plays declared values: of the GPU whose UUID begins with
 * GPU-00010203, and of no other. Counters rise from call to call.
 *
 * STANDIN_NVML_HANG: "init", or the number of the reading of power that never comes back, as when a
 * GPU is lost. STANDIN_NVML_SLOW: the number of the one that takes 1.5 s. STANDIN_NVML_MIG: the GPU
 * is divided, and its UUID an instance's. STANDIN_NVML_ILL: it has errors. STANDIN_NVML_GPM:
 * "unsupported", as before Hopper; "version": it takes another version of the structs; "lost": the
 * third sample fails. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    TIMEOUT = 10,
    GPU_IS_LOST = 15,
    MEMORY = 20,
    WRONG_VERSION = 25,
};

static int the_gpu, the_instance, the_events;
static int readings;

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
    uint64_t value;
};

static int says(const char *variable, const char *text)
{
    const char *value = getenv(variable);
    return value && strcmp(value, text) == 0;
}

static void hang(void)
{
    for (;;)
        pause();
}

EXPORT int nvmlInit_v2(void)
{
    if (says("STANDIN_NVML_HANG", "init"))
        hang();
    return 0;
}

EXPORT int nvmlShutdown(void)
{
    return 0;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    const int is_divided = getenv("STANDIN_NVML_MIG") != NULL;
    if (strcmp(uuid, is_divided ? "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f"
                                : "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f") != 0)
        return NOT_FOUND;
    *device = is_divided ? &the_instance : &the_gpu;
    return 0;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *instance, void **device)
{
    if (instance != &the_instance)
        return INVALID_ARGUMENT;
    *device = &the_gpu;
    return 0;
}

EXPORT int nvmlEventSetCreate(void **set)
{
    *set = &the_events;
    return 0;
}

EXPORT int nvmlEventSetFree(void *set)
{
    return set == &the_events ? 0 : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
    the_events = device == &the_gpu && set == &the_events && types == 8;
    return the_events ? 0 : INVALID_ARGUMENT;
}

struct event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

/* XID 94 and 63, which a GPU with an error in its memory tells of. */
EXPORT int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms)
{
    static int told;
    if (set != &the_events || !the_events || timeout_ms || !getenv("STANDIN_NVML_ILL") || told == 2)
        return TIMEOUT;
    *event = (struct event){&the_gpu, 8, told ? 63 : 94, told ? 0xffffffff : 7, 0xffffffff};
    told++;
    return 0;
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    (void)device;
    strcpy(pci->bus_id, "00000000:3B:00.0");
    return 0;
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    (void)device;
    *mhz = which == 1 ? 1980 : which == 2 ? 2619 : 0;
    return 0;
}

/* The old name: drivers before 535 know no other. */
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits)
{
    (void)device;
    *bits = 0x44;
    return 0;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
    char number[16] = {(char)('0' + ++readings % 10), '\0'};
    (void)device;
    if (readings < 10 && says("STANDIN_NVML_HANG", number))
        hang();
    if (readings < 10 && says("STANDIN_NVML_SLOW", number))
        nanosleep(&(struct timespec){1, 500000000}, NULL);
    *mw = 651234;
    return 0;
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    (void)device, (void)sensor;
    *celsius = 71;
    return 0;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct utilisation *busy)
{
    (void)device;
    *busy = (struct utilisation){93, 41};
    return 0;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
    *memory = device == &the_instance ? (struct memory){10, 4, 6} : (struct memory){80, 30, 50};
    return 0;
}

EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int which, int since, unsigned long long *n)
{
    (void)device, (void)since;
    const int is_ill = getenv("STANDIN_NVML_ILL") != NULL;
    if (which == 1 && !is_ill)
        return NOT_SUPPORTED;
    *n = which == 1 ? (unsigned long long)readings / 10 : 2;
    return 0;
}

EXPORT int nvmlDeviceGetPcieReplayCounter(void *device, unsigned *n)
{
    (void)device;
    *n = 5;
    return 0;
}

/* An H100's: sums over the links of NVLink have the scope UINT_MAX or none; there is no PCIe
 * counter of what is received, and no field of heat but the oldest. */
static int is_there(const struct field *field)
{
    switch (field->id) {
    case 138:
    case 139:
        return field->scope == 0xffffffff;
    case 38: /* errors of NVLink */
    case 52:
    case 59:
    case 74: /* for how long clocks were lowered */
    case 75:
    case 142: /* rows of memory */
    case 143:
    case 144:
    case 145:
    case 186: /* power */
    case 197:
        return field->scope == 0;
    default:
        return 0;
    }
}

EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct field *fields)
{
    enum { UINT = 1, ULONGLONG = 3, PENDING = 144, FAILED = 145, THERMAL = 75 };
    int found = 0;
    if (device != &the_gpu)
        return INVALID_ARGUMENT;
    for (int i = 0; i < n; i++) {
        const int is_flag = fields[i].id == PENDING || fields[i].id == FAILED;
        fields[i].result = is_there(&fields[i]) ? 0 : NOT_SUPPORTED;
        fields[i].type = is_flag ? UINT : ULONGLONG;
        fields[i].value = is_flag ? getenv("STANDIN_NVML_ILL") && fields[i].id == PENDING
                                  : (uint64_t)(1 + readings / 10) * fields[i].id;
        if (fields[i].id == THERMAL && getenv("STANDIN_NVML_ILL"))
            fields[i].value *= 1000000;
        found += !fields[i].result;
    }
    return found ? 0 : NOT_SUPPORTED;
}

/* ---- GPM, as in nvml.h of CUDA 13.5 ---- */

enum { MOST_METRICS = 333, LEAST_MS = 100 };

typedef struct nvmlGpmSample_st {
    int is_instance;
    int64_t taken_ms;
} * nvmlGpmSample_t;

typedef struct {
    unsigned metricId;
    int nvmlReturn;
    double value;
    struct {
        char *shortName, *longName, *unit;
    } metricInfo;
} nvmlGpmMetric_t;

typedef struct {
    unsigned version, numMetrics;
    nvmlGpmSample_t sample1, sample2;
    nvmlGpmMetric_t metrics[MOST_METRICS];
} nvmlGpmMetricsGet_t;

typedef struct {
    unsigned version, isSupportedDevice;
} nvmlGpmSupport_t;

EXPORT int nvmlGpmQueryDeviceSupport(void *device, nvmlGpmSupport_t *support)
{
    if (support->version != 1)
        return WRONG_VERSION;
    if (device != &the_gpu)
        return INVALID_ARGUMENT;
    support->isSupportedDevice = !says("STANDIN_NVML_GPM", "unsupported");
    return 0;
}

EXPORT int nvmlDeviceGetGpuInstanceId(void *device, unsigned *id)
{
    if (device != &the_instance)
        return INVALID_ARGUMENT;
    *id = 7;
    return 0;
}

EXPORT int nvmlGpmSampleAlloc(nvmlGpmSample_t *sample)
{
    *sample = calloc(1, sizeof(**sample));
    return *sample ? 0 : MEMORY;
}

EXPORT int nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    free(sample);
    return sample ? 0 : INVALID_ARGUMENT;
}

static int take(nvmlGpmSample_t sample, int is_instance)
{
    static int taken;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (++taken == 3 && says("STANDIN_NVML_GPM", "lost"))
        return GPU_IS_LOST;
    *sample = (struct nvmlGpmSample_st){is_instance, now.tv_sec * 1000 + now.tv_nsec / 1000000};
    return 0;
}

EXPORT int nvmlGpmSampleGet(void *device, nvmlGpmSample_t sample)
{
    return device == &the_gpu && !getenv("STANDIN_NVML_MIG") ? take(sample, 0) : INVALID_ARGUMENT;
}

EXPORT int nvmlGpmMigSampleGet(void *device, unsigned instance, nvmlGpmSample_t sample)
{
    return device == &the_gpu && instance == 7 ? take(sample, 1) : INVALID_ARGUMENT;
}

/* What is received by PCIe cannot be measured here. */
static int measure(nvmlGpmMetric_t *metric, int is_instance)
{
    static const struct {
        unsigned id;
        double value;
    } known[] = {{1, 93},    {2, 80},     {3, 40},   {5, 62.5},  {10, 51.5}, {11, 0},
                 {12, 12.5}, {13, 3.125}, {20, 100}, {60, 1000}, {61, 2000}};
    static char unit[] = "%";
    metric->metricInfo.unit = unit;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].id == metric->metricId) {
            metric->value = is_instance ? known[i].value / 2 : known[i].value;
            return 0;
        }
    return NOT_SUPPORTED;
}

EXPORT int nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get)
{
    if (get->version != 1 || says("STANDIN_NVML_GPM", "version"))
        return WRONG_VERSION;
    if (get->numMetrics > MOST_METRICS || !get->sample1->taken_ms ||
        get->sample2->taken_ms - get->sample1->taken_ms < LEAST_MS)
        return INVALID_ARGUMENT;
    for (unsigned i = get->numMetrics; i < MOST_METRICS; i++)
        memset(&get->metrics[i], 0xff, sizeof(get->metrics[i]));
    for (unsigned i = 0; i < get->numMetrics; i++)
        get->metrics[i].nvmlReturn = measure(&get->metrics[i], get->sample1->is_instance);
    return 0;
}
