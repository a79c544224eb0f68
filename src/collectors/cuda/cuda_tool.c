/* The table of functions for NVIDIA's GPUs; see gpu_vendor.h. */
#include <stdio.h>

#include "collectors/cuda/cuda_refusal.h"
#include "collectors/cuda/cuda_salvage.h"
#include "collectors/cuda/cuda_samples.h"
#include "collectors/gpu/gpu_vendor.h"

static void refusal(const struct pw_gpu_said *said, char *out, size_t size)
{
    pw_cuda_refusal_write(said->result, said->version, out, size);
}

static void overhead(struct pw_rankfile *file, const struct pw_gpu_said *said)
{
    pw_rankfile_overhead(file, "cupti_version", (double)said->version, "1");
    pw_rankfile_overhead(file, "cupti_result", (double)said->result, "1");
    pw_rankfile_overhead(file, "cupti_overhead", (double)said->overhead_ns, "ns");
    if (said->device_bytes)
        pw_rankfile_overhead(file, "cupti_device_memory", (double)said->device_bytes, "bytes");
    pw_rankfile_overhead(file, "cuda_records", (double)said->records, "records");
}

static void identify(const struct pw_record *record, struct pw_row_device *row)
{
    const unsigned char *b = record->device.uuid;
    snprintf(row->uuid, sizeof(row->uuid),
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
}

const struct pw_gpu_vendor pw_gpu_cuda = {
    .make = PW_GPU_CUDA,
    .refusal = refusal,
    .overhead = overhead,
    .identify = identify,
    .create_samples = pw_cuda_samples_create,
    .sample = pw_cuda_samples_take,
    .finish_samples = pw_cuda_samples_finish,
    .destroy_samples = pw_cuda_samples_destroy,
    .salvage = pw_cuda_salvage,
};
