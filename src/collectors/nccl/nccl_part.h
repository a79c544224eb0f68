/* Events of the parts of an operation (level 2): the channels of its kernel, and the work of proxy
 * threads. Called by nccl_event.c, which locks the thread before each call. In-app code. */
#ifndef PW_NCCL_PART_H
#define PW_NCCL_PART_H

#include "collectors/nccl/nccl_slot.h"
#include "rank/probe/probe.h"

/* Copies the record into the ring of the locked thread (in nccl_event.c). */
void pw_nccl_write(struct pw_thread *thread, const struct pw_record *record);

/* Writes the record of a channel or proxy event that ends at `now`. */
void pw_nccl_part_write(struct pw_thread *thread, enum pw_nccl_kind kind,
                        const struct pw_nccl_slot *slot, uint64_t now);

/* Ends a step and adds its waits to the proxy's event. */
void pw_nccl_step_end(struct pw_nccl_slot *slot, uint64_t now);

#endif
