/* Finds the function that a call of MPI_X or PMPI_X is passed on to: the definition that its caller
 * would get without the probe. Called by the wrappers. In-app, by the rules of mpi_call.h; the
 * loader is asked only where scope.h says so.
 *
 * In nearly every program that definition is the next one in the loader's global scope, the same
 * for all callers: the MPI library's, or that of a PMPI tool or of the program's own libraries.
 * Their PMPI_X comes to the probe again, and is known to be inside the recorded call.
 *
 * Where the global scope has none, as under an interpreter that loads everything with RTLD_LOCAL,
 * each caller has its own: one library's MPI_Comm_size is Open MPI's, another's that of a serial
 * replacement for MPI, whose calls are not MPI's and are neither recorded nor changed.
 *
 * Fortran has no wrappers: each function of Open MPI's Fortran libraries calls PMPI_X of C, which
 * is where it is recorded. The probe defines no Fortran name. */
#ifndef PW_MPI_NEXT_H
#define PW_MPI_NEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/mpi/mpi_real.h"
#include "core/ops.h"
#include "rank/probe/probe.h"

/* The functions of mpi_special.c. */
#define PW_MPI_SPECIALS(H)                             \
    H(int, Init, (int *, char ***))                    \
    H(int, Init_thread, (int *, char ***, int, int *)) \
    H(int, Finalize, (void))                           \
    H(int, Pcontrol, (const int, ...))

/* The next definition of each function in the global scope, NULL where there is none. */
struct pw_mpi_next {
#define PW_SPECIAL(type, Name, parameters) type(*Name) parameters;
    PW_MPI_SPECIALS(PW_SPECIAL)
#undef PW_SPECIAL
#define MPI_ROW(Name, Op, CLASS, ...) int (*Name)(EACH(C_DECL, COMMA, __VA_ARGS__));
#include "collectors/mpi/mpi_api.def"
#undef MPI_ROW
};

extern struct pw_mpi_next pw_next __attribute__((visibility("hidden")));  /* of MPI_X */
extern struct pw_mpi_next pw_pnext __attribute__((visibility("hidden"))); /* of PMPI_X */

/* Whether some function of the MPI library is not in the global scope: every call has to ask whose
 * it is. */
extern bool pw_mpi_by_caller __attribute__((visibility("hidden")));

/* Looks both tables up, after pw_pmpi. */
void pw_mpi_next_resolve(void);

/* What a call goes on to. */
typedef void pw_mpi_function(void); /* to be cast to what it is */
struct pw_mpi_way {
    pw_mpi_function *next; /* NULL: without the probe the loader would not have begun */
    uint8_t flags;         /* PW_FLAG_FORTRAN or 0 */
    bool is_recorded;      /* it is one of MPI, and of the program */
};

/* The way of a call of MPI_X (`symbol`, a literal) that returns to `caller`, where it is not known
 * without asking for the caller. `next` is what the global scope has, or NULL. */
struct pw_mpi_way pw_mpi_way_by_caller(const char *symbol, const void *caller,
                                       pw_mpi_function *next);

/* The way of a call of PMPI_X. */
struct pw_mpi_way pw_mpi_way_profiled(const char *symbol, const void *caller, pw_mpi_function *next,
                                      uint16_t op);

/* The definition of `symbol`, a literal, that `caller` would have, NULL where there is none.
 * *is_mpi is whether it is the known MPI library's, or that of a tool in front of it. */
void *pw_mpi_locate(const char *symbol, const void *caller, bool *is_mpi);

/* By operation, whether the program has an MPI_X that comes before the probe's, so that its calls
 * are seen in PMPI_X alone. What else calls PMPI_X does so in order not to be seen. */
extern bool pw_mpi_interposed[PW_OP_COUNT] __attribute__((visibility("hidden")));

/* Open MPI's Fortran library and the program itself, once they have called PMPI_X. One word, so
 * that nobody sees the begin of one object with the size of another: from bit 20 on the number of
 * the first page of 4 KiB, below it how many there are. */
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

/* Whether the calling thread is in a recorded call: a tool's PMPI_X, or one of several that the
 * program's wrapper calls in one of its own. */
static inline bool pw_mpi_is_inside(void)
{
    return pw_this_thread.ring.shared &&
           atomic_load_explicit(&pw_this_thread.call->op, memory_order_relaxed);
}

/* Whether a call of PMPI_X is known not to be one to record. */
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
