/* What the application's half writes into shared memory beside CUPTI's buffers, so that the
 * collector can read these after the application's death: sizes of records, names, losses. The
 * worker writes it; only cuda_salvage.c reads it in the collector. Nothing in it is a pointer that
 * may be followed there. */
#ifndef PW_CUDA_NOTES_H
#define PW_CUDA_NOTES_H

#include <stdatomic.h>
#include <stdint.h>

#include "collectors/cuda/cupti_layout.h"
#include "collectors/gpu/gpu_loss.h"
#include "rank/ring/pool.h"

enum {
    PW_CUDA_NAMES = 8192,     /* a power of two */
    PW_CUDA_FUNCTIONS = 1024, /* of the runtime, and of the driver */
    PW_CUDA_KNOWN = 1 << 30,  /* set in each of them that is known; the rest is its name's id */
    PW_CUDA_LAUNCHER = 1 << 29,
};

/* Why there is nothing of GPUs; other values are CUPTI's own results, which are smaller. */
enum pw_cuda_refusal {
    PW_CUDA_NO_LIBRARY = 1000,
    PW_CUDA_OLD_LIBRARY,
    PW_CUDA_NO_THREAD, /* of ours, to read what CUPTI writes */
    PW_CUDA_TAKEN,     /* the program used CUPTI when CUDA began, and until the end */
};

struct pw_cuda_name {
    _Atomic uint64_t address; /* of the text, in the application; 0 none */
    _Atomic uint32_t id;
};

struct pw_cuda_notes {
    /* Bytes from one record of a kind to the next, as seen; 0 not yet. */
    _Atomic uint32_t stride[PW_CUPTI_KINDS];
    _Atomic uint64_t taken_since; /* ticks: another has CUPTI; 0: no other has */
    _Atomic uint32_t taken_by;    /* its name */
    _Atomic uint32_t keeps_calls;
    struct pw_gpu_loss dropped, untimed; /* that are in no record yet */
    _Atomic uint32_t scraps;             /* buffers that CUPTI has, whose content will be lost */
    _Atomic uint64_t last_pass;          /* ticks: when buffers were last looked at */
    _Atomic uint32_t functions[2][PW_CUDA_FUNCTIONS]; /* driver, runtime */
    struct pw_cuda_name names[PW_CUDA_NAMES];
};
static_assert(sizeof(struct pw_cuda_notes) <= PW_POOL_NOTES, "they fit");

/* Where the name at an address is, or the free place for it; NULL when there is none. */
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
