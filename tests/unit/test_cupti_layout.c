/* Compares the beginnings of CUPTI's structs, as profwrap reads them, with the headers of the
 * installed toolkit. The test passes if it compiles. Structs of CUDA 11.8 are in its header of
 * deprecated structs. */
#include "unit.h"

#include <assert.h>
#include <cupti.h>
#include <cupti_activity_deprecated.h>
#include <stddef.h>

#include "collectors/cuda/cuda_state.h"
#include "collectors/cuda/cupti_layout.h"
#include "core/tables.h"

#define SAME(ours, field, theirs, their_field)                                                 \
    static_assert(offsetof(struct ours, field) == offsetof(theirs, their_field) &&             \
                      sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->their_field), \
                  #theirs " " #their_field)
#define FITS(ours, theirs) \
    static_assert(sizeof(struct ours) <= sizeof(theirs), #theirs " is shorter")

#define KERNEL(theirs)                                                  \
    FITS(pw_cupti_kernel, theirs);                                      \
    SAME(pw_cupti_kernel, kind, theirs, kind);                          \
    SAME(pw_cupti_kernel, registers, theirs, registersPerThread);       \
    SAME(pw_cupti_kernel, start, theirs, start);                        \
    SAME(pw_cupti_kernel, end, theirs, end);                            \
    SAME(pw_cupti_kernel, device, theirs, deviceId);                    \
    SAME(pw_cupti_kernel, context, theirs, contextId);                  \
    SAME(pw_cupti_kernel, stream, theirs, streamId);                    \
    SAME(pw_cupti_kernel, grid[0], theirs, gridX);                      \
    SAME(pw_cupti_kernel, grid[1], theirs, gridY);                      \
    SAME(pw_cupti_kernel, grid[2], theirs, gridZ);                      \
    SAME(pw_cupti_kernel, block[0], theirs, blockX);                    \
    SAME(pw_cupti_kernel, block[1], theirs, blockY);                    \
    SAME(pw_cupti_kernel, block[2], theirs, blockZ);                    \
    SAME(pw_cupti_kernel, static_shared, theirs, staticSharedMemory);   \
    SAME(pw_cupti_kernel, dynamic_shared, theirs, dynamicSharedMemory); \
    SAME(pw_cupti_kernel, correlation, theirs, correlationId);          \
    SAME(pw_cupti_kernel, name, theirs, name);                          \
    SAME(pw_cupti_kernel, graph_node, theirs, graphNodeId);             \
    SAME(pw_cupti_kernel, graph, theirs, graphId);                      \
    SAME(pw_cupti_kernel, cluster[0], theirs, clusterX);                \
    SAME(pw_cupti_kernel, cluster[1], theirs, clusterY);                \
    SAME(pw_cupti_kernel, cluster[2], theirs, clusterZ)

#define COPY(theirs)                                           \
    FITS(pw_cupti_memcpy, theirs);                             \
    SAME(pw_cupti_memcpy, copy_kind, theirs, copyKind);        \
    SAME(pw_cupti_memcpy, flags, theirs, flags);               \
    SAME(pw_cupti_memcpy, bytes, theirs, bytes);               \
    SAME(pw_cupti_memcpy, start, theirs, start);               \
    SAME(pw_cupti_memcpy, end, theirs, end);                   \
    SAME(pw_cupti_memcpy, device, theirs, deviceId);           \
    SAME(pw_cupti_memcpy, context, theirs, contextId);         \
    SAME(pw_cupti_memcpy, stream, theirs, streamId);           \
    SAME(pw_cupti_memcpy, correlation, theirs, correlationId); \
    SAME(pw_cupti_memcpy, graph_node, theirs, graphNodeId)

#define MEMORY(theirs)                                                         \
    FITS(pw_cupti_memory, theirs);                                             \
    SAME(pw_cupti_memory, operation, theirs, memoryOperationType);             \
    SAME(pw_cupti_memory, memory_kind, theirs, memoryKind);                    \
    SAME(pw_cupti_memory, correlation, theirs, correlationId);                 \
    SAME(pw_cupti_memory, bytes, theirs, bytes);                               \
    SAME(pw_cupti_memory, time, theirs, timestamp);                            \
    SAME(pw_cupti_memory, is_async, theirs, isAsync);                          \
    SAME(pw_cupti_memory, pool_type, theirs, memoryPoolConfig.memoryPoolType); \
    SAME(pw_cupti_memory, pool, theirs, memoryPoolConfig.address);             \
    SAME(pw_cupti_memory, pool_bytes, theirs, memoryPoolConfig.pool.size);     \
    SAME(pw_cupti_memory, device, theirs, deviceId)

#define SYNC(theirs)                                         \
    FITS(pw_cupti_sync, theirs);                             \
    SAME(pw_cupti_sync, type, theirs, type);                 \
    SAME(pw_cupti_sync, start, theirs, start);               \
    SAME(pw_cupti_sync, end, theirs, end);                   \
    SAME(pw_cupti_sync, correlation, theirs, correlationId); \
    SAME(pw_cupti_sync, context, theirs, contextId);         \
    SAME(pw_cupti_sync, stream, theirs, streamId);           \
    SAME(pw_cupti_sync, event, theirs, cudaEventId)

#define OVERHEAD(theirs)                           \
    FITS(pw_cupti_overhead, theirs);               \
    SAME(pw_cupti_overhead, start, theirs, start); \
    SAME(pw_cupti_overhead, end, theirs, end)

#define DEVICE(theirs)                                                             \
    FITS(pw_cupti_device, theirs);                                                 \
    SAME(pw_cupti_device, memory_bytes, theirs, globalMemorySize);                 \
    SAME(pw_cupti_device, multiprocessors, theirs, numMultiprocessors);            \
    SAME(pw_cupti_device, warps, theirs, maxWarpsPerMultiprocessor);               \
    SAME(pw_cupti_device, blocks, theirs, maxBlocksPerMultiprocessor);             \
    SAME(pw_cupti_device, shared_bytes, theirs, maxSharedMemoryPerMultiprocessor); \
    SAME(pw_cupti_device, registers, theirs, maxRegistersPerMultiprocessor);       \
    SAME(pw_cupti_device, major, theirs, computeCapabilityMajor);                  \
    SAME(pw_cupti_device, minor, theirs, computeCapabilityMinor);                  \
    SAME(pw_cupti_device, id, theirs, id);                                         \
    SAME(pw_cupti_device, uuid, theirs, uuid);                                     \
    SAME(pw_cupti_device, name, theirs, name)

KERNEL(CUpti_ActivityKernel8); /* CUDA 11.8 */
KERNEL(CUpti_ActivityKernel9); /* 12 */
COPY(CUpti_ActivityMemcpy5);
MEMORY(CUpti_ActivityMemory3);
SYNC(CUpti_ActivitySynchronization);
OVERHEAD(CUpti_ActivityOverhead);
DEVICE(CUpti_ActivityDevice4);

FITS(pw_cupti_memcpy2, CUpti_ActivityMemcpyPtoP4);
SAME(pw_cupti_memcpy2, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(pw_cupti_memcpy2, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(pw_cupti_memcpy2, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(pw_cupti_memcpy2, src_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(pw_cupti_memcpy2, dst_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);
SAME(pw_cupti_memcpy2, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(pw_cupti_memcpy2, graph_node, CUpti_ActivityMemcpyPtoP4, graphNodeId);

FITS(pw_cupti_memset, CUpti_ActivityMemset4);
SAME(pw_cupti_memset, value, CUpti_ActivityMemset4, value);
SAME(pw_cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(pw_cupti_memset, start, CUpti_ActivityMemset4, start);
SAME(pw_cupti_memset, stream, CUpti_ActivityMemset4, streamId);
SAME(pw_cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME(pw_cupti_memset, graph_node, CUpti_ActivityMemset4, graphNodeId);

FITS(pw_cupti_api, CUpti_ActivityAPI);
SAME(pw_cupti_api, callback, CUpti_ActivityAPI, cbid);
SAME(pw_cupti_api, start, CUpti_ActivityAPI, start);
SAME(pw_cupti_api, end, CUpti_ActivityAPI, end);
SAME(pw_cupti_api, tid, CUpti_ActivityAPI, threadId);
SAME(pw_cupti_api, correlation, CUpti_ActivityAPI, correlationId);
SAME(pw_cupti_api, result, CUpti_ActivityAPI, returnValue);

#if CUPTI_API_VERSION >= 130000 /* the newest that was looked at */
KERNEL(CUpti_ActivityKernel10);
COPY(CUpti_ActivityMemcpy6);
MEMORY(CUpti_ActivityMemory4);
SYNC(CUpti_ActivitySynchronization2);
OVERHEAD(CUpti_ActivityOverhead3);
DEVICE(CUpti_ActivityDevice5);
#endif

/* Numbers that mean the same. */
#define POOL(theirs)                                                 \
    FITS(pw_cupti_pool, theirs);                                     \
    SAME(pw_cupti_pool, operation, theirs, memoryPoolOperationType); \
    SAME(pw_cupti_pool, type, theirs, memoryPoolType);               \
    SAME(pw_cupti_pool, correlation, theirs, correlationId);         \
    SAME(pw_cupti_pool, device, theirs, deviceId);                   \
    SAME(pw_cupti_pool, pool, theirs, address);                      \
    SAME(pw_cupti_pool, bytes, theirs, size);                        \
    SAME(pw_cupti_pool, time, theirs, timestamp)

POOL(CUpti_ActivityMemoryPool2);
#if CUPTI_API_VERSION >= 130000
POOL(CUpti_ActivityMemoryPool3);
#endif
SAME(pw_cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(pw_cupti_call, params, CUpti_CallbackData, functionParams);
SAME(pw_cupti_call, result, CUpti_CallbackData, functionReturnValue);
SAME(pw_cupti_mem_create, handle, cuMemCreate_params, handle);
SAME(pw_cupti_mem_create, bytes, cuMemCreate_params, size);
SAME(pw_cupti_mem_create, prop, cuMemCreate_params, prop);
SAME(pw_cuda_mem_prop, location_type, CUmemAllocationProp, location.type);
SAME(pw_cuda_mem_prop, device, CUmemAllocationProp, location.id);
SAME(pw_cupti_mem_map, address, cuMemMap_params, ptr);
SAME(pw_cupti_mem_map, bytes, cuMemMap_params, size);
SAME(pw_cupti_mem_map, handle, cuMemMap_params, handle);
SAME(pw_cupti_mem_unmap, address, cuMemUnmap_params, ptr);
SAME(pw_cupti_mem_unmap, bytes, cuMemUnmap_params, size);

static void numbers(void **state)
{
    (void)state;
    assert_int_equal(PW_CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_int_equal(PW_CUPTI_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
    assert_int_equal(PW_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
    assert_int_equal(PW_CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
    assert_int_equal(PW_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
    assert_int_equal(PW_CUPTI_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
    assert_int_equal(PW_CUPTI_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
    assert_int_equal(PW_CUPTI_POOL_DESTROYED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
    assert_int_equal(PW_CUPTI_POOL_LOCAL, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
    assert_int_equal(PW_CUPTI_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    assert_int_equal(PW_CUPTI_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
    assert_int_equal(PW_CUPTI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
    assert_int_equal(PW_CUPTI_DEVICE_BUFFER_BYTES, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
    assert_int_equal(PW_CUPTI_DEVICE_BUFFERS, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
#if CUPTI_API_VERSION >= 130000
    assert_int_equal(PW_CUPTI_PER_THREAD_BUFFER, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
    SAME(pw_cupti_subscription, name, CUpti_SubscriberParams, subscriberName);
    SAME(pw_cupti_subscription, holder, CUpti_SubscriberParams, oldSubscriberName);
    SAME(pw_cupti_subscription, holder_size, CUpti_SubscriberParams, oldSubscriberSize);
    assert_true(sizeof(((struct pw_cuda *)0)->holder) >= CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
#endif
#if CUPTI_API_VERSION >= 130200
    SAME(pw_cupti_subscription, shares, CUpti_SubscriberParams, allowMultipleSubscribers);
    assert_int_equal(PW_CUPTI_THREAD_IDS, CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE);
    assert_int_equal(PW_CUPTI_CLOCK, CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK);
#endif
    assert_int_equal(PW_CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
    assert_int_equal(PW_CUPTI_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
    assert_int_equal(PW_CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
    assert_int_equal(PW_CUPTI_NOT_READY, CUPTI_ERROR_NOT_READY);
    assert_int_equal(PW_CUPTI_CALL_EXIT, CUPTI_API_EXIT);
    assert_int_equal(PW_CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
    assert_int_equal(PW_CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
    assert_int_equal(PW_CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
    assert_int_equal(PW_CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
    assert_int_equal(PW_CUPTI_NO_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    assert_int_equal(PW_CUPTI_OTHER_SUBSCRIBER, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_int_equal(PW_CUPTI_NO_PRIVILEGES_VIRTUAL,
                     CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
    assert_int_equal(PW_CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
    assert_int_equal(PW_CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    assert_int_equal(PW_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    assert_int_equal(PW_CUPTI_MEMORY_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    assert_int_equal(PW_CUPTI_MEMORY_ALLOCATION, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
    assert_int_equal(PW_CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
    assert_int_equal(PW_CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
    assert_int_equal(PW_SYNC_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
    assert_int_equal(PW_SYNC_STREAM_WAITS, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
    assert_int_equal(PW_SYNC_STREAM, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
    assert_int_equal(PW_SYNC_CONTEXT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
    assert_int_equal(PW_COPY_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    assert_int_equal(PW_COPY_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    assert_int_equal(PW_COPY_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
    assert_int_equal(PW_COPY_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
    assert_int_equal(PW_CUPTI_MEMCPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
