/* The C binding of every function in mpi_api.def. `cmake --build build --target show-mpi` prints
 * the expansion. The compiler checks each row against mpi.h, whose prototypes are in scope. */
#include "collectors/mpi/mpi_classes.h"

#define EXPORT __attribute__((visibility("default")))

/* Two functions: what is called has no frame, so that a call above the recorded level costs a look
 * at the gate and a jump. */
#define WRAP(Name, Op, CLASS, ...)                                                                \
    static __attribute__((noinline)) int recorded_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))        \
    {                                                                                             \
        struct pw_mpi_call c;                                                                     \
        MPI_Status own;                                                                           \
        (void)own;                                                                                \
        if (!pw_mpi_begin(&c, PW_OP_##Op, 0, PW_OP_LEVEL_##Op)) {                                 \
            if (__builtin_expect(!pw_pmpi.Name, 0))                                               \
                pw_mpi_resolve(); /* calls are recorded only once it is */                        \
            if (pw_mpi_gives_back(PW_OP_##Op)) {                                                  \
                c.thread = NULL;                                                                  \
                EACH(C_PRE, NONE, __VA_ARGS__)                                                    \
            }                                                                                     \
            return pw_pmpi.Name(EACH(PASS, COMMA, __VA_ARGS__));                                  \
        }                                                                                         \
        EACH(C_PRE, NONE, __VA_ARGS__)                                                            \
        int rc = pw_pmpi.Name(EACH(C_USE, COMMA, __VA_ARGS__));                                   \
        c.end = pw_probe_now();                                                                   \
        EACH(C_POST, NONE, __VA_ARGS__)                                                           \
        pw_mpi_after_##CLASS(&c, rc);                                                             \
        pw_mpi_end(&c);                                                                           \
        return rc;                                                                                \
    }                                                                                             \
    EXPORT int MPI_##Name(EACH(C_DECL, COMMA, __VA_ARGS__))                                       \
    {                                                                                             \
        if (PW_OP_LEVEL_##Op <= pw_mpi_level() || !pw_pmpi.Name || pw_mpi_gives_back(PW_OP_##Op)) \
            return recorded_##Name(EACH(PASS, COMMA, __VA_ARGS__));                               \
        return pw_pmpi.Name(EACH(PASS, COMMA, __VA_ARGS__));                                      \
    }

#define MPI_FN(Name, name, CLASS, ...) WRAP(Name, Name, CLASS, __VA_ARGS__)
#define MPI_FN_C(Name, name, CLASS, ...) WRAP(Name##_c, Name, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C
