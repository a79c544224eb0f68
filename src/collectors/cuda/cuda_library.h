/* Finds CUPTI in the application, or brings it in, and calls it. Nothing is linked with it. In-app
 * code. */
#ifndef PW_CUDA_LIBRARY_H
#define PW_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void pw_cupti_request(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void pw_cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t used);
typedef uint64_t pw_cupti_clock(void);

/* What is called of it; those after `drops` may be NULL. Each answers a CUptiResult. */
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
};

/* The one that is in the process already, else PROFWRAP_CUPTI's, else one beside what the process
 * has of CUDA, else of the toolkit that the environment names, else what the loader finds. Called
 * again, the next of them, in place of the one before. NULL: there is none that can be used. */
const struct pw_cupti *pw_cupti_open(void);

/* Whether there is any, usable or not. */
bool pw_cupti_was_found(void);

/* The function `symbol`, a literal, that `caller` would have called without us: of its own CUPTI,
 * and where it has none, of the application's where there are two, else of ours. *is_ours: whether
 * it is of the one that pw_cupti_open() answered. NULL when there is none. */
void *pw_cupti_called(const char *symbol, const void *caller, int *is_ours);

#endif
