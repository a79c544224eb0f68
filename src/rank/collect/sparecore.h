/* Whether the collector can work on a core that nobody else needs. The drain asks this before it
 * lets the intake process records: on a core that the program needs, each microsecond of the
 * collector would be one of the program's. Tool code. */
#ifndef PW_RANK_COLLECT_SPARECORE_H
#define PW_RANK_COLLECT_SPARECORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the last look found: no spare core, one, or one although the program recorded much. */
enum pw_spare { PW_SPARE_NONE, PW_SPARE_IDLE, PW_SPARE_IN_LOAD };

struct pw_sparecore {
    const char *root;  /* where to look for /proc; "" for the machine's; NULL: a core is spare */
    int64_t looked_ns; /* when these times were read */
    int64_t idle_ns;   /* idle time of all cores on which this process may run; -1: not known */
    int64_t ran_ns;    /* time that this process had a core */
    int64_t waited_ns; /* time that it was ready and had none */
    int64_t records;   /* that the program has written so far */
    enum pw_spare found;
};

/* Lets this process run on all cores on which the process `starter` may run, if these include its
 * own: a launcher binds a rank to few cores, and runs itself on all cores of the job. When the
 * host's `ranks` do not need all cores, with as many for each as for this one, this process leaves
 * its own cores to its rank: Linux often wakes a process on the core where it ran last, although
 * another one is idle. When they need all, the other cores are other ranks'. */
void pw_sparecore_leave(pid_t starter, int ranks);

/* Begins to observe, at `now_ns` (pw_local_ns()). `root` must stay valid. */
void pw_sparecore_init(struct pw_sparecore *spare, const char *root, int64_t now_ns);

/* Returns whether, since the last look, the cores on which this process may run were idle for half
 * the time or more, in sum. Its own use counts as idle time, its waits for a core count against it.
 * Looks at most every 0.05 s. Returns false when the last look was more than 0.15 s ago: then only
 * the next one knows. Where the kernel does not tell idle times, returns true. `records`: as in the
 * struct, up to now. */
bool pw_sparecore_look(struct pw_sparecore *spare, int64_t now_ns, int64_t records);

/* Whether the last look found a spare core although the program recorded much since the one before.
 * That tells what a core is in a burst. */
bool pw_sparecore_is_in_load(const struct pw_sparecore *spare);

#endif
