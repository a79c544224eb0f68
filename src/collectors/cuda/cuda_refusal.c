/* Reasons, and what to do; see cuda_refusal.h. */
#include "collectors/cuda/cuda_refusal.h"

#include "collectors/cuda/cuda_notes.h"
#include "core/text.h"

static const char *reason_of(int32_t result)
{
    switch (result) {
    case PW_CUDA_NO_LIBRARY:
        return "no libcupti was found; set PROFWRAP_CUPTI to the toolkit's libcupti.so";
    case PW_CUDA_OLD_LIBRARY:
        return "the libcupti that was found is older than CUDA 11.8, or not whole; set "
               "PROFWRAP_CUPTI to another";
    case PW_CUDA_NO_THREAD:
        return "no thread could be started that reads CUPTI's records; allow more processes "
               "(ulimit -u) or memory";
    case PW_CUDA_TAKEN:
        return "another profiler in the program used CUPTI all the time";
    case PW_CUPTI_OUT_OF_MEMORY:
        return "there was no shared memory for CUPTI's buffers; give /dev/shm more room, or use a "
               "smaller --ring-size";
    case PW_CUPTI_NOT_INITIALIZED:
        return "every libcupti that was found is newer than the driver; set PROFWRAP_CUPTI to one "
               "of the driver's CUDA version, or update the driver";
    case PW_CUPTI_NO_PRIVILEGES:
    case PW_CUPTI_NO_PRIVILEGES_VIRTUAL:
        return "CUPTI needs privileges that the program does not have";
    case PW_CUPTI_OTHER_SUBSCRIBER:
        return "another tool has CUPTI";
    default:
        return NULL;
    }
}

void pw_cuda_refusal_write(int32_t result, uint32_t version, char *out, size_t size)
{
    struct pw_sentence s = {out, size, 0};
    const char *reason = reason_of(result);
    if (reason)
        pw_sentence_add(&s, "%s", reason);
    else
        pw_sentence_add(&s, "CUPTI (version %u) refused with error %d", (unsigned)version,
                        (int)result);
}
