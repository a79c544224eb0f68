/* MPI's functions for one process; see mpi.h. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int copy(const void *send, void *receive, int count, MPI_Datatype type)
{
    if (send != MPI_IN_PLACE && count > 0)
        memcpy(receive, send, (size_t)count * type);
    return MPI_SUCCESS;
}

int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int status)
{
    (void)comm;
    exit(status);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = 0;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = 1;
    return MPI_SUCCESS;
}

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type)
{
    *type = (size_t)count * of;
    return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op)
{
    (void)function, (void)commutes;
    *op = MPI_SUM; /* none is carried out */
    return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op *op)
{
    (void)op;
    return MPI_SUCCESS;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)buffer, (void)count, (void)type, (void)root, (void)comm;
    return MPI_SUCCESS;
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request)
{
    *request = 0;
    return MPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    (void)request, (void)status;
    *flag = 1;
    return MPI_SUCCESS;
}

int MPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    (void)op, (void)root, (void)comm;
    return copy(send, receive, count, type);
}

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    return MPI_Reduce(send, receive, count, type, op, 0, comm);
}

int MPI_Exscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm)
{
    (void)send, (void)receive, (void)count, (void)type, (void)op, (void)comm;
    return MPI_SUCCESS;
}

int MPI_Gather(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
               MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    (void)receive_count, (void)receive_type, (void)root, (void)comm;
    return copy(send, receive, count, type);
}

int MPI_Gatherv(const void *send, int count, MPI_Datatype type, void *receive, const int counts[],
                const int starts[], MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    (void)counts, (void)receive_type, (void)root, (void)comm;
    return copy(send, (char *)receive + (size_t)starts[0] * type, count, type);
}

int MPI_Allgather(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm)
{
    return MPI_Gather(send, count, type, receive, receive_count, receive_type, 0, comm);
}

int MPI_Alltoall(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm)
{
    return MPI_Gather(send, count, type, receive, receive_count, receive_type, 0, comm);
}

int MPI_Alltoallv(const void *send, const int counts[], const int starts[], MPI_Datatype type,
                  void *receive, const int receive_counts[], const int receive_starts[],
                  MPI_Datatype receive_type, MPI_Comm comm)
{
    (void)receive_counts, (void)receive_type, (void)comm;
    return copy((const char *)send + (size_t)starts[0] * type,
                (char *)receive + (size_t)receive_starts[0] * type, counts[0], type);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    (void)buffer, (void)count, (void)type, (void)to, (void)tag;
    return MPI_Abort(comm, 1);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    (void)buffer, (void)count, (void)type, (void)from, (void)tag, (void)status;
    return MPI_Abort(comm, 1);
}
