/* The table of GPUs, by the device number that the program uses; see gpu_device.h. */
#include "collectors/gpu/gpu_device.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct device {
    bool is_known, is_used;
    struct pw_row_device row;
    uint32_t name; /* row of /strings; its text may come later */
};

struct pw_gpu_devices {
    struct pw_rankfile *file;
    struct device all[PW_GPU_DEVICES];
};

struct pw_gpu_devices *pw_gpu_devices_create(struct pw_rankfile *file)
{
    struct pw_gpu_devices *d = calloc(1, sizeof(*d));
    if (d)
        d->file = file;
    return d;
}

void pw_gpu_devices_add(struct pw_gpu_devices *devices, const struct pw_record *record,
                        const struct pw_origin *origin,
                        void (*identify)(const struct pw_record *record, struct pw_row_device *row))
{
    struct device *d = record->op < PW_GPU_DEVICES ? &devices->all[record->op] : NULL;
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
    identify(record, &d->row);
    d->name = pw_origin_name(origin, record->stack);
}

void pw_gpu_devices_use(struct pw_gpu_devices *devices, unsigned number)
{
    if (number < PW_GPU_DEVICES)
        devices->all[number].is_used = true;
}

struct pw_row_device *pw_gpu_devices_used(struct pw_gpu_devices *devices, unsigned number)
{
    struct device *d = number < PW_GPU_DEVICES ? &devices->all[number] : NULL;
    return d && d->is_known && d->is_used ? &d->row : NULL;
}

void pw_gpu_devices_finish(struct pw_gpu_devices *devices)
{
    for (int i = 0; i < PW_GPU_DEVICES; i++) {
        struct device *d = &devices->all[i];
        if (!d->is_known)
            continue;
        snprintf(d->row.name, sizeof(d->row.name), "%s",
                 pw_rankfile_borrow_text(devices->file, d->name));
        pw_rankfile_append(devices->file, PW_TABLE_device, &d->row);
    }
}

void pw_gpu_devices_destroy(struct pw_gpu_devices *devices)
{
    free(devices);
}
