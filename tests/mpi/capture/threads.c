/* MPI_THREAD_MULTIPLE: threads that communicate at the same time, each on its own communicator. */
#include "expect.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 40, INT = (int)sizeof(int) };

static struct place places[THREADS];

static void *communicate(void *argument)
{
    struct place *p = argument;
    int id = (int)(p - places), right = (p->me + 1) % p->n, left = (p->me + p->n - 1) % p->n;
    char label[16];
    snprintf(label, sizeof(label), "t%d", id);
    expect_thread(label);
    for (int i = 0; i < ROUNDS; i++) {
        int a = id, b = -1, c = -1, size = 1 + i % 3, out[3] = {0}, in[3];
        MPI_Request requests[2];
        MPI_Irecv(in, 3, MPI_INT, MPI_ANY_SOURCE, id, p->comm, &requests[0]);
        MPI_Isend(out, size, MPI_INT, right, id, p->comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        expect_wait("Waitall", 2);
        expect_message(p, "Irecv", 0, size * INT, left, id, NONBLOCKING);
        expect_message(p, "Isend", size * INT, 0, right, id, NONBLOCKING);
        MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_MAX, p->comm);
        expect_collective(p, "Allreduce", -1, INT, INT, 0);
        MPI_Iallreduce(&a, &c, 1, MPI_INT, MPI_MIN, p->comm, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        expect_wait("Wait", 1);
        expect_collective(p, "Iallreduce", -1, INT, INT, NONBLOCKING);
        expect_true(b == id && c == id, "the thread's own number");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    struct place world;
    expect_start(argv[1], "Init_thread", &world);
    expect_true(provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm made;
        char label[16];
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        expect_op("Comm_dup", "world", 0, 0, -1, 0, 0, 0, 0);
        snprintf(label, sizeof(label), "dup-%d", i);
        expect_place(&places[i], made, label, "-");
    }
    for (int i = 0; i < THREADS; i++)
        expect_true(!pthread_create(&threads[i], NULL, communicate, &places[i]), "a thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return expect_finalize();
}
