/* The capture method of this process; see nccl_way.h. */
#include "collectors/nccl/nccl_way.h"

static _Atomic int best = PW_NCCL_BY_CALLS;

void pw_nccl_way_take(enum pw_nccl_way way)
{
    int before = atomic_load_explicit(&best, memory_order_relaxed);
    while ((int)way < before && !atomic_compare_exchange_weak(&best, &before, way))
        ;
}

int pw_nccl_way_is(enum pw_nccl_way way)
{
    return atomic_load_explicit(&best, memory_order_relaxed) == (int)way;
}
