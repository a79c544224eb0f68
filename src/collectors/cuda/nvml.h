/* Opens NVML, the driver's library about its GPUs, and owns the table of its functions. Only the
 * thread of nvml_sampler.c calls it, because a call may take seconds or never return. Nothing is
 * linked with NVML. */
#ifndef PW_NVML_H
#define PW_NVML_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tables.h"

struct pw_nvml;
struct pw_nvml_device; /* NVML's */

/* A GPU, or an instance of one that is divided (MIG): its memory is its own, the rest the GPU's. */
struct pw_nvml_target {
    struct pw_nvml_device *device, *memory; /* NULL: there is none */
};

/* NULL when the library is not there, or has no driver to talk to. */
struct pw_nvml *pw_nvml_open(void);

/* By "GPU-xxxxxxxx-...", as CUDA has it: an instance has "MIG-" and the same digits. */
struct pw_nvml_target pw_nvml_find(const struct pw_nvml *nvml, const char *uuid);

/* Its place on the PCI bus; "" when that cannot be read. */
void pw_nvml_bus(const struct pw_nvml *nvml, const struct pw_nvml_target *target, char *out,
                 size_t size);

/* Fills in all but time and device; -1 where something cannot be read. What is `slow` to read stays
 * as it is unless that is asked for. */
void pw_nvml_read(const struct pw_nvml *nvml, const struct pw_nvml_target *target, int slow,
                  struct pw_row_gpu *out);

/* The driver is to tell of the GPU's errors from now on. */
void pw_nvml_watch(struct pw_nvml *nvml, const struct pw_nvml_target *target);

/* The next error of any GPU that is watched: its XID, the instance, and whose; false: none. */
bool pw_nvml_next_error(const struct pw_nvml *nvml, struct pw_row_gpu_error *out,
                        struct pw_nvml_device **whose);

/* One of the library's functions; NULL: it has none of that name. */
void *pw_nvml_symbol(const struct pw_nvml *nvml, const char *name);

void pw_nvml_close(struct pw_nvml *nvml);

#endif
