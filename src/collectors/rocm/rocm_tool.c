/* The table of functions for AMD's GPUs; see gpu_vendor.h. */
#include <stdio.h>

#include "collectors/gpu/gpu_vendor.h"
#include "collectors/rocm/rocm_records.h"

static void refusal(const struct pw_gpu_said *said, char *out, size_t size)
{
    enum { MAJOR = 10000, MINOR = 100 };
    const unsigned version = said->version;
    switch (said->result) {
    case PW_ROCM_NO_LIBRARY:
        snprintf(out, size,
                 "no librocprofiler-sdk was found; set PROFWRAP_ROCPROFILER to that of ROCm 7");
        return;
    case PW_ROCM_OTHER_VERSION:
        snprintf(out, size,
                 "rocprofiler-sdk %u.%u.%u is of another version than 1.x (ROCm 7); set "
                 "PROFWRAP_ROCPROFILER to one that is",
                 version / MAJOR, version % MAJOR / MINOR, version % MINOR);
        return;
    case PW_ROCM_NO_HELPER:
        snprintf(out, size, "libprofwrap_rocm.so is not beside profwrap's probe");
        return;
    case PW_ROCM_NOT_CALLED:
        snprintf(out, size,
                 "rocprofiler-sdk did not ask its tools (ROCPROFILER_REGISTER_ENABLED?)");
        return;
    case PW_ROCM_NO_THREAD:
        snprintf(out, size,
                 "no thread could be started that reads rocprofiler's records; allow more "
                 "processes (ulimit -u) or memory");
        return;
    case PW_ROCP_LOCKED:
        snprintf(out, size, "rocprofiler-sdk was set up before profwrap could be found");
        return;
    default:
        snprintf(out, size, "rocprofiler-sdk %u.%u.%u refused with error %d", version / MAJOR,
                 version % MAJOR / MINOR, version % MINOR, (int)said->result);
    }
}

static void overhead(struct pw_rankfile *file, const struct pw_gpu_said *said)
{
    pw_rankfile_overhead(file, "rocprofiler_version", (double)said->version, "1");
    pw_rankfile_overhead(file, "rocprofiler_result", (double)said->result, "1");
    pw_rankfile_overhead(file, "rocm_records", (double)said->records, "records");
}

/* Writes the UUID with 16 digits, and the bus address as domain:bus:device.function, as ROCm's
 * tools do. */
static void identify(const struct pw_record *record, struct pw_row_device *row)
{
    enum { UUID = 8, DEVICE_BITS = 5, FUNCTION_BITS = 3 };
    const unsigned char *b = record->device.uuid;
    const uint32_t bus = record->device.bus;
    size_t used = (size_t)snprintf(row->uuid, sizeof(row->uuid), "GPU-");
    uint64_t value = 0;
    for (int i = UUID - 1; i >= 0; i--)
        value = value << 8 | b[i];
    snprintf(row->uuid + used, sizeof(row->uuid) - used, "%016llx", (unsigned long long)value);
    snprintf(row->bus_id, sizeof(row->bus_id), "%04x:%02x:%02x.%x", bus >> 16, bus >> 8 & 0xff,
             bus >> FUNCTION_BITS & ((1u << DEVICE_BITS) - 1), bus & ((1u << FUNCTION_BITS) - 1));
}

const struct pw_gpu_vendor pw_gpu_rocm = {
    .make = PW_GPU_ROCM,
    .refusal = refusal,
    .overhead = overhead,
    .identify = identify,
};
