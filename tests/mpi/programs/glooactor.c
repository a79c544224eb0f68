/* A rank of a job that communicates by the stand-in of PyTorch's Gloo process group
 * (standin/gloo.cc), which it loads as Python does: at run time, and in no global scope.
 *
 *   glooactor LIBRARY SCENARIO FILE   FILE: where the ranks meet */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *rank = getenv("RANK"), *size = getenv("WORLD_SIZE");
    if (argc < 4 || !rank || !size)
        return 2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "play") : NULL;
    int (*play)(const char *, const char *, int, int);
    memcpy(&play, &found, sizeof(play));
    if (!play) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    return play(argv[2], argv[3], atoi(rank), atoi(size));
}
