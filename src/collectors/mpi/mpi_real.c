/* Finds the application's MPI library; see mpi_real.h. */
#include "collectors/mpi/mpi_real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "collectors/mpi/mpi_next.h"
#include "rank/probe/scope.h"

struct pw_pmpi pw_pmpi;
struct pw_mpi_handles pw_mpi_handles;

static void *_Atomic private_libraries[4]; /* loaded with RTLD_LOCAL: not in the global search */
static _Atomic bool resolved, known;
static _Atomic unsigned long long failed_at; /* pw_scope_loads() when there was no MPI library */

/* Stores a library unless it is stored already. Threads that call this at the same time find the
 * same libraries. */
static bool keep_library(void *library)
{
    for (int i = 0; i < 4; i++) {
        void *there = NULL;
        if (atomic_compare_exchange_strong(&private_libraries[i], &there, library))
            return true;
        if (there == library)
            return false;
    }
    return false;
}

/* Finds libraries that define `symbol` and PMPI_Init, and opens them. They are opened after the
 * list of objects is unlocked: otherwise our dlopen() could wait for the lock of another thread's
 * dlopen(), while that one waits for the list. Their paths are copied, because another thread may
 * unload them meanwhile. */
static void find_private_libraries(const char *symbol)
{
    char path[PATH_MAX];
    for (size_t i = 0; pw_scope_path(pw_scope_is_defining, symbol, i, path); i++) {
        void *library = path[0] ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        if (library && !(dlsym(library, "PMPI_Init") && keep_library(library)))
            dlclose(library);
    }
}

void *pw_mpi_symbol(const char *symbol)
{
    void *next = dlsym(RTLD_NEXT, symbol), *found = next && !pw_mpi_is_ours(next) ? next : NULL;
    for (int i = 0; !found && i < 4; i++) {
        void *library = atomic_load_explicit(&private_libraries[i], memory_order_relaxed);
        if (!library)
            break;
        found = dlsym(library, symbol);
    }
    return found ? found : next;
}

/* Function pointers and object pointers differ for ISO C, not for dlsym. */
static void find_function(void *slot, const char *symbol)
{
    void *found = pw_mpi_symbol(symbol);
    memcpy(slot, &found, sizeof(found));
}

/* If the program has a copy relocation of the library's variable, all code uses that copy. So the
 * search begins at the program, not after the probe. */
void *pw_mpi_variable(const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    return found ? found : pw_mpi_symbol(symbol);
}

static void find_handles(void)
{
    struct pw_mpi_handles *h = &pw_mpi_handles;
    h->world = PW_MPI_LIBRARY_VALUE("ompi_mpi_comm_world", MPI_COMM_WORLD);
    h->self = PW_MPI_LIBRARY_VALUE("ompi_mpi_comm_self", MPI_COMM_SELF);
    h->comm_null = PW_MPI_LIBRARY_VALUE("ompi_mpi_comm_null", MPI_COMM_NULL);
    h->byte = PW_MPI_LIBRARY_VALUE("ompi_mpi_byte", MPI_BYTE);
    h->datatype_null = PW_MPI_LIBRARY_VALUE("ompi_mpi_datatype_null", MPI_DATATYPE_NULL);
    h->no_op = PW_MPI_LIBRARY_VALUE("ompi_mpi_op_no_op", MPI_NO_OP);
    h->request_null = PW_MPI_LIBRARY_VALUE("ompi_request_null", MPI_REQUEST_NULL);
    h->request_empty = PW_MPI_LIBRARY_VALUE("ompi_request_empty", MPI_REQUEST_NULL);
    h->message_null = PW_MPI_LIBRARY_VALUE("ompi_message_null", MPI_MESSAGE_NULL);
    h->message_no_proc = PW_MPI_LIBRARY_VALUE("ompi_message_no_proc", MPI_MESSAGE_NO_PROC);
}

/* Whether the library of PMPI_Init has this copy's ABI. The standard ABI fixes its library's name;
 * the symbols do not tell, because MPICH's own library has the same functions. */
static bool is_of_this_abi(void)
{
    void *init;
    memcpy(&init, &pw_pmpi.Init, sizeof(init));
    const struct link_map *owner = init ? pw_scope_object(init) : NULL;
    const char *slash = owner ? strrchr(owner->l_name, '/') : NULL;
    const bool is_standard = slash && strstr(slash, "mpi_abi");
    return is_standard == (PW_MPI_ABI == PW_MPI_STANDARD) &&
           pw_mpi_symbol(PW_MPI_LIBRARY_SYMBOL) != NULL;
}

/* Whether to look for an MPI library now. False while no object can be one, so that the loader,
 * whose lock another thread may hold for long, is not asked. */
static bool is_worth_looking(void)
{
    char path[PATH_MAX];
    const unsigned long long loads = pw_scope_loads();
    if (loads && atomic_load_explicit(&failed_at, memory_order_relaxed) == loads)
        return false;
    if (pw_scope_path(pw_scope_is_defining, "PMPI_Init", 0, path))
        return true;
    atomic_store_explicit(&failed_at, loads, memory_order_relaxed);
    return false;
}

void pw_mpi_resolve(void)
{
    if (atomic_load(&resolved) || !is_worth_looking())
        return;
    if (!dlsym(RTLD_NEXT, "PMPI_Init") && !atomic_load(&private_libraries[0])) {
        find_private_libraries(PW_MPI_LIBRARY_SYMBOL);
        if (!atomic_load(&private_libraries[0]))
            find_private_libraries("PMPI_Init");
    }
#define PW_HELPER(type, Name, parameters) find_function(&pw_pmpi.Name, "PMPI_" #Name);
    PW_MPI_HELPERS(PW_HELPER)
#undef PW_HELPER
    find_handles();

    bool has_all = is_of_this_abi();
#define PW_HELPER(type, Name, parameters) has_all = has_all && pw_pmpi.Name;
    PW_MPI_HELPERS(PW_HELPER)
#undef PW_HELPER
    const bool is_found = pw_pmpi.Init != NULL;
    atomic_store(&known, has_all);
    if (has_all || !is_found || !pw_mpi_next_hand_over())
        pw_mpi_next_resolve();
    else
        pw_pmpi.Init = NULL; /* nothing is recorded here */
    atomic_store(&resolved, is_found);
}

int pw_mpi_is_known(void)
{
    return atomic_load_explicit(&known, memory_order_relaxed);
}
