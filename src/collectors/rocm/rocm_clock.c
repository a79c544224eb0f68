/* Interpolates between readings of two clocks; see rocm_clock.h. */
#include "collectors/rocm/rocm_clock.h"

#include <stdbool.h>

void pw_rocm_clock_add(struct pw_rocm_clock *clock, struct pw_rocm_reading reading)
{
    const uint32_t n = atomic_load_explicit(&clock->count, memory_order_relaxed);
    if (n && reading.ns <= clock->readings[(n - 1) % PW_ROCM_READINGS].ns)
        return;
    clock->readings[n % PW_ROCM_READINGS] = reading;
    atomic_store_explicit(&clock->count, n + 1, memory_order_release);
}

/* Returns the ticks on the line through two readings, also outside of them. */
static uint64_t on_line(struct pw_rocm_reading a, struct pw_rocm_reading b, uint64_t ns)
{
    const double rate =
        b.ns > a.ns ? (double)(int64_t)(b.ticks - a.ticks) / (double)(b.ns - a.ns) : 1;
    return b.ticks + (uint64_t)(int64_t)(rate * (double)(int64_t)(ns - b.ns));
}

/* Outside the readings, uses the rate between the first and the last one: two adjacent readings may
 * be too close. */
uint64_t pw_rocm_clock_ticks(const struct pw_rocm_clock *clock, struct pw_rocm_reading now,
                             uint64_t ns)
{
    const uint32_t n = atomic_load_explicit(&clock->count, memory_order_acquire);
    const bool is_within = ns <= now.ns;
    struct pw_rocm_reading newer = now, oldest = now;
    for (uint32_t i = 0; i < n && i < PW_ROCM_READINGS_KEPT; i++) {
        oldest = clock->readings[(n - 1 - i) % PW_ROCM_READINGS];
        if (is_within && ns >= oldest.ns)
            return on_line(oldest, newer, ns);
        newer = oldest;
    }
    return on_line(oldest, now, ns);
}
