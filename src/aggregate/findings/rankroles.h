/* The ranks' roles in the job: as the program or its command line gave them, else as its
 * communication shows them (analysis/roles.h). aggregate.c gathers the data on all processes
 * together, and finds the roles on process 0, for imbalance.c. A given role is never replaced by
 * one found from messages. */
#ifndef PW_AGGREGATE_FINDINGS_RANKROLES_H
#define PW_AGGREGATE_FINDINGS_RANKROLES_H

#include "aggregate/match/graphparts.h"
#include "aggregate/match/messages.h"

/* Filled on process 0, empty on the others. */
struct pw_roles {
    struct pw_row_c_role *rows; /* [nranks]; n is nranks, or 0 when all ranks have one role */
    int32_t *role_of; /* [nranks] 0 .. nroles - 1, in the order of the roles' first ranks */
    size_t n, nroles;
    int is_given; /* 1: the roles were given; 0: they were found from messages */
    /* Gathered data: labels of the ranks, and members of communicators. */
    struct pw_role_label *labels;
    struct pw_role_member *members;
    size_t nlabels, nmembers;
};

/* Gathers the data from the rank files on process 0. Collective. Returns 0 or -ENOMEM, the same on
 * all processes. */
int pw_roles_gather(struct pw_roles *roles, const struct pw_job *job);

/* Finds the roles, on process 0; `parts` are gathered. Returns 0 or -ENOMEM. */
int pw_roles_find(struct pw_roles *roles, const struct pw_world *world,
                  const struct pw_pairs *pairs, const struct pw_graph_parts *parts);

void pw_roles_fini(struct pw_roles *roles);

#endif
