/* The stages that patterns are made of, and the state of a run that is being played. Each stage
 * advances every rank's clock by one operation of all ranks: work, a collective, or an exchange of
 * messages. Only pattern.c, script.c, faults.c and play.c may use this; other files get a run
 * through the sink of play.h. */
#ifndef PW_SIM_STAGE_H
#define PW_SIM_STAGE_H

#include "core/ops.h"
#include "sim/play.h"

struct pw_sim_play {
    const struct pw_sim_params *params;
    uint32_t without;
    const struct pw_sim_sink *sink;
    int64_t *now;         /* [ranks] */
    int64_t *phase_start; /* [ranks] */
    int64_t *scratch;     /* [2 * ranks] */
    int64_t *reduced;     /* [ranks] GPUs: when the communication stream is free */
    int64_t collectives[PW_SIM_COMMS];
    int64_t step;
    uint64_t draw;                 /* counter in this step, so that stages draw different random
                                    * numbers */
    double sigma;                  /* noise of one work stage */
    double mean_length;            /* mean length of this step's sequences; for even_lengths */
    int64_t *told;                 /* [ranks] time up to which faults were reported to the sink */
    int64_t anchor[PW_SIM_FAULTS]; /* when a fault that stops processes began */
    uint32_t stopping;             /* bit i: fault i has begun to stop processes */
    struct pw_sim_script *script;  /* of patterns that have one */
    int failed;                    /* 0 or -errno */
    double *weights;               /* [ranks] experts' tokens; NULL elsewhere */
    const double *received, *sent; /* [ranks] weights of a weighted collective; NULL otherwise */
    double heaviest;
    struct pw_sim_overlap *overlap; /* of patterns that have it */
};

void pw_sim_phase_begin(struct pw_sim_play *play);
void pw_sim_phase_end(struct pw_sim_play *play, enum pw_phase phase);

/* Every rank works; `share` is how much of the phase's work in the step this is (0..1). */
void pw_sim_work(struct pw_sim_play *play, enum pw_phase phase, double mean_ns, double share);

/* Every communicator of the kind does one collective. */
void pw_sim_collective(struct pw_sim_play *play, enum pw_sim_comm comm, enum pw_op op,
                       int64_t bytes);

/* A collective on all ranks. A rank receives (with `sends`: sends) the bytes times its weight. The
 * duration is that of the largest amount. */
void pw_sim_collective_weighted(struct pw_sim_play *play, enum pw_op op, int64_t bytes, int sends,
                                const double *weights);

/* Returns the duration of a collective after all have entered. Includes the effect of slow
 * links. */
double pw_sim_transfer_ns(struct pw_sim_play *play, const struct pw_sim_group *group,
                          int64_t bytes);

/* GPUs: the work of every rank waits for its communication stream. */
void pw_sim_join(struct pw_sim_play *play);

/* Exchange with the up to four neighbours of a grid of `width` columns: Irecv, Isend, Waitall. */
void pw_sim_exchange(struct pw_sim_play *play, int64_t width, int64_t bytes);

/* One microbatch passes the pipeline forward or backward: each stage receives, works and sends.
 * `share` as in pw_sim_work(). */
void pw_sim_pipeline(struct pw_sim_play *play, enum pw_phase phase, int forward, double mean_ns,
                     double share);

/* One rank's work alone. */
void pw_sim_work_one(struct pw_sim_play *play, int64_t rank, enum pw_phase phase, double mean_ns,
                     double share);

/* Returns the duration of a message after both endpoints are ready. */
int64_t pw_sim_message_ns(struct pw_sim_play *play, int64_t from, int64_t to, int64_t bytes);

/* One endpoint of a message; wait_start as in /events/comm. */
struct pw_sim_side {
    enum pw_op op;
    int64_t rank, peer, tag, bytes, start, end, wait_start;
};
void pw_sim_tell_message(struct pw_sim_play *play, const struct pw_sim_side *side);

/* Duration of a call that waits for no other rank. */
enum { PW_SIM_CALL_NS = 800 };

/* Plays one step of the pattern. */
void pw_sim_pattern_step(struct pw_sim_play *play);

/* Returns the sum, over a step's work stages, of the squares of their shares of the step's work.
 * The noise of one stage is that of the step divided by the root of this sum. */
double pw_sim_sum_of_squares(const struct pw_sim_params *params);

#endif
