/* The groups of ranks on which MindSpore's collectives on CPUs run. A group is identified by its
 * members, because each call of the library has the list of members. Owns the table of groups.
 * Called by mccl_wrap.c. In-app code: never blocks, prints or exits; memory comes from the arena.
 */
#ifndef PW_MCCL_GROUP_H
#define PW_MCCL_GROUP_H

#include <stdint.h>

#include "rank/probe/probe.h"

struct pw_mccl_group {
    _Atomic uint64_t uid; /* 0: free entry */
    uint32_t index;       /* number of the group in records */
    int32_t size, my_rank;
    const int32_t *world;         /* [size] world rank of each member; NULL: not known */
    _Atomic uint32_t collectives; /* collectives begun so far */
    _Atomic uint32_t is_ready;    /* 1: what is above may be read */
    _Atomic uint32_t is_told;     /* 1: its records are in a ring */
};

/* The group with these members, of which `mine` is this rank's; NULL: there are too many, or
 * `world` cannot be a list of ranks. */
struct pw_mccl_group *pw_mccl_group_find(const uint32_t *world, uint32_t size, uint32_t mine);

/* Records the group, once. The thread has locked the probe. */
void pw_mccl_group_tell(struct pw_thread *thread, struct pw_mccl_group *group);

#endif
