/* A stand-in for another MPI library: it has that library's soname, defines MPI_X and PMPI_X, and
 * reports that it was called. */
#include <stdio.h>

int PMPI_Init(int *argc, char ***argv);
int PMPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    puts("the other MPI began");
    return 0;
}

int PMPI_Allreduce(const void *from, void *to, int n, int type, int op, int comm);
int PMPI_Allreduce(const void *from, void *to, int n, int type, int op, int comm)
{
    (void)from;
    (void)to;
    printf("the other MPI reduces %d of %x with %x on %x\n", n, (unsigned)type, (unsigned)op,
           (unsigned)comm);
    return 0;
}

int PMPI_Finalize(void);
int PMPI_Finalize(void)
{
    puts("the other MPI ended");
    return 0;
}

int MPI_Init(int *argc, char ***argv) __attribute__((weak, alias("PMPI_Init")));
int MPI_Allreduce(const void *from, void *to, int n, int type, int op, int comm)
    __attribute__((weak, alias("PMPI_Allreduce")));
int MPI_Finalize(void) __attribute__((weak, alias("PMPI_Finalize")));
