/* What a synthetic run is made of: its size, pattern, noise, declared faults with the table of
 * their kinds, and the clocks of its hosts. `profwrap sim` (cmd_sim.c) fills it from its options;
 * all else in src/sim only reads it, and every part of a run is a function of it. */
#ifndef PW_SIM_PARAMS_H
#define PW_SIM_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

enum {
    PW_SIM_FAULTS = 16,
    PW_SIM_MAX_RANKS = 1 << 20,
    PW_SIM_MAX_OPERATORS = 1000,
    PW_SIM_MAX_INNER = 1000
};

enum pw_sim_pattern {
    PW_SIM_DATA,     /* data-parallel training: backward in pieces, an Allreduce after each */
    PW_SIM_HALO,     /* 2-D domain decomposition: exchange with 4 neighbours, then Allreduces */
    PW_SIM_HYBRID,   /* pipeline x tensor x data parallel, each with communicators of its own */
    PW_SIM_RING,     /* messages to the right and to the left, and no collectives at all */
    PW_SIM_NESTED,   /* inner iterations, each with an Allreduce, in outer ones */
    PW_SIM_PERIODS,  /* some of the work in every step, some in every 4th, some in every 10th */
    PW_SIM_PIPELINE, /* pipeline x data parallel, 1F1B, interleaved where ranks have several chunks
                      */
    PW_SIM_MOE,      /* mixture of experts, a share of them on every rank */
    PW_SIM_PATTERNS
};

enum pw_sim_fault_kind {
    PW_SIM_SLOW_RANK,
    PW_SIM_SLOW_HOST,
    PW_SIM_SLOW_LINK,
    PW_SIM_STARVED_LOADER,
    PW_SIM_SLOW_TRANSFER,
    PW_SIM_JITTER,
    PW_SIM_SLOW_OPERATOR,
    PW_SIM_SLOW_GPU,   /* clocks low from heat: all kernels are longer */
    PW_SIM_HOST_BOUND, /* kernels are launched late */
    PW_SIM_CLOCK_SKEW,
    PW_SIM_MISSING,
    PW_SIM_TRUNCATED,
    PW_SIM_CPU_QUOTA,   /* of a cgroup: runs for `share` % of every 100 ms */
    PW_SIM_BURNERS,     /* `burners` other processes on the rank's CPU */
    PW_SIM_SIGSTOP,     /* for `ns`, once */
    PW_SIM_SIGSTOPS,    /* for `ns` in every `every_ns` */
    PW_SIM_FREEZE,      /* a host stands still for `ns`, with its samplers */
    PW_SIM_DISK_READS,  /* work waits for a disk */
    PW_SIM_PAGE_FAULTS, /* major ones */
    PW_SIM_BLOCKED,     /* work waits for a lock */
    PW_SIM_STALL,       /* one step is longer by `ns` */
    PW_SIM_LATE_START,  /* MPI_Init is entered late */
    PW_SIM_LATE_SETUP,  /* what comes before the first step takes longer */
    PW_SIM_LATE_END,    /* what comes after the last step takes longer */
    PW_SIM_CHECKPOINT,  /* a pause of `ns` at the end of every `period`-th step */
    PW_SIM_DRIFT,       /* steps grow, in the last one by `percent` */
    PW_SIM_SLOW_ALL,
    PW_SIM_CONGESTION, /* transfers between hosts, or to and from one of them */
    PW_SIM_FAULT_KINDS
};

enum pw_sim_routing {
    PW_SIM_ROUTING_UNIFORM,
    PW_SIM_ROUTING_HOT,      /* one expert has more tokens all the time */
    PW_SIM_ROUTING_ROTATING, /* another one after every 10 steps */
    PW_SIM_ROUTING_BURST     /* one of them in some steps */
};

struct pw_sim_fault {
    enum pw_sim_fault_kind kind;
    int64_t rank, peer;  /* peer: of a slow link; rank -1: all */
    int64_t host;        /* of congestion -1: all */
    int64_t first, last; /* steps */
    int64_t period;      /* of jitter and checkpoints, steps */
    enum pw_phase phase;
    double percent;              /* of the step's mean work; of the transfer for a slow link */
    int64_t offset_ns, error_ns; /* of a clock */
    char name[32];               /* of a slow operator, which takes `factor` times as long */
    double factor;
    /* A fault that stops a process begins delay_ns after the first step does; for_ns 0: it lasts
     * for the fault's steps. */
    int64_t ns, every_ns, delay_ns, for_ns, slice_ns;
    int64_t share, burners;
};

