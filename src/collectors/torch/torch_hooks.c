/* Functions of Python that PyTorch calls where a training's parts begin and end: they read from
 * Python's objects what torch_training.h needs. python/profwrap/_auto.py makes Python functions
 * from `methods` and attaches them. They are in C to use little memory: a step of PyTorch fills the
 * CPU's caches, so most of a hook's time is spent on loading its own code.
 *
 * Python's headers are not needed: the functions are part of its stable ABI, and the Python module
 * passes their addresses. All functions here are called with the GIL held. An exception is counted
 * and cleared. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "collectors/torch/torch_training.h"

typedef struct python_object object;

/* Passed by the Python module; the same as class _Python of python/profwrap/_training.py. */
struct python {
    object *none, *no, *yes;
    void (*incref)(object *);
    void (*decref)(object *);
    int (*set_item)(object *, object *, object *);
    int (*del_item)(object *, object *);
    object *(*get_attr)(object *, object *);
    int (*is_true)(object *);
    long long (*as_long_long)(object *);
    intptr_t (*length)(object *);
    object *(*call)(object *, ...); /* PyObject_CallFunctionObjArgs() */
    void (*clear_error)(void);
    object *name_training, *name_num_yielded, *name_task_info, *name_tasks_outstanding;
    /* The table of global forward hooks, and the key and the hook that are put into it when the
     * next forward must be reported. */
    object *hooks, *key, *hook;
    /* Callables. */
    object *grad_enabled, *is_worker, *keep_state, *has_changed, *found_optimizer, *root_changed,
        *report_end, *use_iterator, *describe_loader, *count_ready, *report_cost;
    void (*step)(int64_t number);
    void (*phase)(int phase);
    void (*queue)(const char *name, int64_t size, int64_t capacity);
    const struct pw_training_marked *marked;
};

/* PyMethodDef, with one of the calling conventions below. */
struct method {
    const char *name;
    void (*function)(void);
    int flags;
    const char *doc;
};
enum { METH_NOARGS = 4, METH_O = 8, METH_FASTCALL = 0x80 };

enum hook { HOOK_WAIT, HOOK_FORWARD, HOOK_BACKWARD, HOOK_OPTIMIZER, HOOKS };

/* As class _Hooks of python/profwrap/_training.py. */
struct profwrap_hooks {
    size_t size;
    /* `python` NULL: stop reporting. */
    void (*attach)(const struct python *python);
    const struct method *methods; /* a name NULL ends them */
    /* The iterator over a loader that was waited for last: */
    const void *iterator;       /* NULL when it was freed */
    int64_t length;             /* how many batches it has, -1 not known */
    uint64_t source;            /* the number of its loader, 0 not known */
    int64_t is_described;       /* the loader has been recorded */
    int64_t capacity;           /* batches that its workers make ahead, 0 without workers */
    int64_t full;               /* result of `room` for an empty queue */
    object *room;               /* returns how many more batches the workers' queue can take; or
                                 * None */
    const void *root;           /* as pw_training.root */
    int64_t number, needs_mode; /* as in pw_training */
    int64_t next_report;        /* the step at which the cost of recording is reported next */
    int64_t failures;
    int64_t cost_ns[HOOKS]; /* CPU time in the functions below */
};

__attribute__((visibility("default"))) extern struct profwrap_hooks profwrap_hooks_v1;
static struct pw_training training;
static struct python py;
static bool is_attached;

/* ---- calls into Python ---- */

static void fail(void)
{
    py.clear_error();
    profwrap_hooks_v1.failures++;
}

/* Calls `callable`. Returns the truth of the result; false when it raised. */
static bool ask(object *callable, object *argument)
{
    object *answer = py.call(callable, argument, (object *)NULL);
    const int is_true = answer ? py.is_true(answer) : -1;
    if (answer)
        py.decref(answer);
    if (is_true < 0)
        fail();
    return is_true > 0;
}

static void tell(object *callable, const void *argument)
{
    object *answer = py.call(callable, argument, (object *)NULL);
    if (answer)
        py.decref(answer);
    else
        fail();
}

static bool has_true(const void *of, object *name)
{
    object *value = py.get_attr((object *)(uintptr_t)of, name);
    const int is_true = value ? py.is_true(value) : -1;
    if (value)
        py.decref(value);
    if (is_true < 0)
        fail();
    return is_true > 0;
}

static object *answer(object *value)
{
    py.incref(value);
    return value;
}

/* ---- what the training needs ---- */

static void report_forward(bool is_on)
{
    const int error =
        is_on ? py.set_item(py.hooks, py.key, py.hook) : py.del_item(py.hooks, py.key);
    if (error && is_on)
        fail();
    else if (error)
        py.clear_error(); /* other code has emptied the table */
}

