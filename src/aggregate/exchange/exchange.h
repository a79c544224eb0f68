/* What the processes of a merge exchange: the functions of MPI that the merge uses, under names of
 * our own, so that the same objects are linked with MPI (exchange_mpi.c) and, for a merge of one
 * process on a machine without MPI, with exchange_alone.c. There a collective copies what it sends
 * to what it receives, and no operation is ever carried out. Called by all of src/aggregate and by
 * cli/conclude/merge_main.c. Arguments are MPI's. A failed call ends the merge. */
#ifndef PW_AGGREGATE_EXCHANGE_EXCHANGE_H
#define PW_AGGREGATE_EXCHANGE_EXCHANGE_H

#include <stdint.h>

typedef enum { PW_EX_WORLD } pw_ex_comm; /* all processes */
typedef uintptr_t pw_ex_request;

/* The number of a datatype, and below it its size in bytes. */
typedef uint64_t pw_ex_type;
#define PW_EX_TYPE(number, size) ((uint64_t)(number) << 32 | (size))
#define PW_EX_SIZE(type) ((uint32_t)(type))
#define PW_EX_NO_TYPE ((pw_ex_type)0)
#define PW_EX_BYTE PW_EX_TYPE(1, 1)
#define PW_EX_CHAR PW_EX_TYPE(2, sizeof(char))
#define PW_EX_INT PW_EX_TYPE(3, sizeof(int))
#define PW_EX_UNSIGNED_LONG PW_EX_TYPE(4, sizeof(unsigned long))
#define PW_EX_INT64_T PW_EX_TYPE(5, sizeof(int64_t))
#define PW_EX_UINT64_T PW_EX_TYPE(6, sizeof(uint64_t))
#define PW_EX_DOUBLE PW_EX_TYPE(7, sizeof(double))
struct pw_ex_long_int {
    long value;
    int index;
};
#define PW_EX_LONG_INT PW_EX_TYPE(8, sizeof(struct pw_ex_long_int))

/* Operations of reductions; those that are made are PW_EX_MADE and above. */
typedef int pw_ex_op;
enum { PW_EX_MAX, PW_EX_MIN, PW_EX_SUM, PW_EX_LOR, PW_EX_MINLOC, PW_EX_MADE };
typedef void pw_ex_function(void *in, void *inout, int *n, void *type);

#define PW_EX_IN_PLACE ((void *)1)

void pw_ex_init(int *argc, char ***argv);
void pw_ex_finalize(void);
_Noreturn void pw_ex_abort(pw_ex_comm comm, int status);
void pw_ex_rank(pw_ex_comm comm, int *rank);
void pw_ex_size(pw_ex_comm comm, int *size);

/* A datatype of `count` of another, which can be used at once. */
void pw_ex_type_contiguous(int count, pw_ex_type of, pw_ex_type *type);
void pw_ex_type_free(pw_ex_type *type);
void pw_ex_op_create(pw_ex_function *function, int commutes, pw_ex_op *op);
void pw_ex_op_free(pw_ex_op *op);

void pw_ex_bcast(void *buffer, int count, pw_ex_type type, int root, pw_ex_comm comm);
void pw_ex_ibcast(void *buffer, int count, pw_ex_type type, int root, pw_ex_comm comm,
                  pw_ex_request *request);
void pw_ex_test(pw_ex_request *request, int *flag);
void pw_ex_reduce(const void *send, void *receive, int count, pw_ex_type type, pw_ex_op op,
                  int root, pw_ex_comm comm);
void pw_ex_allreduce(const void *send, void *receive, int count, pw_ex_type type, pw_ex_op op,
                     pw_ex_comm comm);
/* Leaves `receive` as it is on process 0. */
void pw_ex_exscan(const void *send, void *receive, int count, pw_ex_type type, pw_ex_op op,
                  pw_ex_comm comm);
void pw_ex_gather(const void *send, int count, pw_ex_type type, void *receive, int receive_count,
                  pw_ex_type receive_type, int root, pw_ex_comm comm);
void pw_ex_gatherv(const void *send, int count, pw_ex_type type, void *receive, const int counts[],
                   const int starts[], pw_ex_type receive_type, int root, pw_ex_comm comm);
void pw_ex_allgather(const void *send, int count, pw_ex_type type, void *receive, int receive_count,
                     pw_ex_type receive_type, pw_ex_comm comm);
void pw_ex_alltoall(const void *send, int count, pw_ex_type type, void *receive, int receive_count,
                    pw_ex_type receive_type, pw_ex_comm comm);
void pw_ex_alltoallv(const void *send, const int counts[], const int starts[], pw_ex_type type,
                     void *receive, const int receive_counts[], const int receive_starts[],
                     pw_ex_type receive_type, pw_ex_comm comm);

/* Alone, there is nobody to send to: they end the program. */
void pw_ex_send(const void *buffer, int count, pw_ex_type type, int to, int tag, pw_ex_comm comm);
void pw_ex_recv(void *buffer, int count, pw_ex_type type, int from, int tag, pw_ex_comm comm);

#endif
