/* What is known of a rank while it runs: the calls that its threads are in, and how far it has
 * come on its communicators. Its collector fills one; `profwrap ctl status` and the watchdog
 * gather those of all ranks, compare and print them. Tool code only. Its arrays belong to the
 * struct until pw_live_fini(). */
#ifndef PW_CORE_LIVE_H
#define PW_CORE_LIVE_H

#include <stddef.h>
#include <stdint.h>

enum { PW_LIVE_NAME = 64, PW_LIVE_COMMS = 256, PW_LIVE_THREADS = 256, PW_LIVE_FRAMES = 64 };

/* A thread that has recorded something and has not ended. */
struct pw_live_thread {
    int32_t tid;
    uint16_t thread;   /* in the order of first records */
    uint16_t awaited;  /* of a completion call: what it waits for; PW_OP_None: not known */
    uint16_t op;       /* enum pw_op; PW_OP_None: it is in no MPI call that is recorded */
    int64_t since_ns;  /* in it, or out of the last one; -1 not known */
    uint64_t comm_uid; /* 0: none, or not known */
    int32_t comm_row;  /* row of /comms: the collector's own way to say it; -1 none */
    int64_t seq;       /* of a collective: its number on the communicator; else -1 */
    int32_t peer;      /* world rank of the partner or root; -1 none, any or not known */
    int32_t tag;
};

struct pw_live_comm {
    uint64_t uid;
    char name[PW_LIVE_NAME]; /* "" when it has none */
    int32_t size;            /* of both groups, if it has two */
    int64_t reached;         /* collectives that this rank has left, or begun if nonblocking */
};

struct pw_live_stack {
    int32_t tid;
    char *text; /* frames, outermost first, separated by ';' */
};

/* What became of an order to begin or end recording (rank/live/start_stop.h). */
enum pw_order_state {
    PW_ORDER_NONE,    /* there was none */
    PW_ORDER_IN_TIME, /* its step is still to come */
    PW_ORDER_LATE,    /* the program, or an order before it, was past its step */
    PW_ORDER_BUSY,    /* too many before it are still to be obeyed */
    PW_ORDER_UNKNOWN, /* committed or withdrawn, but not prepared */
    PW_ORDER_STATES
};

struct pw_live {
    int32_t rank, world_size;
    char hostname[PW_LIVE_NAME];
    int64_t pid;    /* of the process that records */
    char state;     /* of that, as in /proc: R, S, D, T, Z; '?' not readable */
    int unrecorded; /* why its MPI calls are not recorded, enum pw_unrecorded */
    int64_t step;   /* that it is in; -1 none */
    int64_t events, dropped;
    int32_t recording;       /* 1; 0: recording is paused */
    int32_t ordered;         /* the same, when it will have obeyed all orders */
    int64_t steps_per_1000s; /* how fast its number of steps rose; -1 not known */
    /* The steps that have ended. -1: not known, or none yet. */
    int64_t steps, steps_ns;            /* how many, and how long all of them took */
    int64_t mpi_ns;                     /* inside MPI calls that have ended, all threads */
    int64_t step_last_ns, step_mean_ns; /* the last one; the last few */
    int64_t step_mpi_ns;                /* of step_mean_ns, inside MPI: of who marks the steps */
    enum pw_order_state order;          /* what became of what was asked */
    struct pw_live_thread *threads;
    size_t nthreads;
    struct pw_live_comm *comms;
    size_t ncomms;
    /* When they were asked for. */
    struct pw_live_stack *stacks;
    size_t nstacks;
    char stack_problem[160]; /* why there are none; "" otherwise */
    int64_t stopped_ns;      /* how long the program was stopped for them */
};

/* Frees what it points to. */
void pw_live_fini(struct pw_live *live);

/* The communicator with this uid, or NULL. */
const struct pw_live_comm *pw_live_comm(const struct pw_live *live, uint64_t uid);

/* The thread that speaks for the rank: the one that was the last to enter or leave a call. A helper
 * that waits for messages, or a thread that only started MPI, has long done so when another goes
 * on. NULL when there is none. */
const struct pw_live_thread *pw_live_main(const struct pw_live *live);

#endif
