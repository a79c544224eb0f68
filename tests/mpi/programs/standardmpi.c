/* A stand-in for a library of MPI-5.0's standard ABI, for one process: what recording needs, and
 * what standarduse.c calls. Complete operations have one request, as in Open MPI. A status has the
 * count in another place than MPICH's. With STANDARDMPI_AS_MPICH in the environment, statuses and
 * numbers of requests are as MPICH's, messages have 8 GiB more, and MPI_Get_count_c fails. With
 * STANDARDMPI_AS_INTEL, complete receives have another request than complete sends. */
#include <stddef.h>
#include <stdlib.h>

#include "collectors/mpi/mpi_standard.h"

#define REQUEST_DONE ((MPI_Request)0x7000)
#define REQUEST_OPEN ((MPI_Request)0x7010)
#define REQUEST_SENT ((MPI_Request)0x7018)     /* complete, too; only as MPICH */
#define REQUEST_RECEIVED ((MPI_Request)0x701c) /* complete, too; only as Intel MPI */
#define GROUP ((MPI_Group)0x7020)

/* PMPI_X, and MPI_X as a weak alias. */
#define FUNCTION(type, Name, parameters)                                    \
    type PMPI_##Name parameters;                                            \
    type MPI_##Name parameters __attribute__((weak, alias("PMPI_" #Name))); \
    type PMPI_##Name parameters

static int is_up;
static int open_bytes;

static int is_as_mpich(void)
{
    return getenv("STANDARDMPI_AS_MPICH") != NULL;
}

FUNCTION(int, Abi_get_version, (int *major, int *minor))
{
    *major = 1;
    *minor = 0;
    return MPI_SUCCESS;
}

FUNCTION(int, Init, (int *argc, char ***argv))
{
    (void)argc, (void)argv;
    is_up = 1;
    return MPI_SUCCESS;
}

FUNCTION(int, Finalize, (void))
{
    is_up = 0;
    return MPI_SUCCESS;
}

FUNCTION(int, Initialized, (int *flag))
{
    *flag = is_up;
    return MPI_SUCCESS;
}

FUNCTION(int, Query_thread, (int *provided))
{
    *provided = MPI_THREAD_SINGLE;
    return MPI_SUCCESS;
}

FUNCTION(int, Comm_rank, (MPI_Comm comm, int *rank))
{
    (void)comm;
    *rank = 0;
    return MPI_SUCCESS;
}

FUNCTION(int, Comm_size, (MPI_Comm comm, int *size))
{
    (void)comm;
    *size = 1;
    return MPI_SUCCESS;
}

FUNCTION(int, Comm_test_inter, (MPI_Comm comm, int *flag))
{
    (void)comm;
    *flag = 0;
    return MPI_SUCCESS;
}

FUNCTION(int, Comm_group, (MPI_Comm comm, MPI_Group *group))
{
    (void)comm;
    *group = GROUP;
    return MPI_SUCCESS;
}

FUNCTION(int, Group_free, (MPI_Group * group))
{
    *group = NULL;
    return MPI_SUCCESS;
}

FUNCTION(int, Group_rank, (MPI_Group group, int *rank))
{
    (void)group;
    *rank = 0;
    return MPI_SUCCESS;
}

FUNCTION(int, Group_size, (MPI_Group group, int *size))
{
    (void)group;
    *size = 1;
    return MPI_SUCCESS;
}

FUNCTION(int, Group_translate_ranks,
         (MPI_Group from, int n, const int ranks[], MPI_Group to, int translated[]))
{
    (void)from, (void)to;
    for (int i = 0; i < n; i++)
        translated[i] = ranks[i];
    return MPI_SUCCESS;
}

FUNCTION(int, Type_size_x, (MPI_Datatype type, MPI_Count *size))
{
    *size = type == MPI_BYTE ? 1 : 4;
    return MPI_SUCCESS;
}

