/* Preloaded below the probe: MPI functions that return at once, so that tests can call them in
 * signal handlers, where a real MPI library must not be called. The probe records them as usual. */
#include <mpi.h>

#define HOLLOW(name, declaration, work) \
    int MPI_##name declaration          \
    {                                   \
        work;                           \
        return MPI_SUCCESS;             \
    }

HOLLOW(Send, (const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
       ((void)buffer, (void)count, (void)type, (void)to, (void)tag, (void)comm))
HOLLOW(Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
       ((void)from, (void)tag, (void)comm, (void)status, *flag = 0))
HOLLOW(Allreduce,
       (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
       ((void)in, (void)out, (void)count, (void)type, (void)op, (void)comm))
