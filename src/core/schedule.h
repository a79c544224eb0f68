/* Which steps are recorded: torch.profiler.schedule's cycle of wait, warm-up and active steps, as a
 * pure function of the step's number, so that all ranks record the same steps, whichever is ahead.
 * Used by the probe (in-app, the inline functions only) and by the collector; pw_schedule_parse()
 * is tool code. */
#ifndef PW_CORE_SCHEDULE_H
#define PW_CORE_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

/* All zero: no schedule. */
struct pw_schedule {
    int64_t skip_first; /* steps before the first cycle */
    int64_t wait, warmup, active;
    int64_t repeat; /* cycles, 0 for ever */
};

enum pw_window_state { PW_WINDOW_CLOSED = 0, PW_WINDOW_WARMUP, PW_WINDOW_ACTIVE };

/* What a step is, and which cycle it belongs to. */
struct pw_schedule_place {
    enum pw_window_state state;
    int64_t cycle; /* from 0; -1 outside */
};

static inline int pw_schedule_is_set(const struct pw_schedule *schedule)
{
    return schedule->active > 0;
}

/* Of a step below 0, which is none, and of steps before the first and after the last cycle: closed.
 */
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

/* Reads "skip_first=N,wait=N,warmup=N,active=N,repeat=N": any of them in any order, each once,
 * `active` at least 1; "" is no schedule. 0, or -EINVAL with a sentence in `problem` and *out
 * untouched. */
int pw_schedule_parse(const char *text, struct pw_schedule *out, char *problem, size_t size);

#endif
