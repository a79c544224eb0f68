/* MPI_X and PMPI_X for the functions of mpi4_functions.c, in a library of their own that the probe
 * needs not be linked to: the loader finds the probe's profwrap_MPI_X, because the probe is
 * preloaded. Compiled twice. In-app: calls the probe only.
 *
 * libprofwrap_mpi4_linked.so is preloaded into programs that a library of another ABI than Open
 * MPI's is linked to. It defines plain functions.
 *
 * libprofwrap_mpi4_loaded.so (PW_MPI4_IS_LOADED) is opened by the probe in all other programs.
 * Its names are indirect functions (GNU IFUNC): the loader calls a resolver when a library that is
 * loaded later refers to a name, and gets NULL when the MPI library, which is mapped by then, does
 * not have the function. So a weak reference is as it is without profwrap. This would not work in
 * the other library: the loader relocates a program's libraries before those that are preloaded,
 * and an indirect function must be relocated before it is used. */
#include <stdint.h>

#include "collectors/mpi/mpi4_libraries.h"
#include "collectors/mpi/mpi_library.h"

#if MPI_VERSION < 4

#define EXPORT __attribute__((visibility("default")))
#define C_WORD(p) uintptr_t PASS(p)

/* Of these functions, Open MPI 5's mpi.h declares some, though it is of MPI 3.1: so the C names are
 * others. */
#ifdef PW_MPI4_IS_LOADED
#define NAME(Name, ...)                                                      \
    int profwrap_##Name(EACH(C_WORD, COMMA, __VA_ARGS__));                   \
    typedef int type_of_##Name(EACH(C_WORD, COMMA, __VA_ARGS__));            \
    __attribute__((used)) static type_of_##Name *resolve_##Name(void)        \
    {                                                                        \
        return profwrap_mpi_has(#Name) ? profwrap_##Name : NULL;             \
    }                                                                        \
    EXPORT int named_##Name(EACH(C_WORD, COMMA, __VA_ARGS__)) __asm__(#Name) \
        __attribute__((ifunc("resolve_" #Name)));
#else
#define NAME(Name, ...)                                                       \
    int profwrap_##Name(EACH(C_WORD, COMMA, __VA_ARGS__));                    \
    EXPORT int named_##Name(EACH(C_WORD, COMMA, __VA_ARGS__)) __asm__(#Name); \
    int named_##Name(EACH(C_WORD, COMMA, __VA_ARGS__))                        \
    {                                                                         \
        return profwrap_##Name(EACH(PASS, COMMA, __VA_ARGS__));               \
    }
#endif

#define MPI4_FN(Name, ...)        \
    NAME(MPI_##Name, __VA_ARGS__) \
    NAME(PMPI_##Name, __VA_ARGS__)
#include "collectors/mpi/mpi4_functions.def"

#endif
