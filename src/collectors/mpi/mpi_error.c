/* Notes errors that MPI reports. In-app, by the rules of mpi_call.h.
 *
 * A fatal error ends the program inside the call, and under Hydra all ranks at once, by one signal:
 * nothing else tells which rank had the error. The handlers of errors of MPI are the program's, and
 * stay as they are. Open MPI and MPICH call a function of their own for each error of an MPI call,
 * whatever its handler, and call it as any other library would. So the probe defines these
 * functions, too. They note the error, and call the library's function. The library's callers find
 * them like MPI_X: the probe comes first in the global scope. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/tables.h"
#include "rank/probe/probe.h"
#include "rank/probe/scope.h"

#define EXPORT __attribute__((visibility("default")))

/* MPICH's classes (its mpi.h), which are also Intel MPI's. */
static const uint8_t of_mpich[128] = {
    [1] = PW_MPI_ERROR_BUFFER,
    [2] = PW_MPI_ERROR_COUNT,
    [3] = PW_MPI_ERROR_TYPE,
    [4] = PW_MPI_ERROR_TAG,
    [5] = PW_MPI_ERROR_COMM,
    [6] = PW_MPI_ERROR_RANK,
    [7] = PW_MPI_ERROR_ROOT,
    [8] = PW_MPI_ERROR_GROUP,
    [9] = PW_MPI_ERROR_OP,
    [10] = PW_MPI_ERROR_TOPOLOGY,
    [11] = PW_MPI_ERROR_DIMS,
    [12] = PW_MPI_ERROR_ARG,
    [13] = PW_MPI_ERROR_UNKNOWN,
    [14] = PW_MPI_ERROR_TRUNCATE,
    [15] = PW_MPI_ERROR_OTHER,
    [16] = PW_MPI_ERROR_INTERN,
    [17] = PW_MPI_ERROR_IN_STATUS,
    [18] = PW_MPI_ERROR_PENDING,
    [19] = PW_MPI_ERROR_REQUEST,
    [28] = PW_MPI_ERROR_INFO,
    [29] = PW_MPI_ERROR_INFO_KEY,
    [30] = PW_MPI_ERROR_INFO_VALUE,
    [31] = PW_MPI_ERROR_INFO_NOKEY,
    [33] = PW_MPI_ERROR_NAME,
    [34] = PW_MPI_ERROR_NO_MEM,
    [38] = PW_MPI_ERROR_PORT,
    [41] = PW_MPI_ERROR_SERVICE,
    [42] = PW_MPI_ERROR_SPAWN,
    [45] = PW_MPI_ERROR_WIN,
    [46] = PW_MPI_ERROR_BASE,
    [47] = PW_MPI_ERROR_LOCKTYPE,
    [48] = PW_MPI_ERROR_KEYVAL,
    [49] = PW_MPI_ERROR_RMA_CONFLICT,
    [50] = PW_MPI_ERROR_RMA_SYNC,
    [51] = PW_MPI_ERROR_SIZE,
    [52] = PW_MPI_ERROR_DISP,
    [53] = PW_MPI_ERROR_ASSERT,
    [55] = PW_MPI_ERROR_RMA_RANGE,
    [56] = PW_MPI_ERROR_RMA_ATTACH,
    [57] = PW_MPI_ERROR_RMA_SHARED,
    [58] = PW_MPI_ERROR_RMA_FLAVOR,
    [75] = PW_MPI_ERROR_SESSION,
    [76] = PW_MPI_ERROR_PROC_ABORTED,
    [77] = PW_MPI_ERROR_VALUE_TOO_LARGE,
    [101] = PW_MPI_ERROR_PROC_FAILED,
    [102] = PW_MPI_ERROR_PROC_FAILED_PENDING,
    [103] = PW_MPI_ERROR_REVOKED,
};

/* Notes the error in the call that the thread is in, if that is recorded. */
static void note(uint32_t error)
{
    const struct pw_thread *thread = &pw_this_thread;
    struct pw_ring_shared *ring = thread->ring.shared;
    if (!ring || !pw_gate->on)
        return;
    const uint32_t op = atomic_load_explicit(&ring->open.op, memory_order_relaxed);
    if (!op || op == PW_CALL_PROBE)
        return;
    atomic_store_explicit(&ring->error.error, error, memory_order_relaxed);
    atomic_store_explicit(&ring->error.time, pw_probe_now(), memory_order_relaxed);
    atomic_store_explicit(&ring->error.start,
                          atomic_load_explicit(&ring->open.start, memory_order_relaxed),
                          memory_order_release);
}

/* The library's own function, which must be called: it runs the program's error handler. `text` is
 * a text of the library that called, which tells which library that is. The return address need
 * not: where the library ends a function with this call, it is in the wrapper of MPI_X. */
static pw_any_function *library_function(const char *symbol, const void *text, const void *caller)
{
    return pw_scope_function(symbol, text ? text : caller);
}

/* MPICH's library of the standard ABI has that ABI's classes. */
static int is_of_standard_abi(const void *text)
{
    const struct link_map *library = text ? pw_scope_object(text) : NULL;
    const char *slash = library && library->l_name ? strrchr(library->l_name, '/') : NULL;
    return slash && strstr(slash, "mpi_abi");
}

/* The lowest seven bits of MPICH's codes are the class. `text`: in the library. */
static void note_mpich(int code, const void *text)
{
    if (!code)
        return;
    const uint32_t error = is_of_standard_abi(text) ? 0 : of_mpich[(unsigned)code & 127];
    note(error ? error : PW_MPI_ERROR_UNKNOWN);
}

/* `function`: the name of the library's function that found the error, a text of the library. */
EXPORT int MPIR_Err_return_comm(void *comm, const char *function, int code);
EXPORT int MPIR_Err_return_comm(void *comm, const char *function, int code)
{
    int (*next)(void *, const char *, int);
    note_mpich(code, function);
    next = (int (*)(void *, const char *, int))library_function("MPIR_Err_return_comm", function,
                                                                __builtin_return_address(0));
    return next ? next(comm, function, code) : code;
}

EXPORT int MPIR_Err_return_win(void *win, const char *function, int code);
EXPORT int MPIR_Err_return_win(void *win, const char *function, int code)
{
    int (*next)(void *, const char *, int);
    note_mpich(code, function);
    next = (int (*)(void *, const char *, int))library_function("MPIR_Err_return_win", function,
                                                                __builtin_return_address(0));
    return next ? next(win, function, code) : code;
}

/* `message`: the name of the MPI function, a text of the library. */
EXPORT int ompi_errhandler_invoke(void *handler, void *object, int type, int code,
                                  const char *message);
EXPORT int ompi_errhandler_invoke(void *handler, void *object, int type, int code,
                                  const char *message)
{
    int (*next)(void *, void *, int, int, const char *);
    if (code > 0)
        note(code <= PW_MPI_ERROR_VALUE_TOO_LARGE ? (uint32_t)code : PW_MPI_ERROR_UNKNOWN);
    next = (int (*)(void *, void *, int, int, const char *))library_function(
        "ompi_errhandler_invoke", message, __builtin_return_address(0));
    return next ? next(handler, object, type, code, message) : code;
}
