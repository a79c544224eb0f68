/* Preloaded below the probe, or alone. Counts every call that reaches the MPI library, by function,
 * whether the program or the probe made it. Writes "NAME COUNT" lines to $MPITEST_COUNTS-RANK. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/mpi/mpi_kinds.h"
#include "core/ops.h"

static long counts[PW_OP_COUNT];

static void find(const char *name, void *real)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(real, &found, sizeof(found));
}

#define MPI_ROW(Name, Op, CLASS, ...)                         \
    static int call_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))  \
    {                                                         \
        static int (*real)(EACH(C_DECL, COMMA, __VA_ARGS__)); \
        if (!real)                                            \
            find("PMPI_" #Name, &real);                       \
        counts[PW_OP_##Op]++;                                 \
        return real(EACH(PASS, COMMA, __VA_ARGS__));          \
    }                                                         \
    int MPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))          \
    {                                                         \
        return call_##Name(EACH(PASS, COMMA, __VA_ARGS__));   \
    }                                                         \
    int PMPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))         \
    {                                                         \
        return call_##Name(EACH(PASS, COMMA, __VA_ARGS__));   \
    }
#include "collectors/mpi/mpi_installed.def"
#undef MPI_ROW

static const char *const names[] = {
#define PW_OP(name, class, shape, factor, level, sent, received) #name,
#include "core/mpi_functions.def"
#undef PW_OP
};

__attribute__((destructor)) static void write_counts(void)
{
    const char *prefix = getenv("MPITEST_COUNTS"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    char path[4096];
    FILE *file;
    long all = 0;
    for (int op = 0; op < PW_OP_COUNT; op++)
        all += counts[op];
    if (!prefix || !rank || all == 0) /* a shell */
        return;
    snprintf(path, sizeof(path), "%s-%s", prefix, rank);
    file = fopen(path, "w");
    for (int op = 0; file && op < PW_OP_COUNT; op++)
        if (counts[op])
            fprintf(file, "%s %ld\n", names[op], counts[op]);
    if (file)
        fclose(file);
}
