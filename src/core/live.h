/* What is known of a rank while it runs: the calls that its threads are in, and the number of
 * collectives that it has left on each communicator. Each rank's collector fills a struct pw_live;
 * `profwrap ctl status` and the watchdog gather those of all ranks, compare and print them. Tool
 * code only. The arrays belong to the struct until pw_live_fini(). */
#ifndef PW_CORE_LIVE_H
#define PW_CORE_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "core/callorder.h"

enum {
    PW_LIVE_NAME = 64,
    PW_LIVE_COMMS = 256,
    PW_LIVE_THREADS = 256,
    PW_LIVE_FRAMES = 64,
    PW_LIVE_PROBLEM = 160,
    PW_LIVE_PLACE = 256,
    PW_LIVE_REQUESTS = 256,
    PW_LIVE_PAIRS = 1024,
    PW_LIVE_QUEUED = 1024,
    PW_LIVE_STEPS = 256,
    PW_LIVE_PHASES = 5, /* data to optimizer: enum pw_phase, less 1 */
};

/* Which kind of row of `threads` it is. */
enum pw_live_queue {
    PW_LIVE_THREAD, /* a thread */
    PW_LIVE_QUEUE,  /* the operations of a communicator that the rank has given to the GPU: `op` is
                     * the last one, and nothing tells that it has not ended */
    PW_LIVE_HELD,   /* the same; `op` is the first one that cannot end, as a member has not called
                     * it. Set by analysis/hang.h */
    PW_LIVE_QUEUES
};

/* A thread that has recorded something and has not ended; or the operations that the rank has given
 * to the GPU on a communicator, which stands for a thread that waits in them. */
struct pw_live_thread {
    int32_t tid;
    uint16_t thread;   /* number of the thread, in the order of their first records */
    uint16_t awaited;  /* in a completion call: the operation that it waits for; PW_OP_None: not
                        * known */
    uint8_t source;    /* of the call: enum pw_source */
    uint16_t op;       /* the MPI call that it is in (enum pw_op); PW_OP_None: in none that is
                        * recorded */
    int64_t since_ns;  /* time since it entered the call, or left the last one; -1 not known */
    uint64_t comm_uid; /* 0: none, or not known */
    int32_t comm_row;  /* the communicator's row of /comms, for the collector only; -1 none */
    int64_t seq;       /* of a collective: its number on the communicator; else -1 */
    int32_t peer;      /* world rank of the partner or root; -1 none, any or not known */
    int32_t tag;
    uint32_t signature; /* of a collective (core/callorder.h) */
    uint8_t queue;      /* enum pw_live_queue */
    uint8_t polls;    /* 1: it is in no call, but calls `op`, a test or probe, again and again, and
                       * none completes anything */
    int32_t unlisted; /* open requests of the call that are in no row of `requests` */
    uint64_t requests_at; /* for the collector only: where the call's requests are, and how many */
    uint32_t requests_n;
    int32_t dest; /* for the collector only: of MPI_Sendrecv, the rank that it sends to */
};

/* Whether it is known that the operation can complete now. */
enum pw_live_need {
    PW_LIVE_UNKNOWN,
    PW_LIVE_MISSING, /* it cannot: its partner has not done its part */
    PW_LIVE_MATCHED, /* it can: the partner has done its part */
    PW_LIVE_EITHER,  /* it has not completed, and its call returns with it or with another one */
};

/* Requests that a completion call of several waits for, or a loop of tests: one row for all that
 * are alike. */
struct pw_live_request {
    uint16_t thread; /* row of `threads` */
    uint16_t op;
    uint8_t need;      /* enum pw_live_need; set by analysis/hang.h */
    int32_t peer, tag; /* as in struct pw_live_thread */
    int32_t count;     /* how many are alike */
    uint64_t comm_uid;
    int64_t seq;
};

/* The messages between this rank and another one on a communicator, since the start. */
struct pw_live_pair {
    uint64_t comm_uid;
    int32_t peer;     /* world rank; of NCCL: rank in the communicator */
    int64_t sent;     /* sends that have completed, */
    int64_t sending;  /* and those that a request is open for */
    int64_t received; /* receives that have completed */
};

/* A collective or a message that the rank has given to the GPU, one of the last on its
 * communicator. */
struct pw_live_queued {
    uint64_t comm_uid;
    int64_t seq; /* of a message: its number among those of its direction and peer, from 0 */
    int64_t since_ns;
    uint16_t op;
    int32_t peer; /* of a message: the peer's rank in the communicator; else -1 */
};

/* The hash of the order of a communicator after `count` collectives (core/callorder.h). */
struct pw_live_order {
    uint32_t count;
    uint64_t hash;
};

struct pw_live_comm {
    uint64_t uid;
    char name[PW_LIVE_NAME]; /* "" when it has none */
    uint8_t source;          /* enum pw_source: whose it is */
    int32_t size;            /* number of ranks; of an intercommunicator: of both groups */
    int32_t my_rank;         /* in it, of NCCL; else -1 */
    int64_t reached;         /* collectives that this rank has left, or begun if nonblocking */
    int64_t unnumbered;      /* pw_live_is_counted() calls on it that the rank has left; -1 not
                              * known */
    int order_state;         /* enum pw_callorder_state */
    size_t norder;           /* 0 also when the request did not ask for the order */
    struct pw_live_order order[PW_CALLORDER_LEVELS];
};

