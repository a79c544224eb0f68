/* What a maker's collector adds to what is the same for all GPUs. CUDA and ROCm each fill in one
 * of these tables; only gpu_tool.c calls it. Tool half. */
#ifndef PW_GPU_VENDOR_H
#define PW_GPU_VENDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/gpu/gpu_device.h"
#include "rank/collect/collector.h"

/* What the application's half has said of itself, and what came of it. */
struct pw_gpu_said {
    bool is_there, is_recording;
    uint32_t version;
    int32_t result;        /* the library's, or a reason of the collector's own */
    uint64_t device_bytes; /* that the library may take on each device; 0: it does not say */
    int64_t overhead_ns, records;
    uint32_t lacking; /* bits of enum pw_gpu_lack, at any time */
    int32_t lacking_result;
};

struct pw_gpu_vendor {
    enum pw_gpu_make make;
    /* Why nothing was recorded. Without a full stop; `out` is cut to `size`. */
    void (*refusal)(const struct pw_gpu_said *said, char *out, size_t size);
    /* Rows of /overhead. */
    void (*overhead)(struct pw_rankfile *file, const struct pw_gpu_said *said);
    /* The row's uuid and place on the bus, of PW_REC_GPU_DEVICE. */
    void (*identify)(const struct pw_record *record, struct pw_row_device *row);
    /* Samples of devices in use; all NULL: none are taken. finish() comes before the rows of
     * /devices are written, which it may complete. */
    void *(*create_samples)(struct pw_rankfile *file, struct pw_gpu_devices *devices);
    void (*sample)(void *samples, int64_t now_ns);
    void (*finish_samples)(void *samples, int64_t end_ns);
    void (*destroy_samples)(void *samples);
    pw_salvage *salvage; /* NULL: nothing is left in shared memory */
};

extern const struct pw_gpu_vendor pw_gpu_cuda, pw_gpu_rocm;

#endif
