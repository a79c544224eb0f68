/* Devices by their CUDA number; see cuda_device.h. */
#include "collectors/cuda/cuda_device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cuda/nvml_sampler.h"

enum { DEVICES = 64 };

struct device {
    bool is_known, is_used, is_sampled;
    struct pw_row_device row;
    uint32_t name; /* row of /strings: the text may still come */
};

struct pw_cuda_devices {
    struct pw_rankfile *file;
    struct pw_nvml_sampler *sampler; /* NULL before the first sample of a device */
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
    d->row.multiprocessors = record->device.multiprocessors;
    d->row.capability = record->device.capability;
    d->row.warps = record->device.warps;
    d->row.blocks = record->device.blocks;
    d->row.shared_bytes = record->device.shared_kib * 1024;
    d->row.registers = record->device.registers_k * 1024;
    format_uuid(record->device.uuid, d->row.uuid, sizeof(d->row.uuid));
    d->name = pw_origin_name(origin, record->stack);
}

void pw_cuda_devices_use(struct pw_cuda_devices *devices, unsigned number)
{
    if (number < DEVICES)
        devices->all[number].is_used = true;
}

/* What the sampler has finished since. `append` also puts it into the journal, while that goes on.
 */
static void append_samples(struct pw_cuda_devices *devices,
                           void (*append)(struct pw_rankfile *, enum pw_table_id, const void *))
{
    struct pw_row_gpu sample;
    struct pw_row_gpu_error error;
    struct pw_nvml_gap gap;
    while (pw_nvml_sampler_error(devices->sampler, &error))
        append(devices->file, PW_TABLE_gpu_error, &error);
    while (pw_nvml_sampler_take(devices->sampler, &sample))
        append(devices->file, PW_TABLE_gpu, &sample);
    while (pw_nvml_sampler_gap(devices->sampler, &gap)) {
        const struct pw_row_gap row = {.start = gap.start,
                                       .end = gap.end,
                                       .reason = PW_REASON_NVML_LATE,
                                       .kind = PW_LOST_DEVICE,
                                       .thread = UINT16_MAX,
                                       .lost = gap.lost};
        append(devices->file, PW_TABLE_gap, &row);
    }
}

void pw_cuda_devices_sample(struct pw_cuda_devices *devices, int64_t now_ns)
{
    for (int i = 0; i < DEVICES; i++) {
        struct device *d = &devices->all[i];
        if (!d->is_known || !d->is_used || d->is_sampled)
            continue;
        if (!devices->sampler)
            devices->sampler = pw_nvml_sampler_create();
        d->is_sampled = devices->sampler != NULL;
        if (d->is_sampled)
            pw_nvml_sampler_add(devices->sampler, i, d->row.uuid);
    }
    if (!devices->sampler)
        return;
    append_samples(devices, pw_rankfile_append_measured);
    pw_nvml_sampler_ask(devices->sampler, now_ns);
}

static void finish_samples(struct pw_cuda_devices *devices, int64_t end_ns)
{
    pw_nvml_sampler_stop(devices->sampler, end_ns);
    append_samples(devices, pw_rankfile_append);
    struct pw_nvml_costs costs;
    pw_nvml_sampler_costs(devices->sampler, &costs);
    if (costs.sample_ns > 0)
        pw_rankfile_overhead(devices->file, "nvml_sample", costs.sample_ns, "ns");
    if (costs.missed)
        pw_rankfile_overhead(devices->file, "nvml_missed", (double)costs.missed, "samples");
}

static void place_device(struct pw_cuda_devices *devices, struct device *d)
{
    if (pw_nvml_sampler_place(devices->sampler, d->row.device, d->row.bus_id,
                              sizeof(d->row.bus_id)))
        memcpy(d->row.uuid, "MIG", 3);
}

void pw_cuda_devices_finish(struct pw_cuda_devices *devices, int64_t end_ns)
{
    if (devices->sampler)
        finish_samples(devices, end_ns);
    for (int i = 0; i < DEVICES; i++) {
        struct device *d = &devices->all[i];
        if (!d->is_known)
            continue;
        snprintf(d->row.name, sizeof(d->row.name), "%s",
                 pw_rankfile_borrow_text(devices->file, d->name));
        if (d->is_sampled)
            place_device(devices, d);
        pw_rankfile_append(devices->file, PW_TABLE_device, &d->row);
    }
}

void pw_cuda_devices_destroy(struct pw_cuda_devices *devices)
{
    if (!devices)
        return;
    pw_nvml_sampler_destroy(devices->sampler);
    free(devices);
}
