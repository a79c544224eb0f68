/* Converts ticks of the record clock to local nanoseconds (CLOCK_MONOTONIC_RAW of the rank's time
 * namespace). The drain reads both clocks, the intake adds the readings and converts. Tool code,
 * one thread; the map belongs to the intake.
 *
 * From time to time, the collector reads both clocks together. Between two such readings the map is
 * linear. So its error is that of the readings (about 20 ns), even if the TSC's nominal rate is
 * wrong. Memory is bounded: when the table is full, every second reading of the older half is
 * dropped. */
#ifndef PW_RANK_CLOCKS_TICKMAP_H
#define PW_RANK_CLOCKS_TICKMAP_H

#include <stddef.h>
#include <stdint.h>

#include "rank/ring/testclock.h"

enum { PW_TICKMAP_KNOTS = 4096 };

struct pw_tickmap {
    enum pw_tick_source source;
    struct pw_testclock test; /* changes the local time, only in tests */
    size_t n;
    struct {
        uint64_t ticks;
        int64_t ns;
    } knots[PW_TICKMAP_KNOTS];
    /* The two readings between which pw_tickmap_next() found the last time. */
    struct {
        uint64_t ticks, width; /* width 0: none */
        int64_t ns;
        double rate; /* ns a tick */
    } found;
};

/* Returns the clock to record with: the processor's counter if the kernel itself uses it (and, on
 * x86-64, it is invariant), else CLOCK_MONOTONIC_RAW. `root` is prefixed to /sys and /proc (""
 * normally). */
enum pw_tick_source pw_tick_choose(const char *root);

/* "tsc", "cntvct_el0" or "clock_gettime". */
const char *pw_tick_name(enum pw_tick_source source);

/* Makes an empty map for the clock `source`. `test` changes the local times; NULL: not. */
void pw_tickmap_init(struct pw_tickmap *map, enum pw_tick_source source,
                     const struct pw_testclock *test);

/* Reads both clocks at the same moment. */
void pw_tickmap_read(enum pw_tick_source source, uint64_t *ticks, int64_t *ns);

/* Adds a reading; ignores one that is not after the last. */
void pw_tickmap_add(struct pw_tickmap *map, uint64_t ticks, int64_t ns);

/* Returns the local time at `ticks`, ns. Extrapolates outside the readings; with fewer than two
 * readings, `ticks` is taken as ns. */
int64_t pw_tickmap_ns(const struct pw_tickmap *map, uint64_t ticks);

/* Applies `test` to a time that is in local ns already. Returns the changed time. */
static inline int64_t pw_tickmap_shown(const struct pw_tickmap *map, int64_t ns)
{
    return __builtin_expect(map->test.on != 0, 0) ? pw_testclock_warp(&map->test, ns) : ns;
}

/* For pw_tickmap_next(): sets `found`, if there are two readings, and returns the local time. */
int64_t pw_tickmap_find(struct pw_tickmap *map, uint64_t ticks);

/* As pw_tickmap_ns(), and fast when successive times are near each other. */
static inline int64_t pw_tickmap_next(struct pw_tickmap *map, uint64_t ticks)
{
    const uint64_t after = ticks - map->found.ticks;
    if (__builtin_expect(after >= map->found.width, 0))
        return pw_tickmap_find(map, ticks);
    return pw_tickmap_shown(map,
                            map->found.ns + (int64_t)((double)(int64_t)after * map->found.rate));
}

#endif
