/* profwrap_step() and profwrap_phase() as functions of Python's own (python/profwrap/_probe.py). A
 * call through ctypes takes longer than their work: where a step of the program fills the CPU's
 * caches, because ctypes' code must be fetched again.
 *
 * Python's headers are not needed: what is called is in its stable ABI, and the Python module
 * passes the addresses. All functions here are called with the GIL held. In-app code. */
#include <stddef.h>
#include <stdint.h>

#include "profwrap.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct python_object object;

/* PyMethodDef; `flags` is METH_O. */
struct method {
    const char *name;
    object *(*function)(object *self, object *argument);
    int flags;
    const char *doc;
};
enum { METH_O = 8 };

/* As class _Marks of python/profwrap/_probe.py. */
struct profwrap_marks {
    size_t size;
    void (*attach)(object *none, void (*incref)(object *), unsigned long long (*as_mask)(object *),
                   object *(*error)(void));
    const struct method *methods; /* a name NULL ends them */
};

static struct {
    object *none;
    void (*incref)(object *);
    unsigned long long (*as_mask)(object *); /* PyLong_AsUnsignedLongLongMask() */
    object *(*error)(void);                  /* PyErr_Occurred() */
} py;

EXPORT extern const struct profwrap_api profwrap_api_v1;

/* Returns None, or NULL with the exception that the argument is no integer. */
static object *answer(uint64_t number)
{
    if (number == UINT64_MAX && py.error())
        return NULL;
    py.incref(py.none);
    return py.none;
}

static object *step(object *self, object *argument)
{
    const uint64_t number = py.as_mask(argument);
    object *result = answer(number);
    (void)self;
    if (result)
        profwrap_api_v1.step((int64_t)number);
    return result;
}

static object *phase(object *self, object *argument)
{
    const uint64_t number = py.as_mask(argument);
    object *result = answer(number);
    (void)self;
    if (result)
        profwrap_api_v1.phase((int)number);
    return result;
}

static const struct method methods[] = {
    {"step", step, METH_O, NULL},
    {"phase", phase, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static void attach(object *none, void (*incref)(object *), unsigned long long (*as_mask)(object *),
                   object *(*error)(void))
{
    py.none = none;
    py.incref = incref;
    py.as_mask = as_mask;
    py.error = error;
}

EXPORT extern const struct profwrap_marks profwrap_marks_v1;
const struct profwrap_marks profwrap_marks_v1 = {
    .size = sizeof(struct profwrap_marks),
    .attach = attach,
    .methods = methods,
};
