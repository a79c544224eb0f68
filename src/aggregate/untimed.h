/* NCCL operations of which only the enqueueing by the host is known: neither when a rank came to
 * one nor when it left can be told, so that they are no part of any figure. */
#ifndef PW_AGGREGATE_UNTIMED_H
#define PW_AGGREGATE_UNTIMED_H

#include "aggregate/input.h"

/* Finds them in /events/nccl and notes them in the input. 0 or -errno. */
int pw_untimed_read(struct pw_input *input);

static inline int pw_is_untimed(const struct pw_input *input, uint64_t row)
{
    return input->untimed && row < input->event_rows.rows &&
           (input->untimed[row / 8] >> row % 8 & 1);
}

#endif
