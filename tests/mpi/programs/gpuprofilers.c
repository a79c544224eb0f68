/* What profilers do that a program brings along: they use CUPTI, too. See gpuactor.c. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuactor.h"

static void by_name(const char *name, void *pointer)
{
    find(RTLD_DEFAULT, name, pointer);
}

static int theirs;

static void their_request(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = 1 << 16;
    *buffer = calloc(1, *size);
    *most = 0;
}

static void their_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t used)
{
    void *record = NULL;
    int (*next)(uint8_t *, size_t, void **);
    (void)context, (void)stream, (void)size;
    find(dlopen(getenv("STANDIN_CUPTI"), RTLD_NOW), "cuptiActivityGetNextRecord", &next);
    while (next(buffer, used, &record) == 0)
        theirs++;
    free(buffer);
}

static uint64_t their_clock(void)
{
    return 12345;
}

/* What a profiler of the application does, through names that the loader resolves. Kineto keeps its
 * subscription. */
static void take_over(void)
{
    int (*subscribe)(void **, void *, void *);
    void *subscriber;
    by_name("cuptiSubscribe", &subscribe);
    int (*set_callbacks)(standin_request *, standin_complete *), (*set_clock)(uint64_t(*)(void));
    int (*enable)(int), (*disable)(int), (*flush)(uint32_t);
    by_name("cuptiActivityRegisterCallbacks", &set_callbacks);
    by_name("cuptiActivityRegisterTimestampCallback", &set_clock);
    by_name("cuptiActivityEnable", &enable);
    by_name("cuptiActivityDisable", &disable);
    find(dlopen(getenv("STANDIN_CUPTI"), RTLD_NOW), "cuptiActivityFlushAll", &flush);
    launch(0, 1, "before");
    int failed = subscribe(&subscriber, NULL, NULL) || set_clock(their_clock) ||
                 set_callbacks(their_request, their_complete) || enable(10);
    launch(0, 1, "during");
    flush(1);
    failed |= disable(10);
    printf("theirs %d failed %d enabled %llx\n", theirs, failed, (unsigned long long)gpu.enabled());
    for (int i = 0; i < 50 && !gpu.enabled(); i++)
        nap(100);
    launch(0, 1, "after");
}

static void their_complete_v2(uint8_t *buffer, size_t size, size_t used, void *info)
{
    (void)size, (void)used, (void)info;
    theirs += used > 0;
    free(buffer);
}

/* A profiler that lets others record, too; JAX's, by dlsym(). */
static void share(void)
{
    struct {
        size_t size;
        const char *name;
        char *holder;
        size_t holder_size;
        uint8_t shares, pad[7];
    } params = {.size = sizeof(params), .name = "theirs", .shares = 1};
    int (*subscribe)(void **, void *, void *, void *), (*unsubscribe)(void *), (*flush)(uint32_t);
    int (*set_callbacks)(void *, standin_request *, standin_complete_v2 *);
    int (*set_attribute)(void *, int, size_t *, void *);
    int (*enable)(void *, int, void *), (*disable)(void *, int, void *), type = 1;
    size_t size = sizeof(type);
    void *library = dlopen(getenv("STANDIN_CUPTI"), RTLD_NOW), *subscriber;
    find(library, "cuptiSubscribe_v2", &subscribe);
    find(library, "cuptiUnsubscribe", &unsubscribe);
    find(library, "cuptiActivityRegisterCallbacks_v2", &set_callbacks);
    find(library, "cuptiActivitySetAttribute_v2", &set_attribute);
    find(library, "cuptiActivityEnable_v2", &enable);
    find(library, "cuptiActivityDisable_v2", &disable);
    find(library, "cuptiActivityFlushAll", &flush);
    launch(0, 1, "before");
    int failed = subscribe(&subscriber, NULL, NULL, &params);
    if (!failed)
        failed = set_attribute(subscriber, 21, &size, &type) ||
                 set_callbacks(subscriber, their_request, their_complete_v2) ||
                 enable(subscriber, 10, NULL);
    launch(0, 1, "during");
    flush(1);
    if (!failed)
        failed = disable(subscriber, 10, NULL) || unsubscribe(subscriber);
    printf("theirs %d failed %d\n", theirs, failed);
    launch(0, 1, "after");
}

/* A profiler whose calls cannot be seen; it comes later where STANDIN_COMES says from where. */
static void hold(void)
{
    int (*subscribe)(void **, void *, void *), failed = 1;
    void *subscriber;
    find(dlopen(getenv("STANDIN_CUPTI"), RTLD_NOW), "cuptiSubscribe", &subscribe);
    launch(0, 1, "before");
    if (getenv("STANDIN_COMES"))
        dlopen(getenv("STANDIN_COMES"), RTLD_NOW);
    for (int i = 0; i < (getenv("STANDIN_COMES") ? 50 : 1) && failed; i++) {
        failed = subscribe(&subscriber, NULL, NULL);
        nap(100);
    }
    printf("failed %d\n", failed);
    launch(0, 1, "after");
}

