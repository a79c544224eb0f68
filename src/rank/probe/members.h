/* Records the members of a group of ranks, as runs of consecutive ranks. Called by the in-app
 * halves of collectors that learn the members as a list (torch, mindspore). In-app code: it never
 * blocks, prints or exits. */
#ifndef PW_RANK_PROBE_MEMBERS_H
#define PW_RANK_PROBE_MEMBERS_H

#include "rank/probe/probe.h"

/* Writes records of type `type` with the `size` members of the group `comm`; `world` has their
 * world ranks, NULL when they are not known. Stops when the ring is full. The thread has locked the
 * probe. */
void pw_members_record(struct pw_thread *thread, uint8_t type, uint32_t comm, const int32_t *world,
                       int32_t size);

#endif
