/* A merge of one process, without MPI; see exchange.h. */
#include "aggregate/exchange/exchange.h"

#include <stdlib.h>
#include <string.h>

static void copy(const void *send, void *receive, int count, pw_ex_type type)
{
    if (send != PW_EX_IN_PLACE && count > 0)
        memcpy(receive, send, (size_t)count * PW_EX_SIZE(type));
}

void pw_ex_init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
}

void pw_ex_finalize(void)
{
}

void pw_ex_abort(pw_ex_comm comm, int status)
{
    (void)comm;
    exit(status);
}

void pw_ex_rank(pw_ex_comm comm, int *rank)
{
    (void)comm;
    *rank = 0;
}

void pw_ex_size(pw_ex_comm comm, int *size)
{
    (void)comm;
    *size = 1;
}

void pw_ex_type_contiguous(int count, pw_ex_type of, pw_ex_type *type)
{
    *type = PW_EX_TYPE(1, (uint32_t)count * PW_EX_SIZE(of));
}

void pw_ex_type_free(pw_ex_type *type)
{
    *type = PW_EX_NO_TYPE;
}

void pw_ex_op_create(pw_ex_function *function, int commutes, pw_ex_op *op)
{
    (void)function, (void)commutes;
    *op = PW_EX_MADE; /* none is carried out */
}

void pw_ex_op_free(pw_ex_op *op)
{
    (void)op;
}

void pw_ex_bcast(void *buffer, int count, pw_ex_type type, int root, pw_ex_comm comm)
{
    (void)buffer, (void)count, (void)type, (void)root, (void)comm;
}

void pw_ex_ibcast(void *buffer, int count, pw_ex_type type, int root, pw_ex_comm comm,
                  pw_ex_request *request)
{
    *request = 0;
    pw_ex_bcast(buffer, count, type, root, comm);
}

void pw_ex_test(pw_ex_request *request, int *flag)
{
    (void)request;
    *flag = 1;
}

void pw_ex_reduce(const void *send, void *receive, int count, pw_ex_type type, pw_ex_op op,
                  int root, pw_ex_comm comm)
{
    (void)op, (void)root, (void)comm;
    copy(send, receive, count, type);
}

void pw_ex_allreduce(const void *send, void *receive, int count, pw_ex_type type, pw_ex_op op,
                     pw_ex_comm comm)
{
    pw_ex_reduce(send, receive, count, type, op, 0, comm);
}

void pw_ex_exscan(const void *send, void *receive, int count, pw_ex_type type, pw_ex_op op,
                  pw_ex_comm comm)
{
    (void)send, (void)receive, (void)count, (void)type, (void)op, (void)comm;
}

void pw_ex_gather(const void *send, int count, pw_ex_type type, void *receive, int receive_count,
                  pw_ex_type receive_type, int root, pw_ex_comm comm)
{
    (void)receive_count, (void)receive_type, (void)root, (void)comm;
    copy(send, receive, count, type);
}

void pw_ex_gatherv(const void *send, int count, pw_ex_type type, void *receive, const int counts[],
                   const int starts[], pw_ex_type receive_type, int root, pw_ex_comm comm)
{
    (void)counts, (void)receive_type, (void)root, (void)comm;
    copy(send, (char *)receive + (size_t)starts[0] * PW_EX_SIZE(type), count, type);
}

void pw_ex_allgather(const void *send, int count, pw_ex_type type, void *receive, int receive_count,
                     pw_ex_type receive_type, pw_ex_comm comm)
{
    pw_ex_gather(send, count, type, receive, receive_count, receive_type, 0, comm);
}

void pw_ex_alltoall(const void *send, int count, pw_ex_type type, void *receive, int receive_count,
                    pw_ex_type receive_type, pw_ex_comm comm)
{
    pw_ex_gather(send, count, type, receive, receive_count, receive_type, 0, comm);
}

void pw_ex_alltoallv(const void *send, const int counts[], const int starts[], pw_ex_type type,
                     void *receive, const int receive_counts[], const int receive_starts[],
                     pw_ex_type receive_type, pw_ex_comm comm)
{
    const size_t size = PW_EX_SIZE(type);
    (void)receive_counts, (void)receive_type, (void)comm;
    copy((const char *)send + (size_t)starts[0] * size,
         (char *)receive + (size_t)receive_starts[0] * size, counts[0], type);
}

void pw_ex_send(const void *buffer, int count, pw_ex_type type, int to, int tag, pw_ex_comm comm)
{
    (void)buffer, (void)count, (void)type, (void)to, (void)tag;
    pw_ex_abort(comm, 1);
}

void pw_ex_recv(void *buffer, int count, pw_ex_type type, int from, int tag, pw_ex_comm comm)
{
    (void)buffer, (void)count, (void)type, (void)from, (void)tag;
    pw_ex_abort(comm, 1);
}
