/* Stores the size of each allocation by its address, because rocprofiler reports only the address
 * when memory is freed. Called only by the thread of rocprofiler's buffer. In-app code: the table
 * has a fixed size; allocations that do not fit are counted. */
#ifndef PW_ROCM_MEMORY_H
#define PW_ROCM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct pw_rocm_change {
    int device;
    int64_t delta_bytes;
};

/* `is_handle`: for memory that the program maps itself, the number is a handle, not an address. */
struct pw_rocm_place {
    uint64_t address;
    bool is_handle;
    uint64_t ns; /* time of allocation or free, by rocprofiler's clock */
};

/* Adds an allocation. Returns false when the table is full. *replaced is an earlier allocation at
 * this address whose free was not reported yet; 0 bytes: none. */
bool pw_rocm_memory_allocate(const struct pw_rocm_place *place, struct pw_rocm_change given,
                             struct pw_rocm_change *replaced);

/* Removes an allocation. Returns false when it is not device memory or was already freed. */
bool pw_rocm_memory_free(const struct pw_rocm_place *place, struct pw_rocm_change *freed);

#endif
