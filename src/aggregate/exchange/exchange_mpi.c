/* The processes of a merge under mpirun; see exchange.h. */
#include "aggregate/exchange/exchange.h"

#include <mpi.h>
#include <stddef.h>

enum {
    MOST = 8,                                /* made at the same time */
    FIRST_MADE = (PW_EX_LONG_INT >> 32) + 1, /* the number of the first type that is made */
};

static struct {
    MPI_Datatype types[MOST];
    MPI_Op ops[MOST];
    int has_type[MOST], has_op[MOST];
} made;

static MPI_Datatype type_of(pw_ex_type type)
{
    const MPI_Datatype known[] = {MPI_DATATYPE_NULL, MPI_BYTE,          MPI_CHAR,
                                  MPI_INT,           MPI_UNSIGNED_LONG, MPI_INT64_T,
                                  MPI_UINT64_T,      MPI_DOUBLE,        MPI_LONG_INT};
    const size_t number = (size_t)(type >> 32);
    return number < FIRST_MADE ? known[number] : made.types[number - FIRST_MADE];
}

static MPI_Op op_of(pw_ex_op op)
{
    const MPI_Op known[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_LOR, MPI_MINLOC};
    return op < PW_EX_MADE ? known[op] : made.ops[op - PW_EX_MADE];
}

static const void *from(const void *send)
{
    return send == PW_EX_IN_PLACE ? MPI_IN_PLACE : send;
}

/* Takes a free place. */
static int take(int has[MOST])
{
    for (int i = 0; i < MOST; i++)
        if (!has[i]) {
            has[i] = 1;
            return i;
        }
    pw_ex_abort(PW_EX_WORLD, 1);
}

void pw_ex_init(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
}

void pw_ex_finalize(void)
{
    MPI_Finalize();
}

void pw_ex_abort(pw_ex_comm comm, int status)
{
    (void)comm;
    for (;;)
        MPI_Abort(MPI_COMM_WORLD, status);
}

void pw_ex_rank(pw_ex_comm comm, int *rank)
{
    (void)comm;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
}

void pw_ex_size(pw_ex_comm comm, int *size)
{
    (void)comm;
    MPI_Comm_size(MPI_COMM_WORLD, size);
}

void pw_ex_type_contiguous(int count, pw_ex_type of, pw_ex_type *type)
{
    const int i = take(made.has_type);
    MPI_Type_contiguous(count, type_of(of), &made.types[i]);
    MPI_Type_commit(&made.types[i]);
    *type = PW_EX_TYPE(FIRST_MADE + i, (uint32_t)count * PW_EX_SIZE(of));
}

void pw_ex_type_free(pw_ex_type *type)
{
    const size_t i = (size_t)(*type >> 32) - FIRST_MADE;
    MPI_Type_free(&made.types[i]);
    made.has_type[i] = 0;
    *type = PW_EX_NO_TYPE;
}

void pw_ex_op_create(pw_ex_function *function, int commutes, pw_ex_op *op)
{
    const int i = take(made.has_op);
    MPI_Op_create((MPI_User_function *)function, commutes, &made.ops[i]);
    *op = PW_EX_MADE + i;
}

void pw_ex_op_free(pw_ex_op *op)
{
    MPI_Op_free(&made.ops[*op - PW_EX_MADE]);
    made.has_op[*op - PW_EX_MADE] = 0;
}

void pw_ex_bcast(void *buffer, int count, pw_ex_type type, int root, pw_ex_comm comm)
{
    (void)comm;
    MPI_Bcast(buffer, count, type_of(type), root, MPI_COMM_WORLD);
}

void pw_ex_ibcast(void *buffer, int count, pw_ex_type type, int root, pw_ex_comm comm,
                  pw_ex_request *request)
{
    MPI_Request begun;
    (void)comm;
    MPI_Ibcast(buffer, count, type_of(type), root, MPI_COMM_WORLD, &begun);
    *request = (uintptr_t)begun;
}

void pw_ex_test(pw_ex_request *request, int *flag)
{
    MPI_Request begun = (MPI_Request)*request;
    MPI_Test(&begun, flag, MPI_STATUS_IGNORE);
    *request = (uintptr_t)begun;
}

void pw_ex_reduce(const void *send, void *receive, int count, pw_ex_type type, pw_ex_op op,
                  int root, pw_ex_comm comm)
{
    (void)comm;
    MPI_Reduce(from(send), receive, count, type_of(type), op_of(op), root, MPI_COMM_WORLD);
}

void pw_ex_allreduce(const void *send, void *receive, int count, pw_ex_type type, pw_ex_op op,
                     pw_ex_comm comm)
{
    (void)comm;
    MPI_Allreduce(from(send), receive, count, type_of(type), op_of(op), MPI_COMM_WORLD);
}

void pw_ex_exscan(const void *send, void *receive, int count, pw_ex_type type, pw_ex_op op,
                  pw_ex_comm comm)
{
    (void)comm;
    MPI_Exscan(from(send), receive, count, type_of(type), op_of(op), MPI_COMM_WORLD);
}

void pw_ex_gather(const void *send, int count, pw_ex_type type, void *receive, int receive_count,
                  pw_ex_type receive_type, int root, pw_ex_comm comm)
{
    (void)comm;
    MPI_Gather(from(send), count, type_of(type), receive, receive_count, type_of(receive_type),
               root, MPI_COMM_WORLD);
}

void pw_ex_gatherv(const void *send, int count, pw_ex_type type, void *receive, const int counts[],
                   const int starts[], pw_ex_type receive_type, int root, pw_ex_comm comm)
{
    (void)comm;
    MPI_Gatherv(from(send), count, type_of(type), receive, counts, starts, type_of(receive_type),
                root, MPI_COMM_WORLD);
}

void pw_ex_allgather(const void *send, int count, pw_ex_type type, void *receive, int receive_count,
                     pw_ex_type receive_type, pw_ex_comm comm)
{
    (void)comm;
    MPI_Allgather(from(send), count, type_of(type), receive, receive_count, type_of(receive_type),
                  MPI_COMM_WORLD);
}

void pw_ex_alltoall(const void *send, int count, pw_ex_type type, void *receive, int receive_count,
                    pw_ex_type receive_type, pw_ex_comm comm)
{
    (void)comm;
    MPI_Alltoall(from(send), count, type_of(type), receive, receive_count, type_of(receive_type),
                 MPI_COMM_WORLD);
}

void pw_ex_alltoallv(const void *send, const int counts[], const int starts[], pw_ex_type type,
                     void *receive, const int receive_counts[], const int receive_starts[],
                     pw_ex_type receive_type, pw_ex_comm comm)
{
    (void)comm;
    MPI_Alltoallv(from(send), counts, starts, type_of(type), receive, receive_counts,
                  receive_starts, type_of(receive_type), MPI_COMM_WORLD);
}

void pw_ex_send(const void *buffer, int count, pw_ex_type type, int to, int tag, pw_ex_comm comm)
{
    (void)comm;
    MPI_Send(buffer, count, type_of(type), to, tag, MPI_COMM_WORLD);
}

void pw_ex_recv(void *buffer, int count, pw_ex_type type, int from_process, int tag,
                pw_ex_comm comm)
{
    (void)comm;
    MPI_Recv(buffer, count, type_of(type), from_process, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
