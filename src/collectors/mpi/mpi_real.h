/* The real MPI functions, and the handles and helpers of the MPI library that recording needs.
 * Filled at the first MPI call, read by all in-app files of this folder. In-app, by the rules of
 * mpi_call.h.
 *
 * The probe is preloaded into programs that may have no MPI, another MPI, or one that is loaded
 * only later and privately (a Python extension), so it links none: everything is looked up at the
 * first MPI call. This copy of the files supports libraries of one ABI (mpi_abi.h). Under another
 * ABI, its wrappers only pass calls on: to the wrappers for that ABI if there are any (mpi_next.h),
 * else to the library. */
#ifndef PW_MPI_REAL_H
#define PW_MPI_REAL_H

#include "collectors/mpi/mpi_abi.h"
#include "collectors/mpi/mpi_kinds.h"

/* Functions that recording calls, wrapped or not: PW_HELPER(return type, name, parameters). */
#define PW_MPI_HELPERS(H)                                                                    \
    H(int, Comm_rank, (MPI_Comm, int *))                                                     \
    H(int, Comm_size, (MPI_Comm, int *))                                                     \
    H(int, Comm_idup, (MPI_Comm, MPI_Comm *, MPI_Request *))                                 \
    H(int, Comm_free, (MPI_Comm *))                                                          \
    H(int, Ibarrier, (MPI_Comm, MPI_Request *))                                              \
    H(int, Iallgather,                                                                       \
      (const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Request *)) \
    H(int, Isend, (const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))      \
    H(int, Irecv, (void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))            \
    H(int, Test, (MPI_Request *, int *, MPI_Status *))                                       \
    H(int, Init, (int *, char ***))                                                          \
    H(int, Initialized, (int *))                                                             \
    H(int, Query_thread, (int *))                                                            \
    H(int, Comm_remote_size, (MPI_Comm, int *))                                              \
    H(int, Comm_test_inter, (MPI_Comm, int *))                                               \
    H(int, Comm_group, (MPI_Comm, MPI_Group *))                                              \
    H(int, Comm_remote_group, (MPI_Comm, MPI_Group *))                                       \
    H(int, Group_free, (MPI_Group *))                                                        \
    H(int, Group_translate_ranks, (MPI_Group, int, const int *, MPI_Group, int *))           \
    H(int, Type_size_x, (MPI_Datatype, MPI_Count *))                                         \
    H(int, Group_rank, (MPI_Group, int *))                                                   \
    H(int, Group_size, (MPI_Group, int *))                                                   \
    H(int, Win_get_group, (MPI_Win, MPI_Group *))                                            \
    H(int, File_get_group, (MPI_File, MPI_Group *))                                          \
    H(int, Topo_test, (MPI_Comm, int *))                                                     \
    H(int, Cartdim_get, (MPI_Comm, int *))                                                   \
    H(int, Cart_shift, (MPI_Comm, int, int, int *, int *))                                   \
    H(int, Graph_neighbors_count, (MPI_Comm, int, int *))                                    \
    H(int, Dist_graph_neighbors_count, (MPI_Comm, int *, int *, int *))                      \
    PW_MPI_OWN_HELPERS(H)

struct pw_pmpi {
#define PW_HELPER(type, Name, parameters) type(*Name) parameters;
    PW_MPI_HELPERS(PW_HELPER)
#undef PW_HELPER
};

/* The predefined handles of mpi.h. In some libraries they are addresses of the library's
 * variables. */
struct pw_mpi_handles {
    MPI_Comm world, self, comm_null;
    MPI_Datatype byte, datatype_null;
    MPI_Op no_op;
    MPI_Request request_null;
    MPI_Request request_empty; /* shared by all operations that are complete when begun */
    MPI_Message message_null, message_no_proc;
};

extern struct pw_pmpi pw_pmpi __attribute__((visibility("hidden")));
extern struct pw_mpi_handles pw_mpi_handles __attribute__((visibility("hidden")));

/* Looks everything up; does nothing once it has found a library. A function that the library lacks
 * stays NULL. */
void pw_mpi_resolve(void);

/* 1 when the library is of this ABI and everything that recording needs was found. */
int pw_mpi_is_known(void);

/* Address of `symbol` in the MPI library, or NULL. */
void *pw_mpi_symbol(const char *symbol);

/* Returns the address of a variable of the MPI library. If the program has a copy of the variable
 * (a copy relocation), this is the copy, because all code uses it. */
void *pw_mpi_variable(const char *symbol);

#endif
