/* The functions of a GPU vendor, which gpu_tool.c calls, and the table of devices that they share.
 * CUDA and ROCm each fill in one struct pw_gpu_vendor. A new vendor begins with a value of enum
 * pw_gpu_make (rank/ring/record.h); then come a folder beside cuda/ and rocm/, a row of `vendors`
 * in gpu_tool.c, and gpu_present.c. Tool half; nothing else calls them. */
#ifndef PW_GPU_VENDOR_H
#define PW_GPU_VENDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rank/collect/module.h"

/* ---- the table of the GPUs that the program can use, and the rows of /devices: gpu_tool.c adds
 * the devices that the application reported; the vendor's module completes a row before it is
 * written, at the end ---- */

enum { PW_GPU_DEVICES = 64 };

struct pw_gpu_devices;

/* Returns the row of the device so far; NULL when nothing ran on it or it was not reported. */
struct pw_row_device *pw_gpu_devices_used(struct pw_gpu_devices *devices, unsigned number);

/* ---- a vendor ---- */

/* The state that the in-app half has reported. */
struct pw_gpu_said {
    bool is_there, is_recording;
    uint32_t version;
    int32_t result;        /* the library's, or a reason of the module's own */
    uint64_t device_bytes; /* memory that the library may use on each device; 0: not known */
    int64_t overhead_ns, records;
    uint32_t lacking; /* bits of enum pw_gpu_lack that were set at any time */
    int32_t lacking_result;
};

struct pw_gpu_vendor {
    enum pw_gpu_make make;
    /* Writes why nothing was recorded, without a full stop, cut to `size`. */
    void (*refusal)(const struct pw_gpu_said *said, char *out, size_t size);
    /* Writes rows of /overhead. */
    void (*overhead)(struct pw_rankfile *file, const struct pw_gpu_said *said);
    /* Sets the row's uuid and bus address from a PW_REC_GPU_DEVICE. */
    void (*identify)(const struct pw_record *record, struct pw_row_device *row);
    /* Take samples of the devices in use; all NULL: no samples. finish_samples() is called before
     * the rows of /devices are written, so it can complete them. */
    void *(*create_samples)(struct pw_rankfile *file, struct pw_gpu_devices *devices);
    void (*sample)(void *samples, int64_t now_ns);
    void (*finish_samples)(void *samples, int64_t end_ns);
    void (*destroy_samples)(void *samples);
    pw_salvage *salvage; /* NULL: the vendor leaves nothing in shared memory */
};

extern const struct pw_gpu_vendor pw_gpu_cuda, pw_gpu_rocm;

#endif
