/* Finds the application's MPI library; see mpi_real.h. */
#include "collectors/mpi/mpi_real.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "collectors/mpi/mpi_next.h"

struct pw_pmpi pw_pmpi;
struct pw_mpi_handles pw_mpi_handles;

static void *private_libraries[4]; /* loaded with RTLD_LOCAL: not in the global search */
static int nprivate;
static _Atomic int resolved;
static int known;

struct names {
    const char *found[16];
    int n;
};

static int note_mpi_library(struct dl_phdr_info *info, size_t size, void *names)
{
    (void)size;
    struct names *out = names;
    const char *base = strrchr(info->dlpi_name, '/');
    base = base ? base + 1 : info->dlpi_name;
    if (strncmp(base, "libmpi", 6) == 0 && out->n < 16)
        out->found[out->n++] = info->dlpi_name;
    return 0;
}

/* They are opened once the loader's lock on its list is free: a dlopen() of another thread, which
 * has the lock that ours would wait for, may wait for that one. */
static void find_private_libraries(void)
{
    struct names names = {.n = 0};
    dl_iterate_phdr(note_mpi_library, &names);
    for (int i = 0; i < names.n && nprivate < 4; i++) {
        void *library = dlopen(names.found[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library && dlsym(library, "PMPI_Init"))
            private_libraries[nprivate++] = library;
        else if (library)
            dlclose(library);
    }
}

void *pw_mpi_symbol(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    for (int i = 0; !found && i < nprivate; i++)
        found = dlsym(private_libraries[i], symbol);
    return found;
}

/* Function pointers and object pointers differ for ISO C, not for dlsym. */
static void find_function(void *slot, const char *symbol)
{
    void *found = pw_mpi_symbol(symbol);
    memcpy(slot, &found, sizeof(found));
}

/* The program may hold a copy of the library's variable (a copy relocation), which is then the one
 * that everybody uses: the search must begin at the program, not after this library. */
static void *variable(const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    return found ? found : pw_mpi_symbol(symbol);
}

static void find_handles(void)
{
    struct pw_mpi_handles *h = &pw_mpi_handles;
    h->world = variable("ompi_mpi_comm_world");
    h->self = variable("ompi_mpi_comm_self");
    h->comm_null = variable("ompi_mpi_comm_null");
    h->byte = variable("ompi_mpi_byte");
    h->datatype_null = variable("ompi_mpi_datatype_null");
    h->no_op = variable("ompi_mpi_op_no_op");
    h->request_null = variable("ompi_request_null");
    h->request_empty = variable("ompi_request_empty");
    h->message_null = variable("ompi_message_null");
    h->message_no_proc = variable("ompi_message_no_proc");
}

void pw_mpi_resolve(void)
{
    if (atomic_load(&resolved))
        return;
    if (!dlsym(RTLD_NEXT, "PMPI_Init") && nprivate == 0)
        find_private_libraries();
#define PW_HELPER(type, Name, parameters) find_function(&pw_pmpi.Name, "PMPI_" #Name);
    PW_MPI_HELPERS(PW_HELPER)
#undef PW_HELPER
#define MPI_FN(Name, CLASS, ...) find_function(&pw_pmpi.Name, "PMPI_" #Name);
#define MPI_FN_C(Name, CLASS, ...) find_function(&pw_pmpi.Name##_c, "PMPI_" #Name "_c");
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C
    find_handles();

    known = pw_mpi_handles.world && pw_mpi_handles.request_null && pw_mpi_handles.byte;
#define PW_HELPER(type, Name, parameters) known = known && pw_pmpi.Name;
    PW_MPI_HELPERS(PW_HELPER)
#undef PW_HELPER
    pw_mpi_next_resolve();
    atomic_store(&resolved, pw_pmpi.Init != NULL);
}

int pw_mpi_is_known(void)
{
    return known;
}
