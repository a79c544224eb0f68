/* The process groups of torch.distributed that run on Gloo: the members of each group, and the
 * number of collectives that it has begun.
 *
 * Owns the table of groups. Its key is the address of PyTorch's group object; a new object at the
 * same address replaces the entry. Called by torch_wrap.c, and by the import hook for PyTorch
 * (python/profwrap) through profwrap_torch_v1. In-app code: never blocks, prints or exits; memory
 * comes from the arena. */
#ifndef PW_TORCH_GROUP_H
#define PW_TORCH_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "rank/probe/probe.h"

struct pw_torch_group {
    const void *_Atomic object; /* PyTorch's group object; NULL: free entry */
    uint32_t index;             /* number of the group in records */
    int32_t size, my_rank;
    uint64_t uid;
    const int32_t *world;         /* [size] world rank of each member; NULL: not known */
    _Atomic uint32_t collectives; /* collectives begun so far */
};

/* Announces the name and the members (`size` world ranks) of the next group that the calling thread
 * creates. Both are copied. */
void pw_torch_group_announce(const char *name, const int32_t *world, int size);

/* The program created a group of `size` members, in which this rank is `my_rank`; `object` is its
 * address. If this thread has announced a group of the same size, the name and the members are
 * those announced. Otherwise the members are all ranks of the job if the job has `size` ranks, and
 * unknown if not. */
void pw_torch_group_made(struct pw_thread *thread, const void *object, int my_rank, int size);

/* The group at `object`; NULL: it was created before the probe was loaded, or there are too many
 * groups. */
struct pw_torch_group *pw_torch_group_find(const void *object);

/* The world rank of a rank of the group; -1: not known. */
int32_t pw_torch_group_world(const struct pw_torch_group *group, int64_t rank);

#endif
