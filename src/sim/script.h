/* What each rank does in a step, one thing after the other, for patterns in which ranks do
 * different things or wait for single messages. pattern.c writes the script once, and plays it in
 * every step. Messages are those of LogGPS: up to a size a send is buffered and goes on; above it,
 * it ends when the receiver has come and the data is there (Ino, Fujimoto, Hagihara, "LogGPS: A
 * Parallel Computational Model for Synchronization Analysis", PPoPP 2001; LogGOPSim uses it, too:
 * Hoefler, Schneider, Lumsdaine, HPDC 2010). A script cannot change while it is played. */
#ifndef PW_SIM_SCRIPT_H
#define PW_SIM_SCRIPT_H

#include "sim/stage.h"

enum pw_sim_op_kind { PW_SIM_WORKS, PW_SIM_SENDS, PW_SIM_RECVS };

struct pw_sim_op {
    enum pw_sim_op_kind kind;
    enum pw_phase phase; /* work */
    double mean_ns, share;
    int64_t peer, bytes, tag; /* messages: no two of a step between two ranks have the same tag */
    int is_buffered;          /* whatever its size */
};

struct pw_sim_script;

/* With room for `most` things of each rank. NULL when memory is short. */
struct pw_sim_script *pw_sim_script_create(const struct pw_sim_params *params, int64_t most);
void pw_sim_script_destroy(struct pw_sim_script *script);

void pw_sim_script_add(struct pw_sim_script *script, int64_t rank, const struct pw_sim_op *op);

/* All ranks do what play->script says, once. play->failed is -EDEADLK when they wait for each
 * other, and -ENOMEM when there is no script. */
void pw_sim_script_step(struct pw_sim_play *play);

#endif
