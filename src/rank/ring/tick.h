/* The clock of the records. The collector chooses one for each segment: the TSC (8 ns per read)
 * when the kernel itself uses the invariant TSC, else CLOCK_MONOTONIC_RAW (18 ns per read), which
 * NTP daemons do not adjust. Read on both sides of the shared memory; in-app safe. */
#ifndef PW_RANK_RING_TICK_H
#define PW_RANK_RING_TICK_H

#include <stdint.h>
#include <time.h>

enum pw_tick_source { PW_TICK_RAW = 0, PW_TICK_TSC = 1 };

/* Local time in ns: CLOCK_MONOTONIC_RAW of the caller's time namespace. */
static inline int64_t pw_local_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline uint64_t pw_tick_read(enum pw_tick_source source)
{
#if defined(__x86_64__)
    if (__builtin_expect(source == PW_TICK_TSC, 1))
        return __builtin_ia32_rdtsc();
#else
    (void)source;
#endif
    return (uint64_t)pw_local_ns();
}

#endif
