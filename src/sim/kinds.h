/* The kinds of faults, one row each: whom they hit, how, and what a report should say of them. */
#ifndef PW_SIM_KINDS_H
#define PW_SIM_KINDS_H

#include "sim/params.h"

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

/* Where the main thread is meanwhile, as /proc has it; READY, STOLEN and QUOTA are its 'R'. */
enum pw_sim_state {
    PW_SIM_RUNNING,
    PW_SIM_READY,   /* others have its CPU */
    PW_SIM_QUOTA,   /* its cgroup has used up its quota */
    PW_SIM_STOLEN,  /* the host itself stands still */
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

/* Of this fault: on all ranks when it might be on one and no rank was named. */
enum pw_sim_scope pw_sim_scope_of(const struct pw_sim_fault *fault);

/* The part of the run that the fault makes longer: "start_up", "steps", "checkpoint" or "tail". */
const char *pw_sim_part_of(const struct pw_sim_fault *fault);

#endif
