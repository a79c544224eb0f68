/* What a program declares to the stand-in for rocprofiler-sdk, as records and callbacks. */
#include "rocinside.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

int rocprofiler_get_timestamp(uint64_t *ns);

#define STANDIN_DECLARE(answer, name, parameters) EXPORT answer standin_##name parameters;
STANDIN_ROCM_FUNCTIONS(STANDIN_DECLARE)

/* The calls that the thread is in: of the innermost and of the one around it. */
static _Thread_local uint64_t innermost, around;
static _Atomic uint64_t numbers;

static uint64_t thread_id(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

uint64_t standin_rocm_now(void)
{
    uint64_t ns = 0;
    rocprofiler_get_timestamp(&ns);
    return ns;
}

static int traces(const struct context *c, int kind, int operation)
{
    return atomic_load(&c->is_started) && c->buffers[kind] &&
           (!c->chooses[kind] || c->chosen[kind][operation]);
}

static uint64_t external_of(struct context *c, int request, int operation, uint64_t internal)
{
    uint64_t external = 0;
    if (c->asked && c->asks >> request & 1)
        c->asked(thread_id(), 1, request, operation, internal, &external, c->asked_data);
    return external;
}

static void call_back(int kind, int operation, int phase, void *payload, uint64_t *users)
{
    for (int i = 0; i < CONTEXTS; i++) {
        struct context *c = &standin_rocm.contexts[i];
        const struct called called = {.context = (uint64_t)i + 1,
                                      .thread = thread_id(),
                                      .kind = kind,
                                      .operation = operation,
                                      .phase = phase,
                                      .payload = payload};
        if (atomic_load(&c->is_started) && c->called[kind])
            c->called[kind](called, &users[i], c->data[kind]);
    }
}

void standin_rocm_code(uint64_t kernel, const char *name, uint32_t group_bytes)
{
    char text[512];
    uint64_t users[CONTEXTS] = {0};
    struct kernel_symbol symbol = {
        .size = sizeof(symbol), .kernel = kernel, .name = text, .group_bytes = group_bytes};
    strncpy(text, name, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    call_back(CALLED_CODE, 2, 1, &symbol, users);
    memset(text, 'x', sizeof(text) - 1); /* the text need not stay */
}

static void trace_call(int kind, const char *name, void (*inside)(void *), void *arg)
{
    const int operation = standin_rocm_operation(kind, name);
    const uint64_t start = standin_rocm_now(), outer = innermost, outermost = around;
    uint64_t externals[CONTEXTS];
    int any = 0;
    for (int i = 0; i < CONTEXTS; i++)
        any |= traces(&standin_rocm.contexts[i], kind, operation);
    if (any) {
        around = outer;
        innermost = atomic_fetch_add(&numbers, 1) + 1;
    }
    for (int i = 0; any && i < CONTEXTS; i++)
        externals[i] = external_of(&standin_rocm.contexts[i], kind, operation, innermost);
    if (inside)
        inside(arg);
    struct call_record r = {.size = sizeof(r),
                            .kind = kind,
                            .operation = operation,
                            .start = start,
                            .end = standin_rocm_now(),
                            .thread = thread_id(),
                            .correlation = {.internal = innermost, .ancestor = around}};
    for (int i = 0; i < CONTEXTS; i++) {
        struct context *c = &standin_rocm.contexts[i];
        r.correlation.external = any ? externals[i] : 0;
        if (traces(c, kind, operation))
            standin_rocm_emplace(c->buffers[kind], (uint32_t)kind, &r, sizeof(r));
    }
    innermost = outer;
    around = outermost;
}

void standin_rocm_call(const char *name, int64_t stream, void (*inside)(void *), void *arg)
{
    uint64_t users[CONTEXTS] = {0};
    struct stream_data data = {.size = sizeof(data), .stream = (uint64_t)stream};
    if (stream >= 0)
        call_back(CALLED_STREAM, 3, 1, &data, users);
    trace_call(HIP_RUNTIME, name, inside, arg);
    if (stream >= 0)
        call_back(CALLED_STREAM, 3, 2, &data, users);
}

void standin_rocm_hsa_call(const char *name, void (*inside)(void *), void *arg)
{
    trace_call(HSA_CORE, name, inside, arg);
}

/* ---- kernels ---- */

static struct {
    uint64_t internal, externals[CONTEXTS], thread;
} launched[STANDIN_MOST_LAUNCHED];
static _Atomic int nlaunched;

/* Who asks whose stream it is does so now, on this thread. */
int standin_rocm_launch(void)
{
    const int at = atomic_fetch_add(&nlaunched, 1) % STANDIN_MOST_LAUNCHED;
    launched[at].internal = innermost ? innermost : atomic_fetch_add(&numbers, 1) + 1;
    launched[at].thread = thread_id();
    for (int i = 0; i < CONTEXTS; i++)
        launched[at].externals[i] =
            external_of(&standin_rocm.contexts[i], KERNEL_DISPATCH, 0, launched[at].internal);
    return at;
}

void standin_rocm_ran(int at, const struct standin_dispatch *d)
{
    struct dispatch_record r = {.size = sizeof(r),
                                .kind = KERNEL_DISPATCH,
                                .operation = 2,
                                .internal = launched[at].internal,
                                .thread = launched[at].thread,
                                .start = d->start,
                                .end = d->end,
                                .info = {.size = 72,
                                         .agent = d->agent,
                                         .queue = d->queue,
                                         .kernel = d->kernel,
                                         .dispatch = (uint64_t)at,
                                         .group_bytes = 3072,
                                         .workgroup = {256, 2, 1},
                                         .grid = {1792, 10, 3}}};
    for (int i = 0; i < CONTEXTS; i++) {
        struct context *c = &standin_rocm.contexts[i];
        r.external = launched[at].externals[i];
        if (traces(c, KERNEL_DISPATCH, 2))
            standin_rocm_emplace(c->buffers[KERNEL_DISPATCH], KERNEL_DISPATCH, &r, sizeof(r));
    }
}

void standin_rocm_copy(const struct standin_copied *d)
{
    struct copy_record r = {.size = sizeof(r),
                            .kind = MEMORY_COPY,
                            .operation = d->operation,
                            .internal = innermost,
                            .thread = thread_id(),
                            .start = d->start,
                            .end = d->end,
                            .target = d->target,
                            .source = d->source,
                            .bytes = d->bytes};
    for (int i = 0; i < CONTEXTS; i++) {
        struct context *c = &standin_rocm.contexts[i];
        r.external = external_of(c, MEMORY_COPY, d->operation, innermost);
        if (traces(c, MEMORY_COPY, d->operation))
            standin_rocm_emplace(c->buffers[MEMORY_COPY], MEMORY_COPY, &r, sizeof(r));
    }
}

/* What is freed is of no agent, and of no size. */
void standin_rocm_memory(int operation, uint64_t agent, uint64_t address, uint64_t bytes)
{
    const int is_freed = operation >= 3;
    struct memory_record r = {.size = sizeof(r),
                              .kind = MEMORY_ALLOCATION,
                              .operation = operation,
                              .correlation.internal = innermost,
                              .thread = thread_id(),
                              .start = standin_rocm_now(),
                              .address = address,
                              .agent = is_freed ? UINT64_MAX : agent,
                              .bytes = is_freed ? 0 : bytes};
    r.end = standin_rocm_now();
    for (int i = 0; i < CONTEXTS; i++) {
        struct context *c = &standin_rocm.contexts[i];
        if (traces(c, MEMORY_ALLOCATION, operation))
            standin_rocm_emplace(c->buffers[MEMORY_ALLOCATION], MEMORY_ALLOCATION, &r, sizeof(r));
    }
}

void standin_rocm_scratch(int operation, uint64_t agent)
{
    struct scratch_record r = {.size = sizeof(r),
                               .kind = SCRATCH,
                               .operation = operation,
                               .correlation.internal = innermost,
                               .agent = agent,
                               .thread = thread_id(),
                               .start = standin_rocm_now()};
    r.end = standin_rocm_now();
    for (int i = 0; i < CONTEXTS; i++) {
        struct context *c = &standin_rocm.contexts[i];
        if (traces(c, SCRATCH, operation))
            standin_rocm_emplace(c->buffers[SCRATCH], SCRATCH, &r, sizeof(r));
    }
}
