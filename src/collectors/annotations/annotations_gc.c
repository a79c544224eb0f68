/* The garbage collections of Python: what python/profwrap/_collections.py puts into gc.callbacks;
 * and other work that a rank may do while the others wait (ran()).
 *
 * Python calls it at the begin and the end of each collection, both in the thread that collects. A
 * collection of 1 ms or more is a record of its own; shorter ones are summed up, and become a
 * record when their sum reaches 1 ms, before a longer one, and at the program's end. So a program
 * that collects ten thousand times a second has no more records than milliseconds of collection.
 *
 * A collection never is the first record of a process: each worker of a data loader collects, too.
 * Nor is it the first of a thread, for which a ring would be allocated: the sum waits for a thread
 * that has one.
 *
 * Only the main interpreter attaches, and it runs one collection at a time. But a program can call
 * what is in gc.callbacks itself, and without the GIL another thread may collect while the program
 * ends. So the arguments are not trusted, and the sum is taken by one thread at a time.
 *
 * Python's headers are not needed, as in annotations_python.c. In-app code. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"
#include "rank/probe/attach.h"

#define EXPORT __attribute__((visibility("default")))

enum { LONG_NS = 1000000 };

typedef struct python_object object;

/* Passed by the Python module; the same as class _Python of _collections.py. */
struct python {
    object *none, *start, *stop; /* None, "start" and "stop" */
    void (*incref)(object *);
    int (*compare)(object *, object *);          /* PyUnicode_Compare(): -1 and an error where one
                                                  * is no text */
    object *(*get_item)(object *, const char *); /* PyDict_GetItemString(): borrowed */
    long long (*as_long_long)(object *);         /* PyLong_AsLongLong() */
    void (*clear_error)(void);
};

/* PyMethodDef. */
struct method {
    const char *name;
    object *(*function)(object *self, object *const *arguments, intptr_t count);
    int flags;
    const char *doc;
};
enum { METH_FASTCALL = 0x80 };

/* As class _Shared of python/profwrap/_collections.py. */
struct profwrap_gc {
    size_t size;
    void (*attach)(const struct python *python);
    const struct method *methods; /* a name NULL ends them */
};

/* Collections that have no record yet. */
struct group {
    uint64_t start, end;
    int64_t total_ns, collected;
    uint64_t count;
};

static struct python py;
static struct group pending;
static atomic_flag is_taken = ATOMIC_FLAG_INIT; /* a thread uses `pending` */
static _Atomic uint64_t missed;                 /* collections that found it taken */
/* Of the collection that the thread runs; 0: none that is recorded. */
static _Thread_local int64_t began_ns __attribute__((tls_model("initial-exec")));

static bool is_recorded(void)
{
    return (pw_gate->activities & PW_ACTIVITY_ANNOTATIONS) && pw_probe_has_begun() &&
           !pw_recording_is_paused();
}

/* Commits the record, which is no progress of the thread: a loop of tests that never succeed goes
 * on (struct pw_shown_requests). */
static void commit(struct pw_thread *thread)
{
    struct pw_shown_requests *shown = &thread->ring.shared->shown;
    atomic_fetch_add_explicit(&shown->runtime, 1, memory_order_relaxed);
    pw_probe_commit(thread);
}

/* Writes the record of one collection or of a group. Returns false when the thread has no ring, is
 * inside a call that is recorded (a reduction of the program's own, inside MPI), or has just
 * applied a change that pauses recording: then nothing is written or lost. */
static bool write_record(const struct group *of, enum pw_runtime_kind kind, int32_t generation)
{
    struct pw_thread *thread = &pw_this_thread;
    if (!thread->ring.shared || atomic_load_explicit(&thread->call->op, memory_order_relaxed) ||
        !pw_recording_hold(thread))
        return false;
    if (pw_recording_is_paused()) {
        pw_probe_unlock(thread);
        return false;
    }
    const uint64_t now = pw_probe_now(), lost = atomic_exchange(&missed, 0);
    if (lost)
        pw_ring_count_loss(&thread->ring, lost, now, PW_LOST_RANGE);
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_RANGE);
    if (record) {
        *record = (struct pw_record){
            .type = PW_REC_RUNTIME,
            .op = kind,
            .start = of->start,
            .end = of->end,
            .runtime = {.total_ns = of->total_ns,
                        .collected = of->collected,
                        .count = of->count,
                        .generation = generation},
        };
        commit(thread);
    }
    pw_probe_unlock(thread);
    return true;
}

