/* Sums over all ranks, then reads one byte behind a block that it has freed or not, as its argument
 * says: "right", "behind", "freed". Built with a sanitizer, which ends the program then. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 10, CALLS = 100 };

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
    printf("sum %d, byte %d\n", sum, last);
    MPI_Finalize();
    return 0;
}
