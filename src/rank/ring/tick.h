/* The clock of the records. The collector chooses one for each segment: the processor's counter
 * when the kernel itself uses it, else CLOCK_MONOTONIC_RAW (18 ns per read on x86-64), which NTP
 * daemons do not adjust. The counter is the invariant TSC of x86-64 (8 ns per read), or CNTVCT_EL0
 * of aarch64. Read on both sides of the shared memory; in-app safe. */
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
#elif defined(__aarch64__)
    uint64_t ticks;
    if (__builtin_expect(source == PW_TICK_TSC, 1)) {
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#else
    (void)source;
#endif
    return (uint64_t)pw_local_ns();
}

#endif
