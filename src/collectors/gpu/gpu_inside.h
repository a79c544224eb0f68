/* What the collectors of all makers need in the application: records that wait a while for room,
 * counted losses, and a thread of their own. In-app code, called by the worker thread and by
 * callbacks of the makers' libraries; only the worker may wait. */
#ifndef PW_GPU_INSIDE_H
#define PW_GPU_INSIDE_H

#include "collectors/gpu/gpu_loss.h"
#include "rank/probe/probe.h"

/* So many records are lost, now. */
void pw_gpu_lose(struct pw_gpu_loss *loss, size_t n);

/* A gap for what was lost since the last, `op` as in PW_REC_GPU_GAP. */
void pw_gpu_put_loss(struct pw_thread *thread, struct pw_gpu_loss *loss, uint16_t reason,
                     int patience_ms);

/* Writes one record, waiting for room a while: for threads that are not the application's. False:
 * there was none, which the ring has counted. */
bool pw_gpu_put(struct pw_thread *thread, const struct pw_record *record, int patience_ms);

/* A detached thread to which none of the application's signals comes. It is started before the
 * vendor's library is set up, because without it nothing may be recorded: no thread would read it.
 */
struct pw_gpu_worker {
    void (*work)(void);
    _Atomic uint32_t order; /* futex: it sleeps on it until there is an order */
};

/* Starts it; it waits for pw_gpu_worker_order(). 0 or -errno. */
int pw_gpu_worker_start(struct pw_gpu_worker *worker, void (*work)(void));

/* It begins to work, or ends; once. */
void pw_gpu_worker_order(struct pw_gpu_worker *worker, bool works);

#endif
