/* The thread levels below MPI_THREAD_MULTIPLE, one a build (REQUIRED): with MPI_THREAD_SERIALIZED
 * threads take turns, and what one begins the next completes; with the levels below it only the
 * first thread calls MPI, and with MPI_THREAD_FUNNELED others work meanwhile. */
#include "expect.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, TURNS = 20, INT = (int)sizeof(int) };

static struct place p;
static int turn;
static int in[4], out[4];
static MPI_Request requests[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;

/* Completes what the turn before began and begins the next; the tags tell the threads apart. */
static void take_turn(int number, int id)
{
    if (number > 0) {
        const int before = (number - 1) % THREADS;
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        expect_wait("Waitall", 2);
        expect_message(&p, "Irecv", 0, INT, p.left, before, NONBLOCKING);
        expect_message(&p, "Issend", INT, 0, p.right, before, NONBLOCKING);
    }
    MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, p.comm);
    expect_collective(&p, "Allreduce", -1, 2 * INT, 2 * INT, 0);
    MPI_Sendrecv(out, 3, MPI_INT, p.right, 100 + id, in, 3, MPI_INT, p.left, 100 + id, p.comm,
                 MPI_STATUS_IGNORE);
    expect_message(&p, "Sendrecv", 3 * INT, 0, p.right, 100 + id, 0);
    expect_message(&p, "Sendrecv", 0, 3 * INT, p.left, 100 + id, RECV_PART);
    MPI_Irecv(in, 4, MPI_INT, p.left, id, p.comm, &requests[0]);
    MPI_Issend(out, 1, MPI_INT, p.right, id, p.comm, &requests[1]);
}

static void *serialized(void *argument)
{
    const int id = *(int *)argument;
    char label[16];
    snprintf(label, sizeof(label), "t%d", id);
    expect_thread(label);
    for (int number = id; number < THREADS * TURNS; number += THREADS) {
        pthread_mutex_lock(&lock);
        while (turn != number)
            pthread_cond_wait(&next, &lock);
        take_turn(number, id);
        turn++;
        pthread_cond_broadcast(&next);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* Works, and calls no MPI. */
static void *aside(void *argument)
{
    volatile double sum = 0;
    for (int i = 0; i < 1000000; i++)
        sum = sum + *(int *)argument;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int ids[THREADS] = {0, 1, 2}, provided, is_main = 0;
    const int serial = REQUIRED == MPI_THREAD_SERIALIZED, alone = REQUIRED == MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, REQUIRED, &provided);
    expect_start(argv[1], "Init_thread", &p);
    expect_true(provided >= REQUIRED, "the thread level");
    MPI_Is_thread_main(&is_main);
    expect_true(is_main, "the main thread");
    for (int i = 0; i < THREADS && !alone; i++)
        expect_true(!pthread_create(&threads[i], NULL, serial ? serialized : aside, &ids[i]),
                    "a thread");
    for (; !serial && turn < TURNS; turn++)
        take_turn(turn, turn % THREADS);
    for (int i = 0; i < THREADS && !alone; i++)
        pthread_join(threads[i], NULL);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_wait("Waitall", 2);
    expect_message(&p, "Irecv", 0, INT, p.left, (turn - 1) % THREADS, NONBLOCKING);
    expect_message(&p, "Issend", INT, 0, p.right, (turn - 1) % THREADS, NONBLOCKING);
    return expect_finalize();
}
