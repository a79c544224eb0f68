/* The functions by which programs tell the stand-in for libcupti what has run; see cupti.c.
 * Programs find it by dlopen(). */
#ifndef STANDIN_CUPTI_H
#define STANDIN_CUPTI_H

#include <stddef.h>
#include <stdint.h>

typedef void standin_request(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void standin_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                              size_t used);

typedef void standin_complete_v2(uint8_t *buffer, size_t size, size_t used, void *info);

typedef void standin_callback(void *arg, int domain, uint32_t callback, const void *data);

/* Functions of the runtime; the driver has the first three. */
enum { STANDIN_LAUNCH = 1, STANDIN_GRAPH, STANDIN_COPY, STANDIN_MALLOC, STANDIN_HOST };

/* Calls of the driver alone. */
enum { STANDIN_CREATE = 10, STANDIN_RELEASE, STANDIN_MAP, STANDIN_UNMAP, STANDIN_RETAIN };

struct standin_work {
    uint64_t start, end;
    uint32_t device, stream, correlation;
    uint64_t graph_node;
    uint32_t cluster[3];
};

/* S(answer, name, parameters) */
#define STANDIN_FUNCTIONS(S)                                                           \
    S(uint64_t, now, (void))                                                           \
    S(int, faults, (void))                                                             \
    S(uint64_t, enabled, (void))                                                       \
    S(int, flushing, (void))                                                           \
    S(void, driver, (uint32_t, const void *, int))                                     \
    S(uint64_t, device_memory, (void))                                                 \
    S(void, devices, (void))                                                           \
    S(void, kernel,                                                                    \
      (const struct standin_work *, const char *, const int32_t[3], const int32_t[3])) \
    S(void, copy, (const struct standin_work *, int, uint64_t, int))                   \
    S(void, peer_copy, (const struct standin_work *, uint32_t, uint64_t))              \
    S(void, set, (const struct standin_work *, uint32_t, uint64_t))                    \
    S(void, memory, (uint32_t, int, int, uint64_t))                                    \
    S(void, from_pool, (uint32_t, int, uint64_t, uint64_t, uint64_t))                  \
    S(void, pool, (uint32_t, int, uint64_t, uint64_t))                                 \
    S(void, sync, (int, uint64_t, uint64_t, uint32_t, uint32_t))                       \
    S(void, overhead, (uint64_t, uint64_t))                                            \
    S(void, call, (int, uint32_t, uint32_t, uint64_t, uint64_t))

#define STANDIN_DECLARE(answer, name, parameters) answer standin_##name parameters;
STANDIN_FUNCTIONS(STANDIN_DECLARE)

#endif
