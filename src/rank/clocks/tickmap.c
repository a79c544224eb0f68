/* Calibrates the record clock; see tickmap.h. */
#include "rank/clocks/tickmap.h"

#include <stdio.h>
#include <string.h>

static int file_contains(const char *root, const char *path, const char *word)
{
    char name[512], text[8192];
    snprintf(name, sizeof(name), "%s%s", root, path);
    FILE *file = fopen(name, "r");
    if (!file)
        return 0;
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    return strstr(text, word) != NULL;
}

enum pw_tick_source pw_tick_choose(const char *root)
{
    static const char clocksource[] =
        "/sys/devices/system/clocksource/clocksource0/current_clocksource";
#if defined(__x86_64__)
    if (file_contains(root, clocksource, "tsc") &&
        file_contains(root, "/proc/cpuinfo", " constant_tsc") &&
        file_contains(root, "/proc/cpuinfo", " nonstop_tsc"))
        return PW_TICK_TSC;
#elif defined(__aarch64__)
    if (file_contains(root, clocksource, "arch_sys_counter"))
        return PW_TICK_TSC;
#else
    (void)file_contains;
    (void)clocksource;
#endif
    return PW_TICK_RAW;
}

const char *pw_tick_name(enum pw_tick_source source)
{
#if defined(__aarch64__)
    static const char counter[] = "cntvct_el0";
#else
    static const char counter[] = "tsc";
#endif
    return source == PW_TICK_TSC ? counter : "clock_gettime";
}

/* Reads both clocks several times and returns the fastest reading, so that no interrupt or other
 * process ran between the two. */
void pw_tickmap_read(enum pw_tick_source source, uint64_t *ticks, int64_t *ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = pw_tick_read(source);
        int64_t now = pw_local_ns();
        uint64_t after = pw_tick_read(source);
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now;
        }
    }
}

void pw_tickmap_init(struct pw_tickmap *map, enum pw_tick_source source,
                     const struct pw_testclock *test)
{
    map->source = source;
    map->test = *test;
    map->n = 0;
    map->found.width = 0;
}

void pw_tickmap_add(struct pw_tickmap *map, uint64_t ticks, int64_t ns)
{
    if (map->n && ticks <= map->knots[map->n - 1].ticks)
        return;
    map->found.width = 0;
    if (map->n == PW_TICKMAP_KNOTS) {
        size_t keep = 0;
        for (size_t i = 0; i < PW_TICKMAP_KNOTS; i++)
            if (i % 2 == 0 || i >= PW_TICKMAP_KNOTS / 2)
                map->knots[keep++] = map->knots[i];
        map->n = keep;
    }
    map->knots[map->n].ticks = ticks;
    map->knots[map->n++].ns = ns;
}

/* Returns the index i of the readings i and i + 1 between which `ticks` is; tries the last ones
 * first, because most are there. */
static size_t segment_of(const struct pw_tickmap *map, uint64_t ticks)
{
    size_t low = 0, high = map->n - 2;
    if (ticks >= map->knots[high].ticks)
        return high;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (map->knots[middle].ticks <= ticks)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Local ns a tick between readings i and i + 1. */
static double rate_of(const struct pw_tickmap *map, size_t i)
{
    return (double)(map->knots[i + 1].ns - map->knots[i].ns) /
           (double)(map->knots[i + 1].ticks - map->knots[i].ticks);
}

static int64_t true_ns(const struct pw_tickmap *map, uint64_t ticks)
{
    if (map->source == PW_TICK_RAW || map->n < 2)
        return (int64_t)ticks;
    size_t i = segment_of(map, ticks);
    return map->knots[i].ns +
           (int64_t)((double)(int64_t)(ticks - map->knots[i].ticks) * rate_of(map, i));
}

int64_t pw_tickmap_ns(const struct pw_tickmap *map, uint64_t ticks)
{
    return pw_tickmap_shown(map, true_ns(map, ticks));
}

int64_t pw_tickmap_find(struct pw_tickmap *map, uint64_t ticks)
{
    if (map->source == PW_TICK_RAW || map->n < 2)
        return pw_tickmap_ns(map, ticks);
    const size_t i = segment_of(map, ticks);
    map->found.ticks = map->knots[i].ticks;
    /* All times after the last reading are on the line of the last two. */
    map->found.width =
        i == map->n - 2 ? UINT64_MAX / 2 : map->knots[i + 1].ticks - map->knots[i].ticks;
    map->found.ns = map->knots[i].ns;
    map->found.rate = rate_of(map, i);
    return pw_tickmap_ns(map, ticks);
}