struct pw_live_stack {
    int32_t tid;
    char *text;                /* frames, outermost first, separated by ';' */
    char place[PW_LIVE_PLACE]; /* the innermost Python frame of the user, else of a library; "" none
                                */
    int has_gil, collects;     /* 1: it holds Python's GIL, it collects garbage */
};

/* What became of a change to begin or end recording (rank/live/start_stop.h). */
enum pw_change_state {
    PW_CHANGE_NONE,    /* there was none */
    PW_CHANGE_IN_TIME, /* its step is still to come */
    PW_CHANGE_LATE, /* the program was past its step, or an earlier change is for the same step or
                     * a later one */
    PW_CHANGE_BUSY, /* too many earlier changes are still to be applied */
    PW_CHANGE_UNKNOWN, /* committed or withdrawn, but not prepared */
    PW_CHANGE_STATES
};

/* A step that has ended. */
struct pw_live_step {
    int64_t step, ns, mpi_ns;         /* mpi_ns: of the thread that marks steps */
    int64_t phase_ns[PW_LIVE_PHASES]; /* outside MPI, of the same thread */
};

/* Counters of the main thread since it began, as in /samples/process; -1: not known. */
struct pw_live_usage {
    int64_t samples; /* -1: the other numbers are not known, either */
    int64_t cpu_ns, runq_ns;
    int64_t involuntary_cs, major_faults, child_faults, io_bytes;
};
enum { PW_LIVE_COUNTERS = sizeof(struct pw_live_usage) / sizeof(int64_t) };

struct pw_live {
    int32_t rank, world_size;
    char hostname[PW_LIVE_NAME];
    int64_t pid;    /* of the process that records */
    char state;     /* its state as in /proc: R, S, D, T, Z; X: it has ended; '?' not readable */
    int unrecorded; /* enum pw_unrecorded: why its MPI calls are not recorded */
    int64_t step;   /* the step that it is in; -1 none */
    int64_t events, dropped;
    int32_t recording;       /* 1: records now; 0: recording is paused */
    int32_t recording_after; /* what `recording` will be when all changes have been applied */
    int64_t steps_per_1000s; /* steps in 1000 s at its present speed; -1 not known */
    /* Figures of the steps that have ended. -1: not known, or no step has ended. */
    int64_t steps, steps_ns;            /* how many, and how long all of them took */
    int64_t mpi_ns;                     /* time of all threads in MPI calls that have ended */
    int64_t step_last_ns, step_mean_ns; /* length of the last step; mean of the last few */
    int64_t step_mpi_ns;                /* the part of step_mean_ns in MPI, of the thread that marks
                                         * the steps */
    int wants_steps;                    /* 1: the request asks for the last steps ... */
    int64_t steps_after;                /* ... after this one */
    struct pw_live_step *last_steps;    /* oldest first */
    size_t nlast_steps;
    struct pw_live_usage usage;  /* only if the request asks for steps */
    int wants_order;             /* 1: the request asks for the order of collectives */
    enum pw_change_state change; /* what became of the change in the request */
    struct pw_live_thread *threads;
    size_t nthreads;
    struct pw_live_comm *comms;
    size_t ncomms;
    struct pw_live_request *requests; /* by thread */
    size_t nrequests;
    struct pw_live_pair *pairs;
    size_t npairs;
    int pairs_known;               /* 1: `pairs` has every message of the rank */
    int messages_known;            /* 1: `pairs` has every message of the rank by NCCL */
    struct pw_live_queued *queued; /* of all communicators that have a queue in `threads`, newest
                                    * first */
    size_t nqueued;
    /* Call stacks; none when the request did not ask for them. */
    struct pw_live_stack *stacks;
    size_t nstacks;
    char stack_problem[PW_LIVE_PROBLEM];  /* why no stacks could be read; "" otherwise */
    char python_problem[PW_LIVE_PROBLEM]; /* the same of the Python frames in them */
    int64_t stopped_ns;                   /* how long the program was stopped to read them */
    int64_t nccl_inits;                   /* NCCL communicators of all ranks that it has made */
    int64_t meetings;                     /* how many of PyTorch's TCPStores it has connected to, or
                                             how many times it has left MindSpore's init() */
};

/* Whether all members of a communicator, window or file must call the operation, and it has no
 * number of its own: creating and freeing them, and the blocking collective operations on files. */
int pw_live_is_unnumbered(uint32_t op);

/* 1 for those of which the number that a rank has left tells which it is in. */
int pw_live_is_counted(uint32_t op);

/* 1 for partitioned messages. They never match others, and that one has begun does not tell that it
 * can complete: its sender may not have made all partitions ready. */
int pw_live_is_partitioned(uint32_t op);

/* Frees the arrays. */
void pw_live_fini(struct pw_live *live);

/* Returns the communicator with this uid, or NULL. */
const struct pw_live_comm *pw_live_comm(const struct pw_live *live, uint64_t uid);

/* Adds a communicator with this name, unless it is there, `comms` is NULL, or it has no more room.
 */
void pw_live_add_comm(struct pw_live *live, const struct pw_live_comm *comm, const char *name);

/* Adds a part of the uid to names that two communicators have. */
void pw_live_distinguish(struct pw_live *live);

/* Returns the thread that stands for the rank: the one that entered or left a call last. A helper
 * thread that waits for messages, or a thread that only started MPI, did so long before the working
 * thread's last call. What is held on the GPU stands for a rank that has not entered a call since;
 * of several, the first that was held. NULL when no thread has recorded anything. */
const struct pw_live_thread *pw_live_main(const struct pw_live *live);

#endif
