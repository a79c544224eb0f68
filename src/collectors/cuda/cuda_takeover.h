/* Handles the application's own use of CUPTI, for example by PyTorch's profiler. A process has only
 * one set of callbacks, kinds and clocks. So when the application begins to use CUPTI, the probe
 * stops, and continues when the application has disabled all its kinds. Called by the files of this
 * folder before they use CUPTI. In-app code; the application always comes first. */
#ifndef PW_CUDA_TAKEOVER_H
#define PW_CUDA_TAKEOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Passes CUPTI's request for a buffer to the application when it uses CUPTI. Returns false when the
 * probe must answer. */
bool pw_takeover_request(uint8_t **buffer, size_t *size, size_t *most_records);

/* Gives a buffer that is not ours to the application. */
void pw_takeover_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                          size_t used);

/* Whether the application has enabled the kind. */
bool pw_takeover_has(int kind);

/* Whether the application uses CUPTI now, did so a moment ago, or is about to. */
bool pw_takeover_is_on(void);

/* Whether the application has the only subscription of the process. */
bool pw_takeover_is_subscribed(void);

/* Ends our use of CUPTI when a profiler was loaded whose calls the probe cannot see. Called by the
 * worker. */
void pw_takeover_look(void);

#endif
