/* Functions that the benchmarks of calls share: blocks of calls, their medians, and the floors,
 * which no recording tool can undercut. */
#ifndef BENCH_FLOORS_H
#define BENCH_FLOORS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rank/ring/tick.h"

enum { FLOOR_SLOTS = 1 << 17 };

struct floor_slot {
    uint64_t words[8];
};

static struct floor_slot *floor_ring;
static uint64_t floor_head;

static inline int floor_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double floor_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), floor_by_value);
    return values[n / 2];
}

/* A ring as large as a rank's, touched. */
static inline void floor_init(void)
{
    floor_ring = malloc(sizeof(*floor_ring) * FLOOR_SLOTS);
    if (!floor_ring)
        abort();
    memset(floor_ring, 1, sizeof(*floor_ring) * FLOOR_SLOTS);
}

static inline void floor_store(uint64_t start, uint64_t end)
{
    struct floor_slot *slot = &floor_ring[floor_head++ & (FLOOR_SLOTS - 1)];
    for (int i = 2; i < 8; i++)
        slot->words[i] = floor_head;
    slot->words[0] = start;
    slot->words[1] = end;
    __asm__ volatile("" : : "r"(slot) : "memory");
}

static inline void floor_empty(int n)
{
    for (int i = 0; i < n; i++)
        __asm__ volatile("" : : : "memory");
}

static inline void floor_rdtsc(int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t start = pw_tick_read(PW_TICK_TSC);
        __asm__ volatile("" : : : "memory");
        floor_store(start, pw_tick_read(PW_TICK_TSC));
    }
}

static inline void floor_clock(int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t start = (uint64_t)pw_local_ns();
        __asm__ volatile("" : : : "memory");
        floor_store(start, (uint64_t)pw_local_ns());
    }
}

/* Nanoseconds a turn of `loop`, which takes the number of turns. */
static inline double floor_time(void (*loop)(int), int n)
{
    loop(n / 10); /* so that no kind pays for the caches that the one before it used */
    int64_t start = pw_local_ns();
    loop(n);
    return (double)(pw_local_ns() - start) / n;
}

#endif
