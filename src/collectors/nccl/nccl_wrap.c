/* Wrappers of NCCL's functions, for NCCL without profiler plugins (before 2.23) and for programs
 * that have another plugin. When our plugin records (nccl_event.h), the wrappers record only calls
 * that NCCL does not report to it, and tell the plugin which function is called.
 * In-app code, called because the probe is preloaded. Functions that a program gets by dlsym() are
 * not wrapped.
 *
 * The times of a call are those of the host, not of the GPU. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/nccl/nccl_event.h"
#include "core/ops.h"
#include "rank/probe/scope.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* NO_NCCL: ncclSystemError, which a wrapper returns when there is no NCCL. */
enum { NO_NCCL = 2, ID_BYTES = 128, COMMS = 1 << 9 };

struct nccl_id {
    char bytes[ID_BYTES];
};

/* ---- NCCL's functions ---- */

/* Used when the caller's address is in no object. */
static void *find_by_name(const char *symbol)
{
    void *library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, symbol) : NULL;
    if (library)
        dlclose(library); /* it stays loaded, because others have loaded it */
    return found;
}

/* Returns the function `name` (a string literal) that the object at address `caller` would get
 * without the probe; NULL when there is none. NCCL may be in the global scope, in the scope of an
 * object that was loaded at run time (as in Python), or have another name (RCCL), and libraries may
 * define functions with NCCL's names. */
static void *real_function(const char *name, const void *caller)
{
    const struct pw_scope_query query = {
        .symbol = name, .caller = caller, .otherwise = find_by_name};
    struct pw_scope_answer answer;
    if (!pw_scope_recall(&query, &answer))
        answer = pw_scope_find(&query);
    return answer.target;
}

/* ---- communicators by NCCL's pointers ---- */

static struct {
    const void *_Atomic comm; /* NULL: free */
    void *_Atomic ours;       /* our handle; NULL or the handle of an ended communicator: none */
} comms[COMMS];

static struct pw_nccl_comm *find(const void *comm)
{
    const uintptr_t at = (uintptr_t)comm >> 4;
    for (uintptr_t i = 0; comm && i < COMMS; i++) {
        const void *there =
            atomic_load_explicit(&comms[(at + i) % COMMS].comm, memory_order_acquire);
        if (there == comm)
            return pw_nccl_comm_find(atomic_load(&comms[(at + i) % COMMS].ours));
        if (!there)
            break;
    }
    return NULL;
}

/* Stores our handle for NCCL's pointer. A place stays in use when its communicator is destroyed,
 * because another one often gets the same address. */
static bool keep(const void *comm, void *ours)
{
    const uintptr_t at = (uintptr_t)comm >> 4;
    for (uintptr_t i = 0; comm && i < COMMS; i++) {
        const void *there = NULL;
        const size_t place = (at + i) % COMMS;
        if (!atomic_compare_exchange_strong(&comms[place].comm, &there, comm) && there != comm)
            continue;
        atomic_store(&comms[place].ours, ours);
        return true;
    }
    return false;
}

/* Adds a communicator that the plugin does not report. */
static void open_own(const void *comm, const struct pw_nccl_comm_about *about)
{
    struct pw_nccl_comm *ours = comm && pw_nccl_is_wanted() ? pw_nccl_comm_open(about) : NULL;
    if (ours && !keep(comm, pw_nccl_comm_handle(ours)))
        pw_nccl_comm_close(ours);
    else if (ours)
        pw_nccl_comm_announce(ours);
}

/* Removes a communicator that the wrappers have added; one that the plugin has added is removed by
 * the plugin. */
static void forget(const void *comm)
{
    struct pw_nccl_comm *ours = find(comm);
    if (!ours)
        return;
    keep(comm, NULL);
    if (!ours->version)
        pw_nccl_comm_close(ours);
}

