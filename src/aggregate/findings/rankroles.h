/* The ranks' roles in the job: those that the program or its command line gave, else those that its
 * communication shows (analysis/roles.h). aggregate.c has them gathered on all processes together
 * and found on process 0, for imbalance.c. A role that was given is never replaced by one concluded
 * from messages. */
#ifndef PW_AGGREGATE_FINDINGS_RANKROLES_H
#define PW_AGGREGATE_FINDINGS_RANKROLES_H

#include "aggregate/match/graphparts.h"
#include "aggregate/match/messages.h"

/* On process 0; the others have none. */
struct pw_roles {
    struct pw_row_c_role *rows; /* [nranks]; n is 0 when all have the same part */
    int32_t *role_of;           /* [nranks] 0 .. nroles - 1, by their first ranks */
    size_t n, nroles;
    int is_given; /* not concluded from messages */
    /* What is known before: labels of the ranks, and communicators of a part of the job. */
    struct pw_role_label *labels;
    struct pw_role_member *members;
    size_t nlabels, nmembers;
};

/* Brings what the files say to process 0. Collective. 0 or -ENOMEM, the same on all. */
int pw_roles_gather(struct pw_roles *roles, const struct pw_job *job);

/* Finds the roles, on process 0; `parts` are gathered. 0 or -ENOMEM. */
int pw_roles_find(struct pw_roles *roles, const struct pw_world *world,
                  const struct pw_pairs *pairs, const struct pw_graph_parts *parts);

void pw_roles_fini(struct pw_roles *roles);

#endif
