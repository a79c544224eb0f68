/* Devices by their CUDA number; see cuda_device.h. */
#include "collectors/cuda/cuda_device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cuda/nvml.h"

/* Counters that move slowly, and cost more to read, are read at each SLOW-th sample. */
enum { DEVICES = 64, SLOW = 10 };

struct device {
    bool is_known, is_used, is_open;
    struct pw_row_device row;
    uint32_t name; /* row of /strings: the text may still come */
    struct pw_nvml_device *nvml;
    struct pw_row_gpu last;
    int samples;
};

struct pw_cuda_devices {
    struct pw_rankfile *file;
    struct pw_nvml *nvml;
    bool has_looked; /* for NVML */
    int64_t cost_ns, nsamples;
    struct device all[DEVICES];
};

struct pw_cuda_devices *pw_cuda_devices_create(struct pw_rankfile *file)
{
    struct pw_cuda_devices *d = calloc(1, sizeof(*d));
    if (d)
        d->file = file;
    return d;
}

static void format_uuid(const unsigned char *bytes, char *out, size_t size)
{
    const unsigned char *b = bytes;
    snprintf(out, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

void pw_cuda_devices_add(struct pw_cuda_devices *devices, const struct pw_record *record,
                         const struct pw_origin *origin)
{
    struct device *d = record->op < DEVICES ? &devices->all[record->op] : NULL;
    if (!d || d->is_known)
        return;
    d->is_known = true;
    d->row.device = record->op;
    d->row.memory_bytes = (int64_t)(record->device.memory_bytes & INT64_MAX);
    d->row.multiprocessors = (int32_t)record->device.multiprocessors;
    format_uuid(record->device.uuid, d->row.uuid, sizeof(d->row.uuid));
    d->name = pw_origin_name(origin, record->stack);
}

void pw_cuda_devices_use(struct pw_cuda_devices *devices, unsigned number)
{
    if (number < DEVICES)
        devices->all[number].is_used = true;
}

/* The device as NVML has it, which CUDA may number otherwise. */
static bool open_device(struct pw_cuda_devices *devices, struct device *d)
{
    if (!devices->has_looked) {
        devices->has_looked = true;
        devices->nvml = pw_nvml_open();
    }
    if (!d->is_open && devices->nvml) {
        d->is_open = true;
        d->nvml = pw_nvml_find(devices->nvml, d->row.uuid);
        if (d->nvml)
            pw_nvml_bus(devices->nvml, d->nvml, d->row.bus_id, sizeof(d->row.bus_id));
    }
    return d->nvml != NULL;
}

void pw_cuda_devices_sample(struct pw_cuda_devices *devices, int64_t now_ns)
{
    for (int i = 0; i < DEVICES; i++) {
        struct device *d = &devices->all[i];
        if (!d->is_known || !d->is_used || !open_device(devices, d))
            continue;
        const int64_t begin_ns = pw_local_ns();
        pw_nvml_read(devices->nvml, d->nvml, d->samples++ % SLOW == 0, &d->last);
        devices->cost_ns += pw_local_ns() - begin_ns;
        devices->nsamples++;
        d->last.time = now_ns;
        d->last.device = i;
        pw_rankfile_append_measured(devices->file, PW_TABLE_gpu, &d->last);
    }
}

void pw_cuda_devices_finish(struct pw_cuda_devices *devices)
{
    for (int i = 0; i < DEVICES; i++) {
        struct device *d = &devices->all[i];
        if (!d->is_known)
            continue;
        snprintf(d->row.name, sizeof(d->row.name), "%s",
                 pw_rankfile_borrow_text(devices->file, d->name));
        if (d->is_used)
            open_device(devices, d);
        pw_rankfile_append(devices->file, PW_TABLE_device, &d->row);
    }
    if (devices->nsamples)
        pw_rankfile_overhead(devices->file, "nvml_sample",
                             (double)devices->cost_ns / (double)devices->nsamples, "ns");
}

void pw_cuda_devices_destroy(struct pw_cuda_devices *devices)
{
    if (!devices)
        return;
    pw_nvml_close(devices->nvml);
    free(devices);
}
