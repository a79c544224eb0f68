/* The process groups of torch.distributed that run on Gloo: their members, and how many collectives
 * each has begun.
 *
 * Owns the table of groups by the address of PyTorch's object; a later object at the same address
 * takes the entry over. Called by torch_wrap.c, and by PyTorch's import hook (python/profwrap)
 * through profwrap_torch_v1. In-app code: never blocks, prints or exits; memory comes from the
 * arena. */
#ifndef PW_TORCH_GROUP_H
#define PW_TORCH_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "rank/probe/probe.h"

struct pw_torch_group {
    const void *_Atomic object; /* PyTorch's; NULL: free */
    uint32_t index;             /* of its PW_REC_TORCH_GROUP */
    int32_t size, my_rank;
    uint64_t uid;
    const int32_t *world;         /* [size] world rank of each member; NULL: not known */
    _Atomic uint32_t collectives; /* begun so far */
};

/* The next group that the calling thread makes has this name and these members, `size` world ranks.
 * Texts and ranks are copied. */
void pw_torch_group_announce(const char *name, const int32_t *world, int size);

/* A group was made at `object`; `my_rank` of `size`. Its name and members are those announced
 * before on this thread if their number is `size`; else the members are all ranks of the job, if
 * they are as many, or not known. */
void pw_torch_group_made(struct pw_thread *thread, const void *object, int my_rank, int size);

/* NULL: it was made before the probe could see it, or there are too many. */
struct pw_torch_group *pw_torch_group_find(const void *object);

/* World rank of a rank of the group, -1 not known. */
int32_t pw_torch_group_world(const struct pw_torch_group *group, int64_t rank);

#endif
