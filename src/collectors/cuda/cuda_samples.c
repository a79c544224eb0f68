/* Samples of the devices in use; see cuda_samples.h. */
#include "collectors/cuda/cuda_samples.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cuda/nvml_sampler.h"

struct samples {
    struct pw_rankfile *file;
    struct pw_gpu_devices *devices;
    struct pw_nvml_sampler *sampler; /* NULL before the first sample of a device */
    bool is_sampled[PW_GPU_DEVICES];
};

void *pw_cuda_samples_create(struct pw_rankfile *file, struct pw_gpu_devices *devices)
{
    struct samples *s = calloc(1, sizeof(*s));
    if (s) {
        s->file = file;
        s->devices = devices;
    }
    return s;
}

/* Appends the samples that are finished. `append` writes to the file, and to the journal while
 * there is one. */
static void append_samples(struct samples *s,
                           void (*append)(struct pw_rankfile *, enum pw_table_id, const void *))
{
    struct pw_row_gpu sample;
    struct pw_row_gpu_error error;
    struct pw_nvml_gap gap;
    while (pw_nvml_sampler_error(s->sampler, &error))
        append(s->file, PW_TABLE_gpu_error, &error);
    while (pw_nvml_sampler_take(s->sampler, &sample))
        append(s->file, PW_TABLE_gpu, &sample);
    while (pw_nvml_sampler_gap(s->sampler, &gap)) {
        const struct pw_row_gap row = {.start = gap.start,
                                       .end = gap.end,
                                       .reason = PW_REASON_NVML_LATE,
                                       .kind = PW_LOST_DEVICE,
                                       .thread = UINT16_MAX,
                                       .lost = gap.lost};
        append(s->file, PW_TABLE_gap, &row);
    }
}

void pw_cuda_samples_take(void *samples, int64_t now_ns)
{
    struct samples *s = samples;
    for (unsigned i = 0; i < PW_GPU_DEVICES; i++) {
        const struct pw_row_device *device = pw_gpu_devices_used(s->devices, i);
        if (!device || s->is_sampled[i])
            continue;
        if (!s->sampler)
            s->sampler = pw_nvml_sampler_create();
        s->is_sampled[i] = s->sampler != NULL;
        if (s->is_sampled[i])
            pw_nvml_sampler_add(s->sampler, (int)i, device->uuid);
    }
    if (!s->sampler)
        return;
    append_samples(s, pw_rankfile_append_measured);
    pw_nvml_sampler_ask(s->sampler, now_ns);
}

static void place_device(struct samples *s, struct pw_row_device *device)
{
    if (pw_nvml_sampler_describe(s->sampler, device->device, device))
        memcpy(device->uuid, "MIG", 3);
}

void pw_cuda_samples_finish(void *samples, int64_t end_ns)
{
    struct samples *s = samples;
    struct pw_nvml_costs costs;
    if (!s->sampler)
        return;
    pw_nvml_sampler_stop(s->sampler, end_ns);
    append_samples(s, pw_rankfile_append);
    pw_nvml_sampler_costs(s->sampler, &costs);
    if (costs.sample_ns > 0)
        pw_rankfile_overhead(s->file, "nvml_sample", costs.sample_ns, "ns");
    if (costs.missed)
        pw_rankfile_overhead(s->file, "nvml_missed", (double)costs.missed, "samples");
    for (unsigned i = 0; i < PW_GPU_DEVICES; i++)
        if (s->is_sampled[i])
            place_device(s, pw_gpu_devices_used(s->devices, i));
}

void pw_cuda_samples_destroy(void *samples)
{
    struct samples *s = samples;
    if (!s)
        return;
    pw_nvml_sampler_destroy(s->sampler);
    free(s);
}
