/* CUPTI's functions as we call them. From CUDA 13.4 on several subscribers may record, each for
 * itself; before that, and where the application uses the older functions, with which these cannot
 * be mixed, the process has one set of callbacks, kinds and clocks. A subscription of ours says
 * that it is taken to those whose calls do not come by here. In-app code. */
#ifndef PW_CUDA_SUBSCRIBER_H
#define PW_CUDA_SUBSCRIBER_H

#include "collectors/cuda/cuda_state.h"

/* Takes CUPTI, with this clock. 0, or why not: with PW_CUPTI_OTHER_SUBSCRIBER, pw_cuda.other is who
 * has it. */
int pw_subscriber_begin(pw_cupti_clock *clock);

/* Gives it back; what is on has been switched off. */
void pw_subscriber_end(void);

int pw_subscriber_set_callbacks(void);
void pw_subscriber_set_thread_ids(void);
int pw_subscriber_get_attribute(int attribute, size_t *size, void *value);
int pw_subscriber_set_attribute(int attribute, size_t *size, void *value);
int pw_subscriber_switch_kind(int kind, bool is_on);

/* Switches one function of the runtime or the driver; not 0 where CUPTI cannot choose. */
int pw_subscriber_switch_call(int domain, uint32_t callback, bool is_on);

int pw_subscriber_drops(void *context, uint32_t stream, size_t *count);

/* As cuptiActivityGetNextRecord(), also when we are no subscriber any more. */
int pw_subscriber_next(uint8_t *bytes, size_t used, void **record);

#endif
