/* A statically linked program with an MPI of its own inside: what counts here are the symbols.
 * staticmpi GO goes on until the file GO is there. */
#include <time.h>
#include <unistd.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);

int MPI_Init(int *argc, char ***argv)
{
    return !argc || !argv;
}

int MPI_Finalize(void)
{
    return 0;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    if (argc < 2 || MPI_Init(&argc, &argv))
        return 2;
    while (access(argv[1], F_OK))
        nanosleep(&pause, NULL);
    return MPI_Finalize();
}
