/* The Fortran bindings of every function in mpi_api.def: `use mpi` and mpif.h (mpi_x_, and the
 * spellings of other compilers), `use mpi_f08` (mpi_x_f08_), and the latter with buffers by
 * descriptor (mpi_x_f08ts_, of libraries that others build upon). Every argument goes through
 * untouched to the same binding of the real library, so that Fortran's special values, absent
 * ierror and hidden lengths need no code here; only what is recorded is converted. */
#include "collectors/mpi/mpi_classes.h"

static_assert(sizeof(MPI_Fint) == sizeof(int), "count arrays are read as C ints");

#define EXPORT __attribute__((visibility("default")))

#define FORTRAN(Name, symbol, real, Op, CLASS, ...)                                             \
    static void (*real)(EACH(F_DECL, COMMA, __VA_ARGS__),                                       \
                        MPI_Fint * ierror EACH(LEN_DECL, NONE, __VA_ARGS__));                   \
    EXPORT void symbol(EACH(F_DECL, COMMA, __VA_ARGS__),                                        \
                       MPI_Fint *ierror EACH(LEN_DECL, NONE, __VA_ARGS__));                     \
    static __attribute__((noinline, unused)) void counted_##symbol(                             \
        EACH(F_DECL, COMMA, __VA_ARGS__), MPI_Fint *ierror EACH(LEN_DECL, NONE, __VA_ARGS__))   \
    {                                                                                           \
        struct pw_mpi_call c;                                                                   \
        MPI_Status own;                                                                         \
        MPI_Fint own_f[sizeof(MPI_Status) / sizeof(MPI_Fint) + 2];                              \
        (void)own, (void)own_f;                                                                 \
        c.thread = NULL;                                                                        \
        EACH(F_PRE, NONE, __VA_ARGS__)                                                          \
        real(EACH(PASS, COMMA, __VA_ARGS__), ierror EACH(LEN_USE, NONE, __VA_ARGS__));          \
        pw_mpi_count_paused_slow(c.comm, PW_OP_##Op == PW_OP_Win_fence,                         \
                                 ierror ? (int)*ierror : MPI_SUCCESS);                          \
    }                                                                                           \
    static __attribute__((noinline)) void recorded_##symbol(                                    \
        EACH(F_DECL, COMMA, __VA_ARGS__), MPI_Fint *ierror EACH(LEN_DECL, NONE, __VA_ARGS__))   \
    {                                                                                           \
        struct pw_mpi_call c;                                                                   \
        MPI_Status own;                                                                         \
        MPI_Fint own_f[sizeof(MPI_Status) / sizeof(MPI_Fint) + 2];                              \
        (void)own, (void)own_f;                                                                 \
        if (__builtin_expect(!real, 0)) {                                                       \
            void *found;                                                                        \
            pw_mpi_resolve();                                                                   \
            found = pw_mpi_symbol("p" #symbol);                                                 \
            __builtin_memcpy(&real, &found, sizeof(found));                                     \
        }                                                                                       \
        if (!pw_mpi_begin(&c, PW_OP_##Op, PW_FLAG_FORTRAN, PW_OP_LEVEL_##Op, PW_ACT_##CLASS)) { \
            if (pw_mpi_gives_back(PW_OP_##Op)) {                                                \
                c.thread = NULL;                                                                \
                EACH(F_PRE, NONE, __VA_ARGS__)                                                  \
            }                                                                                   \
            if (PW_ACT_##CLASS == PW_MPI_COUNTS && pw_mpi_gate() < 0)                           \
                counted_##symbol(EACH(PASS, COMMA, __VA_ARGS__),                                \
                                 ierror EACH(LEN_USE, NONE, __VA_ARGS__));                      \
            else                                                                                \
                real(EACH(PASS, COMMA, __VA_ARGS__), ierror EACH(LEN_USE, NONE, __VA_ARGS__));  \
            return;                                                                             \
        }                                                                                       \
        EACH(F_PRE, NONE, __VA_ARGS__)                                                          \
        real(EACH(F_USE, COMMA, __VA_ARGS__), ierror EACH(LEN_USE, NONE, __VA_ARGS__));         \
        c.end = pw_probe_now();                                                                 \
        EACH(F_POST, NONE, __VA_ARGS__)                                                         \
        pw_mpi_after_##CLASS(&c, ierror ? (int)*ierror : MPI_SUCCESS);                          \
        pw_mpi_end(&c);                                                                         \
    }                                                                                           \
    EXPORT void symbol(EACH(F_DECL, COMMA, __VA_ARGS__),                                        \
                       MPI_Fint *ierror EACH(LEN_DECL, NONE, __VA_ARGS__))                      \
    {                                                                                           \
        const int gate = pw_mpi_gate();                                                         \
        if (PW_OP_LEVEL_##Op < gate || !real || pw_mpi_gives_back(PW_OP_##Op) ||                \
            (gate < 0 && pw_mpi_is_busy_paused(PW_ACT_##CLASS)))                                \
            recorded_##symbol(EACH(PASS, COMMA, __VA_ARGS__),                                   \
                              ierror EACH(LEN_USE, NONE, __VA_ARGS__));                         \
        else if (PW_ACT_##CLASS == PW_MPI_COUNTS && gate < 0)                                   \
            counted_##symbol(EACH(PASS, COMMA, __VA_ARGS__),                                    \
                             ierror EACH(LEN_USE, NONE, __VA_ARGS__));                          \
        else                                                                                    \
            real(EACH(PASS, COMMA, __VA_ARGS__), ierror EACH(LEN_USE, NONE, __VA_ARGS__));      \
    }

/* How a buffer argument is found: as it is, or by the first member of a C descriptor. */
#define F_BUFFER(n) n
#define MPI_FN(Name, name, CLASS, ...) \
    FORTRAN(Name, mpi_##name##_, real_##name, Name, CLASS, __VA_ARGS__)
#define MPI_FN_C(Name, name, CLASS, ...) /* only mpi_f08 has these */
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C

#define MPI_FN(Name, name, CLASS, ...) \
    FORTRAN(Name, mpi_##name##_f08_, real_f08_##name, Name, CLASS, __VA_ARGS__)
#define MPI_FN_C(Name, name, CLASS, ...) \
    FORTRAN(Name, mpi_##name##_c_f08_, real_f08_c_##name, Name, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C
#undef F_BUFFER

#define F_BUFFER(n) described(n)
static void *described(void *descriptor)
{
    void *buffer = NULL;
    if (descriptor)
        __builtin_memcpy(&buffer, descriptor, sizeof(buffer));
    return buffer;
}
#define MPI_FN(Name, name, CLASS, ...) \
    FORTRAN(Name, mpi_##name##_f08ts_, real_f08ts_##name, Name, CLASS, __VA_ARGS__)
#define MPI_FN_C(Name, name, CLASS, ...) \
    FORTRAN(Name, mpi_##name##_c_f08ts_, real_f08ts_c_##name, Name, CLASS, __VA_ARGS__)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C

/* mpi_x_ under the other names that Open MPI gives it. */
#define SPELLING(symbol, target, ...)                                      \
    EXPORT void symbol(EACH(F_DECL, COMMA, __VA_ARGS__),                   \
                       MPI_Fint *ierror EACH(LEN_DECL, NONE, __VA_ARGS__)) \
        __attribute__((alias(#target)));
#define MPI_FN(Name, name, CLASS, ...)                   \
    SPELLING(mpi_##name, mpi_##name##_, __VA_ARGS__)     \
    SPELLING(mpi_##name##__, mpi_##name##_, __VA_ARGS__) \
    SPELLING(MPI_##Name##_f, mpi_##name##_, __VA_ARGS__) \
    SPELLING(MPI_##Name##_f08, mpi_##name##_, __VA_ARGS__)
#define MPI_FN_C(Name, name, CLASS, ...)
#include "collectors/mpi/mpi_api.def"
#undef MPI_FN
#undef MPI_FN_C
/* One MPI_FN(NAME, name, CLASS, ...) a row, written by the build: no macro can raise a letter. */
#define MPI_FN(NAME, name, CLASS, ...) SPELLING(MPI_##NAME, mpi_##name##_, __VA_ARGS__)
#include "collectors/mpi/mpi_upper.def"
#undef MPI_FN
