/* MPI functions of the library under the names plain_X. profwrap intercepts MPI_X, and checks who
 * calls PMPI_X. */
#ifndef BENCH_PLAIN_H
#define BENCH_PLAIN_H

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_FUNCTIONS(F) \
    F(Allreduce) F(Bcast) F(Iprobe) F(Irecv) F(Isend) F(Sendrecv) F(Test) F(Waitall)

#define PLAIN_DECLARE(Name) static __typeof__(MPI_##Name) *plain_##Name;
PLAIN_FUNCTIONS(PLAIN_DECLARE)
#undef PLAIN_DECLARE

static int plain_open(struct dl_phdr_info *info, size_t size, void *library)
{
    (void)size;
    /* Of Open MPI and MPICH, of Debian's MPICH, of the standard ABI. */
    if (!strstr(info->dlpi_name, "/libmpi.so") && !strstr(info->dlpi_name, "/libmpich.so") &&
        !strstr(info->dlpi_name, "/libmpi_abi.so"))
        return 0;
    *(void **)library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

static void plain_look_up(void *library, const char *symbol, void *slot)
{
    void *found = library ? dlsym(library, symbol) : NULL;
    if (!found) {
        fprintf(stderr, "no %s in libmpi\n", symbol);
        exit(1);
    }
    memcpy(slot, &found, sizeof(found));
}

/* Call before any other. */
static void plain_find(void)
{
    void *library = NULL;
    dl_iterate_phdr(plain_open, &library);
#define PLAIN_FIND(Name) plain_look_up(library, "MPI_" #Name, &plain_##Name);
    PLAIN_FUNCTIONS(PLAIN_FIND)
#undef PLAIN_FIND
}

#endif
