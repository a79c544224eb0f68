/* Uses ncclstand.c as NCCL. It is linked, so that the wrappers see it. Rank and size as in
 * ncclplay.c. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ncclstand.h"

enum { FLOAT32 = 7, SUM = 0 };

/* Collectives that NCCL makes of messages, and one that it may leave to copy engines. */
static int use_parts(void *comm)
{
    float data[8] = {0};
    int bad = ncclAllReduce(data, data, 1, FLOAT32, SUM, comm, NULL);
    bad |= ncclAlltoAll(data, data, 3, FLOAT32, comm, NULL);
    bad |= ncclGather(data, data, 4, FLOAT32, 1, comm, NULL);
    bad |= ncclScatter(data, data, 5, FLOAT32, 0, comm, NULL);
    bad |= ncclAllGather(data, data, 2, FLOAT32, comm, NULL);
    bad |= ncclAllReduce(data, data, 2, FLOAT32, SUM, comm, NULL);
    return bad;
}

typedef void counts_of(int counts[5]);

/* As PyTorch: a plugin in the program's own libraries, which the program tells NCCL of. */
static counts_of *bring_plugin(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 1);
    return library ? (counts_of *)(uintptr_t)dlsym(library, "own_plugin_counts") : NULL;
}

int main(int argc, char **argv)
{
    const char *rank_text = getenv("RANK"), *size_text = getenv("WORLD_SIZE");
    const int rank = rank_text ? atoi(rank_text) : 0, size = size_text ? atoi(size_text) : 2;
    struct stand_id id;
    void *comm = NULL, *half = NULL;
    float data[8] = {0};
    int bad = 0;
    memset(&id, 7, sizeof(id));
    counts_of *counts = argc > 2 ? bring_plugin(argv[2]) : NULL;
    bad |= ncclCommInitRank(&comm, size, id, rank);
    if (argc > 1 && strcmp(argv[1], "parts") == 0) {
        bad |= use_parts(comm);
        bad |= ncclCommDestroy(comm);
        if (counts) {
            int n[5];
            counts(n);
            printf("plugin %d %d %d %d %d\n", n[0], n[1], n[2], n[3], n[4]);
        }
        return bad;
    }
    bad |= ncclAllReduce(data, data, 8, FLOAT32, SUM, comm, NULL);
    bad |= ncclBcast(data, 8, FLOAT32, 1, comm, NULL);
    bad |= rank ? ncclRecv(data, 4, FLOAT32, 0, comm, NULL)
                : ncclSend(data, 4, FLOAT32, 1, comm, NULL);
    bad |= ncclCommSplit(comm, 0, rank, &half, NULL);
    bad |= ncclAllReduce(data, data, 2, FLOAT32, SUM, half, NULL);
    bad |= ncclCommDestroy(comm);
    printf("%d\n", bad);
    return bad;
}
