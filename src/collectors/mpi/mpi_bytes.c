/* How many bytes a rank sends and receives in a collective or one-sided operation: the columns
 * `sent` and `received` of its row in core/mpi_functions.def, applied to the call's arguments.
 * Called when the call has succeeded.
 *
 * Arguments that MPI ignores on a rank (MPI-3.1, 5.5 to 5.11) are not read there. */
#include "collectors/mpi/mpi_call.h"

/* The values of a call from which the bytes are computed. */
struct amounts {
    const struct pw_mpi_call *c;
    bool large;           /* arrays of counts have elements of MPI_Count */
    int senders, targets; /* number of ranks from which data comes, and to which it goes */
    uint64_t absent;      /* bit per neighbour that does not exist */
    int my_rank, local_size;
};

/* Returns count i of a list; 0 when neighbour i does not exist. Only grids have missing neighbours,
 * and they have at most 64. */
static int64_t count_at(const struct amounts *a, const int *counts, int i)
{
    if (i < 64 && (a->absent >> i & 1))
        return 0;
    return a->large ? (int64_t)((const MPI_Count *)(const void *)counts)[i] : counts[i];
}

static int64_t sum(const struct amounts *a, const int *counts, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += count_at(a, counts, i);
    return total;
}

static int64_t sum_typed(const struct amounts *a, const int *counts, const MPI_Datatype *types,
                         int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        const int64_t count = count_at(a, counts, i);
        total += count ? count * pw_mpi_type_size(types[i]) : 0;
    }
    return total;
}

/* With count 0 the type may be invalid, so it is not read. */
static int64_t block(int64_t count, MPI_Datatype type)
{
    return count ? count * pw_mpi_type_size(type) : 0;
}

static int present(const struct amounts *a, int peers)
{
    return peers - __builtin_popcountll(a->absent);
}

static int64_t amount(const struct amounts *a, enum pw_op_amount what)
{
    const struct pw_mpi_call *c = a->c;
    switch (what) {
    case PW_AMOUNT_NOTHING:
    case PW_AMOUNT_UNTOLD:
        return 0;
    case PW_AMOUNT_SBLOCK:
        return block(c->scount, c->stype);
    case PW_AMOUNT_EACH_SBLOCK:
        return present(a, a->targets) * block(c->scount, c->stype);
    case PW_AMOUNT_SLIST:
        return block(sum(a, c->scounts, a->targets), c->stype);
    case PW_AMOUNT_SLIST_TYPES:
        return sum_typed(a, c->scounts, c->stypes, a->targets);
    case PW_AMOUNT_RBLOCK:
        return block(c->rcount, c->rtype);
    case PW_AMOUNT_EACH_RBLOCK:
        return present(a, a->senders) * block(c->rcount, c->rtype);
    case PW_AMOUNT_RLIST:
        return block(sum(a, c->rcounts, a->senders), c->rtype);
    case PW_AMOUNT_RLIST_TYPES:
        return sum_typed(a, c->rcounts, c->rtypes, a->senders);
    case PW_AMOUNT_PARTS:
        return block(sum(a, c->rcounts, a->local_size), c->stype);
    case PW_AMOUNT_PART:
        return block(count_at(a, c->rcounts, a->my_rank), c->stype);
    case PW_AMOUNT_EACH_PART:
        return a->local_size * block(c->scount, c->stype);
    case PW_AMOUNT_ELEMENT:
        return pw_mpi_type_size(c->stype);
    }
    return 0;
}

/* Returns the bytes sent when the send buffer is MPI_IN_PLACE. These are this rank's own block of
 * the receive buffer; in an Alltoall, which sends to each peer, as many bytes as are received. */
static int64_t sent_in_place(const struct amounts *a, const struct pw_op_info *op)
{
    const struct pw_mpi_call *c = a->c;
    if (op->sent != PW_AMOUNT_SBLOCK)
        return amount(a, op->received);
    if (op->received == PW_AMOUNT_RLIST)
        return block(count_at(a, c->rcounts, a->my_rank), c->rtype);
    return block(c->rcount, c->rtype);
}

/* Returns the bytes received when the receive buffer is MPI_IN_PLACE, at the root of a Scatter. */
static int64_t received_in_place(const struct amounts *a, const struct pw_op_info *op)
{
    const struct pw_mpi_call *c = a->c;
    if (op->sent == PW_AMOUNT_SLIST)
        return block(count_at(a, c->scounts, a->my_rank), c->stype);
    return block(c->scount, c->stype);
}

static bool is_by_receive_arguments(enum pw_op_amount what)
{
    return what == PW_AMOUNT_RBLOCK || what == PW_AMOUNT_EACH_RBLOCK || what == PW_AMOUNT_RLIST ||
           what == PW_AMOUNT_RLIST_TYPES;
}

/* Whether this rank sends, and whether it receives, the bytes of the row. */
struct part {
    bool sends, receives;
};

/* In an intercommunicator, the other ranks of the root's group neither send nor receive. */
static struct part part_of(const struct pw_mpi_call *c, const struct pw_op_info *op,
                           const struct pw_mpi_comm *comm)
{
    const bool is_root = c->root == (comm->inter ? MPI_ROOT : comm->my_rank);
    const bool sends_from_root = op->shape == PW_SHAPE_FROM_ROOT;
    if (comm->inter && c->root == MPI_PROC_NULL)
        return (struct part){false, false};
    if (comm->inter)
        return (struct part){is_root == sends_from_root, is_root != sends_from_root};
    if (sends_from_root) /* MPI_Bcast has one buffer: the root receives nothing */
        return (struct part){is_root, !is_root || op->received != PW_AMOUNT_SBLOCK};
    return (struct part){true, is_root};
}

void pw_mpi_collective_bytes(const struct pw_mpi_call *c, bool large, struct pw_mpi_comm *comm,
                             struct pw_record *record)
{
    const struct pw_op_info *op = pw_op_info(c->op);
    struct amounts a = {.c = c,
                        .large = large,
                        .senders = comm->remote_size,
                        .targets = comm->remote_size,
                        .my_rank = comm->my_rank,
                        .local_size = comm->size};
    if (op->shape == PW_SHAPE_PARTIAL && is_by_receive_arguments(op->received)) {
        if (comm->in_degree < 0)
            pw_mpi_comm_degrees(comm);
        a.senders = comm->in_degree;
        a.targets = comm->out_degree;
        a.absent = comm->absent;
    }
    const bool is_rooted = op->shape == PW_SHAPE_FROM_ROOT || op->shape == PW_SHAPE_TO_ROOT;
    const struct part part = is_rooted ? part_of(c, op, comm) : (struct part){true, true};
    const bool two_buffers = is_by_receive_arguments(op->received);
    if (part.sends)
        record->comm.sent_bytes =
            two_buffers && c->sbuf == MPI_IN_PLACE ? sent_in_place(&a, op) : amount(&a, op->sent);
    if (part.receives)
        record->comm.recv_bytes = two_buffers && c->rbuf == MPI_IN_PLACE ? received_in_place(&a, op)
                                                                         : amount(&a, op->received);
}

void pw_mpi_one_sided_bytes(const struct pw_mpi_call *c, struct pw_record *record)
{
    const struct pw_op_info *op = pw_op_info(c->op);
    const struct amounts a = {.c = c};
    record->comm.sent_bytes = amount(&a, op->sent);
    record->comm.recv_bytes = amount(&a, op->received);
}
