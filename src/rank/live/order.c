/* The collector's side of an order; see order.h, and recording.c for the program's. */
#include "rank/live/order.h"

/* The program stores its step and then looks for a committed order; we store and then look at its
 * step, all sequentially consistent: one of the two sees the other. */
static enum pw_order_state judge(const struct pw_control *control, int64_t *step)
{
    int64_t from = atomic_load(&control->order.step);
    *step = atomic_load(&control->step);
    return from >= 0 && *step >= from ? PW_ORDER_LATE : PW_ORDER_IN_TIME;
}

enum pw_order_state pw_order_prepare(struct pw_segment_shared *segment,
                                     const struct pw_order_wanted *wanted, int64_t *step)
{
    struct pw_control *control = &segment->control;
    uint32_t committed = atomic_load(&control->order.committed);
    *step = atomic_load(&control->step);
    if (committed && committed != atomic_load(&control->obeyed))
        return PW_ORDER_BUSY; /* the program may be reading it */
    atomic_store(&control->order.id, wanted->id);
    atomic_store(&control->order.starts, wanted->starts != 0);
    atomic_store(&control->order.cause, wanted->cause);
    atomic_store(&control->order.step, wanted->step);
    return judge(control, step);
}

enum pw_order_state pw_order_commit(struct pw_segment_shared *segment, uint32_t id, int64_t *step)
{
    struct pw_control *control = &segment->control;
    *step = atomic_load(&control->step);
    if (atomic_load(&control->order.id) != id)
        return PW_ORDER_UNKNOWN;
    atomic_store(&control->order.committed, id);
    return judge(control, step);
}

enum pw_order_state pw_order_withdraw(struct pw_segment_shared *segment, uint32_t id)
{
    struct pw_control *control = &segment->control;
    if (atomic_load(&control->order.id) != id || atomic_load(&control->order.committed) == id)
        return PW_ORDER_UNKNOWN;
    atomic_store(&control->order.id, 0);
    return PW_ORDER_IN_TIME;
}
