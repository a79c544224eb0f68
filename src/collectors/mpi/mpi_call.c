/* The out-of-line pieces of a wrapped call: sizes of types, bytes of collectives, and the scratch
 * copies of requests and statuses. See mpi_call.h. */
#include "collectors/mpi/mpi_call.h"

#include <string.h>
#include <sys/mman.h>

#include "collectors/mpi/mpi_request.h"

int pw_mpi_level = -1;
int pw_mpi_threads;
uint32_t pw_mpi_type_epoch = 1;
_Thread_local struct pw_mpi_type_cache pw_mpi_last_type __attribute__((tls_model("initial-exec")));

enum { F_STATUS_INTS = sizeof(MPI_Status) / sizeof(MPI_Fint) };

/* One growing buffer per use and thread; what grows is replaced, never returned to the application. */
struct scratch {
    void *memory;
    size_t bytes;
};
static _Thread_local struct scratch handles, statuses __attribute__((tls_model("initial-exec")));

static void *scratch_take(struct scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->bytes)
        return scratch->memory;
    size_t size = 4096;
    while (size < bytes)
        size *= 2;
    void *fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        return NULL;
    if (scratch->memory)
        munmap(scratch->memory, scratch->bytes);
    scratch->memory = fresh;
    scratch->bytes = size;
    return fresh;
}

