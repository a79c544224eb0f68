/* A stand-in for libnvidia-ml that plays declared values: of the GPU whose UUID begins with
 * GPU-00010203, and of no other. Counters rise from call to call.
 *
 * STANDIN_NVML_HANG: "init", or the number of the reading of power that never comes back, as when a
 * GPU is lost. STANDIN_NVML_SLOW: the number of the one that takes 1.5 s. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { NOT_FOUND = 6, NOT_SUPPORTED = 3 };

static int the_gpu;
static unsigned long long calls;

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
    if (strncmp(uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", 41) != 0)
        return NOT_FOUND;
    *device = &the_gpu;
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
    static int readings;
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
    (void)device;
    *memory = (struct memory){80, 30, 50};
    return 0;
}

EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int which, int since, unsigned long long *n)
{
    (void)device, (void)since;
    if (which == 1)
        return NOT_SUPPORTED;
    *n = 2;
    return 0;
}

EXPORT int nvmlDeviceGetPcieReplayCounter(void *device, unsigned *n)
{
    (void)device;
    *n = 5;
    return 0;
}

EXPORT int nvmlDeviceGetFieldValues(void *device, int n, struct field *fields)
{
    enum { ULONGLONG = 3 };
    (void)device;
    calls++;
    for (int i = 0; i < n; i++) {
        fields[i].result = fields[i].id == 198 ? NOT_SUPPORTED : 0;
        fields[i].type = ULONGLONG;
        fields[i].value = calls * fields[i].id;
    }
    return 0;
}
