/* Joins what the processes know of operators; see operators.h. */
#include "aggregate/operators.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/opreduce.h"
#include "aggregate/oprows.h"
#include "core/sort.h"

/* An operator that all processes are asked about. */
struct wanted {
    char name[PW_OPTREE_NAME], type[PW_OPTREE_TYPE];
    uint32_t kind;
};

static void choose(struct wanted *wanted, int32_t *rows, unsigned long *n,
                   const struct pw_optree *tree, const int32_t *order)
{
    for (size_t i = 0; i < tree->nops && i < PW_OPERATORS_MOST && *n < PW_OPERATORS_BY_RANK; i++) {
        const struct pw_opname *op = &tree->ops[order[i]];
        if (!pw_opname_counts(op))
            continue;
        snprintf(wanted[*n].name, sizeof(wanted->name), "%s",
                 pw_optree_borrow_text(tree, op->name));
        snprintf(wanted[*n].type, sizeof(wanted->type), "%s",
                 pw_optree_borrow_text(tree, op->type));
        wanted[*n].kind = op->kind;
        rows[(*n)++] = (int32_t)i;
    }
}

/* For each of this process's operators which wanted one it is, -1 for none; NULL when memory is
 * short. */
static int32_t *find_wanted(struct pw_optree *tree, const struct wanted *wanted, size_t n)
{
    int32_t *which = malloc((tree->nops + n + 1) * sizeof(*which));
    for (size_t i = 0; which && i < tree->nops + n; i++)
        which[i] = -1;
    for (size_t i = 0; which && i < n; i++) {
        int64_t name = pw_optree_text(tree, wanted[i].name, sizeof(wanted->name));
        int64_t type = pw_optree_text(tree, wanted[i].type, sizeof(wanted->type));
        int32_t op = name < 0 || type < 0
                         ? -1
                         : pw_optree_op(tree, (uint32_t)name, (uint32_t)type, wanted[i].kind);
        if (op >= 0)
            which[op] = (int32_t)i;
    }
    return which;
}

static int by_operator_and_rank(const void *a, const void *b)
{
    const struct pw_row_c_operator_rank *x = a, *y = b;
    if (x->operator_row != y->operator_row)
        return x->operator_row < y->operator_row ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int64_t at_least_0(pw_wide ns)
{
    return ns > 0 ? pw_narrow(ns) : 0;
}

/* The cells of this process that are wanted, as rows; those of all operators together always are.
 */
static size_t pick_cells(const struct pw_optree *tree, const int32_t *which, const int32_t *rows,
                         struct pw_row_c_operator_rank *out)
{
    size_t n = 0;
    for (size_t i = 0; i < tree->ncells; i++) {
        const struct pw_opcell *cell = &tree->cells[i];
        if (cell->op >= 0 && which[cell->op] < 0)
            continue;
        out[n++] = (struct pw_row_c_operator_rank){
            .operator_row = cell->op < 0 ? -1 : rows[which[cell->op]],
            .rank = cell->rank,
            .calls = cell->calls,
            .total_ns = pw_narrow(cell->total_ns),
            .self_ns = at_least_0(cell->self_ns),
            .self_wait_ns = at_least_0(cell->self_wait_ns),
        };
    }
    return n;
}

static int make_ranks(struct pw_operators *out, struct pw_job *job, struct pw_optree *tree,
                      const int32_t *order)
{
    struct wanted *wanted = calloc(PW_OPERATORS_BY_RANK, sizeof(*wanted));
    int32_t rows[PW_OPERATORS_BY_RANK] = {0};
    unsigned long n = 0;
    if (!wanted)
        MPI_Abort(job->comm, 1);
    if (job->process == 0)
        choose(wanted, rows, &n, tree, order);
    MPI_Bcast(&n, 1, MPI_UNSIGNED_LONG, 0, job->comm);
    MPI_Bcast(wanted, (int)(n * sizeof(*wanted)), MPI_BYTE, 0, job->comm);
    MPI_Bcast(rows, PW_OPERATORS_BY_RANK, MPI_INT32_T, 0, job->comm);
    int32_t *which = find_wanted(tree, wanted, n);
    struct pw_row_c_operator_rank *mine = calloc(tree->ncells + 1, sizeof(*mine));
    size_t count = which && mine ? pick_cells(tree, which, rows, mine) : 0;
    int err = which && mine ? 0 : -ENOMEM, worst;
    void *all = NULL;
    out->nranks = pw_job_allgather(job, mine, count, sizeof(*mine), &all);
    pw_sort(all, out->nranks, sizeof(*mine), by_operator_and_rank);
    out->ranks = all;
    free(which);
    free(mine);
    free(wanted);
    MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, job->comm);
    return worst;
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