int64_t pw_mpi_type_size_slow(MPI_Datatype type)
{
    MPI_Count size;
    if (!type || pw_pmpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    pw_mpi_last_type = (struct pw_mpi_type_cache){type, pw_mpi_type_epoch, size};
    return size;
}

void pw_mpi_type_forget(void)
{
    pw_mpi_type_epoch++;
}

static int64_t sum(const int *counts, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += counts[i];
    return total;
}

static int64_t weighted_sum(const int *counts, const MPI_Datatype *types, const MPI_Fint *types_f, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        if (counts[i])
            total += counts[i] *
                     pw_mpi_type_size(types ? types[i] : pw_pmpi.Type_f2c(types_f[i]));
    return total;
}

/* Bytes of the contribution of, or result for, one rank (`each`) or the sum over vector counts.
 * MPI ignores some arguments on some ranks (MPI-3.1, 5.5 to 5.11): those are not looked at. */
void pw_mpi_collective_bytes(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm,
                             int64_t *sent, int64_t *received)
{
    const int n = comm->remote_size;
    const bool root = c->root == comm->my_rank || (comm->inter && c->root == MPI_ROOT);
    const bool in_place = c->sbuf == MPI_IN_PLACE || c->rbuf == MPI_IN_PLACE;
    switch (c->op) {
    case PW_OP_Bcast:
    case PW_OP_Ibcast:
        *(root ? sent : received) = c->scount * pw_mpi_type_size(c->stype);
        break;
    case PW_OP_Reduce:
    case PW_OP_Ireduce:
        *sent = c->scount * pw_mpi_type_size(c->stype);
        *received = root ? *sent : 0;
        break;
    case PW_OP_Allreduce:
    case PW_OP_Iallreduce:
    case PW_OP_Scan:
    case PW_OP_Iscan:
    case PW_OP_Exscan:
    case PW_OP_Iexscan:
        *sent = *received = c->scount * pw_mpi_type_size(c->stype);
        break;
    case PW_OP_Reduce_scatter_block:
    case PW_OP_Ireduce_scatter_block:
        *received = c->scount * pw_mpi_type_size(c->stype);
        *sent = *received * comm->size;
        break;
    case PW_OP_Reduce_scatter:
    case PW_OP_Ireduce_scatter:
        *sent = sum(c->rcounts, comm->size) * pw_mpi_type_size(c->stype);
        *received = (int64_t)c->rcounts[comm->my_rank] * pw_mpi_type_size(c->stype);
        break;
    case PW_OP_Gather:
    case PW_OP_Igather:
        *received = root ? n * c->rcount * pw_mpi_type_size(c->rtype) : 0;
        *sent = in_place ? *received / n : c->scount * pw_mpi_type_size(c->stype);
        break;
    case PW_OP_Gatherv:
    case PW_OP_Igatherv:
        *received = root ? sum(c->rcounts, n) * pw_mpi_type_size(c->rtype) : 0;
        *sent = in_place ? (int64_t)c->rcounts[comm->my_rank] * pw_mpi_type_size(c->rtype)
                         : c->scount * pw_mpi_type_size(c->stype);
        break;
    case PW_OP_Scatter:
    case PW_OP_Iscatter:
        *sent = root ? n * c->scount * pw_mpi_type_size(c->stype) : 0;
        *received = in_place ? *sent / n : c->rcount * pw_mpi_type_size(c->rtype);
        break;
    case PW_OP_Scatterv:
    case PW_OP_Iscatterv:
        *sent = root ? sum(c->scounts, n) * pw_mpi_type_size(c->stype) : 0;
        *received = in_place ? (int64_t)c->scounts[comm->my_rank] * pw_mpi_type_size(c->stype)
                             : c->rcount * pw_mpi_type_size(c->rtype);
        break;
    case PW_OP_Allgather:
    case PW_OP_Iallgather:
        *received = n * c->rcount * pw_mpi_type_size(c->rtype);
        *sent = in_place ? *received / n : c->scount * pw_mpi_type_size(c->stype);
        break;
    case PW_OP_Allgatherv:
    case PW_OP_Iallgatherv:
        *received = sum(c->rcounts, n) * pw_mpi_type_size(c->rtype);
        *sent = in_place ? (int64_t)c->rcounts[comm->my_rank] * pw_mpi_type_size(c->rtype)
                         : c->scount * pw_mpi_type_size(c->stype);
        break;
    case PW_OP_Alltoall:
    case PW_OP_Ialltoall:
        *received = n * c->rcount * pw_mpi_type_size(c->rtype);
        *sent = in_place ? *received : n * c->scount * pw_mpi_type_size(c->stype);
        break;
    case PW_OP_Alltoallv:
    case PW_OP_Ialltoallv:
        *received = sum(c->rcounts, n) * pw_mpi_type_size(c->rtype);
        *sent = in_place ? *received : sum(c->scounts, n) * pw_mpi_type_size(c->stype);
        break;
    case PW_OP_Alltoallw:
    case PW_OP_Ialltoallw:
        *received = weighted_sum(c->rcounts, c->rtypes, c->rtypes_f, n);
        *sent = in_place ? *received : weighted_sum(c->scounts, c->stypes, c->stypes_f, n);
        break;
    default:
        break;
    }
}

void pw_mpi_save_requests(struct pw_mpi_call *c, int count, const MPI_Request *requests)
{
    c->nrequests = count;
    c->requests = requests;
    c->saved = count > 0 && requests ? scratch_take(&handles, sizeof(*c->saved) * (size_t)count) : NULL;
    if (c->saved)
        memcpy(c->saved, requests, sizeof(*c->saved) * (size_t)count);
    else
        c->nrequests = 0;
}

void pw_mpi_save_requests_f(struct pw_mpi_call *c, int count, const MPI_Fint *requests)
{
    c->nrequests = count;
    c->requests_f = requests;
    c->saved = count > 0 && requests ? scratch_take(&handles, sizeof(*c->saved) * (size_t)count) : NULL;
    if (!c->saved)
        c->nrequests = 0;
    for (int i = 0; i < c->nrequests; i++)
        c->saved[i] = pw_pmpi.Request_f2c(requests[i]);
}

MPI_Status *pw_mpi_statuses(struct pw_mpi_call *c, MPI_Status *given)
{
    if (given != MPI_STATUSES_IGNORE || c->nrequests <= 0 || !pw_mpi_request_receives())
        return given;
    MPI_Status *own = scratch_take(&statuses, sizeof(*own) * (size_t)c->nrequests);
    return own ? own : given;
}

MPI_Fint *pw_mpi_statuses_f(struct pw_mpi_call *c, MPI_Fint *given)
{
    if (given != pw_mpi_handles.f_statuses_ignore || c->nrequests <= 0 ||
        !pw_mpi_request_receives())
        return given;
    MPI_Fint *own = scratch_take(&statuses, sizeof(MPI_Status) * 2 * (size_t)c->nrequests);
    return own ? own : given;
}

void pw_mpi_read_status_f(struct pw_mpi_call *c, MPI_Status *own)
{
    c->status = pw_pmpi.Status_f2c(c->status_f, own) == MPI_SUCCESS ? own : NULL;
}

/* Converted in scratch memory behind any statuses of ours that are there. */
void pw_mpi_read_statuses_f(struct pw_mpi_call *c)
{
    size_t bytes = sizeof(MPI_Status) * (size_t)c->nrequests;
    MPI_Status *space = c->nrequests > 0 ? scratch_take(&statuses, 2 * bytes) : NULL;
    c->status = NULL;
    if (!space || !c->status_f || c->status_f == pw_mpi_handles.f_statuses_ignore)
        return;
    c->status = space + c->nrequests;
    for (int i = 0; i < c->nrequests; i++)
        pw_pmpi.Status_f2c(c->status_f + (size_t)i * F_STATUS_INTS, &c->status[i]);
}
