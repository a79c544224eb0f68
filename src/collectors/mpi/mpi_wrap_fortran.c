/* The Fortran bindings of every function in mpi_api.def: `use mpi` and mpif.h (mpi_x_), and `use
 * mpi_f08` (mpi_x_f08_). Every argument goes through untouched to the same binding of the real
 * library, so that Fortran's special values, absent ierror and hidden lengths need no code here;
 * only what is recorded is converted. */
#include "collectors/mpi/mpi_classes.h"

static_assert(sizeof(MPI_Fint) == sizeof(int), "count arrays are read as C ints");

#define EXPORT __attribute__((visibility("default")))

#define FORTRAN(Name, symbol, real, CLASS, ...)                                            \
    static void (*real)(EACH(F_DECL, COMMA, __VA_ARGS__),                                  \
                        MPI_Fint * ierror EACH(LEN_DECL, NONE, __VA_ARGS__));              \
    EXPORT void symbol(EACH(F_DECL, COMMA, __VA_ARGS__),                                   \
                       MPI_Fint *ierror EACH(LEN_DECL, NONE, __VA_ARGS__));                \
    EXPORT void symbol(EACH(F_DECL, COMMA, __VA_ARGS__),                                   \
                       MPI_Fint *ierror EACH(LEN_DECL, NONE, __VA_ARGS__))                 \
    {                                                                                      \
        struct pw_mpi_call c;                                                              \
        MPI_Status own;                                                                    \
        MPI_Fint own_f[sizeof(MPI_Status) / sizeof(MPI_Fint) + 2];                         \
        (void)own, (void)own_f;                                                            \
        if (__builtin_expect(!real, 0)) {                                                  \
            void *found;                                                                   \
            pw_mpi_resolve();                                                              \
            found = pw_mpi_symbol("p" #symbol);                                            \
            __builtin_memcpy(&real, &found, sizeof(found));                                \
        }                                                                                  \
        if (!pw_mpi_begin(&c, PW_OP_##Name, PW_FLAG_FORTRAN, PW_OP_LEVEL_##Name)) {        \
            real(EACH(PASS, COMMA, __VA_ARGS__), ierror EACH(LEN_USE, NONE, __VA_ARGS__)); \
            return;                                                                        \
        }                                                                                  \
        EACH(F_PRE, NONE, __VA_ARGS__)                                                     \
        real(EACH(F_USE, COMMA, __VA_ARGS__), ierror EACH(LEN_USE, NONE, __VA_ARGS__));    \
        c.end = pw_probe_now();                                                            \
        EACH(F_POST, NONE, __VA_ARGS__)                                                    \
        pw_mpi_after_##CLASS(&c, ierror ? (int)*ierror : MPI_SUCCESS);                     \
        pw_mpi_end(&c);                                                                    \
    }

#define MPI_FN(Name, name, CLASS, ...) FORTRAN(Name, mpi_##name##_, real_##name, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#define MPI_FN(Name, name, CLASS, ...) \
    FORTRAN(Name, mpi_##name##_f08_, real_f08_##name, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
