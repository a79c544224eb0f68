/* Opens NVML, the driver's monitoring library, and fills the table of its functions. Only the
 * thread of nvml_sampler.c calls it, because a call may take seconds or never return. Nothing is
 * linked with NVML. */
#ifndef PW_NVML_H
#define PW_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

void pw_nvml_close(struct pw_nvml *nvml);

/* NVML's GPM measurements (from Hopper on): how busy a GPU's multiprocessors, their units and its
 * memory were between two samples. */

/* The measurement of one GPU, or of an instance of a divided GPU. */
struct pw_gpm;

/* Bytes of the text in /devices: "measured", or why not. */
#define PW_GPM_STATE_BYTES 32

/* Returns NULL, and the reason in `state`, when the GPU cannot be measured. */
struct pw_gpm *pw_gpm_open(const struct pw_nvml *nvml, const struct pw_nvml_target *target,
                           char state[PW_GPM_STATE_BYTES]);

/* Fills in the row's GPM fields for the time since the last reading. gpm_ns is 0 when there are no
 * values: at the first reading, too soon after the last one, and when reading fails; then `state`
 * has the reason. */
void pw_gpm_read(struct pw_gpm *gpm, int64_t now_ns, struct pw_row_gpu *out,
                 char state[PW_GPM_STATE_BYTES]);

/* Sets the row's GPM fields to "not known". */
void pw_gpm_clear(struct pw_row_gpu *out);

void pw_gpm_close(struct pw_gpm *gpm);

#endif