static uint64_t hash(uint64_t seed, const void *bytes, size_t size)
{
    uint64_t result = seed ^ 0xcbf29ce484222325ull; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        result = (result ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ull;
    return result ? result : 1;
}

/* ---- the call that a thread is in, for those who ask while it does not return ---- */

static struct pw_shown_nccl *shown(void)
{
    return pw_nccl_is_wanted() ? &pw_probe_home.segment->nccl : NULL;
}

static int32_t own_tid(void)
{
    const struct pw_ring_shared *ring = pw_this_thread.ring.shared;
    return ring ? atomic_load_explicit(&ring->tid, memory_order_relaxed)
                : (int32_t)syscall(SYS_gettid);
}

static void show(uint64_t start, uint32_t op, uint64_t uid, int32_t size)
{
    struct pw_shown_nccl *call = shown();
    if (!call)
        return;
    atomic_store_explicit(&call->uid, uid, memory_order_relaxed);
    atomic_store_explicit(&call->op, op, memory_order_relaxed);
    atomic_store_explicit(&call->size, size, memory_order_relaxed);
    atomic_store_explicit(&call->tid, own_tid(), memory_order_relaxed);
    atomic_store_explicit(&call->start, start, memory_order_release);
}

/* Unless another thread has entered one meanwhile. */
static void hide(uint64_t start)
{
    struct pw_shown_nccl *call = shown();
    if (call && atomic_load_explicit(&call->start, memory_order_relaxed) == start)
        atomic_store_explicit(&call->start, 0, memory_order_relaxed);
}

/* ---- operations ---- */

/* Depth of nested wrappers: NCCL's own calls inside a call are not recorded. */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

struct wrapped {
    struct pw_nccl_comm *comm; /* NULL: the wrappers record nothing */
    const void *key;           /* NCCL's pointer */
    bool is_outermost;
    uint64_t start;
    struct pw_nccl_current current;
};

static void enter(struct wrapped *w, const void *comm, const struct pw_nccl_request *request)
{
    *w = (struct wrapped){.is_outermost = depth++ == 0 && pw_gate->on, .key = comm};
    if (!w->is_outermost)
        return;
    if (pw_nccl_method_is(PW_NCCL_BY_CALLS))
        w->comm = find(comm);
    w->start = pw_probe_now();
    w->current.request = *request;
    pw_nccl_current = &w->current;
    const struct pw_nccl_comm *known = w->comm ? w->comm : find(comm);
    if (known)
        show(w->start, pw_nccl_func_op(request->func), atomic_load(&known->uid), known->size);
}

/* Records a collective that NCCL does not report to the plugin, as those by copy engines in NCCL
 * 2.28. Collectives with no elements or one rank are never reported, and not recorded here. */
static void record_untold(struct wrapped *w, int result, uint64_t now)
{
    struct pw_nccl_comm *comm = find(w->key);
    const struct pw_nccl_request *request = &w->current.request;
    const bool is_untold = !w->current.has_events && result == 0 && request->count > 0;
    if (is_untold && comm && comm->version >= 5 && comm->size > 1 &&
        request->func != PW_NCCL_SEND && request->func != PW_NCCL_RECV)
        pw_nccl_record_call(comm, request, w->start, now);
}

static void leave_plugin(struct wrapped *w, int result)
{
    if (w->current.whole)
        pw_nccl_whole_end(w->current.whole);
    if (w->current.comm && find(w->key) != pw_nccl_comm_find(w->current.comm))
        keep(w->key, w->current.comm);
    record_untold(w, result, pw_probe_now());
}

static void leave(struct wrapped *w, int result)
{
    depth--;
    if (!w->is_outermost)
        return;
    pw_nccl_current = NULL;
    hide(w->start);
    if (pw_nccl_method_is(PW_NCCL_BY_PLUGIN))
        leave_plugin(w, result);
    else if (w->comm && w->comm->size > 1) /* with one rank, NCCL only copies */
        pw_nccl_record_call(w->comm, &w->current.request, w->start, pw_probe_now());
}

/* Declares `real`: the NCCL function that the wrapper calls. */
#define REAL(type, name) type real = (type)(uintptr_t)real_function(name, CALLER)

#define SEND_RECV const void *send, void *recv, size_t count, int type
#define ON_STREAM void *comm, void *stream

/* OPERATION(name, func, peer, parameters, arguments): a wrapper. All of them have count, type, comm
 * and stream. */
#define OPERATIONS(OPERATION)                                                                      \
    OPERATION(AllReduce, ALLREDUCE, -1, (SEND_RECV, int op, ON_STREAM),                            \
              (send, recv, count, type, op, comm, stream))                                         \
    OPERATION(ReduceScatter, REDUCESCATTER, -1, (SEND_RECV, int op, ON_STREAM),                    \
              (send, recv, count, type, op, comm, stream))                                         \
    OPERATION(AllGather, ALLGATHER, -1, (SEND_RECV, ON_STREAM),                                    \
              (send, recv, count, type, comm, stream))                                             \
    OPERATION(AlltoAll, ALLTOALL, -1, (SEND_RECV, ON_STREAM),                                      \
              (send, recv, count, type, comm, stream))                                             \
    OPERATION(Broadcast, BROADCAST, root, (SEND_RECV, int root, ON_STREAM),                        \
              (send, recv, count, type, root, comm, stream))                                       \
    OPERATION(Gather, GATHER, root, (SEND_RECV, int root, ON_STREAM),                              \
              (send, recv, count, type, root, comm, stream))                                       \
    OPERATION(Scatter, SCATTER, root, (SEND_RECV, int root, ON_STREAM),                            \
              (send, recv, count, type, root, comm, stream))                                       \
    OPERATION(Reduce, REDUCE, root, (SEND_RECV, int op, int root, ON_STREAM),                      \
              (send, recv, count, type, op, root, comm, stream))                                   \
    OPERATION(Send, SEND, peer, (const void *send, size_t count, int type, int peer, ON_STREAM),   \
              (send, count, type, peer, comm, stream))                                             \
    OPERATION(Recv, RECV, peer, (void *recv, size_t count, int type, int peer, ON_STREAM),         \
              (recv, count, type, peer, comm, stream))                                             \
    OPERATION(Bcast, BROADCAST, root, (void *buffer, size_t count, int type, int root, ON_STREAM), \
              (buffer, count, type, root, comm, stream))

#define WRAPPER(name, which, which_peer, parameters, arguments) \
    EXPORT int nccl##name parameters;                           \
    int nccl##name parameters                                   \
    {                                                           \
        typedef int operation parameters;                       \
        REAL(operation *, "nccl" #name);                        \
        const struct pw_nccl_request request = {                \
            .func = PW_NCCL_##which,                            \
            .count = (int64_t)count,                            \
            .datatype = pw_nccl_type_name((uint32_t)type),      \
            .peer = (which_peer),                               \
            .stream = stream,                                   \
        };                                                      \
        struct wrapped w;                                       \
        enter(&w, comm, &request);                              \
        int result = real ? real arguments : NO_NCCL;           \
        leave(&w, result);                                      \
        return result;                                          \
    }
OPERATIONS(WRAPPER)

/* ---- communicators ---- */

/* State while a communicator is made: NCCL may report it to the plugin meanwhile, in this thread or
 * another. */
struct making {
    struct pw_nccl_current current;
    bool is_outermost, is_whole_job;
    uint64_t start;
};

static void begin_making(struct making *m, const struct pw_nccl_comm_about *about)
{
    *m = (struct making){.current.request.func = -1, .is_outermost = depth++ == 0};
    if (!m->is_outermost)
        return;
    pw_nccl_current = &m->current;
    m->is_whole_job = shown() && pw_probe_home.segment->world_size == about->size;
    m->start = pw_probe_now();
    show(m->start, m->is_whole_job ? PW_OP_Init : PW_OP_Comm_create, about->uid, about->size);
}

static void end_making(struct making *m, int result, void *const *comm,
                       const struct pw_nccl_comm_about *about)
{
    enum { IN_PROGRESS = 7 };
    depth--;
    if (m->is_outermost) {
        pw_nccl_current = NULL;
        hide(m->start);
        if (m->is_whole_job && shown())
            atomic_fetch_add(&shown()->inits, 1);
    }
    if (result != 0 && result != IN_PROGRESS)
        return;
    if (m->current.comm)
        keep(*comm, m->current.comm);
    else if (pw_nccl_method_is(PW_NCCL_BY_CALLS))
        open_own(*comm, about);
}

EXPORT int ncclCommSplit(void *comm, int color, int key, void **made, void *config);
EXPORT int ncclCommDestroy(void *comm);
EXPORT int ncclCommAbort(void *comm);

/* MAKER(name, ids, number of ids, parameters, arguments): a wrapper of a function that makes a
 * communicator of `ranks` ranks, which all have the same ids. */
#define MAKER(name, ids, n, parameters, arguments)                   \
    EXPORT int name parameters;                                      \
    int name parameters                                              \
    {                                                                \
        typedef int make parameters;                                 \
        REAL(make *, #name);                                         \
        const struct pw_nccl_comm_about about = {                    \
            .uid = hash(0, ids, (n) > 0 ? (size_t)(n)*ID_BYTES : 0), \
            .size = ranks,                                           \
            .rank = rank,                                            \
        };                                                           \
        struct making making;                                        \
        begin_making(&making, &about);                               \
        int result = real ? real arguments : NO_NCCL;                \
        end_making(&making, result, comm, &about);                   \
        return result;                                               \
    }
MAKER(ncclCommInitRank, id.bytes, 1, (void **comm, int ranks, struct nccl_id id, int rank),
      (comm, ranks, id, rank))
MAKER(ncclCommInitRankConfig, id.bytes, 1,
      (void **comm, int ranks, struct nccl_id id, int rank, void *config),
      (comm, ranks, id, rank, config))
/* From 2.23 on: large communicators have several ids. */
MAKER(ncclCommInitRankScalable, ids, nids,
      (void **comm, int ranks, int rank, int nids, const struct nccl_id *ids, void *config),
      (comm, ranks, rank, nids, ids, config))

/* Gives a split communicator a uid from its parent, the number of earlier splits, and the colour:
 * the same on all its ranks. */
static void keep_split(struct pw_nccl_comm *parent, int color, void *made, const void *caller)
{
    typedef int ask(const void *, int *);
    ask *count = (ask *)(uintptr_t)real_function("ncclCommCount", caller);
    ask *user_rank = (ask *)(uintptr_t)real_function("ncclCommUserRank", caller);
    const uint64_t nth = atomic_fetch_add(&parent->next[PW_NCCL_SENDRECV], 1);
    const uint64_t which[3] = {atomic_load(&parent->uid), nth, (uint64_t)(uint32_t)color};
    struct pw_nccl_comm_about about = {.uid = hash(1, which, sizeof(which)), .rank = -1};
    if (made && count && user_rank && count(made, &about.size) == 0 &&
        user_rank(made, &about.rank) == 0)
        open_own(made, &about);
}

int ncclCommSplit(void *comm, int color, int key, void **made, void *config)
{
    typedef int split(void *, int, int, void **, void *);
    REAL(split *, "ncclCommSplit");
    int result = real ? real(comm, color, key, made, config) : NO_NCCL;
    struct pw_nccl_comm *parent = pw_nccl_method_is(PW_NCCL_BY_CALLS) ? find(comm) : NULL;
    if (result == 0 && parent)
        keep_split(parent, color, *made, CALLER);
    return result;
}

int ncclCommDestroy(void *comm)
{
    typedef int end(void *);
    REAL(end *, "ncclCommDestroy");
    forget(comm);
    return real ? real(comm) : NO_NCCL;
}

int ncclCommAbort(void *comm)
{
    typedef int end(void *);
    REAL(end *, "ncclCommAbort");
    forget(comm);
    return real ? real(comm) : NO_NCCL;
}
