/* What the run's dependency graph for the replay (analysis/replay.h) is made of. ranktrace.c and
 * messagesums.c add what they see of each rank; aggregate.c begins it and has it gathered on
 * process 0, which builds the graph (findings/graph.h). It is kept for as many steps from the first
 * as fit a budget of events, so that the merge's memory does not grow with the run. */
#ifndef PW_AGGREGATE_MATCH_GRAPHPARTS_H
#define PW_AGGREGATE_MATCH_GRAPHPARTS_H

#include "aggregate/match/instances.h"

/* What a rank did in one communication event. Times are ns since the job's epoch but for
 * local_enter, which tells the event apart. */
struct pw_graph_op {
    int64_t local_enter;
    int64_t enter;
    int64_t stands, leave; /* stood still for it from .. to; stands INT64_MAX: did not */
    int64_t instance;      /* -1: no collective */
    int64_t bytes;         /* of an Alltoallv or its like: sent and received; else 0 */
    int64_t size;          /* sent, or of a receive received */
    int32_t rank, peer;    /* peer: of a message, world rank; else -1 */
    uint8_t adds, waits;   /* to or at the instance */
    uint8_t receives, pad;
    uint16_t op;
    uint16_t pad2;
};

/* A step (phase < 0) or phase of a rank. */
struct pw_graph_window {
    int64_t start, end;
    int32_t rank, step, phase, pad;
};

/* A matched message, by its two ends' local_enter. */
struct pw_graph_link {
    int64_t sent, received;
    int32_t src, dst;
};

/* A send that waited until its receiver came back into MPI, ns since the job's epoch. */
struct pw_graph_flow {
    int64_t sent; /* local_enter of the send */
    int64_t came;
    int32_t src, dst;
};

struct pw_graph_items {
    char *v;
    size_t n, capacity, size;
};

/* What one process has collected. */
struct pw_graph_parts {
    struct pw_graph_items ops, windows, links, flows;
    size_t nsteps;    /* steps replayed: the first of the job */
    int64_t until_ns; /* when the last of them ends, on any rank */
    int asynchronous; /* collectives went on beside work, on GPUs: a rank is no single sequence */
    int failed;
};

/* Chooses how many steps fit. Collective. */
void pw_graph_begin(struct pw_graph_parts *parts, const struct pw_job *job);

/* Adds an event for the replay, when it is in time: which ranks it holds up, and where the rank
 * stood still for it. */
void pw_graph_add_event(struct pw_graph_parts *parts, const struct pw_world *world,
                        const struct pw_input *input, const struct pw_row_comm_event *event,
                        const struct pw_instances *instances);
void pw_graph_add_window(struct pw_graph_parts *parts, const struct pw_graph_window *window);
void pw_graph_add_link(struct pw_graph_parts *parts, const struct pw_graph_link *link);
void pw_graph_add_flow(struct pw_graph_parts *parts, const struct pw_graph_flow *flow);
void pw_graph_parts_fini(struct pw_graph_parts *parts);

/* Gathers the parts on process 0. Collective. 0 or -ENOMEM. */
int pw_graph_gather(struct pw_graph_parts *parts, const struct pw_procs *procs);

#endif