struct pw_sim_params {
    uint64_t seed;
    enum pw_sim_pattern pattern;
    int64_t ranks, steps, collectives, ranks_per_host;
    int64_t step_ns; /* mean work of a rank in a step */
    int64_t bytes;   /* of a large message */
    double noise;    /* standard deviation of a rank's work in a step, as a share of its mean */
    int64_t clock_error_ns;
    int64_t pipeline, tensor, microbatches; /* hybrid only */
    int64_t operators;                      /* in each piece of work, 0 for none */
    int gpu;                                /* work is kernels, collectives are NCCL's */
    int queues;                             /* 1: a data pipeline, looked at in each step */
    int64_t inner;                          /* nested: inner iterations of an outer one */
    int64_t message, eager;                 /* ring: bytes; larger than this, a send waits */
    int64_t chunks;                         /* pipeline: parts of the model on every rank */
    enum pw_sim_routing routing;            /* experts */
    double hot;                             /* how many times the mean a hot expert has more */
    double lengths;                         /* sigma of sequences' log-normal lengths */
    double stage_skew; /* by how much the last stage has more work than a middle one */
    /* 1: the same work, but shared out evenly; for the truth. */
    int even_stages, even_lengths, even_tokens;
    double overlap; /* data: share of Allreduces that backward hides */
    double host_noise, rack_noise;
    int64_t burst_ns, gc_ns; /* mean; 0: none */
    int tell_roles;          /* as profwrap_role() and profwrap_work() would */
    int steps_marked;
    int bare;        /* neither steps nor phases are recorded */
    int os_samples;  /* of /proc, 10 in a second */
    int64_t ends_ns; /* from MPI_Init to the first step, and from the last to MPI_Finalize; 0: the
                        run is its steps */
    size_t nfaults;
    struct pw_sim_fault faults[PW_SIM_FAULTS];
};

const char *pw_sim_pattern_name(enum pw_sim_pattern pattern);

/* "KIND:key=value,key=value;KIND:..." into params->faults; ranks and steps must be set before. 0,
 * or -EINVAL with one sentence in `problem`. */
int pw_sim_parse_faults(const char *text, struct pw_sim_params *params, char *problem, size_t size);

/* Chooses what was left 0 and checks that the sizes fit together. 0, or -EINVAL with one sentence
 * in `problem`. */
int pw_sim_complete(struct pw_sim_params *params, char *problem, size_t size);

static inline int64_t pw_sim_host(const struct pw_sim_params *params, int64_t rank)
{
    return rank / params->ranks_per_host;
}

/* ---- the kinds of faults: whom they hit, how, and what a report should say of them ---- */

enum pw_sim_scope {
    PW_SIM_ON_RANK,
    PW_SIM_ON_HOST,
    PW_SIM_ON_LINK,
    PW_SIM_ON_ALL,
    PW_SIM_ON_FILE,
    PW_SIM_ON_NETWORK
};

enum pw_sim_how {
    PW_SIM_ADDS,    /* to a phase's work, a share of the step's */
    PW_SIM_ADDS_NS, /* once, a time */
    PW_SIM_STOPS,   /* the process, in work and in calls alike: again and again */
    PW_SIM_STOPS_ONCE,
    PW_SIM_AT_ENDS, /* before the first step or after the last */
    PW_SIM_PAUSES,  /* between two steps */
    PW_SIM_ELSE     /* transfers, clocks, files */
};

/* Where the main thread is meanwhile, as /proc has it; READY, FROZEN and QUOTA are its 'R'. */
enum pw_sim_state {
    PW_SIM_RUNNING,
    PW_SIM_READY,   /* others have its CPU */
    PW_SIM_QUOTA,   /* its cgroup has used up its quota */
    PW_SIM_FROZEN,  /* the host itself stands still */
    PW_SIM_STOPPED, /* 'T' */
    PW_SIM_DISK,    /* 'D' */
    PW_SIM_SLEEPING /* 'S' */
};

struct pw_sim_kind {
    const char *name;
    enum pw_sim_scope scope;
    enum pw_sim_how how;
    enum pw_sim_state state;
    enum pw_phase phase;
    double percent, ms; /* unless given */
    int has_evidence;   /* samples of /proc are written, asked for or not */
    const char *cause;  /* enum pw_cause's name where it has one; "" where none is to be found */
};

const struct pw_sim_kind *pw_sim_kind_of(enum pw_sim_fault_kind kind);

const char *pw_sim_scope_name(enum pw_sim_scope scope);

/* The scope of this fault: all ranks when its kind may be on one and no rank was named. */
enum pw_sim_scope pw_sim_scope_of(const struct pw_sim_fault *fault);

/* The part of the run that the fault makes longer: "start_up", "steps", "checkpoint" or "tail". */
const char *pw_sim_part_of(const struct pw_sim_fault *fault);

/* ---- the clocks of the hosts ---- */

/* A host's clock: local = time + offset + drift x time. */
struct pw_sim_clock {
    int64_t offset_ns, error_ns;
    double drift;
};

/* Host 0 keeps the cluster clock. */
struct pw_sim_clock pw_sim_clock_of(const struct pw_sim_params *params, int64_t rank);

static inline int64_t pw_sim_local_time(const struct pw_sim_clock *clock, int64_t time)
{
    return time + clock->offset_ns + (int64_t)(clock->drift * (double)time);
}

#endif