FUNCTION(int, Topo_test, (MPI_Comm comm, int *kind))
{
    (void)comm;
    *kind = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* ---- for recording only: never called here ---- */

#define UNUSED(Name, parameters)    \
    FUNCTION(int, Name, parameters) \
    {                               \
        return MPI_ERR_OTHER;       \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
UNUSED(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request))
UNUSED(Comm_free, (MPI_Comm * comm))
UNUSED(Ibarrier, (MPI_Comm comm, MPI_Request *request))
UNUSED(Iallgather, (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype of,
                    MPI_Comm comm, MPI_Request *request))
UNUSED(Comm_remote_size, (MPI_Comm comm, int *size))
UNUSED(Comm_remote_group, (MPI_Comm comm, MPI_Group *group))
UNUSED(Win_get_group, (MPI_Win window, MPI_Group *group))
UNUSED(File_get_group, (MPI_File file, MPI_Group *group))
UNUSED(Cartdim_get, (MPI_Comm comm, int *dims))
UNUSED(Cart_shift, (MPI_Comm comm, int dim, int by, int *from, int *to))
UNUSED(Graph_neighbors_count, (MPI_Comm comm, int rank, int *n))
UNUSED(Dist_graph_neighbors_count, (MPI_Comm comm, int *in, int *out, int *weighted))

/* ---- operations ---- */

static void set_count(MPI_Status *status, MPI_Count bytes)
{
    if (is_as_mpich()) {
        status->MPI_internal[0] = (int)(uint32_t)bytes;
        status->MPI_internal[1] = (int)(bytes >> 32) * 2 + (status->MPI_internal[1] & 1);
    } else {
        status->MPI_internal[3] = (int)bytes;
    }
}

static void fill(MPI_Status *status, int source, int tag, int bytes)
{
    const MPI_Count more = is_as_mpich() && bytes ? INT64_C(8) << 30 : 0;
    if (status == MPI_STATUS_IGNORE)
        return;
    *status =
        (MPI_Status){.MPI_SOURCE = source, .MPI_TAG = tag, .MPI_internal = {-7, 0, -7, 0, -7}};
    set_count(status, bytes + more);
}

FUNCTION(int, Get_count_c, (const MPI_Status *status, MPI_Datatype type, MPI_Count *count))
{
    *count = status->MPI_internal[3] / (type == MPI_BYTE ? 1 : 4);
    return is_as_mpich() ? MPI_ERR_OTHER : MPI_SUCCESS;
}

FUNCTION(int, Status_set_elements_c, (MPI_Status * status, MPI_Datatype type, MPI_Count count))
{
    set_count(status, count * (type == MPI_BYTE ? 1 : 4));
    return MPI_SUCCESS;
}

FUNCTION(int, Test_cancelled, (const MPI_Status *status, int *flag))
{
    (void)status;
    *flag = 0;
    return MPI_SUCCESS;
}

FUNCTION(int, Status_set_cancelled, (MPI_Status * status, int flag))
{
    status->MPI_internal[1] = (status->MPI_internal[1] & ~1) | flag;
    return MPI_SUCCESS;
}

FUNCTION(int, Request_toint, (MPI_Request request))
{
    const unsigned built_in = request == REQUEST_OPEN ? 0 : 1u << 30;
    return (int)(intptr_t)request + (is_as_mpich() ? (int)built_in : 0);
}

FUNCTION(int, Allreduce,
         (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm))
{
    (void)from, (void)to, (void)n, (void)type, (void)op;
    return comm == MPI_COMM_WORLD ? MPI_SUCCESS : MPI_ERR_OTHER;
}

FUNCTION(int, Allreduce_c,
         (const void *from, void *to, MPI_Count n, MPI_Datatype type, MPI_Op op, MPI_Comm comm))
{
    return PMPI_Allreduce(from, to, (int)n, type, op, comm);
}

FUNCTION(int, Isend,
         (const void *from, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
          MPI_Request *request))
{
    (void)from, (void)type, (void)tag, (void)comm;
    open_bytes = n;
    *request = is_as_mpich() && to != MPI_PROC_NULL ? REQUEST_SENT : REQUEST_DONE;
    return MPI_SUCCESS;
}

/* Complete at once from MPI_PROC_NULL, else when it is tested or waited for. */
FUNCTION(int, Irecv,
         (void *to, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
          MPI_Request *request))
{
    (void)to, (void)n, (void)type, (void)tag, (void)comm;
    const MPI_Request done = getenv("STANDARDMPI_AS_INTEL") ? REQUEST_RECEIVED : REQUEST_DONE;
    *request = from == MPI_PROC_NULL ? done : REQUEST_OPEN;
    return MPI_SUCCESS;
}

FUNCTION(int, Wait, (MPI_Request * request, MPI_Status *status))
{
    if (*request == REQUEST_OPEN)
        fill(status, 0, 3, open_bytes);
    else
        fill(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

FUNCTION(int, Test, (MPI_Request * request, int *flag, MPI_Status *status))
{
    *flag = 1;
    return PMPI_Wait(request, status);
}

FUNCTION(int, Recv,
         (void *to, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status))
{
    (void)to, (void)n, (void)type, (void)comm;
    fill(status, from, tag, 5);
    return MPI_SUCCESS;
}
