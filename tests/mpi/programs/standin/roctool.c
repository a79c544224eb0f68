/* Another tool of rocprofiler in the program, such as PyTorch's profiler: a library with private
 * names that has rocprofiler_configure, and counts kernels. roctool_force() does not wait for
 * HIP. */
#include "rocinside.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

int rocprofiler_create_context(uint64_t *handle);
int rocprofiler_start_context(uint64_t handle);
int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, int policy,
                              buffer_function *callback, void *data, uint64_t *handle);
int rocprofiler_flush_buffer(uint64_t handle);
int rocprofiler_configure_buffer_tracing_service(uint64_t handle, int kind,
                                                 const int32_t *operations, size_t n,
                                                 uint64_t buffer);
int rocprofiler_force_configure(configure_function *configure);

EXPORT configure_function rocprofiler_configure;
EXPORT int roctool_force(void);
EXPORT int roctool_count(void);

static _Atomic int count;
static uint64_t buffer;

static void take(uint64_t context, uint64_t handle, struct header **headers, size_t n, void *data,
                 uint64_t dropped)
{
    (void)context, (void)handle, (void)data, (void)dropped;
    for (size_t i = 0; i < n; i++)
        count += headers[i]->kind == KERNEL_DISPATCH;
}

static int initialize(void *finalize, void *data)
{
    uint64_t context = 0;
    (void)finalize, (void)data;
    rocprofiler_create_context(&context);
    rocprofiler_create_buffer(context, 1 << 16, 1 << 15, LOSSLESS, take, NULL, &buffer);
    rocprofiler_configure_buffer_tracing_service(context, KERNEL_DISPATCH, NULL, 0, buffer);
    return rocprofiler_start_context(context);
}

struct tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                   struct client_id *id)
{
    static struct tool tool = {sizeof(tool), initialize, NULL, NULL};
    (void)version, (void)text, (void)priority;
    id->name = "roctool";
    return &tool;
}

int roctool_force(void)
{
    return rocprofiler_force_configure(rocprofiler_configure);
}

int roctool_count(void)
{
    rocprofiler_flush_buffer(buffer);
    return count;
}
