/* Subscribes to CUPTI and enables kinds. From CUDA 13.4 on, several subscribers may record
 * independently. In older versions, and when the application uses the older functions, which cannot
 * be mixed with the new ones, the process has one set of callbacks, kinds and clocks. Then our
 * subscription shows other profilers that CUPTI is in use, even those whose calls the probe does
 * not see. Called by the other files of this folder. In-app code; only the worker and the thread
 * that starts CUDA may call it. */
#ifndef PW_CUDA_SUBSCRIBER_H
#define PW_CUDA_SUBSCRIBER_H

#include "collectors/cuda/cuda_state.h"

/* Subscribes with the callback for functions, and sets the clock of the records. Returns 0 or
 * CUPTI's result; with PW_CUPTI_OTHER_SUBSCRIBER, pw_cuda.other is the name of the other
 * subscriber. */
int pw_subscriber_begin(pw_cupti_clock *clock, pw_cupti_callback *call);

/* Ends the subscription. All kinds must be disabled before. */
void pw_subscriber_end(void);

/* The callbacks for buffers, for both interfaces. */
struct pw_subscriber_calls {
    pw_cupti_request *request;
    pw_cupti_complete *complete;
    pw_cupti_request_v2 *request_v2;
    pw_cupti_complete_v2 *complete_v2;
};

int pw_subscriber_set_callbacks(const struct pw_subscriber_calls *calls);
void pw_subscriber_set_thread_ids(void);
int pw_subscriber_get_attribute(int attribute, size_t *size, void *value);
int pw_subscriber_set_attribute(int attribute, size_t *size, void *value);
int pw_subscriber_switch_kind(int kind, bool is_on);

/* Whether CUPTI can enable single functions of the runtime and the driver. */
bool pw_subscriber_chooses_calls(void);

/* Enables or disables records of one function, of a kind that is enabled. */
void pw_subscriber_switch_call(int domain, uint32_t callback, bool is_on);

int pw_subscriber_drops(void *context, uint32_t stream, size_t *count);

/* As cuptiActivityGetNextRecord(), but works also after the subscription has ended. */
int pw_subscriber_next(uint8_t *bytes, size_t used, void **record);

#endif
