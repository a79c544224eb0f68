/* Sums over all ranks, then does what its argument says: nothing ("right"), reads a byte behind a
 * block or of one that it has freed ("behind", "freed"), forgets a block ("leak"), writes a number
 * in two threads ("race"), adds two numbers whose sum is none ("overflow"). Built with a sanitizer,
 * which finds it. */
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 10, LEAKED_BYTES = 12345, CALLS = 100 };

static int written;

static void *write_number(void *arg)
{
    for (int i = 0; i < CALLS; i++)
        written = i;
    return arg;
}

static void race(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_number, NULL))
        abort();
    write_number(NULL);
    pthread_join(thread, NULL);
}

static void leak(void)
{
    void *volatile block = malloc(LEAKED_BYTES);
    block = NULL;
    (void)block;
}

static int overflow(volatile int number)
{
    return number + 1;
}

int main(int argc, char **argv)
{
    int one = 1, sum = 0;
    volatile char last = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < CALLS; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    char *block = calloc(BYTES, 1);
    if (argc < 2 || !block)
        return 2;
    if (strcmp(argv[1], "behind") == 0)
        last = block[BYTES];
    free(block);
    if (strcmp(argv[1], "freed") == 0)
        last = block[0];
    if (strcmp(argv[1], "leak") == 0)
        leak();
    if (strcmp(argv[1], "race") == 0)
        race();
    if (strcmp(argv[1], "overflow") == 0)
        last = (char)overflow(INT_MAX);
    printf("sum %d, byte %d\n", sum, last);
    MPI_Finalize();
    return 0;
}
