/* Makes slices of the scopes of operators, one lane for each level: operators that follow each
 * other below the same scope ("Default/network/conv1/Conv2D-op1": below "Default", "network" and
 * "conv1") are in one slice of it. Called by chrome.c. No I/O. */
#ifndef PW_TIMELINE_SCOPES_H
#define PW_TIMELINE_SCOPES_H

#include <stddef.h>
#include <stdint.h>

enum { PW_SCOPE_LEVELS = 32 };

struct pw_scoped {
    int64_t start, end;
    const char *name; /* with its scope; must live as long as the list */
};

struct pw_scopes {
    struct pw_scoped *v;
    size_t n, capacity;
    int64_t *breaks; /* times at which all slices end: the starts of steps */
    size_t nbreaks, breaks_capacity;
    int failed; /* 1: memory was short, and operators are missing */
};

/* Adds an operator; one whose name has no scope is left out. Scopes are separated by '/', or by '.'
 * as in the names of PyTorch's modules. */
void pw_scopes_add(struct pw_scopes *scopes, int64_t start, int64_t end, const char *name);

void pw_scopes_break(struct pw_scopes *scopes, int64_t time);

/* A slice of level 0, the outermost, or more. `name` is that level of the scope, `length` bytes of
 * an operator's name. */
struct pw_scope_slice {
    int level;
    const char *name;
    size_t length;
    int64_t start, end;
};

typedef void pw_scope_draw(void *context, const struct pw_scope_slice *slice);

/* Calls `draw` for each slice, and removes the operators. Slices of a level do not overlap: one
 * ends where the next begins. Returns the number of levels. */
int pw_scopes_draw(struct pw_scopes *scopes, pw_scope_draw *draw, void *context);

void pw_scopes_fini(struct pw_scopes *scopes);

#endif
