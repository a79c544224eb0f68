/* What is due for calls while recording is paused, where that is more than a look; see mpi_call.h.
 */
#include "collectors/mpi/mpi_call.h"
#include "collectors/mpi/mpi_request.h"
#include "rank/probe/recording.h"
#include "rank/probe/stack.h"

bool pw_mpi_has_requests(void)
{
    int left = atomic_load_explicit(&pw_gate->left_open, memory_order_relaxed);
    if (__builtin_expect(left < 0, 0)) {
        left = pw_mpi_request_count_open();
        atomic_store_explicit(&pw_gate->left_open, left, memory_order_relaxed);
    }
    return left > 0 || pw_mpi_request_persistents();
}

void pw_mpi_request_has_ended(void)
{
    int left = atomic_load_explicit(&pw_gate->left_open, memory_order_relaxed);
    if (left > 0)
        atomic_store_explicit(&pw_gate->left_open, left - 1, memory_order_relaxed);
}

void pw_mpi_request_is_quiet(struct pw_mpi_request *request)
{
    int left = atomic_load_explicit(&pw_gate->left_open, memory_order_relaxed);
    request->state |= PW_REQUEST_QUIET;
    if (left >= 0)
        atomic_store_explicit(&pw_gate->left_open, left + 1, memory_order_relaxed);
}

void pw_mpi_count_after(MPI_Comm handle, enum pw_mpi_act act, int rc)
{
    struct pw_thread *thread = pw_probe_thread();
    if (pw_mpi_count_before(handle) || !thread || !pw_probe_lock(thread))
        return;
    const struct pw_mpi_comm *comm = act == PW_MPI_COUNTS_KNOWN || rc != MPI_SUCCESS
                                         ? pw_mpi_comm_known(handle)
                                         : pw_mpi_comm_find(thread, handle);
    if (comm)
        pw_mpi_comm_count(comm);
    pw_probe_unlock(thread);
}

struct pw_thread *pw_mpi_enter_paused(int op_level, enum pw_mpi_act act)
{
    struct pw_thread *thread = pw_mpi_gate() < 0 ? pw_probe_thread() : NULL;
    if (!thread || !pw_probe_lock(thread))
        return NULL;
    if (pw_recording_is_signalled())
        pw_recording_obey(thread);
    thread->stack = 0;
    if (op_level < pw_mpi_gate()) { /* it has been opened */
        thread->stack = pw_stack_take(thread, (int)pw_gate->stack_depth);
        return thread;
    }
    if (op_level <= pw_recording_level() && pw_mpi_gate() < 0 &&
        pw_mpi_due(act, pw_mpi_gate()) == PW_DUE_ALL)
        return thread;
    pw_probe_unlock(thread);
    return NULL;
}
