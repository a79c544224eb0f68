/* The only symbols that a copy of the wrappers for another ABI exports; all other symbols are local
 * to the copy (see src/collectors/CMakeLists.txt). Called by the wrappers for Open MPI; see
 * mpi_library.h. In-app, by the rules of mpi_call.h. */
#include <string.h>

#include "collectors/mpi/mpi_library.h"

extern const struct pw_mpi_abi_table PW_MPI_ABI_TABLE __attribute__((visibility("hidden")));

static const struct {
    const char *name;
    pw_mpi_function *function;
} functions[] = {
#define PW_SPECIAL(type, Name, parameters) \
    {"MPI_" #Name, (pw_mpi_function *)MPI_##Name}, {"PMPI_" #Name, (pw_mpi_function *)PMPI_##Name},
    PW_MPI_SPECIALS(PW_SPECIAL)
#undef PW_SPECIAL
#define MPI_ROW(Name, Op, CLASS, ...) \
    {"MPI_" #Name, (pw_mpi_function *)MPI_##Name}, {"PMPI_" #Name, (pw_mpi_function *)PMPI_##Name},
#include "collectors/mpi/mpi_installed.def"
#undef MPI_ROW
};

static int resolve(void)
{
    pw_mpi_resolve();
    return pw_mpi_is_known();
}

/* Finds a function. The search begins at the one that was found last. */
static pw_mpi_function *find(const char *symbol)
{
    enum { COUNT = sizeof(functions) / sizeof(functions[0]) };
    static size_t last;
    for (size_t i = 0; i < COUNT; i++) {
        const size_t at = (last + i) % COUNT;
        if (strcmp(functions[at].name, symbol) == 0) {
            last = at;
            return functions[at].function;
        }
    }
    return NULL;
}

const struct pw_mpi_abi_table PW_MPI_ABI_TABLE = {.resolve = resolve, .find = find};
