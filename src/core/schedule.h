/* Decides which steps are recorded, by a cycle of wait, warm-up and active steps like that of
 * torch.profiler.schedule. The decision depends on the step's number only, so all ranks record the
 * same steps even when some ranks are in a later step than others. The inline functions are called
 * by the probe (in-app) and by the collector; pw_schedule_parse() is tool code. */
#ifndef PW_CORE_SCHEDULE_H
#define PW_CORE_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

/* Numbers of steps; all zero: no schedule. */
struct pw_schedule {
    int64_t skip_first; /* steps before the first cycle */
    int64_t wait, warmup, active;
    int64_t repeat; /* number of cycles; 0: no end */
};

enum pw_window_state { PW_WINDOW_CLOSED = 0, PW_WINDOW_WARMUP, PW_WINDOW_ACTIVE };

/* A step's state and the number of its cycle. */
struct pw_schedule_place {
    enum pw_window_state state;
    int64_t cycle; /* from 0; -1: the step is in no cycle */
};

static inline int pw_schedule_is_set(const struct pw_schedule *schedule)
{
    return schedule->active > 0;
}

/* The state and cycle of `step`. Before the first cycle, after the last one, and below 0 (no step
 * has begun) the state is closed and the cycle -1. */
static inline struct pw_schedule_place pw_schedule_at(const struct pw_schedule *s, int64_t step)
{
    const struct pw_schedule_place outside = {PW_WINDOW_CLOSED, -1};
    if (step < s->skip_first || s->active <= 0)
        return outside;
    int64_t since = step - s->skip_first, length = s->wait + s->warmup + s->active;
    struct pw_schedule_place place = {PW_WINDOW_ACTIVE, since / length};
    int64_t in = since % length;
    if (s->repeat > 0 && place.cycle >= s->repeat)
        return outside;
    if (in < s->wait)
        place.state = PW_WINDOW_CLOSED;
    else if (in < s->wait + s->warmup)
        place.state = PW_WINDOW_WARMUP;
    return place;
}

/* Parses "skip_first=N,wait=N,warmup=N,active=N,repeat=N". The keys may be in any order, each at
 * most once; `active` must be at least 1. "" means no schedule. Returns 0, or -EINVAL with a
 * sentence in `problem` and *out untouched. */
int pw_schedule_parse(const char *text, struct pw_schedule *out, char *problem, size_t size);

#endif
