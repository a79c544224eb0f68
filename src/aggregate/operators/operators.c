/* Joins what the processes know of operators; see operators.h. */
#include "aggregate/operators/operators.h"

#include <assert.h>
#include <stdlib.h>

#include "aggregate/operators/opcells.h"
#include "aggregate/operators/opreduce.h"
#include "aggregate/operators/oprows.h"

static int make_ranks(struct pw_operators *out, struct pw_job *job, struct pw_optree *tree,
                      const int32_t *order)
{
    static_assert((int)PW_OPERATORS_BY_RANK <= (int)PW_OPCELLS_MOST,
                  "all of them can be asked for");
    struct pw_opcells wanted = {.n = 0};
    for (size_t i = 0; job->process == 0 && i < tree->nops && i < PW_OPERATORS_MOST &&
                       wanted.n < PW_OPERATORS_BY_RANK;
         i++)
        if (pw_opname_counts(&tree->ops[order[i]])) {
            wanted.ops[wanted.n] = order[i];
            wanted.rows[wanted.n++] = (int32_t)i;
        }
    return pw_opcells_gather(job, tree, &wanted, &out->ranks, &out->nranks);
}

int pw_operators_make(struct pw_operators *out, struct pw_job *job, struct pw_optree *tree, int err)
{
    int32_t *order = NULL;
    *out = (struct pw_operators){0};
    err = pw_opreduce(tree, job->comm, err);
    if (err)
        return err;
    if (job->process == 0)
        err = pw_oprows_make(out, tree, &order);
    MPI_Bcast(&err, 1, MPI_INT, 0, job->comm);
    err = err ? err : make_ranks(out, job, tree, order);
    if (job->process == 0 && tree->unlisted && !err)
        pw_job_note(job, -1, "operators_unlisted", tree->unlisted,
                    "calls of operators, call paths or shapes that are too many to be told apart");
    if (job->process == 0 && tree->unpeaked && !err)
        pw_job_note(job, -1, "operators_unpeaked", tree->unpeaked,
                    "ranks of which too many threads told of memory for peaks to be known");
    free(order);
    return err;
}

void pw_operators_fini(struct pw_operators *o)
{
    free(o->ops);
    free(o->types);
    free(o->shapes);
    free(o->stacks);
    free(o->ranks);
    *o = (struct pw_operators){0};
}
