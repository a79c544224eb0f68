/* Ticks of the record clock to local nanoseconds (CLOCK_MONOTONIC_RAW of the rank's time
 * namespace). The drain reads both clocks, the intake adds the readings and converts. Tool code;
 * the map is part of the collector's or of a recovery's state, one thread.
 *
 * The collector reads both clocks together now and then; between two such readings the map is
 * linear, so its error is that of the readings (about 20 ns), however wrong the TSC's nominal rate
 * is. Memory is bounded: when the table is full, every second reading of the older half is dropped.
 */
#ifndef PW_RANK_CLOCKS_TICKMAP_H
#define PW_RANK_CLOCKS_TICKMAP_H

#include <stddef.h>
#include <stdint.h>

#include "rank/ring/testclock.h"

enum { PW_TICKMAP_KNOTS = 4096 };

struct pw_tickmap {
    enum pw_tick_source source;
    struct pw_testclock test; /* what the local time is turned into; off but in tests */
    size_t n;
    struct {
        uint64_t ticks;
        int64_t ns;
    } knots[PW_TICKMAP_KNOTS];
};

/* The clock to record with: the TSC if the kernel itself keeps time by it and it neither stops nor
 * changes its rate, else CLOCK_MONOTONIC_RAW. `root` is prefixed to /sys and /proc ("" normally).
 */
enum pw_tick_source pw_tick_choose(const char *root);

/* "tsc" or "clock_gettime". */
const char *pw_tick_name(enum pw_tick_source source);

/* An empty map of a clock that is read by itself, or is wrong on purpose (`test`). */
void pw_tickmap_init(struct pw_tickmap *map, enum pw_tick_source source,
                     const struct pw_testclock *test);

/* Both clocks at one moment. */
void pw_tickmap_read(enum pw_tick_source source, uint64_t *ticks, int64_t *ns);

/* Adds a reading; one that is not after the last is left out. */
void pw_tickmap_add(struct pw_tickmap *map, uint64_t ticks, int64_t ns);

/* Local ns at `ticks`. Times outside the readings are extrapolated; with less than two, ticks are
 * taken for ns. */
int64_t pw_tickmap_ns(const struct pw_tickmap *map, uint64_t ticks);

/* The same of a time that is in local ns already. */
int64_t pw_tickmap_shown(const struct pw_tickmap *map, int64_t ns);

#endif
