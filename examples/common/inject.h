/* Delays put into a run on purpose, so that a profiler has a known answer to find. The examples'
 * options.c parse them, and their loops carry them out. */
#ifndef EXAMPLES_INJECT_H
#define EXAMPLES_INJECT_H

#include <stddef.h>
#include <stdint.h>

enum { INJECT_MAX = 64 };

struct injection {
    int rank;
    int phase; /* one of the example's */
    int64_t delay_ns;
    int64_t step_first;
    int64_t step_last; /* inclusive */
};

struct inject_list {
    struct injection items[INJECT_MAX];
    size_t count;
};

/* What an example calls its phases. */
struct inject_phases {
    const char *const *names; /* [n]: phase i is called names[i]; NULL: it has no delays */
    int n;
    const char *expects; /* "data, forward or backward", for messages */
};

/* Adds what `spec` asks for ("rank=3,phase=backward,ms=20,steps=20-40"). On failure returns -EINVAL
 * with one clause in `why` that says which part is wrong and what is expected. */
int inject_parse(struct inject_list *list, const char *spec, const struct inject_phases *phases,
                 int nrank, char *why, size_t why_size);

/* How long `rank` is to be delayed in this phase of this step; entries that overlap add up. */
int64_t inject_delay_ns(const struct inject_list *list, int rank, int phase, int64_t step);

/* Sleeps that long, however many signals arrive meanwhile. 0 returns at once. */
void inject_sleep(int64_t delay_ns);

#endif
