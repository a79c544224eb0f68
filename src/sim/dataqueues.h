/* The data pipeline of a synthetic rank: three queues, which each step looks at when it begins. */
#ifndef PW_SIM_DATAQUEUES_H
#define PW_SIM_DATAQUEUES_H

#include "sim/params.h"

enum { PW_SIM_QUEUES = 3 };

/* Rows of /strings: the metadata's key and value, then the queues' names. */
#define PW_SIM_QUEUE_TEXTS(T)                                             \
    T(PIPELINE, "pipeline")                                               \
    T(OPERATORS, "read files [raw] map decode [ready] transfer [device]") \
    T(RAW, "raw") T(READY, "ready") T(DEVICE, "device")
enum { PW_SIM_TEXT_PIPELINE = 28, PW_SIM_TEXT_QUEUES = PW_SIM_TEXT_PIPELINE + 2 };

/* What a step finds in queue q when it begins; `time` is local. A starved loader's queues are empty
 * from "ready" on, a slow transfer's "device" is. */
struct pw_row_queue pw_sim_queue_look(const struct pw_sim_params *params, int64_t rank,
                                      int64_t step, int q, int64_t time);

/* The operator that a fault of this kind makes slow, or NULL. */
const char *pw_sim_queue_slowest(enum pw_sim_fault_kind kind);

#endif
