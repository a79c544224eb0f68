/* The data for the run's dependency graph (analysis/replay.h). ranktrace.c and messagesums.c add
 * the events of each rank; aggregate.c begins the collection and gathers it on process 0, which
 * builds the graph (findings/graph.h). It covers the first steps of the run, as many as fit a
 * budget of events, so that the merge's memory does not grow with the run, and none that the end of
 * a job that did not end well cut. */
#ifndef PW_AGGREGATE_MATCH_GRAPHPARTS_H
#define PW_AGGREGATE_MATCH_GRAPHPARTS_H

#include "aggregate/match/instances.h"

/* One communication event of a rank. Times are ns since the job's epoch, except local_enter, which
 * identifies the event. */
struct pw_graph_op {
    int64_t local_enter;
    int64_t enter;
    int64_t stands, leave; /* begin and end of the blocking; stands INT64_MAX: it did not block */
    int64_t instance;      /* -1: no collective */
    int64_t bytes; /* sent and received in a collective with unequal parts (Alltoallv); else 0 */
    int64_t size;  /* bytes sent; for a receive, received */
    int32_t rank, peer;  /* peer: world rank of a message's partner; else -1 */
    uint8_t adds, waits; /* 1: the rank adds to the gate of the instance; waits for it */
    uint8_t receives, pad;
    uint16_t op;
    uint16_t pad2;
};

/* A step (phase < 0) or phase of a rank. */
struct pw_graph_window {
    int64_t start, end;
    int32_t rank;
    int32_t step : 28, phase : 4;
};

/* A matched message: the local_enter of its send and of its receive. */
struct pw_graph_link {
    int64_t sent, received;
    int32_t src, dst;
};

/* A send that waited until its receiver returned into MPI. Times are ns since the job's epoch. */
struct pw_graph_flow {
    int64_t sent; /* local_enter of the send */
    int64_t came;
    int32_t src, dst;
};

struct pw_graph_items {
    char *v;
    size_t n, capacity, size;
};

/* The data that one process has collected. */
struct pw_graph_parts {
    struct pw_graph_items ops, windows, links, flows;
    size_t nsteps;    /* number of steps to replay, from the first of the job on */
    int is_short;     /* 1: the budget did not suffice for all steps */
    int64_t until_ns; /* end of the last of these steps on any rank */
    int asynchronous; /* 1: collectives ran on GPUs beside the ranks' work, so a rank is not a
                         single sequence */
    int failed;
};

/* Chooses the number of steps. Collective. */
void pw_graph_begin(struct pw_graph_parts *parts, const struct pw_job *job);

/* Leaves out the steps that the end of the job cut, when that is known: in them ranks wait for one
 * that has ended. To be called before events and windows are added. Collective. */
void pw_graph_end(struct pw_graph_parts *parts, const struct pw_job *job);

/* Adds an event, if it is before until_ns. */
void pw_graph_add_event(struct pw_graph_parts *parts, const struct pw_world *world,
                        const struct pw_input *input, const struct pw_row_comm_event *event,
                        const struct pw_instances *instances);
void pw_graph_add_window(struct pw_graph_parts *parts, const struct pw_graph_window *window);
void pw_graph_add_link(struct pw_graph_parts *parts, const struct pw_graph_link *link);
void pw_graph_add_flow(struct pw_graph_parts *parts, const struct pw_graph_flow *flow);
void pw_graph_parts_fini(struct pw_graph_parts *parts);

/* Gathers the parts on process 0. Collective. Returns 0 or -ENOMEM. */
int pw_graph_gather(struct pw_graph_parts *parts, const struct pw_procs *procs);

#endif
