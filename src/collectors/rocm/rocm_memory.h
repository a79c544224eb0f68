/* Remembers how much was allocated at which address, because rocprofiler reports only the address
 * of what is freed. One thread calls it, that of rocprofiler's buffer. In-app code: its table has
 * a fixed size, and what has no place is counted. */
#ifndef PW_ROCM_MEMORY_H
#define PW_ROCM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct pw_rocm_change {
    int device;
    int64_t delta_bytes;
};

/* `is_handle`: of memory that the program maps itself, whose numbers are no addresses. */
struct pw_rocm_place {
    uint64_t address;
    bool is_handle;
    uint64_t ns; /* when it was allocated or freed, by their clock */
};

/* False: there is no room to remember it. *replaced: what was at this address is gone, though that
 * was not told yet; 0 bytes: nothing was. */
bool pw_rocm_memory_allocate(const struct pw_rocm_place *place, struct pw_rocm_change given,
                             struct pw_rocm_change *replaced);

/* False: it is no device's, or gone already. */
bool pw_rocm_memory_free(const struct pw_rocm_place *place, struct pw_rocm_change *freed);

#endif
