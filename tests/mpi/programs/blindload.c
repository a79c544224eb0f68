/* MPI calls by a library that is loaded with RTLD_DEEPBIND, so that it finds MPI's own functions
 * before preloaded ones. The program itself is not linked with MPI. blindload GO LIBRARY runs until
 * the file GO exists. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *handle = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    void *found = handle ? dlsym(handle, "blind_calls") : NULL;
    int (*calls)(const char *) = NULL;
    memcpy(&calls, &found, sizeof(found));
    if (!calls) {
        fprintf(stderr, "blindload: %s\n", argc > 2 ? dlerror() : "usage: blindload GO LIBRARY");
        return 2;
    }
    return calls(argv[1]);
}
