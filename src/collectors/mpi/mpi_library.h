/* The MPI library of the program: its functions, the handles and helpers that recording needs, and
 * the next function of each wrapper. Filled at the first MPI call, read by all in-app files of this
 * folder. In-app, by the rules of mpi_call.h.
 *
 * The probe is preloaded into programs that may have no MPI, another MPI, or one that is loaded
 * only later and privately (a Python extension), so it links none: everything is looked up at the
 * first MPI call. This copy of the files supports libraries of one ABI (mpi_abi.h). Under another
 * ABI, its wrappers only pass calls on: to the wrappers for that ABI if there are any (below),
 * else to the library. */
#ifndef PW_MPI_LIBRARY_H
#define PW_MPI_LIBRARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/mpi/mpi_abi.h"
#include "collectors/mpi/mpi_kinds.h"
#include "core/callorder.h"
#include "core/ops.h"
#include "rank/probe/probe.h"

/* Functions that recording calls, wrapped or not: PW_HELPER(return type, name, parameters). */
#define PW_MPI_HELPERS(H)                                                                    \
    H(int, Comm_rank, (MPI_Comm, int *))                                                     \
    H(int, Comm_size, (MPI_Comm, int *))                                                     \
    H(int, Comm_idup, (MPI_Comm, MPI_Comm *, MPI_Request *))                                 \
    H(int, Comm_free, (MPI_Comm *))                                                          \
    H(int, Ibarrier, (MPI_Comm, MPI_Request *))                                              \
    H(int, Iallgather,                                                                       \
      (const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Request *)) \
    H(int, Isend, (const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))      \
    H(int, Irecv, (void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))            \
    H(int, Test, (MPI_Request *, int *, MPI_Status *))                                       \
    H(int, Init, (int *, char ***))                                                          \
    H(int, Initialized, (int *))                                                             \
    H(int, Query_thread, (int *))                                                            \
    H(int, Comm_remote_size, (MPI_Comm, int *))                                              \
    H(int, Comm_test_inter, (MPI_Comm, int *))                                               \
    H(int, Comm_group, (MPI_Comm, MPI_Group *))                                              \
    H(int, Comm_remote_group, (MPI_Comm, MPI_Group *))                                       \
    H(int, Group_free, (MPI_Group *))                                                        \
    H(int, Group_translate_ranks, (MPI_Group, int, const int *, MPI_Group, int *))           \
    H(int, Type_size_x, (MPI_Datatype, MPI_Count *))                                         \
    H(int, Group_rank, (MPI_Group, int *))                                                   \
    H(int, Group_size, (MPI_Group, int *))                                                   \
    H(int, Win_get_group, (MPI_Win, MPI_Group *))                                            \
    H(int, File_get_group, (MPI_File, MPI_Group *))                                          \
    H(int, Topo_test, (MPI_Comm, int *))                                                     \
    H(int, Cartdim_get, (MPI_Comm, int *))                                                   \
    H(int, Cart_shift, (MPI_Comm, int, int, int *, int *))                                   \
    H(int, Graph_neighbors_count, (MPI_Comm, int, int *))                                    \
    H(int, Dist_graph_neighbors_count, (MPI_Comm, int *, int *, int *))                      \
    PW_MPI_OWN_HELPERS(H)

struct pw_pmpi {
#define PW_HELPER(type, Name, parameters) type(*Name) parameters;
    PW_MPI_HELPERS(PW_HELPER)
#undef PW_HELPER
};

/* The predefined handles of mpi.h. In some libraries they are addresses of the library's
 * variables. */
struct pw_mpi_handles {
    MPI_Comm world, self, comm_null;
    MPI_Datatype byte, datatype_null;
    MPI_Op no_op;
    MPI_Request request_null;
    MPI_Request request_empty; /* shared by all operations that are complete when begun */
    MPI_Message message_null, message_no_proc;
};

/* The predefined reductions, in a hash table without collisions: the place of one is the upper
 * bits of the product of its handle and `factor`. */
enum { PW_MPI_REDUCTION_BITS = 6 };
struct pw_mpi_reductions {
    uint64_t factor;
    struct {
        MPI_Op handle;
        uint32_t kind; /* enum pw_reduction */
    } place[1 << PW_MPI_REDUCTION_BITS];
};
extern struct pw_mpi_reductions pw_mpi_reductions __attribute__((visibility("hidden")));

