/* Data in shared memory that the collector needs to read CUPTI's buffers after the application was
 * killed: sizes of records, names, losses. Written by the worker thread in the application, read
 * only by cuda_tool.c in the collector. It has no pointers that the collector may follow. */
#ifndef PW_CUDA_NOTES_H
#define PW_CUDA_NOTES_H

#include <stdatomic.h>
#include <stdint.h>

#include "collectors/cuda/cupti_layout.h"
#include "collectors/gpu/gpu_loss.h"
#include "rank/ring/pool.h"

enum {
    PW_CUDA_NAMES = 8192,     /* a power of two */
    PW_CUDA_FUNCTIONS = 1024, /* functions of the runtime, and as many of the driver */
    PW_CUDA_KNOWN = 1 << 30,  /* flag of a known function; the other bits are the id of its name */
    PW_CUDA_LAUNCHER = 1 << 29,
};

/* Why no GPU activity was recorded; smaller values are CUPTI's own results. */
enum pw_cuda_refusal {
    PW_CUDA_NO_LIBRARY = 1000,
    PW_CUDA_OLD_LIBRARY,
    PW_CUDA_NO_THREAD, /* the worker thread could not be started */
    PW_CUDA_TAKEN,     /* the program used CUPTI when CUDA began, and until the end */
};

struct pw_cuda_name {
    _Atomic uint64_t address; /* address of the text in the application; 0: none */
    _Atomic uint32_t id;
};

struct pw_cuda_notes {
    /* Observed bytes from one record of a kind to the next; 0: not known. */
    _Atomic uint32_t stride[PW_CUPTI_KINDS];
    _Atomic uint64_t taken_since; /* ticks: since when another profiler has CUPTI; 0: none has */
    _Atomic uint32_t taken_by;    /* name of that profiler */
    _Atomic uint32_t keeps_calls;
    struct pw_gpu_loss dropped, untimed; /* losses that no record reports yet */
    _Atomic uint32_t scraps;             /* scrap buffers that CUPTI has (cuda_buffers.h) */
    _Atomic uint64_t last_pass;          /* ticks: when buffers were last checked */
    _Atomic uint32_t functions[2][PW_CUDA_FUNCTIONS]; /* driver, runtime */
    struct pw_cuda_name names[PW_CUDA_NAMES];
};
static_assert(sizeof(struct pw_cuda_notes) <= PW_POOL_NOTES, "they fit");

/* Returns the slot of the name at an address, or a free slot for it; NULL when the table is
 * full. */
static inline struct pw_cuda_name *pw_cuda_name_slot(struct pw_cuda_notes *notes, uint64_t address)
{
    enum { TRIES = 32 };
    uint64_t at = (address * 0x9e3779b97f4a7c15ull) >> 51;
    for (int i = 0; i < TRIES; i++) {
        struct pw_cuda_name *name = &notes->names[(at + (uint64_t)i) & (PW_CUDA_NAMES - 1)];
        uint64_t found = atomic_load_explicit(&name->address, memory_order_acquire);
        if (found == address || found == 0)
            return name;
    }
    return NULL;
}

#endif
