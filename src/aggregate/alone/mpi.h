/* What the merge uses of MPI, for a merge of one process on a machine without MPI: the folder is
 * before the real mpi.h for pw_aggregate_alone (CMakeLists.txt). Included by src/aggregate and
 * cli/conclude/merge_main.c as <mpi.h>; never where another process is. A collective of one process
 * copies what it sends to what it receives, so that no operation is ever carried out. A datatype is
 * its size in bytes. Functions return MPI_SUCCESS. */
#ifndef PW_AGGREGATE_ALONE_MPI_H
#define PW_AGGREGATE_ALONE_MPI_H

#include <stddef.h>
#include <stdint.h>

typedef int MPI_Comm, MPI_Op, MPI_Request, MPI_Status;
typedef size_t MPI_Datatype;
typedef void MPI_User_function(void *in, void *inout, int *n, MPI_Datatype *type);

enum { MPI_SUCCESS, MPI_COMM_WORLD };
enum { MPI_MAX, MPI_MIN, MPI_SUM, MPI_LOR, MPI_MINLOC };

#define MPI_DATATYPE_NULL ((MPI_Datatype)0)
#define MPI_BYTE ((MPI_Datatype)1)
#define MPI_CHAR sizeof(char)
#define MPI_INT sizeof(int)
#define MPI_UNSIGNED_LONG sizeof(unsigned long)
#define MPI_INT64_T sizeof(int64_t)
#define MPI_UINT64_T sizeof(uint64_t)
#define MPI_DOUBLE sizeof(double)
struct pw_alone_long_int {
    long value;
    int index;
};
#define MPI_LONG_INT sizeof(struct pw_alone_long_int)

#define MPI_IN_PLACE ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int status);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *type);
int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op);
int MPI_Op_free(MPI_Op *op);

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm);
int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);
/* Leaves `receive` as it is, as MPI does on process 0. */
int MPI_Exscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm);
int MPI_Gather(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
               MPI_Datatype receive_type, int root, MPI_Comm comm);
int MPI_Gatherv(const void *send, int count, MPI_Datatype type, void *receive, const int counts[],
                const int starts[], MPI_Datatype receive_type, int root, MPI_Comm comm);
int MPI_Allgather(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm);
int MPI_Alltoall(const void *send, int count, MPI_Datatype type, void *receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm);
int MPI_Alltoallv(const void *send, const int counts[], const int starts[], MPI_Datatype type,
                  void *receive, const int receive_counts[], const int receive_starts[],
                  MPI_Datatype receive_type, MPI_Comm comm);

/* There is nobody to send to: they end the program. */
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status);

#endif