static bool is_worker(void)
{
    return ask(py.is_worker, NULL);
}

static bool root_is_evaluated(void)
{
    return !has_true(training.root, py.name_training);
}

static void root_changed(const void *module)
{
    tell(py.root_changed, module);
    training.root = profwrap_hooks_v1.root;
}

static void found_optimizer(const void *optimizer)
{
    tell(py.found_optimizer, optimizer);
}

static void keep_state(void)
{
    tell(py.keep_state, NULL);
}

static bool has_changed(void)
{
    return ask(py.has_changed, NULL);
}

/* ---- cost ---- */

/* One of TIMED calls is timed and counts for all. A prime, so that it is not always the same call
 * of a step. */
enum { TIMED = 13 };

/* CPU time of the thread, so that time of other processes is not counted. */
static int64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns the start time; 0: this call is not timed. */
static int64_t begin_timing(void)
{
    static unsigned calls;
    return ++calls % TIMED ? 0 : thread_ns();
}

static void end_timing(enum hook hook, int64_t begin_ns)
{
    if (begin_ns)
        profwrap_hooks_v1.cost_ns[hook] += TIMED * (thread_ns() - begin_ns);
}

/* ---- the functions ---- */

/* Returns the number and releases `value`; -1 when it is NULL or no number. */
static int64_t number_of(object *value)
{
    const long long number = value ? py.as_long_long(value) : -1;
    if (value)
        py.decref(value);
    if (number < 0)
        fail();
    return number;
}

/* Whether the iterator, which counts the batches that it has returned, has more. */
static bool has_more(object *iterator)
{
    if (profwrap_hooks_v1.length < 0)
        return true;
    return number_of(py.get_attr(iterator, py.name_num_yielded)) < profwrap_hooks_v1.length;
}

/* Returns the number of batches that came out of the queue before their turn, and were not returned
 * yet. */
static int64_t early_batches(object *iterator)
{
    object *asked = py.get_attr(iterator, py.name_task_info);
    const intptr_t n = asked ? py.length(asked) : -1;
    if (asked)
        py.decref(asked);
    if (n < 0)
        fail();
    return n - number_of(py.get_attr(iterator, py.name_tasks_outstanding));
}

static void record_queue(object *iterator)
{
    const struct profwrap_hooks *shared = &profwrap_hooks_v1;
    const int64_t ready = shared->room
                              ? shared->full - number_of(py.call(shared->room, (object *)NULL)) +
                                    early_batches(iterator)
                              : number_of(py.call(py.count_ready, iterator, (object *)NULL));
    if (ready >= 0)
        py.queue("DataLoader", ready, shared->capacity);
}

static bool begin_wait(object *iterator)
{
    struct profwrap_hooks *shared = &profwrap_hooks_v1;
    if (!pw_training_may_wait(&training))
        return false;
    if (shared->iterator != iterator)
        tell(py.use_iterator, iterator);
    const bool has_gradients = ask(py.grad_enabled, NULL);
    training.root = shared->root;
    const enum pw_training_wait kind =
        pw_training_wait_begins(&training, has_gradients, has_more(iterator), shared->source);
    if (kind == PW_WAIT_TRAINING) {
        shared->number = training.number;
        if (!shared->is_described)
            tell(py.describe_loader, iterator);
        if (shared->capacity)
            record_queue(iterator);
        if (training.number >= shared->next_report)
            tell(py.report_cost, NULL);
    }
    return kind != PW_WAIT_ELSEWHERE;
}

/* Returns whether wait_ends() must be called. */
static object *wait_begins(object *self, object *iterator)
{
    (void)self;
    if (!is_attached)
        return answer(py.no);
    const int64_t begin_ns = begin_timing();
    const bool is_wait = begin_wait(iterator);
    end_timing(HOOK_WAIT, begin_ns);
    return answer(is_wait ? py.yes : py.no);
}

static object *wait_ends(object *self, object *has_batch)
{
    (void)self;
    const int64_t begin_ns = begin_timing();
    if (is_attached)
        pw_training_wait_ends(&training, has_batch == py.yes);
    end_timing(HOOK_WAIT, begin_ns);
    return answer(py.none);
}

static void begin_forward(object *module)
{
    const bool has_gradients = ask(py.grad_enabled, NULL);
    training.root = profwrap_hooks_v1.root;
    if (has_gradients && (!training.needs_mode || has_true(module, py.name_training)))
        pw_training_forward_begins(&training, module);
    else if (py.report_end != py.none &&
             pw_training_evaluation_begins(&training, module, has_gradients))
        tell(py.report_end, module);
}

static object *forward_begins(object *self, object *module)
{
    (void)self;
    const int64_t begin_ns = begin_timing();
    if (is_attached)
        begin_forward(module);
    end_timing(HOOK_FORWARD, begin_ns);
    return answer(py.none);
}