static inline uint32_t pw_mpi_reduction(MPI_Op op)
{
#if PW_MPI_REDUCTION_BASE
    const uint64_t kind = PW_MPI_NUMBER(op) - PW_MPI_REDUCTION_BASE;
    return kind < PW_REDUCTION_KINDS ? (uint32_t)kind : PW_REDUCTION_USER;
#else
    const uint64_t place = PW_MPI_NUMBER(op) * pw_mpi_reductions.factor;
    const uint64_t at = place >> (64 - PW_MPI_REDUCTION_BITS);
    /* Without a jump: the compiler makes it one that is always taken. */
    const uint32_t is_kind = -(uint32_t)(pw_mpi_reductions.place[at].handle == op);
    return PW_REDUCTION_USER ^ ((PW_REDUCTION_USER ^ pw_mpi_reductions.place[at].kind) & is_kind);
#endif
}

extern struct pw_pmpi pw_pmpi __attribute__((visibility("hidden")));
extern struct pw_mpi_handles pw_mpi_handles __attribute__((visibility("hidden")));

/* Looks everything up; does nothing once it has found a library. A function that the library lacks
 * stays NULL. */
void pw_mpi_resolve(void);

/* 1 when the library is of this ABI and everything that recording needs was found. */
int pw_mpi_is_known(void);

/* Address of `symbol` in the MPI library, or NULL. */
void *pw_mpi_symbol(const char *symbol);

/* Returns the address of a variable of the MPI library. If the program has a copy of the variable
 * (a copy relocation), this is the copy, because all code uses it. */
void *pw_mpi_variable(const char *symbol);

/* ---- the *next* function of each wrapper ----
 *
 * The wrapper of MPI_X or PMPI_X calls the definition that its caller would get without the probe.
 * The loader is called only in the cases that scope.h lists.
 *
 * In nearly every program, the next function is the next definition in the loader's global scope,
 * and is the same for all callers: the MPI library's function, or that of a PMPI tool or of a
 * library of the program. When a tool calls PMPI_X, the call reaches the probe a second time; the
 * probe knows then that the thread is already inside a recorded call.
 *
 * Sometimes the global scope has no definition, for example under an interpreter that loads all
 * libraries with RTLD_LOCAL. Then the next function depends on the calling library: MPI_Comm_size
 * may be Open MPI's in one library, and in another one that of a serial replacement for MPI. Calls
 * of such a replacement are neither recorded nor changed.
 *
 * There are no wrappers for Fortran: each function of Open MPI's Fortran libraries calls the C
 * function PMPI_X, and each of MPICH's calls MPI_X or PMPI_X, where the call is recorded. The probe
 * defines no Fortran name. */

/* The functions of mpi_special.c. */
#define PW_MPI_SPECIALS(H)                             \
    H(int, Init, (int *, char ***))                    \
    H(int, Init_thread, (int *, char ***, int, int *)) \
    H(int, Finalize, (void))                           \
    H(int, Pcontrol, (const int, ...))                 \
    PW_MPI_SESSIONS(H)
#if MPI_VERSION >= 4
#define PW_MPI_SESSIONS(H)                                          \
    H(int, Session_init, (MPI_Info, MPI_Errhandler, MPI_Session *)) \
    H(int, Session_finalize, (MPI_Session *))
#else /* mpi4_functions.c */
#define PW_MPI_SESSIONS(H)
#endif

/* The next definition of each function in the global scope; NULL: none. */
struct pw_mpi_next {
#define PW_SPECIAL(type, Name, parameters) type(*Name) parameters;
    PW_MPI_SPECIALS(PW_SPECIAL)
#undef PW_SPECIAL
#define MPI_ROW(Name, Op, CLASS, ...) int (*Name)(EACH(C_DECL, COMMA, __VA_ARGS__));
#include "collectors/mpi/mpi_installed.def"
#undef MPI_ROW
};

extern struct pw_mpi_next pw_next __attribute__((visibility("hidden")));  /* of MPI_X */
extern struct pw_mpi_next pw_pnext __attribute__((visibility("hidden"))); /* of PMPI_X */

/* Whether the global scope lacks some function of the MPI library, so that every call has to
 * determine which library called it. */
extern bool pw_mpi_by_caller __attribute__((visibility("hidden")));

typedef void pw_mpi_function(void); /* must be cast to the function's real type */

/* The wrappers of another ABI: a table of functions that its copy of these files exports.
 *
 * The names MPI_X and PMPI_X belong to the wrappers for Open MPI. If the MPI library is of another
 * ABI, each of these wrappers calls the other ABI's wrapper of the same name. It passes on all
 * arguments as they came: each is in a register, or in eight bytes of the stack, whatever its type.
 * So the MPI library that is found at the first MPI call decides which wrappers record. The fast
 * functions for Open MPI did not have to change, and a call under another ABI takes a few more
 * instructions. */
