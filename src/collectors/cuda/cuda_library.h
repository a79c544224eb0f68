/* Finds a usable libcupti and fills the table of its functions. Called by the probe when CUDA
 * starts, and by `profwrap doctor` to print what would be found. Nothing is linked with CUPTI.
 * In-app code: it may load a library, and unloads none. */
#ifndef PW_CUDA_LIBRARY_H
#define PW_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void pw_cupti_request(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void pw_cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t used);
typedef uint64_t pw_cupti_clock(void);
typedef void pw_cupti_request_v2(uint8_t **buffer, size_t *size, size_t *most_records, void *info);
typedef void pw_cupti_complete_v2(uint8_t *buffer, size_t size, size_t used, void *info);
typedef void pw_cupti_callback(void *arg, int domain, uint32_t callback, const void *data);

/* CUpti_SubscriberParams. In 13.0 and 13.1 it ends before `shares`. */
struct pw_cupti_subscription {
    size_t size;
    const char *name;
    char *holder; /* name of the present subscriber, if any; at least 64 bytes */
    size_t holder_size;
    uint8_t shares, pad[7]; /* whether others may subscribe too; the first subscriber decides */
};

/* The functions that are called; those after `drops` may be NULL. Each returns a CUptiResult. */
struct pw_cupti {
    int (*version)(uint32_t *version);
    int (*set_clock)(pw_cupti_clock *clock);
    int (*set_callbacks)(pw_cupti_request *request, pw_cupti_complete *complete);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*flush_all)(uint32_t flags);
    int (*next)(uint8_t *buffer, size_t used, void **record);
    int (*drops)(void *context, uint32_t stream, size_t *count);
    int (*callback_name)(int domain, uint32_t callback, const char **name);
    int (*set_thread_ids)(int type);
    int (*enable_runtime)(uint32_t callback, uint8_t is_on);
    int (*enable_driver)(uint32_t callback, uint8_t is_on);
    int (*get_attribute)(int attribute, size_t *size, void *value);
    int (*set_attribute)(int attribute, size_t *size, void *value);
    int (*finalize)(void);
    int (*subscribe)(void **subscriber, pw_cupti_callback *callback, void *arg);
    int (*unsubscribe)(void *subscriber);
    int (*enable_callback)(uint32_t is_on, void *subscriber, int domain, uint32_t callback);
    /* From 13.2 on: functions for each subscriber separately. */
    int (*subscribe_v2)(void **subscriber, pw_cupti_callback *callback, void *arg,
                        struct pw_cupti_subscription *params);
    int (*set_callbacks_v2)(void *subscriber, pw_cupti_request_v2 *request,
                            pw_cupti_complete_v2 *complete);
    int (*enable_v2)(void *subscriber, int kind, void *config);
    int (*disable_v2)(void *subscriber, int kind, void *config);
    int (*drops_v2)(void *subscriber, void *context, uint32_t stream, size_t *count);
    int (*enable_runtime_v2)(void *subscriber, uint32_t callback, uint8_t is_on);
    int (*enable_driver_v2)(void *subscriber, uint32_t callback, uint8_t is_on);
    int (*get_attribute_v2)(void *subscriber, int attribute, size_t *size, void *value);
    int (*set_attribute_v2)(void *subscriber, int attribute, size_t *size, void *value);
    int (*record_size)(int kind, uint32_t version, size_t *size);
    bool has_v2; /* CUPTI has all of these */
};

/* Returns the first usable CUPTI: the one that the process has loaded, that of PROFWRAP_CUPTI, one
 * near the process's CUDA libraries, that of the toolkit which the environment names, or the one
 * that the loader finds. Each further call returns the next one instead. NULL: none can be used. */
const struct pw_cupti *pw_cupti_open(void);

/* Whether a CUPTI was found, usable or not. */
bool pw_cupti_was_found(void);

/* Returns CUPTI's result for the first library that did not even return its version; 0: all did. */
int pw_cupti_refusal(void);

/* Returns the function `symbol` (a string literal) that `caller` would get without the probe: in
 * the CUPTI of its scope; without one, in the application's CUPTI when there are two, else in ours.
 * NULL when there is none. *is_ours: whether it is in the CUPTI that pw_cupti_open() returned. */
void *pw_cupti_called(const char *symbol, const void *caller, int *is_ours);

#endif
