/* What a thread did in a pause: the time between two samples in which, by the kernel's counters, it
 * neither ran nor was ready. docs/method.md, "Bins", has the rules. Called by bins.c. No I/O, no
 * allocation. */
#ifndef PW_AGGREGATE_STEPS_SAMPLEPAUSE_H
#define PW_AGGREGATE_STEPS_SAMPLEPAUSE_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* A long pause of a thread that was in state R in both samples. Either its host or container was
 * frozen, or it was ready all the time: the kernel counts the wait of a ready thread only when it
 * runs again. So the pause is held until then. */
struct pw_pause_held {
    int64_t from, to; /* times of the two samples */
    int64_t ns;       /* the pause; 0: none is held */
    int64_t stood_ns; /* later pauses that were counted as ready before the thread ran again */
};

/* What the samples so far have shown. */
struct pw_pause_seen {
    uint8_t state; /* last sampled state off the CPU */
    int64_t at;
    int64_t shortest; /* shortest time between two samples */
    struct pw_pause_held held;
};

/* 1 when the pause must be held. */
int pw_pause_is_long(const struct pw_row_process *from, const struct pw_row_process *to,
                     int64_t pause, const struct pw_pause_seen *seen);

/* Returns the offset in struct pw_row_c_bin_trace of the member to which a shorter pause belongs,
 * by the states in the samples; when the thread was off the CPU in neither, by the last such state.
 * is_standing: a thread that did not run at all is counted as ready. */
size_t pw_pause_member(const struct pw_row_process *from, const struct pw_row_process *to,
                       int is_standing, struct pw_pause_seen *seen);

/* Ends holding. surplus_ns: by how much the kernel's counters of running and waiting grew more than
 * the time between the samples in which the thread ran again; this is time before the first of
 * them. Returns for how much of the pause the thread was ready; for the rest it was frozen. */
int64_t pw_pause_end(struct pw_pause_held *held, int64_t surplus_ns);

#endif
