/* A library with functions of its own that have names of NCCL's and CUPTI's functions. It is built
 * twice, with different values of OWN_RESULT. */
#include <stddef.h>
#include <stdio.h>

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm, void *stream);
int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, void *comm, void *stream)
{
    (void)from, (void)to, (void)n, (void)type, (void)op, (void)comm, (void)stream;
    return OWN_RESULT;
}

int cuptiActivityEnable(int kind);
int cuptiActivityEnable(int kind)
{
    return OWN_RESULT + kind;
}

int use_mpi(void);
int use_mpi(void)
{
    printf("%d gave %d, %d\n", OWN_RESULT, ncclAllReduce(NULL, NULL, 0, 0, 0, NULL, NULL),
           cuptiActivityEnable(10));
    return 0;
}
