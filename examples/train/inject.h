/* Delays put into a run on purpose, so that a profiler has a known answer to find.
 * options.c parses them, main.c and loader.c carry them out. */
#ifndef TRAIN_INJECT_H
#define TRAIN_INJECT_H

#include <stddef.h>
#include <stdint.h>

enum { INJECT_MAX = 64 };

struct injection {
    int rank;
    int phase; /* PROFWRAP_DATA, _FORWARD, _BACKWARD or _OPTIMIZER */
    int64_t delay_ns;
    int64_t step_first;
    int64_t step_last; /* inclusive */
};

struct inject_list {
    struct injection items[INJECT_MAX];
    size_t count;
};

/* Adds what `spec` asks for ("rank=3,phase=backward,ms=20,steps=20-40"). On failure returns -EINVAL
 * with one clause in `why` that says which part is wrong and what is expected. */
int inject_parse(struct inject_list *list, const char *spec, int nrank, char *why, size_t why_size);

/* How long `rank` is to be delayed in this phase of this step; entries that overlap add up. */
int64_t inject_delay_ns(const struct inject_list *list, int rank, int phase, int64_t step);

/* Sleeps that long, however many signals arrive meanwhile. 0 returns at once. */
void inject_sleep(int64_t delay_ns);

#endif
