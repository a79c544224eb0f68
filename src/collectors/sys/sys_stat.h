/* A line of /proc/stat. */
#ifndef PW_COLLECTORS_SYS_STAT_H
#define PW_COLLECTORS_SYS_STAT_H

#include <stdint.h>

struct pw_stat_times {
    int64_t busy_ns, idle_ns, steal_ns;
};

/* proc(5): user nice system idle iowait irq softirq steal, in ticks, after the name. 0: not so. By
 * hand, since sscanf() takes 1 us for a line, and a host may have hundreds. */
static inline int pw_stat_times(const char *text, int64_t tick_ns, struct pw_stat_times *out)
{
    int64_t t[8];
    for (int i = 0; i < 8; i++) {
        while (*text == ' ')
            text++;
        if (*text < '0' || *text > '9')
            return 0;
        uint64_t value = 0;
        for (; *text >= '0' && *text <= '9'; text++)
            value = 10 * value + (uint64_t)(*text - '0');
        t[i] = (int64_t)(value & INT64_MAX);
    }
    out->busy_ns = (t[0] + t[1] + t[2] + t[5] + t[6]) * tick_ns;
    out->idle_ns = (t[3] + t[4]) * tick_ns;
    out->steal_ns = t[7] * tick_ns;
    return 1;
}

#endif
