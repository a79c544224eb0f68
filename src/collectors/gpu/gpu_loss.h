/* How many records a maker's collector lost since it last said so. It may lie in shared memory, so
 * that the collector's process can say what the application's could not any more: atomic numbers
 * only, no pointers. Used by the structs that the two makers' in-app code shares (cuda_notes.h,
 * gpu_inside.h). */
#ifndef PW_GPU_LOSS_H
#define PW_GPU_LOSS_H

#include <stdatomic.h>
#include <stdint.h>

struct pw_gpu_loss {
    _Atomic uint64_t n;
    _Atomic uint64_t start; /* ticks: about when the first of these */
};

#endif
