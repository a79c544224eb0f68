/* User-defined MPI_Ops; see reduce.h. */
#include "aggregate/match/reduce.h"

#include "core/limits.h"

/* Items per reduction: bounds MPI's own buffers. */
enum { BLOCK = 1 << 14 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void pw_instance_join(struct pw_instance *into, const struct pw_instance *one)
{
    if (one->nranks == 0)
        return;
    if (into->nranks == 0) {
        *into = *one;
        return;
    }
    /* The last but one is the earlier of the two lasts, or what either knew as such. */
    int64_t second = smaller(into->last_enter, one->last_enter);
    second = larger(second, larger(into->second_enter, one->second_enter));
    if (one->last_enter > into->last_enter ||
        (one->last_enter == into->last_enter && one->last_rank < into->last_rank))
        into->last_rank = one->last_rank;
    into->second_enter = second;
    into->first_enter = smaller(into->first_enter, one->first_enter);
    into->last_enter = larger(into->last_enter, one->last_enter);
    into->first_exit = smaller(into->first_exit, one->first_exit);
    into->last_exit = larger(into->last_exit, one->last_exit);
    into->root_enter = smaller(into->root_enter, one->root_enter);
    into->root = into->root > one->root ? into->root : one->root;
    into->bytes = larger(into->bytes, one->bytes);
    into->error_ns =
        into->error_ns < 0 || one->error_ns < 0 ? -1 : larger(into->error_ns, one->error_ns);
    into->step = larger(into->step, one->step);
    into->nranks += one->nranks;
    into->mixed |= one->mixed || into->op != one->op || into->source != one->source;
    into->op = into->op < one->op ? into->op : one->op;
    into->source = into->source < one->source ? into->source : one->source;
}

static void join_instances(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const struct pw_instance *from = in;
    struct pw_instance *into = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        pw_instance_join(&into[i], &from[i]);
}

static void join_waits(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const struct pw_instance_wait *from = in;
    struct pw_instance_wait *into = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        into[i].sum_ns = pw_sum(into[i].sum_ns, from[i].sum_ns);
        into[i].max_ns = larger(into[i].max_ns, from[i].max_ns);
    }
}

/* In blocks, with a contiguous type of `size` bytes that only `function` understands. */
static void reduce(char *items, size_t n, int size, MPI_User_function *function, MPI_Comm comm)
{
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(function, 1, &op);
    for (size_t at = 0; at < n; at += BLOCK) {
        int count = n - at < BLOCK ? (int)(n - at) : BLOCK;
        MPI_Allreduce(MPI_IN_PLACE, items + at * (size_t)size, count, type, op, comm);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

void pw_reduce_instances(struct pw_instance *items, size_t n, MPI_Comm comm)
{
    reduce((char *)items, n, sizeof(*items), join_instances, comm);
}

void pw_reduce_waits(struct pw_instance_wait *waits, size_t n, MPI_Comm comm)
{
    reduce((char *)waits, n, sizeof(*waits), join_waits, comm);
}
