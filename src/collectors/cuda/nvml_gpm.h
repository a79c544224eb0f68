/* What NVML measures on a GPU itself (GPM, from Hopper on): how busy its multiprocessors, their
 * units and its memory were between two samples. Used only by the thread of nvml_sampler.c. */
#ifndef PW_NVML_GPM_H
#define PW_NVML_GPM_H

#include <stdint.h>

#include "collectors/cuda/nvml.h"

/* What is measured on one GPU, or on an instance of one that is divided. */
struct pw_gpm;

/* Why there is nothing of it, or "measured": as in /devices. */
#define PW_GPM_STATE_BYTES 32

/* NULL when it cannot be measured: `state` says why. */
struct pw_gpm *pw_gpm_open(const struct pw_nvml *nvml, const struct pw_nvml_target *target,
                           char state[PW_GPM_STATE_BYTES]);

/* Fills in the row's fields of it, over the time since the last reading; gpm_ns is 0 where there is
 * nothing: at the first reading, soon after another, and when one fails, which `state` then tells.
 */
void pw_gpm_read(struct pw_gpm *gpm, int64_t now_ns, struct pw_row_gpu *out,
                 char state[PW_GPM_STATE_BYTES]);

/* The same for what is not measured. */
void pw_gpm_clear(struct pw_row_gpu *out);

void pw_gpm_close(struct pw_gpm *gpm);

#endif
