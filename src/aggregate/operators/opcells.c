/* Asks all processes for their ranks' figures of operators, which are named by text; see opcells.h.
 */
#include "aggregate/operators/opcells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/sort.h"

struct wanted {
    char name[PW_OPTREE_NAME], type[PW_OPTREE_TYPE];
    uint32_t kind;
    int32_t row;
};

static void name_all(const struct pw_optree *tree, const struct pw_opcells *from,
                     struct wanted *wanted)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct pw_opname *op = &tree->ops[from->ops[i]];
        snprintf(wanted[i].name, sizeof(wanted->name), "%s", pw_optree_borrow_text(tree, op->name));
        snprintf(wanted[i].type, sizeof(wanted->type), "%s", pw_optree_borrow_text(tree, op->type));
        wanted[i].kind = op->kind;
        wanted[i].row = from->rows[i];
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
static size_t pick_cells(const struct pw_optree *tree, const int32_t *which,
                         const struct wanted *wanted, struct pw_row_c_operator_rank *out)
{
    size_t n = 0;
    for (size_t i = 0; i < tree->ncells; i++) {
        const struct pw_opcell *cell = &tree->cells[i];
        if (cell->op >= 0 && which[cell->op] < 0)
            continue;
        out[n++] = (struct pw_row_c_operator_rank){
            .operator_row = cell->op < 0 ? -1 : wanted[which[cell->op]].row,
            .rank = cell->rank,
            .calls = cell->calls,
            .total_ns = pw_narrow(cell->total_ns),
            .self_ns = at_least_0(cell->self_ns),
            .self_wait_ns = at_least_0(cell->self_wait_ns),
        };
    }
    return n;
}

int pw_opcells_gather(const struct pw_procs *procs, struct pw_optree *tree,
                      const struct pw_opcells *from, struct pw_row_c_operator_rank **out,
                      size_t *total)
{
    struct wanted *wanted = calloc(PW_OPCELLS_MOST, sizeof(*wanted));
    unsigned long n = procs->process == 0 ? from->n : 0;
    if (!pw_procs_all_ok(procs, wanted != NULL))
        pw_procs_out_of_memory(procs);
    if (procs->process == 0)
        name_all(tree, from, wanted);
    MPI_Bcast(&n, 1, MPI_UNSIGNED_LONG, 0, procs->comm);
    MPI_Bcast(wanted, (int)(n * sizeof(*wanted)), MPI_BYTE, 0, procs->comm);
    int32_t *which = find_wanted(tree, wanted, n);
    struct pw_row_c_operator_rank *mine = calloc(tree->ncells + 1, sizeof(*mine));
    size_t count = which && mine ? pick_cells(tree, which, wanted, mine) : 0;
    int err = which && mine ? 0 : -ENOMEM;
    void *all = NULL;
    *total = pw_procs_allgather(procs, mine, count, sizeof(*mine), &all);
    pw_sort(all, *total, sizeof(*mine), by_operator_and_rank);
    *out = all;
    free(which);
    free(mine);
    free(wanted);
    return pw_procs_worst(procs, err);
}
