/* The application's own use of CUPTI (PyTorch's profiler, for one). There is one set of callbacks,
 * of kinds and of clocks in a process: when the application wants it, ours ends, and begins again
 * when the application has switched off what it had switched on. Called by the files of this
 * folder that use CUPTI, before they use it. In-app code. */
#ifndef PW_CUDA_TAKEOVER_H
#define PW_CUDA_TAKEOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Has the application answer when it is its turn; false: it is ours. */
bool pw_takeover_request(uint8_t **buffer, size_t *size, size_t *most_records);

/* Gives a buffer that is not ours to the application. */
void pw_takeover_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                          size_t used);

/* Whether the application has a kind switched on. */
bool pw_takeover_has(int kind);

/* Whether the application uses CUPTI now, or did so a moment ago, or is about to. */
bool pw_takeover_is_on(void);

/* Whether it has a subscription of those of which there is one. */
bool pw_takeover_is_subscribed(void);

/* Gives way to who is about to use CUPTI in a way that cannot be seen. By the worker. */
void pw_takeover_look(void);

#endif
