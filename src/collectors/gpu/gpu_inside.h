/* Functions that the modules of all GPU vendors need in the application: writing a record with a
 * short wait for room, counting losses, and a worker thread. In-app code, called by the worker
 * thread and by callbacks of the vendors' libraries; only the worker may wait. */
#ifndef PW_GPU_INSIDE_H
#define PW_GPU_INSIDE_H

#include "collectors/gpu/gpu_loss.h"
#include "rank/probe/probe.h"

/* Counts `n` records as lost now. */
void pw_gpu_lose(struct pw_gpu_loss *loss, size_t n);

/* Writes a PW_REC_GPU_GAP for the losses since the last one; `reason` is its `op`. */
void pw_gpu_put_loss(struct pw_thread *thread, struct pw_gpu_loss *loss, uint16_t reason,
                     int patience_ms);

/* Writes one record, and waits up to `patience_ms` for room: only for threads of the probe. Returns
 * false when there was no room; the ring has counted the loss. */
bool pw_gpu_put(struct pw_thread *thread, const struct pw_record *record, int patience_ms);

/* A detached thread in which all signals are blocked. It is started before the vendor's library is
 * set up: if it cannot be started, nothing is recorded, because no thread would read the library's
 * buffers. */
struct pw_gpu_worker {
    void (*work)(void);
    _Atomic uint32_t order; /* futex on which the thread sleeps until pw_gpu_worker_order() */
};

/* Starts the thread, which waits for pw_gpu_worker_order(). Returns 0 or -errno. */
int pw_gpu_worker_start(struct pw_gpu_worker *worker, void (*work)(void));

/* Makes the thread call `work`, or end. To be called once. */
void pw_gpu_worker_order(struct pw_gpu_worker *worker, bool works);

#endif
