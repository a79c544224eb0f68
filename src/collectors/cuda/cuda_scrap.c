/* Buffers whose content is lost; see cuda_scrap.h. */
#include "collectors/cuda/cuda_scrap.h"

#include <stdatomic.h>

#include "collectors/cuda/cuda_subscriber.h"

/* Scrap buffers are small, because records are lost until the buffer is full, even when the pool
 * has room again. CUPTI uses one or two at a time; with buffers per thread, one more for each
 * thread. */
enum { SCRAPS = 64, SCRAP_BYTES = 16 << 10 };

static struct {
    _Atomic int is_taken[SCRAPS];
    _Alignas(64) uint8_t bytes[SCRAPS][SCRAP_BYTES];
    /* Given out when all scrap buffers are in use; to any number of users at once, because it is
     * never read. */
    _Alignas(64) uint8_t shared[SCRAP_BYTES];
} scrap;

void pw_scrap_take(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *size = SCRAP_BYTES;
    *most_records = 0;
    for (int i = 0; i < SCRAPS; i++) {
        int no = 0;
        if (!atomic_compare_exchange_strong(&scrap.is_taken[i], &no, 1))
            continue;
        *buffer = scrap.bytes[i];
        return;
    }
    *buffer = scrap.shared;
    *most_records = 1; /* so each buffer is one lost record */
}

static size_t count_records(uint8_t *bytes, size_t used)
{
    void *at = NULL;
    size_t n = 0;
    while (pw_subscriber_next(bytes, used, &at) == PW_CUPTI_SUCCESS && at)
        n++;
    return n;
}

bool pw_scrap_complete(uint8_t *buffer, size_t used, size_t *lost)
{
    const uintptr_t offset = (uintptr_t)buffer - (uintptr_t)scrap.bytes;
    if (buffer == scrap.shared) {
        *lost = used != 0;
        return true;
    }
    if (offset >= sizeof(scrap.bytes))
        return false;
    *lost = used ? count_records(buffer, used < SCRAP_BYTES ? used : SCRAP_BYTES) : 0;
    atomic_store(&scrap.is_taken[offset / SCRAP_BYTES], 0);
    return true;
}