/* Takes `pending`, which never waits. Returns false when another thread has it. */
static bool take_pending(void)
{
    return !atomic_flag_test_and_set_explicit(&is_taken, memory_order_acquire);
}

static void leave_pending(void)
{
    atomic_flag_clear_explicit(&is_taken, memory_order_release);
}

/* Called by the thread that has taken `pending`, as the next two. */
static void flush(void)
{
    if (pending.count && write_record(&pending, PW_RUNTIME_GC, -1))
        pending = (struct group){0};
}

/* The record of a long collection, behind those before it. Returns false when it has none. */
static bool write_long(const struct group *one, int32_t generation)
{
    flush();
    return !pending.count && write_record(one, PW_RUNTIME_GC, generation);
}

static void add_pending(const struct group *one)
{
    if (!pending.count)
        pending.start = one->start;
    pending.end = one->end;
    pending.total_ns += one->total_ns;
    pending.collected += one->collected > 0 ? one->collected : 0;
    pending.count++;
}

static int64_t number_of(object *info, const char *name)
{
    object *value = py.get_item(info, name);
    const int64_t number = value ? (int64_t)py.as_long_long(value) : -1;
    if (number < 0)
        py.clear_error();
    return number;
}

static void end_collection(object *info)
{
    const int64_t end_ns = pw_local_ns();
    struct group one = {(uint64_t)began_ns, (uint64_t)end_ns, end_ns - began_ns, 0, 1};
    const bool is_long = one.total_ns >= LONG_NS;
    began_ns = 0;
    /* Before `pending` is taken: a number of the program's own may run code. */
    one.collected = number_of(info, "collected");
    const int32_t generation = is_long ? (int32_t)number_of(info, "generation") : -1;
    if (!take_pending()) {
        atomic_fetch_add(&missed, 1);
        return;
    }
    if (!is_long || !write_long(&one, generation)) {
        add_pending(&one);
        if (pending.total_ns >= LONG_NS)
            flush();
    }
    leave_pending();
}

static object *answer(void)
{
    py.incref(py.none);
    return py.none;
}

/* (phase, info): what gc calls. */
static object *collected(object *self, object *const *arguments, intptr_t count)
{
    (void)self;
    if (count != 2)
        return answer();
    if (py.compare(arguments[0], py.start) == 0)
        began_ns = is_recorded() ? pw_local_ns() : 0;
    else if (py.compare(arguments[0], py.stop) != 0)
        py.clear_error();
    else if (began_ns && is_recorded())
        end_collection(arguments[1]);
    return answer();
}

/* (kind, start): other work of 1 ms or more, which began at this time of pw_local_ns() and has just
 * ended. */
static object *ran(object *self, object *const *arguments, intptr_t count)
{
    (void)self;
    const long long kind = count == 2 ? py.as_long_long(arguments[0]) : -1;
    const int64_t start_ns = count == 2 ? (int64_t)py.as_long_long(arguments[1]) : -1;
    const int64_t end_ns = pw_local_ns();
    if (kind < 0 || start_ns < 0)
        py.clear_error();
    else if (kind > PW_RUNTIME_GC && kind <= PW_RUNTIME_CHECKPOINT && start_ns <= end_ns &&
             end_ns - start_ns >= LONG_NS && is_recorded())
        write_record(
            &(struct group){(uint64_t)start_ns, (uint64_t)end_ns, end_ns - start_ns, -1, 1},
            (enum pw_runtime_kind)kind, -1);
    return answer();
}

/* (): at the program's end. */
static object *finish(object *self, object *const *arguments, intptr_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    if (is_recorded() && take_pending()) {
        flush();
        leave_pending();
    }
    return answer();
}

static const struct method methods[] = {
    {"collected", collected, METH_FASTCALL, NULL},
    {"ran", ran, METH_FASTCALL, NULL},
    {"finish", finish, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static void attach(const struct python *python)
{
    py = *python;
    py.incref(py.start); /* they are compared as long as the program collects */
    py.incref(py.stop);
}

EXPORT extern const struct profwrap_gc profwrap_gc_v1;
const struct profwrap_gc profwrap_gc_v1 = {
    .size = sizeof(struct profwrap_gc),
    .attach = attach,
    .methods = methods,
};
