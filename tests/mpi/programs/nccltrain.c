/* A training on ncclstand.c, whose ranks wait for each other's collectives as on GPUs. Arguments: a
 * fault, the rank that has it, and the number of steps. Prints "done" if all steps were made. Rank
 * and size as in ncclplay.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ncclstand.h"

enum { FLOAT32 = 7, SUM = 0, FAULT_STEP = 10 };

static float data[4096];

static void *make_comm(int ranks, int rank, char number)
{
    struct stand_id id;
    void *comm = NULL;
    memset(&id, number, sizeof(id));
    ncclCommInitRank(&comm, ranks, id, rank);
    return comm;
}

static void reduce(void *comm, size_t count)
{
    ncclAllReduce(data, data, count, FLOAT32, SUM, comm, NULL);
}

/* The two buckets of a step, and a broadcast. `fault`: NULL on all ranks but one, and in all steps
 * but one. */
static void step(void *comm, const char *fault)
{
    const char *what = fault ? fault : "";
    if (strcmp(what, "sleep") == 0)
        for (;;)
            pause();
    while (strcmp(what, "compute") == 0)
        data[0] += 1;
    if (strcmp(what, "swap") == 0) {
        reduce(comm, 50);
        reduce(comm, 100);
    } else {
        reduce(comm, 100);
        if (strcmp(what, "skip") != 0)
            reduce(comm, strcmp(what, "count") == 0 ? 51 : 50);
    }
    if (strcmp(what, "operation") == 0)
        ncclAllGather(data, data, 10, FLOAT32, comm, NULL);
    else
        ncclBroadcast(data, data, 10, FLOAT32, strcmp(what, "root") == 0, comm, NULL);
    if (strcmp(what, "extra") == 0)
        reduce(comm, 7);
}

/* Two communicators of all ranks, whose operations one rank calls in another order than the others,
 * and waits for each. */
static void cross(void *a, void *b, int is_other)
{
    void *first = is_other ? b : a, *second = is_other ? a : b;
    reduce(first, 100);
    stand_synchronize(first);
    reduce(second, 100);
    stand_synchronize(second);
}

/* A pipeline: what the rank before sends is received, and sent to the next. */
static void pass_on(void *comm, int rank, int ranks, const char *fault)
{
    if (rank > 0)
        ncclRecv(data, 100, FLOAT32, rank - 1, comm, NULL);
    stand_synchronize(comm);
    if (fault && strcmp(fault, "stage") == 0)
        for (;;)
            pause();
    if (rank < ranks - 1 && !(fault && strcmp(fault, "unsent") == 0))
        ncclSend(data, 100, FLOAT32, rank + 1, comm, NULL);
    stand_synchronize(comm);
}

int main(int argc, char **argv)
{
    const char *rank_text = getenv("RANK"), *size_text = getenv("WORLD_SIZE");
    const int rank = rank_text ? atoi(rank_text) : 0, size = size_text ? atoi(size_text) : 1;
    if (argc < 4)
        return 2;
    const char *fault = rank == atoi(argv[2]) ? argv[1] : NULL;
    const int steps = strcmp(argv[1], "long") == 0 ? 1 << 20 : atoi(argv[3]);
    if (fault && strcmp(fault, "init") == 0)
        for (;;)
            pause();
    void *comm = make_comm(size, rank, 7);
    void *other = strcmp(argv[1], "cross") == 0 ? make_comm(size, rank, 8) : NULL;
    for (int i = 0; i < steps; i++) {
        const char *now = i == FAULT_STEP ? fault : NULL;
        if (i == FAULT_STEP && strcmp(argv[1], "abort") == 0) {
            if (!fault)
                reduce(comm, 100);
            ncclCommAbort(comm);
            comm = make_comm(size, rank, 9);
        }
        if (strcmp(argv[1], "stage") == 0 || strcmp(argv[1], "unsent") == 0 ||
            strcmp(argv[1], "last") == 0)
            pass_on(comm, rank, size, now);
        else if (other)
            cross(comm, other, now != NULL);
        else
            step(comm, now);
        stand_synchronize(comm);
        usleep(2000);
    }
    /* Of unequal data: the rank has a step less. */
    if (strcmp(argv[1], "uneven") == 0 && !fault)
        step(comm, NULL);
    if (strcmp(argv[1], "uneven") == 0)
        stand_synchronize(comm);
    /* No collective, as in a long evaluation. */
    if (strcmp(argv[1], "last") == 0 && rank == size - 1)
        sleep(5);
    if (strcmp(argv[1], "quiet") == 0 || strcmp(argv[1], "abort") == 0)
        sleep(5);
    ncclCommDestroy(comm);
    printf("done\n");
    return 0;
}
