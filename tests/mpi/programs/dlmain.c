/* Loads the library named by argv[1] with RTLD_LOCAL and calls its use_mpi(), as interpreters load
 * their extension modules. Not linked with MPI itself. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *found = library ? dlsym(library, "use_mpi") : NULL;
    int (*use_mpi)(void);
    if (!found) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: dlmain LIBRARY");
        return 64;
    }
    memcpy(&use_mpi, &found, sizeof(found));
    return use_mpi();
}
