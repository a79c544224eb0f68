/* Loads libraries and calls use_mpi() of each: loader [local|global|deep LIBRARY]... `mpi` in place
 * of such a pair is what a program of MPI does: 5 Allreduce on MPI_COMM_WORLD. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef WITH_MPI
#include <mpi.h>
static int use_own(void)
{
    int one = 1, sum = 0, size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 5; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("MPI: %s\n", sum == size ? "right" : "wrong");
    return sum != size;
}
#endif

static int use_library(const char *scope, const char *path)
{
    int flags = strcmp(scope, "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
    if (strcmp(scope, "deep") == 0)
        flags |= RTLD_DEEPBIND;
    void *library = dlopen(path, RTLD_LAZY | flags);
    void *found = library ? dlsym(library, "use_mpi") : NULL;
    int (*use_mpi)(void);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        return 64;
    }
    memcpy(&use_mpi, &found, sizeof(found));
    int rc = use_mpi();
    if (strcmp(scope, "closed") == 0)
        dlclose(library);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = 0;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    int i = 1;
    while (i < argc) {
#ifdef WITH_MPI
        if (strcmp(argv[i], "mpi") == 0) {
            rc += use_own();
            i++;
            continue;
        }
#endif
        if (i + 1 < argc)
            rc += use_library(argv[i], argv[i + 1]);
        i += 2;
    }
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return rc;
}
