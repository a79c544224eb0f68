/* The operations of each rank in a step, in order, for patterns in which ranks do different work or
 * wait for single messages. pattern.c writes the script once, and plays it in every step. Messages
 * follow the model LogGPS: a send of at most `eager` bytes is buffered and ends at once; a larger
 * one ends when the receiver has reached its receive and has got the data (Ino, Fujimoto, Hagihara,
 * "LogGPS: A Parallel Computational Model for Synchronization Analysis", PPoPP 2001; LogGOPSim uses
 * it, too: Hoefler, Schneider, Lumsdaine, HPDC 2010). A script cannot change while it is played. */
#ifndef PW_SIM_SCRIPT_H
#define PW_SIM_SCRIPT_H

#include "sim/stage.h"

enum pw_sim_op_kind { PW_SIM_WORKS, PW_SIM_SENDS, PW_SIM_RECVS };

struct pw_sim_op {
    enum pw_sim_op_kind kind;
    enum pw_phase phase; /* work */
    double mean_ns, share;
    int64_t peer, bytes, tag; /* messages; tags between two ranks are unique in a step */
    int is_buffered;          /* messages: buffered whatever its size */
};

struct pw_sim_script;

/* Creates a script with room for `most` operations of each rank. NULL when memory is short. */
struct pw_sim_script *pw_sim_script_create(const struct pw_sim_params *params, int64_t most);
void pw_sim_script_destroy(struct pw_sim_script *script);

void pw_sim_script_add(struct pw_sim_script *script, int64_t rank, const struct pw_sim_op *op);

/* Plays play->script once, on all ranks. Sets play->failed to -EDEADLK when ranks wait for each
 * other for ever, and to -ENOMEM when there is no script. */
void pw_sim_script_step(struct pw_sim_play *play);

#endif
