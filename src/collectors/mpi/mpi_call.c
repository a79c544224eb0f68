/* The out-of-line parts of a wrapped call: sizes of types, copies of requests and statuses, and the
 * work while recording is paused. See mpi_call.h. */
#include "collectors/mpi/mpi_call.h"

#include <sys/mman.h>

#include "collectors/mpi/mpi_request.h"
#include "rank/probe/recording.h"
#include "rank/probe/stack.h"

int pw_mpi_threads;

/* A buffer for each use and thread. When it is too small it is replaced by a larger one; its memory
 * is never freed. */
struct scratch {
    void *memory;
    size_t bytes;
};
_Thread_local MPI_Status pw_mpi_own_status __attribute__((tls_model("initial-exec")));
static _Thread_local struct scratch handles, statuses __attribute__((tls_model("initial-exec")));

static void *scratch_take(struct scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->bytes)
        return scratch->memory;
    size_t size = 4096;
    while (size < bytes)
        size *= 2;
    void *fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED)
        return NULL;
    if (scratch->memory)
        munmap(scratch->memory, scratch->bytes);
    scratch->memory = fresh;
    scratch->bytes = size;
    return fresh;
}

struct pw_thread *pw_mpi_enter(void)
{
    struct pw_thread *thread = pw_probe_thread();
    if (!thread || !pw_probe_lock(thread))
        return NULL;
    if (pw_recording_is_signalled())
        pw_recording_obey(thread);
    if (pw_mpi_gate() < 0) { /* the order has paused recording: do not record this call */
        pw_probe_unlock(thread);
        return NULL;
    }
    thread->stack = pw_stack_take(thread, (int)pw_gate->stack_depth);
    return thread;
}

int64_t pw_mpi_type_size_slow(MPI_Datatype type)
{
    MPI_Count size;
    /* A type that MPI ignores may be null, and asking MPI for the size of a null type is an
     * error. */
    if (!type || type == pw_mpi_handles.datatype_null)
        return 0;
    if (pw_pmpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    pw_mpi_last_refresh();
    pw_mpi_last.type = type;
    pw_mpi_last.type_size = size;
    return size;
}

/* Shows in the open call which operation it waits for, when it is a single one that is in the front
 * of the table. With several requests it is not known which is missing. */
static void show_awaited(const struct pw_mpi_call *c)
{
    struct pw_open_call *open = c->thread->call;
    const struct pw_mpi_request *row = NULL;
    if (c->nrequests == 1 && c->saved)
        row = pw_mpi_request_row(c->saved[0].handle);
    if (!row || !(row->state & PW_REQUEST_OPEN) || row->handle != c->saved[0].handle) {
        atomic_store_explicit(&open->awaited, 0, memory_order_relaxed);
        return;
    }
    const struct pw_record *record = &row->record;
    int is_collective = (row->state & PW_REQUEST_CLASS) == PW_CLASS_COLL;
    int32_t tag = is_collective ? (int32_t)record->comm.seq : record->comm.tag;
    atomic_store_explicit(&open->peer, record->comm.peer, memory_order_relaxed);
    atomic_store_explicit(&open->tag, tag, memory_order_relaxed);
    atomic_store_explicit(&open->handle, record->comm.comm, memory_order_relaxed);
    atomic_store_explicit(&open->awaited, record->op, memory_order_relaxed);
}

/* Not by memcpy(): glibc's uses 256-bit registers for more than 31 bytes, and a processor that
 * powers these up for it is up to a seventh slower during the call. The fence keeps the compiler
 * from making the loop a memcpy(). */
static void copy_handles(union pw_mpi_saved *to, int count, const MPI_Request *from)
{
    for (int i = 0; i < count; i++) {
        to[i].handle = from[i];
        atomic_signal_fence(memory_order_seq_cst);
    }
}

void pw_mpi_save_requests(struct pw_mpi_call *c, int count, const MPI_Request *requests)
{
    c->nrequests = count;
    c->requests = requests;
    c->saved =
        count > 0 && requests ? scratch_take(&handles, sizeof(*c->saved) * (size_t)count) : NULL;
    if (!c->saved)
        c->nrequests = 0;
    else
        copy_handles(c->saved, count, requests);
    show_awaited(c);
}

MPI_Status *pw_mpi_statuses(struct pw_mpi_call *c, MPI_Status *given)
{
    if (given != MPI_STATUSES_IGNORE || c->nrequests <= 0 || !pw_mpi_request_receives())
        return given;
    MPI_Status *own = scratch_take(&statuses, sizeof(*own) * (size_t)c->nrequests);
    return own ? own : given;
}

/* ---- while recording is paused ---- */

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

void pw_mpi_count_after(pw_mpi_key handle, enum pw_mpi_act act, int rc)
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
    if (op_level < pw_mpi_gate()) { /* recording has been resumed */
        thread->stack = pw_stack_take(thread, (int)pw_gate->stack_depth);
        return thread;
    }
    if (op_level <= pw_recording_level() && pw_mpi_gate() < 0 &&
        pw_mpi_due(act, pw_mpi_gate()) == PW_DUE_ALL)
        return thread;
    pw_probe_unlock(thread);
    return NULL;
}
