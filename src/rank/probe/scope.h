/* Finds the real definition of a function that the probe wraps: the definition that the caller
 * would get without the probe. Called by the wrappers of MPI, NCCL, CUDA, ROCm and torch. In-app:
 * results are kept in a table of limited size.
 *
 * When exactly one object of the process defines the function, and this object is among those that
 * the caller was loaded with, its definition is used. This case must not call the loader (dlsym): a
 * thread in dlopen() holds the loader's lock while constructors run, and a constructor may wait for
 * the calling thread. The objects are read under another lock, that of dl_iterate_phdr(). The
 * loader holds this lock only while it changes the list of objects. No code of the program runs
 * under it, except callbacks of dl_iterate_phdr(). When several objects define the function, the
 * loader is asked, once for each function and calling object, because one of these objects may have
 * been added to the global scope. */
#ifndef PW_RANK_PROBE_SCOPE_H
#define PW_RANK_PROBE_SCOPE_H

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pw_scope_query {
    const char *symbol; /* a string literal: the cache compares its address */
    const void *caller; /* code of the object that calls */
    uint8_t state;      /* an answer that was cached in another state is not used */
    /* `otherwise` returns the target when the caller's scopes have no definition. `classify`
     * returns a kind for the target, which is cached with it. Both may be NULL. */
    void *(*otherwise)(const char *symbol);
    uint8_t (*classify)(const void *target);
};

struct pw_scope_answer {
    void *target; /* NULL: no definition */
    uint8_t kind; /* what classify() returned for it */
};

/* Returns true and sets *answer when the cache has an answer that is still valid. */
bool pw_scope_recall(const struct pw_scope_query *query, struct pw_scope_answer *answer);

/* Finds the definition and stores the answer in the cache. */
struct pw_scope_answer pw_scope_find(const struct pw_scope_query *query);

/* Returns the definition as a function, from the cache if possible: the caller's, else the first
 * one in the process. NULL: no definition. */
typedef void pw_any_function(void);
pw_any_function *pw_scope_function(const char *symbol, const void *caller);

/* Returns the object that is mapped at `address`, or NULL. */
const struct link_map *pw_scope_object(const void *address);

/* Whether the object itself defines `symbol`. */
bool pw_scope_defines(const struct link_map *object, const char *symbol);

/* Returns the first definition in the objects of the process, whichever they are, except in the
 * probe and in objects whose file name begins with `except`; NULL: none. */
void *pw_scope_definition(const char *symbol, const char *except);

/* Returns the first definition in an object and in what it needs, ignoring the probe's; NULL: none.
 * *size is the size of the function. */
void *pw_scope_needed(const struct link_map *object, const char *symbol, size_t *size);

/* Copies the path of the n-th object for which `is_wanted` is true. Returns false when there are
 * fewer. */
typedef bool pw_scope_test(const struct dl_phdr_info *info, const void *what);
bool pw_scope_path(pw_scope_test *is_wanted, const void *what, size_t n, char path[PATH_MAX]);

/* Tests for pw_scope_path(). `what` is, in this order: the beginning of the file's name; a function
 * that the object defines; a function that the object takes from another one. All tests are false
 * for the probe. */
pw_scope_test pw_scope_is_named, pw_scope_is_defining, pw_scope_is_importing;

/* Returns a number that changes whenever an object is loaded; 0: not known. */
unsigned long long pw_scope_loads(void);

#endif
