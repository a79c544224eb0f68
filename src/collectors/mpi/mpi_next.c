/* Finds the definition that a wrapper calls; see mpi_next.h. */
#include "collectors/mpi/mpi_next.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "collectors/mpi/mpi_later.h"
#include "rank/probe/findobject.h"
#include "rank/probe/scope.h"
#include "rank/probe/stack.h"

struct pw_mpi_next pw_next, pw_pnext;
bool pw_mpi_by_caller = true;

bool pw_mpi_interposed[PW_OP_COUNT];
struct pw_mpi_range pw_mpi_fortran, pw_mpi_program;

/* ---- the global scope ---- */

bool pw_mpi_is_ours(const void *definition)
{
    const struct link_map *object = pw_scope_object(definition);
    const char *slash = object ? strrchr(object->l_name, '/') : NULL;
    return object == pw_scope_object(&pw_next) ||
           (slash &&
            strncmp(slash + 1, PW_MPI_LATER_LIBRARIES, strlen(PW_MPI_LATER_LIBRARIES)) == 0);
}

/* Function pointers and object pointers differ for ISO C, not for dlsym. */
static void *find_next(void *slot, const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    if (found && pw_mpi_is_ours(found)) /* such as the probe itself, under --audit */
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
    *is_interposed = *is_interposed || (first && !pw_mpi_is_ours(first));
    return (next && pnext) || !pw_mpi_symbol(symbol);
}

static void find_fortran(void);

void pw_mpi_next_resolve(void)
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
extern const struct pw_mpi_other pw_mpi_mpich __attribute__((visibility("hidden")));
#endif
#ifdef PW_MPI_HAS_STANDARD
extern const struct pw_mpi_other pw_mpi_standard __attribute__((visibility("hidden")));
#endif

static const struct pw_mpi_other *const others[] = {
#ifdef PW_MPI_HAS_MPICH
    &pw_mpi_mpich,
#endif
#ifdef PW_MPI_HAS_STANDARD
    &pw_mpi_standard,
#endif
    NULL};

static void take(const struct pw_mpi_other *other, void *slot, void *pslot, const char *symbol)
{
    pw_mpi_function *function = other->find(symbol + 1), *profiled = other->find(symbol);
    memcpy(slot, &function, sizeof(function));
    memcpy(pslot, &profiled, sizeof(profiled));
}

bool pw_mpi_next_hand_over(void)
{
    const struct pw_mpi_other *const *other = others;
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
    pw_mpi_later_take(*other);
    is_handed_over = true;
    return true;
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

/* When no scope has the function, the caller got the wrapper's address from --audit, in place of
 * the library's function. */
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

/* Notes the code of Fortran's MPI_Comm_size: some Fortran functions call it themselves, and those
 * calls are not the program's. */
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

/* Where it is a library of its own. */
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
