/* Opens NVML, the driver's monitoring library, and fills the table of its functions. Only the
 * thread of nvml_sampler.c calls it, because a call may take seconds or never return. Nothing is
 * linked with NVML. */
#ifndef PW_NVML_H
#define PW_NVML_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tables.h"

struct pw_nvml;
struct pw_nvml_device; /* NVML's */

/* A GPU, or an instance of a divided GPU (MIG). `memory` is the instance, `device` the whole GPU,
 * from which all other values are read. */
struct pw_nvml_target {
    struct pw_nvml_device *device, *memory; /* NULL: not found */
};

/* Returns NULL when there is no NVML or no driver. */
struct pw_nvml *pw_nvml_open(void);

/* Finds a GPU by its UUID, "GPU-xxxxxxxx-...", as CUDA writes it. NVML writes "MIG-" and the same
 * digits for an instance. */
struct pw_nvml_target pw_nvml_find(const struct pw_nvml *nvml, const char *uuid);

/* Writes its address on the PCI bus; "" when it cannot be read. */
void pw_nvml_bus(const struct pw_nvml *nvml, const struct pw_nvml_target *target, char *out,
                 size_t size);

/* Fills in all fields except time and device; -1: not readable. Fields that take long to read are
 * changed only with `slow`. */
void pw_nvml_read(const struct pw_nvml *nvml, const struct pw_nvml_target *target, int slow,
                  struct pw_row_gpu *out);

/* Registers for errors of the GPU. */
void pw_nvml_watch(struct pw_nvml *nvml, const struct pw_nvml_target *target);

/* Takes the next error of any registered GPU: its XID and instance, and in *whose the GPU. Returns
 * false when there is none. */
bool pw_nvml_next_error(const struct pw_nvml *nvml, struct pw_row_gpu_error *out,
                        struct pw_nvml_device **whose);

/* Returns NVML's function of this name, or NULL. */
void *pw_nvml_symbol(const struct pw_nvml *nvml, const char *name);

void pw_nvml_close(struct pw_nvml *nvml);

#endif
