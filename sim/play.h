/* Plays a synthetic run in virtual time: all ranks, step by step. runwrite.c plays it for the rank
 * files, and truth.c once more without each fault. Events are passed to a sink. A run is a function
 * of the parameters alone; nothing here writes files or reads a clock. */
#ifndef PW_SIM_PLAY_H
#define PW_SIM_PLAY_H

#include "sim/params.h"

/* Communicators, in the order of their rows in /comms. */
enum pw_sim_comm { PW_SIM_WORLD, PW_SIM_TENSOR, PW_SIM_REPLICAS, PW_SIM_COMMS };

/* The members of a communicator are leader + i * stride, i < size. */
struct pw_sim_group {
    int64_t leader, stride, size;
};

struct pw_sim_group pw_sim_group_of(const struct pw_sim_params *params, enum pw_sim_comm comm,
                                    int64_t rank);

/* A piece of one rank's work inside a phase. */
struct pw_sim_piece {
    int64_t rank, step;
    enum pw_phase phase;
    int64_t start, end;
};

/* A fault delayed the rank in [start, end). `step` is -1 before the first step, and the number of
 * steps after the last. */
struct pw_sim_held {
    int64_t rank, step;
    size_t fault;
    int64_t start, end;
};

/* Gets the events of the ranks first .. last. Times are ns of true time. */
struct pw_sim_sink {
    void *context;
    int64_t first, last;
    void (*event)(void *context, int64_t rank, const struct pw_row_comm_event *event);
    void (*phase)(void *context, int64_t rank, enum pw_phase phase, int64_t start, int64_t end);
    /* Called before the phase's end. */
    void (*work)(void *context, const struct pw_sim_piece *piece);
    void (*step)(void *context, int64_t rank, int64_t step, int64_t start, int64_t end);
    /* May be NULL. Faults off the CPU do not overlap, and are reported in order of time. */
    void (*fault)(void *context, const struct pw_sim_held *held);
};

struct pw_sim_result {
    int64_t elapsed_ns; /* from the first step's start to the end of the last */
    int64_t end_ns;
    int64_t collectives[PW_SIM_COMMS]; /* number on each communicator of the kind */
};

/* Start time of the first step. */
enum { PW_SIM_START_NS = 1000000000 };

/* Plays the run without the faults whose bits are set in `without`; `sink` may be NULL. 0 or
 * -ENOMEM. */
int pw_sim_play(const struct pw_sim_params *params, uint32_t without,
                const struct pw_sim_sink *sink, struct pw_sim_result *result);

/* Returns 1 when the fault makes this rank slower in some steps, or stops it. */
int pw_sim_fault_on_rank(const struct pw_sim_params *params, const struct pw_sim_fault *fault,
                         int64_t rank);

/* Returns 1 when the fault makes this rank slower in this step. */
int pw_sim_fault_hits(const struct pw_sim_params *params, const struct pw_sim_fault *fault,
                      int64_t rank, int64_t step);

#endif
