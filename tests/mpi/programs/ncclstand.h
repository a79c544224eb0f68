/* The functions of NCCL that ncclstand.c has. */
#ifndef PW_TEST_NCCLSTAND_H
#define PW_TEST_NCCLSTAND_H

#include <stddef.h>

struct stand_id {
    char bytes[128];
};

/* With the environment variable NCCLSTAND_MEETING, a file that all ranks map: ncclCommInitRank()
 * waits for all ranks, and this for all that the rank has called on the communicator, as
 * cudaStreamSynchronize() would: until all have called as many, and the same. */
void stand_synchronize(void *comm);

int ncclGetUniqueId(struct stand_id *id);
int ncclCommInitRank(void **comm, int ranks, struct stand_id id, int rank);
int ncclCommSplit(void *comm, int color, int key, void **made, void *config);
int ncclCommCount(void *comm, int *count);
int ncclCommUserRank(void *comm, int *rank);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
                  void *stream);
int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm,
                  void *stream);
int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, void *stream);
int ncclSend(const void *buffer, size_t count, int type, int peer, void *comm, void *stream);
int ncclRecv(void *buffer, size_t count, int type, int peer, void *comm, void *stream);
int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
int ncclAlltoAll(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
int ncclGather(const void *send, void *recv, size_t count, int type, int root, void *comm,
               void *stream);
int ncclScatter(const void *send, void *recv, size_t count, int type, int root, void *comm,
                void *stream);

#endif
