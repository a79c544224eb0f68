/* Converts times of rocprofiler's clock to ticks of ours, by interpolation between pairs of
 * readings of both clocks. Used by rocm_session.c and rocm_records.c: one thread adds readings,
 * another converts. In-app code, without locks. */
#ifndef PW_ROCM_CLOCK_H
#define PW_ROCM_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

enum { PW_ROCM_READINGS = 64, PW_ROCM_READINGS_KEPT = 48 };

struct pw_rocm_reading {
    uint64_t ticks; /* of our clock */
    uint64_t ns;    /* of rocprofiler's clock: CLOCK_BOOTTIME, whose rate NTP changes */
};

struct pw_rocm_clock {
    _Atomic uint32_t count;
    struct pw_rocm_reading readings[PW_ROCM_READINGS];
};

/* Adds a reading; ignores it when its time is not later than that of the last one. */
void pw_rocm_clock_add(struct pw_rocm_clock *clock, struct pw_rocm_reading reading);

/* Returns our ticks at rocprofiler's time `ns`. `now` is a reading that is later than all added
 * ones. */
uint64_t pw_rocm_clock_ticks(const struct pw_rocm_clock *clock, struct pw_rocm_reading now,
                             uint64_t ns);

#endif
