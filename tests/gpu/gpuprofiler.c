/* See gpuprofiler.h. CUPTI's functions are called by their names, as by a program that is linked
 * with it: those of a library in LD_PRELOAD are found first. */
#include "gpuprofiler.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpudriver.h"

/* From cupti_activity.h. */
enum { CONCURRENT_KERNEL = 10, FORCED = 1, BUFFER = 1 << 20, ALIGNED = 8, KERNELS = 50 };

typedef void request_buffer(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                             size_t used);

/* F(symbol, name, parameters): each answers a CUptiResult. */
#define CUPTI_FUNCTIONS(F)                                                                    \
    F("cuptiActivityRegisterCallbacks", set_callbacks, (request_buffer *, complete_buffer *)) \
    F("cuptiActivityEnable", enable, (int))                                                   \
    F("cuptiActivityDisable", disable, (int))                                                 \
    F("cuptiActivityFlushAll", flush, (uint32_t))                                             \
    F("cuptiActivityGetNextRecord", next, (uint8_t *, size_t, void **))

static struct {
    CUPTI_FUNCTIONS(MEMBER)
} cupti;

static int theirs;

static void request(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = aligned_alloc(ALIGNED, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *most_records = 0;
}

static void complete(void *of_context, uint32_t of_stream, uint8_t *buffer, size_t size,
                     size_t used)
{
    void *record = NULL;
    (void)of_context, (void)of_stream, (void)size;
    while (used && cupti.next(buffer, used, &record) == 0) {
        uint32_t kind;
        memcpy(&kind, record, sizeof(kind));
        theirs += kind == CONCURRENT_KERNEL;
    }
    free(buffer);
}

static int find_cupti(const char *path)
{
    if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "error while loading shared libraries: %s\n", dlerror());
        return 1;
    }
#define FIND_CUPTI(symbol, name, parameters)        \
    {                                               \
        void *found = dlsym(RTLD_DEFAULT, symbol);  \
        memcpy(&cupti.name, &found, sizeof(found)); \
        if (!found)                                 \
            return 1;                               \
    }
    CUPTI_FUNCTIONS(FIND_CUPTI)
    return 0;
}

static void stop(void)
{
    must(cupti.flush(FORCED), "flush");
    cupti.disable(CONCURRENT_KERNEL); /* which may be off already */
}

/* Until profwrap, which waits a second after another user has gone, has come back. */
static void wait_for_profwrap(void)
{
    const struct timespec wait = {.tv_sec = 2, .tv_nsec = 500000000};
    nanosleep(&wait, NULL);
}

int profile_twice(const char *libcupti)
{
    if (find_cupti(libcupti))
        return 1;
    start();
    run_in_ranges("before", KERNELS, 1000);
    must(cupti.set_callbacks(request, complete), "callbacks");
    must(cupti.enable(CONCURRENT_KERNEL), "enable");
    run_in_ranges("theirs", KERNELS, 1000);
    stop();
    wait_for_profwrap();
    run_in_ranges("between", KERNELS, 1000);
    stop();
    wait_for_profwrap();
    run_in_ranges("after", KERNELS, 1000);
    printf("theirs %d\n", theirs);
    return 0;
}
