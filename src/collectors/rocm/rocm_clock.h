/* rocprofiler's clock in terms of ours: pairs of readings of both, between which times are
 * interpolated. One thread adds, another reads. In-app code. */
#ifndef PW_ROCM_CLOCK_H
#define PW_ROCM_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

enum { PW_ROCM_READINGS = 64, PW_ROCM_READINGS_KEPT = 48 };

struct pw_rocm_reading {
    uint64_t ticks; /* ours */
    uint64_t ns;    /* theirs: CLOCK_BOOTTIME, whose rate NTP changes */
};

struct pw_rocm_clock {
    _Atomic uint32_t count;
    struct pw_rocm_reading readings[PW_ROCM_READINGS];
};

/* Readings whose time is not later than the last one's are left out. */
void pw_rocm_clock_add(struct pw_rocm_clock *clock, struct pw_rocm_reading reading);

/* The ticks at their time `ns`; `now` is later than all that were added. */
uint64_t pw_rocm_clock_ticks(const struct pw_rocm_clock *clock, struct pw_rocm_reading now,
                             uint64_t ns);

#endif
