/* Functions that the MPI of this build is too old to have, but which an MPI library of another ABI
 * has: its wrappers record them (mpi_library.h). Any other library's function is called and not
 * recorded. In-app, by the rules of mpi_call.h.
 *
 * The probe itself does not define MPI_X here, but profwrap_MPI_X. Programs such as mpi4py test by
 * weak references whether the MPI library has a function, and must not find one that it has not. So
 * the names are in two small libraries (mpi4_names.c): one for programs that are linked to a
 * library of another ABI, and one for programs that load an MPI library after their start.
 *
 * The types of handles are not the same in all ABIs. Every argument of these functions is an
 * integer or an address, and is passed on as the eight bytes that it came in. */
#include "collectors/mpi/mpi_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "collectors/mpi/mpi4_libraries.h"
#include "rank/probe/scope.h"

#if MPI_VERSION < 4

#define EXPORT __attribute__((visibility("default")))
#define C_WORD(p) uintptr_t PASS(p)

static struct {
#define MPI4_FN(Name, ...)                               \
    int (*MPI_##Name)(EACH(C_WORD, COMMA, __VA_ARGS__)); \
    int (*PMPI_##Name)(EACH(C_WORD, COMMA, __VA_ARGS__));
#include "collectors/mpi/mpi4_functions.def"
} functions;

static void take(const struct pw_mpi_abi_table *other, void *slot, const char *symbol)
{
    pw_mpi_function *function = other->find(symbol);
    memcpy(slot, &function, sizeof(function));
}

void pw_mpi4_take(const struct pw_mpi_abi_table *other)
{
#define MPI4_FN(Name, ...)                            \
    take(other, &functions.MPI_##Name, "MPI_" #Name); \
    take(other, &functions.PMPI_##Name, "PMPI_" #Name);
#include "collectors/mpi/mpi4_functions.def"
}

/* Returns the wrapper of the other ABI, or else the library's own function. */
static void find(void *slot, const char *symbol)
{
    pw_mpi_resolve(); /* takes the wrappers, if the library is of the other ABI */
    void *found;
    memcpy(&found, slot, sizeof(found));
    if (!found)
        found = pw_scope_definition(symbol, PW_MPI4_LIBRARIES);
    memcpy(slot, &found, sizeof(found));
}

bool profwrap_mpi_has(const char *symbol)
{
    return pw_scope_definition(symbol, PW_MPI4_LIBRARIES) != NULL;
}

#define FUNCTION(Name, ...)                                                                     \
    EXPORT int profwrap_##Name(EACH(C_WORD, COMMA, __VA_ARGS__));                               \
    int profwrap_##Name(EACH(C_WORD, COMMA, __VA_ARGS__))                                       \
    {                                                                                           \
        if (__builtin_expect(!functions.Name, 0))                                               \
            find(&functions.Name, #Name);                                                       \
        return functions.Name ? functions.Name(EACH(PASS, COMMA, __VA_ARGS__)) : MPI_ERR_OTHER; \
    }

#define MPI4_FN(Name, ...)            \
    FUNCTION(MPI_##Name, __VA_ARGS__) \
    FUNCTION(PMPI_##Name, __VA_ARGS__)
#include "collectors/mpi/mpi4_functions.def"

/* Lets libraries that are loaded later find the names. A program that an MPI library is linked to
 * needs none here: its references are bound already. */
__attribute__((constructor)) static void offer_names(void)
{
    char path[PATH_MAX];
    Dl_info own;
    const int before = errno;
    const char *slash = NULL;
    if (!pw_scope_definition("PMPI_Init", PW_MPI4_LIBRARIES) &&
        dladdr((void *)(uintptr_t)&functions, &own) && own.dli_fname)
        slash = strrchr(own.dli_fname, '/');
    if (slash &&
        snprintf(path, sizeof(path), "%.*s/" PW_MPI4_LOADED, (int)(slash - own.dli_fname),
                 own.dli_fname) < (int)sizeof(path) &&
        !dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE))
        dlerror(); /* the program must not see this error */
    errno = before;
}

#else

void pw_mpi4_take(const struct pw_mpi_abi_table *other)
{
    (void)other;
}

#endif
