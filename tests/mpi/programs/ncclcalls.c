/* Calls functions of the named NCCL library as far as possible without a GPU. Exits 77, with the
 * reason on standard output, if the library cannot be loaded. ncclcalls LIBRARY */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct unique_id {
    char bytes[128];
};

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        printf("%s\n", argc > 1 ? dlerror() : "no library named");
        return 77;
    }
    int (*get_id)(struct unique_id *), (*group)(void), (*end)(void);
    int (*reduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*send)(const void *, size_t, int, int, void *, void *);
    int (*init)(void **, int, struct unique_id, int), (*init_all)(void **, int, const int *);
    *(void **)&get_id = dlsym(library, "ncclGetUniqueId");
    *(void **)&group = dlsym(library, "ncclGroupStart");
    *(void **)&end = dlsym(library, "ncclGroupEnd");
    *(void **)&init = dlsym(library, "ncclCommInitRank");
    *(void **)&reduce = dlsym(library, "ncclAllReduce");
    *(void **)&send = dlsym(library, "ncclSend");
    *(void **)&init_all = dlsym(library, "ncclCommInitAll");
    if (!get_id || !group || !end || !init || !init_all || !reduce || !send)
        return 1;
    struct unique_id id;
    void *comm = NULL;
    const int device = 0;
    memset(&id, 0, sizeof(id));
    printf("ncclGetUniqueId %d\n", get_id(&id));
    printf("ncclGroupStart %d\n", group());
    printf("ncclGroupEnd %d\n", end());
    printf("ncclCommInitRank %d\n", init(&comm, 1, id, 0));
    printf("ncclCommInitAll %d\n", init_all(&comm, 1, &device));
    float from[64] = {0}, to[64];
    enum { FLOAT = 7, SUM = 0, PEER = 3 };
    printf("ncclAllReduce %d\n",
           reduce(from, to, 64, FLOAT, SUM, NULL, NULL)); /* no communicator */
    printf("ncclSend %d\n", send(from, 32, FLOAT, PEER, NULL, NULL));
    /* NCCL tells NVTX of the call before it sees that this is no communicator of its own. All that
     * is in it points to it, so that what is looked at before is there. */
    static void *fake[1 << 20];
    for (size_t i = 0; i < sizeof(fake) / sizeof(fake[0]); i++)
        fake[i] = fake;
    printf("communicator %llu\n", (unsigned long long)(uintptr_t)fake);
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        printf("ncclAllReduce %d\n", reduce(from, to, 64, FLOAT, SUM, fake, NULL));
    printf("ncclSend %d\n", send(from, 32, FLOAT, PEER, fake, NULL));
    return 0;
}
