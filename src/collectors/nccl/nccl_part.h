/* Parts of an operation (level 2): the channels of its kernel, and what proxy threads do for it.
 * Used by nccl_event.c, whose events they are, and which holds the thread before each call. In-app
 * code. */
#ifndef PW_NCCL_PART_H
#define PW_NCCL_PART_H

#include "collectors/nccl/nccl_slot.h"
#include "rank/probe/probe.h"

/* Copies the record into the held thread's ring (nccl_event.c). */
void pw_nccl_write(struct pw_thread *thread, const struct pw_record *record);

/* The record of a channel or proxy event that ends at `now`. */
void pw_nccl_part_write(struct pw_thread *thread, enum pw_nccl_kind kind,
                        const struct pw_nccl_slot *slot, uint64_t now);

/* A step ends: what it waited goes to the proxy's event. */
void pw_nccl_step_end(struct pw_nccl_slot *slot, uint64_t now);

#endif
