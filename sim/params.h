/* The parameters of a synthetic run: its size, pattern, noise, declared faults with the table of
 * their kinds, and the clocks of its hosts. main.c fills struct pw_sim_params
 * from its options; the other files of sim/ only read it, and everything in a run is a function
 * of it. */
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
    PW_SIM_FARM,     /* rank 0 hands out tasks; a worker gets the next one when it has done one */
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
    PW_SIM_CPU_QUOTA,   /* a cgroup's quota: runs for `share` % of every 100 ms */
    PW_SIM_BURNERS,     /* `burners` other processes on the rank's CPU */
    PW_SIM_SIGSTOP,     /* one stop of `ns` */
    PW_SIM_SIGSTOPS,    /* a stop of `ns` in every `every_ns` */
    PW_SIM_FREEZE,      /* a host does not run for `ns`; its samplers neither */
    PW_SIM_DISK_READS,  /* work waits for a disk */
    PW_SIM_PAGE_FAULTS, /* major page faults */
    PW_SIM_BLOCKED,     /* work waits for a lock */
    PW_SIM_STALL,       /* one step is longer by `ns` */
    PW_SIM_LATE_START,  /* MPI_Init is entered late */
    PW_SIM_LATE_SETUP,  /* the time before the first step is longer */
    PW_SIM_LATE_END,    /* the time after the last step is longer */
    PW_SIM_CHECKPOINT,  /* a pause of `ns` at the end of every `period`-th step */
    PW_SIM_DRIFT,       /* steps get longer, the last one by `percent` */
    PW_SIM_SLOW_ALL,
    PW_SIM_CONGESTION, /* slow transfers between all hosts, or to and from one host */
    PW_SIM_FAULT_KINDS
};

enum pw_sim_routing {
    PW_SIM_ROUTING_UNIFORM,
    PW_SIM_ROUTING_HOT,      /* one expert has more tokens all the time */
    PW_SIM_ROUTING_ROTATING, /* another one after every 10 steps */
    PW_SIM_ROUTING_BURST     /* one expert has more in some steps */
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
    int64_t operators;                      /* number in each piece of work; 0: none */
    int gpu;                                /* 1: work is kernels on GPUs, collectives are NCCL's */
    int queues;                             /* 1: a data pipeline, sampled in each step */
    int64_t inner;                          /* nested: inner iterations of an outer one */
    int64_t message, eager;                 /* ring: bytes of a message; a send of more than `eager`
                                             * bytes waits */
    int64_t chunks;                         /* pipeline: parts of the model on every rank */
    enum pw_sim_routing routing;            /* experts */
    double hot;                             /* a hot expert has 1 + this times the mean */
    double lengths;                         /* sigma of sequences' log-normal lengths */
    double stage_skew; /* how much more work the last stage has than a middle one, as a share */
    /* 1: the same work, distributed evenly; for truth.json. */
    int even_stages, even_lengths, even_tokens;
    double overlap; /* data: share of the Allreduces' time that backward hides */
    double host_noise, rack_noise;
    int64_t burst_ns, gc_ns; /* mean; 0: none */
    int tell_roles;          /* 1: write what profwrap_role() and profwrap_work() would record */
    int steps_marked;
    int bare;        /* neither steps nor phases are recorded */
    int os_samples;  /* 1: samples of /proc, 10 per second */
    int64_t ends_ns; /* from MPI_Init to the first step, and from the last to MPI_Finalize; 0: the
                        run is its steps */
    size_t nfaults;
    struct pw_sim_fault faults[PW_SIM_FAULTS];
};

const char *pw_sim_pattern_name(enum pw_sim_pattern pattern);

/* "KIND:key=value,key=value;KIND:..." into params->faults; ranks and steps must be set before. 0,
 * or -EINVAL with one sentence in `problem`. */
int pw_sim_parse_faults(const char *text, struct pw_sim_params *params, char *problem, size_t size);

/* Sets values that are 0 to defaults, and checks that the sizes fit together. Returns 0, or -EINVAL
 * with one sentence in `problem`. */
int pw_sim_complete(struct pw_sim_params *params, char *problem, size_t size);

static inline int64_t pw_sim_host(const struct pw_sim_params *params, int64_t rank)
{
    return rank / params->ranks_per_host;
}

/* ---- the kinds of faults: which ranks they hit, how, and what a report should find ---- */

enum pw_sim_scope {
    PW_SIM_ON_RANK,
    PW_SIM_ON_HOST,
    PW_SIM_ON_LINK,
    PW_SIM_ON_ALL,
    PW_SIM_ON_FILE,
    PW_SIM_ON_NETWORK
};

enum pw_sim_how {
    PW_SIM_ADDS,    /* adds a share of the step's work to a phase */
    PW_SIM_ADDS_NS, /* adds a time once */
    PW_SIM_STOPS,   /* stops the process repeatedly, in work and in calls */
    PW_SIM_STOPS_ONCE,
    PW_SIM_AT_ENDS, /* adds time before the first step or after the last */
    PW_SIM_PAUSES,  /* pauses between two steps */
    PW_SIM_ELSE     /* changes transfers, clocks or files */
};

/* State of the main thread during the fault, as in /proc; READY, FROZEN and QUOTA are 'R'. */
enum pw_sim_state {
    PW_SIM_RUNNING,
    PW_SIM_READY,   /* other processes have its CPU */
    PW_SIM_QUOTA,   /* its cgroup has used up its quota */
    PW_SIM_FROZEN,  /* the host itself does not run */
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
    double percent, ms; /* defaults */
    int has_evidence;   /* 1: samples of /proc are always written */
    const char *cause;  /* name of the enum pw_cause that a report should find; "": none */
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
