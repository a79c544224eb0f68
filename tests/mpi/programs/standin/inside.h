/* Shared by the files of the stand-in for libcupti: sizes of records, and queues of buffers. */
#ifndef STANDIN_INSIDE_H
#define STANDIN_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "standin.h"

#define EXPORT __attribute__((visibility("default")))

#if STANDIN_CUDA >= 135
enum {
    VERSION = 130500,
    POOL = 80,
    KERNEL = 248,
    COPY = 112,
    SET = 104,
    MEMORY = 128,
    SYNC = 56,
    OVERHEAD = 56,
    DEVICE = 192
};
#elif STANDIN_CUDA >= 13
enum {
    VERSION = 130001,
    POOL = 80,
    KERNEL = 216,
    COPY = 96,
    SET = 88,
    MEMORY = 128,
    SYNC = 56,
    OVERHEAD = 56,
    DEVICE = 184
};
#else
enum {
    VERSION = 18,
    POOL = 72,
    KERNEL = 200,
    COPY = 88,
    SET = 88,
    MEMORY = 120,
    SYNC = 40,
    OVERHEAD = 40,
    DEVICE = 176
};
#endif
enum { PEER = 96, API = 40, QUEUES = 128 };

enum {
    KINDS = 64,
    MAX_LIMIT_REACHED = 12,
    INVALID = 1,
    NOT_COMPATIBLE = 14,
    INVALID_KIND = 21,
    NOT_SUPPORTED = 27,
    OTHER_SUBSCRIBER = 39,
    TAKES_NO_BUFFER = 27, /* the API's version */
    CLIENTS = 4,
    DRIVER_CALLS = 4, /* kinds */
    RUNTIME_CALLS = 5
};

/* Who is served: the process by the functions without a version, or subscribers, each for itself.
 */
struct client {
    int is_subscribed;
    standin_callback *callback;
    unsigned char watched[1024]; /* functions of the driver */
    standin_request *request;
    standin_complete *complete;
    standin_complete_v2 *complete_v2;
    uint64_t (*clock)(void);
    uint64_t enabled;             /* kinds */
    unsigned char calls[2][1024]; /* driver, runtime: single functions */
    /* Once the kind has been disabled, single functions have an effect only while it is enabled.
     * Seen in CUPTI of CUDA 13.0 on a GPU. */
    int is_deaf[2];
    uint8_t per_thread; /* a queue of buffers for each thread */
    int thread_ids;
    size_t dropped;
    struct {
        uint8_t *buffer;
        size_t size, used, most, n; /* records: at most, and now */
    } queues[QUEUES];
};

struct standin_state {
    pthread_mutex_t lock;
    struct client clients[CLIENTS]; /* the first is the process */
    size_t device_buffer_size, device_buffers;
    _Atomic int threads, flushing;
    int is_shared; /* several subscribers are allowed: as the first said */
    char holder[64];
    int faults;
};
extern struct standin_state standin;
#define STANDIN_PROCESS (&standin.clients[0])
extern const uint32_t standin_sizes[KINDS];

int standin_has_subscribers(void);
int standin_refusal(void);

/* As cuptiSubscribe(); by that name it would call the probe's. */
int standin_subscribe_process(void **subscriber, standin_callback *callback);
int standin_enable(struct client *client, int kind);
int standin_disable(struct client *client, int kind);
int standin_count_dropped(struct client *client, size_t *count);
int standin_get_attribute(struct client *client, int number, size_t *size, void *value);
int standin_set_attribute(struct client *client, int number, size_t *size, void *value);

int standin_is_enabled(uint32_t kind);

/* Writes a record of one of the sizes above into the queue's buffer, of each who wants it. */
void standin_add(int queue, const uint8_t *record);

#endif
