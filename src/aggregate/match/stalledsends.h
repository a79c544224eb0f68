/* Sends that stood still for their receiver although they were over before it stood still for them
 * (analysis/message.h). They are noted as messages are matched; whether the receiver was away
 * meanwhile is read from its file afterwards, only around them. */
#ifndef PW_AGGREGATE_MATCH_STALLEDSENDS_H
#define PW_AGGREGATE_MATCH_STALLEDSENDS_H

#include "aggregate/match/sides.h"
#include "analysis/message.h"

/* Times are ns since the job's epoch but for those called local, of the rank's own clock. */
struct pw_flow_send {
    struct pw_interval stood;
    int64_t local_stood; /* when that began */
    int64_t local_enter; /* of the call that began the send */
    int64_t near_local;  /* the receiver's time about when it began */
    int32_t src, dst;
    struct pw_flow found;
};

struct pw_flows {
    struct pw_flow_send *v;
    size_t n, capacity;
    int64_t least_ns; /* shorter sends are not looked at; INT64_MAX: none is */
    int failed;
};

struct pw_flows pw_flows_make(const struct pw_world *world);

/* Notes a matched send that may have waited for room. */
void pw_flows_note(struct pw_flows *flows, const struct pw_side *send,
                   const struct pw_side *receive);

/* Reads what the receivers did, all of which are inputs of this process, and leaves the sends that
 * waited. 0 or -ENOMEM. */
int pw_flows_find(struct pw_flows *flows, const struct pw_job *job);

void pw_flows_fini(struct pw_flows *flows);

#endif
