/* Finds the definition of a function that the code at an address would get without the probe, which
 * defines one of the same name in front of it. Called by the wrappers of MPI, NCCL, CUDA, ROCm and
 * torch. In-app: results are kept in a table of limited size.
 *
 * Where a single object of the process defines it, in what the caller was loaded with, that is the
 * one, and the loader is not asked: its lock is held by any thread whose dlopen() runs
 * constructors, which may wait for the thread that calls. The objects are read under the lock of
 * dl_iterate_phdr(), which is held while the list changes and while no code of the program runs
 * except a callback of that function. Where several objects define it, one of them may have come
 * into the global scope, and the loader is asked, once for each function and calling object. */
#ifndef PW_RANK_PROBE_SCOPE_H
#define PW_RANK_PROBE_SCOPE_H

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pw_scope_query {
    const char *symbol; /* a literal: answers are kept by its address */
    const void *caller; /* code of the object that calls */
    uint8_t state;      /* an answer that was kept in another one is not used */
    /* What is taken where no scope of the caller's has a definition, and what is kept of one that
     * was found. Both may be NULL. */
    void *(*otherwise)(const char *symbol);
    uint8_t (*classify)(const void *target);
};

struct pw_scope_answer {
    void *target; /* NULL: there is none */
    uint8_t kind; /* what classify() said of it */
};

/* Whether an answer is known that still holds. */
bool pw_scope_recall(const struct pw_scope_query *query, struct pw_scope_answer *answer);

/* Finds one, and keeps it. */
struct pw_scope_answer pw_scope_find(const struct pw_scope_query *query);

/* The object that `address` is in, or NULL. */
const struct link_map *pw_scope_object(const void *address);

/* Whether the object itself defines `symbol`. */
bool pw_scope_defines(const struct link_map *object, const char *symbol);

/* The first definition in an object and what it needs, but the probe's; *size is the function's. */
void *pw_scope_needed(const struct link_map *object, const char *symbol, size_t *size);

/* The path of the n-th object for which `is_wanted` is true. False: there are not so many. */
typedef bool pw_scope_test(const struct dl_phdr_info *info, const void *what);
bool pw_scope_path(pw_scope_test *is_wanted, const void *what, size_t n, char path[PATH_MAX]);

/* Tests: that the file's name begins so; that the object defines the function, or takes it from
 * another one. The probe is none of these. */
pw_scope_test pw_scope_is_named, pw_scope_is_defining, pw_scope_is_importing;

/* Changes whenever objects are loaded; 0 unknown. */
unsigned long long pw_scope_loads(void);

#endif
