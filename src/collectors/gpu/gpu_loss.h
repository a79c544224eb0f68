/* Counts records that a GPU module has lost since the last record that reports losses. The
 * struct may be in shared memory, so that the collector process can report losses of a killed
 * application; it has only atomic numbers and no pointers. Used in the in-app code of both vendors
 * (cuda_notes.h, gpu_inside.h). */
#ifndef PW_GPU_LOSS_H
#define PW_GPU_LOSS_H

#include <stdatomic.h>
#include <stdint.h>

struct pw_gpu_loss {
    _Atomic uint64_t n;
    _Atomic uint64_t start; /* ticks: about the time of the first of these losses */
};

#endif
