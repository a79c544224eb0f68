/* Finds the application's MPI library, and the definition that each wrapper calls; see
 * mpi_library.h.
 */
#include "collectors/mpi/mpi_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "collectors/mpi/mpi4_libraries.h"
#include "rank/probe/findobject.h"
#include "rank/probe/scope.h"
#include "rank/probe/stack.h"

struct pw_pmpi pw_pmpi;
struct pw_mpi_handles pw_mpi_handles;
struct pw_mpi_reductions pw_mpi_reductions;
struct pw_mpi_next pw_next, pw_pnext;
bool pw_mpi_by_caller = true;

bool pw_mpi_interposed[PW_OP_COUNT];
struct pw_mpi_range pw_mpi_fortran, pw_mpi_program;

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

/* Whether the definition is the probe's, or that of libprofwrap_mpi4_*.so, which only lends names
 * to the probe's functions (mpi4_names.c). */
static bool is_ours(const void *definition)
{
    const struct link_map *object = pw_scope_object(definition);
    const char *slash = object ? strrchr(object->l_name, '/') : NULL;
    return object == pw_scope_object(&pw_next) ||
           (slash && strncmp(slash + 1, PW_MPI4_LIBRARIES, strlen(PW_MPI4_LIBRARIES)) == 0);
}

void *pw_mpi_symbol(const char *symbol)
{
    void *next = dlsym(RTLD_NEXT, symbol), *found = next && !is_ours(next) ? next : NULL;
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

/* Puts the handles into the table. Returns false when two have the same place. */
static bool place_reductions(const MPI_Op *handles, uint64_t factor)
{
    struct pw_mpi_reductions *r = &pw_mpi_reductions;
    memset(r->place, 0, sizeof(r->place));
    for (int kind = 1; kind < PW_REDUCTION_KINDS; kind++) {
        const uint64_t place = PW_MPI_NUMBER(handles[kind]) * factor;
        const uint64_t at = place >> (64 - PW_MPI_REDUCTION_BITS);
        if (r->place[at].kind)
            return false;
        r->place[at].handle = handles[kind];
        r->place[at].kind = (uint32_t)kind;
    }
    r->factor = factor;
    return true;
}

/* Finds a factor without collisions: with 13 handles in 64 places, one factor in four has none. */
static void find_reductions(void)
{
#if PW_MPI_REDUCTION_BASE
#define R(name, symbol)                                                      \
    static_assert(MPI_##name == PW_MPI_REDUCTION_BASE + PW_REDUCTION_##name, \
                  "the handles are in the order of enum pw_reduction");
    PW_REDUCTIONS(R)
#undef R
#endif
    const MPI_Op handles[PW_REDUCTION_KINDS] = {
#define R(name, symbol) [PW_REDUCTION_##name] = PW_MPI_LIBRARY_VALUE(symbol, MPI_##name),
        PW_REDUCTIONS(R)
#undef R
    };
    enum { TRIES = 1000 };
    uint64_t factor = PW_CALLORDER_FACTOR;
    for (int i = 0; i < TRIES && !place_reductions(handles, factor); i++)
        factor = factor * PW_CALLORDER_FACTOR + 2;
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

int pw_mpi_is_known(void)
{
    return atomic_load_explicit(&known, memory_order_relaxed);
}

/* ---- the next function in the global scope ---- */

/* Function pointers and object pointers differ for ISO C, not for dlsym. */
static void *find_next(void *slot, const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    if (found && is_ours(found)) /* such as the probe itself, under --audit */
        found = NULL;
    memcpy(slot, &found, sizeof(found));
    return found;
}

/* Not RTLD_DEFAULT, by which the probe, linked with -Bsymbolic, would find its own function. */
static void *find_first(const char *symbol)
{
    static void *program;
    if (!program)
        program = dlopen(NULL, RTLD_LAZY);
    return program ? dlsym(program, symbol) : NULL;
}

/* Finds the next MPI_X and PMPI_X, and whether the program has an MPI_X of its own before the
 * probe's. Returns 0 when the MPI library has the function, but one of the two was not found. */
static int find_both(void *slot, void *pslot, const char *symbol, bool *is_interposed)
{
    const void *next = find_next(slot, symbol + 1), *pnext = find_next(pslot, symbol);
    const void *first = find_first(symbol + 1);
    *is_interposed = *is_interposed || (first && !is_ours(first));
    return (next && pnext) || !pw_mpi_symbol(symbol);
}

static void find_fortran(void);

/* Fills pw_next and pw_pnext. pw_pmpi must be filled before. */
static void resolve_next(void)
{
    bool unused = false, has_all = true;
#define PW_SPECIAL(type, Name, parameters) \
    has_all &= find_both(&pw_next.Name, &pw_pnext.Name, "PMPI_" #Name, &unused);
    PW_MPI_SPECIALS(PW_SPECIAL)
#undef PW_SPECIAL
#define MPI_ROW(Name, Op, CLASS, ...) \
    has_all &=                        \
        find_both(&pw_next.Name, &pw_pnext.Name, "PMPI_" #Name, &pw_mpi_interposed[PW_OP_##Op]);
#include "collectors/mpi/mpi_installed.def"
#undef MPI_ROW
    pw_mpi_by_caller = !has_all;
    if (PW_MPI_FORTRAN_CALLS_MPI)
        find_fortran();
}

/* ---- another ABI ---- */

static bool is_handed_over;

#ifdef PW_MPI_HAS_MPICH
extern const struct pw_mpi_abi_table pw_mpi_mpich __attribute__((visibility("hidden")));
#endif
#ifdef PW_MPI_HAS_STANDARD
extern const struct pw_mpi_abi_table pw_mpi_standard __attribute__((visibility("hidden")));
#endif

static const struct pw_mpi_abi_table *const others[] = {
#ifdef PW_MPI_HAS_MPICH
    &pw_mpi_mpich,
#endif
#ifdef PW_MPI_HAS_STANDARD
    &pw_mpi_standard,
#endif
    NULL};

static void take(const struct pw_mpi_abi_table *other, void *slot, void *pslot, const char *symbol)
{
    pw_mpi_function *function = other->find(symbol + 1), *profiled = other->find(symbol);
    memcpy(slot, &function, sizeof(function));
    memcpy(pslot, &profiled, sizeof(profiled));
}

/* Fills pw_next and pw_pnext with another ABI's wrappers, which record from now on. If the ABI of
 * the MPI library is unknown, does nothing and returns false. */
static bool hand_over(void)
{
    const struct pw_mpi_abi_table *const *other = others;
    while (*other && !(*other)->resolve())
        other++;
    if (!*other)
        return false;
#define PW_SPECIAL(type, Name, parameters) \
    take(*other, &pw_next.Name, &pw_pnext.Name, "PMPI_" #Name);
    PW_MPI_SPECIALS(PW_SPECIAL)
#undef PW_SPECIAL
#define MPI_ROW(Name, Op, CLASS, ...) take(*other, &pw_next.Name, &pw_pnext.Name, "PMPI_" #Name);
#include "collectors/mpi/mpi_installed.def"
#undef MPI_ROW
    pw_mpi4_take(*other);
    is_handed_over = true;
    return true;
}

/* ---- the first MPI call ---- */

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
    find_reductions();

    bool has_all = is_of_this_abi();
#define PW_HELPER(type, Name, parameters) has_all = has_all && pw_pmpi.Name;
    PW_MPI_HELPERS(PW_HELPER)
#undef PW_HELPER
    const bool is_found = pw_pmpi.Init != NULL;
    atomic_store(&known, has_all);
    if (has_all || !is_found || !hand_over())
        resolve_next();
    else
        pw_pmpi.Init = NULL; /* nothing is recorded here */
    atomic_store(&resolved, is_found);
}

/* ---- by caller ---- */

/* Returns the library's function for PMPI_X. */
static void *find_profiled(const char *symbol)
{
    char name[64] = "P";
    if (symbol[0] == 'P' || strlen(symbol) + 2 > sizeof(name))
        return pw_mpi_symbol(symbol);
    strcpy(name + 1, symbol);
    return pw_mpi_symbol(name);
}

/* Returns the first caller outside the probe: in a build without optimisation, the wrapper may have
 * been called by another function of the probe. */
const void *pw_mpi_outer_caller(const void *caller)
{
    return pw_mpi_is_own(caller) ? pw_stack_caller() : caller;
}

/* Whether the definition belongs to the MPI library that the probe uses, or to a tool that calls
 * that library. */
static uint8_t leads_to_mpi(const void *target)
{
    const struct link_map *owner = pw_scope_object(target);
    void *init;
    memcpy(&init, &pw_pmpi.Init, sizeof(init));
    return pw_mpi_is_known() && owner &&
           (owner == pw_scope_object(init) || pw_scope_needed(owner, "PMPI_Init", NULL) == init);
}

/* If no scope has the function, only the auditor can have given out the wrapper. Then the library's
 * PMPI_X is used. */
void *pw_mpi_locate(const char *symbol, const void *caller, bool *is_mpi)
{
    struct pw_scope_query query = {.symbol = symbol,
                                   .caller = pw_mpi_outer_caller(caller),
                                   .state = pw_mpi_is_known(),
                                   .otherwise = find_profiled,
                                   .classify = leads_to_mpi};
    struct pw_scope_answer answer;
    if (!pw_scope_recall(&query, &answer)) {
        pw_mpi_resolve();
        query.state = pw_mpi_is_known();
        answer = pw_scope_find(&query);
    }
    *is_mpi = answer.kind;
    return answer.target;
}

/* ---- who calls PMPI_X ---- */

static _Atomic uintptr_t comm_size_begin, comm_size_size; /* code of Fortran's MPI_Comm_size */

static struct {
    const struct link_map *_Atomic map;
    const void *_Atomic dynamic;
} programs; /* the last caller that was not part of an MPI library */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_named_fortran(const char *path)
{
    return pw_mpi_is_fortran_library(base_name(path));
}

/* Notes the code of Fortran's MPI_Comm_size, which calls C's PMPI_Comm_size. Other Fortran
 * functions also call that for themselves; only calls from this code are the program's. */
static void note_comm_size(const struct link_map *map)
{
    size_t size = 0;
    const void *found = pw_scope_needed(map, PW_MPI_FORTRAN_FUNCTION, &size);
    if (found) {
        atomic_store(&comm_size_begin, (uintptr_t)found);
        atomic_store(&comm_size_size, size);
    }
}

static int skip_fortran_layer(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (!is_named_fortran(info->dlpi_name) && !pw_scope_is_defining(info, PW_MPI_FORTRAN_FUNCTION))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X))
            pw_stack_skip(begin, begin + segment->p_memsz);
    }
    return 0;
}

static void note_range(struct pw_mpi_range *range, const struct dl_find_object *object)
{
    const uint64_t begin = (uintptr_t)object->dlfo_map_start >> PW_MPI_PAGE_SHIFT;
    const uint64_t pages = (((uintptr_t)object->dlfo_map_end - 1) >> PW_MPI_PAGE_SHIFT) + 1 - begin;
    atomic_store(&range->pages,
                 begin << PW_MPI_PAGES_BITS | (pages < PW_MPI_PAGES ? pages : PW_MPI_PAGES));
}

static void note_fortran(const struct dl_find_object *object)
{
    note_comm_size(object->dlfo_link_map);
    note_range(&pw_mpi_fortran, object);
    pw_list_objects(skip_fortran_layer, NULL);
}

/* Notes the Fortran library, if it is not part of the MPI library. */
static void find_fortran(void)
{
    struct dl_find_object object;
    void *found = pw_mpi_symbol(PW_MPI_FORTRAN_FUNCTION);
    if (found && pw_find_object(found, &object) &&
        !pw_scope_defines(object.dlfo_link_map, "PMPI_Init"))
        note_fortran(&object);
}

/* Whether the object is the MPI library or one of Open MPI's components, such as MPI-IO's, which
 * call MPI functions themselves. */
static bool is_component(const struct link_map *map)
{
    const char *base = base_name(map->l_name);
    return begins_with(base, "libmpi.so") || begins_with(base, "mca_") ||
           begins_with(base, "libmca_") ||
           (pw_scope_defines(map, "PMPI_Init") && pw_scope_defines(map, PW_MPI_LIBRARY_SYMBOL));
}

/* Returns 0 for a component of MPI, 1 for other callers. Notes the Fortran library when it is the
 * caller. */
static bool look_at_caller(const void *caller)
{
    struct dl_find_object object;
    if (!pw_find_object(caller, &object))
        return true;
    const struct link_map *map = object.dlfo_link_map;
    if (map == atomic_load_explicit(&programs.map, memory_order_relaxed) &&
        map->l_ld == atomic_load_explicit(&programs.dynamic, memory_order_relaxed))
        return true;
    if (is_component(map))
        return false;
    if (is_named_fortran(map->l_name) || pw_scope_defines(map, PW_MPI_FORTRAN_FUNCTION)) {
        note_fortran(&object);
        return true;
    }
    if (!map->l_name[0])
        note_range(&pw_mpi_program, &object);
    atomic_store_explicit(&programs.dynamic, map->l_ld, memory_order_relaxed);
    atomic_store_explicit(&programs.map, map, memory_order_relaxed);
    return true;
}

/* Whether a call of PMPI_X comes from the program: from Fortran, or from the program's own
 * MPI_X. */
static bool is_programs(uint16_t op, const void *caller, uint8_t *flags)
{
    *flags = 0;
    if (!pw_mpi_is_from_fortran(caller)) {
        caller = pw_mpi_outer_caller(caller);
        if (!look_at_caller(caller))
            return false;
        if (!pw_mpi_is_from_fortran(caller))
            return pw_mpi_interposed[op] && !pw_mpi_is_inside();
    }
    *flags = PW_FLAG_FORTRAN;
    return op != PW_OP_Comm_size || !atomic_load(&comm_size_size) ||
           (uintptr_t)caller - atomic_load(&comm_size_begin) < atomic_load(&comm_size_size);
}

/* ---- how a call is handled ---- */

struct pw_mpi_way pw_mpi_way_by_caller(const char *symbol, const void *caller,
                                       pw_mpi_function *next)
{
    struct pw_mpi_way way = {.next = next, .is_recorded = !pw_mpi_by_caller};
    if (!next) {
        void *found = pw_mpi_locate(symbol, caller, &way.is_recorded);
        memcpy(&way.next, &found, sizeof(way.next));
    }
    return way;
}

struct pw_mpi_way pw_mpi_way_profiled(const char *symbol, const void *caller, pw_mpi_function *next,
                                      uint16_t op)
{
    struct pw_mpi_way way = {.next = next};
    way.is_recorded = !is_handed_over && is_programs(op, caller, &way.flags);
    if (!next) {
        bool is_mpi;
        void *found = pw_mpi_locate(symbol, caller, &is_mpi);
        memcpy(&way.next, &found, sizeof(way.next));
        way.is_recorded = way.is_recorded && is_mpi;
    }
    return way;
}
