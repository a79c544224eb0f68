/* The collector's side of changes to begin or end recording; see start_stop.h.
 * rank/probe/recording.c has the program's side. */
#include "rank/live/start_stop.h"

static struct pw_change *at(struct pw_control *control, uint32_t number)
{
    return &control->changes[number % PW_CHANGES];
}

/* Returns the newest committed change that the program has not applied yet, or NULL. */
static const struct pw_change *last_to_apply(struct pw_control *control)
{
    const uint32_t committed = atomic_load(&control->committed);
    return committed == atomic_load(&control->applied) ? NULL : at(control, committed - 1);
}

/* One place is kept for the change that was applied last: after exec(), the new program image reads
 * it. */
static bool is_full(const struct pw_control *control)
{
    return atomic_load(&control->committed) - atomic_load(&control->applied) >= PW_CHANGES - 1;
}

/* Whether the change is in time. The program stores its step and then reads the changes; the
 * collector stores the change and then reads the step. All of this is sequentially consistent, so
 * at least one of the two sees the other's store. */
static enum pw_change_state judge(const struct pw_control *control, const struct pw_change *change,
                                  int64_t *step)
{
    int64_t from = atomic_load(&change->step);
    *step = atomic_load(&control->step);
    return from >= 0 && *step >= from ? PW_CHANGE_LATE : PW_CHANGE_IN_TIME;
}

enum pw_change_state pw_change_prepare(struct pw_segment_shared *segment,
                                       const struct pw_change_wanted *wanted, int64_t *step)
{
    struct pw_control *control = &segment->control;
    struct pw_change *next = at(control, atomic_load(&control->committed));
    const struct pw_change *last = last_to_apply(control);
    *step = atomic_load(&control->step);
    if (is_full(control))
        return PW_CHANGE_BUSY;
    if (last && wanted->step >= 0 && wanted->step <= atomic_load(&last->step))
        return PW_CHANGE_LATE;
    atomic_store(&next->id, wanted->id);
    atomic_store(&next->starts, wanted->starts != 0);
    atomic_store(&next->cause, wanted->cause);
    atomic_store(&next->step, wanted->step);
    return judge(control, next, step);
}

enum pw_change_state pw_change_commit(struct pw_segment_shared *segment, uint32_t id, int64_t *step)
{
    struct pw_control *control = &segment->control;
    const uint32_t number = atomic_load(&control->committed);
    *step = atomic_load(&control->step);
    if (is_full(control) || atomic_load(&at(control, number)->id) != id)
        return PW_CHANGE_UNKNOWN;
    atomic_store(&control->committed, number + 1);
    /* Clears the id of an old change in that place. */
    atomic_store(&at(control, number + 1)->id, 0);
    return judge(control, at(control, number), step);
}

enum pw_change_state pw_change_withdraw(struct pw_segment_shared *segment, uint32_t id)
{
    struct pw_control *control = &segment->control;
    struct pw_change *next = at(control, atomic_load(&control->committed));
    if (atomic_load(&next->id) != id)
        return PW_CHANGE_UNKNOWN;
    atomic_store(&next->id, 0);
    return PW_CHANGE_IN_TIME;
}

bool pw_change_outcome(struct pw_segment_shared *segment, bool is_recording)
{
    const struct pw_change *last = last_to_apply(&segment->control);
    return last ? atomic_load(&last->starts) != 0 : is_recording;
}