/* Tries until CUPTI is free. */
static void try_often(void)
{
    int (*subscribe)(void **, void *, void *), (*unsubscribe)(void *), failed = 1, refused = 0;
    void *subscriber;
    by_name("cuptiSubscribe", &subscribe);
    by_name("cuptiUnsubscribe", &unsubscribe);
    for (int i = 0; i < 5000 && !gpu.flushing(); i++)
        nap(1);
    for (int i = 0; i < 100 && failed; i++) {
        failed = subscribe(&subscriber, NULL, NULL);
        refused += failed != 0;
        nap(failed ? 50 : 0);
    }
    printf("refused %d failed %d\n", refused > 0, failed || unsubscribe(subscriber));
}

static const int kinetos_kinds[] = {10, 5, 4}; /* kernels, calls of the runtime and of the driver */

static int switch_all(int (*one)(int))
{
    int failed = 0;
    for (size_t i = 0; i < sizeof(kinetos_kinds) / sizeof(kinetos_kinds[0]); i++)
        failed |= one(kinetos_kinds[i]);
    return failed;
}

/* Kineto: toggleCollectionDynamic(false) switches the kinds off, and stop does so again. */
static void disable_twice(void)
{
    int (*set_callbacks)(standin_request *, standin_complete *), (*enable)(int), (*disable)(int);
    by_name("cuptiActivityRegisterCallbacks", &set_callbacks);
    by_name("cuptiActivityEnable", &enable);
    by_name("cuptiActivityDisable", &disable);
    int failed =
        set_callbacks(their_request, their_complete) || switch_all(enable) || switch_all(disable);
    for (int i = 0; i < 50 && !gpu.enabled(); i++)
        nap(100);
    failed |= switch_all(disable);
    launch(0, 1, "after");
    nap(1500); /* longer than it takes to begin again, were it thought to be over */
    launch(0, 1, "later");
    printf("failed %d\n", failed);
}

void profile_all_the_time(void)
{
    int (*set_callbacks)(standin_request *, standin_complete *), (*enable)(int);
    by_name("cuptiActivityRegisterCallbacks", &set_callbacks);
    by_name("cuptiActivityEnable", &enable);
    printf("failed %d\n", set_callbacks(their_request, their_complete) || enable(10));
}

/* Kineto's TEARDOWN_CUPTI, while our thread asks for what there is. */
static void finalize(void)
{
    int (*end)(void);
    by_name("cuptiFinalize", &end);
    launch(0, 1, "before");
    for (int i = 0; i < 5000 && !gpu.flushing(); i++)
        nap(1);
    printf("flushing %d", gpu.flushing());
    int failed = end();
    printf(" failed %d\n", failed);
    for (int i = 0; i < 50 && !gpu.enabled(); i++)
        nap(100);
    launch(0, 1, "after");
}

/* The program comes with a libcupti of its own, beside the one that records. */
static void second_library(void)
{
    int (*set_callbacks)(standin_request *, standin_complete *), (*enable)(int), (*disable)(int);
    uint64_t (*their_kinds)(void);
    void *second = dlopen(getenv("STANDIN_SECOND"), RTLD_NOW | RTLD_LOCAL);
    launch(0, 1, "before");
    find(second, "standin_enabled", &their_kinds);
    by_name("cuptiActivityRegisterCallbacks", &set_callbacks);
    by_name("cuptiActivityEnable", &enable);
    by_name("cuptiActivityDisable", &disable);
    int failed = set_callbacks(their_request, their_complete) || enable(10);
    printf("ours %llx theirs %llx", (unsigned long long)gpu.enabled(),
           (unsigned long long)their_kinds());
    failed |= disable(10);
    printf(" then %llx failed %d\n", (unsigned long long)their_kinds(), failed);
    for (int i = 0; i < 50 && !gpu.enabled(); i++)
        nap(100);
    launch(0, 1, "after");
}

int be_profiler(const char *what)
{
    static const struct {
        const char *name;
        void (*be)(void);
    } all[] = {{"takeover", take_over},         {"share", share},       {"hold", hold},
               {"try-often", try_often},        {"finalize", finalize}, {"second", second_library},
               {"disable-twice", disable_twice}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(what, all[i].name) == 0) {
            all[i].be();
            return 1;
        }
    return 0;
}
