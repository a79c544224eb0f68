/* A number for a set of CPUs, to tell whether two sets are the same. Used by the samples of
 * processes and by the simulator. A pure function. */
#ifndef PW_CORE_CPUSET_H
#define PW_CORE_CPUSET_H

#include <stdint.h>

#define PW_CPUSET_NONE UINT64_C(0xcbf29ce484222325)

/* Returns the number of the set `set` with the CPU `cpu` added: the FNV-1a hash (Fowler, Noll, Vo)
 * of the CPUs' numbers. Add CPUs in rising order. */
static inline uint64_t pw_cpuset_with(uint64_t set, int64_t cpu)
{
    return (set ^ (uint64_t)cpu) * UINT64_C(0x100000001b3);
}

#endif
