/* MPI_X and PMPI_X of functions that the MPI of this build is too old to have, but which an MPI
 * library of another ABI has: its wrappers record them (mpi_next.h). Any other library's function
 * is called and not recorded. In-app, by the rules of mpi_call.h.
 *
 * The types of handles are not the same in all ABIs. Every argument of these functions is an
 * integer or an address, and is passed on as the eight bytes that it came in. */
#include "collectors/mpi/mpi_next.h"

#if MPI_VERSION < 4 && defined(PW_MPI_HAS_MPICH)

#define EXPORT __attribute__((visibility("default")))
#define C_WORD(p) uintptr_t PASS(p)

#define PW_OP(...)
#define MPI_FN(...)
#define MPI_FN_4(Name, class, shape, factor, level, sent, received, CLASS, ...) \
    MPI_LATER(Name, __VA_ARGS__)
#define MPI_FN_4_C(Name, CLASS, ...) MPI_LATER(Name##_c, __VA_ARGS__)

static struct {
#define MPI_LATER(Name, ...)                             \
    int (*MPI_##Name)(EACH(C_WORD, COMMA, __VA_ARGS__)); \
    int (*PMPI_##Name)(EACH(C_WORD, COMMA, __VA_ARGS__));
#include "core/mpi_functions.def"
#undef MPI_LATER
} later;

static void take(const struct pw_mpi_other *other, void *slot, const char *symbol)
{
    pw_mpi_function *function = other->find(symbol);
    memcpy(slot, &function, sizeof(function));
}

#define PW_OP(...)
#define MPI_FN(...)
#define MPI_FN_4(Name, class, shape, factor, level, sent, received, CLASS, ...) \
    MPI_LATER(Name, __VA_ARGS__)
#define MPI_FN_4_C(Name, CLASS, ...) MPI_LATER(Name##_c, __VA_ARGS__)

void pw_mpi_later_take(const struct pw_mpi_other *other)
{
#define MPI_LATER(Name, ...)                      \
    take(other, &later.MPI_##Name, "MPI_" #Name); \
    take(other, &later.PMPI_##Name, "PMPI_" #Name);
#include "core/mpi_functions.def"
#undef MPI_LATER
}

#define FUNCTION(Name, ...)                                                           \
    int Name(EACH(C_WORD, COMMA, __VA_ARGS__));                                       \
    EXPORT int Name(EACH(C_WORD, COMMA, __VA_ARGS__))                                 \
    {                                                                                 \
        __typeof__(later.Name) next = later.Name;                                     \
        if (__builtin_expect(!next, 0)) {                                             \
            bool is_mpi;                                                              \
            void *found = pw_mpi_locate(#Name, __builtin_return_address(0), &is_mpi); \
            memcpy(&next, &found, sizeof(next));                                      \
        }                                                                             \
        return next ? next(EACH(PASS, COMMA, __VA_ARGS__)) : MPI_ERR_OTHER;           \
    }

#define PW_OP(...)
#define MPI_FN(...)
#define MPI_FN_4(Name, class, shape, factor, level, sent, received, CLASS, ...) \
    MPI_LATER(Name, __VA_ARGS__)
#define MPI_FN_4_C(Name, CLASS, ...) MPI_LATER(Name##_c, __VA_ARGS__)
#define MPI_LATER(Name, ...)          \
    FUNCTION(MPI_##Name, __VA_ARGS__) \
    FUNCTION(PMPI_##Name, __VA_ARGS__)
#include "core/mpi_functions.def"
#undef MPI_LATER

#else

void pw_mpi_later_take(const struct pw_mpi_other *other)
{
    (void)other;
}

#endif
