/* NVML's GPM measurements (from Hopper on): how busy a GPU's multiprocessors, their units and its
 * memory were between two samples. Used only by the thread of nvml_sampler.c. */
#ifndef PW_NVML_GPM_H
#define PW_NVML_GPM_H

#include <stdint.h>

#include "collectors/cuda/nvml.h"

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