struct pw_mpi_abi_table {
    /* Looks for a library of the ABI: 1 when one is there, and can be recorded. */
    int (*resolve)(void);
    /* The wrapper "MPI_X" or "PMPI_X"; NULL: there is none. Quick when called in the order of the
     * table of functions. */
    pw_mpi_function *(*find)(const char *symbol);
};

/* Takes its wrappers for functions that the MPI of this build does not have. */
void pw_mpi4_take(const struct pw_mpi_abi_table *other);

/* How a wrapper handles a call. */
struct pw_mpi_way {
    pw_mpi_function *next; /* the function to call; NULL: there is no definition */
    uint8_t flags;         /* PW_FLAG_FORTRAN or 0 */
    bool is_recorded;      /* it is a call of MPI, and the program made it */
};

/* How to handle a call of MPI_X (`symbol`, a string literal) that returns to `caller`, when this
 * depends on the caller. `next` is the definition in the global scope, or NULL. */
struct pw_mpi_way pw_mpi_way_by_caller(const char *symbol, const void *caller,
                                       pw_mpi_function *next);

/* How to handle a call of PMPI_X; parameters as above, and `op` is the operation. */
struct pw_mpi_way pw_mpi_way_profiled(const char *symbol, const void *caller, pw_mpi_function *next,
                                      uint16_t op);

/* The definition of `symbol` (a string literal) that `caller` would get without the probe; NULL if
 * there is none. *is_mpi tells whether the definition belongs to the MPI library that the probe
 * uses, or to a tool in front of it. */
void *pw_mpi_locate(const char *symbol, const void *caller, bool *is_mpi);

/* For each operation, whether the program has its own MPI_X, which comes before the probe's. Calls
 * of such an MPI_X reach the probe only when it calls PMPI_X, so they are recorded there. Other
 * calls of PMPI_X come from tools, and are not recorded. */
extern bool pw_mpi_interposed[PW_OP_COUNT] __attribute__((visibility("hidden")));

/* The address ranges of the Fortran library and of the program itself; set when they first
 * call PMPI_X. A range is one word, so that a thread reads it as a whole: bits 20 to 63 are the
 * number of the first page of 4 KiB, bits 0 to 19 the number of pages. */
enum { PW_MPI_PAGE_SHIFT = 12, PW_MPI_PAGES_BITS = 20 };
#define PW_MPI_PAGES ((UINT64_C(1) << PW_MPI_PAGES_BITS) - 1)
struct pw_mpi_range {
    _Atomic uint64_t pages;
};
extern struct pw_mpi_range pw_mpi_fortran __attribute__((visibility("hidden")));
extern struct pw_mpi_range pw_mpi_program __attribute__((visibility("hidden")));

static inline bool pw_mpi_is_in(const struct pw_mpi_range *range, const void *caller)
{
    const uint64_t pages = atomic_load_explicit(&range->pages, memory_order_relaxed);
    return ((uintptr_t)caller >> PW_MPI_PAGE_SHIFT) - (pages >> PW_MPI_PAGES_BITS) <
           (pages & PW_MPI_PAGES);
}

static inline bool pw_mpi_is_from_fortran(const void *caller)
{
    return pw_mpi_is_in(&pw_mpi_fortran, caller);
}

/* The probe's own code: a build without optimisation goes through several of its functions. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static inline bool pw_mpi_is_own(const void *caller)
{
    return (uintptr_t)caller - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

/* Returns the caller of the wrapper. `caller` is that caller, or a function of the probe that the
 * caller has called. */
const void *pw_mpi_outer_caller(const void *caller);

/* The flags of a call of MPI_X, where a Fortran library makes such calls. */
static inline uint8_t pw_mpi_caller_flags(const void *caller)
{
    if (__builtin_expect(pw_mpi_is_own(caller), 0))
        caller = pw_mpi_outer_caller(caller);
    return pw_mpi_is_from_fortran(caller) ? PW_FLAG_FORTRAN : 0;
}

/* Whether the calling thread is inside a recorded call. Then a call of PMPI_X comes from a tool, or
 * from a function of the program that calls several PMPI functions for one MPI call. */
static inline bool pw_mpi_is_inside(void)
{
    return pw_this_thread.ring.shared &&
           atomic_load_explicit(&pw_this_thread.call->op, memory_order_relaxed);
}

/* Whether it is already known, without further lookups, that a call of PMPI_X is not recorded. */
static inline bool pw_mpi_is_hidden(const void *caller, uint16_t op)
{
    if (pw_mpi_is_from_fortran(caller))
        return false;
    return pw_mpi_is_inside() ||
           (!pw_mpi_interposed[op] &&
            (atomic_load_explicit(&pw_mpi_fortran.pages, memory_order_relaxed) != 0 ||
             pw_mpi_is_in(&pw_mpi_program, caller)));
}

#endif