static object *evaluation_ends(object *self, object *unused)
{
    (void)self, (void)unused;
    if (is_attached)
        pw_training_evaluation_ends(&training);
    return answer(py.none);
}

/* Returns whether backward_ends() must be called. */
static object *backward_begins(object *self, object *unused)
{
    (void)self, (void)unused;
    const int64_t begin_ns = begin_timing();
    const bool is_training = is_attached && pw_training_backward_begins(&training);
    profwrap_hooks_v1.needs_mode = training.needs_mode;
    end_timing(HOOK_BACKWARD, begin_ns);
    return answer(is_training ? py.yes : py.no);
}

static object *backward_ends(object *self, object *unused)
{
    (void)self, (void)unused;
    const int64_t begin_ns = begin_timing();
    if (is_attached)
        pw_training_backward_ends(&training);
    end_timing(HOOK_BACKWARD, begin_ns);
    return answer(py.none);
}

/* Arguments: the optimizer, and the object that calls it, if any. */
static object *optimizer_begins(object *self, object *const *arguments, intptr_t n)
{
    (void)self;
    const int64_t begin_ns = begin_timing();
    if (is_attached && n > 0)
        pw_training_optimizer_begins(&training, arguments[0], n > 1 ? arguments[1] : NULL);
    end_timing(HOOK_OPTIMIZER, begin_ns);
    return answer(py.none);
}

static object *optimizer_ends(object *self, object *const *arguments, intptr_t n)
{
    (void)self;
    const int64_t begin_ns = begin_timing();
    if (is_attached && n > 0)
        pw_training_optimizer_ends(&training, arguments[0], n > 1 ? arguments[1] : NULL);
    profwrap_hooks_v1.number = training.number;
    end_timing(HOOK_OPTIMIZER, begin_ns);
    return answer(py.none);
}

static object *created(object *self, object *optimizer)
{
    (void)self;
    if (is_attached)
        pw_training_created(&training, optimizer);
    return answer(py.none);
}

/* `address`: address of an optimizer, as a number. */
static object *forget(object *self, object *address)
{
    (void)self;
    const long long value = py.as_long_long(address);
    if (is_attached)
        pw_training_forget(&training, (const void *)(uintptr_t)value);
    return answer(py.none);
}

/* Argument: whether the next forward must be reported. */
static object *report_forwards(object *self, object *is_on)
{
    (void)self;
    if (is_attached)
        pw_training_report_forward(&training, is_on == py.yes);
    return answer(py.none);
}

static object *end_step(object *self, object *unused)
{
    (void)self, (void)unused;
    if (is_attached)
        pw_training_end_step(&training);
    profwrap_hooks_v1.number = training.number;
    return answer(py.none);
}

#define METHOD(name, flags)                      \
    {                                            \
#name, (void (*)(void))name, flags, NULL \
    }
static const struct method methods[] = {
    METHOD(wait_begins, METH_O),
    METHOD(wait_ends, METH_O),
    METHOD(forward_begins, METH_O),
    METHOD(evaluation_ends, METH_NOARGS),
    METHOD(backward_begins, METH_NOARGS),
    METHOD(backward_ends, METH_NOARGS),
    METHOD(optimizer_begins, METH_FASTCALL),
    METHOD(optimizer_ends, METH_FASTCALL),
    METHOD(created, METH_O),
    METHOD(forget, METH_O),
    METHOD(report_forwards, METH_O),
    METHOD(end_step, METH_NOARGS),
    {NULL, NULL, 0, NULL},
};

static void attach(const struct python *python)
{
    is_attached = python != NULL;
    if (!is_attached)
        return; /* `py` stays: functions that PyTorch still calls return None */
    py = *python;
    const struct pw_training_calls calls = {
        .step = py.step,
        .phase = py.phase,
        .report_forward = report_forward,
        .is_worker = is_worker,
        .root_is_evaluated = root_is_evaluated,
        .root_changed = root_changed,
        .found_optimizer = found_optimizer,
        .keep_state = keep_state,
        .has_changed = has_changed,
    };
    pw_training_init(&training, &calls, py.marked);
    profwrap_hooks_v1.root = profwrap_hooks_v1.iterator = NULL;
    profwrap_hooks_v1.number = profwrap_hooks_v1.next_report = profwrap_hooks_v1.failures = 0;
    profwrap_hooks_v1.needs_mode = true;
    for (int i = 0; i < HOOKS; i++)
        profwrap_hooks_v1.cost_ns[i] = 0;
}

struct profwrap_hooks profwrap_hooks_v1 = {
    .size = sizeof(profwrap_hooks_v1),
    .attach = attach,
    .methods = methods,
};
